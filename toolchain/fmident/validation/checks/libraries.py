"""Whether the libraries in an FMU are for their platforms and export what they must."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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


_MOST = 1_000_000
"""Symbols that are looked at; a damaged file may claim any number."""

_ELF_MACHINES = {3: "x86", 40: "aarch32", 62: "x86_64", 183: "aarch64"}
_PE_MACHINES = {
    0x14C: "x86",
    0x1C0: "aarch32",
    0x1C4: "aarch32",
    0x8664: "x86_64",
    0xAA64: "aarch64",
}
_MACHO_MACHINES = {7: "x86", 12: "aarch32", 0x1000007: "x86_64", 0x100000C: "aarch64"}


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


class UnreadableError(Exception):
    """The file is not a shared library in a format that is known here."""


@dataclass(frozen=True)
class Library:
    """What a file says of itself.

    Parameters
    ----------
    system
        ``linux``, ``windows`` or ``darwin``, by the format.
    machines
        Processors, as FMI 3.0 names them; empty strings for others.
    exports
        Names of the functions that it exports, for the first processor.
    """

    system: str
    machines: tuple[str, ...]
    exports: frozenset[str]


def read_library(data: bytes) -> Library:
    """Read the table of exported names.

    Raises
    ------
    UnreadableError
        Not a shared library, or a damaged one.
    """
    try:
        if data[:4] == b"\x7fELF":
            return _elf(data)
        if data[:2] == b"MZ":
            return _pe(data)
        return _mach_o(data)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise UnreadableError("it is damaged") from error


def _text(data: bytes, at: int) -> str:
    """Return the text at an offset, up to its zero."""
    if not 0 <= at < len(data):
        raise IndexError
    end = data.find(b"\0", at, at + 4096)
    return data[at : end if end >= 0 else at + 4096].decode("latin-1")


def _elf(data: bytes) -> Library:
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    kind, machine = struct.unpack_from(f"{order}HH", data, 16)
    if kind != 3:  # ET_DYN
        raise UnreadableError("it is an ELF file, but no shared library")
    sections = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", data, 40 if wide else 32)[0]
    size, count = struct.unpack_from(f"{order}HH", data, 58 if wide else 46)
    form = f"{order}IIQQQQIIQQ" if wide else f"{order}10I"
    headers = [struct.unpack_from(form, data, sections + i * size) for i in range(count)]
    exports: set[str] = set()
    for header in headers:
        if header[1] != 11:  # SHT_DYNSYM
            continue
        names, entry = headers[header[6]][4], struct.calcsize("<IBBHQQ" if wide else "<IIIBBH")
        for i in range(min(header[5] // entry, _MOST)):
            at = header[4] + i * entry
            if wide:
                name, info, _, section, _, _ = struct.unpack_from(f"{order}IBBHQQ", data, at)
            else:
                name, _, _, info, _, section = struct.unpack_from(f"{order}IIIBBH", data, at)
            if section != 0 and info >> 4 in (1, 2):  # defined here; global or weak
                exports.add(_text(data, names + name))
    return Library("linux", (_ELF_MACHINES.get(machine, ""),), frozenset(exports))


def _pe(data: bytes) -> Library:
    head = struct.unpack_from("<I", data, 0x3C)[0]
    if data[head : head + 4] != b"PE\0\0":
        raise UnreadableError("it is a program for DOS")
    machine, count = struct.unpack_from("<HH", data, head + 4)
    optional_size, flags = struct.unpack_from("<HH", data, head + 20)
    if not flags & 0x2000:  # IMAGE_FILE_DLL
        raise UnreadableError("it is a program for Windows, but no DLL")
    optional = head + 24
    wide = struct.unpack_from("<H", data, optional)[0] == 0x20B
    table = struct.unpack_from("<I", data, optional + (112 if wide else 96))[0]
    sections = [
        struct.unpack_from("<IIII", data, optional + optional_size + 40 * i + 8)
        for i in range(count)
    ]

    def place(address: int) -> int:
        for virtual_size, virtual, raw_size, raw in sections:
            if virtual <= address < virtual + max(virtual_size, raw_size):
                return int(address - virtual + raw)
        raise ValueError

    exports: set[str] = set()
    if table:
        directory = place(table)
        names = struct.unpack_from("<I", data, directory + 24)[0]
        pointers = place(struct.unpack_from("<I", data, directory + 32)[0]) if names else 0
        for i in range(min(names, _MOST)):
            exports.add(_text(data, place(struct.unpack_from("<I", data, pointers + 4 * i)[0])))
    return Library("windows", (_PE_MACHINES.get(machine, ""),), frozenset(exports))


def _mach_o(data: bytes) -> Library:
    magic = data[:4]
    if magic in (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"):  # for several processors
        form = ">iiQQII" if magic[3] == 0xBF else ">iiIII"
        count = struct.unpack_from(">I", data, 4)[0]
        size = struct.calcsize(form)
        parts = [struct.unpack_from(form, data, 8 + i * size) for i in range(min(count, 16))]
        read = [_mach_o_part(data[p[2] : p[2] + p[3]]) for p in parts]
        if not read:
            raise ValueError
        return Library(
            "darwin",
            tuple(r.machines[0] for r in read),
            frozenset.intersection(*(r.exports for r in read)),
        )
    return _mach_o_part(data)


def _mach_o_part(data: bytes) -> Library:
    orders = {b"\xcf\xfa\xed\xfe": ("<", True), b"\xce\xfa\xed\xfe": ("<", False)}
    if data[:4] not in orders:
        raise UnreadableError("it is neither ELF, PE nor Mach-O")
    order, wide = orders[data[:4]]
    machine, _, kind, commands = struct.unpack_from(f"{order}iIII", data, 4)
    if kind not in (6, 8):  # MH_DYLIB, MH_BUNDLE
        raise UnreadableError("it is a Mach-O file, but no library")
    at, exports = 32 if wide else 28, set[str]()
    for _ in range(min(commands, 10_000)):
        command, size = struct.unpack_from(f"{order}II", data, at)
        if command == 2:  # LC_SYMTAB
            symbols, count, names, _ = struct.unpack_from(f"{order}IIII", data, at + 8)
            entry = 16 if wide else 12
            for i in range(min(count, _MOST)):
                name, kind = struct.unpack_from(f"{order}IB", data, symbols + i * entry)
                if kind & 0x01 and kind & 0x0E and not kind & 0x10:  # external, defined, not hidden
                    exports.add(_text(data, names + name).removeprefix("_"))
        at += size
        if size < 8:
            raise ValueError
    return Library("darwin", (_MACHO_MACHINES.get(machine, ""),), frozenset(exports))
