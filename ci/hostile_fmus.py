#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it prints a table
"""Simulate FMUs that misbehave, in each executor and command.

One FMU misbehaves from the middle of a run on, but only where its parameter is above a threshold.
In 'processes' and 'dask' some simulations of a batch are such: those, and no others, must fail,
with a message, and nobody may be left. The commands (with the executor 'inline', too) must end with
an exit code of theirs and a message, whatever the FMU does to its process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from robustness import CODES, FMIDENT, ROOT, Budget, arguments, environment, print_table

sys.path.insert(0, str(ROOT))

from tests.evaluation.executors import faults

HARMLESS = ("FINE", "LEAK", "CHDIR", "SINGLE", "CHATTER", "SLOW", "CLOSES")
"""What the FMU may do without failing."""

BEHAVIOURS = (
    "CRASH", "HANG", "EXIT", "QUIT", "QUITS_WELL", "ABORT", "KILLED", "TERMINATED", "ALARM",
    "STOPPED", "GREEDY", "CLOSES", "CHDIR", "CHATTER", "FLOOD", "LEAK", "DISCARD", "ERROR",
    "FATAL", "NAN", "INF",
)  # fmt: skip
LIMIT_S = 240.0
MEMORY = 600_000_000

PROBLEM = """\
[model]
fmu = "{fmu}"
[model.start_values]
kind = {kind}
threshold = {threshold}
[parameters.a]
initial = 1.3
[parameters.b]
initial = 0.4
[[experiments]]
data = "data.csv"
[experiments.outputs]
y = {{ column = "y", sigma = 1e-3 }}
[evaluation]
executor = "{executor}"
workers = 2
timeout = 5.0
[estimator]
name = "least-squares"
"""


def batch(executor: str, behaviour: str, seed: int, fmu: Path) -> str | None:
    """Run a batch with some hostile simulations; return what is wrong. Runs in a child process."""
    from fmident.evaluation import InProcessExecutor, make_executor
    from fmident.evaluation.tasks import SimulationFailure
    from fmident.fmu import open_fmu
    from fmident.plugins import load_plugins

    kind = float(getattr(faults, behaviour))
    random = Random(seed)
    values = [round(random.uniform(0.5, 2.0), 6) for _ in range(10)]
    hostile = set(random.sample(range(10), 2))
    tasks = [
        faults.task(v, k % 2, kind=kind if k in hostile else 0.0, at=0.5)
        for k, v in enumerate(values)
    ]
    settings: dict[str, object] = {"executor": executor, "timeout": 5.0, "memory_limit": MEMORY}
    problem = faults.make_problem(fmu, **settings)
    sound = faults.make_problem(fmu, executor="inline")
    plain = [faults.task(v, k % 2, kind=0.0, at=0.5) for k, v in enumerate(values)]
    with open_fmu(fmu) as opened, InProcessExecutor(sound, opened) as inline:
        expected = inline.run_all(plain)
    before = Path.cwd()
    with make_executor(problem, load_plugins().executors.by_name) as made:
        found = made.run_all(tasks)
        again = made.run_all(plain)  # the executor is as good as before
    if before != Path.cwd():
        return "another working directory"
    for k, outcome in enumerate(found):
        failed = isinstance(outcome, SimulationFailure)
        if k in hostile and behaviour not in HARMLESS:
            if not failed:
                return "a hostile simulation did not fail"
            if not outcome.message.strip():
                return "a failure without a message"
        elif k not in hostile and not faults.same([outcome], [expected[k]]):
            said = outcome.message[:80] if failed else "another result"
            return f"a sound simulation suffers: {said}"
    if not faults.same(again, expected):
        return "the executor is not as good as before"
    import psutil

    late = time.monotonic() + 15.0
    while (left := psutil.Process().children(recursive=True)) and time.monotonic() < late:
        time.sleep(0.1)
    names = {p.name() for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE}
    return f"processes are left: {', '.join(names)}" if names else None


def tried(executor: str, behaviour: str, seed: int, fmu: Path, folder: Path) -> str | None:
    """Run :func:`batch` in a process of its own."""
    words = [sys.executable, __file__, "--batch", executor, behaviour, str(seed), str(fmu)]
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False,
            env=environment(), start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it did not end within {LIMIT_S:g} s"
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
    wrong = json.loads(done.stdout.splitlines()[-1])
    return None if wrong is None else str(wrong)


def commanded(words: Sequence[str], folder: Path) -> str | None:
    """Run a command on the hostile FMU; return what is wrong."""
    try:
        done = subprocess.run(
            [*FMIDENT, *words], cwd=folder, capture_output=True, text=True, errors="replace",
            timeout=LIMIT_S, check=False, env=environment(), start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it did not end within {LIMIT_S:g} s"
    said = done.stdout + done.stderr
    if done.returncode not in CODES or "Traceback" in said:
        return f"exit code {done.returncode}: {said.strip().splitlines()[-2:]}"
    if done.returncode == 2 and "error: " not in said:
        return "exit code 2 without a message"
    left = [p.name for p in folder.iterdir() if p.name.startswith(".out")]
    return None if done.returncode != 2 or not left else f"left behind: {left}"


def main() -> int:
    """Run the cases and print the table; 1 when there are findings."""
    if sys.argv[1:2] == ["--batch"]:
        executor, behaviour, seed, fmu = sys.argv[2:6]
        print(json.dumps(batch(executor, behaviour, int(seed), Path(fmu))))
        return 0
    parser = arguments(__doc__, seconds=300.0, count=1000)
    parser.add_argument("--only", nargs="+", metavar="BEHAVIOUR", help="such as CRASH (all)")
    parser.add_argument("--ways", nargs="+", metavar="WAY", help="such as dask (all)")
    given = parser.parse_args()
    ways = given.ways or ["processes", "dask", "inline", "simulate", "validate"]
    findings: list[str] = []
    rows = []
    budget = Budget(given.seconds, given.count)
    with tempfile.TemporaryDirectory(prefix="fmident-hostile-") as name:
        folder = Path(name)
        fmu = faults.build_faults(folder)
        times = [0.1 * k for k in range(21)]
        lines = [f"{t:g},{1.0 + 0.5 * t:g}" for t in times]
        (folder / "data.csv").write_text("\n".join(["time,y", *lines]) + "\n")
        # Where the time does not suffice for all, another seed begins with another behaviour.
        chosen = list(given.only or BEHAVIOURS)
        first = (given.seed - 1) * 3 % len(chosen)
        for behaviour in chosen[first:] + chosen[:first]:
            row = [behaviour.lower()]
            for way in ways:
                if not budget.left():
                    row.append("-")
                    continue
                began = time.monotonic()
                if way in ("processes", "dask"):
                    wrong = tried(way, behaviour, given.seed, fmu, folder)
                else:
                    wrong = commanded(_words(way, behaviour, fmu, folder), folder)
                row.append(f"{time.monotonic() - began:.0f} s" if wrong is None else "FINDING")
                if wrong is not None:
                    findings.append(f"{behaviour.lower()}, {way}: {wrong}")
                    print(findings[-1], file=sys.stderr, flush=True)
            rows.append(row)
    print_table(("behaviour", *ways), rows)
    for finding in findings:
        print(finding)
    print(f"{budget.done} cases, {len(findings)} findings")
    return 1 if findings else 0


def _words(way: str, behaviour: str, fmu: Path, folder: Path) -> list[str]:
    kind = getattr(faults, behaviour)
    if way == "inline":
        text = PROBLEM.format(fmu=fmu, kind=kind, threshold=-1e9, executor="inline")
        (folder / "problem.toml").write_text(text)
        return ["estimate", "problem.toml", "-o", f"out-{behaviour.lower()}", "-q"]
    if way == "simulate":
        return ["simulate", str(fmu), "--set", f"kind={kind}", "--stop-time", "2"]
    # Checks set no parameters: it behaves so by itself.
    (own := folder / f"fmu-{kind}").mkdir()
    fmu = faults.build_faults(own, f"BEHAVES={kind}")
    return ["validate", str(fmu), "--timeout", "5", "--resets", "5"]


if __name__ == "__main__":
    sys.exit(main())
