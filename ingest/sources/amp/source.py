"""Amp: ``~/.local/share/amp/threads/T-<id>.json``, before it below an editor's ``sourcegraph.amp``.

Format: ``ingest.sources.amp.parser``.
"""

from __future__ import annotations

from ingest.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore


_IN_EDITORS = tuple(
    f"{editor}/User/globalStorage/sourcegraph.amp/threads3"
    for editor in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
)


class Amp(Source):
    """Threads of Amp."""

    name = "amp"
    prefix = "amp__"
    suffixes = (".json",)
    roots = (
        ("XDG_DATA_HOME", "~/.local/share", ("amp/threads",)),
        ("XDG_CONFIG_HOME", "~/.config", _IN_EDITORS),
        ("", "~/Library/Application Support", _IN_EDITORS),
    )

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.amp.parser import read

        yield read(path, raw)


SOURCE = Amp()
