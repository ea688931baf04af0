from __future__ import annotations

import logging
import time
import traceback
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput, BrainError, EngineMissing, EngineTimeout, Refused
from qmd.embedding import embedder, wire
from qmd.embedding.embedder import embed
from qmd.embedding.provider import make
from qmd.embedding.remote import Layout, OpenAI, tokens
from qmd.embedding.wire import TextRefused
from qmd.index.semantic import spaces, vectors
from qmd.index.semantic.spaces import PIECE
from qmd.index.update import update
from tests.qmd.corpus import indexed, write
from tests.qmd.embedding.clients import KEY, Slept, gemini, openai
from tests.qmd.embedding.endpoint import DIMENSIONS, Endpoint, answer, closes, good, half_closes, hangs, says, vector

pytestmark = pytest.mark.usefixtures("direct")


def test_texts_come_back_in_their_order_and_of_length_one(endpoint: Endpoint) -> None:
    provider = openai(endpoint)
    texts = ["alpha", "beta", "gamma"]
    found = provider.embed(texts)
    assert found.shape == (3, DIMENSIONS)
    for row, text in zip(found, texts, strict=True):
        expected = np.array(vector(text))
        assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-6)
    (request,) = endpoint.requests
    assert request[0] == "/v1/embeddings"
    assert request[1]["authorization"] == f"Bearer {KEY}"
    assert request[2] == {"model": "m", "input": texts}


def test_many_texts_go_in_batches_over_one_connection(endpoint: Endpoint) -> None:
    provider = openai(endpoint)
    found = provider.embed([f"text {n}" for n in range(150)])
    assert found.shape == (150, DIMENSIONS)
    assert [len(body["input"]) for _, _, body in endpoint.requests] == [64, 64, 22]


def test_gemini_gets_the_kind_of_text_and_its_key_is_in_no_address(endpoint: Endpoint) -> None:
    provider = gemini(endpoint, dimensions=DIMENSIONS)
    provider.embed(["a document"])
    provider.embed(["a question"], question=True)
    (path, headers, first), (_, _, second) = endpoint.requests
    assert path == "/v1/models/g:batchEmbedContents"
    assert headers["x-goog-api-key"] == KEY
    assert first["requests"][0] == {
        "model": "models/g",
        "taskType": "RETRIEVAL_DOCUMENT",
        "outputDimensionality": DIMENSIONS,
        "content": {"parts": [{"text": "a document"}]},
    }
    assert second["requests"][0]["taskType"] == "RETRIEVAL_QUERY"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        "text",
        None,
        {"data": []},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": "abc"}]},
        {"data": [{"index": 0, "embedding": [[1.0]]}]},
        {"data": [{"index": 0, "embedding": [1.0, "x"]}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": [1e400, 1.0]}]},
        {"data": [{"index": 0, "embedding": [1e300, 1.0]}]},
        {"data": [{"index": 0, "embedding": None}]},
        {"data": [{"index": 1e400, "embedding": [1.0]}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]},
        {"data": [{"index": 5, "embedding": [1.0]}]},
    ],
)
def test_an_answer_that_is_no_vector_is_refused(endpoint: Endpoint, answer: Any) -> None:
    endpoint.always = says(answer)
    with pytest.raises(wire.Nonsense):
        openai(endpoint).embed(["x"])


def test_vectors_without_an_index_are_in_the_order_of_their_texts(endpoint: Endpoint) -> None:
    rows = [{"embedding": vector(text)} for text in ("alpha", "beta")]
    endpoint.always = says({"data": rows})
    found = openai(endpoint).embed(["alpha", "beta"])
    assert np.allclose(found[1], np.array(vector("beta")) / np.linalg.norm(vector("beta")), atol=1e-6)


def test_an_answer_that_is_not_packed_as_it_says_is_asked_for_again(endpoint: Endpoint) -> None:
    endpoint.behaviours = [says(b"no gzip", Content_Encoding="gzip")] * 2
    assert openai(endpoint).embed(["x"]).shape == (1, DIMENSIONS)
    endpoint.always = says(b"no gzip", Content_Encoding="gzip")
    with pytest.raises(wire.Nonsense):
        openai(endpoint).embed(["x"])


def test_a_refusal_of_a_single_word_is_not_blamed_on_long_chunks(endpoint: Endpoint) -> None:
    endpoint.always = says({"error": {"message": "no such model"}}, 400)
    with pytest.raises(BadInput, match="no such model") as caught:
        assert openai(endpoint).dimensions
    assert "model's name" in caught.value.fix


def test_vectors_of_another_length_than_known_are_refused(endpoint: Endpoint) -> None:
    with pytest.raises(wire.Nonsense, match="6 numbers instead of 1536"):
        openai(endpoint, model="text-embedding-3-small").embed(["x"])
    endpoint.always = says({"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]})
    with pytest.raises(wire.Nonsense, match="vectors of one length"):
        openai(endpoint).embed(["x", "y"])


def test_shorter_vectors_are_asked_for_where_they_are_configured(endpoint: Endpoint) -> None:
    provider = openai(endpoint, section={"dimensions": DIMENSIONS}, model="text-embedding-3-small")
    assert provider.dimensions == DIMENSIONS
    provider.embed(["x"])
    assert endpoint.requests[0][2]["dimensions"] == DIMENSIONS


def test_an_unknown_models_length_is_asked_for_once(endpoint: Endpoint) -> None:
    provider = openai(endpoint)
    assert (provider.dimensions, provider.dimensions) == (DIMENSIONS, DIMENSIONS)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_taken_is_asked_about_and_not_shown(endpoint: Endpoint, status: int) -> None:
    endpoint.always = says({"error": {"message": f"Incorrect API key provided: {KEY[:6]}***{KEY[-4:]}"}}, status)
    with pytest.raises(BadInput) as caught:
        openai(endpoint).embed(["x"])
    assert "OPENAI_API_KEY" in caught.value.fix
    assert KEY[:6] not in caught.value.message
    assert len(endpoint.requests) == 1


def test_geminis_own_way_to_refuse_a_key_is_understood(endpoint: Endpoint) -> None:
    endpoint.always = says({"error": {"message": "API key not valid. Please pass a valid API key."}}, 400)
    with pytest.raises(BadInput, match="does not take the key"):
        gemini(endpoint).embed(["x"])


def test_an_error_shows_no_key_that_had_white_space_around_it_nor_a_part_of_one(endpoint: Endpoint) -> None:
    other = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    endpoint.always = says({"error": {"message": f"bad value {KEY[:-4]} or {KEY[3:]} of {other}"}}, 400)
    for provider in (gemini(endpoint), openai(endpoint)):
        with pytest.raises(TextRefused) as caught:
            provider.embed(["x"])
        assert caught.value.message.endswith("bad value *** or *** of [redacted:github]")


@given(st.text("ab1-", max_size=12), st.text("ab1- ", max_size=40))
def test_no_part_of_a_key_is_left_in_what_an_endpoint_says(secret: str, said: str) -> None:
    left = wire.struck(said, secret)
    size = min(8, len(secret))
    assert not size or not any(secret[at : at + size] in left for at in range(len(secret) - size + 1))
    assert left == said or "***" in left


def test_no_key_reaches_an_error_a_log_or_a_repr(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    shown = []
    provider = openai(endpoint)
    for behaviour in (
        says({"error": {"message": f"bad {KEY} \x1b[31m"}}, 400),
        says({"error": KEY}, 404),
        says(f"plain {KEY}".encode(), 503),
        says(KEY.encode()),
        says({}, 302, Location="http://127.0.0.1:9/"),
        closes,
        half_closes,
    ):
        endpoint.always = behaviour
        with pytest.raises(BrainError) as caught:
            provider.embed(["x"])
        trace = "".join(traceback.format_exception(caught.value))
        shown += [str(caught.value), repr(caught.value.envelope()), trace]
    shown += [repr(provider), repr(provider._endpoint), repr(vars(provider)), caplog.text, *capfd.readouterr()]
    assert KEY not in "\n".join(shown)
    assert "\x1b" not in "\n".join(shown)


def test_no_key_reaches_the_index(endpoint: Endpoint, tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    embed(connection, openai(endpoint))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("index.sqlite*"))
    assert b"alpha" in stored
    assert KEY.encode() not in stored


@pytest.mark.parametrize(
    "url",
    [
        "http://user:pass@host/v1",
        "http://host/v1?key=abc",
        "ftp://host",
        "host:80",
        "",
        "http://",
        "http://h:x/",
        "http://h:-1",
    ],
)
def test_an_address_with_a_secret_or_without_a_host_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        OpenAI({"base_url": url or " "}, {"OPENAI_API_KEY": KEY}, "m")
    assert "pass" not in caught.value.message.replace("password", "")
    assert "abc" not in caught.value.message


def test_the_environment_names_the_endpoint_and_a_local_one_needs_no_key(endpoint: Endpoint) -> None:
    provider = make({"provider": "openai", "model": "m"}, {"OPENAI_BASE_URL": f"{endpoint.url}/"})
    provider.embed(["x"])
    path, headers, _ = endpoint.requests[0]
    assert path == "/v1/embeddings"
    assert "authorization" not in headers
    provider.close()


@pytest.mark.parametrize("name", ["openai", "gemini"])
def test_without_a_key_it_says_which_to_export(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        make({}, {}, name)
    assert f"{name.upper()}_API_KEY" in caught.value.fix


def test_a_key_that_would_break_the_header_is_refused_without_showing_it(endpoint: Endpoint) -> None:
    with pytest.raises(BadInput) as caught:
        OpenAI({}, {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": f"{KEY}\nX-Evil: 1"}, "m")
    assert KEY not in str(caught.value.envelope())


def test_a_refused_text_leaves_the_others_alone(endpoint: Endpoint, tmp_path: Path) -> None:
    def picky(handler: Any, body: Any) -> bool:
        if any("enormous" in text for text in body["input"]):
            return says({"error": {"message": "maximum context length is 8192 tokens"}}, 400)(handler, body)
        return False

    endpoint.always = picky
    connection, _ = indexed(tmp_path, {"a.md": "alpha", "b.md": "enormous", "c.md": "gamma"})
    report = embed(connection, openai(endpoint))
    assert report.texts == 2
    assert "maximum context length" in next(iter(report.failed.values()))
    assert report.pending == {"notes": 1}


@pytest.mark.parametrize(
    "poison",
    [
        says({"error": "json: unsupported value: NaN"}, 500),
        says(b'{"data": [{"index": 0, "embedding": [NaN, 1, 1, 1, 1, 1]}]}'),
        says({"data": [{"index": 0, "embedding": [0] * DIMENSIONS}]}),
    ],
)
def test_a_text_that_breaks_the_model_is_named_and_stops_no_other(
    endpoint: Endpoint, tmp_path: Path, poison: Any
) -> None:
    endpoint.always = lambda handler, body: any("poison" in t for t in body["input"]) and poison(handler, body)
    texts = {f"{n}.md": f"text {n}" for n in range(9)}
    connection, _ = indexed(tmp_path, {**texts, "bad.md": "poison"})
    report = embed(connection, openai(endpoint))
    assert (report.texts, report.pending, len(report.failed)) == (9, {"notes": 1}, 1)
    assert embed(connection, openai(endpoint)).texts == 0, "and nothing is done twice"


def test_an_endpoint_that_breaks_down_in_the_middle_ends_the_run(endpoint: Endpoint, tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {f"{n:03}.md": f"text {n}" for n in range(300)})
    endpoint.behaviours = [lambda *_: False] * 3
    endpoint.always = says({"error": "out of memory"}, 500)
    with pytest.raises(wire.Faulty, match="out of memory"):
        embed(connection, openai(endpoint, attempts=1))
    assert len(endpoint.requests) < 15
    space = spaces.find(connection, "openai", "m")
    assert space is not None
    assert spaces.count(connection, space) == 128, "what was made before stays"


def test_an_endpoint_that_is_slow_at_many_texts_is_given_fewer(endpoint: Endpoint) -> None:
    endpoint.always = lambda handler, body: len(body["input"]) > 16 and hangs(endpoint.stopped)(handler, body)
    provider = openai(endpoint, read_s=1.0)
    assert provider.embed([f"text {n}" for n in range(20)]).shape == (20, DIMENSIONS)
    assert [len(body["input"]) for _, _, body in endpoint.requests] == [20, 20, 10, 10]
    assert provider.batch == 10


def test_a_silent_endpoint_is_given_up_before_its_time_and_after(endpoint: Endpoint) -> None:
    endpoint.always = hangs(endpoint.stopped)
    provider = openai(endpoint, read_s=0.3)
    with pytest.raises(EngineTimeout):
        provider.embed([f"text {n}" for n in range(32)])
    assert [len(body["input"]) for _, _, body in endpoint.requests] == [32, 32, 16, 16, 8, 8]
    endpoint.requests.clear()
    late = openai(endpoint, read_s=0.3)
    late.patient_until(time.monotonic() - 1)
    with pytest.raises(EngineTimeout):
        late.embed([f"text {n}" for n in range(64)])
    assert len(endpoint.requests) == 1


def test_an_endpoint_that_takes_fewer_texts_at_once_is_given_fewer(endpoint: Endpoint) -> None:
    said = says({"error": {"message": "batch size is invalid, it should not be larger than 10"}}, 400)
    endpoint.always = lambda handler, body: len(body["input"]) > 10 and said(handler, body)
    provider = openai(endpoint)
    assert provider.embed([f"text {n}" for n in range(70)]).shape == (70, DIMENSIONS)
    endpoint.requests.clear()
    provider.embed([f"text {n}" for n in range(20)])
    assert [len(body["input"]) for _, _, body in endpoint.requests] == [8, 8, 4]


def too_long(status: int) -> Any:
    """llama.cpp's words, whose "batch" is no number of texts."""
    message = "input is too large to process. increase the physical batch size"
    refusal = says({"error": {"code": status, "message": message}}, status)
    return lambda handler, body: any("enormous" in text for text in body["input"]) and refusal(handler, body)


@pytest.mark.parametrize("status", [400, 500])
def test_a_text_that_is_too_long_for_a_batch_leaves_the_others_their_batch(
    endpoint: Endpoint, tmp_path: Path, status: int
) -> None:
    endpoint.always = too_long(status)
    slept = Slept()
    provider = openai(endpoint, slept)
    many = [f"text {n}" for n in range(9)]
    with pytest.raises(TextRefused, match="too large"):
        provider.embed([*many, "enormous"])
    assert [len(body["input"]) for _, _, body in endpoint.requests] == [10, 1]
    endpoint.requests.clear()
    provider.embed(many)
    assert ([len(body["input"]) for _, _, body in endpoint.requests], provider.batch, slept) == ([9], 64, [])
    connection, _ = indexed(tmp_path, {f"{n}.md": text for n, text in enumerate([*many, "enormous"])})
    report = embed(connection, provider)
    assert (report.texts, len(report.failed), report.pending, provider.batch) == (9, 1, {"notes": 1}, 64)


def test_a_short_text_that_is_refused_is_found_and_takes_no_batch_away(endpoint: Endpoint) -> None:
    refusal = says({"error": "invalid batch"}, 422)
    endpoint.always = lambda handler, body: "" in body["input"] and refusal(handler, body)
    provider = openai(endpoint)
    with pytest.raises(TextRefused):
        provider.embed([*(f"text {n}" for n in range(20)), ""])
    assert provider.batch == 64


def test_an_endpoint_that_takes_fewer_texts_in_words_of_its_own_is_given_fewer(endpoint: Endpoint) -> None:
    said = says({"error": {"message": "at most 10 inputs"}}, 422)
    endpoint.always = lambda handler, body: len(body["input"]) > 10 and said(handler, body)
    provider = openai(endpoint)
    assert provider.embed([f"text {n}" for n in range(40)]).shape == (40, DIMENSIONS)
    assert provider.batch == 10


def test_no_request_outlasts_the_budget(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_LEAST_S", 0.1)
    timeouts = []
    post = httpx2.Client.stream

    def stream(*arguments: Any, **options: Any) -> Any:
        timeouts.append(options["timeout"])
        return post(*arguments, **options)

    monkeypatch.setattr(httpx2.Client, "stream", stream)
    endpoint.always = hangs(endpoint.stopped)
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    with pytest.raises(EngineTimeout):
        embed(connection, openai(endpoint), deadline=time.monotonic() + 0.3)
    assert len(timeouts) <= 2
    assert all(max(each.connect, each.read, each.write) <= 0.3 for each in timeouts)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_endpoint_that_is_busy_when_the_budget_ends_is_no_failure_of_a_run_that_made_some(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(embedder, "_GROUP", 2)
    connection, _ = indexed(tmp_path, {f"{n}.md": f"text {n}" for n in range(6)})
    provider = openai(endpoint)
    provider.batch = 2

    def busy_at_the_third(handler: BaseHTTPRequestHandler, body: Any) -> bool:
        return len(endpoint.requests) > 2 and answer(handler, {"error": "busy"}, status, Retry_After="59")

    endpoint.always = busy_at_the_third
    report = embed(connection, provider, deadline=time.monotonic() + 50)
    assert (report.texts, report.pending, report.failed) == (2, {"notes": 4}, {})
    assert len(endpoint.requests) == 3, "it asks to be left alone"
    if status != 500:  # which may be the texts' own fault
        with pytest.raises((EngineTimeout, EngineMissing), match=f"HTTP {status}"):
            embed(connection, provider, deadline=time.monotonic() + 50)


def test_one_that_goes_on_failing_ends_the_run_whatever_the_budget(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "_GROUP", 2)
    connection, _ = indexed(tmp_path, {f"{n}.md": f"text {n}" for n in range(6)})
    provider = openai(endpoint, attempts=2)
    provider.batch = 2
    endpoint.behaviours = [says(good({"input": texts, "model": "m"})) for texts in (["dimensions"], ["a", "b"])]
    endpoint.always = says({"error": "busy"}, 503)
    with pytest.raises(wire.Overloaded):
        embed(connection, provider, deadline=time.monotonic() + 5000)


def test_an_endpoint_that_refuses_every_text_ends_the_run(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.behaviours = [says(good({"input": ["dimensions"], "model": "m"}))]
    endpoint.always = says({"error": "no such model"}, 400)
    connection, _ = indexed(tmp_path, {f"{n}.md": f"text {n}" for n in range(50)})
    with pytest.raises(TextRefused, match="no such model"):
        embed(connection, openai(endpoint))
    assert len(endpoint.requests) < 10


def test_an_endpoint_with_vectors_of_changing_length_is_refused(endpoint: Endpoint, tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha"})
    embed(connection, openai(endpoint))
    connection.execute("UPDATE content SET doc = doc")
    space = spaces.find(connection, "openai", "m")
    assert space is not None
    vectors.clear(connection, space)
    endpoint.always = says({"data": [{"index": 0, "embedding": [1.0, 2.0]}]})
    with pytest.raises(Refused, match="2 numbers"):
        embed(connection, openai(endpoint))
    assert embed(connection, openai(endpoint), force=True).chunks == 1


def test_one_name_at_two_endpoints_is_two_models(endpoint: Endpoint) -> None:
    other = Endpoint()
    assert openai(endpoint).fingerprint != openai(other).fingerprint
    assert openai(endpoint).fingerprint == openai(endpoint).fingerprint
    other.close()


@given(st.text(alphabet="ab 海😀.\n", max_size=400), st.integers(8, 100))
def test_chunks_for_a_remote_model_cover_the_text_and_fit_its_window(text: str, window: int) -> None:
    chunks = [(start, end) for start, end, kind in Layout(window).cut(text) if kind == PIECE]
    covered = set[int]().union(*(range(start, end) for start, end in chunks))
    assert all(index in covered for index, letter in enumerate(text) if not letter.isspace())
    assert all(len(tokens(text[start:end]).offsets) <= window for start, end in chunks)


def test_an_endpoint_with_another_length_is_embedded_again_by_the_fix(endpoint: Endpoint, tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "an old note"})
    embed(connection, openai(endpoint))
    write(Path(folder.path), {"b.md": "a note that waits"})
    update(connection, [folder])

    def shorter(handler: BaseHTTPRequestHandler, body: Any) -> bool:
        data = [{"index": n, "embedding": vector(text)[:4]} for n, text in enumerate(body["input"])]
        return answer(handler, {"data": data})

    endpoint.always = shorter
    with pytest.raises(Refused, match="vectors of 4 numbers, where its others have 6") as refused:
        embed(connection, openai(endpoint))
    assert "brain embed -f" in refused.value.fix
    report = embed(connection, openai(endpoint), force=True)
    assert (report.space.dimensions, report.texts, report.pending) == (4, 2, {})
    assert spaces.count(connection, report.space) == 2
