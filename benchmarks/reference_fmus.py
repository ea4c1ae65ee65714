"""Try the Reference FMUs of the Modelica Association: a table of what passes.

    python benchmarks/reference_fmus.py FOLDER [--speed]

FOLDER holds built FMUs of https://github.com/modelica/Reference-FMUs, in any sub-folders; see
docs/reference/fmi.md for how to build them. Each interface of each FMU is compared with the
trajectory that it brings, with the solution of its equations and with FMPy; its parameters are
estimated from what FMPy simulates. With --speed, the time of a simulation by FMPy over that by the
engine, both with one instance that is reset before each run.

Ends with 1 when a check fails. "-" in the column result: the FMU brings nothing to compare with,
or refuses by an error of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fmpy

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.fmu.reference_fmus import (  # noqa: E402
    MODELS,
    TOLERANCE,
    Subject,
    check_fmu,
    find_fmus,
)

from fmident.fmu import open_fmu  # noqa: E402

WORDS = {True: "ok", False: "FAILED", None: "-"}
LAYOUT = "{:13} {:4} {:19} {:10} {:6} {}"


def clock(work: Callable[[], Any]) -> float:
    """Return the processor time of one call, s."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def speed(path: Path, rounds: int) -> None:
    """Print how long FMPy and the engine take for each interface of an FMU."""
    with open_fmu(path) as fmu, tempfile.TemporaryDirectory() as folder:
        fmpy.extract(str(path), unzipdir=folder)
        description = fmpy.read_model_description(folder, validate=False)
        for offered in fmu.description.interfaces:
            model = MODELS[path.stem]
            subject = Subject(path, fmu, offered.kind, model)
            kind = "ModelExchange" if offered.kind == "model-exchange" else "CoSimulation"
            instance = fmpy.instantiate_fmu(folder, description, kind)
            setup = subject.setup()

            def theirs(kind: str = kind, instance: Any = instance) -> None:
                instance.reset()
                with contextlib.redirect_stdout(io.StringIO()):
                    fmpy.simulate_fmu(
                        folder, validate=False, model_description=description,
                        fmu_instance=instance, start_time=model.start,  # noqa: B023
                        stop_time=model.stop, output_interval=model.step,  # noqa: B023
                        fmi_type=kind, record_events=False, relative_tolerance=TOLERANCE,
                        output=sorted({n.partition("[")[0] for n in model.outputs}),  # noqa: B023
                    )  # fmt: skip

            with fmu.simulator(interface=offered.kind) as simulator:
                simulator.simulate(setup)
                ours = min(clock(lambda: simulator.simulate(setup)) for _ in range(rounds))  # noqa: B023
            other = min(clock(theirs) for _ in range(rounds))
            instance.freeInstance()
            said = f"{1e3 * ours:.2f} ms, FMPy {1e3 * other:.1f} ms: {other / ours:.0f} times"
            version = fmu.description.fmi_version
            print(LAYOUT.format(path.stem, version, offered.kind, "speed", "", said))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--speed", action="store_true", help="compare times with FMPy's, too")
    parser.add_argument("--rounds", type=int, default=5, help="of the times; the best counts")
    given = parser.parse_args()
    paths = find_fmus(given.folder)
    if not paths:
        parser.error(f"no Reference FMU under '{given.folder}'")
    good = True
    print(LAYOUT.format("FMU", "FMI", "interface", "check", "result", "detail"))
    for path in paths:
        for row in check_fmu(path):
            good &= row.passed is not False
            print(LAYOUT.format(row.fmu, row.version, row.interface, row.check,
                                WORDS[row.passed], row.detail), flush=True)  # fmt: skip
        if given.speed and path.stem in MODELS and path.stem not in ("Stair",):
            speed(path, given.rounds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
