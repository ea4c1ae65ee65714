"""What all pictures of a report share: colours, fonts, the way to SVG."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

MEASURED = "#a9b2bf"
INITIAL = "#d98a3d"
FITTED = "#0b5cad"
RESIDUAL = "#7d8b9c"

STYLE: Any = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.edgecolor": "#b6bec9",
    "axes.labelcolor": "#2b3440",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e7ebf0",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "xtick.color": "#5b6673",
    "ytick.color": "#5b6673",
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "legend.frameon": False,
    "text.parse_math": False,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
}


def svg_of(figure: Figure, salt: str) -> bytes:
    """Return a figure as SVG; `salt` makes names in it differ from those of other figures."""
    buffer = io.BytesIO()
    # Without salt and date two runs of the same data give the same bytes.
    with mpl.rc_context({"svg.hashsalt": salt}):
        # Figure.savefig would draw everything twice, the first time to find the layout only.
        canvas: Any = FigureCanvasSVG(figure)  # not typed
        canvas.print_svg(buffer, metadata={"Date": None})
    return buffer.getvalue()


def write(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix of the file's name."""
    figure.savefig(path, dpi=150)
