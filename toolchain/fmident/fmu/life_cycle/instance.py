"""FMU instance and its life cycle: FMI calls with checked status."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from ctypes import byref, c_bool, c_char_p, c_double, c_int, cast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.fmu.model_description.description import InterfaceKind, ModelDescription
from fmident.fmu.native_code.library import DISCARD, ERROR, FATAL, WARNING, Library, fmi2, fmpy
from fmident.fmu.native_code.log import LogBuffer

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_STATUS_WORDS = ("OK", "Warning", "Discard", "Error", "Fatal", "Pending")
_STATUS_CATEGORIES = ("logStatusWarning", "logStatusDiscard", "logStatusError", "logStatusFatal")

U32 = npt.NDArray[np.uint32]


Result = TypeVar("Result")


_TYPES: dict[InterfaceKind, int] = {
    "model-exchange": fmi2.fmi2ModelExchange,
    "co-simulation": fmi2.fmi2CoSimulation,
}


def status_word(status: int) -> str:
    """Return FMI's word for a status; FMUs can return anything."""
    known = 0 <= status < len(_STATUS_WORDS)
    return _STATUS_WORDS[status] if known else f"the unknown status {status}"


@dataclass(eq=False)
class CallFailed(Exception):  # noqa: N818 - internal, always turned into an FmidentError
    """An FMI function returned Discard, Error or Fatal; `detail` says for what."""

    function: str
    status: int
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.function} returned {status_word(self.status)}"


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

    def free(self, status: int = 0) -> None:
        """Free the instance, which cannot be used afterwards; after Fatal, FMI allows no call."""
        # Forgotten first: after Ctrl-C in between, nobody may free it a second time.
        component, self.component = self.component, None
        free = self._functions.get(f"{self.prefix}FreeInstance")
        if component and free is not None and status != FATAL:
            free(component)


def directly(work: Callable[[], Result]) -> Result:
    """Call `work` in this process."""
    return work()


def forked(work: Callable[[], Result]) -> Result:
    """Call `work` in a copy of this process, and return its result.

    The process must be single-threaded and must not have instantiated the FMU.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    copy = context.Process(target=_answer, args=(work, sender))
    copy.start()
    sender.close()
    try:
        answer: Result | CallFailed = receiver.recv()
    except EOFError:
        raise CallFailed("a trial step", ERROR, "it ended the process") from None
    finally:
        copy.join()
    if isinstance(answer, CallFailed):
        raise answer
    return answer


def _answer(work: Callable[[], Any], sender: Connection) -> None:
    try:
        sender.send(work())
    except CallFailed as failed:
        sender.send(failed)


class Instance2(BaseInstance):
    """An instantiated FMU of FMI 2.0; `resources` is the URI of the unpacked folder."""

    def __init__(
        self,
        library: Library,
        description: ModelDescription,
        resources: str,
        buffer: LogBuffer,
        *,
        debug: bool = False,
    ) -> None:
        super().__init__(library, "fmi2")
        # The FMU may keep the pointer: the structure lives as long as the instance.
        self._callbacks = fmi2.fmi2CallbackFunctions(
            logger=fmi2.fmi2CallbackLoggerTYPE(buffer.logger_address),
            allocateMemory=cast(fmpy.calloc, fmi2.fmi2CallbackAllocateMemoryTYPE),
            freeMemory=cast(fmpy.free, fmi2.fmi2CallbackFreeMemoryTYPE),
        )
        self.component = self._functions["fmi2Instantiate"](
            description.name.encode(),
            _TYPES[description.capabilities.kind],
            description.guid.encode(),
            resources.encode(),
            byref(self._callbacks),
            0,
            int(debug),
        )
        if not self.component:
            raise CallFailed("fmi2Instantiate", FATAL)
        if not debug:
            self.log_problems(description)

    def enter_initialisation(
        self, begin: float, end: float, tolerance: float | None, set_values: Callable[[], None]
    ) -> None:
        """Set up the experiment, set values, enter initialisation mode; see the base class."""
        tolerant = tolerance is not None
        self.call("fmi2SetupExperiment", int(tolerant), tolerance or 0.0, begin, 1, end)
        set_values()
        self.call("fmi2EnterInitializationMode")

    def do_step(self, time: float, step: float) -> None:
        """Advance from `time` by `step`, both in s."""
        self.call("fmi2DoStep", time, step, 1)

    def set_slopes(self, references: U32, slopes: F64) -> None:
        """Set first time derivatives of Real inputs."""
        orders = np.ones(references.size, np.int32)
        self.call(
            "fmi2SetRealInputDerivatives",
            references.ctypes.data,
            references.size,
            orders.ctypes.data,
            slopes.ctypes.data,
        )

    def explain_discard(self) -> str:
        """Return the FMU's explanation of a discarded step."""
        terminated, last = self._discarded()
        words = ["the FMU requested termination"] if terminated else []
        if last is not None:
            words.append(f"its last successful time is {last!r} s")
        return ", ".join(words)

    def end_of_simulation(self, reached: float) -> float | None:
        """Return when an FMU that discarded a step requested termination, s, or ``None``."""
        terminated, last = self._discarded()
        if not terminated:
            return None
        return reached if last is None else last

    def _discarded(self) -> tuple[bool, float | None]:
        """Return whether the FMU requested termination, and its last successful time, s."""
        terminated, last = c_int(0), c_double(0.0)
        ask_boolean = self._functions.get("fmi2GetBooleanStatus")
        ask_real = self._functions.get("fmi2GetRealStatus")
        at_end, until = fmi2.fmi2Terminated, fmi2.fmi2LastSuccessfulTime
        if not ask_boolean or ask_boolean(self.component, at_end, byref(terminated)) != 0:
            return False, None
        if not ask_real or ask_real(self.component, until, byref(last)) != 0:
            return bool(terminated.value), None
        return bool(terminated.value), last.value


class Instance3(BaseInstance):
    """An instantiated FMU of FMI 3.0.

    `resources` is the path of the unpacked folder with a final separator. `intermediate`
    are inputs set within steps, and the addresses of the function that does so and its
    table.
    """

    def __init__(
        self,
        library: Library,
        description: ModelDescription,
        resources: str,
        buffer: LogBuffer,
        *,
        debug: bool = False,
        intermediate: tuple[U32 | None, int, int] = (None, 0, 0),
    ) -> None:
        super().__init__(library, "fmi3")
        name = description.name.encode()
        token, path = description.guid.encode(), resources.encode()
        able = description.capabilities
        logger = buffer.plain_logger_address
        if able.kind == "model-exchange":
            function = "fmi3InstantiateModelExchange"
            arguments = (name, token, path, False, debug, None, logger)
            self.component = self._functions[function](*arguments)
        else:
            function = "fmi3InstantiateCoSimulation"
            references, update, table = intermediate
            self.component = self._functions[function](
                name, token, path, False, debug,
                able.has_event_mode, True,
                None if references is None else references.ctypes.data,
                0 if references is None else references.size,
                table or None, logger, update or None,
            )  # fmt: skip
        if not self.component:
            raise CallFailed(function, FATAL)
        if not debug:
            self.log_problems(description)

    def enter_initialisation(
        self, begin: float, end: float, tolerance: float | None, set_values: Callable[[], None]
    ) -> None:
        """Set values and enter initialisation mode; see the base class."""
        set_values()
        tolerant = tolerance is not None
        self.call("fmi3EnterInitializationMode", tolerant, tolerance or 0.0, begin, True, end)

    def do_step(self, time: float, step: float) -> None:
        """Advance from `time` by `step`, in s; a step that ends the run counts as discarded."""
        event, ended, early, reached = c_bool(), c_bool(), c_bool(), c_double()
        self.call(
            "fmi3DoStep", time, step, True, byref(event), byref(ended), byref(early), byref(reached)
        )
        if ended.value:
            raise CallFailed("fmi3DoStep", DISCARD)
