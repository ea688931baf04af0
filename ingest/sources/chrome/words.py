"""What of browsing is nobody's memory: pages not safe for work, and searches that nobody typed.

Words are compared after decoding and folding (NFKC, case), so that ``%70orn`` or full-width letters change nothing.
Substrings are used only where no other word holds them; the rest must stand alone ("Essex" is a county).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote_plus

import re2

# Found anywhere in an address, a title or a search.
_ANYWHERE = (
    "porn xvideos xhamster xnxx hentai redtube brazzers chaturbate stripchat livejasmin camsoda spankbang bongacams "
    "onlyfans rule34 xxxvideo sexvideo sexcam camgirl camwhore blowjob handjob cumshot gangbang creampie deepthroat "
    "masturbat motherless.com nhentai eporner tnaflix hqporner literotica adultfriendfinder ashleymadison fapello "
    "порно порнух эротик エロ動画 アダルトビデオ 色情 成人视频 成人電影 야동"
).split()
# Found as words.
_ALONE = (
    "nsfw nude nudes milf bdsm bondage fetish erotic erotica orgasm orgasms dildo dildos vibrator boobs tits pussy "
    "threesome swingers striptease upskirt voyeur incest bukkake futanari ecchi yiff escorts "
    "sexy sexting horny slut sluts whore hardcore-sex xxx-rated sexo секс эро"
).split()
_PAIRS = ("sex video", "sex videos", "sex chat", "sex tape", "sex toy", "sex toys", "sex scene", "live sex", "free sex")
_ZONES = (".xxx", ".porn", ".sex", ".adult", ".sexy", ".cam")

# What advertisers, broken templates and compromised pages leave among the searches.
_SPAM = (
    "viagra cialis levitra payday-loan payday-loans online-casino casino-bonus free-spins slot-gacor judi-online "
    "situs-slot togel sbobet replica-watches buy-followers cheap-jerseys crypto-giveaway double-your-bitcoin "
    "call-girl call-girls weight-loss-pills work-from-home-job earn-money-fast click-here-to-claim"
).split()
# Programmers search for `${var}`, `<div>` and "[object Object] in a string": only what holds nothing else is broken.
_TEMPLATE = re.compile(
    r"\{searchterms\??\}|^(?:%s|[$#]?\{+[\w.? ]*\}+|undefined|null|nan|\[object object\])$",
)
_MARKUP = re.compile(r"</(?:script|iframe|a)\b|<\w+[^>]*\b(?:on\w+|src|href)\s*=|javascript:\S")
_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|www\.)\S+$")
_COMMANDS = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|above|prior|all)\b.{0,30}\b(?:instruction|prompt|rule|message)"
)
_LONGEST_TERM = 400
_LONGEST_WORD = 80
_REPEATS = 4
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


def fold(text: str) -> str:
    """``text`` decoded once, compatibility forms resolved, in small letters."""
    if "%" in text or "+" in text:
        text = unquote_plus(text, errors="replace")
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.casefold()


class Words:
    """One compiled list of words not safe for work, the shipped ones and ``more``."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        own = [fold(word).strip() for word in more]
        alone = [
            re.escape(word).replace(r"\-", r"\W").replace(r"\ ", r"\W+") for word in (*_ALONE, *_PAIRS, *own) if word
        ]
        anywhere = "|".join(map(re.escape, _ANYWHERE))
        # RE2, because re tries every word at every letter; it knows no look-around, so that a word's bounds are read.
        self._find = re2.compile(rf"{anywhere}|(?:^|[^\pL\pN])(?:{'|'.join(sorted(alone))})(?:[^\pL\pN]|$)").search

    def found(self, text: str) -> bool:
        """Whether a folded text holds one."""
        return self._find(text) is not None

    def is_zone(self, host: str) -> bool:
        """Whether a host lies in a top-level domain for adults."""
        return host.endswith(_ZONES)


class Noise:
    """Tells searches that a person made from those that were injected, mangled or spam."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        spam = [fold(word).strip() for word in (*_SPAM, *more)]
        words = "|".join(sorted(re.escape(word).replace(r"\-", r"\W").replace(r"\ ", r"\W+") for word in spam if word))
        self._spam = re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])").search

    def reason(self, term: str) -> str:
        """Why a search term is none, "" where it is one."""
        folded = fold(term).strip()
        words = _WORDS.findall(folded)
        if not words:
            return "no words"
        if len(folded) > _LONGEST_TERM:
            return "too long"
        if _TEMPLATE.search(folded) or _MARKUP.search(folded):
            return "template or markup"
        if _ADDRESS.match(folded):
            return "an address"
        if max(map(len, words)) > _LONGEST_WORD:
            return "no language"
        most = max(map(words.count, set(words)))
        if most > _REPEATS and 2 * most > len(words):
            return "repetition"
        if self._spam(folded):
            return "spam"
        if _COMMANDS.search(folded):
            return "instructions to a model"
        return ""
