from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from core.errors import EngineTimeout, Internal, Refused
from core.processes.speed import Load
from qmd.embedding import embedder
from qmd.embedding.embedder import embed
from qmd.index.semantic import spaces, vectors
from qmd.index.store import open_index
from qmd.index.update import update
from qmd.index.writer import drop
from tests.qmd.corpus import indexed, write
from tests.qmd.embedding.fake import Fake


def rows(connection: apsw.Connection, provider: Fake) -> int:
    space = spaces.find(connection, provider.name, provider.model)
    assert space is not None
    count: int = connection.execute(f'SELECT count(*) FROM "{space.table}"').get
    assert count == spaces.count(connection, space)
    return count


def state(connection: apsw.Connection, key: str) -> Any:
    return connection.execute("SELECT value FROM brain_state WHERE key = ?", (key,)).get


def numbered(count: int, words: int = 3) -> dict[str, str | bytes]:
    return {f"{number}.md": " ".join([f"n{number}"] * words) for number in range(count)}


def test_only_what_lacks_vectors_is_embedded(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, {"a.md": "alpha", "copy.md": "alpha", "b.md": "beta"})
    report = embed(connection, Fake())
    assert (report.texts, report.chunks, report.pending) == (2, 2, {})
    again = Fake()
    report = embed(connection, again)
    assert (report.texts, report.chunks, again.calls) == (0, 0, [])
    write(Path(folder.path), {"c.md": "gamma"})
    update(connection, [folder])
    embed(connection, again)
    assert again.seen == ["gamma"]
    assert (state(connection, "documents"), state(connection, "embedded:local/fake")) == (4, 4)
    assert abs(state(connection, "embedded_at:local/fake") - time.time()) < 60


def test_another_model_embeds_everything_and_the_first_ones_vectors_stay(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, numbered(5))
    first, second = Fake("one"), Fake("two", dimensions=16)
    embed(connection, first)
    embed(connection, second)
    assert (rows(connection, first), rows(connection, second)) == (5, 5)
    idle = Fake("one")
    embed(connection, idle)
    assert idle.calls == []


def test_a_request_that_the_budget_cuts_short_is_no_failure_of_a_run_that_made_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "_GROUP", 4)
    connection, _ = indexed(tmp_path, numbered(10))
    now = [0.0]
    monkeypatch.setattr(embedder, "time", SimpleNamespace(monotonic=lambda: now[0]))

    class Silent(Fake):
        answers = 1

        def embed(self, texts: Sequence[str], *, question: bool = False) -> NDArray[np.float32]:
            if len(self.calls) < self.answers:
                return super().embed(texts, question=question)
            now[0] += 60.0
            raise EngineTimeout("no answer in time")

    report = embed(connection, Silent(), deadline=50.0)
    assert (report.chunks, report.pending) == (4, {"notes": 6})
    dead = Silent()
    dead.answers = 0
    with pytest.raises(EngineTimeout):
        embed(connection, dead, deadline=now[0] + 50.0)


def test_on_this_machine_a_group_is_no_larger_than_there_is_time_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = indexed(tmp_path, {**numbered(200), "long.md": " ".join(f"w{n}" for n in range(2000))})
    now = [0.0]
    monkeypatch.setattr(embedder, "time", SimpleNamespace(monotonic=lambda: now[0]))
    provider = Fake()

    def work() -> None:
        now[0] += 1.0

    provider.then = work
    report = embed(connection, provider, deadline=30.0)
    assert 30 <= now[0] <= 31, "it ends with the batch that is under way"
    assert report.chunks == len(provider.seen) == 4 * now[0]
    now[0] = 0.0
    embed(connection, provider, deadline=0.0)
    assert now[0] == 1, "however soon the deadline, some are"


def test_the_newest_documents_come_first_whatever_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "_GROUP", 4)
    texts = {f"{day}.md": f"---\ndate: 2026-05-{day:02d}T00:00:00Z\n---\nday {day}" for day in range(1, 20)}
    connection, _ = indexed(tmp_path, dict(texts))
    provider = Fake()
    report = embed(connection, provider, deadline=time.monotonic())
    assert provider.seen == ["day 19", "day 18", "day 17", "day 16"]
    assert sum(report.pending.values()) == 15


def test_batches_are_small_and_of_like_length(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {f"{n}.md": "x" * (n * 7 % 40 + 1) for n in range(40)})
    provider = Fake()
    embed(connection, provider)
    assert max(map(len, provider.calls)) <= provider.batch
    lengths = [len(text) for text in provider.seen]
    assert lengths == sorted(lengths)


def test_what_was_committed_before_a_failure_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "_GROUP", 8)
    connection, _ = indexed(tmp_path, {**numbered(10), "long.md": " ".join(f"w{n}" for n in range(305))})
    broken = Fake()
    broken.breaks_at = 6
    with pytest.raises(Internal):
        embed(connection, broken)
    kept = rows(connection, broken)
    assert kept == 16
    told = state(connection, "embedded:local/fake")
    vectors.note(connection)
    assert told == state(connection, "embedded:local/fake") > 0
    rest = Fake()
    report = embed(connection, rest)
    assert kept + len(rest.seen) == rows(connection, rest) == 41
    assert report.pending == {}
    assert not set(rest.seen) & {text for call in broken.calls[:4] for text in call}


def test_counting_what_is_embedded_takes_little_of_a_long_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "_GROUP", 1)
    now = [0.0]
    counted: list[float] = []
    real = vectors.note

    def note(connection: apsw.Connection) -> None:
        counted.append(now[0])
        now[0] += 0.5
        real(connection)

    def take() -> None:
        now[0] += 1.0

    monkeypatch.setattr(vectors, "note", note)
    monkeypatch.setattr(embedder, "time", SimpleNamespace(monotonic=lambda: now[0]))
    provider = Fake()
    provider.then = take
    connection, _ = indexed(tmp_path, numbered(160))
    counted.clear()
    embed(connection, provider)
    assert len(provider.calls) == 40
    # When the space is made, at the first text, every ten seconds, and at the end.
    assert len(counted) == 6
    assert state(connection, "embedded:local/fake") == 160


def test_a_text_that_goes_meanwhile_takes_its_vectors_along(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, numbered(6))
    other = open_index(str(tmp_path / "index.sqlite"), write=True)
    provider = Fake()

    def remove() -> None:
        for name in ("0.md", "1.md"):
            drop(other, "notes", name)

    provider.then = remove
    embed(connection, provider)
    assert len(provider.seen) == 6
    assert rows(connection, provider) == 4
    assert (state(connection, "documents"), state(connection, "embedded:local/fake")) == (4, 4)
    other.close()


def test_indexing_never_waits_for_a_model(tmp_path: Path) -> None:
    connection, folder = indexed(tmp_path, numbered(3))
    other = open_index(str(tmp_path / "index.sqlite"), write=True, busy_ms=0)
    provider = Fake()

    def index() -> None:
        write(Path(folder.path), {"new.md": "written while a model computes"})
        update(other, [folder])

    provider.then = index
    report = embed(connection, provider)
    assert report.pending == {}
    assert "written while a model computes" in provider.seen
    other.close()


def test_force_embeds_again_in_the_named_collections(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    connection.execute("UPDATE documents SET collection = 'other' WHERE path = 'b.md'")
    embed(connection, Fake())
    part, whole = Fake(), Fake()
    embed(connection, part, collections=["other"], force=True)
    assert part.seen == ["beta"]
    embed(connection, whole, force=True)
    assert sorted(whole.seen) == ["alpha", "beta"]
    assert rows(connection, whole) == 2


def test_only_the_collections_that_are_named_are_embedded_and_the_rest_is_pending(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {"a.md": "alpha", "b.md": "beta"})
    connection.execute("UPDATE documents SET collection = 'other' WHERE path = 'b.md'")
    provider = Fake()
    assert embed(connection, provider, collections=["other"]).pending == {"notes": 1}
    assert provider.seen == ["beta"]


def test_vectors_of_another_model_of_that_name_are_refused_and_replaced_by_force(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, numbered(3))
    embed(connection, Fake())
    changed = Fake(fingerprint="g", dimensions=16)
    for options in ({}, {"force": True, "collections": ["notes"]}):
        with pytest.raises(Refused, match="another model or endpoint"):
            embed(connection, changed, **options)  # type: ignore[arg-type]
    assert rows(connection, changed) == 3
    assert embed(connection, changed, force=True).chunks == 3
    (space,) = spaces.listed(connection)
    assert (space.fingerprint, space.dimensions) == ("g", 16)


def test_a_text_that_a_provider_refuses_is_named_and_stops_no_other(tmp_path: Path) -> None:
    connection, _ = indexed(tmp_path, {**numbered(9), "bad.md": "unspeakable"})
    provider = Fake()
    provider.refused = "unspeakable"
    report = embed(connection, provider)
    assert list(report.failed.values()) == ["too long for the model"]
    assert (report.chunks, report.pending) == (9, {"notes": 1})
    assert rows(connection, provider) == 9


def test_blank_and_empty_bodies_have_nothing_to_embed_and_do_not_wait(tmp_path: Path) -> None:
    connection, _ = indexed(
        tmp_path, {"a.md": "---\ntitle: x\n---\n", "b.md": "---\ntitle: y\n---\n \n\n", "n.md": "a\x00b"}
    )
    provider = Fake()
    report = embed(connection, provider)
    assert (report.pending, provider.seen) == ({}, ["a\x00b"])
    assert state(connection, "embedded:local/fake") == 3


def test_progress_counts_up_to_all_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "_GROUP", 4)
    connection, _ = indexed(tmp_path, numbered(10))
    told: list[tuple[int, int, str]] = []
    embed(connection, Fake(), progress=lambda *news: told.append(news))
    assert told[0][0] == 0
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert told[-1][0] == told[-1][1] > 0


def test_progress_counts_the_tokens_of_chunks_batch_by_batch(tmp_path: Path) -> None:
    texts: dict[str, str | bytes] = {
        "a.md": "word " * 40,
        "b.md": "x " * 400,
        "c.md": "a much longer word " * 30,
    }
    connection, _ = indexed(tmp_path, texts)
    provider = Fake()
    told: list[tuple[int, int, str]] = []
    embed(connection, provider, progress=lambda *news: told.append(news))
    tokens = sum(len(text.split()) for text in provider.seen)
    assert told[-1] == (tokens, tokens, "embedding")
    assert len(told) >= len(provider.calls)


def test_a_run_on_a_busy_machine_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Load, "others", lambda _: 0.62)
    monkeypatch.setattr(embedder, "_LOOK_S", 0.0)
    connection, _ = indexed(tmp_path, numbered(10))
    told: list[str] = []
    report = embed(connection, Fake(), progress=lambda _, __, what: told.append(what))
    assert "embedding: others take 62% of the machine" in told
    assert report.others == 0.62
