"""``brain explain``: what is installed, indexed, fresh and broken; or why one hit ranks where it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core.errors import BadInput
from core.text import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMAND = Command(
    "explain",
    "what is installed, indexed, fresh and broken; or why a hit ranks where it does",
    description="Reports the brain's state as it is, problems included, and exits 0; with --hit, one hit's ranking.",
    words="QUERY",
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
_FIGURES = ("seen", "ingested", "unchanged", "vanished", "failed_files", "failed_records", "documents", "bytes")
_FAILURES = 3


def run(args: Args, context: Context) -> int:
    """Print the report, or one hit's; 0 whatever the report says."""
    if args.hit is not None:
        return _hit(args, context)
    if args.words:
        raise BadInput("a question goes with --hit URI", f'brain explain --hit URI "{one_line(args.words[0], 40)}"')
    from runtime.explain import report

    found = report(context.home, context.surface, context.environ)
    context.fields["n_problems"] = len(found["problems"])
    if args.json:
        context.emit(found)
    else:
        write("\n".join(printable(line).rstrip() for line in _lines(found)) + "\n")
    return 0


def _hit(args: Args, context: Context) -> int:
    query = " ".join(args.words)
    if not query.strip():
        raise BadInput("--hit needs the question", f'brain explain --hit {args.hit} "the question"')
    from core.config import load
    from runtime.explain_hit import explain

    context.fields["query_len"] = len(query)
    found = explain(context.home, load(context.home), args.hit, query)
    if args.json:
        context.emit(found)
    else:
        write("\n".join(printable(line).rstrip() for line in _tree(found)) + "\n")
    return 0


def _lines(found: dict[str, Any]) -> Iterable[str]:
    """The report for people, a section a part."""
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
        ("semantic", _known(found["semantic"], _installed)),
    )
    yield from _section("Collections", _collections(found["collections"]))
    yield from _section("Sources", _sources(found))
    yield from _section("Telemetry", _telemetry(found["telemetry"]))
    yield from _section("Schedule", _list(found["schedule"], "jobs", _job))
    yield from _section("Hooks", _list(found["hooks"], "hooks", lambda hook: f"{hook['event']}: {hook['command']}"))
    yield from _section("Skills", _list(found["skills"], "skills", _skill))
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
    """A part as ``show`` has it, or the failure that stands in its place."""
    return f"error: {part['error']}" if "error" in part else str(show(part))


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
    return f"{part['path']}  ({part['documents']:,} documents{size})"


def _installed(part: dict[str, Any]) -> str:
    if part["installed"] is None:
        return _UNKNOWN
    return ", ".join(part["tables"]) if part["installed"] else _NONE


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
    return _table(rows, right=(1, 2, 3, 5))


def _table(rows: Sequence[tuple[str, ...]], right: tuple[int, ...]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells)


def _sources(found: dict[str, Any]) -> Iterable[str]:
    transcripts = found["transcripts"]
    if "error" in transcripts:
        yield f"transcripts: error: {transcripts['error']}"
    elif transcripts["as_of"] is None:
        yield "no transcripts have been read yet"
    else:
        yield f"{transcripts['waiting']:,} transcripts waiting, last run {transcripts['as_of']}"
    ledger = found["ledger"]
    if "error" in ledger:
        yield f"ledger: error: {ledger['error']}"
        return
    for name, counted in ledger.items():
        yield from _ledger(name, counted)


def _ledger(name: str, counted: dict[str, Any]) -> Iterable[str]:
    """The last run over one source: its counts that are not 0, then what it skipped, failed on or did not know.

    The file may be of another version: what does not have the shape of a ledger is passed over.
    """
    figures = (f"{key.replace('_', ' ')} {counted[key]:,}" for key in _FIGURES if isinstance(counted.get(key), int))
    yield f"{name}: {', '.join(figures) or 'no counts'}"
    for title, key in (("skipped", "skipped"), ("failed", "failed_reasons"), ("recovered", "recovered")):
        reasons = counted.get(key)
        if isinstance(reasons, dict) and reasons:
            yield f"  {title}: " + ", ".join(f"{reason} {count}" for reason, count in reasons.items())
    unknown = counted.get("unknown")
    for what, entry in unknown.items() if isinstance(unknown, dict) else ():
        yield f"  unknown record: {what} {one_line(str(entry))}"
    failures = counted.get("failed")
    for failure in failures[:_FAILURES] if isinstance(failures, list) else ():
        yield f"  failed: {one_line(str(failure))}"


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


def _skill(skill: dict[str, Any]) -> str:
    if "error" in skill:
        return f"{skill['name']}  error: {skill['error']}"
    return f"{skill['name']}  {', '.join(skill['scopes']) or 'everywhere'}"


def _disk(part: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_bytes(part[name])}" for name in ("corpus", "index", "state", "logs"))


def _problems(problems: list[dict[str, str]]) -> Iterable[str]:
    for problem in problems:
        yield f"{problem['severity']}: {problem['part']}: {one_line(problem['message'])}"
        if problem["fix"]:
            yield f"  fix: {problem['fix']}"


def _tree(value: Any, indent: str = "") -> Iterable[str]:
    """Nested data for people: a line a scalar, one level deeper for what lies inside."""
    entries = value.items() if isinstance(value, dict) else enumerate(value, 1)
    for key, item in entries:
        if isinstance(item, dict | list):
            if item:
                yield f"{indent}{key}:"
                yield from _tree(item, indent + "  ")
        elif item not in (None, ""):
            yield f"{indent}{key}: {one_line(str(item))}"


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
