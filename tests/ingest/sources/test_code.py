"""Code becomes one small document a symbol, and follows the code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import grammars
from core.document import split
from core.errors import BadInput
from core.grammars import LANGUAGES, language_of
from core.home import Home
from core.tombstones import Tombstones
from ingest.pipeline.ledger import Ledger
from ingest.pipeline.run import run
from ingest.sources.code import source as code
from ingest.sources.code import symbols as code_symbols
from ingest.sources.code.symbols import symbols
from tests.cases import cases
from tests.hostile_code import HOSTILE
from tests.unpacked import everything

PYTHON = '''import os

# Greets.
# Twice.
def greet(name):
    """Says it."""
    def inner():
        return 1
    return inner()

@cache
class Parser(Base):
    """Reads."""
    depth = 3

    @property
    def next(self):
        return self.depth

    class Inner:
        async def go(self): ...
'''


def ingest(home: Home, *roots: Path, trust_stat: bool = True, rebuild: bool = False) -> Ledger:
    return run(home, "code", [str(root) for root in roots], trust_stat=trust_stat, rebuild=rebuild)


def held(home: Home) -> dict[str, tuple[dict[str, Any], str]]:
    """Return nodeId → (frontmatter, body)."""
    found = {}
    for path in sorted(Path(home.path("code")).rglob("*.md")):
        meta, body = split(path.read_text(encoding="utf-8"))
        found[str(meta["nodeId"])] = (meta, body)
        assert path.parent.name == meta["repository"]
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text(PYTHON, encoding="utf-8")
    return root


def test_a_symbol_is_a_document_with_its_place(home: Home, repository: Path) -> None:
    ledger = ingest(home, repository)
    found = held(home)
    assert list(found) == [
        "Class:src/a.py:Parser",
        "Class:src/a.py:Parser.Inner",
        "Function:src/a.py:greet",
        "Method:src/a.py:Parser.Inner.go",
        "Method:src/a.py:Parser.next",
    ]
    meta, body = found["Function:src/a.py:greet"]
    assert meta.pop("session_id").startswith("code-")
    assert meta == {
        "source": "code",
        "title": "greet",
        "project": meta["project"],
        "repository": "project",
        "nodeId": "Function:src/a.py:greet",
        "label": "Function",
        "filePath": "src/a.py",
        "startLine": 3,
        "endLine": 9,
    }
    assert Path(meta["project"]).name == "project"
    assert body.startswith(
        "# greet\n\nFunction in `src/a.py`, lines 3–9\n\n```python\n# Greets.\n# Twice.\ndef greet(name):\n"
    )
    assert "return inner()\n```" in body
    _, whole = found["Class:src/a.py:Parser"]
    assert "@cache\nclass Parser(Base):" in whole
    assert "def next(self):" in whole
    assert "return self.depth" not in whole
    assert (ledger.seen, ledger.ingested, ledger.documents) == (1, 1, 5)


LANGUAGE_CASES = cases(__file__, "test_each_language_has_its_symbols")


@pytest.mark.parametrize(("name", "text", "expected"), LANGUAGE_CASES)
def test_each_language_has_its_symbols(name: str, text: str, expected: list[str]) -> None:
    found = symbols(text.encode(), language_of(name))
    assert {f"{one.label}:{one.name}" for one in found} == set(expected)


def test_ignored_files_are_left_out(home: Home, repository: Path) -> None:
    for path in (
        "build/x.py",
        "src/keep.py",
        "src/gen_a.py",
        "src/deep/gen_b.py",
        "lib/mod/y.py",
        ".git/hook.py",
        "sub/z.py",
    ):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(f"def {Path(path).stem}(): ...\n", encoding="utf-8")
    (repository / "sub/.git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    (repository / "link.py").symlink_to("/etc/hostname")
    (repository / ".gitignore").write_text("/build/\ngen_*.py\n[bad\n", encoding="utf-8")
    (repository / "src/deep").mkdir(exist_ok=True)
    (repository / "src/deep/.gitignore").write_text("!gen_b.py\n", encoding="utf-8")
    (repository / ".git/info").mkdir(parents=True)
    (repository / ".git/info/exclude").write_text("lib/mod\n", encoding="utf-8")
    ingest(home, repository)
    assert {meta["filePath"] for meta, _ in held(home).values()} == {"src/a.py", "src/keep.py", "src/deep/gen_b.py"}


def test_documents_follow_renamed_moved_and_deleted_symbols(home: Home, repository: Path) -> None:
    ingest(home, repository)
    source = repository / "src/a.py"
    source.write_text(PYTHON.replace("greet", "welcome"), encoding="utf-8")
    ledger = ingest(home, repository)
    assert "Function:src/a.py:welcome" in held(home)
    assert "Function:src/a.py:greet" not in held(home)
    assert (ledger.written, ledger.removed) == (1, 1)
    source.rename(repository / "b.py")
    ingest(home, repository)
    assert {node.split(":")[1] for node in held(home)} == {"b.py"}
    (repository / "b.py").unlink()
    ledger = ingest(home, repository)
    assert held(home) == {}
    assert ledger.documents == 0


def test_a_document_that_was_edited_or_deleted_is_restored(home: Home, repository: Path) -> None:
    ingest(home, repository)
    before = held(home)
    documents = sorted(Path(home.path("code")).rglob("*.md"))
    documents[0].unlink()
    ingest(home, repository)
    assert held(home) == before
    documents[1].write_text("edited", encoding="utf-8")
    ingest(home, repository, trust_stat=False)
    assert held(home) == before


def test_a_run_without_repositories_takes_those_named_before(home: Home, repository: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no repository was named yet"):
        run(home, "code", trust_stat=True)
    other = tmp_path / "elsewhere" / "project"
    other.mkdir(parents=True)
    (other / "main.go").write_text("package main\nfunc main() {}\n", encoding="utf-8")
    ingest(home, repository, other)
    (repository / "new.py").write_text("def fresh(): ...\n", encoding="utf-8")
    run(home, "code", trust_stat=True)
    found = held(home)
    assert {"Function:new.py:fresh", "Function:main.go:main"} <= found.keys()
    assert len({meta["repository"] for meta, _ in found.values()}) == 2, "the same folder name, and not the same place"


def test_a_forgotten_symbol_stays_away_until_its_tombstone_is_lifted(home: Home, repository: Path) -> None:
    ingest(home, repository)
    before = held(home)
    unit = str(before["Function:src/a.py:greet"][0]["session_id"])
    Tombstones(home).add([("code", unit)])
    for rebuild in (False, True):
        ingest(home, repository, rebuild=rebuild)
        assert before.keys() - held(home).keys() == {"Function:src/a.py:greet"}
    Tombstones(home).lift(Tombstones(home).marks())
    ingest(home, repository)
    assert held(home) == before


def test_overloads_hostile_names_and_secrets(home: Home, repository: Path) -> None:
    token = "ghp_" + "sekr1t8A" * 4 + "abcd"
    (repository / "a b`c.py").write_text(
        f"def f(): return '{token}'\ndef f(): return '```'\ndef F(): ...\n", encoding="utf-8"
    )
    (repository / "A.java").write_text("class A { void m() {} void m(int x) {} }", encoding="utf-8")
    ledger = ingest(home, repository)
    found = held(home)
    assert {
        "Function:a b`c.py:f",
        "Function:a b`c.py:f#2",
        "Function:a b`c.py:F",
        "Method:A.java:A.m#2",
    } <= found.keys()
    assert found["Function:a b`c.py:f#2"][1].rstrip().endswith("\n````")
    assert ledger.redacted == {"github": 1}
    names = [path.name.casefold() for path in Path(home.path("code")).rglob("*.md")]
    assert len(names) == len(set(names))
    assert all(len(os.fsencode(name)) < 200 for name in names)


def test_large_and_binary_files_are_skipped(home: Home, repository: Path) -> None:
    (repository / "big.py").write_bytes(b"x = 1\n" * 400_000)
    (repository / "binary.c").write_bytes(b"int x;\0")
    assert ingest(home, repository).skipped == {"too large": 1, "no text": 1}


def test_a_tangle_has_no_symbols_and_is_not_parsed_again_before_it_changes(
    home: Home, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ingest(home, repository).documents
    hostile = repository / "hostile.py"
    hostile.write_text("def f():\n    pass\n")
    assert ingest(home, repository).documents == before + 1
    hostile.write_text("def f():\n    pass\n\n" + "(" * 60_000)
    changed = ingest(home, repository)
    assert (changed.skipped, changed.failed_files, changed.documents) == ({"too tangled": 1}, 0, before)
    monkeypatch.setattr(code_symbols.SymbolReader, "symbols", lambda *_: pytest.fail("it is read again"))
    assert ingest(home, repository).written == 0


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", Path(code.__file__).read_text()),
        ("python", PYTHON),
        ("go", "package p\n\n// Walk goes.\n// On.\nfunc Walk() {\n}\n\n/* A kind. */\ntype T struct {\n\tx int\n}\n"),
        *((language_of(name), text) for name, text, _ in LANGUAGE_CASES if name in ("a.ts", "a.rs")),
    ],
)
def test_a_symbols_text_begins_and_ends_on_the_lines_it_names(language: str, text: str) -> None:
    lines = text.split("\n")
    found = symbols(text.encode(), language)
    assert found
    for symbol in found:
        shown = symbol.text.split("\n")
        stated = lines[symbol.start - 1 : symbol.end]
        assert shown[0] == stated[0]
        assert set(shown) <= set(stated)
        if symbol.label in ("Function", "Method"):
            assert shown == stated


@pytest.mark.parametrize(("text", "language"), HOSTILE)
def test_a_file_that_stalls_or_floods_its_grammar_costs_itself_alone(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, language: str
) -> None:
    monkeypatch.setattr(grammars, "cpu_s", lambda _: 1)
    ending = next(ending for ending, name in LANGUAGES.items() if name == language)
    (tmp_path / f"b{ending}").write_text(text)
    for name in ("a.py", "c.py"):
        (tmp_path / name).write_text("def walk(path):\n    return path\n")
    found = ingest(home, tmp_path)
    assert (found.skipped, found.ingested, found.documents) == ({"too tangled": 1}, 2, 2)
    again = ingest(home, tmp_path)
    assert (again.unchanged, again.written) == (3, 0), "it is not parsed again before it changes"


@pytest.mark.parametrize(("language", "opening"), [("cpp", "namespace a{"), ("java", "class A{"), ("rust", "mod a{")])
def test_names_are_as_long_as_anybody_nests(language: str, opening: str) -> None:
    found = symbols((opening * 3000 + "}" * 3000).encode(), language)
    assert len(found) == 32
    assert max(symbol.name.count(".") for symbol in found) == 31


@given(st.binary(max_size=400), st.sampled_from(sorted(set(LANGUAGES.values()))))
def test_no_bytes_stop_the_reader(data: bytes, language: str) -> None:
    for symbol in symbols(data, language):
        assert symbol.start <= symbol.end
        assert symbol.name


@pytest.mark.parametrize("marked", [False, True])
def test_an_excluded_folder_brings_no_new_documents(home: Home, tmp_path: Path, marked: bool) -> None:
    root = tmp_path / "api"
    for name in ("a.py", "inner/b.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("def before():\n    pass\n")

    def exclude(folder: Path) -> None:
        if marked:
            (folder / ".brain-ignore").touch()
        else:
            rule = f"exclude: {{projects: ['{folder}']}}"
            Path(home.path("collections.yml")).write_text(f"collections: {{code: {{path: code}}}}\n{rule}\n")

    def documents() -> list[str]:
        return sorted(path.read_text() for path in Path(home.path("code")).rglob("*.md"))

    run(home, "code", [str(root)], trust_stat=False)
    exclude(root / "inner")
    for name in ("a.py", "inner/b.py"):
        (root / name).write_text("def before():\n    pass\n\ndef later():\n    pass\n")
    ledger = run(home, "code", [str(root)], trust_stat=False)
    reason = "excluded: .brain-ignore" if marked else "excluded: project"
    assert ledger.skipped == {reason: 1}
    assert len(documents()) == 3
    before = documents()
    exclude(root)
    (root / "a.py").write_text("def last():\n    pass\n")
    ledger = run(home, "code", trust_stat=False)
    assert (ledger.seen, ledger.skipped) == (1, {reason: 1})
    assert documents() == before


def test_a_missing_repository_has_an_error_of_its_own(home: Home, tmp_path: Path) -> None:
    root = tmp_path / "api"
    root.mkdir()
    (root / "a.py").write_text("def before():\n    pass\n")
    run(home, "code", [str(root)], trust_stat=False)
    root.rename(tmp_path / "away")
    with pytest.raises(BadInput, match=f"is not there: {root}"):
        run(home, "code", trust_stat=False)


TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def test_a_secret_in_the_name_of_a_file_or_a_symbol_is_kept_nowhere_and_none_takes_anothers_place(
    home: Home, repository: Path
) -> None:
    other = TOKEN[:-1] + "9"
    for token in (TOKEN, other):
        (repository / f"src/{token}.py").write_text(
            f"def use():\n    pass\n\ndef {token}():\n    pass\n", encoding="utf-8"
        )
    assert ingest(home, repository).documents == 5 + 4
    found = held(home)
    assert len(found) == 5 + 4
    hidden = [(meta, body) for node, (meta, body) in found.items() if "redacted" in node]
    assert len({meta["session_id"] for meta, _ in hidden}) == 4
    assert {meta["filePath"] for meta, _ in hidden} == {"src/[redacted:github].py"}
    assert TOKEN.encode() not in everything(home)
    again = ingest(home, repository)
    assert (again.unchanged, again.written, again.removed) == (3, 0, 0)
    (repository / f"src/{TOKEN}.py").unlink()
    assert ingest(home, repository).removed == 2
    assert len(held(home)) == 5 + 2


def test_a_better_redaction_removes_documents_named_by_a_secret(
    home: Home, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / f"src/{TOKEN}.py").write_text("def use():\n    pass\n", encoding="utf-8")
    with monkeypatch.context() as before:
        before.setattr(code, "redact", lambda text, counts: text)
        before.setattr(code, "REDACTION", 0)
        ingest(home, repository)
        assert TOKEN.encode() in everything(home)
    ingest(home, repository)
    assert TOKEN.encode() not in everything(home)
    assert len(held(home)) == 6
