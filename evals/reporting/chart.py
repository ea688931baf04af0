"""Charts of a run and of the history, by matplotlib, without a display."""

from __future__ import annotations

import io
import itertools
import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from core.home import make_private
from core.text import printable
from evals.runs.metrics import has_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind people can tell apart (https://jfly.uni-koeln.de/color/).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKS = (("hit@1", "o", "white"), ("hit@5", "o", "#0072B2"), ("ndcg@10", "D", "#D55E00"))
_NAMES = {"ndcg@10": "nDCG@10"}
_GREY = "#888888"
_SHORTEST = timedelta(days=7)


def draw(run: dict[str, Any] | None, history: Sequence[dict[str, Any]], cache: str) -> dict[str, bytes]:
    """Pictures by file name, each as SVG and as PNG: ``run`` where one is given, ``history`` where it has rows."""
    # By default matplotlib writes its font list below the user's home; Brain writes nothing there.
    make_private(cache)
    os.environ["MPLCONFIGDIR"] = cache
    import matplotlib

    # Names are data: a dollar begins no formula.
    settings: Any = {"svg.hashsalt": "brain", "font.size": 9, "text.parse_math": False}
    settings |= {"axes.spines.top": False, "axes.spines.right": False}
    pictures: dict[str, bytes] = {}
    with matplotlib.rc_context(settings):
        if history:
            pictures |= _saved("history", _history(history))
        if run is not None and any("skipped" not in row for each in run["sets"] for row in each["arms"]):
            pictures |= _saved("run", _run(run))
    return pictures


def _saved(name: str, figure: Figure) -> dict[str, bytes]:
    found = {}
    for kind, metadata in (("png", {}), ("svg", {"Date": None})):
        out = io.BytesIO()
        figure.savefig(out, format=kind, dpi=150, metadata=metadata)
        found[f"{name}.{kind}"] = out.getvalue()
    return found


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _run(run: dict[str, Any]) -> Figure:
    """Draw one row per set: each arm's score on the left, its difference from the baseline on the right."""
    sets = [each for each in run["sets"] if any("skipped" not in row for row in each["arms"])]
    ran = [[row for row in each["arms"] if "skipped" not in row] for each in sets]
    heights = [0.8 + 0.32 * len(rows) for rows in ran]
    figure = _figure(10, sum(heights) + 0.9)
    axes = figure.subplots(len(sets), 2, squeeze=False, gridspec_kw={"height_ratios": heights, "width_ratios": [3, 2]})
    for (left, right), each, rows in zip(axes, sets, ran, strict=True):
        _standing(left, f"{label(each['name'])}: {each['questions']:,} questions", rows)
        _differences(right, f"nDCG@10 less {label(run['baseline'])}'s, points", rows)
    handles, names = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=len(names), frameon=False)
    return figure


def _standing(axes: Axes, title: str, rows: Sequence[dict[str, Any]]) -> None:
    places = list(range(len(rows)))[::-1]
    for place, row in zip(places, rows, strict=True):
        shown = [100 * row["metrics"][name] for name, _, _ in _MARKS]
        axes.plot([min(shown), max(shown)], [place, place], color="#cccccc", linewidth=2, zorder=1)
    for name, mark, colour in _MARKS:
        values = [100 * row["metrics"][name] for row in rows]
        edge = "#0072B2" if colour == "white" else colour
        axes.scatter(values, places, marker=mark, s=36, color=colour, edgecolors=edge, label=_NAMES.get(name, name))
    # An arm that was asked a sample only says so.
    most = max(row["questions"] for row in rows)
    names = [label(r["arm"]) + (f" ({r['questions']})" if r["questions"] < most else "") for r in rows]
    _frame(axes, title, places, names)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("percent of questions; nDCG in points")


def _differences(axes: Axes, title: str, rows: Sequence[dict[str, Any]]) -> None:
    places = list(range(len(rows)))[::-1]
    axes.axvline(0, color=_GREY, linewidth=1)
    for place, row in zip(places, rows, strict=True):
        value: Any = row.get("against", {}).get("differences", {}).get("ndcg@10")
        if value is None:
            continue
        if not has_interval(value, row["against"]["questions"]):
            axes.scatter([100 * value["mean"]], [place], color=_GREY, s=30)
            axes.annotate(
                f"{100 * value['mean']:+.1f}, too few", (100 * value["mean"], place), xytext=(0, 6),
                textcoords="offset points", ha="center", color=_GREY,
            )  # fmt: skip
            continue
        shown = value["low"] > 0 or value["high"] < 0
        colour = ("#009E73" if value["mean"] > 0 else "#D55E00") if shown else _GREY
        axes.plot([100 * value["low"], 100 * value["high"]], [place, place], color=colour, linewidth=2)
        axes.scatter([100 * value["mean"]], [place], color=colour, s=30)
        axes.annotate(
            f"{100 * value['mean']:+.1f}", (100 * value["mean"], place), xytext=(0, 6),
            textcoords="offset points", ha="center", color=colour,
        )  # fmt: skip
    _frame(axes, title, places, [""] * len(rows))
    axes.margins(x=0.1)
    axes.set_xlabel("95 % interval; grey holds 0")


def _frame(axes: Axes, title: str, places: Sequence[int], names: Sequence[str]) -> None:
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_yticks(places, names)
    axes.set_ylim(-0.6, len(places) - 0.4)
    axes.tick_params(left=False)
    axes.grid(axis="x", color="#eeeeee")
    axes.set_axisbelow(True)


def _history(history: Sequence[dict[str, Any]]) -> Figure:
    """A panel a measure, a line an arm, over the dates of the runs."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    figure = _figure(10, 3.6)
    panels = figure.subplots(1, 2, sharey=True)
    arms = list(dict.fromkeys(row["arm"] for row in history))
    for axes, name in zip(panels, ("hit@1", "hit@5"), strict=True):
        for arm, colour in zip(arms, _COLOURS * len(arms), strict=False):
            for number, rows in enumerate(_series(history, arm)):
                days: Any = [datetime.fromisoformat(row["ts"]) for row in rows]
                values = [100 * row[name] for row in rows]
                named = label(arm) if number == 0 else None
                axes.plot(days, values, color=colour, marker="o", markersize=4, linewidth=1.5, label=named)
        for day, version in _changes(history):
            axes.axvline(day, color=_GREY, linewidth=1, linestyle=":")
            axes.annotate(
                f"set {version}", (day, 2), xytext=(3, 0), textcoords="offset points", color=_GREY,
            )  # fmt: skip
        axes.set_title(f"{name}, your own questions", loc="left", fontsize=10, fontweight="bold")
        locator = AutoDateLocator(minticks=2, maxticks=6)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
        axes.grid(axis="y", color="#eeeeee")
        axes.set_axisbelow(True)
        axes.set_ylim(0, 102)
    days = [datetime.fromisoformat(row["ts"]) for row in history]
    if max(days) - min(days) < _SHORTEST:  # a single day is no decade
        middle = min(days) + (max(days) - min(days)) / 2
        panels[0].sharex(panels[1])
        panels[0].set_xlim(middle - _SHORTEST / 2, middle + _SHORTEST / 2)
    panels[0].set_ylabel("percent of questions")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=min(len(names), 6), frameon=False)
    return figure


def _series(history: Sequence[dict[str, Any]], arm: str) -> list[list[dict[str, Any]]]:
    """An arm's rows, those of each version of the set by themselves: other questions make other figures."""
    series: dict[int, list[dict[str, Any]]] = {}
    for row in history:
        if row["arm"] == arm:
            series.setdefault(row.get("set", 1), []).append(row)
    return list(series.values())


def _changes(history: Sequence[dict[str, Any]]) -> list[tuple[datetime, int]]:
    """When the set went over to another version, and to which."""
    pairs = itertools.pairwise(history)
    return [
        (datetime.fromisoformat(row["ts"]), row.get("set", 1))
        for before, row in pairs
        if before.get("set", 1) != row.get("set", 1)
    ]


def label(text: str) -> str:
    """A name, which is data, as text of a chart, without characters that the font lacks."""
    return printable(text)[:40].encode("latin-1", "replace").decode("latin-1")
