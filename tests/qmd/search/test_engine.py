"""Properties of the pure parts: ECMAScript's ways, addresses, chunks, snippets, hybrid."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd import ecma
from qmd.app.results import explain_lines
from qmd.index import handles, virtual
from qmd.search import hybrid, structured
from qmd.search.excerpt import extract
from qmd.vectors import chunking

TEXT = st.text(st.sampled_from("ab \n#`-é漢🎉"), max_size=400)


@pytest.mark.parametrize(
    ("value", "digits", "wanted"),
    [(0.125, 2, "0.13"), (2.5, 0, "3"), (1.005, 2, "1.00"), (-2.5, 0, "-3"), (0.0, 2, "0.00"), (1e-9, 4, "0.0000")],
)
def test_halves_are_rounded_away_from_zero(value: float, digits: int, wanted: str) -> None:
    assert ecma.to_fixed(value, digits) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (1.25e-5, "0.0000125"),
        (1e21, "1e+21"),
        (123e18, "123000000000000000000"),
        (0.1, "0.1"),
        (-1.5e-6, "-0.0000015"),
    ],
)
def test_numbers_are_printed_as_ecmascript_prints_them(value: float, wanted: str) -> None:
    assert ecma.decimal(value) == wanted


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_says_what_it_was_given(value: object) -> None:
    assert json.loads(ecma.to_json(value, 2)) == value
    assert ecma.to_json(value, 2) == json.dumps(value, ensure_ascii=False, indent=2)
    assert ecma.to_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    ("text", "wanted"), [("12px", 12), (" -3", -3), ("x", None), ("", None), ("+7.9", 7), ("٣", None)]
)
def test_a_number_is_read_as_far_as_it_goes(text: str, wanted: int | None) -> None:
    assert ecma.parse_int(text) == wanted


@pytest.mark.parametrize(("text", "wanted"), [("0.5x", 0.5), (".5", 0.5), ("1e2", 100.0), ("x", None), ("-1", -1.0)])
def test_a_fraction_is_read_as_far_as_it_goes(text: str, wanted: float | None) -> None:
    assert ecma.parse_float(text) == wanted


@given(TEXT, st.integers(0, 50), st.integers(0, 50))
def test_a_cut_counts_utf_16_units(text: str, start: int, length: int) -> None:
    raw = text.encode("utf-16-le")
    assert ecma.length(text) == len(raw) // 2
    assert ecma.cut(text, start, start + length) == raw[2 * start : 2 * (start + length)].decode("utf-16-le", "ignore")


@given(st.text("ab c/é#?%", min_size=1).filter(lambda text: text.strip() and "?" not in text), st.text("abé &=+/ "))
def test_an_address_says_what_it_was_built_of(path: str, index: str) -> None:
    built = virtual.build("notes", path.strip(), index.strip())
    found = virtual.parse(built)
    assert found is not None
    assert (found.collection, found.path, found.index) == ("notes", path.strip(), index.strip())


@given(TEXT, st.integers(20, 120), st.integers(0, 15), st.integers(1, 60))
def test_chunks_cover_a_text_and_overlap(text: str, size: int, overlap: int, window: int) -> None:
    chunks = chunking.chunk(text, size, overlap, window)
    raw = text.encode("utf-16-le")
    end = 0
    for chunk in chunks:
        own = chunk.text.encode("utf-16-le")
        assert raw[2 * chunk.pos :].startswith(own)
        assert chunk.pos <= end
        assert len(own) // 2 <= size + 1
        end = chunk.pos + len(own) // 2
    assert end == len(raw) // 2


@given(TEXT, st.text("ab é", max_size=10), st.none() | st.integers(0, 400))
def test_a_snippet_is_of_its_text(text: str, query: str, start: int | None) -> None:
    found = extract(text, query, 60, start, 100)
    total = text.count("\n") + 1
    assert 1 <= found.line <= total
    assert found.before + found.count + found.after == total
    header, _, excerpt = found.text.partition("\n")
    assert header.startswith(f"@@ -{found.before + 1},{found.count} @@")
    assert ecma.length(excerpt) <= 60
    assert excerpt.removesuffix("...") in text or "🎉" in text


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=4))
def test_a_fused_score_is_the_sum_of_its_trace(lists: list[list[str]]) -> None:
    weights = hybrid.document_weights(len(lists))
    ranked = [hybrid.Ranked("fts", "lex", "q", names, [0.5] * len(names)) for names in lists]
    fused = hybrid.fuse(lists, weights)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)
    for name, score in fused:
        assert hybrid.rank_trace(name, ranked, weights)["totalScore"] == pytest.approx(score)


def test_only_a_clear_lead_is_a_strong_signal() -> None:
    assert hybrid.is_strong([0.9, 0.7])
    assert hybrid.is_strong([0.9])
    assert not hybrid.is_strong([0.9, 0.8])
    assert not hybrid.is_strong([0.84])
    assert not hybrid.is_strong([0.9, 0.1], "an intent")
    assert [hybrid.blend_weight(rank) for rank in (1, 3, 4, 10, 11)] == [0.75, 0.75, 0.6, 0.6, 0.4]


@given(st.text(max_size=60))
def test_a_query_document_is_read_or_refused(text: str) -> None:
    try:
        found = structured.parse(text)
    except structured.QueryError:
        return
    assert found is None or found.searches


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_an_older_path_needs_no_second_cleaning(path: str) -> None:
    try:
        once = handles.handle(path)
    except ValueError:
        return
    assert "//" not in once
    assert " " not in once


def test_a_trace_is_explained_in_four_lines() -> None:
    rrf = {
        "totalScore": 0.0828,
        "baseScore": 0.0328,
        "topRankBonus": 0.05,
        "rank": 1,
        "weight": 1,
        "positionScore": 1.0,
    }
    one = {"source": "fts", "queryType": "lex", "rank": 1, "rrfContribution": 0.0328}
    trace = {
        "ftsScores": [0.5],
        "vectorScores": [],
        "rrf": {**rrf, "contributions": [one]},
        "rerankScore": 0,
        "blendedScore": 1,
    }
    assert list(explain_lines(trace)) == [
        "Explain: fts=[0.5000] vec=[none]",
        "  RRF: total=0.0828 base=0.0328 bonus=0.0500 rank=1",
        "  Blend: 100%*1.0000 + 0%*0.0000 = 1.0000",
        "  Top RRF contributions: fts/lex#1:0.0328",
    ]
