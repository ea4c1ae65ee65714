"""The pictures of the LuGre study, from the tables that study.py has written."""

from __future__ import annotations

from pathlib import Path

import generate
import pandas as pd
from matplotlib.figure import Figure

COLOURS = {"published": "C0", "break-away": "C3", "stribeck": "C2"}
SYMBOLS = {
    "coulombForce": "Fc",
    "staticForce": "Fs",
    "stribeckSpeed": "vs",
    "viscousFriction": "sigma2",
}
"""The paper's, of parameters that are called otherwise."""
SIZE = (7.5, 3.2)
DPI = 80


def draw(results: Path, folder: Path) -> None:
    """Draw every picture of which the table is there."""
    folder.mkdir(exist_ok=True)
    _inputs(folder / "inputs.png")
    if (results / "singular-values.csv").exists():
        _identifiability(results, folder / "identifiability.png")
    if sorted(results.glob("profile-*.csv")):
        _profile(results, folder / "profile.png")
    if tables := sorted(results.glob("starts-*.csv")):
        _starts(tables, folder / "starts.png")


def _save(figure: Figure, file: Path) -> None:
    figure.savefig(file, dpi=DPI)


def _inputs(file: Path) -> None:
    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    axes = figure.subplots(1, 3)
    for name in generate.RUNS:
        table = generate.run(name)
        colour = COLOURS[name]
        axes[0].plot(table["time [s]"], table["force [N]"], colour, label=name)
        axes[1 if name == "published" else 2].plot(
            1e6 * table["position [m]"], table["friction [N]"], colour
        )
    axes[0].axhline(generate.TRUTH["staticForce"], color="0.5", linestyle=":")
    axes[0].text(1.1, 1.3, SYMBOLS["staticForce"], color="0.4")
    axes[0].set(xlabel="time, s", ylabel="driving force, N", title="inputs")
    axes[0].legend(fontsize=8, loc="lower right")
    axes[1].set(xlabel="position, µm", ylabel="friction, N", title="published: presliding")
    axes[2].set(xlabel="position, µm", title="break-away: slides and sticks")
    _save(figure, file)


def _identifiability(results: Path, file: Path) -> None:
    singular = pd.read_csv(results / "singular-values.csv", index_col=0)
    errors = pd.read_csv(results / "standard-errors.csv", index_col=0)
    figure = Figure(figsize=SIZE, layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, row in singular.iterrows():
        left.semilogy(range(1, 7), row, "o-", color=COLOURS[str(name)], label=name)
    left.set(xlabel="number", ylabel="singular value", title="sensitivities over range")
    left.legend(fontsize=8)
    for name, row in errors.iterrows():
        right.semilogy(
            [SYMBOLS.get(c, c) for c in errors.columns],
            row,
            "o",
            color=COLOURS[str(name)],
            label=name,
        )
    right.axhline(10.0, color="0.5", linestyle=":")
    right.set(ylabel="standard error, %", title="with noise of 10 nm and 1 mN")
    right.legend(fontsize=8)
    _save(figure, file)


def _profile(results: Path, file: Path) -> None:
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for axis, parameter in zip(panels, ("coulombForce", "viscousFriction", "sigma1"), strict=True):
        for table in sorted(results.glob("profile-*.csv"), reverse=True):
            name = table.stem.removeprefix("profile-")
            found = pd.read_csv(table)
            part = found[found["profile"] == parameter]
            axis.semilogy(
                part["value"] / generate.TRUTH[parameter],
                part["ratio"].clip(lower=1e-5, upper=1e2),
                "o-",
                markersize=3,
                color=COLOURS[name],
                label=name,
            )
        axis.axhline(3.84, color="0.5", linestyle=":")
        axis.set(xlabel=f"{SYMBOLS.get(parameter, parameter)} / true value")
    panels[0].set(ylabel="likelihood ratio", ylim=(3e-6, 3e2))
    panels[0].text(0.45, 8.0, "rejected at 95 % above", color="0.4", fontsize=8)
    panels[1].set(title="all others adapted", xscale="log")
    panels[0].legend(fontsize=8, loc="lower right")
    _save(figure, file)


def _starts(tables: list[Path], file: Path) -> None:
    figure = Figure(figsize=(6.0, 3.2), layout="constrained")
    axis = figure.subplots()
    for table in tables:
        found = pd.read_csv(table)
        axis.loglog(
            found["simulations"],
            found["largest"].clip(lower=1e-9),
            "o",
            alpha=0.6,
            label=f"{found['file'].iloc[0]} ({len(found)})",
        )
    axis.axhline(0.1, color="0.5", linestyle=":")
    axis.axvline(500, color="0.5", linestyle=":")
    axis.set(xlabel="simulations", ylabel="largest error, %", title="random starts")
    axis.legend(fontsize=8)
    _save(figure, file)
