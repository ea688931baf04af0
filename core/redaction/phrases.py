"""Passwords of several words, as lists give them (``velvet canyon orbit ladder``), told from sentences and labels."""

from __future__ import annotations

import re

# A phrase of words, as lists of words give them, and what sentences are made of.
_PHRASE = re.compile(r"[a-z]{3,10}(?: [a-z]{3,10}){3,11}(?: \d{1,6})?|[a-z]{3,10}(?: [a-z]{3,10}){2} \d{1,6}")
_SENTENCE = frozenset(
    """
    about account add address admin after again all already also and any are ask back base been before being
    between both but button bytes can cannot change changed character characters check choose click code com
    confirm contain contains create current data database default digit digits does done each email empty enter
    error every expected expires field file find first for forgot form found from generate generated get given has
    hash hashed have help here hidden hint his how into invalid its just keep key kind last least leave length
    letter letters like log login long lower make manager mask masked match matches maximum may message minimum
    missing more most must name need needs never new none not now null number numbers off old one only open option
    optional other our out over passphrase password passwords phrase please policy prompt provide provided read
    required reset right same save saved secret see send sent set should show sign some special store stored
    string strong sure text than that the their them then there they this too type update upper use used user
    username uses using valid value via view wait wallet wants was weak were what when where which while who will
    with without word words wrong you your
    """.split()
)


def is_phrase(value: str) -> bool:
    """Whether ``value`` is a password of several words, and no sentence: no word of those is in it."""
    return _PHRASE.fullmatch(value) is not None and _SENTENCE.isdisjoint(value.split())
