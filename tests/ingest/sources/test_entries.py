"""Mail, calendars and bookmarks: files that a person exported, or that browsers keep."""

from __future__ import annotations

import json
import plistlib
import time
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import config
from core.document import split
from core.home import Home
from ingest import registry
from ingest.pipeline.run import run
from ingest.web import policy as reasons
from runtime.asking.documents import Selection
from runtime.capture.indexing import index
from runtime.forgetting import forget
from tests.ingest.sources.cases import ingest
from tests.ingest.sources.databases import database
from tests.unpacked import everything

TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def documents(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(home.path("kb-raw")).glob("*.md"))}


def only(home: Home) -> tuple[dict[str, Any], str]:
    (data,) = documents(home).values()
    return split(data.decode())


def mail(number: int, text: str, *, subject: str = "The lock", above: int = 0, **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["Message-ID"] = f"<m{number}@example.com>"
    message["Date"] = f"Tue, 28 Apr 2026 09:1{number}:00 +0200"
    message["From"], message["To"] = "Ann Ö <ann@example.com>", "me@example.com"
    message["Subject"] = subject
    if above:
        message["In-Reply-To"] = f"<m{above}@example.com>"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return message


def mailbox(path: Path, *messages: EmailMessage) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    held = [b"From me@example.com Tue Apr 28 09:10:00 2026\n" + bytes(each).replace(b"\nFrom ", b"\n>From ") for each in
            messages]  # fmt: skip
    path.write_bytes(b"\n".join(held))
    return path


def test_a_conversation_by_mail_is_one_document(home: Home, tmp_path: Path) -> None:
    answer = mail(2, "> Does it hold?\nIt holds.\nFrom here on it is oiled.", subject="Re: The lock", above=1)
    answer.add_attachment(b"x" * 100, maintype="image", subtype="png", filename="lock.png")
    other = mail(3, "", subject="=?utf-8?q?T=C3=BCr?=")
    other.add_alternative("<p>The <b>door</b></p><style>p {}</style><p>is open", subtype="html")
    mailbox(tmp_path / "All.mbox", mail(1, "Does it hold?"), answer, other)
    ledger = ingest(home, "mail", tmp_path)
    assert (ledger.ingested, ledger.failed_records) == (1, 0)
    found = [split(data.decode()) for data in documents(home).values()]
    ((meta, body),) = (each for each in found if each[0]["title"] == "The lock")
    assert (meta["date"], meta["ended"], meta["entries"]) == ("2026-04-28T07:11:00Z", "2026-04-28T07:12:00Z", 2)
    assert "- from: Ann Ö <ann@example.com>" in body
    assert "- files: lock.png" in body
    assert body.count("Does it hold?") == 1, "what a reply quotes is in the message that it quotes"
    assert "From here on it is oiled." in body
    ((_, other_body),) = (each for each in found if each[0]["title"] == "Tür")
    assert "The door\n\nis open" in other_body


def test_a_new_message_rewrites_no_other_conversation(home: Home, tmp_path: Path) -> None:
    held = [mail(1, "Does it hold?"), mail(2, "Where is the oil?", subject="Oil")]
    mailbox(tmp_path / "All.mbox", *held)
    ingest(home, "mail", tmp_path)
    mailbox(tmp_path / "All.mbox", *held, mail(3, "On the shelf.", subject="Re: Oil", above=2))
    landed: list[str] = []
    run(home, "mail", [str(tmp_path)], trust_stat=True, on_written=lambda *each: landed.append(each[1]))
    assert landed == [name for name, data in documents(home).items() if b"On the shelf." in data]


def test_a_message_alone_and_a_mailbox_of_apple_mail_are_read(home: Home, tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(bytes(mail(1, "Does it hold?")))
    mailbox(tmp_path / "Inbox.mbox/mbox", mail(1, "Does it hold?"), mail(2, "It holds.", above=1))
    (tmp_path / "other.eml").write_text("A walrus sings.\n")
    ledger = ingest(home, "mail", tmp_path)
    assert (ledger.ingested, ledger.skipped) == (2, {"no mail in it": 1})
    assert only(home)[0]["entries"] == 2


@pytest.mark.parametrize("data", [
    b"Subject: x\nX: y\nContent-Type: multipart/mixed; boundary=b\n\n"
    + b"--b\nContent-Type: multipart/mixed\n\n" * 300,
    b"Subject: =?nothing?b?////?= " + b"=?utf-8?q?=FF" * 5000 + b"\nDate: Foo, 99 Bar 99999 99:99:99\n\nwalrus",
    b"From: " + b"<(" * 20_000 + b"\nTo: " + b'"' * 9_999 + b"\nContent-Type: text/plain; charset=song\n\nwalrus",
    b"Subject: x\nX: y\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\n====%%%",
])  # fmt: skip
def test_hostile_mail_ends_in_a_count_or_a_document(home: Home, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "one.eml").write_bytes(data)
    ledger = ingest(home, "mail", tmp_path)
    assert ledger.ingested + ledger.failed_files + sum(ledger.skipped.values()) == 1


def parts_within_parts(depth: int) -> bytes:
    opened = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (each, each) for each in range(depth))
    return b"".join(opened) + b"Content-Type: text/plain\n\n"


@pytest.mark.parametrize("data", [
    b'Content-Type: text/plain; name="' + b";" * 200_000 + b"\n\nwalrus",
    parts_within_parts(900) + b"x\n" * 200_000,
], ids=["a parameter without an end", "parts within parts"])  # fmt: skip
def test_a_hostile_message_takes_no_more_time_than_its_length(home: Home, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "one.eml").write_bytes(b"Subject: x\nX: y\n" + data)
    began = time.process_time()
    assert ingest(home, "mail", tmp_path).ingested == 1
    assert time.process_time() - began < 5


def test_a_message_within_a_few_parts_is_read(home: Home, tmp_path: Path) -> None:
    (tmp_path / "one.eml").write_bytes(b"Subject: x\nX: y\n" + parts_within_parts(12) + b"A walrus sings.\n")
    ingest(home, "mail", tmp_path)
    assert "A walrus sings." in only(home)[1]


@pytest.mark.parametrize("repeated", ["<!--", "<![CDATA[", "<script>", "<p><style>", "<a b='", "&#"])
def test_a_hostile_page_takes_no_more_time_than_its_length(home: Home, tmp_path: Path, repeated: str) -> None:
    page = (repeated * (1_000_000 // len(repeated))).encode()
    (tmp_path / "one.eml").write_bytes(b"Subject: x\nX: y\nContent-Type: text/html\n\n" + page)
    began = time.process_time()
    ingest(home, "mail", tmp_path)
    assert time.process_time() - began < 10


def event(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VEVENT", *lines, "END:VEVENT"])


def calendar(path: Path, *events: str, before: str = "") -> Path:
    path.write_text(
        "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *filter(None, [before]), *events, "END:VCALENDAR", ""])
    )
    return path


def test_events_of_a_month_are_one_document(home: Home, tmp_path: Path) -> None:
    alarm = "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:Ring\r\nTRIGGER:-PT15M\r\nEND:VALARM"
    calendar(
        tmp_path / "work.ics",
        event(
            "UID:e1",
            "DTSTART;TZID=Europe/Berlin:20260428T091400",
            "DTEND;TZID=Europe/Berlin:20260428T100000",
            "SUMMARY:The lock\\, again",
            "LOCATION:Room 7",
            "ORGANIZER;CN=Ann:mailto:ann@example.com",
            "ATTENDEE;CN=Bo:mailto:bo@example.com",
            "ATTENDEE:mailto:cy@example.com",
            "RRULE:FREQ=WEEKLY;COUNT=3",
            f"DESCRIPTION:Mend it.\\nToken {TOKEN}",
            alarm,
        ),
        event("UID:e2", "DTSTART;VALUE=DATE:20260430", "SUMMARY:Oil"),
    )
    ingest(home, "calendar", tmp_path)
    meta, body = only(home)
    assert (meta["title"], meta["date"], meta["ended"]) == (
        "Calendar of 2026-04", "2026-04-28T07:14:00Z", "2026-04-30T00:00:00Z")  # fmt: skip
    assert "## 2026-04-28 07:14 · The lock, again" in body
    for line in ("where: Room 7", "by: Ann <ann@example.com>", "with: Bo <bo@example.com>, cy@example.com",
                 "repeats: FREQ=WEEKLY;COUNT=3", "until: 2026-04-28 08:00"):  # fmt: skip
        assert f"- {line}\n" in body
    assert "Mend it." in body
    assert "Ring" not in body
    assert TOKEN.encode() not in everything(home)


def test_a_damaged_event_costs_no_other(home: Home, tmp_path: Path) -> None:
    calendar(tmp_path / "a.ics", event("UID:e1", "DTSTART:notadate", "SUMMARY:Sing"),
             "BEGIN:VEVENT\r\nUID:e3", event("UID:e2", "DTSTART:20260428T091400Z", "SUMMARY:Oil"),
             "BEGIN:VEVENT\r\nUID:e4")  # fmt: skip
    ledger = ingest(home, "calendar", tmp_path)
    assert ledger.failed_records == 3
    assert any(b"Oil" in data for data in documents(home).values())


def test_a_damaged_rule_is_shown_as_it_is_written(home: Home, tmp_path: Path) -> None:
    lines = ("UID:e1", "DTSTART:20260428T091400Z", "summary;LANGUAGE=de:Ö\r\n l", "RRULE:FREQ=DAILY;UNTIL=later")
    calendar(tmp_path / "a.ics", event(*lines))
    ingest(home, "calendar", tmp_path)
    _, body = only(home)
    assert "· Öl\n" in body
    assert "- repeats: FREQ=DAILY;UNTIL=later\n" in body


def test_a_calendar_with_damaged_events_alone_is_a_failure(home: Home, tmp_path: Path) -> None:
    calendar(tmp_path / "a.ics", event("UID:e1", "DTSTART:notadate", "SUMMARY:Sing"))
    ledger = ingest(home, "calendar", tmp_path)
    assert (ledger.failed_files, ledger.skipped) == (1, {})


def test_events_without_an_end_take_no_more_time_than_their_length(home: Home, tmp_path: Path) -> None:
    oil = event("UID:e2", "DTSTART:20260428T091400Z", "SUMMARY:Oil")
    calendar(tmp_path / "a.ics", *["BEGIN:VEVENT\r\nUID:e"] * 60_000, oil)
    began = time.process_time()
    assert ingest(home, "calendar", tmp_path).failed_records == 60_000
    assert time.process_time() - began < 5


def test_a_zone_that_never_ends_costs_nothing(home: Home, tmp_path: Path) -> None:
    zone = ("BEGIN:VTIMEZONE\r\nTZID:Mine\r\nBEGIN:STANDARD\r\nDTSTART:00010101T000000\r\nRRULE:FREQ=SECONDLY\r\n"
            "TZOFFSETFROM:+0000\r\nTZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE")  # fmt: skip
    calendar(tmp_path / "a.ics", event("UID:e", "DTSTART;TZID=Mine:20260428T091400", "SUMMARY:Oil"), before=zone)
    ingest(home, "calendar", tmp_path)
    assert only(home)[0]["date"] == "2026-04-28T09:14:00Z"


def chrome(*children: Any) -> str:
    return json.dumps({"checksum": "x", "version": 1, "roots": {
        "bookmark_bar": {"name": "Bookmarks bar", "type": "folder", "children": list(children)}}})  # fmt: skip


def mark(url: str, name: str = "A lock") -> dict[str, str]:
    return {"type": "url", "name": name, "url": url, "date_added": str((1_777_367_643 + 11_644_473_600) * 1_000_000)}


ADDED = datetime(2026, 4, 28, 9, 14, 3)  # as plistlib has it
LISTED = {"URLString": "https://example.com/a", "URIDictionary": {"title": "A lock"},
          "ReadingList": {"DateAdded": ADDED, "PreviewText": "How to pick"}}  # fmt: skip
SAFARI = {"Children": [{"Title": "com.apple.ReadingList", "Children": [LISTED]},
                       {"Title": "BookmarksBar", "Children": [{"URLString": "https://example.com/b"}]}]}  # fmt: skip
PAGE = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE><DL><p><DT><H3 ADD_DATE="1">Bar &amp; more</H3>
<DL><p><DT><A HREF="https://example.com/a?x=1&amp;utm_source=y" ADD_DATE="1777367643">A &lt;lock&gt;</A></DL><p>
<DT><A HREF="javascript:alert(1)">No</A></DL>"""


@pytest.mark.parametrize(("name", "data", "shown"), [
    ("Bookmarks", chrome({"type": "folder", "name": "Rust", "children": [mark("https://example.com/a?utm_source=y")]},
                         mark("chrome://settings"), mark("file:///x")),
     ["## 2026-04-28 09:14 · A lock", "- https://example.com/a\n", "- folder: Bookmarks bar / Rust"]),
    ("bookmarks_28_04_26.html", PAGE,
     ["## 2026-04-28 09:14 · A <lock>", "- https://example.com/a?x=1\n", "- folder: Bar & more"]),
])  # fmt: skip
def test_bookmarks_of_a_month_are_one_document(
    home: Home, tmp_path: Path, name: str, data: str, shown: list[str]
) -> None:
    (tmp_path / name).write_text(data)
    ingest(home, "bookmarks", tmp_path)
    meta, body = only(home)
    assert (meta["title"], meta["entries"]) == ("Bookmarks of 2026-04", 1)
    for line in shown:
        assert line in body


def judged(home: Home) -> str:
    return b"".join(documents(home).values()).decode()


def browsing(home: Home, policy: str) -> None:
    text = f"collections: {{kb-raw: {{path: kb-raw}}}}\nsources: {{chrome: {policy}}}\n"
    Path(home.path("collections.yml")).write_text(text)


@pytest.mark.parametrize("name", ["Bookmarks", "places.sqlite"])
def test_the_policy_for_browsing_judges_bookmarks(home: Home, tmp_path: Path, name: str) -> None:
    urls = ["https://wiki.example.org/lock", "https://mail.example.com/a", "https://a.xxx/b", "javascript:alert(1)",
            "file:///etc/passwd", "https://ann:walrus@example.net/c"]  # fmt: skip
    browsing(home, "{allow: [example.edu], deny: [example.com]}")
    if name == "Bookmarks":
        (tmp_path / name).write_text(chrome(*(mark(url, f"A lock {place}") for place, url in enumerate(urls))))
    else:
        rows = [{"id": place, "type": 1, "fk": place, "parent": 0, "title": f"A lock {place}", "guid": f"g{place}",
                 "dateAdded": 1_777_367_643_000_000} for place in range(len(urls))]  # fmt: skip
        pages = [{"id": place, "url": url, "title": ""} for place, url in enumerate(urls)]
        database(tmp_path / name, moz_bookmarks=rows, moz_places=pages)
    ledger = ingest(home, "bookmarks", tmp_path)
    assert ledger.dropped == {reasons.DENIED: 1, reasons.ADULT: 1, reasons.DATA: 1, reasons.FILE: 1}
    body = judged(home)
    assert "https://wiki.example.org/lock" in body, "nobody lists the domains of bookmarks"
    assert "https://example.net/c" in body
    assert not any(word in everything(home) for word in (b"mail.example.com", b"a.xxx", b"walrus"))


def test_the_next_run_follows_a_policy_that_changed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "Bookmarks").write_text(chrome(mark("https://example.com/a"), mark("https://example.net/b")))
    for policy, there in (("{}", True), ("{deny: [example.com]}", False), ("{nsfw_words: [walrus]}", True)):
        browsing(home, policy)
        for _ in range(2):
            ledger = run(home, "bookmarks", [str(tmp_path)], trust_stat=True)
            assert ("https://example.com/a" in judged(home), "https://example.net/b" in judged(home)) == (there, True)
        assert (ledger.ingested, ledger.unchanged) == (0, 1)


@pytest.mark.parametrize("month_s", [0, 90 * 86_400], ids=["the same month", "another month"])
def test_a_policy_is_followed_in_files_that_the_first_run_after_the_change_did_not_read(
    home: Home, tmp_path: Path, month_s: int
) -> None:
    urls = ("https://example.com/a", "https://example.com/b", "https://example.net/c", "https://example.net/d")
    later = [mark(url) for url in urls[1::2]]
    for each in later:
        each["date_added"] = str(int(each["date_added"]) + month_s * 1_000_000)
    one, two = tmp_path / "one/Bookmarks", tmp_path / "two/Bookmarks"
    for path, marks in ((one, (mark(urls[0]), mark(urls[2]))), (two, later)):
        path.parent.mkdir()
        path.write_text(chrome(*marks))
    run(home, "bookmarks", [str(tmp_path)], trust_stat=True)
    browsing(home, "{deny: [example.com]}")
    two.rename(tmp_path / "away")  # as on a disk that is not mounted
    run(home, "bookmarks", [str(one)], trust_stat=True)
    (tmp_path / "away").rename(two)
    for _ in range(2):
        ledger = run(home, "bookmarks", [str(tmp_path)], trust_stat=True)
        assert [url in judged(home) for url in urls] == [False, False, True, True]
    assert (ledger.ingested, ledger.unchanged) == (0, 2)


def test_a_file_of_which_a_changed_policy_leaves_nothing_loses_its_document(home: Home, tmp_path: Path) -> None:
    (tmp_path / "Bookmarks").write_text(chrome(mark("https://example.com/a")))
    run(home, "bookmarks", [str(tmp_path)], trust_stat=True)
    assert documents(home)
    browsing(home, "{deny: [example.com]}")
    assert run(home, "bookmarks", [str(tmp_path)], trust_stat=True).removed == 1
    assert documents(home) == {}


def test_a_file_that_lost_all_its_bookmarks_keeps_its_document(home: Home, tmp_path: Path) -> None:
    (tmp_path / "Bookmarks").write_text(chrome(mark("https://example.com/a")))
    run(home, "bookmarks", [str(tmp_path)], trust_stat=True)
    before = documents(home)
    (tmp_path / "Bookmarks").write_text(chrome())
    browsing(home, "{deny: [example.net]}")
    run(home, "bookmarks", [str(tmp_path)], trust_stat=True)
    assert documents(home) == before


def test_a_domain_that_is_denied_later_leaves_the_documents(home: Home, tmp_path: Path) -> None:
    (tmp_path / "Bookmarks").write_text(chrome(mark("https://example.com/a"), mark("https://example.net/b")))
    ingest(home, "bookmarks", tmp_path)
    assert "https://example.com/a" in judged(home)
    browsing(home, "{deny: [example.com]}")
    for from_archive in (False, True):
        roots = None if from_archive else [str(tmp_path)]
        run(home, "bookmarks", roots, rebuild=not from_archive, from_archive=from_archive, trust_stat=False)
        assert ("https://example.com/a" in judged(home), "https://example.net/b" in judged(home)) == (False, True)


@pytest.mark.parametrize("form", [plistlib.FMT_BINARY, plistlib.FMT_XML])
def test_safaris_reading_list_has_its_dates_and_its_words(home: Home, tmp_path: Path, form: Any) -> None:
    (tmp_path / "Bookmarks.plist").write_bytes(plistlib.dumps(SAFARI, fmt=form))
    ingest(home, "bookmarks", tmp_path)
    assert sorted(documents(home)) == ["bookmarks__2026-04.md", "bookmarks__undated.md"]
    body = documents(home)["bookmarks__2026-04.md"].decode()
    assert "- folder: Reading list\n" in body
    assert "How to pick" in body


def test_firefox_bookmarks_stay_when_its_database_is_gone(home: Home, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "type": 2, "fk": None, "parent": 0, "title": "", "dateAdded": 0, "guid": "root________"},
        {"id": 2, "type": 2, "fk": None, "parent": 1, "title": "menu", "dateAdded": 0, "guid": "menu________"},
        {"id": 3, "type": 2, "fk": None, "parent": 1, "title": "tags", "dateAdded": 0, "guid": "tags________"},
        {"id": 4, "type": 2, "fk": None, "parent": 3, "title": "rust", "dateAdded": 0, "guid": "t"},
        {"id": 5, "type": 1, "fk": 1, "parent": 2, "title": "A lock", "dateAdded": 1_777_367_643_000_000, "guid": "a"},
        {"id": 6, "type": 1, "fk": 1, "parent": 4, "title": None, "dateAdded": 1_777_367_643_000_000, "guid": "b"},
    ]
    pages = [{"id": 1, "url": f"https://example.com/a?token={TOKEN}", "title": "A"}]
    database(tmp_path / "places.sqlite", moz_bookmarks=rows, moz_places=pages)
    assert ingest(home, "bookmarks", tmp_path).failed_files == 0
    meta, body = only(home)
    assert (meta["entries"], "- folder: menu" in body) == (1, True)
    assert TOKEN.encode() not in everything(home)
    made = documents(home)
    (tmp_path / "places.sqlite").unlink()
    for path in Path(home.path("kb-raw")).glob("*.md"):
        path.unlink()
    assert run(home, "bookmarks", from_archive=True, trust_stat=False).failed_files == 0
    assert documents(home) == made


def test_a_database_whose_ids_come_twice_does_not_multiply(home: Home, tmp_path: Path) -> None:
    def row(identity: int, kind: int, parent: int) -> dict[str, Any]:
        found = {"id": identity, "type": kind, "fk": 1, "parent": parent, "title": f"n{identity}"}
        return {**found, "dateAdded": 1_777_367_643_000_000, "guid": f"g{identity}"}

    folders = [row(number, 2, number - 1) for number in range(2, 60) for _ in range(2)]
    loop = [row(70, 2, 71), row(71, 2, 70), row(72, 1, 70)]
    pages = [{"id": 1, "url": "https://example.com/a", "title": "A"}] * 100
    database(tmp_path / "places.sqlite", moz_bookmarks=[*folders, *loop, row(61, 1, 59)], moz_places=pages)
    assert ingest(home, "bookmarks", tmp_path).ingested == 1
    assert only(home)[0]["entries"] == 2


def test_a_list_that_has_one_folder_everywhere_ends(home: Home, tmp_path: Path) -> None:
    node: dict[str, Any] = {"URLString": "https://example.com/a", "URIDictionary": {"title": "A lock"}}
    for _ in range(60):
        node = {"Title": "x", "Children": [node] * 8}
    (tmp_path / "Bookmarks.plist").write_bytes(plistlib.dumps(node, fmt=plistlib.FMT_BINARY))
    assert ingest(home, "bookmarks", tmp_path).ingested == 1


@pytest.mark.parametrize(("source", "name", "make"), [
    ("mail", "a.mbox", lambda path: mailbox(path, mail(1, "A walrus"), mail(2, "A penguin", subject="Other"))),
    ("calendar", "a.ics", lambda path: calendar(
        path, event("UID:a", "DTSTART:20260428T091400Z", "SUMMARY:A walrus"),
        event("UID:b", "DTSTART:20260528T091400Z", "SUMMARY:A penguin"))),
])  # fmt: skip
def test_what_is_forgotten_of_a_file_leaves_the_rest(
    home: Home, tmp_path: Path, source: str, name: str, make: Any
) -> None:
    (tmp_path / "given").mkdir()
    make(tmp_path / "given" / name)
    root = str(tmp_path / "given")
    index(home, config.load(home), source=source, roots=[root])
    plan = forget.plan(home, config.load(home), Selection(), "walrus")
    assert forget.carry_out(home, plan).left == []
    index(home, config.load(home), source=source, roots=[root])
    assert b"walrus" not in everything(home).lower()
    made = documents(home)
    assert len(made) == 1
    (tmp_path / "given" / name).unlink()
    assert run(home, source, from_archive=True, trust_stat=False).failed_files == 0
    assert documents(home) == made


_NAMES = ["a.mbox", "a.eml", "a.ics", "Bookmarks", "bookmarks.html", "Bookmarks.plist"]
_STARTS = [b"", b"From a\n", b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n", b"bplist00", b'{"roots":{"a":', PAGE.encode()]


@given(st.binary(max_size=300), st.sampled_from(_NAMES), st.sampled_from(_STARTS))
def test_no_bytes_stop_a_reader(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str, start: bytes) -> None:
    from ingest.raw.store import DISK

    folder = tmp_path_factory.getbasetemp() / "entries"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(start + data)
    source = next(each for each in ("mail", "calendar", "bookmarks") if registry.source(each).wants(name))
    *_, reading = registry.source(source).parse(str(folder / name), DISK)
    assert reading.parts or reading.skipped or reading.failed or reading.failed_reasons
