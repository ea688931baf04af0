"""One JSON request to an endpoint, repeated if that may help; every failure becomes one of our errors.

A key travels in a header and nowhere else: no address, error or log has it. An endpoint's error is shown without the
key and without whatever else looks like a secret, and not at all if it is about the key.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from core.errors import REFUSED, BadInput, BrainError, EngineMissing, EngineTimeout
from core.redaction import clean
from core.text import printable

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import httpx2
    import tenacity

ATTEMPTS = 6
# Attempts after a timeout: each takes as long again.
_LATE_ATTEMPTS = 2
# Seconds: for a connection, between two pieces of an answer, for the whole of it, and between two attempts at most.
CONNECT_S = 10.0
READ_S = 60.0
WHOLE_S = 180.0
LONGEST_WAIT_S = 60.0
# An answer that was asked for before the time was up is waited for at least as long.
_LEAST_S = 1.0
# How much later than its time a request is ended that looks at no clock.
_GRACE_S = 0.5
# An answer of 128 vectors of 3072 numbers is 8 MB.
_LARGEST = 64 << 20
_SAID = 200
# Characters of an error that are looked at, and the length of the parts of a key that are struck out.
_LOOKED_AT = 1 << 14
_PART = 8


class TextRefused(BrainError):
    """A provider will not embed one of these texts; others it may."""

    code = REFUSED
    error = "refused"


class _Again(Exception):
    """Worth another attempt; ``wait_s`` is how long the endpoint asks to be left alone."""

    def __init__(self, failure: BrainError, wait_s: float = 0.0) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.wait_s = wait_s


class _Late(_Again):
    """It did not answer in time: it may be at work, at more than it can do in that."""


class Unreachable(EngineMissing):
    """Nobody answers at this address."""


class Nonsense(EngineMissing):
    """The server at this address does not answer as it should."""


class Faulty(EngineMissing):
    """The endpoint fails at what it was sent (HTTP 500); at something else it may not."""


class Busy(EngineTimeout):
    """The endpoint asks for patience (HTTP 429)."""


class Overloaded(EngineMissing):
    """The endpoint, or a gateway before it, serves nobody at present (HTTP 502, 503, 504, 529)."""


_TOO_LONG = re.compile(r"(?i)too (?:large|long)|exceeds? (?:the )?(?:\w+ )*(?:context|length|batch)")
# Where the protocols have what was asked for.
_ANSWERS = ("data", "embeddings", "results", "choices")
_OVERLOADED = (502, 503, 504, 529)


class Endpoint:
    """``url`` is whole; ``headers`` may hold a key, ``secret``, which is struck out of whatever comes back.

    It may be closed while another thread, for which nobody waits any more, still asks it: that one begins nothing
    afterwards, and closes the connection when it is through.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        secret: str = "",
        fix: str = "",
        *,
        read_s: float = READ_S,
        whole_s: float = WHOLE_S,
        attempts: int = ATTEMPTS,
        largest: int = _LARGEST,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url = url
        self._headers = dict(headers)
        self._secret = secret
        self._fix = fix
        self._read_s = read_s
        self._whole_s = whole_s
        self.attempts = attempts
        self._largest = largest
        self._sleep = sleep
        self._client: httpx2.Client | None = None
        # Guards the client, and how many requests are under way; none begins once it is closed.
        self._state = threading.Lock()
        self._under_way = 0
        self._closed = False
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self.patience_until: float | None = None
        """No attempt but the first begins after it (``time.monotonic()``), and none lasts much longer."""
        self.cut_short = False
        """True if the last request was given up for want of time alone: with more time it would be tried again."""
        self.host = _host(url)

    def __repr__(self) -> str:
        return f"Endpoint({self.host})"

    def post(self, body: Mapping[str, Any], until: float | None = None) -> Any:
        """Return the answer's JSON, before ``until`` (``time.monotonic()``) if that is given.

        Raises BadInput (key, address, model), TextRefused, EngineTimeout, EngineMissing, Nonsense if the answer makes
        no sense.
        """
        import tenacity

        after_all: Any = tenacity.stop_after_attempt(self.attempts)
        stop: Any = after_all | _is_late
        for moment in (until, self.patience_until):
            if moment is not None:
                # No attempt is waited for that could not begin in time.
                stop = stop | tenacity.stop_before_delay(max(0.0, moment - time.monotonic()))
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_Again), stop=stop, wait=_wait, sleep=self._sleep, reraise=True
        )
        self.cut_short = False
        try:
            return attempts(self._once, body, until)
        except _Again as again:
            most = _LATE_ATTEMPTS if isinstance(again, _Late) else self.attempts
            self.cut_short = attempts.statistics["attempt_number"] < most
            raise again.failure from None

    def close(self) -> None:
        """Close the connection for good, or have the request that is under way close it at its end."""
        with self._state:
            self._closed = True
            client = self._unused()
        if client is not None:
            client.close()

    @contextmanager
    def _open(self) -> Iterator[httpx2.Client]:
        """Return the connection for one request. Raises EngineTimeout if it has been closed meanwhile."""
        import httpx2

        with self._state:
            if self._closed:
                raise EngineTimeout(f"{self.host} was not waited for any longer", self._fix)
            if self._client is None:
                self._client = httpx2.Client(headers=self._headers, verify=_trusted(self._url))
            self._under_way += 1
            client = self._client
        try:
            yield client
        finally:
            with self._state:
                self._under_way -= 1
                unused = self._unused() if self._closed else None
            if unused is not None:
                unused.close()

    @contextmanager
    def _ended(self, seconds: float, late: threading.Event) -> Iterator[None]:
        """End the work inside after ``seconds``, and set ``late`` then.

        The client's timeouts are of one read each: headers that drip, and interim answers without end, pass them all.
        """

        def end() -> None:
            late.set()
            for each in list(self._sockets):
                with suppress(OSError):  # it is closed already
                    # Not an SSL socket's own: that forgets its key first, and who still sends would do so in clear.
                    socket.socket.shutdown(each, socket.SHUT_RDWR)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _trace(self) -> dict[str, Any]:
        """Has the client tell of each connection that it makes
        (https://www.encode.io/httpcore/extensions/#trace).
        """

        def told(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(("connect_tcp.complete", "start_tls.complete")):
                self._sockets.add(info["return_value"].get_extra_info("socket"))

        return {"trace": told}

    def _unused(self) -> httpx2.Client | None:
        """Return the connection, to be closed, unless a request is under way."""
        if self._under_way:
            return None
        client, self._client = self._client, None
        return client

    def _once(self, body: Mapping[str, Any], until: float | None) -> Any:
        import httpx2

        left = self._whole_s if until is None else min(self._whole_s, until - time.monotonic())
        if left <= 0:
            raise EngineTimeout(f"{self.host} did not answer in time", self._fix)
        if self.patience_until is not None:
            left = min(left, max(_LEAST_S, self.patience_until - time.monotonic()))
        read_s = min(self._read_s, left)
        late = threading.Event()
        try:
            timeout = httpx2.Timeout(read_s, connect=min(CONNECT_S, read_s))
            with (
                self._open() as client,
                self._ended(left + _GRACE_S, late),
                client.stream("POST", self._url, json=body, timeout=timeout, extensions=self._trace()) as response,
            ):
                data = self._whole(response, left)
                status, headers = response.status_code, dict(response.headers)
        except httpx2.TimeoutException:
            raise _Late(EngineTimeout(f"{self.host} did not answer in time", self._fix)) from None
        except httpx2.TransportError as error:
            if late.is_set():
                raise _Late(EngineTimeout(f"{self.host} did not answer in time", self._fix)) from None
            # Refused, reset, closed in the middle of an answer.
            reason = self._safe(str(error)) or type(error).__name__
            kind = Unreachable if isinstance(error, httpx2.ConnectError) else EngineMissing
            raise _Again(kind(f"{self.host} cannot be reached: {reason}", self._fix)) from None
        except httpx2.DecodingError as error:
            raise _Again(Nonsense(f"{self.host}: {self._safe(str(error))}", self._fix)) from None
        except (httpx2.InvalidURL, ValueError) as error:
            raise BadInput(f"{self.host}: {self._safe(str(error))}", self._fix) from None
        if status != 200:
            self._refuse(status, headers, data)
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            raise _Again(Nonsense(f"{self.host} answered with something else than JSON", self._fix)) from None
        if isinstance(answer, dict) and answer.get("error") and not any(map(answer.get, _ANSWERS)):
            # LM Studio, and gateways in front of a failing server, report the error with HTTP 200.
            said = answer["error"]
            code = said.get("code") if isinstance(said, dict) else None
            if type(code) is int and 400 <= code < 600:
                self._refuse(code, headers, data)
            raise Nonsense(f"{self.host} answered with an error{self._said(data)}", self._fix)
        return answer

    def _whole(self, response: httpx2.Response, left: float) -> bytes:
        deadline = time.monotonic() + left
        pieces: list[bytes] = []
        size = 0
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if size > self._largest:
                raise Nonsense(f"{self.host} does not stop answering", self._fix)
            if time.monotonic() > deadline:
                raise _Late(EngineTimeout(f"{self.host} did not finish its answer in time", self._fix))
        return b"".join(pieces)

    def _refuse(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        if status in (401, 403):
            raise BadInput(f"{self.host} does not take the key (HTTP {status})", self._fix)
        said = self._said(data)
        if status == 400 and "api key" in said.lower():  # Gemini says so
            raise BadInput(f"{self.host} does not take the key (HTTP {status})", self._fix)
        # llama.cpp and Ollama have said so with HTTP 500: asked again, they would say it again.
        too_long = status == 500 and _TOO_LONG.search(said) is not None
        if (status == 429 or status >= 500) and not too_long:
            wait_s = _retry_after(headers)
            kind = Busy if status == 429 else Overloaded if status in _OVERLOADED else Faulty
            failure = kind(f"{self.host} is overloaded or out of order (HTTP {status}){said}", "try again later")
            if wait_s > LONGEST_WAIT_S:
                raise failure
            raise _Again(failure, wait_s)
        if status in (400, 413, 422) or too_long:
            raise TextRefused(
                f"{self.host} refused a text (HTTP {status}){said}", "embedding: {window: …} makes chunks smaller"
            )
        if 300 <= status < 400 and (place := _origin(headers.get("location", ""))):
            # Not followed: a key and a text are for the host that was named.
            raise BadInput(f"{self.host} sends on to {place} (HTTP {status})", "name the address that answers itself")
        raise BadInput(f"{self.host} answered HTTP {status}{said}", self._fix)

    def _said(self, data: bytes) -> str:
        """Return the endpoint's reason, in one short line."""
        try:
            answer = json.loads(data)
            error = answer.get("error", answer)
            text = error.get("message") if isinstance(error, dict) else error
        except (ValueError, RecursionError, AttributeError):
            text = data[: 4 * _SAID].decode("utf-8", "replace")
        text = self._safe(str(text or ""))
        return f": {text}" if text else ""

    def _safe(self, text: str) -> str:
        """Return ``text`` in one short line, without the key, a part of it, or whatever else looks like a secret."""
        text = " ".join(text[:_LOOKED_AT].split())[: 4 * _SAID]
        return printable(clean(struck(text, self._secret), {}))[:_SAID]


def struck(text: str, secret: str) -> str:
    """Return ``text`` without a secret, and without parts of it: endpoints repeat a key shortened or cut off."""
    least = min(_PART, len(secret))
    kept: list[str] = []
    at = 0
    while secret and at < len(text):
        size = least if secret.find(text[at : at + least]) >= 0 and at + least <= len(text) else 0
        while size and at + size < len(text) and text[at : at + size + 1] in secret:
            size += 1
        kept.append("***" if size else text[at])
        at += size or 1
    return "".join(kept) if secret else text


def check_url(url: str) -> str:
    """Return an endpoint's address without a slash at its end. Raises BadInput unless it is http(s), without a
    password.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        secret = parts.username is not None or parts.password is not None or bool(parts.query)
    except ValueError:
        valid = secret = False
    if not valid:
        raise BadInput("base_url is no address of an endpoint", "base_url: http://localhost:11434/v1")
    if secret:
        raise BadInput("base_url may hold no password, key or query", "export the key: OPENAI_API_KEY, GEMINI_API_KEY")
    return url.rstrip("/")


def _trusted(url: str) -> ssl.SSLContext | bool:
    """Return which authorities may vouch for an endpoint: the usual ones, but none for an address in clear.

    Loading the usual ones takes 50 ms, longer than a model on this machine needs for a question.
    """
    import ssl

    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.lower().startswith("http:") else True


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def _origin(url: str) -> str:
    """Scheme and host of an absolute address, "" for any other."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        host = _host(url)
    except ValueError:
        return ""
    return printable(f"{parts.scheme}://{host}")[:_SAID] if parts.scheme and parts.hostname else ""


def _is_late(state: tenacity.RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome is not None else None
    return isinstance(error, _Late) and state.attempt_number >= _LATE_ATTEMPTS


def _wait(state: tenacity.RetryCallState) -> float:
    """Return half a second, doubled each time, or what the endpoint asks, at most a minute; never quite the same."""
    import random

    asked = 0.0
    if state.outcome is not None and isinstance(error := state.outcome.exception(), _Again):
        asked = error.wait_s
    backoff = 0.5 * 2.0 ** (state.attempt_number - 1)
    return min(LONGEST_WAIT_S, max(asked, backoff * random.uniform(0.8, 1.2)))  # noqa: S311  # no secret is made of it


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that ``Retry-After`` asks for, as a number or a date (RFC 9110 §10.2.3); 0 where it does not say."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0


OPENAI = "https://api.openai.com/v1"


def openai_key(base: str, environ: Mapping[str, str], own: str = "") -> str:
    """Return the key for an endpoint of OpenAI's protocol at ``base``, "" if there is none.

    The variable ``own`` is for any configured endpoint. ``OPENAI_API_KEY`` is OpenAI's, or belongs to the host that
    ``OPENAI_BASE_URL`` names: an address in a configuration file does not make it another's. Raises BadInput for a key
    that cannot be in a header.
    """
    if own and environ.get(own):
        return header(environ[own], own)
    return service_key(base, environ, OPENAI, "OPENAI_BASE_URL", ("OPENAI_API_KEY",))


def service_key(base: str, environ: Mapping[str, str], service: str, variable: str, names: Sequence[str]) -> str:
    """Return a service's key for an endpoint at ``base``: the first of the variables ``names``, "" if there is none.

    The key is for the service's own host, or for the host that ``variable`` names: an address in a configuration file
    does not make it another's. Raises BadInput for a key that cannot be in a header.
    """
    if not same_host(base, service) and not same_host(base, environ.get(variable) or ""):
        return ""
    return next((key for name in names if (key := header(environ.get(name) or "", name))), "")


def same_host(one: str, other: str) -> bool:
    """Return True if two addresses lead to one host, at one port, by one scheme."""
    first, second = _place(one), _place(other)
    return first is not None and first == second


def header(key: str, name: str) -> str:
    """Return a key that can be in a header. Raises BadInput otherwise, without the key."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise BadInput(f"{name} holds signs that no key has", f"export {name} anew")
    return key


def _place(url: str) -> tuple[str, str, int] | None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80)
