"""``qmd update`` over unusual files: it reports what it leaves out, and indexes the rest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.home import Home
from qmd.index import update
from tests.conftest import Brain
from tests.qmd.app.world import Qmd, write

ROOT = Path(__file__).resolve().parent.parent.parent.parent


def _counts(line: str) -> str:
    return next(each.removeprefix("Indexed: ") for each in line.splitlines() if each.startswith("Indexed: "))


def test_the_brains_own_collections_are_updated_by_the_same_command(home: Home, brain: Brain) -> None:
    Path(home.path("collections.yml")).write_text("collections: {notes: {path: notes}, gone: {path: gone}}\n")
    write(Path(home.path("notes")), {"a b 😀.md": "# A\n\nwalrus\n", "c.md": b"# C\n\nwalrus \xff\x00\n"})
    done = brain("qmd", "--brain", "update")
    assert done.returncode == 0
    assert _counts(done.stdout) == "2 new, 0 updated, 0 unchanged, 0 removed"
    assert f"Collection folder is missing: {home.path('gone')} (its documents are kept)" in done.stderr
    assert "qmd://notes/a b 😀.md" in brain("qmd", "--brain", "search", "walrus", "--files").stdout


def test_documents_of_a_missing_folder_are_kept_until_it_comes_back(notes: Path, qmd: Qmd) -> None:
    notes.rename(notes.parent / "elsewhere")
    done = qmd("update")
    assert (done.code, _counts(done.out)) == (0, "0 new, 0 updated, 0 unchanged, 0 removed")
    assert f"Collection folder is missing: {notes}" in done.err
    assert "qmd://notes/plan.md" in qmd("search", "hourly", "--files").out
    (notes.parent / "elsewhere").rename(notes)
    assert _counts(qmd("update").out) == "0 new, 0 updated, 3 unchanged, 0 removed"
    assert "qmd://notes/plan.md" in qmd("search", "hourly", "--files").out


def test_links_are_not_followed_wherever_they_lead(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(tmp_path / "secret", {"s.md": "# Secret\n\npassword\n"})
    (notes / "out.md").symlink_to(tmp_path / "secret" / "s.md")
    (notes / "folder").symlink_to(tmp_path / "secret")
    (notes / "circle").symlink_to(notes)
    (notes / "self.md").symlink_to("self.md")
    (notes / "nowhere.md").symlink_to("/no/such/file.md")
    (notes / "twin.md").symlink_to("plan.md")
    done = qmd("update")
    assert (done.code, done.err) == (0, "")
    assert _counts(done.out) == "0 new, 0 updated, 3 unchanged, 0 removed"
    assert qmd("search", "password", "--json").out == "[]\n"


def test_a_file_that_becomes_a_link_leaves_the_index(notes: Path, qmd: Qmd, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n\npassword\n")
    (notes / "plan.md").unlink()
    (notes / "plan.md").symlink_to(tmp_path / "secret.md")
    assert _counts(qmd("update").out) == "0 new, 0 updated, 2 unchanged, 1 removed"
    assert qmd("search", "password", "--json").out == "[]\n"


def test_the_collections_folder_may_be_a_link(place: Path, qmd: Qmd, tmp_path: Path) -> None:
    write(tmp_path / "real", {"a.md": "# A\n\nwalrus\n"})
    (place / "linked").symlink_to(tmp_path / "real")
    assert "1 new" in qmd("collection", "add", "linked").out
    assert "1 unchanged" in qmd("update").out


def test_pipes_and_sockets_hold_nobody_up(notes: Path, qmd: Qmd) -> None:
    os.mkfifo(notes / "pipe.md")
    done = qmd("update", "--verify")
    assert (done.code, _counts(done.out)) == (0, "0 new, 0 updated, 3 unchanged, 0 removed")


def _bound_by_modes(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run qmd in ``folder`` as a user whom modes bind: root gives up what lets it read everything."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root reads everything, and there is no setpriv (util-linux) to stop that")
        prefix = [setpriv, "--bounding-set=-all", "--inh-caps=-all"]
    environ = {"HOME": str(folder), "PATH": os.environ["PATH"], "PWD": str(folder), "TZ": "UTC"}
    return subprocess.run(
        [*prefix, sys.executable, "-m", "qmd", *words],
        capture_output=True, text=True, cwd=folder, env={**environ, "PYTHONPATH": str(ROOT)}, timeout=120, check=False,
    )  # fmt: skip


def test_unreadable_files_are_reported_and_their_documents_are_kept(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write(
        notes,
        {
            "plan.md": "# Plan\n\nhourly tokens\n",
            "closed.md": "# Closed\n\nwalrus\n",
            "folder/deep.md": "# Deep\n\npelican\n",
            "new/x.md": "# X\n\nx\n",
        },
    )
    assert _bound_by_modes(tmp_path, "collection", "add", "notes").returncode == 0
    write(notes, {"never.md": "# Never\n\nread\n", "plan.md": "# Plan\n\nweekly tokens\n"}, 60)
    (notes / "closed.md").chmod(0)
    (notes / "never.md").chmod(0)
    (notes / "folder").chmod(0)
    done = _bound_by_modes(tmp_path, "update", "--verify")
    assert done.returncode == 0, done.stderr
    assert _counts(done.stdout) == "0 new, 1 updated, 1 unchanged, 0 removed"
    for name in ("closed.md", "never.md", "folder"):
        assert f"⚠ Skipped unreadable file: {name} (EACCES)\n" in done.stderr
    assert done.stderr.endswith("Skipped 3 unreadable file(s)\n")
    for word, name in (("walrus", "closed.md"), ("pelican", "folder/deep.md"), ("weekly", "plan.md")):
        assert f"qmd://notes/{name}" in _bound_by_modes(tmp_path, "search", word, "--files").stdout
    (notes / "folder").chmod(0o755)
    (notes / "closed.md").chmod(0o644)
    (notes / "never.md").chmod(0o644)
    done = _bound_by_modes(tmp_path, "update")
    assert (done.stderr, _counts(done.stdout)) == ("", "1 new, 0 updated, 4 unchanged, 0 removed")


def test_a_collections_folder_that_may_not_be_listed_keeps_its_documents(tmp_path: Path) -> None:
    write(tmp_path / "notes", {"plan.md": "# Plan\n\nhourly\n"})
    assert _bound_by_modes(tmp_path, "collection", "add", "notes").returncode == 0
    (tmp_path / "notes").chmod(0)
    done = _bound_by_modes(tmp_path, "update")
    assert done.returncode == 0
    assert f"Collection folder cannot be listed: {tmp_path / 'notes'} (its documents are kept)" in done.stderr
    assert "qmd://notes/plan.md" in _bound_by_modes(tmp_path, "search", "hourly", "--files").stdout
    (tmp_path / "notes").chmod(0o755)


def test_invalid_utf8_and_nul_bytes_are_text_like_any_other(notes: Path, qmd: Qmd) -> None:
    write(
        notes,
        {
            "latin.md": b"# Caf\xe9\n\nwalrus caf\xe9 \xff\xfe tail\n",
            "nul.md": b"# Nul\n\nwalrus \0 after\0\0 tail\n",
            "utf16.md": "# Sixteen\n\nwalrus\n".encode("utf-16"),
            "only.md": b"\0",
            "half.md": "# Half\n\nwalrus 😀".encode()[:-2],
            "bom.md": b"\xef\xbb\xbf# Bom\n\nwalrus\n",
        },
    )
    done = qmd("update")
    assert (done.code, done.err) == (0, "")
    assert _counts(done.out) == "6 new, 0 updated, 3 unchanged, 0 removed"
    assert _counts(qmd("update").out) == "0 new, 0 updated, 9 unchanged, 0 removed"
    found = {hit["file"]: hit for hit in json.loads(qmd("search", "walrus tail", "--json").out)}
    assert found.keys() == {"qmd://notes/latin.md", "qmd://notes/nul.md"}
    assert found["qmd://notes/latin.md"]["title"] == "Caf\ufffd"
    assert "walrus caf\ufffd \ufffd\ufffd tail" in qmd("get", "latin.md").out
    assert "walrus \0 after\0\0 tail" in qmd("get", "nul.md").out
    assert len(json.loads(qmd("search", "walrus", "--json").out)) == 4


def test_every_name_that_is_text_is_found_and_got(notes: Path, qmd: Qmd) -> None:
    names = [
        "with space.md", " leading.md", "trailing .md", "😀 émoji 👩‍👩‍👧.md", "mañana.md",
        unicodedata.normalize("NFD", "ñandú.md"),
        "a'b\"c.md", "a;b$(c)`d`.md", "100%.md", "%41.md", "q?x=1&y#z.md", "back\\slash.md", "tab\there.md", "-dash.md",
        "日本語/ファイル.md", "per:5.md", "star*[x]{y}.md", "a" * 240 + ".md", "com,ma.md", "\u202eevil.md",
    ]  # fmt: skip
    write(notes, {name: f"# T{number}\n\nwalrus unique{number}x\n" for number, name in enumerate(names)})
    stored = {os.path.relpath(path, notes) for path in notes.rglob("*.md")}
    assert f"{len(names)} new" in _counts(qmd("update").out)
    assert f"{len(names) + 3} unchanged" in _counts(qmd("update").out)
    found = {hit["file"] for hit in json.loads(qmd("search", "walrus", "--json", "--all").out)}
    assert {f"qmd://notes/{name}" for name in names} == found
    assert found <= {f"qmd://notes/{name}" for name in stored}
    for number, name in enumerate(names):
        done = qmd("get", f"qmd://notes/{name}")
        if "?" in name or name.startswith(" "):
            # An address ends at its query; by docid it is found all the same.
            (hit,) = json.loads(qmd("search", f"unique{number}x", "--json").out)
            done = qmd("get", hit["docid"])
        assert f"walrus unique{number}x\n" in done.out, name


def test_the_composed_and_the_decomposed_form_of_a_name_are_two_files_where_the_disk_says_so(
    notes: Path, qmd: Qmd
) -> None:
    composed, decomposed = (unicodedata.normalize(form, "über.md") for form in ("NFC", "NFD"))
    write(notes, {composed: "# One\n\nwalrus one\n"})
    write(notes, {decomposed: "# Two\n\nwalrus two\n"})
    names = {name for name in os.listdir(notes) if name.endswith("ber.md")}
    assert f"{len(names)} new" in _counts(qmd("update").out)
    found = {hit["file"] for hit in json.loads(qmd("search", "walrus", "--json").out)}
    assert found == {f"qmd://notes/{name}" for name in names}
    for name in names:
        assert (notes / name).read_text() in qmd("get", f"notes/{name}", "--no-line-numbers").out
    (notes / composed).unlink()
    assert "1 removed" in _counts(qmd("update").out)


def test_a_line_end_in_a_name_breaks_no_line(notes: Path, qmd: Qmd) -> None:
    name = "a\n#ffffff 1.00 forged.md\r\nb.md"
    write(notes, {name: "# W\n\nwalrus\n", "a%0Ab.md": "# X\n\nwalrus two\n"})
    shown = name.replace("\n", "%0A").replace("\r", "%0D")
    assert "2 new" in _counts(qmd("update").out)
    files = qmd("search", "walrus", "--files").out.splitlines()
    assert len(files) == 2
    assert any(line.endswith(f",qmd://notes/{shown}") for line in files)
    for words in (["search", "walrus"], ["search", "walrus", "--md"], ["search", "walrus", "--xml"], ["ls", "notes"],
                  ["get", f"qmd://notes/{shown}"], ["multi-get", "notes/*"], ["multi-get", "notes/*", "--files"],
                  ["multi-get", f"notes/{shown},c.md"], ["multi-get", "notes/*", "--md"]):  # fmt: skip
        out = qmd(*words).out
        assert shown in out, words
        assert "\n#ffffff" not in out, words
    assert {hit["file"] for hit in json.loads(qmd("search", "walrus", "--json").out)} == {
        f"qmd://notes/{name}", "qmd://notes/a%0Ab.md",
    }  # fmt: skip
    # What is shown is a name, too; a name that really has these signs in it goes first.
    assert "walrus\n" in qmd("get", f"notes/{shown}").out
    assert "walrus\n" in qmd("multi-get", f"notes/{shown},notes/plan.md").out
    assert "walrus two" in qmd("get", "notes/a%0Ab.md").out
    bad = os.fsencode(notes) + b"/x\n\xff.md"
    with open(bad, "wb") as stream:
        stream.write(b"# bad\n")
    done = qmd("update")
    assert "Skipped unreadable file: x%0A" in done.err
    assert len(done.err.splitlines()) == 2


def test_a_thousand_folders_deep_is_found_and_got(notes: Path, qmd: Qmd) -> None:
    here = os.open(notes, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with open(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as stream:
        stream.write("# Deep\n\nwalrus\n")
    os.close(here)
    try:
        assert "1 new" in _counts(qmd("update").out)
        assert _counts(qmd("update").out) == "0 new, 0 updated, 4 unchanged, 0 removed"
        (hit,) = json.loads(qmd("search", "walrus", "--json").out)
        assert hit["file"] == f"qmd://notes/{'d/' * 1000}deep.md"
        assert "walrus" in qmd("get", hit["file"]).out
    finally:  # pytest's own cleaning recurses
        subprocess.run(["rm", "-r", notes / "d"], check=True)


def test_paths_that_are_too_long_for_the_system_are_reported(notes: Path, qmd: Qmd) -> None:
    here = os.open(notes, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=here)
        below = os.open("x" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    with open(os.open("deep.md", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as stream:
        stream.write("# Deep\n\nwalrus\n")
    os.close(here)
    try:
        done = qmd("update")
        assert done.code == 0
        assert "(ENAMETOOLONG)" in done.err
        assert _counts(done.out) == "0 new, 0 updated, 3 unchanged, 0 removed"
    finally:
        subprocess.run(["rm", "-r", notes / ("x" * 250)], check=True)


def test_files_that_vanish_between_listing_and_reading_are_no_failure(
    notes: Path, qmd: Qmd, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, {f"n{number}.md": f"# N\n\nwalrus {number}\n" for number in range(9)})
    walked = update.walk

    def vanishing(folder: update.Folder, *words: object) -> Iterator[update.Entry]:
        entries = list(walked(folder, *words))  # type: ignore[arg-type]
        for entry in entries:
            if entry.relative in ("n3.md", "n7.md", "plan.md"):
                os.unlink(entry.path)
        shutil.rmtree(notes / "sub")
        yield from entries

    with monkeypatch.context() as patch:
        patch.setattr("qmd.index.update.walk", vanishing)
        done = qmd("update", "--verify")
    assert (done.code, done.err) == (0, "")
    assert _counts(done.out).startswith("7 new, 0 updated, 1 unchanged")
    last = qmd("update")
    assert len(json.loads(qmd("search", "walrus", "--json", "--all").out)) == 7
    assert "qmd://notes/plan.md" not in qmd("ls", "notes").out, last.out


@pytest.mark.long
def test_a_file_of_a_hundred_megabytes_is_indexed_and_its_last_line_found(notes: Path, qmd: Qmd) -> None:
    line = "".join(f"filler{number} lorem ipsum dolor sit amet consectetur\n" for number in range(20_000))
    with open(notes / "large.md", "w", encoding="utf-8") as stream:
        stream.write("# Large\n\n")
        written = 0
        while written < 100 << 20:
            written += stream.write(line)
        stream.write("the walrus sleeps at the very end\n")
    done = qmd("update")
    assert (done.code, done.err) == (0, "")
    assert _counts(done.out) == "1 new, 0 updated, 3 unchanged, 0 removed"
    assert _counts(qmd("update").out) == "0 new, 0 updated, 4 unchanged, 0 removed"
    (hit,) = json.loads(qmd("search", "walrus", "--json").out)
    assert "the walrus sleeps at the very end" in hit["snippet"]
    assert "File too large" in qmd("multi-get", "*.md", "--json").out
