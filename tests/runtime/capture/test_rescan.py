"""A new redaction policy reaches what an older one let pass, and agents wait until it has."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import apsw
import pytest

from brain import GROUPS
from core import clock, config, redaction
from core.document import Timestamp, render, split
from core.errors import Internal
from core.home import Home
from core.version import REDACTION
from ingest.archive import archive, recording, rewriting
from ingest.pipeline import state as state_module
from ingest.policy import exclusions
from qmd.index import cleanup, store
from runtime.asking import withholding
from runtime.capture import entries, inbox, rescan
from runtime.capture.indexing import index
from tests.conftest import Brain
from tests.ingest.transcripts import SESSION, Script, save, text

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From here on nothing is redacted, as under a policy that knew no token; called, the present one holds."""

    def as_before(module: object, name: str, value: object) -> None:
        monkeypatch.setattr(module, name, value)

    from ingest.raw import records

    kept = (redaction.clean_record, redaction.shown)
    as_before(records, "clean_record", lambda raw, value, counts, carried: value)
    as_before(redaction, "shown", lambda text: text)
    modules = (recording, rewriting, rescan, store, state_module, exclusions)
    numbers = [(module, module.REDACTION) for module in modules]
    for module, _ in numbers:
        as_before(module, "REDACTION", 1)

    def now() -> None:
        as_before(records, "clean_record", kept[0])
        as_before(redaction, "shown", kept[1])
        for module, number in numbers:
            as_before(module, "REDACTION", number)

    return now


def held(home: Home) -> bytes:
    import zstandard

    found: list[bytes] = []
    for path in Path(home.root).rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found.append(zstandard.ZstdDecompressor().decompress(data) if path.suffix == ".zst" else data)
    return b"\0".join(found)


def test_documents_notes_and_archive_are_gone_through_once(
    home: Home, claude_root: Path, older: Callable[[], None]
) -> None:
    place = claude_root / "projects" / "x"
    script = Script()
    save(place / f"{SESSION}.jsonl", script.user(f"use {TOKEN}"), script.assistant(text("I shall.")))
    index(home, config.load(home))
    inbox.write(home, f"remember {TOKEN}", title=f"about {TOKEN}")
    shutil.rmtree(place)  # the tool has deleted it: only the document and the archive are left
    assert held(home).count(TOKEN.encode()) >= 4
    older()
    report = index(home, config.load(home))
    assert report["rescanned"]["github"] >= 4
    assert TOKEN.encode() not in held(home)
    assert "rescanned" not in index(home, config.load(home))
    before = Path(home.path("brain", f"{SESSION}.md")).read_bytes()
    index(home, config.load(home), from_archive=True)
    assert Path(home.path("brain", f"{SESSION}.md")).read_bytes() == before


def _raw(home: Home, *, kept: bool) -> None:
    text = "collections: {brain: {path: brain}}\n" + "archive: {redact: false}\n" * kept
    Path(home.path("collections.yml")).write_text(text, encoding="utf-8")


def test_what_was_kept_raw_is_redacted_once_that_is_no_longer_wanted(home: Home, claude_root: Path) -> None:
    place = claude_root / "projects" / "x"
    shrunk, gone = Script(), Script("0b1c2d3e-4f5a-4b6c-8d7e-9f0a1b2c3d4e")
    said = [shrunk.user(f"use {TOKEN}"), shrunk.assistant(text("I shall.")), shrunk.user("and on")]
    _raw(home, kept=True)
    save(place / f"{SESSION}.jsonl", *said)
    removed = save(place / f"{gone.session}.jsonl", gone.user(f"<private>{TOKEN} and on"), gone.user("more"))
    index(home, config.load(home))
    removed.unlink()  # by its tool: the archive has it alone
    save(place / f"{SESSION}.jsonl", said[2])
    index(home, config.load(home))
    assert [entry.policy for entry in archive.versions(home, "claude")] == [archive.RAW] * 3
    before = {path.name: path.read_bytes() for path in Path(home.path("brain")).iterdir()}
    assert held(home).count(TOKEN.encode()) == 2
    _raw(home, kept=False)
    assert "rescanned" in index(home, config.load(home))
    assert TOKEN.encode() not in held(home)
    assert [entry.version for entry in archive.versions(home, "claude")] == [0, 0, 1]
    index(home, config.load(home), from_archive=True)
    assert {path.name: path.read_bytes() for path in Path(home.path("brain")).iterdir()} == before
    assert "rescanned" not in index(home, config.load(home))


def test_a_document_that_was_kept_raw_is_still_one_and_what_is_damaged_stops_nothing(home: Home) -> None:
    home.make()
    kept = {
        "one.json": json.dumps({"messages": [{"content": f"<private>{TOKEN}"}, {"content": "b"}]}, indent=1).encode(),
        "history": f"ls\nexport A={TOKEN}\n".encode(),
        "torn.jsonl": b'{"a": 1}\n{"b": "' + TOKEN.encode() + b'"\n',
        "damaged": b"{}\n",
    }
    at = recording.Archive(home, "gemini", keeps_raw=True)
    for path, data in kept.items():
        recorder = recording.Recorder(at, path)
        recorder.whole(data)
        recorder.finish(len(data), 1, len(data), "d")
    at.commit()
    at.close()
    entries = {entry.path: entry for entry in archive.versions(home, "gemini")}
    Path(archive.object_path(home.path("raw"), entries["damaged"].segments[0][0])).write_bytes(b"no zstd")
    rewriting.redact_again(home, "gemini", {})
    entries = {entry.path: entry for entry in archive.versions(home, "gemini")}
    found = {
        path: b"".join(archive.lines(home.path("raw"), entry.segments))
        for path, entry in entries.items()
        if path != "damaged"
    }
    assert json.loads(found["one.json"]) == {"messages": [{"content": ""}, {"content": "b"}]}
    assert found["history"] == b"ls\nexport A=[redacted:github]\n"
    assert found["torn.jsonl"] == b'{"a": 1}\n{"b": "[redacted:github]"\n'
    assert entries["damaged"].policy == archive.RAW


def test_the_memory_is_withheld_from_agents_until_then(home: Home, brain: Brain) -> None:
    inbox.write(home, "The heron flies at dawn.")
    assert brain("index", "--new").returncode == 0
    for surface in ("claude-code", "mcp", "terminal"):
        assert brain("ask", "heron", env={"BRAIN_SURFACE": surface}).returncode == 0
    connection = apsw.Connection(home.index)
    connection.execute("update brain_state set value = 0 where key = 'redaction'")
    connection.close()
    for surface in ("claude-code", "mcp", "hook"):
        done = brain("ask", "heron", "--json", env={"BRAIN_SURFACE": surface})
        assert (done.returncode, json.loads(done.stdout)["error"]) == (71, "refused")
    assert brain("ask", "heron").returncode == 0
    assert brain("index", "--new").returncode == 0
    assert brain("ask", "heron", env={"BRAIN_SURFACE": "mcp"}).returncode == 0


def test_each_command_that_shows_documents_is_withheld_from_agents() -> None:
    # These three open something for a person.
    shows = {*GROUPS["ask"], *GROUPS["work"]} - {"resume", "web", "tui"}
    assert shows - set(withholding.SHOWING) == set()


@pytest.mark.parametrize("full", ["before", "meanwhile"])
def test_a_disk_too_full_to_write_the_index_anew_says_so_and_loses_nothing(
    home: Home, brain: Brain, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    inbox.write(home, "The heron flies at dawn.")
    index(home, config.load(home))
    connection = apsw.Connection(home.index)
    connection.execute("update brain_state set value = 0 where key = 'redaction'")
    connection.close()
    inbox.write(home, "The otter swims at dusk.")

    class Full:
        f_blocks, f_bavail, f_frsize = 100, 10, 4096

    def fails(_: object) -> None:
        raise apsw.FullError

    with monkeypatch.context() as patch:
        if full == "before":
            patch.setattr(os, "statvfs", lambda _: Full)
        else:
            patch.setattr(cleanup, "remove_orphans", fails)
        with pytest.raises(Internal, match=r"disk is (too )?full") as caught:
            index(home, config.load(home))
    assert caught.value.fix.startswith("free ")
    # What was read meanwhile is there for a person, and still withheld from agents.
    assert "otter" in brain("ask", "otter").stdout
    assert brain("ask", "otter", env={"BRAIN_SURFACE": "mcp"}).returncode == 71
    index(home, config.load(home))
    assert brain("ask", "heron", env={"BRAIN_SURFACE": "mcp"}).returncode == 0


def test_a_field_is_replaced_without_breaking_the_frontmatter() -> None:
    meta = {"session_id": "s", "title": TOKEN, "date": Timestamp("2026-04-28T09:14:03Z"), "tags": [TOKEN, "b"]}
    counts: dict[str, int] = {}
    cleaned = rescan.document(render(meta, f"# {TOKEN}\n\ntext"), counts)
    assert counts == {"github": 3}
    fields, body = split(cleaned.decode())
    assert fields == {
        "session_id": "s",
        "title": "[redacted:github]",
        "date": "2026-04-28T09:14:03Z",
        "tags": ["[redacted:github]", "b"],
    }
    assert b"\ndate: 2026-04-28T09:14:03Z\n" in cleaned
    assert body == "# [redacted:github]\n\ntext\n"


def test_a_document_without_secrets_keeps_its_bytes() -> None:
    data = b"---\ntitle:   odd   spacing\ndate: 2026-04-28\n---\n\n\n# x\r\n"
    assert rescan.document(data, {}) == data
    assert rescan.document(b"\xff\xfe", {}) == b"\xff\xfe"


OWN = f"before <private>my diary</private> after\nuse {TOKEN}\n"


@pytest.mark.parametrize(
    "head",
    ["", "---\ntitle: Keys\n---\n\n", "---\nsource: a book\nsession_id: x\n---\n\n", "---\nsource: claude\n---\n\n"],
)
@pytest.mark.parametrize("folder", ["brain", "kb-wiki", "inbox"])
def test_what_a_person_wrote_is_never_rewritten(home: Home, head: str, folder: str) -> None:
    note = Path(home.path(folder, "v.md"))
    note.parent.mkdir(mode=0o700)
    note.write_text(head + OWN, encoding="utf-8")
    before = note.stat()
    assert not index(home, config.load(home)).get("rescanned")
    assert note.read_text(encoding="utf-8") == head + OWN
    assert (note.stat().st_ino, note.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_note_is_its_users_from_the_first_change_on(home: Home, older: Callable[[], None]) -> None:
    index(home, config.load(home))
    kept, edited = (inbox.write(home, f"remember {TOKEN}", title=title) for title in ("kept", "edited"))
    # What takes its place says so in it, which is no change of the person's.
    entries.mark_superseded(home, entries.read(kept.path), edited.entry_id)
    changed = Path(edited.path).read_text(encoding="utf-8") + OWN
    Path(edited.path).write_text(changed, encoding="utf-8")
    os.utime(edited.path, (time.time() + 60,) * 2)
    older()
    assert index(home, config.load(home))["rescanned"] == {"github": 1}
    assert TOKEN not in Path(kept.path).read_text(encoding="utf-8")
    assert Path(edited.path).read_text(encoding="utf-8") == changed


def test_what_a_policy_rewrote_is_ours_under_the_next(home: Home, older: Callable[[], None]) -> None:
    index(home, config.load(home))
    path = Path(inbox.write(home, f"remember {TOKEN}").path)
    meta, body = split(path.read_text(encoding="utf-8"))
    path.write_bytes(render({**meta, "date": Timestamp("2026-05-01T10:00:00Z")}, body))
    written = clock.parse_iso("2026-05-01T10:00:00Z")
    assert written is not None
    os.utime(path, (written, written))
    older()
    assert index(home, config.load(home))["rescanned"]["github"]
    assert rescan.is_own(path.read_bytes(), path.stat().st_mtime)


def test_what_cannot_be_read_for_now_is_not_passed_over(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    index(home, config.load(home))
    inbox.write(home, "remember the heron")
    state = Path(home.state, rescan.FILE)
    state.unlink()

    def fail(path: str) -> BinaryIO:
        raise OSError(errno.EIO, "broken", path)

    monkeypatch.setattr(rescan, "open_regular", fail)
    with pytest.raises(OSError, match="broken"):
        rescan.rescan(home, config.load(home))
    assert not state.exists()


def test_a_pipe_or_a_link_among_the_notes_holds_nothing_up(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(render({"session_id": "s", "source": "claude"}, TOKEN))
    folder = Path(home.path("inbox"))
    folder.mkdir(parents=True)
    os.mkfifo(folder / "x.md")
    (folder / "link.md").symlink_to(outside)
    index(home, config.load(home))
    assert TOKEN in outside.read_text(encoding="utf-8")
    assert (folder / "link.md").is_symlink()
    assert [entry.path for entry in entries.entries(home)] == [str(folder / "link.md")]


def test_an_answer_is_redacted_whatever_the_index_holds(home: Home, brain: Brain, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(f"# Heron keys\n\nThe heron uses {TOKEN} at dawn.\n", encoding="utf-8")
    Path(home.path("collections.yml")).write_text(f"collections: {{notes: {{path: {notes}}}}}\n", encoding="utf-8")
    assert brain("index").returncode == 0
    for words in (("ask", "heron"), ("ask", "heron", "--json"), ("show", "a.md", "--json"), ("recent", "--json")):
        assert TOKEN not in brain(*words).stdout
    assert "[redacted:github]" in brain("ask", "heron").stdout
    assert TOKEN in (notes / "a.md").read_text(encoding="utf-8")


def test_no_piece_of_a_private_span_is_shown_whatever_its_ends(home: Home, brain: Brain) -> None:
    notes = Path(home.path("kb-wiki"))
    notes.mkdir(parents=True, mode=0o700)
    key = "\n".join(("MIIEpAIBAAKCAQEA" + f"{number:02}Xz9" * 12) for number in range(20))
    diary = "\n\n".join(f"The walrus of day {number} was sad." for number in range(40))
    (notes / "a.md").write_text(
        f"<private>\n# Sad diary\n\n{diary}\n</private>\n\nThe heron flies.\n", encoding="utf-8"
    )
    (notes / "b.md").write_text(
        f"Keys\n-----BEGIN RSA PRIVATE KEY-----\n{key}\n-----END RSA PRIVATE KEY-----\n", encoding="utf-8"
    )
    assert brain("index").returncode == 0
    asked = brain("ask", "walrus", "--json").stdout
    assert json.loads(asked)["hits"][0]["uri"] == "qmd://kb-wiki/a.md"
    shown = [asked, brain("ask", "walrus sad").stdout, brain("ask", "MIIEpAIBAAKCAQEA", "--json").stdout]
    for name, line in (("a.md", "20"), ("b.md", "12")):
        shown.append(brain("show", name, "--line", line, "--context", "2", "--json").stdout)
        shown.append(brain("show", name, "--line", line, "--context", "2", env={"BRAIN_SURFACE": "hook"}).stdout)
        shown.append(brain("qmd", "--brain", "get", f"kb-wiki/{name}", "--from", line, "-l", "3").stdout)
    assert brain("export", "--out", "-", "--format", "jsonl").stdout.count("heron") == 1
    shown.append(brain("export", "--out", "-", "--format", "jsonl").stdout)
    assert all("was sad" not in text and "Sad diary" not in text and "Xz9" not in text for text in shown)
    assert "walrus of day" in brain("show", "a.md", "--line", "20").stdout  # to a person at a terminal


def test_a_new_home_is_marked_without_a_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scanned(*_: object) -> None:
        raise AssertionError("a new home was scanned")

    monkeypatch.setattr(rescan, "rescan", scanned)
    home = Home(str(tmp_path / "new"))
    save(tmp_path / "t" / "a.jsonl", Script().user("a question"))
    index(home, config.load(home), source="claude", roots=[str(tmp_path / "t")])
    assert Path(home.state, "redaction").read_bytes().split() == [str(REDACTION).encode()]
    index(home, config.load(home), source="claude", roots=[str(tmp_path / "t")])


def test_a_home_with_documents_and_without_a_mark_is_scanned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(str(tmp_path / "old"))
    save(tmp_path / "t" / "a.jsonl", Script().user("a question"))
    index(home, config.load(home), source="claude", roots=[str(tmp_path / "t")])
    os.unlink(Path(home.state, "redaction"))
    seen: list[Home] = []
    monkeypatch.setattr(rescan, "rescan", lambda given, _: seen.append(given))
    index(home, config.load(home), source="claude", roots=[str(tmp_path / "t")])
    assert seen == [home]
