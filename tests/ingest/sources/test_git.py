"""Commits become a document a day, and a hostile repository runs nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from core.document import split
from core.errors import BadInput
from core.home import Home
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.repositories import Worked
from ingest.sources.git import source as git

DAY = "2026-04-28T23:30:00+05:30"


class Repository:
    """A repository or a work tree at ``root``, which is made if it does not exist; ``commit`` adds to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not root.exists():
            root.mkdir(parents=True)
            self.git("init", "-q", "-b", "main")

    def git(self, *words: str, at: str = DAY, author: str = "Ada Lovelace", ok: bool = True) -> None:
        environ = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_DATE": at for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_NAME": author for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "a@b.test" for who in ("AUTHOR", "COMMITTER")},
        }
        subprocess.run(["git", *words], cwd=self.root, env=environ, check=ok, capture_output=True)

    def commit(self, message: str, at: str = DAY, name: str = "a.txt", author: str = "Ada Lovelace") -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(message + at, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--cleanup=verbatim", "-m", message, at=at, author=author)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


def ingest(home: Home, *roots: Path, trust_stat: bool = True) -> Ledger:
    return run(home, "git", [str(root) for root in roots], trust_stat=trust_stat)


def held(home: Home) -> dict[str, str]:
    folder = Path(home.path("git"))
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md"))}


def test_a_day_lists_its_commits_in_order(home: Home, repository: Repository) -> None:
    repository.commit("Fix the race\n\nTwo tabs refreshed at once.\nSee #12.", name="sub dir/ü.py")
    repository.commit("Raise the limit", at="2026-04-28T09:05:00+05:30", author="Bo")
    repository.commit("Next day", at="2026-04-29T00:10:00+05:30")
    ledger = ingest(home, repository.root / "sub dir")
    assert list(held(home)) == ["project/2026-04-28.md", "project/2026-04-29.md"]
    meta, body = split(held(home)["project/2026-04-28.md"])
    assert meta == {
        "session_id": "project:2026-04-28",
        "source": "git",
        "title": "project on 2026-04-28: Raise the limit (+1)",
        "date": "2026-04-28T03:35:00Z",
        "ended": "2026-04-28T18:00:00Z",
        "project": str(repository.root),
        "repository": "project",
        "commits": 2,
        "authors": ["Bo", "Ada Lovelace"],
    }
    assert body.startswith("# Commits to project on 2026-04-28\n\n## 09:05 Raise the limit\n")
    assert "## 23:30 Fix the race\n" in body
    assert "\n\n> Two tabs refreshed at once.\n> See #12.\n\n- sub dir/ü.py\n" in body
    assert (ledger.seen, ledger.ingested, ledger.documents) == (1, 1, 2)


def test_documents_follow_edits_and_rewritten_history(home: Home, repository: Repository) -> None:
    repository.commit("One")
    repository.commit("Two", at="2026-05-01T10:00:00Z")
    ingest(home, repository.root)
    Path(home.path("git", "project", "2026-05-01.md")).write_text("edited", encoding="utf-8")
    ingest(home, repository.root, trust_stat=False)
    assert "Two" in held(home)["project/2026-05-01.md"]
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("On a branch", at="2026-05-02T10:00:00Z")
    repository.git("checkout", "-q", "main")
    repository.git("reset", "-q", "--hard", "HEAD~1")
    repository.git("branch", "-q", "-D", "side")
    ledger = ingest(home, repository.root)
    assert list(held(home)) == ["project/2026-04-28.md"]
    assert ledger.removed == 1


def test_hostile_messages_are_quoted_and_secrets_replaced(home: Home, repository: Repository) -> None:
    token = "ghp_" + "sekr1t8A" * 4 + "abcd"
    body = f"---\nsource: note\n---\n# Heading\n## [1] user\n```\n\x01{'a' * 40}\n\x1b[31mkey {token}"
    repository.commit(f"Subject \x1b]0;owned\x07 of it\n\n{body}", author="A\x1b[31mda")
    repository.commit("\n\n", at="2026-04-28T23:40:00+05:30")
    ledger = ingest(home, repository.root)
    (text,) = held(home).values()
    meta, shown = split(text)
    assert meta["source"] == "git"
    assert [line for line in shown.splitlines() if line.startswith("#")] == [
        "# Commits to project on 2026-04-28",
        "## 23:30 Subject of it",
        "## 23:40 no message",
    ]
    assert "\x1b" not in text
    assert "sekr1t8A" not in text
    assert ledger.redacted["github"] >= 1
    assert meta["commits"] == 2


def test_nothing_that_a_repository_names_is_run(home: Home, repository: Repository, tmp_path: Path) -> None:
    repository.commit("One")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    for name in ("core.pager", "core.fsmonitor", "diff.external", "gpg.program", "core.sshCommand", "pager.log"):
        repository.git("config", name, str(trap))
    for name, value in (("log.showSignature", "true"), ("diff.x.textconv", str(trap)), ("alias.log", f"!{trap}")):
        repository.git("config", name, value)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman"):
        (hooks / hook).symlink_to(trap)
    repository.git("config", "core.hooksPath", str(hooks))
    ingest(home, repository.root)
    assert list(held(home)) == ["project/2026-04-28.md"]
    assert not (tmp_path / "sprung").exists()


def test_folders_without_a_repository_are_skipped_and_broken_repositories_fail(home: Home, tmp_path: Path) -> None:
    empty = Repository(tmp_path / "empty")
    broken = Repository(tmp_path / "broken")
    broken.commit("One")
    (broken.root / ".git/HEAD").write_text("nonsense", encoding="utf-8")
    plain = tmp_path / "plain"
    plain.mkdir()
    ledger = ingest(home, empty.root, broken.root, plain, tmp_path / "gone" / "deep")
    assert ledger.skipped == {"no git repository": 2}
    assert (ledger.failed_files, ledger.failed[0]["reason"]) == (1, "no log")
    assert held(home) == {}
    with pytest.raises(BadInput, match="no session worked"):
        run(home, "git", trust_stat=True)


@pytest.fixture
def tree(repository: Repository, tmp_path: Path) -> Path:
    """Another work tree of the repository, on a branch of its own, with a commit of its own."""
    repository.commit("One")
    repository.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "wt"))
    other = Repository(tmp_path / "wt")
    other.commit("On the side", at="2026-05-02T10:00:00Z")
    return other.root


def test_work_trees_are_one_repository(home: Home, repository: Repository, tree: Path) -> None:
    (tree / "deep").mkdir()
    for roots in ([tree], [tree / "deep", repository.root], [repository.root, tree]):
        ledger = ingest(home, *roots)
        assert ledger.seen == 1
        assert list(held(home)) == ["project/2026-04-28.md", "project/2026-05-02.md"]
    assert split(held(home)["project/2026-05-02.md"])[0]["project"] == str(repository.root)


def test_a_work_tree_without_a_branch_is_read_while_it_is_there(home: Home, repository: Repository, tree: Path) -> None:
    other = Repository(tree)
    other.git("checkout", "-q", "--detach")
    other.commit("Of no branch", at="2026-05-03T10:00:00Z")
    ingest(home, repository.root)
    assert "project/2026-05-03.md" in held(home)
    (repository.root / ".git/worktrees/wt/HEAD").write_text(f"{'a' * 40}\n")  # a commit that nobody has
    assert ingest(home, repository.root).failed_files == 0
    assert "project/2026-05-03.md" not in held(home)


@pytest.mark.parametrize("is_gone", [False, True])
def test_documents_of_a_work_tree_are_replaced_by_the_repositorys(
    home: Home, repository: Repository, tree: Path, is_gone: bool
) -> None:
    inside = repository.root / ".claude" / "worktrees" / "wise-otter"
    repository.git("worktree", "add", "-q", "-b", "otter", str(inside))
    ingest(home, repository.root)
    with closing(apsw.Connection(str(Path(home.state) / git.FILE))) as state:
        for root in (tree, inside):  # as versions did that took each for a repository of its own
            state.execute("insert into repositories values(?, ?)", (os.fsencode(root), root.name))
            name = f"{root.name}/2026-04-28.md"
            state.execute("insert into documents values(?, ?, '')", (name, root.name))
            Path(home.path("git", root.name)).mkdir()
            Path(home.path("git", name)).write_text("---\n---\n")
    if is_gone:
        shutil.rmtree(inside)
    ledger = ingest(home, repository.root)
    assert list(held(home)) == ["project/2026-04-28.md", "project/2026-05-02.md"]
    assert (ledger.removed, ledger.documents) == (2, 2)


def test_a_file_that_only_points_at_a_repository_is_no_work_tree_of_it(
    home: Home, repository: Repository, tmp_path: Path
) -> None:
    repository.commit("One")
    liar = tmp_path / "liar"
    liar.mkdir()
    (liar / ".git").write_text(f"gitdir: {repository.root}/.git/worktrees/liar\n")
    ledger = ingest(home, liar)
    assert ledger.failed_files == 1
    assert held(home) == {}


def test_a_folder_of_repositories_gives_those_below_it(home: Home, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    for place in ("one", "deep/two", "node_modules/three", ".cache/four"):
        Repository(shelf / place).commit("One")
    Repository(shelf / "one" / "inner").commit("Inner")
    Repository(tmp_path / "five").commit("One")
    (shelf / "link").symlink_to(tmp_path / "five")
    ledger = ingest(home, shelf)
    assert list(held(home)) == ["one/2026-04-28.md", "two/2026-04-28.md"]
    assert ledger.seen == 2
    with pytest.raises(BadInput, match="no git repository"):
        ingest(home, shelf / "node_modules" / "nothing")


def test_a_folder_that_a_session_worked_in_is_not_looked_into(home: Home, tmp_path: Path) -> None:
    Repository(tmp_path / "shelf" / "one").commit("One")
    ledger = run(home, "git", Worked([str(tmp_path / "shelf")]), trust_stat=True)
    assert (ledger.skipped, held(home)) == ({"no git repository": 1}, {})


def test_a_repository_without_a_work_tree_is_read(home: Home, repository: Repository, tmp_path: Path) -> None:
    repository.commit("One")
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare" / "api.git"))
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "web" / ".bare"))
    (tmp_path / "web/.bare/HEAD").write_text("ref: refs/heads/gone\n")
    ingest(home, tmp_path / "bare", tmp_path / "web" / ".bare")
    assert list(held(home)) == ["api/2026-04-28.md", "web/2026-04-28.md"]


@pytest.mark.parametrize("rule", ["marker", "project", "marker, and the folder is gone"])
@pytest.mark.parametrize("stands", ["on its branch", "on none", "between", "amid a search"])
def test_commits_that_only_an_excluded_work_tree_has_are_not_read(
    home: Home, repository: Repository, tree: Path, stands: str, rule: str
) -> None:
    other = Repository(tree)
    if stands == "on none":
        other.git("checkout", "-q", "--detach", "main")
        other.git("branch", "-q", "-D", "side")
        other.commit("Of no branch", at="2026-05-02T10:00:00Z")
    elif stands == "between":
        other.commit("One more", at="2026-05-02T11:00:00Z")
        other.git(
            "-c", "sequence.editor=sed -i 1iedit", "rebase", "-q", "--no-ff", "-i", "--exec", "false", "HEAD~", ok=False
        )
        assert (repository.root / ".git/worktrees/wt/rebase-merge/head-name").exists()
    elif stands == "amid a search":
        other.commit("One more", at="2026-05-02T11:00:00Z")
        other.git("bisect", "start", "side", "main")
        other.git("checkout", "-q", "--detach", "main")
    repository.git("branch", "-q", "idle")
    assert "project/2026-05-02.md" in (ingest(home, repository.root), held(home))[1]
    if rule == "project":
        configuration = f"collections: {{git: {{path: git}}}}\nexclude: {{projects: ['{tree}']}}\n"
        Path(home.path("collections.yml")).write_text(configuration)
    else:
        (tree / ".brain-ignore").touch()
    for _ in range(2):
        for roots in ([repository.root], [repository.root, tree]):
            assert ingest(home, *roots).failed_files == 0
            assert list(held(home)) == ["project/2026-04-28.md"]
        if "gone" in rule:
            shutil.rmtree(tree, ignore_errors=True)


def test_a_branch_of_an_excluded_work_tree_is_read_if_another_has_it_too(
    home: Home, repository: Repository, tree: Path, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "-q", "--force", str(tmp_path / "wt2"), "side")
    (tree / ".brain-ignore").touch()
    ingest(home, repository.root)
    assert list(held(home)) == ["project/2026-04-28.md", "project/2026-05-02.md"]


def test_a_bare_repository_hides_the_branch_of_an_excluded_work_tree(
    home: Home, repository: Repository, tmp_path: Path
) -> None:
    repository.commit("One")
    repository.git("branch", "-q", "other")
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "api.git"))
    bare = Repository(tmp_path / "api.git")
    bare.git("worktree", "add", "-q", str(tmp_path / "private"), "main")
    private = Repository(tmp_path / "private")
    private.commit("Hidden", at="2026-05-02T10:00:00Z")
    (private.root / ".brain-ignore").touch()
    ingest(home, bare.root)
    assert list(held(home)) == ["api/2026-04-28.md"]


@pytest.mark.parametrize("rule", ["project", "marker", "above", "bare name"])
def test_an_excluded_repository_brings_nothing_new(
    home: Home, repository: Repository, tree: Path, tmp_path: Path, rule: str
) -> None:
    ingest(home, tree)
    before = held(home)
    projects = {"project": f"'{repository.root}'", "bare name": "project"}.get(rule)
    if projects:
        configuration = f"collections: {{git: {{path: git}}}}\nexclude: {{projects: [{projects}]}}\n"
        Path(home.path("collections.yml")).write_text(configuration)
    else:
        (repository.root if rule == "marker" else tmp_path).joinpath(".brain-ignore").touch()
    repository.commit("Hidden", at="2026-05-09T10:00:00Z")
    for roots in ([repository.root], [tree], [tmp_path]):
        ledger = ingest(home, *roots)
        assert ledger.skipped == {"excluded: project" if projects else "excluded: .brain-ignore": 1}
    assert held(home) == before


def test_a_marker_in_one_work_tree_does_not_exclude_the_others(home: Home, repository: Repository, tree: Path) -> None:
    (tree / ".brain-ignore").touch()
    assert ingest(home, tree).skipped == {"excluded: .brain-ignore": 1}
    assert ingest(home, tree, repository.root).ingested == 1


def test_a_branch_that_is_called_after_a_secret_is_kept_nowhere_and_noticed_when_it_moves(
    home: Home, repository: Repository
) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    repository.commit("first")
    repository.git("checkout", "-q", "-b", token)
    ingest(home, repository.root)
    repository.commit("second", name="b.txt")
    assert ingest(home, repository.root).ingested == 1
    assert ingest(home, repository.root).unchanged == 1
    kept = b"\n".join(path.read_bytes() for path in Path(home.root).rglob("*") if path.is_file())
    assert token.encode() not in kept


def test_a_deleted_clone_is_recognised_by_its_commits(
    home: Home, repository: Repository, tree: Path, tmp_path: Path
) -> None:
    repository.git("clone", "-q", ".", str(tmp_path / "gone"))  # what an older version took a work tree for
    repository.git("clone", "-q", ".", str(tmp_path / "more"))
    other = Repository(tmp_path / "more")
    other.commit("Of the clone alone")
    ingest(home, tmp_path / "gone", tmp_path / "more")
    for name in ("gone", "more"):
        shutil.rmtree(tmp_path / name)
    ingest(home, repository.root)
    assert {name.partition("/")[0] for name in held(home)} == {"project", "more"}
