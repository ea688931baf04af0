"""Questions that another qmd answers (``BRAIN_QMD=/path/to/qmd``): its hits, our ages, trust and failures.

The other qmd opens the brain's own index, because the tables are qmd's. Its configuration is generated in
``state/qmd/``: qmd rewrites its configuration, and ``collections.yml`` is the user's. ``qmd search`` needs no model and
so keeps to the interactive clock.
"""

from __future__ import annotations

import os
import time
from os.path import basename, exists, join

from core.errors import BadInput, EngineMissing, EngineTimeout, Internal
from core.files import open_regular
from qmd.index import catalogue, store
from qmd.index.catalogue import Filters
from qmd.index.terms import STOP
from qmd.search.search import Hit
from runtime.asking import absence
from runtime.asking.ask import Asker, Inquiry, validate_question, wait_ms
from runtime.asking.chronology import date_boost
from runtime.asking.envelope import SCHEME, clear, entry
from runtime.asking.request import echoed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from core.config import Config
    from core.home import Home
    from runtime.asking.request import Request

_CONFIG = "index"
_QUOTED = 80
_MARKS = "?!.,:;…()[]{}'"
_UNKNOWN = "of unknown age: verify before you act on it"


def locate(setting: str) -> str:
    """Return the executable that ``BRAIN_QMD`` names: a path, or a name on PATH. Raises EngineMissing if it is none."""
    import shutil

    found = shutil.which(os.path.expanduser(setting))
    if found is None:
        raise EngineMissing(
            f"BRAIN_QMD names {setting}, which is no executable", "unset BRAIN_QMD, or export BRAIN_QMD=/path/to/qmd"
        )
    return os.path.abspath(found)


def refuse(request: Request) -> None:
    """Raise BadInput for an option that the other program cannot serve: ignoring it would answer another question."""
    asked = {
        "--since, --since-days and --until": request.since is not None or request.until is not None,
        "--source": request.source,
        "--project": request.project,
        "--explain": request.explain,
        "--rerank": request.rerank,
        "--min-score": request.min_score is not None,
        f"--mode {request.mode}": request.mode not in ("auto", "lex"),
    }
    for flag, given in asked.items():
        if given:
            raise BadInput(f"the qmd that BRAIN_QMD names cannot serve {flag}", "leave it out, or unset BRAIN_QMD")


class ForeignAsker(Asker):
    """An Asker that has another qmd look up the answers: ``with ForeignAsker(home, config, setting, environ)``."""

    __slots__ = ("_environ", "_program")

    def __init__(
        self, home: Home, config: Config, setting: str, environ: Mapping[str, str], timeout_s: float | None = None
    ) -> None:
        super().__init__(home, config, timeout_s)
        self._program = locate(setting)
        self._environ = environ

    def __enter__(self) -> ForeignAsker:
        if not exists(self.home.index):
            # The other program would create it, readable for everybody and without our tables.
            self.home.make()
            store.open_index(self.home.index, write=True).close()
        self.connection = store.open_index(self.home.index, busy_ms=wait_ms(self._timeout_s))
        return self

    def ask(self, question: str, request: Request) -> dict[str, Any]:
        """As ``Asker.ask``; BadInput for what the other program has no way to do, Internal where it fails."""
        timeout = request.timeout_s or self._timeout_s
        inquiry = Inquiry(question, request, store.Deadline(self.connection, timeout), Filters(self.config.asked))
        validate_question(self, inquiry)
        refuse(request)
        question, now = inquiry.question, inquiry.now
        deadline = time.monotonic() + timeout
        self._configure()
        reason = "every term must occur"
        found = self._search(question, request, deadline, timeout)
        if not found and not request.strict:
            words = _telling(question)
            if words and words != question:
                reason = "every term must occur; words that say little left out"
                found = self._search(words, request, deadline, timeout)
        fresh = self.read_freshness()
        if not found and not fresh.complete:
            absence.require_run(self.home, self.config, self.connection)
        _, span = (None, None) if request.strict else date_boost(question, now)
        if span is not None:
            reason += f"; the date in the question ({span.phrase}) is only words to it"
        envelope: dict[str, Any] = {
            "schema": 1,
            "ok": True,
            "query": echoed(question),
            "route": {
                "mode": "strict" if request.strict else "lex",
                "reason": f"BRAIN_QMD: {self._program} search: {reason}",
            },
            "took_ms": 0.0,
            "freshness": fresh.envelope(),
            "evidence": None,
        }
        if not found:
            envelope["error"] = "no_results"
        hits = [self._answer(rank, each, now) for rank, each in enumerate(found[: request.limit], 1)]
        envelope["clear"] = clear([hit["score"] for hit in hits])
        envelope["hits"] = hits
        envelope["took_ms"] = round((time.perf_counter() - inquiry.started) * 1000, 1)
        return envelope

    def _configure(self) -> None:
        """Write the configuration that the other program is to see; it may have written into it since."""
        import json

        from core.files import write_atomic

        collections = {}
        for folder in self.config.collections.values():
            entry: dict[str, Any] = {"path": folder.path, "pattern": folder.pattern}
            if folder.ignore:
                entry["ignore"] = list(folder.ignore)
            if folder.context:
                entry["context"] = folder.context
            if not folder.include_by_default:
                entry["includeByDefault"] = False
            collections[folder.name] = entry
        # JSON is YAML (https://yaml.org/spec/1.2.2/#13-terminology), and needs no library that is slow to import.
        text = json.dumps({"collections": collections}, ensure_ascii=False, indent=2)
        write_atomic(join(self._place(), f"{_CONFIG}.yml"), text.encode() + b"\n")

    def _place(self) -> str:
        return join(self.home.state, "qmd")

    def _search(self, question: str, request: Request, deadline: float, timeout: float) -> list[_Answer]:
        from core.processes import child

        argv = [self._program, "search", "--json", "--index", _CONFIG, "-n", str(request.limit)]
        for name in dict.fromkeys(request.collections):
            argv += ["-c", name]
        argv += ["--", question]
        place = self._place()
        environ = {**self._environ, "INDEX_PATH": self.home.index, "QMD_CONFIG_DIR": place, "PWD": place}
        environ["NO_COLOR"] = "1"
        try:
            done = child.run(argv, timeout_s=max(0.0, deadline - time.monotonic()), environ=environ, folder=place)
        except OSError as error:
            raise EngineMissing(
                f"BRAIN_QMD names {self._program}, which does not start: {error.strerror}",
                "unset BRAIN_QMD, or export BRAIN_QMD=/path/to/qmd",
            ) from None
        name = basename(self._program)
        if done.timed_out:
            raise EngineTimeout(
                f"{name} gave no answer within {timeout:g} s", "ask again with a longer --timeout, or unset BRAIN_QMD"
            )
        if done.flooded:
            raise Internal(f"{name} wrote without end instead of an answer", self._fix())
        if done.code:
            how = f"ended with exit code {done.code}" if done.code > 0 else f"was ended by signal {-done.code}"
            raise Internal(f"{name} {how}: {_first_line(done.stderr)}", self._fix())
        return self._read(done.stdout, name)

    def _read(self, output: bytes, name: str) -> list[_Answer]:
        import json

        try:
            data = json.loads(output)
        except (ValueError, RecursionError):
            raise Internal(f"{name} gave no JSON; it begins: {_quoted(output)}", self._fix()) from None
        try:
            if not isinstance(data, list):
                raise TypeError("not a list")
            return [_Answer(entry) for entry in data]
        except (TypeError, ValueError, KeyError) as error:
            raise Internal(f"{name} gave JSON of another shape ({error}): {_quoted(output)}", self._fix()) from None

    def _fix(self) -> str:
        return f"see what it says: {self._program} search x --json; or unset BRAIN_QMD"

    def _answer(self, rank: int, answer: _Answer, now: int) -> dict[str, Any]:
        row = catalogue.by_path(self.connection, answer.collection, answer.path)
        row = row or self._from_disk(answer)
        known = row is not None
        hit = Hit(row or _blank(answer), answer.score, {})
        hit.line = answer.line
        hit.snippet = answer.snippet
        hit.is_clean = False  # the snippet is the other program's
        result = entry(rank, hit, self.config, now)
        if answer.docid:
            result["docid"] = answer.docid
        if not known:
            result.update(path=None, date=None, age_days=None, age="unknown", stale=True, warning=_UNKNOWN)
            result.pop("date_source", None)
        return result

    def _from_disk(self, answer: _Answer) -> catalogue.Row | None:
        """Return the row for a file that another program indexed before ours did, None if the file cannot be read."""
        folder = self.config.collections.get(answer.collection)
        if folder is None or os.pardir in answer.path.split("/"):
            return None
        from qmd.index import derived

        try:
            with open_regular(join(folder.path, answer.path)) as stream:
                status = os.fstat(stream.fileno())
                text = stream.read(1 << 20).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None
        found = derived.read(text, int(status.st_mtime))
        return (*_blank(answer)[:5], found.date, found.ended, found.dated, found.packed(), 0)


class _Answer:
    """One hit as the other program gave it. Raises TypeError, ValueError or KeyError where it is no hit."""

    __slots__ = ("collection", "docid", "line", "path", "score", "snippet", "title")

    def __init__(self, entry: Any) -> None:
        if not isinstance(entry, dict):
            raise TypeError("a hit is no object")
        file, score = entry.get("file"), entry.get("score")
        if not isinstance(file, str) or not file:
            raise TypeError("a hit has no file")
        if isinstance(score, bool) or not isinstance(score, int | float) or not -1e9 < score < 1e9:
            raise TypeError("a hit has no score")
        for name, kind in (("docid", str), ("title", str), ("snippet", str), ("line", int)):
            if not isinstance(entry.get(name, kind()), kind):
                raise TypeError(f"a hit's {name} is of another type")
        # The path is literal, so it may hold a "?"; the name of an index follows the last one.
        literal = file.removeprefix(SCHEME)
        self.collection, _, self.path = (literal.rpartition("?index=")[0] or literal).partition("/")
        if not self.collection or not self.path:
            raise ValueError("a hit's file is no address")
        self.score = float(score)
        self.docid: str = entry.get("docid", "")
        self.title: str = entry.get("title", "")
        self.line: int = max(1, entry.get("line", 1))
        snippet: str = entry.get("snippet", "")
        head, _, rest = snippet.partition("\n")
        # "@@ -3,4 @@ (2 before, 7 after)" says what `line` says.
        self.snippet = (rest if head.startswith("@@ -") else snippet)[:300]


def _blank(answer: _Answer) -> tuple[Any, ...]:
    from core import jsonb

    digest = answer.docid.removeprefix("#")
    return (0, answer.collection, answer.path, answer.title, digest, 0, 0, 0, jsonb.pack({}), 0)


def _telling(question: str) -> str:
    """Return the words of a question that say what it is about; as it is where it is in qmd's own language."""
    words = question.split()
    if '"' in question or any(word.startswith("-") for word in words):
        return question
    kept = [bare for word in words if (bare := word.strip(_MARKS)) and bare.lower() not in STOP]
    return " ".join(kept)


def _first_line(stream: bytes) -> str:
    from core.text import one_line, printable

    for line in stream.decode("utf-8", "replace").splitlines():
        text = one_line(printable(line), 300)
        if text:
            return text
    return "it said nothing"


def _quoted(output: bytes) -> str:
    return ascii(output[:_QUOTED].decode("utf-8", "replace"))
