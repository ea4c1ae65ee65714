"""One file of records: opened and repaired, appended to, read at random."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import numpy as np

from fmident.evaluation.journal.records import (
    HEADER_BYTES,
    MAGIC,
    Kind,
    Place,
    Record,
    is_sound,
    place_at,
    scan,
    written_bytes,
)
from fmident.operating_system import (
    open_record_file,
    read_at,
    read_into,
    synchronise,
    write_at,
    write_room,
)

AHEAD_BYTES = 4_000_000
"""Room that a file has beyond its end while it is written; zeros that a killed run leaves."""


class RecordFile:
    """A file of records.

    :meth:`append` and :meth:`empty` are for one thread, :meth:`read` for any.

    Parameters
    ----------
    path
        Made when missing. A torn end, as a crash leaves it, is cut off.

    Attributes
    ----------
    places
        Key and kind to the place of the last record of them.
    earlier
        Keys that were there when the file was opened.
    size
        Bytes that are in good order.
    notes
        What was wrong with it.

    Raises
    ------
    OSError
        It can be neither read nor made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: dict[tuple[Kind, bytes], Place] = {}
        self.notes: list[str] = []
        self.dirty = False
        self._descriptor = open_record_file(path)
        try:
            self.size = self._set_aside = self._repair()
        except BaseException:
            os.close(self._descriptor)
            raise
        self.earlier = {key for kind, key in self.places if kind is not Kind.COSTS}

    def append(self, record: Record) -> None:
        """Write a record at the end.

        Raises
        ------
        OSError
            Nothing of the record is left in the file.
        """
        head, rest = record.pieces()
        whole = len(head) + len(rest)
        place = place_at(head, self.size)
        assert place is not None
        if self.size + whole > self._set_aside:
            self._set_room_aside(self.size + whole)
        try:
            written = write_at(self._descriptor, (head, rest), self.size)
            if written < whole:
                left = (head + bytes(rest))[written:]
                written += write_at(self._descriptor, (left,), self.size + written)
            if written < whole:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        except OSError:
            with contextlib.suppress(OSError):
                self._cut()
            raise
        self.size += whole
        self.dirty = True
        self.places[place.kind, place.key] = place

    def empty(self) -> None:
        """Forget all records."""
        self.places.clear()
        self.size = len(MAGIC)
        self._cut()

    def read(self, place: Place) -> memoryview | None:
        """Return a copy of the payload of a record; ``None`` if it is damaged or gone by now."""
        # Not mapped: each map would hold a descriptor, of which there are often only 1024.
        content = np.empty(HEADER_BYTES + place.length, np.uint8).data
        try:
            count = read_into(self._descriptor, content, place.offset)
        except OSError:
            return None
        header, payload = bytes(content[:HEADER_BYTES]), content[HEADER_BYTES:]
        if count < len(content) or place_at(header, place.offset) != place:
            return None
        return payload if is_sound(payload, place) else None

    def _set_room_aside(self, needed: int) -> None:
        """Have the file grow by many records at once, which nearly halves the time of writing."""
        self._set_aside = needed + AHEAD_BYTES
        write_room(self._descriptor, self.size, self._set_aside - self.size)

    def _cut(self) -> None:
        """Give back what was set aside."""
        os.ftruncate(self._descriptor, self.size)
        self._set_aside = self.size

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        if self.dirty:
            self.dirty = False
            synchronise(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._cut()
        os.close(self._descriptor)

    def _repair(self) -> int:
        """Take in all sound records, cut off a torn end; return the size that is left."""
        size = os.fstat(self._descriptor).st_size
        if read_at(self._descriptor, len(MAGIC), 0) != MAGIC:
            if next(scan(self._descriptor), None) is not None:
                self.notes.append(
                    f"the first {len(MAGIC)} bytes of '{self.path}' were damaged; the simulations"
                    " in it are not"
                )
                write_at(self._descriptor, (MAGIC,), 0)
                return self._repair()
            if size > len(MAGIC):
                self.notes.append(
                    f"'{self.path}' is not a journal of this version: it is begun anew"
                )
            os.ftruncate(self._descriptor, 0)
            write_at(self._descriptor, (MAGIC,), 0)
            return len(MAGIC)
        end, damaged, last = len(MAGIC), 0, None
        for place in scan(self._descriptor):
            damaged += place.offset - end
            end, last = place.end, place
            self.places[place.kind, place.key] = place
        if last is not None and self.read(last) is None:
            # The length was written, but not all of the content: a power failure does that.
            del self.places[last.kind, last.key]
            end = last.offset
        if damaged:
            self.notes.append(
                f"{damaged} bytes in the middle of '{self.path}' are damaged; the simulations in "
                "there are run again"
            )
        if size > end:
            torn = written_bytes(self._descriptor, end)
            os.ftruncate(self._descriptor, end)
            if torn:
                self.notes.append(
                    f"the last {torn} bytes of '{self.path}' were not completely written and "
                    "are cut off"
                )
        return end
