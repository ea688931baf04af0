"""A tool's envelope as text for a model: short, fenced, and labelled by how far each part is to be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.counting import counted
from runtime.asking import agents
from runtime.validity import validity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SNIPPET = 400
_RESTRICTIONS = ("collections", "source", "project", "since", "until")


def nothing(envelope: dict[str, Any], given: Mapping[str, Any]) -> str:
    """Return the text for no results: it names the restrictions and the pending documents, which may hide a hit."""
    within = [name for name in _RESTRICTIONS if given.get(name)]
    lines = [f"Asked only within {', '.join(within)}: leave that out to ask all of memory."] if within else []
    about = envelope.get("days")
    if about:
        from runtime.asking.absence import days_sentence

        lines.append(days_sentence(about, within=bool(within)))
        if not about["documents"]:
            return "\n".join([*lines, *_state(envelope)])
    where = "there" if within else "in memory"
    if "route" not in envelope:  # no question was put: nothing is there of what was asked for
        lines.append(f"Nothing was found {where}. That is an answer; do not make one up.")
    else:
        # A cold process has a table instead of the model, and keywords find only their own spelling.
        found = "Nothing relevant enough" if envelope.get("abstained") else "Nothing that matches"
        lines.append(
            f"{found} was found {where}. That is an answer: say that nothing was found, and do not make one up. It may"
            " still be there under other words; ask once more in those if it matters."
        )
    lines += _missing(envelope)
    if envelope.get("nearest"):
        lines += ["Nearest, and not clearly relevant:", agents.block(_items(envelope["nearest"]))]
    return "\n".join([*lines, *_state(envelope)])


def hits(envelope: dict[str, Any]) -> str:
    said = f"Route: {agents.line(envelope['route']['reason'])}"
    return "\n".join([agents.block(_items(envelope["hits"])), *_missing(envelope), said, *_state(envelope)])


def _missing(envelope: dict[str, Any]) -> list[str]:
    """Return a line with the words of the question that the best place lacks."""
    names = ", ".join(envelope.get("missing", ()))
    return [f"The best match does not mention {agents.line(names)}: it may not answer."] if names else []


def _items(hits: Sequence[dict[str, Any]]) -> list[str]:
    items = []
    for hit in hits:
        head = f"{hit['rank']}. {agents.line(hit['title'], 120)}"
        where = f"   {_label(hit)} · {agents.line(hit['uri'], 200)}:{hit['line']}"
        items += [head, where, f"   {agents.MARK}{agents.line(hit['snippet'], _SNIPPET)}"]
        if hit.get("warning"):
            items.append(f"   ! {agents.line(hit['warning'])}")
    return items


def listed(envelope: dict[str, Any]) -> str:
    items = [
        f"{item['ended'][:16].replace('T', ' ')} UTC · {_label(item)} · {agents.line(item['title'], 120)} · "
        + agents.line(item["uri"], 200)
        for item in envelope["items"]
    ]
    left = {name: envelope[name] for name in ("held_back", "synthetic", "subagents") if envelope.get(name)}
    said = f"{len(items)} of {counted(envelope['total'], 'document')}" + (f"; left out: {left}" if left else "")
    return f"{agents.block(items)}\n{said}"


def document(envelope: dict[str, Any]) -> str:
    head = f"{agents.line(envelope['title'], 120)} · {_label(envelope)} · {agents.line(envelope['uri'], 200)}"
    lines = f"lines {envelope['first_line']}-{envelope['last_line']} of {envelope['total_lines']}"
    return agents.block([f"{head} · {lines}", agents.quote(envelope["text"])])


def origin(envelope: dict[str, Any]) -> str:
    from runtime.explaining.trace import lines

    return agents.block([agents.inert(line) for line in lines(envelope)])


def decided(envelope: dict[str, Any]) -> str:
    if "conflicts" in envelope:
        return _contradictions(envelope["conflicts"])
    items = []
    for found in envelope["decisions"]:
        standing = "stands" if found["standing"] else f"superseded by {agents.line(str(found['superseded_by']), 60)}"
        items.append(f"{agents.line(str(found['type']), 20)} ({standing}): {agents.line(found['title'], 120)}")
        items.append(f"   {_label(found)} · {agents.line(found['uri'], 200)}")
        items += _standing(found)
        if found["why"]:
            items.append(f"   {agents.MARK}why: {agents.line(found['why'])}")
        if found["alternatives"]:
            items.append(f"   {agents.MARK}alternatives: {agents.line('; '.join(found['alternatives']))}")
    if not envelope["decisions"]:
        items.append("No decision was noted. What sessions say is talk, not a decision:")
    for found in envelope["evidence"]:
        items.append(f"evidence: {agents.line(found['title'], 120)}")
        items.append(f"   {_label(found)} · {agents.line(found['uri'], 200)}:{found['line']}")
        items.append(f"   {agents.MARK}{agents.line(found['snippet'], _SNIPPET)}")
        for statement in found["statements"]:
            items += _standing(statement)
    return agents.block(items)


def _contradictions(found: Sequence[dict[str, Any]]) -> str:
    items = []
    for each in found:
        items.append(f"conflict {each['id']}: {agents.line(each['reason'], 200)}")
        for side in each["sides"]:
            owner = f"{agents.line(side['owner'], 60)} · " if "owner" in side else ""
            head = f"{owner}{agents.line(str(side['type']), 20)} of {str(side['date'])[:10]}"
            items.append(f"   {agents.MARK}{head}: {agents.line(str(side['title']), 120)}")
    asks = "Both sides stand; only the user settles one: brain why --settle ID --keep newer, older or both."
    return f"{agents.block(items)}\n{asks}"


def _standing(found: dict[str, Any]) -> list[str]:
    """Return a line if something speaks against a decision or a statement."""
    said = validity.words(found["validity"])
    return [f"   ! {agents.line(said, _SNIPPET)}"] if said else []


def kept(envelope: dict[str, Any]) -> str:
    said = f"{envelope['type']} kept as {envelope['entry_id']}: {agents.line(envelope['title'], 120)}"
    return f"{said}\nwarning: {agents.line(envelope['warning'])}" if envelope.get("warning") else said


def explained(envelope: dict[str, Any]) -> str:
    if "problems" not in envelope:
        return agents.block([f"{name}: {agents.line(str(value), 600)}" for name, value in envelope.items()])
    problems = [f"- {agents.line(str(problem), 400)}" for problem in envelope["problems"]]
    index, semantic = envelope.get("index", {}), envelope.get("semantic", {})
    head = [f"index: {agents.line(str(index), 600)}", f"semantic: {agents.line(str(semantic), 400)}"]
    # Problems quote text of others: paths, types of records, reasons.
    return agents.block([*head, f"problems: {len(problems) or 'none'}", *problems])


def _label(item: dict[str, Any]) -> str:
    trust = str(item.get("trust") or "unknown")
    owner = f"{agents.line(str(item['owner']), 60)} · " if item.get("owner") else ""
    return f"{owner}{item['age']} ({item['date'][:10]}) · trust: {agents.line(trust, 20)}"


def _state(envelope: dict[str, Any]) -> list[str]:
    fresh = envelope.get("freshness") or {}
    notes = []
    if fresh.get("lexical", {}).get("fresh") is False:
        notes.append(f"Not fresh: {fresh['lexical'].get('pending')} transcripts wait to be indexed.")
    if fresh.get("team", {}).get("missing"):
        notes.append(f"Without what the team shares: {agents.line(str(fresh['team']['missing']), 200)}.")
    if fresh.get("semantic", {}).get("pending"):
        notes.append(f"By meaning not yet complete: {fresh['semantic']['pending']} wait to be embedded.")
    return notes
