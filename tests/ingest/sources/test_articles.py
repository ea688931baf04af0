"""Files that a person adds become documents, whatever the files are like."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.document import split
from ingest.sources.articles import fields as article_fields
from ingest.sources.articles import parser as reader
from ingest.sources.articles.parser import ArticleReader, Unreadable
from ingest.sources.articles.source import LEADS_OUT, Shelf, files
from tests.cases import cases
from tests.examples import examples
from tests.ingest import articles_fixture as made


@pytest.fixture(scope="module")
def child() -> Iterator[ArticleReader]:
    """The process that reads files, for all tests that do not end it."""
    made = ArticleReader(timeout_s=60)
    with made.worker:
        yield made


@pytest.fixture
def shelf(tmp_path: Path, child: ArticleReader) -> Shelf:
    return Shelf(str(tmp_path / "kb-raw"), child)


def put(folder: Path, name: str, data: str | bytes) -> str:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return str(path)


def document(path: str) -> tuple[dict[str, Any], str]:
    return split(Path(path).read_text(encoding="utf-8"))


_KINDS: list[tuple[str, str | bytes, dict[str, Any], str]] = [
    (
        "n.md",
        "---\ntitle: Own\nauthor: Ada\ndate: 2020-01-02\ntags: [a, b]\n---\nSome *text*.",
        {"title": "Own", "author": "Ada", "date": "2020-01-02T00:00:00Z", "tags": ["a", "b"], "kind": "markdown"},
        "Some *text*.",
    ),
    (
        "h.md",
        "# Heading\n\nbody",
        {"title": "Heading", "date_source": "mtime", "date": "2023-11-14T22:13:20Z"},
        "# Heading\n\nbody\n",
    ),
    ("t.txt", "First line\n\nrest", {"title": "First line", "kind": "text"}, "rest"),
    ("latin.txt", b"Caf\xe9 \x93x\x94", {"title": "Café “x”"}, "Café"),
    ("wide.txt", "Wide walrus".encode("utf-16"), {"title": "Wide walrus"}, "Wide walrus"),
    (
        "p.html",
        made.HTML,
        {"title": "The walrus paper", "author": "Ada Lovelace", "date": "2024-05-06T00:00:00Z", "kind": "html"},
        "survey of 1907",
    ),
    ("short.html", "<p>Only <b>this</b></p><script>no()</script>", {"kind": "html"}, "Only **this**"),
    (
        "x.pdf",
        made.pdf(),
        {"title": "A printed walrus", "author": "Ada L.", "date": "2019-02-03T04:05:06Z", "pages": 1},
        "Walruses in print",
    ),
    (
        "b.epub",
        made.epub(),
        {"title": "On Walruses", "author": "Ada L., Bo M.", "date": "2020-01-02T00:00:00Z"},
        "## One\n\nThey rest.\n\n## Two\n\nThey swim.",
    ),
    (
        "d.docx",
        made.docx(),
        {"title": "Minutes", "author": "Bo M.", "date": "2023-03-04T05:06:07Z"},
        "Minutes about walruses",
    ),
    (
        "c.srt",
        made.SRT,
        {"title": "c", "kind": "srt"},
        "[00:00:01] We talk about walruses.\n\n[00:01:10] And then about penguins.",
    ),
    ("c.vtt", made.VTT, {"title": "c", "kind": "vtt"}, "[00:00:01] Rolling captions next"),
]


@pytest.mark.parametrize(("name", "data", "fields", "text"), _KINDS, ids=[kind[0] for kind in _KINDS])
def test_each_kind_of_file_becomes_a_document(
    shelf: Shelf, tmp_path: Path, name: str, data: str | bytes, fields: dict[str, Any], text: str
) -> None:
    added = shelf.add(put(tmp_path, name, data))
    meta, body = document(added.path)
    assert added.status == "added"
    assert {key: meta.get(key) for key in fields} == fields
    assert text in body
    assert body.startswith(f"# {meta['title']}\n")
    assert (meta["source"], meta["original"], len(meta["sha256"])) == ("article", name, 64)
    assert stat.S_IMODE(os.stat(added.path).st_mode) == 0o600
    assert "never" not in body
    assert "no()" not in body


def test_the_bytes_decide_the_kind_of_a_file_before_its_name(shelf: Shelf, tmp_path: Path) -> None:
    assert shelf.add(put(tmp_path, "download", made.pdf())).kind == "pdf"
    assert shelf.add(put(tmp_path, "page.txt", made.HTML)).kind == "html"
    assert shelf.add(put(tmp_path, "said", made.VTT)).kind == "vtt"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("locked.pdf", made.pdf(password="x"), "encrypted"),
        ("scan.pdf", made.pdf(text=""), "no text in it: pages are pictures"),
        ("cut.pdf", made.pdf()[:60], "damaged"),
        ("false.pdf", b"no pdf", "damaged: no PDF file"),
        ("cut.epub", made.epub()[:300], "damaged"),
        ("empty.epub", made.packed({"META-INF/container.xml": "<container/>"}), "damaged: names no book"),
        ("bomb.epub", made.epub({"OEBPS/zero": b"\0" * (8 << 20)}), "unpacks to more than a book can be"),
        (
            "drm.epub",
            made.epub({"META-INF/encryption.xml": "<e><CipherReference URI='OEBPS/two.xhtml'/></e>"}),
            "encrypted",
        ),
        ("laughs.docx", made.docx("<!DOCTYPE x [<!ENTITY a 'ha'>]><w:document/>"), "damaged: declares entities"),
        ("old.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 600, "an encrypted or an old Word file"),
        ("other.zip", made.packed({"a.txt": "x"}), "a packed file that is neither EPUB nor DOCX"),
        ("program", b"\x7fELF\0\0\0\0", "not a kind of file that is known"),
        ("nothing.md", b"", "empty"),
        ("hollow.html", "<html><body><script>x()</script></body></html>", "no text in it"),
        ("none.srt", "no captions", "no captions in it"),
    ],
)
def test_an_unreadable_file_has_a_reason_and_a_fix(
    shelf: Shelf, tmp_path: Path, name: str, data: str | bytes, reason: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        shelf.add(put(tmp_path, name, data))
    assert caught.value.reason.startswith(reason)
    assert caught.value.fix
    assert os.listdir(shelf.folder) == []


def test_adding_again_updates_and_a_copy_is_the_same_article(tmp_path: Path) -> None:
    path = put(tmp_path, "a.md", "# One\n\nfirst")
    copy = put(tmp_path, "b.md", "# One\n\nfirst")
    with Shelf(str(tmp_path / "kb")) as shelf:
        first = shelf.add(path)
        assert shelf.add(path).status == "unchanged"
        assert shelf.add(copy)[:2] == ("unchanged", first.path)
    put(tmp_path, "a.md", "# Other title\n\nsecond")
    with Shelf(str(tmp_path / "kb")) as shelf:
        assert shelf.add(path)[:3] == ("updated", first.path, "Other title")
        assert "second" in document(first.path)[1]
        before = Path(first.path).read_bytes()
        assert shelf.add(path).status == "unchanged"
        assert Path(first.path).read_bytes() == before
        assert shelf.add(copy).status == "added", "these bytes are no article's any more"
    assert len(os.listdir(tmp_path / "kb")) == 2


def test_an_address_is_the_identity_where_there_is_one(shelf: Shelf, tmp_path: Path) -> None:
    first = shelf.add(put(tmp_path, "a.html", made.HTML), url="https://a.test/x?token=sekrit")
    second = shelf.add(put(tmp_path, "b.html", made.HTML.replace("ice", "rocks")), url="https://a.test/x")
    assert (second.status, second.path) == ("updated", first.path)
    meta, _ = document(first.path)
    assert meta["url"] == "https://a.test/x"
    titled = shelf.add(put(tmp_path, "c.txt", "text"), title="Given")
    assert document(titled.path)[0]["title"] == "Given"


def test_a_given_title_and_address_stay_when_the_file_is_added_without_them(tmp_path: Path) -> None:
    with Shelf(str(tmp_path / "kb")) as shelf:
        first = shelf.add(put(tmp_path, "a.md", "# Own\n\none"), title="Given", url="https://a.test/x")
        other = shelf.add(put(tmp_path, "b.md", "# Own\n\nb"), url="https://a.test/y")
    with Shelf(str(tmp_path / "kb")) as shelf:
        again = shelf.add(put(tmp_path, "a.md", "# Other\n\ntwo"))
        assert again[:3] == ("updated", first.path, "Given")
        assert document(first.path)[0]["url"] == "https://a.test/x"
        assert shelf.add(put(tmp_path, "b.md", "# Its own\n\nb"))[:3] == ("updated", other.path, "Its own")
        assert shelf.add(str(tmp_path / "a.md"), title="Newer").title == "Newer"
        put(tmp_path, "a.md", "# Third\n\nthree")
        assert shelf.add(str(tmp_path / "a.md")).title == "Newer"
        third = shelf.add(put(tmp_path, "a.md", "another page"), url="https://a.test/z")
        assert third.status == "added", "another address is another article, though it lies where the first did"


def test_secrets_and_control_characters_do_not_get_in(shelf: Shelf, tmp_path: Path) -> None:
    token = "ghp_" + "sekr1t8A" * 4 + "abcd"
    added = shelf.add(
        put(tmp_path, "a.md", f"---\ntitle: 'x {token}'\n---\n\x1b[31mkey {token}\n\n---\nsource: note\n")
    )
    data = Path(added.path).read_bytes()
    assert b"sekr1t8A" not in data
    assert b"\x1b" not in data
    assert document(added.path)[0]["source"] == "article"
    assert shelf.redacted == {"github": 2}
    page = shelf.add(put(tmp_path, "p.html", made.HTML))
    assert document(page.path)[0]["url"] == "https://a.test/w"


@pytest.mark.parametrize("ending", ["html", "md", "escaped.md"])
def test_a_secret_with_underscores_does_not_get_in_by_way_of_markdown(
    shelf: Shelf, tmp_path: Path, ending: str
) -> None:
    token, key = "ghp_" + "sekr1t8A" * 4 + "abcd", "sekr1t8A/Zq3+" * 3
    text = f"Push with {token}, or AWS_SECRET_ACCESS_KEY={key}\n\nAnd snake_case_words * 2."
    page = f"<html><body><article><h1>Deploying</h1><p>{text}</p></article></body></html>"
    added = shelf.add(
        put(
            tmp_path,
            f"s.{ending}",
            page if ending == "html" else text.replace("_", "\\_") if "escaped" in ending else text,
        )
    )
    body = document(added.path)[1]
    assert "sekr1t8A" not in body
    assert "[redacted:github]" in body
    assert "AWS_SECRET_ACCESS_KEY=[redacted:secret]" in body
    assert ending == "escaped.md" or "snake_case_words * 2" in body


def test_a_file_that_stalls_its_reader_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = ArticleReader(timeout_s=1.5)
    with reader.worker:
        with pytest.raises(Unreadable, match="not read within"):
            reader.read(str(tmp_path / "pipe"), "pipe.txt", "")
        assert reader.read(put(tmp_path, "a.txt", "fine"), "a.txt", "").body == "fine"


def test_a_file_that_ends_its_reader_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = put(tmp_path, "a.txt", "fine")
    reader = ArticleReader(timeout_s=60)
    with reader.worker:
        assert reader.read(path, "a.txt", "").body == "fine"
        process = reader.worker.process
        assert process is not None
        threading.Timer(0.3, process.kill).start()
        with pytest.raises(Unreadable, match="the reader ended"):
            reader.read(str(tmp_path / "pipe"), "pipe.txt", "")
        assert reader.read(path, "a.txt", "").body == "fine"
    assert process.returncode == -9


def test_a_long_text_is_cut_and_counts_the_rest(shelf: Shelf, tmp_path: Path) -> None:
    added = shelf.add(put(tmp_path, "a.txt", "word " * 900_000))
    meta, body = document(added.path)
    assert meta["truncated"] == 4_500_000 - reader.MAX_CHARACTERS
    assert len(body) < reader.MAX_CHARACTERS + 100


def test_a_folder_gives_its_articles_in_order_and_nothing_hidden(tmp_path: Path) -> None:
    for name in ("b.md", "a.PDF", ".hidden.md", "x.py", ".git/y.md", "sub/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert [os.path.relpath(path, tmp_path) for path in files(str(tmp_path))] == ["a.PDF", "b.md", "sub/c.txt"]


def test_a_link_that_leads_out_of_the_folder_is_not_followed_but_counted(tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    secret = put(tmp_path / "away", "secret.md", "x")
    inside = tmp_path / "in"
    inside.mkdir()
    put(inside, "a.md", "x")
    (inside / "b.md").symlink_to(secret)
    (inside / "c").symlink_to(tmp_path / "away")
    (inside / "d.md").symlink_to("a.md")
    (tmp_path / "door").symlink_to(inside)
    skipped: dict[str, int] = {}
    found = list(files(str(tmp_path / "door"), skipped))
    assert [os.path.basename(path) for path in found] == ["a.md", "d.md"]
    assert skipped == {LEADS_OUT: 2}


@pytest.mark.parametrize(
    ("name", "text", "body"),
    [
        *cases(__file__, "test_captions_say_who_speaks"),
        # A tag that is never closed is none, and costs no more than any other text.
        ("c.vtt", f"WEBVTT\n\n00:01.000 --> 00:03.000\na <v{' ' * 50_000}Ann\n", "[00:00:01] a <v Ann"),
        ("d.vtt", f"WEBVTT\n\n00:01.000 --> 00:03.000\n{'<c>a' * 5000}\n", f"[00:00:01] {'a' * 5000}"),
    ],
)
def test_captions_say_who_speaks(name: str, text: str, body: str) -> None:
    assert reader.read(text.encode(), name).body == body


_STARTS = [b"", b"WEBVTT\n\n", b"1\n00:00:01,000 --> ", b"PK\x03\x04", b"---\n", b"%PDF-1.4\n"]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.binary(max_size=300),
    st.sampled_from(["a.md", "a.txt", "a.srt", "a.vtt", "a", "a.pdf", "a.epub"]),
    st.sampled_from(_STARTS),
)
def test_no_bytes_do_more_than_be_unreadable(data: bytes, name: str, start: bytes) -> None:
    try:
        said = reader.read(start + data, name).kind
    except Unreadable as error:
        said = error.reason and error.fix
    assert said


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("a[]|/ 1", max_size=9) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "given", "tags"]), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(("name", "text", "fields"), cases(__file__, "test_the_fields_of_a_file_are_kept"))
def test_the_fields_of_a_file_are_kept(
    shelf: Shelf, tmp_path: Path, name: str, text: str, fields: dict[str, Any]
) -> None:
    text = text.replace("@long@", "Some long words here. " * 30)
    meta, body = document(shelf.add(put(tmp_path, name, text)).path)
    names = ("author", "url", *fields)
    assert {field: meta[field] for field in names if field in meta} == fields
    assert "+++" not in body


@pytest.mark.parametrize(("text", "title"), cases(__file__, "test_markdown_without_a_name_is_known_by_its_first_line"))
def test_markdown_without_a_name_is_known_by_its_first_line(
    shelf: Shelf, tmp_path: Path, text: str, title: str
) -> None:
    assert shelf.add(put(tmp_path, "piped", text), called="piped text").title == title


@given(st.dictionaries(st.sampled_from(["title", "author", "authors", "date", "source", "tags", "taxonomies"]), _ANY))
def test_no_value_stops_the_reader_or_appears_as_python_prints_it(meta: dict[str, Any]) -> None:
    found = article_fields.known(meta)
    assert all(type(value) is str for name, value in found.items() if name != "tags")
    assert not any("{" in str(value) for name, value in found.items() if name == "author")


def test_an_export_of_apple_notes_is_a_folder_of_articles(shelf: Shelf, tmp_path: Path) -> None:
    export = tmp_path / "Notes"
    (export / "The lock/Attachments").mkdir(parents=True)
    (export / "Old").mkdir()
    put(export / "The lock", "The lock.md", "# The lock\n\n![](Attachments/a.png)\nMend it before April.")
    (export / "The lock/Attachments/a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    put(export / "Old", "Hinges.html", "<html><body><h1>Hinges</h1><div>Oil them in April.</div></body></html>")
    found = [document(shelf.add(path).path) for path in files(str(export))]
    assert [meta["title"] for meta, _ in found] == ["Hinges", "The lock"]
    assert all("April" in body for _, body in found)
