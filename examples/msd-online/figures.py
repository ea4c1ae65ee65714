"""Figures of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from generate import Oscillator
from matplotlib.figure import Figure

_COLORS = {25.0: "#c2410c", 50.0: "#0b5cad", 80.0: "#15803d"}


def draw_map(found: Mapping[tuple[float, float], Mapping[str, float]], target: Path) -> None:
    """Time to stay within 2 % over Z, for all estimators and each noise level."""
    ratios = sorted({z for _, z in found})
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for axes, key, title in (
        (panels[0], "algebraic", "algebraic"),
        (panels[1], "kalman, all", "Kalman-Bucy, all filtered"),
        (panels[2], "kalman, derivatives", "Kalman-Bucy as the paper writes it"),
    ):
        for level, color in _COLORS.items():
            for kind, style in ((key, "o-"), (f"{key}, best", ".--"), ("bound", ":")):
                times = np.array([found[level, z][kind] for z in ratios])
                label = f"{level:g} dB" if kind == key else None
                axes.plot(ratios, times, style, color=color, label=label)
        axes.axhline(0.005, color="#777777", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("Z = omega1 / omega0")
        axes.set_title(title)
        axes.grid(color="#e5e5e5")
    panels[0].set_ylabel("time to stay within 2 % (s)")
    panels[0].legend(
        title="solid: one setting\ndashed: best setting\ndotted: Cramer-Rao\ngrey: 5 ms"
    )
    _save(figure, target)


def draw_excitation(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], target: Path) -> None:
    """Variance of theta2 over Z."""
    figure = Figure(figsize=(10.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for name, (ratios, factors) in curves.items():
        panel = panels[0] if name.startswith("eq") else panels[1]
        panel.loglog(ratios, factors, label=name)
    for panel, unit in zip(panels, ("(A1 / sigma_rho)^2", "(A1 / sigma)^2"), strict=True):
        panel.axvline(1.0, color="#777777", linewidth=0.8)
        panel.set_xlabel("Z = omega1 / omega0")
        panel.set_ylabel(f"variance of theta2 times {unit}")
        panel.grid(color="#e5e5e5")
        panel.legend()
    _save(figure, target)


def draw_disturbance(
    system: Oscillator, series: Sequence[tuple[str, np.ndarray]], target: Path
) -> None:
    """Estimates of omega0 under the high-frequency disturbance."""
    figure = Figure(figsize=(10.0, 3.4), layout="constrained")
    axes = figure.subplots()
    for name, theta2 in series:
        with np.errstate(invalid="ignore"):
            axes.plot(system.times, np.sqrt(theta2), label=name)
    _omega_axes(axes, system.omega0, 5.0)
    _save(figure, target)


def draw_jumps(
    times: np.ndarray, truth: np.ndarray, series: Sequence[tuple[str, np.ndarray]], target: Path
) -> None:
    """Estimates of a natural frequency that jumps."""
    figure = Figure(figsize=(10.0, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(times, truth, color="#777777", linewidth=2.5, label="true")
    for name, theta2 in series:
        with np.errstate(invalid="ignore"):
            axes.plot(times, np.sqrt(theta2), label=name)
    _omega_axes(axes, None, float(times[-1]))
    axes.set_ylim(8.0, 16.0)
    _save(figure, target)


def _omega_axes(axes, omega0: float | None, end: float) -> None:
    if omega0 is not None:
        axes.axhspan(0.98 * omega0, 1.02 * omega0, color="#dddddd", label="2 %")
        axes.set_ylim(0.9 * omega0, 1.1 * omega0)
    axes.set_xlim(0.0, end)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("omega0 (rad/s)")
    axes.grid(color="#e5e5e5")
    axes.legend()


def _save(figure: Figure, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=110)
