"""From a causalised model to the FMU file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from fmident.compilers.embedded.backend.archive import write_archive
from fmident.compilers.embedded.backend.codegen import SIZES_FILE, generate
from fmident.compilers.embedded.backend.description import (
    GUID_PLACEHOLDER,
    fmi2,
    fmi3,
    model_identifier,
)
from fmident.compilers.embedded.backend.fmi3 import fmi3_code
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.compilers.embedded.backend.toolchain import (
    compile_binary,
    find_toolchain,
    platform_folder,
    platform_tuple,
    runtime_files,
)
from fmident.compilers.embedded.model import OdeModel, Version
from fmident.errors import CompilationError
from fmident.fmu.model_description.extensions import BATCHES, SENSITIVITIES
from fmident.fmu.processes.scratch import ScratchFolder

DEFAULT_TOLERANCE = 1e-6


def content_guid(*texts: str) -> str:
    """Return an identifier in the form of a GUID that depends on nothing but the texts."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\0")
    h = digest.hexdigest()
    return f"{{{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}}}"


def build_fmu(
    model: OdeModel,
    output: Path,
    *,
    generation_tool: str,
    tolerance: float | None = None,
    optimization: int = 2,
    integrator: str = "auto",
    version: Version = "2.0",
    resources: Mapping[str, bytes] | None = None,
) -> None:
    """Write the FMU of a model.

    Parameters
    ----------
    model
        The causalised model.
    output
        The file; replaced only by a good one.
    generation_tool
        Name and version of this compiler, for the model description.
    tolerance
        Default relative tolerance; ``None`` takes the model's, else 1e-6.
    optimization
        Optimisation level of the C compiler, 0 to 3.
    integrator
        One of :data:`~fmident.compilers.embedded.model.INTEGRATORS`.
    version
        Of FMI.
    resources
        Further files, name in the archive's folder ``resources`` to content.

    Raises
    ------
    CompilationError
        If tools are missing or the C compiler fails; the C source is then kept and named.
    """
    if (model.events or model.constraints) and integrator == "cvode":
        what = "events" if model.events else "states that are bound to each other"
        raise CompilationError(
            f"'{model.name}' has {what}, which the integrator 'cvode' does not see",
            hint="leave the option 'integrator' out, or use 'explicit' or 'rosenbrock'",
        )
    toolchain = find_toolchain(states=bool(model.states))
    used = tolerance or model.experiment.tolerance or DEFAULT_TOLERANCE
    layout = make_layout(model)
    writer = fmi3 if version == "3.0" else fmi2
    description = writer.write_description(
        model, layout, guid=GUID_PLACEHOLDER, generation_tool=generation_tool, tolerance=used
    )
    code = generate(model, layout, guid=GUID_PLACEHOLDER, tolerance=used, integrator=integrator)
    if version == "3.0":
        code |= fmi3_code(model, layout)
    runtime = [f.read_text() for f in runtime_files(version)]
    guid = content_guid(description, *code.values(), *runtime, str(optimization))
    code = {name: text.replace(GUID_PLACEHOLDER, guid) for name, text in code.items()}
    with ScratchFolder("c") as folder:
        try:
            binary = compile_binary(toolchain, folder.path, code, optimization=optimization)
        except CompilationError:
            folder.keep()  # the error names it
            raise
    system, suffix = platform_folder()
    if version == "3.0":
        system = platform_tuple()
    library = f"binaries/{system}/{model_identifier(model.name)}{suffix}"
    members = {
        "modelDescription.xml": description.replace(GUID_PLACEHOLDER, guid).encode(),
        library: binary,
    }
    if integrator != "cvode" and model.constraints is None:
        members[SENSITIVITIES.member] = SENSITIVITIES.text.encode()
    if "#define FMIDENT_BATCHES 1" in code[SIZES_FILE]:
        members[BATCHES.member] = BATCHES.text.encode()
    if model.states and toolchain.sundials:
        for licence in toolchain.sundials.licences:
            members[f"documentation/licenses/SUNDIALS-{licence.name}.txt"] = licence.read_bytes()
    for name, content in sorted((resources or {}).items()):
        members[f"resources/{name}"] = content
    write_archive(output, members, executable=library)
