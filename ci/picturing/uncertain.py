"""Pictures of uncertainty: coloured noise, and what each way to an interval says."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import signal, stats

import fmident
from picturing.drawing import Palette, dots, legend, picture, thinned
from picturing.runs import START, TRUE, frame, problem

COLOUR = 0.95
"""Correlation from sample to sample of the coloured noise."""


def coloured(seed: int, end: float = 5.0) -> Any:
    """Return a measured motion with noise of 0.3 mm that is correlated in time."""
    found = frame(end, 0.01, sigma=0.0)
    white = np.random.default_rng(seed).normal(size=len(found))
    white[1:] *= np.sqrt(1.0 - COLOUR**2)
    found["position [m]"] += 3e-4 * signal.lfilter([1.0], [1.0, -COLOUR], white)
    return found


def unknown(data: Any, **changes: Any) -> fmident.Problem:
    """Return the problem without a standard deviation of the noise."""
    return problem(data, outputs={"x": {"column": "position", **changes}})


@picture("coloured-noise", height=3.6)
def coloured_noise(figure: Figure, colours: Palette) -> None:
    """Draw the intervals of 50 records with coloured noise, as for white noise and as shown."""
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    draws = 50
    ends, values = np.empty((2, draws, 2)), np.empty(draws)
    for number in range(draws):
        result = fmident.estimate(unknown(coloured(number)))
        (row,) = [e for e in result.estimates if e.name == "k"]
        assert result.noise is not None
        quantile = stats.t.ppf(0.975, len(result.fits[0].times) - len(START))
        half = float(result.noise.white_errors["k"] * quantile)
        values[number] = row.value
        ends[:, number] = (row.value - half, row.value + half), row.interval_95
    for axes, kind, each in zip(panels, ("for white noise", "as shown"), ends, strict=True):
        holds = (each[:, 0] <= TRUE["k"]) & (TRUE["k"] <= each[:, 1])
        for chosen, colour in ((holds, colours.fitted), (~holds, colours.bad)):
            rows = np.repeat(np.flatnonzero(chosen), 3)
            lines = np.column_stack([each[chosen], np.full(chosen.sum(), np.nan)]).ravel()
            axes.plot(lines, rows, color=colour, lw=1.2, solid_capstyle="butt")
            dots(axes, values[chosen], np.flatnonzero(chosen), colour, size=2.6)
        axes.axvline(TRUE["k"], color=colours.text, lw=0.9)
        axes.set_title(f"{kind}: {holds.sum()} of {draws} hold the truth")
        axes.set_xlabel("k (N/m), estimate and 95 % interval")
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(visible=False, axis="y")
    panels[0].set_ylabel("one line for each record")


@picture("which-number", height=2.5)
def which_number(figure: Figure, colours: Palette) -> None:
    """Draw what each way says of one stiffness, from the same record."""
    axes = figure.subplots()
    asked = unknown(coloured(4))
    result = fmident.estimate(asked)
    assert result.noise is not None
    estimate = next(e for e in result.estimates if e.name == "k")
    half = 1.96 * result.noise.white_errors["k"]
    modelled = fmident.estimate(unknown(coloured(4), noise={"model": "ar"}))
    better = next(e for e in modelled.estimates if e.name == "k")
    replicates = fmident.bootstrap(asked, result)
    drawn = next(b for b in replicates.estimates if b.name == "k")
    profiles = fmident.profile(asked, result, parameters=["k"])
    (profile,) = profiles.profiles
    assert profile.lower.value is not None
    assert profile.upper.value is not None
    rows = (
        ("as if the noise were white", estimate.value, (-half, half), colours.bad),
        ("shown: noise counted", estimate.value, estimate.interval_95, colours.fitted),
        ("profile", estimate.value, (profile.lower.value, profile.upper.value), colours.fitted),
        ("bootstrap", estimate.value, drawn.bca, colours.fitted),
        ('noise = { model = "ar" }', better.value, better.interval_95, colours.good),
    )
    for place, (_, value, (low, high), colour) in enumerate(rows):
        if place == 0:
            low, high = value + low, value + high
        axes.plot([low, high], [-place, -place], color=colour, lw=2.2)
        axes.plot([value], [-place], "o", ms=5, color=colour)
    axes.axvline(TRUE["k"], color=colours.text, lw=0.9)
    axes.set_yticks([-i for i in range(len(rows))], [row[0] for row in rows])
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_xlabel("k (N/m): estimate and 95 % interval; the line is the truth")
    axes.grid(visible=False, axis="y")


@picture("bootstrap", height=3.0)
def bootstrap(figure: Figure, colours: Palette) -> None:
    """Draw replicates of two parameters, the ellipse of the linearisation, and a histogram."""
    left, right = figure.subplots(1, 2)
    asked = problem(frame(0.4, 0.01, sigma=2e-3), sigma=2e-3)
    result = fmident.estimate(asked)
    found = fmident.bootstrap(asked, result, replicates=1000)
    columns = {name: found.replicates[:, j] for j, name in enumerate(found.names)}
    dots(left, columns["m"], columns["d"], colours.measured, most=300, size=2.2)
    both = [[found.names.index(n)] for n in ("m", "d")]
    covariance = result.covariance[np.array(both), np.array(both).T]
    angle = np.linspace(0.0, 2.0 * np.pi, 120)
    circle = np.sqrt(stats.chi2(2).ppf(0.95)) * np.array([np.cos(angle), np.sin(angle)])
    ellipse = np.linalg.cholesky(covariance) @ circle
    value = result.values
    left.plot(value["m"] + ellipse[0], value["d"] + ellipse[1], color=colours.initial)
    left.set_xlabel("m (kg)")
    left.set_ylabel("d (N.s/m)")
    legend(left, ["replicates", "linearised, 95 %"], loc="lower left")
    (row,) = [p for p in found.estimates if p.name == "m"]
    edges = np.linspace(columns["m"].min(), columns["m"].max(), 36)
    right.hist(columns["m"], edges, histtype="stepfilled", color=colours.measured, alpha=0.6)
    for ends, colour, name in (
        (row.bca, colours.fitted, "95 % BCa"),
        (row.linearised, colours.initial, "linearised"),
    ):
        for end, label in zip(ends, (name, None), strict=True):
            right.axvline(end, color=colour, label=label)
    right.axvline(TRUE["m"], color=colours.text, lw=0.9, ls=":", label="truth")
    right.set_xlabel("m (kg)")
    right.set_ylabel("replicates")
    right.set_xlim(right=3.9)
    right.legend(loc="upper right")


@picture("prediction", height=2.9)
def prediction(figure: Figure, colours: Palette) -> None:
    """Draw the bands of a new record that goes on where the fitted one has ended."""
    axes = figure.subplots()
    fitted, new = frame(0.5, 0.01, sigma=2e-3), frame(2.0, 0.01, sigma=2e-3, seed=5)
    with tempfile.TemporaryDirectory() as folder:
        later, asked = Path(folder) / "new.csv", Path(folder) / "problem.toml"
        new.to_csv(later, index=False)
        problem(fitted, sigma=2e-3).to_toml(asked, data=True)
        fmident.estimate(fmident.load_problem(asked), folder=Path(folder) / "found")
        found = fmident.predict(Path(folder) / "found", data=later)
    (band,) = found.new
    times = band.times
    axes.axvspan(0.0, 0.5, color=colours.quiet, alpha=0.12, lw=0)
    axes.text(0.25, 62.0, "fitted", color=colours.quiet, ha="center", fontsize=8.5)
    axes.fill_between(
        times, 1e3 * band.new_low, 1e3 * band.new_high, color=colours.fitted, alpha=0.16, lw=0
    )
    axes.fill_between(
        times, 1e3 * band.mean_low, 1e3 * band.mean_high, color=colours.fitted, alpha=0.45, lw=0
    )
    dots(axes, times, 1e3 * band.measured, colours.measured)
    axes.plot(*thinned(times, 1e3 * band.predicted), color=colours.fitted)
    axes.set_ylabel("position (mm)")
    axes.set_xlabel("time (s)")
    axes.set_ylim(top=68.0)
    legend(axes, ["new samples", "predicted"], loc="upper right", ncols=2)


@picture("posterior", height=3.0)
def posterior(figure: Figure, colours: Palette) -> None:
    """Draw draws of two parameters that a short record leaves in a bent valley."""
    left, right = figure.subplots(1, 2)
    data = frame(0.22, 0.01, sigma=2e-3)
    asked = problem(data, sigma=2e-3)
    linear = fmident.estimate(asked)
    drawn = fmident.estimate(problem(data, sigma=2e-3, estimator={"name": "posterior", "seed": 1}))
    assert drawn.draws is not None
    names = [e.name for e in drawn.estimates]
    values = drawn.draws.values.reshape(-1, drawn.draws.values.shape[2])
    columns = {name: values[:, j] for j, name in enumerate(names)}
    dots(left, columns["m"], columns["d"], colours.measured, most=400, size=2.0)
    left.plot([TRUE["m"]], [TRUE["d"]], "+", ms=10, color=colours.text)
    left.set_xlabel("m (kg)")
    left.set_ylabel("d (N.s/m)")
    legend(left, ["draws", "truth"], loc="upper right")
    edges = np.linspace(*np.quantile(columns["d"], [0.001, 0.999]), 50)
    right.hist(
        columns["d"], edges, histtype="stepfilled", density=True, color=colours.measured, alpha=0.6
    )
    (e,) = [e for e in linear.estimates if e.name == "d"]
    normal = stats.norm(e.value, e.standard_error)
    right.plot(edges, normal.pdf(edges), color=colours.initial, label="linearised")
    for end, label in zip(
        drawn.estimates[names.index("d")].interval_95, ("95 %", None), strict=True
    ):
        right.axvline(end, color=colours.fitted, label=label)
    right.set_xlabel("d (N.s/m)")
    right.set_yticks([])
    right.set_ylim(top=1.35 * right.get_ylim()[1])
    right.legend(loc="upper right", ncols=2)
