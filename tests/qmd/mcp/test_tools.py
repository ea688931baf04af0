"""The answers of the tools, compared with those of qmd 2.8.3."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from core.version import VERSION
from qmd.embedding.embedder import embed
from qmd.embedding.provider import make
from qmd.index import store
from qmd.mcp import tools
from qmd.mcp.library import Library
from qmd.mcp.service import Service
from tests.qmd.embedding.endpoint import Endpoint, says
from tests.qmd.generation.test_of_openai import chat
from tests.qmd.mcp.world import CONFIG, TIDES, World, talk
from tests.qmd.reranking.onnx_file import folder

CONTEXT = "<!-- Context: Everything about the harbour\n\nNotes of the harbour master -->\n\n"


def ask(world: World, tool: str, **arguments: Any) -> Any:
    """The result of a tool, by the SDK's client against a server in this process."""
    service = Service(Library(world.settings, aliases=tool.startswith("qmd_")))
    return talk(service.server, lambda client: client.call_tool(tool, arguments))


def text(result: Any) -> str:
    return str(result.content[0].text)


def lex(*queries: str) -> list[dict[str, str]]:
    return [{"type": "lex", "query": query} for query in queries]


def files(result: Any) -> list[str]:
    return [hit["file"] for hit in result.structured_content["results"]]


OWN = ["query", "get", "multi_get", "status"]
FORKS = ["qmd_search", "qmd_vector_search", "qmd_deep_search", "qmd_get", "qmd_multi_get", "qmd_status"]


def listed(service: Service) -> list[Any]:
    """The entries of ``tools/list``."""
    tools: list[Any] = talk(service.server, lambda client: client.list_tools()).tools
    return tools


def test_the_tools_are_qmds_and_the_forks_are_not_known(shared: World) -> None:
    library = Library(shared.settings)
    assert [tool.name for tool in listed(Service(library))] == OWN
    for name in FORKS:
        with pytest.raises(MCPError, match=f"Tool {name} not found"):
            anyio.run(Service(library).answer, name, {"query": "quay"})


def test_the_forks_names_are_served_once_the_configuration_asks(world: World) -> None:
    service = Service(Library(world.settings))
    assert [tool.name for tool in listed(service)] == OWN
    world.configure("mcp_aliases: true\n" + CONFIG)
    assert [tool.name for tool in listed(service)] == OWN + FORKS


def test_the_tools_only_read(shared: World) -> None:
    for tool in listed(Service(Library(shared.settings, aliases=True))):
        assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)
        assert tool.title
        assert tool.description


def test_the_schemas_have_qmds_arguments_and_defaults(shared: World) -> None:
    schemas = {tool.name: tool.input_schema for tool in listed(Service(Library(shared.settings, aliases=True)))}
    shape = {
        name: {key: (rule["type"], rule.get("default")) for key, rule in schemas[name]["properties"].items()}
        for name in ("query", "get", "multi_get", "status")
    }
    assert shape == {
        "query": {
            "query": ("string", None),
            "searches": ("array", None),
            "limit": ("number", 10),
            "minScore": ("number", 0),
            "candidateLimit": ("number", None),
            "collections": ("array", None),
            "intent": ("string", None),
            "rerank": ("boolean", True),
        },
        "get": {
            "file": ("string", None),
            "fromLine": ("number", None),
            "maxLines": ("number", None),
            "lineNumbers": ("boolean", True),
        },
        "multi_get": {
            "pattern": ("string", None),
            "maxLines": ("number", None),
            "maxBytes": ("number", 65536),
            "lineNumbers": ("boolean", True),
        },
        "status": {},
    }
    assert schemas["query"]["properties"]["searches"]["maxItems"] == 10
    assert schemas["query"]["properties"]["searches"]["items"]["properties"]["type"]["enum"] == ["lex", "vec", "hyde"]
    assert (schemas["get"]["required"], schemas["multi_get"]["required"]) == (["file"], ["pattern"])
    assert "required" not in schemas["query"]


def test_a_query_has_a_summary_and_results_with_qmds_keys(shared: World) -> None:
    result = ask(shared, "query", searches=lex("ebb"))
    (hit,) = result.structured_content["results"]
    assert list(hit) == ["docid", "file", "title", "score", "context", "line", "snippet"]
    assert text(result) == f'Found 1 result for "ebb":\n\n{hit["docid"]} 100% notes/tides.md - Tides'
    assert (hit["file"], hit["title"], hit["score"], hit["line"]) == ("notes/tides.md", "Tides", 1, 4)
    assert hit["context"] == "Everything about the harbour\n\nNotes of the harbour master"
    assert hit["snippet"] == (
        "4: @@ -3,4 @@ (2 before, 2 after)\n5: The spring tide floods the quay.\n6: The ebb runs four knots.\n7: \n"
        "8: More on moorings."
    )
    assert not result.is_error


def test_a_result_without_context_says_so(world: World) -> None:
    world.configure("collections:\n  notes: {{path: {root}/notes}}\n")
    assert ask(world, "query", searches=lex("ebb")).structured_content["results"][0]["context"] is None


def test_scores_are_one_over_the_rank_and_minscore_cuts_there(shared: World) -> None:
    result = ask(shared, "query", searches=lex("quay"))
    assert [hit["score"] for hit in result.structured_content["results"]] == [1, 0.5, 0.33, 0.25]
    assert len(files(ask(shared, "query", searches=lex("quay"), minScore=0.4))) == 2
    assert len(files(ask(shared, "query", searches=lex("quay"), limit=3))) == 3


def test_collections_narrow_a_query_and_an_unknown_one_finds_nothing(shared: World) -> None:
    assert files(ask(shared, "query", searches=lex("quay"), collections=["plans"])) == ["plans/quay.md"]
    nothing = ask(shared, "query", searches=lex("quay"), collections=["nowhere"])
    assert (text(nothing), files(nothing)) == ('No results found for "quay"', [])


def test_a_collection_that_is_left_out_by_default_is_found_when_named(world: World) -> None:
    world.configure(
        "collections:\n  notes: {{path: {root}/notes}}\n  plans: {{path: {root}/plans, includeByDefault: false}}\n"
    )
    assert "plans/quay.md" not in files(ask(world, "query", searches=lex("quay")))
    assert files(ask(world, "query", searches=lex("quay"), collections=["plans"])) == ["plans/quay.md"]


def test_two_searches_are_fused(shared: World) -> None:
    found = files(ask(shared, "query", searches=lex("ebb", "skiff")))
    assert found == ["notes/tides.md", "notes/boats/skiff é#1.md"]


@pytest.mark.parametrize("arguments", [{"query": "quay"}, {"searches": [{"type": "vec", "query": "what floods?"}]}])
def test_what_needs_embeddings_says_that_there_are_none(shared: World, arguments: dict[str, Any]) -> None:
    result = ask(shared, "query", **arguments)
    assert "no embedding exists in this index yet" in result.content[1].text
    assert not result.is_error


def test_plain_words_are_served_by_keywords_even_where_not_all_occur(shared: World) -> None:
    result = ask(shared, "query", query="which tide floods the quay of the emperor?")
    assert files(result)[0] == "notes/tides.md"


def test_a_query_without_semantics_has_no_note(shared: World) -> None:
    assert len(ask(shared, "query", searches=lex("quay")).content) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Error: provide either 'query' (plain text) or 'searches' (typed sub-queries)"),
        ({"searches": []}, "Error: provide either 'query' (plain text) or 'searches' (typed sub-queries)"),
        (
            {"query": "a", "searches": [{"type": "lex", "query": "a"}]},
            "Error: 'query' and 'searches' are mutually exclusive; provide only one",
        ),
        (
            {"searches": [{"type": "lex", "query": "a\nb"}]},
            "Structured search (lex): queries must be single-line. Remove newline characters.",
        ),
        (
            {"searches": [{"type": "lex", "query": 'a "b'}]},
            'Structured search (lex): Lex query has an unmatched double quote ("). Add the closing quote or remove it.',
        ),
        (
            {"searches": [{"type": "vec", "query": "how -not"}]},
            "Structured search (vec): Negation (-term) is not supported in vec/hyde queries. Use lex for exclusions.",
        ),
        (
            {"searches": [{"type": "lex"}]},
            "Input validation error: Invalid arguments for tool query:"
            " searches.0.query: Invalid input: expected string, received undefined",
        ),
    ],
)
def test_a_query_that_cannot_be_asked_says_why(shared: World, arguments: dict[str, Any], message: str) -> None:
    result = ask(shared, "query", **arguments)
    assert (result.is_error, text(result)) == (True, message)


def test_an_unknown_tool_is_an_error_of_the_protocol(shared: World) -> None:
    with pytest.raises(MCPError, match="Tool nope not found") as caught:
        ask(shared, "nope")
    assert caught.value.code == -32602


@pytest.mark.parametrize(
    "file", ["notes/tides.md", "tides.md", "ides.md", "qmd://notes/tides.md", "{root}/notes/tides.md", "{docid}"]
)
def test_a_document_is_got_by_every_name_it_has(shared: World, file: str) -> None:
    docid = ask(shared, "query", searches=lex("ebb")).structured_content["results"][0]["docid"]
    (block,) = ask(shared, "get", file=file.format(root=shared.root, docid=docid)).content
    numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(TIDES.split("\n"), 1))
    assert block.type == "resource"
    assert (block.resource.uri, block.resource.mime_type) == ("qmd://notes/tides.md", "text/markdown")
    assert block.resource.text == CONTEXT + numbered


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"file": "tides.md:3:2"}, "3: The spring tide floods the quay.\n4: The ebb runs four knots."),
        ({"file": "tides.md:6"}, "6: More on moorings.\n7: Tide tables.\n8: "),
        ({"file": "tides.md:3:2", "fromLine": 6}, "6: More on moorings.\n7: Tide tables."),
        ({"file": "tides.md", "fromLine": 4, "maxLines": 1}, "4: The ebb runs four knots."),
        ({"file": "tides.md", "fromLine": -4, "maxLines": 1}, "1: # Tides"),
        ({"file": "tides.md", "fromLine": 100}, "100: "),
        ({"file": "tides.md", "maxLines": 1, "lineNumbers": False}, "# Tides"),
    ],
)
def test_lines_are_chosen_by_suffix_or_argument(shared: World, arguments: dict[str, Any], shown: str) -> None:
    assert ask(shared, "get", **arguments).content[0].resource.text == CONTEXT + shown


def test_the_address_of_a_document_is_percent_encoded(shared: World) -> None:
    block = ask(shared, "get", file="notes/boats/skiff é#1.md").content[0]
    assert block.resource.uri == "qmd://notes/boats/skiff%20%C3%A9%231.md"
    assert "Boats and their owners" in block.resource.text


def test_a_document_that_is_not_there_names_some_like_it(shared: World) -> None:
    result = ask(shared, "get", file="tidse.md")
    assert result.is_error
    assert text(result).startswith("Document not found: tidse.md\n\nDid you mean one of these?\n  - tides.md")
    assert text(ask(shared, "get", file="zzzzzzzzzzzzzzzzzz")) == "Document not found: zzzzzzzzzzzzzzzzzz"


@pytest.mark.parametrize("file", ["plans/qua.md", "qmd://plans/qua.md", "plans/quay.mdx"])
def test_a_document_that_is_not_there_names_some_like_it_with_their_collection(shared: World, file: str) -> None:
    said = text(ask(shared, "get", file=file))
    assert said.startswith(f"Document not found: {file}\n\nDid you mean one of these?\n  - plans/quay.md\n")


def test_several_documents_come_with_what_was_skipped_and_what_was_not_found(shared: World) -> None:
    result = ask(shared, "multi_get", pattern="plans/*.md", maxLines=1)
    resource, skipped = sorted(result.content, key=lambda block: str(block.type))
    assert resource.resource.text == (
        "<!-- Context: Everything about the harbour -->\n\n1: # Quay plan\n2: \n3: [... truncated 3 more lines]"
    )
    assert skipped.text == (
        "[SKIPPED: plans/long.md - File too large (82KB > 64KB)."
        " Use 'qmd_get' with file=\"plans/long.md\" to retrieve.]"
    )
    result = ask(shared, "multi_get", pattern="tides.md, nope.md", lineNumbers=False)
    assert text(result).startswith("Errors:\nFile not found: nope.md")
    assert result.content[1].resource.text == CONTEXT + TIDES


def test_a_pattern_that_matches_nothing_says_so(shared: World) -> None:
    result = ask(shared, "multi_get", pattern="zzz*.md")
    assert (text(result), result.is_error) == ("Errors:\nNo files matched pattern: zzz*.md", False)
    empty = ask(shared, "multi_get", pattern="")
    assert (text(empty), empty.is_error) == ("Expected pattern to be a non-empty string", True)


def test_an_answer_has_a_limit_and_names_what_it_leaves_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "MOST_CHARACTERS", 60)
    blocks = ask(world, "multi_get", pattern="notes/**").content
    assert [block.type for block in blocks].count("resource") == 1
    assert any("the answer is full" in block.text for block in blocks if block.type == "text")


def test_status_shows_the_state_of_the_index(shared: World) -> None:
    result = ask(shared, "status")
    status = result.structured_content
    assert list(status) == ["totalDocuments", "needsEmbedding", "hasVectorIndex", "collections"]
    assert (status["totalDocuments"], status["needsEmbedding"], status["hasVectorIndex"]) == (5, 5, False)
    assert {row["name"]: row["documents"] for row in status["collections"]} == {"notes": 3, "plans": 2}
    assert list(status["collections"][0]) == ["name", "path", "pattern", "documents", "lastUpdated"]
    assert text(result).startswith(
        "QMD Index Status:\n  Total documents: 5\n  Needs embedding: 5\n  Vector index: no\n  Collections: 2\n    - "
    )
    assert f"    - notes: {shared.root}/notes (3 docs)" in text(result)


@pytest.mark.long
def test_where_there_are_vectors_questions_are_asked_by_meaning(world: World) -> None:
    connection = store.open_index(world.settings.database, write=True)
    source = make({}, {})
    try:
        embed(connection, source)
    finally:
        source.close()
        connection.close()
    status = ask(world, "status").structured_content
    assert (status["needsEmbedding"], status["hasVectorIndex"]) == (0, True)
    question = "the sea level falling at the harbour"
    assert files(ask(world, "qmd_search", query=question)) == []
    found = ask(world, "qmd_vector_search", query=question, minScore=0.1)
    assert files(found)[0] == "notes/tides.md"
    assert 0.1 <= found.structured_content["results"][0]["score"] < 1
    assert len(found.content) == 1, "nothing is missing, so nothing is noted"
    assert files(ask(world, "qmd_vector_search", query=question, minScore=0.99)) == []
    for kind in ("vec", "hyde"):
        typed = ask(world, "query", searches=[{"type": kind, "query": question}])
        assert (files(typed)[0], typed.structured_content["results"][0]["score"]) == ("notes/tides.md", 1)
    assert "notes/tides.md" in files(ask(world, "qmd_deep_search", query=question))


def test_plain_words_are_expanded_where_a_generator_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    endpoint = Endpoint()
    try:
        endpoint.always = says(chat("lex: knots\nvec: how fast is the water\n"))
        question = "velocity of currents"
        assert files(ask(world, "query", query=question)) == []
        world.configure(f"{CONFIG}generation: {{{{model: small, base_url: '{endpoint.url}'}}}}\n")
        for tool in ("query", "qmd_deep_search"):
            found = ask(world, tool, query=question)
            assert files(found) == ["notes/tides.md"]
            assert "not expanded" not in found.content[-1].text
        assert len(endpoint.requests) == 1, "the second was answered out of the index"
        assert files(ask(world, "query", searches=lex("velocity"))) == []
        assert files(ask(world, "qmd_vector_search", query="velocity")) == []
        assert len(endpoint.requests) == 1, "typed lines and one search are asked as they stand"
        endpoint.always = says(chat("lex: knots\n"))
        assert files(ask(world, "query", query="expand: velocity")) == ["notes/tides.md"]
        assert "<question>\nvelocity\n</question>" in endpoint.requests[1][2]["messages"][1]["content"]
        endpoint.always = says(chat("I would rather not."))
        note = ask(world, "query", query="another question").content[-1].text
        assert note.endswith("Note: not expanded: openai/small: the answer has no lex:, vec: or hyde: line")
    finally:
        endpoint.close()


def test_the_older_names_answer_as_theirs_did(shared: World) -> None:
    found = ask(shared, "qmd_search", query="quay", collection="plans")
    assert files(found) == ["plans/quay.md"]
    assert 0 <= found.structured_content["results"][0]["score"] < 1
    assert files(ask(shared, "qmd_deep_search", query="ebb")) == ["notes/tides.md"]
    vector = ask(shared, "qmd_vector_search", query="ebb")
    assert "no embedding exists" in vector.content[1].text
    assert ask(shared, "qmd_get", file="tides.md").content[0].resource.text == CONTEXT + TIDES
    assert len(ask(shared, "qmd_multi_get", pattern="*.md").content) >= 2
    assert ask(shared, "qmd_status").structured_content == ask(shared, "status").structured_content


def test_without_an_index_there_are_no_documents_and_no_errors(empty_world: World) -> None:
    assert ask(empty_world, "status").structured_content["totalDocuments"] == 0
    assert files(ask(empty_world, "query", searches=lex("quay"))) == []
    assert text(ask(empty_world, "get", file="tides.md")) == "Document not found: tides.md"
    assert "No files matched" in text(ask(empty_world, "multi_get", pattern="*.md"))


def test_a_damaged_index_is_named(world: World) -> None:
    with open(world.settings.database, "wb") as stream:
        stream.write(b"this is no database" * 100)
    result = ask(world, "query", searches=lex("quay"))
    assert result.is_error
    assert "is not a database" in text(result)


def test_a_client_that_connects_reads_the_present_state_of_the_index(world: World) -> None:
    service = Service(Library(world.settings))

    async def conversation(client: Client) -> Any:
        return client.instructions, client.server_info

    told, server = talk(service.server, conversation)
    assert told.startswith(
        "QMD is your local search engine over 5 markdown documents.\nContext: Everything about the harbour\n"
    )
    assert ": notes, plans\n" in told or ": plans, notes\n" in told
    assert "No vector embeddings yet" in told
    assert (server.name, server.version) == ("qmd", f"2.8.3+brain.{VERSION}")
    world.write("notes/new.md", "# New\n")
    world.index()
    told, _ = talk(service.server, conversation)
    assert "over 6 markdown documents" in told


def test_results_are_reranked_by_a_configured_reranker_unless_switched_off(world: World) -> None:
    place = folder(world.root / "tiny")
    world.configure(CONFIG + f"rerank:\n  path: {place}\n  timeout_s: 14\n")
    asked = {"searches": lex("quay"), "intent": "which spring plan would rebuild walls"}
    plain = ask(world, "query", **asked, rerank=False)
    scores = [hit["score"] for hit in plain.structured_content["results"]]
    assert scores == [1, 0.5, 0.33, 0.25][: len(scores)]
    reranked = ask(world, "query", **asked)
    assert len(reranked.content) == 1
    assert sorted(files(reranked)) == sorted(files(plain))
    # Ranks 1 to 3 count three quarters: 0.75 and more, then 0.375 and more.
    best, second = [hit["score"] for hit in reranked.structured_content["results"]][:2]
    assert 0.75 < best < 1
    assert 0.375 < second < 0.625
    words = ask(world, "query", query="quay", rerank=True)
    assert 0.75 < words.structured_content["results"][0]["score"] < 1
    (place / "model.onnx").write_bytes(b"no model")
    broken = ask(world, "query", **asked)
    assert broken.structured_content == plain.structured_content
    assert "Note: not reranked" in str(broken.content[1].text)
    (place / "model.onnx").unlink()
    assert "model.onnx is missing" in str(ask(world, "query", **asked).content[1].text)
