"""The symbols of source code, by tree-sitter: functions, methods, classes and their like, with their lines.

A symbol's text includes the comments directly above. A function is whole; a class or module has only the first line of
each symbol within it.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, NamedTuple

from core import grammars
from core.processes.worker import Ended, Exceeded, Worker

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST = 20_000
# The deepest nesting of classes and modules. A deeper symbol is a part of the last one.
_DEEPEST = 32

_JS = """
[(function_declaration name: (_) @name) (generator_function_declaration name: (_) @name)] @Function
(lexical_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)])) @Function
(variable_declaration (variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)])) @Function
(class_declaration name: (_) @name) @Class
(method_definition name: (_) @name) @Method
"""
_TS = """
(abstract_class_declaration name: (_) @name) @Class
(interface_declaration name: (_) @name) @Interface
(type_alias_declaration name: (_) @name) @Type
(enum_declaration name: (_) @name) @Enum
(internal_module name: (_) @name) @Module
"""
_C = """
(function_definition declarator: (_) @name) @Function
(struct_specifier name: (_) @name body: (_)) @Struct
(union_specifier name: (_) @name body: (_)) @Struct
(enum_specifier name: (_) @name body: (_)) @Enum
(type_definition declarator: (_) @name) @Type
"""
_QUERIES = {
    "python": "(function_definition name: (_) @name) @Function (class_definition name: (_) @name) @Class",
    "javascript": _JS,
    "typescript": _JS + _TS,
    "tsx": _JS + _TS,
    "go": """
(function_declaration name: (_) @name) @Function
(method_declaration name: (_) @name) @Method
(type_declaration (type_spec name: (_) @name)) @Type
""",
    "rust": """
(function_item name: (_) @name) @Function
(struct_item name: (_) @name) @Struct
(union_item name: (_) @name) @Struct
(enum_item name: (_) @name) @Enum
(trait_item name: (_) @name) @Trait
(impl_item type: (_) @name) @Impl
(mod_item name: (_) @name body: (_)) @Module
(macro_definition name: (_) @name) @Macro
(type_item name: (_) @name) @Type
""",
    "java": """
[(class_declaration name: (_) @name) (record_declaration name: (_) @name)] @Class
[(interface_declaration name: (_) @name) (annotation_type_declaration name: (_) @name)] @Interface
(enum_declaration name: (_) @name) @Enum
[(method_declaration name: (_) @name) (constructor_declaration name: (_) @name)] @Method
""",
    "c": _C,
    "cpp": _C + "(class_specifier name: (_) @name body: (_)) @Class (namespace_definition name: (_) @name) @Module",
}
_FENCES = {"tsx": "tsx"}
_HOLDERS = frozenset(("Class", "Interface", "Struct", "Enum", "Trait", "Impl", "Module", "Type"))
_WRAPPERS = frozenset(("export_statement", "decorated_definition", "template_declaration"))
_NAMES = frozenset(
    "identifier field_identifier type_identifier qualified_identifier destructor_name operator_name "
    "template_function operator_cast namespace_identifier nested_namespace_specifier".split()
)


class Tangled(ValueError):
    """A text that exceeds a bound, or that ``grammars.is_tangled`` rejects."""


class Symbol(NamedTuple):
    """``name`` is qualified (``Parser.next``); lines count from 1, both included; ``text`` is at most 20,000 long."""

    label: str
    name: str
    start: int
    end: int
    text: str


class _Found:
    __slots__ = ("inner", "label", "name", "node", "outer")

    def __init__(self, label: str, node: Node, name: str) -> None:
        self.label = label
        self.node = node
        self.name = name
        self.outer: _Found | None = None
        self.inner: list[_Found] = []


class SymbolReader:
    """Finds symbols in a process of its own, because a hostile text stalls a grammar; ``worker.close`` ends that."""

    def __init__(self) -> None:
        self.worker = Worker("ingest.sources.code.symbols:answer", memory=grammars.MEMORY, timeout_s=grammars.TIMEOUT_S)

    def symbols(self, data: bytes, language: str) -> list[Symbol]:
        """Return the symbols of one file in the order of the text. Raises Tangled."""
        request = {"text": base64.b64encode(data).decode(), "language": language}
        try:
            found: Any = self.worker.ask(request, cpu_s=grammars.cpu_s(len(data)))
        except (Exceeded, Ended):
            raise Tangled from None
        if found is None:
            raise Tangled
        return [Symbol(*each) for each in found]


def answer(request: dict[str, str]) -> list[Symbol] | None:
    """Find symbols, in the child; None for a tangle."""
    try:
        return symbols(base64.b64decode(request["text"]), request["language"])
    except Tangled:
        return None


def symbols(data: bytes, language: str) -> list[Symbol]:
    """Return the symbols of one file in the order of the text. Broken code has no symbols. Raises Tangled."""
    query = grammars.query(language, _QUERIES[language])
    from tree_sitter import QueryCursor

    tree = grammars.parser(language).parse(data)
    if grammars.is_tangled(tree.root_node):
        raise Tangled
    found: dict[tuple[int, int], _Found] = {}
    for _, captures in QueryCursor(query).matches(tree.root_node):
        name = captures.pop("name")[0]
        for label, nodes in captures.items():
            node = nodes[0]
            said = _name(name, node, language)
            if said:
                found.setdefault((node.start_byte, node.end_byte), _Found(label, node, said))
    ordered = sorted(found.values(), key=lambda one: (one.node.start_byte, -one.node.end_byte))
    stack: list[_Found] = []
    kept: list[_Found] = []
    for one in ordered:
        while stack and stack[-1].node.end_byte <= one.node.start_byte:
            stack.pop()
        one.outer = stack[-1] if stack else None
        stack.append(one)
        if len(stack) > _DEEPEST or any(each.label not in _HOLDERS for each in stack[:-1]):
            continue  # a symbol inside a function is a part of the function
        if one.outer is not None:
            one.outer.inner.append(one)
        kept.append(one)
    lines = data.decode("utf-8", "replace").split("\n")
    return [_symbol(one, lines) for one in kept]


def fence(language: str) -> str:
    """Return the word after the backticks of a fence."""
    return _FENCES.get(language, language)


def _symbol(one: _Found, lines: list[str]) -> Symbol:
    label = one.label
    if label == "Function" and one.outer is not None and one.outer.label in _HOLDERS - {"Module"}:
        label = "Method"
    names = [one.name]
    outer = one.outer
    while outer is not None:
        names.append(outer.name)
        outer = outer.outer
    whole = _whole(one.node)
    end = whole.end_point[0]
    start = _first_comment(whole)
    shown = range(start, end + 1)
    hidden: set[int] = set()
    if label in _HOLDERS:
        for inner in one.inner:
            node = _whole(inner.node)
            hidden.update(range(inner.node.start_point[0] + 1, node.end_point[0] + 1))
    text = "\n".join(lines[number] for number in shown if number not in hidden and number < len(lines))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters"
    return Symbol(label, ".".join(reversed(names)), start + 1, end + 1, text)


def _whole(node: Node) -> Node:
    parent = node.parent
    return parent if parent is not None and parent.type in _WRAPPERS else node


def _first_comment(node: Node) -> int:
    """Return the first line of the comments directly above a symbol, else the symbol's own line."""
    line: int = node.start_point[0]
    before = node.prev_sibling
    while before is not None and "comment" in before.type and before.end_point[0] >= line - 1:
        # A comment at the end of a statement belongs to that statement.
        above = before.prev_sibling
        if above is not None and above.end_point[0] == before.start_point[0] and "comment" not in above.type:
            break
        line = min(line, before.start_point[0])
        before = above
    return line


def _name(node: Node, definition: Node, language: str) -> str:
    """Return the name of a symbol: in C the innermost declarator's, in Go a method's with its type."""
    if language in ("c", "cpp"):
        found: Node | None = node
        while found is not None and found.type not in _NAMES:
            found = found.child_by_field_name("declarator") or next(
                (child for child in found.named_children if child.type in _NAMES or "declarator" in child.type), None
            )
        if found is None:
            return ""
        node = found
    name = _text(node)
    if language == "go" and definition.type == "method_declaration":
        receiver = definition.child_by_field_name("receiver")
        kind = _text(receiver).strip("()").split()[-1].lstrip("*").partition("[")[0] if receiver is not None else ""
        name = f"{kind}.{name}" if kind else name
    return " ".join(name.replace("::", ".").split())[:200]


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
