"""Terms: how a text and a question are cut into words, by FTS5's own tokenizers, and which phrases mean one term.

Chinese, Japanese and Korean text gets one space around each character, for a tokenizer that splits at spaces. The
scripts are qmd 2.8's: Han, Hiragana, Katakana and Hangul. ``ー`` and full-width Latin are of the Common and Latin
scripts and stay as they are.
"""

from __future__ import annotations

import apsw

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any

# (first, last) code points of the four scripts, from Unicode 16 Scripts.txt; unassigned gaps inside a block included.
_RANGES = (
    (0x1100, 0x11FF),
    (0x2E80, 0x2FD5),
    (0x3005, 0x3005),
    (0x3007, 0x3007),
    (0x3021, 0x3029),
    (0x302E, 0x302F),
    (0x3038, 0x303B),
    (0x3041, 0x3096),
    (0x309D, 0x309F),
    (0x30A1, 0x30FA),
    (0x30FD, 0x30FF),
    (0x3131, 0x318E),
    (0x31F0, 0x321E),
    (0x3260, 0x327E),
    (0x32D0, 0x32FE),
    (0x3300, 0x3357),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97C),
    (0xAC00, 0xD7FB),
    (0xF900, 0xFAD9),
    (0xFF66, 0xFF6F),
    (0xFF71, 0xFF9D),
    (0xFFA0, 0xFFDC),
    (0x16FE2, 0x16FF1),
    (0x1AFF0, 0x1B167),
    (0x1F200, 0x1F200),
    (0x20000, 0x323AF),
)


_LONG = 4_000
# Compiling the pattern takes 5 ms, which a question and a hook do without: as long as a set of so many characters.
_WORTH_A_PATTERN = 200_000
_ASCII = bytes(range(128))
# First bytes in UTF-8 of the letters with accents: U+00C0 to U+024F, U+1E00 to U+1EFF.
_ACCENTED = (0xC3, 0xC4, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xE1)


def is_cjk(character: str) -> bool:
    """Return True if ``character`` belongs to one of the four scripts."""
    point = ord(character)
    if point < 0x1100:
        return False
    return any(first <= point <= last for first, last in _RANGES)


def has_cjk(text: str) -> bool:
    """Return True if ``text`` has a character of the four scripts; all-ASCII text costs nothing."""
    if text.isascii():
        return False
    if len(text) > _LONG:
        # A document's ASCII goes first, a byte at a time and fast.
        text = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
        if _compiled is not None or len(text) > _WORTH_A_PATTERN:
            return bool(_pattern().search(text))
    return any(map(is_cjk, set(text)))


def without_accents(text: str) -> str:
    """Return ``text`` with Latin letters as the index has words: ``é`` and ``É`` are ``e``, and a letter stays one.

    Letters with two marks (``ệ``) stay, as in FTS5's tokenizer ``unicode61`` with its default ``remove_diacritics=1``.
    """
    if text.isascii():
        return text
    # Dashes and signs have other first bytes: most texts end here, without a look at each character.
    data = text.encode("utf-8", "surrogatepass")
    if not any(first in data for first in _ACCENTED):
        return text
    from unicodedata import normalize

    for letter in set(data.translate(None, _ASCII).decode("utf-8", "surrogatepass")):
        parts = normalize("NFD", letter)
        if len(parts) == 2 and parts[0].isascii() and parts[0].isalpha():
            text = text.replace(letter, parts[0].lower())
    return text


def count_cjk(text: str) -> int:
    """Return how many characters of ``text`` belong to the four scripts."""
    return 0 if text.isascii() else sum(map(len, _pattern().findall(text)))


def spaced_out(text: str) -> str:
    """Return ``text`` with a space around each character of the four scripts."""
    if not has_cjk(text):
        return text
    return _pattern().sub(lambda run: " " + " ".join(run.group()) + " ", text)


_compiled: re.Pattern[str] | None = None


def _pattern() -> re.Pattern[str]:
    global _compiled
    if _compiled is None:
        import re  # late, as the pattern is

        _compiled = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _RANGES) + "]+")
    return _compiled


# Words that say how something is asked, not what: function words, and the frame of a question.
STOP = frozenset(
    """a about above after again all am an and any are aren as at be because been before being below between both but
    by can could couldn d did didn do does doesn doing don down during each few for from further had hadn has hasn have
    haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m me more most
    my myself no nor not now of off on once only or other our ours ourselves out over own re s same she should shouldn
    so some such t than that the their theirs them themselves then there these they this those through to too under
    until up ve very was wasn we were weren what when where which while who whom why will with won would wouldn you
    your yours yourself yourselves
    kind kinds type types sort sorts many much may might likely say says said tell told mention mentions mentioned
    according something anything everything someone anyone everyone""".split()
)

# English forms that stemming does not bring together: word, and its stem where the stem is another text.
_IRREGULAR = (
    "go goes:goe went gone going:go|get got gotten|buy:bui bought|make made|take took taken|see saw seen|meet met|"
    "lose lost|win won|begin began begun|write wrote written|give gave given|find found|feel felt|teach taught|"
    "think thought|bring brought|leave:leav left|keep kept|speak spoke spoken|know knew known|run ran|come came|"
    "become:becom became:becam|choose:choos chose chosen|grow grew grown|drive drove driven|eat ate:at eaten|"
    "draw drew drawn|sing sang sung|swim swam swum|break broke broken|fall fell fallen|build built|send sent|"
    "spend spent|sell sold|hear heard|hold held|stand stood|understand understood|wear wore worn|sleep slept|"
    "fly flew flown|ride rode ridden|throw threw thrown|catch caught|fight fought|pay:pai paid|lead led|sit sat|"
    "wake woke woken|forget forgot forgotten|hide hid hidden|shoot shot|steal stole stolen|show shown|mean meant|"
    "deal dealt|dream dreamt|learn learnt|lend lent|bend bent|bite bit bitten|blow blew blown|"
    "freeze:freez froze frozen|rise rose risen|shake shook shaken|stick stuck|strike struck|swear swore sworn|"
    "tear tore torn|child children|man men|woman women|person people:peopl|foot feet|mouse:mous mice|wife wives:wive|"
    "life lives:live|decide:decid decision:decis"
)
# The same, with spaces around each form.
_FORMS = f"| {_IRREGULAR.replace('|', ' | ')} |"
# Terms of a long question that are searched for: a pasted log must not cost a minute.
_MOST_TERMS = 48


class Terms:
    """``phrases[i]`` is an FTS5 phrase of term ``term[i]``; the question has term t ``count[t]`` times.

    ``names[t]`` is the term as the user wrote it; ``stems[i]`` the words of phrase i as the index stores them.
    ``index`` has the term of each phrase by its stems, with spaces between them.
    """

    __slots__ = ("count", "index", "names", "phrases", "stems", "term")

    if TYPE_CHECKING:
        phrases: list[str]
        stems: list[list[str]]
        term: list[int]
        count: list[float]
        names: list[str]
        index: dict[str, int]

    def __init__(self) -> None:
        self.phrases, self.stems, self.term = [], [], []
        self.count, self.names, self.index = [], [], {}

    def add(self, words: list[str], stems: list[str], count: float = 1.0) -> None:
        """Add a term with its irregular forms, unless a phrase with these stems is there."""
        key, number = " ".join(stems), len(self.count)
        if key in self.index:
            return
        self.count.append(count)
        self.names.append(" ".join(words))
        self._add_phrase(number, words, stems)
        if len(stems) == 1:
            for stem, word in forms(key).items():
                if stem not in self.index:
                    self._add_phrase(number, [word], [stem])

    def _add_phrase(self, number: int, words: list[str], stems: list[str]) -> None:
        self.index[" ".join(stems)] = number
        self.phrases.append(f'"{" ".join(words)}"')
        self.stems.append(stems)
        self.term.append(number)


class Analyzer:
    """FTS5's own tokenizers, so that a question is cut and stemmed exactly as the index was."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._porter = _tokenizer(connection, "porter", ["unicode61"])
        self._plain = _tokenizer(connection, "unicode61", [])

    def tokens(self, text: str) -> list[tuple[str, str]]:
        """Return (stem, word) of each token of ``text``."""
        raw = text.encode()
        pairs = zip(self._porter(raw), self._plain(raw), strict=True)
        return [(stem, word) for (_, _, stem), (_, _, word) in pairs]

    def offsets(self, text: str) -> list[tuple[int, int, str]]:
        """Return (first byte, past the last byte, stem) of each token of ``text``."""
        return self._porter(text.encode())

    def analyze(self, question: str, drop: str = "") -> Terms:
        """Return the terms of ``question`` without stop words and without the words of ``drop``, unless nothing else
        remains.

        Identifiers, paths and flags (``src/auth/token.py``, ``--no-verify``, ``getUserName``) are terms of their words,
        and of the words in that order.
        """
        terms = Terms()
        asked = question.replace(drop, " ", 1) if drop else question
        content = [(chunk, self.tokens(chunk)) for chunk in spaced_out(asked).split()]
        kept = [(chunk, tokens) for chunk, tokens in content if _tells(chunk, tokens)]
        if drop and not kept:
            return self.analyze(question)  # the date was all there is to look for: its words, then
        for chunk, tokens in kept or content:
            if len(terms.count) >= _MOST_TERMS:
                break
            for stem, word in tokens[:_MOST_TERMS]:
                if kept and word in STOP:
                    continue
                if stem in terms.index:
                    terms.count[terms.index[stem]] += 1.0
                else:
                    terms.add([word], [stem])
            if len(tokens) > 1 and _is_code(chunk):
                terms.add([word for _, word in tokens][:12], [stem for stem, _ in tokens][:12])
            if chunk[1:].lower() != chunk[1:]:
                self._add_humps(terms, chunk)
        if not asked.isascii():
            _add_cjk_pairs(terms, asked)
        return terms

    def _add_humps(self, terms: Terms, chunk: str) -> None:
        """Add the words inside camel case, at half weight: the whole identifier is the better evidence."""
        if not chunk.isupper() and chunk[1:].strip("0123456789").isascii():
            for stem, word in self.tokens(" ".join(humps(chunk))):
                if word not in STOP:
                    terms.add([word], [stem], 0.5)


def forms(stem: str) -> dict[str, str]:
    """Return the irregular forms of a word: the stem of each → the form; {} for a regular word."""
    at = max(_FORMS.find(f" {stem} "), _FORMS.find(f":{stem} "))
    if at < 0:
        return {}
    pairs = [form.partition(":") for form in _FORMS[_FORMS.rfind("|", 0, at) + 1 : _FORMS.find("|", at)].split()]
    return {own or word: word for word, _, own in pairs}


def _tells(chunk: str, tokens: list[tuple[str, str]]) -> bool:
    """Return True if a part of the question has another word than stop words, or is code."""
    return any(word not in STOP for _, word in tokens) or (len(tokens) > 1 and _is_code(chunk))


def _add_cjk_pairs(terms: Terms, question: str) -> None:
    """Add pairs of neighbouring characters: single ones say little, and the whole run is seldom found elsewhere."""
    run = ""
    for character in f"{question} ":
        if is_cjk(character):
            run += character
            continue
        for first, second in zip(run, run[1:], strict=False):  # noqa: RUF007  # itertools is one import more
            if len(terms.count) < 2 * _MOST_TERMS:
                terms.add([first, second], [first, second])
        run = ""


def humps(identifier: str) -> list[str]:
    """Return the words inside a camel-case identifier, as ``derived.inner_words`` indexes them, without a regular
    expression.

    A word begins at a capital after a small letter or a digit, at the last capital before small letters, and where
    letters and digits meet.
    """
    words: list[str] = []
    start = 0
    for index in range(1, len(identifier) + 1):
        if index < len(identifier):
            before, here, after = identifier[index - 1], identifier[index], identifier[index + 1 : index + 2]
            begins = (
                (here.isupper() and not before.isupper())
                or (here.isupper() and before.isupper() and after.islower())
                or here.isdigit() != before.isdigit()
                or not (here.isalnum() and before.isalnum())
            )
            if not begins:
                continue
        if identifier[start:index].isalnum():
            words.append(identifier[start:index])
        start = index
    return words if len(words) > 1 else []


def _tokenizer(
    connection: apsw.Connection, name: str, arguments: list[str]
) -> Callable[[bytes], list[tuple[int, int, str]]]:
    tokenizer: Any = connection.fts5_tokenizer(name, arguments)
    return lambda raw: tokenizer(raw, apsw.FTS5_TOKENIZE_QUERY, None)


def _is_code(chunk: str) -> bool:
    """Return True if a word of the question has marks inside or before it, as identifiers, paths and flags do."""
    body = chunk.strip(".,;:!?\"'()[]{}<>…“”‘’«»")
    if body.startswith("-") and len(body) > 1:
        return True
    return any(not (character.isalnum() or character in "'’-") for character in body) or "--" in body
