"""Run checks in child processes, which an FMU may crash."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fmident.errors import FmidentError, FmuError, SimulationError
from fmident.fmu import read_description
from fmident.fmu.processes.child import START_LIMIT, Child, End, Parent, ScratchFolder
from fmident.validation.bench import Bench
from fmident.validation.checks.contents import check_contents, check_description, check_identity
from fmident.validation.checks.interface import check_interface, check_parameters
from fmident.validation.checks.model_exchange import check_model_exchange, supports_model_exchange
from fmident.validation.checks.reference import check_reference
from fmident.validation.checks.repeatability import check_memory, check_repeatability
from fmident.validation.checks.rules import check_rules
from fmident.validation.checks.step_sizes import check_step_sizes
from fmident.validation.fmu_plan import FmuPlan
from fmident.validation.result import Check, FmuReport

_START_UP, _RELEASE, _END = "start", "release", "end"
_POLL = 0.02
_LAST_WORDS = 300
_DESCRIPTION_PLACE = 2


CheckFunction = Callable[[Bench], Check]

SIMULATION = "simulation"
"""When native code dies in this check, those behind it are not tried."""

FOLLOWING = ("parameters", "repeatability", "memory", "step sizes")
"""Checks that run the same experiment: where it fails, they would fail for the same reason."""


def validate(
    plans: Iterable[FmuPlan], *, timeout: float = 60.0, jobs: int | None = None
) -> Iterator[FmuReport]:
    """Check FMUs, each in a separate process, and yield reports in order.

    `timeout` is the limit of one check, s, and `jobs` the number of parallel FMUs, by
    default that of processors, at most 4.
    """
    count = jobs if jobs is not None else min(4, os.cpu_count() or 1)
    children = _Children()
    with ThreadPoolExecutor(max_workers=max(1, count)) as pool:
        try:
            yield from pool.map(lambda plan: _validate_one(plan, timeout, children), plans)
        except BaseException:  # Ctrl-C, and a caller that wants no more
            pool.shutdown(wait=False, cancel_futures=True)
            children.stop()
            raise


def validate_fmu(path: Path, *, timeout: float = 60.0) -> tuple[Check, ...]:
    """Check one FMU without a catalogue entry.

    `timeout` is the limit of one check, s. Raises `FmuError` if the file is not an FMU that
    this machine can run.
    """
    (report,) = validate([FmuPlan(path)], timeout=timeout, jobs=1)
    if report.unusable is not None:
        raise FmuError(report.unusable)
    return report.checks


def _validate_one(plan: FmuPlan, timeout: float, children: _Children) -> FmuReport:
    try:
        read_description(plan.path)
    except FmidentError as error:
        return FmuReport(plan.path, (), str(error))
    names = list(checks_of(plan))
    done: list[Check] = []
    while len(done) < len(names):
        with ScratchFolder("check") as scratch:
            child = children.start(scratch.path, plan, len(done))
            if child is None:
                return FmuReport(plan.path, tuple(done), "the checks were interrupted")
            try:
                lost = _collect(child, done, timeout)
            except FmidentError as error:
                return FmuReport(plan.path, tuple(done), str(error))
            finally:
                children.end(child)
            if lost is None:
                break
        if len(done) == len(names):
            # All checks have been answered: freeing the FMU is what failed.
            done.append(Check("release", "failed", lost.detail, seconds=lost.seconds))
            break
        # Of what happened while the child started, the next check is accused.
        name = names[len(done)]
        done.append(Check(name, "failed", lost.detail, seconds=lost.seconds))
        if name in names[: names.index(SIMULATION) + 1 if SIMULATION in names else 0]:
            reason = f"not tried, for '{name}' {'hung' if lost.hung else 'crashed'}"
            done += [Check(n, "skipped", reason) for n in names[len(done) :]]
    if plan.only is None:
        by_fmpy = check_description(plan.path)
        place = min(_DESCRIPTION_PLACE, len(done))
        done[place:place] = [by_fmpy, check_rules(plan.path)]
    return FmuReport(plan.path, tuple(done))


class _Children:
    """All running children, so that an interruption can end them and start no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._living: set[Child] = set()
        self._stopped = False

    def start(self, folder: Path, plan: FmuPlan, first: int) -> Child | None:
        """Return a new child; ``None`` once all have been stopped."""
        with self._lock:
            if self._stopped:
                return None
            child = Child(_check, folder, plan, first)
            self._living.add(child)
            return child

    def end(self, child: Child) -> None:
        with self._lock:
            self._living.discard(child)
        child.close()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for child in self._living:
                child.kill()


@dataclass(frozen=True)
class _Lost:
    """End of a child without an answer: a crash, unless it `hung`."""

    detail: str
    seconds: float
    hung: bool = False


def _collect(child: Child, done: list[Check], timeout: float) -> _Lost | None:
    """Append the child's checks to `done`; return how it was lost, if it was.

    Raises `FmidentError` if the FMU cannot be used.
    """
    at, began = _START_UP, time.monotonic()
    while True:
        ended = child.wait(_POLL)
        for answer in child.answers:
            if isinstance(answer, str):
                at, began = answer, time.monotonic()
            else:
                done.append(answer)
        child.answers.clear()
        seconds = time.monotonic() - began
        if ended:
            child.close()
            if child.code == 0 and at == _END:
                return None
            text = " ".join(child.said.split())[-_LAST_WORDS:]
            end = f"native code {End.of(child.code).text}"
            return _Lost(end + (f"; it said: {text}" if text else ""), seconds)
        limit = max(timeout, START_LIMIT) if at == _START_UP else timeout
        if seconds > limit:
            return _Lost(
                f"did not answer within {limit:g} s and was ended (--timeout)", seconds, hung=True
            )


def _check(parent: Parent, plan: FmuPlan, first: int) -> None:
    """Run checks in this child process, from one on; answer their names and their results."""
    not_tried: str | None = None
    with Bench(plan) as bench:
        for name, check in list(checks_of(plan).items())[first:]:
            parent.answer(name)
            why = not_tried if name in FOLLOWING else None
            began = time.perf_counter()
            try:
                result = check(bench) if why is None else Check(name, "skipped", why)
            except FmidentError as error:
                result = Check(name, "failed", error.message)
            if name == SIMULATION and not result.passed and not plan.references:
                not_tried = f"not tried: '{name}' failed"
            parent.answer(replace(result, seconds=time.perf_counter() - began))
        parent.answer(_RELEASE)
    parent.answer(_END)


def checks_of(plan: FmuPlan) -> dict[str, CheckFunction]:
    """Return the checks required by a plan, by name.

    ``model description`` and ``FMI rules`` are not included: they run no code of the FMU,
    and the first needs a library that is slow to load, so the parent process runs them.
    """
    checks: dict[str, CheckFunction] = {"identity": check_identity, "contents": check_contents}
    if plan.interface is not None:
        checks["interface"] = check_interface
    checks[SIMULATION] = check_simulation
    for reference in plan.references:
        name = f"reference {reference.recording.name}"
        checks[name] = partial(check_reference, reference=reference, name=name)
    if plan.interface is not None and plan.interface.identifiable:
        checks["parameters"] = check_parameters
    if supports_model_exchange(plan.path):
        checks["model exchange"] = check_model_exchange
    checks["repeatability"] = check_repeatability
    checks["memory"] = check_memory
    checks["step sizes"] = check_step_sizes
    return checks if plan.only is None else {n: c for n, c in checks.items() if n in plan.only}


def check_simulation(bench: Bench) -> Check:
    """Run the FMU's own experiment with the inputs from the catalogue."""
    end, experiment = "", bench.smoke
    try:
        bench.simulate(experiment.setup, experiment.values)
    except SimulationError as error:
        if error.ended is None or not bench.end_before(error.ended):
            raise
        end = f"; at t = {error.ended:g} s the FMU itself ends the simulation"
        experiment = bench.smoke
        bench.simulate(experiment.setup, experiment.values)
    how = "with its own start values" if not experiment.setup.input_names else "with moving inputs"
    return Check(SIMULATION, "ok", f"{how} to t = {experiment.setup.times[-1]:g} s{end}")
