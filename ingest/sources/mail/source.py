"""Mail that a person exported: ``*.mbox``, Apple Mail's ``*.mbox/mbox``, ``*.eml``; read when it is named.

Format: ``ingest.sources.mail.parser``.
"""

from __future__ import annotations

from ingest.roots import RESUME
from ingest.sources.entries import Paged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.pipeline.reading import Reading
    from ingest.raw.store import RawStore
    from ingest.sources.entries import Entry


class Mail(Paged):
    """Conversations by mail."""

    name = "mail"
    patterns = ("*.mbox", "*.mbx", "*.eml", "mbox")
    prefix = "mail__"
    suffixes = (".mbox", ".mbx", ".eml")
    resume = RESUME["mail"]

    def wants(self, name: str) -> bool:
        return name.lower().endswith(self.suffixes) or name == "mbox"

    def title(self, unit: str, entries: list[Entry]) -> str:
        from ingest.sources.mail.parser import plain_subject

        del unit
        return next(filter(None, (plain_subject(each.title) for each in entries)), "Mail without a subject")

    def parse(self, path: str, raw: RawStore) -> Iterator[Reading]:
        from ingest.sources.entries import read
        from ingest.sources.mail.parser import FOREIGN, messages

        yield read(path, raw, messages, FOREIGN)


SOURCE = Mail()
