"""A forgotten text is found, and stays away, in every shape: a clone, a copy, other white space, half a file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from core import config
from core.files import LIVELY_S
from core.home import Home
from core.tombstones import Tombstones, by_content, is_by_content
from ingest.archive import archive
from ingest.identity import Meant
from ingest.pipeline import pulse as ingest_pulse
from runtime.asking.documents import Selection
from runtime.capture import articles, inbox
from runtime.capture.indexing import index
from runtime.forgetting import forget, verify_erasure
from tests.ingest.sources.test_git import Repository
from tests.ingest.transcripts import SESSION, Script, save, tool

NEXT = "2026-04-29T09:00:00+00:00"


def run(home: Home, *roots: Path) -> None:
    index(home, config.load(home), source="git", roots=[str(root) for root in roots])


def held(home: Home) -> list[str]:
    return [path.read_text("utf-8") for name in ("git", "code") for path in Path(home.path(name)).rglob("*.md")]


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


def test_a_tombstone_without_digests_gets_them_where_what_it_means_is_read(home: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    (repository.root / "bird.py").write_text("def pelican():\n    return 1\n")
    repository.commit("The quicksilver ledger", name="fish.py")
    repository.git("add", "bird.py")
    repository.commit("The pelican", name="fish.py")
    for source in ("git", "code"):
        index(home, config.load(home), source=source, roots=[str(repository.root)])
        assert gone(home, match="pelican") > 0
    bare = [mark for mark in Tombstones(home).marks() if not is_by_content(mark)]
    whole = Tombstones(home).marks()
    Tombstones(home).lift(whole)
    Tombstones(home).add(bare)
    for source in ("git", "code"):
        index(home, config.load(home), source=source, roots=[str(repository.root)])
    assert Tombstones(home).marks() == whole
    repository.git("clone", "-q", str(repository.root), str(tmp_path / "clone"))
    for source in ("git", "code"):
        index(home, config.load(home), source=source, roots=[str(tmp_path / "clone")])
    assert not any("pelican" in text for text in held(home))


def test_a_repository_that_is_called_what_is_forgotten_leaves_no_name(home: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "acme-corp")
    repository.commit("Something harmless", name="fish.py")
    (repository.root / "bird.py").write_text("def pelican():\n    return 1\n")
    other = Repository(tmp_path / "other")
    other.commit("Another matter", name="acme-corp-notes.md")

    def read(*names: str) -> None:
        for source in ("git", "code"):
            roots = [str(tmp_path / name) for name in names]
            index(home, config.load(home), source=source, roots=roots)

    read("acme-corp", "other")
    (before,) = [path.read_bytes() for path in Path(home.path("git", "acme-corp")).iterdir()]
    found = forget.plan(home, config.load(home), Selection(), "acme-corp")
    assert forget.carry_out(home, found).left == []
    assert subprocess.run(["grep", "-rai", "acme-corp", home.root], check=False).returncode == 1
    assert not [path for path in Path(home.root).rglob("*") if "acme-corp" in path.name]
    assert Meant(Tombstones(home).marks()).covers(before)
    shutil.copytree(repository.root, tmp_path / "clone")
    read("acme-corp", "clone")
    assert not any("harmless" in text or "pelican" in text for text in held(home))
    lifted = forget.unforget(home, ["acme-corp:2026-04-28"])
    assert [source for source, _ in lifted] == ["git"]
    read("acme-corp")
    assert any("harmless" in text for text in held(home))


def test_a_file_of_code_that_is_called_what_is_forgotten_leaves_no_name(home: Home, tmp_path: Path) -> None:
    repository = tmp_path / "project"
    repository.mkdir()
    (repository / "acme_corp.py").write_text("def pelican():\n    return 1\n")
    (repository / "fish.py").write_text("def otter():\n    return 2\n")
    index(home, config.load(home), source="code", roots=[str(repository)])
    found = forget.plan(home, config.load(home), Selection(), "acme_corp")
    assert forget.carry_out(home, found).left == []
    for trust_stat in (True, False):
        index(home, config.load(home), source="code", roots=[str(repository)], trust_stat=trust_stat)
        assert ["otter" in text for text in held(home)] == [True]
        assert verify_erasure.find(home, verify_erasure.spellings("acme_corp")) == []


def test_the_same_day_of_a_clone_is_forgotten_too_and_both_come_back(home: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit("One")
    repository.git("clone", "-q", str(repository.root), str(tmp_path / "clone"))
    run(home, repository.root, tmp_path / "clone")
    assert len(days(home)) == 2
    assert gone(home, "qmd://git/project/2026-04-28.md") == 2
    run(home, repository.root, tmp_path / "clone")
    assert days(home) == set()
    lifted = forget.unforget(home, ["qmd://git/clone/2026-04-28.md"])
    assert sorted(lifted) == [("git", "clone:2026-04-28"), ("git", "project:2026-04-28")], "both keep both away"
    assert Tombstones(home).marks() == []
    run(home, repository.root, tmp_path / "clone")
    assert len(days(home)) == 2


def test_commits_that_were_never_forgotten_stay(home: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit("The quicksilver ledger")
    run(home, repository.root)
    clone = Repository(tmp_path / "clone")
    clone.git("pull", "-q", str(repository.root), "main")
    clone.commit("The walrus of the clone", name="b.txt")
    assert gone(home, "qmd://git/project/2026-04-28.md") == 1
    ledgers = index(home, config.load(home), source="git", roots=[str(repository.root), str(clone.root)])
    assert days(home) == {"clone/2026-04-28.md"}
    told = Path(home.path("git", "clone", "2026-04-28.md")).read_text(encoding="utf-8")
    assert "walrus" in told
    assert "quicksilver" not in told
    assert "'forgotten': 2" in str(ledgers), "in either folder"


def test_a_related_day_comes_back_without_the_forgotten_text(home: Home, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.commit("The quicksilver ledger")
    clone = Repository(tmp_path / "clone")
    clone.git("pull", "-q", str(repository.root), "main")
    clone.commit("The walrus of the clone", name="b.txt")
    run(home, repository.root, clone.root)
    clone.root.rename(tmp_path / "unplugged")
    found = forget.plan(home, config.load(home), Selection(references=["qmd://git/project/2026-04-28.md"]))
    outcome = forget.carry_out(home, found)
    assert (outcome.documents, outcome.left) == (2, [])
    [said] = [each for each in outcome.beyond if each.startswith("qmd://git/clone/2026-04-28.md had other commits")]
    assert said.endswith(f"`brain index --source git` makes it again of those, once {clone.root} is there again")
    assert forget.forgotten(home) == [("git", "project:2026-04-28")]
    assert days(home) == set()
    (tmp_path / "unplugged").rename(clone.root)
    run(home, repository.root, clone.root)
    assert days(home) == {"clone/2026-04-28.md"}
    told = Path(home.path("git", "clone", "2026-04-28.md")).read_text(encoding="utf-8")
    assert ("walrus" in told, "quicksilver" in told) == (True, False)


def test_a_day_in_a_copy_is_meant_by_tombstones_of_all_its_commits_alone() -> None:
    text = "---\nsource: git\nsession_id: clone:2026-04-28\n---\n"
    data = (text + "".join(f"\n`{digit * 12}` · Ada\n" for digit in "ab")).encode()
    one, two = (by_content("git", f"{name}:2026-04-28", [name * 12]) for name in "ab")
    assert not Meant([one]).covers(data)
    assert Meant([one, two]).covers(data)


def test_a_day_goes_when_another_home_has_forgotten_the_last_of_its_commits(home: Home) -> None:
    one, two = (by_content("git", f"{name}:2026-04-28", [name * 12]) for name in "ab")
    path = Path(home.path("git", "clone", "2026-04-28.md"))
    path.parent.mkdir(parents=True)
    text = "".join(f"\n`{digit * 12}` · Ada\n" for digit in "ab")
    path.write_text(f"---\nsource: git\nsession_id: clone:2026-04-28\n---\n{text}", encoding="utf-8")
    assert (forget.obey(home, [one]), path.exists()) == (0, True)
    assert (forget.obey(home, [two]), path.exists()) == (1, False)


def test_a_second_digest_of_a_forgotten_unit_is_unknown(home: Home) -> None:
    home.make()
    held = Tombstones(home)
    held.add([("git", "p:2026-04-28"), by_content("git", "p:2026-04-28", ["a" * 12])])
    assert held.covers(*by_content("git", "p:2026-04-28", ["a" * 12]))
    assert not held.covers(*by_content("git", "p:2026-04-28", ["b" * 12]))


def test_a_forgotten_symbol_stays_away_in_a_clone_at_any_place_of_its_file(home: Home, tmp_path: Path) -> None:
    def read(name: str, text: str) -> int:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "a.py").write_text(text, encoding="utf-8")
        index(home, config.load(home), source="code", roots=[str(folder)])
        return len(list(Path(home.path("code")).rglob("*.md")))

    function, other = "def quick():\n    return 'silver'\n", "def slow():\n    return 'lead'\n"
    assert read("project", f"{function}\n\n{other}") == 2
    assert read("clone", f"{function}\n\n{other}") == 4
    (symbol,) = Path(home.path("code", "project")).glob("*quick*.md")
    assert gone(home, f"qmd://code/project/{symbol.name}") == 2
    assert read("third", f"{other}\n\n{function}") == 3
    assert read("fourth", "def quick():\n    return 'gold'\n") == 4, "another function of the same name"
    forget.unforget(home, [unit for _, unit in forget.forgotten(home)])
    assert read("third", f"{other}\n\n{function}") == 5


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


GAPS = ["   ", "\t", "\r\n   ", "\u00a0", " \u2003\n", r"\t", r"\n   ", r"\r\n", r"\u00a0", r"\\n", r"\\u00A0 "]


@pytest.mark.parametrize("gap", GAPS)
def test_white_space_in_raw_files_is_any_white_space_as_it_is_or_escaped(
    home: Home, claude_root: Path, gap: str
) -> None:
    script = Script()
    save(
        claude_root / "projects" / "-home-me-api" / f"{SESSION}.jsonl",
        script.user("Run it."),
        script.assistant(tool("Bash", "t9", command="cat notes")),
        script.result("t9", f"x ZANZIBAR{gap}contract y"),
    )
    index(home, config.load(home))
    assert b"zanzibar" not in b"".join(path.read_bytes().lower() for path in Path(home.path("brain")).glob("*.md"))
    assert verify_erasure.find(home, verify_erasure.spellings("Zanzibar  contract")) != []
    found = forget.plan(home, config.load(home), Selection(), "zanzibar contract")
    assert found.marks == [("claude", SESSION)]
    assert forget.carry_out(home, found).left == []
    assert archive.read(home, "claude") == {}


@pytest.mark.parametrize(
    "words", ["zanzibar or contract", "zanzibarcontract", r"zanzibar\contract", "contract zanzibar"]
)
def test_other_words_between_them_are_not_white_space(home: Home, words: str) -> None:
    home.make()
    Path(home.path("notes.txt")).write_text(words, encoding="utf-8")
    assert verify_erasure.find(home, verify_erasure.spellings("zanzibar contract")) == []


def test_a_gap_between_two_pieces_of_a_large_file_is_found(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_erasure, "_CHUNK", 32)
    home.make()
    Path(home.path("notes.txt")).write_text("-" * 20 + "zanzibar" + " " * 500 + "contract", encoding="utf-8")
    assert verify_erasure.find(home, verify_erasure.spellings("zanzibar contract")) == ["notes.txt"]


@pytest.mark.parametrize("word", ["zebra", "docsize"])
def test_words_of_the_indexes_own_schema_are_no_leftover_of_a_document(home: Home, word: str) -> None:
    home.make()
    note = Path(home.path("inbox/2026/01/20260101T100000Z-00000001.md"))
    note.parent.mkdir(parents=True)
    note.write_text(f"# We keep the {word} at home\n\nIt is nobody else's.\n", encoding="utf-8")
    index(home, config.load(home))
    assert word.encode() in Path(home.index).read_bytes().lower().replace(b"the " + word.encode(), b"")
    outcome = forget.carry_out(home, forget.plan(home, config.load(home), Selection(), word))
    assert not note.exists()
    assert outcome.left == []
    assert verify_erasure.find(home, verify_erasure.spellings(word)) == []


def test_words_of_the_configuration_are_no_leftover_of_a_document(home: Home) -> None:
    inbox.write(home, "Pay by stripe, as ever.")
    index(home, config.load(home))
    assert b"stripe" in Path(home.state, "config.cache").read_bytes()
    assert gone(home, match="stripe") == 1
    config.load(home)
    assert verify_erasure.find(home, verify_erasure.spellings("stripe")) == []
    shutil.copy(config.load(home).path, home.path("collections.yml"))
    assert verify_erasure.find(home, verify_erasure.spellings("stripe")) == ["collections.yml"]


def test_what_runs_left_of_it_goes_and_what_they_counted_stays(home: Home, claude_root: Path) -> None:
    folder = claude_root / "projects" / "-home-me-vermilion-gate"
    script = Script()
    odd = [{"type": kind, "sessionId": SESSION, "x": 1} for kind in ("vermilion-gate", "ochre-lamp")]
    save(folder / f"{SESSION}.jsonl", script.user("Where is the vermilion-gate?"), *odd)
    (folder / "torn.jsonl").write_text("vermilion-gate\n", encoding="utf-8")
    index(home, config.load(home))
    ledger, pulse = Path(home.state, "ledger", "claude.json"), Path(home.state, "pulse", "claude")
    assert b"vermilion-gate" in ledger.read_bytes()
    assert b"vermilion-gate" in pulse.read_bytes()
    seen = json.loads(ledger.read_bytes())["seen"]
    forget.carry_out(home, forget.plan(home, config.load(home), Selection(), "vermilion-gate"))
    after = json.loads(ledger.read_bytes())
    assert (after["seen"], after["failed"]) == (seen, [])
    assert b"vermilion-gate" not in ledger.read_bytes() + pulse.read_bytes()
    assert pulse.exists()
    assert ingest_pulse.news(home, None) == set()


def test_a_kind_of_record_of_another_file_stays_known(home: Home, claude_root: Path) -> None:
    script = Script()
    save(
        claude_root / "projects" / "p" / f"{SESSION}.jsonl",
        script.user("Where is the vermilion gate?"),
        {"type": "vermilion gate", "sessionId": SESSION, "x": 1},
        {"type": "ochre-lamp", "sessionId": SESSION, "x": 1},
    )
    index(home, config.load(home))
    assert gone(home, match="vermilion gate") == 1
    unknown = json.loads(Path(home.state, "ledger", "claude.json").read_bytes())["unknown"]
    assert list(unknown) == ["ochre-lamp"]


def test_what_a_killed_writer_left_is_forgotten_too(home: Home) -> None:
    inbox.write(home, "The vermilion gate.")
    index(home, config.load(home))
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        pass
    folder = Path(home.path("git", "project"))
    folder.mkdir(parents=True)
    left, own = folder / f".{dead.pid}-0badcafe.tmp", folder / f".{os.getpid()}-0badcafe.tmp"
    left.write_text("All of the vermilion gate.")
    own.write_text("What this process is writing.")
    for each in (left, own):
        os.utime(each, (time.time() - 2 * LIVELY_S,) * 2)
    assert gone(home, match="vermilion gate") == 1
    assert (left.exists(), own.exists()) == (False, True)


def test_what_is_being_written_elsewhere_is_named_and_goes_when_it_was_left(home: Home) -> None:
    inbox.write(home, "The vermilion gate.")
    index(home, config.load(home))
    with subprocess.Popen([sys.executable, "-c", ""]) as elsewhere:
        pass
    young = Path(home.root, f".{elsewhere.pid}-0badcafe.tmp")
    young.write_text("All of the vermilion gate.")
    outcome = forget.carry_out(home, forget.plan(home, config.load(home), Selection(), "vermilion gate"))
    assert outcome.left == [young.name]
    assert [line for line in outcome.beyond if young.name in line and "brain forget --match TEXT" in line]
    assert young.exists()
    os.utime(young, (time.time() - 2 * LIVELY_S,) * 2)
    assert forget.sweep(home, "vermilion gate") == ([], [])
    assert (young.exists(), verify_erasure.unsettled(home)) == (False, [])
