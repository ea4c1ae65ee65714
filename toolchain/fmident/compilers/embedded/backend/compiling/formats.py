"""What is done to binaries that are linked.

Sources: ``mach-o/fat.h`` (universal binaries: a table in big-endian order in front of whole files);
Microsoft's "PE Format", section "COFF File Header".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

_MAGIC = 0xCAFEBABE
_MACH_O_64 = 0xFEEDFACF
_ALIGNMENT = 14
"""Of each file, as a power of two: pages of 16 KiB."""


def universal_binary(libraries: Sequence[bytes]) -> bytes:
    """Return one library that holds several, each for another processor.

    Parameters
    ----------
    libraries
        Mach-O files of 64 bits.

    Raises
    ------
    ValueError
        One of them is no such file.
    """
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
    """Return a library of Windows without the time at which it was linked.

    Raises
    ------
    ValueError
        It is no such file.
    """
    if library[:2] != b"MZ":
        raise ValueError("this is not a library of Windows")
    (header,) = struct.unpack_from("<I", library, 0x3C)
    if library[header : header + 4] != b"PE\0\0":
        raise ValueError("this is not a library of Windows")
    return library[: header + 8] + bytes(4) + library[header + 12 :]
