"""A rehearsal says what a run would do, and writes nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from core.config import load
from core.home import Home
from ingest.rehearsal import rehearse
from tests.conftest import Brain
from tests.ingest.test_codex import NAME, Rollout, ingest, save


def everything(folder: str) -> set[str]:
    return {os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}


def test_what_it_announces_is_what_the_run_does(home: Home, tmp_path: Path) -> None:
    make = Rollout()
    path = save(tmp_path / NAME, make.meta(), *make.asked("Why?"), make.record("hologram"))
    (tmp_path / "other.jsonl").write_text('{"type": "user", "sessionId": "x"}\n')
    load(home)  # which keeps the configuration in a form that loads at once
    before = everything(home.root)
    said = rehearse(home, "codex", [str(tmp_path)], trust_stat=False)
    assert everything(home.root) == before
    assert (said["would"]["read"], said["would"]["new"], said["would"]["changed"]) == (2, 1, 0)
    assert said["would"]["files"] == [str(path)]
    done = ingest(home, tmp_path).as_dict()
    for field in ("seen", "ingested", "skipped", "unknown", "documents", "failed_files"):
        assert said[field] == done[field], field
    again = rehearse(home, "codex", [str(tmp_path)], trust_stat=False)
    assert (again["would"]["read"], again["unchanged"]) == (0, 1)
    save(path, make.meta(), *make.asked("Why?"), *make.said("So."))
    grown = rehearse(home, "codex", [str(tmp_path)], trust_stat=True)["would"]
    assert (grown["new"], grown["changed"]) == (0, 1)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_the_command_says_so_and_makes_no_home(brain: Brain, tmp_path: Path, form: tuple[str, ...]) -> None:
    make = Rollout()
    save(tmp_path / "t" / NAME, make.meta(), *make.asked("Why?"))
    new = {"BRAIN_HOME": str(tmp_path / "brain")}
    done = brain("index", "--source", "codex", "--from", str(tmp_path / "t"), "--dry-run", *form, env=new)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "brain" / "brain").exists()
    if form:
        assert json.loads(done.stdout)["sources"]["codex"]["would"]["new"] == 1
    else:
        assert "1 document new" in done.stdout


def test_what_is_not_known_is_counted_with_the_versions_that_have_it(home: Home, tmp_path: Path) -> None:
    for number, version in enumerate(("0.146.0", "0.147.0")):
        make = Rollout()
        name = NAME.replace("0000000a", f"0000000{number}")
        identity = name.removesuffix(".jsonl")[-36:]
        meta = make.meta(identity, cli_version=version)
        save(tmp_path / name, meta, *make.asked("Why?"), make.record("hologram"))
    unknown = ingest(home, tmp_path).unknown["record hologram"]
    assert (unknown["count"], unknown["versions"]) == (2, ["0.146.0", "0.147.0"])


def test_of_a_source_whose_run_alone_can_tell_no_number_is_made_up(brain: Brain, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "a.py").write_text("def walrus():\n    return 1\n")
    done = brain("index", "--source", "code", "--from", str(repository), "--dry-run", "--json")
    would = json.loads(done.stdout)["sources"]["code"]["would"]
    assert (would["read"], would["new"], would["changed"]) == (1, None, None)
    assert would["files"] == [str(repository / "a.py")]
    said = brain("index", "--source", "code", "--from", str(repository), "--dry-run").stdout
    assert "only the run itself can tell" in said
    assert "nothing was written" in said
