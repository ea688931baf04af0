"""Generated sessions of so many passages, in the form that the renderer writes, with the statistics of speech.

Words follow Zipf's law, a session keeps to the words of its topics, and topics are as unequal in size as words. The
same arguments give the same bytes.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench.corpora import SPOKEN
from bench.measure import DATA
from core import clock

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

_SEED = 20261127
# The end of the years that sessions are of, and their number.
_NEWEST, _YEARS_S = 1_790_000_000, 3 * 365 * 86_400
_VOCABULARY, _TOPICS = 60_000, 800
# A topic's own words, and their share of a text.
_OWN, _SHARE = 60, 0.25
# Turns of a session and words of a reply; a passage of the index has about 200 words.
_TURNS, _REPLY = 16, (60, 260)
_PROMPT = (6, 40)
# Passages that a session of this form gives, as counted in an index of 1,242 sessions.
_PASSAGES_A_SESSION = 10.65
_PROJECTS = 40
_STARTS = (
    "b",
    "br",
    "c",
    "d",
    "f",
    "fl",
    "g",
    "gr",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
)
_ENDS = ("a", "al", "an", "e", "en", "er", "i", "in", "o", "on", "or", "u", "um")
_COMMANDS = ("pytest -q", "make build", "git diff --stat", "npm test", "cargo check", "docker compose up -d")


class Sessions(NamedTuple):
    """``files`` sessions below ``folder``, ``size`` bytes, and questions of one to eight words about them."""

    folder: Path
    files: int
    size: int
    questions: list[str]


def make(passages: int, questions: int) -> Sessions:
    """Write sessions of about ``passages`` passages below ``bench/data``, in folders of 1,000; existing ones go."""
    import numpy as np

    folder = DATA / "scale"
    shutil.rmtree(folder, ignore_errors=True)
    random = np.random.default_rng(_SEED)
    words = _words(random)
    topics = random.choice(np.arange(200, _VOCABULARY), (_TOPICS, _OWN))
    ranks = np.arange(_VOCABULARY) + 2.7
    common = np.cumsum(ranks**-1.07)
    common /= common[-1]
    count = round(passages / _PASSAGES_A_SESSION)
    size = 0
    for number in range(count):
        if number % 1_000 == 0:
            place = folder / f"{number // 1_000:04}"
            place.mkdir(parents=True)
        own = topics[(random.zipf(1.3, 2) - 1) % _TOPICS].ravel()
        text = _session(random, number, words, common, own).encode()
        size += len(text)
        (place / f"session-{number:07}.md").write_bytes(text)
    asked = [" ".join(words[topics[topic % _TOPICS, : 1 + topic % 4]]) for topic in range(questions)]
    mixed = [f"what did we decide about the {text} of {line.split()[-1]}" for text, line in zip(asked, SPOKEN * 9)]  # noqa: B905  # as many as there are
    return Sessions(folder, count, size, asked[: questions // 2] + mixed[: questions - questions // 2])


def _words(random: Generator) -> NDArray[np.str_]:
    """Return the vocabulary, most frequent first: words of questions, of the local model, and invented ones.

    The model's vocabulary is in the order of frequency in English.
    """
    import numpy as np

    from qmd.embedding.local import Local

    pieces = sorted(Local().tokenizer.get_vocab().items(), key=lambda item: item[1])
    known = [piece for piece, _ in pieces if piece.isascii() and piece.isalpha() and len(piece) > 1]
    made: dict[str, None] = dict.fromkeys([*" ".join(SPOKEN).lower().split(), *known])
    while len(made) < _VOCABULARY:
        parts = random.integers(2, 5)
        starts, ends = random.integers(0, len(_STARTS), parts), random.integers(0, len(_ENDS), parts)
        made["".join(_STARTS[a] + _ENDS[b] for a, b in zip(starts, ends, strict=True))] = None
    return np.array(list(made), dtype=object)


def _session(random: Generator, number: int, words: NDArray[np.str_], common: NDArray[np.float64], own: Numbers) -> str:
    import numpy as np

    def say(count: int) -> str:
        drawn = np.searchsorted(common, random.random(count))
        mine = random.random(count) < _SHARE
        drawn[mine] = random.choice(own, int(mine.sum()))
        text = words[drawn]
        ends = range(0, count, 14)
        return " ".join(" ".join(text[at : at + 14]).capitalize() + "." for at in ends)

    began = _NEWEST - _YEARS_S + number * 2_654_435_761 % _YEARS_S
    minute = clock.iso(began)[:16].replace("T", " ")
    parts = [
        "---",
        f"session_id: scale-{number:07}",
        "source: claude",
        f"title: {say(6)[:-1]}",
        f"date: {clock.iso(began)}",
        f"ended: {clock.iso(began + 3_000)}",
        f"project: /home/mira/code/project{number % _PROJECTS:02}",
        f"turns: {_TURNS}",
        "---",
        "",
    ]
    for turn in range(1, _TURNS + 1):
        if turn % 2:
            parts += [f"## [{turn}] user · {minute}", "", say(int(random.integers(*_PROMPT))), ""]
            continue
        command = _COMMANDS[int(random.integers(len(_COMMANDS)))]
        parts += [f"## [{turn}] assistant · {minute}", "", f"- Bash: {command} {words[int(random.choice(own))]}", ""]
        parts += [say(int(random.integers(*_REPLY))), ""]
    return "\n".join(parts)
