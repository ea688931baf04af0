"""The verbs that need a model: they search by meaning, and name what is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.qmd.app.world import Done, Qmd, write
from tests.qmd.embedding.endpoint import Endpoint, hangs, says
from tests.qmd.reranking.onnx_file import folder


def rows(done: Done) -> list[dict[str, Any]]:
    assert done.code == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def names(found: list[dict[str, Any]]) -> list[str]:
    return [str(row["file"]).rpartition("/")[2] for row in found]


@pytest.mark.parametrize("words", [["vsearch", "x"], ["vector-search", "x"], ["query", "vec: x"]])
def test_a_search_without_vectors_fails_on_stderr_with_code_1(notes: Path, qmd: Qmd, words: list[str]) -> None:
    done = qmd(*words)
    assert (done.code, done.out) == (1, "")
    assert "nothing is embedded by local/all-MiniLM-L6-v2 yet (qmd embed)" in done.err


def test_a_filter_also_applies_to_hits_by_meaning(place: Path, qmd: Qmd) -> None:
    write(
        place / "tasks",
        {
            "open.md": "---\nstatus: open\ndate: 2026-04-01\n---\n\nThe dog on the sofa.\n",
            "done.md": "---\nstatus: done\ndate: 2026-01-01\n---\n\nOur dog sleeps on the sofa.\n",
        },
    )
    assert qmd("collection", "add", "tasks").code == qmd("embed").code == 0
    filters = {"--filter status=open": "open", "--since 2026-03-01": "open", "--until 2026-02-01": "done"}
    couch = "a pet on the couch"
    for asked in (("vsearch", couch), ("query", "dog"), ("query", f"lex: dog\nvec: {couch}")):
        assert sorted(names(rows(qmd(*asked, "--json")))) == ["done.md", "open.md"]
        for words, kept in filters.items():
            assert names(rows(qmd(*asked, "--json", *words.split()))) == [f"{kept}.md"], (asked, words)


@pytest.mark.parametrize("verb", ["vsearch", "vector-search"])
def test_what_means_the_same_is_found_without_its_words(pets: None, qmd: Qmd, verb: str) -> None:
    found = rows(qmd(verb, "a pet on the couch", "--json"))
    assert found[0]["file"] == "qmd://pets/dog.md"
    assert 0.3 <= found[0]["score"] < 1
    assert "sleeps on the sofa" in found[0]["snippet"]
    assert rows(qmd("search", "a pet on the couch", "--json")) == []


def test_below_the_least_score_nothing_is_shown(pets: None, qmd: Qmd) -> None:
    assert len(rows(qmd("vsearch", "a pet on the couch", "--json", "--min-score=-1"))) == 3
    assert rows(qmd("vsearch", "a pet on the couch", "--json", "--min-score", "0.99")) == []
    assert len(rows(qmd("vsearch", "a pet on the couch", "--json"))) == 1


def test_a_collection_limits_a_search_by_meaning(pets: None, place: Path, qmd: Qmd) -> None:
    write(place / "others", {"cat.md": "# Cat\n\nThe cat lies on the couch.\n"})
    assert qmd("collection", "add", "others").code == 0
    assert qmd("embed").code == 0
    everywhere = [row["file"] for row in rows(qmd("vsearch", "a pet on the couch", "--json"))]
    assert sorted(everywhere) == ["qmd://others/cat.md", "qmd://pets/dog.md"]
    assert [row["file"] for row in rows(qmd("vsearch", "a pet on the couch", "--json", "-c", "pets"))] == [
        "qmd://pets/dog.md"
    ]


def test_keyword_and_vector_lists_are_fused_and_explained(pets: None, qmd: Qmd) -> None:
    found = rows(qmd("query", "vec: a pet on the couch\nlex: rain", "--no-rerank", "--json", "--explain"))
    # The keyword list counts twice although its line is second.
    assert [row["file"] for row in found[:2]] == ["qmd://pets/rain.md", "qmd://pets/dog.md"]
    assert [row["score"] for row in found[:2]] == [1, 0.5]
    trace = found[1]["explain"]
    assert trace["ftsScores"] == []
    assert [
        (each["source"], each["queryType"], each["weight"], each["rank"]) for each in trace["rrf"]["contributions"]
    ] == [("vec", "vec", 1, 1)]
    assert trace["rrf"]["totalScore"] == pytest.approx(1 / 61 + 0.05)


def test_a_hypothetical_document_is_searched_by_meaning(pets: None, qmd: Qmd) -> None:
    found = rows(qmd("query", "hyde: The payment for the bill arrived after its due date", "--json"))
    assert found[0]["file"] == "qmd://pets/invoice.md"


def test_plain_words_are_searched_both_ways_and_missing_models_are_named(pets: None, qmd: Qmd) -> None:
    done = qmd("query", "a pet on the couch", "--json")
    assert rows(done)[0]["file"] == "qmd://pets/dog.md"
    assert "there is no reranker" in done.err
    assert "there is no generator" in done.err


def test_a_benchmark_counts_what_is_found_by_meaning(pets: None, place: Path, qmd: Qmd) -> None:
    query = {"id": "q", "query": "a pet on the couch", "type": "semantic", "description": "",
             "expected_files": ["dog.md"], "expected_in_top_k": 1}  # fmt: skip
    (place / "set.json").write_text(json.dumps({"description": "", "version": 1, "queries": [query]}))
    done = qmd("bench", "set.json", "--json")
    assert done.code == 0, done.err
    backends = json.loads(done.out)["results"][0]["backends"]
    assert [backends[name]["precision_at_k"] for name in ("bm25", "vector", "hybrid", "full")] == [0, 1, 1, 0]


def test_changing_the_model_behind_its_name_is_noticed(pets: None, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> None:
    from qmd.embedding import local

    made = local.Local.__init__

    def other(self: local.Local, *given: Any) -> None:
        made(self, *given)
        self.fingerprint = "another"

    monkeypatch.setattr(local.Local, "__init__", other)
    done = qmd("vsearch", "x")
    assert (done.code, done.out) == (1, "")
    assert "has changed (qmd embed -f)" in done.err


@pytest.fixture
def remote(pets: None, qmd: Qmd, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    """The same notes, embedded by an endpoint."""
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    assert qmd("provider", "openai", "--model", "m").code == 0
    assert qmd("embed").code == 0
    return endpoint


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (says({"error": {"message": "insufficient credit"}}, 402), "insufficient credit"),
        (
            says({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}),
            "vectors of 2 numbers, where those that are kept have 6",
        ),
    ],
)
def test_a_query_is_answered_by_its_words_where_the_endpoint_does_not_encode_it(
    remote: Endpoint, qmd: Qmd, behaviour: Any, said: str
) -> None:
    assert "not by meaning" not in qmd("query", "sofa dog", "--no-rerank", "--json").err
    remote.always = behaviour
    for text in ("sofa dog", "lex: sofa\nvec: a pet"):
        done = qmd("query", text, "--no-rerank", "--json")
        assert [row["file"] for row in rows(done)] == ["qmd://pets/dog.md"]
        assert "Warning: answered by" in done.err
        assert said in done.err
        assert done.err.count("Structured search") == text.count("\n")
    for words in (["vsearch", "a pet"], ["query", "vec: a pet", "--no-rerank"]):
        done = qmd(*words)
        assert (done.code, done.out) == (1, "")
        assert said in done.err


def test_a_question_waits_half_a_minute_for_an_endpoint_at_most(
    remote: Endpoint, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qmd.embedding import wire
    from qmd.search import semantic

    monkeypatch.setattr(wire, "_LEAST_S", 0.05)
    assert semantic.QUESTION_S <= 30
    monkeypatch.setattr(semantic, "QUESTION_S", 0.1)
    remote.always = hangs(remote.stopped)
    done = qmd("query", "sofa dog", "--no-rerank", "--json")
    assert [row["file"] for row in rows(done)] == ["qmd://pets/dog.md"]
    assert "did not answer in time" in done.err


def test_all_lines_of_a_query_are_encoded_by_one_request(remote: Endpoint, qmd: Qmd) -> None:
    remote.requests.clear()
    done = qmd("query", "vec: a pet\nlex: sofa\nhyde: The dog sleeps.\nvec: a couch", "--no-rerank", "--json")
    assert len(rows(done)) == 3
    assert [body["input"] for _, _, body in remote.requests] == [["a pet", "The dog sleeps.", "a couch"]]


def test_keyword_lines_need_no_model(notes: Path, qmd: Qmd) -> None:
    done = qmd("query", "lex: tokens\nlex: hourly", "--no-rerank", "--json")
    assert done.code == 0
    assert [(row["file"], row["score"]) for row in json.loads(done.out)] == [
        ("qmd://notes/plan.md", 1),
        ("qmd://notes/done.md", 0.5),
    ]


def test_lines_that_are_left_out_are_named(notes: Path, qmd: Qmd) -> None:
    done = qmd("query", "vec: what about tokens\nlex: tokens", "--no-rerank", "--files")
    assert done.code == 0
    assert "answered by the lex: lines alone" in done.err
    nothing = qmd("query", "vec: tokens\nhyde: tokens", "--no-rerank", "--json")
    assert (nothing.code, nothing.out) == (1, "")
    assert "vec: and hyde: lines need vectors" in nothing.err


def test_plain_words_are_answered_with_a_warning(notes: Path, qmd: Qmd) -> None:
    done = qmd("query", "tokens hourly", "--no-rerank", "--files")
    assert done.code == 0
    assert "answered by these keywords alone" in done.err
    assert done.out.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [("lex: a\nb", "Line 2 is missing a lex:"), ('lex: "a', "unmatched double quote"), ("vec: a -b", "Negation")],
)
def test_a_query_that_breaks_the_grammar_is_refused(notes: Path, qmd: Qmd, text: str, said: str) -> None:
    done = qmd("query", text, "--no-rerank")
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_there_is_nothing_to_pull(qmd: Qmd) -> None:
    done = qmd("pull")
    assert (done.code, done.err) == (0, "")
    assert "nothing to pull" in done.out


def test_nothing_waits_for_vectors_in_an_empty_index(qmd: Qmd) -> None:
    assert qmd("embed").out == "✓ All content hashes already have embeddings.\n"


def test_a_query_shows_code_from_the_chunk_that_its_strategy_makes(place: Path, qmd: Qmd) -> None:
    # The plain rule's first chunk has both words, though not in one function; the second is the function that has both.
    filler = "".join(f"def f{n}():\n" + "    some = other(thing)\n" * 40 for n in range(3))
    body = "    some = other(thing)\n" * 60
    write(place / "code", {"a.py": f"needle = 1\n{filler}def target():\n{body}    needle()\n"})
    assert qmd("collection", "add", "code", "--mask", "**/*.py").code == 0
    query = ("query", "lex: target needle", "--no-rerank", "--json")
    (plain,) = rows(qmd(*query))
    (cut,) = rows(qmd(*query, "--chunk-strategy", "auto"))
    assert "needle = 1" in plain["snippet"]
    assert "def target" in cut["snippet"]


@pytest.fixture
def reranking(place: Path, tmp_path: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Notes, and a cross-encoder in the user's own configuration; returns the configuration's file."""
    for name in ("QMD_RERANK_MODEL", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    write(
        place / "notes",
        {
            "a.md": "# Tokens\n\nAll tokens expired.\n",
            "b.md": "# Kept\n\nThe tokens are in a file, and the file is on the disk of the old machine.\n",
            "c.md": "# Rest\n\nWhere the tokens go at night, when the machine is off and nobody is there to see it.\n",
        },
    )
    folder(tmp_path / "tiny")
    assert qmd("collection", "add", "notes").code == 0
    path = tmp_path / "config" / "qmd" / "index.yml"
    path.write_text(f"{path.read_text()}rerank:\n  path: {tmp_path / 'tiny'}\n  timeout_s: 60\n")
    return path


ASKED = "lex: tokens\nintent: where in which old file of a machine"


def test_a_reranker_is_used_where_one_is_configured_and_blended_by_place(reranking: Path, qmd: Qmd) -> None:
    before = rows(qmd("query", ASKED, "--no-rerank", "--json", "--explain"))
    assert [row["explain"]["rerankScore"] for row in before] == [0, 0, 0]
    done = qmd("query", ASKED, "--json", "--explain")
    after = rows(done)
    assert "Reranked by local/tiny" in done.err
    for row in after:
        trace = row["explain"]
        rank = names(before).index(names([row])[0]) + 1
        assert (trace["rrf"]["rank"], trace["rrf"]["positionScore"], trace["rrf"]["weight"]) == (rank, 1 / rank, 0.75)
        assert 0 < trace["rerankScore"] < 1
        assert trace["blendedScore"] == pytest.approx(0.75 / rank + 0.25 * trace["rerankScore"])
        assert row["score"] == pytest.approx(trace["blendedScore"], abs=0.01)
    assert [row["score"] for row in after] == sorted((row["score"] for row in after), reverse=True)
    # The intent precedes the question: its words are in b, not in a.
    judged = {names([row])[0]: row["explain"]["rerankScore"] for row in after}
    assert judged["b.md"] > judged["a.md"]
    assert "Blend: 75%*1.0000 + 25%*" in qmd("query", ASKED, "--explain").out


def test_what_was_judged_is_remembered_until_the_next_update(reranking: Path, place: Path, qmd: Qmd) -> None:
    import apsw

    first = qmd("query", ASKED, "--json", "--explain").out
    model = place.parent / "tiny" / "model.onnx"
    before = model.stat()
    model.write_bytes(b"\0" * before.st_size)  # would not load
    os.utime(model, ns=(before.st_mtime_ns, before.st_mtime_ns))
    again = qmd("query", ASKED, "--json", "--explain")
    assert (again.out, "Reranked by" in again.err) == (first, True)
    (database,) = (place.parent / "cache" / "qmd").glob("index.sqlite")
    connection = apsw.Connection(str(database))
    assert connection.execute("SELECT count(*) FROM llm_cache").get == 3
    connection.close()
    assert qmd("update").code == 0
    done = qmd("query", ASKED, "--json", "--explain")
    assert "does not load" in done.err
    assert [row["explain"]["rerankScore"] for row in rows(done)] == [0, 0, 0]


def test_the_order_stays_and_says_so_where_the_reranker_fails(reranking: Path, qmd: Qmd, endpoint: Endpoint) -> None:
    plain = qmd("query", ASKED, "--no-rerank", "--json", "--explain").out
    text = reranking.read_text().partition("rerank:")[0]

    def asked(behaviour: Any, timeout_s: float = 20) -> Done:
        reranking.write_text(f"{text}rerank:\n  base_url: {endpoint.url}\n  timeout_s: {timeout_s}\n")
        endpoint.always = behaviour
        return qmd("query", ASKED, "--json", "--explain")

    late = asked(hangs(endpoint.stopped), 0.2)
    assert (late.code, late.out) == (0, plain)
    assert "not reranked: no judgement within 0.2 s" in late.err
    wrong = asked(says({"results": [{"index": 9, "relevance_score": 1}]}))
    assert (wrong.code, wrong.out) == (0, plain)
    assert "not reranked" in wrong.err
    assert "without one score for each text" in wrong.err
    good = asked(None)
    assert "Reranked by openai" in good.err
    assert endpoint.requests[-1][2]["query"] == "where in which old file of a machine\n\ntokens"


def test_a_folder_that_is_gone_is_named_and_the_question_answered(reranking: Path, place: Path, qmd: Qmd) -> None:
    (place.parent / "tiny" / "model.onnx").unlink()
    done = qmd("query", ASKED, "--json")
    assert len(rows(done)) == 3
    assert "model.onnx is missing" in done.err
    assert "rerank: {path:" in done.err


def test_status_and_doctor_name_the_reranker(reranking: Path, place: Path, qmd: Qmd) -> None:
    assert "Reranking:   local/tiny" in qmd("status").out
    assert "✓ reranking: by local/tiny, in 60 s at most" in qmd("doctor").out
    (place.parent / "tiny" / "model.onnx").unlink()
    assert "⚠ reranking: the reranker's" in qmd("doctor").out
    reranking.write_text(reranking.read_text().partition("rerank:")[0])
    assert "✓ reranking: there is no reranker" in qmd("doctor").out


def test_few_candidates_are_judged_where_few_are_wanted(reranking: Path, qmd: Qmd) -> None:
    assert len(rows(qmd("query", ASKED, "--json", "-C", "1"))) == 1


def test_the_environment_may_name_the_folder(
    notes: Path, tmp_path: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QMD_RERANK_MODEL", str(folder(tmp_path / "named")))
    assert "Reranked by local/named" in qmd("query", "lex: tokens").err
    monkeypatch.setenv("QMD_RERANK_MODEL", "hf:ggml-org/a/b.gguf")
    assert "there is no reranker" in qmd("query", "lex: tokens").err


def test_a_projects_reranker_waits_for_approval(
    place: Path, tmp_path: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QMD_RERANK_MODEL", raising=False)
    write(place, {"notes/a.md": "# A\n\ntokens\n"})
    assert qmd("init").code == 0
    assert qmd("collection", "add", "notes").code == 0
    config = place / ".qmd" / "index.yml"
    before = config.read_text()
    for added in (f"rerank:\n  path: {folder(tmp_path / 'theirs')}\n", f"models:\n  rerank: {tmp_path / 'theirs'}\n"):
        config.write_text(before + added)
        done = qmd("query", "lex: tokens")
        assert "there is no reranker" in done.err
        assert qmd("trust").code == 0
        assert "Reranked by local/theirs" in qmd("query", "lex: tokens").err


def test_a_benchmark_measures_the_reranked_order(reranking: Path, place: Path, qmd: Qmd) -> None:
    query = {"id": "q", "query": "lex: tokens", "type": "exact", "expected_files": ["b.md"], "expected_in_top_k": 3}
    (place / "set.json").write_text(json.dumps({"description": "", "version": 1, "queries": [query]}))
    backends = json.loads(qmd("bench", "set.json", "--json").out)["results"][0]["backends"]
    assert backends["full"]["recall"] == 1
    (place.parent / "tiny" / "model.onnx").unlink()
    done = qmd("bench", "set.json", "--json")
    assert "not reranked" in done.err
    assert json.loads(done.out)["results"][0]["backends"]["full"]["recall"] == 0
