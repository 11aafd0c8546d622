"""The figures of `memlane bench` as one SVG picture that needs nothing else: a panel for each scenario."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from .load import Series
from .scenarios import Targets
from .sizing import Point, Verdict

# Colours of Okabe and Ito, which colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#D55E00")
_GREEN, _GREY, _INK = "#009E73", "#888888", "#222222"
_WIDTH, _HEIGHT, _COLUMNS = 360, 280, 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 44, 40
_HEADER = 74
_MARGIN = 12
_FONTS = "system-ui, Helvetica, Arial, DejaVu Sans, sans-serif"


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where a panel's values stand: x linear from 0, y logarithmic, in pixels of the panel."""

    right: float
    low: float
    high: float

    def x(self, value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * value / self.right

    def y(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share


def draw(
    title: str, subtitle: str, points: Sequence[Point], verdicts: Sequence[Verdict], targets: Targets
) -> str:
    """The picture. Without points it says so."""
    ordered = [(name, list(group)) for name, group in groupby(points, key=lambda point: point.scenario)]
    by_name = {verdict.scenario: verdict for verdict in verdicts}
    columns = max(1, min(_COLUMNS, len(ordered)))
    width = max(columns * _WIDTH, 2 * _WIDTH) + 2 * _MARGIN
    height = _HEADER + max(1, math.ceil(len(ordered) / columns)) * _HEIGHT + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{_FONTS}" font-size="11" fill="{_INK}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(_MARGIN, 22, title, size=15, weight="bold"),
        _text(_MARGIN, 40, subtitle, fill="#555555"),
        *_legend(_MARGIN, 60),
    ]
    if not ordered:
        lines.append(_text(_MARGIN, _HEADER + 40, "nothing was measured"))
    for number, (name, group) in enumerate(ordered):
        left = _MARGIN + number % columns * _WIDTH
        top = _HEADER + number // columns * _HEIGHT
        panel = _panel(name, group, by_name.get(name), targets)
        lines += [f'<g transform="translate({left} {top})">', *panel, "</g>"]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _legend(left: float, top: float) -> Iterator[str]:
    middle = top - 4
    x = left
    for words, mark, mark_width, width in (
        ("p50, closed loop", _dashed, 22, 100),
        ("p99, closed loop (connections)", _solid, 22, 182),
        ("p99, open loop: holds", _dot, 8, 128),
        ("does not hold", _cross, 8, 84),
        ("target, sustained rate", _bound, 22, 0),
    ):
        yield mark(x + (4 if mark_width == 8 else 0), middle, _INK)
        yield _text(x + mark_width + 6, top, words)
        x += mark_width + 6 + width


def _dashed(x: float, y: float, colour: str) -> str:
    return _line([(x, y), (x + 22, y)], colour, dashes="3 3")


def _solid(x: float, y: float, colour: str) -> str:
    return _line([(x, y), (x + 22, y)], colour)


def _bound(x: float, y: float, colour: str) -> str:
    return _line([(x, y), (x + 22, y)], _GREEN, dashes="6 3")


def _panel(name: str, points: Sequence[Point], verdict: Verdict | None, targets: Targets) -> Iterator[str]:
    kinds = list(dict.fromkeys(kind for point in points for kind in point.series))
    measured = [
        (point, kind, latency)
        for point in points
        for kind in kinds
        if (latency := _latency(point.series.get(kind))) is not None
    ]
    highest = verdict.highest if verdict is not None else None
    sustained = "" if highest is None or highest.rate is None else f": {highest.rate:,.4g} calls/s sustained"
    yield _text(_LEFT, 18, name + sustained, size=13, weight="bold")
    if not measured:
        yield _text(_LEFT, _TOP + 40, "no call was answered well")
        return
    values = [latency[p] for _, _, latency in measured for p in ("p50", "p99")]
    values += [1000 * targets.of(kind) for kind in kinds]
    axes = _Axes(
        right=1.08 * max(point.rate or point.outcome.ok_per_s for point, _, _ in measured),
        low=min(values) / 1.5,
        high=max(values) * 1.5,
    )
    yield from _frame(axes)
    if highest is not None and highest.rate is not None:
        x = axes.x(highest.rate)
        yield _line([(x, _TOP), (x, _HEIGHT - _BOTTOM)], _GREEN, dashes="6 3")
    for kind, colour in zip(kinds, _COLOURS, strict=False):
        target = axes.y(1000 * targets.of(kind))
        yield _line([(_LEFT, target), (_WIDTH - _RIGHT, target)], _GREEN, dashes="6 3")
        own = [(point, latency) for point, which, latency in measured if which == kind]
        yield from _curves(axes, own, colour)
        if len(kinds) > 1:
            place = _LEFT + 6 + 90 * kinds.index(kind)
            yield _text(place, _TOP - 8, kind, fill=colour, weight="bold")


def _curves(axes: _Axes, points: Sequence[tuple[Point, Mapping[str, float]]], colour: str) -> Iterator[str]:
    closed = [(point, latency) for point, latency in points if point.rate is None]
    for percentile, dashes in (("p50", "3 3"), ("p99", "")):
        path = [(axes.x(p.outcome.ok_per_s), axes.y(latency[percentile])) for p, latency in closed]
        if len(path) > 1:
            yield _line(path, colour, dashes=dashes)
        for (x, y), (point, _) in zip(path, closed, strict=True):
            yield f'<rect x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="5" height="5" fill="{colour}"/>'
            if percentile == "p99":
                yield _text(x + 5, y - 5, f"{point.connections}", fill=colour, size=10)
    for point, latency in points:
        if point.rate is not None:
            x, y = axes.x(point.rate), axes.y(latency["p99"])
            yield _dot(x, y, colour) if point.holds else _cross(x, y, colour)


def _frame(axes: _Axes) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value in _ticks(axes.right):
        x = axes.x(value)
        yield _line([(x, bottom), (x, bottom + 4)], _GREY)
        yield _text(x, bottom + 16, f"{value:,.4g}", anchor="middle", size=10)
    for value in _decades(axes.low, axes.high):
        y = axes.y(value)
        yield _line([(_LEFT, y), (right, y)], "#e4e4e4")
        yield _text(_LEFT - 5, y + 4, f"{value / 1000:,g}", anchor="end", size=10)
    yield _line([(_LEFT, _TOP), (_LEFT, bottom), (right, bottom)], _GREY)
    yield _text((_LEFT + right) / 2, bottom + 31, "calls a second", anchor="middle", size=10)
    yield _text(_LEFT - 40, _TOP - 8, "ms", size=10)


def _ticks(right: float) -> list[float]:
    """Three to six round values from 0."""
    step = 10 ** math.floor(math.log10(right))
    step = next(s for s in (2 * step, step, step / 2, step / 5) if right / s >= 3)
    return [number * step for number in range(math.floor(right / step) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... between, or the powers of ten alone where there are many."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [
            factor * 10.0**exponent
            for exponent in exponents
            for factor in factors
            if low <= factor * 10.0**exponent <= high
        ]
        if len(found) <= 8:
            break
    return found


def _latency(series: Series | None) -> Mapping[str, float] | None:
    return None if series is None else series.latency_us


def _line(path: Sequence[tuple[float, float]], colour: str, *, dashes: str = "") -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.3"{dashed}/>'


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def _cross(x: float, y: float, colour: str) -> str:
    return (
        f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" fill="none" stroke="{colour}" stroke-width="1.6"/>'
    )


def _text(
    x: float,
    y: float,
    words: str,
    *,
    fill: str = _INK,
    size: int = 11,
    weight: str = "normal",
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{fill}">{escape(words)}</text>'
    )
