"""What is forgotten stays away in every shape in which it lies elsewhere: a clone, a copy, another collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core import config
from core.home import Home
from core.tombstones import Tombstones
from runtime import articles, forget
from runtime.export import Selection
from runtime.indexing import index
from tests.ingest.test_git import Repository

NEXT = "2026-04-29T09:00:00+00:00"


def run(home: Home, *roots: Path) -> None:
    index(home, config.load(home), source="git", roots=[str(root) for root in roots])


def gone(home: Home, *references: str, match: str = "") -> int:
    found = forget.plan(home, config.load(home), Selection(references=list(references)), match)
    outcome = forget.carry_out(home, found)
    assert outcome.left == []
    return outcome.documents


def days(home: Home) -> set[str]:
    folder = Path(home.path("git"))
    return {str(path.relative_to(folder)) for path in folder.rglob("*.md")}


def test_a_forgotten_day_of_commits_stays_away_in_every_folder_that_shows_them(home: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit("The quicksilver ledger")
    repository.commit("Something harmless", at=NEXT)
    run(home, repository.root)
    assert gone(home, match="quicksilver ledger") == 1
    repository.git("clone", "-q", str(repository.root), str(tmp_path / "clone"))
    repository.git("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    run(home, tmp_path / "clone", tmp_path / "tree")
    assert not any(name.endswith("2026-04-28.md") for name in days(home))
    assert "clone/2026-04-29.md" in days(home)
    assert forget.forgotten(home) == [("git", "project:2026-04-28")]
    assert b"quicksilver" not in Path(home.state, "tombstones.json").read_bytes()
    # Another repository's same day is another day.
    stranger = Repository(tmp_path / "stranger")
    stranger.commit("What somebody else did")
    run(home, stranger.root)
    assert "stranger/2026-04-28.md" in days(home)


def test_the_same_day_of_a_clone_goes_along_and_both_come_back_when_it_is_lifted(home: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit("One")
    repository.git("clone", "-q", str(repository.root), str(tmp_path / "clone"))
    run(home, repository.root, tmp_path / "clone")
    assert len(days(home)) == 2
    assert gone(home, "qmd://git/project/2026-04-28.md") == 2
    forget.unforget(home, ["qmd://git/clone/2026-04-28.md"])
    run(home, repository.root, tmp_path / "clone")
    assert days(home) == set(), "the other one's tombstone has the same commits"
    forget.unforget(home, ["project:2026-04-28"])
    assert Tombstones(home).marks() == []
    run(home, repository.root, tmp_path / "clone")
    assert len(days(home)) == 2


def added(home: Home, place: Path, collection: str = "kb-raw") -> dict[str, Any]:
    return articles.add(home, config.load(home), [str(place)], collection=collection)


def test_a_copy_of_a_forgotten_article_stays_away_until_it_is_named(home: Home, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / f"{folder.name}.md").write_text("# Walrus\n\nOn the quicksilver ice.\n", encoding="utf-8")
    (second / "other.md").write_text("# Otter\n\nIn kelp.\n", encoding="utf-8")
    added(home, first)
    added(home, first, "kb-wiki")
    assert gone(home, match="quicksilver ice") == 2
    report = added(home, second)
    assert (report["added"], report["forgotten"]) == (1, 1)
    assert b"quicksilver" not in b"".join(path.read_bytes() for path in Path(home.path("kb-raw")).glob("*.md"))
    assert added(home, second / "second.md")["added"] == 1
    assert added(home, second)["forgotten"] == 0
    assert added(home, first)["forgotten"] == 1, "its own place was not named"


def test_lifting_an_articles_tombstone_lets_its_copies_in(home: Home, tmp_path: Path) -> None:
    first = tmp_path / "first"
    first.mkdir()
    (first / "a.md").write_text("# Walrus\n\nOn ice.\n", encoding="utf-8")
    added(home, first)
    assert gone(home, match="walrus") == 1
    ((source, unit),) = forget.forgotten(home)
    assert (source, len(json.loads(Path(home.state, "tombstones.json").read_text())["forgotten"])) == ("article", 2)
    forget.unforget(home, [unit])
    assert Tombstones(home).marks() == []
    assert added(home, first)["added"] == 1
