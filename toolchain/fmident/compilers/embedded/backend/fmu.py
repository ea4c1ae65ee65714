"""From a causalised model to the FMU file."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from fmident.compilers.embedded.backend.archive import write_archive
from fmident.compilers.embedded.backend.codegen import generate, needs_cvode
from fmident.compilers.embedded.backend.compiling import sundials
from fmident.compilers.embedded.backend.compiling.c_compilers import (
    CCompiler,
    compiler_for,
    has_compiled,
    is_first_time,
)
from fmident.compilers.embedded.backend.compiling.formats import universal_binary
from fmident.compilers.embedded.backend.compiling.toolchain import all_sources, compile_binary
from fmident.compilers.embedded.backend.description import GUID_PLACEHOLDER, model_identifier
from fmident.compilers.embedded.backend.description.build import write_build_description
from fmident.compilers.embedded.backend.description.fmi2 import write_description as fmi2
from fmident.compilers.embedded.backend.description.fmi3 import write_description as fmi3
from fmident.compilers.embedded.backend.description.generation_date import generation_date
from fmident.compilers.embedded.backend.documentation import documentation_members
from fmident.compilers.embedded.backend.documentation.licences import licence_members
from fmident.compilers.embedded.backend.fmi3 import fmi3_code
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.compilers.embedded.model import OdeModel, Version
from fmident.compilers.platforms import Platform, this_platform
from fmident.errors import CompilationError
from fmident.fmu.processes.scratch import ScratchFolder
from fmident.fmu.sensitivity_table import EXTENSION_FILE, EXTENSION_TEXT

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
    platforms: Sequence[Platform] = (),
    with_sources: bool = True,
    resources: Mapping[str, bytes] | None = None,
    progress: Callable[[str], None] = lambda _: None,
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
    platforms
        What it holds binaries for; none for this machine's.
    with_sources
        Whether it holds the C sources, too.
    resources
        Further files, name in the archive's folder ``resources`` to content.
    progress
        Is told in a line what is being done, where it may take long.

    Raises
    ------
    CompilationError
        If the date of the environment cannot be read, tools are missing, or the C compiler fails;
        the C source is then kept and named.
    """
    if (model.events or model.constraints) and integrator == "cvode":
        what = "events" if model.events else "states that are bound to each other"
        raise CompilationError(
            f"'{model.name}' has {what}, which the integrator 'cvode' does not see",
            hint="leave the option 'integrator' out, or use 'explicit' or 'rosenbrock'",
        )
    generated = generation_date()
    tolerance = tolerance or model.experiment.tolerance or DEFAULT_TOLERANCE
    layout = make_layout(model)
    code = generate(
        model,
        layout,
        guid=GUID_PLACEHOLDER,
        tolerance=tolerance,
        integrator=integrator,
        version=version,
    )
    if version == "3.0":
        code |= fmi3_code(model, layout)
    with_cvode = needs_cvode(model, integrator)
    sources = all_sources(version, {**code, **(sundials.sources() if with_cvode else {})})
    compiled = sorted(n for n in sources if n.endswith(".c")) if with_sources else []
    writer = fmi3 if version == "3.0" else partial(fmi2, source_files=compiled)
    describe = partial(writer, model, layout, generation_tool=generation_tool, tolerance=tolerance)
    description = describe(guid=GUID_PLACEHOLDER)
    if version == "3.0" and with_sources:
        build = write_build_description(model_identifier(model.name), compiled)
        sources["buildDescription.xml"] = build
    texts = (sources[name] for name in sorted(sources))
    guid = content_guid(description, *texts, str(optimization))
    sources = {name: text.replace(GUID_PLACEHOLDER, guid) for name, text in sources.items()}
    if generated is not None:  # the GUID does not depend on it
        description = describe(guid=GUID_PLACEHOLDER, generated=generated)
    members = {"modelDescription.xml": description.replace(GUID_PLACEHOLDER, guid).encode()}
    binaries, used = _binaries(
        platforms or (this_platform(),),
        sources,
        version,
        optimization=optimization,
        progress=progress,
    )
    libraries = {
        f"binaries/{folder}/{model_identifier(model.name)}{suffix}": content
        for (folder, suffix), content in binaries.items()
    }
    members |= libraries
    licences = own_licence() | used
    if integrator != "cvode" and model.constraints is None:
        members[EXTENSION_FILE] = EXTENSION_TEXT.encode()
    members |= documentation_members(model, layout, version)
    if with_cvode:
        licences |= sundials.licences()
    members |= licence_members({name: licences[name] for name in sorted(licences)})
    if with_sources:
        members |= {f"sources/{name}": sources[name].encode() for name in sorted(sources)}
    for name, content in sorted((resources or {}).items()):
        members[f"resources/{name}"] = content
    write_archive(output, members, executables=libraries)


def _binaries(
    platforms: Sequence[Platform],
    sources: Mapping[str, str],
    version: Version,
    *,
    optimization: int,
    progress: Callable[[str], None],
) -> tuple[dict[tuple[str, str], bytes], dict[str, str]]:
    """Return the library of each folder and suffix, and licence texts of what is in them.

    Both processors of macOS have one library.
    """
    licences: dict[str, str] = {}
    found: dict[tuple[str, str], list[bytes]] = {}
    with ScratchFolder("zig") as cache:
        # What is missing is said before anything is compiled.
        compilers = [compiler_for(platform, cache.path) for platform in platforms]
        for number, compiler in enumerate(compilers, 1):
            platform = compiler.platform
            first = is_first_time(platform)
            if len(platforms) > 1 or first:
                remark = " for the first time here: this takes a minute or more" if first else ""
                which = f" ({number} of {len(platforms)})" if len(platforms) > 1 else ""
                progress(f"compiling for {platform.name}{which}{remark}")
            binary = _binary(compiler, sources, version, optimization)
            has_compiled(platform)
            licences |= {
                name: path.read_text(encoding="utf-8") for name, path in compiler.licences.items()
            }
            place = platform.tuple if version == "3.0" else platform.folder
            found.setdefault((place, platform.suffix), []).append(binary)
    binaries = {
        place: libraries[0] if len(libraries) == 1 else universal_binary(libraries)
        for place, libraries in found.items()
    }
    return binaries, licences


def _binary(
    compiler: CCompiler, sources: Mapping[str, str], version: Version, optimization: int
) -> bytes:
    with ScratchFolder("c") as folder:
        try:
            return compile_binary(
                compiler, folder.path, sources, version, optimization=optimization
            )
        except CompilationError as error:
            if str(folder.path) in (error.hint or ""):  # the source is to be looked at
                folder.keep()
            raise


def own_licence() -> dict[str, str]:
    """Return fmident's licence: its runtime is in every binary."""
    try:
        text = importlib.metadata.distribution("fmident").read_text("licenses/LICENSE")
    except importlib.metadata.PackageNotFoundError:
        text = None
    return {} if text is None else {"fmident-LICENSE.txt": text}
