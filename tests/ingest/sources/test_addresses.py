"""No address that is kept holds a secret, and cleaning does not harm the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.web import addresses
from ingest.web.addresses import clean, split

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
SHA = "1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c"


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://user:hunter2@example.com:8080/a?x=1", "https://example.com:8080/a?x=1"),
        ("https://example.com/a?token=abc&page=2", "https://example.com/a?page=2"),
        ("https://example.com/a?page=2&accessToken=abc", "https://example.com/a?page=2"),
        ("https://example.com/a?%74oken=abc", "https://example.com/a"),
        ("https://example.com/a?api_key=k&API-KEY=k&apikey=k&q=1", "https://example.com/a?q=1"),
        ("https://example.com/a?password=p&pass=p&pwd=p", "https://example.com/a"),
        ("https://example.com/cb?code=4f9aK2mQ0xLr8&state=xyzzyxyzzyxyzzy", "https://example.com/cb"),
        ("https://example.com/verify?code=482913", "https://example.com/verify"),
        (f"https://example.com/a?t={JWT}", "https://example.com/a"),
        (f"https://example.com/a/{JWT}/b", "https://example.com/a/-/b"),
        (f"https://example.com/a?h={SHA}", "https://example.com/a"),
        ("https://example.com/a;jsessionid=0A1B2C?x=1", "https://example.com/a?x=1"),
        ("https://example.com/#access_token=abc&token_type=bearer", "https://example.com/"),
        ("https://example.com/app#/route?id=5&session=abc", "https://example.com/app#/route?id=5"),
        ("https://s3.test/k?X-Amz-Credential=AKIA&X-Amz-Signature=ff&type=text", "https://s3.test/k?type=text"),
        ("https://blob.test/k?sv=2020&sig=abc%2Bdef&se=1", "https://blob.test/k?sv=2020&se=1"),
        (
            "https://example.com/go?to=https%3A%2F%2Fb.test%2Fc%3Ftoken%3D123%26p%3D2",
            "https://example.com/go?to=https%3A%2F%2Fb.test%2Fc%3Fp%3D2",
        ),
        ("https://example.com/password-reset/Ab12Cd34Ef56Gh78/", "https://example.com/password-reset/-/"),
        ("https://example.com/reset/password/8f3k2l1m9n4b5v6c7x", "https://example.com/reset/password/-"),
        ("https://example.com/reset/MQ/set/8f3k2l1m9n4b5v6c7x/", "https://example.com/reset/MQ/set/-/"),
        (
            "https://example.com/magic/Ab12Cd34Ef56Gh78/pages/welcome-to-our-house",
            "https://example.com/magic/-/pages/welcome-to-our-house",
        ),
        ("https://example.com/a?utm_source=x&utm_medium=y&gclid=z&id=7", "https://example.com/a?id=7"),
        ("https://example.com/a#:~:text=secret%20words", "https://example.com/a"),
    ],
)
def test_what_must_not_be_kept_goes(address: str, kept: str) -> None:
    assert clean(address) == kept


@pytest.mark.parametrize(
    "address",
    [
        f"https://github.com/a/b/commit/{SHA}?w=1",
        "https://docs.python.org/3/library/os.html#os.path.join",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=10s",
        "https://example.com/search?q=token+refresh+race&page=2",
        "https://example.com/status?code=404&state=open",
        "https://example.com/issues?q=is%3Aopen+label%3Abug",
        "https://en.wikipedia.org/wiki/Hard_drive_(disambiguation)",
        "https://example.com/login/how-to-reset-a-password-safely",
        "https://example.com/auth/blog/what-was-new-in-2024-and-2025",
        "https://example.com/a?title=some-long-title-of-an-article-in-words",
        "https://example.com/?keyword=sqlite&monkey=1",
        "http://[::1]:8000/a",
    ],
)
def test_what_names_the_page_stays(address: str) -> None:
    assert clean(address) == address


_URLS = st.builds(
    lambda host, path, query, fragment: f"https://{host}/{path}?{query}#{fragment}",
    st.text("ab.@:%", max_size=12),
    st.text("aZ09/;=%-token", max_size=30),
    st.text("aZ09&=;%?/:+.token#", max_size=60),
    st.text("aZ09&=?/~:%", max_size=30),
)


@given(st.one_of(st.text(), _URLS))
def test_cleaning_twice_changes_nothing_more_and_nothing_raises(address: str) -> None:
    once = clean(address)
    assert clean(once) == once
    assert len(once) <= 2000


@given(_URLS, st.sampled_from(["token", "access_token", "X-Amz-Signature", "sid", "client_secret"]))
def test_a_named_secret_goes_wherever_it_stands(address: str, name: str) -> None:
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


@given(
    st.lists(
        st.sampled_from(
            [
                "https://",
                "a.example",
                "/",
                "reset/",
                "verify-me/",
                "a1b2c3d4e5f6a7b8c9",
                "eyJhbGciOi.x",
                "?",
                "#",
                "@",
                ";sid=1",
                "x" * 20,
                "ab12",
                "%2F",
                " ",
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_what_is_told_plain_at_a_glance_is_what_the_whole_look_leaves_alone(address: str) -> None:
    bare = "".join(address.split())
    if addresses._is_plain(bare):
        assert addresses._clean(bare, 2) == bare
    cleaned = addresses.clean(address)
    assert addresses.clean(cleaned) == cleaned


def test_each_part_of_an_address_is_asked_about_as_it_reads_decoded_and_written_again_only_where_it_changed() -> None:
    asked: list[str] = []

    def redact(text: str) -> str:
        asked.append(text)
        return text.replace("b c", "é/?")

    address = "https://a.test/b%20c/d%2Fe?q=b+c&r=s%2bt&plain=1#x%3Dy"
    assert (
        addresses.redacted(address, redact) == "https://a.test/%C3%A9%2F%3F/d%2Fe?q=%C3%A9%2F%3F&r=s%2bt&plain=1#x%3Dy"
    )
    assert asked == ["b c", "d/e", "b c", "s+t", "x=y"]
