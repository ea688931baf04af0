"""Gemini CLI: documents, and journals in which later lines change what earlier ones said."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.document import Document, split
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.gemini import source as gemini
from ingest.sources.gemini.user_text import extract_user_text
from runtime.asking import envelope
from tests.ingest.transcripts import corpus, documents

Record = dict[str, Any]
EDITOR = (
    "Here is the user's editor context as a JSON object. This is for your information only.\n```json\n{\n"
    '  "activeFile": {\n    "path": "/home/me/api/a.md",\n    "selectedText": "```\\nMend all.\\n```"\n  }\n}\n```'
)
LOOP = (
    'System: Potential loop detected. Details: Repeating content detected: "l just\ndo it.". Please take a step back '
    "and confirm it. Avoid repeating the same tool calls or responses without new results."
)
HEAD: Record = {"sessionId": "s1", "projectHash": "0" * 64, "startTime": "2026-04-28T09:00:00.000Z", "kind": "main"}


def user(name: str, text: Any, **fields: Any) -> Record:
    return {"id": name, "timestamp": "2026-04-28T09:00:01.000Z", "type": "user", "content": text, **fields}


def said(name: str, text: str, **fields: Any) -> Record:
    at = "2026-04-28T09:00:02.000Z"
    return {"id": name, "timestamp": at, "type": "gemini", "content": text, "model": "g-1", **fields}


def call(output: str = "ok", status: str = "success", **fields: Any) -> Record:
    response = {"functionResponse": {"id": "c", "name": "run_shell_command", "response": {"output": output}}}
    given: Record = {"id": "c", "name": "run_shell_command", "args": {"command": "npm test"}, "result": [response]}
    return {**given, "status": status, **fields}


def journal(path: Path, *records: Record) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in (HEAD, *records)), encoding="utf-8")
    return path


def whole(path: Path, *messages: Record, **fields: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**HEAD, **fields, "messages": list(messages)}, indent=1), encoding="utf-8")
    return path


def ingest(home: Home, folder: Path) -> Ledger:
    return run(home, "gemini", [str(folder)], trust_stat=False)


def body(home: Home, name: str = "gemini__s1.md") -> str:
    return split(corpus(home)[name].decode())[1]


def test_a_document_and_a_journal_give_the_same_bytes(home: Home, tmp_path: Path) -> None:
    messages = [
        user("a", "Why?"),
        said("b", "So.", toolCalls=[call()], thoughts=[{"subject": "S", "description": "D"}]),
    ]
    whole(tmp_path / "one/session-1.json", *messages)
    first = ingest(home, tmp_path / "one")
    made = corpus(home)
    assert (first.unknown, first.ingested) == ({}, 1)
    assert "Why?\n\n## [2] assistant · 2026-04-28 09:00\n\nSo.\n\n- run_shell_command: npm test\n" in body(home)
    assert "### reasoning\n\n**S** D\n" in body(home)
    journal(tmp_path / "two/session-1.jsonl", *messages)
    assert ingest(home, tmp_path / "two").written == 0
    assert corpus(home) == made


def test_the_same_id_overwrites_where_it_stood(home: Home, tmp_path: Path) -> None:
    journal(tmp_path / "x.jsonl", user("a", "Why?"), said("b", "Thinking"), user("c", "And?"), said("b", "So it is."))
    ingest(home, tmp_path)
    assert "Thinking" not in body(home)
    assert body(home).index("So it is.") < body(home).index("And?")


def test_a_set_of_messages_replaces_all_and_of_metadata_adds(home: Home, tmp_path: Path) -> None:
    journal(
        tmp_path / "x.jsonl",
        user("a", "Gone"),
        {"$set": {"messages": [user("b", "Kept")]}},
        {"$set": {"summary": "What it was about", "lastUpdated": "2026-04-28T09:10:00.000Z"}},
    )
    ingest(home, tmp_path)
    assert "Gone" not in body(home)
    assert body(home).startswith("# What it was about\n\n## [1] user · 2026-04-28 09:00\n\nKept\n")


@pytest.mark.parametrize(("to", "left"), [("c", ["One", "Two"]), ("b", ["One"]), ("unheard of", [])])
def test_rewinding_takes_a_message_and_all_later_ones_back(
    home: Home, tmp_path: Path, to: str, left: list[str]
) -> None:
    talk = [user("a", "One"), said("b", "Two"), user("c", "Three")]
    journal(tmp_path / "x.jsonl", *talk, {"$rewindTo": to}, user("d", "Four"))
    ingest(home, tmp_path)
    assert [word for word in ("One", "Two", "Three") if f"\n{word}\n" in body(home)] == left
    assert "Four" in body(home)


def test_what_was_rewound_does_not_come_back_from_an_older_copy(home: Home, tmp_path: Path) -> None:
    talk = [user("a", "One"), said("b", "Two"), user("c", "Three")]
    whole(tmp_path / "session.json", *talk)
    late = user("d", "Four", timestamp="2026-04-28T10:00:00.000Z")
    journal(tmp_path / "session.jsonl", *talk, {"$rewindTo": "c"}, late)
    ingest(home, tmp_path)
    assert "Three" not in body(home)
    assert "Two" in body(home)
    assert "Four" in body(home)


def test_a_patch_changes_single_messages(home: Home, tmp_path: Path) -> None:
    talk = [user("a", "One"), said("b", "", toolCalls=[call(status="executing")]), user("c", "Gone")]
    patch = {"id": "b", "content": "Done.", "toolCalls": [{"id": "c", "status": "error"}], "removeIds": ["c"]}
    journal(tmp_path / "x.jsonl", *talk, {"$patch": patch})
    ingest(home, tmp_path)
    assert "Done.\n\n- run_shell_command: npm test\n  ! ok\n" in body(home)
    assert "Gone" not in body(home)


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (call("Command: x\nOutput: boom\nError: (none)\nExit Code: 2\nSignal: 0"), "  ! Exit code 2\n  ! boom\n"),
        (
            call("Output: boom\nExit Code: 2\nProcess Group PGID: 7\n\n<hook_context>hm</hook_context>"),
            "  ! Exit code 2\n",
        ),
        (call(status="cancelled"), "  cancelled by the user\n"),
        (call("File not found", status="error"), "  ! File not found\n"),
    ],
)
def test_a_failed_call_says_why(home: Home, tmp_path: Path, made: Record, line: str) -> None:
    journal(tmp_path / "x.jsonl", user("a", "Go"), said("b", "", toolCalls=[made]))
    ingest(home, tmp_path)
    assert f"- run_shell_command: npm test\n{line}" in body(home)


@pytest.mark.parametrize("name", ["run_shell_command", "read_file"])
def test_an_exit_code_that_was_printed_or_read_is_no_failure(home: Home, tmp_path: Path, name: str) -> None:
    after = "\nand so on\nProcess Group PGID: 7" if name == "run_shell_command" else ""
    made = call(f"Output: a log\nExit Code: 3{after}", name=name)
    journal(tmp_path / "x.jsonl", user("a", "Go"), said("b", "", toolCalls=[made]))
    ingest(home, tmp_path)
    assert "  !" not in body(home)


def test_prompts_are_what_was_typed(home: Home, tmp_path: Path) -> None:
    journal(
        tmp_path / "x.jsonl",
        user("i", "This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is …"),
        user("a", [{"text": "Read @a.md\n--- Content from referenced files ---\nsecret plans"}]),
        user("b", "expanded beyond recognition", displayContent="/explain it"),
        user("f", [{"functionResponse": {"name": "x", "response": {}}}]),
    )
    ingest(home, tmp_path)
    assert [word for word in ("secret plans", "setting up") if word in body(home)] == []
    assert [word for word in ("Read @a.md", "- /explain it") if word in body(home)] == ["Read @a.md", "- /explain it"]


@pytest.mark.parametrize("how", ["marker", "registry", "hash"])
def test_the_project_is_found_beside_the_sessions(home: Home, tmp_path: Path, how: str) -> None:
    place = "/home/me/api"
    digest = hashlib.sha256(place.encode()).hexdigest()
    slug = digest if how == "hash" else "api"
    path = tmp_path / f".gemini/tmp/{slug}/chats/session-1.json"
    whole(path, user("a", "Why?"), projectHash=digest)
    if how == "marker":
        (path.parent.parent / ".project_root").write_text(place)
    else:
        (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": {"/x": "x", place: "api"}}))
    ingest(home, tmp_path)
    assert split(corpus(home)["gemini__s1.md"].decode())[0]["project"] == place


def test_what_a_person_said_to_a_question_or_a_plan_is_kept(home: Home, tmp_path: Path) -> None:
    refused = 'Plan rejected. User feedback: "Smaller steps."\n\nThe plan is stored at: p.md\nRevise the plan.'
    asked = {**call(json.dumps({"answers": {"0": "Return None", "1": "Yes"}})), "id": "q", "name": "ask_user"}
    planned = {**call(refused), "id": "p", "name": "exit_plan_mode"}
    part = {"thoughtSignature": "x"}
    answer = {**said("m2", "So."), "content": [{"text": "So."}, part], "toolCalls": [asked, planned]}
    journal(tmp_path / "chats/session-x.jsonl", user("m1", "Divide"), answer)
    assert ingest(home, tmp_path).unknown == {}
    shown = body(home)
    assert "  answer: 0: Return None; 1: Yes" in shown
    assert "\n\nSmaller steps.\n" in shown
    assert "The plan is stored" not in shown


@pytest.mark.parametrize(
    "words", ['Call it "x"', "Revise the plan:\nRevise the plan in two steps.\nNo more.", "So:\n\nThe plan is stored"]
)
def test_what_a_person_said_to_a_plan_is_kept_whole(home: Home, tmp_path: Path, words: str) -> None:
    refused = f'Plan rejected. User feedback: "{words}"\n\nThe plan is stored at: p.md\nRevise the plan on it.'
    planned = {**call(refused), "id": "p", "name": "exit_plan_mode"}
    journal(tmp_path / "chats/session-x.jsonl", user("m1", "Divide"), said("m2", "So.", toolCalls=[planned]))
    ingest(home, tmp_path)
    assert body(home).endswith(f"\n\n{words}\n")


def test_a_subagent_names_its_parent(home: Home, tmp_path: Path) -> None:
    path = journal(tmp_path / "chats/s0/s1.jsonl", {"$set": {"kind": "subagent"}}, user("a", "Find it"))
    ingest(home, tmp_path)
    assert path.parent.name == "s0"
    assert split(corpus(home)["gemini__s1.md"].decode())[0]["parent"] == "s0"
    assert "## [1] task" in body(home)


def test_a_bad_line_is_counted_and_the_rest_is_read(home: Home, tmp_path: Path) -> None:
    path = journal(tmp_path / "x.jsonl", user("a", "Why?"))
    with path.open("a") as stream:
        stream.write('{"id": "b", "type"\n' + json.dumps(said("c", "So.", surprise=1)) + "\n")
    ledger = ingest(home, tmp_path)
    assert (ledger.failed_records, set(ledger.unknown)) == (1, {"message: field surprise"})
    assert "So." in body(home)


@pytest.mark.parametrize("role", ["user", "gemini"])
def test_a_part_that_is_not_known_is_counted_whoever_said_it(home: Home, tmp_path: Path, role: str) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": ""}, "mediaResolution": {"level": "LOW"}}
    content = [{"text": "Why?", "aura": "words"}, {"hologram": "words"}, image, "And this."]
    journal(tmp_path / "x.jsonl", user("a", "First."), user("b", content, type=role, displayContent=[{"omen": 1}]))
    unknown = ingest(home, tmp_path).unknown
    shown = {"part of omen"} if role == "user" else set()
    assert set(unknown) == {"part of hologram", "part: field aura", *shown}
    assert unknown["part of hologram"]["shape"] == "an object of hologram"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["id", "type", "content", "text", "toolCalls", "thoughts", "result", "messages", "updates",
                         "removeIds", "orderIds", "tokens", "functionResponse", "response"]), inner, max_size=5),
    max_leaves=20), st.sampled_from(["$set", "$patch", "$rewindTo", "content", "toolCalls", "thoughts"]))  # fmt: skip
def test_no_shape_of_a_line_stops_the_file(tmp_path_factory: pytest.TempPathFactory, odd: Any, where: str) -> None:
    record = {where: odd} if where.startswith("$") else said("b", "x", **{where: odd})
    path = journal(tmp_path_factory.getbasetemp() / "x.jsonl", user("a", "Why?"), record, user("z", "Still here"))
    found = list(documents(gemini.SOURCE, str(path)))
    assert any(isinstance(entry, Document) and "Still here" in entry.body for entry in found)


def test_every_sample_is_accounted_for(home: Home, shared: Path) -> None:
    first = ingest(home, shared / "samples/gemini")
    assert (first.seen, first.ingested, first.unknown, first.failed_records) == (4, 4, {}, 0)
    second = ingest(home, shared / "samples/gemini-synthetic")
    assert (second.seen, second.ingested, second.skipped) == (4, 3, {"not a Gemini CLI session": 1})
    assert ingest(home, shared / "samples/gemini").written == 0


SNAPSHOT = "<state_snapshot>\n  <overall_goal>Mend the race</overall_goal>\n</state_snapshot>"


@pytest.mark.parametrize("before", ["", "<scratchpad>What matters: the race.</scratchpad>\n", "```xml\n"])
def test_what_a_summary_replaced_was_said_all_the_same(home: Home, tmp_path: Path, before: str) -> None:
    talk = [user("a", "Mend the refresh race"), said("b", "Where is it?"), user("c", "In the client"), said("d", "Ah")]
    summary = user("s", [{"text": before + SNAPSHOT}], timestamp="2026-04-28T09:30:00.000Z")
    received = said("t", "", content=[{"text": "Got it. Thanks for the additional context!"}])
    later = user("e", "Now the test", timestamp="2026-04-28T09:31:00.000Z")
    compressed = {"$set": {"messages": [summary, received, *talk[2:]]}}
    path = journal(tmp_path / "x.jsonl", *talk, compressed, later)
    assert ingest(home, tmp_path).unknown == {}
    text = body(home)[body(home).index("## [1]") :]
    in_order = ("Mend the refresh race", "Where is it?", "<overall_goal>", "In the client", "\nAh\n", "Now the test")
    places = [text.index(words) for words in in_order]
    assert places == sorted(places)
    assert "] compaction · " in text
    assert "Got it." not in text
    assert "What matters" not in text
    # The next compression replaces the summary, too.
    again = user("u", [{"text": SNAPSHOT.replace("race", "test")}], timestamp="2026-04-28T10:00:00.000Z")
    journal(path, *talk, compressed, later, {"$set": {"messages": [again, received, later]}})
    ingest(home, tmp_path)
    text = body(home)[body(home).index("## [1]") :]
    assert [text.count(words) for words in ("Mend the refresh race", "the race<", "the test<", "Now the test")] == [
        1
    ] * 4


def test_a_person_may_speak_of_a_snapshot(home: Home, tmp_path: Path) -> None:
    thanks = user("b", "Got it. Thanks for the additional context!")
    journal(tmp_path / "x.jsonl", user("a", f"What is {SNAPSHOT}?"), thanks)
    ingest(home, tmp_path)
    assert "] user · " in body(home)
    assert "compaction" not in body(home)
    assert "Got it." in body(home)


CONTEXT = "This is the Gemini CLI. We are setting up the context for our chat.\nMy operating system is: linux\n"
FOLDERS = (
    "- **Workspace Directories:**\n  - /home/me/my api\n  - /home/me/other\n- **Directory Structure:**\n\n/home/me/"
)


@pytest.mark.parametrize("context", [
    f"<session_context>\n{CONTEXT}{FOLDERS}\n</session_context>",
    f"{CONTEXT}I'm currently working in the directory: /home/me/my api\nHere is the folder structure of the current",
    f"{CONTEXT}I'm currently working in the following directories:\n  - /home/me/my api\n  - /home/me/other\nHere",
])  # fmt: skip
def test_the_harness_own_words_name_the_project(home: Home, tmp_path: Path, context: str) -> None:
    journal(tmp_path / "chats/session-1.jsonl", user("u0", context), user("u1", "Why?"), user("u2", FOLDERS))
    ingest(home, tmp_path)
    meta, made = split(corpus(home)["gemini__s1.md"].decode())
    assert (meta["project"], meta["turns"]) == ("/home/me/my api", 1)
    assert "Workspace" not in made


@pytest.mark.parametrize(("place", "text"), [("/home/me/api", "See `/home/me/api/src/a.py`."),
    ("C:\\Users\\me\\api", "See C:\\Users\\me\\api\\src\\a.py."), ("/home/me/api", "See /home/me/apis/a.py."),
    ("/home/me/api", "/home/me/api"),
    ("/home/me/api", "In _/home/me/api_!"), ("/home/me/api_", "In /home/me/api_ it")])  # fmt: skip
def test_a_folder_that_is_spoken_of_is_known_by_its_digest(home: Home, tmp_path: Path, place: str, text: str) -> None:
    digest = hashlib.sha256(place.encode()).hexdigest()
    path = whole(tmp_path / f"tmp/{digest}/chats/session-1.json", user("u1", text), said("g1", "So."))
    path.write_text(path.read_text().replace("0" * 64, digest))
    ingest(home, tmp_path)
    assert split(corpus(home)["gemini__s1.md"].decode())[0].get("project") == (None if "apis" in text else place)


@pytest.mark.parametrize(("text", "shown"), [
    (LOOP, ""), (f"{LOOP}\n\nMend it.", "Mend it."), ("System: Please continue.", ""),
    ("User hints:\n<user_input>\n- Only the first.\n</user_input>\n\nInternal instruction: Re-evaluate.",
     "- Only the first."),
    ("Background execution update:\n<background_output>\nbuilt\n</background_output>\n\nA previously backgrounded "
     "execution has completed.", ""),
    ("User has manually exited Plan Mode. Switching to Default mode (edits will require confirmation).\nMend it.",
     "Mend it."),
    ("Read @a.md\n--- Content from referenced files ---\nContent from @a.md:\nsecret\n--- End of content ---\nTwice.",
     "Read @a.md\n\nTwice."),
    ("Please continue.", ""), ("Please continue. And mend the other.", "Please continue. And mend the other."),
    ("User steering update:\n<user_input>\nOnly the first.\n</user_input>\nInternal instruction: Re-evaluate.",
     "Only the first."),
    ("Mend it.\n\n<hook_context>\nBranch: main\n</hook_context>", "Mend it."),
    ("User has manually exited Plan Mode. Switching to Default mode (edits will require confirmation).", ""),
    (EDITOR, ""), (f"{EDITOR}\nMend it.", "Mend it."),
    ("Here is a summary of changes in the user's editor context, in JSON format.\n```json\n{}\n```", ""),
    *((said, said) for said in (
        "User has manually exited Plan Mode. Who says so?", f"{LOOP} So it says. Why?",
        "User has manually exited Plan Mode. Switching to Default mode (edits will require confirmation). Why?",
        "System: Potential loop detected. Details: are missing in the log.", "System: Please continue. Whose words?",
        "This is the Gemini CLI. We are setting up the context for our chat. So it begins. Why?",
        "<session_context> opens each session: what is it for?", "User steering update: what is that?",
        "See:\n<hook_context>\nmine\n</hook_context>\nIs it right?",
        "My log says\n--- Content from referenced files ---\nand ends there. Why?",
        "I ran the following shell command:\n```sh\nls\n```\n\nThis produced the following result:\n```\n```\nWhy?",
        "```\nx = 1\n```\nIs <state_snapshot></state_snapshot> made of that?",
        "Here is a summary of changes in the user's editor context, as I read it in the log: why is it sent?",
        "Here is the user's editor context as a JSON object. So says the log; may it go?",
        "Here is the user's editor context as a JSON object. Look:\n\nMy file:\n```json\n{}\n```\nIs it right?")),
    (f"<session_context>\n{CONTEXT}{FOLDERS}\n</session_context>\n\nMend it.", "Mend it.")])  # fmt: skip
def test_of_what_the_harness_says_in_a_persons_place_their_words_are_kept(
    home: Home, tmp_path: Path, text: str, shown: str
) -> None:
    journal(tmp_path / "chats/session-1.jsonl", user("u0", "Why?"), said("g1", "So."), user("u1", text))
    ingest(home, tmp_path)
    made = body(home)
    assert made.endswith(f" · 2026-04-28 09:00\n\n{shown}\n" if shown else "So.\n")


def test_what_was_said_of_the_editor_is_cut_off_part_by_part(home: Home, tmp_path: Path) -> None:
    journal(tmp_path / "chats/session-1.jsonl", user("u1", [{"text": EDITOR}, {"text": "Mend it."}]))
    ingest(home, tmp_path)
    assert body(home).endswith(" · 2026-04-28 09:00\n\nMend it.\n")


def test_a_command_that_a_person_ran_is_one(home: Home, tmp_path: Path) -> None:
    ran = "I ran the following shell command:\n```sh\ngit status\n```\n\nThis produced the following result:\n```\n```"
    journal(tmp_path / "chats/session-1.jsonl", user("u0", "Why?"), user("u1", ran))
    ingest(home, tmp_path)
    assert body(home).endswith("- ! git status\n")


def test_what_the_harness_lets_the_assistant_say_is_left_out(home: Home, tmp_path: Path) -> None:
    thought = {"text": "Binary content received. Proceeding with analysis.", "thought": True}
    gone = said("g2", "")
    gone["content"] = [{"text": "[The previous response was interrupted before it completed.]"}, thought]
    journal(tmp_path / "chats/session-1.jsonl", user("u0", "Why?"), said("g1", "So."), gone)
    ingest(home, tmp_path)
    assert body(home).endswith("So.\n")


def test_sessions_of_the_server_behind_the_editors_share_a_name_and_are_several(home: Home, tmp_path: Path) -> None:
    for minute, text in (("35", "Why?"), ("50", "Where?")):
        head = {"sessionId": "a2a-server", "startTime": f"2026-04-28T09:{minute}:00.120Z"}
        path = tmp_path / f"chats/session-2026-04-28T09-{minute}-a2a-serv.jsonl"
        journal(path, head, user(f"u{minute}", text), {**head, "startTime": "2026-04-28T09:59:00.000Z"})
        path.write_text(path.read_text().partition("\n")[2])
    ingest(home, tmp_path)
    made = [split(document.decode())[0] for _, document in sorted(corpus(home).items())]
    assert [(meta["session_id"], meta["title"]) for meta in made] == [
        ("a2a-server:2026-04-28T09:35:00.120Z", "Why?"),
        ("a2a-server:2026-04-28T09:50:00.120Z", "Where?"),
    ]
    assert [envelope.resume(meta) for meta in made] == [None, None]


def test_a_document_that_two_files_make_is_counted_as_written_once(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "tmp" / "h" / "chats"
    whole(folder / "session-2026-04-28.json", user("m1", "Why?"))
    journal(folder / "session-2026-04-28.jsonl", user("m1", "Why?"), user("m2", "And now?"))
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.documents, ledger.written) == (2, 1, 1)


@pytest.mark.parametrize("tag", ["session_context", "system_context", "hook_context"])
def test_a_context_that_quotes_its_own_closing_tag_is_nobodys_prompt(tag: str) -> None:
    said = f"<{tag}>\nIt ends at `</{tag}>`.\nAll of it.\n</{tag}>"
    assert extract_user_text([said]).pieces == ()
    assert "Why?" in extract_user_text([f"{said}\n\nWhy?"]).typed
    assert "Why?" in extract_user_text([f"<{tag}>x</{tag}>\nWhy?\n<{tag}>y</{tag}>"]).typed
