"""Simulations in a process of their own: an FMU that crashes or hangs does not take the page along.

The process keeps the problem and the FMU of its last request open, so that a simulation takes as
long as the FMU needs.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fmident import Simulator
    from fmident.evaluation import Evaluator

F64 = npt.NDArray[np.float64]

_LIMIT = 60.0
"""Seconds after which a simulation is given up."""


@dataclass(frozen=True, eq=False)
class Curve:
    """An output over time: simulated, and measured where there are data; shapes (n,)."""

    experiment: str
    name: str
    unit: str | None
    times: F64
    simulated: F64
    measured: F64 | None = None


@dataclass(frozen=True)
class Fit:
    """All experiments of a problem file, with values of its parameters."""

    problem: Path
    version: int
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FreeRun:
    """An FMU without data: parameters and constant inputs, for a time in s."""

    fmu: Path
    values: Mapping[str, float]
    outputs: tuple[str, ...]
    stop: float
    inputs: Mapping[str, float] = field(default_factory=dict)
    samples: int = 1000


Request = Fit | FreeRun


class SimulationFailedError(Exception):
    """A simulation ended without a result; the message is for the user."""


class Simulations:
    """The server's side of the process."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._lock = asyncio.Lock()

    async def run(self, request: Request) -> list[Curve]:
        """Return the curves of a request.

        Raises
        ------
        SimulationFailedError
            The FMU failed, ended its process, or took too long.
        """
        async with self._lock:
            # A caller that is cancelled, such as a closed page, must not leave its answer behind.
            asking = asyncio.create_task(asyncio.to_thread(self._answer, request))
            try:
                answer = await asyncio.shield(asking)
            except asyncio.CancelledError:
                await asyncio.wait([asking])
                raise
        if isinstance(answer, str):
            raise SimulationFailedError(answer)
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _answer(self, request: Request) -> list[Curve] | str:
        if self._process is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        assert self._connection is not None
        try:
            self._connection.send(request)
            if not self._connection.poll(_LIMIT):
                self.close()
                return f"the simulation took more than {_LIMIT:g} s and was ended"
            answer: list[Curve] | str = self._connection.recv()
        except (EOFError, OSError):
            code = self._process.exitcode if self._process is not None else None
            self.close()
            return f"the FMU ended the process that simulates (exit code {code})"
        return answer


class Latest:
    """Runs the newest of requests that come faster than they can be answered."""

    def __init__(self, simulations: Simulations) -> None:
        self._simulations = simulations
        self._waiting: Request | None = None
        self._busy = False

    async def run(self, request: Request) -> list[Curve] | None:
        """Return the curves, ``None`` where a running call will answer with this request."""
        self._waiting = request
        if self._busy:
            return None
        self._busy = True
        try:
            curves: list[Curve] = []
            while (waiting := self._waiting) is not None:
                self._waiting = None
                try:
                    curves = await self._simulations.run(waiting)
                except SimulationFailedError:
                    if self._waiting is None:
                        raise
            return curves
        finally:
            self._busy = False


def serve(connection: Connection) -> None:
    """Answer requests until the other side is gone; the main function of the process."""
    from fmident import FmidentError

    opened = _Opened()
    while True:
        try:
            request: Request = connection.recv()
        except EOFError:
            return
        try:
            answer: list[Curve] | str = opened.answer(request)
        except FmidentError as error:
            answer = str(error)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        connection.send(answer)


class _Opened:
    """Keeps what the last request opened."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._key: object = None
        self._evaluator: Evaluator | None = None
        self._simulator: Simulator | None = None

    def answer(self, request: Request) -> list[Curve]:
        if isinstance(request, Fit):
            return self._fit(request)
        return self._free_run(request)

    def _renew(self, key: object) -> bool:
        if key == self._key:
            return False
        self._stack.close()
        self._stack, self._key = ExitStack(), None
        return True

    def _fit(self, request: Fit) -> list[Curve]:
        import fmident
        from fmident.evaluation import Evaluator, make_executor
        from fmident.problem import measured_signals, predict

        key = request.problem, request.version
        if self._renew(key):
            overrides = {"evaluation.executor": "inline", "evaluation.check": False}
            problem = fmident.load_problem(
                request.problem, overrides=overrides, report=lambda _: None
            )
            evaluator = Evaluator(problem, make_executor(problem))
            self._evaluator, self._key = self._stack.enter_context(evaluator), key
        assert self._evaluator is not None
        problem = self._evaluator.problem
        p = np.array([request.values.get(q.name, q.initial) for q in problem.free])
        outputs = self._evaluator.simulate(p)
        trajectories = []
        for output in outputs:
            if not isinstance(output, np.ndarray):
                raise fmident.FmidentError(output.message, hint=output.hint)
            trajectories.append(output)
        curves = []
        measured = iter(measured_signals(problem))
        for experiment, predictions in zip(
            problem.experiments, predict(problem, trajectories, p), strict=True
        ):
            for measurement, predicted in zip(experiment.measurements, predictions, strict=True):
                signal = next(measured)
                curves.append(
                    Curve(
                        experiment.name,
                        measurement.name,
                        measurement.unit,
                        signal.times,
                        predicted,
                        signal.measured,
                    )
                )
        return curves

    def _free_run(self, request: FreeRun) -> list[Curve]:
        import fmident
        from fmident.fmu import read_description

        key = request.fmu, request.fmu.stat().st_mtime_ns
        if self._renew(key):
            fmu = self._stack.enter_context(fmident.open_fmu(request.fmu))
            self._simulator, self._key = self._stack.enter_context(fmu.simulator()), key
        assert self._simulator is not None
        times = np.linspace(0.0, request.stop, request.samples + 1)
        setup = fmident.SimulationSetup(
            times,
            tuple(request.inputs),
            np.tile(list(request.inputs.values()), (times.size, 1)) if request.inputs else None,
            request.outputs,
        )
        values = self._simulator.simulate(setup, request.values)
        by_name = read_description(request.fmu).by_name
        return [
            Curve("", name, by_name[name].unit, times, np.array(values[:, k]))
            for k, name in enumerate(request.outputs)
        ]
