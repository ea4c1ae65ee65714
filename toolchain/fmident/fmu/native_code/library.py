"""The shared library inside an FMU: loading it and finding FMI's functions.

Which C functions an FMU exports, by version and interface.

Sources: FMI specification 2.0.4, fmi2FunctionTypes.h; FMI specification 3.0.1,
fmi3FunctionTypes.h. Arrays and structures are passed by address.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import c_bool, c_char_p, c_double, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident.errors import FmuError, Location
from fmident.fmu.model_description.description import InterfaceKind
from fmident.fmu.native_code.floating import protected, standard_maker
from fmident.operating_system import end_after_crash, library_hint, unload_library

OK, WARNING, DISCARD, ERROR, FATAL = range(5)

loaded: list[str] = []
"""Every FMU whose code was loaded in this process; it may run once more when that exits."""


Signature = tuple[Any, tuple[Any, ...]]
"""Result and arguments, as ctypes has them."""


class CallbackFunctions(ctypes.Structure):
    """``fmi2CallbackFunctions``, with functions as addresses."""

    _fields_ = (
        ("logger", c_void_p),
        ("allocate_memory", c_void_p),
        ("free_memory", c_void_p),
        ("step_finished", c_void_p),
        ("component_environment", c_void_p),
    )


class Library:
    """A loaded FMU library with the `wanted` functions."""

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
        """Return the address of a function, 0 if the FMU lacks it."""
        return self._addresses.get(name, 0)

    def unload(self) -> None:
        """Unload the library from the process. No instance may be alive."""
        self.functions = {}
        protected(lambda: unload_library(self._handle._handle))


def _restoring(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with the standard floating-point state restored after each call."""
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


@dataclass(frozen=True)
class Functions:
    """Functions of one version and interface, and names of the indispensable ones."""

    standard: str
    signatures: Mapping[str, Signature]
    required: frozenset[str]


def functions_of(fmi_version: str, kind: InterfaceKind) -> Functions:
    """Return the functions of an interface."""
    common, special, optional = (
        (_COMMON_3, _SPECIAL_3[kind], _OPTIONAL_3)
        if fmi_version.startswith("3.")
        else (_COMMON_2, _SPECIAL_2[kind], _OPTIONAL_2)
    )
    words = {"co-simulation": "Co-Simulation", "model-exchange": "Model Exchange"}[kind]
    return Functions(
        f"FMI {fmi_version} for {words}",
        optional | common | special,
        frozenset(common) | frozenset(special),
    )


def _status(*arguments: Any) -> Signature:
    return (c_int, (c_void_p, *arguments))


_ARRAY = (c_void_p, c_size_t, c_void_p)  # references, their number, values
_VECTOR = (c_void_p, c_size_t)

_EXTENSIONS: dict[str, Signature] = {
    "fmidentSetSensitivityVariables": _status(*_VECTOR),
    "fmidentGetSensitivities": _status(*_ARRAY),
}

_COMMON_2: dict[str, Signature] = {
    "fmi2Instantiate": (
        c_void_p,
        (c_char_p, c_int, c_char_p, c_char_p, c_void_p, c_int, c_int),
    ),
    "fmi2FreeInstance": (None, (c_void_p,)),
    "fmi2SetupExperiment": _status(c_int, c_double, c_double, c_int, c_double),
    "fmi2EnterInitializationMode": _status(),
    "fmi2ExitInitializationMode": _status(),
    "fmi2Terminate": _status(),
    "fmi2Reset": _status(),
    "fmi2GetReal": _status(*_ARRAY),
    "fmi2GetInteger": _status(*_ARRAY),
    "fmi2GetBoolean": _status(*_ARRAY),
    "fmi2SetReal": _status(*_ARRAY),
    "fmi2SetInteger": _status(*_ARRAY),
    "fmi2SetBoolean": _status(*_ARRAY),
    "fmi2SetString": _status(*_ARRAY),
}
_SPECIAL_2: dict[InterfaceKind, dict[str, Signature]] = {
    "co-simulation": {"fmi2DoStep": _status(c_double, c_double, c_int)},
    "model-exchange": {
        "fmi2EnterEventMode": _status(),
        "fmi2NewDiscreteStates": _status(c_void_p),
        "fmi2EnterContinuousTimeMode": _status(),
        "fmi2CompletedIntegratorStep": _status(c_int, c_void_p, c_void_p),
        "fmi2SetTime": _status(c_double),
        "fmi2SetContinuousStates": _status(*_VECTOR),
        "fmi2GetDerivatives": _status(*_VECTOR),
        "fmi2GetEventIndicators": _status(*_VECTOR),
        "fmi2GetContinuousStates": _status(*_VECTOR),
        "fmi2GetNominalsOfContinuousStates": _status(*_VECTOR),
    },
}
_OPTIONAL_2: dict[str, Signature] = {
    "fmi2SetDebugLogging": _status(c_int, c_size_t, c_void_p),
    "fmi2SetRealInputDerivatives": _status(c_void_p, c_size_t, c_void_p, c_void_p),
    "fmi2GetRealStatus": _status(c_int, c_void_p),
    "fmi2GetBooleanStatus": _status(c_int, c_void_p),
    "fmi2GetDirectionalDerivative": _status(
        c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_void_p
    ),
    **_EXTENSIONS,
}

NUMBER_TYPES_3 = (
    "Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64",
    "UInt64", "Boolean",
)  # fmt: skip
"""FMI 3.0's types of which values are numbers; Enumerations are Int64 to its functions."""

_ARRAY_3 = (*_ARRAY, c_size_t)
_COMMON_3: dict[str, Signature] = {
    "fmi3FreeInstance": (None, (c_void_p,)),
    "fmi3EnterInitializationMode": _status(c_bool, c_double, c_double, c_bool, c_double),
    "fmi3ExitInitializationMode": _status(),
    "fmi3Terminate": _status(),
    "fmi3Reset": _status(),
}
_MODES_3: dict[str, Signature] = {
    "fmi3EnterEventMode": _status(),
    "fmi3UpdateDiscreteStates": _status(*(c_void_p,) * 6),
}
_INSTANTIATE_3 = (c_char_p, c_char_p, c_char_p, c_bool, c_bool)
_SPECIAL_3: dict[InterfaceKind, dict[str, Signature]] = {
    "co-simulation": {
        "fmi3InstantiateCoSimulation": (
            c_void_p,
            (
                *_INSTANTIATE_3, c_bool, c_bool, c_void_p, c_size_t, c_void_p, c_void_p,
                c_void_p,
            ),
        ),
        "fmi3DoStep": _status(c_double, c_double, c_bool, *(c_void_p,) * 4),
    },
    "model-exchange": {
        "fmi3InstantiateModelExchange": (c_void_p, (*_INSTANTIATE_3, c_void_p, c_void_p)),
        **_MODES_3,
        "fmi3EnterContinuousTimeMode": _status(),
        "fmi3CompletedIntegratorStep": _status(c_bool, c_void_p, c_void_p),
        "fmi3SetTime": _status(c_double),
        "fmi3SetContinuousStates": _status(*_VECTOR),
        "fmi3GetContinuousStateDerivatives": _status(*_VECTOR),
        "fmi3GetEventIndicators": _status(*_VECTOR),
        "fmi3GetContinuousStates": _status(*_VECTOR),
        "fmi3GetNominalsOfContinuousStates": _status(*_VECTOR),
        "fmi3GetNumberOfContinuousStates": _status(c_void_p),
        "fmi3GetNumberOfEventIndicators": _status(c_void_p),
    },
}  # fmt: skip
_OPTIONAL_3: dict[str, Signature] = {
    **{f"fmi3{verb}{t}": _status(*_ARRAY_3) for t in NUMBER_TYPES_3 for verb in ("Get", "Set")},
    **_MODES_3,
    "fmi3SetString": _status(*_ARRAY_3),
    "fmi3EnterStepMode": _status(),
    "fmi3EnterConfigurationMode": _status(),
    "fmi3ExitConfigurationMode": _status(),
    "fmi3SetDebugLogging": _status(c_bool, c_size_t, c_void_p),
    "fmi3GetDirectionalDerivative": _status(*(c_void_p, c_size_t) * 4),
    **_EXTENSIONS,
}
