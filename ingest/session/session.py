"""The neutral session: one file's copy of a session, in the form that all tools have in common.

A parser fills a ``ingest.session.builder.SessionBuilder``; ``ingest.session.document`` makes a document of all copies.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from ingest.session.events import MAX_DOCUMENT, Event, Window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.session.turns import Turn

NO_CONVERSATION = "no conversation"
COMMANDS_ONLY = "only local commands"


class Part:
    """One file's copy of a unit of recall: of a session, or of a day in a history of commands.

    ``uuids`` identifies the part's records: two copies of a unit are compared by them. ``repeated`` counts records that
    the file holds twice, ``hidden`` those that are not in ``uuids``. The other attributes are empty for units that have
    no folder, no parent and no version of a tool.
    """

    __slots__ = ("digest", "repeated", "unit")

    cwd = sign = parent = version = ""
    partial = False
    hidden = 0
    links: Mapping[str, str] = {}

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.digest = ""
        self.repeated = 0

    @property
    def uuids(self) -> set[Any]:
        """The identities of all records that were ever in the file."""
        raise NotImplementedError

    @property
    def distinct(self) -> int:
        """The number of distinct records."""
        return len(self.uuids)

    def copies(self) -> Sequence[Part]:
        """Return the part, and the versions that the file held before it was rewritten, if these count as copies."""
        return (self,)

    def with_older(self, older: Part) -> Part:
        """Return the part to keep, given the part that an ``older`` version of the file holds."""
        return older if len(older.uuids) > len(self.uuids) else self


class Session(Part):
    """One file's copy of a session.

    ``removed``: records that were taken back; ``retracted``: records of answers that others replaced, which stay if
    they ran a tool; ``ran``: calls that have a result. ``first`` and ``last`` bound the conversation, in the form of
    ``ingest.session.values.instant``. ``title`` was given by a person or by the tool, ``machine_title`` by a model,
    ``summaries`` are (record that one describes, text); ``task`` is what a subagent was asked to do. ``links`` maps
    each subagent to its type and task, tab-separated. ``extra`` holds frontmatter of this source alone, in order.

    ``rank`` orders the places of one tool by how much they know of a session. ``partial``: the transcript is missing,
    only a person's prompts are known. ``sign`` identifies the folder ``cwd`` if that is unknown
    (``ingest.session.project_ids``).
    """

    __slots__ = (
        "_window",
        "age",
        "agent_id",
        "agent_type",
        "branch",
        "cwd",
        "extra",
        "first",
        "forked_from",
        "last",
        "links",
        "machine_title",
        "models",
        "parent",
        "partial",
        "pull_requests",
        "ran",
        "rank",
        "records",
        "removed",
        "retracted",
        "sign",
        "slug",
        "source",
        "summaries",
        "task",
        "title",
        "tokens",
        "uuids",
        "version",
    )

    # True if the tool only appends to its files: the longest copy decides what a record says; else the newest copy.
    is_append_only = False

    def __init__(self, unit: str, source: str) -> None:
        super().__init__(unit)
        self.source = source
        self.uuids: set[str] = set()
        self.removed: set[str] = set()
        self.retracted: set[str] = set()
        self.ran: set[str] = set()
        self.records = self.rank = self.age = 0
        self.first = self.last = ""
        self.title = self.machine_title = ""
        self.summaries: list[tuple[str, str]] = []
        self.cwd = self.sign = self.branch = self.slug = self.version = ""
        self.forked_from = self.parent = self.agent_id = self.agent_type = self.task = ""
        self.links: dict[str, str] = {}
        self.models: set[str] = set()
        self.tokens: dict[str, int] = {}
        self.pull_requests: set[str] = set()
        self.extra: dict[str, object] = {}
        self.partial = False
        self._window = Window(MAX_DOCUMENT)

    @property
    def events(self) -> list[Event]:
        """The events that the session's document may show, in order; a ``Gap`` where it is too long."""
        return self._window.events()

    def copies(self) -> Sequence[Session]:
        """Return the session, and the earlier versions of a rewritten file, if these count as copies."""
        return (self,)

    def showing(self, events: list[Event]) -> Session:
        """Return a copy that shows only these events."""
        other = copy.copy(self)
        other.extra = dict(self.extra)
        other._window = Window(MAX_DOCUMENT)
        for event in events:
            other._window.add(event)
        return other

    def refusal(self, turns: list[Turn]) -> str:
        """Return the reason why turns make no document, "" if they make one."""
        if not turns:
            return NO_CONVERSATION
        is_shell = any(text.startswith("- !") for turn in turns for _, text in turn.blocks())
        return COMMANDS_ONLY if not is_shell and all(turn.role == "command" for turn in turns) else ""
