"""Options of the ``openmodelica`` compiler."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fmident.compilers.base import read_options
from fmident.errors import CompilationError
from fmident.options import NOT_NEGATIVE, OptionError, Options, Range

SESSION_VARIABLE = "FMIDENT_OPENMODELICA_SESSION"
_SECONDS = Range(above=0.0, below=1e12)
DEFAULT_IMAGE = "openmodelica/openmodelica:v1.26.9-minimal"


@dataclass(frozen=True)
class OpenModelicaOptions(Options):
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
    fmi_version: Literal["2.0", "3.0"] = "2.0"
    fmu_type: Literal["me_cs", "cs", "me"] = "me_cs"
    platforms: tuple[str, ...] = ("static",)
    fmi_flags: str = "s:cvode"
    image: str = DEFAULT_IMAGE
    timeout: Annotated[float, _SECONDS] = 900.0
    command_line_options: str = ""
    libraries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    stop_time: Annotated[float | None, _SECONDS] = None
    interval: Annotated[float | None, _SECONDS] = None
    ramp_inputs: bool | Literal["auto"] = "auto"
    model_options: str = ""
    jobs: Annotated[int, NOT_NEGATIVE] = 0
    object_cache: bool | Literal["auto"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.platforms:
            raise OptionError('platforms must be at least one, such as ["static"]', "platforms")
        for library in self.libraries:
            if not re.fullmatch(r"[A-Za-z_]\w*", library):
                message = f"libraries must be names with versions, and {library!r} is not a name"
                raise OptionError(message, "libraries")
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
    given = {"session": default_session(), **given}
    return read_options(OpenModelicaOptions, given, "openmodelica")


def default_session() -> str:
    """Return the default session, from ``FMIDENT_OPENMODELICA_SESSION``."""
    return os.environ.get(SESSION_VARIABLE) or "auto"
