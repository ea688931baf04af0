"""Who is let in: origins, hosts, other machines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmd.mcp.guard import Guard, is_loopback, shown


@pytest.mark.parametrize(
    "name", ["localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.8.9.1", "::1", "[::1]", "::ffff:127.0.0.1"]
)
def test_names_of_this_machine_are_loopback(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize(
    "name", ["", "evil.example", "notlocalhost", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "::2"]
)
def test_names_that_only_look_like_it_are_not(name: str) -> None:
    assert not is_loopback(name)


@pytest.mark.parametrize("origin", ["", "http://localhost:3000", "https://127.0.0.1", "http://[::1]:8181"])
def test_a_local_origin_or_none_is_let_in(origin: str) -> None:
    assert Guard("localhost", {}).refusal([origin], ["localhost:8181"]) == ""


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "file://",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://evil.example#localhost",
        "http://evil.example\\@localhost",
        "http://0.0.0.0:8181",
        "chrome-extension://abc",
    ],
)
def test_a_foreign_origin_is_refused_by_name(origin: str) -> None:
    assert Guard("localhost", {}).refusal([origin], ["localhost"]) == f"Origin not allowed: {origin}"


def test_one_foreign_origin_among_several_is_enough() -> None:
    assert Guard("localhost", {}).refusal(["http://localhost", "http://evil.example"], []) != ""


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8181", "127.0.0.1.evil.example", "localhost, evil"])
def test_a_foreign_host_is_refused_on_loopback(host: str) -> None:
    assert Guard("127.0.0.1", {}).refusal([], [host]) == f"Host not allowed: {host}"


def test_allowed_origins_and_hosts_come_from_the_environment() -> None:
    guard = Guard(
        "localhost",
        {
            "QMD_ALLOWED_ORIGINS": "https://notes.internal , chrome-extension://ABC",
            "QMD_ALLOWED_HOSTS": "Notes.internal",
        },
    )
    assert guard.refusal(["https://notes.internal"], ["notes.internal:80"]) == ""
    assert guard.refusal(["chrome-extension://abc"], []) == ""
    assert guard.refusal(["chrome-extension://other"], []) != ""
    assert guard.refusal(["https://other.internal"], []) != ""


def test_a_bind_to_one_address_answers_to_that_address() -> None:
    guard = Guard("192.168.1.5", {})
    assert guard.refusal([], ["192.168.1.5:8181"]) == ""
    assert guard.refusal([], ["evil.example"]) != ""


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8181", "127.0.0.1.evil.example", "a.b"])
def test_a_name_of_somebody_elses_reads_nothing_from_this_machine_without_a_token(host: str) -> None:
    for bound in ("0.0.0.0", "::", "*"):
        guard = Guard(bound, {})
        assert "Host not allowed" in guard.stranger("127.0.0.1", "127.0.0.1", "", [host])
        assert "Host not allowed" in guard.stranger("192.168.1.5", "192.168.1.5", "", ["localhost", host])
        assert Guard(bound, {"QMD_HTTP_TOKEN": "t"}).stranger("127.0.0.1", "127.0.0.1", "Bearer t", [host]) == ""
        assert Guard(bound, {"QMD_ALLOWED_HOSTS": host}).stranger("127.0.0.1", "127.0.0.1", "", [host]) == ""


@pytest.mark.parametrize("host", ["localhost:8181", "127.0.0.1", "[::1]:8181", "192.168.1.5:8181", "[fe80::1]", ""])
def test_a_name_of_this_machine_and_an_address_read_without_a_token(host: str) -> None:
    assert Guard("0.0.0.0", {}).stranger("127.0.0.1", "127.0.0.1", "", [host]) == ""


def test_a_bind_to_every_interface_checks_hosts_only_against_a_list() -> None:
    assert Guard("0.0.0.0", {}).refusal([], ["container:8181"]) == ""
    listed = Guard("0.0.0.0", {"QMD_ALLOWED_HOSTS": "container"})
    assert listed.refusal([], ["container:8181"]) == ""
    assert listed.refusal([], ["other:8181"]) != ""
    assert Guard("0.0.0.0", {}).refusal(["http://evil.example"], []) != ""


def test_a_star_switches_every_check_off_but_the_token() -> None:
    guard = Guard("0.0.0.0", {"QMD_ALLOWED_ORIGINS": "*"})
    assert guard.refusal(["http://evil.example"], ["evil.example"]) == ""
    assert guard.stranger("192.168.1.9", "192.168.1.5", "") == ""
    assert Guard("0.0.0.0", {"QMD_ALLOWED_ORIGINS": "*"}, "secret").stranger("127.0.0.1", "127.0.0.1", "") != ""


@pytest.mark.parametrize(
    ("setting", "token"), [("", "of the home"), ("chosen", "chosen"), ("OFF", ""), (" ", "of the home")]
)
def test_the_token_is_the_homes_unless_the_environment_names_another_or_none(setting: str, token: str) -> None:
    guard = Guard("localhost", {"QMD_HTTP_TOKEN": setting}, "of the home")
    assert guard.asks_token is bool(token)
    assert guard.stranger("127.0.0.1", "127.0.0.1", f"Bearer {token}") == ""
    assert bool(guard.stranger("127.0.0.1", "127.0.0.1", "")) is bool(token)
    assert guard.stranger("192.168.1.9", "192.168.1.5", "Bearer off") != ""


def test_another_machine_needs_a_token_and_this_one_does_not() -> None:
    guard = Guard("0.0.0.0", {})
    assert guard.stranger("127.0.0.1", "127.0.0.1", "") == ""
    assert guard.stranger("192.168.1.5", "192.168.1.5", "") == ""
    assert "QMD_HTTP_TOKEN is not set" in guard.stranger("192.168.1.9", "192.168.1.5", "Bearer x")


def test_a_token_is_asked_of_everyone_where_it_is_set() -> None:
    guard = Guard("localhost", {"QMD_HTTP_TOKEN": "secret"})
    assert guard.stranger("127.0.0.1", "127.0.0.1", "Bearer secret") == ""
    assert guard.stranger("192.168.1.9", "192.168.1.5", "bearer secret") == ""
    for given_ in ("", "Bearer", "Bearer wrong", "Basic secret", "Bearer secret2"):
        assert guard.stranger("127.0.0.1", "127.0.0.1", given_) != ""


def test_an_ipv6_address_has_brackets_in_a_url() -> None:
    assert [shown(host) for host in ("::1", "[::1]", "localhost")] == ["[::1]", "[::1]", "localhost"]


@given(st.text(max_size=40))
def test_no_origin_or_host_makes_the_guard_fail(text: str) -> None:
    guard = Guard("localhost", {})
    assert isinstance(guard.refusal([text], [text]), str)
