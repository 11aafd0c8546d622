"""Latency against offered load, as a picture. Needs matplotlib, which only this needs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7")
"""Of Okabe and Ito: colour-blind readers can tell them apart."""
MARKERS = ("o", "s", "^", "D", "v")
_DPI = 150


class PlottingMissing(RuntimeError):
    """matplotlib is not installed."""


def latency_curves(
    path: Path, rates: Sequence[float], curves: Mapping[str, Sequence[float]], title: str
) -> None:
    """Write a PNG: a line for each percentile, microseconds at each of `rates` (calls offered a second).

    Raises PlottingMissing.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import StrMethodFormatter
    except ModuleNotFoundError:
        raise PlottingMissing("no plot: matplotlib is missing (pip install 'memlane[bench]')") from None
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    for n, (name, values) in enumerate(curves.items()):
        milliseconds = [value / 1000 for value in values]
        axes.plot(rates, milliseconds, label=name, color=COLOURS[n % 5], marker=MARKERS[n % 5])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.set_xlim(left=0)
    axes.set_xlabel("offered load, calls a second")
    axes.set_ylabel("time from when a call was due to its answer, ms")
    axes.set_title(title)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=_DPI)
