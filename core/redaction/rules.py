"""The precise rules: what is replaced in one text, and by which kind."""

from __future__ import annotations

import re

from core.counting import add
from core.redaction import MARK
from core.redaction.commands import CALLS, CURL, LOGIN, PROGRAMS, SAID, TOLD, before, made
from core.redaction.looks import (
    HEX,
    WORDED,
    is_drawn,
    is_granted,
    is_id,
    is_plain_word,
    is_pointed,
    is_strong,
    is_variable,
    is_worded,
)
from core.redaction.names import named
from core.redaction.patterns import ASSIGNMENT, CODE, CODE_MOST, COOKIE, COOKIES, FLAG, HEADER, NAME, OPTION, URL
from core.redaction.pem import without_keys
from core.redaction.plain_signs import plain_signs
from core.redaction.private import without_private
from core.redaction.rows import LINES, SPANS
from core.redaction.screen import COLOUR, ESCAPE, OVER_LINES, RULES, compiled, suspected, suspects
from core.redaction.tokens import without_tokens
from core.redaction.values import (
    is_about,
    is_basic,
    is_chosen,
    is_filler,
    is_key,
    is_listed,
    is_name,
    is_other_key,
    is_password,
    is_placeholder,
    is_secret,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.redaction.row import Row

# Who logs in stands right before what they log in with.
_USER = re.compile(
    r"\b(?:user(?:name)?|login|e-?mail|benutzer(?:name)?)\\*[\"']?\s?[:=]\s?\S{1,60}\s{1,40}\Z", re.IGNORECASE
)
# A shell's line that goes on, and how far the next one is set in.
_CONTINUED = re.compile(r"\\\r?\n[ \t]*")
_PUNCTUATED = re.compile(r"\\+(?=[_=+~*:.#&@!<>-])")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_OF_WHOLES = (*OVER_LINES, "token")
_OF_LINES = frozenset(RULES) - frozenset(_OF_WHOLES)
_CHUNK = 1024
_WIDE = 1 << 15
_GOES_ON = ("\\", "=", ":", "(")
_PASSES = 4
# Behind a name: what is taken where it says nothing.
_ELSE = ("||", "??", "?:")
# Characters of a name, and of one that stands where its value would.
_NAMED_MOST = 120


def replace(text: str, counts: dict[str, int]) -> str:
    """``text`` with all that the policy names replaced; ``counts``: kind → number, added to.

    Repeated until nothing more is found, so that what comes out is left alone by a second call.
    """
    for _ in range(_PASSES):
        before = text
        text = _once(text, counts)
        if text == before:
            break
    return text


def assigned(name: str, value: str) -> str:
    """The kind of secret that ``value`` is by being called ``name``, as in a mapping; "" where it is none."""
    name = name.replace("\\", "")  # markdown's escapes
    if name == "auth":
        return "basic" if is_basic(value) else ""
    found = named(name)
    if found is None or is_about(name) or is_id(name, value):
        return ""
    if found["pass"]:
        # Of the environment it is the value itself, as behind `NAME=`.
        plain = name.isupper()
        return "password" if is_password(value, quoted=not plain, tight=plain) else ""
    if found["loose"]:
        return "secret" if is_key(name, value) else ""
    return "secret" if is_secret(value, quoted=True) else ""


def _once(text: str, counts: dict[str, int]) -> str:
    if "\x1b[" in text:
        found: dict[str, int] = {}
        plain = compiled(COLOUR).sub(b"", text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        cleaned = plain if plain == text else _uncoloured(plain, found)
        if found:  # without the colours, which documents do without as well
            add(counts, found)
            return cleaned
    return _uncoloured(text, counts)


def _uncoloured(text: str, counts: dict[str, int]) -> str:
    if "\\\n" in text or "\\\r\n" in text:
        text = "\n".join(_joined(run, counts) if "\n" in run else run for run in _runs(text))
    if plain_signs(text) != text:
        text = _seen_through(text, plain_signs, counts)
    if "\\" in text and compiled(ESCAPE).search(text.encode("utf-8", "surrogatepass")) is not None:
        text = _seen_through(text, _unescaped, counts)
    return _plain(text, counts)


def _runs(text: str) -> Iterator[str]:
    """``text`` line by line; lines that go on in the next one come with it."""
    run: list[str] = []
    for line in text.split("\n"):
        run.append(line)
        if not line.endswith(("\\", "\\\r")):
            yield "\n".join(run)
            run.clear()
    if run:
        yield "\n".join(run)


def _joined(run: str, counts: dict[str, int]) -> str:
    """Lines that go on in the next one (``curl \\``), without the secrets that they would have as one line."""
    lines, breaks = _CONTINUED.split(run), _CONTINUED.findall(run)
    mark = next((each for each in "\t\v\f" if not any(each in line for line in lines)), None)
    if mark is None:
        return run
    found: dict[str, int] = {}
    cleaned = _plain(mark.join(lines), found)
    # A secret ends where a line does; where one does not, it is left to the rules as they are.
    if not found or cleaned.count(mark) != len(breaks):
        return run
    add(counts, found)
    pieces = cleaned.split(mark)
    return "".join(piece + end for piece, end in zip(pieces, (*breaks, ""), strict=True))


def _unescaped(line: str) -> str:
    """Return ``line`` without markdown's escapes."""
    if "\\" not in line or compiled(ESCAPE).search(line.encode("utf-8", "surrogatepass")) is None:
        return line
    return _PUNCTUATED.sub("", line)


def _seen_through(text: str, plain: Callable[[str], str], counts: dict[str, int]) -> str:
    """Return ``text`` with each line in its ``plain`` form, without secrets, where the line hides one otherwise.

    What is found in the line as it is, is left for the rules, and the line's escapes with it.
    """
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if (bare := plain(line)) != line:
            found: dict[str, int] = {}
            cleaned = _plain(bare, found)
            if found and cleaned != plain(_plain(line, {})):
                add(counts, found)
                lines[place] = cleaned
    return "\n".join(lines)


def _plain(text: str, counts: dict[str, int]) -> str:
    data = text.encode("utf-8", "surrogatepass")
    # Of a long text each chunk is asked for the rules of lines, and most have none: all of it need not be.
    short = len(text) <= _CHUNK
    rules = suspected(data) if short else suspected(data, _OF_WHOLES)
    if "private" in rules:
        text, spans = without_private(text)
        if spans:
            counts["private"] = counts.get("private", 0) + spans
    if "key" in rules:
        text = without_keys(text, counts)
    if "span" in rules:
        text = _rows(SPANS, text, counts)
    if "token" in rules:
        text = without_tokens(text, counts)
    if "pair" in rules:
        from core.redaction import stores, structures, tables  # late: few lines have such places

        text = structures.cleaned((*structures.PAIRS, *stores.PAIRS), text, counts)
        text = tables.without_inserts(tables.without_tables(text, counts), counts)
        text = tables.without_manifests(text, counts)
    if short:
        return text if rules.isdisjoint(_OF_LINES) else _Lines(text, counts).cleaned(rules)
    # Of a whole history most has nothing, and is not taken apart.
    wide = _chunks(text, _WIDE) if len(text) > 2 * _WIDE else (text,)
    return "".join(piece for part in wide for piece in _part(part, counts))


def _part(text: str, counts: dict[str, int]) -> Iterator[str]:
    if len(text) > _WIDE and not suspects(text.encode("utf-8", "surrogatepass")):
        yield text
    else:
        for chunk in _chunks(text, _CHUNK):
            yield _chunk(chunk, counts)


def _chunks(text: str, least: int) -> Iterator[str]:
    """``text`` in pieces of whole lines: the automaton tells where among them the slow rules are needed.

    A line that goes on in the next one stays with it.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start + least) + 1 or len(text)
        while end < len(text) and text[end - 2 : end - 1] in _GOES_ON:
            end = text.find("\n", end) + 1 or len(text)
        yield text[start:end]
        start = end


def _rows(rows: tuple[Row, ...], text: str, counts: dict[str, int]) -> str:
    from core.redaction.checks import without_rows

    return without_rows(rows, text, counts)


def _chunk(text: str, counts: dict[str, int]) -> str:
    rules = suspected(text.encode("utf-8", "surrogatepass"), _OF_LINES)
    return text if not rules else _Lines(text, counts).cleaned(rules)


class _Lines:
    """The rules that look at a value and at what stands before it on its line."""

    __slots__ = ("_counts", "_text")

    def __init__(self, text: str, counts: dict[str, int]) -> None:
        self._text = text
        self._counts = counts

    def cleaned(self, rules: set[str]) -> str:
        """The text after ``rules``."""
        if "label" in rules:
            from core.redaction import structures

            self._text = structures.cleaned(structures.LABELS, self._text, self._counts)
        if "place" in rules:
            from core.redaction import stores, structures

            self._text = structures.cleaned((*structures.PLACES, *stores.PLACES), self._text, self._counts)
        for rule, pattern, replaced in (
            ("url", URL, self._url),
            ("header", HEADER, self._header),
            ("cookie", COOKIES, self._cookies),
        ):
            if rule in rules:
                self._text = made(pattern).sub(replaced, self._text)
        if "assignment" in rules:
            self._text = self._assigned()
            if ";" in self._text and any(map(self._text.__contains__, ("={", '="', "='", '=\\"'))):
                from core.redaction import structures

                self._text = structures.cleaned(structures.SETTINGS, self._text, self._counts)
        for rule, pattern, replaced in (
            ("flag", FLAG, self._flag),
            ("flag", OPTION, self._option),
            ("code", CODE, self._code),
        ):
            if rule in rules:
                self._text = made(pattern).sub(replaced, self._text)
        for rule, place, replaced in (
            ("curl", CURL, self._program),
            ("program", PROGRAMS, self._program),
            ("program", LOGIN, self._login),
            ("call", CALLS, self._call),
            ("told", TOLD, self._told),
            ("said", SAID, self._said),
        ):
            if rule in rules:
                self._text = before(place).sub(replaced, self._text)
        if "stored" in rules:
            from core.redaction import stores

            self._text = stores.without_stored(self._text, self._counts)
        if "said" in rules:
            from core.redaction.near import without_spoken

            self._text = without_spoken(self._text, self._counts)
        if "foreign" in rules:
            from core.redaction.near import without_foreign

            self._text = without_foreign(self._text, self._counts)
        if "row" in rules:
            self._text = _rows(LINES, self._text, self._counts)
        return self._text

    def _assigned(self) -> str:
        """The text after the rule of assignments, tried only where a name begins, which the automaton finds.

        ``re`` would try all of them at each character, for most of a microsecond.
        """
        text, data = self._text, self._text.encode("utf-8", "surrogatepass")
        find, match_at = compiled(NAME).search, made(ASSIGNMENT).match
        pieces: list[str] = []
        done = at = 0  # characters
        sought = seen = 0  # bytes
        while (name := find(data, sought)) is not None:
            start = name.start()
            at += len(data[seen:start].decode("utf-8", "surrogatepass"))
            seen, sought = start, start + 1
            match = match_at(text, at)
            if match is None:
                continue
            replaced = self._assignment(match)
            followed = text[match.end() : match.end() + 3].lstrip().startswith(_ELSE)
            if replaced == match[0] and len(replaced) < _NAMED_MOST and (replaced[-1] in ":=" or followed):
                continue  # what would have been its value is a name: `credentials: secret_key: …`
            pieces += (text[done:at], replaced)
            done = at = match.end()
            seen = sought = start + len(match[0].encode("utf-8", "surrogatepass"))
        return "".join((*pieces, text[done:])) if pieces else text

    def _kept(self, match: re.Match[str], group: str, length: int, kind: str) -> str:
        """The match with the first ``length`` characters of ``group`` replaced, unless another rule has been there."""
        if MARK in match[group][:length]:
            return match[0]
        self._counts[kind] = self._counts.get(kind, 0) + 1
        at = match.start(group) - match.start()
        return f"{match[0][:at]}[redacted:{kind}]{match[0][at + length :]}"

    def _url(self, match: re.Match[str]) -> str:
        value = match["value"]
        return match[0] if len(value) < 3 or is_filler(value) else self._kept(match, "value", len(value), "url")

    def _header(self, match: re.Match[str]) -> str:
        value, bare = match["value"], match["bare"]
        scheme = (match["scheme"] or bare or "").lower()
        if is_placeholder(value) or value.startswith("AWS4-HMAC-"):
            return match[0]
        if bare or not scheme:
            if len(value) < (16 if bare else 12) or not is_secret(value, quoted=False):
                return match[0]
        elif value.isalpha() and len(value) < 20:
            return match[0]
        kind = scheme if scheme in ("bearer", "basic") else "authorization"
        return self._kept(match, "value", len(value), kind)

    def _cookies(self, match: re.Match[str]) -> str:
        at = match.start("pairs") - match.start()
        return match[0][:at] + made(COOKIE).sub(self._cookie, match["pairs"])

    def _cookie(self, match: re.Match[str]) -> str:
        value = match["value"]
        from core.redaction.stores import is_session  # late: few lines have cookies

        return self._kept(match, "value", len(value), "cookie") if is_session(match["name"], value) else match[0]

    def _assignment(self, match: re.Match[str]) -> str:
        group = "bare" if match["quoted"] is None else "quoted"
        quoted = group == "quoted"
        value, separator = match[group], match["sep"].strip()
        if (
            separator == ":"
            and value[0] in "-?+="
            and self._text.endswith("${", 0, match.end("sep") - len(self._name(match)) - 1)
        ):
            return self._default(match, value)
        if (match["next"] and not quoted) or (separator == "," and not (quoted and match["shut"])):
            return match[0]
        if separator == "," and is_listed(value):
            return match[0]
        if not quoted and separator == ":":
            value = value.rstrip(".:?")
        if match["little"]:
            plain = (
                quoted
                or match["sep"] == "="
                or match["little"].lower() == "psk"
                or _USER.search(self._text, max(0, match.start() - 180), match.start()) is not None
            )
            # `PASS: TestPath/#00` is a test that passed.
            odd = "/_:" if match["little"] == "pw" else "/_:#"
            found = is_chosen(value, plain=plain, odd_signs=odd) or (
                match["little"] == "pw" and WORDED.fullmatch(value)
            )
            return self._kept(match, group, len(value), "password") if found else match[0]
        if is_about(self._name(match)) or is_id(self._name(match), value):
            return match[0]
        if match["loose"] or match["auth"]:
            name = self._name(match)
            sure = is_basic(value) if match["auth"] else is_granted(name) and HEX.fullmatch(value)
            return self._kept(match, group, len(value), "secret") if sure or is_key(name, value) else match[0]
        if not match["pass"]:
            # In an environment what is called a secret is chosen like a password: `JWT_SECRET=keyboard-cat-9`.
            variable = match["sep"] == "=" and not quoted and is_variable(self._name(match))
            found = is_secret(value, quoted=quoted) or (variable and is_password(value, quoted=False, tight=True))
            return self._kept(match, group, len(value), "secret") if found else match[0]
        tight = match["sep"] == "="
        quoted = quoted or (separator == ">" and self._text.startswith("</", match.end()))
        if tight and not quoted:
            after = self._text[match.end() : match.end() + 2]
            if after[:1] in (",", ")") and value.replace("_", "").isalpha():
                return match[0]  # an argument called by its name, in code
            if (after[:1] == ")" or after in (",", ", ", ",\n")) and is_name(value, loose=True):
                return match[0]
        if is_password(value, quoted=quoted, tight=tight):
            return self._kept(match, group, len(value), "password")
        return match[0]

    def _default(self, match: re.Match[str], value: str) -> str:
        """The match without what a shell takes where a variable is not set: ``${DB_PASSWORD:-…}``."""
        default = value[1:]
        if value[0] != "-" or MARK in value or is_about(self._name(match)):
            return match[0]
        found = is_chosen(default, plain=True) if match["pass"] else is_secret(default, quoted=True)
        if not found:
            return match[0]
        kind = "password" if match["pass"] else "secret"
        self._counts[kind] = self._counts.get(kind, 0) + 1
        at = match.start("bare") - match.start() + 1
        return f"{match[0][:at]}[redacted:{kind}]{match[0][at + len(default) :]}"

    def _name(self, match: re.Match[str]) -> str:
        """The whole name whose end was matched."""
        head = start = match.start()
        while head > 0 and start - head < 60 and self._text[head - 1] in _WORD:
            head -= 1
        return self._text[head : match.end("tail")]

    def _flag(self, match: re.Match[str]) -> str:
        group = "bare" if match["quoted"] is None else "quoted"
        quoted = group == "quoted"
        value = match[group]
        if is_about(match["name"]):
            return match[0]
        if match["pass"]:
            found = "password" if is_password(value, quoted=quoted or is_pointed(value), tight=True) else ""
        else:
            found = "secret" if is_secret(value, quoted=quoted or is_pointed(value)) else ""
        return self._kept(match, group, len(value), found) if found else match[0]

    def _option(self, match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        if is_about(name) or is_other_key(name) or not (is_key(name, value) or HEX.fullmatch(value)):
            return match[0]
        return self._kept(match, "value", len(value), "secret")

    def _code(self, match: re.Match[str]) -> str:
        value = match["value"]
        if not value.startswith(("4/0", "4%2F0", "4%2f0")):
            mixed = any(map(str.isupper, value)) and any(map(str.islower, value))
            mixed |= match["name"] in ("appid", "access_key")
            if not 16 <= len(value) <= CODE_MOST or not mixed or not is_secret(value, quoted=False):
                return match[0]
        elif is_placeholder(value):
            return match[0]
        return self._kept(match, "value", len(value), "secret")

    def _program(self, match: re.Match[str]) -> str:
        value = match["value"]
        found = is_password(value, quoted=is_pointed(value), tight=True)
        return self._kept(match, "value", len(value), "password") if found else match[0]

    def _login(self, match: re.Match[str]) -> str:
        value = match["value"]
        # Behind `-p` stand databases and ports, too.
        found = is_drawn(value) or is_strong(value) or is_chosen(value, plain=False, odd_signs="/:")
        return self._kept(match, "value", len(value), "password") if found and not is_filler(value) else match[0]

    def _call(self, match: re.Match[str]) -> str:
        value = match["value"]
        found = any(map(str.isdigit, value)) and is_password(value, quoted=True, tight=False)
        return self._kept(match, "value", len(value), "password") if found else match[0]

    def _told(self, match: re.Match[str]) -> str:
        value = match["value"].rstrip(".,:)]*_")
        name = re.sub(r"(?:\sfor\s.*)?\W*(?:is|was)?\W*$", "", match["told"])
        # What is called a key may be a hash, but not that of an API.
        hashed = name.endswith("key") and "api" not in name.lower() and re.fullmatch(r"[0-9a-f-]+", value)
        if is_other_key(name.replace(" ", "_")) or hashed:
            return match[0]
        digits = sum(map(str.isdigit, value))
        if "client" in match["told"].lower() and not (HEX.fullmatch(value) or is_key("", value)):
            return match[0]  # a model, or who it is
        random = len(value) >= (16 if digits > 2 else 20) and digits > 1 and is_secret(value, quoted=False)
        return self._kept(match, "value", len(value), "secret") if random else match[0]

    def _said(self, match: re.Match[str]) -> str:
        value = match["value"]
        if match["bare"]:
            # Words follow there as often: what has a sign, too, is none.
            cue = (
                match["cue"]
                or self._text[match.start() - 1 : match.start()] == "("
                or match["bare"][:2].lower() == "pw"
            )
            value = value.rstrip(".,:;)]*_?\"'" if cue else ".,:;)]*_?!\"'")
            signed = re.search(r"[!@#$%^&*+]", value.strip("*")) is not None
            found = signed and is_chosen(value, plain=False, odd_signs="/_:" if cue else "/_:#")
            found = found or (bool(cue) and (is_worded(value) or is_chosen(value, plain=False)))
            found = found or (signed and is_worded(value))
        else:
            value = value.rstrip(".,:)]*_")
            found = is_chosen(value, plain=bool(match["colon"]), odd_signs="/_:") or is_worded(value)
            found = found or is_plain_word(value)
        return self._kept(match, "value", len(value), "password") if found else match[0]
