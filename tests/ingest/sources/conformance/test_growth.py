"""A journal that is appended to: however it was split, what comes out is what one reading of the whole file gives."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.home import Home
from tests.examples import examples
from tests.ingest.growing import Reader, grow, split
from tests.ingest.sources.conformance.samples import Sample

# Lines that need what was known before them, or are no records: a key over two records, damage, two records on a line.
_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq0" + "Qx3vTz8Kd1" * 12
_ODD = (
    b"\n",
    b"{not json}\n",
    b"[1]\n",
    b'{"type": "nobody knows"}\n',
    b'{"type": "a"} {"type": "b"}\n',
    b'{"type": "user", "text": "\xff\xfe"}\n',
    b'{"key": "sk-ant-api03-' + b"aB3dE5gH7j" * 9 + b'"}\n',
    json.dumps({"type": "user", "message": {"content": _KEY}}).encode() + b"\n",
)
# Sources of ours with journals of which each reading begins at the start: they use ``lines``, not ``journal``.
_FROM_THE_START = ("goose", "vscode")


def _lines(sample: Sample) -> list[bytes]:
    sample.write(0, grown=True)
    return sample.paths[0].read_bytes().splitlines(keepends=True)


def _home(folder: Path, numbers: itertools.count[int]) -> Home:
    return Home(str(folder / f"home-{next(numbers)}"))


@pytest.mark.hypothesis
def test_a_file_that_grew_gives_what_a_new_file_gives(sample: Sample, tmp_path: Path) -> None:
    if "lines" not in sample.row:
        pytest.skip("its files are not appended to")
    own, numbers, path = _lines(sample), itertools.count(), sample.paths[0]

    @settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.one_of(st.sampled_from(own), st.sampled_from(_ODD)), max_size=8),
        st.lists(st.integers(0, 20_000), max_size=5),
        st.lists(st.integers(0, 7), max_size=3),
    )
    def holds(more: list[bytes], anywhere: list[int], between: list[int]) -> None:
        lines = [*own, *more]
        data = b"".join(lines)
        ends = list(itertools.accumulate(map(len, lines)))
        pieces = split(data, [*anywhere, *(ends[place % len(ends)] for place in between)])
        readers = [Reader(_home(tmp_path, numbers), sample.source, path, resumes=each) for each in (True, False)]
        for resumed, whole in grow(path, pieces, *readers):
            assert resumed == whole
        ((whole,),) = grow(path, [data], Reader(_home(tmp_path, numbers), sample.source, path))
        assert whole["documents"] == resumed["documents"]

    holds()


def test_a_reading_goes_on_after_the_lines_that_were_read(sample: Sample, tmp_path: Path) -> None:
    if "lines" not in sample.row:
        pytest.skip("its files are not appended to")
    *first, second, last = _lines(sample)
    path, reader = sample.paths[0], Reader(Home(str(tmp_path / "home")), sample.source, sample.paths[0])
    data = b"".join(first)
    grow(path, [data, second, last[:9], last[9:], b"\n"], reader)
    resumed = [0, 0, len(data + second), len(data + second), len(data + second + last)]
    if type(sample.source).__module__.startswith("ingest.sources."):
        assert reader.went_on == ([0] * 5 if sample.source.name in _FROM_THE_START else resumed)
    else:
        # The state of a parser is kept only if all of its classes are ours (``ingest.archive.resuming``).
        assert reader.went_on in ([0] * 5, resumed)
