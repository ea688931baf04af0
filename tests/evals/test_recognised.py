from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.questions import recognition

ERRORS = [
    ("src/a.ts(20,3): error TS2322: Type 'x' is not assignable to type 'y'.", "type error", "a.ts"),
    ("../b.ts(1,2): error TS2307: Cannot find module 'react'.", "missing module", "b.ts"),
    ("main.c:3:10: fatal error: stdio.h: No such file or directory", "missing file", "main.c"),
    ("pkg/a.py:3: error: Incompatible types in assignment [assignment]", "error", "a.py"),
    ('/x/converter.py:184:17 - error: Type of "v" is unknown (reportUnknownVariableType)', "error", "converter.py"),
    ("cmd/list.go:153:49: undefined: Sessions", "undefined name", "list.go"),
    ("error[E0308]: mismatched types", "type error", ""),
    ("thread 'main' panicked at src/main.rs:4:5:", "crash", ""),
    ("ModuleNotFoundError: No module named 'yaml'", "missing module", ""),
    ("sqlite3.OperationalError: database is locked", "error", ""),
    ("TypeError: generate is not a function", "type error", ""),
    ("[TypeError: generate is not a function]", "type error", ""),
    ("E   AssertionError: assert 1 == 2", "failing test", ""),
    ("** (KeyError) key :a not found", "wrong value", ""),
    ("FAILED tests/test_a.py::test_b - assert 1 == 2", "failing test", "test_a.py"),
    ("test/test_c.py::TestC::test_d FAILED [ 33%]", "failing test", "test_c.py"),
    ("--- FAIL: TestTrailer (0.00s)", "failing test", ""),
    ("a_test.go:986: added an extra blank line", "failing test", "a_test.go"),
    ("FAIL  src/NavUser.test.tsx > shows initials", "failing test", "NavUser.test.tsx"),
    ("test parser::reads_all ... FAILED", "failing test", ""),
    ("not ok 3 - reads the header", "failing test", ""),
    ("bash: line 1: pnpm: command not found", "missing command", ""),
    ("zsh: command not found: uv", "missing command", ""),
    ("ls: cannot access 'types/': No such file or directory", "missing file", ""),
    ("cat: /etc/shadow: Permission denied", "permission problem", ""),
    ("fatal: git cat-file: could not get object info", "error", ""),
    ("CONFLICT (content): Merge conflict in a.go", "merge conflict", ""),
    ("npm ERR! code ELIFECYCLE", "error", ""),
    ("make: *** [Makefile:12: test] Error 2", "error", ""),
    ("Error: connect ECONNREFUSED 127.0.0.1:8025", "connection problem", ""),
    ("EISDIR: illegal operation on a directory, read", "error", ""),
    ("Request failed with status code 403", "refused request", ""),
    ("Exit code 1", "error", ""),
    ("Traceback (most recent call last):", "crash", ""),
    ("Segmentation fault (core dumped)", "crash", ""),
]


@pytest.mark.parametrize(("line", "kind", "file"), ERRORS, ids=[str(number) for number in range(len(ERRORS))])
def test_what_compilers_test_runners_and_shells_print_is_an_error(line: str, kind: str, file: str) -> None:
    found = recognition.error(line)
    assert found is not None
    assert (found.kind, found.file) == (kind, file)


@pytest.mark.parametrize(
    "line",
    [
        "1 file changed, 219 insertions(+)", "new file mode 100644", "index 0000000..24fb22c", "--- /dev/null",
        "String: # Check the content", "0 errors, 0 warnings",
        "Found 0 warnings and 4 errors.", "test_a.py::test_exception_handling PASSED [ 66%]", "427 | except OSError:",
        "except PermissionError:", "raise ValueError(text)", "* @throws Error if no model", "$ ultracite fix",
        "nothing to commit, working tree clean", "usage: git gc [<options>]", "rootdir: /x/y", "> tsc --noEmit",
        "File has not been read yet. Read it first before writing to it.", "npm warn Unknown env config", "",
    ],
)  # fmt: skip
def test_statistics_code_and_listings_are_none(line: str) -> None:
    assert recognition.error(line) is None


@pytest.mark.parametrize(
    ("sentence", "is_one"),
    [
        ("We decided to keep the ledger in sqlite.", True),
        ("I chose sqlite over redis, as it needs no server.", True),
        ("Let's use apple container instead of docker proper.", True),
        ("We'll go with setting the sandbox to auto mode.", True),
        ("The queue was rejected because redis is one more service.", True),
        ("Decision to remember: hooks of this repository fail closed.", True),
        ("From now on tests come first.", True),
        ("I changed the check to use git status instead of a walk.", True),
        ("Write it down as a decision so that I don't have this conversation a fourth time.", False),
        ("Please record that we decided to use sqlite.", False),
        ("Should we use sqlite instead of redis?", False),
        ("Maybe we decided to use the wrong one.", False),
        ("It returns 08:15 UTC instead of 07:15.", False),
        ("A malformed trailer needs to be rejected, since it is a mistake.", False),
        ("The user wants us to go with the second option.", False),
        ("I need to use exec.CommandContext instead of exec.Command in the test.", False),
    ],
)
def test_a_decision_decides_something(sentence: str, is_one: bool) -> None:
    assert recognition.decides(sentence) is is_one


@pytest.mark.parametrize(
    ("line", "program", "is_sought"),
    [
        ("- Bash: git rebase origin/main --onto origin/main  # Clean rebase", "git", True),
        ("- bash: cd /x/y && npm run check 2>&1 | head -40", "npm", True),
        ("- Bash: uv run pytest -m tui test/test_tui.py -v", "pytest", True),
        ("- exec_command: FOO=1 sudo systemctl restart nginx.service", "systemctl", True),
        ("- ! docker compose up --build", "docker", True),
        ("- Bash: git status --short --branch", "git", False),
        ("- Bash: ls -la /x/y/z/long", "ls", False),
        ("- Bash: for i in 1 2 3; do make; done", "for", False),
        ("- Bash: make", "make", False),
    ],
)
def test_a_command_is_looked_for_where_it_did_something(line: str, program: str, is_sought: bool) -> None:
    made = recognition.call(line)
    assert made is not None
    assert (made.program, recognition.sought(made)) == (program, is_sought)


def test_other_tools_and_other_lines_are_no_calls() -> None:
    for line in ("- Read: /x/y.py", "git push origin main", "- [ ] Bash: make it so"):
        assert recognition.call(line) is None
    assert recognition.call("- Bash: make test-all now  # Run all tests") == (
        "make test-all now",
        "make",
        "Run all tests",
    )


@given(st.text(alphabet=" :.()[]-!/\\'\"aE1eérrorfailed\n", max_size=200))
def test_any_line_is_read(line: str) -> None:
    for prefix in ("", "- Bash: ", "error: "):
        recognition.error(prefix + line)
        recognition.decides(prefix + line)
        made = recognition.call(prefix + line)
        assert made is None or recognition.sought(made) in (True, False)
