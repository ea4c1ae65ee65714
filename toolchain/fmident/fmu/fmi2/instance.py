"""One instance of an FMI 2.0 FMU."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_double, c_int

import numpy as np

from fmident.arrays import F64
from fmident.fmu.life_cycle.instance import U32, BaseInstance, CallFailed
from fmident.fmu.model_description.description import InterfaceKind, ModelDescription
from fmident.fmu.native_code.library import FATAL, CallbackFunctions, Library
from fmident.fmu.native_code.log import LogBuffer
from fmident.operating_system import allocator

_TYPES: dict[InterfaceKind, int] = {"model-exchange": 0, "co-simulation": 1}
_LAST_SUCCESSFUL_TIME, _TERMINATED = 2, 3


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
        allocate, free = allocator()
        self._callbacks = CallbackFunctions(
            logger=buffer.logger_address, allocate_memory=allocate, free_memory=free
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
        if not ask_boolean or ask_boolean(self.component, _TERMINATED, byref(terminated)) != 0:
            return False, None
        if not ask_real or ask_real(self.component, _LAST_SUCCESSFUL_TIME, byref(last)) != 0:
            return bool(terminated.value), None
        return bool(terminated.value), last.value
