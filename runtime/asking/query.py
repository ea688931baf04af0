"""What may be asked: questions are data, and a question shaped like a shell command is turned back with its repair."""

from __future__ import annotations

from core.errors import BadQuery

MAX_CHARACTERS = 2000
# The essay's list: what a careless wrapper would hand to a shell.
_SHELL = (";", "`", "$(")


def validate(query: str, *, literal: bool = False) -> str:
    """``query`` without surrounding space. Raises BadQuery where it is empty, too long, or holds what it must not.

    ``literal`` permits the shell-shaped characters, for questions about exact commands.
    """
    query = query.strip()
    if not query:
        raise BadQuery("the question is empty", 'brain ask "what did I decide about the auth flow?"')
    if len(query) > MAX_CHARACTERS:
        raise BadQuery(
            f"the question has {len(query)} characters, at most {MAX_CHARACTERS} are taken", "ask a sharper question"
        )
    if not query.isprintable():
        _refuse_unprintable(query)
    if not literal:
        for mark in _SHELL:
            if mark in query:
                raise BadQuery(
                    f"the question holds {mark!r}, which a shell would act on",
                    f"take it out, or, where you mean it literally: brain ask --literal …{mark}…",
                )
    return query


def _refuse_unprintable(query: str) -> None:
    for character in query:
        point = ord(character)
        if point < 32 or 127 <= point < 160:
            raise BadQuery(
                f"the question holds the control character U+{point:04X}", "take it out; a question is one line of text"
            )
        if 0xD800 <= point < 0xE000:
            raise BadQuery("the question is not valid UTF-8", "check the terminal's locale, e.g. export LC_ALL=C.UTF-8")
