from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput, BrainError, EngineMissing, EngineTimeout
from qmd.embedding.wire import Nonsense
from qmd.reranking.remote import BATCH, Remote, scores_of
from qmd.reranking.reranker import configured, make
from tests.qmd.embedding.endpoint import Endpoint, answer, closes, good, half_closes, hangs, says

KEY = "rk-very-secret-1234567890"
TEXTS = ["the tide floods the quay", "invoices", "a quay"]


pytestmark = pytest.mark.usefixtures("direct")


def reranker(endpoint: Endpoint, section: dict[str, Any] | None = None, **environ: str) -> Remote:
    options: Any = {"sleep": lambda _: None}
    found = Remote("openai", {"base_url": endpoint.url, "model": "m", **(section or {})}, environ, **options)
    endpoint.clients.append(found)
    return found


def soon() -> float:
    return time.monotonic() + 30


def test_question_and_texts_are_posted_and_scores_come_back_in_their_order(endpoint: Endpoint) -> None:
    assert reranker(endpoint, QMD_RERANK_API_KEY=KEY).score("tide quay", TEXTS, soon()) == [1.0, 0.0, 0.5]
    path, headers, body = endpoint.requests[0]
    assert path == "/v1/rerank"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m", "query": "tide quay", "documents": TEXTS, "top_n": 3}


def test_many_texts_go_in_several_requests(endpoint: Endpoint) -> None:
    texts = [f"text {number} {'quay' if number % 3 else ''}" for number in range(2 * BATCH + 3)]
    assert reranker(endpoint).score("quay", texts, soon()) == [float(bool(n % 3)) for n in range(len(texts))]
    assert [len(body["documents"]) for _, _, body in endpoint.requests] == [BATCH, BATCH, 3]


def test_an_endpoint_without_a_models_name_is_not_sent_one(endpoint: Endpoint) -> None:
    reranker(endpoint, {"model": ""}).score("x", ["y"], soon())
    assert "model" not in endpoint.requests[0][2]


def test_an_address_that_ends_in_rerank_is_whole(endpoint: Endpoint) -> None:
    reranker(endpoint, {"base_url": f"{endpoint.url}/rerank"}).score("x", ["y"], soon())
    assert endpoint.requests[0][0] == "/v1/rerank"


def test_text_embeddings_inference_is_asked_in_its_own_form(endpoint: Endpoint) -> None:
    def inference(handler: Any, body: Any) -> bool:
        if "texts" not in body:
            return answer(handler, {"error": "missing field `texts`"}, 422)
        return answer(handler, [{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}])

    endpoint.always = inference
    found = reranker(endpoint)
    assert found.score("x", ["a", "b"], soon()) == [0.1, 0.9]
    assert found.score("x", ["c", "d"], soon()) == [0.1, 0.9]
    assert ["texts" in body for _, _, body in endpoint.requests] == [False, True, True]


def test_a_window_shortens_what_is_sent(endpoint: Endpoint) -> None:
    reranker(endpoint, {"window": 16}).score("x", ["y" * 1000], soon())
    assert endpoint.requests[0][2]["documents"] == ["y" * 64]


@pytest.mark.parametrize(
    "behaviour",
    [says({}, 429), says({"error": "x"}, 500), says(b"{", 200), closes, half_closes],
    ids=["busy", "broken", "no JSON", "closed", "half"],
)
def test_what_may_pass_is_tried_again(endpoint: Endpoint, behaviour: Any) -> None:
    endpoint.behaviours = [behaviour, behaviour]
    assert reranker(endpoint).score("quay", TEXTS, soon()) == [1.0, 0.0, 1.0]
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([(0, 0.5), (1, 0.5)], "too few"),
        ([(0, 0.5), (1, 0.5), (2, 0.5), (3, 0.5)], "too many"),
        ([(0, 0.5), (1, 0.5), (3, 0.5)], "out of range"),
        ([(0, 0.5), (1, 0.5), (-1, 0.5)], "negative"),
        ([(0, 0.5), (1, 0.5), (1, 0.5)], "twice"),
        ([(0, 0.5), (1, 0.5), (2, float("nan"))], "NaN"),
        ([(0, 0.5), (1, 0.5), (2, float("inf"))], "infinite"),
        ([(0, 0.5), (1, 0.5), (2, None)], "null"),
        ([(0, 0.5), (1, 0.5), (2, "0.5")], "text"),
        ([(0, 0.5), (1, 0.5), (2, True)], "true"),
        ([(0, 0.5), (1, 0.5), (1.5, 0.5)], "between"),
        ([(0, 0.5), (1, 0.5), (None, 0.5)], "nameless"),
        ([(0, 0.5), (1, 0.5), (2, 10**400)], "overflow"),
        ([(0, 0.5), (1, 0.5), (-(10**400), 0.5)], "overflow of the index"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_score_for_each_text_or_none_at_all(endpoint: Endpoint, rows: list[Any], what: str) -> None:
    results = [{"index": index, "relevance_score": score} for index, score in rows]
    endpoint.always = says(json.dumps({"results": results}).encode())
    with pytest.raises(Nonsense, match="without one score for each text"):
        reranker(endpoint).score("x", TEXTS, soon())


@pytest.mark.parametrize("value", [[], {}, {"results": None}, {"results": {}}, "x", 7, None, {"results": [1, 2, 3]}])
def test_an_answer_of_another_form_is_none(value: Any) -> None:
    with pytest.raises(Nonsense):
        scores_of(value, 3, "host")


# JSON has numbers of any length.
NUMBERS = st.integers() | st.floats() | st.sampled_from([10**400, -(10**400), 2**53, 2**53 + 1, 1e308])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["results", "data", "index", "score", "relevance_score"]), inner, max_size=4)
    ),
    max_leaves=12,
)


ROWS = st.lists(
    st.fixed_dictionaries({"index": st.integers(0, 2) | JSON, "score": st.floats(-9, 9) | JSON}), min_size=1, max_size=3
)


@given(JSON | ROWS | ROWS.map(lambda rows: {"results": rows}), st.integers(1, 3))
def test_whatever_an_endpoint_says_is_scores_or_an_error_of_ours(value: Any, count: int) -> None:
    try:
        found = scores_of(value, count, "host")
    except Nonsense:
        return
    assert len(found) == count
    assert all(isinstance(score, float) and abs(score) < float("inf") for score in found)


@given(st.permutations(range(5)), st.lists(st.floats(-50, 50), min_size=5, max_size=5))
def test_the_order_of_an_answer_does_not_matter(order: list[int], scores: list[float]) -> None:
    rows = [{"index": index, "relevance_score": scores[index]} for index in order]
    assert scores_of({"results": rows}, 5, "host") == scores
    assert scores_of({"data": rows}, 5, "host") == scores


def test_a_huge_answer_is_not_read_to_its_end(endpoint: Endpoint) -> None:
    endpoint.always = says(b" " * (9 << 20))
    with pytest.raises(Nonsense, match="does not stop answering"):
        reranker(endpoint).score("x", TEXTS, soon())


def test_an_answer_that_does_not_come_is_not_waited_for(endpoint: Endpoint) -> None:
    endpoint.always = hangs(endpoint.stopped)
    with pytest.raises(EngineTimeout):
        reranker(endpoint).score("x", TEXTS, time.monotonic() + 0.2)
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_asks_for_more_patience_than_there_is_is_not_asked_again(endpoint: Endpoint) -> None:
    endpoint.always = says({}, 429, Retry_After="20")
    patient = Remote("openai", {"base_url": endpoint.url}, {})
    endpoint.clients.append(patient)
    with pytest.raises(BrainError, match="429"):
        patient.score("x", TEXTS, time.monotonic() + 5)
    assert len(endpoint.requests) == 1


def test_a_refused_key_says_so_without_the_key(endpoint: Endpoint) -> None:
    endpoint.always = says({"error": {"message": f"bad key {KEY}"}}, 401)
    with pytest.raises(BadInput) as caught:
        reranker(endpoint, QMD_RERANK_API_KEY=KEY).score("x", TEXTS, soon())
    assert KEY not in f"{caught.value!r} {caught.value.message} {caught.value.fix}"
    endpoint.always = says({"error": {"message": f"model m of {KEY} is unknown"}}, 404)
    with pytest.raises(BadInput, match="is unknown") as caught:
        reranker(endpoint, QMD_RERANK_API_KEY=KEY).score("x", TEXTS, soon())
    assert KEY not in f"{caught.value!r} {caught.value.message}"


def test_nobody_at_the_address_is_an_error_of_ours(endpoint: Endpoint) -> None:
    url = endpoint.url
    endpoint.close()
    options: Any = {"sleep": lambda _: None}
    nobody = Remote("openai", {"base_url": url}, {}, **options)
    with pytest.raises(EngineMissing, match="cannot be reached"):
        nobody.score("x", ["y"], soon())
    nobody.close()


def test_a_key_goes_only_where_it_belongs(endpoint: Endpoint) -> None:
    def sent(**environ: str) -> str | None:
        reranker(endpoint, None, **environ).score("x", ["y"], soon())
        return endpoint.requests[-1][1].get("authorization")

    assert sent(OPENAI_API_KEY="sk-1") is None
    assert sent(OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://127.0.0.1:1/v1") is None
    assert sent(OPENAI_API_KEY="sk-1", OPENAI_BASE_URL=endpoint.url) == "Bearer sk-1"
    assert sent(OPENAI_API_KEY="sk-1", OPENAI_BASE_URL=endpoint.url, QMD_RERANK_API_KEY="rk") == "Bearer rk"
    assert sent(COHERE_API_KEY="co", JINA_API_KEY="ji") is None


def test_the_environment_names_endpoint_and_model_by_itself(endpoint: Endpoint) -> None:
    environ = {"QMD_RERANK_MODEL": "openai:bge", "QMD_RERANK_BASE_URL": endpoint.url, "QMD_RERANK_API_KEY": KEY}
    found = make(configured({}, environ), environ)
    endpoint.clients.append(found)
    assert found.score("quay", TEXTS, soon()) == [1.0, 0.0, 1.0]
    assert endpoint.requests[0][2]["model"] == "bge"
    assert endpoint.requests[0][1]["authorization"] == f"Bearer {KEY}"


def test_a_service_that_wants_a_key_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput) as caught:
        make({"provider": "cohere"}, {})
    assert "COHERE_API_KEY" in caught.value.fix
    found = make({"provider": "jina"}, {"JINA_API_KEY": "ji"})
    assert found.name == "jina/jina-reranker-v2-base-multilingual"
    with pytest.raises(BadInput, match="has no address"):
        make({"provider": "openai"}, {})
    with pytest.raises(BadInput, match="unknown reranker"):
        make({"provider": "oracle"}, {})
    with pytest.raises(BadInput, match="may hold no password"):
        make({"provider": "openai", "base_url": "http://user:pw@localhost/v1"}, {})


@pytest.mark.parametrize(
    ("section", "environ", "models", "expected"),
    [
        ({}, {}, {}, {}),
        ({"timeout_s": 3}, {}, {}, {}),
        ({}, {"QMD_RERANK_MODEL": "hf:ggml-org/x/y.gguf"}, {"rerank": "hf:ggml-org/x/y.gguf"}, {}),
        ({"path": "/m"}, {}, {}, {"provider": "local", "path": "/m"}),
        ({"base_url": "http://h/v1"}, {}, {}, {"provider": "openai", "base_url": "http://h/v1"}),
        ({}, {"QMD_RERANK_MODEL": "~/m"}, {}, {"provider": "local", "path": "~/m"}),
        ({}, {"QMD_RERANK_MODEL": "/m"}, {"rerank": "file:///n"}, {"provider": "local", "path": "/n"}),
        ({}, {}, {"rerank": "http://h/v1"}, {"provider": "openai", "base_url": "http://h/v1"}),
        ({}, {"QMD_RERANK_MODEL": "openai:bge"}, {}, {"provider": "openai", "model": "bge"}),
        ({}, {}, {"rerank": "cohere:rerank-v4"}, {"provider": "cohere", "model": "rerank-v4"}),
        ({}, {}, {"rerank": "local:~/m"}, {"provider": "local", "path": "~/m"}),
        ({"timeout_s": 9}, {"QMD_RERANK_MODEL": "jina:"}, {}, {"timeout_s": 9, "provider": "jina", "model": ""}),
        (
            {"base_url": "http://h"},
            {"QMD_RERANK_MODEL": "openai:b"},
            {},
            {"provider": "openai", "base_url": "http://h", "model": "b"},
        ),
        ({"provider": "cohere"}, {"QMD_RERANK_MODEL": "rerank-v4"}, {}, {"provider": "cohere", "model": "rerank-v4"}),
        ({"provider": "cohere", "model": "a"}, {"QMD_RERANK_MODEL": "b"}, {}, {"provider": "cohere", "model": "a"}),
        ({"path": "/m"}, {"QMD_RERANK_MODEL": "b"}, {}, {"provider": "local", "path": "/m"}),
    ],
)
def test_there_is_a_reranker_only_where_somebody_named_one(
    section: dict[str, Any], environ: dict[str, str], models: dict[str, str], expected: dict[str, Any]
) -> None:
    assert configured(section, environ, models) == expected


def test_the_endpoint_of_these_tests_answers_in_another_order() -> None:
    assert [row["index"] for row in good({"query": "b", "documents": ["a", "b"]})["results"]] == [1, 0]
