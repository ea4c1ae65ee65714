"""Steps of a build with OpenModelica.

Most of the build time goes into some 150 files of OpenModelica's runtime and SUNDIALS
that are the same in every FMU. omc calls CMake without passing on options, so
environment variables make CMake compile in parallel and use ccache. Binaries of other
platforms are built in a container (like OpenModelica's own
``testsuite/special/FmuExportCrossCompile``).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import NoReturn
from xml.etree.ElementTree import Element

from fmident.compilers.base import BuildRequest, BuildResult, Compiler
from fmident.compilers.openmodelica import wrapper
from fmident.compilers.openmodelica.availability import (
    HOW_TO_GET,
    find_omc,
    open_session,
    why_unavailable,
)
from fmident.compilers.openmodelica.messages import (
    Message,
    balance_diagnostic,
    quoted,
    to_diagnostics,
)
from fmident.compilers.openmodelica.options import (
    DEFAULT_IMAGE,
    OpenModelicaOptions,
    default_session,
    parse_options,
)
from fmident.compilers.openmodelica.result import (
    calculated_from,
    check_fmu,
    deliver,
    frozen_note,
    integration_notes,
    read_model,
    read_root,
)
from fmident.compilers.openmodelica.sessions import (
    Deadline,
    OmcStoppedError,
    Reply,
    Session,
)
from fmident.compilers.openmodelica.sources import LoadPlan, missing_source, plan_loading
from fmident.compilers.platforms import (
    PLATFORMS,
    Platform,
    encode_record,
    make_record,
    read_platforms,
    this_platform,
)
from fmident.compilers.sources import name_of, version_of
from fmident.errors import Code, CompilationError, Diagnostic
from fmident.fmu.processes.child import ScratchFolder
from fmident.operating_system import processors

_UNBALANCED = ("too-few-equations", "too-many-equations")
"""Rules of the embedded compiler."""


IMAGE = "multiarch/crossbuild"
"""The container image with cross compilers that OpenModelica is tested with."""

_TRIPLES = {
    "linux64": "x86_64-linux-gnu",
    "win64": "x86_64-w64-mingw32",
    "darwin64": "x86_64-apple-darwin",
}
"""Platforms that the image has compilers for."""


class OpenModelicaCompiler(Compiler):
    """OpenModelica, the reference: any Modelica, the standard library included."""

    name = "openmodelica"

    def unavailable(self) -> str | None:
        """Return why OpenModelica cannot run here and how to get it, or ``None``."""
        why = why_unavailable()
        return None if why is None else f"{why}\n{HOW_TO_GET}"

    def version(self) -> str:
        """Return omc's version and fmident's, with a hash of the code that calls omc."""
        omc = f"in {DEFAULT_IMAGE}" if default_session() == "docker" else _omc_version()
        return f"OpenModelica {omc}, fmident {installed_version('fmident')}+{_code_hash()}"

    def build(self, request: BuildRequest) -> BuildResult:
        """Compile one class; see :class:`OpenModelicaOptions` for the options."""
        begin = time.monotonic()
        options = parse_options(request.options)
        omc_platforms(request.platforms, options.platforms)  # refused before anything is done
        plan = plan_loading(request.class_name, request.sources)
        deadline = Deadline(options.timeout)
        with ScratchFolder("openmodelica") as scratch:
            folder = scratch.path.resolve()
            with open_session(options, folder, request.sources, deadline) as session:
                build = _Build(request, options, plan, folder, session)
                fmu, description = build.run()
            record = encode_record(make_record(request, self))
            deliver(fmu, request.output, description, record)
        return BuildResult(
            request.output, build.compiler, tuple(build.diagnostics), time.monotonic() - begin
        )


class _Build:
    def __init__(
        self,
        request: BuildRequest,
        options: OpenModelicaOptions,
        plan: LoadPlan,
        folder: Path,
        session: Session,
    ) -> None:
        self.request = request
        self.options = options
        self.plan = plan
        self.folder = folder
        self.session = session
        self.diagnostics: list[Diagnostic] = []
        self.compiler = "OpenModelica"
        self._names: dict[str, tuple[str, ...]] = {}

    def run(self) -> tuple[Path, Element]:
        """Return the FMU and the description to put into it."""
        name, progress = self.request.class_name, self.request.progress
        progress(f"{name}: OpenModelica loads and checks it")
        experiment, comment = self.load_and_check()
        wanted = self.wanted(experiment)
        base = self.request.class_name
        if wanted != experiment or self.options.model_options.strip():
            text = wrapper.export_text(base, self.options.model_options, wanted, comment)
            self.load_text(wrapper.EXPORT, text)
            base = wrapper.EXPORT
        progress(f"{name}: OpenModelica exports the FMU")
        fmu = self.export(base, "plain")
        description = read_root(fmu)
        if base == wrapper.EXPORT:
            description.set("modelName", self.request.class_name)
        rewritten = description
        ramped = self.with_ramps(base, description, comment)
        if ramped is not None:
            fmu, rewritten = ramped
        self.check(fmu, description)
        return fmu, wrapper.without_false_claims(rewritten)

    def load_and_check(self) -> tuple[wrapper.Experiment, str]:
        """Load sources, check the class; return its experiment and its description."""
        name = self.request.class_name
        loading = self.loading()
        questions = [
            *loading,
            f"checkModel({name})",
            f"getSimulationOptions({name})",
            f"getClassComment({name})",
            "getVersion()",
        ]
        self.diagnostics += self.library_of_class()
        replies = self.session.run(*questions)
        loaded, (check, simulation, comment, version) = replies[: len(loading)], replies[-4:]
        # "v1.26.9-cmake" or "OpenModelica 1.25.0", after the way omc was built
        self.compiler = f"OpenModelica {str(version.value).removeprefix('OpenModelica ')}"
        for reply in loaded:
            if reply.value is not True and not reply.succeeded:
                self.fail(f"'{reply.expression}' failed", reply.messages)
            self.keep(reply.messages, errors="warning")
        if not check.succeeded:
            self.fail(f"'{name}' cannot be compiled", check.messages)
        self.keep(check.messages)
        unbalanced = balance_diagnostic(name, str(check.value))
        if unbalanced:
            self.diagnostics.insert(0, unbalanced)
        text = comment.value if isinstance(comment.value, str) else ""
        return _experiment(simulation) or wrapper.Experiment(), text

    def library_of_class(self) -> list[Diagnostic]:
        """Return a note on the version used if the class is in an installed library."""
        top = self.request.class_name.partition(".")[0]
        files = [f.parent for f in self.plan.files if name_of(f.parent) == top]
        return [
            Diagnostic(
                "note",
                f"'{top}' is version {version_of(folder)} in '{folder.parent}'",
                None,
                "another version: name its folder with --source",
                "library-version",
            )
            for folder in files
            if version_of(folder)
        ]

    def loading(self) -> list[str]:
        """Return the expressions that load libraries and sources.

        Each is loaded separately, since omc downloads an index to look up dependencies.
        """
        missing = {**self.plan.missing, **self.options.libraries}
        libraries = [
            f"loadModel({name}, {{{quoted(version or 'default')}}}, requireExactVersion=true)"
            for name, version in missing.items()
        ]
        files = [f"loadFile({quoted(f.resolve().as_posix())}, uses=false)" for f in self.plan.files]
        return libraries + files

    def wanted(self, experiment: wrapper.Experiment) -> wrapper.Experiment:
        options = self.options
        return wrapper.Experiment(
            experiment.start,
            options.stop_time or experiment.stop,
            self.request.tolerance or experiment.tolerance,
            options.interval or experiment.interval,
        )

    def load_text(self, name: str, text: str) -> None:
        file = self.folder / f"{name}.mo"
        file.write_text(text, encoding="utf-8")
        reply = self.session.send(f"loadFile({quoted(file.as_posix())}, uses=false)")
        if not reply.succeeded:
            self.fail(f"the wrapper '{name}' cannot be loaded", reply.messages)

    def export(self, class_name: str, purpose: str) -> Path:
        options = self.options
        prefix = re.sub(r"\W", "_", self.request.class_name)
        targets = omc_platforms(self.request.platforms, options.platforms)
        platforms = ", ".join(quoted(p) for p in targets)
        place = self.folder / purpose  # one folder per build: omc would reuse what it finds
        place.mkdir()
        contained = options.session == "docker"
        variables = build_environment(options, self.folder, contained=contained)
        *_, reply = self.session.run(
            f"cd({quoted(place.as_posix())})",
            *(f"setEnvironmentVar({quoted(n)}, {quoted(v)})" for n, v in variables.items()),
            f"buildModelFMU({class_name}, version={quoted(options.fmi_version)},"
            f" fmuType={quoted(options.fmu_type)}, fileNamePrefix={quoted(prefix)},"
            f" platforms={{{platforms}}})",
        )
        written = place / f"{prefix}.fmu"
        if not written.is_file():
            messages = reply.messages or self.reasons(class_name, place)
            self.fail(f"OpenModelica built no FMU of '{self.request.class_name}'", messages)
        # With an FMU there, what omc called an error was none that stopped it.
        self.keep(reply.messages, errors="warning")
        self.forgive()
        return written

    def reasons(self, class_name: str, place: Path) -> tuple[Message, ...]:
        """Determine by ``translateModel`` why ``buildModelFMU`` failed without a message."""
        with contextlib.suppress(CompilationError):  # it only serves the message
            replies = self.session.run(
                f"cd({quoted(place.as_posix())})", f"translateModel({class_name})"
            )
            return replies[-1].messages
        return ()

    def with_ramps(self, base: str, plain: Element, comment: str) -> tuple[Path, Element] | None:
        """Build again with inputs as ramps; return ``None`` if that has no benefit."""
        options = self.options
        if not options.ramp_inputs or options.fmi_version != "2.0" or options.fmu_type == "me":
            return None
        required = options.ramp_inputs is True
        plan = wrapper.plan_ramps(plain)
        if isinstance(plan, str):
            if required:
                raise CompilationError(
                    f"'{self.request.class_name}' cannot have ramps as inputs: {plan}",
                    hint='build with ramp_inputs = "auto" or false',
                )
            return None
        try:
            return self.build_ramps(base, plan, plain, comment)
        except OmcStoppedError:
            raise
        except CompilationError as error:
            if required:
                raise
            self.forgive()
            self.diagnostics.append(
                Diagnostic(
                    "warning",
                    f"inputs are held between communication points: {error.message}",
                    None,
                    "use small communication steps, or interpolation 'mean'",
                    "no-ramps",
                )
            )
            return None

    def build_ramps(
        self, base: str, plan: wrapper.RampPlan, plain: Element, comment: str
    ) -> tuple[Path, Element]:
        progress = self.request.progress
        progress(f"{self.request.class_name}: OpenModelica exports it with inputs on lines")
        experiment = wrapper.default_experiment(plain)
        self.load_text(wrapper.RAMP, wrapper.ramp_text(base, plan, experiment, comment))
        fmu = self.export(wrapper.RAMP, "ramps")
        return fmu, wrapper.hide_wrapper(read_root(fmu), plain, plan)

    def check(self, fmu: Path, plain: Element) -> None:
        options = self.options
        integrates = options.fmu_type != "me" and wrapper.has_states(plain)
        self.diagnostics += check_fmu(fmu, solver=options.fmi_flags, integrates=integrates)
        if options.fmi_version == "2.0":
            model = read_model(self.folder / "plain" / fmu.name)
            note = frozen_note(model, calculated_from(plain)) if model else None
            if note:
                self.diagnostics.append(note)
        model = read_model(fmu)
        if model is not None:
            self.diagnostics += integration_notes(model)

    def keep(self, messages: Sequence[Message], errors: str = "error") -> None:
        for finding in to_diagnostics(messages, self.class_names):
            finding = self.without_wrapper(finding)
            if finding.severity == "error" and errors == "warning":
                finding = _weaker(finding)
            if finding not in self.diagnostics:
                self.diagnostics.append(finding)

    def without_wrapper(self, finding: Diagnostic) -> Diagnostic:
        place = finding.location
        if place is not None and Path(place.file).absolute().is_relative_to(self.folder):
            place = None
        message = finding.message.replace(f"{wrapper.COMPONENT}.", "")
        return replace(finding, message=message, location=place)

    def forgive(self) -> None:
        """Downgrade errors to warnings, because an FMU was built nevertheless."""
        self.diagnostics = [_weaker(d) if d.severity == "error" else d for d in self.diagnostics]

    def fail(self, message: str, messages: Sequence[Message]) -> NoReturn:
        self.keep(messages)
        if any(d.rule == "unbalanced" for d in self.diagnostics):
            self.diagnostics += self.culprits()
        order = {"error": 0, "warning": 1, "note": 2}
        diagnostics = sorted(self.diagnostics, key=lambda d: order[d.severity])
        hint = None
        if not self.plan.has_class:
            hint = missing_source(self.request.class_name, self.request.sources)
        elif not any(d.severity == "error" for d in diagnostics):
            tail = _log_tail(self.folder)
            hint = (
                f"the build's log ends with:\n{tail}"
                if tail
                else f"omc gave no reason; ask it yourself: {'; '.join(self.loading())};"
                f" buildModelFMU({self.request.class_name}); getErrorString();"
            )
        raise CompilationError(message, diagnostics=diagnostics, hint=hint)

    def culprits(self) -> list[Diagnostic]:
        if any(d.rule == "unbalanced" and d.location for d in self.diagnostics):
            return []
        # An estimate asks which compilers can run here; the front end and CasADi can wait.
        from fmident.compilers.embedded.frontend import load_model

        try:
            load_model(self.request.class_name, self.request.sources)
        except CompilationError as error:
            return [d for d in error.diagnostics if d.rule in _UNBALANCED]
        return []

    def class_names(self, scope: str) -> tuple[str, ...]:
        """Return the names of the classes in a class; ``""`` is the top level."""
        if scope not in self._names:
            self._names[scope] = ()
            with contextlib.suppress(CompilationError):  # it only serves a hint
                value = self.session.send(f"getClassNames({scope})").value
                if isinstance(value, tuple):
                    self._names[scope] = tuple(str(v) for v in value)
        return self._names[scope]


def _experiment(reply: Reply) -> wrapper.Experiment | None:
    """Read ``(start, stop, tolerance, intervals, interval)``."""
    value = reply.value
    if not isinstance(value, tuple) or len(value) < 3:
        return None
    numbers = [float(v) for v in value if isinstance(v, int | float)]
    if len(numbers) != len(value):
        return None
    start, stop, tolerance = numbers[:3]
    interval = numbers[4] if len(numbers) > 4 else (stop - start) / 500.0
    return wrapper.Experiment(start, stop, tolerance, interval)


def _weaker(finding: Diagnostic) -> Diagnostic:
    return replace(finding, severity="warning")


def _log_tail(folder: Path, lines: int = 15) -> str:
    """Return the end of the newest build log, which has the C compiler's messages."""
    logs = sorted(folder.rglob("*.log"), key=lambda p: p.stat().st_mtime)
    if not logs:
        return ""
    text = logs[-1].read_text(encoding="utf-8", errors="replace").strip()
    return "\n".join(text.splitlines()[-lines:])


@functools.cache
def _code_hash() -> str:
    """Return a hash of this package, which determines wrappers and descriptions."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _omc_version() -> str:
    omc = find_omc()
    if omc is None:
        return "(not found)"
    try:
        done = subprocess.run(
            [omc, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "(does not answer)"
    return done.stdout.strip().removeprefix("OpenModelica").strip() or "(unknown)"


def build_environment(
    options: OpenModelicaOptions,
    folder: Path,
    *,
    contained: bool,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, str]:
    """Return the environment variables of a build; those already set are kept.

    ccache ignores paths below `folder`; it is not available if omc is `contained`.
    """
    wanted = {"CMAKE_BUILD_PARALLEL_LEVEL": str(options.jobs or processors())}
    ccache = None if contained or options.object_cache is False else shutil.which("ccache")
    if ccache is None and options.object_cache is True:
        where = "in the container" if contained else "on the path"
        raise CompilationError(
            f"object_cache = true needs ccache, which is not {where}",
            hint='on Debian: apt-get install ccache; or object_cache = "auto"',
        )
    if ccache is not None:
        wanted |= {
            "CMAKE_C_COMPILER_LAUNCHER": ccache,
            "CCACHE_BASEDIR": str(folder),
            "CCACHE_NOHASHDIR": "true",  # the debug information may name another build's folder
        }
    explicit = {"CMAKE_BUILD_PARALLEL_LEVEL"} if options.jobs else set()
    return {n: v for n, v in wanted.items() if n in explicit or not environment.get(n)}


def omc_platforms(names: Sequence[str], own: Sequence[str]) -> tuple[str, ...]:
    """Return the argument ``platforms`` of ``buildModelFMU``, with `own` for this machine."""
    if not names:
        return tuple(own)
    here = this_platform()
    platforms: list[str] = []
    for platform in read_platforms(names):
        platforms += own if platform == here else [_in_container(platform)]
    return tuple(platforms)


def _in_container(platform: Platform) -> str:
    triple = _TRIPLES.get(platform.name)
    if triple is None:
        can = ", ".join(p.name for p in PLATFORMS if p.name in _TRIPLES)
        raise CompilationError(
            f"OpenModelica cannot compile for '{platform.name}': its container has compilers for "
            f"{can} only",
            hint="leave it out, or take the embedded compiler: --compiler embedded",
        )
    if shutil.which("docker") is None:
        raise CompilationError(
            f"OpenModelica compiles for '{platform.name}' in a container, and there is no 'docker' "
            "on the path",
            hint=f"install Docker and get the image: docker pull {IMAGE}; or leave --platforms "
            "out; or take the embedded compiler, which needs neither: --compiler embedded",
            code=Code.NOT_INSTALLED,
        )
    return f"{triple} docker run --pull=never {IMAGE}"
