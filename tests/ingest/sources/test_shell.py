"""Shell history: one document a day, each command with its time, from all histories that know of it."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from core.document import split
from core.home import Home
from ingest.archive import archive
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.reading import Reading
from ingest.pipeline.run import run
from ingest.raw.store import RawStore
from ingest.sources.shell import parser as _shell
from ingest.sources.shell import source as shell
from tests.ingest.transcripts import corpus, documents, from_the_archive_alone

AT = 1_777_367_643  # 2026-04-28T09:14:03Z


def ingest(home: Home, folder: Path) -> Ledger:
    return run(home, "shell", [str(folder)], trust_stat=False)


def body(home: Home, day: str = "2026-04-28") -> str:
    return split(corpus(home)[f"shell__{day}.md"].decode())[1]


@pytest.mark.parametrize(
    ("name", "history"),
    [
        (
            ".zsh_history",
            f": {AT}:0;git status\n: {AT + 60}:3;for x in a b; do\\\necho $x\\\ndone\n: {AT + 9000}:0;ls -la\n",
        ),
        (".bash_history", f"#{AT}\ngit status\n#{AT + 60}\nfor x in a b; do\necho $x\ndone\n#{AT + 9000}\nls -la\n"),
        (
            "fish_history",
            f"- cmd: git status\n  when: {AT}\n  paths:\n    - x\n- cmd: for x in a b; do\\necho $x\\ndone\n"
            f"  when: {AT + 60}\n- cmd: ls -la\n  when: {AT + 9000}\n",
        ),
    ],
)  # fmt: skip
def test_each_shells_history_gives_the_same_day(home: Home, tmp_path: Path, name: str, history: str) -> None:
    (tmp_path / name).write_text(history)
    ledger = ingest(home, tmp_path)
    assert (ledger.ingested, ledger.documents) == (1, 1)
    meta = split(corpus(home)["shell__2026-04-28.md"].decode())[0]
    assert (meta["title"], meta["date"], meta["commands"]) == (
        "Shell commands of 2026-04-28",
        "2026-04-28T09:14:03Z",
        3,
    )
    assert body(home) == (
        "# Shell commands of 2026-04-28\n\n## [1] command · 2026-04-28 09:14\n\n- 09:14:03 $ git status\n- 09:15:03 $\n"
        "  ```sh\n  for x in a b; do\n  echo $x\n  done\n  ```\n\n## [2] command · 2026-04-28 11:44\n\n"
        "- 11:44:03 $ ls -la\n"
    )
    assert ingest(home, tmp_path).unchanged == 1


def test_days_are_united_from_all_histories_and_copies_are_one(home: Home, tmp_path: Path) -> None:
    (tmp_path / ".zsh_history").write_text(f": {AT}:0;one\n: {AT + 5}:0;three\n")
    (tmp_path / ".bash_history").write_text(f"#{AT}\none\n#{AT + 3}\ntwo\n")
    ingest(home, tmp_path)
    assert [line.split("$ ")[1] for line in body(home).split("\n") if "$ " in line] == ["one", "two", "three"]


def test_histories_of_the_same_days_are_read_once(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [".zsh_history", ".bash_history", "fish_history"]
    for number, name in enumerate(names):
        days = [AT + 86_400 * day + number for day in range(3)]
        line = {".zsh_history": ": {}:0;ls\n", ".bash_history": "#{}\nls\n", "fish_history": "- cmd: ls\n  when: {}\n"}
        (tmp_path / name).write_text("".join(map(line[name].format, days)))
    seen: list[str] = []
    read = _shell.read

    def counted(path: str, raw: RawStore) -> Reading:
        seen.append(Path(path).name)
        return read(path, raw)

    monkeypatch.setattr(_shell, "read", counted)
    assert ingest(home, tmp_path).documents == 3
    assert sorted(seen) == sorted(names)
    assert body(home).count("$ ls\n") == 3


def test_commands_that_a_shell_drops_stay(home: Home, tmp_path: Path) -> None:
    path = tmp_path / ".zsh_history"
    path.write_text(f": {AT}:0;one\n: {AT + 5}:0;two\n: {AT + 90_000}:0;three\n")
    ingest(home, tmp_path)
    path.write_text(f": {AT + 5}:0;two\n: {AT + 90_000}:0;three\n: {AT + 90_001}:0;four\n")
    ingest(home, tmp_path)
    assert "$ one" in body(home)
    assert "$ four" in body(home, "2026-04-29")


def test_a_damaged_object_of_the_archive_costs_no_live_history(home: Home, tmp_path: Path) -> None:
    history = tmp_path / ".bash_history"

    def indexed(first: int, last: int) -> Ledger:
        times = ((each, AT + each + 86_400 * (each >= 60)) for each in range(first, last))
        history.write_text("".join(f"#{at}\necho n{each}\n" for each, at in times))
        return ingest(home, tmp_path)

    indexed(0, 50)
    indexed(20, 60)
    for segment in _version(home, 1).segments:
        os.unlink(archive.object_path(home.path(archive.FOLDER), segment[0]))
    ledger = indexed(30, 70)
    assert (ledger.failed, ledger.ingested) == ([], 1)
    assert "echo n69" in body(home, "2026-04-29")
    assert all(f"echo n{each}\n" in body(home) for each in (0, 20, 29, 30))
    # The archive has the commands that were dropped since, for a rebuild.
    held = b"".join(archive.content(home.path(archive.FOLDER), segment) for segment in _version(home, 1).segments)
    assert held.count(b"echo n") == 10
    assert b"echo n20\n" in held


def _version(home: Home, number: int) -> archive.Entry:
    (found,) = (entry for entry in archive.versions(home, "shell") if entry.version == number)
    return found


def test_dropped_commands_of_a_raw_archive_are_archived_without_secrets(home: Home, tmp_path: Path) -> None:
    home.make()
    config, path = Path(home.path("collections.yml")), tmp_path / "histories" / ".zsh_history"
    path.parent.mkdir()
    path.write_text(f": {AT}:0;one\n: {AT + 1}:0;export PASSWORD=Zx9!kqLw33vTn\n: {AT + 2}:0;three\n")
    config.write_text("collections: {brain: {path: brain}}\narchive: {redact: false}\n")
    ingest(home, path.parent)
    config.write_text("collections: {brain: {path: brain}}\n")
    path.write_text(f": {AT + 2}:0;three\n: {AT + 3}:0;four\n")
    ingest(home, path.parent)
    packed = [Path(each).read_bytes() for each in archive.objects(home.path(archive.FOLDER))]
    held = b"".join(zstandard.ZstdDecompressor().decompress(each) for each in packed)
    assert b"export PASSWORD=[redacted:password]" in held
    assert b"Zx9" not in held


def test_commands_without_a_time_are_one_document(home: Home, tmp_path: Path) -> None:
    (tmp_path / ".bash_history").write_text("git status\nls\ngit status\n")
    ingest(home, tmp_path)
    meta = split(corpus(home)["shell__undated-bash.md"].decode())[0]
    assert (meta["date_source"], meta["commands"]) == ("mtime", 3)


def test_secrets_are_replaced_and_zshs_own_bytes_read(home: Home, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    metafied = bytes(part for byte in "grüße".encode() for part in ((0x83, byte ^ 0x20) if byte > 0x82 else (byte,)))
    history = f": {AT}:0;export GITHUB_TOKEN={secret}\n".encode() + f": {AT + 1}:0;echo ".encode() + metafied + b"\n"
    (tmp_path / ".zsh_history").write_bytes(history)
    ledger = ingest(home, tmp_path)
    assert secret not in body(home)
    assert sum(ledger.redacted.values()) == 1
    assert "$ echo grüße" in body(home)


@given(st.binary(max_size=300), st.sampled_from([".zsh_history", ".bash_history", "fish_history"]))
def test_no_bytes_stop_it(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    assert list(documents(shell.SOURCE, str(path))) or not data.strip()


@pytest.mark.parametrize("place", [0, 63, 64, 199])
def test_one_secret_among_many_commands_is_replaced_and_nothing_else(home: Home, tmp_path: Path, place: int) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    said = [f"make target-{number}" for number in range(200)]
    said[place] = f"curl -H x {token}"
    history = "".join(f": {1_777_366_440 + number}:0;{command}\n" for number, command in enumerate(said))
    (tmp_path / ".zsh_history").write_text(history, encoding="utf-8")
    ingest(home, tmp_path)
    shown = [line.partition("$ ")[2] for line in body(home).splitlines() if "$ " in line]
    said[place] = "curl -H x [redacted:github]"
    assert shown == said


def test_a_backslash_at_the_end_of_a_line_continues_the_command(home: Home, tmp_path: Path) -> None:
    history = (
        f": {AT}:0;docker run \\\\\n  -it \\\\\n  ubuntu\n: {AT + 5}:0;for i in 1; do\\\n  echo $i\\\ndone\n"
        f": {AT + 9}:3;echo ends \\ \n: {AT + 20}:0;echo next\n"
    )
    (tmp_path / ".zsh_history").write_text(history)
    ledger = ingest(home, tmp_path)
    assert ledger.documents == 1
    assert split(corpus(home)["shell__2026-04-28.md"].decode())[0]["commands"] == 4
    assert "  docker run \\\n    -it \\\n    ubuntu\n" in body(home)
    assert "$ echo ends \\\n- 09:14:23 $ echo next" in body(home)
    data = history.encode()
    found = list(_shell.pieces("/x/.zsh_history", data))
    assert b"".join(piece for _, piece in found) == data
    assert [unit for unit, _ in found] == ["2026-04-28"] * 4


def test_a_short_number_after_a_hash_is_no_time(home: Home, tmp_path: Path) -> None:
    (tmp_path / ".bash_history").write_text(f"#{AT}\ncat <<X\n#17\nX\n#{AT + 1}\nls\n")
    assert ingest(home, tmp_path).documents == 1
    assert "  cat <<X\n  #17\n  X\n" in body(home)


def test_a_plain_history_is_its_folders_shells(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "zsh/history"
    path.parent.mkdir()
    path.write_text("echo x \\\\\n  y\n")
    run(home, "shell", trust_stat=False)
    assert "  echo x \\\n    y\n" in body(home, "undated-zsh")


def test_only_suspicious_commands_change_each_time_they_are_repeated(home: Home, tmp_path: Path) -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    odd = {
        f"push {token}": "push [redacted:github]",
        "echo \x1b[31mred": "echo red",
        "bell\x07": "bell",
        "next\x85line": "nextline",
        "\ufeff한국어 ©": "\ufeff한국어 ©",
        "x" * 20_001: "x" * 20_000,
        "\x7f": None,
    }
    said = [command for command in odd for _ in range(3)] + ["ls"] * 300
    random.Random(1).shuffle(said)
    history = "".join(f": {1_777_366_440 + number}:0;{command}\n" for number, command in enumerate(said))
    (tmp_path / ".zsh_history").write_text(history, encoding="utf-8", newline="")
    ledger = ingest(home, tmp_path)
    shown = [line.partition("$ ")[2] for line in body(home).splitlines() if "$ " in line]
    assert shown == [odd.get(command, command) for command in said if odd.get(command, command) is not None]
    assert sum(ledger.redacted.values()) == 3


@pytest.mark.parametrize("at", ["", ": 0:0;", ": 86399:0;", ": 99999999999:0;"])
def test_a_number_that_is_no_time_dates_nothing(home: Home, tmp_path: Path, at: str) -> None:
    (tmp_path / ".zsh_history").write_text(f": {AT}:0;one\n{at}two\n: {AT + 60}:0;three\n")
    ingest(home, tmp_path)
    assert [line.split("$ ")[1] for line in body(home).split("\n") if "$ " in line] == ["one", "three"]
    assert "\n- $ two\n" in body(home, "undated-zsh")


@pytest.mark.parametrize(
    "other", ["ls", "push gh" + "p_a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8", "<private>x</private> me"]
)
@pytest.mark.parametrize("name", [".zsh_history", ".bash_history", "fish_history"])
def test_a_history_is_made_again_from_the_archive_byte_for_byte(
    home: Home, tmp_path: Path, name: str, other: str
) -> None:
    lines = {
        ".zsh_history": ": {}:0;{}\n",
        ".bash_history": "#{}\n{}\n",
        "fish_history": "- cmd: {1}\n  when: {0}\n",
    }
    said = ["echo grüße — ok", "漢字 テスト 😀", other, "ls"]
    history = "".join(lines[name].format(AT + number, command) for number, command in enumerate(said)).encode()
    if name == ".zsh_history":
        history = bytes(part for byte in history for part in ((0x83, byte ^ 0x20) if 0x82 < byte < 0xA3 else (byte,)))
    path = tmp_path / "histories" / name
    path.parent.mkdir()
    path.write_bytes(history)
    ingest(home, path.parent)
    assert "$ echo grüße — ok\n" in body(home)
    before = corpus(home)
    assert from_the_archive_alone(home, "shell", path.parent) == before
