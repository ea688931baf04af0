"""``brain handoff``: the state of a session as a prompt for another agent, in a bounded number of tokens."""

from __future__ import annotations

from os.path import isabs, isdir, join
from typing import TYPE_CHECKING, Any

import apsw

from core.config import EVIDENCE
from core.errors import BadInput, LockContention
from core.files import read_or_none
from core.redaction import shown
from ingest.roots import INSTRUCTIONS
from qmd.index import catalogue
from qmd.index.actions import history, table
from qmd.index.actions.action import REJECTION
from qmd.index.catalogue import Filters
from qmd.index.store import open_index, translate
from runtime.asking import agents
from runtime.asking.documents import NotFound, Row, resolve
from runtime.asking.envelope import docid, resume, uri
from runtime.capture.inbox import project_of
from runtime.capture.indexing import index
from runtime.handover.selection import choose
from runtime.handover.state import Fact, Session, fields
from runtime.injections.ledger import CHARACTERS_PER_TOKEN, tokens
from runtime.validity import CONTRADICTED, SUPERSEDED, file_changes, validity
from runtime.validity.validity import Claim

if TYPE_CHECKING:
    from core.config import Config
    from core.home import Home

TOKENS = 3_000
_LEAST_TOKENS = 300
_NEWEST = 50
# Seconds to wait for another index run.
_WAIT_S = 5.0
# Kinds of facts that say what holds, and later decisions that are compared with them.
_SAID = ("decision", "rejected", "asked", "said")
_LATER = 300
_TASK = (
    "Take over the work of another agent. Its state is below: what the user asked, what was decided and rejected, the"
    " files, commands and errors. Look at the files before you rely on it, then go on from where the work was left."
)


def current(home: Home, config: Config, session: str, cwd: str, limit: int = TOKENS) -> dict[str, Any]:
    """Return what ``handoff`` returns, after an index run: the session may have just said what matters.

    ``behind`` is True if another run is not done yet, so that the state is from before it. Raises as ``handoff``,
    EngineMissing, and what SQLite's failures are translated into.
    """
    is_behind = False
    try:
        index(home, config, trust_stat=True, wait_s=_WAIT_S)
    except LockContention:
        is_behind = True
    connection = open_index(home.index)
    try:
        return {**handoff(home, config, connection, session, cwd, limit), "behind": is_behind}
    except apsw.Error as error:
        raise translate(error, home.index) from error
    finally:
        connection.close()


def handoff(
    home: Home, config: Config, connection: apsw.Connection, session: str, cwd: str, limit: int = TOKENS
) -> dict[str, Any]:
    """Return the envelope of a handoff: the prompt, its size in tokens (estimated), the facts by kind.

    ``session`` names the session; without it, the newest one of the project around ``cwd``, else the newest of all.
    Raises NotFound if there is no session, BadInput if the document is none or the limit is too small.
    """
    if limit < _LEAST_TOKENS:
        raise BadInput(f"a handoff needs {_LEAST_TOKENS} tokens or more", f"brain handoff --tokens {TOKENS}")
    row = session_row(connection, config, session, cwd)
    data = read_or_none(row.file) if row.file else None
    if data is None:
        raise NotFound(f"the document of the session is gone: {uri(row.collection, row.path)}", "brain index", [])
    found = Session(data.decode("utf-8", "replace"))
    facts = found.facts()
    if not facts:
        raise BadInput(f"{uri(row.collection, row.path)} is no session", "brain recent lists sessions")
    place = uri(row.collection, row.path)
    states = _states(facts, found.project, row.ended)
    judged = _judged(connection, config, facts, found.project, row, place)
    states |= {text: said for text, found_ in judged.items() if (said := validity.words(found_[1]))}
    head = [f"{name}: {agents.line(value, 200)}" for name, value in fields(found.meta).items()]
    again = resume(row.fields, home)
    if again:
        head.append(f"to resume it: {agents.line(again, 200)}")
    head.append(f"citations: LINE of {agents.line(place, 200)}")
    room = limit * CHARACTERS_PER_TOKEN - len(_text(head, []))
    kinds = choose(facts, "", states, room)
    prompt = shown(_text(head, kinds))
    return {
        "schema": 1,
        "ok": True,
        "session": str(found.meta.get("session_id") or ""),
        "uri": place,
        "docid": docid(row.hash),
        "project": found.project or None,
        "tokens": tokens(len(prompt)),
        "limit": limit,
        "validity": [
            {"line": line, **each} for line, each in judged.values() if each["state"] in (SUPERSEDED, CONTRADICTED)
        ],
        "sections": [{"heading": heading, "facts": len(texts)} for heading, texts in kinds],
        "left_out": len(facts) - sum(len(texts) for _, texts in kinds),
        "text": prompt,
    }


def place_of(agent: str, project: str) -> str:
    """Return the file that ``agent`` reads in ``project``. Raises BadInput if none is known, or the folder is gone."""
    name = INSTRUCTIONS.get(agent)
    if name is None:
        raise BadInput(f"no file is known that {agent!r} reads", f"one of {', '.join(INSTRUCTIONS)}, or --out FILE")
    if not isabs(project) or not isdir(project):
        raise BadInput(f"the session's folder is not here: {project or 'unknown'}", "name the file: --out FILE")
    return join(project, name)


def session_row(connection: apsw.Connection, config: Config, session: str, cwd: str) -> Row:
    """Return the document of the session that is named, else of the newest one of the project around ``cwd`` or of all.

    Raises NotFound if there is none.
    """
    if session:
        return resolve(connection, config, session)
    names = config.trusting("session")
    project = project_of(cwd) or cwd
    for wanted in ((("project", "=", project),), ()) if project else ((),):
        rows = catalogue.newest(connection, Filters(names, fields=wanted), _NEWEST)
        for each in (Row(row, config) for row in rows):
            if each.field("session_id") and not each.field("parent"):
                return each
    raise NotFound("there is no session yet", "brain index", [])


def _states(facts: list[Fact], project: str, ended: int) -> dict[str, str]:
    """Return what became of the session's files since its end, by the text of the fact; {} if they are not here."""
    if not project or not isdir(project):
        return {}
    paths = {fact.text: join(project, fact.text.strip("`")) for fact in facts if fact.kind == "file"}
    changes = {each["path"]: each["state"] for each in file_changes.since(paths.values(), ended)}
    words = {"unchanged": "as the session left it", "changed": "changed since", "gone": "gone", "unknown": "not known"}
    return {text: words[changes[path]] for text, path in paths.items()}


def _judged(
    connection: apsw.Connection, config: Config, facts: list[Fact], project: str, row: Row, place: str
) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return (line, validity) of the session's decisions and requests by their text: by later words of its own, and by
    later decisions in other sessions of the project. Raises apsw.Error.
    """
    claims = {}
    for number, fact in enumerate(facts):
        if fact.kind in _SAID:
            lines = [(fact.line, fact.text)]
            claims[fact.text] = Claim(
                fact.text,
                place,
                row.ended,
                lines if fact.by_user else (),
                heard=() if fact.by_user else lines,
                project=project,
                negative=fact.kind == "rejected",
                entry=f"{fact.line:09} {number:09}",  # a later line is later
            )
    later = [each for each in history.statements(connection, row.ended + 1) if each.document != row.id and project]
    origins = table.origins(connection, {each.document for each in later})
    others = [
        Claim(
            (each.document, each.number), uri(origin.collection, origin.path), max(each.at, row.ended + 1),
            [(each.line, shown(each.subject))], project=project, negative=each.kind == REJECTION,
        )
        for each in later
        if (origin := origins[each.document])
        and (origin.project or each.folder).rstrip("/") == project.rstrip("/")
        and config.trust_of(origin.collection, origin.path) != EVIDENCE
    ][:_LATER]  # fmt: skip
    sides = validity.judge([*claims.values(), *others])
    lines_of = {fact.text: fact.line for fact in facts}
    return {
        text: (
            lines_of[text],
            validity.verdict(sides.get(text, ()), successor=claim.successor, known=claim.is_said),
        )
        for text, claim in claims.items()
    }


def _text(head: list[str], kinds: list[tuple[str, list[str]]]) -> str:
    lines = list(head)
    for heading, texts in kinds:
        lines += ["", f"## {heading}", *texts]
    return f"{_TASK}\n\n{agents.block(lines)}"
