"""Benchmark: whole commands against the script that does the same with FMPy and SciPy.

A Van der Pol oscillator of two parameters is built, measured with noise, and estimated by
``fmident estimate`` with its report, and by a script around ``fmpy.simulate_fmu`` and
``scipy.optimize.least_squares`` that prints the parameters. Each is a process of its own; what is
measured is the processor time of the process and its children, start-up and imports included, in
pairs, one after the other. The first pair is left out: byte code and machine code are kept then.

    python benchmarks/command.py [--pairs N]

Prints the times, and the median of the ratios of the pairs; ends with 1 when they do not find the
same parameters.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import fmpy
import numpy as np

MODEL = """model Oscillator
  parameter Real mu = 1.0;
  parameter Real k = 1.0;
  output Real y = x;
protected
  Real x(start = 2.0, fixed = true);
  Real v(start = 0.0, fixed = true);
equation
  der(x) = v;
  der(v) = mu*(1 - x^2)*v - k*x;
end Oscillator;
"""

PROBLEM = """[model]
fmu = "Oscillator.fmu"

[parameters.mu]
initial = 1.0
bounds = [0.1, 5.0]

[parameters.k]
initial = 1.0
bounds = [0.1, 5.0]

[[experiments]]
data = "data.csv"
time = "time"
outputs = { y = { column = "y", sigma = 0.01 } }

[estimator]
name = "least-squares"
"""

PEER = """import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from scipy.optimize import least_squares

data = np.genfromtxt("data.csv", delimiter=",", names=True)
folder = fmpy.extract("Oscillator.fmu")
description = fmpy.read_model_description(folder)
instance = FMU2Slave(
    guid=description.guid, unzipDirectory=folder,
    modelIdentifier=description.coSimulation.modelIdentifier, instanceName="peer",
)
instance.instantiate()
step = data["time"][1]


def residuals(p):
    instance.reset()
    found = fmpy.simulate_fmu(
        folder, start_values={"mu": p[0], "k": p[1]}, output=["y"], fmu_instance=instance,
        model_description=description, stop_time=data["time"][-1], output_interval=step,
    )
    return (found["y"] - data["y"]) / 0.01


print(*least_squares(residuals, [1.0, 1.0], bounds=([0.1, 0.1], [5.0, 5.0])).x)
"""

TRUE = {"mu": 1.4, "k": 0.8}


def prepare(folder: Path) -> None:
    """Write model, FMU, data, problem and script into a folder."""
    (folder / "Oscillator.mo").write_text(MODEL, encoding="utf-8")
    build = ["build", "Oscillator.mo", "-o", "Oscillator.fmu"]
    subprocess.run([sys.executable, "-m", "fmident", *build], cwd=folder, check=True)
    found = fmpy.simulate_fmu(
        str(folder / "Oscillator.fmu"),
        start_values=TRUE,
        output=["y"],
        stop_time=20.0,
        output_interval=0.05,
    )
    noise = 0.01 * np.random.default_rng(1).normal(size=found.size)
    table = np.column_stack([found["time"], found["y"] + noise])
    np.savetxt(folder / "data.csv", table, delimiter=",", header="time,y", comments="")
    (folder / "problem.toml").write_text(PROBLEM, encoding="utf-8")
    (folder / "peer.py").write_text(PEER, encoding="utf-8")


def measured(command: list[str], folder: Path) -> tuple[float, str]:
    """Return the processor time of a command with its children, s, and what it prints."""
    before = os.times()
    run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    after = os.times()
    spent = after.children_user - before.children_user
    return spent + after.children_system - before.children_system, run.stdout


def main() -> int:
    """Run the pairs; print times and ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=7)
    pairs = parser.parse_args().pairs
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        own = [sys.executable, "-m", "fmident", "estimate", "problem.toml", "-o", "out", "--force"]
        times = []
        for number in range(pairs + 1):
            one, _ = measured(own, folder)
            other, printed = measured([sys.executable, "peer.py"], folder)
            if number:
                times.append((one, other))
        content = json.loads((folder / "out" / "result.json").read_text(encoding="utf-8"))
        values = [content["parameters"][n]["value"] for n in TRUE]
    peer = [float(word) for word in printed.split()]
    ratio = statistics.median(one / other for one, other in times)
    print(f"fmident estimate   {min(t[0] for t in times):.2f} s")
    print(f"FMPy and SciPy     {min(t[1] for t in times):.2f} s")
    print(f"ratio of the pairs {ratio:.2f} (median of {pairs})")
    print(f"mu, k: {values} and {peer}")
    return 0 if np.allclose(values, peer, rtol=1e-3) else 1


if __name__ == "__main__":
    raise SystemExit(main())
