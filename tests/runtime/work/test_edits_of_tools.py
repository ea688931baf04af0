"""From each tool's own file to the span of an edit, in every format that has it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from core.config import load
from core.home import Home
from runtime.capture.indexing import index
from runtime.work.blame import blame
from runtime.work.restore_span import restore_span

CASES = [json.loads(line) for line in (Path(__file__).parent / "data/edits_of_tools.jsonl").read_text().splitlines()]
# Tools that log what an edit wrote and not what it replaced.
WITHOUT_BEFORE = ("edit_existing_file", "WriteFile", "textEditGroup")


def write(path: Path, case: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True)
    if "thread" in case:
        database = sqlite3.connect(path)
        database.execute("create table threads(id text, summary, updated_at, data_type, data, parent_id, folder_paths)")
        row = ("s1", "x", "2026-04-28T09:00:03Z", "json", json.dumps(case["thread"]), None, "/home/me/api")
        database.execute("insert into threads values(?, ?, ?, ?, ?, ?, ?)", row)
        database.commit()
        database.close()
        return
    text = "".join(json.dumps(each) + "\n" for each in case["lines"]) if "lines" in case else case.get("text")
    path.write_text(json.dumps(case["json"]) if text is None else text)


@pytest.mark.parametrize("case", CASES, ids=[f"{at}-{case['source']}" for at, case in enumerate(CASES)])
def test_an_edit_of_each_tool_is_found_and_handed_back(home: Home, tmp_path: Path, case: dict[str, Any]) -> None:
    root = tmp_path / "root"
    write(root / case["path"], case)
    index(home, load(home), source=case["source"], roots=[str(root)])
    # Aider's history lies in the project.
    file = str(root / "api" / "a.py") if case["source"] == "aider" else "/home/me/api/a.py"
    (session,) = blame(home, load(home), file)["sessions"]
    assert (session["deed"], session["edits"], session["asked"]) == ("changed", 1, "Change a.py please")
    (span,) = session["changes"][0]["spans"]
    assert span["after"]["lines"] == 1
    text = restore_span(home, load(home), file)[1]
    is_known = not any(name in json.dumps(case) for name in WITHOUT_BEFORE)
    assert text == ("the old first line\n" if is_known else None)
