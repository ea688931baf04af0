from __future__ import annotations

import json
import time
from pathlib import Path

import psutil
import pytest

from core.home import Home
from tests.conftest import Brain
from tests.runtime.index_fixture import Shelf
from tests.terminal import on_terminal


@pytest.fixture
def shelf(home: Home) -> Shelf:
    shelf = Shelf(home)
    shelf.put("inbox", "a.md", "we chose sqlite over a server; run `git commit --no-verify`", title="Storage")
    return shelf


def test_json_is_one_object_and_nothing_else(shelf: Shelf, brain: Brain) -> None:
    done = brain("ask", "which", "storage", "did", "we", "choose?", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hits"][0]["uri"] == "qmd://inbox/a.md"


def test_text_names_title_age_uri_and_line_without_colour_in_a_pipe(shelf: Shelf, brain: Brain) -> None:
    done = brain("ask", "sqlite")
    assert done.returncode == 0
    assert "1. Storage" in done.stdout
    assert "qmd://inbox/a.md:" in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["zzyzx"], 67, "no_results"),
        ([""], 64, "bad_query"),
        (["a;b"], 64, "bad_query"),
        (["x" * 2001], 64, "bad_query"),
        (["x", "-c", "nope"], 64, "bad_input"),
        (["x", "-n", "0"], 64, "bad_input"),
        (["x", "--timeout", "soon"], 64, "bad_input"),
        (["x", "--since", "someday"], 64, "bad_input"),
        (["x", "--since", "2026-05-02", "--until", "2026-05-01"], 64, "bad_input"),
        (["x", "--since", "2026-05-02", "--since-days", "3"], 64, "bad_input"),
        (["--no-verify"], 64, "bad_input"),
    ],
)
def test_every_outcome_has_its_code_and_key(
    shelf: Shelf, brain: Brain, words: list[str], code: int, error: str
) -> None:
    done = brain("ask", *words, "--json")
    assert done.returncode == code
    envelope = json.loads(done.stdout)
    assert envelope["error"] == error
    plain = brain("ask", *words)
    assert plain.returncode == code
    if code == 64:
        assert plain.stdout == ""
        assert "fix: " in plain.stderr
        assert envelope["exit_code"] == 64


def test_words_after_dashes_are_the_question(shelf: Shelf, brain: Brain) -> None:
    done = brain("ask", "--json", "--", "--no-verify")
    assert done.returncode == 0
    assert json.loads(done.stdout)["query"] == "--no-verify"


def test_literal_permits_what_a_shell_would_act_on(shelf: Shelf, brain: Brain) -> None:
    assert brain("ask", "--literal", "`git commit --no-verify`; sqlite").returncode == 0


def test_a_batch_answers_line_for_line_and_ends_with_0(shelf: Shelf, brain: Brain, tmp_path: Path) -> None:
    lines = "sqlite\n\nzzyzx\n`sqlite`;\nsqlite\u2028storage\r\n"
    done = brain("ask", "--batch", "-", stdin=lines)
    assert done.returncode == 0
    envelopes = [json.loads(line) for line in done.stdout.splitlines()]
    assert [envelope.get("error") for envelope in envelopes] == [None, "bad_query", "no_results", None, None]
    file = tmp_path / "questions.txt"
    file.write_text("sqlite", encoding="utf-8")
    assert len(brain("ask", "--batch", str(file)).stdout.splitlines()) == 1
    assert brain("ask", "--batch", str(tmp_path / "none")).returncode == 64
    assert brain("ask", "--batch", str(file), "word").returncode == 64


def test_telemetry_has_one_row_with_uris_and_never_the_question(shelf: Shelf, brain: Brain) -> None:
    brain("ask", "sqlite", env={"BRAIN_SURFACE": "claude-code"})
    (line,) = Path(shelf.home.usage).read_text().splitlines()
    row = json.loads(line)
    assert {key: row[key] for key in ("schema", "surface", "event", "query_len", "n_hits", "exit_code", "hits")} == {
        "schema": 1,
        "surface": "claude-code",
        "event": "ask",
        "query_len": 6,
        "n_hits": 1,
        "exit_code": 0,
        "hits": ["qmd://inbox/a.md"],
    }
    assert "sqlite" not in line
    assert Path(shelf.home.usage).stat().st_mode & 0o777 == 0o600


def test_every_question_of_a_batch_has_a_row_with_its_own_time(shelf: Shelf, tmp_path: Path, brain: Brain) -> None:
    file = tmp_path / "questions"
    file.write_bytes(b"sqlite\nwalruses\n\xff\xfe\n")
    brain("ask", "--batch", str(file))
    *asked, batch = [json.loads(line) for line in Path(shelf.home.usage).read_text().splitlines()]
    assert [(row["event"], row["exit_code"], row["n_hits"]) for row in asked] == [
        ("ask", 0, 1),
        ("ask", 67, 0),
        ("ask", 64, 0),
    ]
    assert all(row["latency_ms"] > 0 for row in asked)
    # The run as a whole is no question: its time is not an answer's.
    assert (batch["event"], batch["n_queries"], batch["n_answered"]) == ("ask_batch", 3, 1)
    assert batch["latency_ms"] >= sum(row["latency_ms"] for row in asked)


def test_a_hostile_title_cannot_drive_the_terminal(shelf: Shelf, brain: Brain) -> None:
    shelf.put("inbox", "b.md", "pelican \x1b]0;owned\x07 \x9b31m", title="x \u202eevil\x1b[2J")
    done = brain("ask", "pelican")
    assert "\x1b" not in done.stdout
    assert "\x9b" not in done.stdout
    assert "\u202e" not in done.stdout


def test_explain_adds_the_summands(shelf: Shelf, brain: Brain) -> None:
    hit = json.loads(brain("ask", "sqlite", "--explain", "--json").stdout)["hits"][0]
    assert set(hit["explain"]) == {"document", "passage", "span", "date"}


def test_questions_are_kept_only_where_the_configuration_says_so(shelf: Shelf, brain: Brain) -> None:
    shipped = "collections:\n  inbox: {}\ntelemetry: {query_text: true}\n"
    Path(shelf.home.path("collections.yml")).write_text(shipped)
    brain("ask", "sqlite")
    assert json.loads(Path(shelf.home.usage).read_text())["query"] == "sqlite"


def test_a_question_that_is_kept_has_no_secret_in_it(shelf: Shelf, tmp_path: Path, brain: Brain) -> None:
    Path(shelf.home.path("collections.yml")).write_text("collections:\n  inbox: {}\ntelemetry: {query_text: true}\n")
    token = "ghp_" + "sekr1t8A" * 4 + "abcd"
    brain("ask", f"sqlite {token}")
    file = tmp_path / "questions"
    file.write_text(f"sqlite API_KEY={token}\n")
    brain("ask", "--batch", str(file))
    kept = Path(shelf.home.usage).read_text()
    assert kept.count("[redacted:") == 2
    assert "sekr1t8A" not in kept


def test_a_line_that_is_no_text_is_one_bad_question_of_a_batch(shelf: Shelf, tmp_path: Path, brain: Brain) -> None:
    file = tmp_path / "questions"
    file.write_bytes(b"sqlite\n\xff\xfe\nsqlite\n")
    done = brain("ask", "--batch", str(file))
    assert done.returncode == 0
    assert [json.loads(line).get("error") for line in done.stdout.splitlines()] == [None, "bad_query", None]


@pytest.fixture
def qmd(tmp_path: Path) -> Path:
    """An executable in place of another qmd."""
    program = tmp_path / "qmd"
    program.write_text("""#!/bin/sh
echo '[{"docid": "#a", "score": 0.25, "file": "qmd://inbox/a.md", "line": 2, "title": "x", "snippet": "sqlite"}]'
""")
    program.chmod(0o755)
    return program


def test_another_engine_answers_in_our_envelope(shelf: Shelf, brain: Brain, qmd: Path) -> None:
    done = brain("ask", "sqlite", "--json", env={"BRAIN_QMD": str(qmd)})
    assert (done.returncode, done.stderr) == (0, "")
    envelope = json.loads(done.stdout)
    assert f"BRAIN_QMD: {qmd}" in envelope["route"]["reason"]
    ours = json.loads(brain("ask", "sqlite", "--json", env={"BRAIN_QMD": "builtin"}).stdout)
    assert envelope.keys() == ours.keys()
    assert envelope["hits"][0].keys() == ours["hits"][0].keys()
    assert "score 0.25" in brain("ask", "sqlite", env={"BRAIN_QMD": str(qmd)}).stdout
    batch = brain("ask", "--batch", "-", stdin="sqlite\n\nx\n", env={"BRAIN_QMD": str(qmd)}).stdout.splitlines()
    assert [json.loads(line).get("error") for line in batch] == [None, "bad_query", None]


@pytest.mark.parametrize(
    ("script", "words", "code", "error"),
    [
        ("echo '[]'", [], 67, "no_results"),
        ("echo 'no json'", [], 99, "internal"),
        ("echo '[]'; echo broken >&2; exit 1", [], 99, "internal"),
        ("sleep 60", ["--timeout", "0.5"], 66, "qmd_timeout"),
        ("echo '[]'", ["--since", "2026-01-01"], 64, "bad_input"),
        ("echo '[]'", ["--batch", "-", "--source", "claude"], 64, "bad_input"),
        (None, [], 65, "qmd_missing"),
    ],
)
def test_each_end_of_another_engine_has_its_code(
    shelf: Shelf, brain: Brain, qmd: Path, script: str | None, words: list[str], code: int, error: str
) -> None:
    qmd.write_text(f"#!/bin/sh\n{script}\n")
    qmd.chmod(0o755 if script else 0o644)
    question = [] if "--batch" in words else ["sqlite"]
    done = brain("ask", *question, *words, "--json", env={"BRAIN_QMD": str(qmd)})
    assert (done.returncode, json.loads(done.stdout)["error"]) == (code, error)


def test_past_the_deadline_another_engine_and_what_it_started_are_gone(
    shelf: Shelf, brain: Brain, qmd: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    qmd.write_text(f"#!/bin/sh\nsleep 300 &\necho $$ $! > '{pids}'\nwait\n")
    done = brain("ask", "sqlite", "--timeout", "3", "--json", env={"BRAIN_QMD": str(qmd)})
    assert (done.returncode, json.loads(done.stdout)["error"]) == (66, "qmd_timeout")
    deadline = time.monotonic() + 20
    left = [int(pid) for pid in pids.read_text().split()]
    while (left := [pid for pid in left if _runs(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_title_is_one_line_on_a_terminal_too(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    from cli.ask_output import _rich
    from runtime.asking.ask import Asker, Request

    title = "evil \x1b[31m\n2. Fake hit\u2028ls"
    shelf.put("inbox", "b.md", "pelican", title=title, project="p\nFAKE", source="s\nFAKE")
    with Asker(shelf.home, shelf.config) as asker:
        _rich(asker.ask("pelican", Request()), ())
    shown = capsys.readouterr().out
    assert "1. evil 2. Fake hit ls" in shown
    assert not any(line.startswith(("2. Fake", "FAKE")) for line in shown.splitlines())


def test_a_terminal_shows_the_whole_of_a_quote(shelf: Shelf, brain: Brain) -> None:
    del brain
    said = "The pelican gate fails because the spare key of the northern lock was never copied to the new cabinet."
    turns = f"## [1] user\n\nWhy does the gate fail?\n\n## [2] assistant\n\n{said}\n"
    shelf.put("brain", "a.md", turns, title="Gate", date=int(time.time()))
    shown = on_terminal("ask", "why does the pelican gate fail")[1]
    lines = [line for line in shown.splitlines() if line.startswith("   │ ")]
    assert any(line.startswith("   │ agent: The pelican gate") for line in lines)
    assert said in " ".join(line.removeprefix("   │").strip() for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_name_that_is_no_text_is_bad_input(shelf: Shelf, brain: Brain) -> None:
    assert brain("show", "\udcff").returncode == 64
    assert brain("recent", env={"BRAIN_HOME": str(shelf.home.root) + "\udcff"}).returncode == 64


def test_nothing_relevant_enough_is_not_nothing_that_matches(shelf: Shelf, brain: Brain) -> None:
    nothing = brain("ask", "zzyzx").stdout
    assert nothing.startswith("Nothing in memory matches. Try fewer or other words")
    assert "--min-score" not in nothing
    weak = brain("ask", "sqlite", "--min-score", "1")
    assert weak.returncode == 67
    assert weak.stdout.startswith("Nothing clearly answers this. Nearest:\n\n1. ")
    assert "Nothing in memory is relevant enough." in weak.stdout
    assert "matches. Try fewer" not in weak.stdout
    envelope = json.loads(brain("ask", "sqlite", "--min-score", "1", "--json").stdout)
    assert (envelope["hits"], envelope["abstained"]) == ([], True)
    assert 1 <= len(envelope["nearest"]) <= 3


def test_what_a_question_was_restricted_to_is_named_first(shelf: Shelf, brain: Brain) -> None:
    done = brain("ask", "zzyzx", "--source", "claude", "--since-days", "7", "-c", "inbox")
    first, second, *_ = done.stdout.splitlines()
    assert first == "Asked only within -c inbox --source claude --since-days 7: leave that out to ask all of memory."
    assert second.startswith("Nothing is remembered of the time since ")
    assert second.endswith(" there.")
    unlimited = brain("ask", "zzyzx", "--source", "claude", "-c", "inbox").stdout.splitlines()
    assert unlimited[1] == "Nothing there matches. Try fewer or other words."
    assert "Asked only within" not in brain("ask", "sqlite", "-c", "inbox").stdout


def test_a_day_of_which_nothing_is_remembered_is_no_matter_of_words(shelf: Shelf, brain: Brain) -> None:
    shelf.put("brain", "a.md", "a session", date=int(time.time()) - 9 * 86_400)
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 9 * 86_400))
    done = brain("ask", "what was I doing yesterday")
    assert done.returncode == 67
    assert "Nothing is remembered of " in done.stdout
    assert f"{day} before" in done.stdout
    assert "words" not in done.stdout.splitlines()[0]
    asked = brain("ask", "what did I do about zzyzx today")
    assert "Memory has 1 document of " in asked.stdout
    assert "other words" in asked.stdout


def test_a_line_shows_where_the_scores_fall_off(shelf: Shelf, brain: Brain) -> None:
    shelf.put("inbox", "b.md", "a server of stone " * 20, title="Stone")
    lines = brain("ask", "sqlite over a server").stdout.splitlines()
    cut = lines.index("--- less clear from here on ---")
    assert lines.index("1. Storage") < cut < lines.index("2. Stone")
    assert "less clear" not in brain("ask", "sqlite").stdout
    assert "less clear" not in on_terminal("ask", "sqlite")[1]
    assert "less clear" in on_terminal("ask", "sqlite over a server")[1]


def test_a_hit_on_the_wrong_side_of_a_date_is_marked_there(shelf: Shelf, brain: Brain) -> None:
    shelf.put("brain", "a.md", "the auth flow", date=int(time.time()) - 411 * 86_400)
    lines = brain("ask", "auth flow three weeks ago").stdout.splitlines()
    assert any(line.startswith('   ! not from "three weeks ago" (') for line in lines)


def test_a_name_that_no_hit_mentions_is_reported(shelf: Shelf, brain: Brain) -> None:
    envelope = json.loads(brain("ask", "which sqlite server has PgBouncer", "--json").stdout)
    assert envelope["missing"] == ["PgBouncer"]
    assert len(envelope["hits"]) == 1
    said = brain("ask", "which sqlite server has PgBouncer").stdout
    assert said.startswith("The best match does not mention “PgBouncer”.\n\n1. Storage")
    assert "missing" not in json.loads(brain("ask", "which sqlite server has we", "--json").stdout)


def test_a_secret_in_a_question_is_no_missing_name(shelf: Shelf, brain: Brain) -> None:
    for secret in ("gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8", "password=hunter2Xy"):
        envelope = json.loads(brain("ask", f"sqlite server {secret}", "--json").stdout)
        assert not any(word in secret.partition("=")[2] or word == secret for word in envelope.get("missing", ()))


def test_an_exact_question_needs_one_of_its_names(shelf: Shelf, brain: Brain) -> None:
    shelf.put("inbox", "b.md", "an ent walks 300 miles", title="Trees")
    done = brain("ask", "ENT-300", "--json")
    envelope = json.loads(done.stdout)
    assert (done.returncode, envelope["hits"], envelope["missing"]) == (67, [], ["ENT-300"])
    assert [hit["title"] for hit in envelope["nearest"]] == ["Trees"]
    assert brain("ask", "ENT-300").stdout.startswith("The best match does not mention “ENT-300”. Nearest:\n\n1. Trees")
    assert json.loads(brain("ask", "ENT-300", "--min-score", "0", "--json").stdout)["hits"]
    shelf.put("inbox", "c.md", "ENT-300 is done", title="Ticket")
    assert json.loads(brain("ask", "ENT-300", "--json").stdout)["hits"][0]["title"] == "Ticket"
