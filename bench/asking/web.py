"""The page of ``brain web``: the first byte of each view, keystrokes to results, memory, over 50,000 documents."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote_plus, urlsplit

import apsw
import psutil

from bench import corpora
from bench.measure import Failed, environment, median, percentile, program, relative
from bench.report import Report, Row, megabytes, ms

_FIRST_BYTE_S = 0.050
_RESULTS_S = 0.100
_MEMORY_MB = 150
_STOP_S = 30
# A question is sent once nobody has typed for 90 ms: every third key of a quick typist.
_KEYS = 3


class _Client:
    """A browser's connection that has opened the page."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._cookie = ""
        headers = self._ask(f"/?{parts.query}")[1]
        self._cookie = headers["set-cookie"].partition(";")[0]

    def first_byte(self, path: str) -> float:
        """Seconds from the request to the first byte of the answer's body, as typing asks (no telemetry)."""
        return self._ask(path)[0]

    def text(self, path: str) -> str:
        return self._ask(path)[2]

    def _ask(self, path: str) -> tuple[float, dict[str, str], str]:
        headers = {"x-brain-typing": "1", **({"cookie": self._cookie} if self._cookie else {})}
        began = time.perf_counter()
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        first = answer.read(1)
        taken = time.perf_counter() - began
        body = (first + answer.read()).decode()
        if answer.status != 200:
            raise Failed(f"{path} gave {answer.status}: {body[:500]}")
        return taken, {name.lower(): value for name, value in answer.getheaders()}, body


def measure(report: Report, *, quick: bool) -> None:
    """Each view and each keystroke in turn, every view once more than is counted."""
    corpus = None if quick else corpora.published(corpora.MANY)
    if corpus is None:
        if not quick:
            report.skip("the page on the published corpus", f"no {relative(corpora.GENERATOR)}")
        corpus = corpora.own()
    rounds = 5 if quick else 20
    name = f"web, {corpus.files:,} documents"
    home = corpora.brain(corpora.dated(corpus))
    began = time.perf_counter()
    with _serving(environment(home)) as (url, pid):
        report.add(Row(f"{name}: start to the link", ms(time.perf_counter() - began)))
        client = _Client(url)
        first: dict[str, float] = {}
        views = list(_views(client, corpus.questions[0]))
        for view, path in views:
            first[view] = client.first_byte(path)
            taken = [client.first_byte(path) for _ in range(rounds)]
            _add(report, f"{name}: first byte of {view}, p50", median(taken))
        slowest = max(first, key=lambda view: first[view])
        _add(report, f"{name}: first look, the slowest ({slowest})", first[slowest])
        taken = [client.first_byte(f"/?q={quote_plus(typed)}") for typed in _typed(corpus.questions)]
        p95 = percentile(taken, 0.95)
        met = p95 <= _RESULTS_S
        report.add(Row(f"{name}: keystroke to results, p50", ms(median(taken))))
        report.add(Row(f"{name}: keystroke to results, p95", ms(p95), bar=f"≤ {ms(_RESULTS_S)}", met=met))
        # What a view has counted is kept until the index changes.
        changed: dict[str, list[float]] = {view: [] for view, _ in views}
        for _ in range(rounds):
            for view, path in views:
                _change(home)
                changed[view].append(client.first_byte(path))
        slowest = max(changed, key=lambda view: median(changed[view]))
        _add(report, f"{name}: right after a change, the slowest ({slowest}), p50", median(changed[slowest]))
        memory = psutil.Process(pid).memory_info().rss
    limit = f"≤ {_MEMORY_MB} MB"
    report.add(Row(f"{name}: memory", megabytes(memory), bar=limit, met=memory <= _MEMORY_MB * 1e6))


def _add(report: Report, name: str, seconds: float) -> None:
    report.add(Row(name, ms(seconds), bar=f"≤ {ms(_FIRST_BYTE_S)}", met=seconds <= _FIRST_BYTE_S))


def _change(home: Path) -> None:
    """Write to the index, as an index run does, and leave it as it is."""
    connection = apsw.Connection(str(home / "index.sqlite"))
    version = connection.pragma("user_version")
    connection.pragma("user_version", version)
    connection.close()


def _views(client: _Client, question: str) -> Iterator[tuple[str, str]]:
    """Yield (name, path) of the views; the document is the best hit of a question."""
    asked = f"q={quote_plus(question)}"
    hits = json.loads(client.text(f"/search.json?{asked}"))["hits"]
    if not hits:
        raise Failed(f"{question!r} finds nothing")
    yield "the newest", "/"
    yield "a question", f"/?{asked}"
    yield "a document", f"/s/{hits[0]['uri'].removeprefix('qmd://')}"
    year = json.loads(client.text("/time.json"))
    yield "a year", f"/time?year={year['year']}"
    yield "a day", f"/time/{next(reversed(year['days']))}"
    yield "projects", "/project"
    yield "files", "/file"
    yield "health", "/health"
    yield "decisions", "/why"
    yield "a topic", f"/why?topic={quote_plus(question)}"
    yield "the inbox", "/inbox"
    yield "what agents were given", "/injected"
    yield "recall", "/eval"


def _typed(questions: Sequence[str]) -> Iterator[str]:
    """Yield the beginnings of questions as somebody types them, every third key."""
    for question in questions:
        for end in range(_KEYS, len(question) + _KEYS, _KEYS):
            if question[:end].strip():
                yield question[:end].strip()


@contextmanager
def _serving(environ: dict[str, str]) -> Iterator[tuple[str, int]]:
    """Run the page; give the link that opens it, and the process."""
    words = [*program(), "web", "--port", "0", "--json"]
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise Failed("brain web did not start")
            said = json.loads(line)
            yield said["url"], said["pid"]
        finally:
            process.terminate()
            process.wait(_STOP_S)
