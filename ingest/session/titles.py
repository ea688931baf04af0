"""The title of a session: the one that it was given, else the first request in it that says something.

People begin sessions with "continue", "/init", a pasted trace or a ticket's form, and recognise a session by none of
them. So a text is read in parts, without what was pasted and what a form or a harness wrote. The first part with a word
that not every session could begin with is the title. Without one, the agent's first such words are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.text import one_line
from ingest.session.session import COMMAND, TEAMMATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol

    class Spoken(Protocol):
        """A turn: its role, and its blocks as (is a list line, text)."""

        role: str

        def blocks(self) -> list[tuple[bool, str]]: ...


MAX_TITLE = 120
UNTITLED = "Untitled session"
# Characters of a text that are looked at: a pasted log may come before the request.
_MOST = 8_000
# A longer part is the request, also if it announces another.
_ANNOUNCING = 60
# Turns that are looked at, of each kind.
_TURNS = 60
# A title is cut at a word, unless that would lose more than half of it.
_SHORTEST = 0.5

# Slash commands that are no subject of a session, whatever they are given.
_HOUSEKEEPING = frozenset(
    """
    /add-dir /agents /btw /clear /color /compact /config /context /cost /doctor /effort /exit /export /fast /help /hooks
    /ide /login /logout /mcp /memory /model /permissions /plugin /quit /reload-plugins /rename /resume /skills /status
    /statusline /terminal-setup /theme /usage /vim
    """.split()
)
# Words that any session could begin with. A text that has no other word says nothing of its subject.
_COMMON = frozenset(
    """
    a an the this that these those it its i me my we us our you your he she they them their who what when where which
    why how if then than so as and or but not no yes to of in on at by for from with into out up off over about after
    before again back now here there also just only too very some any all both each every other another one ones two
    three same is are was were be been being am do does did done doing have has had having can could will would shall
    should may might must let lets i'm i'll i've i'd it's that's what's let's don't didn't isn't can't cannot won't
    you're we're yeah yep yup nope ok okay sure course right fine good great nice cool perfect awesome sounds thanks
    thank thx please pls sorry oh well hey hi hello hallo bye goodbye greetings morning afternoon evening everyone
    claude codex gemini cursor copilot assistant continue continues continued continuing resume resumed resuming proceed
    go going gone keep start started starting begin stop retry redo try tries trying make makes made making fix fixes
    fixed fixing check recheck re-check look looks looking see help helps need needs want wants know tell give gives get
    gets getting got use uses using show take takes put work works working worked run runs running change changes happen
    happens happened apply applies think ultrathink hard ahead next last previous first second third left more still
    already yet today tomorrow yesterday later soon thing things something anything everything nothing way stuff issue
    issues problem problems error errors wrong following below above attached message messages prompt conversation
    session sessions chat agent untitled new test testing ping status plan plans implement execute finish finished
    complete completed ready wait waiting approve approved acknowledged understood y n k lgtm step steps task tasks todo
    todos part parts phase number option answer question questions
    ja nein oui non si sí danke merci gracias bitte weiter weitermachen bonjour hola ciao да нет привет продолжай
    продолжи спасибо 继续 继续吧 好 好的 是 是的 你好 谢谢 続けて 続き はい いいえ お願いします 계속 네 안녕
    """.split()
)
# What opens a sentence without being part of it, up to its comma, stop or dash.
_OPENING = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|yes|yeah|yep|no|nope|thanks|thank you|great|perfect|nice|cool|sure|alright|all right"
    r"|right|oh|well|good|awesome|sorry)(?: (?:claude|codex|gemini|there|all|team|everyone|so much|very much))?"
    r"\s*(?:[,.!:;]+|\s[-–—])\s+)+",
    re.IGNORECASE,
)
# The role that a prompt gives to an agent comes before its task.
_ROLE = re.compile(r"you(?:'re| are)(?: now)? (?:[\w-]+, )?(?:an?|the)\b[^\n]*?[.:!](?:\s+|$)", re.IGNORECASE)

# Lines that a harness, a form or a terminal wrote.
_HARNESS = re.compile(
    r"… [\d,]+ pieces of this transcript|caveat: the messages below|this session is being continued from"
    r"|please continue the conversation from where|the user (?:sent|named|opened|selected|doesn't)|the conversation is"
    r" summarized below|contents of /|as you answer the user's questions|\[request interrupted|continue from where",
    re.IGNORECASE,
)
# Texts that a skill is from beginning to end, but for what it was given.
_SKILL = re.compile(r"base directory for this|launching skill", re.IGNORECASE)
_GIVEN = "\nARGUMENTS:"
_PASTED = re.compile(
    r"""
    [\w$.]*(?:Error|Exception|Warning|Fault|Panic)\b\s*(?:\[\w+\])?\s*[:(]  # TypeError: …, error[E0308]: …
    |(?:fatal|panic|warn|warning|err|error|debug|info|trace|critical)(?:\[[\w-]+\])?\s*:
    |uncaught\b|unhandled\b|traceback\b|caused\ by:|exit\ (?:code|status)\b|process\ exited\b
    |npm\ (?:err!|error|warn)|(?-i:FAIL(?:ED)?\b)|failed\ to\ compile\b|build\ failed\b|make(?:\[\d+\])?:\ \*\*\*
    |\w+:\ command\ not\ found|(?:ba|z)?sh:\ |segmentation\ fault|killed$
    |at\ \S+.*[(:]\S*:\d+|at\ [\w$.<>]+\(|File\ ".*",\ line\ \d+|thread\ '|goroutine\ \d+|E\ {3,}|-->\   # a stack
    |\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[(?:error|warn|info|debug)  # a log
    |[\w./\\@:-]+\.\w{1,5}(?::\d+:\d+|:\d+:\s|\(\d+,\d+\))  # src/a.ts:12:5
    |diff\ --git|@@\ |[+-]{3}\ |index\ [0-9a-f]{7}
    |[❯➜✗✘×✖⨯✓✔●│┃╭╰├└|>]|[$%]\ |\S+@\S+[:~]\S*[$\#]  # a terminal, a table, a quotation
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Fields of a ticket or of a message's head: some name its subject, the others say nothing of it.
_FIELD = re.compile(r"(?:[-*] )?\**([A-Za-z][A-Za-z /_-]{1,24}?)\**\s*:\**\s*(.*)$")
_SUBJECTS = frozenset(
    "title summary subject task issue ticket goal request description arguments objective story feature bug".split()
)
_FIELDS = frozenset(
    """
    status priority assignee assigned reporter label labels type branch url link links created updated due sprint epic
    parent project repo repository date author version environment os platform severity component components points
    estimate state milestone id key number file files path cwd model from to cc team owner creator cycle tags tag state
    identifier name
    """.split()
)
# Headings that say nothing of the subject, besides the names of fields.
_HEADINGS = frozenset(
    """
    context|background|overview|analysis|instructions|requirements|notes|details|introduction|acceptance criteria
    |steps to reproduce|to reproduce|how to reproduce|reproduction|expected behavior|expected behaviour|actual behavior
    |actual behaviour|current behavior|current behaviour|expected|actual|describe the bug|bug report|feature request
    |what happened|additional context|screenshots|logs|user|user request|your task
    """.replace("\n", "")
    .replace("    ", "")
    .split("|")
)
# Where the request begins in a text of a known form.
_BEGINS = ("Primary Request and Intent:", "My request for Codex:", "Implement the following plan:")

_FENCED = re.compile(r"(?ms)^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)")
_BLOCK = re.compile(r"(?ms)^[ \t]*<([A-Za-z][\w-]*)(?: [^<>\n]*)?>.*?</\1>")
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?: [^<>\n]*)?/?>")
_PLACEHOLDER = re.compile(r"\[(?:Image|Pasted|File|Screenshot|Attachment)\b[^\]\n]*\]")
_LIST = re.compile(r"(?:[-*•]|\(?\d{1,2}[.)])\s+")
_MARKS = re.compile(r"^[#*>\s]+|\*\*")
_ADDRESS = re.compile(r"[a-z][a-z+.-]*://\S+", re.IGNORECASE)
_NUMBERED = re.compile(r"[A-Z][A-Z0-9]*-\d+|[0-9a-f]{7,40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SENDER = re.compile(r"[\w.@-]+(?: to [\w.@-]+)?: ")
_EDGES = "\"'`´“”‘’„«»()[]{}<>.,;:!?…。、，！？*_~-–—=+|/\\#&"


def title(given: Iterable[str], turns: Sequence[Spoken], roles: Sequence[tuple[int, tuple[str, ...]]]) -> str:
    """Return the title of a session: at most 120 characters, cut at a word.

    Args:
        given: titles and summaries that the session has, best first.
        turns: its turns in order.
        roles: the roles of the turns that may name it, best first, each group with the least number of telling words.
    """
    spare: list[str] = []
    for text in filter(None, given):
        line = one_line(text[:_MOST])
        if says_something(line) and not _PASTED.match(line):
            return shorten(line)
        spare.append(line)
    for least, group in roles:
        for line in _texts(_chosen(turns, group)):
            if telling_words(line) >= least:
                return shorten(line)
            spare.append(line)
    ran = (line for _, group in roles for line in _items(_chosen(turns, group)) if says_something(line))
    return shorten(next(ran, "") or next(filter(None, spare), "") or UNTITLED)


def _chosen(turns: Iterable[Spoken], roles: tuple[str, ...]) -> list[Spoken]:
    return [turn for turn in turns if turn.role in roles][:_TURNS]


def _texts(turns: Iterable[Spoken]) -> Iterator[str]:
    """Yield the line that could name a session of each text, and of each slash command."""
    for turn in turns:
        for item, text in turn.blocks():
            if not item:
                yield headline(_SENDER.sub("", text, count=1) if turn.role == TEAMMATE else text)
            elif turn.role == COMMAND:
                yield _command(text.removeprefix("- "))


def _items(turns: Iterable[Spoken]) -> Iterator[str]:
    """Yield what was run: a person's shell commands, an agent's calls of tools."""
    for turn in turns:
        for item, text in turn.blocks():
            if item and not text.startswith("- /"):
                yield one_line(text.removeprefix("- ").removeprefix("! ").partition("\n")[0])


def _command(text: str) -> str:
    """Return a slash command as a title: with what it was given if that says something."""
    name, _, given = text.partition(" ")
    if not name.startswith("/") or name in _HOUSEKEEPING:
        return ""
    line = headline(given)
    return f"{name} {line}" if says_something(line) else ""


def headline(text: str) -> str:
    """Return the first part of a person's text that says something, else its first part, else "".

    A part is a heading, an item of a list or a paragraph, on one line. One that announces another has that one with it.
    """
    text = _PLACEHOLDER.sub("", text[:_MOST]).replace("\\\n", "\n").strip()  # a line continued in the terminal
    if _SKILL.match(text):
        text = text.rpartition(_GIVEN)[2] if _GIVEN in text else ""
    for begin in _BEGINS:
        text = text.partition(begin)[2] or text
    bare = _FENCED.sub("\n", text)
    # Blocks in tags are a harness's, unless there is nothing else.
    readings = (_BLOCK.sub("\n", bare), _TAG.sub(" ", bare)) if "<" in bare else (bare,)
    parts = [_request(part) for each in readings for part in _parts(each)]
    for number, part in enumerate(parts):
        if says_something(part):
            if not part.endswith(":"):
                return part
            after = (each for each in parts[number + 1 :] if each != part and says_something(each))
            announced = next(after, "") if len(part) <= _ANNOUNCING else ""
            return f"{part} {announced}".rstrip(": ")
    return parts[0] if parts else ""


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text that a person may have written, each on one line."""
    part: list[str] = []
    for raw in text.split("\n"):
        line = raw.strip()
        is_foreign = not line or _is_foreign(line)
        is_heading = line.startswith("#")
        if part and (is_foreign or is_heading or _LIST.match(line)):
            yield _plain(" ".join(part))
            part = []
        if is_foreign:
            continue
        found = _of_form(line.lstrip("# "))
        if found is None and not is_heading:
            part.append(line)
        elif found is None or found:
            yield _plain(found or line)
    if part:
        yield _plain(" ".join(part))


def _of_form(line: str) -> str | None:
    """Return what a line of a form says of the subject: "" for nothing, None if it is none of a form."""
    if line.strip("*:? ").lower() in _HEADINGS | _FIELDS | _SUBJECTS:
        return ""
    field = _FIELD.match(line)
    if field is None:
        return None
    word = field[1].lower().rpartition(" ")[2]
    if word in _SUBJECTS:
        return field[2]
    return "" if word in _FIELDS else None


def _is_foreign(line: str) -> bool:
    """Return True if a person did not write the line: pasted output, a harness's notice, a placeholder."""
    if _HARNESS.match(line) or _PASTED.match(line) or _ADDRESS.fullmatch(line):
        return True
    if line[0] in "[{(<" and line[-1] in ")}]>":
        return True
    return len(line) > 12 and sum(map(str.isalpha, line)) + line.count(" ") < 0.5 * len(line)


def _plain(line: str) -> str:
    """Return a part without the marks of markdown."""
    return one_line(_MARKS.sub("", _LIST.sub("", line, count=1) if _LIST.match(line) else line))


def _request(line: str) -> str:
    """Return a part without its greeting and without the role that it gives to an agent, if more is left."""
    for opening in (_OPENING, _ROLE):
        found = opening.match(line)
        if found is not None and says_something(line[found.end() :]):
            line = line[found.end() :]
    return line


def says_something(line: str) -> bool:
    """Return True if a line has a word that not every session could begin with."""
    return telling_words(line) > 0


def telling_words(line: str) -> int:
    """Return how many words of a line could not begin any session; addresses and numbers are none."""
    count = 0
    for word in _ADDRESS.sub(" ", line).lower().split():
        bare = word.strip(_EDGES)
        is_command = word[0] == "/" and "/" not in word[1:]
        if is_command or bare in _COMMON or _NUMBERED.fullmatch(bare):
            continue
        letters = sum(character.isalpha() for character in bare)
        count += letters > 0 and (not bare.isascii() or (letters > 1 and 2 * letters > len(bare)))
    return count


def shorten(line: str) -> str:
    """Return a line cut to 120 characters at the end of a word, with an ellipsis where something was cut."""
    if len(line) <= MAX_TITLE:
        return line
    cut = line[:MAX_TITLE]
    at = cut.rfind(" ")
    return cut[: at if at > _SHORTEST * MAX_TITLE else MAX_TITLE - 1].rstrip(" ,;:–—-(") + "…"
