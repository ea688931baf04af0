from __future__ import annotations

import json
import math
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from core.errors import BadInput, EngineMissing, EngineTimeout, Internal
from qmd.embedding import local as encoder
from qmd.reranking.judge import Judge
from qmd.reranking.local import BATCH, CrossEncoder
from qmd.reranking.reranker import make
from tests.qmd.reranking.onnx_file import folder


def soon() -> float:
    return time.monotonic() + 30


def sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def fed(model: CrossEncoder, monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[int], list[int]]]:
    """(tokens, types) of each pair that reaches the model from now on, padding left out."""
    model.score("x", ["y"], soon())
    rows: list[tuple[list[int], list[int]]] = []
    session = model._session

    class Spy:
        def run(self, names: Any, given: dict[str, Any], options: Any) -> Any:
            rows.extend(
                (
                    [int(i) for i, m in zip(ids, mask, strict=True) if m],
                    [int(t) for t, m in zip(types, mask, strict=True) if m],
                )
                for ids, mask, types in zip(*(given[name] for name in encoder.INPUTS), strict=True)
            )
            return session.run(names, given, options)

    monkeypatch.setattr(model, "_session", Spy())
    return rows


@pytest.mark.parametrize("classes", [1, 2])
def test_a_model_of_one_logit_or_two_gives_probabilities(tmp_path: Path, classes: int) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny", classes)), threads=1)
    assert model.name == "local/tiny"
    found = model.score("cat dog", ["a cat and a dog", "nothing here", "one cat only"], soon())
    # The logit is the words shared, and one for [SEP], less three.
    assert found == pytest.approx([sigmoid(0), sigmoid(-2), sigmoid(-1)])
    model.close()


def test_a_text_has_one_score_in_any_batch(tmp_path: Path) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny")), threads=1)
    texts = [f"{'cat ' * (number % 5)} {'filler ' * (number * 7 % 50)}" for number in range(3 * BATCH + 1)]
    together = model.score("cat", texts, soon())
    assert together == pytest.approx([model.score("cat", [text], soon())[0] for text in texts])
    assert together[4] > together[1] > together[0]


def test_question_and_text_are_one_pair_cut_at_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny")), window=32, threads=1)
    rows = fed(model, monkeypatch)
    found = model.score("cat dog", ["cat " + "filler " * 60 + "dog"], soon())
    (ids, types) = rows[0]
    tokenizer = encoder.load_tokenizer(str(tmp_path / "tiny" / "tokenizer.json"))
    question = tokenizer.encode("cat dog").ids
    assert len(ids) == 32
    assert ids[: len(question)] == question
    assert types == [0] * len(question) + [1] * (32 - len(question))
    assert found == pytest.approx([sigmoid(-1)])  # the dog stood beyond the window


def test_an_endless_question_leaves_half_of_the_window_to_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny")), window=32, threads=1)
    rows = fed(model, monkeypatch)
    model.score("word " * 2000, ["cat " * 40], soon())
    assert (rows[0][1].count(0), rows[0][1].count(1)) == (18, 14)


def test_the_window_is_the_models_own_where_it_says(tmp_path: Path) -> None:
    place = folder(tmp_path / "tiny")
    assert CrossEncoder(str(place))._window == 512
    (place / "config.json").write_text(json.dumps({"max_position_embeddings": 128}))
    assert CrossEncoder(str(place))._window == 128
    assert CrossEncoder(str(place), window=64)._window == 64
    (place / "config.json").write_text("[")
    assert CrossEncoder(str(place))._window == 512


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    place = folder(tmp_path / "tiny")
    (place / name).unlink()
    with pytest.raises(EngineMissing, match=name) as caught:
        make({"provider": "local", "path": str(place)}, {})
    assert (caught.value.code, "rerank: {path:" in caught.value.fix) == (65, True)


def test_what_is_no_cross_encoder_is_refused(tmp_path: Path) -> None:
    three = CrossEncoder(str(folder(tmp_path / "three", classes=3)), threads=1)
    with pytest.raises(BadInput, match="no cross-encoder"):
        three.score("x", ["y"], soon())
    sentences = tmp_path / "sentences"
    sentences.mkdir()
    for path, name in zip(encoder._in_wheels(), ("model.onnx", "tokenizer.json"), strict=True):
        shutil.copy(path, sentences / name)
    with pytest.raises(BadInput, match="no cross-encoder"):
        CrossEncoder(str(sentences), threads=1).score("x", ["y"], soon())
    broken = folder(tmp_path / "broken")
    (broken / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EngineMissing, match="does not load"):
        CrossEncoder(str(broken), threads=1).score("x", ["y"], soon())


def test_scores_that_are_no_numbers_are_a_failure(tmp_path: Path) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny", bias=math.nan)), threads=1)
    with pytest.raises(Internal, match="no numbers"):
        model.score("x", ["y"], soon())


def test_the_clock_is_looked_at_between_batches(tmp_path: Path) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny")), threads=1)
    with pytest.raises(EngineTimeout):
        model.score("x", ["y"], time.monotonic() - 1)


def test_what_runs_is_ended_when_it_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny")), threads=1)
    model.score("x", ["y"], soon())
    session, begun, told = model._session, threading.Event(), threading.Event()

    class Slow:
        def run(self, *given: Any) -> Any:
            begun.set()
            assert told.wait(30)
            return session.run(*given)

    monkeypatch.setattr(model, "_session", Slow())
    caught: list[BaseException] = []

    def score() -> None:
        try:
            model.score("x", ["y"], soon())
        except EngineTimeout as error:
            caught.append(error)

    thread = threading.Thread(target=score)
    thread.start()
    assert begun.wait(30)
    model.cancel()
    told.set()
    thread.join()
    assert len(caught) == 1


def test_who_was_left_behind_does_not_disturb_the_next_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CrossEncoder(str(folder(tmp_path / "tiny")), threads=1)
    judge = Judge(model, timeout_s=30)
    expected = judge.scores("cat", ["a cat", "a dog"])
    assert expected is not None
    session, told = model._session, threading.Event()

    class Slow:
        def run(self, *given: Any) -> Any:
            assert told.wait(30)
            return session.run(*given)

    with monkeypatch.context() as slow:
        slow.setattr(model, "_session", Slow())
        assert judge.scores("cat", ["another cat"], within_s=0.05) is None
        assert judge.scores("cat", ["a third cat"], within_s=0.05) is None, "still waiting for the first"
        told.set()
    assert judge.scores("dog", ["a cat", "a dog"]) == expected[::-1]
    assert judge.scores("dog", ["a cat"], within_s=0) is not None, "it is known"
    assert judge.scores("dog", ["a bird"], within_s=0) is None
    assert "no time left" in judge.reason


def test_another_model_or_window_is_another_identity(tmp_path: Path) -> None:
    place = folder(tmp_path / "tiny")
    before = CrossEncoder(str(place)).identity
    assert CrossEncoder(str(place), window=64).identity != before
    (place / "model.onnx").write_bytes(b"another")
    assert CrossEncoder(str(place)).identity != before
