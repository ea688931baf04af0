"""The command that resumes a session: as one line for a shell, and as a process in the session's folder.

A session's id and folder come from its transcript, which anybody may have written. The id is one word to every shell
(``runtime.asking.envelope.resume``). The folder is used only if it is one of this machine and its path hides nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from core.errors import BadInput
from core.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Resume(NamedTuple):
    """A command and the folder to run it in, "" for wherever the user is."""

    command: str
    folder: str

    @property
    def line(self) -> str:
        """The command as somebody would type it."""
        return f"cd {shlex.quote(self.folder)} && {self.command}" if self.folder else self.command


def resume_of(item: Mapping[str, Any]) -> Resume | None:
    """Return the command that resumes an item, None if there is nothing to resume."""
    command, folder = item.get("resume"), item.get("project")
    if not command:
        return None
    is_usable = isinstance(folder, str) and _hides_nothing(folder) and os.path.isabs(folder) and os.path.isdir(folder)
    return Resume(str(command), str(folder) if is_usable else "")


def _hides_nothing(folder: str) -> bool:
    """Return True if a path can be pasted: a control character would be obeyed, whatever quotes are around it."""
    return folder.isprintable() and printable(folder) == folder


def missing_program(resume: Resume) -> str:
    """Return the program that a command needs and this machine lacks, "" if it is there."""
    program = shlex.split(resume.command)[0]
    return "" if shutil.which(program) else program


def run(resume: Resume) -> int:
    """Run the command on this terminal and wait for it; return its exit code. Raises BadInput if it cannot be run."""
    words = shlex.split(resume.command)
    # The keys that interrupt are meant for the program that was started. A handler, unlike SIG_IGN, is not inherited.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.run(words, cwd=resume.folder or None, check=False).returncode  # noqa: S603  # see above
    except FileNotFoundError:
        raise BadInput(f"{words[0]} is not installed on this machine", resume.line, quotes=True) from None
    except OSError as error:
        raise BadInput(f"cannot run {words[0]}: {error.strerror}", resume.line, quotes=True) from None
    finally:
        signal.signal(signal.SIGINT, before)


def become(resume: Resume) -> None:
    """Replace this process by the command, in its folder. Raises BadInput if it cannot be run."""
    words = shlex.split(resume.command)
    try:
        if resume.folder:
            os.chdir(resume.folder)
        os.execvp(words[0], words)  # noqa: S606  # no shell; the id is one word (see above)
    except OSError as error:
        raise BadInput(f"cannot run {words[0]}: {error.strerror}", resume.line, quotes=True) from None


def to_multiplexer(text: str, environ: Mapping[str, str]) -> None:
    """Give ``text`` to tmux, if this is one of its panes: as it is set up by default, it drops OSC 52 of programs."""
    program = shutil.which("tmux") if environ.get("TMUX") else None
    if program is None:
        return
    try:
        # -w: hand it on to the terminal that tmux is in (tmux(1), load-buffer).
        subprocess.run(  # noqa: S603
            [program, "load-buffer", "-w", "-"], input=text.encode(), check=False, timeout=2, capture_output=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # the line is on the screen, too
