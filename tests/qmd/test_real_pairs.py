"""Input and output pairs observed on the real qmd 2.8.3."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qmd.app import output, results
from qmd.index import derived, handles, references, terms, update, virtual
from qmd.search import excerpt, hybrid, lex, structured
from qmd.vectors import chunking, models

# qmd 2.8.3 deletes the marks between words that were typed apart and asks for one long word, which FTS5's tokenizer,
# which splits at the same marks, has never put into the index: no document can match. Ours asks for the words in order.
_DIFFERENT = {
    "e-mail@x.com": '"e mail x com"',
    "path/to/file.md": '"path to file md"',
    "NEAR(a b)": '"near a" AND "b"*',
    "col:val": '"col val"',
    "1.2.": '"1 2"',
    '"multi-agent"': '"multi agent"',
}


Pair = dict[str, Any]


@pytest.fixture(scope="module")
def pairs(shared: Path) -> dict[str, list[Pair]]:
    """The pairs by function."""
    found: dict[str, list[Pair]] = json.loads((shared / "reference" / "qmd-vectors.json").read_text())
    return found


def _address(text: str) -> dict[str, str] | None:
    found = virtual.parse(text)
    if found is None:
        return None
    parts = {"collectionName": found.collection, "path": found.path}
    return {**parts, "indexName": found.index} if found.index else parts


def _document(text: str) -> dict[str, Any] | None:
    found = structured.parse(text)
    if found is None:
        return None
    searches = [{"type": each.kind, "query": each.query, "line": each.line} for each in found.searches]
    return {"searches": searches, **({"intent": found.intent} if found.intent else {})}


def _snippet(*given: Any) -> dict[str, Any]:
    defaults: list[Any] = [500, None, None, ""]
    body, query, most, start, length, intent = [*given, *defaults[len(given) - 2 :]]
    found = excerpt.extract(body, query, most or 500, start, length, intent or "")
    return {
        "line": found.line,
        "snippet": found.text,
        "linesBefore": found.before,
        "linesAfter": found.after,
        "snippetLines": found.count,
    }


def _chunks(*given: Any) -> list[dict[str, Any]]:
    shown = []
    for chunk in chunking.chunk(*given):
        raw = chunk.text.encode("utf-16-le")
        shown.append({"pos": chunk.pos, "len": len(raw) // 2, "head": raw[:24].decode("utf-16-le", "replace")})
    return shown


def _breaks(text: str) -> list[dict[str, Any]]:
    return [{"pos": each.pos, "score": each.score, "type": each.kind} for each in chunking.breaks(text)]


def _cutoff(places: list[dict[str, Any]], target: int, *rest: Any) -> int:
    defaults: list[Any] = [800, 0.7, []]
    window, decay, closed = [*rest, *defaults[len(rest) :]]
    return chunking.cutoff(
        [chunking.Break(each["pos"], each["score"], each["type"]) for each in places],
        target,
        window,
        decay,
        [(each["start"], each["end"]) for each in closed],
    )


def _fuse(lists: list[list[dict[str, Any]]], weights: list[float] | None = None) -> list[list[Any]]:
    names = [[each["file"] for each in ranked] for ranked in lists]
    return [list(each) for each in hybrid.fuse(names, weights or ())]


_OURS: dict[str, Callable[..., Any]] = {
    "buildFTS5Query": lex.match_expression,
    "extractTitle": derived.title,
    "normalizeCjkForFTS": terms.spaced_out,
    "splitGlobMask": update.split_mask,
    "handelize": handles.handle,
    "validateLexQuery": structured.lex_error,
    "validateSemanticQuery": structured.semantic_error,
    "isDocid": references.is_docid,
    "normalizeDocid": references.normalize_docid,
    "parseVirtualPath": _address,
    "buildVirtualPath": virtual.build,
    "escapeLikePattern": references.escape_like,
    "extractIntentTerms": structured.intent_terms,
    "extractSnippet": _snippet,
    "addLineNumbers": references.number_lines,
    "chunkDocument": _chunks,
    "scanBreakPoints": _breaks,
    "findCodeFences": lambda text: [{"start": start, "end": end} for start, end in chunking.fences(text)],
    "findBestCutoff": _cutoff,
    "reciprocalRankFusion": _fuse,
    "getHybridRrfWeights": lambda lists: hybrid.hybrid_weights([each["queryType"] for each in lists]),
    "getCacheKey": models.cache_key,
    "getEmbeddingFingerprint": lambda model: models.fingerprint(model or models.EMBED),
    "formatQueryForEmbedding": models.query_prompt,
    "formatDocForEmbedding": models.document_prompt,
    "escapeCSV": output.csv_field,
    "escapeXml": output.xml_text,
    "parseStructuredQuery": _document,
    "buildEditorUri": results.editor_uri,
}


@pytest.mark.parametrize("name", _OURS)
def test_what_qmd_answers_is_what_we_answer(pairs: dict[str, list[Pair]], name: str) -> None:
    assert pairs[name]
    for pair in pairs[name]:
        wanted = pair["out"]
        if isinstance(wanted, dict) and "throws" in wanted:
            with pytest.raises(ValueError) as raised:  # noqa: PT011  # the whole message is compared
                _OURS[name](*pair["in"])
            assert str(raised.value) == wanted["throws"]
        elif name == "buildFTS5Query" and pair["in"][0] in _DIFFERENT:
            assert _OURS[name](*pair["in"]) == _DIFFERENT[pair["in"][0]] != wanted
        elif name == "reciprocalRankFusion":
            ours = _OURS[name](*pair["in"])
            assert [each[0] for each in ours] == [each[0] for each in wanted]
            assert [each[1] for each in ours] == pytest.approx([each[1] for each in wanted], abs=1e-12)
        else:
            assert _OURS[name](*pair["in"]) == wanted, pair["in"]


def test_every_function_that_was_observed_is_compared(pairs: dict[str, list[Pair]]) -> None:
    assert set(pairs) == set(_OURS)
    assert set(_DIFFERENT) <= {pair["in"][0] for pair in pairs["buildFTS5Query"]}
