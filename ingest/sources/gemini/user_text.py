"""The words that a person typed to Gemini CLI, without the texts of its harness around, between and instead of them.

Sources: the vendor's packages/core/src/utils/environmentContext.ts (``getDirectoryContextString``),
approvalModeUtils.ts and fastAckHelper.ts, core/client.ts, packages/cli/src/ui/hooks/atCommandProcessor.ts and
shellCommandProcessor.ts.

People quote these marks, too: a sentence counts if it begins a text and fills its line, a block if it is closed at one
end of a text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.text import clean
from ingest.session.session import SUMMARY
from ingest.session.user_text import UserText, command, is_whole, paragraphs, piece, prompt
from ingest.session.values import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

KNOWN = Vocabulary(__file__)

_CONTEXTS = KNOWN.texts("contexts")
# A session's context before it had a block of its own; a tree of the folder ends its text.
_EARLY_CONTEXT = KNOWN.pattern("early_contexts")
# A context names folders after these lines; the first folder is the session's.
_FOLDERS, _TREES = KNOWN.texts("folders"), KNOWN.texts("folder_trees")
_LOOP, _LOOP_ENDS = (
    "System: Potential loop detected. Details: ",
    " Avoid repeating the same tool calls or responses without new results.",
)
_SENTENCE = KNOWN.pattern("sentences", r"{}[ \t]*(?=\n|\Z)")
# Words that were typed while the assistant worked; the end of something in the background.
_HINTS = KNOWN.texts("hints")
_HINT_ENDS = re.compile(r"\n</user_input>\n{1,2}Internal instruction: [^\n]*\Z")
_ENDED = ("Background execution update:\n<background_output>\n", "</background_output>")
_REFERENCED, _REFERENCED_ENDS = "\n--- Content from referenced files ---", "\n--- End of content ---"
# The state of an editor, before or instead of typed words.
_EDITOR = KNOWN.texts("editor_states")
# The whole of a message that only the harness sends.
_GO_ON = "Please continue."
# A command that was typed after ``!``.
_RAN, _PRODUCED = "I ran the following shell command:\n```sh\n", "\n```\n\nThis produced the following result:"
_SNAPSHOT, _SNAPSHOT_ENDS = "<state_snapshot>", "</state_snapshot>"


def extract_user_text(texts: Iterable[str]) -> UserText:
    """Return the words of a person in one message, and the folder that the harness names in it.

    The harness divides what it adds over several ``texts`` of a message.
    """
    kept: list[str] = []
    folder = ""
    for text in texts:
        text = clean(_without_editor(text)).strip()
        kept.append(_without_harness(text))
        if kept[-1] != text:
            folder = folder or _folder(text)
    return _classified(_without_references(paragraphs(*kept)).strip())._replace(directory=folder)


def _classified(words: str) -> UserText:
    if words.startswith(_RAN) and _PRODUCED in words and words.endswith("```"):
        return command(f"! {words[len(_RAN) :].partition(_PRODUCED)[0].strip()}".rstrip())
    if is_summary(words):
        return piece(SUMMARY, words[words.index(_SNAPSHOT) :])
    if words.startswith(("/", "!")) and "\n" not in words and words.count("/") <= 1:
        return command(f"! {words[1:].strip()}".rstrip() if words[0] == "!" else words)
    return prompt("" if words == _GO_ON else words)


def is_summary(text: str) -> bool:
    """Return True if a text is a summary of the conversation; the model's notes may come before it."""
    text = text.lstrip()
    if text.startswith("```"):
        text = text.partition("\n")[2].lstrip()
    return text.startswith((_SNAPSHOT, "<scratchpad>")) and _SNAPSHOT in text and _SNAPSHOT_ENDS in text


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
    is_folder = text.startswith(_FOLDERS) and any(mark in text for mark in _TREES)
    if is_folder or _EARLY_CONTEXT.match(text) or (text.startswith(_ENDED[0]) and _ENDED[1] in text):
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


def _folder(text: str) -> str:
    """Return the session's folder as a context names it, or ""."""
    for mark in _FOLDERS:
        head, found, rest = text.partition(mark)
        if found and (not head or head.endswith("\n")):
            return rest.partition("\n")[0].strip().removeprefix("- ")
    return ""


def _without_references(text: str) -> str:
    """Return ``text`` without the contents of files that it refers to by ``@``, from the one mark to the other."""
    head, mark, rest = f"\n{text}".partition(_REFERENCED)
    if not mark or not ("@" in head or "\nContent from @" in rest or _REFERENCED_ENDS in rest):
        return text
    return paragraphs(head, rest.rpartition(_REFERENCED_ENDS)[2] if _REFERENCED_ENDS in rest else "")
