"""The page as an ASGI application: addresses, and how a view becomes HTML or, with ``.json``, its envelope."""

from __future__ import annotations

import contextlib
import math
import sys
import time
import traceback
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import anyio
import apsw
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from core import telemetry
from core.config import load
from core.errors import (
    INTERNAL,
    LOCKED,
    MISSING,
    NO_RESULTS,
    OK,
    REFUSED,
    TIMEOUT,
    USAGE,
    BadInput,
    BrainError,
    Internal,
    Refused,
    from_os,
)  # fmt: skip
from core.jsonio import dumps
from core.redaction import shown_value
from core.text import escaped, printable, printable_value
from qmd.index.store import damaged
from runtime.asking.pool import Pool
from web.kept import PATIENCE_S, Kept
from web.rendering import render
from web.views import decisions, document, evaluation, files, forgetting, health, inbox, injected, projects, search
from web.views.times import Times
from web.visit import FORM, Page, Visit, known

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from core.home import Home
    from web.access import Access

    View = Callable[[Visit], Page]

SURFACE = "web"
# Views that run at a time: SQLite reads in parallel, Python does not.
_AT_ONCE = 4
_MOST_FORM = 500_000
# How long an answer may state the freshness that another one has read: somebody types.
_FRESH_S = 2.0
# Without a request for so long, views are counted before anybody looks at them.
_QUIET_S = 2.0
_JSON = ".json"
# Views that also take a form.
_WRITING = (inbox.view, injected.view, forgetting.view)
# The script sends this with a request while somebody types: no question was asked yet.
TYPING = "x-brain-typing"
_STATUS = {USAGE: 400, MISSING: 503, TIMEOUT: 504, NO_RESULTS: 404, LOCKED: 503, REFUSED: 403, INTERNAL: 500}


class Site:
    """The pages of one home, for whom ``access`` lets in.

    ``patience_s``: how long a look waits for counts after the index changed, where there are some of a moment before.
    """

    def __init__(self, home: Home, environ: Mapping[str, str], access: Access, patience_s: float = PATIENCE_S) -> None:
        self._home, self._environ, self._access = home, environ, access
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)
        self._pool = Pool(home, _FRESH_S)
        self._kept = Kept(patience_s)
        self._counted: list[View] = []
        self._asked, self._is_closed = -math.inf, False

    def sweep(self, now: float) -> None:
        """Give back what nobody has used for a while; ``now`` is monotonic seconds."""
        self._pool.sweep(now)

    def close(self) -> None:
        """Close what is kept open."""
        self._is_closed = True
        self._kept.close()
        self._pool.close()

    def prepare(self) -> None:
        """Count what the views show, so that the first look at them does not wait; what fails is said by the view."""
        with contextlib.suppress(BrainError, OSError, apsw.Error):
            for view in self._counted:
                # Somebody who looks or types comes first.
                while not self._is_closed and time.monotonic() - self._asked < _QUIET_S:
                    time.sleep(_QUIET_S / 4)
                if self._is_closed:
                    return
                view(Visit(self._home, load(self._home), self._environ, {}, {}, self._access.issue))

    def app(self) -> ASGIApp:
        """Return the application, guarded."""
        kept = self._kept
        times, files_view = Times(kept), files.Files(kept)
        searching, listing, well = (
            search.Search(self._pool, kept, times),
            projects.Projects(kept, times),
            health.Health(kept),
        )
        self._counted = [searching.view, times.year, listing.index, files_view.index, well.view, decisions.view]
        routes: list[Route | Mount] = [Mount("/static", StaticFiles(directory=str(resources("web") / "static")))]
        for path, twin, view in (
            ("/", "/search.json", searching.view),
            ("/time", "/time.json", times.year),
            ("/time/{day}", "/time/{day}.json", times.day),
            ("/s/{reference:path}", "/s/{reference:path}.json", document.view),
            ("/trace/{reference:path}", "/trace/{reference:path}.json", document.trace_view),
            ("/why", "/why.json", decisions.view),
            ("/file", "/file.json", files_view.index),
            ("/file/{path:path}", "/file/{path:path}.json", files.view),
            ("/eval", "/eval.json", evaluation.view),
            ("/project", "/project.json", listing.index),
            ("/project/{project:path}", "/project/{project:path}.json", listing.view),
            ("/health", "/health.json", well.view),
            ("/injected", "/injected.json", injected.view),
            ("/inbox", "/inbox.json", inbox.view),
            ("/forget", "/forget.json", forgetting.view),
        ):
            # The twin is first, as a path takes everything.
            methods = ["GET", "POST"] if view in _WRITING else ["GET"]
            routes += [Route(each, self._endpoint(view), methods=methods) for each in (twin, path)]
        pages = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
        return self._access.guarding(pages)

    def _endpoint(self, view: View) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            form = await _form(request) if request.method == "POST" else None
            return await run_sync(self._respond, view, request, form, limiter=self._limiter)

        return endpoint

    def _respond(self, view: View, request: Request, form: Mapping[str, str] | None) -> Response:
        started = time.perf_counter()
        self._asked = time.monotonic()
        as_json = request.url.path.endswith(_JSON)
        event, fields = "", dict[str, Any]()
        try:
            page = self._answer(view, request, form)
            response = _response(page, as_json)
            code = NO_RESULTS if page.envelope.get("error") == "no_results" else page.envelope.get("exit_code", OK)
            event, fields = page.event, page.fields
        except Exception as error:  # noqa: BLE001  # whatever it is, a page says so
            failure = self._known(error)
            code = failure.code
            envelope = printable_value(shown_value(failure.envelope()))
            response = _response(Page("error", "That did not work", envelope, status=_STATUS[code]), as_json)
        if event and TYPING not in request.headers:
            latency = round((time.perf_counter() - started) * 1000, 1)
            telemetry.record(self._home, event, SURFACE, latency_ms=latency, exit_code=code, **fields)
        return response

    def _answer(self, view: View, request: Request, form: Mapping[str, str] | None) -> Page:
        parameters, parts = dict(request.query_params), request.path_params
        late: Refused | None = None
        try:
            if form is not None:
                self._access.redeem(form.get(FORM, ""))
        except Refused as error:
            late = error
        if any("\0" in value for given in (parameters, parts, form or {}) for value in given.values()):
            # The system's functions for paths raise ValueError for one.
            raise BadInput("the address or the form has a NUL character", "leave it out")
        visit = Visit(self._home, load(self._home), self._environ, parameters, parts, self._access.issue, form)
        if late is not None:
            # Nothing is changed, and nothing that was written is lost.
            again = inbox.again(visit, late) if view is inbox.view else None
            if again is None:
                raise late
            return again
        page = view(visit)
        if form is not None:
            self._kept.clear()
        return page

    def _known(self, error: Exception) -> BrainError:
        """Return an error as one that its user can act on; the trace of an unexpected one goes to stderr."""
        if isinstance(error, BrainError | apsw.Error):
            return known(error, self._home)
        found = (from_os(error) if isinstance(error, OSError) else None) or damaged(error, self._home.index)
        if found is None:
            # It may quote a document.
            sys.stderr.write(printable(shown_value("".join(traceback.format_exception(error)))))
            found = Internal(f"{type(error).__name__}: {error}", "the trace is where `brain web` runs; report it")
        return found


def _response(page: Page, as_json: bool) -> Response:
    if page.then and not as_json:
        return Response(status_code=303, headers={"location": page.then})
    if as_json:
        body = escaped(dumps(page.envelope))
        return Response(body, page.status, media_type="application/json")
    html = render(page.template, {"page": page.envelope, "title": page.title, **page.more})
    return Response(html, page.status, media_type="text/html")


async def _refused(request: Request, error: Exception) -> Response:
    """Answer an address or a method that the page does not have."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    failure = BadInput("there is no such page" if status == 404 else "this page is not asked like that", "/")
    return _response(Page("error", "Not found", failure.envelope(), status=status), request.url.path.endswith(_JSON))


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form, none if it is no form, too large, or cut off by its sender."""
    body = bytearray()
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_FORM:
                break
    except ClientDisconnect:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if len(body) > _MOST_FORM or kind != "application/x-www-form-urlencoded":
        return {}
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
