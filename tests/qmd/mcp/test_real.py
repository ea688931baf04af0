"""This server answers a client like the real qmd, if that one is installed."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.qmd.mcp.world import World, talk
from tests.qmd.real import find


def lex(*queries: str) -> list[dict[str, str]]:
    return [{"type": "lex", "query": query} for query in queries]


# Without reranking: its models are not everywhere.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("query", {"searches": lex("quay"), "rerank": False}),
    ("query", {"searches": lex("quay", "ebb tide"), "rerank": False, "limit": 2, "intent": "when to sail"}),
    ("query", {"searches": lex("quay"), "rerank": False, "minScore": 0.4}),
    ("query", {"searches": lex("quay"), "rerank": False, "collections": ["plans", "notes"]}),
    ("query", {"searches": lex("lorem"), "rerank": False, "candidateLimit": 1}),
    ("query", {"searches": lex("quay -plan"), "rerank": False}),
    ("query", {"searches": lex('"lower quay'), "rerank": False}),
    ("query", {"searches": lex("nothing"), "rerank": False}),
    ("query", {"searches": lex("quay"), "rerank": False, "collections": ["nowhere"]}),
    ("query", {"searches": lex("quay"), "rerank": False, "limit": 0}),
    ("query", {"searches": lex("quay"), "rerank": False, "limit": -1}),
    ("query", {}),
    ("query", {"searches": [{"type": "other", "query": "quay"}]}),
    ("query", {"searches": lex("quay") * 11}),
    ("get", {"file": "notes/tides.md"}),
    ("get", {"file": "tides.md:3:2"}),
    ("get", {"file": "tides.md:3:2", "fromLine": 5, "lineNumbers": False}),
    ("get", {"file": "qmd://notes/boats/skiff é#1.md"}),
    ("get", {"file": "tides.md", "maxLines": 0}),
    ("get", {"file": "tides.md", "maxLines": -1}),
    ("get", {"file": "nowhere/zzzzzzzzzzzz"}),
    ("get", {"file": "../../etc/passwd"}),
    ("get", {}),
    ("multi_get", {"pattern": "notes/*.md"}),
    ("multi_get", {"pattern": "**/*.md", "maxLines": 2}),
    ("multi_get", {"pattern": "tides.md, quay.md", "lineNumbers": False}),
    ("multi_get", {"pattern": "zzz*.md"}),
    ("multi_get", {"pattern": "tides.md", "maxBytes": 10}),
    ("status", {}),
]


def answers(server: StdioServerParameters) -> list[Any]:
    async def conversation(client: Client) -> list[Any]:
        found = []
        for tool, arguments in CALLS:
            result = await client.call_tool(tool, arguments)
            found.append(result.model_dump(include={"content", "structured_content", "is_error"}, exclude_none=True))
        return found

    return talk(server, conversation, "legacy")


@pytest.mark.long
def test_the_real_one_gives_the_same_answers(world: World) -> None:
    real = find()
    if isinstance(real, str):
        pytest.skip(real)
    ours = answers(world.stdio())
    theirs = answers(StdioServerParameters(command=real[0], args=[*real[1:], "mcp"], env=world.environ))
    for call, mine, other in zip(CALLS, ours, theirs, strict=True):
        assert mine == other, call
