"""The sources that the suite tests: each one that the registry knows, with its row of samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest import registry
from tests.ingest.sources.conformance.samples import Row, Sample, rows

_OWN = Path(__file__).parent / "samples.jsonl"
_ROWS = pytest.StashKey[dict[str, Row]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which the author of a plugin gives the row of a source."""
    about = "a file of rows like those of samples.jsonl, for sources that plugins add (docs/adding-a-source.md)"
    parser.addoption("--samples", action="append", default=[], metavar="FILE", help=about)


def pytest_configure(config: pytest.Config) -> None:
    """Read the rows. A run over more than this folder has no such option."""
    config.stash[_ROWS] = rows(_OWN, *config.getoption("--samples", []))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of ``sample`` for each source with a row, a test of ``name`` for each source and each row."""
    found, names = metafunc.config.stash[_ROWS], registry.names()
    if "sample" in metafunc.fixturenames:
        metafunc.parametrize("sample", [name for name in names if name in found], indirect=True)
    elif "name" in metafunc.fixturenames:
        metafunc.parametrize("name", dict.fromkeys([*names, *found]))


@pytest.fixture
def sample_rows(pytestconfig: pytest.Config) -> dict[str, Row]:
    """The rows by source."""
    return pytestconfig.stash[_ROWS]


@pytest.fixture
def sample(request: pytest.FixtureRequest, sample_rows: dict[str, Row], tmp_path: Path) -> Sample:
    """The files of one source, not yet written."""
    return Sample(sample_rows[request.param], tmp_path)
