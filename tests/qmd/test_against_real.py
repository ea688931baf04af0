"""Every command compared with the real qmd 2.8.3 on the same files: exit code, stdout and stderr byte for byte."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from tests.qmd.real import Pair, pair

pytestmark = pytest.mark.long

FILES = {
    "alpha.md": "# Alpha Project\n\nThe authentication flow uses OAuth tokens.\n\nSecond paragraph, café naïve.\n",
    "beta.md": "# Beta\n\nhello world\nAuthentication tokens expire hourly.\n\n## Details\n\n- one\n- two\n",
    "notes.md": "# Notes\n\n## Weekly sync\n\nhello 'quoted' & <tagged> \"text\", with a comma\n",
    "plain.txt": "just text about tokens\n",
    "sub/deep/gamma.md": "---\ntitle: FM\ntags: [a, b]\n---\n\nno heading here, tokens again\n",
    "sub/space name.md": "## Second level\n\nAuthentication in a file with a space\n",
    "sub/emoji 🎉.md": "# Party 🎉\n\n🎉🎉 hello emoji authentication\n",
    "cjk.md": "# 検索\n\n全文検索 engine と テスト\n한국어 문서\n",
    "long.md": "# Long\n\n" + "\n".join(f"line {n} filler words here" for n in range(200)) + "\n\nneedle tokens\n",
    "big.md": "# Big\n\n" + "tokens " * 12_000 + "\n",
    "crlf.md": "# Win\r\n\r\nhello\r\nworld\r\n",
    "empty.md": "  \n\n",
    "node_modules/skip.md": "# skipped tokens\n",
    ".hidden/h.md": "# hidden tokens\n",
    "org/tasks.org": "#+TITLE: Org Title\n* Head\ntokens in org\n",
    "_under_score.md": "no heading\n",
}

# Group → command lines. One line of the file is a group and its words.
COMMANDS: dict[str, list[list[str]]] = {}
for _line in (Path(__file__).parent / "data" / "commands.jsonl").read_text(encoding="utf-8").splitlines():
    _group, *_words = json.loads(_line)
    COMMANDS.setdefault(_group, []).append(_words)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """Two collections in both worlds, with contexts."""
    made = pair(tmp_path_factory.mktemp("worlds"))
    top = {name: text for name, text in FILES.items() if "/" not in name or name[0] in ".n"}
    _write(made.files / "notes", top)
    _write(made.files / "work", {"todo.md": "# Todo\n\ntokens for work\n", "alpha.md": "# Alpha two\n\nwork alpha\n"})
    made.both("collection", "add", "notes", "--name", "notes", "--mask", "**/*.{md,org}")
    made.both("collection", "add", "work")
    # The real one reads folders side by side: which it has first is chance, and the order in which it lists documents.
    for folder in ("sub/deep", "sub", "org"):
        _write(made.files / "notes", {name: FILES[name] for name in FILES if os.path.dirname(name) == folder})
        made.both("update")
    made.both("context", "add", "/", 'Everything: "mine"')
    made.both("context", "add", "qmd://notes/", "All the notes")
    made.both("context", "add", "qmd://notes/sub", "Below sub, with a comma")
    return made


@pytest.mark.parametrize(("words", "code"), [((), 1), (("--help",), 0), (("search", "-h"), 0)])
def test_the_help_is_the_real_ones_and_a_section_of_ours(worlds: Pair, words: tuple[str, ...], code: int) -> None:
    real, ours = (world.run(*words) for world in (worlds.real, worlds.ours))
    assert (real.returncode, ours.returncode, ours.stderr) == (code, code, real.stderr)
    own, _, rest = ours.stdout.partition("\nBeyond qmd 2.8.3:\n")
    page = own.split("\n") + rest.split("\n")[-3:]
    # These three lines name a page of the real one's manual.
    assert [line for line in real.stdout.split("\n") if line not in page] == [
        "  QMD queries are either a single expand query (no prefix) or a multi-line",
        "  document where every line is typed with lex:, vec:, or hyde:. This grammar",
        "  matches the docs in docs/SYNTAX.md and is enforced in the CLI.",
    ]


def _write(folder: Path, files: dict[str, str]) -> None:
    for number, (name, text) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        stamp = time.time() - 7200 - 60 * number
        os.utime(path, (stamp, stamp))


@pytest.mark.parametrize("words", COMMANDS["query"], ids=" ".join)
def test_a_search_finds_what_qmd_finds(worlds: Pair, words: list[str]) -> None:
    worlds.same("search", *words, "--json", "--all")
    worlds.same("search", *words)


@pytest.mark.parametrize("shape", COMMANDS["shape"], ids=" ".join)
def test_a_search_is_printed_as_qmd_prints_it(worlds: Pair, shape: list[str]) -> None:
    worlds.same("search", "tokens", *shape)
    worlds.same(*shape, "search", "zzzz")


@pytest.mark.parametrize("words", COMMANDS["get"], ids=" ".join)
def test_a_document_is_got_as_qmd_gets_it(worlds: Pair, words: list[str]) -> None:
    worlds.same("get", *words)


def test_a_document_is_got_by_its_docid_and_by_its_path(worlds: Pair) -> None:
    docid = worlds.same("search", "OAuth", "--files").partition(",")[0]
    for given in (docid, docid[1:], f'"{docid}"', f"'{docid[1:]}'", f"{docid}:2:1", docid.upper()):
        worlds.same("get", given)
    worlds.same("get", str(worlds.files / "notes" / "beta.md"))
    worlds.same("multi-get", docid)
    worlds.same("multi-get", f"{docid}, beta.md")


@pytest.mark.parametrize("shape", ["cli", "json", "csv", "md", "xml", "files"])
@pytest.mark.parametrize("words", COMMANDS["multi-get"], ids=" ".join)
def test_documents_are_got_as_qmd_gets_them(worlds: Pair, words: list[str], shape: str) -> None:
    worlds.same("multi-get", *words, "--format", shape)


RANKED = """kanban|kanban edge|"edge case"|benchmark -logging|token refresh|refresh tok|logging flag hourly|ranking
the of and|retrieval evaluation|session memory|"session memory"|qmd|brain -qmd|2026|v2|nDCG recall|index update|codes
doctor hourly|hourly doctor|claude code|hooks|jsonl|markdown files|collections.yml|sqlite fts5|embedding model|rerank
chrome history|inbox|symbol search|freshness|latency budget|"latency"|essay|corpus interface|narrow query|don't|OAuth
café|café naïve|検索|テスト|a|x y z|alpha beta gamma|"alpha beta"|gamma -alpha|delta|epsilon zeta
"eta theta"|iota kappa"""


def test_fifty_queries_over_two_corpora_rank_as_with_qmd(
    tmp_path_factory: pytest.TempPathFactory, shared: Path
) -> None:
    worlds = pair(tmp_path_factory.mktemp("ranking"))
    chance = random.Random(7)
    words = [
        word for line in RANKED.split("\n") for query in line.split("|") for word in query.replace('"', "").split()
    ]
    words = sorted({word.lstrip("-") for word in words})
    texts = {
        f"area{n % 7}/n{n:03}.md": f"# {' '.join(chance.choices(words, k=3))}\n\n"
        + "\n".join(" ".join(chance.choices(words, k=chance.randint(3, 14))) for _ in range(chance.randint(1, 40)))
        for n in range(300)
    }
    _write(worlds.files / "made", texts)
    worlds.both("collection", "add", "made")
    worlds.both("collection", "add", str(shared / "reference"), "--name", "reference")
    queries = [query for line in RANKED.split("\n") for query in line.split("|")]
    assert len(queries) >= 50
    for query in queries:
        found = [json.loads(world.run("search", query, "--json").stdout) for world in (worlds.real, worlds.ours)]
        # Files are read in an order of each program's own, by which ties fall.
        real, ours = (sorted(rows, key=lambda row: (-row["score"], row["file"])) for rows in found)
        assert [row["score"] for row in found[1]] == [row["score"] for row in found[0]], query
        if len(real) < 20:
            assert ours == real, query


@pytest.mark.parametrize("words", COMMANDS["other"], ids=" ".join)
def test_other_commands_print_what_qmd_prints(worlds: Pair, words: list[str]) -> None:
    worlds.same(*words)
