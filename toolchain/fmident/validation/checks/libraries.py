"""Whether the libraries in an FMU are for their platforms and export what they must."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from fmident.validation.symbols import UnreadableError, read_library

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
_MOST_SHOWN = 6

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


def required_functions(major: int, interfaces: Sequence[str]) -> frozenset[str]:
    """Return the functions that a library for some interfaces must export."""
    if major == 3:
        names = _OTHERS_3.split()
        names += [f"{way}{t}" for t in _TYPED_3.split() for way in ("Get", "Set")]
    else:
        names = _COMMON_2.split()
        names += _EXCHANGE_2.split() * ("ModelExchange" in interfaces)
        names += _SIMULATION_2.split() * ("CoSimulation" in interfaces)
    return frozenset(f"fmi{major}{name}" for name in names)


def library_findings(
    major: int,
    interfaces: Mapping[str, Sequence[str]],
    members: set[str],
    read: Callable[[str], bytes | None],
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with libraries: the rule and the finding.

    Parameters
    ----------
    major
        Version of FMI.
    interfaces
        `modelIdentifier` to the interfaces that have it.
    members
        Names of the archive's files.
    read
        Returns the content of one, ``None`` for one that is far too large.
    """
    for folder in sorted({m.split("/")[1] for m in members if re.match(r"binaries/[^/]+/.", m)}):
        system = _system_of(folder)
        if system is None:
            continue  # a vendor's name
        names = {i: f"binaries/{folder}/{i}{_ENDINGS[system[0]]}" for i in interfaces}
        static = {f"binaries/{folder}/{i}{e}" for i in interfaces for e in (".lib", ".a")}
        if not members & {*names.values(), *static}:
            yield "library", "there is no " + " or ".join(f"'{n}'" for n in names.values())
        for identifier, name in names.items():
            if name not in members:
                continue
            content = read(name)
            if content is None:
                continue
            try:
                library = read_library(content)
            except UnreadableError as error:
                yield "library", f"'{name}' is not a shared library: {error}"
                continue
            if library.system != system[0] or system[1] not in library.machines:
                machines = " and ".join(m or "another processor" for m in library.machines)
                yield "library", f"'{name}' is a library for {library.system} on {machines}"
                continue
            missing = sorted(required_functions(major, interfaces[identifier]) - library.exports)
            if missing:
                more = len(missing) - _MOST_SHOWN
                shown = ", ".join(missing[:_MOST_SHOWN]) + (f" and {more} more" * (more > 0))
                yield "functions", f"'{name}' does not export {shown}"


def _system_of(folder: str) -> tuple[str, str] | None:
    if folder in _NAMES_2:
        return _NAMES_2[folder]
    match = _TUPLE.fullmatch(folder)
    return None if match is None else (match[2], match[1])
