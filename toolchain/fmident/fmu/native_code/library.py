"""The shared library inside an FMU: loading it and finding FMI's functions.

FMPy knows the arguments of FMI's functions. Its own loader is not used: it refuses an FMU that
lacks any of them, and a function would not be protected, see ``floating``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from ctypes import c_bool, c_char_p, c_double, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident.errors import FmuError, Location
from fmident.fmu.model_description.description import InterfaceKind
from fmident.fmu.native_code.floating import standard_floating_point
from fmident.fmu.native_code.loops import loops
from fmident.operating_system import end_after_crash, library_hint

with contextlib.redirect_stdout(sys.stderr):  # it prints where it has no logger for this machine
    import fmpy as fmpy
    from fmpy import fmi2 as fmi2
    from fmpy import fmi3

OK, WARNING, DISCARD, ERROR, FATAL = range(5)

loaded: list[str] = []
"""Every FMU whose code was loaded in this process; it may run once more when that exits."""


Signature = tuple[Any, tuple[Any, ...]]
"""Result and arguments, as ctypes has them."""


class Library:
    """A loaded FMU library with the `wanted` functions."""

    def __init__(self, path: Path, fmu: str, wanted: Functions) -> None:
        try:
            with standard_floating_point():
                self._handle = ctypes.CDLL(str(path))
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
        """Return the address of a function, 0 if the FMU lacks it."""
        return self._addresses.get(name, 0)

    def unload(self) -> None:
        """Unload the library from the process. No instance may be alive."""
        self.functions.clear()  # instances that are still there see that it is gone
        with standard_floating_point():
            fmpy.freeLibrary(self._handle._handle)


def _restoring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with the standard floating-point state restored after each call."""
    restore = loops().restore_floating_point

    def call(*arguments: Any) -> Any:
        try:
            result = function(*arguments)
        except OSError as error:
            end_after_crash(error)
            raise
        restore()
        return result

    return call


@dataclass(frozen=True)
class Functions:
    """Functions of one version and interface, and names of the indispensable ones."""

    standard: str
    signatures: Mapping[str, Signature]
    required: frozenset[str]


_CLASSES: dict[tuple[str, InterfaceKind], type] = {
    ("fmi2", "co-simulation"): fmi2.FMU2Slave,
    ("fmi2", "model-exchange"): fmi2.FMU2Model,
    ("fmi3", "co-simulation"): fmi3.FMU3Slave,
    ("fmi3", "model-exchange"): fmi3.FMU3Model,
}

_EVENTS = (
    "EnterEventMode EnterContinuousTimeMode CompletedIntegratorStep SetTime SetContinuousStates"
    " GetEventIndicators GetContinuousStates GetNominalsOfContinuousStates"
)
_COMMON = {
    "fmi2": "Instantiate FreeInstance SetupExperiment EnterInitializationMode"
    " ExitInitializationMode Terminate Reset GetReal GetInteger GetBoolean SetReal SetInteger"
    " SetBoolean SetString",
    "fmi3": "FreeInstance EnterInitializationMode ExitInitializationMode Terminate Reset",
}
_SPECIAL: dict[tuple[str, InterfaceKind], str] = {
    ("fmi2", "co-simulation"): "DoStep",
    ("fmi2", "model-exchange"): f"{_EVENTS} NewDiscreteStates GetDerivatives",
    ("fmi3", "co-simulation"): "InstantiateCoSimulation DoStep",
    ("fmi3", "model-exchange"): f"{_EVENTS} InstantiateModelExchange UpdateDiscreteStates"
    " GetContinuousStateDerivatives GetNumberOfContinuousStates GetNumberOfEventIndicators",
}
"""The functions without which an FMU cannot be simulated; others may be lacking."""

_EXTENSIONS: dict[str, Signature] = {
    "fmidentSetSensitivityVariables": (c_int, (c_void_p, c_void_p, c_size_t)),
    "fmidentGetSensitivities": (c_int, (c_void_p, c_void_p, c_size_t, c_void_p)),
}


@functools.cache
def functions_of(fmi_version: str, kind: InterfaceKind) -> Functions:
    """Return the functions of an interface."""
    prefix = f"fmi{fmi_version[0]}"
    methods = inspect.getmembers(_CLASSES[prefix, kind], inspect.isfunction)
    signatures = {name: _signature(m) for name, m in methods if name.startswith(prefix)}
    required = f"{_COMMON[prefix]} {_SPECIAL[prefix, kind]}".split()
    words = {"co-simulation": "Co-Simulation", "model-exchange": "Model Exchange"}[kind]
    return Functions(
        f"FMI {fmi_version} for {words}",
        signatures | _EXTENSIONS,
        frozenset(prefix + name for name in required),
    )


_BY_VALUE = (c_bool, c_char_p, c_double, c_int, c_size_t)


def _signature(method: Callable[..., Any]) -> Signature:
    """Return the C types of a function from its method in FMPy; pointers are addresses."""
    signature = inspect.signature(method)
    _, *kinds = (p.annotation for p in signature.parameters.values())
    kinds = [typing.get_args(k)[0] if isinstance(k, types.UnionType) else k for k in kinds]
    result = signature.return_annotation
    arguments = tuple(kind if kind in _BY_VALUE else c_void_p for kind in kinds)
    return {int: c_int, bytes: c_char_p}.get(result, result), arguments
