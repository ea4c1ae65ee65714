"""Post-processing of linked binaries.

Sources: ``mach-o/fat.h`` (universal binaries: a big-endian table followed by whole
files); Microsoft's "PE Format", section "COFF File Header"; System V ABI, "ELF Header".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

_MAGIC = 0xCAFEBABE
_MACH_O_64 = 0xFEEDFACF
_ELF_64 = b"\x7fELF\x02\x01"
_ELF_MACHINES = {62: "x86_64-linux", 183: "aarch64-linux"}
_PE_MACHINES = {0x8664: "x86_64-windows"}
_MACH_O_PROCESSORS = {0x01000007: "x86_64-darwin", 0x0100000C: "aarch64-darwin"}
_ALIGNMENT = 14
"""Of each file, as a power of two: pages of 16 KiB."""


SIZES_FILE = "model_sizes.h"
KIND_FILE = "model_kind.h"
DATA_FILE = "model_data.c"
FUNCTIONS_FILE = "model_functions.c"
LANES_FILE = "model_lanes.h"
FMI3_FILE = "model_fmi3.c"
"""A model with this file becomes an FMU of FMI 3.0."""


def universal_binary(libraries: Sequence[bytes]) -> bytes:
    """Combine 64-bit Mach-O libraries for different processors into one universal binary."""
    table = [struct.pack(">II", _MAGIC, len(libraries))]
    content = []
    position = 1 << _ALIGNMENT
    for library in libraries:
        magic, processor, kind = struct.unpack_from("<III", library)
        if magic != _MACH_O_64:
            raise ValueError("this is not a Mach-O file of 64 bits")
        table.append(struct.pack(">IIIII", processor, kind, position, len(library), _ALIGNMENT))
        room = -len(library) % (1 << _ALIGNMENT)
        content.append(library + bytes(room))
        position += len(library) + room
    content[-1] = libraries[-1]
    header = b"".join(table)
    return header + bytes((1 << _ALIGNMENT) - len(header)) + b"".join(content)


def without_link_time(library: bytes) -> bytes:
    """Return a Windows library with its link time removed."""
    if library[:2] != b"MZ":
        raise ValueError("this is not a library of Windows")
    (header,) = struct.unpack_from("<I", library, 0x3C)
    if library[header : header + 4] != b"PE\0\0":
        raise ValueError("this is not a library of Windows")
    return library[: header + 8] + bytes(4) + library[header + 12 :]


def platform_of(library: bytes) -> str | None:
    """Return the FMI 3.0 platform of a library, such as ``"x86_64-linux"``, if supported."""
    head = library[:64].ljust(64, b"\0")
    if head.startswith(_ELF_64):
        return _ELF_MACHINES.get(struct.unpack_from("<H", head, 18)[0])
    magic, processor = struct.unpack_from("<II", head)
    if magic == _MACH_O_64:
        return _MACH_O_PROCESSORS.get(processor)
    if head.startswith(b"MZ"):
        (at,) = struct.unpack_from("<I", head, 0x3C)
        signature, machine = library[at : at + 4], library[at + 4 : at + 6]
        if signature == b"PE\0\0" and len(machine) == 2:
            return _PE_MACHINES.get(int.from_bytes(machine, "little"))
    return None
