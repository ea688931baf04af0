"""No address that is kept has a secret, and cleaning changes nothing else: cases in data/addresses.jsonl."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.web import addresses
from ingest.web.addresses import clean, split
from tests.cases import cases

_URLS = st.builds(
    lambda host, path, query, fragment: f"https://{host}/{path}?{query}#{fragment}",
    st.text("ab.@:%", max_size=12),
    st.text("aZ09/;=%-token", max_size=30),
    st.text("aZ09&=;%?/:+.token#", max_size=60),
    st.text("aZ09&=?/~:%", max_size=30),
)
_PIECES = (
    "https:// a.example / reset/ verify-me/ a1b2c3d4e5f6a7b8c9 eyJhbGciOi.x ? # @ ;sid=1 xxxxxxxxxxxxxxxxxxxx ab12 %2F"
).split()


@pytest.mark.parametrize(
    ("address", "kept"), cases(__file__, "test_secrets_are_removed_and_the_name_of_the_page_stays")
)
def test_secrets_are_removed_and_the_name_of_the_page_stays(address: str, kept: str) -> None:
    assert clean(address) == kept


@given(st.one_of(st.text(), _URLS, st.lists(st.sampled_from([*_PIECES, " "]), max_size=12).map("".join)))
def test_cleaning_twice_changes_nothing_more_and_nothing_raises(address: str) -> None:
    bare = "".join(address.split())
    if addresses._is_plain(bare):
        assert addresses._clean(bare, 2) == bare
    once = clean(address)
    assert clean(once) == once
    assert len(once) <= 2000


@given(_URLS, st.sampled_from(["token", "access_token", "X-Amz-Signature", "sid", "client_secret"]))
def test_a_named_secret_is_removed_from_any_place(address: str, name: str) -> None:
    base = address.partition("#")[0]
    assert "hunter2hunter2" not in clean(f"{base}&{name}=hunter2hunter2")


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://User:p@EXAMPLE.com.:443/x", "example.com"),
        ("http://[::1]:8000/x", "::1"),
        ("https://a.test\\@b.test/", "a.test"),
        ("https://a.test?x@b.test", "a.test"),
        ("chrome://settings/", "settings"),
        ("about:blank", ""),
        ("nonsense", ""),
    ],
)
def test_the_host_is_where_a_browser_would_go(address: str, host: str) -> None:
    assert split(address)[1] == host


def test_redaction_sees_each_part_decoded_and_changes_only_parts_with_secrets() -> None:
    asked: list[str] = []

    def redact(text: str) -> str:
        asked.append(text)
        return text.replace("b c", "é/?")

    address = "https://a.test/b%20c/d%2Fe?q=b+c&r=s%2bt&plain=1#x%3Dy"
    changed = "https://a.test/%C3%A9%2F%3F/d%2Fe?q=%C3%A9%2F%3F&r=s%2bt&plain=1#x%3Dy"
    assert addresses.redacted(address, redact) == changed
    assert asked == ["b c", "d/e", "b c", "s+t", "x=y"]
