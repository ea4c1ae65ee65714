"""``documentation/licenses/``: the licences of what an FMU contains besides the model.

Source: FMI specification 3.0.2, section 2.5.1.1.1, which wants ``license.txt`` in this folder.
"""

from __future__ import annotations

from collections.abc import Mapping

FOLDER = "documentation/licenses"

_TEXT = """\
Licences of what is in this FMU

The model: as its Modelica source.

The runtime of fmident, in the libraries and in the C sources: Apache License 2.0
(SPDX: Apache-2.0), https://www.apache.org/licenses/LICENSE-2.0
"""


def licence_members(texts: Mapping[str, str]) -> dict[str, bytes]:
    """Return the members of the archive.

    Parameters
    ----------
    texts
        Licence texts of libraries that are linked in, by the name of the file.
    """
    entry = _TEXT
    if texts:
        entry += "\nLibraries that are linked in; their texts are beside this file:\n"
        entry += "".join(f"- {name}\n" for name in texts)
    files = {"license.txt": entry, **texts}
    return {f"{FOLDER}/{name}": text.encode() for name, text in files.items()}
