"""The decision tree of the page *Which estimator*."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from picturing.drawing import Palette, picture

QUESTIONS = (
    (
        "Is an estimate wanted after each sample,\nor are the data still arriving?",
        "algebraic or kalman-bucy\n(one linear equation from input to output)\n"
        "extended-kalman (any FMU)",
    ),
    (
        "Are all outputs linear in all parameters,\nwith the motion measured?",
        "linear-regression",
    ),
    (
        "Are there constraints between parameters\nthat are not linear equalities?",
        "scipy-minimize",
    ),
    (
        "Are the initial values far off,\nor has the cost many minima?",
        "cma-es, then least-squares as a second stage\n"
        "special-genetic where cma-es ends in wrong minima\n"
        "differential-evolution or particle-swarm: few parameters\n"
        "binary-genetic: to compare with published results",
    ),
    (
        "Is the distribution of the parameters wanted,\nnot an estimate with an interval?",
        "posterior",
    ),
)
OTHERWISE = "least-squares"


@picture("choose-an-estimator", width=7.6, height=5.6)
def choose(figure: Figure, colours: Palette) -> None:
    """Draw questions from top to bottom, and what to take where the answer is yes."""
    axes = figure.subplots()
    axes.set(xlim=(0.0, 10.0), ylim=(0.2, 5.9))
    axes.axis("off")
    left, right = 2.1, 7.5
    for row, (question, answer) in enumerate(QUESTIONS):
        height = 5.5 - row
        _box(axes, left, height, question, colours.quiet, colours)
        _box(axes, right, height, answer, colours.fitted, colours)
        _arrow(axes, (4.25, height), (5.0, height), "yes", colours)
        _arrow(axes, (left, height - 0.28), (left, height - 0.72), "no", colours)
    _box(axes, left, 0.5, OTHERWISE, colours.fitted, colours)
    axes.text(
        3.6,
        0.5,
        "with starts = 10 where you are not sure of the initial values",
        va="center",
        fontsize=8.5,
        color=colours.quiet,
    )


def _box(axes: Any, x: float, y: float, text: str, edge: str, colours: Palette) -> None:
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        fontsize=8.8,
        color=colours.text,
        bbox={"boxstyle": "round,pad=0.45", "fc": "none", "ec": edge, "lw": 1.2},
    )


def _arrow(
    axes: Any, start: tuple[float, float], end: tuple[float, float], word: str, colours: Palette
) -> None:
    axes.annotate(
        "", end, start, arrowprops={"arrowstyle": "->", "color": colours.quiet, "lw": 1.1}
    )
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    beside = (x, y + 0.12) if start[1] == end[1] else (x + 0.25, y)
    axes.text(*beside, word, ha="center", va="center", fontsize=8.5, color=colours.quiet)
