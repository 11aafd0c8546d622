"""The figures as pictures: one PNG a part."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from .bounds import limit_of
from .growth import MEMORIES_EACH
from .growth import SIZES as GROWTH_SIZES
from .kernels import DIMENSIONS, RIVALS, ROWS
from .palette import COLOURS, DPI, MARKERS
from .prompt_budget import DEFAULT_TOP_K, LANGUAGES, SHOWN_TOP_KS, TOP_KS

Figures = Mapping[str, float]

_NAMES = {"zh": "Chinese", "en": "English"}
_NUMBER = StrMethodFormatter("{x:,g}")


def kernels(figures: Figures, path: Path) -> None:
    """Time of one query against rows, a panel a dimension."""
    names = ("search", "search_words", "float32", *RIVALS)
    labels = (
        "memlane",
        "memlane, with words",
        "memlane, float32 pass",
        *(r.replace("_", " ") for r in RIVALS),
    )
    figure = Figure(figsize=(13, 4.8), layout="constrained")
    panels = figure.subplots(1, len(DIMENSIONS), sharey=True)
    for axes, dimension in zip(panels, DIMENSIONS, strict=True):
        for n, (name, label) in enumerate(zip(names, labels, strict=True)):
            points = [(rows, figures.get(f"kernel.{name}.n{rows}_d{dimension}_us")) for rows in ROWS]
            _line(axes, points, n, label)
        _logarithmic(axes, f"{dimension} dimensions", "memories of the user")
    panels[0].set_ylabel("median time of one query, µs, one thread")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    _save(figure, path)


def prompt_budget(figures: Figures, path: Path) -> None:
    """Recall against the tokens it costs, and time against the number of memories."""
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for n, language in enumerate(LANGUAGES):
        prefix = f"prompt_budget.{language}.top"
        tokens = [figures[f"{prefix}{k}.memory_tokens"] for k in TOP_KS]
        recalls = [figures[f"{prefix}{k}.recall"] for k in TOP_KS]
        _line(left, list(zip(tokens, recalls, strict=True)), n, _NAMES[language])
        for top_k in SHOWN_TOP_KS:
            place = TOP_KS.index(top_k)
            text = f"{top_k}, the default" if top_k == DEFAULT_TOP_K else str(top_k)
            left.annotate(
                text,
                (tokens[place], recalls[place]),
                textcoords="offset points",
                xytext=(4, -14 - 12 * n),
                color=COLOURS[n],
            )
        for m, call in enumerate(("search", "context")):
            label = {"search": "SearchMemories", "context": "BuildContext"}[call]
            points = [(k, figures[f"{prefix}{k}.{call}_p50_us"]) for k in TOP_KS]
            _line(right, points, 2 * m + n, f"{label}, {_NAMES[language]}")
    _plain(left, "What tokens bring (1 to 10 memories)", "tokens of the memories in the prompt", "recall")
    _plain(right, "What memories cost", "memories asked for (top_k)", "median time of a call, µs")
    right.set_ylim(bottom=0)
    right.set_xticks(TOP_KS)
    _save(figure, path)


def service(figures: Figures, path: Path) -> None:
    """p50, p95 and p99 of every call that was measured."""
    names = sorted(
        (key.removesuffix(".p50_us") for key in figures if re.match(r"(service|context)\..*\.p50_us$", key)),
        key=lambda name: figures[f"{name}.p50_us"],
    )
    figure = Figure(figsize=(10, max(3.0, 0.28 * len(names) + 1.5)), layout="constrained")
    axes = figure.subplots()
    for n, percentile in enumerate(("p50", "p95", "p99")):
        values = [(figures.get(f"{name}.{percentile}_us"), place) for place, name in enumerate(names)]
        present = [(value, place) for value, place in values if value is not None]
        axes.plot(
            [value for value, _ in present],
            [place for _, place in present],
            linestyle="",
            marker=MARKERS[n],
            color=COLOURS[n],
            label=percentile,
        )
    axes.set_yticks(range(len(names)), [name.removeprefix("service.") for name in names], fontsize=8)
    axes.set_xscale("log")
    _number(axes.xaxis)
    axes.set_xlabel("time of a call, µs")
    axes.set_title("Calls of the service, seen by the client")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    _save(figure, path)


def growth(figures: Figures, path: Path) -> None:
    """Time against memories and against users, and memory a row over its content."""
    figure = Figure(figsize=(14, 4.8), layout="constrained")
    panels = figure.subplots(1, 3)
    kinds = (("memories", "memories of one user"), ("users", f"users of {MEMORIES_EACH} memories"))
    for axes, (kind, label) in zip(panels[:2], kinds, strict=True):
        for n, percentile in enumerate(("p50", "p95", "p99")):
            points = [(size, figures.get(f"growth.{kind}.n{size}.{percentile}_us")) for size in GROWTH_SIZES]
            _line(axes, points, n, percentile)
        _logarithmic(axes, "Warm SearchMemories", label)
        axes.set_ylabel("time of a call, µs")
        axes.legend()
    for n, kind in enumerate(("memories", "users")):
        for m, (figure_name, label) in enumerate(
            (("resident", "process growth"), ("accounted", "index accounting"))
        ):
            points = [
                (s, figures.get(f"growth.{kind}.n{s}.{figure_name}_over_content")) for s in GROWTH_SIZES
            ]
            _line(panels[2], points, 2 * n + m, f"by {kind}, {label}")
    target = limit_of("growth.bytes_per_row_over_content")
    panels[2].axhline(target, color="grey", linestyle="--", linewidth=1, label=f"target {target:g}")
    _plain(panels[2], "Memory a row", "memories of one user, or users", "bytes over those of vector and text")
    panels[2].set_xscale("log")
    panels[2].xaxis.set_major_formatter(_NUMBER)
    # From what must be kept at least, with room for the legend.
    panels[2].set_ylim(1, 1.5 * panels[2].get_ylim()[1] - 0.5)
    _save(figure, path)


def _line(axes: Axes, points: Sequence[tuple[float, float | None]], n: int, label: str) -> None:
    present = [(x, y) for x, y in points if y is not None]
    axes.plot(
        [x for x, _ in present],
        [y for _, y in present],
        label=label,
        color=COLOURS[n % len(COLOURS)],
        marker=MARKERS[n % len(MARKERS)],
        markersize=5,
        linewidth=1.4,
    )


def _logarithmic(axes: Axes, title: str, x_label: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(_NUMBER)
    _number(axes.yaxis)
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.grid(visible=True, which="both", alpha=0.3)


def _number(axis: Axis) -> None:
    """1, 2 and 5 of each power of ten, written out."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(_NUMBER)


def _plain(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()


def _save(figure: Figure, path: Path) -> None:
    # Without the library's version in it, the same figures give the same file.
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
