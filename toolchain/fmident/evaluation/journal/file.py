"""One file of records: opened and repaired, appended to, read at random."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import zlib
from pathlib import Path

from fmident.evaluation.journal.records import (
    HEADER_BYTES,
    MAGIC,
    Kind,
    Place,
    Record,
    place_at,
    scan,
)


class RecordFile:
    """A file of records.

    :meth:`append` and :meth:`empty` are for one thread, :meth:`read` for any.

    Parameters
    ----------
    path
        Made when missing. A torn end, as a crash leaves it, is cut off.
    grows_only
        Whether :meth:`empty` is never called.

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

    def __init__(self, path: Path, *, grows_only: bool = True) -> None:
        self.path = path
        self._grows_only = grows_only
        self.places: dict[tuple[Kind, bytes], Place] = {}
        self.notes: list[str] = []
        self.dirty = False
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self.size = self._repair()
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
        pieces = [memoryview(piece) for piece in record.pieces()]
        whole = sum(piece.nbytes for piece in pieces)
        place = place_at(bytes(pieces[0]), self.size)
        assert place is not None
        try:
            written = os.pwritev(self._descriptor, pieces, self.size)
            if written < whole:
                rest = b"".join(pieces)[written:]
                written += os.pwrite(self._descriptor, rest, self.size + written)
            if written < whole:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self.size)
            raise
        self.size += whole
        self.dirty = True
        self.places[place.kind, place.key] = place

    def empty(self) -> None:
        """Forget all records."""
        self.places.clear()
        os.ftruncate(self._descriptor, len(MAGIC))
        self.size = len(MAGIC)

    def read(self, place: Place) -> memoryview | None:
        """Return the payload of a record; ``None`` if it is damaged or gone by now.

        The payload may be changed; the file does not.
        """
        try:
            content = self._mapped(place) if self._grows_only else self._copied(place)
        except (OSError, ValueError):
            return None
        header, payload = content[:HEADER_BYTES], content[HEADER_BYTES:]
        if len(payload) < place.length or place_at(bytes(header), place.offset) != place:
            return None
        return payload if zlib.crc32(payload) == place.check else None

    def _mapped(self, place: Place) -> memoryview:
        # Half the time of reading, which has to find new memory for what it copies.
        begin = place.offset - place.offset % mmap.ALLOCATIONGRANULARITY
        content = mmap.mmap(
            self._descriptor, place.end - begin, access=mmap.ACCESS_COPY, offset=begin
        )
        return memoryview(content)[place.offset - begin :]

    def _copied(self, place: Place) -> memoryview:
        content = bytearray(place.end - place.offset)
        count = os.preadv(self._descriptor, [content], place.offset)
        return memoryview(content)[:count]

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        if self.dirty:
            self.dirty = False
            synchronise = getattr(os, "fdatasync", os.fsync)
            synchronise(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _repair(self) -> int:
        """Take in all sound records, cut off a torn end; return the size that is left."""
        size = os.fstat(self._descriptor).st_size
        if os.pread(self._descriptor, len(MAGIC), 0) != MAGIC:
            if size > len(MAGIC):
                self.notes.append(f"'{self.path}' is no journal of this version: it is begun anew")
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, MAGIC, 0)
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
            os.ftruncate(self._descriptor, end)
            self.notes.append(
                f"the last {size - end} bytes of '{self.path}' were not completely written and "
                "are cut off"
            )
        return end
