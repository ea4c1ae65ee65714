"""Run checks in child processes, which an FMU may crash."""

from __future__ import annotations

import json
import os
import pickle
import queue
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from fmident._child import command
from fmident.errors import FmidentError, FmuError
from fmident.fmu import read_description
from fmident.fmu.processes.child import LOOK, OUTPUT, ScratchFolder, keep_short
from fmident.operating_system import end_family, kind_of_crash, start_child
from fmident.validation.check import Check, FmuReport
from fmident.validation.checks.by_name import SIMULATION, checks_of
from fmident.validation.checks.contents import check_description
from fmident.validation.checks.rules import check_rules
from fmident.validation.fmu_plan import FmuPlan

_START_UP = "start"
_START_LIMIT = 60.0  # s at least for loading Python and the FMU, which is not a check yet
_LAST_WORDS = 300
_DESCRIPTION_PLACE = 2


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
        child = children.start(plan, len(done))
        if child is None:
            return FmuReport(plan.path, tuple(done), "the checks were interrupted")
        try:
            unusable = child.collect(done, timeout)
        finally:
            children.end(child)
        if unusable is not None:
            return FmuReport(plan.path, tuple(done), unusable)
        if child.lost is None:
            break
        if len(done) == len(names):
            # All checks have been answered: freeing the FMU is what failed.
            done.append(replace(child.lost, name="release"))
            break
        # Whatever happened while the child started is laid at the next check's door.
        name = names[len(done)]
        done.append(replace(child.lost, name=name))
        if name in names[: names.index(SIMULATION) + 1 if SIMULATION in names else 0]:
            reason = f"not tried, for '{name}' {child.short}"
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
        self._living: set[_Child] = set()
        self._stopped = False

    def start(self, plan: FmuPlan, first: int) -> _Child | None:
        """Return a new child; ``None`` once all have been stopped."""
        with self._lock:
            if self._stopped:
                return None
            child = _Child(plan, first)
            self._living.add(child)
            return child

    def end(self, child: _Child) -> None:
        """End one child."""
        with self._lock:
            self._living.discard(child)
        child.end()

    def stop(self) -> None:
        """End all, and start no more."""
        with self._lock:
            self._stopped = True
            for child in self._living:
                child.kill()


class _Child:
    """One worker process, starting with the check numbered `first`."""

    def __init__(self, plan: FmuPlan, first: int) -> None:
        # What the child unpacks goes with this folder, however the child ends.
        self._folder = ScratchFolder("check")
        self._said = (self._folder.path / OUTPUT).open("a+b")
        place = str(self._folder.path)
        life, self._life = os.pipe()
        self._process = start_child(
            command("fmident.validation.worker"),
            (life,),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, "TMPDIR": place, "TEMP": place, "TMP": place},
        )
        os.close(life)
        assert self._process.stdin is not None  # asked for above
        assert self._process.stdout is not None
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(
            target=_read, args=(self._process.stdout, self._answers), daemon=True
        )
        self._reader.start()
        self.lost: Check | None = None
        self.short = ""
        try:
            pickle.dump((plan, first), self._process.stdin)
            self._process.stdin.close()
        except BrokenPipeError:
            return  # it died at once; collect() reports how

    def collect(self, done: list[Check], timeout: float) -> str | None:
        """Append the child's checks to `done`; return why the FMU is unusable, if it is.

        :attr:`lost` describes how the child was lost, if it was.
        """
        at, began = _START_UP, time.perf_counter()
        while True:
            limit = max(timeout, _START_LIMIT) if at == _START_UP else timeout
            try:
                answer = self._answer(limit)
            except queue.Empty:
                self.short = "hung"
                what = f"did not answer within {limit:g} s and was ended (--timeout)"
                self._note(at, what, began)
                return None
            if answer is None:
                try:
                    self._process.wait(limit)
                except subprocess.TimeoutExpired:  # the FMU has closed the pipe
                    self.short = "hung"
                    self._note(at, f"does not end within {limit:g} s and was ended", began)
                    return None
                self.short = "crashed"
                self._note(at, f"{_end(self._process.returncode)}{self._last_words()}", began)
                return None
            if "end" in answer:
                return None
            if "unusable" in answer:
                return str(answer["unusable"])
            if "begin" in answer:
                at, began = answer["begin"], time.perf_counter()
            else:
                done.append(Check(**answer["check"]))

    def _answer(self, limit: float) -> dict[str, Any] | None:
        """Return the next answer, meanwhile limiting the stored output of the FMU."""
        end = time.monotonic() + limit
        while True:
            left = end - time.monotonic()
            try:
                return self._answers.get(timeout=max(min(left, LOOK), 0.0))
            except queue.Empty:
                keep_short(self._folder.path / OUTPUT)
                if left <= LOOK:
                    raise

    def _note(self, at: str, what: str, began: float) -> None:
        self.lost = Check(at, "failed", what, seconds=time.perf_counter() - began)

    def _last_words(self) -> str:
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - 2 * _LAST_WORDS))
        text = " ".join(self._said.read().decode(errors="replace").split())
        return f"; it said: {text[-_LAST_WORDS:]}" if text else ""

    def kill(self) -> None:
        """Kill the process and its descendants."""
        if self._process.poll() is None:
            self._process.kill()
        end_family(self._process, self._folder.path, alive=True)

    def end(self) -> None:
        """End the process and release its resources."""
        self.kill()
        self._process.wait()
        end_family(self._process, self._folder.path)
        self._reader.join(1.0)
        assert self._process.stdout is not None
        if not self._reader.is_alive():  # else somebody holds the other end: it would wait for that
            self._process.stdout.close()
        os.close(self._life)
        self._said.close()
        self._folder.close()


def _read(stream: IO[bytes], answers: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    for line in stream:
        try:
            answers.put(json.loads(line))
        except ValueError:
            break  # cut off in the middle: the process has died
    answers.put(None)


def _end(code: int) -> str:
    """Describe how an unfinished process ended."""
    name = kind_of_crash(code)
    if name is not None:
        return f"native code crashed ({name})"
    return f"native code ended the process with exit code {code}"
