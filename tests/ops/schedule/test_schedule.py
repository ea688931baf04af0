"""One table of jobs, three schedulers: what they are given, what they say, and that it runs."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import clock
from core.errors import BadInput, EngineMissing, Internal
from core.files import FileLock
from core.home import Home
from ops.install import installed
from ops.schedule import files as schedule_files
from ops.schedule import jobs as schedule_jobs
from ops.schedule import run as schedule_run
from ops.schedule import schedule
from ops.schedule.files import Setting
from ops.schedule.jobs import Job, Step, every_job

ROOT = Path(__file__).resolve().parents[3]
WHERE = Setting(("/opt/my brain/bin/brain",), {"BRAIN_HOME": "/x y/100%", "BRAIN_SURFACE": "launchd"}, tag="ab12")
_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)

JOBS = every_job()


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder before the system's in PATH, for schedulers' tools that note how they were called."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    none = '[ "$1" = -l ] && [ ! -e $F ] && { echo "no crontab for me" >&2; exit 1; }'
    tool(folder, "crontab", f'F={tmp_path}/crontab; {none}; [ "$1" = -l ] && exec cat $F; cat > $F')
    tool(folder, "systemctl", f'echo "$*" >> {tmp_path}/calls')
    tool(folder, "launchctl", f'echo "$*" >> {tmp_path}/calls')
    return folder


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the environment of the tests."""
    place = tmp_path / "checkout"
    place.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in ("brain.py", ".venv", ".git"):
            (place / entry.name).symlink_to(entry)
    shutil.copy(ROOT / "brain.py", place)
    environment = place / ".venv"
    (environment / "bin").mkdir(parents=True)
    shutil.copy(Path(sys.prefix, "pyvenv.cfg"), environment)
    (environment / "lib").symlink_to(Path(sys.prefix, "lib"))
    (environment / "bin" / "python").symlink_to(sys.executable)
    tool(environment / "bin", "brain", f'exec {environment}/bin/python {place}/brain.py "$@"')
    return place


def test_the_examples_in_the_repository_are_what_is_made() -> None:
    made = schedule_files.examples()
    there = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in (ROOT / "launchd").rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert there == made, "python -m ops.schedule.files"


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_a_property_list_holds_what_the_table_says(job: Job) -> None:
    content = plistlib.loads(schedule_files.plist(job, WHERE).encode())
    assert content["Label"] == f"com.brain.ab12.{job.name}"
    assert content["ProgramArguments"] == schedule_files.command_line(job, WHERE)
    assert content["EnvironmentVariables"] == WHERE.environment
    assert [each["Minute"] for each in content["StartCalendarInterval"]] == list(job.minutes)
    assert {each.get("Hour") for each in content["StartCalendarInterval"]} == {job.hour}
    assert (content["ProcessType"], content["RunAtLoad"]) == ("Background", True)


@given(_TEXT, _TEXT)
def test_a_property_list_keeps_any_path(command: str, home: str) -> None:
    where = Setting((command,), {"BRAIN_HOME": home})
    content = plistlib.loads(schedule_files.plist(JOBS[1], where).encode())
    assert content["ProgramArguments"][0] == command
    assert content["EnvironmentVariables"]["BRAIN_HOME"] == home


@given(_TEXT, _TEXT)
def test_a_line_of_a_crontab_is_the_same_words_to_a_shell(command: str, home: str) -> None:
    import shlex

    where = Setting((command,), {"BRAIN_HOME": home})
    line = schedule_files.crontab([JOBS[1]], where).splitlines()[1]
    said = line.split(" ", 5)[5].replace("\\%", "%")  # cron takes the backslash off before the shell sees it
    words = shlex.split(said)
    assert words[1] == f"BRAIN_HOME={home}"
    assert words[5:] == [command, "schedule", "run", "background", "--scheduled", ">/dev/null", "2>&1"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_finds_nothing_wrong_with_its_units(tmp_path: Path) -> None:
    where = Setting((sys.executable,), {"BRAIN_HOME": "/x y/100%$HOME\\"})
    for name, content in schedule_files.files("systemd", JOBS, where).items():
        (tmp_path / name).write_text(content)
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "SYSTEMD_LOG_LEVEL": "info"}
    command = ["systemd-analyze", "--user", "verify", *map(str, tmp_path.glob("brain-*"))]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False, timeout=60)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "brain-" in line]) == (0, [])


@given(st.sampled_from(JOBS), st.integers(1_600_000_000, 2_000_000_000))
def test_a_run_is_due_from_its_hour_on_until_it_has_run(job: Job, now: int) -> None:
    before, after = schedule_jobs.previous(job, now), schedule_jobs.upcoming(job, now)
    assert before <= now < after
    for instant in (before, after):
        local = time.localtime(instant)
        assert (local.tm_min in job.minutes, local.tm_hour if job.hour is not None else None) == (True, job.hour)
    assert schedule_jobs.due(job, None, now)
    assert schedule_jobs.due(job, before - 1, now)
    assert not schedule_jobs.due(job, before, now)
    assert schedule_jobs.due(job, now + 10, now), "the clock was set back"


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"])
def test_summer_time_skips_no_day_and_doubles_none(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        chrome = schedule_jobs.job("chrome")
        now = float(clock.parse_iso("2026-01-01T00:00:00Z") or 0)
        days = []
        for _ in range(365):
            now = schedule_jobs.upcoming(chrome, now)
            days.append(time.strftime("%Y-%m-%d %H:%M", time.localtime(now)))
        assert len({day[:10] for day in days}) == 365
        assert {day[11:] for day in days} == {"12:37"}
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def test_an_unusual_home_has_jobs_of_its_own(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    where = schedule_files.setting(home, {"CLAUDE_CONFIG_DIR": "/c", "OPENAI_API_KEY": "secret"})
    assert len(where.tag) == 8
    assert where.environment == {"BRAIN_HOME": home.root, "CLAUDE_CONFIG_DIR": "/c", "BRAIN_SURFACE": "launchd"}
    usual = Home(os.path.expanduser("~/.brain"))
    assert schedule_files.label(JOBS[0], schedule_files.setting(usual, {})) == "com.brain.doctor"


def test_a_path_that_no_schedulers_file_can_hold_is_refused() -> None:
    with pytest.raises(BadInput) as failure:
        schedule_files.setting(Home("/x\n* * * * * evil"), {})
    assert failure.value.fix


def test_systemd_gets_the_units_and_loads_them(home: Home, tools: Path, tmp_path: Path) -> None:
    where = schedule_files.setting(home, {})
    schedule.install(home, "systemd", JOBS[:2], where)
    units = Path(os.environ["HOME"], ".config", "systemd", "user")
    names = {path.name for path in units.iterdir()}
    assert names == {
        f"brain-{where.tag}-{job}.{kind}" for job in ("doctor", "background") for kind in ("service", "timer")
    }
    calls = (tmp_path / "calls").read_text()
    assert f"--user enable --now brain-{where.tag}-doctor.timer brain-{where.tag}-background.timer" in calls
    assert set(installed.read(home)["schedules"]) == {str(units / name) for name in names}
    again = schedule.install(home, "systemd", JOBS[:2], where)
    assert {file["changed"] for file in again} == {False}
    schedule.install(home, "systemd", JOBS[:1], where)
    assert {path.name for path in units.iterdir()} == {
        f"brain-{where.tag}-doctor.{kind}" for kind in ("service", "timer")
    }
    other = units / "brain-doctor.timer"
    other.write_text("another home's")
    schedule.uninstall(home, where)
    assert list(units.iterdir()) == [other]
    assert installed.read(home)["schedules"] == {}


def test_launchd_gets_the_property_lists_and_loads_them(home: Home, tools: Path, tmp_path: Path) -> None:
    where = schedule_files.setting(home, {})
    schedule.install(home, "launchd", JOBS, where)
    agents = Path(os.environ["HOME"], "Library", "LaunchAgents")
    assert len(list(agents.iterdir())) == len(JOBS)
    path = agents / f"com.brain.{where.tag}.doctor.plist"
    assert f"bootstrap gui/{os.getuid()} {path}" in (tmp_path / "calls").read_text()
    schedule.uninstall(home, where)
    assert list(agents.iterdir()) == []
    assert (
        f"bootout gui/{os.getuid()}/com.brain.{where.tag}.doctor" in (tmp_path / "calls").read_text().splitlines()[-4:]
    )


def test_the_refusal_of_a_scheduler_is_reported(home: Home, tools: Path) -> None:
    tool(tools, "systemctl", "echo no bus >&2; exit 1")
    with pytest.raises(Internal, match="no bus"):
        schedule.install(home, "systemd", JOBS, schedule_files.setting(home, {}))


def test_a_crontab_keeps_every_other_line(home: Home, tools: Path, tmp_path: Path) -> None:
    crontab = tmp_path / "crontab"
    crontab.write_text("MAILTO=me\n0 1 * * * backup\n")
    where = schedule_files.setting(home, {})
    assert schedule.install(home, "cron", JOBS, where) == [{"path": "crontab", "changed": True}]
    assert schedule.install(home, "cron", JOBS, where) == [{"path": "crontab", "changed": False}]
    found = crontab.read_text()
    assert found.startswith("MAILTO=me\n0 1 * * * backup\n# brain")
    assert found.count("schedule run background") == 1
    jobs = {job["name"]: job for job in schedule.status(home, "cron", where)["jobs"]}
    assert all(job["installed"] and job["current"] and job["next_run"] for job in jobs.values())
    schedule.uninstall(home, where)
    assert crontab.read_text() == "MAILTO=me\n0 1 * * * backup\n"


@pytest.mark.parametrize("fails", ["echo cannot chdir >&2; exit 1", "exit 1", "echo no crontab for me >&2; exit 77"])
def test_a_crontab_that_cannot_be_read_is_not_written(home: Home, tools: Path, tmp_path: Path, fails: str) -> None:
    where = schedule_files.setting(home, {})
    schedule.install(home, "cron", JOBS, where)
    there = (tmp_path / "crontab").read_bytes()
    tool(tools, "crontab", f'[ "$1" = -l ] && {{ {fails}; }}; cat > {tmp_path}/crontab')
    with pytest.raises(Internal, match="cannot be read"):
        schedule.install(home, "cron", JOBS, where)
    with pytest.raises(Internal, match="cannot be read"):
        schedule.uninstall(home, where)
    assert (tmp_path / "crontab").read_bytes() == there


def test_a_user_without_a_crontab_gets_one_and_any_bytes_in_it_stay(home: Home, tools: Path, tmp_path: Path) -> None:
    where = schedule_files.setting(home, {})
    schedule.install(home, "cron", JOBS, where)
    crontab = tmp_path / "crontab"
    mine = b"# caf\xe9 \x0c page\n0 1 * * * backup\n"
    crontab.write_bytes(mine + crontab.read_bytes())
    schedule.uninstall(home, where)
    assert crontab.read_bytes() == mine


def test_without_any_scheduler_it_says_so(home: Home, tools: Path) -> None:
    (tools / "crontab").unlink()
    if shutil.which("crontab"):
        pytest.skip("cron is here")
    with pytest.raises(EngineMissing):
        schedule.install(home, "cron", JOBS, schedule_files.setting(home, {}))


def test_status_is_what_systemd_says(home: Home, tools: Path) -> None:
    where = schedule_files.setting(home, {})
    schedule.install(home, "systemd", JOBS, where)
    tool(
        tools,
        "systemctl",
        'case "$*" in *LastTrigger*) echo LastTriggerUSec=@1790000000;;'
        " *NextElapse*) echo NextElapseUSecRealtime=@1790003600;;"
        " *ActiveState*) echo ActiveState=inactive;; *ExecMainStatus*) echo ExecMainStatus=3;; esac",
    )
    doctor = schedule.status(home, "systemd", where)["jobs"][0]
    assert (doctor["loaded"], doctor["last_exit"]) == (False, 3)
    assert (doctor["last_run"], doctor["next_run"]) == (clock.iso(1790000000), clock.iso(1790003600))
    assert "not loaded" in doctor["problem"]
    Path(doctor["file"]).write_text("[Timer]\n")
    assert schedule.status(home, "systemd", where)["jobs"][0]["current"] is False


def _fake(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    tool(folder, "brain", script)
    monkeypatch.setattr("ops.install.program.command", lambda: [str(folder / "brain")])


JOB = Job("tried", "", (0,), (Step(("index",), 30), Step(("embed",), 30, cheap=False)))


def test_a_run_keeps_how_it_went(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, tmp_path, 'echo "did $1"; [ "$1" = index ]')
    report = schedule_run.scheduled(home, JOB, os.environ)
    assert (report["outcome"], report["exit_code"]) == ("failed", 1)
    assert [(step["exit_code"], step["said"]) for step in report["steps"]] == [(0, "did index"), (1, "did embed")]
    assert schedule_run.read(home)["tried"]["exit_code"] == 1
    log = Path(home.logs, "schedule.log")
    assert "did embed" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600
    assert schedule_run.scheduled(home, JOB, os.environ)["outcome"] == "not due"
    assert schedule_run.scheduled(home, JOB, {**os.environ, schedule_run.NOW: "1"})["outcome"] == "failed"


def test_on_the_battery_only_what_is_cheap_runs(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, tmp_path, "exit 0")
    monkeypatch.setattr(schedule_run, "on_battery", lambda: True)
    report = schedule_run.scheduled(home, JOB, os.environ)
    assert ([step["command"] for step in report["steps"]], report["deferred"]) == (["brain index"], ["brain embed"])
    dear = Job("dear", "", (0,), (Step(("embed",), 30, cheap=False),))
    assert schedule_run.scheduled(home, dear, os.environ)["outcome"] == "deferred"
    assert "dear" not in schedule_run.read(home), "it is still due when the power is back"


def test_a_job_does_not_run_twice_at_once(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, tmp_path, f"touch {tmp_path}/ran")
    with FileLock(os.path.join(home.state, "schedule-tried.lock"), 0):
        assert schedule_run.scheduled(home, JOB, os.environ)["outcome"] == "overlap"
    assert not (tmp_path / "ran").exists()


def test_anothers_lock_is_waited_for(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, tmp_path, f"[ -e {tmp_path}/free ] && exit 0; touch {tmp_path}/free; exit 70")
    job = Job("tried", "", (0,), (Step(("index",), 30),))
    assert schedule_run.scheduled(home, job, os.environ)["outcome"] == "done"


def test_a_home_that_has_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(EngineMissing):
        schedule_run.scheduled(Home(str(tmp_path / "gone")), JOB, {})
    assert not (tmp_path / "gone").exists()


def test_a_damaged_state_costs_one_run_and_no_more(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake(monkeypatch, tmp_path, "exit 0")
    Path(home.state, "schedule.json").write_text('{"tried": {"star')
    assert schedule_run.scheduled(home, JOB, os.environ)["outcome"] == "done"
    assert set(schedule_run.read(home)) == {"tried"}


_SLOW = {"doctor": pytest.mark.long}  # it tries the whole contract on a scratch home


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="the environment is not one that can be stood in for")
@pytest.mark.parametrize("job", [pytest.param(job, marks=_SLOW.get(job.name, ()), id=job.name) for job in JOBS])
def test_a_job_runs_by_its_exact_command_line_in_an_empty_environment(job: Job, home: Home, checkout: Path) -> None:
    brain = str(checkout / ".venv" / "bin" / "brain")
    where = Setting((brain,), {"BRAIN_HOME": home.root, "BRAIN_SURFACE": "launchd"}, str(checkout))
    content: dict[str, Any] = plistlib.loads(schedule_files.plist(job, where).encode())
    # launchd, systemd and cron all set HOME, and nothing else that counts.
    environ = {"HOME": os.environ["HOME"], **content["EnvironmentVariables"]}
    command = content["ProgramArguments"]
    done = subprocess.run(command, env=environ, cwd="/", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, schedule_jobs.FINDINGS), done.stdout + done.stderr
    rows = [json.loads(line) for line in Path(home.usage).read_text().splitlines()]
    assert {row["surface"] for row in rows} == {"launchd"}
    if job.script:
        assert "doctor_run" in {row["event"] for row in rows}
    else:
        run = schedule_run.read(home)[job.name]
        assert (run["outcome"], [step["fine"] for step in run["steps"]]) == ("done", [True] * len(run["steps"]))
        assert {step["command"].split()[1] for step in run["steps"]} <= {row["event"] for row in rows}
