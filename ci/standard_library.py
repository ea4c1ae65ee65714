# ruff: noqa: T201  # a program: it prints a table
"""Build examples of the Modelica Standard Library and compare them with the reference results.

A signal is equal when each of its values lies in the tube around the reference that the
association's own comparison draws: within 0.002 of the length of the run in time, and within 0.002
of the range of the signal in value.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fmident.compilers.base import BuildRequest
from fmident.compilers.embedded.compiler import EmbeddedCompiler
from fmident.compilers.libraries import buildable_classes
from fmident.errors import CompilationError, FmidentError
from fmident.fmu import SimulationSetup, read_description
from fmident.fmu.processes.guard import simulate_apart

DOMAINS = (
    "Modelica.Blocks",
    "Modelica.Electrical.Analog",
    "Modelica.Mechanics.Rotational",
    "Modelica.Mechanics.Translational",
)
TUBE = 0.002
"""Half of the tube's width, relative to the length of the run and to the range of the signal."""
LEAST_RANGE = 1e-6
"""Range, relative to the largest value, below which a reference counts as constant."""
TOLERANCE = 1e-7
MOST_INSTANTS = 20_000

Column = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Verdict:
    """What became of one example.

    Parameters
    ----------
    name
        Full class name.
    result
        ``equal``, ``different``, ``part`` (equal, but signals are missing in the FMU), ``failed``
        (the simulation), ``no reference`` or ``refused``.
    reason
        Rule of the refusal, or what differs.
    text
        First message of the refusal.
    worst
        Largest distance from the tube's middle, in widths of the tube.
    """

    name: str
    result: str
    reason: str = ""
    text: str = ""
    worst: float = 0.0


def examples(references: Path, domains: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the class and the folder of each reference."""
    for domain in domains:
        folder = references.joinpath(*domain.split("."))
        for file in sorted(folder.rglob("comparisonSignals.txt")):
            yield ".".join(file.parent.relative_to(references).parts), file.parent


def read_reference(folder: Path) -> tuple[Column, dict[str, Column]]:
    """Return the instants of a reference and its signals to be compared."""
    with (folder / f"{folder.name}.csv").open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream)
        names = next(reader)
        table = np.array([[float(cell) for cell in row] for row in reader if row])
    wanted = (folder / "comparisonSignals.txt").read_text(encoding="utf-8").split("\n")
    columns = {name.strip(): table[:, i] for i, name in enumerate(names)}
    signals = {n.strip(): columns[n.strip()] for n in wanted if n.strip() in columns}
    signals.pop("time", None)
    return columns["time"], signals


def distance(times: Column, reference: Column, own_times: Column, own: Column) -> float:
    """Return how far a signal leaves the middle of the tube: up to 1 is inside.

    Parameters
    ----------
    times, reference
        Instants and values of the reference, shape (n,); equal instants are events.
    own_times, own
        Those to be compared, shape (m,).
    """
    dx = TUBE * (times[-1] - times[0])
    span = float(np.ptp(reference))
    largest = float(np.max(np.abs(reference)))
    dy = TUBE * (span if span > LEAST_RANGE * largest else max(largest, LEAST_RANGE))
    first = np.searchsorted(times, own_times - dx, side="left")
    last = np.searchsorted(times, own_times + dx, side="right")
    edges = [np.interp(own_times + side * dx, times, reference) for side in (-1.0, 1.0)]
    low, high = np.minimum(*edges), np.maximum(*edges)
    for i, (a, b) in enumerate(zip(first, last, strict=True)):
        if b > a:
            low[i] = min(low[i], reference[a:b].min())
            high[i] = max(high[i], reference[a:b].max())
    outside = np.maximum(np.maximum(low - own, own - high), 0.0)
    return float(np.max(outside) / dy) if np.all(np.isfinite(own)) else float("inf")


def compare(name: str, fmu: Path, folder: Path) -> Verdict:
    """Simulate an FMU and compare the signals."""
    if not (folder / f"{folder.name}.csv").is_file():
        return Verdict(name, "no reference")
    times, signals = read_reference(folder)
    known = {v.name for v in read_description(fmu).variables}
    there = [n for n in signals if n in known]
    missing = [n for n in signals if n not in known]
    if not there:
        return Verdict(name, "part", f"none of {len(missing)} signals", ", ".join(missing[:3]))
    instants = np.unique(times)
    if instants.size > MOST_INSTANTS:
        instants = np.linspace(instants[0], instants[-1], MOST_INSTANTS)
    setup = SimulationSetup(times=instants, output_names=tuple(there), tolerance=TOLERANCE)
    found = simulate_apart(fmu, setup)
    if found.failure is not None:
        return Verdict(name, "failed", "simulation", str(found.failure)[:300])
    apart = {
        n: distance(times, signals[n], instants, found.outputs[:, i]) for i, n in enumerate(there)
    }
    worst = max(apart, key=lambda n: apart[n])
    if apart[worst] > 1.0:
        several = sum(d > 1.0 for d in apart.values())
        return Verdict(name, "different", f"{several} of {len(there)}", worst, apart[worst])
    if missing:
        text = ", ".join(missing[:3])
        return Verdict(
            name, "part", f"{len(missing)} of {len(signals)} missing", text, apart[worst]
        )
    return Verdict(name, "equal", "", worst, apart[worst])


def refusal(name: str, error: FmidentError) -> Verdict:
    """Return the verdict on a model that is refused, or whose simulation is given up."""
    if not isinstance(error, CompilationError):
        return Verdict(name, "failed", "simulation", error.message[:300])
    first = error.diagnostics[0] if error.diagnostics else None
    rule = (first.rule if first else None) or "other"
    return Verdict(name, "refused", rule, f"{first}" if first else error.message)


def library_sources(folder: Path | None) -> tuple[Path, ...]:
    """Return what there is of the library in a folder."""
    if folder is None:
        return ()
    names = ("Modelica", "ModelicaServices", "Complex.mo", "ModelicaTest")
    return tuple(place for name in names if (place := folder / name).exists())


def run_examples(arguments: argparse.Namespace) -> list[Verdict]:
    """Build and compare all examples that are asked for."""
    sources = library_sources(arguments.library)
    compiler = EmbeddedCompiler()
    verdicts = []
    with tempfile.TemporaryDirectory() as scratch:
        output = arguments.keep or Path(scratch)
        for name, folder in examples(arguments.references, arguments.domain or DOMAINS):
            if arguments.only not in name:
                continue
            fmu = output / f"{name}.fmu"
            try:
                compiler.build(BuildRequest(name, sources, fmu, TOLERANCE))
                verdict = compare(name, fmu, folder)
            except FmidentError as error:
                verdict = refusal(name, error)
            verdicts.append(verdict)
            print(f"{verdict.result:12} {name} {verdict.reason} {verdict.text}"[:200], flush=True)
    return verdicts


def package_of(file: Path) -> Path:
    """Return the folder of the outermost package that a file belongs to, else the file itself."""
    place = file
    while (place.parent / "package.mo").is_file():
        place = place.parent
    return place


def run_files(folder: Path, libraries: Sequence[Path] = ()) -> list[Verdict]:
    """Read the model of each file that holds one, without building it.

    Parameters
    ----------
    folder
        Where the files are; files of packages are read with their whole package.
    libraries
        Sources besides, for the files that mention ``Modelica.``.
    """
    from fmident.compilers.embedded.frontend import load_model

    verdicts = []
    for file in sorted(folder.rglob("*.mo")):
        if file.name == "package.mo":
            continue
        source = package_of(file)
        mentions = b"Modelica." in file.read_bytes()
        try:
            found = buildable_classes(source, file)
            names = [n for n in found if source != file or "." not in n]
            own = [n for n in names if n.rpartition(".")[2] == file.stem] or names[-1:]
            if not own:
                continue
            load_model(own[0], [source, *(libraries if mentions else ())])
            verdict = Verdict(str(file.relative_to(folder)), "accepted")
        except FmidentError as error:
            verdict = refusal(str(file.relative_to(folder)), error)
        verdicts.append(verdict)
        print(f"{verdict.result:12} {verdict.name} {verdict.reason}"[:160], flush=True)
    return verdicts


def print_table(verdicts: Sequence[Verdict]) -> None:
    """Print the counts: by result, and of the refusals by reason."""
    by_result = Counter(v.result for v in verdicts)
    refused = Counter(v.reason for v in verdicts if v.result == "refused")
    print(f"\n{len(verdicts)} models")
    for name, count in by_result.most_common():
        print(f"  {name:28} {count:4}")
    print("refused because")
    for name, count in refused.most_common():
        print(f"  {name:28} {count:4}")


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", type=Path, help="folder that holds Modelica, Complex.mo")
    parser.add_argument("--references", type=Path, help="folder that holds Modelica")
    parser.add_argument("--domain", action="append", help="package; may be repeated")
    parser.add_argument("--only", default="", help="examples whose name contains this")
    parser.add_argument("--files", type=Path, help="folder of single files to be counted")
    parser.add_argument("--keep", type=Path, help="folder for the FMUs")
    parser.add_argument("--json", type=Path, help="file for the verdicts")
    found = parser.parse_args(arguments)
    if found.files is None and (found.library is None or found.references is None):
        parser.error("give --library and --references, or --files")
    for place in (found.library, found.references, found.files):
        if place is not None and not place.is_dir():
            parser.error(f"there is no folder '{place}'")
    return found


def summary(verdicts: Sequence[Verdict]) -> list[Mapping[str, object]]:
    """Return the verdicts for a file."""
    return [asdict(v) for v in verdicts]


def main() -> int:
    """Run what the command line asks for."""
    arguments = parsed()
    if arguments.files:
        verdicts = run_files(arguments.files, library_sources(arguments.library))
    else:
        verdicts = run_examples(arguments)
    print_table(verdicts)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(summary(verdicts), indent=1), encoding="utf-8")
    return int(any(v.result == "different" for v in verdicts))


if __name__ == "__main__":
    sys.exit(main())
