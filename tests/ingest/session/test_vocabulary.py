"""The vocabularies of tools: words, tables of fields, patterns."""

from __future__ import annotations

import json
from pathlib import Path

from ingest.session.values import Vocabulary


def test_a_vocabulary_has_words_fields_texts_and_patterns(tmp_path: Path) -> None:
    data = {
        "about": "Names of 1.0.",
        "records": ["user assistant", "system"],
        "fields": {"about": "By type.", "*": ["type id"], "user": ["text"], "summary": []},
        "sentences": ["Caveat: [a-z]+", "Stop\\."],
        "blocks": [["<a>", "</a>"]],
    }
    (tmp_path / "vocabulary.json").write_text(json.dumps(data))
    known = Vocabulary(str(tmp_path / "parser.py"))
    assert known.words("records") == {"user", "assistant", "system"}
    assert known.fields("fields") == {"user": {"type", "id", "text"}, "summary": {"type", "id"}}
    assert known.texts("sentences")[1] == "Stop\\."
    assert known.pairs("blocks") == (("<a>", "</a>"),)
    assert known.pattern("sentences", r"\A{}\Z").match("Caveat: mine") is not None
    assert known.pattern("sentences", r"\A{}\Z").match("Stop. Now") is None
