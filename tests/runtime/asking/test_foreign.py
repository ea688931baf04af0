from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput, BadQuery, BrainError, EngineMissing, EngineTimeout, Internal
from core.home import Home
from runtime.asking import foreign
from runtime.asking.ask import Request
from runtime.asking.foreign import ForeignAsker
from tests.runtime.index_fixture import Shelf

Fake = Callable[..., str]

# Records its arguments, then runs the script.
_FAKE = """#!{python}
import json, os, sys, time
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]) + chr(10))
{body}
"""


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    day = int(time.time()) - 86_400 * 5
    shelf.put("brain", "s.md", "tokens", title="A session", date=day, source="claude", session_id="5f0c", project="/p")
    shelf.put("inbox", "my note.md", "tokens", title="A note", date=int(time.time()))
    return shelf


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Make an executable of this Python body; ``calls(tmp_path)`` lists how it was called."""

    def make(body: str, name: str = "qmd") -> str:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(_FAKE.format(python=sys.executable, log=str(tmp_path / "calls"), body=body))
        path.chmod(0o755)
        return str(path)

    return make


def says(*hits: dict[str, Any]) -> str:
    return f"print({json.dumps(list(hits))!r})"


def hit(file: str, **more: Any) -> dict[str, Any]:
    return {
        "docid": "#abcdef", "score": 0.5, "file": file, "line": 3, "title": "T",
        "snippet": "@@ -2,4 @@ (1 before, 0 after)\none\ntwo", **more,
    }  # fmt: skip


def calls(tmp_path: Path) -> list[tuple[list[str], str, dict[str, str]]]:
    return [tuple(json.loads(line)) for line in (tmp_path / "calls").read_text().splitlines()]


def ask(shelf: Shelf, program: str, question: str = "tokens", **given: Any) -> dict[str, Any]:
    with ForeignAsker(shelf.home, shelf.config, program, os.environ, given.pop("opening", 60)) as asker:
        return asker.ask(question, Request(**given))


def test_a_hit_has_the_ages_and_the_trust_of_our_own_corpus(shelf: Shelf, fake: Fake) -> None:
    program = fake(says(hit("qmd://brain/s.md"), hit("qmd://inbox/my note.md?index=other", score=0)))
    envelope = ask(shelf, program)
    first, second = envelope["hits"]
    assert (first["age"], first["stale"], first["trust"], first["resume"]) == (
        "5 days ago", True, "session", "claude --resume 5f0c",
    )  # fmt: skip
    assert first["warning"] == "5 days old: verify before you act on it"
    assert (first["title"], first["project"], first["line"], first["snippet"]) == ("A session", "/p", 3, "one\ntwo")
    assert (first["score"], first["docid"], first["rank"]) == (0.5, "#abcdef", 1)
    assert first["path"] == str(Path(shelf.config.collections["brain"].path, "s.md"))
    assert (second["uri"], second["age"], second["trust"]) == ("qmd://inbox/my note.md", "today", "note")
    assert "warning" not in second
    assert envelope["freshness"]["lexical"]["fresh"] is True
    assert program in envelope["route"]["reason"]
    assert "error" not in envelope


def test_it_is_called_without_a_shell_on_our_index_with_a_configuration_of_its_own(
    shelf: Shelf, fake: Fake, tmp_path: Path
) -> None:
    question = "`touch x` $(touch y); 'a' \"b\" -n 99 | tee z"
    ask(shelf, fake(says(hit("qmd://brain/s.md"))), question, literal=True, limit=3, collections=("brain", "inbox"))
    ((argv, folder, environ),) = calls(tmp_path)
    assert argv == [
        "search", "--json", "--index", "index", "-n", "3", "-c", "brain", "-c", "inbox", "--", question,
    ]  # fmt: skip
    assert environ["INDEX_PATH"] == shelf.home.index
    place = Path(shelf.home.path("state", "qmd"))
    assert environ["QMD_CONFIG_DIR"] == environ["PWD"] == str(place)
    assert os.path.realpath(folder) == os.path.realpath(place)
    assert sorted(os.listdir(place)) == ["index.yml"]
    assert (place / "index.yml").stat().st_mode & 0o777 == 0o600
    import yaml

    written = yaml.safe_load((place / "index.yml").read_text())
    folders = {name: folder.path for name, folder in shelf.config.collections.items()}
    assert {name: entry["path"] for name, entry in written["collections"].items()} == folders


def test_collections_outside_the_default_and_ignored_files_are_handed_on(home: Home, fake: Fake) -> None:
    Path(home.path("collections.yml")).write_text(
        "collections:\n  brain: {trust: session}\n  'odd: näme 😀':\n    path: /x/'y\"\n    ignore: ['a/**']\n"
        "    includeByDefault: false\n    context: {/: what is there}\n"
    )
    shelf = Shelf(home)
    ask(shelf, fake(says(hit("qmd://brain/s.md"))))
    from qmd.config_file import load

    assert load(home.path("state", "qmd", "index.yml"))["collections"]["odd: näme 😀"] == {
        "path": "/x/'y\"", "pattern": "**/*.md", "ignore": ["a/**"], "includeByDefault": False,
        "context": {"/": "what is there"},
    }  # fmt: skip


def test_nothing_found_is_an_answer_and_the_telling_words_are_tried(shelf: Shelf, fake: Fake, tmp_path: Path) -> None:
    envelope = ask(shelf, fake(says()), "what did we choose about the tokens?")
    assert (envelope["error"], envelope["hits"], envelope["ok"]) == ("no_results", [], True)
    assert [argv[-1] for argv, _, _ in calls(tmp_path)] == ["what did we choose about the tokens?", "choose tokens"]


@pytest.mark.parametrize("question", ["tokens", '"what did we choose"', "what -did"])
def test_a_question_in_its_own_language_is_asked_once(shelf: Shelf, fake: Fake, tmp_path: Path, question: str) -> None:
    ask(shelf, fake(says()), question)
    ask(shelf, fake(says()), "what did we choose", strict=True)
    assert [argv[-1] for argv, _, _ in calls(tmp_path)] == [question, "what did we choose"]


def test_before_any_index_run_nothing_found_is_no_answer(home: Home, fake: Fake) -> None:
    from core.config import load

    with ForeignAsker(home, load(home), fake(says()), os.environ) as asker, pytest.raises(EngineMissing, match="run"):
        asker.ask("tokens", Request())
    assert Path(home.index).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("print('<html>\\x1b[31mno</html>')", Internal, r"qmd gave no JSON; it begins: '<html>\\x1b\[31mno</html>\\n'"),
        ("print('')", Internal, "no JSON"),
        ("", Internal, "no JSON; it begins: ''"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe')", Internal, "no JSON"),
        ("print('[' * 100000)", Internal, "no JSON"),
        ("print('{}')", Internal, r"another shape \(not a list\): '{}"),
        ("print('[1]')", Internal, "another shape"),
        ("print('[{}]')", Internal, "no file"),
        ("""print('[{"file": "qmd://brain/s.md", "score": NaN}]')""", Internal, "no score"),
        ("""print('[{"file": "qmd://brain/s.md", "score": 1, "line": "2"}]')""", Internal, "line"),
        ("""print('[{"file": "qmd://", "score": 1}]')""", Internal, "no address"),
        ("print('[]'); sys.exit('first\\nsecond')", Internal, "qmd ended with exit code 1: first$"),
        ("print('[]'); sys.stderr.write('\\n \\x1b[31mred\\n'); sys.exit(2)", Internal, "exit code 2: red$"),
        ("sys.exit(3)", Internal, "it said nothing"),
        ("os.kill(os.getpid(), 9)", Internal, "ended by signal 9"),
        ("while True: print('y' * 65536)", Internal, "without end"),
    ],
)
def test_a_failure_is_never_mistaken_for_no_results(
    shelf: Shelf, fake: Fake, body: str, kind: type[BrainError], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        ask(shelf, fake(body))
    assert caught.value.fix


def test_one_that_does_not_answer_is_ended_in_time(shelf: Shelf, fake: Fake, tmp_path: Path) -> None:
    with pytest.raises(EngineTimeout, match=r"within 0\.5 s"):
        ask(shelf, fake("time.sleep(300)"), timeout_s=0.5)


@pytest.mark.parametrize("setting", ["/no/such/qmd", "no-such-qmd", "{folder}", "{plain}"])
def test_what_is_no_executable_is_missing(shelf: Shelf, tmp_path: Path, setting: str) -> None:
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\necho '[]'\n")
    with pytest.raises(EngineMissing, match="no executable"):
        ask(shelf, setting.format(folder=tmp_path, plain=plain))


@pytest.mark.parametrize("text", ["no program at all\n", "#!/no/such/interpreter\n"])
def test_what_does_not_start_is_missing(shelf: Shelf, tmp_path: Path, text: str) -> None:
    program = tmp_path / "qmd"
    program.write_text(text)
    program.chmod(0o755)
    with pytest.raises(EngineMissing, match="does not start"):
        ask(shelf, str(program))


@pytest.mark.parametrize(
    "given",
    [{"since": 1}, {"until": 1}, {"source": "claude"}, {"project": "api"}, {"explain": True}],
)
def test_what_it_cannot_serve_is_refused_before_it_runs(
    shelf: Shelf, fake: Fake, tmp_path: Path, given: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match="cannot serve --"):
        ask(shelf, fake(says()), **given)
    assert not (tmp_path / "calls").exists()


def test_a_bad_question_or_collection_never_reaches_it(shelf: Shelf, fake: Fake, tmp_path: Path) -> None:
    with pytest.raises(BadQuery):
        ask(shelf, fake(says()), "a;b")
    with pytest.raises(BadInput, match="no collection"):
        ask(shelf, fake(says()), collections=("nope",))
    assert not (tmp_path / "calls").exists()


def test_a_document_that_our_index_does_not_know_yet_is_read_from_its_file(shelf: Shelf, fake: Fake) -> None:
    folder = Path(shelf.config.collections["brain"].path)
    (folder / "new.md").write_text("---\ntitle: New\nsource: claude\ndate: 2020-01-02T03:04:05Z\n---\ntokens\n")
    (found,) = ask(shelf, fake(says(hit("qmd://brain/new.md"))))["hits"]
    assert (found["date"], found["title"], found["source"]) == ("2020-01-02T03:04:05Z", "New", "claude")


@pytest.mark.parametrize(
    "file", ["qmd://other/x.md", "qmd://brain/gone.md", "brain/gone.md", "qmd://brain/../../e", "qmd://brain/a?b.md"]
)
def test_a_hit_without_a_file_is_shown_and_marked(shelf: Shelf, fake: Fake, file: str) -> None:
    envelope = ask(shelf, fake(says(hit(file))))
    (found,) = envelope["hits"]
    assert (found["date"], found["age"], found["stale"], found["path"]) == (None, "unknown", True, None)
    assert "verify" in found["warning"]
    assert found["title"] == "T"
    from cli.ask_output import plain

    assert "of unknown age" in plain(envelope)


def test_no_more_hits_than_were_asked_for(shelf: Shelf, fake: Fake) -> None:
    assert len(ask(shelf, fake(says(*[hit("qmd://brain/s.md")] * 9)), limit=2)["hits"]) == 2


def test_a_date_in_the_question_is_said_not_to_count(shelf: Shelf, fake: Fake) -> None:
    reason = ask(shelf, fake(says(hit("qmd://brain/s.md"))), "tokens three weeks ago")["route"]["reason"]
    assert "(three weeks ago) is only words" in reason


@pytest.mark.long
def test_the_real_qmd_answers_from_our_index(shelf: Shelf, tmp_path: Path) -> None:
    from tests.qmd import real

    found = real.find()
    if isinstance(found, str):
        pytest.skip(found)
    program = tmp_path / "qmd"
    program.write_text("#!/bin/sh\nexec " + " ".join(shlex.quote(word) for word in found) + ' "$@"\n')
    program.chmod(0o755)
    shelf.put("inbox", "what?.md", "a pelican flew over the harbour", title="Birds")
    envelope = ask(shelf, str(program), "where was the pelican in that harbour?")
    (only,) = envelope["hits"]
    assert (only["uri"], only["age"], only["trust"]) == ("qmd://inbox/what?.md", "today", "note")
    assert "words that say little left out" in envelope["route"]["reason"]
    assert [each["collection"] for each in ask(shelf, str(program), collections=("brain",))["hits"]] == ["brain"]
    assert ask(shelf, str(program), "--zzyzx")["error"] == "no_results"
    assert ask(shelf, str(program), '"harbour pelican"')["error"] == "no_results"
    # It has written into its configuration and the index's bookkeeping: our own engine answers as before.
    from runtime.asking.ask import Asker

    with Asker(shelf.home, shelf.config) as asker:
        assert asker.ask("pelican", Request())["hits"][0]["uri"] == "qmd://inbox/what?.md"


@given(st.text(max_size=60))
def test_telling_words_are_words_of_the_question(question: str) -> None:
    told = foreign._telling(question)
    assert told == question or set(told.split()) <= {word.strip(foreign._MARKS) for word in question.split()}
