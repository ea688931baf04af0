"""``brain explain``: what is installed, indexed, fresh and broken; or why one hit ranks where it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.context import Context, shown, write_lines
from cli.render import table
from cli.spec import Args, Command, Option
from core.counting import counted
from core.errors import BadInput
from core.text import one_line
from runtime.explaining.corpus import line as distilled

if TYPE_CHECKING:
    from collections.abc import Iterable

COMMAND = Command(
    "explain",
    "show what is installed, indexed and broken, or why a hit ranks where it does",
    description="Reports the brain's state as it is, problems included, and exits 0; with --hit, one hit's ranking.",
    words="QUERY",
    prose=True,
    words_help="with --hit: the question the hit answers, or should",
    options=(Option("--hit", metavar="URI", help="why this document ranks where it does, or does not appear"),),
    examples=(
        "brain explain",
        "brain explain --json",
        'brain explain --hit qmd://brain/5f0c93ab.md "why did the permission hook fail"',
    ),
)

_UNKNOWN = "unknown"
_NONE = "not installed"
_FIGURES = {
    "seen": "seen",
    "ingested": "ingested",
    "unchanged": "unchanged",
    "vanished": "vanished",
    "failed_files": "unreadable",
    "documents": "documents",
}
_UNKNOWN_KINDS = 5
_FAILURES = 3
_DETAIL = 100


def run(args: Args, context: Context) -> int:
    """Print the report, or one hit's; 0 whatever the report says."""
    if args.hit is not None:
        return _hit(args, context)
    if args.words:
        raise BadInput("a question goes with --hit URI", f'brain explain --hit URI "{one_line(args.words[0], 40)}"')
    from runtime.explaining.explain import report

    found = report(context.home, context.surface, context.environ)
    context.fields["n_problems"] = len(found["problems"])
    if args.json:
        context.emit(found)
    else:
        write_lines(_lines(shown(found)))
    return 0


def _hit(args: Args, context: Context) -> int:
    query = " ".join(args.words)
    if not query.strip():
        raise BadInput("--hit needs the question", f'brain explain --hit {args.hit} "the question"')
    from core.config import load
    from runtime.explaining.hit import explain

    context.fields["query_len"] = len(query)
    found = explain(context.home, load(context.home), args.hit, query)
    if args.json:
        context.emit(found)
    else:
        from cli.ask.explain_hit import lines

        write_lines(lines(shown(found)))
    return 0


def _lines(found: dict[str, Any]) -> Iterable[str]:
    """Return the report for people, a section a part."""
    yield f"brain {found['version']['product']}"
    yield from _pairs(
        ("python", _known(found["interpreter"], lambda part: f"{part['version']}  {part['path']}")),
        ("home", _known(found["home"], _home)),
        ("inbox today", _known(found["inbox"], lambda part: part["today"])),
        ("surface", found["surface"]),
        ("engine", _known(found["engine"], _engine)),
        ("libraries", _known(found["engine"], _libraries)),
        ("configuration", _configuration(found["config"])),
        ("index", _known(found["index"], lambda part: _index(part, found["disk"]))),
        ("semantic", _known(found["semantic"], _semantic)),
        ("expansion", _known(found["expansion"], _expansion)),
        ("reranking", _known(found["reranking"], _reranking)),
        ("distillation", _known(found["distillation"], distilled)),
    )
    yield from _section("Collections", _collections(found["collections"]))
    yield from _section("Sources", _sources(found))
    yield from _section("Archive", [_known(found["archive"], _archive), _known(found["expiry"], _expiry)])
    yield from _section("Telemetry", _telemetry(found["telemetry"]))
    yield from _section("Schedule", _list(found["schedule"], "jobs", _job))
    yield from _section("Hooks", _list(found["hooks"], "hooks", lambda hook: f"{hook['event']}: {hook['command']}"))
    yield from _section("Skills", _skills(found["skills"]))
    yield from _section("Doctor", _list(found["doctor"], "last", str))
    yield from _section("Disk", [_known(found["disk"], _disk)])
    yield from _section(f"Problems: {len(found['problems']) or 'none'}", _problems(found["problems"]))


def _section(title: str, lines: Iterable[str]) -> Iterable[str]:
    yield ""
    yield title
    yield from (f"  {line}" for line in lines)


def _pairs(*rows: tuple[str, str]) -> Iterable[str]:
    return (f"  {name:<14} {value}" for name, value in rows)


def _known(part: dict[str, Any], show: Any) -> str:
    """Return a part as ``show`` formats it, or its failure."""
    return f"error: {part['error']}" if "error" in part else str(show(part))


def _archive(part: dict[str, Any]) -> str:
    kept = f"{part['objects']} objects, {part['bytes'] / 1e6:.1f} MB of at most {part['max_bytes'] / 1e9:g} GB"
    lost = f"; {part['lost']} lost, as you know" if part["lost"] else ""
    strays = f"; {part['unnamed']} that no catalogue names" if part["unnamed"] else ""
    return f"{'' if part['enabled'] else 'off; '}{kept}{lost}{strays}"


def _expiry(part: dict[str, Any]) -> str:
    return (
        f"Claude Code keeps transcripts for {part['period_days']} days; within {part['within_days']} days"
        f" {part['expiring']} go, {part['unarchived']} of them not archived"
    )


def _home(part: dict[str, Any]) -> str:
    return f"{part['path']}  ({part['origin']}, {'mode ' + part['mode'] if part['exists'] else 'not there yet'})"


def _engine(part: dict[str, Any]) -> str:
    if part["setting"] == "builtin":
        return "builtin"
    return f"{part['setting']}, " + (f"found at {part['resolved']}" if part["resolved"] else "which does not resolve")


def _libraries(part: dict[str, Any]) -> str:
    vec = part["sqlite_vec"]
    version = vec.get("version") or (f"error: {vec['error']}" if "error" in vec else _NONE)
    return f"SQLite {part['sqlite']}, apsw {part['apsw']}, FTS5 {'yes' if part['fts5'] else 'no'}, sqlite-vec {version}"


def _configuration(part: dict[str, Any]) -> str:
    where = f"{part['path']}  ({part['origin']})" if "path" in part else ""
    return where if part["valid"] else f"{where}  error: {part['error']}".strip()


def _index(part: dict[str, Any], disk: dict[str, Any]) -> str:
    if not part["exists"]:
        return f"{part['path']}  (not there yet)"
    size = "" if "error" in disk else f", {_bytes(disk['index'])}"
    run = f"last run {part['as_of']}" if part["as_of"] else "no run has ended yet"
    return f"{part['path']}  ({_many(part['documents'], 'document')}{size}, {run})"


def _semantic(part: dict[str, Any]) -> str:
    if part["installed"] is None or part["provider"] is None:
        return "not known"
    name = f"{part['provider']}/{part['model']}"
    if part["why"]:
        return f"{name.rstrip('/')} cannot embed: {part['why']}"
    if part["as_of"] is None:
        return f"{name}: no vectors yet, {counted(part['pending'], 'document')} pending (brain embed)"
    rows = [f"{name}: {'fresh' if part['fresh'] else str(part['pending']) + ' pending'} as of {part['as_of']}"]
    rows += [f"{space['name']}: {space['vectors']} vectors" for space in part["spaces"] if not space["active"]]
    rows += [
        f"{space['name']}: {counted(space['renewing'], 'document')} to be made again (brain embed)"
        for space in part["spaces"]
        if space["renewing"]
    ]
    return "; ".join(rows)


def _expansion(part: dict[str, Any]) -> str:
    if part["generator"] is None:
        return f"{part['why']}: questions are asked as they stand"
    if part["why"]:
        return f"{part['generator']} cannot be asked: {part['why']}"
    return f"{part['generator']}, of `brain qmd --brain query` only, in {part['timeout_s']:g} s at most"


def _reranking(part: dict[str, Any]) -> str:
    if part["reranker"] is None:
        return f"{part['why']}: the order is that of words and meaning"
    where = "every answer" if part["ask"] else "only with --rerank, and `brain qmd --brain query`"
    return f"{part['reranker']}, in {part['timeout_s']:g} s at most: {where}"


def _collections(part: Any) -> Iterable[str]:
    if isinstance(part, dict):
        return [f"error: {part['error']}"]
    rows = [("name", "files", "documents", "pending", "indexed as of", "size", "path")]
    for entry in part:
        if "error" in entry:
            rows.append((entry["name"], "", "", "", f"error: {entry['error']}", "", entry["path"]))
            continue
        path = entry["path"] if entry["exists"] else f"{entry['path']}  (not there)"
        counts = (_count(entry[key]) for key in ("files", "documents", "pending"))
        rows.append((entry["name"], *counts, entry["lexical"]["as_of"] or "never", _bytes(entry["bytes"]), path))
    return table(rows, right=(1, 2, 3, 5))


def _sources(found: dict[str, Any]) -> Iterable[str]:
    transcripts = found["transcripts"]
    if "error" in transcripts:
        yield f"transcripts: error: {transcripts['error']}"
    else:
        yield from _waiting(transcripts)
    ledger = found["ledger"]
    if "error" in ledger:
        yield f"ledger: error: {ledger['error']}"
        return
    if not ledger:
        yield "no transcripts have been read yet"
    for name, entry in ledger.items():
        yield from _ledger(name, entry)


def _waiting(transcripts: dict[str, Any]) -> Iterable[str]:
    run = f"last index run {transcripts['as_of']}" if transcripts["as_of"] else "no index run has ended yet"
    count = transcripts["waiting"]
    each = ", ".join(f"{waiting:,} of {name}" for name, waiting in transcripts["sources"].items() if waiting)
    yield (f"{_many(count, 'transcript')} waiting ({each})" if count else "no transcripts waiting") + f", {run}"


def _ledger(name: str, counted: dict[str, Any]) -> Iterable[str]:
    """Return the last run over one source: its counts that are not 0, then what it skipped, failed on or did not know.

    The file may be of another version: what does not have the shape of a ledger is passed over.
    """
    figures = [f"{counted[key]:,} {words}" for key, words in _FIGURES.items() if _whole(counted.get(key))]
    if _whole(counted.get("bytes")):
        figures.append(f"{_bytes(counted['bytes'])} read")
    yield f"{name}: {', '.join(figures) or 'no counts'}"
    for title, key in (("skipped", "skipped"), ("failed", "failed_reasons"), ("recovered", "recovered")):
        reasons = _reasons(counted.get(key))
        if reasons:
            yield f"  {title}: " + ", ".join(f"{count:,} × {one_line(reason)}" for reason, count in reasons)
    unknown = counted.get("unknown")
    kinds = [entry for entry in unknown.items() if isinstance(entry[1], dict)] if isinstance(unknown, dict) else []
    for what, entry in kinds[:_UNKNOWN_KINDS]:
        first = one_line(str(entry.get("example", "?")))
        look = f", {one_line(str(entry['shape']))}" if entry.get("shape") else ""
        yield f"  unknown: {one_line(what)}, {entry.get('count', '?')} ×, first at {first}{look}"
    yield from _rest(len(kinds) - _UNKNOWN_KINDS, "kind")
    listed = counted.get("failed")
    failures = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    for failure in failures[:_FAILURES]:
        yield f"  failed: {_failure(failure)}"
    # The ledger itself lists only the first of them.
    all_of_them = sum(count for _, count in _reasons(counted.get("failed_reasons")))
    yield from _rest(max(all_of_them, len(failures)) - min(_FAILURES, len(failures)), "failure")


def _failure(entry: dict[str, Any]) -> str:
    where = str(entry.get("path", "?")) + (f":{entry['line']}" if entry.get("line") else "")
    detail = one_line(str(entry.get("detail") or ""), _DETAIL)
    return f"{one_line(where)}: {one_line(str(entry.get('reason', '?')))}" + (f" ({detail})" if detail else "")


def _rest(count: int, noun: str) -> Iterable[str]:
    if count > 0:
        yield f"  and {_many(count, f'more {noun}')}: brain explain --json"


def _reasons(value: Any) -> list[tuple[str, int]]:
    """Reasons with their counts, the most frequent first."""
    found = (
        [(str(reason), count) for reason, count in value.items() if _whole(count)] if isinstance(value, dict) else []
    )
    return sorted(found, key=lambda entry: -entry[1])


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _telemetry(part: dict[str, Any]) -> Iterable[str]:
    if "error" in part:
        yield f"error: {part['error']}"
        return
    state = f"mode {part['mode']}, {_bytes(part['bytes'])}" if part["exists"] else "not there yet"
    yield f"{part['path']}  ({state})"
    for row in part["last"]:
        shown = ("surface", "latency_ms", "n_hits", "exit_code")
        fields = "  ".join(f"{key}={row[key]}" for key in shown if key in row)
        yield f"{row.get('ts', '?')}  {row.get('event', '?')!s:<10} {fields}"


def _list(part: dict[str, Any], key: str, show: Any) -> Iterable[str]:
    if "error" in part:
        return [f"error: {part['error']}"]
    return [str(show(entry)) for entry in part[key]] if part["installed"] else [_NONE]


def _job(job: dict[str, Any]) -> str:
    if "error" in job:
        return f"{job['name']}  ({job['scheduler']}, error: {job['error']})"
    loaded = {True: "loaded", False: "not loaded", None: "loaded: " + _UNKNOWN}[job["loaded"]]
    last_exit = "no exit known" if job["last_exit"] is None else f"last exit {job['last_exit']}"
    return f"{job['name']}  ({job['scheduler']}, {loaded}, {last_exit})"


def _skills(part: dict[str, Any]) -> Iterable[str]:
    """Return one line for each skill and scope, with the agents that have it."""
    if "error" in part or not part["installed"]:
        return _list(part, "skills", str)
    agents: dict[tuple[str, str], list[str]] = {}
    for skill in part["skills"]:
        scope = f"error: {skill['error']}" if "error" in skill else _scope(skill["scopes"])
        agents.setdefault((skill["name"], scope), []).append("other agents" if skill["agents"] else "Claude Code")
    return [f"{name}  {scope}  ({', '.join(having)})" for (name, scope), having in agents.items()]


def _scope(globs: list[str]) -> str:
    return f"for paths that match {' or '.join(globs)}" if globs else "everywhere"


def _disk(part: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_bytes(part[name])}" for name in ("corpus", "index", "state", "logs"))


def _problems(problems: list[dict[str, str]]) -> Iterable[str]:
    for problem in problems:
        yield f"{problem['severity']}: {problem['part']}: {one_line(problem['message'])}"
        if problem["fix"]:
            yield f"  fix: {problem['fix']}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _count(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{value:,}"


def _bytes(value: int | None) -> str:
    if value is None:
        return _UNKNOWN
    size, unit = float(value), "B"
    for larger in ("KB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{value} B" if unit == "B" else f"{size:.1f} {unit}"
