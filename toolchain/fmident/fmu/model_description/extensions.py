"""Extensions of FMI that an FMU may have: a file in the archive says so, and names the functions.

They are specified in ``docs/reference/sensitivities.md`` and ``docs/reference/batches.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from fmident.fmu.archive import Archive

_VERSION = 1

_LARGEST = 65536
"""Bytes of the file; what is larger is none of these."""


@dataclass(frozen=True)
class Extension:
    """Functions that FMI does not have.

    Parameters
    ----------
    member
        The file in the archive.
    functions
        Names of the functions in the FMU's library, by what they do.
    """

    member: str
    functions: Mapping[str, str] = field(hash=False)

    @property
    def text(self) -> str:
        """Content of the file."""
        return json.dumps({"version": _VERSION, **self.functions}, indent=2) + "\n"

    def offered_by(self, archive: Archive) -> bool:
        """Return whether an FMU has this version of the extension; no native code is loaded.

        An FMU with a file of another version, or with other names in it, counts as one without.

        Raises
        ------
        FmuError
            The file is damaged.
        """
        entry = archive.members.get(PurePosixPath(self.member))
        if entry is None or entry.file_size > _LARGEST:
            return False
        try:
            found = json.loads(archive.read(self.member))
        except (ValueError, RecursionError):
            return False
        wanted = {"version": _VERSION, **self.functions}
        return isinstance(found, dict) and all(found.get(k) == v for k, v in wanted.items())


SENSITIVITIES = Extension(
    "extra/fmident/sensitivities.json",
    {"set": "fmidentSetSensitivityVariables", "get": "fmidentGetSensitivities"},
)
BATCHES = Extension(
    "extra/fmident/batches.json",
    {"start": "fmidentStartBatch", "advance": "fmidentAdvanceBatch", "end": "fmidentEndBatch"},
)
