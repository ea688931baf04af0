from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from core.config import load
from core.errors import EngineMissing
from core.home import Home
from qmd.embedding.provider import make, quantise
from qmd.index.catalogue import Filters
from qmd.index.semantic import spaces
from qmd.index.store import open_index
from qmd.vectors import knn
from runtime.resident import encoder
from runtime.resident.client import caller
from runtime.resident.encoder import Encoder, Model
from runtime.resident.roles import Asking
from runtime.watching.embedding import embed
from tests.qmd.embedding.endpoint import Endpoint, says
from tests.runtime.index_fixture import Shelf
from tests.waiting import until

SCRIPTED = """
import json, os, sys, time
job = json.loads(sys.stdin.readline())
print(json.dumps({"provider": "local", "model": "m", "fingerprint": "f"}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["text"] == "slow":
        time.sleep(0.5)
    while asked["text"].startswith("/") and not os.path.exists(asked["text"]):
        time.sleep(0.005)
    if asked["text"] == "die":
        sys.exit(3)
    print(json.dumps({"id": asked["id"], "vector": asked["text"].encode().hex()}), flush=True)
"""


def ready(model: Model, section: dict[str, Any] | None = None) -> Encoder:
    found = until(lambda: model.encoder(section or {}))
    assert found is not None
    return found


def tick_until(model: Model, met: Callable[[], object]) -> None:
    def tick() -> object:
        model.tick(time.monotonic())
        return met()

    until(tick)


def test_its_vectors_are_those_of_the_model_and_it_leaves_nothing_behind() -> None:
    model = Model(os.environ, 600 << 20, 60.0)
    try:
        found = ready(model)
        source = make({}, os.environ)
        (expected,) = quantise(source.embed(["where is the walrus?"], question=True))
        assert found.begin("where is the walrus?").vector() == expected
        assert found.fingerprint == source.fingerprint
        assert found.level is not None
        (child,) = [psutil.Process(pid) for pid in model.pids()]
        source.close()
    finally:
        model.stop()
    assert not child.is_running()
    assert model.status()["state"] == "none"


def test_a_question_by_meaning_is_encoded_by_the_model(home: Home) -> None:
    shelf = Shelf(home)
    for number, text in enumerate(("The invoice was paid late.", "Our dog sleeps on the sofa.", "Rain fell all day.")):
        shelf.put("brain", f"{number}.md", text, session_id=f"s{number}", source="claude")
    embed(home, load(home), os.environ)
    model = Model(os.environ, 600 << 20, 60.0)
    asking = Asking(home, model)
    try:
        ready(model)
        message = {
            "op": "ask",
            "question": "a pet on the couch",
            "request": {"mode": "vec", "timeout_s": 20.0},
            "caller": caller(home),
        }
        envelope = asking.operations["ask"](message)
        assert "encoded by the model" in envelope["route"]["reason"]
        assert envelope["hits"][0]["title"] == "1"
        # The child, which had the vectors in memory, finds what the index would.
        connection = open_index(home.index)
        space = spaces.find(connection, "local", "all-MiniLM-L6-v2")
        assert space is not None
        spaces.load(connection)
        begun = ready(model).begin("a pet on the couch", knn.Look(connection, space, Filters(), 10))
        assert begun.chunks() == knn.chunks(connection, space, begun.vector(), Filters(), False, 10)
        assert len(begun.chunks() or []) == 3
        elsewhere = knn.Look(connection, space, Filters(), 10)
        elsewhere.index += ".gone"
        assert ready(model).begin("a pet on the couch", elsewhere).chunks() is None
        connection.close()
    finally:
        asking.stop()
        model.stop()


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "child.py"
    place.write_text(SCRIPTED)
    monkeypatch.setattr(encoder, "_CODE", f"import sys; exec(open({str(place)!r}).read())")


@pytest.mark.usefixtures("scripted")
def test_a_late_answer_is_not_the_next_ones_answer() -> None:
    model = Model(os.environ, 0, 60.0)
    try:
        found = ready(model)
        found.timeout_s = 0.05
        with pytest.raises(EngineMissing):
            found.begin("slow").vector()
        found.timeout_s = 20.0
        assert found.begin("next").vector() == b"next"
    finally:
        model.stop()


@pytest.mark.usefixtures("scripted")
def test_who_asks_a_model_that_is_stuck_does_not_wait_and_it_answers_again_afterwards(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(encoder, "_STUCK_S", -1.0)  # at any earlier question
    model = Model(os.environ, 0, 60.0)
    try:
        found = ready(model)
        sign = tmp_path / "sign"
        found.timeout_s = 0.05
        with pytest.raises(EngineMissing):
            found.begin(str(sign)).vector()
        found.timeout_s = 3600.0
        with pytest.raises(EngineMissing, match="does not answer"):
            found.begin("next").vector()
        sign.touch()
        vector = b""
        deadline = time.monotonic() + 20
        while not vector and time.monotonic() < deadline:
            with contextlib.suppress(EngineMissing):
                vector = found.begin("again").vector()
        assert vector == b"again"
    finally:
        model.stop()


@pytest.mark.usefixtures("direct")
def test_an_endpoint_that_fails_is_named_by_an_answer_of_words(
    home: Home, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    Path(home.root, "collections.yml").write_text(
        "collections: {brain: {path: brain}}\nembedding: {provider: openai, model: m}\n"
    )
    Shelf(home).put("brain", "a.md", "Our dog sleeps on the sofa.", session_id="s", source="claude")
    embed(home, load(home), os.environ)
    model = Model(os.environ, 600 << 20, 60.0)
    asking = Asking(home, model)
    try:
        ready(model, load(home).section("embedding"))
        message = {
            "op": "ask",
            "question": "why does the dog sleep",
            "request": {"timeout_s": 20.0},
            "caller": caller(home),
        }
        assert "encoded by the model" in asking.operations["ask"](message)["route"]["reason"]
        endpoint.always = says({"error": {"message": "insufficient credit"}}, 402)
        envelope = asking.operations["ask"](message)
        assert envelope["hits"]
        assert "the model refuses: " in envelope["route"]["reason"]
        assert envelope["route"]["reason"].endswith("HTTP 402: insufficient credit")
        endpoint.always = says({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})
        assert "of another length" in asking.operations["ask"](message)["route"]["reason"]
    finally:
        asking.stop()
        model.stop()


@pytest.mark.usefixtures("scripted")
def test_a_model_that_dies_is_reported_and_started_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(os.environ, 0, 60.0)
    try:
        found = ready(model)
        found.timeout_s = 20.0
        with pytest.raises(EngineMissing):
            found.begin("die").vector()
        tick_until(model, lambda: not model.pids())
        assert "ended with 3; a question starts it again after 60 s" in model.status()["reason"]
        assert model.status()["fault"]["message"] == "the model's process ended with 3"
        assert model.encoder({}) is None
        assert not model.pids(), "it was started again at once"
        monkeypatch.setattr(model, "_not_before", 0.0)
        assert ready(model).fingerprint == "f"
    finally:
        model.stop()


@pytest.mark.usefixtures("scripted")
def test_a_model_that_is_killed_says_by_what() -> None:
    model = Model(os.environ, 0, 60.0)
    try:
        ready(model)
        (pid,) = model.pids()
        os.kill(pid, signal.SIGKILL)
        tick_until(model, lambda: not model.pids())
        assert "was ended by signal 9" in model.status()["reason"]
        assert "signal 9" in model.status()["fault"]["message"]
    finally:
        model.stop()


@pytest.mark.usefixtures("scripted")
def test_it_ends_when_idle_and_comes_back_for_the_next_question() -> None:
    model = Model(os.environ, 0, 60.0)
    try:
        ready(model)
        model.tick(time.monotonic())
        assert model.pids()
        model.tick(time.monotonic() + 61)
        assert not model.pids()
        assert ready(model).fingerprint == "f"
    finally:
        model.stop()


@pytest.mark.usefixtures("scripted")
def test_another_configuration_is_another_model() -> None:
    model = Model(os.environ, 0, 60.0)
    try:
        ready(model)
        (first,) = model.pids()
        ready(model, {"provider": "openai"})
        (second,) = model.pids()
        assert first != second
        assert not psutil.pid_exists(first)
    finally:
        model.stop()


def test_a_model_that_does_not_load_is_reported(tmp_path: Path) -> None:
    model = Model(os.environ, 0, 60.0)
    try:
        until(lambda: model.encoder({"path": str(tmp_path)}) or model.status()["reason"])
        assert "model.onnx is missing" in model.status()["reason"]
        assert not model.pids()
    finally:
        model.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds what a process takes in this way")
def test_the_kernel_refuses_it_more_than_it_may_take() -> None:
    model = Model(os.environ, 40 << 20, 60.0)
    try:
        model.encoder({})
        tick_until(model, lambda: model.status()["reason"])
        assert model.status()["state"] == "none"
        assert "--memory 40 is too little for the model" in model.status()["reason"]
    finally:
        model.stop()
