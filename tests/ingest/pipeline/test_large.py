"""Size costs time, not memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from core.home import Home
from tests.ingest.transcripts import SESSION, Script, lines, text

ROOT = str(Path(__file__).parents[3])
# On Linux ru_maxrss survives exec, and so begins with the size of the test process; VmHWM does not.
RUN = """
import json, pathlib, resource, sys
sys.path.insert(0, sys.argv[1])
from core.config import load
from core.home import Home
from runtime.capture.indexing import index
home = Home(sys.argv[2])
ledger = index(home, load(home), roots=[sys.argv[3]])["sources"]["claude"]
status = pathlib.Path("/proc/self/status")
if status.exists():
    peak = next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([peak, ledger]))
"""
MB = 1024 * 1024


def _peak(home: Home, folder: Path) -> tuple[float, dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, ROOT, home.root, str(folder)], capture_output=True, text=True, check=True
    )
    peak, ledger = json.loads(done.stdout)
    return peak / MB, ledger


@pytest.mark.long
def test_a_hundred_megabytes_of_tool_results_pass_through_in_little_memory(home: Home, tmp_path: Path) -> None:
    s = Script()
    with (tmp_path / f"{SESSION}.jsonl").open("wb") as stream:
        while stream.tell() < 100 * MB:
            stream.write(lines(s.user("next"), s.assistant(text("ok")), s.result("t", "x" * 500_000)))
    peak, ledger = _peak(home, tmp_path)
    assert ledger["ingested"] == 1
    assert peak < 80


@pytest.mark.long
@pytest.mark.parametrize("mark", ["", "\N{BRAIN}"], ids=["latin", "four bytes a character"])
def test_a_hundred_megabytes_of_talk_make_one_document_of_bounded_size(home: Home, tmp_path: Path, mark: str) -> None:
    s = Script()
    chance = random.Random(1)
    words = [f"word{number}" for number in range(3000)]
    said = [" ".join(chance.choices(words, k=900)) for _ in range(100)]
    asked = 0
    with (tmp_path / f"{SESSION}.jsonl").open("wb") as stream:
        while stream.tell() < 110 * MB:
            answer = f"answer {asked} {mark} {said[asked % len(said)]}"
            stream.write(lines(s.user(f"question {asked} {mark}"), s.assistant(text(answer))))
            asked += 1
    peak, ledger = _peak(home, tmp_path)
    assert ledger["ingested"] == 1
    made = Path(home.path("brain"), f"{SESSION}.md").read_text()
    assert 4 * MB - 300_000 < len(made) < 4 * MB + 100_000
    assert "\nquestion 0" in made
    assert f"answer {asked - 1} " in made
    assert f"answer {asked // 2} " not in made
    shown = made.count("\n## [")
    assert ledger["truncated"] == {"documents": 1, "pieces": 2 * asked - shown}
    assert peak < 200


@pytest.mark.long
def test_a_line_of_a_hundred_megabytes_is_one_failure(home: Home, tmp_path: Path) -> None:
    s = Script()
    with (tmp_path / f"{SESSION}.jsonl").open("wb") as stream:
        stream.write(lines(s.user("before")) + b'{"type":"user","x":"')
        for _ in range(100):
            stream.write(b"x" * MB)
        stream.write(b'"}\n' + lines(s.user("after")))
    peak, ledger = _peak(home, tmp_path)
    assert ledger["failed_reasons"] == {"line too long": 1}
    assert "after" in Path(home.path("brain"), f"{SESSION}.md").read_text()
    assert peak < 200


@pytest.mark.long
def test_another_tools_hundred_megabytes_are_not_held(home: Home, tmp_path: Path) -> None:
    with (tmp_path / "other.jsonl").open("wb") as stream:
        while stream.tell() < 100 * MB:
            stream.write(lines({"type": "response_item", "payload": {"text": "x" * 100_000}}))
    with (tmp_path / "nameless.jsonl").open("wb") as stream:
        s = Script()
        while stream.tell() < 100 * MB:
            stream.write(lines(s.result("t", "x" * 100_000, sessionId="<absent>")))
    peak, ledger = _peak(home, tmp_path)
    assert ledger["skipped"] == {"no conversation": 1, "not a Claude Code transcript": 1}
    assert peak < 120
