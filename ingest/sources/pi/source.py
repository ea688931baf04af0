"""Pi: ``~/.pi/agent/sessions/--<project>--/<time>_<id>.jsonl``, a tree of entries.

Formats: ``ingest.sources.pi.reading``.
"""

from __future__ import annotations

import os
from os.path import abspath, expanduser, isfile, join

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore
    from ingest.source import Environ


class Pi(Source):
    """Transcripts of Pi."""

    name = "pi"
    prefix = "pi__"
    roots = (("PI_CODING_AGENT_DIR", "~/.pi/agent", ("sessions",)), ("PI_CODING_AGENT_SESSION_DIR", "", ()))

    def places(self, environ: Environ | None = None) -> list[str]:
        """Add the folder that Pi's own settings name for its sessions, ``sessionDir``, relative to the agent's.

        A folder that holds all of the home folder is left out.
        """
        env = os.environ if environ is None else environ
        found = super().places(env)
        agent = abspath(expanduser(env.get("PI_CODING_AGENT_DIR") or "~/.pi/agent"))
        path = join(agent, "settings.json")
        if not isfile(path):
            return found
        import json

        try:
            with open(path, "rb") as stream:
                named = json.loads(stream.read(1_000_000)).get("sessionDir")
        except (OSError, ValueError, AttributeError, RecursionError):
            return found
        if type(named) is not str or not named or "\0" in named:
            return found
        folder = abspath(join(agent, expanduser(named)))
        is_above_home = join(expanduser("~"), "").startswith(join(folder, ""))
        return found if is_above_home else [*found, folder]

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.pi.reading import read

        yield read(path, raw)


SOURCE = Pi()
