"""Names among the words of a question: if no hit mentions a name, what was found is about something else.

A name shows in its form (``p95``, ``iOS``), or the model's vocabulary does not have it: those 30,000 words are the
usual ones. The vocabulary is in the index once documents are embedded (``qmd/vectors/static_query.py``).
"""

from __future__ import annotations

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runtime.asking.ask import Asker, Inquiry


def find_missing(asker: Asker, inquiry: Inquiry, stems: Mapping[str, str], unmentioned: Collection[str]) -> None:
    """Note the names in a question, and those that no hit mentions. Raises apsw.Error.

    ``stems`` has the question's words by their stems; ``unmentioned`` are the stems that no hit has.
    """
    inquiry.names = names(asker.connection, stems.values())
    inquiry.missing = [word for stem, word in stems.items() if stem in unmentioned and word in inquiry.names]
    if inquiry.missing:
        from core.redaction import shown

        # A question may contain a secret, which is repeated nowhere.
        clean = shown(inquiry.question)
        inquiry.missing = [word for word in inquiry.missing if word in clean]


def names(connection: apsw.Connection, words: Collection[str]) -> list[str]:
    """Return those of ``words`` that name a thing. Raises apsw.Error."""
    unusual = _unusual(connection, words)
    # A question in another language than the model's would have names only.
    unusual = [] if 2 * len(unusual) > len(words) else unusual
    return [word for word in words if word in unusual or _is_formed(word)]


def _is_formed(word: str) -> bool:
    """Return True if a word has letters and digits, or a capital behind its first letter."""
    return (any(map(str.isdigit, word)) and any(map(str.isalpha, word))) or any(map(str.isupper, word[1:]))


def _unusual(connection: apsw.Connection, words: Collection[str]) -> list[str]:
    """Return those of ``words`` with a part that the model's vocabulary lacks, none if the index has no vocabulary."""
    try:
        if connection.execute("SELECT 1 FROM brain_static_fits LIMIT 1").get is None:
            return []
    except apsw.SQLError:  # nothing was ever embedded
        return []
    from qmd.vectors import static_query

    parts = {word: [part for part in static_query.words(word) if part.isalnum()] for word in words}
    wanted = sorted({part for found in parts.values() for part in found})
    query = (
        "SELECT s.token FROM brain_static_fits f JOIN brain_static s ON s.model = f.model"
        f" WHERE s.token IN ({','.join('?' * len(wanted))})"
    )
    usual = {token for (token,) in connection.execute(query, wanted)}
    return [word for word, found in parts.items() if not usual.issuperset(found)]
