"""The scenes as one self-contained page."""

from collections.abc import Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from jinja2 import Environment

from .record import Scene


def write(path: Path, scenes: Sequence[Scene], facts: Sequence[tuple[str, str]]) -> None:
    """`facts` are shown under the title: versions and the like."""
    template = Environment(autoescape=True).from_string(
        files(__package__).joinpath("report.html.j2").read_text(encoding="utf-8")
    )
    groups = [(number, list(group)) for number, group in groupby(scenes, key=lambda s: s.number)]
    path.write_text(template.render(groups=groups, facts=facts), encoding="utf-8")
