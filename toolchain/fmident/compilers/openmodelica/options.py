"""Options of the ``openmodelica`` compiler."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fmident.errors import Code, CompilationError, did_you_mean

SESSIONS = ("auto", "local", "docker", "script")
FMU_TYPES = ("me_cs", "cs", "me")
FMI_VERSIONS = ("2.0", "3.0")
SESSION_VARIABLE = "FMIDENT_OPENMODELICA_SESSION"
DEFAULT_IMAGE = "openmodelica/openmodelica:v1.26.9-minimal"


@dataclass(frozen=True)
class OpenModelicaOptions:
    """Options of a build with OpenModelica.

    Parameters
    ----------
    session
        ``"local"``: OMPython with ``omc`` on this machine. ``"script"``: ``omc file.mos``,
        which also works for root. ``"docker"``: the container `image`. ``"auto"``: local,
        or script for root.
    fmi_version, fmu_type, platforms
        Arguments of ``buildModelFMU``. Platform ``"static"`` needs CMake; the FMU then
        depends on the C library only.
    fmi_flags
        Solver of the Co-Simulation. Without ``"s:cvode"`` it is one explicit Euler step per
        communication step.
    image
        Container image for session ``"docker"``.
    timeout
        Time limit of a whole build, s.
    command_line_options
        More options for omc, such as ``"-d=newInst"``.
    libraries
        Libraries to load first, name -> version (``""``: the newest installed), in addition
        to those in the ``uses`` annotation.
    stop_time, interval
        Replace the values of the ``experiment`` annotation, s.
    ramp_inputs
        Whether inputs are interpolated linearly between communication points, by a wrapper
        around the class, since OpenModelica's own interpolation has no effect. ``"auto"``:
        if the class has states and Real inputs.
    model_options
        Modification of the class, such as ``"redeclare model Friction = ..."``.
    jobs
        Number of files compiled in parallel; 0 for the number of available cores.
    object_cache
        Whether to compile with ``ccache``, so that files common to all FMUs (runtime,
        SUNDIALS) are compiled once. ``"auto"``: if it is installed.
    """

    session: Literal["auto", "local", "docker", "script"] = "auto"
    fmi_version: str = "2.0"
    fmu_type: str = "me_cs"
    platforms: tuple[str, ...] = ("static",)
    fmi_flags: str = "s:cvode"
    image: str = DEFAULT_IMAGE
    timeout: float = 900.0
    command_line_options: str = ""
    libraries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    stop_time: float | None = None
    interval: float | None = None
    ramp_inputs: bool | Literal["auto"] = "auto"
    model_options: str = ""
    jobs: int = 0
    object_cache: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        _one_of("session", self.session, SESSIONS)
        _one_of("fmi_version", self.fmi_version, FMI_VERSIONS)
        _one_of("fmu_type", self.fmu_type, FMU_TYPES)
        _one_of("ramp_inputs", self.ramp_inputs, ("auto", True, False))
        _one_of("object_cache", self.object_cache, ("auto", True, False))
        if isinstance(self.jobs, bool) or not isinstance(self.jobs, int) or self.jobs < 0:
            _refuse("jobs", self.jobs, "a whole number, 0 for all cores")
        _positive("timeout", self.timeout)
        _positive("stop_time", self.stop_time)
        _positive("interval", self.interval)
        platforms = self.platforms
        if isinstance(platforms, str) or not all(isinstance(p, str) for p in platforms):
            _refuse("platforms", platforms, 'a list of texts such as ["static"]')
        object.__setattr__(self, "platforms", tuple(platforms))
        if not self.platforms:
            _refuse("platforms", platforms, 'at least one, such as ["static"]')
        for name in ("fmi_flags", "image", "command_line_options", "model_options"):
            if not isinstance(getattr(self, name), str):
                _refuse(name, getattr(self, name), "a text")
        if not isinstance(self.libraries, Mapping):
            _refuse("libraries", self.libraries, 'a table such as { Modelica = "4.0.0" }')
        for library, version in self.libraries.items():
            if not re.fullmatch(r"[A-Za-z_]\w*", str(library)) or not isinstance(version, str):
                _refuse("libraries", {library: version}, 'a table such as { Modelica = "4.0.0" }')
        if self.fmi_version == "3.0" and self.ramp_inputs is True:
            raise CompilationError(
                "inputs as ramps are made for FMI 2.0 only",
                hint='take fmi_version = "2.0", or ramp_inputs = false',
            )

    @property
    def omc_flags(self) -> tuple[str, ...]:
        """Options of omc's command line."""
        flags = (f"--fmiFlags={self.fmi_flags}",) if self.fmi_flags else ()
        return flags + tuple(shlex.split(self.command_line_options))


def parse_options(given: Mapping[str, object]) -> OpenModelicaOptions:
    """Check and complete the user's options."""
    known = {field.name for field in dataclasses.fields(OpenModelicaOptions)}
    for name in given:
        if name not in known:
            raise CompilationError(
                f"the openmodelica compiler has no option '{name}'",
                hint=did_you_mean(name, known, kind="option"),
                code=Code.UNKNOWN_KEY,
            )
    given = {"session": default_session(), **given}
    return OpenModelicaOptions(**given)  # type: ignore[arg-type]  # checked in __post_init__


def default_session() -> str:
    """Return the default session, from ``FMIDENT_OPENMODELICA_SESSION``."""
    return os.environ.get(SESSION_VARIABLE) or "auto"


def _one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    if not any(type(value) is type(a) and value == a for a in allowed):
        _refuse(name, value, "one of " + ", ".join(repr(a) for a in allowed))


def _positive(name: str, value: object) -> None:
    if value is None and name != "timeout":
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e12:
        _refuse(name, value, "a positive number of seconds")


def _refuse(name: str, value: object, expected: str) -> None:
    raise CompilationError(
        f"option '{name}' of the openmodelica compiler is {value!r}", hint=f"give {expected}"
    )
