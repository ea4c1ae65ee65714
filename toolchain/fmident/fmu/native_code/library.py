"""The shared library inside an FMU: loading it and finding FMI's functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_void_p
from pathlib import Path
from typing import Any

from fmident.errors import FmuError, Location
from fmident.fmu.native_code.floating import protected, standard_maker
from fmident.fmu.native_code.functions import Functions
from fmident.operating_system import end_after_crash, library_hint, unload_library

OK, WARNING, DISCARD, ERROR, FATAL = range(5)

loaded: list[str] = []
"""Every FMU whose code was loaded in this process; it may run once more when that exits."""


class CallbackFunctions(ctypes.Structure):
    """``fmi2CallbackFunctions``; the functions as addresses."""

    _fields_ = (
        ("logger", c_void_p),
        ("allocate_memory", c_void_p),
        ("free_memory", c_void_p),
        ("step_finished", c_void_p),
        ("component_environment", c_void_p),
    )


class Library:
    """A loaded FMU library.

    Parameters
    ----------
    path
        The shared library.
    fmu
        Path of the FMU, for messages.
    wanted
        The functions of the interface that is going to be used.

    Raises
    ------
    FmuError
        The loader refuses the library, or one of FMI's functions is missing.
    """

    def __init__(self, path: Path, fmu: str, wanted: Functions) -> None:
        try:
            self._handle = protected(lambda: ctypes.CDLL(str(path)))
        except OSError as error:
            raise FmuError(
                f"the FMU's library cannot be loaded: {error}",
                location=Location(fmu),
                hint=library_hint(str(error))
                or "was the FMU built for this machine? 'file' on the library inside shows",
            ) from error
        loaded.append(fmu)
        self.functions: dict[str, Callable[..., Any]] = {}
        self._addresses: dict[str, int] = {}
        missing: list[str] = []
        for name, (result, arguments) in wanted.signatures.items():
            function = getattr(self._handle, name, None)
            if function is None:
                if name in wanted.required:
                    missing.append(name)
                continue
            function.restype = result
            function.argtypes = arguments
            self.functions[name] = _restoring(function)
            self._addresses[name] = ctypes.cast(function, c_void_p).value or 0
        if missing:
            self.unload()
            raise FmuError(
                f"the FMU's library lacks the function {', '.join(missing)}",
                location=Location(fmu),
                hint=f"every FMU of {wanted.standard} must export it; export the FMU again",
            )

    def address(self, name: str) -> int:
        """Return the address of a function, 0 when the FMU lacks it."""
        return self._addresses.get(name, 0)

    def unload(self) -> None:
        """Remove the library from the process. No instance may be alive."""
        self.functions = {}
        protected(lambda: unload_library(self._handle._handle))


def _restoring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with the standard floating-point state after each call."""
    make_standard = standard_maker()

    def call(*arguments: Any) -> Any:
        try:
            result = function(*arguments)
        except OSError as error:
            end_after_crash(error)
            raise
        make_standard()
        return result

    return call
