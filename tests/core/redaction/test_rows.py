"""Rules that are rows of a table: every class is found, what looks like it stays, and the screens know each row."""

from __future__ import annotations

import json

import pytest

from core import redaction
from core.redaction import checks, clean_record, redact, screen
from core.redaction.row import Row
from core.redaction.rows import LINES, SPANS
from tests.core.redaction import classes
from tests.core.redaction.test_redaction import LABELLED


@pytest.mark.parametrize("kind", classes.KINDS)
@pytest.mark.parametrize("seed", [21, 22])
def test_each_class_is_found_and_what_looks_like_it_stays(kind: str, seed: int) -> None:
    cases = LABELLED.pasted(classes.lines(kind, secret=True), seed)
    assert cases
    assert [case.text for case in cases if case.secret in redact(case.text)[0]] == []
    others = LABELLED.pasted(classes.lines(kind, secret=False), seed + 1)
    assert [case.text for case in others if redact(case.text)[0] != case.text] == []


@pytest.mark.parametrize("kind", classes.KINDS)
def test_each_class_is_found_where_it_is_shown_and_where_json_holds_it(kind: str) -> None:
    for case in LABELLED.pasted(classes.lines(kind, secret=True), 23):
        assert redaction.shown(case.text) == redact(case.text)[0]
        for ascii_only in (True, False):
            value = {"message": {"content": case.text}}
            raw = json.dumps(value, ensure_ascii=ascii_only).encode()
            assert screen.suspects(raw), case.text
            assert case.secret not in clean_record(raw, value, {})["message"]["content"], case.text


@pytest.mark.parametrize("row", [*LINES, *SPANS], ids=lambda row: f"{row.kind} {row.accept}")
def test_a_row_is_whole(row: Row) -> None:
    assert callable(getattr(checks, row.accept))
    assert screen.compiled(f"(?i){row.pattern}").groups == 1
    assert all(word == word.lower() for word in row.words)
