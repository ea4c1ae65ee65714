"""One instance of an FMI 3.0 FMU."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_bool, c_double

from fmident.fmu.life_cycle.instance import U32, BaseInstance, CallFailed
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.native_code.library import DISCARD, FATAL, Library
from fmident.fmu.native_code.log import LogBuffer


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
