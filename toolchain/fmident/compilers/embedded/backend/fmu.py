"""Build the FMU file from a causalised model, reproducibly: equal sources, equal bytes.

Source of ``sources/buildDescription.xml``: FMI specification 3.0.1, section 2.5.1.3.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import zipfile
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from xml.etree.ElementTree import Element

from fmident.compilers.embedded.backend import sundials
from fmident.compilers.embedded.backend.codegen import fmi3_code, generate, needs_cvode
from fmident.compilers.embedded.backend.compiling import (
    CCompiler,
    all_sources,
    compile_binary,
    compiler_for,
    has_compiled,
    is_first_time,
    universal_binary,
)
from fmident.compilers.embedded.backend.description import (
    GUID_PLACEHOLDER,
    element,
    model_identifier,
    write_description,
    xml_text,
)
from fmident.compilers.embedded.backend.documentation import licence_members, page
from fmident.compilers.embedded.backend.layout import make_layout
from fmident.compilers.embedded.model import OdeModel, Version
from fmident.compilers.platforms import PLATFORMS, Platform, this_platform
from fmident.errors import CompilationError
from fmident.files import whole_file
from fmident.fmu.processes.child import ScratchFolder
from fmident.fmu.sensitivity_table import EXTENSION_FILE, EXTENSION_TEXT

DEFAULT_TOLERANCE = 1e-6


_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the earliest a zip file can hold


_NO_FUSED_MULTIPLY_ADD = "-ffp-contract=off"
"""Keeps gcc from fusing a multiplication with an addition, which rounds differently."""


DATE_VARIABLE = "SOURCE_DATE_EPOCH"
"""Source: reproducible-builds.org, specification of SOURCE_DATE_EPOCH 1.1."""

_LATEST_DATE = 253402300799
"""The last second of the year 9999."""


def content_guid(*texts: str) -> str:
    """Return an identifier in GUID format that depends only on the texts."""
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
    """Write the FMU of a model; an existing file is replaced only on success.

    `tolerance` is the default relative one; ``None`` takes the model's, or else 1e-6.
    `optimization` is 0 to 3, `integrator` one of
    :data:`~fmident.compilers.embedded.model.INTEGRATORS`. `platforms` is empty for this
    machine's. `resources` are further files, name in the archive's folder ``resources`` to
    content. `progress` is called with one line before long steps. Raises `CompilationError`
    if tools are missing or the C compiler fails; the C source is then kept.
    """
    if integrator == "cvode" and not model.suits_cvode:
        what = "events" if model.events.any else "states that are bound to each other"
        raise CompilationError(
            f"'{model.name}' has {what}, which the integrator 'cvode' does not see",
            hint="leave the option 'integrator' out, or use 'explicit' or 'rosenbrock'",
        )
    tolerance = tolerance or model.experiment.tolerance or DEFAULT_TOLERANCE
    sources, description = _sources_and_description(
        model,
        generation_tool,
        version,
        tolerance=tolerance,
        optimization=optimization,
        integrator=integrator,
        with_sources=with_sources,
    )
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
    licences = own_licence() | used
    if needs_cvode(model, integrator):
        licences |= sundials.licences()
    members = {"modelDescription.xml": description.encode(), **libraries}
    if integrator != "cvode" and not model.constraints.equations:
        members[EXTENSION_FILE] = EXTENSION_TEXT.encode()
    members["documentation/index.html"] = page(model).encode()
    members |= licence_members({name: licences[name] for name in sorted(licences)})
    if with_sources:
        members |= {f"sources/{name}": sources[name].encode() for name in sorted(sources)}
    for name, content in sorted((resources or {}).items()):
        members[f"resources/{name}"] = content
    write_archive(output, members, executables=libraries)


def _sources_and_description(
    model: OdeModel,
    generation_tool: str,
    version: Version,
    *,
    tolerance: float,
    optimization: int,
    integrator: str,
    with_sources: bool,
) -> tuple[dict[str, str], str]:
    """Return the C sources by name, and ``modelDescription.xml``, with the hash of both as GUID."""
    layout = make_layout(model)
    sources = generate(
        model,
        layout,
        guid=GUID_PLACEHOLDER,
        tolerance=tolerance,
        integrator=integrator,
        version=version,
    )
    if version == "3.0":
        sources |= fmi3_code(model, layout)
    if needs_cvode(model, integrator):
        sources |= sundials.sources()
    sources = all_sources(version, sources)
    compiled = sorted(n for n in sources if n.endswith(".c")) if with_sources else []
    describe = partial(
        write_description,
        model,
        layout,
        version,
        generation_tool=generation_tool,
        tolerance=tolerance,
        source_files=compiled,
        guid=GUID_PLACEHOLDER,
    )
    if version == "3.0" and with_sources:
        build = write_build_description(model_identifier(model.name), compiled)
        sources["buildDescription.xml"] = build
    texts = (sources[name] for name in sorted(sources))
    guid = content_guid(describe(), *texts, str(optimization))
    # The hash does not depend on the date.
    description = describe(generated=generation_date())
    sources = {name: text.replace(GUID_PLACEHOLDER, guid) for name, text in sources.items()}
    return sources, description.replace(GUID_PLACEHOLDER, guid)


def _binaries(
    platforms: Sequence[Platform],
    sources: Mapping[str, str],
    version: Version,
    *,
    optimization: int,
    progress: Callable[[str], None],
) -> tuple[dict[tuple[str, str], bytes], dict[str, str]]:
    """Return the library of each folder and suffix (macOS has one), and their licence texts."""
    licences: dict[str, str] = {}
    libraries_of: dict[tuple[str, str], list[bytes]] = {}
    with ScratchFolder("zig") as cache:
        # Find all compilers first: a missing one is an error before anything is compiled.
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
            libraries_of.setdefault((place, platform.suffix), []).append(binary)
    binaries = {
        place: libraries[0] if len(libraries) == 1 else universal_binary(libraries)
        for place, libraries in libraries_of.items()
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
            if str(folder.path) in (error.hint or ""):  # the error refers to the source
                folder.keep()
            raise


def own_licence() -> dict[str, str]:
    """Return fmident's licence, since its runtime is part of every binary."""
    try:
        text = importlib.metadata.distribution("fmident").read_text("licenses/LICENSE")
    except importlib.metadata.PackageNotFoundError:
        text = None
    return {} if text is None else {"fmident-LICENSE.txt": text}


def write_archive(
    path: Path, members: Mapping[str, bytes], executables: Container[str] = ()
) -> None:
    """Write `members`, name to content, to a zip file atomically, creating its folder."""
    with whole_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _TIMESTAMP)
            info.create_system = 3  # Unix, wherever it is written
            info.external_attr = (0o755 if name in executables else 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)


def write_build_description(identifier: str, files: Sequence[str]) -> str:
    """Return ``buildDescription.xml`` for the interfaces' ``modelIdentifier`` and C files."""
    configurations = (_configuration(platform, identifier, files) for platform in PLATFORMS)
    return xml_text(element("fmiBuildDescription", {"fmiVersion": "3.0"}, *configurations))


def _configuration(platform: Platform, identifier: str, files: Sequence[str]) -> Element:
    attributes = {"modelIdentifier": identifier, "platform": platform.tuple}
    files_of = {"language": "C11"}
    libraries = []
    if platform.system != "windows":
        # gcc and clang: else the bits depend on the processor
        files_of["compilerOptions"] = _NO_FUSED_MULTIPLY_ADD
        # Windows has no library of mathematical functions.
        libraries.append(element("Library", {"name": "m", "external": "true"}))
    sources = (element("SourceFile", {"name": name}) for name in files)
    include = element("IncludeDirectory", {"name": "."})
    file_set = element("SourceFileSet", files_of, *sources, include)
    return element("BuildConfiguration", attributes, file_set, *libraries)


def generation_date(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the date set by the environment, in UTC, or ``None`` if it sets none."""
    text = environment.get(DATE_VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _LATEST_DATE):
        raise CompilationError(
            f"{DATE_VARIABLE} is {text[:40]!r}, which is not a number of seconds since 1970",
            hint=f"set it to a whole number from 0 to {_LATEST_DATE}, or unset it",
        )
    return datetime.fromtimestamp(int(text), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
