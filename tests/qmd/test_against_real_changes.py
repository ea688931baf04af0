"""Changes of configuration and index compared with the real qmd 2.8.3; and each program on the other's index."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import struct
import time
from pathlib import Path
from typing import Any

import apsw
import pytest
import yaml

from qmd.index.semantic import spaces
from qmd.vectors import models
from tests.qmd.real import Pair, World, pair

pytestmark = pytest.mark.long


@pytest.fixture
def worlds(tmp_path: Path) -> Pair:
    return pair(tmp_path)


def _digest(text: str | bytes) -> str:
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        stamp = time.time() - 7200
        os.utime(path, (stamp, stamp))


def configured(world: World) -> Any:
    """The configuration, less what the real one adds to it unasked."""
    data = yaml.safe_load(world.config.read_text()) or {}
    data.pop("models", None)
    return data


def collections(world: World) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(world.database)
    try:
        return connection.execute("SELECT * FROM store_collections ORDER BY name").fetchall()
    finally:
        connection.close()


def test_collections_are_added_renamed_changed_and_removed_as_by_qmd(worlds: Pair) -> None:
    write(worlds.files / "one", {"a.md": "# A\n\ntokens\n", "漢字.md": "# 検索\n\n検索 tokens\n", "x.txt": "txt"})
    write(worlds.files / "two", {"b.md": "# B\n\ntokens\n"})
    steps = [
        ["collection", "add", "one"],
        ["collection", "add", "two", "--name", "second", "--mask", "*.md, **/*.txt"],
        ["collection", "add", "one", "--name", "texts", "--glob", "**/*.txt"],
        ["collection", "add", "two/", "--name", "none", "--mask", "**/*.zip"],
        ["collection", "list"],
        ["collection", "exclude", "second"],
        ["search", "tokens", "--files"],
        ["collection", "show", "second"],
        ["collection", "include", "second"],
        ["collection", "update-cmd", "second", "echo", "hello:", "world"],
        ["collection", "show", "second"],
        ["collection", "update-cmd", "second"],
        ["collection", "mv", "one", "first"],
        ["collection", "list"],
        ["ls"],
        ["ls", "first"],
        ["collection", "rm", "second"],
        ["collection", "list"],
        ["search", "tokens", "--json"],
        ["collection", "remove", "first"],
        ["collection", "remove", "texts"],
        ["collection", "remove", "none"],
        ["ls"],
        ["collection", "list"],
        ["status"],
    ]
    for step in steps:
        if step == ["status"]:
            worlds.both(*step)
        else:
            worlds.same(*step)
        assert configured(worlds.ours) == configured(worlds.real), step
        assert collections(worlds.ours) == collections(worlds.real), step


def test_contexts_are_added_and_removed_as_by_qmd(worlds: Pair) -> None:
    write(worlds.files / "notes", {"a.md": "# A\n\ntokens\n", "sub/b.md": "# B\n\ntokens\n"})
    worlds.same("collection", "add", "notes")
    steps: list[tuple[list[str], Path | None]] = [
        (["context", "list"], None),
        (["context", "add", "/", "the", "global: one"], None),
        (["context", "add", "for here"], worlds.files / "notes"),
        (["context", "add", ".", "for sub"], worlds.files / "notes" / "sub"),
        (["context", "add", "notes/sub/b.md", "for one file"], None),
        (["context", "add", "qmd://notes", "for the root"], None),
        (["context", "add", "qmd://notes/su", "a prefix, no folder"], None),
        (["context", "list"], None),
        (["search", "tokens", "--json"], None),
        (["get", "b.md"], None),
        (["status"], None),
        (["context", "rm", "qmd://notes/su"], None),
        (["context", "remove", "."], worlds.files / "notes" / "sub"),
        (["context", "rm", "notes/sub/b.md"], None),
        (["context", "rm", "/"], None),
        (["context", "list"], None),
        (["context", "rm", "qmd://notes/"], None),
        (["context", "list"], None),
        (["search", "tokens", "--json"], None),
    ]
    for step, cwd in steps:
        if step == ["status"]:
            worlds.both(*step)
        else:
            worlds.same(*step, cwd=cwd)
        assert configured(worlds.ours) == configured(worlds.real), step


def test_an_update_counts_what_qmd_counts(worlds: Pair) -> None:
    notes = worlds.files / "notes"
    write(notes, {f"{name}.md": f"# {name}\n\ntokens {name}\n" for name in "abcdef"})
    write(notes, {"nul.md": b"# N\n\nnul \0 tokens\n", "latin.md": b"# L\n\ncaf\xe9 tokens\n", "blank.md": "\n \n"})
    worlds.same("collection", "add", "notes")
    worlds.same("update")
    write(notes, {"a.md": "# changed\n\ntokens\n", "g.md": "# new\n\ntokens\n", "c.md": "# b\n\ntokens b\n"})
    os.utime(notes / "a.md")
    (notes / "b.md").unlink()
    (notes / "e.md").unlink()
    (notes / "link.md").symlink_to(notes / "d.md")
    (notes / "folder.md").mkdir()
    worlds.same("update")
    worlds.same("search", "tokens", "--files", "--all")
    worlds.same("get", "nul.md")
    worlds.same("get", "latin.md")
    worlds.same("update", "--pull")
    worlds.same("cleanup", "--dry-run")
    worlds.same("cleanup")
    worlds.same("cleanup")
    write(notes, {"b.md": "# b\n\ntokens b again\n"})
    worlds.same("update")
    worlds.same("ls", "notes")
    worlds.same("collection", "list")


def test_an_update_command_runs_and_fails_as_with_qmd(worlds: Pair) -> None:
    write(worlds.files / "notes", {"a.md": "# A\n\ntokens\n"})
    worlds.same("collection", "add", "notes")
    worlds.same("collection", "update-cmd", "notes", "echo out; echo err >&2; pwd")
    worlds.same("update")
    worlds.same("collection", "update-cmd", "notes", "printf 'two\\nlines\\n'; exit 7")
    worlds.same("update")


def test_a_projects_own_index_is_made_and_found_as_by_qmd(worlds: Pair) -> None:
    for world in (worlds.real, worlds.ours):
        project = world.folder / "project"
        write(project, {"doc/a.md": "# A\n\ntokens\n"})
        outside = world.folder / "outside"
        write(outside, {"o.md": "# O\n\noutside tokens\n"})
    steps: list[tuple[list[str], str]] = [
        (["init"], "project"),
        (["init"], "project"),
        (["ls"], "project"),
        (["collection", "add", "."], "project"),
        (["trust", "list"], "project"),
        (["trust"], "project"),
        (["ls"], "project/doc"),
        (["search", "tokens", "--json"], "project/doc"),
        (["search", "tokens", "--files", "--full-path"], "project/doc"),
        (["trust", "revoke"], "project"),
        (["init"], "."),
    ]
    for step, place in steps:
        done = [world.run(*step, cwd=world.folder / place) for world in (worlds.real, worlds.ours)]
        shown = [(each.returncode, _undated(each.stdout), each.stderr) for each in done]
        assert shown[0] == shown[1], step


def _undated(text: str) -> str:
    import re

    return re.sub(r"20\d\d-\d\d-\d\dT[\d:.]+Z", "DATE", text)


def test_what_a_project_asks_for_is_gated_as_by_qmd(worlds: Pair) -> None:
    programs = (worlds.real, worlds.ours)
    for world in programs:
        write(world.folder / "outside", {"o.md": "# O\n\noutside tokens\n"})
        write(world.folder / "project", {"doc/a.md": "# A\n\ntokens\n"})
        text = {
            "collections": {
                "docs": {
                    "path": str(world.folder / "project" / "doc"),
                    "pattern": "**/*.md",
                    "update": "echo ran > ran.txt",
                },
                "out": {"path": str(world.folder / "outside"), "pattern": "**/*.md"},
            },
            "models": {"embed": "hf:someone/model/file.gguf"},
        }
        write(world.folder / "project", {".qmd/index.yml": yaml.safe_dump(text)})

    def both(*words: str, env: dict[str, str] | None = None) -> None:
        done = [world.run(*words, cwd=world.folder / "project", env=env) for world in programs]
        shown = [(each.returncode, _undated(each.stdout), each.stderr) for each in done]
        assert shown[0] == shown[1], words

    both("update")
    assert not any((world.folder / "project" / "doc" / "ran.txt").exists() for world in programs)
    both("search", "tokens", "--files")
    both("trust")
    both("trust", "list")
    both("update")
    assert all((world.folder / "project" / "doc" / "ran.txt").exists() for world in programs)
    both("search", "tokens", "--files")
    # The record is one for both programs: theirs is valid for us.
    records = [json.loads((world.folder / "config" / "qmd" / "trusted.json").read_text()) for world in programs]
    digests = [
        (next(iter(record)).replace(str(world.folder), ""), next(iter(record.values()))["hooks"])
        for world, record in zip(programs, records, strict=True)
    ]
    assert [digest[0] for digest in digests] == ["/project/.qmd/index.yml"] * 2
    both("trust", "revoke")
    both("trust", "revoke")
    both("update")
    both("update", env={"QMD_TRUST_UPDATE_HOOKS": "1"})


def test_an_approval_by_either_program_is_one_for_the_other(worlds: Pair) -> None:
    project = worlds.files / "project"
    text = {
        "collections": {
            "docs": {"path": "/elsewhere/ü", "update": 'true "x"'},
            "b": {"path": str(project), "update": "é"},
        }
    }
    write(project, {".qmd/index.yml": yaml.safe_dump(text)})
    for world, other in ((worlds.real, worlds.ours), (worlds.ours, worlds.real)):
        assert world.run("trust", cwd=project).returncode == 0
        record = (world.folder / "config" / "qmd" / "trusted.json").read_text()
        place = other.folder / "config" / "qmd"
        place.mkdir(parents=True, exist_ok=True)
        (place / "trusted.json").write_text(record)
        assert "not trusted" not in other.run("update", cwd=project).stdout
        (place / "trusted.json").unlink()
        (world.folder / "config" / "qmd" / "trusted.json").unlink()


def test_each_program_opens_the_index_that_the_other_wrote(worlds: Pair) -> None:
    notes = worlds.files / "notes"
    write(notes, {f"{name}.md": f"# {name} 検索\n\ntokens {name}\n\n## more\n\nOAuth\n" for name in "abcdef"})
    worlds.both("collection", "add", "notes")
    worlds.both("context", "add", "qmd://notes/", "mine")
    searches = [["search", query, "--json"] for query in ("tokens", "検索", '"OAuth"', "tokens -a")]
    searches += [["get", "a.md"], ["multi-get", "*.md", "--json"], ["ls", "notes"], ["collection", "show", "notes"]]
    before = [worlds.same(*words) for words in searches]
    written = (notes / "a.md").stat().st_mtime_ns  # a listing shows the minute
    real, ours = worlds.real, worlds.ours
    for world, program in (
        (World(real.argv, ours.folder / "x", worlds.files), ours),
        (World(ours.argv, real.folder / "x", worlds.files), real),
    ):
        # The other program, on this one's configuration and index.
        world.folder = program.folder
        assert [world.run(*words).stdout for words in searches] == before
        assert "0 new, 0 updated, 6 unchanged, 0 removed" in world.run("update").stdout
        write(notes, {"a.md": f"# a 検索\n\ntokens changed {time.time()}\n"})
        os.utime(notes / "a.md")
        (notes / "g.md").write_text("# g\n\ntokens new\n")
        assert "1 new, 1 updated, 5 unchanged, 0 removed" in world.run("update").stdout
        shown = [world.run(*words).stdout for words in searches]
        assert [program.run(*words).stdout for words in searches] == shown
        assert "0 new, 0 updated, 7 unchanged, 0 removed" in program.run("update").stdout
        (notes / "g.md").unlink()
        assert "0 new, 0 updated, 6 unchanged, 1 removed" in program.run("update").stdout
        assert "0 new, 0 updated, 6 unchanged, 0 removed" in world.run("update").stdout
        write(notes, {"a.md": "# a 検索\n\ntokens a\n\n## more\n\nOAuth\n"})
        os.utime(notes / "a.md", ns=(written, written))
        assert "0 new, 1 updated" in program.run("update").stdout
        assert "0 new, 0 updated" in world.run("update").stdout
        assert [program.run(*words).stdout for words in searches] == before


def test_vectors_that_qmd_wrote_stay_as_they_are(worlds: Pair) -> None:
    notes = worlds.files / "notes"
    write(notes, {"a.md": "# a\n\ntokens\n", "b.md": "# b\n\ntokens\n"})
    worlds.both("collection", "add", "notes")
    database = worlds.real.database
    digest = hashlib.sha256(b"# a\n\ntokens\n").hexdigest()
    connection = sqlite3.connect(database)
    connection.execute(
        "INSERT INTO content_vectors VALUES(?, 0, 0, ?, 'c37385', 1, '2026-01-01T00:00:00Z')",
        (digest, "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"),
    )
    connection.commit()
    connection.close()
    ours = World(worlds.ours.argv, worlds.real.folder / "x", worlds.files)
    ours.folder = worlds.real.folder
    assert "(1 unique hashes need vectors)" in ours.run("update").stdout
    assert "Vectors:  1 embedded" in ours.run("status").stdout
    (notes / "a.md").unlink()
    ours.run("update")
    ours.run("cleanup")
    connection = sqlite3.connect(database)
    assert connection.execute("SELECT hash, seq FROM content_vectors").fetchall() == [(digest, 0)]
    connection.close()


def test_orphaned_vectors_are_removed_as_qmd_removes_them(worlds: Pair) -> None:
    notes = worlds.files / "notes"
    texts: dict[str, str | bytes] = {f"{name}.md": f"# {name}\n\ntokens {name}\n" for name in "abc"}
    write(notes, texts)
    worlds.same("collection", "add", "notes")
    for world in (worlds.real, worlds.ours):
        connection = apsw.Connection(str(world.database))
        spaces.load(connection)
        connection.execute(
            "CREATE VIRTUAL TABLE vectors_vec USING vec0(hash_seq TEXT PRIMARY KEY,"
            " embedding float[4] distance_metric=cosine)"
        )
        for text in texts.values():
            digest = _digest(text)
            connection.execute("INSERT INTO vectors_vec VALUES(?, ?)", (f"{digest}_0", struct.pack("4f", 1, 2, 3, 4)))
            connection.execute(
                "INSERT INTO content_vectors VALUES(?, 0, 0, ?, 'c37385', 1, '2026-01-01T00:00:00Z')",
                (digest, models.EMBED),
            )
        connection.close()
    (notes / "a.md").unlink()
    write(notes, {"b.md": "# b\n\nchanged\n"})
    worlds.same("update")
    worlds.same("cleanup", "--dry-run")
    worlds.same("cleanup")
    worlds.same("cleanup")
    kept = []
    for world in (worlds.real, worlds.ours):
        connection = apsw.Connection(str(world.database))
        spaces.load(connection)
        kept.append(connection.execute("SELECT v.hash_seq, c.hash FROM vectors_vec v, content_vectors c").fetchall())
        connection.close()
    digest = _digest(texts["c.md"])
    assert kept == [[(f"{digest}_0", digest)]] * 2


def test_a_named_index_is_where_qmd_has_it(worlds: Pair) -> None:
    write(worlds.files / "notes", {"a.md": "# A\n\ntokens\n"})
    worlds.same("--index", "work", "collection", "add", "notes")
    worlds.same("--index", "work", "search", "tokens", "--json")
    worlds.same("--index=work", "search", "tokens", "--files")
    worlds.same("get", "qmd://notes/a.md?index=work")
    worlds.same("get", "qmd://notes/a.md")
    worlds.same("--index", "a/b", "collection", "add", "notes")
    for part in ("config/qmd", "cache/qmd"):
        names = [
            sorted(
                path.name
                for path in (world.folder / part).iterdir()
                if path.suffix in (".yml", ".sqlite") and path.name != "index.yml"
            )
            for world in (worlds.real, worlds.ours)
        ]
        assert names[0] == names[1]
    worlds.same("ls", env={"INDEX_PATH": str(worlds.ours.folder / "other.sqlite")})


def test_a_query_of_keywords_is_answered_as_by_qmd(worlds: Pair) -> None:
    write(
        worlds.files / "notes",
        {f"{n}.md": f"# T{n}\n\n" + "tokens filler words\n" * (n % 5 + 1) + f"special{n}\n" for n in range(30)},
    )
    write(
        worlds.files / "more",
        {
            "long.md": "# L\n\n"
            + "\n\n".join(f"para {n} about nothing" for n in range(600))
            + "\n\ntokens at the end 🎉\n"
        },
    )
    worlds.same("collection", "add", "notes")
    worlds.same("collection", "add", "more")
    for document in (
        "lex: tokens",
        "lex: tokens\nlex: special7",
        "intent: about the end\nlex: tokens",
        'LEX: "tokens filler"\n\nlex: para',
    ):
        for shape in (
            ["--json"],
            ["--json", "--explain"],
            ["--explain"],
            ["--md", "-n", "3"],
            ["-C", "2", "--files"],
            ["-c", "more", "--json"],
            ["--all", "--files"],
            ["--min-score", "0.2", "--csv"],
        ):
            worlds.same("query", document, "--no-rerank", *shape)
    worlds.same("query", "lex: nothing", "--no-rerank", "--json")


def test_code_is_shown_from_the_chunk_that_qmd_cuts_by_its_grammar(worlds: Pair) -> None:
    # The first chunk of the plain rule has both words, though not in one function.
    body = "    some = other(thing)\n"
    filler = "".join(f"def f{n}():\n{body * 40}" for n in range(3))
    write(worlds.files / "code", {"a.py": f"needle = 1\n{filler}def target():\n{body * 60}    needle()\n"})
    worlds.both("collection", "add", str(worlds.files / "code"), "--name", "code", "--mask", "**/*.py")
    query = ("query", "lex: target needle", "--no-rerank", "--json", "-c", "code")
    shown = []
    for words in (query, (*query, "--chunk-strategy", "auto"), (*query, "--chunk-strategy", "regex")):
        real, ours = (json.loads(world.run(*words).stdout) for world in (worlds.real, worlds.ours))
        assert [(each["line"], each["snippet"]) for each in ours] == [(each["line"], each["snippet"]) for each in real]
        shown.append(ours[0]["line"])
    assert shown[0] == shown[2] != shown[1]
