"""Benchmark: build time, size and speed of every FMU of the catalogue.

Each FMU is built by the compiler asked for, then its first reference experiment (else its
smoke experiment) is run with the compiled engine at the FMU's own tolerance; inputs are
linear between the samples. The time is the median of several runs with one reused
instance; start-up and the first run stay outside.

    python benchmarks/models.py [--compiler NAME ...] [--rounds N] [--output FILE]

Prints a Markdown table, one pair of columns per compiler that can run here. Where ``omc``
is, ``ci/prove-openmodelica`` compares its FMUs with these.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fmident.api.builds import EntryBuild, build_catalog
from fmident.catalog import Catalog, Entry, find_catalog, read_catalog
from fmident.plugins import Host, load_plugins
from fmident.validation import plan_fmu
from fmident.validation.bench import Bench

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Speed:
    """One simulation: what it covers and how long it takes."""

    steps: int
    simulated_seconds: float
    milliseconds: float


def measure(entry: Entry, build: EntryBuild, rounds: int) -> Speed:
    """Simulate an entry's main experiment."""
    with Bench(plan_fmu(build.fmu, entry)) as bench:
        experiment = bench.main
        setup = replace(experiment.setup, tolerance=None)
        times = []
        with bench.fmu.simulator() as simulator:
            simulator.simulate(setup, experiment.values)
            for _ in range(rounds):
                begin = time.perf_counter()
                simulator.simulate(setup, experiment.values)
                times.append(1e3 * (time.perf_counter() - begin))
        span = float(setup.times[-1] - setup.times[0])
        return Speed(setup.times.size - 1, span, statistics.median(times))


def columns(
    host: Host, catalog: Catalog, compiler: str, folder: Path, rounds: int
) -> dict[str, tuple[EntryBuild, Speed | None]]:
    """Build and measure everything with one compiler."""
    found = {}
    for build in build_catalog(host, catalog, compiler=compiler, folder=folder / compiler):
        usable = build.state in ("built", "up to date")
        speed = measure(build.entry, build, rounds) if usable else None
        found[build.entry.class_name] = build, speed
        print(f"{compiler}: {build.entry.class_name}: {build.state}", file=sys.stderr, flush=True)
    return found


def table(
    catalog: Catalog, found: dict[str, dict[str, tuple[EntryBuild, Speed | None]]]
) -> list[str]:
    """Return the lines of the Markdown table; rows in which nothing was built are left out."""
    head = ["class", "steps", "simulated s"]
    for compiler in found:
        head += [f"{compiler}: build s", "KiB", "run ms", "µs per step"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for entry in catalog.entries:
        measured = [found[compiler][entry.class_name] for compiler in found]
        first = next((speed for _, speed in measured if speed is not None), None)
        if first is None:
            continue
        cells = [f"`{entry.class_name}`", str(first.steps), f"{first.simulated_seconds:g}"]
        for build, speed in measured:
            if speed is None:
                cells += ["", "", "", ""]
                continue
            cells += [
                f"{build.seconds:.1f}",
                f"{build.size / 1024:.0f}",
                f"{speed.milliseconds:.2f}",
                f"{1e3 * speed.milliseconds / speed.steps:.2f}",
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 when nothing could be built."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compiler", action="append", help="default: all that run here")
    parser.add_argument("--rounds", type=int, default=15, help="runs per FMU")
    parser.add_argument("--output", type=Path, help="write the table there, too")
    given = parser.parse_args(arguments)
    host = load_plugins()
    names = given.compiler or [r.name for r in host.compilers if r.item().unavailable() is None]
    catalog = read_catalog(find_catalog(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        found = {name: columns(host, catalog, name, Path(folder), given.rounds) for name in names}
    lines = table(catalog, found)
    text = "\n".join(lines)
    print(text)
    if given.output:
        given.output.write_text(text + "\n", encoding="utf-8")
    return 0 if len(lines) > 2 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
