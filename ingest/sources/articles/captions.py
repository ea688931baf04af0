"""Captions (SRT, VTT) → paragraphs of about a minute, with who speaks. Runs where
``ingest.sources.articles.reading`` does.

Who speaks stands in WebVTT's voice tags, ``<v Name>`` (https://www.w3.org/TR/webvtt1/#webvtt-cue-voice-span), or, as
meeting tools and subtitles have it, before a colon at the start of a line.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Captions are gathered into paragraphs of about so many seconds.
_PARAGRAPH_S = 60
_TAG = re.compile(r"(<[^<>]*>)")
# A tag's classes may follow its name: <v.loud Ann>.
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t\n]+([^>]+)>")
_WORD = r"[(\[]?[^\W\d_][\w.'’&/-]*[)\]]?|\(?\d{1,3}\)?"
_NAMED = re.compile(rf"(?:>>\s*|[-–]\s*)?((?:{_WORD})(?: (?:{_WORD})){{0,4}}):(?:\s+|$)")
_LONGEST = 60
# What stands in names without a capital.
_PARTICLES = frozenset("al bin da de del den der di do dos du el la le of ten ter the van von y".split())


class Said(NamedTuple):
    """A line of a caption: seconds from the beginning, who says it or "", the words."""

    start: float
    speaker: str
    words: str


def of_srt(captions: Iterable[tuple[float, str]]) -> Iterator[Said]:
    """What captions say, of which each is (seconds, text)."""
    for start, text in captions:
        for line in "".join(_TAG.split(text)[::2]).splitlines():
            yield Said(start, "", " ".join(line.split()))


def of_vtt(captions: Iterable[tuple[float, str]]) -> Iterator[Said]:
    """What captions say, of which each is (seconds, text); a voice holds until its end tag, the next, or the cue's."""
    for start, text in captions:
        spans: list[tuple[str, list[str]]] = [("", [])]
        for number, piece in enumerate(_TAG.split(text)):
            if number % 2 == 0:
                spans[-1][1].append(piece)
            elif (voice := _VOICE.fullmatch(piece)) is not None or piece == "</v>":
                spans.append((_plain(voice[1]) if voice is not None else "", []))
        for speaker, words in spans:
            for line in "".join(words).splitlines():
                yield Said(start, speaker if line.strip() else "", _plain(line))


def paragraphs(said: Iterable[Said]) -> Iterator[str]:
    """``[hh:mm:ss] Name: words``, one a turn and about a minute; lines that captions repeat while they roll stand once.

    A line without a name goes on with the paragraph of the line before it.
    """
    began = 0.0
    held: list[str] = []
    who = ""
    last = ("", "")
    for start, voice, line in said:
        named = None if voice else _NAMED.match(line)
        speaker = voice or (named[1] if named is not None and _is_name(named[1]) else "")
        words = line[named.end() :] if named is not None and speaker else line
        # Whoever speaks goes on until somebody is named: who only stands before a colon is not named again.
        is_other = bool(speaker) and speaker != who
        if (not words and not is_other) or (words and (speaker or who, words) == last):
            continue
        last = (speaker or who, words)
        if held and (is_other or start - began >= _PARAGRAPH_S):
            yield f"[{_clock(began)}] {' '.join(held)}"
            held = []
        if not held:
            began = start
            if speaker:
                held.append(f"{speaker}:")
        who = speaker or who
        if words:
            held.append(words)
    if held:
        yield f"[{_clock(began)}] {' '.join(held)}"


def _is_name(text: str) -> bool:
    """Whether what stands before a colon looks like a name: its words have capitals, or a script that has none."""
    words = [word.strip("()[]") for word in text.split()]
    return len(text) <= _LONGEST and all(
        not word[:1].islower() or (number > 0 and word in _PARTICLES) for number, word in enumerate(words)
    )


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).split())


def _clock(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
