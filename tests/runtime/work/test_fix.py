from __future__ import annotations

from typing import Any

import pytest

from core.errors import BadQuery
from runtime.work.fix import fix, friction, friction_lines, lines
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.sessions import did

MISSING = "  ! Exit code 1\n  ! ModuleNotFoundError: No module named 'yaml'\n"


def ask(shelf: Shelf, error: str, **within: Any) -> dict[str, Any]:
    return fix(shelf.home, shelf.config, error, **within)


def test_what_was_done_between_the_error_and_the_success_is_the_fix(shelf: Shelf) -> None:
    did(shelf, "a", f"- Bash: pytest\n{MISSING}- Bash: cat setup.py\n- Bash: pip install pyyaml\n- Bash: pytest -q\n")
    envelope = ask(shelf, "ModuleNotFoundError: No module named 'yaml'")
    (found,) = envelope["fixes"]
    assert (envelope["match"], envelope["failures"], envelope["fixed"]) == ("exact", 1, 1)
    assert found["held"] is True
    assert [step["subject"] for step in found["steps"]] == ["pip install pyyaml"]
    assert found["ended"] == "pytest -q"
    assert "  $ pip install pyyaml" in lines(envelope)


def test_an_error_that_came_back_was_not_fixed(shelf: Shelf) -> None:
    did(shelf, "a", f"- Bash: pytest\n{MISSING}- Bash: touch x\n- Bash: pytest\n- Bash: make\n{MISSING}")
    did(shelf, "b", f"- Bash: pytest\n{MISSING}- Bash: pip install pyyaml\n- Bash: pytest\n", ago=9)
    found = ask(shelf, "ModuleNotFoundError: No module named 'yaml'")["fixes"]
    assert [each["held"] for each in found] == [True, False]


def test_a_whole_output_can_be_pasted(shelf: Shelf) -> None:
    did(shelf, "a", f"- Bash: pytest\n{MISSING}")
    output = 'Traceback (most recent call last):\n  File "/b.py", line 9, in f\n    import yaml\n' + (
        "ModuleNotFoundError: No module named 'yaml'\nmake: *** [Makefile:3: test] Error 1\n"
    )
    assert ask(shelf, output)["failures"] == 1


def test_the_colours_of_a_terminal_hide_no_error(shelf: Shelf) -> None:
    did(shelf, "a", f"- Bash: pytest\n{MISSING}")
    output = "collecting\n\x1b[1m\x1b[31mModuleNotFoundError: No module named 'yaml'\x1b[0m\x1b[K\n"
    assert (ask(shelf, output)["match"], ask(shelf, output)["failures"]) == ("exact", 1)


def test_a_like_error_is_marked_as_such(shelf: Shelf) -> None:
    did(shelf, "a", f"- Bash: pytest\n{MISSING}- Bash: pip install pyyaml\n- Bash: pytest\n")
    envelope = ask(shelf, "ModuleNotFoundError: No module named 'tomli'")
    assert envelope["match"] == "similar"
    assert lines(envelope)[0].startswith("Not this very error")


def test_a_part_of_a_message_finds_the_whole(shelf: Shelf) -> None:
    failed = "  ! Exit code 128\n  ! fatal: The current branch spotter has no upstream branch.\n"
    did(shelf, "a", f"- Bash: git push\n{failed}- Bash: git push -u origin spotter\n- Bash: git push\n")
    envelope = ask(shelf, "has no upstream branch")
    assert (envelope["match"], envelope["failures"]) == ("similar", 1)
    assert envelope["fixes"][0]["steps"][0]["subject"] == "git push -u origin spotter"
    assert ask(shelf, "branch")["fixes"] == []


def test_only_what_names_a_file_helped_when_reading_it_failed(shelf: Shelf) -> None:
    calls = "- Read: /u/x/api/a.py\n  ! File does not exist.\n- Bash: git reset --hard origin/main\n"
    did(shelf, "a", f"{calls}- Bash: git checkout main -- a.py\n- Read: /u/x/api/a.py\n")
    (found,) = ask(shelf, "File does not exist.")["fixes"]
    assert [step["subject"] for step in found["steps"]] == ["git checkout main -- a.py"]


def test_an_unknown_error_gives_nothing(shelf: Shelf) -> None:
    did(shelf, "a", f"- Bash: pytest\n{MISSING}")
    envelope = ask(shelf, "segmentation fault")
    assert (envelope["error"], envelope["fixes"], envelope["match"]) == ("no_results", [], None)
    with pytest.raises(BadQuery):
        ask(shelf, "  ")


def test_friction_is_an_error_of_three_sessions_and_a_subagent_is_no_session(shelf: Shelf) -> None:
    broken = f"- Bash: pytest\n{MISSING}"
    did(shelf, "a", broken)
    did(shelf, "b", broken, ago=2)
    did(shelf, "agent-1", broken, ago=2, parent="b")
    assert friction(shelf.home, shelf.config)["errors"] == []
    did(shelf, "c", f"{broken}- Bash: pip install pyyaml\n- Bash: pytest\n", ago=3, source="codex")
    (found,) = friction(shelf.home, shelf.config)["errors"]
    assert (found["failures"], found["sessions"], found["agents"]) == (4, 3, {"claude": 3, "codex": 1})
    assert [step["subject"] for step in found["fix"]["steps"]] == ["pip install pyyaml"]
    assert "4 failures in 3 sessions" in "\n".join(friction_lines(friction(shelf.home, shelf.config)))


def test_a_secret_in_an_error_is_not_repeated_and_does_not_hide_the_same_error(shelf: Shelf) -> None:
    did(
        shelf,
        "a",
        "- Bash: deploy\n  ! Exit code 1\n  ! denied: password=[redacted:password]\n- Bash: login\n- Bash: deploy\n",
    )
    envelope = ask(shelf, "denied: password=hunter2Xy")
    assert (envelope["match"], envelope["fixed"]) == ("exact", 1)
    unknown = ask(shelf, "zymurgy failed: password=hunter2Xy")
    assert unknown["error"] == "no_results"
    assert "hunter2Xy" not in str(unknown)


def test_a_fix_says_if_its_error_came_back_in_a_later_session(shelf: Shelf) -> None:
    did(shelf, "a", f"- Bash: pytest\n{MISSING}- Bash: pip install pyyaml\n- Bash: pytest\n", ago=9)
    assert ask(shelf, "No module named 'yaml'")["fixes"][0]["validity"]["state"] == "current"
    did(shelf, "b", f"- Bash: pytest\n{MISSING}", ago=1, project="/u/x/web")
    assert ask(shelf, "No module named 'yaml'")["fixes"][0]["validity"]["state"] == "current"
    did(shelf, "c", f"- Bash: pytest\n{MISSING}", ago=1)
    envelope = ask(shelf, "No module named 'yaml'")
    held = next(each for each in envelope["fixes"] if each["held"])
    assert held["validity"]["state"] == "contradicted"
    assert held["validity"]["by"][0]["uri"] == "qmd://brain/c.md"
    assert any(line.startswith("  ! contradicted by “ModuleNotFoundError") for line in lines(envelope))


def test_friction_counts_every_failure_and_lists_the_fix_of_the_newest(shelf: Shelf) -> None:
    for number, name in enumerate("abc"):
        did(
            shelf, name, f"- Bash: pytest\n{MISSING}" * (number + 1), ago=number + 1, source="codex" if number else "pi"
        )
    did(shelf, "d", f"- Bash: pytest\n{MISSING}- Bash: pip install pyyaml\n- Bash: pytest\n", ago=8)
    (found,) = friction(shelf.home, shelf.config)["errors"]
    assert (found["failures"], found["sessions"], found["agents"]) == (7, 4, {"codex": 5, "pi": 1, "claude": 1})
    assert found["fix"]["validity"]["state"] == "contradicted"
