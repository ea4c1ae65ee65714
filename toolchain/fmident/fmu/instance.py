"""One FMU instance and its life cycle: FMI calls with their status checked."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_double, c_int, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.fmu.description import ModelDescription
from fmident.fmu.interfaces import InterfaceKind
from fmident.fmu.library import ERROR, FATAL, LIBC, WARNING, CallbackFunctions, Library

_STATUS_WORDS = ("OK", "Warning", "Discard", "Error", "Fatal", "Pending")
_TYPES: dict[InterfaceKind, int] = {"model-exchange": 0, "co-simulation": 1}
_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3
_STATUS_CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")

I32 = npt.NDArray[np.int32]
U32 = npt.NDArray[np.uint32]


def status_word(status: int) -> str:
    """Return FMI's word for what a function returned; FMUs can return anything."""
    known = 0 <= status < len(_STATUS_WORDS)
    return _STATUS_WORDS[status] if known else f"the unknown status {status}"


class CallFailed(Exception):  # noqa: N818 - internal, always turned into an FmidentError
    """An FMI function returned Discard, Error or Fatal.

    Parameters
    ----------
    function
        Name of the FMI function.
    status
        What it returned.
    detail
        What it was about, such as the variables that were set.
    """

    def __init__(self, function: str, status: int, detail: str = "") -> None:
        self.function = function
        self.status = status
        self.detail = detail
        super().__init__(function, status, detail)


class BaseInstance:
    """What instances of all versions and interfaces have in common.

    Parameters
    ----------
    library
        The loaded library.
    prefix
        ``"fmi2"`` or ``"fmi3"``, before the name of every function.
    """

    def __init__(self, library: Library, prefix: str) -> None:
        self.library = library
        self.prefix = prefix
        self._functions = library.functions
        self.component: int | None = None

    def call(self, name: str, *arguments: Any, detail: str = "") -> int:
        """Call an FMI function on this instance; warnings pass.

        Raises
        ------
        CallFailed
            It returned Discard, Error, Fatal or Pending, or the FMU lacks it.
        """
        function = self._functions.get(name)
        if function is None:
            raise CallFailed(name, ERROR, "it is not in the FMU's library")
        status: int = function(self.component, *arguments)
        if status > WARNING or status < 0:
            raise CallFailed(name, status, detail)
        return status

    def reset(self) -> None:
        """Bring the instance back to its state after instantiation."""
        self.call(f"{self.prefix}Reset")

    def terminate(self) -> None:
        """End a run."""
        self.call(f"{self.prefix}Terminate")

    def explain_discard(self) -> str:
        """Return in words what the FMU tells about a step that it discarded."""
        return ""

    def end_of_simulation(self, reached: float) -> float | None:
        """Return when an FMU that discarded a step asked for the end, s; ``None``: it did not.

        That is `reached`, the begin of the step, where the FMU does not tell.
        """
        return None

    def log_problems(self, description: ModelDescription) -> None:
        """Ask for messages of warnings and errors only, where the FMU names these."""
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
        """Forget the instance without a call: after Fatal, FMI allows none."""
        self.component = None


class Instance(BaseInstance):
    """An instantiated FMU of FMI 2.0.

    Parameters
    ----------
    library
        The loaded library.
    description
        The FMU's description.
    resources
        URI of the unpacked resources folder.
    logger
        Address of the C function that takes the FMU's log messages.
    debug_logging
        Let the FMU log everything that it can.

    Raises
    ------
    CallFailed
        ``fmi2Instantiate`` returned nothing.
    """

    def __init__(
        self,
        library: Library,
        description: ModelDescription,
        resources: str,
        logger: int,
        *,
        debug_logging: bool = False,
    ) -> None:
        super().__init__(library, "fmi2")
        # The FMU may keep the pointer: the structure lives as long as the instance.
        self._callbacks = CallbackFunctions(
            logger=logger,
            allocate_memory=ctypes.cast(LIBC.calloc, c_void_p).value,
            free_memory=ctypes.cast(LIBC.free, c_void_p).value,
        )
        self.component = self._functions["fmi2Instantiate"](
            description.name.encode(),
            _TYPES[description.capabilities.kind],
            description.guid.encode(),
            resources.encode(),
            byref(self._callbacks),
            0,
            int(debug_logging),
        )
        if not self.component:
            raise CallFailed("fmi2Instantiate", FATAL)
        if not debug_logging:
            self.log_problems(description)

    def setup_experiment(self, start: float, stop: float, tolerance: float | None) -> None:
        """Give start and stop time (s) and the solver's relative tolerance."""
        self.call(
            "fmi2SetupExperiment",
            int(tolerance is not None),
            0.0 if tolerance is None else tolerance,
            start,
            1,
            stop,
        )

    def set_reals(self, references: U32, values: F64) -> None:
        """Set Real variables; `values` is contiguous."""
        if references.size:
            self.call("fmi2SetReal", references.ctypes.data, references.size, values.ctypes.data)

    def set_integers(self, references: U32, values: I32) -> None:
        """Set Integer or Enumeration variables."""
        if references.size:
            self.call("fmi2SetInteger", references.ctypes.data, references.size, values.ctypes.data)

    def set_booleans(self, references: U32, values: I32) -> None:
        """Set Boolean variables to 0 or 1."""
        if references.size:
            self.call("fmi2SetBoolean", references.ctypes.data, references.size, values.ctypes.data)

    def get_reals(self, references: U32) -> F64:
        """Return the values of Real variables."""
        values = np.empty(references.size)
        if references.size:
            self.call("fmi2GetReal", references.ctypes.data, references.size, values.ctypes.data)
        return values

    def set_derivatives(self, references: U32, orders: I32, values: F64) -> None:
        """Set time derivatives of Real inputs."""
        self.call(
            "fmi2SetRealInputDerivatives",
            references.ctypes.data,
            references.size,
            orders.ctypes.data,
            values.ctypes.data,
        )

    def do_step(self, time: float, step: float) -> None:
        """Advance from `time` by `step`, both in s."""
        self.call("fmi2DoStep", time, step, 1)

    def explain_discard(self) -> str:
        """Return in words what the FMU tells about a step that it discarded."""
        terminated, last = self._discarded()
        words = ["the FMU requested termination"] if terminated else []
        if last is not None:
            words.append(f"its last successful time is {last!r} s")
        return ", ".join(words)

    def end_of_simulation(self, reached: float) -> float | None:
        """Return when an FMU that discarded a step asked for the end, s; ``None``: it did not."""
        terminated, last = self._discarded()
        if not terminated:
            return None
        return reached if last is None else last

    def _discarded(self) -> tuple[bool, float | None]:
        """Return whether the FMU requested termination, and its last successful time, s."""
        terminated, last = c_int(0), c_double(0.0)
        ask_boolean = self._functions.get("fmi2GetBooleanStatus")
        ask_real = self._functions.get("fmi2GetRealStatus")
        if not ask_boolean or ask_boolean(self.component, _TERMINATED, byref(terminated)) != 0:
            return False, None
        if not ask_real or ask_real(self.component, _LAST_SUCCESSFUL_TIME, byref(last)) != 0:
            return bool(terminated.value), None
        return bool(terminated.value), last.value
