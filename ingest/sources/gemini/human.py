"""What a person typed to Gemini CLI, without what its harness puts around it, and in its place, in the same messages.

Sources: the vendor's packages/core/src/utils/environmentContext.ts, approvalModeUtils.ts and fastAckHelper.ts,
core/client.ts, packages/cli/src/ui/hooks/atCommandProcessor.ts. People write of these marks, too: a sentence counts
where it ends its line at the beginning of a text, a block where it is closed at one of a text's ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.text import clean
from ingest.session.markup import is_whole
from ingest.sources.gemini import project

_CONTEXTS = ("session_context", "system_context", "hook_context")
# The context of a session before it had a block of its own; a tree of the folder ends its text.
_SETTING_UP = re.compile(
    r"This is the Gemini CLI\. We are setting up the context for our chat\.\s{1,20}"
    r"(?:Today's date is |My operating system is: )"
)
_LOOP, _LOOP_ENDS = (
    "System: Potential loop detected. Details: ",
    " Avoid repeating the same tool calls or responses without new results.",
)
_SENTENCE = re.compile(
    r"(?:User has manually exited Plan Mode\. Switching to [^\n()]{1,60} \([^\n()]{1,100}\)\."
    r"|System: Please continue\.)[ \t]*(?=\n|\Z)"
)
# What was typed while the assistant was at work; how something in the background ended.
_HINTS = ("User steering update:\n<user_input>\n", "User hints:\n<user_input>\n")
_HINT_ENDS = re.compile(r"\n</user_input>\n{1,2}Internal instruction: [^\n]*\Z")
_ENDED = ("Background execution update:\n<background_output>\n", "</background_output>")
_REFERENCED, _REFERENCED_END = "\n--- Content from referenced files ---", "\n--- End of content ---"
# What it says of an editor, before or instead of what was typed (core/client.ts).
_EDITOR = (
    "Here is the user's editor context as a JSON object.",
    "Here is a summary of changes in the user's editor context, in JSON format.",
)
# What the harness alone says, where it is all of a text.
_GO_ON = "Please continue."


def typed(texts: Iterable[str]) -> tuple[str, str]:
    """(what of a message's texts a person typed, the folder that the harness names in them); either may be ""."""
    said: list[str] = []
    folder = ""
    for text in texts:
        text = clean(_without_editor(text)).strip()
        kept = _without_own(text)
        if kept != text:
            folder = folder or project.in_context(text)
        said.append(kept)
    words = _without_references("\n\n".join(text for text in said if text)).strip()
    return ("" if words == _GO_ON else words), folder


def _without_editor(text: str) -> str:
    """``text`` without what is said of the editor before it: its JSON is one block, and holds no line that ends one.

    The block stands right below the sentence; where it does not, a person quotes that.
    """
    _, _, rest = text.partition("\n")
    if not text.startswith(_EDITOR) or rest.partition("\n")[0].rstrip() != "```json":
        return text
    return rest.partition("\n```")[2].strip()


def _without_own(text: str) -> str:
    """``text`` without what the harness says at its beginning and its end; "" where it says all of it."""
    if _SETTING_UP.match(text) or project.is_context(text):
        return ""
    if text.startswith(_ENDED[0]) and _ENDED[1] in text:
        return ""
    for tag in _CONTEXTS:
        opening, closing = f"<{tag}>", f"</{tag}>"
        if text.startswith(opening):
            if is_whole(text, (tag,)):
                return ""
            _, closed, rest = text.partition(closing)
            text = rest.strip() if closed else text
        if text.endswith(closing):
            before, opened, _ = text.rpartition(f"\n{opening}")
            text = before.rstrip() if opened else text
    if text.startswith(_LOOP):
        _, ended, rest = text.partition(_LOOP_ENDS)
        if ended and not rest.partition("\n")[0].strip():
            return rest.strip()
    if sentence := _SENTENCE.match(text):
        return text[sentence.end() :].strip()
    if text.startswith(_HINTS) and (end := _HINT_ENDS.search(text)):
        return text[: end.start()].partition("\n<user_input>\n")[2].strip()
    return text


def _without_references(text: str) -> str:
    """``text`` without the files that it refers to by ``@``, which stand below it from the one mark to the other."""
    head, mark, rest = f"\n{text}".partition(_REFERENCED)
    if not mark or not ("@" in head or "\nContent from @" in rest or _REFERENCED_END in rest):
        return text
    after = rest.rpartition(_REFERENCED_END)[2] if _REFERENCED_END in rest else ""
    return "\n\n".join(filter(None, [head.strip(), after.strip()]))
