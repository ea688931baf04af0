"""``qmd search``: filters, collections, terminals, and what it must not load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.qmd.app.world import Qmd, stand, write

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def names(done: str) -> list[str]:
    return [row["file"] for row in json.loads(done)]


def test_a_filter_keeps_what_the_frontmatter_says(notes: Path, qmd: Qmd) -> None:
    both = ["qmd://notes/plan.md", "qmd://notes/done.md"]
    assert sorted(names(qmd("search", "tokens", "--json").out)) == sorted(both)
    assert names(qmd("search", "tokens", "--json", "--filter", "status=open").out) == both[:1]
    assert names(qmd("search", "tokens", "--json", "--filter", "status=d*").out) == both[1:]
    assert names(qmd("search", "tokens", "--json", "--filter", "status=open", "--filter", "status=done").out) == []


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("tags=alpha", ["block.md", "flow.md"]),
        ("tags=alp*", ["block.md", "flow.md"]),
        ("tags=bet", []),
        ("tags=beta", ["flow.md"]),
        ("done=true", ["scalar.md"]),
        ("turns=3", ["scalar.md"]),
        ("turns=03", []),
        ('a"b=c', []),
    ],
)
def test_a_filter_sees_the_items_of_lists_and_what_is_no_text(
    place: Path, qmd: Qmd, given: str, kept: list[str]
) -> None:
    heads = {
        "flow.md": "tags: [alpha, beta]",
        "block.md": "tags:\n- alpha\n- x",
        "scalar.md": "tags: gamma\ndone: true\nturns: 3",
    }
    write(place / "zoo", {name: f"---\n{head}\n---\n\nwallaby\n" for name, head in heads.items()})
    assert qmd("collection", "add", "zoo").code == 0
    found = names(qmd("search", "wallaby", "--json", "--filter", given).out)
    assert sorted(found) == [f"qmd://zoo/{name}" for name in kept]


def test_dates_keep_documents_of_that_time(notes: Path, qmd: Qmd) -> None:
    def found(*words: str) -> list[str]:
        return names(qmd("search", "tokens", "--json", *words).out)

    assert found("--since", "2026-03-01") == ["qmd://notes/plan.md"]
    assert found("--until", "2026-03-01") == ["qmd://notes/done.md"]
    assert found("--until", "2026-02-01") == ["qmd://notes/done.md"]
    assert found("--since", "2026-02-02", "--until", "2026-04-01") == []


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--filter", "open"], "--filter takes key=value"), (["--since", "soon"], "--since takes an ISO 8601 date")],
)
def test_a_filter_that_says_nothing_is_refused(notes: Path, qmd: Qmd, words: list[str], said: str) -> None:
    done = qmd("search", "tokens", *words)
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_an_excluded_collection_is_searched_only_when_named(notes: Path, qmd: Qmd) -> None:
    write(notes.parent / "more", {"x.md": "# X\n\ntokens\n"})
    qmd("collection", "add", "more")
    qmd("collection", "exclude", "more")
    assert "more" not in qmd("search", "tokens", "--files").out
    assert "qmd://more/x.md" in qmd("search", "tokens", "-c", "more", "--files").out


def test_an_edit_of_the_configuration_is_seen_by_the_next_search(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    assert "context" not in qmd("search", "tokens", "--json").out
    path = tmp_path / "config" / "qmd" / "index.yml"
    path.write_text(path.read_text() + "global_context: by hand\n")
    assert '"context": "by hand"' in qmd("search", "tokens", "--json").out


def test_text_from_documents_cannot_steer_a_terminal(notes: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[31m" in qmd("search", "words").out
    monkeypatch.setattr("qmd.app.output._is_terminal", lambda stream: True)
    shown = qmd("search", "words").out
    assert "\x1b[31m" not in shown
    assert f"\x1b]8;;vscode://file/{notes}/sub/deep.md:" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1m" not in qmd("search", "words").out


def test_a_search_loads_no_yaml_and_starts_nothing(notes: Path, qmd: Qmd) -> None:
    # The first one after a change of the configuration reads it: the change may be younger than the clock's tick.
    time.sleep(0.05)
    qmd("search", "tokens")
    heavy = {"yaml", "ruamel", "subprocess", "hashlib", "argparse", "typing", "dataclasses"}
    code = (
        "import sys; from qmd.app.main import main; main(['search', 'tokens', '--json']);"
        f"sys.stderr.write(' '.join(sorted({heavy!r} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert len(json.loads(done.stdout)) == 2
    assert done.stderr == ""


def test_a_reader_that_goes_away_is_no_failure(notes: Path) -> None:
    write(notes, {f"n{n}.md": f"# N\n\ntokens {'filler ' * 2000}\n" for n in range(60)})
    run = [sys.executable, "-m", "qmd"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*run, "update"], env=env, check=True, capture_output=True)
    command = f"'{sys.executable}' -m qmd search tokens --all --full | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\n0\n")
    assert done.stderr == ""


def test_an_index_that_is_no_database_is_reported_in_one_line(qmd: Qmd, tmp_path: Path) -> None:
    path = tmp_path / "cache" / "qmd" / "index.sqlite"
    path.parent.mkdir(parents=True)
    path.write_text("not a database" * 100)
    done = qmd("search", "x")
    assert (done.code, done.out) == (1, "")
    assert done.err.count("\n") == 1
    assert "is not a database" in done.err


def test_a_file_is_shown_whole_from_the_root_folder(notes: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(qmd("search", "hourly", "--json", "--full-path").out)[0]["file"] == "./notes/plan.md"
    stand(monkeypatch, Path("/"))
    shown = json.loads(qmd("search", "hourly", "--json", "--full-path").out)[0]["file"]
    assert shown == str((notes / "plan.md").resolve())
