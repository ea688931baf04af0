"""The command line as qmd 2.8.3 reads it: options anywhere, unknown ones ignored, a value taken whatever it looks like.

The rules are those of Node's ``util.parseArgs`` with ``strict: false`` (https://nodejs.org/api/util.html), which differ
from argparse's: an unknown ``--flag`` takes no value, a text option at the very end has none, and ``-nf5`` is three.
"""

from __future__ import annotations

from core.errors import BadInput
from qmd import ecma

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FORMATS = ("cli", "json", "csv", "md", "xml", "files")
STRATEGIES = ("auto", "regex")

_TEXT = frozenset(
    """index context n min-score format collection name mask glob max-docs-per-batch max-batch-mb timeout l from
    max-bytes candidate-limit intent chunk-strategy port host filter since until
    provider model""".split()
)
_MANY = frozenset({"collection", "filter"})
_SHORT = {"h": "help", "v": "version", "c": "collection", "f": "force", "C": "candidate-limit"}

_JSON_LIMIT = 20
_LIMIT = 5
EVERYTHING = 100_000


class Arguments:
    """``verb`` and its ``words``; options by their long names, in ``text`` (the last given) and ``flags``."""

    __slots__ = ("_lists", "flags", "text", "verb", "words")

    def __init__(self, argv: Sequence[str]) -> None:
        self.text: dict[str, str] = {}
        self.flags: set[str] = set()
        self._lists: dict[str, list[str]] = {}
        words: list[str] = []
        for name, value in _tokens(list(argv)):
            if not name:
                words.append(value or "")
            elif value is None:
                # A text option without a value counts as given, as `true` does in JavaScript.
                self.flags.add(name)
                if name in _MANY:
                    self._lists.setdefault(name, []).append("true")
            else:
                self.flags.add(name)
                self.text[name] = value
                if name in _MANY:
                    self._lists.setdefault(name, []).append(value)
        self.verb = words[0] if words else ""
        self.words = words[1:]

    @property
    def query(self) -> str:
        """The words after the verb, as one text."""
        return " ".join(self.words)

    @property
    def collections(self) -> list[str]:
        """Every ``-c`` given."""
        return self._lists.get("collection", [])

    @property
    def filters(self) -> list[str]:
        """Every ``--filter`` given."""
        return self._lists.get("filter", [])

    @property
    def index(self) -> str:
        """``--index``. Raises BadInput where its name is missing."""
        if "index" in self.flags and "index" not in self.text:
            raise BadInput("--index needs a name", "qmd --index work status")
        return self.text.get("index", "")

    @property
    def format(self) -> str:
        """One of ``FORMATS``. Raises BadInput for a ``--format`` that is none of them."""
        given = ecma.trim(self.text.get("format", "")).lower()
        if given:
            if given not in FORMATS:
                raise BadInput(f"Unknown --format value: {self.text['format']}\nValid: {', '.join(FORMATS)}")
            return given
        return next((name for name in ("csv", "md", "xml", "files", "json") if name in self.flags), "cli")

    @property
    def limit(self) -> int:
        """How many results at most: ``-n``, else 20 for JSON and file lists, else 5; with ``--all`` all."""
        if "all" in self.flags:
            return EVERYTHING
        default = _JSON_LIMIT if self.format in ("files", "json") else _LIMIT
        return self.number("n") or default

    @property
    def min_score(self) -> float:
        return ecma.parse_float(self.text.get("min-score", "")) or 0.0

    def number(self, name: str) -> int | None:
        """Return a whole number's option; None if it is missing or no number."""
        return ecma.parse_int(self.text[name]) if name in self.text else None

    @property
    def chunk_strategy(self) -> str:
        """Raises BadInput for one that is unknown."""
        given = self.text.get("chunk-strategy", "true" if "chunk-strategy" in self.flags else "regex")
        if given not in STRATEGIES:
            raise BadInput(f'--chunk-strategy must be "auto" or "regex" (got "{given}")')
        return given


def _tokens(rest: list[str]) -> Iterator[tuple[str, str | None]]:
    """Yield (long name, value or None) of each option; ("", word) of each word."""
    rest.reverse()
    while rest:
        given = rest.pop()
        if given == "--":
            while rest:
                yield "", rest.pop()
        elif given.startswith("--"):
            name, equals, value = given[2:].partition("=")
            if not name:  # `--=x`
                yield given[2:], None
            elif equals:
                yield name, value
            else:
                yield name, rest.pop() if name in _TEXT and rest else None
        elif given.startswith("-") and len(given) > 1:
            name = _SHORT.get(given[1], given[1])
            if len(given) == 2:
                yield name, rest.pop() if name in _TEXT and rest else None
            elif name in _TEXT:
                yield name, given[2:]
            else:
                rest.extend(reversed(_expanded(given[1:])))
        else:
            yield "", given


def _expanded(group: str) -> list[str]:
    """Return the options of ``-abc``, one each; a text option takes what follows it in the group."""
    found = []
    for index, letter in enumerate(group):
        if _SHORT.get(letter, letter) in _TEXT and index < len(group) - 1:
            found.append(f"-{group[index:]}")
            break
        found.append(f"-{letter}")
    return found
