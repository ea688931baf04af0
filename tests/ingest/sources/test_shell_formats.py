"""Histories are read a part at a time, and say what they say as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.redaction import clean_document
from ingest.pipeline.reading import Reading
from ingest.raw.store import DISK
from ingest.sources.shell import formats
from ingest.sources.shell import parser as shell
from ingest.sources.shell.formats import Redaction

LINES = {
    "zsh": [
        ": 1777366440:0;git status",
        "ls",
        ": 1777366500:7;for x in a\\",
        "do\\\\",
        "done \\ ",
        ": 9:0;",
        "grüße",
        "",
    ],
    "bash": ["#1777366440", "git status", "#1777366500", "#17", "cat <<X", "X", "#9", "grüße", ""],
    "fish": ["- cmd: git status", "  when: 1777366440", "- cmd: a\\nb", "  paths:", "    - x", "- cmd: grüße", ""],
}


@given(
    st.sampled_from(sorted(LINES)).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(st.sampled_from(LINES[kind])))
    )
)
def test_a_history_in_parts_is_the_history(drawn: tuple[str, list[str]]) -> None:
    kind, lines = drawn
    data = "\n".join(lines).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(formats, "_PART", 8)
        found = [data[place] for place in formats.parts(kind, data)]
    assert b"".join(found) == data
    assert [entry for part in found for entry in formats.entries(kind, part)[0] if entry[1]] == [
        entry for entry in formats.entries(kind, data)[0] if entry[1]
    ]


@pytest.mark.parametrize(
    ("kind", "line", "as_written"),
    [
        ("zsh", b": 1777366440:0;git status\n", True),
        ("zsh", b": 1777366440:0;git \\\nstatus\n", False),
        ("zsh", b": 1777366440:0;gr\xc3\x83\x9c\n", False),
        ("bash", b"#1777366440\nfor x in a\ndo\n", True),
        ("bash", b"#1777366440\nls \xff\n", False),
        ("fish", b"- cmd: git status\n", True),
        ("fish", b"- cmd: a\\nb\n", False),
    ],
)
def test_escaped_commands_are_recognised(kind: str, line: bytes, as_written: bool) -> None:
    found, told = formats.entries(kind, line)
    assert told is as_written
    if told:
        assert all(command.encode() in line for _, command, _, _ in found)


@pytest.mark.parametrize("place", [None, 0, 7_000, 13_999])
def test_a_large_history_is_looked_through_as_a_whole_and_a_part_at_a_time(tmp_path: Path, place: int | None) -> None:
    said = [
        f"make target-{number} of a folder with rather a long name, and then of all the others"
        for number in range(14_000)
    ]
    token = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    if place is not None:
        said[place] = f"curl -H x {token}"
    path = tmp_path / ".zsh_history"
    path.write_text("".join(f": {1_777_366_440 + number}:0;{command}\n" for number, command in enumerate(said)))
    assert path.stat().st_size > 1 << 20  # so much is looked through on a thread
    reading = shell.read(str(path), DISK)
    found = [command for day in reading.parts.values() for _, command, _, _ in day.commands]
    if place is not None:
        said[place] = "curl -H x [redacted:github]"
    assert found == said
    assert sum(reading.redacted.values()) == (place is not None)


@pytest.mark.parametrize(
    "secrets",
    [
        {},
        {7_000: "curl -H x gh" + "p_a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"},
        {13_900: "<private>here", 13_999: "to there</private>"},
        {60: "my <private>word</private>", 61: "ls", 9_000: "echo my secret is 12"},
    ],
)
def test_the_parts_of_a_history_are_archived_as_all_of_it_would_be(tmp_path: Path, secrets: dict[int, str]) -> None:
    said = [
        secrets.get(number, f"make target-{number} of a folder with rather a long name") for number in range(14_000)
    ]
    data = "".join(f": {1_777_366_440 + number}:0;{command}\n" for number, command in enumerate(said)).encode()
    kept = shell._history(data, Reading(str(tmp_path / ".zsh_history"), DISK))
    assert kept == clean_document(data, {})
    assert (kept == data) is not bool(secrets)


@pytest.mark.parametrize("kind", sorted(LINES))
def test_a_part_of_a_history_is_archived_without_the_secrets_of_its_commands(kind: str) -> None:
    token = "gh" + "p_a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    said = ["ls", f"push {token}", "docker run -v $PWD:/x y", "grüße \udc83", f"push {token}", "ls\x07", f"{token} x"]
    form = {"zsh": ": {}:0;{}\n", "bash": "#{}\n{}\n", "fish": "- cmd: {1}\n  when: {0}\n  paths:\n    - x\n"}[kind]
    part = "".join(form.format(1_777_366_440 + number, command) for number, command in enumerate(said))
    made, together = Redaction().archived(kind, part.encode("utf-8", "surrogateescape"))
    assert together is None
    assert made == part.replace(token, "[redacted:github]").encode("utf-8", "surrogateescape")
