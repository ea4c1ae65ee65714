"""What all pictures of a report share: colours, fonts, the way to SVG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from fmident.report.charts.colors import EXCLUDED, FITTED, INITIAL, MEASURED, RESIDUAL

__all__ = [
    "EXCLUDED",
    "FITTED",
    "INITIAL",
    "MEASURED",
    "RESIDUAL",
    "STYLE",
    "svg_of",
    "write",
    "written_as",
]

_FORM: ContextVar[str] = ContextVar("form of pictures", default="svg")

STYLE: Any = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # journals want fonts that can be edited
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


@contextmanager
def written_as(form: str) -> Iterator[None]:
    """Have :func:`svg_of` return another format meanwhile: ``"svg"`` or ``"pdf"``."""
    before = _FORM.set(form)
    try:
        yield
    finally:
        _FORM.reset(before)


def svg_of(figure: Figure, salt: str) -> bytes:
    """Return a figure as SVG; `salt` makes names in it differ from those of other figures."""
    buffer = io.BytesIO()
    if _FORM.get() == "pdf":
        paper: Any = FigureCanvasPdf(figure)  # not typed
        paper.print_pdf(buffer, metadata={"CreationDate": None})
        return buffer.getvalue()
    # Without salt and date two runs of the same data give the same bytes.
    with mpl.rc_context({"svg.hashsalt": salt}):
        # Figure.savefig would draw everything twice, the first time to find the layout only.
        canvas: Any = FigureCanvasSVG(figure)  # not typed
        canvas.print_svg(buffer, metadata={"Date": None})
    return buffer.getvalue()


def write(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix of the file's name."""
    figure.savefig(path, dpi=150)
