"""How much of a session a handoff and a compaction keep, on real transcripts.

A handoff: facts are planted into real sessions, at their beginning, middle and end; how many does it still hold, and
how many are in as many of the transcript's last characters? A compaction: how many of a session's facts does the
summary mention, and how many of the others does the hook hand back?
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from bench.measure import DATA, SHARED, environment, program, relative, run
from bench.report import Report, Row
from runtime.handover import compaction
from runtime.handover.handoff import TOKENS
from runtime.handover.selection import choose
from runtime.handover.state import Session
from runtime.injections.ledger import BUDGET, CHARACTERS_PER_TOKEN, tokens

SAMPLES = SHARED / "samples"
_SOURCES = ("claude", "codex", "opencode", "pi", "gemini")
_FEWEST_TURNS = 20
_HEADING = re.compile(r"(?m)^## \[\d+\] ")
_PLACES = (0.1, 0.5, 0.9)
# Kind → turns that state such a fact, taken in turn; NAME is a word that nothing else in the session has.
_PLANTED = {
    "decision (user)": (
        "## [0] user\n\nLet's keep the NAME cache in the process, because the daemon is restarted.\n",
        "## [0] user\n\ngo with NAME then\n",
        "## [0] user\n\nok the second one. NAME it is, the others are too slow for us\n",
        "## [0] user\n\nI'd rather have NAME do the parsing. Also fix the typo in the header while you are there.\n",
    ),
    "decision (agent)": (
        "## [0] assistant\n\nI decided to write NAME offsets to the header, as trailers are cut.\n",
        "## [0] assistant\n\nWe'll use NAME for the lock: it survives a crash.\n",
        "## [0] assistant\n\nThe simplest option is a NAME table with one row per file, so that is what I built.\n",
        "## [0] assistant\n\nDone. NAME now runs before the migration.\n",
    ),
    "rejection": (
        "## [0] user\n\nNo, don't use NAME for the queue, it blocks when we shut down.\n",
        "## [0] user\n\nplease revert the NAME change, that broke staging\n",
        "## [0] assistant\n\nNAME does not work here: it needs a newer kernel, so I dropped it.\n",
        "## [0] user\n\nhmm NAME again? we tried that last month and it leaked memory\n",
    ),
    "command": (
        "## [0] assistant\n\n- Bash: make check-NAME\n",
        "## [0] assistant\n\n- Bash: cd api && uv run pytest tests/test_NAME.py -x  # Run the tests\n",
        "## [0] assistant\n\n- Bash: npm run build:NAME 2>&1 | tail -20\n",
        "## [0] assistant\n\n- Bash: docker compose -f deploy/NAME.yml up -d\n",
    ),
    "open error": (
        "## [0] assistant\n\n- Bash: ./tools/NAME-load --all\n  ! error: cannot open the bucket of NAME\n",
        "## [0] assistant\n\n- Bash: go test ./pkg/NAME\n  ! FAIL: TestNAME (0.01s)\n",
        "## [0] assistant\n\n- Bash: terraform apply\n  ! Error: the role NAME may not assume itself\n",
        "## [0] assistant\n\n- mcp__db__query: select * from NAME\n  ! permission denied for table NAME\n",
    ),
    "file": (
        "## [0] assistant\n\n- Edit: /srv/project/src/NAME.py (lines 3-9)\n",
        "## [0] assistant\n\n- Write: /srv/project/docs/NAME.md\n",
        "## [0] assistant\n\n- MultiEdit: /srv/project/NAME/index.ts (2 edits)\n",
        "## [0] assistant\n\n- Edit: src/NAME.go (lines 30-31)\n",
    ),
}
# Characters around the facts: the notice, the fields of the session.
_AROUND = 1_000


def measure(report: Report, *, quick: bool) -> None:  # noqa: ARG001  # it takes seconds
    """Index the samples, plant and hand over; then take the samples' own compactions."""
    if not SAMPLES.is_dir():
        report.skip("handover", f"no {relative(SAMPLES)}")
        return
    home = DATA / "home-handover"
    for source in _SOURCES:
        if (SAMPLES / source).is_dir():
            run([*program(), "index", "--source", source, "--from", str(SAMPLES / source), "--json"], environment(home))
    documents = [path.read_text("utf-8") for path in sorted((home / "brain").glob("*.md"))]
    _handoffs(report, [each for each in documents if len(_HEADING.findall(each)) >= _FEWEST_TURNS])
    _compactions(report, documents)


def _handoffs(report: Report, documents: list[str]) -> None:
    kept: Counter[str] = Counter()
    tail: Counter[str] = Counter()
    sizes = whole = count = 0
    room = TOKENS * CHARACTERS_PER_TOKEN - _AROUND
    for number, document in enumerate(documents):
        for place in _PLACES:
            names = {kind: f"kestrel{number}x{at}" for at, kind in enumerate(_PLANTED)}
            text = planted(document, place, names, count)
            kinds = choose(Session(text).facts(), "", {}, room)
            given = "\n".join(line for _, lines in kinds for line in lines)
            kept.update(kind for kind, name in names.items() if name in given)
            tail.update(kind for kind, name in names.items() if name in text[-TOKENS * CHARACTERS_PER_TOKEN :])
            sizes += tokens(len(given) + _AROUND)
            whole += tokens(len(text))
            count += 1
    for kind in _PLANTED:
        said = f"{tail[kind] / count:.0%} in the transcript's last {TOKENS:,} tokens"
        report.add(Row(f"handoff: {kind} survives", f"{kept[kind] / count:.0%}", said, kept[kind] / max(1, tail[kind])))
    total = sum(kept.values()) / count / len(_PLANTED)
    said = f"100% in whole transcripts of {whole / count:,.0f} tokens"
    name = f"handoff: {count * len(_PLANTED)} planted facts survive in {sizes / count:,.0f} tokens"
    report.add(Row(name, f"{total:.0%}", said, sizes / whole, "≥ 80 %", total >= 0.8))


def planted(document: str, place: float, names: dict[str, str], number: int) -> str:
    """Return a session's document with turns that state the facts, after ``place`` (0 to 1) of its turns.

    ``number`` chooses the wording.
    """
    starts = [found.start() for found in _HEADING.finditer(document)]
    at = starts[max(1, int(len(starts) * place))]
    turns = "\n".join(
        _PLANTED[kind][number % len(_PLANTED[kind])].replace("NAME", name) for kind, name in names.items()
    )
    numbers = iter(range(1, len(starts) + len(_PLANTED) + 1))
    return _HEADING.sub(lambda _: f"## [{next(numbers)}] ", f"{document[:at]}{turns}\n{document[at:]}")


def _compactions(report: Report, documents: list[str]) -> None:
    had: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    back: Counter[str] = Counter()
    count = 0
    for before, summary in _compacted(documents):
        facts = [fact for fact in before.facts() if fact.kind in compaction.WORTH]
        missing = compaction.lost(facts, summary)
        _, given = compaction.given_back(missing, int(BUDGET * 0.8) - 350)
        had.update(fact.kind for fact in facts)
        kept.update(fact.kind for fact in facts if fact not in missing)
        back.update(fact.kind for fact in given)
        count += bool(facts)
    for kind, words in compaction.WORTH.items():
        if had[kind]:
            name = f"compaction: {words.lower()}, {had[kind]} before {count} compactions: the summary keeps"
            lost = had[kind] - kept[kind]
            said = f"the hook hands back {back[kind]} of {lost} others"
            report.add(Row(name, f"{kept[kind] / had[kind]:.0%}", said, (kept[kind] + back[kind]) / had[kind]))


def _compacted(documents: list[str]) -> Iterator[tuple[Session, str]]:
    for document in documents:
        for number, _, summary in Session(document).turns("compaction"):
            yield Session(document, until=number), summary
