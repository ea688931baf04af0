"""``brain files``: the files that the work on a topic touched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from core.counting import counted
from core.errors import BadQuery
from qmd.index.actions import table
from qmd.index.actions.action import CHANGES, FAILED, FILE_KINDS, READ, path_of
from qmd.index.catalogue import Filters
from qmd.search.search import Searcher
from runtime.asking.request import echoed, project_glob, validate
from runtime.work.scope import answer, where

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.config import Config
    from core.home import Home
    from qmd.index.actions.action import Action
    from qmd.search.search import Hit
    from runtime.work.scope import Scope

FILES = "files"
# Sessions on a topic whose files count, the weight of an edit next to a read, and of a path with a word of the topic.
_TOPICAL = 20
_EDIT, _NAMED = 4, 3


def files(home: Home, config: Config, topic: str, **within: Any) -> dict[str, Any]:
    """Return the envelope of ``brain files``: files of the sessions on a topic, those first that the work changed."""
    if not topic.strip():
        raise BadQuery("the topic is empty", 'brain files "token refresh"')
    topic = validate(topic, literal=True)
    return answer(home, config, lambda scope: _files(scope, topic), FILES, **within)


def on_topic(scope: Scope, topic: str, limit: int = _TOPICAL) -> list[Hit]:
    """Return the sessions on a topic, best first."""
    kept = scope.config.trusting("session")
    if not kept:
        return []
    fields = (("project", "GLOB", project_glob(scope.project)),) if scope.project else ()
    filters = Filters(kept, since=scope.since or None, fields=fields)
    found = Searcher(scope.connection).search(topic, limit=limit, filters=filters)
    return [hit for hit in found if hit.score >= found[0].score / 2]


def telling(topic: str) -> list[str]:
    """Return the words of a topic by which a path or a command may be recognised, in small letters."""
    from qmd.index.terms import STOP

    spaced = "".join(each if each.isalnum() or each in "_-." else " " for each in topic.lower())
    return [word.strip("-.") for word in spaced.split() if len(word) > 2 and word not in STOP]


def _files(scope: Scope, topic: str) -> dict[str, Any]:
    hits = on_topic(scope, topic)
    scores = {hit.id: hit.score for hit in hits}
    words = telling(topic)
    scope.load(scores)
    groups: dict[int, list[Action]] = {}
    for each in table.of_documents(scope.connection, scores, FILE_KINDS):
        # A session on the topic may have begun before the time that was asked for.
        if each.outcome != FAILED and each.at >= scope.since:
            groups.setdefault(each.key, []).append(each)
    worth = {key: _worth(group, scores, words) for key, group in groups.items()}
    ranked = sorted(groups, key=lambda key: (-worth[key], groups[key][0].subject))
    return {
        "topic": echoed(topic),
        "looked_at": len(hits),
        "different": len(ranked),
        FILES: [_file(scope, groups[key]) for key in ranked[: scope.limit]],
    }


def _worth(group: list[Action], scores: dict[int, float], words: Iterable[str]) -> float:
    """Return the worth of a file: by session, its score for a read, more for an edit, and for a word in the path."""
    best: dict[int, float] = {}
    for each in group:
        weight = scores[each.document] * (1 if each.kind == READ else _EDIT)
        best[each.document] = max(weight, best.get(each.document, 0.0))
    subject = group[0].subject.lower()
    return sum(best.values()) * (_NAMED if any(word in subject for word in words) else 1)


def _file(scope: Scope, group: list[Action]) -> dict[str, Any]:
    newest = max(group, key=lambda each: (each.kind in CHANGES, each.at, each.number))
    path = path_of(newest)
    return {
        "path": path,
        "subject": newest.subject,
        "edits": sum(each.kind in CHANGES for each in group),
        "reads": sum(each.kind == READ for each in group),
        "sessions": len({scope.origin(each.document).session for each in group}),
        # On another machine's paths nothing can be said.
        "exists": os.path.exists(path) if os.path.isdir(newest.folder) else None,
        **scope.place(newest),
    }


def lines(envelope: dict[str, Any]) -> list[str]:
    """Return the envelope as lines of text."""
    if not envelope[FILES]:
        return ["No session on this touched a file."]
    said: list[str] = []
    for each in envelope[FILES]:
        counts = [counted(each[f"{kind}s"], kind) for kind in ("edit", "read") if each[f"{kind}s"]]
        place = where({**each, "project": ""})
        gone = " (not there now)" if each["exists"] is False else ""
        said.append(f"{each['path']}{gone}")
        said.append(f"   {', '.join(counts)} in {counted(each['sessions'], 'session')} · {place}")
    return said
