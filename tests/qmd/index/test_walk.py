from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.errors import BadInput
from qmd.index.update import Entry, matcher, split_mask, walk
from tests.qmd.corpus import Folder


def _make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def _found(folder: Folder) -> list[str]:
    failures: list[tuple[str, OSError]] = []
    found = [entry.relative for entry in walk(folder, lambda path, error: failures.append((path, error)))]
    assert failures == []
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a collection."""
    place = tmp_path / "notes"
    place.mkdir()
    return place


def test_files_come_in_a_fixed_order_with_their_stat(root: Path) -> None:
    _make(root, "b.md", "a.md", "c/z.md", "a/y.md", "a.txt")
    entries: list[Entry] = list(walk(Folder(root)))
    assert [entry.relative for entry in entries] == ["a.md", "b.md", "a/y.md", "c/z.md"]
    assert entries[2].path == str(root / "a" / "y.md")
    assert entries[2].status.st_ino == (root / "a" / "y.md").stat().st_ino


def test_dot_segments_and_build_folders_are_left_out(root: Path) -> None:
    _make(root, ".hidden.md", ".git/a.md", ".x/a.md", "a/.b/c.md", "kept/a.md", "my.build/a.md", "vendor.md")
    for name in ("node_modules", "vendor", "dist", "build"):
        _make(root, f"{name}/a.md", f"deep/{name}/a.md")
    assert _found(Folder(root)) == ["vendor.md", "kept/a.md", "my.build/a.md"]


def test_links_are_not_followed(root: Path, tmp_path: Path) -> None:
    _make(root, "a.md", "folder/b.md")
    _make(tmp_path, "outside.md", "elsewhere/c.md")
    (root / "file.md").symlink_to(tmp_path / "outside.md")
    (root / "dangling.md").symlink_to(tmp_path / "nowhere.md")
    (root / "tree").symlink_to(tmp_path / "elsewhere")
    (root / "folder" / "loop").symlink_to(root)
    (root / "tree.md").symlink_to(tmp_path / "elsewhere")
    assert _found(Folder(root)) == ["a.md", "folder/b.md"]


def test_the_folder_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    _make(root, "a.md")
    (tmp_path / "link").symlink_to(root)
    assert _found(Folder(tmp_path / "link")) == ["a.md"]


def test_what_is_no_regular_file_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(root, "a.md", "folder.md/b.md")
    os.mkfifo(root / "fifo.md")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
        assert _found(Folder(root)) == ["a.md", "folder.md/b.md"]


def test_any_name_that_is_text_is_found(root: Path) -> None:
    names = sorted(
        ["new\nline.md", "emoji 🎉.md", "e\u0301.md", "\u00e9.md", "漢字.md", "a,b.md", "[x].md", "{y}.md", "\\.md"]
    )
    _make(root, *names)
    assert _found(Folder(root)) == names


def test_a_name_of_other_bytes_is_reported_and_stops_nothing(root: Path) -> None:
    _make(root, "a.md")
    try:
        with open(os.fsencode(root) + b"/bad\xff.md", "wb") as stream:
            stream.write(b"x")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    failures: list[tuple[str, OSError]] = []
    assert [entry.relative for entry in walk(Folder(root), lambda *failure: failures.append(failure))] == ["a.md"]
    ((path, error),) = failures
    assert path == f"{root}/bad\\udcff.md"
    assert error.errno == errno.EILSEQ
    assert [entry.relative for entry in walk(Folder(root))] == ["a.md"]


def test_files_and_folders_that_vanish_are_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(root, "a.md", "b.md", "c/d.md", "e/f.md")
    real = os.scandir

    def scandir(path: str) -> object:
        listing = real(path)
        if path == str(root):
            entries = list(listing)
            (root / "b.md").unlink()
            (root / "c" / "d.md").unlink()
            (root / "c").rmdir()
            return _Listing(entries)
        return listing

    monkeypatch.setattr(os, "scandir", scandir)
    assert _found(Folder(root)) == ["a.md", "e/f.md"]


class _Listing(list["os.DirEntry[str]"]):
    def __enter__(self) -> _Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


def test_a_folder_that_cannot_be_listed_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(root, "a.md", "secret/b.md", "z/c.md")
    real = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    failures: list[tuple[str, OSError]] = []
    found = [entry.relative for entry in walk(Folder(root), lambda *failure: failures.append(failure))]
    assert found == ["a.md", "z/c.md"]
    assert [(path, error.strerror) for path, error in failures] == [(str(root / "secret"), "Permission denied")]


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_collection_that_is_no_folder_is_an_error(tmp_path: Path, name: str) -> None:
    _make(tmp_path, "file")
    with pytest.raises(OSError, match=name):
        list(walk(Folder(tmp_path / name)))


def test_a_thousand_levels_are_walked(root: Path) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("a.md", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        assert _found(Folder(root)) == ["d/" * 1000 + "a.md"]
    finally:  # pytest's own cleaning recurses
        subprocess.run(["rm", "-r", str(root)], check=True)


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        ((), ["a.md", "drafts/b.md", "drafts/old/c.md", "sub/drafts/d.md"]),
        (("drafts/**",), ["a.md", "sub/drafts/d.md"]),
        (("drafts",), ["a.md", "sub/drafts/d.md"]),
        (("drafts/",), ["a.md", "sub/drafts/d.md"]),
        (("**/drafts/**",), ["a.md"]),
        (("drafts/*",), ["a.md", "sub/drafts/d.md"]),
        (("**/{b,c}.md",), ["a.md", "sub/drafts/d.md"]),
        (("a.md", "sub/**"), ["drafts/b.md", "drafts/old/c.md"]),
        (("*.md",), ["drafts/b.md", "drafts/old/c.md", "sub/drafts/d.md"]),
        (("**",), []),
    ],
)
def test_globs_ignore_files_and_folders(root: Path, ignore: tuple[str, ...], left: list[str]) -> None:
    _make(root, "a.md", "drafts/b.md", "drafts/old/c.md", "sub/drafts/d.md")
    assert _found(Folder(root, ignore=ignore)) == left


def test_an_ignored_folder_is_not_even_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _make(root, "a.md", "drafts/b.md")
    real = os.scandir
    listed: list[str] = []

    def scandir(path: str) -> object:
        listed.append(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert _found(Folder(root, ignore=("drafts/**",))) == ["a.md"]
    assert listed == [str(root)]


@pytest.mark.parametrize(
    ("mask", "yes", "no"),
    [
        ("**/*.md", ["a.md", "b/c.md"], ["a.txt", "a.MD", "md"]),
        ("*.md", ["a.md"], ["b/c.md"]),
        ("**/*.{md,txt}", ["a.md", "b/c.txt"], ["a.rst", "a.mdx"]),
        ("{docs,notes}/**/*.md", ["docs/a.md", "notes/b/c.md"], ["a.md", "other/a.md"]),
        ("{a,{b,c}}.md", ["a.md", "b.md", "c.md"], ["d.md"]),
        ("docs/**", ["docs/a", "docs/b/c", "docs/"], ["docs2/a", "a/docs/b"]),
        ("a/**/b.md", ["a/b.md", "a/c/d/b.md"], ["ab.md", "b.md"]),
        ("?.md", ["a.md", "é.md", "\n.md"], ["ab.md", "/.md"]),
        ("[a-c].md", ["b.md"], ["d.md", "-.md"]),
        ("[!a-c].md", ["d.md"], ["a.md", "/.md"]),
        ("[]x].md", ["].md", "x.md"], ["a.md"]),
        ("*", ["a", "a.md"], ["", "a/b"]),
        ("**", ["a", "a/b"], []),
        ("@(a|b).md", ["a.md", "b.md"], ["ab.md", "c.md"]),
        ("+(ab).md", ["ab.md", "abab.md"], [".md", "aba.md"]),
        ("?(a)b.md", ["ab.md", "b.md"], ["aab.md"]),
        ("*(a)b.md", ["aab.md", "b.md"], ["cb.md"]),
        ("**/!(index).md", ["a.md", "b/indexes.md"], ["index.md", "b/index.md"]),
        ("**/*.md,!drafts/**", ["a.md"], ["drafts/a.md", "drafts/"]),
        ("!a.md", [], ["a.md", "b.md"]),
        ("./a/*.md", ["a/b.md"], ["b.md"]),
        (r"\*.md", ["*.md"], ["a.md"]),
        ("a.b.md", ["a.b.md"], ["aXb.md"]),
        ("{a}.md", ["{a}.md"], ["a.md"]),
        ("[a.md", ["[a.md"], ["a.md"]),
        ("(a).md", ["(a).md"], ["a.md"]),
        ("{a,b.md", ["{a,b.md"], ["a", "b.md"]),
    ],
)
def test_a_mask_matches_what_it_says(mask: str, yes: list[str], no: list[str]) -> None:
    matches = matcher(mask)
    assert [path for path in yes if not matches(path)] == []
    assert [path for path in no if matches(path)] == []


@given(st.text("ab*?[]{}()|!+@,./\\-^ \n", max_size=14), st.text("ab./\n", max_size=8))
@example("*(", "a")
@example("[+--a]", "-")
@example("[--]", "-")
@example("!(!(!(!(!(!(a))))))b", "aaaa")
def test_any_mask_matches_or_is_refused(mask: str, path: str) -> None:
    with contextlib.suppress(BadInput):
        assert matcher(mask)(path) in (True, False)


@given(st.text(st.characters(exclude_characters="\\*?[]{}()!,+@/", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_a_mask_without_signs_matches_itself_only(name: str) -> None:
    name = name.strip() or "x"
    assert matcher(name)(name)
    assert matcher(f"*/{name}")(f"a/{name}")
    assert not matcher(name)(name + "x")


@pytest.mark.parametrize("mask", ["[z-a].md", "{" * 2000 + "a,b" + "}" * 2000])
def test_a_mask_that_cannot_be_read_is_an_input_error(mask: str) -> None:
    with pytest.raises(BadInput, match="is no glob"):
        matcher(mask)


@given(st.text("ab,{}[] ", max_size=20))
def test_splitting_a_mask_loses_nothing_but_commas_and_space(mask: str) -> None:
    parts = split_mask(mask)
    assert parts
    if parts != [mask]:
        kept = "".join(parts).replace(" ", "").replace(",", "")
        assert kept == mask.replace(" ", "").replace(",", "")
        assert all(part == part.strip() != "" for part in parts)
