"""The default distiller: what a session says of itself, chosen by structure, by term statistics and by likeness.

Deterministic: the same document gives the same distillate. Sentences are taken as they stand, never rewritten, so that
nothing is claimed that the session does not say.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from runtime.distill import central, phrases, technologies, traces
from runtime.distill.distillate import Distillate, Statement
from runtime.distill.transcript import read
from runtime.distill.words import sentences, stem, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runtime.distill.likeness import Encode
    from runtime.distill.transcript import Call, Turn
    from runtime.distill.words import Sentence

VERSION = 2

_GOALS = 10
_DECISIONS = 12
_REJECTED = 12
_QUESTIONS = 6
_HUMAN = ("user", "task")


def distil(body: str, project: str = "", encode: Encode | None = None) -> Distillate:
    """The distillate of a session document's body (markdown, without its frontmatter); empty where there is nothing.

    ``encode`` gives sentences vectors, for what is central; without it words alone decide that.
    """
    turns = read(body)
    said = sentences(turns)
    weight = weights(said)
    calls = [call for turn in turns for call in turn.calls]
    taken: set[str] = set()
    found = Distillate()
    found.sections["goals"] = _goals(said, taken, weight)
    found.sections["rejected"] = _rejected(said, calls, taken, weight)
    found.sections["decisions"] = _decisions(said, calls, taken, weight)
    found.sections["errors"] = traces.errors(calls, said)
    found.sections["questions"] = _questions(said, turns, taken)
    found.sections["commands"] = traces.commands(calls)
    found.sections["files"] = traces.files(calls, project)
    found.sections["technologies"] = technologies.named(turns)
    found.sections["points"] = central.points(said, weight, taken, found, encode)
    found.sections["concepts"] = central.concepts(said, weight)
    found.tags = central.tags(found)
    return found


def _score(sentence: Sentence, weight: dict[str, float]) -> float:
    """What a sentence says, per word and a little for length."""
    known = [weight.get(stem(word), 0.0) for word in set(sentence.words)]
    # Exactly rounded, as the order of a set is another one in every process.
    return math.fsum(known) / (len(known) + 3) if known else 0.0


def _choose(
    candidates: Iterable[Sentence], most: int, rank: Callable[[Sentence], float], taken: set[str]
) -> list[Sentence]:
    """The best ``most`` of the candidates that are not told already, in the session's order."""
    fresh: dict[str, Sentence] = {}
    for sentence in candidates:
        key = " ".join(sentence.words) or sentence.text
        if key not in taken:
            fresh.setdefault(key, sentence)
    best = sorted(fresh.items(), key=lambda item: (-rank(item[1]), item[1].place))[:most]
    taken.update(key for key, _ in best)
    return sorted((sentence for _, sentence in best), key=lambda sentence: sentence.place)


def _goals(said: list[Sentence], taken: set[str], weight: dict[str, float]) -> list[Statement]:
    """What was asked for: of each prompt the sentence that asks, the first prompt before all."""
    by_turn: dict[int, list[Sentence]] = {}
    for sentence in said:
        if sentence.role in _HUMAN:
            by_turn.setdefault(sentence.turn, []).append(sentence)
    asked: list[Sentence] = []
    for turn_sentences in by_turn.values():
        usable = [each for each in turn_sentences[:40] if not phrases.ASSENTS.match(each.text) or len(each.words) > 3]
        asking = [each for each in usable if each.words and phrases.REQUESTS.search(each.text)]
        asked += asking[:2] or ([] if asked else usable[:1])
    first = asked[0].turn if asked else 0
    chosen = _choose(asked, _GOALS, lambda each: _score(each, weight) + 5 * (each.turn == first) + _asks(each), taken)
    return [Statement(each.text, (each.turn,)) for each in chosen]


def _asks(sentence: Sentence) -> float:
    return 1.0 if phrases.REQUESTS.match(sentence.text) else 0.0


def _why(sentence: Sentence, following: Sentence | None) -> tuple[str, tuple[int, ...]]:
    """What a statement rests on, where its own sentence does not say so already and the next one does."""
    if phrases.CAUSE.search(sentence.text):
        return "", (sentence.turn,)
    if following is not None and following.turn - sentence.turn in (0, 1) and phrases.EXPLAINS.search(following.text):
        return following.text, tuple(dict.fromkeys((sentence.turn, following.turn)))
    return "", (sentence.turn,)


def _stated(chosen: Iterable[Sentence], said: list[Sentence]) -> list[Statement]:
    after = {sentence.place: said[at + 1] for at, sentence in enumerate(said[:-1])}
    statements = []
    for sentence in chosen:
        why, turns = _why(sentence, after.get(sentence.place))
        statements.append(Statement(sentence.text, turns, why))
    return statements


def _decisions(said: list[Sentence], calls: list[Call], taken: set[str], weight: dict[str, float]) -> list[Statement]:
    def rank(sentence: Sentence) -> float:
        return _score(sentence, weight) + 2 * (sentence.role == "user") - 3 * sentence.thought

    candidates = [
        sentence
        for sentence in said
        if sentence.words
        and not sentence.text.endswith(("?", ":"))
        and (
            phrases.DECIDES.search(sentence.text)
            or (sentence.role == "user" and phrases.INSTRUCTS.search(sentence.text))
        )
    ]
    statements = _stated(_choose(candidates, _DECISIONS, rank, taken), said)
    for call in calls:
        for note in call.notes:
            # The one place where a person's decision is recorded as such.
            if note.startswith("answer: "):
                question = call.argument.partition("  (")[0]
                statements.append(Statement(f"{question} → {note[8:]}", (call.turn,)))
            elif note.startswith("approved by the user"):
                plan = next((each for each in [call.argument, *call.notes] if each.strip(" #`")), "")
                statements.append(Statement(f"Plan approved: {plan.strip(' #`')}", (call.turn,)))
    return sorted(statements, key=lambda each: each.turns)


def _rejected(said: list[Sentence], calls: list[Call], taken: set[str], weight: dict[str, float]) -> list[Statement]:
    def rank(sentence: Sentence) -> float:
        corrected = sentence.role == "user" and phrases.CORRECTS.search(sentence.text) is not None
        caused = phrases.CAUSE.search(sentence.text) is not None
        return _score(sentence, weight) + 2 * corrected + (sentence.role == "user") + caused - 3 * sentence.thought

    candidates = [
        sentence
        for sentence in said
        if len(sentence.words) > 1
        and not (sentence.text.endswith(("?", ":")) and sentence.role != "user")
        and (
            phrases.REJECTS.search(sentence.text)
            or (sentence.role == "user" and phrases.CORRECTS.search(sentence.text))
        )
    ]
    statements = _stated(_choose(candidates, _REJECTED, rank, taken), said)
    people = [sentence for sentence in said if sentence.role == "user"]
    for call in calls:
        if call.refused:
            reason = next((each for each in people if call.turn < each.turn <= call.turn + 2 and each.words), None)
            turns = (call.turn,) if reason is None else (call.turn, reason.turn)
            what = call.argument.partition("  # ")[2] or call.command.partition("\n")[0]
            what = f"{call.name}: {what}" if what else call.name
            statements.append(Statement(f"Refused by the user: {what[:200]}", turns, reason.text if reason else ""))
    return sorted(statements, key=lambda each: each.turns)[: 2 * _REJECTED]


def _questions(said: list[Sentence], turns: list[Turn], taken: set[str]) -> list[Statement]:
    """What the session ends without: questions of its last turns, and what is said there to remain."""
    if not turns:
        return []
    last = turns[-1].number
    answered = max((turn.number for turn in turns if turn.role == "user"), default=0)
    late = max(last - max(2, len(turns) // 5), 0)
    candidates = [
        sentence
        for sentence in said
        if sentence.turn > late
        and not sentence.thought
        and len(sentence.words) > 1
        and (
            (sentence.text.endswith("?") and sentence.turn >= answered and sentence.turn == last)
            or phrases.OPEN.search(sentence.text)
        )
    ]
    chosen = _choose(candidates, _QUESTIONS, lambda each: each.place, taken)
    return [Statement(each.text, (each.turn,)) for each in chosen]
