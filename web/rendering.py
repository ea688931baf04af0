"""Templates as HTML: everything that a document may have written is escaped, and printable."""

from __future__ import annotations

import re
import time
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup, escape

from core import clock
from core.counting import counted
from core.text import at_home, printable
from runtime.asking.envelope import SCHEME
from runtime.asking.wording import project, project_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WORD = re.compile(r"\w{3,}")
_SPAN = re.compile(
    r"`(?P<code>[^`\n]{1,200})`|\*\*(?P<bold>[^*\n]{1,200})\*\*|^\#{1,6} (?P<head>[^`*\n]{1,200})$", re.MULTILINE
)
# Words of questions that would be marked everywhere.
_PLAIN = frozenset(
    "the and for with what when where which who why how did does was were are has had have our you your that this"
    " from about into not can".split()
)
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


@cache
def environment() -> Environment:
    """Return the templates of the page."""
    made = Environment(
        loader=PackageLoader("web", "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_printable,
    )
    made.filters.update(
        bytes=size, counted=counted, date=local_date, day=local_day, file=file_place, folder=folder, marked=marked,
        month=named_month, ms=milliseconds, name=short, place=place, project=project_place, project_name=project_name,
        squeezed=squeezed, time=local_time, trace=trace_place,
    )  # fmt: skip
    made.globals["address"] = address
    return made


def warm() -> None:
    """Compile the templates, and import what an answer needs, so that the first look does not wait for it."""
    from qmd.search import (
        quoting,  # noqa: F401
        search,  # noqa: F401
    )
    from runtime.asking import ask  # noqa: F401
    from runtime.distill import extractive  # noqa: F401

    made = environment()
    for name in made.list_templates():
        made.get_template(name)


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a template filled with values."""
    return environment().get_template(f"{template}.html").render(values)


def _printable(value: Any) -> Any:
    # HTML of our own is of a subclass, and stays.
    return printable(value) if type(value) is str else value


def address(path: str, parameters: Mapping[str, Any], **changes: Any) -> str:
    """Return a path with parameters, some of them changed; empty ones are left out."""
    kept = {name: value for name, value in {**parameters, **changes}.items() if value not in ("", None)}
    return f"{path}?{urlencode(kept)}" if kept else path


def place(uri: str, line: int | None = None) -> str:
    """Return the address of a document by its uri, at a line of it."""
    path = f"/s/{quote(uri.removeprefix(SCHEME), safe='/:@-._~')}"
    return f"{path}?line={line}#here" if line else path


def trace_place(uri: str, line: int | None = None) -> str:
    """Return the address of a document's trace."""
    path = f"/trace/{quote(uri.removeprefix(SCHEME), safe='/:@-._~')}"
    return f"{path}?line={line}" if line else path


def project_place(project: str) -> str:
    """Return the address of a project."""
    return f"/project/{quote(project.removeprefix('/'), safe='/:@-._~')}"


def file_place(path: str) -> str:
    """Return the address of what was done to a file."""
    return (
        f"/file/{quote(path.removeprefix('/'), safe='/:@-._~')}"
        if path.startswith(("/", "~"))
        else address("/file", {"path": path})
    )


def folder(path: str) -> str:
    """Return a path without its last part; the user's own folder is ``~``."""
    return at_home(path.rstrip("/").rpartition("/")[0])


def named_day(day: str, now: int) -> str:
    """Return a local day (``YYYY-MM-DD``) for people: Today, Yesterday, or its date."""
    year, month, number = map(int, day.split("-"))
    noon = time.mktime((year, month, number, 12, 0, 0, 0, 0, -1))
    passed = clock.day_of(now) - clock.day_of(int(noon))
    if passed in (0, 1):
        return ("Today", "Yesterday")[passed]
    return time.strftime("%A, %-d %B %Y", time.localtime(noon))


def named_month(month: str) -> str:
    """Return a month (``YYYY-MM``) for people: ``Mar 2026``."""
    try:
        return time.strftime("%b %Y", time.strptime(month, "%Y-%m"))
    except ValueError:
        return month


def short(path: str | None) -> str:
    """Return the last part of a path."""
    return (path or "").rstrip("/").rpartition("/")[2]


def labels(paths: Iterable[str]) -> dict[str, str]:
    """Return a short name of each path: its last part, with the one before where two end alike."""
    found = {path: project_name(path) for path in paths}
    ends = Counter(found.values())
    return {path: name if ends[name] < 2 else project(path) for path, name in found.items()}


def local_time(instant: str | None) -> str:
    """Return ``HH:MM`` of an instant (ISO 8601), in the zone of this machine; "" for none."""
    return _formatted("%H:%M", instant)


def local_day(instant: str | None) -> str:
    """Return ``YYYY-MM-DD`` of an instant."""
    return _formatted("%Y-%m-%d", instant)


def local_date(instant: str | None) -> str:
    """Return an instant for people: ``12 Mar 2026, 09:14``."""
    return _formatted("%-d %b %Y, %H:%M", instant)


def _formatted(form: str, instant: str | None) -> str:
    seconds = clock.parse_iso(instant) if instant else None
    return "" if seconds is None else time.strftime(form, time.localtime(seconds))


def milliseconds(value: float | None) -> str:
    """Return milliseconds for people."""
    return "" if value is None else f"{value:,.0f} ms" if value < 10_000 else f"{value / 1000:,.0f} s"


def size(count: int | None) -> str:
    """Return bytes for people."""
    for unit, name in _UNITS:
        if count is not None and count >= unit:
            return f"{count / unit:,.1f} {name}"
    return "" if count is None else f"{count} B"


def squeezed(text: str) -> str:
    """Return a snippet without its blank lines, which a list of hits has no room for."""
    return "\n".join(filter(str.strip, text.split("\n")))


def marked(text: str, query: str, prose: bool = False) -> Markup:
    """Return text as HTML, with the words of a question marked where they begin a word.

    In ``prose``, what markdown writes as `code`, **bold** or a heading is shown as that.
    """
    words = {word.lower() for word in _WORD.findall(query)} - _PLAIN
    wanted = None
    if words:
        known = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        wanted = re.compile(rf"\b(?:{known})\w*", re.IGNORECASE)
    text = printable(text)
    if not prose:
        return _marked(text, wanted)
    pieces: list[Markup] = []
    last = 0
    for match in _SPAN.finditer(text):
        tag = Markup("<code>{}</code>") if match["code"] else Markup("<strong>{}</strong>")
        pieces += [
            _marked(text[last : match.start()], wanted),
            tag.format(_marked(match["code"] or match["bold"] or match["head"], wanted)),
        ]
        last = match.end()
    return Markup("").join([*pieces, _marked(text[last:], wanted)])


def _marked(text: str, wanted: re.Pattern[str] | None) -> Markup:
    if wanted is None:
        return escape(text)
    pieces: list[Markup] = []
    last = 0
    for match in wanted.finditer(text):
        pieces += [escape(text[last : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
        last = match.end()
    return Markup("").join([*pieces, escape(text[last:])])
