"""The words that a person typed to Gemini CLI, without the texts of its harness around, between and instead of them.

Sources: the vendor's packages/core/src/utils/environmentContext.ts (``getDirectoryContextString``),
approvalModeUtils.ts and fastAckHelper.ts, core/client.ts, packages/cli/src/ui/hooks/atCommandProcessor.ts.

People quote these marks, too: a sentence counts if it begins a text and fills its line, a block if it is closed at one
end of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.text import clean
from ingest.session.user_text import is_whole

_CONTEXTS = ("session_context", "system_context", "hook_context")
# A session's context before it had a block of its own; a tree of the folder ends its text.
_SETTING_UP = re.compile(
    r"This is the Gemini CLI\. We are setting up the context for our chat\.\s{1,20}"
    r"(?:Today's date is |My operating system is: )"
)
# A context names folders like this, until 2025 and since; the first that it lists is the session's.
_ONE, _FOLDERS = "I'm currently working in the directory: ", "- **Workspace Directories:**\n"
_SEVERAL = "I'm currently working in the following directories:\n"
_STRUCTURE = ("- **Directory Structure:**", "Here is the folder structure of the current working directories:")
_LOOP, _LOOP_ENDS = (
    "System: Potential loop detected. Details: ",
    " Avoid repeating the same tool calls or responses without new results.",
)
_SENTENCE = re.compile(
    r"(?:User has manually exited Plan Mode\. Switching to [^\n()]{1,60} \([^\n()]{1,100}\)\."
    r"|System: Please continue\.)[ \t]*(?=\n|\Z)"
)
# Words that were typed while the assistant worked; the end of something in the background.
_HINTS = ("User steering update:\n<user_input>\n", "User hints:\n<user_input>\n")
_HINT_ENDS = re.compile(r"\n</user_input>\n{1,2}Internal instruction: [^\n]*\Z")
_ENDED = ("Background execution update:\n<background_output>\n", "</background_output>")
_REFERENCED, _REFERENCED_END = "\n--- Content from referenced files ---", "\n--- End of content ---"
# The state of an editor, before or instead of typed words (core/client.ts).
_EDITOR = (
    "Here is the user's editor context as a JSON object.",
    "Here is a summary of changes in the user's editor context, in JSON format.",
)
# The whole of a message that only the harness sends.
_GO_ON = "Please continue."


def extract_user_text(texts: Iterable[str]) -> tuple[str, str]:
    """Return (the words that a person typed, the folder that the harness names) of a message; either may be ""."""
    said: list[str] = []
    folder = ""
    for text in texts:
        text = clean(_without_editor(text)).strip()
        kept = _without_harness(text)
        if kept != text:
            folder = folder or _folder(text)
        said.append(kept)
    words = _without_references("\n\n".join(text for text in said if text)).strip()
    return ("" if words == _GO_ON else words), folder


def _without_editor(text: str) -> str:
    """Return ``text`` without the editor's state before it: one block of JSON, right below the sentence.

    No line of the JSON begins like the block's end. If other text follows the sentence, a person quotes it.
    """
    _, _, rest = text.partition("\n")
    if not text.startswith(_EDITOR) or rest.partition("\n")[0].rstrip() != "```json":
        return text
    return rest.partition("\n```")[2].strip()


def _without_harness(text: str) -> str:
    """Return ``text`` without the harness's sentences and blocks at its ends; "" if it is all the harness's."""
    if _SETTING_UP.match(text) or _is_added_folder(text):
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


def _is_added_folder(text: str) -> bool:
    """Return True if a text describes a folder that was added to a session."""
    return text.startswith((_ONE, _SEVERAL, _FOLDERS)) and any(mark in text for mark in _STRUCTURE)


def _folder(text: str) -> str:
    """Return the session's folder as a context names it, or ""."""
    for mark in (_ONE, _FOLDERS, _SEVERAL):
        head, found, rest = text.partition(mark)
        if found and (not head or head.endswith("\n")):
            return rest.partition("\n")[0].strip().removeprefix("- ")
    return ""


def _without_references(text: str) -> str:
    """Return ``text`` without the contents of files that it refers to by ``@``, from the one mark to the other."""
    head, mark, rest = f"\n{text}".partition(_REFERENCED)
    if not mark or not ("@" in head or "\nContent from @" in rest or _REFERENCED_END in rest):
        return text
    after = rest.rpartition(_REFERENCED_END)[2] if _REFERENCED_END in rest else ""
    return "\n\n".join(filter(None, [head.strip(), after.strip()]))
