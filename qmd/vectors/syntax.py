"""Where code may be cut: at its functions, classes and imports, by tree-sitter, with qmd 2.8.3's scores.

The scores are on the scale of ``chunking``'s own breaks (a first heading has 100), so that both kinds compete. Java, C
and C++ are ours, by the same measure; qmd has none of them.
"""

from __future__ import annotations

import atexit
import base64
from functools import cache

from core import grammars
from core.grammars import MAX_TEXT
from qmd.index import catalogue
from qmd.vectors.chunking import Break

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    import apsw

    from core.processes.worker import Worker

AUTO = "auto"
REGEX = "regex"

# Bump with any change that moves a cut: code is then cut again, and what differs is embedded again.
VERSION = 2

# Not installed; of a version that tree-sitter does not read, or without a node that is asked for; another package of
# that name, without the function that gives its grammar or with one that gives something else.
_UNUSABLE = (ImportError, ValueError, AttributeError, TypeError)

_SCORES = {
    **dict.fromkeys(("class", "iface", "struct", "trait", "impl", "mod"), 100),
    **dict.fromkeys(("export", "func", "method", "decorated"), 90),
    **dict.fromkeys(("type", "enum"), 80),
    "import": 60,
}

# In the order in which ``status`` names them.
_QUERIES: dict[str, str] = {}
_JAVASCRIPT = """
(export_statement) @export
(class_declaration) @class
(function_declaration) @func
(lexical_declaration (variable_declarator value: (arrow_function))) @func
(lexical_declaration (variable_declarator value: (function_expression))) @func
(method_definition) @method
(import_statement) @import
"""
_QUERIES["typescript"] = _QUERIES["tsx"] = f"""{_JAVASCRIPT}
(interface_declaration) @iface
(type_alias_declaration) @type
(enum_declaration) @enum
"""
_QUERIES["javascript"] = _JAVASCRIPT
_QUERIES["python"] = """
(class_definition) @class
(function_definition) @func
(decorated_definition) @decorated
[(import_statement) (import_from_statement)] @import
"""
_QUERIES["go"] = """
(type_declaration) @type
(function_declaration) @func
(method_declaration) @method
(import_declaration) @import
"""
_QUERIES["rust"] = """
(struct_item) @struct
(impl_item) @impl
(trait_item) @trait
(mod_item) @mod
(function_item) @func
(type_item) @type
(enum_item) @enum
(use_declaration) @import
"""
_QUERIES["java"] = """
[(class_declaration) (record_declaration)] @class
[(interface_declaration) (annotation_type_declaration)] @iface
[(method_declaration) (constructor_declaration)] @method
(enum_declaration) @enum
(import_declaration) @import
"""
_QUERIES["c"] = """
(struct_specifier body: (_)) @struct
(union_specifier body: (_)) @struct
(function_definition) @func
(type_definition) @type
(enum_specifier body: (_)) @enum
(preproc_include) @import
"""
_QUERIES["cpp"] = f"""{_QUERIES["c"]}
(class_specifier body: (_)) @class
(namespace_definition) @mod
(template_declaration) @decorated
"""


def language_of(path: str, strategy: str = AUTO) -> str:
    """Return the grammar that cuts a file under a strategy, "" for the plain rule."""
    return grammars.language_of(path) if strategy == AUTO else ""


def breaks(text: str, language: str) -> list[Break]:
    """Return the places before the definitions of ``text``, in characters and in order; of several at one the best.

    None for a text that is too long, exceeds a bound or is too tangled (``grammars.is_tangled``), and if the grammar is
    missing or of another make: the plain rule cuts it.
    """
    if not mark(language):
        return []
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_TEXT:
        return []
    from core.processes.worker import Ended, Exceeded

    request = {"text": base64.b64encode(data).decode(), "language": language}
    try:
        kinds = _worker().ask(request, cpu_s=grammars.cpu_s(len(data)))
    except (Exceeded, Ended):
        return []
    places = _characters(data, (start for start, _ in kinds))
    return [Break(place, _SCORES[kind], f"ast:{kind}") for place, (_, kind) in zip(places, kinds, strict=True)]


@cache
def _worker() -> Worker:
    """Return the process that parses, for all threads of this one, because a hostile text stalls a grammar."""
    from core.processes.worker import Worker

    worker = Worker("qmd.vectors.syntax:answer", memory=grammars.MEMORY, timeout_s=grammars.TIMEOUT_S)
    atexit.register(worker.close)
    return worker


def answer(request: dict[str, str]) -> list[tuple[int, str]]:
    """Find the definitions of a text, in the child: (place in bytes, the best kind there), in order."""
    language = request["language"]
    try:
        from tree_sitter import QueryCursor

        tree = grammars.parser(language).parse(base64.b64decode(request["text"]))
        if grammars.is_tangled(tree.root_node):
            return []
        captures = QueryCursor(grammars.query(language, _QUERIES[language])).captures(tree.root_node)
    except _UNUSABLE:
        return []
    found: dict[int, str] = {}
    for kind, nodes in captures.items():
        for node in nodes:
            known = found.get(node.start_byte)
            if known is None or _SCORES[kind] > _SCORES[known]:
                found[node.start_byte] = kind
    return sorted(found.items())


def mark(language: str) -> str:
    """Return the note of a cut about its origin, "" for the plain rule.

    The note is also empty if the grammar cannot be used: the text is cut again once the grammar can be.
    """
    return f"{language}:{VERSION}" if language and not _fault(language) else ""


def languages() -> dict[str, str]:
    """Return every grammar, and why it cannot be used: "" if it can."""
    return {language: _fault(language) for language in _QUERIES}


def _fault(language: str) -> str:
    try:
        grammars.parser(language)
        grammars.query(language, _QUERIES[language])
    except _UNUSABLE as error:
        return str(error) or type(error).__name__
    return ""


def _characters(data: bytes, positions: Iterable[int]) -> list[int]:
    """Ascending positions in bytes of UTF-8, in characters."""
    if data.isascii():
        return list(positions)
    found = []
    last = count = 0
    for position in positions:
        count += len(data[last:position].decode("utf-8", "surrogatepass"))
        last = position
        found.append(count)
    return found


# Documents of a collection that are looked at, and characters of each.
_DOCUMENTS = 200
_CHARACTERS = 4000


def measure_code(connection: apsw.Connection) -> None:
    """Note the code_share (0–1) of code in each collection, inside the caller's transaction."""
    for name in catalogue.counts(connection):
        shares = [code_share(text) for text in catalogue.sample(connection, name, _DOCUMENTS, _CHARACTERS)]
        value = sum(shares) / len(shares) if shares else 0.0
        connection.execute("INSERT OR REPLACE INTO brain_state VALUES(?, ?)", (f"code:{name}", round(value, 3)))


def code_share(text: str) -> float:
    """Return the part (0-1) of a text's lines that are code: inside a fence, or indented like it."""
    code = count = 0
    fenced = False
    for line in text.splitlines():
        bare = line.lstrip()
        if bare.startswith("```"):
            fenced = not fenced
            continue
        if not bare:
            continue
        count += 1
        code += fenced or line.startswith(("    ", "\t"))
    return code / count if count else 0.0
