"""``brain schedule``: what runs by itself, and how it went."""

from __future__ import annotations

from cli.context import Context, write
from cli.spec import Args, Command, Option
from core.errors import OK, BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_SCHEDULER = Option(
    "--scheduler",
    metavar="NAME",
    help="launchd, systemd or cron, instead of the one that this machine has",
    choices=("launchd", "systemd", "cron"),
)

COMMAND = Command(
    "schedule",
    "let the machine index, embed and check",
    description=(
        "Five jobs: the doctor and sync every hour; new sessions into the index, vectors and distillates twice an\n"
        "hour; the browser's days once a day; the verdict on each week that is over. launchd, systemd's user manager\n"
        "or cron starts them. They run at low priority, never twice at once, and later if the machine slept. On the\n"
        "battery only cheap work is done."
    ),
    commands=(
        Command(
            "schedule install",
            "give the jobs to the scheduler, or bring them up to date",
            options=(
                Option(
                    "--job",
                    metavar="JOB",
                    many=True,
                    help="only this job: doctor, background, chrome, sync, acceptance",
                ),
                _SCHEDULER,
                Option("--print", help="write nothing; print the files"),
            ),
            examples=(
                "brain schedule install",
                "brain schedule install --print",
                "brain schedule install --job doctor --job background",
            ),
        ),
        Command(
            "schedule status",
            "what is loaded, when and how each job last ran, when it runs next",
            options=(_SCHEDULER,),
            examples=("brain schedule status --json",),
        ),
        Command("schedule uninstall", "take every job out again", examples=("brain schedule uninstall",)),
        Command(
            "schedule run",
            "run a job now, as the scheduler does",
            description=(
                "Run the job by the scheduler's own command line, in an environment as empty as a scheduler's. A job\n"
                "that works here works at night."
            ),
            words="JOB",
            words_help="doctor, background, chrome, sync or acceptance",
            options=(
                Option("--scheduled", help="be the scheduler's own call: end at once where no run is due"),
                Option("--print", help="run nothing; print the command line"),
            ),
            examples=("brain schedule run background", "brain schedule run doctor --print"),
        ),
    ),
)


def run(args: Args, context: Context) -> int:
    """Install, report, remove or run."""
    from ops.schedule import files as schedule_files
    from ops.schedule import schedule

    verb = args.command.verb
    if verb == "run":
        return _run(args, context)
    where = schedule_files.setting(context.home, context.environ)
    if verb == "install":
        return _install(args, context)
    if verb == "status":
        report = {"schema": 1, "ok": True, **schedule.status(context.home, args.scheduler or schedule.detect(), where)}
        _say(args, context, report, _status)
        return OK
    removed = schedule.uninstall(context.home, where)
    _say(args, context, {"schema": 1, "ok": True, "files": removed}, _removed)
    return OK


def _install(args: Args, context: Context) -> int:
    from ops.schedule import files as schedule_files
    from ops.schedule import schedule

    where = schedule_files.setting(context.home, context.environ)
    scheduler = args.scheduler or schedule.detect()
    jobs = schedule.chosen(args.job)
    report = {"schema": 1, "ok": True, "scheduler": scheduler, "jobs": [job.name for job in jobs]}
    if args.print:
        _say(args, context, {**report, "files": schedule.files(scheduler, jobs, where)}, _printed)
    else:
        _say(args, context, {**report, "files": schedule.install(context.home, scheduler, jobs, where)}, _installed)
    return OK


def _run(args: Args, context: Context) -> int:
    from ops.schedule import files as schedule_files
    from ops.schedule import jobs as schedule_jobs
    from ops.schedule import run as schedule_run

    if len(args.words) != 1:
        raise BadInput(
            "`brain schedule run` takes one job", f"one of: {', '.join(job.name for job in schedule_jobs.every_job())}"
        )
    job = schedule_jobs.job(args.words[0])
    context.fields["job"] = job.name
    if args.scheduled:
        report = schedule_run.scheduled(context.home, job, context.environ)
        context.fields["outcome"] = report["outcome"]
        _say(args, context, {"schema": 1, "ok": True, **report}, _ran)
        return int(report["exit_code"])
    where = schedule_files.setting(context.home, context.environ)
    if args.print:
        line = schedule_files.command_line(job, where)
        environment = dict(where.environment)
        _say(args, context, {"schema": 1, "ok": True, "command": line, "environment": environment}, _line)
        return OK
    report = {"schema": 1, "ok": True, **schedule_run.by_hand(job, where)}
    _say(args, context, report, lambda found: iter(found["output"].splitlines()))
    return int(report["exit_code"])


def _say(args: Args, context: Context, report: dict[str, Any], lines: Any) -> None:
    from core.text import printable

    if args.json:
        context.emit(report)
    else:
        write("".join(f"{printable(line)}\n" for line in lines(report)))


def _printed(report: dict[str, Any]) -> Iterator[str]:
    for file in report["files"]:
        yield f"# {file['path']}"
        yield from file["content"].replace("\t", "  ").splitlines()
        yield ""


def _installed(report: dict[str, Any]) -> Iterator[str]:
    for file in report["files"]:
        yield f"{file['path']}: {'written' if file['changed'] else 'nothing to change'}"
    yield f"{', '.join(report['jobs'])}: loaded by {report['scheduler']}"


def _removed(report: dict[str, Any]) -> Iterator[str]:
    for file in report["files"]:
        yield f"{file['path']}: removed"
    if not report["files"]:
        yield "no job was installed"


def _status(report: dict[str, Any]) -> Iterator[str]:
    yield f"scheduler: {report['scheduler']}"
    for job in report["jobs"]:
        loaded = {True: "loaded", False: "not loaded", None: "unknown"}[job["loaded"]]
        state = loaded if job["installed"] else "not installed"
        ended = "" if job["last_exit"] is None else f" (exit {job['last_exit']})"
        last = f"{job['last_run'] or 'never'}{ended}"
        yield f"{job['name']:<11} {state:<13} last {last}, next {job['next_run'] or 'never'}"
        if job["deferred"]:
            yield f"  waits for the power line: {', '.join(job['deferred'])}"
        if job["problem"]:
            yield f"  problem: {job['problem']}: brain schedule install"


def _ran(report: dict[str, Any]) -> Iterator[str]:
    for step in report["steps"]:
        yield f"{step['command']}: {step['exit_code']} in {step['took_s']} s  {step['said']}"
    if report["deferred"]:
        yield f"waits for the power line: {', '.join(report['deferred'])}"
    yield f"{report['job']}: {report['outcome']}"


def _line(report: dict[str, Any]) -> Iterator[str]:
    import shlex

    told = [f"{name}={shlex.quote(value)}" for name, value in sorted(report["environment"].items())]
    yield " ".join(["env", "-i", *told, shlex.join(report["command"])])
