"""What the inbox refuses, and what it must not: both sides of each rule."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.redaction import redact
from runtime.capture import gate_output
from runtime.capture.gate import RULES, judge, similar
from tests.runtime import notes
from tests.tables import every

REFUSED = {
    "git-history": [
        "1a2b3c4 Fix the parser\n5d6e7f8 Add tests\n9a0b1c2 Bump version",
        "* 1a2b3c4d (HEAD -> main) Fix the parser\n* 5d6e7f80 Add tests\n* 9a0b1c2d Bump",
        "diff --git a/x.py b/x.py\n@@ -1,2 +1,3 @@\n-old\n+new",
        "commit 1a2b3c4d5e\nAuthor: Ana <ana@example.org>\n\n    Fix\n\ncommit 99aa88bb77\nAuthor: Bo <bo@example.org>",
    ],
    "file-inventory": [
        "src/auth.py\nsrc/main.py\nsrc/util/io.py\ntests/test_auth.py\nREADME.md",
        "total 12\n-rw-r--r-- 1 u g 10 May 1 10:00 a\n-rw-r--r-- 1 u g 10 May 1 10:00 b\ndrwxr-xr-x 2 u g 40 May 1 c",
        ".\n├── src\n│   ├── auth.py\n│   └── main.py\n└── tests",
        "LICENSE\nMakefile\nREADME.md\nbin\nbrain.py\ncore\ndocs\ntests",
        " M src/auth.py\n M src/main.py\n?? notes.md\n D old.py",
    ],
    "test-output": [
        "tests/test_a.py ....\n===== 12 passed in 0.31s =====",
        "PASS src/auth.test.ts\nPASS src/main.test.ts\nTests: 9 passed, 9 total",
        "test result: ok. 14 passed; 0 failed; 0 ignored",
    ],
    "code-listing": [
        "import os\nimport sys\n\ndef main(argv):\n    path = argv[1]\n    for name in os.listdir(path):\n"
        "        print(name)\n    return 0",
        '#!/usr/bin/env python3\n"""Runs the thing that runs the other thing, for whoever asks.\n\nIt is long.\n"""\n'
        "import os\nfrom pathlib import Path\n\n# Where it all lies, and nobody looks.\nROOT = Path('.')\n\n"
        "@cache\ndef run(\n    words: list[str],\n    *,\n    quiet: bool,\n) -> int:\n    return len(words)",
        "/* The list of all lists,\n * which does not contain itself. */\n#ifndef LIST_H\n#define LIST_H\n"
        "extern int add (struct list *,\n\t\tconst char *name);\nvoid drop (struct list *);\n#define MOST 12\n#endif",
        "export const routes = [\n  // what everybody sees first\n  { path: '/', view: Home },\n"
        "  { path: '/about', view: About },\n];\nrouter\n  .use(routes)\n  .listen(8080)",
        "```ts\nconst a = 1;\nconst b = 2;\nfunction add(x, y) {\n  return x + y;\n}\nexport { add };\n```",
    ],
    "activity-log": [
        "09:14 started on auth\n09:40 ran the tests\n10:05 pushed the branch",
        "- Edited src/auth.ts\n- Ran npm test\n- Committed and pushed",
        "Fixed the login bug and updated the tests",
        "Today I worked on the importer",
    ],
    "code-reference": [
        "The refresh logic is implemented in src/auth/refresh.ts",
        "parse_header lives in src/http/parse.py:120",
    ],
}
KEPT = [
    "apples\nbread\ncoffee\nflour\nmilk\nrice\nsalt",
    "Deploy from:\nREADME.md\nbrain.py\nbin\ncore\nnot from the docs folder",
    "Refresh tokens 60 s early, under one lock, because two tabs raced",
    "JWTs in localStorage: any XSS reads them",
    "prefer flock over pid files for the writer lock",
    "Fixed the login bug by pinning openssl, since 3.2 changed the default and never again upgrade it blindly",
    "The parser must not live in src/http/parse.py because plugins import it",
    "Moved to Postgres: SQLite locked up with two writers, which means that the queue stalled",
    "use `git log --format=%H` for hashes",
    "We meet at 09:30 on Tuesdays",
    "The staging dashboard is at https://grafana.example.org/d/abc",
    "the grocery bot account belongs to Mira",
    "Deploys go through ops-7; ask Jonas",
    "a1b2c3d broke the build: revert it instead of patching",
    "Two lines settle it:\n\nx = lock()\ny = x.get()\n\nAnything longer is a sign that the lock is held too long.",
    "src/auth.py is the only file that may import jose",
    "```sh\nexport A=1\nmake clean\nmake all\nmake test\nmake run\nmake stop\n```\n\nIn this order, every time: the"
    " second target reads what the first has left in the cache, and a run without it looks as if it worked and"
    " answers from the day before; Mira lost an afternoon to it, and the build server half a week.",
    "# Rules\n\n- reviews by two (one of them from the other team)\n- no merges on Fridays (they fail on Saturdays)\n"
    "- flags for whatever a customer sees\n- one owner each\n- write it down\n- ask first",
    "todo: look at https://example.org/paper.pdf",
]


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in REFUSED.items() for text in texts])
def test_what_can_be_had_again_is_refused_with_its_reason(rule: str, text: str) -> None:
    refusal = judge(text)
    assert refusal is not None
    assert refusal.rule == rule
    assert refusal.message.startswith("refused: ")
    assert "--force" in refusal.fix


@pytest.mark.parametrize("text", KEPT)
def test_a_reason_a_preference_a_fact_is_kept(text: str) -> None:
    assert judge(text) is None


@given(st.text(max_size=400))
def test_no_text_breaks_the_gate(text: str) -> None:
    refusal = judge(text)
    assert refusal is None or refusal.rule in RULES
    assert similar(text, text) in (True, False)


def test_the_same_thing_said_again_is_a_duplicate() -> None:
    assert similar("Refresh tokens 60 s early, under one lock", "refresh tokens 60 s early under one lock.")
    assert similar(
        "We never force-push to main: it broke the release", "we never force push to main, it broke our release"
    )
    assert similar("Prefer flock over pid files for the writer lock", "prefer flock over pid files for writer locks")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Refresh tokens 60 s early, under one lock", "Refresh tokens 90 s early, under one lock"),
        ("use flock for the writer lock in the queue", "do not use flock for the writer lock in the queue"),
        ("use flock for the writer lock", "use sqlite for the job queue"),
        ("", ""),
    ],
)
def test_another_number_or_a_denial_is_another_thing(first: str, second: str) -> None:
    assert not similar(first, second)


@pytest.mark.parametrize("text", notes.WORTH)
def test_a_note_worth_keeping_is_kept(text: str) -> None:
    assert judge(text) is None
    assert not redact(text)[1]


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in notes.UNWORTHY.items() for text in texts])
def test_a_note_that_can_be_had_again_is_refused_however_short(rule: str, text: str) -> None:
    refusal = judge(text)
    assert refusal is not None
    assert (refusal.rule, ", which " in refusal.message) == (rule, True), "the message gives the reason"


@pytest.mark.parametrize(("there", "said"), notes.SAID_AGAIN)
def test_the_same_in_other_words_is_a_duplicate(there: str, said: str) -> None:
    assert similar(there, said)
    assert similar(said, there)


@pytest.mark.parametrize(("there", "said"), notes.SAID_OTHERWISE)
def test_nearly_the_same_words_that_say_another_thing_are_none(there: str, said: str) -> None:
    assert not similar(there, said)
    assert not similar(said, there)


def test_the_sets_are_of_thirty_each() -> None:
    refused = sum(map(len, notes.UNWORTHY.values())) + len(notes.SECRETS) + len(notes.SAID_AGAIN)
    assert (len(notes.WORTH), refused) >= (30, 30)


_DATA = Path(__file__).parent / "data"
# Reports of real programs on an invented project, and notes that people write of such a project.
_PRINTED = [
    (block.partition("\n")[0], block.partition("\n")[2].removesuffix("\n"))
    for block in (_DATA / "gate_refused.txt").read_text(encoding="utf-8").split("#### ")[1:]
]
_SAID = [
    block.removesuffix("\n") for block in (_DATA / "gate_kept.txt").read_text(encoding="utf-8").split("####\n")[1:]
]


def test_the_labelled_sets_have_sixty_notes_each() -> None:
    assert min(len(set(_PRINTED)), len(set(_SAID))) >= 60
    assert {rule for rule, _ in _PRINTED} == set(RULES) - {"activity-log"}


@every(_PRINTED)
def test_what_a_program_printed_is_refused_with_its_reason(rule: str, text: str) -> None:
    refusal = judge(text)
    assert refusal is not None
    assert refusal.rule == rule
    assert ", which " in refusal.message
    assert refusal.fix.startswith("note ")


@every(_SAID)
def test_what_a_person_says_of_files_commands_and_errors_is_kept(text: str) -> None:
    assert judge(text) is None


@every([text for rule, text in _PRINTED if text.count("\n") > 2 and rule != "git-history"])
def test_output_with_what_it_taught_is_kept(text: str) -> None:
    lines = text.split("\n")[:3]
    said = "The importer needs the tide table first, because the planner reads it; Mo lost a day to this in May."
    assert (
        judge("\n".join([said, *lines, "Start it by hand after a reboot and tell Ilse, otherwise nobody sees it."]))
        is None
    )


@pytest.mark.parametrize("mark", ["x/", "a.", " at ", "src/a.py ", "1:", "(", ".", "-", "abcdef0 "])
def test_the_gate_takes_no_longer_than_a_long_line_is_long(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    kind = gate_output.kind

    def measured(lines: list[str], reason: re.Pattern[str]) -> str:
        seen.extend(map(len, lines))
        return kind(lines, reason)

    monkeypatch.setattr(gate_output, "kind", measured)
    judge(mark * (100_000 // len(mark)))
    assert max(seen, default=0) <= 500


def test_a_note_of_one_line_compiles_no_pattern_of_what_programs_print() -> None:
    gate_output._compiled.cache_clear()
    judge("Traceback (most recent call last): is how the importer's log begins")
    assert not gate_output._compiled.cache_info().currsize
