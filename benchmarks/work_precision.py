"""Benchmark: what a simulation by the embedded compiler's FMUs costs, at equal error.

Every machine of the catalogue that has states runs its first experiment, and three stiff machines
run two seconds of a sum of sines at 1 kHz, with each integrator and with tolerances from 1e-3 to
1e-11. The error is the largest one of any output, over its range, against the run at 1e-13 of the
explicit or, where that takes too long, the implicit method. The time is the processor's, the
shortest of several runs with one reused instance, with the loop of the host.

    python benchmarks/work_precision.py [CLASS ...] [--rounds N] [--output TABLE.md] [--figure FILE]

Prints a Markdown table: the time at an error of 1e-6, from lines between the measured points in
logarithms. ``cvode`` is what all FMUs had before there was a choice. Ends with 1 when ``auto``,
at equal error, is slower than ``cvode``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fmident.api.builds import build_class
from fmident.catalog import find_catalog, read_catalog
from fmident.compilers.embedded.model import INTEGRATORS
from fmident.errors import SimulationError
from fmident.fmu import SimulationSetup, open_fmu
from fmident.validation import plan_fmu
from fmident.validation.bench import Bench

ROOT = Path(__file__).resolve().parents[1]
STIFF = Path(__file__).resolve().parent / "work_precision" / "Stiff.mo"
TOLERANCES = tuple(10.0**-k for k in range(3, 12))
REFERENCE = 1e-13
ERROR = 1e-6
LONGEST = 3.0  # seconds; a run that takes longer ends its integrator's series


@dataclass(frozen=True)
class Point:
    """One tolerance of one integrator.

    Parameters
    ----------
    error
        Largest error of any output, over its range.
    milliseconds
        Of one simulation.
    """

    error: float
    milliseconds: float


@dataclass(frozen=True)
class Machine:
    """A class with its experiment."""

    name: str
    source: Path
    setup: SimulationSetup
    values: Mapping[str, float]


def machines(folder: Path, wanted: Sequence[str]) -> Iterator[Machine]:
    """Return what has states: the catalogue's, then the stiff ones."""
    library = ROOT / "modelica" / "Mechanisms"
    for entry in read_catalog(find_catalog(ROOT)).entries:
        name = entry.class_name
        if not name.startswith("Mechanisms.") or (wanted and name not in wanted):
            continue
        fmu = build_class(name, sources=[library], output=folder / f"{name}.fmu")
        with Bench(plan_fmu(fmu, entry)) as bench:
            if not bench.fmu.description.state_references:
                continue
            yield Machine(name, library, bench.main.setup, bench.main.values)
    times = np.arange(2001) * 1e-3
    signal = 1.2 * np.sin(5.0 * times) + 0.9 * np.sin(17.0 * times)
    for name, u, y in (
        ("Stiff.Motor", "v", ("w", "i")),
        ("Stiff.Shaft", "tau", ("w1", "w2")),
        ("Stiff.LightlyDampedShaft", "tau", ("w1", "w2")),
    ):
        if not wanted or name in wanted:
            yield Machine(name, STIFF, SimulationSetup(times, (u,), signal[:, None], y), {})


class Series:
    """The simulations of one machine with one integrator."""

    def __init__(self, machine: Machine, integrator: str, folder: Path) -> None:
        self._machine = machine
        self._fmu = build_class(
            machine.name,
            sources=[machine.source],
            output=folder / integrator / f"{machine.name}.fmu",
            compiler="embedded",
            options={"integrator": integrator},
        )

    def run(self, tolerance: float, rounds: int) -> tuple[np.ndarray, float] | None:
        """Return outputs and shortest time in ms; ``None`` where it fails or takes too long."""
        machine = self._machine
        setup = replace(machine.setup, tolerance=tolerance)
        best = np.inf
        with open_fmu(self._fmu) as fmu, fmu.simulator() as simulator:
            try:
                for _ in range(rounds):
                    begin = time.thread_time()
                    found = simulator.simulate(setup, machine.values)
                    best = min(best, time.thread_time() - begin)
                    if best > LONGEST / rounds:
                        break
            except SimulationError:
                return None
        return (found, 1e3 * best) if best < LONGEST else None


def measure(machine: Machine, folder: Path, rounds: int) -> dict[str, list[Point]]:
    """Run all integrators of one machine."""
    series = {name: Series(machine, name, folder) for name in INTEGRATORS}
    exact = None
    for name in ("explicit", "rosenbrock"):
        exact = exact or series[name].run(REFERENCE, 1)
    if exact is None:
        raise SystemExit(f"{machine.name}: no run at {REFERENCE:g} for reference")
    reference = exact[0]
    span = np.ptp(reference, axis=0)
    span[span == 0.0] = 1.0
    found: dict[str, list[Point]] = {}
    for name in INTEGRATORS:
        found[name] = []
        for tolerance in TOLERANCES:
            run = series[name].run(tolerance, rounds)
            if run is None:
                break
            error = float(np.max(np.abs(run[0] - reference) / span))
            found[name].append(Point(error, run[1]))
    return found


def time_at(points: Sequence[Point], error: float) -> float | None:
    """Return the time in ms at which an error is reached, ``None`` if it never is."""
    for before, after in zip([None, *points], points, strict=False):
        if after.error > error:
            continue
        if before is None or after.error <= 0.0:
            return after.milliseconds
        share = np.log(before.error / error) / np.log(before.error / after.error)
        ratio = after.milliseconds / before.milliseconds
        return float(before.milliseconds * ratio**share)
    return None


def table(found: Mapping[str, Mapping[str, Sequence[Point]]]) -> list[str]:
    """Return the lines of the Markdown table."""
    head = ["class", *(f"{name}, ms" for name in INTEGRATORS), "cvode / auto"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for name, series in found.items():
        times = {i: time_at(series[i], ERROR) for i in INTEGRATORS}
        cells = [f"`{name}`", *("" if t is None else f"{t:.2f}" for t in times.values())]
        cells.append(ratio(times["cvode"], times["auto"]))
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def ratio(slow: float | None, fast: float | None) -> str:
    """Return how much faster, as text."""
    return "" if slow is None or fast is None else f"{slow / fast:.1f}"


def draw(found: Mapping[str, Mapping[str, Sequence[Point]]], path: Path) -> None:
    """Draw error against time, a small diagram for each machine."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    columns = 3
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(11, 2.7 * rows), layout="constrained")
    colours = {
        "auto": "#d55e00",
        "explicit": "#0072b2",
        "rosenbrock": "#009e73",
        "cvode": "#555555",
    }
    for place, (name, series) in enumerate(found.items()):
        axes = figure.add_subplot(rows, columns, place + 1)
        for integrator in reversed(INTEGRATORS):
            points = series[integrator]
            axes.loglog(
                [p.milliseconds for p in points],
                [max(p.error, 1e-13) for p in points],
                marker="o",
                markersize=6 if integrator == "auto" else 3,
                markerfacecolor="none" if integrator == "auto" else colours[integrator],
                linewidth=1,
                color=colours[integrator],
                label=integrator,
            )
        axes.set_title(name.removeprefix("Mechanisms."), fontsize=8)
        axes.tick_params(labelsize=7)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3)
        if place % columns == 0:
            axes.set_ylabel("error / range", fontsize=8)
        if place == 0:
            axes.legend(fontsize=7)
    figure.supxlabel("processor time of one simulation, ms", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 when the choice is slower than CVODE anywhere."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("classes", nargs="*", metavar="CLASS", help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="runs of which the shortest counts")
    parser.add_argument("--output", type=Path, help="write the table there, too")
    parser.add_argument("--figure", type=Path, help="draw the diagrams there (SVG or PNG)")
    given = parser.parse_args(arguments)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for machine in machines(Path(folder), given.classes):
            found[machine.name] = measure(machine, Path(folder), given.rounds)
            print(table({machine.name: found[machine.name]})[-1], file=sys.stderr, flush=True)
    if not found:
        parser.error("none of the classes has states and is in the catalogue")
    text = "\n".join(table(found))
    print(text)
    if given.output:
        given.output.write_text(text + "\n", encoding="utf-8")
    if given.figure:
        draw(found, given.figure)
    slower = [
        name
        for name, series in found.items()
        if (time_at(series["cvode"], ERROR) or np.inf) < (time_at(series["auto"], ERROR) or np.inf)
    ]
    for name in slower:
        print(f"slower than cvode: {name}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
