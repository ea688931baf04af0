"""The statistics as a picture: use by day, latency against its budget, and what was found and what was not."""

from __future__ import annotations

from typing import Any

from core.files import write_atomic

_INK, _MUTED, _GOOD, _BAD, _FILL = "#1f2328", "#6e7781", "#1a7f64", "#c4432b", "#4078c0"


def write(found: dict[str, Any], path: str) -> None:
    """Draw ``found`` (the envelope of ``brain stats``) into an SVG or PNG file, by its suffix. Raises OSError."""
    import io

    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    style: Any = {
        "font.family": "sans-serif", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
        "axes.edgecolor": _MUTED, "axes.labelcolor": _INK, "xtick.color": _MUTED, "ytick.color": _INK,
        "svg.hashsalt": "brain", "axes.titleweight": "bold", "axes.titlelocation": "left",
    }  # fmt: skip
    with pyplot.rc_context(style):
        figure, (use, speed, asked) = pyplot.subplots(3, 1, figsize=(9, 10), height_ratios=(3, 3, 1.2))
        _use(use, found)
        _speed(speed, found)
        _asked(asked, found)
        figure.tight_layout(h_pad=2.5)
        picture = io.BytesIO()
        kind = "png" if path.endswith(".png") else "svg"
        figure.savefig(picture, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)
        pyplot.close(figure)
    write_atomic(path, picture.getvalue())


def _use(axes: Any, found: dict[str, Any]) -> None:
    from matplotlib import colormaps

    days = list(found["days"])
    totals: dict[str, int] = {}
    for counts in found["days"].values():
        for event, count in counts.items():
            totals[event] = totals.get(event, 0) + count
    events = sorted(totals, key=lambda event: -totals[event])
    shown, rest = events[:6], events[6:]
    floor = [0] * len(days)
    colours = colormaps["tab10"].colors  # type: ignore[attr-defined]
    for number, event in enumerate([*shown, *(["others"] if rest else [])]):
        names = rest if event == "others" else [event]
        heights = [sum(found["days"][day].get(name, 0) for name in names) for day in days]
        axes.bar(days, heights, bottom=floor, label=event, color=colours[number % 10], width=0.8)
        floor = [low + high for low, high in zip(floor, heights, strict=True)]
    axes.set_title("Use by day")
    _few_ticks(axes, days)
    if days:
        axes.legend(frameon=False, ncols=4, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.1))


def _speed(axes: Any, found: dict[str, Any]) -> None:
    timed = {name: each for name, each in found["commands"].items() if each["p95_ms"] is not None}
    names = sorted(timed, key=lambda name: timed[name]["p95_ms"])
    for row, name in enumerate(names):
        each = timed[name]
        over = each["budget_ms"] and each["p95_ms"] > each["budget_ms"]
        axes.barh(row, each["p95_ms"], color=_BAD if over else _FILL, alpha=0.35, height=0.6)
        axes.barh(row, each["p50_ms"], color=_BAD if over else _FILL, height=0.6)
        if each["budget_ms"]:
            axes.plot([each["budget_ms"]] * 2, [row - 0.4, row + 0.4], color=_INK, linewidth=1.5)
        axes.text(each["p95_ms"] * 1.05, row, f"{each['p95_ms']:,.0f} ms", va="center", fontsize=8, color=_MUTED)
    axes.set_yticks(range(len(names)), names)
    if names:
        axes.set_xscale("log")
    axes.set_title("Latency: median (solid) and 95th percentile (pale), milliseconds; the line is the budget")


def _asked(axes: Any, found: dict[str, Any]) -> None:
    asks = found["asks"]
    failed = max(0, asks["count"] - asks["answered"] - asks["no_hits"])
    left = 0
    for label, count, colour in (
        ("answered", asks["answered"], _GOOD),
        ("nothing found", asks["no_hits"], _MUTED),
        ("failed", failed, _BAD),
    ):
        if count:
            axes.barh(0, count, left=left, color=colour, height=0.5)
            axes.text(left + count / 2, 0, f"{label}\n{count}", ha="center", va="center", color="white", fontsize=9)
        left += count
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_title(f"Questions: {asks['count']:,} since {found['since'][:10]}")


def _few_ticks(axes: Any, days: list[str]) -> None:
    step = max(1, len(days) // 8)
    axes.set_xticks(range(0, len(days), step), [day[5:] for day in days[::step]])
