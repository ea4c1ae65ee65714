"""One instance of an FMI 3.0 FMU."""

from __future__ import annotations

from fmident.fmu.description import ModelDescription
from fmident.fmu.instance import U32, BaseInstance, CallFailed
from fmident.fmu.library import FATAL, Library
from fmident.fmu.log import LogBuffer


class Instance3(BaseInstance):
    """An instantiated FMU of FMI 3.0.

    Parameters
    ----------
    library
        The loaded library.
    description
        The FMU's description; tells the interface.
    resources
        Path of the unpacked resources, with a separator at its end.
    buffer
        Where the FMU's messages go.
    debug
        Let the FMU log everything that it can.
    intermediate
        Inputs that are set within steps, the address of the function that does it, and of
        its table.

    Raises
    ------
    CallFailed
        The FMU returned no instance.
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

    def enter_initialisation(self, begin: float, end: float, tolerance: float | None) -> None:
        """Enter initialisation mode, with start and stop time (s) and relative tolerance."""
        self.call(
            "fmi3EnterInitializationMode",
            tolerance is not None,
            0.0 if tolerance is None else tolerance,
            begin,
            True,
            end,
        )
