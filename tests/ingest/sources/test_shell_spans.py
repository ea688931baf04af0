"""Secrets over several commands of a history are redacted in documents and archive, and hide no other command."""

from __future__ import annotations

import base64
import random
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from core.home import Home
from core.redaction import redact
from ingest.archive import archive, rewriting
from ingest.pipeline.reading import Reading
from ingest.pipeline.run import run
from ingest.raw.store import DISK
from ingest.sources.shell import parser as _shell
from tests.ingest.transcripts import corpus, from_the_archive_alone

AT = 1_777_367_643
_BODY = [base64.b64encode(random.Random(n).randbytes(48)).decode() for n in range(12)]
KEY = ["-----BEGIN RSA PRIVATE " + "KEY-----", *_BODY, "-----END RSA PRIVATE " + "KEY-----"]
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
FORMS = {
    "zsh": (".zsh_history", ": {at}:0;{command}\n"),
    "zsh without times": (".zsh_history", "{command}\n"),
    "bash": (".bash_history", "#{at}\n{command}\n"),
    "bash without times": (".bash_history", "{command}\n"),
    "fish": ("fish_history", "- cmd: {command}\n  when: {at}\n"),
}
every_shell = pytest.mark.parametrize("shell", sorted(FORMS))


def written(shell: str, said: list[str]) -> bytes:
    return "".join(FORMS[shell][1].format(at=AT + at, command=command) for at, command in enumerate(said)).encode()


def read(shell: str, data: bytes) -> tuple[list[str], bytes, dict[str, int]]:
    """(the commands that documents show, the archive's bytes, what was replaced)."""
    reading = Reading(f"/x/{FORMS[shell][0]}", DISK)
    kept = _shell._history(data, reading)
    assert reading.failed is None
    return [entry[1] for day in reading.parts.values() for entry in day.commands], kept, reading.redacted


@every_shell
@pytest.mark.parametrize(
    ("said", "secret", "left"),
    [
        (["ls", "cat > k.pem <<EOF", *KEY, "EOF", "pwd"], _BODY[5], ["cat > k.pem <<EOF", "EOF", "ls", "pwd"]),
        (["ls", "# <private>", "squirrel plan", "# </private>", "pwd"], "squirrel", ["ls", "pwd"]),
        (["<private>", "ls <private>a</private>", "squirrel", "</private>", "pwd"], "squirrel", ["pwd"]),
        (["<private>", "a", "grep '<private>' x", "squirrel", "</private>", "pwd"], "squirrel", ["pwd"]),
        (["<private>", "squirrel", "</private> <private>", "nut", "</private>", "pwd"], "squirrel", ["pwd"]),
    ],
    ids=["key", "private", "balanced within", "unclosed within", "two"],
)  # fmt: skip
def test_a_secret_over_several_commands_is_in_no_document(
    home: Home, tmp_path: Path, shell: str, said: list[str], secret: str, left: list[str]
) -> None:
    path = tmp_path / "histories" / FORMS[shell][0]
    path.parent.mkdir()
    path.write_bytes(written(shell, said))
    run(home, "shell", [str(path.parent)], trust_stat=False)
    before = corpus(home)
    shown = b"".join(before.values()).decode()
    assert secret not in shown
    lines = {line.partition("$ ")[2] for line in shown.splitlines()}
    assert lines.issuperset(left)
    assert from_the_archive_alone(home, "shell", path.parent) == before


@every_shell
@pytest.mark.parametrize("said", [[*KEY[1:], "ls -la"], ["ls -la", *KEY[:-1]], ["ls -la", *KEY[:7]]])
def test_a_key_that_a_history_has_only_a_part_of_is_in_no_document(shell: str, said: list[str]) -> None:
    shown, kept, redacted = read(shell, written(shell, said))
    assert sorted(shown) == ["[redacted:private-key]", "ls -la"]
    assert redacted == {"private-key": 1}
    assert read(shell, kept) == (shown, kept, {})


@every_shell
@pytest.mark.parametrize("place", [0, 4, 9])
@pytest.mark.parametrize("tag", ["<private>", "</private>"])
def test_a_tag_that_nothing_matches_costs_its_own_command_alone(shell: str, place: int, tag: str) -> None:
    said = [f"make target-{number}" for number in range(10)]
    said[place] = f"grep -rn '{tag}' docs"
    others = said[:place] + said[place + 1 :]
    shown, kept, redacted = read(shell, written(shell, said))
    assert [command for command in shown if command in others] == others
    assert len(shown) == 10
    assert tag not in "".join(shown)
    assert redacted == {"private": 1}
    assert read(shell, kept)[:2] == (shown, kept)


def test_one_that_was_searched_for_hides_nothing_up_to_spans_of_single_commands() -> None:
    said = ["grep '<private>' docs", "make", "echo <private>x</private> y", "ls"]
    assert read("zsh", written("zsh", said))[0] == ["grep '", "make", "echo  y", "ls"]


@every_shell
@pytest.mark.parametrize(
    "searched",
    [
        {10: "rg '<private>' docs", 700: "rg '</private>' docs"},
        {10: "rg '<private>' docs", 400: "rg '<private>' docs", 700: "rg '</private>' docs"},
        {10: "rg '<private>' docs", 400: "echo '<private>", 401: "</private>'", 700: "rg '</private>' docs"},
    ],
    ids=["two", "three", "a span between"],
)
def test_two_searches_for_tags_cost_their_own_commands_only(shell: str, searched: dict[int, str]) -> None:
    said = [searched.get(number, f"make target-{number}") for number in range(800)]
    shown, kept, _ = read(shell, written(shell, said))
    others = [command for command in said if "private>" not in command]
    assert [command for command in shown if command in others] == others
    assert "private>" not in "".join(shown)
    assert read(shell, kept) == (shown, kept, {})


@every_shell
@pytest.mark.parametrize("before", [[], ["rg '<private>' docs", *map("make {}".format, range(300))]])
@pytest.mark.parametrize("after", [[], [*map("test {}".format, range(300)), "rg '</private>' docs"]])
@pytest.mark.parametrize("within", [["nut"], ["nut", "rg '<private>' x"]])
def test_a_span_is_removed_whole_despite_searches_for_tags_far_away(
    shell: str, before: list[str], after: list[str], within: list[str]
) -> None:
    hidden = ["# <private>", *within, *(["squirrel"] * (200 - len(within))), "# </private>"]
    shown, kept, _ = read(shell, written(shell, [*before, "ls", *hidden, "pwd", *after]))
    assert b"squirrel" not in kept
    assert b"nut" not in kept
    others = [command for command in (*before, "ls", "pwd", *after) if "private>" not in command]
    assert [command for command in shown if command in others] == others
    assert read(shell, kept) == (shown, kept, {})


@pytest.mark.parametrize("shell", ["zsh", "bash", "fish"])
@pytest.mark.parametrize("place", [0, 600])
def test_a_key_cut_off_costs_no_more_lines_than_a_key_has(shell: str, place: int) -> None:
    said = [f"{number:040x}" for number in range(600)]
    said.insert(place, KEY[-1] if place else KEY[0])
    shown, kept, redacted = read(shell, written(shell, said))
    assert len(shown) == 401
    assert redacted == {"private-key": 1}
    assert read(shell, kept) == (shown, kept, {})


_WORDS = [
    "ls",
    "make -j4",
    "git commit -m 'x'",
    f"push {TOKEN}",
    "a <private>b</private> c",
    "export PASSWORD=Zx9!kqLw33v",
]


@given(st.sampled_from(sorted(FORMS)), st.lists(st.sampled_from(_WORDS), max_size=12))
def test_without_spans_a_history_shows_each_redacted_command(shell: str, said: list[str]) -> None:
    shown, kept, counts = read(shell, written(shell, said))
    alone = [redact(command) for command in said]
    assert shown == [text for text, _ in alone]
    assert kept == written(shell, [text for text, _ in alone])
    assert counts == {
        kind: sum(found.get(kind, 0) for _, found in alone) for kind in {kind for _, found in alone for kind in found}
    }


_TAGS = [
    "ls",
    "<private>",
    "x </private> y",
    "</private>",
    "a <private>b</private>",
    "<private> <private> </private>",
    *KEY,
]


@given(st.sampled_from(sorted(FORMS)), st.lists(st.sampled_from(_TAGS), max_size=16))
def test_the_archive_gives_the_same_commands_as_the_history(shell: str, said: list[str]) -> None:
    shown, kept, _ = read(shell, written(shell, said))
    assert "private>" not in "".join(shown)
    assert read(shell, kept) == (shown, kept, {})


@pytest.mark.parametrize("hole", [1, 3, 63, 4_096, 9_000])
def test_a_hole_in_a_history_costs_no_command(home: Home, tmp_path: Path, hole: int) -> None:
    path = tmp_path / "histories" / ".zsh_history"
    path.parent.mkdir()
    said = [f"make target-{number}" for number in range(400)]
    data = written("zsh", said)
    at = data.index(b": ", 6_000)
    path.write_bytes(data[:at] + bytes(hole) + data[at:])
    run(home, "shell", [str(path.parent)], trust_stat=False)
    before = corpus(home)
    (day,) = before.values()
    assert [line.partition("$ ")[2] for line in day.decode().splitlines() if "$ " in line] == said
    assert from_the_archive_alone(home, "shell", path.parent) == before


def test_an_archive_that_was_kept_raw_loses_no_command_to_a_tag_when_it_is_redacted(home: Home, tmp_path: Path) -> None:
    home.make()
    config, path = Path(home.path("collections.yml")), tmp_path / "histories" / ".bash_history"
    path.parent.mkdir()
    path.write_bytes(written("bash", ["ls", "grep '<private>' docs", "make", f"push {TOKEN}"]))
    config.write_text("collections: {brain: {path: brain}}\narchive: {redact: false}\n")
    run(home, "shell", [str(path.parent)], trust_stat=False)
    rewriting.redact_again(home, "shell", {})
    (packed,) = archive.objects(home.path(archive.FOLDER))
    held = zstandard.ZstdDecompressor().decompress(Path(packed).read_bytes())
    assert held == written("bash", ["ls", "grep '", "make", "push [redacted:github]"])


@pytest.mark.parametrize("shell", ["zsh", "bash", "fish"])
@pytest.mark.parametrize("first", [2, 3, 4])
@pytest.mark.parametrize("others", [[], ["make"]])
def test_a_later_end_of_a_span_hides_commands_that_were_read_before(
    home: Home, tmp_path: Path, shell: str, first: int, others: list[str]
) -> None:
    path = tmp_path / "histories" / FORMS[shell][0]
    path.parent.mkdir()
    (path.parent / "other_bash_history").write_bytes(written("bash", others))
    said = ["ls", "# <private>", "squirrel plan", f"squirrel {TOKEN}", "# </private>", "pwd"]
    for end in (first, len(said)):
        path.write_bytes(written(shell, said[:end]))
        run(home, "shell", [str(path.parent)], trust_stat=False)
    packed = [Path(each).read_bytes() for each in archive.objects(home.path(archive.FOLDER))]
    held = b"".join(zstandard.ZstdDecompressor().decompress(each) for each in packed)
    assert b"squirrel" not in b"".join(corpus(home).values())
    assert b"squirrel" not in held
    assert b"pwd" in held
