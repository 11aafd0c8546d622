"""The report: Markdown, JSON, a plot for each part that has curves."""

import json
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from ..palette import COLOURS, DPI, MARKERS
from ..report import RESULTS, about
from .parts import Section

FOLDER = RESULTS / "load"


def write(sections: Mapping[str, Section]) -> Path:
    """Replaces the parts that were run, keeps the others' text in the JSON; returns the Markdown file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = FOLDER / "load.json"
    kept = json.loads(data.read_text(encoding="utf-8")) if data.exists() else {}
    for name, section in sections.items():
        markdown = _markdown(name, section)
        kept[name] = {"about": about(), "markdown": markdown, **section.plain()}
        if section.curves:
            _plot(section, FOLDER / f"{name}.png")
    data.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    report = FOLDER / "report.md"
    parts = [f"{part['markdown']}\n{_origin(part['about'])}\n" for part in kept.values()]
    report.write_text("\n".join(["# Under load\n", *parts]), encoding="utf-8")
    return report


def checks_table(section: Section) -> str:
    """As Markdown."""
    lines = ["| it holds when | seen | |", "|---|---|---|"]
    lines += [f"| {c.promise} | {c.seen} | {'pass' if c.holds else 'FAIL'} |" for c in section.checks]
    return "\n".join(lines)


def _markdown(name: str, section: Section) -> str:
    lines = [f"## {section.title}", "", section.text, ""]
    if section.curves:
        lines += [f"![{section.title}]({name}.png)", ""]
    lines.append(f"| {' | '.join(section.header)} |")
    lines.append("|---|" + "---:|" * (len(section.header) - 1))
    lines += [f"| {' | '.join(row)} |" for row in section.rows]
    return "\n".join([*lines, "", checks_table(section), ""])


def _origin(facts: Mapping[str, object]) -> str:
    return (
        f"Measured {facts['date']}, commit {facts['commit']}, {facts['machine.cpu']}, {facts['machine.cores']} cores, "
        f"load average before it {facts['load_average_at_start']}.\n"
    )


def _plot(section: Section, path: Path) -> None:
    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    for n, (name, points) in enumerate(section.curves.items()):
        ordered = sorted(points)
        x, y = [point[0] for point in ordered], [point[1] for point in ordered]
        marker = MARKERS[n] if len(ordered) < 40 else ""
        axes.plot(x, y, label=name, color=COLOURS[n], marker=marker)
    axes.set_xlabel(section.axes[0])
    axes.set_ylabel(section.axes[1])
    axes.set_title(section.title)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=DPI)
