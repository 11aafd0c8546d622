"""The picture of what was seen."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import StrMethodFormatter

from ..palette import BLUE, DPI, GREEN, ORANGE, SKY
from .peer import Kind
from .report import OURS, Measured, milliseconds

_COLOURS: Mapping[Kind, str] = {"service": ORANGE, "engine": SKY, "reference": GREEN}


def plot(outcomes: Sequence[Measured], path: Path) -> None:
    """Bars of the median times, fastest first, with whiskers up to p99."""
    ordered = sorted(outcomes, key=lambda o: o.p50_us, reverse=True)
    figure = Figure(figsize=(10, 0.42 * len(ordered) + 1.6), layout="constrained")
    axes = figure.subplots()
    medians = [o.p50_us / 1000 for o in ordered]
    axes.barh(
        [f"{o.title} (recall {o.recall:.2f})" for o in ordered],
        medians,
        color=[BLUE if o.name in OURS.values() else _COLOURS[o.kind] for o in ordered],
        xerr=[[0.0] * len(ordered), [o.p99_us / 1000 - o.p50_us / 1000 for o in ordered]],
        error_kw={"elinewidth": 1, "ecolor": "grey", "capsize": 3},
    )
    for place, (o, median) in enumerate(zip(ordered, medians, strict=True)):
        axes.annotate(
            milliseconds(o.p50_us),
            (median, place),
            textcoords="offset points",
            xytext=(-4, 0),
            ha="right",
            va="center",
            fontsize=8,
            color="white" if o.name in OURS.values() else "black",
        )
    axes.set_xscale("log")
    # Room for the number in the shortest bar.
    axes.set_xlim(left=min(medians, default=1.0) / 3)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.set_xlabel("time of a call, ms (bar: p50, whisker: up to p99), logarithmic")
    axes.set_title("The five nearest memories of one user")
    axes.grid(visible=True, axis="x", which="both", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(
        handles=[
            Patch(color=BLUE, label="memlane"),
            Patch(color=ORANGE, label="reached over a socket"),
            Patch(color=SKY, label="inside the calling process"),
            Patch(color=GREEN, label="reference, less work"),
        ],
        loc="upper right",
    )
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
