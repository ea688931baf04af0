"""A person's files below the home are distinguished from Brain's; only Brain's count as left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core import config
from core.document import render
from core.home import Home
from ops.backup import backup
from runtime.asking.documents import Selection
from runtime.capture import inbox
from runtime.capture.indexing import index
from runtime.forgetting import forget, verify_erasure

PHRASE = "vermilion gate"
PROBES = verify_erasure.spellings(PHRASE)


@pytest.fixture
def configured(home: Home) -> Home:
    """A home with the phrase in the third line of its configuration."""
    home.make()
    shipped = Path(config.load(home).path).read_text(encoding="utf-8")
    Path(home.path("collections.yml")).write_text(f"\n\n# not the Vermilion Gate\n{shipped}", encoding="utf-8")
    return home


def test_the_configuration_is_named_with_its_line_and_is_no_leftover(configured: Home) -> None:
    inbox.write(configured, f"The {PHRASE} opens.")
    index(configured, config.load(configured))
    before = Path(configured.path("collections.yml")).read_bytes()
    outcome = forget.carry_out(configured, forget.plan(configured, config.load(configured), Selection(), PHRASE))
    assert (outcome.documents, outcome.left, outcome.own) == (1, [], ["collections.yml:3"])
    assert Path(configured.path("collections.yml")).read_bytes() == before


def test_so_is_a_file_next_to_what_the_brain_keeps(home: Home) -> None:
    home.make()
    for name, text in (("list.txt", f"one\n{PHRASE}\n"), ("plans/next.md", f"# Next\n\n{PHRASE}\n")):
        path = Path(home.path(name))
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert verify_erasure.search(home, PROBES) == ([], ["list.txt:2", "plans/next.md:3"])


def test_a_phrase_over_a_lines_end_is_named_without_a_line(home: Home) -> None:
    home.make()
    Path(home.path("list.txt")).write_text("the vermilion\ngate\n", encoding="utf-8")
    assert verify_erasure.search(home, PROBES) == ([], ["list.txt"])


@pytest.mark.parametrize(
    "name",
    ["state/x.json", "logs/x.log", "raw/x", "inbox/x.txt", "kb-wiki/x.md", "index.sqlite-wal", ".1-0badcafe.tmp"],
)
def test_what_lies_where_the_brain_writes_is_left(configured: Home, name: str) -> None:
    path = Path(configured.path(name))
    path.parent.mkdir(exist_ok=True)
    path.write_text(PHRASE, encoding="utf-8")
    assert verify_erasure.search(configured, PROBES) == ([name], ["collections.yml:3"])


def test_a_document_of_the_brain_is_left_wherever_it_lies(home: Home) -> None:
    home.make()
    former = Path(home.path("papers", "a.md"))
    former.parent.mkdir()
    former.write_bytes(render({"session_id": "a", "source": "article"}, f"# A\n\n{PHRASE}\n"))
    assert verify_erasure.search(home, PROBES) == (["papers/a.md"], [])


def test_a_backup_counts_as_what_it_holds(configured: Home) -> None:
    inbox.write(configured, "Another gate.")
    path = Path(backup.make(configured, config.load(configured), verify=False)["path"])
    own = ["collections.yml:3", f"backups/{path.name}: collections.yml:3"]
    assert verify_erasure.search(configured, PROBES) == ([], own)
    before = path.read_bytes()
    assert backup.forget(configured, [], [], PROBES, anywhere=True) == []
    assert path.read_bytes() == before
    inbox.write(configured, f"The {PHRASE} opens.")
    second = Path(backup.make(configured, config.load(configured), verify=False)["path"])
    left, said = verify_erasure.search(configured, PROBES)
    assert (f"backups/{second.name}" in left, said) == (True, own)


def test_a_backup_elsewhere_says_so_of_itself(configured: Home, tmp_path: Path) -> None:
    path = backup.make(configured, config.load(configured), to=str(tmp_path / "disk"), verify=False)["path"]
    own: list[str] = []
    assert backup.forget(configured, [], [], PROBES, anywhere=True, own=own) == []
    assert own == [f"{path}: collections.yml:3"]


def test_what_a_restore_put_aside_is_gone_through_like_a_backup(configured: Home) -> None:
    aside = Home(configured.path("backups", "replaced-1"))
    inbox.write(aside, f"The {PHRASE} opens.")
    shutil.copy(configured.path("collections.yml"), aside.path("collections.yml"))
    index(aside, config.load(aside))
    assert backup.forget(configured, [], [], PROBES, anywhere=True) == []
    own = ["collections.yml:3", "backups/replaced-1/collections.yml:3"]
    assert verify_erasure.search(configured, PROBES) == ([], own)
