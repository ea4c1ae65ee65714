"""What an FMU shows its users: documentation, icon, terminals."""

from __future__ import annotations

from fmident.compilers.embedded.backend.description.arrays import declarations
from fmident.compilers.embedded.backend.documentation.page import page
from fmident.compilers.embedded.backend.documentation.terminals import FOLDER, terminals_and_icons
from fmident.compilers.embedded.backend.layout import Layout
from fmident.compilers.embedded.model import OdeModel, Version


def documentation_members(model: OdeModel, layout: Layout, version: Version) -> dict[str, bytes]:
    """Return the members of the archive that describe the model to its users.

    Parameters
    ----------
    model
        The model with its presentation.
    layout
        Its variables as the FMU shows them.
    version
        Of FMI: 2.0 has the icon as ``model.png``, too, and no arrays.

    Returns
    -------
    dict
        Content by name: ``documentation/index.html``, and where the class has an icon or
        connectors, files in ``terminalsAndIcons/``. They depend on the model only.
    """
    if version == "2.0":
        shown = [(v.name, v.causality) for v in layout.variables]
    else:
        shown = [(d.name, d.first.causality) for d in declarations(layout.variables)]
    interface = [name for name, causality in shown if causality in ("input", "output")]
    found = {"documentation/index.html": page(model).encode()}
    found |= terminals_and_icons(model.presentation, interface)
    icon = found.get(f"{FOLDER}/icon.png")
    return {"model.png": icon, **found} if icon and version == "2.0" else found
