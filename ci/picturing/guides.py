"""Pictures of runs with the oscillator of the first tutorial."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.interpolate import PchipInterpolator

import fmident
from fmident.estimation.result import EstimationResult
from fmident.fmu import SimulationSetup, open_fmu
from picturing.drawing import F64, Palette, dots, legend, picture, thinned
from picturing.runs import START, TRUE, costs, field, first, frame, problem


@picture("first-identification", height=3.9)
def first_identification(figure: Figure, colours: Palette) -> None:
    """Draw measured, initial and fitted position, and the residuals."""
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
    (fit,) = first().fits
    dots(above, fit.times, 1e3 * fit.measured, colours.measured)
    above.plot(*thinned(fit.times, 1e3 * fit.initial), "--", lw=1.1, color=colours.initial)
    above.plot(*thinned(fit.times, 1e3 * fit.fitted), color=colours.fitted)
    above.set_ylabel("position (mm)")
    legend(above, ["measured", "initial", "fitted"], ncols=3, loc="upper right")
    residual = 1e3 * (fit.fitted - fit.measured)
    dots(below, fit.times, residual, colours.measured, most=500, size=1.8)
    below.axhspan(-0.2, 0.2, color=colours.fitted, alpha=0.15, lw=0)
    below.set_ylabel("residual (mm)")
    below.set_xlabel("time (s)")


@picture("intervals", height=2.0)
def intervals(figure: Figure, colours: Palette) -> None:
    """Draw the intervals of two results, relative to the truth."""
    axes = figure.subplots()
    shown = {
        "5 s of data": (first(), colours.fitted),
        "1 s of data": (fmident.estimate(problem(frame(1.0))), colours.initial),
    }
    for shift, (label, (result, colour)) in zip((-0.13, 0.13), shown.items(), strict=True):
        draw_intervals(axes, result, TRUE, colour, label, shift)
    axes.axvline(0.0, color=colours.quiet, lw=0.8)
    axes.set_xlabel("deviation from the truth (%): estimate and 95 % interval")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def draw_intervals(
    axes: Any,
    result: EstimationResult,
    truth: dict[str, float],
    colour: str,
    label: str = "",
    shift: float = 0.0,
) -> None:
    """Draw estimates with intervals, one row for each parameter."""
    found = [e for e in result.estimates if not e.fixed]
    rows = np.arange(len(found)) + shift
    middle = np.array([100 * (e.value / truth[e.name] - 1) for e in found])
    ends = np.array([[100 * (x / truth[e.name] - 1) for x in e.interval_95] for e in found])
    axes.errorbar(
        middle,
        rows,
        xerr=np.abs(ends.T - middle),
        fmt="o",
        ms=4,
        lw=2,
        capsize=0,
        color=colour,
        label=label,
    )
    axes.set_yticks(range(len(found)), [e.name for e in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


@picture("measured-data")
def measured_data(figure: Figure, colours: Palette) -> None:
    """Draw an experiment of which 3 s are fitted, and one that is held out."""
    left, right = figure.subplots(1, 2, sharey=True)
    data = {"step": frame(4.0, 0.01), "release": frame(4.0, 0.01, released=True, seed=2)}
    experiments = {
        "step": {"window": [0.0, 3.0]},
        "release": {"role": "validation", "start_values": {"x_start": 0.02}},
    }
    result = fmident.estimate(problem(data, experiments=experiments))
    (fit,) = result.fits
    assert result.validation is not None
    (held,) = result.validation.fits
    for axes, shown, title in ((left, fit, "step: fitted"), (right, held, "release: validation")):
        raw = data["step" if axes is left else "release"]
        times, values = raw["time [s]"].to_numpy(), 1e3 * raw["position [m]"].to_numpy()
        dots(axes, times, values, colours.measured, most=200)
        axes.plot(*thinned(shown.times, 1e3 * shown.fitted), color=colours.fitted)
        axes.set_title(f"{title}, NRMSE {100 * shown.nrmse:.2g} %")
        axes.set_xlabel("time (s)")
    left.axvspan(3.0, 4.0, color=colours.initial, alpha=0.18, lw=0)
    left.text(
        2.9,
        -18.0,
        "outside the window:\nnot fitted",
        color=colours.initial,
        fontsize=8.5,
        ha="right",
    )
    left.set_ylim(-22, 52)
    left.set_ylabel("position (mm)")
    legend(left, ["measured", "simulated"], loc="upper right", ncols=2)


@picture("check")
def check(figure: Figure, colours: Palette) -> None:
    """Draw what each parameter does to the output: pushed, and released."""
    panels = figure.subplots(1, 2, sharex=True)
    for axes, released in zip(panels, (False, True), strict=True):
        times, table = sensitivities(released=released)
        lines = (("m", colours.fitted, "-"), ("d", colours.good, "-"), ("k", colours.initial, "--"))
        for column, (name, colour, style) in enumerate(lines):
            values = 10.0 * table[:, column] * TRUE[name]
            axes.plot(*thinned(times, values), style, color=colour, label=name, lw=1.3)
        start = {"x_start": 0.02} if released else {}
        asked = problem(frame(5.0, 0.01, released=released), model={"start_values": start})
        found = fmident.check(asked).sensitivities
        assert found is not None
        axes.set_title(
            f"{'released' if released else 'pushed'}: {found.rank} of 3 can be determined"
        )
        axes.set_xlabel("time (s)")
    panels[0].set_ylabel("change of x (mm)\nper 1 % of ...")
    panels[0].legend(ncols=3, loc="upper right")
    for axes in panels:
        axes.set_ylim(-0.75, 0.9)


def sensitivities(*, released: bool) -> tuple[F64, F64]:
    """Return instants and derivatives of the position by m, d, k (shape (n, 3), m per unit)."""
    times = np.arange(0.0, 5.0, 0.01)
    values = dict(TRUE) | ({"x_start": 0.02} if released else {})
    setup = SimulationSetup(
        times,
        output_names=("x",),
        sensitivities=("m", "d", "k"),
        start_values=values if released else values | {"F": 10.0},
    )
    fmu = problem(frame(1.0)).fmu
    with open_fmu(fmu) as opened, opened.simulator() as simulator:
        table = simulator.simulate(setup)
    return times, table[:, 1:]


@picture("profile")
def profile(figure: Figure, colours: Palette) -> None:
    """Draw the profile of the mass where data are poor, and the parabola of the linearisation."""
    axes = figure.subplots()
    asked = problem(frame(0.25, 0.01, sigma=3e-3), sigma=3e-3)
    profiles = fmident.profile(asked, fmident.estimate(asked), parameters=["m"])
    (found,) = profiles.profiles
    points = sorted((p.value, p.cost - profiles.cost) for p in found.points)
    values, rises = np.array(points).T
    low, high = found.linearised
    grid = np.linspace(values.min(), values.max(), 100)
    parabola = 0.5 * ((grid - found.value) / found.standard_error) ** 2
    axes.plot(grid, parabola, "--", color=colours.initial, label="linearised", lw=1.2)
    fine = np.linspace(values.min(), values.max(), 120)
    curve = PchipInterpolator(values, rises)(fine)
    axes.plot(fine, curve, color=colours.fitted, label="profile")
    axes.plot(values, rises, "o", ms=4, color=colours.fitted)
    axes.axhline(profiles.threshold, color=colours.bad, lw=1.0, label="threshold of 95 %")
    for end, colour in ((low, colours.initial), (high, colours.initial)):
        axes.axvline(end, color=colour, lw=0.8, ls=":")
    for side in (found.lower, found.upper):
        if side.value is not None and math.isfinite(side.value):
            axes.axvline(side.value, color=colours.fitted, lw=0.8, ls=":")
    axes.set_ylim(-0.1, 2.2 * profiles.threshold)
    axes.set_xlabel("m (kg), from 0.25 s of data with noise of 3 mm")
    axes.set_ylabel("rise of the cost")
    axes.legend(loc="upper center", ncols=3)


@picture("costs")
def compared_costs(figure: Figure, colours: Palette) -> None:
    """Draw the cost over the stiffness, by time domain and by smoothed spectrum."""
    axes = figure.subplots()
    stiffness = np.linspace(150.0, 1000.0, 341)
    points = np.array([[TRUE["m"], 0.8, k] for k in stiffness])
    shown = (
        ("time-domain", colours.initial, "time-domain"),
        ({"name": "smoothed-spectrum", "smoothing": 8}, colours.fitted, "smoothed-spectrum"),
    )
    times = np.arange(0.0, 8.0, 0.02)
    omega0, zeta = np.sqrt(400 / 3), 0.8 / (2 * np.sqrt(1200))
    omega = omega0 * np.sqrt(1 - zeta**2)
    swing = np.cos(omega * times) + zeta * omega0 / omega * np.sin(omega * times)
    data = frame(8.0, 0.02)
    data["force [N]"] = 0.0
    data["position [m]"] = 0.02 * np.exp(-zeta * omega0 * times) * swing
    start = {"start_values": {"x_start": 0.02}}
    for cost, colour, label in shown:
        found = costs(problem(data, cost=cost, model=start), points)
        axes.plot(stiffness, found / found.max(), color=colour, label=label, lw=1.3)
    axes.axvline(400.0, color=colours.quiet, ls=":", lw=1.0)
    axes.set_xlabel("k (N/m); the truth is 400")
    axes.set_ylabel("cost, relative to its largest")
    axes.legend(loc="lower right")


@picture("stages")
def stages(figure: Figure, colours: Palette) -> None:
    """Draw the cost over the simulations: a global search, then least squares."""
    axes = figure.subplots()
    wide = {n: {"initial": s["initial"], "bounds": s["bounds"]} for n, s in START.items()}
    wide["k"] = {"initial": 4000.0, "bounds": (10.0, 5000.0)}
    asked = problem(
        frame(),
        parameters=wide,
        stages=[
            {"name": "search", "estimator": {"name": "cma-es", "seed": 1, "generations": 25}},
            {"name": "finish", "estimator": {"name": "least-squares"}},
        ],
    )
    result = fmident.estimate(asked)
    done, last = 0, None
    for stage, colour in (("search", colours.initial), ("finish", colours.fitted)):
        steps = [i for i in result.history if i.stage == stage]
        count = np.array([i.simulations for i in steps])
        count = count + (done if count[0] < done else 0)
        cost = np.array([i.cost for i in steps])
        if last is not None:
            count, cost = np.r_[last[0], count], np.r_[last[1], cost]
        axes.semilogy(count, cost, ".-", color=colour, label=f"{stage}: {steps[-1].stage}")
        done, last = int(count[-1]), (count[-1], cost[-1])
    axes.legend(["stage 1: cma-es", "stage 2: least-squares"])
    axes.set_xlabel("simulations")
    axes.set_ylabel("least cost so far")


@picture("constraints", height=3.3)
def constraints(figure: Figure, colours: Palette) -> None:
    """Draw the cost over damping and stiffness, a constraint, and the path of the search."""
    axes = figure.subplots()
    limit = "d >= 0.02 s*k"
    held = {"m": {"initial": 3.0, "fixed": True}}
    searched = {
        "d": {"initial": 25.0, "bounds": (0.0, 30.0)},
        "k": {"initial": 700.0, "bounds": (100.0, 900.0)},
    }
    free = problem(frame(), parameters=held | searched)
    asked = problem(
        frame(),
        parameters=held | searched,
        constraints={"damped": limit},
        estimator={"name": "scipy-minimize"},
    )
    result = fmident.estimate(asked)
    found = field(free, ("k", "d"), grid=61)
    axes.contour(
        found.first.values,
        found.second.values,
        np.log10(found.costs),
        levels=14,
        cmap=colours.field,
        linewidths=0.8,
    )
    k = np.linspace(100.0, 900.0, 50)
    axes.fill_between(k, 0.0, 0.02 * k, color=colours.bad, alpha=0.15, lw=0)
    axes.plot(k, 0.02 * k, color=colours.bad, lw=1.2)
    axes.text(640.0, 3.0, "not allowed", color=colours.bad)
    names = [p.name for p in asked.free]
    path = np.array([i.parameters for i in result.history])
    axes.plot(path[:, names.index("k")], path[:, names.index("d")], ".-", color=colours.fitted)
    axes.plot(*(result.values[n] for n in ("k", "d")), "o", color=colours.fitted, ms=7)
    axes.plot(TRUE["k"], TRUE["d"], "x", color=colours.text, ms=8)
    axes.annotate("without the constraint", (400, 5.0), (430, 3.4), fontsize=8.5)
    axes.set(xlabel="k (N/m)", ylabel="d (N.s/m)", xlim=(100, 900), ylim=(0, 30))
    axes.grid(visible=False)


@picture("prior", height=2.0)
def prior(figure: Figure, colours: Palette) -> None:
    """Draw the intervals of poor data, alone and with a prior of the mass."""
    axes = figure.subplots()
    data = frame(0.5, 0.01, sigma=2e-3, seed=3)
    known = {"m": START["m"] | {"prior": {"distribution": "normal", "mean": 3.05, "sd": 0.05}}}
    shown = {
        "0.5 s of data": (problem(data, sigma=2e-3), colours.initial),
        "with the prior of m": (
            problem(data, sigma=2e-3, parameters=START | known),
            colours.fitted,
        ),
    }
    for shift, (label, (asked, colour)) in zip((-0.13, 0.13), shown.items(), strict=True):
        draw_intervals(axes, fmident.estimate(asked), TRUE, colour, label, shift)
    ends = np.array([100 * (x / TRUE["m"] - 1) for x in (3.05 - 0.098, 3.05 + 0.098)])
    axes.errorbar(
        ends.mean(),
        -0.36,
        xerr=np.ptp(ends) / 2,
        fmt="s",
        ms=3.5,
        lw=2,
        color=colours.good,
        label="prior",
    )
    axes.axvline(0.0, color=colours.quiet, lw=0.8)
    axes.set_xlabel("deviation from the truth (%): estimate and 95 % interval")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
