"""A project is named so that it can be told from others."""

from __future__ import annotations

import pytest

from runtime.asking.wording import project, project_name


@pytest.mark.parametrize(
    ("path", "name", "longer"),
    [
        ("/Users/mira/code/ferrypost", "ferrypost", "code/ferrypost"),
        ("/Users/mira/code/ferrypost/", "ferrypost", "code/ferrypost"),
        ("/code/cli/.worktrees/1", "cli/1", "cli/1"),
        ("/code/cli/.worktrees/mira/late-boats", "cli/late-boats", "cli/late-boats"),
        ("/code/cli/.claude/worktrees/agent-a4", "cli/agent-a4", "cli/agent-a4"),
        ("/code/worktrees", "worktrees", "code/worktrees"),
        (r"e:\code\github\gulls", "gulls", "github/gulls"),
        (r"/code/a\b", r"a\b", r"code/a\b"),
        ("gulls", "gulls", "gulls"),
        ("/", "/", "/"),
        ("", "", ""),
        (None, "", ""),
    ],
)
def test_a_project_is_named_by_the_end_of_its_path_and_a_work_tree_by_its_repository(
    path: str | None, name: str, longer: str
) -> None:
    assert (project_name(path), project(path)) == (name, longer)
