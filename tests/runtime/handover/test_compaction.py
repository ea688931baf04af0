"""After a compaction an agent gets back what the summary lost, within the budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.handover import compaction
from runtime.handover.state import Fact
from runtime.hooks import transcripts
from tests.runtime.handover.documents import COMPACTED, HEAD, SESSION


def test_what_the_summary_mentions_is_not_handed_back() -> None:
    before, summary = compaction.at_compaction(COMPACTED)
    missing = compaction.lost(before.facts(), summary)
    texts = [fact.text for fact in missing]
    assert not any("check-net" in text or "client.py" in text for text in texts)
    assert missing[0].text.startswith("No, don't use exponential backoff")
    assert any("quorum" in text for text in texts)
    assert any("pyproject.toml" in text for text in texts)


def test_a_compaction_that_is_not_indexed_yet_has_its_summary_from_the_transcript() -> None:
    before, summary = compaction.at_compaction(SESSION, "We ran make check-net.")
    assert summary == "We ran make check-net."
    assert any(fact.text == "`make check-net`" for fact in before.facts())


def test_the_lines_stay_within_the_room_and_a_persons_words_come_first() -> None:
    before, summary = compaction.at_compaction(COMPACTED)
    missing = compaction.lost(before.facts(), summary)
    for room in (0, 120, 400, 1_200):
        lines, given = compaction.given_back(missing, room)
        assert sum(len(line) + 1 for line in lines) <= room
        assert len(given) >= len(lines)
    assert lines[0].startswith("- Rejected by the user: No, don't use exponential backoff")


def test_a_very_long_document_is_read_from_its_end() -> None:
    filler = "".join(f"\n## [{number}] assistant\n\n{'word ' * 400}\n" for number in range(7, 300))
    before, summary = compaction.at_compaction(HEAD + filler + COMPACTED.removeprefix(HEAD))
    assert summary.endswith("ran make check-net.")
    assert before.project == "/srv/api"


@pytest.mark.parametrize(
    ("kind", "text", "has"),
    [
        ("command", "`make  check-net 2>&1`", True),
        ("command", "`make check-web`", False),
        ("file", "`a/b/client.py`", True),
        ("decision", "The client became sturdier", True),
        ("decision", "Retry three times because gateways restart", False),
    ],
)
def test_what_counts_as_mentioned(kind: str, text: str, has: bool) -> None:
    summary = "We made the client sturdier in client.py\nand ran make check-net."
    assert compaction.Mentions(summary).has(Fact(kind, text, 1, 1)) is has


def test_the_last_summary_of_a_transcript_is_read_without_its_secrets(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    records = [
        {"isCompactSummary": True, "message": {"content": "the first"}},
        {"isCompactSummary": True, "message": {"content": [{"type": "text", "text": f"the last {secret}"}]}},
        {"isCompactSummary": True, "message": None},
        {"type": "user", "message": {"content": "it says isCompactSummary"}},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + '{"isCompactSummary": true, torn')
    found = transcripts.last_summary(str(path))
    assert found.startswith("the last")
    assert secret not in found
    assert transcripts.last_summary(str(tmp_path / "none.jsonl")) == ""
