"""The default distiller: sentences of the session, chosen by structure, by term statistics and by likeness.

The same document always gives the same distillate. Sentences are copied, never rewritten, so the distillate claims
nothing that the session does not. Calls that a person refused are the plainest rejections; the next words go with them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from core.text import one_line
from runtime.distill import central, phrases, shell, traces
from runtime.distill.distillate import SHARE, Distillate, Statement
from runtime.distill.transcript import QUOTED, read
from runtime.distill.words import is_english, sentences, stem, straight, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runtime.distill.central import Encode
    from runtime.distill.transcript import Call, Turn
    from runtime.distill.words import Sentence


VERSION = 7
# A person's answer below the call that asked: with the question where the call asked several.
_ANSWER = re.compile(r"answer(?: to “(.*)”)?: (.+)$")

_GOALS = 10
_DECISIONS = 12
_REJECTED = 12
_QUESTIONS = 6
# The part of a distillate that key points may fill.
_POINTS = 0.75
_HUMAN = ("user", "task")
# Two sentences that share so many of their words say the same.
_SAME = 0.7
# An answer of more words than these says itself what it turns down.
_SHORT = 4
# An answer to a refusal that gives no ground: "sorry, continue".
_CURT = 3


def distil(body: str, project: str = "", encode: Encode | None = None) -> Distillate:
    """Return the distillate of a session document's body (markdown, without frontmatter); it may be empty.

    ``encode`` gives sentences vectors, for what is central; without it words alone decide that.
    """
    turns = read(body)
    said = sentences(turns)
    weight = weights(said)
    calls = [call for turn in turns for call in turn.calls]
    taken: set[str] = set()
    found = _grounds(said, calls, taken, weight)
    found.sections["errors"] = traces.errors(calls, said)
    found.sections["questions"] = _questions(said, turns, taken)
    found.sections["commands"] = traces.commands(calls)
    found.sections["ran"] = traces.commands(calls, proved=False)
    found.sections["files"] = traces.files(calls, project)
    found.sections["technologies"] = traces.named(turns)
    found.sections["points"] = central.points(said, weight, taken, found, encode, most=_POINTS * SHARE * len(body))
    found.sections["concepts"] = central.concepts(said, weight)
    found.tags = central.tags(found)
    return found


def grounds(body: str) -> Distillate:
    """Return the goals, decisions and rejections of ``distil``: a third of the work."""
    turns = read(body)
    said = sentences(turns)
    return _grounds(said, [call for turn in turns for call in turn.calls], set(), weights(said))


def _grounds(said: list[Sentence], calls: list[Call], taken: set[str], weight: dict[str, float]) -> Distillate:
    found = Distillate()
    found.sections["rejected"] = _rejected(said, calls, taken, weight)
    found.sections["goals"] = _goals(said, taken, weight)
    found.sections["decisions"] = _decisions(said, calls, taken, weight)
    return found


def _score(sentence: Sentence, weight: dict[str, float]) -> float:
    """Return the weight of a sentence, per word and a little for length."""
    known = [weight.get(stem(word), 0.0) for word in set(sentence.words)]
    # Exactly rounded, as the order of a set is another one in every process.
    return math.fsum(known) / (len(known) + 3) if known else 0.0


def _choose(
    candidates: Iterable[Sentence], most: int, rank: Callable[[Sentence], float], taken: set[str]
) -> list[Sentence]:
    """Return the best ``most`` candidates that the distillate does not have yet, in the session's order."""
    fresh: dict[str, Sentence] = {}
    for sentence in candidates:
        key = " ".join(sentence.words) or sentence.text
        if key not in taken:
            fresh.setdefault(key, sentence)
    best: list[tuple[str, Sentence]] = []
    for key, sentence in sorted(fresh.items(), key=lambda item: (-rank(item[1]), item[1].place)):
        if len(best) == most:
            break
        if not any(_alike(sentence, other) for _, other in best):
            best.append((key, sentence))
    taken.update(key for key, _ in best)
    return sorted((sentence for _, sentence in best), key=lambda sentence: sentence.place)


def _alike(first: Sentence, second: Sentence) -> bool:
    mine, theirs = set(first.words), set(second.words)
    return bool(mine) and len(mine & theirs) >= _SAME * len(mine | theirs)


def _goals(said: list[Sentence], taken: set[str], weight: dict[str, float]) -> list[Statement]:
    """Return what was asked for: the sentences of each prompt that ask, those of the first prompt before all others.

    In other languages than English, a prompt's first sentence counts, because no phrase shows which sentence asks.
    """
    by_turn: dict[int, list[Sentence]] = {}
    for sentence in said:
        if sentence.role in _HUMAN and (sentence.is_own or (sentence.role == "task" and sentence.voice != QUOTED)):
            by_turn.setdefault(sentence.turn, []).append(sentence)
    english = is_english(straight(each.text) for sentences in by_turn.values() for each in sentences)
    asked: list[Sentence] = []
    for turn_sentences in by_turn.values():
        usable = [
            each
            for each in turn_sentences[:40]
            if (len(each.words) > _CURT or not phrases.is_curt(straight(each.text)))
            and not phrases.OFFERS.search(straight(each.text))
        ]
        asking = [each for each in usable if each.words and phrases.REQUESTS.search(straight(each.text))]
        if not asking and (not asked or not english):
            asking = [each for each in usable if len(each.words) > _CURT or not asked][:1]
        asked += asking[:2]
    first = asked[0].turn if asked else 0
    chosen = _choose(asked, _GOALS, lambda each: _score(each, weight) + 5 * (each.turn == first) + _asks(each), taken)
    return [Statement(each.text, (each.turn,)) for each in chosen]


def _asks(sentence: Sentence) -> float:
    return 1.0 if phrases.REQUESTS.match(straight(sentence.text)) else 0.0


def _why(sentence: Sentence, following: Sentence | None) -> str:
    """Return the reason for a statement from the next sentence of its turn, "" if its own sentence has one."""
    if phrases.CAUSE.search(straight(sentence.text)) or following is None:
        return ""
    goes_on = following.turn == sentence.turn and following.is_own == sentence.is_own
    return following.text if goes_on and phrases.EXPLAINS.search(straight(following.text)) else ""


def _stated(chosen: Iterable[Sentence], said: list[Sentence]) -> list[Statement]:
    after = {sentence.place: said[at + 1] for at, sentence in enumerate(said[:-1])}
    return [Statement(each.text, (each.turn,), _why(each, after.get(each.place))) for each in chosen]


def _decisions(said: list[Sentence], calls: list[Call], taken: set[str], weight: dict[str, float]) -> list[Statement]:
    def decides(sentence: Sentence) -> bool:
        text = straight(sentence.text)
        if sentence.thought or sentence.voice == QUOTED or text.endswith(("?", ":")) or phrases.SUPPOSES.search(text):
            return False
        instructs = sentence.role == "user" and sentence.is_own and phrases.INSTRUCTS.search(text)
        return bool(instructs or phrases.DECIDES.search(text))

    candidates = [sentence for sentence in said if len(sentence.words) > 1 and decides(sentence)]
    chosen = _choose(candidates, _DECISIONS, lambda each: _score(each, weight) + 2 * (each.role == "user"), taken)
    statements = _stated(chosen, said)
    for call in calls:
        for note in call.notes:
            # The one place where a person's decision is recorded as such.
            if answer := _ANSWER.match(note):
                question = answer[1] or call.argument.partition("  (")[0]
                statements.append(Statement(f"{question} → {answer[2]}", (call.turn,)))
            elif note.startswith("approved by the user"):
                plan = next((each for each in [call.argument, *call.notes] if each.strip(" #`")), "")
                statements.append(Statement(f"Plan approved: {plan.strip(' #`')}", (call.turn,)))
    return sorted(statements, key=lambda each: each.turns)


def _rejected(said: list[Sentence], calls: list[Call], taken: set[str], weight: dict[str, float]) -> list[Statement]:
    first = next((each.turn for each in said if each.role in _HUMAN), 0)

    def corrects(sentence: Sentence) -> bool:
        # Before the first prompt there is nothing to correct: it says what is wanted.
        if sentence.role != "user" or not sentence.is_own or sentence.turn == first:
            return False
        return phrases.CORRECTS.search(straight(sentence.text)) is not None

    def rejects(sentence: Sentence) -> bool:
        text = straight(sentence.text)
        if sentence.thought or sentence.voice == QUOTED or phrases.NOT_REJECTED.search(text):
            return False
        return corrects(sentence) or (not text.endswith(("?", ":")) and phrases.REJECTS.search(text) is not None)

    def rank(sentence: Sentence) -> float:
        caused = phrases.CAUSE.search(straight(sentence.text)) is not None
        return _score(sentence, weight) + 2 * corrects(sentence) + (sentence.role == "user") + caused

    refused = refusals(calls, said)
    # The words after a refusal belong to the refusal.
    taken.update(" ".join(each.words) for each in said if any(each.text in one.text for one in refused))
    turned_down = _turned_down(said)
    taken.update(" ".join(answer.words) for _, answer in turned_down)
    candidates = [each for each in said if len(each.words) > (not corrects(each)) and rejects(each)]
    pairs = [
        Statement(f"{asked.text} — {answer.text}", (asked.turn, answer.turn), _verdict(said, asked, answer, weight))
        for asked, answer in turned_down
    ]
    statements = [*_stated(_choose(candidates, _REJECTED, rank, taken), said), *refused, *pairs]
    return sorted(statements, key=lambda each: each.turns)[: 2 * _REJECTED]


def _verdict(said: list[Sentence], asked: Sentence, answer: Sentence, weight: dict[str, float]) -> str:
    """Return what the agent said for it between a question and the answer that turns it down: the sentence that
    concludes, otherwise the first, and the weightiest one after it; "" if the agent said nothing.
    """
    between = [
        each
        for each in said
        if each.role == "assistant"
        and each.is_own
        and asked.turn <= each.turn < answer.turn
        and each.place > asked.place
    ]
    usable = [each for each in between if len(each.words) > 1 and not each.text.endswith(("?", ":"))]
    if not usable:
        return ""
    concludes = [each for each in usable if phrases.CONCLUDES.search(straight(each.text))]
    first = (concludes or usable)[0]
    after = [each for each in usable if each.place > first.place]
    second = max(after, key=lambda each: (_score(each, weight), -each.place), default=None)
    return first.text if second is None else f"{first.text} {second.text}"


def _turned_down(said: list[Sentence]) -> list[tuple[Sentence, Sentence]]:
    """Return what a person asked about, or an agent proposed, with the person's words that turn it down."""
    pairs = []
    question: Sentence | None = None
    proposal: Sentence | None = None
    for sentence in said:
        text = straight(sentence.text)
        if not sentence.is_own or sentence.thought or sentence.voice == QUOTED:
            continue
        if sentence.role == "assistant" and phrases.PROPOSES.search(text):
            proposal = sentence
        if sentence.role != "user":
            continue
        if text.endswith("?"):
            question = sentence
        elif question is not None and sentence.turn > question.turn and phrases.TURNS_DOWN.search(text):
            pairs.append((question, sentence))
        elif proposal is not None and len(sentence.words) <= _SHORT and phrases.REFUSES.search(text):
            pairs.append((proposal, sentence))
        proposal = None
    return pairs


def _questions(said: list[Sentence], turns: list[Turn], taken: set[str]) -> list[Statement]:
    """Return what the session leaves open: questions of its last turns, and what they name as remaining."""
    if not turns:
        return []
    last = turns[-1].number
    answered = max((turn.number for turn in turns if turn.role == "user"), default=0)
    late = max(last - max(2, len(turns) // 5), 0)
    candidates = [
        sentence
        for sentence in said
        if sentence.turn > late
        and sentence.is_own
        and len(sentence.words) > 1
        and not phrases.OFFERS.search(straight(sentence.text))
        and (
            (sentence.text.endswith(("?", "？")) and sentence.turn >= answered and sentence.turn == last)
            or (not sentence.text.endswith("?") and phrases.OPEN.search(straight(sentence.text)))
        )
    ]
    chosen = _choose(candidates, _QUESTIONS, lambda each: each.place, taken)
    return [Statement(each.text, (each.turn,)) for each in chosen]


_WHAT = 200
_LATEST = 2  # turns after the refusal in which what is said is of it
_REFUSALS_CURT = 3


def refusals(calls: Sequence[Call], said: Sequence[Sentence]) -> list[Statement]:
    """Return one statement for what was refused at once; looking that was broken off rejects nothing.

    The person's next words follow as "Said then": they may be a reason or the next thing that the person wants.
    """
    together: dict[tuple[int, str], list[str]] = {}
    cited: dict[tuple[int, str], tuple[int, ...]] = {}
    for call in calls:
        if not call.refused:
            continue
        answer = _answer(call, said)
        what = _what(call, answer is not None)
        if not what:
            continue
        key = (call.turn, answer.text if answer is not None else "")
        together.setdefault(key, []).append(what)
        cited[key] = (call.turn,) if answer is None else (call.turn, answer.turn)
    statements = []
    for (turn, answer_text), all_refused in together.items():
        listed = one_line("; ".join(dict.fromkeys(all_refused)), 2 * _WHAT)
        then = f" — said then: {answer_text}" if answer_text else ""
        statements.append(Statement(f"Refused by the user: {listed}{then}", cited[turn, answer_text]))
    return statements


def _answer(call: Call, said: Sequence[Sentence]) -> Sentence | None:
    """Return the first sentence of the prompt that followed, None if it was a mere "go on"."""
    for sentence in said:
        if sentence.role != "user" or not call.turn < sentence.turn <= call.turn + _LATEST:
            continue
        curt = len(sentence.words) <= _REFUSALS_CURT and phrases.is_curt(straight(sentence.text))
        return sentence if sentence.is_own and sentence.words and not curt else None
    return None


def _what(call: Call, answered: bool) -> str:
    """Return what was refused, "" if the refusal is about no approach."""
    if call.kind == "shell":
        if not shell.acts(call.command):
            return ""
        # Its description says what it was for, where there is one.
        aim = call.argument.partition("  # ")[2] or call.command.partition("\n")[0].removeprefix("#!").lstrip()
        aim = aim.lstrip("# ") if aim.startswith("#") or "  # " in call.argument else ""
        return one_line(f"{call.name}: {aim or shell.short(call.command)}", _WHAT)
    if call.name == "ExitPlanMode":
        plan = next((each for each in [call.argument, *call.notes] if each.strip(" #`")), "")
        return one_line(f"the plan {plan.strip(' #`')}", _WHAT)
    if call.kind == "change" or call.name.startswith("mcp__"):
        return one_line(f"{call.name}: {call.argument}", _WHAT) if answered else ""
    return ""
