from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from cli.spec import duration
from core.files import FileLock
from core.home import Home
from qmd.index.semantic import spaces, vectors
from qmd.index.store import open_index
from tests.conftest import ROOT, Brain
from tests.prior import put_prior
from tests.qmd.embedding.endpoint import Endpoint, says

WORDS = "walrus token refresh race cache queue lock index release branch deploy river stone lamp".split()


def fill(home: Home, files: int, words: int = 30) -> None:
    folder = Path(home.inbox, "2026", "05")
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        text = " ".join(WORDS[(number * 7 + step * step) % len(WORDS)] for step in range(words))
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{text}\n")


def run(brain: Brain, *words: str, code: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = brain(*words, "--json", env=env)
    assert done.returncode == code, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def freshness(brain: Brain, code: int = 0) -> dict[str, Any]:
    semantic: dict[str, Any] = run(brain, "ask", "walrus", code=code)["freshness"]["semantic"]
    return semantic


def test_what_is_embedded_is_said_by_every_answer_and_by_explain(home: Home, brain: Brain) -> None:
    fill(home, 3)
    run(brain, "index")
    assert freshness(brain) == {"fresh": False, "pending": 3, "as_of": None}
    report = run(brain, "embed")
    assert (report["provider"], report["model"], report["dimensions"]) == ("local", "all-MiniLM-L6-v2", 384)
    assert (report["texts"], report["pending"], report["failed"]) == (3, 0, 0)
    assert 0 < report["embedding_ms"] <= report["took_ms"]
    semantic = freshness(brain)
    assert (semantic["fresh"], semantic["pending"]) == (True, 0)
    assert semantic["as_of"]
    run(brain, "inbox", "a walrus of another kind")
    assert (freshness(brain)["fresh"], freshness(brain)["pending"]) == (False, 1)
    (home_file,) = Path(home.inbox).rglob("1.md")
    home_file.write_text("# Note 1\n\nchanged walrus\n")
    run(brain, "index")
    assert freshness(brain)["pending"] == 2
    found = run(brain, "explain")
    active = found["semantic"]
    assert (active["provider"], active["model"], active["pending"]) == ("local", "all-MiniLM-L6-v2", 2)
    assert active["spaces"] == [
        {
            "name": "local/all-MiniLM-L6-v2",
            "active": True,
            "dimensions": 384,
            "vectors": report["chunks"] - 1,
            "pending": 2,
            "pending_by_collection": {"inbox": 2},
            "renewing": 0,
            "renewing_by_collection": {},
            "as_of": semantic["as_of"],
        }
    ]
    by_name = {entry["name"]: entry["semantic"] for entry in found["collections"]}
    assert (by_name["inbox"]["pending"], by_name["brain"]["pending"]) == (2, 0)
    run(brain, "embed")
    assert freshness(brain)["fresh"] is True
    home_file.unlink()
    run(brain, "index")
    assert freshness(brain)["pending"] == 0


def test_a_run_that_is_killed_goes_on_where_it_was(home: Home, brain: Brain) -> None:
    fill(home, 24, words=50)
    run(brain, "index")
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from qmd.embedding import embedder; embedder._GROUP = 4;"
        "import brain; brain.entry()"
    )
    with subprocess.Popen([sys.executable, "-c", code, "embed", "--json"], stdout=subprocess.PIPE) as process:
        count = 0
        deadline = time.monotonic() + 60
        while count < 4 and time.monotonic() < deadline:
            time.sleep(0.05)
            count = _embedded(home)
        os.kill(process.pid, signal.SIGSTOP)  # or it may be through before the other has begun
        second = brain("embed", "--json")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert (second.returncode, json.loads(second.stdout)["error"]) == (70, "lock_contention")
    kept = _embedded(home)
    assert 4 <= kept < 24
    put_prior(home)
    report = run(brain, "embed")
    assert report["chunks"] == 24 - kept
    assert report["query_table"] == "fitted"
    connection = open_index(home.index, write=True)
    (space,) = spaces.listed(connection)
    spaces.load(connection)
    assert connection.execute(f'SELECT count(DISTINCT rowid) FROM "{space.table}"').get == 24
    assert vectors.drop_strays(connection, space) == 0
    connection.close()


def _embedded(home: Home) -> int:
    connection = open_index(home.index)
    try:
        known = spaces.listed(connection)
        return spaces.count(connection, known[0]) if known else 0
    except apsw.BusyError:
        return 0
    finally:
        connection.close()


def test_an_index_run_works_during_an_embedding_run(home: Home, brain: Brain) -> None:
    fill(home, 2)
    run(brain, "index")
    with FileLock(os.path.join(home.state, "embed.lock"), 0):
        assert run(brain, "index")["ok"] is True
        assert run(brain, "embed", code=70)["error"] == "lock_contention"


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("--provider", "oracle"), 64, "bad_input"),
        (("--provider", "local", "--model", "none"), 64, "bad_input"),
        (("-c", "nowhere"), 64, "bad_input"),
        (("--budget", "soon"), 64, "bad_input"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    home: Home, brain: Brain, words: tuple[str, ...], code: int, error: str
) -> None:
    fill(home, 1)
    run(brain, "index")
    answer = run(brain, "embed", *words, code=code)
    assert answer["error"] == error
    assert answer["fix"]


def test_without_an_index_there_is_nothing_to_embed(home: Home, brain: Brain) -> None:
    assert run(brain, "embed", code=65)["fix"] == "brain index"
    assert not os.path.exists(home.index)


@pytest.mark.parametrize(("text", "span"), [("45", 45), ("60s", 60), ("1.5h", 5400), ("10m", 600), ("2min", 120)])
def test_a_budget_is_read(text: str, span: float) -> None:
    assert duration(text) == span


@pytest.mark.parametrize("text", ["", "s", "0", "-1", "1d", "1e99", "nan", "infh", "1 mm", "5hh"])
def test_a_budget_that_is_none_is_not(text: str) -> None:
    with pytest.raises(ValueError, match="such as"):
        duration(text)


def test_a_configuration_may_name_another_provider_and_never_a_key(home: Home, brain: Brain) -> None:
    fill(home, 1)
    collections = "collections:\n  inbox: {path: inbox}\n"
    place = Path(home.root, "collections.yml")
    place.write_text(f"{collections}embedding: {{provider: local, path: {home.root}/nothing}}\n")
    run(brain, "index")
    assert "model.onnx is missing" in run(brain, "embed", code=64)["message"]
    place.write_text(f"{collections}embedding: {{provider: openai, api_key: sk-123}}\n")
    answer = run(brain, "embed", code=64)
    assert "sk-123" not in json.dumps(answer)
    assert "OPENAI_API_KEY" in answer["fix"]


@pytest.mark.parametrize(
    "answer", [{"data": []}, {"data": [{"index": 0, "embedding": [1e300]}]}, b"<html>sign in</html>"]
)
def test_an_endpoint_that_is_none_ends_the_run_as_what_is_missing(
    home: Home, brain: Brain, endpoint: Endpoint, answer: Any
) -> None:
    fill(home, 2)
    run(brain, "index")
    endpoint.always = says(answer)
    env = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "sk-not-shown", "NO_PROXY": "127.0.0.1"}
    done = brain("embed", "--provider", "openai", "--model", "m", "--budget", "1", "--json", env=env)
    said = json.loads(done.stdout)
    assert (done.returncode, said["error"], done.stderr) == (65, "qmd_missing", "")
    assert "embedding" in said["fix"] or "OPENAI_BASE_URL" in said["fix"]
    assert not os.path.exists(os.path.join(home.root, "logs", "crash.log"))


def test_explain_and_the_doctor_say_what_cannot_embed_and_the_fix(home: Home, brain: Brain) -> None:
    fill(home, 1)
    run(brain, "index")
    Path(home.root, "collections.yml").write_text("collections: {inbox: }\nembedding: {provider: nope}\n")
    for command in (["explain"], ["doctor", "--no-wedge"]):
        said = brain(*command).stdout
        assert "nothing can be embedded: unknown provider 'nope'" in said
        assert "embedding: {provider: …} is one of local, openai, gemini, llm" in said
