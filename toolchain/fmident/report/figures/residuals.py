"""Charts of the residuals of one output: distribution, correlation, spectrum."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Bars, Chart, Dots, Level, Line, Mark, Panel
from fmident.report.figures.style import padded
from fmident.statistics.distributions import normal_quantile
from fmident.statistics.residuals import (
    Correlation,
    autocorrelation,
    cross_correlation,
    spectrum,
)

if TYPE_CHECKING:
    from fmident.estimation.comparisons import OutputFit


_HEIGHT = 210
_QUANTILES = 200
_REGULAR = 1e-3


_BARS, _HISTOGRAM_HEIGHT = 60, 220


def diagnostics_chart(fit: OutputFit, inputs: Mapping[str, F64], most_inputs: int) -> Chart | None:
    """Return histogram, quantiles, autocorrelation, spectrum and correlation with each input.

    `inputs` are sampled at the times of `fit`, shape (n,); at most `most_inputs` of them,
    the most correlated ones, are drawn. It is ``None`` if there are too few residuals.
    """
    residuals = _scaled(fit)
    finite = residuals[np.isfinite(residuals)]
    if finite.size < 8:
        return None
    step = _step(fit.times)
    candidates = [
        histogram_panel(finite, _HEIGHT, "Histogram"),
        _quantiles(finite),
        _correlated("Autocorrelation", autocorrelation(residuals), step, "lag"),
        None if step is None else _spectrum(residuals, step),
    ]
    correlations = {name: cross_correlation(residuals, u) for name, u in inputs.items()}
    varied = sorted(
        ((name, c) for name, c in correlations.items() if c is not None),
        key=lambda one: -float(np.max(np.abs(one[1].values)) / one[1].bound),
    )
    for name, correlation in varied[:most_inputs]:
        candidates.append(
            _correlated(f"With the input {name}", correlation, step, "input before by")
        )
    panels = [panel for panel in candidates if panel is not None]
    words = f"Residuals of {fit.name} of {fit.experiment}: histogram, quantiles, correlation"
    return Chart(panels, words, side_by_side=True)


def _scaled(fit: OutputFit) -> F64:
    scaled = whitened(fit)
    if np.isfinite(scaled).any():
        return scaled
    # Without a standard deviation, their own size is what there is.
    residual = fit.measured - fit.fitted
    finite = residual[np.isfinite(residual)]
    size = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    return residual / size if size > 0.0 else residual


def _step(times: F64) -> float | None:
    """Return the time between samples if it is constant, else ``None``."""
    if times.size < 2:
        return None
    steps = np.diff(times)
    step = float(np.mean(steps))
    return step if float(np.max(np.abs(steps - step))) <= _REGULAR * step else None


def _quantiles(values: F64) -> Panel:
    ordered = np.sort(values)
    # Evenly over the normal quantiles, so that the ends have as many dots as the middle.
    reach = normal_quantile((ordered.size - 0.5) / ordered.size)
    places = np.linspace(-reach, reach, min(_QUANTILES, ordered.size))
    shares = np.array([0.5 * math.erfc(-z / math.sqrt(2.0)) for z in places])
    index = np.clip(np.round(shares * ordered.size - 0.5), 0, ordered.size - 1).astype(np.intp)
    shown = ordered[np.unique(index)]
    theory = np.array([normal_quantile((k + 0.5) / ordered.size) for k in np.unique(index)])
    low, high = padded(float(min(shown[0], -reach)), float(max(shown[-1], reach)))
    ends = np.array([-1.1 * reach, 1.1 * reach])
    return Panel(
        Axis(*padded(-reach, reach), "quantile of the standard normal"),
        Axis(low, high, "residual / standard deviation"),
        [
            Line(ends, ends.copy(), style.FITTED, "standard normal", width=1.2),
            Dots(
                theory, shown, style.RESIDUAL, "residuals", size=4.5,
                hover=[("normal", "x"), ("residual", "y")],
            ),
        ],
        _HEIGHT,
        "Quantiles",
    )  # fmt: skip


def _correlated(
    title: str, correlation: Correlation | None, step: float | None, words: str
) -> Panel | None:
    if correlation is None:
        return None
    lags = correlation.lags * (step or 1.0)
    half = 0.35 * (step or 1.0)
    reach = max(1.15 * float(np.max(np.abs(correlation.values))), 1.6 * correlation.bound)
    marks: list[Mark] = [
        Bars(
            lags - half, lags + half, correlation.values, style.RESIDUAL, "correlation",
            hover=[("lag", "lag"), ("correlation", "top")], extra={"lag": lags},
        ),
        *(
            Level(level, style.FITTED, "95 % of white noise", width=0.9, dashed=True)
            for level in (-correlation.bound, correlation.bound)
        ),
    ]  # fmt: skip
    unit = "s" if step is not None else "samples"
    ends = padded(float(lags[0]), float(lags[-1]), 0.03)
    return Panel(
        Axis(*ends, f"{words} ({unit})"), Axis(-reach, reach, "correlation"), marks, _HEIGHT, title
    )


def _spectrum(residuals: F64, step: float) -> Panel | None:
    result = spectrum(residuals, step)
    if result is None or not np.all(result[1] > 0.0):
        return None
    frequencies, density = result
    white = 2.0 * step
    return Panel(
        Axis(float(frequencies[0]), float(frequencies[-1]), "frequency (Hz)", log=True),
        Axis.over("power density (1/Hz)", density, white, log=True),
        [
            Level(white, style.FITTED, "white noise", width=1.0, dashed=True),
            Line(frequencies, density, style.RESIDUAL, "density", width=1.3),
        ],
        _HEIGHT,
        "Spectrum",
    )


def whitened(fit: OutputFit) -> F64:
    """Return residuals over their standard deviation, shape (n,); NaN if missing."""
    with np.errstate(all="ignore"):
        residuals: F64 = (fit.measured - fit.fitted) / np.broadcast_to(fit.sigma, fit.times.shape)
    return residuals


def histogram_chart(fits: Sequence[OutputFit]) -> Chart | None:
    """Return the histogram of all whitened residuals with the standard normal density.

    It is ``None`` if there is no residual.
    """
    parts = [whitened(fit) for fit in fits]
    every = np.concatenate(parts) if parts else np.empty(0)
    panel = histogram_panel(every[np.isfinite(every)], _HISTOGRAM_HEIGHT)
    if panel is None:
        return None
    return Chart([panel], "Histogram of the whitened residuals with the standard normal density")


def histogram_panel(values: F64, height: int, title: str = "") -> Panel | None:
    """Return the histogram of finite values with the standard normal density."""
    if values.size < 2:
        return None
    reach = float(np.clip(np.max(np.abs(values)), 3.5, 6.0))
    counts, edges = np.histogram(np.clip(values, -reach, reach), _BARS, (-reach, reach))
    density = counts / (values.size * np.diff(edges))
    grid = np.linspace(-reach, reach, 241)
    normal = np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi)
    top = 1.08 * float(max(density.max(), normal.max()))
    return Panel(
        Axis(-reach, reach, "residual / standard deviation"),
        Axis(0.0, top, "density"),
        [
            Bars(
                edges[:-1].copy(), edges[1:].copy(), density, "#bccbdc", "residuals",
                hover=[("from", "left"), ("to", "right"), ("density", "top")],
            ),
            Line(grid, normal, style.FITTED, "standard normal", width=1.4),
        ],
        height,
        title,
    )  # fmt: skip
