"""The page is open to nobody but who holds its link, and takes no request from another page."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from core.errors import Refused
from core.home import Home
from tests.runtime.index_fixture import Shelf
from tests.web.site import PORT, Browser
from web.access import Access, check_host

OWN = f"http://127.0.0.1:{PORT}"
PAGES = ("/", "/time", "/why", "/project", "/health", "/s/brain/a.md", "/trace/brain/a.md", "/nowhere")


@pytest.fixture
def stranger(home: Home) -> Browser:
    Shelf(home).put("brain", "a.md", "the tide table is kept in memory")
    return Browser(home, opened=False)


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_shown_without_the_link(stranger: Browser, path: str) -> None:
    for address in (path, f"{path.rstrip('/') or '/search'}.json", f"{path}?token=wrong", f"{path}?token="):
        answer = stranger.client.get(address)
        assert answer.status_code == 401
        assert "tide" not in answer.text
        assert "set-cookie" not in answer.headers
    assert json.loads(stranger.client.get("/search.json").text)["error"] == "refused"


def test_the_link_gives_a_cookie_that_scripts_and_other_sites_do_not_get(stranger: Browser) -> None:
    answer = stranger.client.get(stranger.access.link())
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert stranger.access.link().partition("token=")[2] not in answer.text + cookie
    assert "tide" in stranger.get("/s/brain/a.md")


def test_the_link_leads_to_the_page_that_it_names_and_to_no_other_host(stranger: Browser) -> None:
    token = stranger.access.link().partition("?")[2]
    assert 'url=/time?year=2026"' in stranger.get(f"/time?year=2026&{token}")
    assert 'url=/evil.example"' in stranger.client.get(f"{OWN}//evil.example?{token}").text


def test_a_cookie_of_another_server_opens_nothing(stranger: Browser) -> None:
    other = Access("127.0.0.1", PORT)
    for value in ("", "x", other.link().partition("token=")[2], stranger.access.link().partition("token=")[2]):
        stranger.get("/", 401, {"cookie": f"brain_{PORT}={value}"})


def test_a_link_for_the_browser_works_once(stranger: Browser) -> None:
    link = stranger.access.link_once()
    assert stranger.client.get(link).status_code == 200
    assert stranger.client.get(link).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7717", "127.0.0.1.evil.example", "0.0.0.0:7717", "", "10.0.0.1:7717"]
)
def test_a_foreign_host_is_refused_with_the_cookie_and_without(home: Home, host: str) -> None:
    browser = Browser(home)
    assert "Forbidden" in browser.get("/", 403, {"host": host})
    assert "Forbidden" in browser.get("/static/page.css", 403, {"host": host})
    assert browser.client.get(browser.access.link(), headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:7717", "127.0.0.1:8080", "[::1]:7717"])
def test_every_name_of_this_machine_is_spoken_to(home: Home, host: str) -> None:
    Shelf(home)
    browser = Browser(home)
    cookies = "; ".join(f"{name}={value}" for name, value in browser.client.cookies.items())
    browser.get("/health", 200, {"host": host, "cookie": cookies})


def test_a_server_on_every_interface_is_spoken_to_by_address_or_by_its_own_name() -> None:
    access = Access("0.0.0.0", PORT, "a token of many characters")  # compared only
    own = socket.gethostname()
    for host in ("192.0.2.7:7717", "[2001:db8::1]:7717", "localhost:7717", f"{own}:7717", own.partition(".")[0]):
        assert access.refusal(_asked(host)) == "", host
    for host in ("evil.example", "evil.example:7717", "192.0.2.7.evil.example", "a b", "[::1", f"{own}.evil.example"):
        assert access.refusal(_asked(host)), host


def _asked(host: str) -> dict[str, Any]:
    return {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host.encode())]}


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://localhost:3000"},
        {"origin": "null"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
    ],
)
def test_a_request_of_another_page_is_refused(home: Home, headers: dict[str, str]) -> None:
    browser = Browser(home)
    browser.get("/search.json", 403, headers)


def test_a_link_from_elsewhere_opens_the_page_only_with_its_cookie(home: Home) -> None:
    Shelf(home)
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    Browser(home).get("/health", 200, headers)
    Browser(home, opened=False).get("/health", 401, headers)


@pytest.mark.parametrize("path", [*PAGES, "/static/page.js", "/?token=wrong"])
def test_every_answer_forbids_what_is_not_the_pages_own(home: Home, path: str) -> None:
    Shelf(home)
    headers = Browser(home).client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_page_that_only_shows_takes_no_other_method(home: Home, method: str) -> None:
    for path in PAGES:
        assert Browser(home).client.request(method, path).status_code in (404, 405)


def test_no_file_outside_of_the_static_ones_is_served(home: Home) -> None:
    browser = Browser(home, opened=False)
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2fapp.py"):
        assert browser.client.get(path).status_code in (401, 404)


def test_the_value_of_a_form_is_taken_once_and_not_for_ever() -> None:
    access = Access("127.0.0.1", PORT)
    value = access.issue()
    access.redeem(value)
    for used in (value, "", "guessed"):
        with pytest.raises(Refused):
            access.redeem(used)
    oldest = access.issue()
    for _ in range(600):
        access.issue()
    with pytest.raises(Refused):
        access.redeem(oldest)


def test_other_machines_need_a_token() -> None:
    assert check_host("127.0.0.1", "") == check_host("localhost", "") == check_host("::1", "") == ""
    assert check_host("0.0.0.0", "") != ""
    assert "5 characters" in check_host("127.0.0.1", "short")  # other users of the machine would guess it
    assert check_host("192.168.1.5", "short") != ""
    assert check_host("192.168.1.5", "x" * 16) == ""


@pytest.mark.parametrize("others", ['a={"x": [1]}; {}', "a b; {}", "\xff=\xfe; {}", "{}; {name}=of-another-path"])
def test_cookies_of_other_programs_on_this_host_lock_nobody_out(home: Home, others: str) -> None:
    Shelf(home)
    browser = Browser(home)
    ((name, value),) = browser.client.cookies.items()
    own = others.replace("{name}", name).replace("{}", f"{name}={value}")
    stranger = Browser(home, opened=False).client
    answer = browser.client.get("/health", headers=[(b"cookie", own.encode("latin-1"))])
    assert answer.status_code == 200
    assert stranger.get("/health", headers=[(b"cookie", own.encode("latin-1"))]).status_code == 401


@pytest.mark.parametrize(
    "path",
    ["/project/~%00", "/time?project=~%00", "/why?topic=a&project=~%00", "/?q=a&project=~%00", "/forget?project=~%00"],
)
def test_a_nul_character_is_bad_input_and_no_fault_of_the_program(home: Home, path: str) -> None:
    Shelf(home)
    assert "NUL" in Browser(home).get(path, 400)
