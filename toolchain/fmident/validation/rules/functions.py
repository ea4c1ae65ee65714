"""The functions of an interface, and the libraries that must export them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from fmident.validation.rules.document import Document, Element
from fmident.validation.rules.registry import Finding
from fmident.validation.symbols import Library, UnreadableError, read_library

_NAMES_2 = {
    "win32": ("windows", "x86"),
    "win64": ("windows", "x86_64"),
    "linux32": ("linux", "x86"),
    "linux64": ("linux", "x86_64"),
    "darwin32": ("darwin", "x86"),
    "darwin64": ("darwin", "x86_64"),
}
_TUPLE = re.compile(r"(aarch32|aarch64|x86|x86_64)-(darwin|linux|windows)")
_ENDINGS = {"windows": ".dll", "linux": ".so", "darwin": ".dylib"}

_COMMON_2 = """
GetTypesPlatform GetVersion SetDebugLogging Instantiate FreeInstance SetupExperiment
EnterInitializationMode ExitInitializationMode Terminate Reset GetReal GetInteger GetBoolean
GetString SetReal SetInteger SetBoolean SetString GetFMUstate SetFMUstate FreeFMUstate
SerializedFMUstateSize SerializeFMUstate DeSerializeFMUstate GetDirectionalDerivative
"""
_EXCHANGE_2 = """
EnterEventMode NewDiscreteStates EnterContinuousTimeMode CompletedIntegratorStep SetTime
SetContinuousStates GetDerivatives GetEventIndicators GetContinuousStates
GetNominalsOfContinuousStates
"""
_SIMULATION_2 = """
SetRealInputDerivatives GetRealOutputDerivatives DoStep CancelStep GetStatus GetRealStatus
GetIntegerStatus GetBooleanStatus GetStringStatus
"""
_TYPED_3 = """
Float32 Float64 Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64 Boolean String Binary Clock
IntervalDecimal IntervalFraction ShiftDecimal ShiftFraction FMUState
"""
_OTHERS_3 = """
GetVersion SetDebugLogging InstantiateModelExchange InstantiateCoSimulation
InstantiateScheduledExecution FreeInstance EnterInitializationMode ExitInitializationMode
EnterEventMode Terminate Reset EvaluateDiscreteStates UpdateDiscreteStates
GetNumberOfVariableDependencies GetVariableDependencies FreeFMUState SerializedFMUStateSize
SerializeFMUState DeserializeFMUState GetDirectionalDerivative GetAdjointDerivative
EnterConfigurationMode ExitConfigurationMode EnterContinuousTimeMode CompletedIntegratorStep
SetTime SetContinuousStates GetContinuousStateDerivatives GetEventIndicators GetContinuousStates
GetNominalsOfContinuousStates GetNumberOfEventIndicators GetNumberOfContinuousStates EnterStepMode
GetOutputDerivatives DoStep ActivateModelPartition
"""

Read = Callable[[str], bytes | None]


def required_functions(major: int, interfaces: list[str]) -> frozenset[str]:
    """Return the functions that a library for some interfaces must export."""
    if major == 3:
        found = _OTHERS_3.split()
        found += [f"{way}{t}" for t in _TYPED_3.split() for way in ("Get", "Set")]
    else:
        found = _COMMON_2.split()
        if "ModelExchange" in interfaces:
            found += _EXCHANGE_2.split()
        if "CoSimulation" in interfaces:
            found += _SIMULATION_2.split()
    return frozenset(f"fmi{major}{name}" for name in found)


def system_of(folder: str) -> tuple[str, str] | None:
    """Return system and processor of a folder of binaries; ``None`` for a vendor's name."""
    if folder in _NAMES_2:
        return _NAMES_2[folder]
    match = _TUPLE.fullmatch(folder)
    return None if match is None else (match[2], match[1])


def check_binaries(document: Document, members: set[str], read: Read) -> Iterator[Finding]:
    """Yield what is wrong with libraries.

    Parameters
    ----------
    document
        The model description.
    members
        Names of the archive's files.
    read
        Returns the content of one; ``None`` if it cannot be had.
    """
    by_identifier: dict[str, list[Element]] = {}
    for interface in document.interfaces:
        by_identifier.setdefault(interface.get("modelIdentifier") or "", []).append(interface)
    by_identifier.pop("", None)
    folders = sorted({m.split("/")[1] for m in members if re.match(r"binaries/[^/]+/.", m)})
    for folder in folders:
        system = system_of(folder)
        if system is None or not by_identifier:
            continue
        names = {i: f"binaries/{folder}/{i}{_ENDINGS[system[0]]}" for i in by_identifier}
        there = {i: n for i, n in names.items() if n in members}
        if not there and not _static(members, folder, by_identifier):
            expected = " or ".join(f"'{n}'" for n in names.values())
            lines = [e.line for group in by_identifier.values() for e in group]
            yield Finding("library", f"there is no {expected}", lines[0])
        for identifier, name in there.items():
            content = read(name)
            if content is not None:
                tags = [e.tag for e in by_identifier[identifier]]
                yield from _library(document, name, content, system, tags)


def _static(members: set[str], folder: str, identifiers: dict[str, list[Element]]) -> bool:
    """Whether a folder has static libraries."""
    ends = tuple(f"/{i}{e}" for i in identifiers for e in (".lib", ".a"))
    return any(m.startswith(f"binaries/{folder}/") and m.endswith(ends) for m in members)


def _library(
    document: Document, name: str, content: bytes, system: tuple[str, str], interfaces: list[str]
) -> Iterator[Finding]:
    try:
        library: Library = read_library(content)
    except UnreadableError as error:
        yield Finding("binary", f"this is not a shared library: {error}", None, name)
        return
    if library.system != system[0] or system[1] not in library.machines:
        machines = " and ".join(m or "another processor" for m in library.machines)
        yield Finding("binary", f"this is a library for {library.system} on {machines}", None, name)
        return
    missing = sorted(required_functions(document.major, interfaces) - library.exports)
    if missing:
        shown = ", ".join(missing[:6]) + (f" and {len(missing) - 6} more" * (len(missing) > 6))
        yield Finding("functions", f"these functions are not exported: {shown}", None, name)
