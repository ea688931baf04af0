"""``brain ask --rerank``: the best candidates in the order of a reranker, or as they were, and said."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from core.config import load
from core.errors import BadInput, EngineMissing, EngineTimeout
from core.home import Home, shipped
from core.processes.within import within
from qmd.reranking import judge
from qmd.search.hybrid import best_chunk
from qmd.search.search import Hit
from runtime.asking import reranking
from runtime.asking.ask import Asker, Request, batch
from runtime.resident.answer import answer
from tests.conftest import Brain
from tests.qmd.embedding.endpoint import Endpoint, hangs, says
from tests.qmd.reranking.onnx_file import folder
from tests.runtime.index_fixture import Shelf

QUESTION = "walrus tusks in the harbour museum"


pytestmark = pytest.mark.usefixtures("direct")


@pytest.fixture
def shelf(home: Home) -> Shelf:
    """Four documents; by words alone the first is best, by the reranker of these tests the last."""
    shelf = Shelf(home)
    shelf.put("brain", "a.md", "walrus walrus walrus tusks", title="A")
    shelf.put("brain", "b.md", "the walrus swam", title="B")
    shelf.put("inbox", "c.md", "a harbour", title="C")
    shelf.put("inbox", "d.md", "what hangs there is of ivory, and the walrus lost it " + "long ago " * 30, title="D")
    return shelf


def configure(shelf: Shelf, **sections: Any) -> None:
    """The shipped configuration, with these sections."""
    import yaml

    data = yaml.safe_load(Path(shipped("collections.yml")).read_text(encoding="utf-8"))
    data.update(sections)
    Path(shelf.home.root, "collections.yml").write_text(yaml.safe_dump(data))
    shelf.config = load(shelf.home)


def prefers(mark: str) -> Any:
    """A behaviour: texts with ``mark`` are the best there are, all others nothing."""

    def judge(handler: Any, body: Any) -> bool:
        rows = [{"index": i, "relevance_score": float(mark in text)} for i, text in enumerate(body["documents"])]
        return says({"results": rows})(handler, body)

    return judge


def ask(shelf: Shelf, question: str = QUESTION, **given: object) -> dict[str, Any]:
    with Asker(shelf.home, shelf.config) as asker:
        return asker.ask(question, Request(**given))


def paths(envelope: dict[str, Any]) -> list[str]:
    return [str(hit["uri"]).rpartition("/")[2] for hit in envelope["hits"]]


def test_what_the_reranker_is_sure_of_comes_first(shelf: Shelf, endpoint: Endpoint) -> None:
    configure(shelf, rerank={"base_url": endpoint.url})
    before = ask(shelf)
    assert "rerank" not in before
    assert paths(before)[0] == "a.md"
    assert endpoint.requests == []
    endpoint.always = prefers("ivory")
    after = ask(shelf, rerank=True, explain=True)
    assert paths(after)[0] == "d.md"
    assert sorted(paths(after)) == sorted(paths(before))
    said = after["rerank"]
    assert (said["applied"], said["model"], said["candidates"], said["reason"]) == (True, "openai", 4, None)
    assert after["route"]["reason"].endswith("; reranked by openai")
    best = after["hits"][0]
    top = max(hit["explain"]["fused"] for hit in after["hits"])
    assert best["explain"]["rerank"] == 1
    assert best["score"] == pytest.approx(0.6 + 0.4 * best["explain"]["fused"] / top, abs=1e-3)
    query, texts = endpoint.requests[0][2]["query"], endpoint.requests[0][2]["documents"]
    assert query == QUESTION
    assert any(text.startswith(("D\n", "# D")) for text in texts)


def test_a_local_model_reads_the_passages(shelf: Shelf, tmp_path: Path) -> None:
    configure(shelf, rerank={"path": str(folder(tmp_path / "tiny")), "timeout_s": 60})
    found = ask(shelf, rerank=True, timeout_s=90)
    assert (found["rerank"]["applied"], found["rerank"]["model"]) == (True, "local/tiny")


def test_the_configuration_may_turn_it_on_and_a_question_off(shelf: Shelf, endpoint: Endpoint) -> None:
    configure(shelf, rerank={"base_url": endpoint.url}, ask={"rerank": True})
    endpoint.always = prefers("ivory")
    assert paths(ask(shelf))[0] == "d.md"
    off = ask(shelf, rerank=False)
    assert paths(off)[0] == "a.md"
    assert "rerank" not in off


def test_the_weight_is_the_users(shelf: Shelf, endpoint: Endpoint) -> None:
    endpoint.always = prefers("ivory")
    configure(shelf, rerank={"base_url": endpoint.url, "weight": 0})
    assert paths(ask(shelf, rerank=True)) == paths(ask(shelf))
    configure(shelf, rerank={"base_url": endpoint.url, "weight": 1})
    assert [hit["score"] for hit in ask(shelf, rerank=True)["hits"]] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (says({"results": []}), "without one score for each text"),
        (says({"error": {"message": "no such model"}}, 404), "no such model"),
        (says(b"<html>", 404), "HTTP 404"),
        (says({}, 429, Retry_After="100"), "HTTP 429"),
    ],
    ids=["too few", "refused", "another server", "busy"],
)
def test_a_reranker_that_fails_leaves_the_order_and_says_why(
    shelf: Shelf, endpoint: Endpoint, behaviour: Any, said: str
) -> None:
    configure(shelf, rerank={"base_url": endpoint.url})
    plain = ask(shelf)
    endpoint.always = behaviour
    found = ask(shelf, rerank=True)
    assert [(hit["uri"], hit["score"]) for hit in found["hits"]] == [
        (hit["uri"], hit["score"]) for hit in plain["hits"]
    ]
    assert (found["ok"], found["rerank"]["applied"], found["rerank"]["model"]) == (True, False, "openai")
    assert said in found["rerank"]["reason"]
    assert "; not reranked: " in found["route"]["reason"]


def test_a_slow_reranker_does_not_cost_the_answer(
    shelf: Shelf, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.always = hangs(endpoint.stopped)
    configure(shelf, rerank={"base_url": endpoint.url, "timeout_s": 0.2})
    found = ask(shelf, rerank=True, timeout_s=30)
    assert paths(found)[0] == "a.md"
    assert "no judgement within 0.2 s" in found["rerank"]["reason"]
    # Nor does it take more than a part of the question's own time, whatever its section says.
    configure(shelf, rerank={"base_url": endpoint.url, "timeout_s": 500})
    waited: list[float] = []

    def given(seconds: float, *rest: Any) -> Any:
        waited.append(seconds)
        return within(min(seconds, 0.2), *rest)

    monkeypatch.setattr(judge, "within", given)
    found = ask(shelf, rerank=True, timeout_s=30)
    assert [0 < seconds <= 0.8 * 30 for seconds in waited] == [True]
    assert found["rerank"]["applied"] is False
    assert found["hits"]


def test_a_reranker_that_nobody_waits_for_leaves_no_connection(
    shelf: Shelf, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[Any] = []

    def late(_: float, call: Any, said: str, *__: Any) -> Any:
        left.append(call)  # as a thread that does not come to its turn before the question's time is up
        raise EngineTimeout(said)

    monkeypatch.setattr(judge, "within", late)
    configure(shelf, rerank={"base_url": endpoint.url})
    assert ask(shelf, rerank=True, timeout_s=30)["rerank"]["applied"] is False
    with pytest.raises(EngineTimeout):
        left.pop()()
    assert endpoint.requests == []
    gc.collect()  # an unclosed socket is a warning, and that an error


def test_of_a_body_no_more_is_cut_into_chunks_than_could_be_judged(
    shelf: Shelf, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(shelf, rerank={"base_url": endpoint.url})
    looked: list[int] = []

    def chosen(body: str, query: str) -> Any:
        looked.append(len(body))
        return best_chunk(body, query)

    monkeypatch.setattr(reranking, "best_chunk", chosen)
    shelf.put("brain", "long.md", "walrus tusks harbour museum\n" * 9000, title="L")
    ((digest,),) = shelf.sql("SELECT hash FROM documents WHERE path = 'long.md'")
    with Asker(shelf.home, shelf.config) as asker:
        hit = Hit((1, "brain", "long.md", "L", digest, "", "", 0, apsw.jsonb_encode({}), 0), 1.0, {})
        opened = reranking.Reranking(asker.connection, shelf.config)
        opened.apply(QUESTION, [hit], 30)
        opened.close()
    assert looked == [judge.LONGEST]


def test_scores_are_remembered(shelf: Shelf, endpoint: Endpoint) -> None:
    configure(shelf, rerank={"base_url": endpoint.url})
    first = ask(shelf, rerank=True)
    asked = len(endpoint.requests)
    assert paths(ask(shelf, rerank=True)) == paths(first)
    assert len(endpoint.requests) == asked
    with Asker(shelf.home, shelf.config, remember=False) as asker:
        asker.ask(QUESTION, Request(rerank=True))
    assert len(endpoint.requests) > asked


def test_a_walk_through_days_is_not_reranked(shelf: Shelf, endpoint: Endpoint) -> None:
    configure(shelf, rerank={"base_url": endpoint.url})
    found = ask(shelf, mode="time", rerank=True)
    assert (found["rerank"]["applied"], endpoint.requests) == (False, [])
    assert "order of time" in found["rerank"]["reason"]


def test_nothing_found_is_nothing_to_rerank(shelf: Shelf, endpoint: Endpoint) -> None:
    configure(shelf, rerank={"base_url": endpoint.url})
    found = ask(shelf, "zzyzx", rerank=True)
    assert (found["error"], found["rerank"]["candidates"], endpoint.requests) == ("no_results", 0, [])


def test_what_no_person_had_stays_below_whatever_the_reranker_says(shelf: Shelf, endpoint: Endpoint) -> None:
    shelf.put("brain", "e.md", "walrus of ivory", title="E", synthetic=True)
    configure(shelf, rerank={"base_url": endpoint.url})
    endpoint.always = prefers("ivory")
    found = paths(ask(shelf, rerank=True))
    assert found[0] == "d.md"
    assert found.index("e.md") > 0


def test_secrets_do_not_leave_for_an_endpoint(shelf: Shelf, endpoint: Endpoint) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    shelf.put("brain", "f.md", f"walrus token {secret[:40]}", title="F")
    configure(shelf, rerank={"base_url": endpoint.url})
    ask(shelf, "walrus token", rerank=True)
    assert any("walrus token" in text for text in endpoint.requests[0][2]["documents"])
    assert secret[:40] not in json.dumps([body for _, _, body in endpoint.requests])


def test_nor_do_they_leave_by_qmds_own_command(shelf: Shelf, endpoint: Endpoint, brain: Brain) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    shelf.put("brain", "f.md", f"walrus token {secret[:40]}", title="F")
    configure(shelf, rerank={"base_url": endpoint.url})
    done = brain("qmd", "--brain", "query", "lex: walrus token", "--json", "--explain")
    assert "Reranked by openai" in done.stderr
    assert json.loads(done.stdout)[0]["explain"]["rerankScore"] > 0
    assert any("walrus token" in text for text in endpoint.requests[0][2]["documents"])
    assert secret[:40] not in json.dumps([body for _, _, body in endpoint.requests])


def test_nor_does_the_middle_of_a_private_span_that_shows_neither_of_its_tags(
    shelf: Shelf, endpoint: Endpoint, brain: Brain
) -> None:
    ailments = "".join(f"The walrus therapist noted ailment {number} on a day of spring.\n\n" for number in range(99))
    shelf.put("inbox", "g.md", f"A 🦭 plan.\n\n<Private>\n\n{ailments}</Private>\n\nThe walrus ends.", title="G")
    configure(shelf, rerank={"base_url": endpoint.url})
    asked = ask(shelf, "walrus therapist ailment", rerank=True)
    assert asked["rerank"]["applied"], asked["rerank"]
    # Where no passage was found, the best chunk is looked for.
    ((digest,),) = shelf.sql("SELECT hash FROM documents WHERE path = 'g.md'")
    with Asker(shelf.home, shelf.config) as asker:
        opened = reranking.Reranking(asker.connection, shelf.config, remember=False)
        hit = Hit((1, "inbox", "g.md", "G", digest, "", "", 0, apsw.jsonb_encode({}), 0), 1.0, {})
        opened.apply("walrus therapist ailment", [hit], 30)
        opened.close()
    assert "Reranked by openai" in brain("qmd", "--brain", "query", "lex: walrus therapist ailment").stderr
    sent = [text for _, _, body in endpoint.requests for text in body["documents"]]
    assert sum(text.startswith("G\n") for text in sent) >= 2, "what is not private of it was judged"
    assert not any("noted" in text for text in sent)


def test_asked_for_by_name_and_not_there_is_an_error_with_a_fix(shelf: Shelf, tmp_path: Path) -> None:
    with pytest.raises(EngineMissing, match="no reranker is configured") as caught:
        ask(shelf, rerank=True)
    assert "collections.yml: rerank:" in caught.value.fix
    configure(shelf, rerank={"path": str(tmp_path / "gone")}, ask={"rerank": True})
    with pytest.raises(EngineMissing, match=r"model\.onnx is missing"):
        ask(shelf, rerank=True)
    # Turned on by the configuration, it is no reason to withhold an answer.
    found = ask(shelf)
    assert found["hits"]
    assert "model.onnx is missing" in found["rerank"]["reason"]


def test_each_question_of_a_batch_is_reranked(shelf: Shelf, endpoint: Endpoint) -> None:
    configure(shelf, rerank={"base_url": endpoint.url})
    with Asker(shelf.home, shelf.config) as asker:
        found = list(batch(asker, [QUESTION, "walrus", ""], Request(rerank=True)))
    assert [each.get("rerank", {}).get("applied") for each in found] == [True, True, None]


def test_no_resident_process_answers_where_a_model_reranks(
    shelf: Shelf, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.resident import client

    def never(*_: object) -> None:
        raise AssertionError("the resident process was asked")

    Path(shelf.home.socket).parent.mkdir(parents=True, exist_ok=True)
    Path(shelf.home.socket).touch()
    monkeypatch.setattr(client, "ask", never)
    configure(shelf, rerank={"base_url": endpoint.url})
    envelope, warm = answer(shelf.home, shelf.config, QUESTION, Request(rerank=True), {})
    assert (envelope["rerank"]["applied"], warm) == (True, False)
    with pytest.raises(AssertionError):
        answer(shelf.home, shelf.config, QUESTION, Request(), {})


def test_another_engine_refuses_to_rerank(shelf: Shelf) -> None:
    from runtime.asking.foreign import refuse

    with pytest.raises(BadInput, match="cannot serve --rerank"):
        refuse(Request(rerank=True))
    refuse(Request(rerank=None))


def test_the_commands_options_and_outcomes(shelf: Shelf, endpoint: Endpoint, brain: Brain, tmp_path: Path) -> None:
    none = brain("ask", QUESTION, "--rerank", "--json")
    assert (none.returncode, json.loads(none.stdout)["error"]) == (65, "qmd_missing")
    assert brain("ask", QUESTION, "--rerank", "--no-rerank").returncode == 64
    configure(shelf, rerank={"base_url": endpoint.url})
    endpoint.always = prefers("ivory")
    done = brain("ask", QUESTION, "--rerank")
    assert done.returncode == 0
    assert "\n1. D" in done.stdout
    assert "reranked by openai" in done.stdout
    rows = [json.loads(line) for line in Path(shelf.home.logs, "usage.jsonl").read_text().splitlines()]
    assert rows[-1]["reranked"] is True
    assert "reranked" not in rows[0]


def test_as_many_are_read_as_the_configuration_says(shelf: Shelf, endpoint: Endpoint) -> None:
    configure(shelf, rerank={"base_url": endpoint.url, "candidates": 2})
    plain = paths(ask(shelf))
    found = ask(shelf, rerank=True)
    assert found["rerank"]["candidates"] == 2
    assert len(endpoint.requests[0][2]["documents"]) == 2
    assert sorted(paths(found)) == sorted(plain), "what was not read is not lost"


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"rerank": {"api_key": "x"}}, "unknown key 'api_key'"),
        ({"rerank": {"window": 3}}, "window must lie between"),
        ({"rerank": {"timeout_s": 0}}, "timeout_s must lie between"),
        ({"rerank": {"candidates": 0}}, "candidates must lie between"),
        ({"rerank": {"weight": 2}}, "weight must lie between"),
        ({"rerank": {"weight": True}}, "wrong type"),
        ({"rerank": "local"}, "must be a mapping"),
        ({"ask": {"rerank": "yes"}}, "rerank must be true or false"),
    ],
    ids=str,
)
def test_a_configuration_that_does_not_hold_is_refused(shelf: Shelf, sections: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        configure(shelf, **sections)
    assert caught.value.fix
