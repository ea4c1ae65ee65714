"""A problem whose FMU does what its parameter says, and a Dask cluster started by command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from fmident.data.experiment import Experiment, Measurement
from fmident.evaluation import InProcessExecutor, SimulationTask
from fmident.evaluation.tasks import Simulated, SimulationFailure
from fmident.fmu import open_fmu
from fmident.problem.model import EstimatorSettings, EvaluationSettings, Parameter, Problem
from fmident_dask import DaskOptions

CRASH, SLOW, HANG, EXIT, ABORT = 5, 8, 9, 10, 13


def make_problem(fmu: Path, *, scheduler: str | None = None, **evaluation: Any) -> Problem:
    """x' = a from 0 s to 2 s, recorded at 21 and at 401 instants."""
    experiments = []
    for name, count in (("short", 21), ("long", 401)):
        times = np.linspace(0.0, 2.0, count)
        measurement = Measurement("x", "x", "x", np.zeros(count), np.array(1.0))
        experiments.append(Experiment(name, times, {}, (measurement,)))
    return Problem(
        fmu,
        (Parameter("a", 1.0, variable="a"),),
        tuple(experiments),
        EstimatorSettings("least-squares"),
        EvaluationSettings(executor="dask", executor_options=DaskOptions(scheduler), **evaluation),
    )


def some_tasks(count: int, **values: float) -> list[SimulationTask]:
    """Return tasks of both experiments in no regular order, each with another value."""
    rng = np.random.default_rng(3)
    return [
        SimulationTask(int(rng.integers(2)), {"a": float(rng.standard_normal()), **values})
        for _ in range(count)
    ]


def slow_tasks(count: int, seconds: float) -> list[SimulationTask]:
    """Return tasks of the short experiment that take some time each."""
    step = seconds / 20.0
    return [SimulationTask(0, {"a": 1.0 + k, "kind": SLOW, "speed": step}) for k in range(count)]


def inline(problem: Problem, tasks: Sequence[SimulationTask]) -> list[Simulated]:
    with open_fmu(problem.fmu) as fmu, InProcessExecutor(problem, fmu) as executor:
        return executor.run_all(tasks)


def assert_same(found: Sequence[Simulated], expected: Sequence[Simulated]) -> None:
    """To the last bit; failures with the same message, parameters and time."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, SimulationFailure):
            assert isinstance(one, SimulationFailure)
            assert (one.message, one.parameters, one.time) == (
                other.message,
                other.parameters,
                other.time,
            )
        else:
            assert not isinstance(one, SimulationFailure), str(one)
            assert one.shape == other.shape
            assert one.tobytes() == other.tobytes()


@dataclass
class Cluster:
    """``dask scheduler`` and ``dask worker`` as a user would start them, on loopback."""

    folder: Path
    address: str = ""
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_scheduler(self) -> None:
        file = self.folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--dashboard-address", "127.0.0.1:0", "--scheduler-file", str(file),
        )  # fmt: skip
        while not self.address:
            try:
                self.address = json.loads(file.read_text())["address"]
            except (OSError, ValueError, KeyError):
                assert self.scheduler.poll() is None, self.log
                time.sleep(0.05)

    def start_workers(self, count: int, *options: str, **environment: str) -> None:
        """Start workers and wait until the scheduler has them, however long that takes."""
        wanted = self.log.count("Registered to") + count
        process = self._start(
            "worker", self.address, "--nworkers", str(count), "--nthreads", "1",
            "--host", "127.0.0.1", "--no-dashboard", "--local-directory", str(self.folder),
            *options,
            **environment,
        )  # fmt: skip
        self.workers.append(process)
        while self.log.count("Registered to") < wanted:
            assert process.poll() is None, self.log
            time.sleep(0.05)

    def _start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, **environment},
            )

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            if process is None:
                continue
            try:
                family = [process, *psutil.Process(process.pid).children(recursive=True)]
            except psutil.NoSuchProcess:
                family = [process]
            process.terminate()
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for member in family[1:]:
                try:
                    member.kill()
                except psutil.NoSuchProcess:
                    continue
        self.workers.clear()
        self.scheduler = None
