"""Pictures of the examples, and of searches over functions."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fmident.estimation.run import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter
from picturing.drawing import ROOT, Palette, dots, legend, picture, thinned
from picturing.guides import draw_intervals
from picturing.runs import example, first

DELTA_TRUTH = {
    "lowerArmMass": 0.08,
    "upperArmMass": 1.74,
    "platformMass": 1.1,
    "motorInertia": 1.55e-4,
    "gearEfficiency": 0.907,
    "coulombTorque": 0.105,
    "viscousFriction": 0.00128,
}


@picture("delta", width=8.6, height=3.1)
def delta(figure: Figure, colours: Palette) -> None:
    """Draw a motor torque of the delta robot, and the seven parameters."""
    left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])
    result = example("delta/problem.toml")
    fit = result.fits[0]
    shown = (fit.times >= 24.0) & (fit.times <= 28.0)
    times = fit.times[shown]
    dots(left, times, fit.measured[shown], colours.measured, most=220)
    left.plot(times, fit.initial[shown], "--", lw=1.1, color=colours.initial)
    left.plot(times, fit.fitted[shown], color=colours.fitted, lw=1.3)
    left.set(xlabel="time (s)", ylabel="motor torque (N.m)")
    legend(left, ["measured", "initial", "fitted"], ncols=3, loc="lower left")
    low, high = left.get_ylim()
    left.set_ylim(low - 0.15 * (high - low), high)
    draw_intervals(right, result, DELTA_TRUTH, colours.fitted)
    right.axvline(0.0, color=colours.quiet, lw=0.8)
    right.set_xlabel("deviation from the truth (%)")
    right.yaxis.tick_right()
    right.spines[["left"]].set_visible(False)
    right.set_xlim(-55, 55)


@picture("oscillator", width=4.6, height=2.7)
def oscillator(figure: Figure, colours: Palette) -> None:
    """Draw the study to start from."""
    draw_fit(figure, colours, example("oscillator/problem.toml").fits[0], 1e3, "position (mm)")


@picture("slider-crank", height=2.7)
def slider_crank(figure: Figure, colours: Palette) -> None:
    """Draw crank torque of the slider-crank, by linear regression."""
    fit = example("slider-crank/problem.toml").fits[0]
    draw_fit(figure, colours, fit, 1.0, "crank torque (N.m)", (1.0, 5.0))


@picture("arm", height=2.7)
def arm(figure: Figure, colours: Palette) -> None:
    """Draw the torque of the arm's first axis, by linear regression."""
    draw_fit(figure, colours, example("arm/problem.toml").fits[0], 1.0, "torque of axis 1 (N.m)")


@picture("positioning-axis", height=2.7)
def positioning_axis(figure: Figure, colours: Palette) -> None:
    """Draw the force that moves the axis steadily, with its published parameters."""
    axes = figure.subplots()
    speeds = np.concatenate([-np.logspace(-0.7, -5, 200), np.logspace(-5, -0.7, 200)])
    force = 203.5034 * speeds + 20.3935 * np.tanh(speeds / 1e-3) - 3.1648
    axes.axhline(0.0, color=colours.grid, lw=0.8)
    axes.plot(speeds, force, color=colours.fitted, lw=1.3)
    axes.set(xlabel="speed (m/s)", ylabel="force (N)")


@picture("across-events", height=2.7)
def across_events(figure: Figure, colours: Palette) -> None:
    """Draw the speed of the drive that sticks and slips."""
    fits = example("across-events/drive.toml").fits
    fit = next(f for f in fits if f.name == "v")
    draw_fit(figure, colours, fit, 1.0, "speed (m/s)")


def draw_fit(
    figure: Figure,
    colours: Palette,
    fit: Any,
    scale: float,
    label: str,
    window: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Draw measured and fitted values of an output."""
    axes = figure.subplots()
    kept = (fit.times >= window[0]) & (fit.times <= window[1])
    times = fit.times[kept]
    dots(axes, times, scale * fit.measured[kept], colours.measured)
    axes.plot(*thinned(times, scale * fit.fitted[kept]), color=colours.fitted, lw=1.3)
    axes.set(xlabel="time (s)", ylabel=label)
    legend(axes, ["measured", "fitted"], ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.97))


@picture("events", height=2.6)
def events(figure: Figure, colours: Palette) -> None:
    """Draw the temperature of the oven, whose controller switches."""
    draw_fit(figure, colours, example("across-events/oven.toml").fits[0], 1.0, "temperature (K)")


@picture("online")
def online(figure: Figure, colours: Palette) -> None:
    """Draw the stiffness over time, sample by sample, with two standard errors."""
    axes = figure.subplots()
    series = example("msd-online/problem.toml").series
    found = series[0] if isinstance(series, (list, tuple)) else series
    assert found is not None
    column = list(found.names).index("k")
    values, errors = found.values[:, column], found.standard_errors[:, column]
    kept = np.isfinite(values)
    chosen = np.flatnonzero(kept)[:: max(1, kept.sum() // 500)]
    times, values, errors = found.times[chosen], values[chosen], errors[chosen]
    axes.fill_between(
        times, values - 2 * errors, values + 2 * errors, color=colours.fitted, alpha=0.25, lw=0
    )
    axes.plot(times, values, color=colours.fitted, lw=1.1)
    axes.axhline(400.0, color=colours.bad, lw=1.0, ls="--")
    axes.set(xlabel="time (s)", ylabel="k (N/m)", xlim=(0.0, 5.0))
    axes.legend(["two standard errors", "estimate", "truth"], ncols=3, loc="upper right")


@picture("global-estimation", height=3.3)
def global_estimation(figure: Figure, colours: Palette) -> None:
    """Draw generations of two searches over Rastrigin's function."""
    sys.path.insert(0, str(ROOT / "examples" / "test-functions"))
    from functions import rastrigin

    grid = np.linspace(-5.12, 5.12, 91)
    first_axis, second_axis = np.meshgrid(grid, grid)
    points = np.column_stack([first_axis.ravel(), second_axis.ravel()])
    values = rastrigin(points).reshape(first_axis.shape)
    parameters = [
        Parameter(name, 4.0, lower=-5.12, upper=5.12, variable=name) for name in ("t1", "t2")
    ]
    asked = python_problem({"y": np.zeros(1)}, np.zeros(1), parameters)

    def model(times: Any, inputs: Any, t1: float, t2: float) -> dict[str, Any]:
        return {"y": np.sqrt(2.0 * rastrigin(np.array([[t1, t2]])))}

    host = load_plugins()
    searches: tuple[tuple[str, dict[str, int]], ...] = (
        ("special-genetic", {}),
        ("cma-es", {"restarts": 4}),
    )
    for axes, (name, options) in zip(figure.subplots(1, 2, sharey=True), searches, strict=True):
        with Evaluator(asked, PythonExecutor(asked, model)) as evaluator:
            kind = host.estimators.get(name)
            result = run_estimation(asked, evaluator, kind(), {"seed": 3} | options)
        axes.imshow(
            values,
            cmap=colours.field,
            extent=(-5.12, 5.12, -5.12, 5.12),
            origin="lower",
            interpolation="none",
            alpha=0.8,
        )
        for part, colour in ((slice(None, 4), colours.initial), (slice(4, None), colours.good)):
            drawn = np.concatenate([g.points for g in result.generations[part]])
            dots(axes, drawn[:, 0], drawn[:, 1], colour, most=400, size=2.6)
        axes.plot(0.0, 0.0, "+", color=colours.bad, ms=12, mew=1.6)
        axes.set(title=f"{name}: {result.simulations} simulations", xlabel="t1")
        axes.grid(visible=False)
        axes.set_aspect("equal")
    figure.axes[0].set_ylabel("t2")


@picture("plugin", height=2.6)
def plugin(figure: Figure, colours: Palette) -> None:
    """Draw the random search of the example plugin beside least squares."""
    sys.path.insert(0, str(ROOT / "plugins" / "example"))
    from fmident_random_search import RandomSearch

    from fmident.evaluation import make_executor
    from picturing.runs import frame, problem

    axes = figure.subplots()
    asked = problem(frame())
    with Evaluator(asked, make_executor(asked)) as evaluator:
        kind: Any = RandomSearch
        result = run_estimation(asked, evaluator, kind(), {"samples": 300})
    for found, colour, label in (
        (result, colours.initial, "random-search"),
        (first(), colours.fitted, "least-squares"),
    ):
        steps = found.history
        axes.loglog(
            [max(1, i.simulations) for i in steps],
            [i.cost for i in steps],
            drawstyle="steps-post",
            color=colour,
            label=label,
        )
    axes.set(xlabel="simulations", ylabel="least cost so far")
    axes.legend()
