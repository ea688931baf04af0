from __future__ import annotations

from typing import Any

import pytest

from core.errors import BadQuery
from runtime.work.how import how, lines
from tests.runtime.index_fixture import Shelf
from tests.runtime.work.sessions import did


def ask(shelf: Shelf, *words: str, **within: Any) -> dict[str, Any]:
    return how(shelf.home, shelf.config, list(words), **within)


def commands(envelope: dict[str, Any]) -> list[str]:
    return [each["command"] for each in envelope["commands"]]


def test_what_succeeded_comes_first_with_how_often_it_failed(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: pytest\n  ! Exit code 1\n  ! ModuleNotFoundError: No module named 'x'\n", ago=3)
    did(shelf, "b", "- Bash: .venv/bin/pytest -q\n- Bash: .venv/bin/pytest -q | tail\n", ago=2)
    did(shelf, "c", "- Bash: .venv/bin/pytest -q\n  ! Exit code 1\n", ago=1)
    envelope = ask(shelf, "pytest")
    assert commands(envelope) == [".venv/bin/pytest -q", "pytest"]
    first, second = envelope["commands"]
    assert (first["ok"], first["failed"], first["unknown"]) == (1, 1, 1)
    assert first["uri"] == "qmd://brain/b.md"
    assert second["note"] == "ModuleNotFoundError: No module named 'x'"
    assert (envelope["runs"], envelope["failed"]) == (4, 2)


def test_this_project_comes_first(shelf: Shelf, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    did(shelf, "a", "- Bash: make old\n", ago=9, project=str(tmp_path))
    did(shelf, "b", "- Bash: make new\n", ago=1)
    assert commands(ask(shelf, "make")) == ["make new", "make old"]
    monkeypatch.chdir(tmp_path)
    assert commands(ask(shelf, "make")) == ["make old", "make new"]


def test_words_projects_and_days_restrict(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: git rebase main\n- Bash: git status\n", ago=9)
    did(shelf, "b", "- Bash: git rebase dev\n", ago=1, project="/u/x/web")
    assert commands(ask(shelf, "git", "rebase")) == ["git rebase dev", "git rebase main"]
    assert commands(ask(shelf, "git rebase", project="web")) == ["git rebase dev"]
    assert commands(ask(shelf, "git", since=shelf_day(2))) == ["git rebase dev"]


def shelf_day(ago: int) -> int:
    from core import clock

    return clock.now() - ago * 86_400


def test_a_program_within_a_command_line_is_found_and_a_word_is_no_program(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: make build && docker push x\n- Bash: git add docker/Dockerfile\n")
    assert commands(ask(shelf, "docker")) == ["make build && docker push x"]


def test_nothing_is_an_answer(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: make\n")
    envelope = ask(shelf, "cargo")
    assert (envelope["ok"], envelope["error"], envelope["commands"]) == (True, "no_results", [])
    assert lines(envelope) == ["No session ran cargo."]
    with pytest.raises(BadQuery):
        ask(shelf)


def test_a_secret_that_an_old_policy_let_pass_is_not_shown(shelf: Shelf) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    did(shelf, "a", f"- Bash: curl -H 'Authorization: token {key}' https://api.example.org\n")
    shelf.sql("UPDATE brain_facts SET policy = 0")
    assert key not in str(ask(shelf, "curl"))


@pytest.mark.parametrize("secret", ["gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8", "password=hunter2Xy"])
def test_a_secret_in_a_question_is_not_repeated(shelf: Shelf, secret: str) -> None:
    did(shelf, "a", "- Bash: make old\n")
    envelope = ask(shelf, "make", secret)
    assert secret not in str(envelope), envelope
    assert secret not in "\n".join(lines(envelope))


def test_a_command_whose_last_run_failed_is_contradicted_by_it(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: make deploy\n- Bash: make lint\n", ago=3)
    did(shelf, "b", "- Bash: make deploy\n  ! Exit code 2\n  ! error: no such cluster\n- Bash: make lint\n", ago=1)
    envelope = ask(shelf, "make")
    found = {each["command"]: each["validity"] for each in envelope["commands"]}
    assert found["make lint"] == {"state": "current", "by": []}
    assert found["make deploy"]["state"] == "contradicted"
    assert found["make deploy"]["by"][0]["text"] == "error: no such cluster"
    assert any("contradicted by" in line for line in lines(envelope))


def test_a_command_that_never_succeeded_is_of_unknown_validity(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: make deploy\n  ! Exit code 2\n  ! error: no such cluster\n", ago=3)
    assert ask(shelf, "make")["commands"][0]["validity"]["state"] == "unknown"


def test_commands_of_two_projects_are_counted_apart(shelf: Shelf) -> None:
    did(shelf, "a", "- Bash: make lint\n- Bash: make lint\n", ago=2)
    did(shelf, "b", "- Bash: make lint\n  ! Exit code 2\n", ago=1, project="/u/x/web")
    found = {each["project"]: (each["ok"], each["failed"]) for each in ask(shelf, "make")["commands"]}
    assert found == {"/u/x/api": (2, 0), "/u/x/web": (0, 1)}


def test_a_limit_is_filled_from_as_many_projects_as_it_needs(shelf: Shelf) -> None:
    for number in range(7):
        calls = "".join(f"- Bash: make t{number}{each}\n" for each in range(6 if number < 2 else 1))
        did(shelf, f"s{number}", calls, ago=number + 1, project=f"/u/x/p{number}")
    envelope = ask(shelf, "make", limit=10)
    places = [each["project"].rpartition("/")[2] for each in envelope["commands"]]
    assert places == ["p0"] * 4 + ["p1"] * 4 + ["p2", "p3"]
    assert (envelope["runs"], envelope["different"]) == (17, 17)
    assert len(ask(shelf, "make", limit=17)["commands"]) == 17
    inside = ask(shelf, "make", limit=10, project="p1")
    assert ([each["project"] for each in inside["commands"]], inside["different"]) == (["/u/x/p1"] * 6, 6)
