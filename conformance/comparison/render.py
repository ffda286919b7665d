"""The comparison as a picture (SVG) and as a page (HTML), each one file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conformance.comparison import palette, words
from conformance.comparison.drawing import LEFT, draw
from conformance.comparison.measure import Comparison

HEADER = 92
MOST_CALLS = 500

TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render_svg(comparison: Comparison) -> str:
    """Render the picture, with its heading."""
    template = TEMPLATES.get_template("picture.svg.j2")
    return template.render(common(comparison), scene=draw(comparison, HEADER), inline=False)


def render_html(comparison: Comparison) -> str:
    """Render the page: heading, figures, the picture, the cost of every call."""
    return TEMPLATES.get_template("page.html.j2").render(
        common(comparison),
        scene=draw(comparison, 8),
        inline=True,
        figures=words.figures(comparison),
        runs=comparison.runs,
        most_calls=MOST_CALLS,
    )


def common(comparison: Comparison) -> dict[str, Any]:
    return {
        "headline": words.headline(comparison),
        "described": [words.lengths_line(comparison.workload), words.prompts_line(comparison.workload)],
        "bound": comparison.workload.lower_bound,
        "colours": palette.COLOURS,
        "ink": palette.INK,
        "left": LEFT,
    }
