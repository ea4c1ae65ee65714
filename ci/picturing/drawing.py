"""What all pictures share: two palettes, the register of pictures, the way to files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Shape

F64 = npt.NDArray[np.float64]
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"

BLANK = b'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="290"/>\n'

MOST = 700
"""Points of a line; more are thinned out, with the extremes kept."""


@dataclass(frozen=True)
class Palette:
    """Colours on a background of the page."""

    text: str
    quiet: str
    grid: str
    measured: str
    initial: str
    fitted: str
    bad: str
    good: str
    field: str


_COLOURS = {
    "text": ("#2b3440", "#d5dde6"),
    "quiet": ("#5b6673", "#a3afbc"),
    "grid": ("#e3e8ee", "#313a45"),
    "measured": ("#7b8794", "#97a3b0"),
    "initial": ("#c77700", "#e7a64a"),
    "fitted": ("#1f6fb2", "#62b0ea"),
    "bad": ("#b93434", "#f08080"),
    "good": ("#2c8050", "#6cca95"),
    "field": ("Blues_r", "Blues"),
}
"""Of a page with a light background, and of one with a dark background."""

LIGHT, DARK = (Palette(**{name: pair[k] for name, pair in _COLOURS.items()}) for k in (0, 1))

Draw = Callable[[Figure, Palette], None]


@dataclass(frozen=True)
class Picture:
    """How a picture is drawn: on a figure of `size` inches, in the colours of a palette."""

    draw: Draw
    size: tuple[float, float]


PICTURES: dict[str, Picture] = {}


def picture(name: str, width: float = 7.6, height: float = 2.9) -> Callable[[Draw], Draw]:
    """Register a function that draws the picture `name`."""

    def registered(draw: Draw) -> Draw:
        PICTURES[name] = Picture(draw, (width, height))
        return draw

    return registered


def is_drawn(name: str) -> bool:
    """Return whether the picture is there in both palettes, and not empty."""
    files = [FOLDER / f"{name}{suffix}.svg" for suffix in ("", "-dark")]
    return all(file.exists() and file.read_bytes() != BLANK for file in files)


def write(name: str, *, blank: bool = False) -> int:
    """Draw a picture in both palettes, or write an empty one, and return the bytes written."""
    FOLDER.mkdir(exist_ok=True)
    return sum(
        (FOLDER / f"{name}{suffix}.svg").write_bytes(BLANK if blank else _svg(name, palette))
        for suffix, palette in (("", LIGHT), ("-dark", DARK))
    )


def _svg(name: str, palette: Palette) -> bytes:
    chosen = PICTURES[name]
    buffer = io.BytesIO()
    with mpl.rc_context(_style(palette) | {"svg.hashsalt": name}):
        figure = Figure(chosen.size, layout="constrained")
        figure.patch.set_alpha(0.0)
        chosen.draw(figure, palette)
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata={"Date": None})
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", buffer.getvalue().decode())
    text = re.sub(r"[ \t]*\n(?=[ \t]*[LMC] )| +$", " ", text, flags=re.MULTILINE)
    return text.encode()


def _style(palette: Palette) -> dict[str, Any]:
    return {
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 9.5,
        "text.color": palette.text,
        "axes.facecolor": "none",
        "axes.edgecolor": palette.quiet,
        "axes.labelcolor": palette.text,
        "axes.titlesize": 10.0,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.formatter.useoffset": False,
        "grid.color": palette.grid,
        "grid.linewidth": 0.7,
        "xtick.color": palette.quiet,
        "ytick.color": palette.quiet,
        "legend.frameon": False,
        "legend.fontsize": 9.0,
        "lines.linewidth": 1.5,
        "path.simplify": True,
        "path.simplify_threshold": 0.4,
    }


def thinned(times: F64, values: F64) -> tuple[F64, F64]:
    """Return a line of at most `MOST` points, with least and largest value of each piece."""
    if len(times) <= MOST:
        return times, values
    pieces = np.array_split(np.arange(len(times)), MOST // 2)
    kept = sorted({i for p in pieces for i in (p[values[p].argmin()], p[values[p].argmax()])})
    return times[kept], values[kept]


def dots(
    axes: Any, times: F64, values: F64, colour: str, *, most: int = 260, size: float = 2.4
) -> None:
    """Draw evenly chosen samples as dots: one path, an eighth of the size of markers."""
    kept = some(times, values, most)
    vertices = np.repeat(np.column_stack(kept), 2, axis=0)
    path = Shape(vertices, np.tile([Shape.MOVETO, Shape.LINETO], len(kept[0])))
    path.should_simplify = False
    axes.plot([], [], ".", color=colour)  # in the legend
    axes.add_patch(PathPatch(path, lw=size, capstyle="round", ec=colour, fc="none", label="_dots"))
    axes.autoscale_view()


def legend(axes: Any, labels: list[str], **options: Any) -> None:
    """Name the lines, in the order in which they were drawn."""
    axes.legend(axes.lines[: len(labels)], labels, **options)


def some(times: F64, values: F64, most: int = 260) -> tuple[F64, F64]:
    """Return evenly chosen samples, for dots."""
    chosen = np.linspace(0, len(times) - 1, min(most, len(times))).round().astype(int)
    return times[chosen], values[chosen]
