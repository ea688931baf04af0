"""Whether anything waits that no index run has read: asked where a question finds nothing before the first of them.

An index that notes alone have made can hold all there is; then nothing found is an answer. Where transcripts or files
of a collection wait, it is none.
"""

from __future__ import annotations

import os

from runtime.asking.freshness import files, held

TYPE_CHECKING = False
if TYPE_CHECKING:
    import apsw

    from core.config import Config
    from core.home import Home


def anything(home: Home, config: Config, connection: apsw.Connection) -> bool:
    """Whether a source has files here, a collection more files than documents, or the index none at all."""
    known = held(connection)
    if not known or _has_sources(home):
        return True
    return any(
        files(folder.path, known.get(name, 0)) > known.get(name, 0) for name, folder in config.collections.items()
    )


def _has_sources(home: Home) -> bool:
    from ingest import registry

    claude = registry.source("claude")
    if any(name != claude.name for name in registry.present(home)):
        return True
    return any(
        entry.endswith(".jsonl")
        for root in claude.default_roots(home)
        for _, _, names in os.walk(root)
        for entry in names
    )
