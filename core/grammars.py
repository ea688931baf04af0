"""Tree-sitter's grammars: which one reads a file, its parser, and compiled queries, each loaded once a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Query

# Extension → grammar.
LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
}

# A longer text, in bytes, is more likely a program's output than anyone's code, and parsing it takes seconds.
MAX_TEXT = 2 * 1024 * 1024

# Bounds for a child process (``core.processes.worker``) that parses a text. Real code of MAX_TEXT takes half a second
# and 90 MB.
MEMORY = 512 << 20
TIMEOUT_S = 120.0

# Pairs of siblings in what could not be parsed that a query may have to step over: about a second of cpu.
MOST_TANGLED = 1_000_000_000

_languages: dict[str, Language] = {}
_parsers: dict[str, Parser] = {}
_queries: dict[tuple[str, str], Query] = {}


def language_of(path: str) -> str:
    """The grammar for a file, by the ending of its name; "" where there is none."""
    dot = path.rfind(".")
    return LANGUAGES.get(path[dot:].lower(), "") if dot >= 0 else ""


def cpu_s(size: int) -> int:
    """Return the seconds of CPU time that parsing a text of ``size`` bytes may take."""
    return 2 + (4 * size >> 20)


def parser(language: str) -> Parser:
    """The parser of a grammar. Raises ImportError where it is not installed."""
    known = _parsers.get(language)
    if known is None:
        from tree_sitter import Parser

        known = _parsers[language] = Parser(_language(language))
    return known


def query(language: str, source: str) -> Query:
    """A compiled query. Raises ImportError where the grammar is not installed, QueryError where it has no such node."""
    known = _queries.get((language, source))
    if known is None:
        from tree_sitter import Query

        known = _queries[language, source] = Query(_language(language), source)
    return known


def is_tangled(root: Node) -> bool:
    """Return True if a query of this tree would take too long.

    A cursor's step costs as much as it has siblings before it in an ERROR node: tree-sitter keeps such children as a
    list, not as a balanced tree, and 200,000 opening brackets take a minute. Found by the tree alone, so that the same
    text always has the same symbols and the same cuts. (A cursor's own ``progress_callback`` would end it by the clock;
    in py-tree-sitter 0.26.1 it crashes the process.)
    """
    pairs = 0
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.is_error:
            pairs += node.child_count**2
            if pairs > MOST_TANGLED:
                return True
        nodes.extend(child for child in node.children if child.has_error)
    return False


def _language(name: str) -> Language:
    known = _languages.get(name)
    if known is None:
        import importlib

        from tree_sitter import Language

        module = importlib.import_module(f"tree_sitter_{'typescript' if name == 'tsx' else name}")
        made = getattr(module, f"language_{name}" if name in ("tsx", "typescript") else "language")()
        known = _languages[name] = Language(made)
    return known
