"""FMU instance and its life cycle: FMI calls with checked status."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable
from ctypes import c_char_p
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.native_code.library import ERROR, FATAL, WARNING, Library
from fmident.operating_system import in_a_copy

_STATUS_WORDS = ("OK", "Warning", "Discard", "Error", "Fatal", "Pending")
_STATUS_CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")

U32 = npt.NDArray[np.uint32]


Result = TypeVar("Result")


def status_word(status: int) -> str:
    """Return FMI's word for a status; FMUs can return anything."""
    known = 0 <= status < len(_STATUS_WORDS)
    return _STATUS_WORDS[status] if known else f"the unknown status {status}"


class CallFailed(Exception):  # noqa: N818 - internal, always turned into an FmidentError
    """An FMI function returned Discard, Error or Fatal; `detail` says for what."""

    def __init__(self, function: str, status: int, detail: str = "") -> None:
        self.function = function
        self.status = status
        self.detail = detail
        super().__init__(function, status, detail)


class BaseInstance:
    """Base of instances of all versions and interfaces, ``"fmi2"`` or ``"fmi3"``."""

    def __init__(self, library: Library, prefix: str) -> None:
        self.library = library
        self.prefix = prefix
        self._functions = library.functions
        self.component: int | None = None

    def call(self, name: str, *arguments: Any, detail: str = "") -> int:
        """Call an FMI function on this instance; warnings are ignored."""
        function = self._functions.get(name)
        if function is None:
            raise CallFailed(name, ERROR, "it is not in the FMU's library")
        status: int = function(self.component, *arguments)
        if status > WARNING or status < 0:
            raise CallFailed(name, status, detail)
        return status

    def enter_initialisation(
        self, begin: float, end: float, tolerance: float | None, set_values: Callable[[], None]
    ) -> None:
        """Enter initialisation mode, from time `begin` to `end`, s.

        `set_values`, for parameters and start values, is called where FMI requires it.
        """
        raise NotImplementedError

    def do_step(self, time: float, step: float) -> None:
        """Advance a Co-Simulation from `time` by `step`, both in s."""
        raise NotImplementedError

    def set_slopes(self, references: U32, slopes: F64) -> None:
        """Set time derivatives of inputs of a Co-Simulation, if the FMU supports them."""
        raise NotImplementedError

    def reset(self) -> None:
        """Reset the instance to its state after instantiation."""
        self.call(f"{self.prefix}Reset")

    def terminate(self) -> None:
        """End a run."""
        self.call(f"{self.prefix}Terminate")

    def explain_discard(self) -> str:
        """Return the FMU's explanation of a discarded step."""
        return ""

    def end_of_simulation(self, reached: float) -> float | None:
        """Return when an FMU that discarded a step requested termination, s, or ``None``.

        If the FMU does not tell, that is `reached`, the beginning of the step.
        """
        return None

    def log_problems(self, description: ModelDescription) -> None:
        """Request messages of warnings and errors only, if the FMU has such categories."""
        wanted = [c.encode() for c in _STATUS_CATEGORIES if c in description.log_categories]
        function = self._functions.get(f"{self.prefix}SetDebugLogging")
        if wanted and function is not None:
            names = (c_char_p * len(wanted))(*wanted)
            function(self.component, 1, len(wanted), names)  # a refusal costs messages only

    def free(self) -> None:
        """Free the instance; it cannot be used afterwards."""
        # Forgotten first: after Ctrl-C in between, nobody may free it a second time.
        component, self.component = self.component, None
        if component:
            self._functions[f"{self.prefix}FreeInstance"](component)

    def abandon(self) -> None:
        """Drop the instance without a call: after Fatal, FMI allows none."""
        self.component = None


class TrialInstances:
    """New instances one after the other; `make` instantiates the FMU."""

    def __init__(self, make: Callable[[], BaseInstance]) -> None:
        self._make = make
        self._instance: BaseInstance | None = None

    @property
    def instance(self) -> BaseInstance:
        """The present instance."""
        assert self._instance is not None, "a trial begins with a new instance"
        return self._instance

    def renew(self) -> BaseInstance:
        """Free the present instance and return a new one."""
        self.free()
        self._instance = self._make()
        return self._instance

    def free(self, status: int = 0) -> None:
        """Free the present instance, if there is one; after Fatal, FMI forbids even that."""
        instance, self._instance = self._instance, None
        if instance is None:
            return
        if status == FATAL:
            instance.abandon()
            return
        if status == 0:
            with contextlib.suppress(CallFailed):
                instance.terminate()
        instance.free()


def directly(work: Callable[[], Result]) -> Result:
    """Call `work` in this process."""
    return work()


def forked(work: Callable[[], Result]) -> Result:
    """Call `work` in a copy of this process, and return its result.

    The process must be single-threaded and must not have instantiated the FMU.
    """
    content = in_a_copy(lambda: _answer(work))
    if not content:
        raise CallFailed("a trial step", ERROR, "it ended the process")
    good, answer = pickle.loads(content)
    if not good:
        raise CallFailed(*answer)
    result: Result = answer
    return result


def _answer(work: Callable[[], Any]) -> bytes:
    """Return the encoded result of `work`, to be read by :func:`forked`."""
    try:
        return pickle.dumps((True, work()))
    except CallFailed as failed:
        return pickle.dumps((False, (failed.function, failed.status, failed.detail)))
