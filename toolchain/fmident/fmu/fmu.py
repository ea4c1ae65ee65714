"""An FMU on disk, opened for simulation."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.context_managers import Closes
from fmident.errors import Code, FmidentError, FmuError, Location, advice_on
from fmident.fmu.archive import (
    DESCRIPTION,
    Archive,
    ArchiveLimits,
    check_archive,
    library_suffix,
    platform_folder,
)
from fmident.fmu.model_description.description import (
    InterfaceChoice,
    InterfaceKind,
    ModelDescription,
)
from fmident.fmu.model_description.description_xml import parse_description
from fmident.fmu.model_description.variables import Value
from fmident.fmu.processes.child import START_LIMIT, Child, Parent, ScratchFolder

if TYPE_CHECKING:
    from fmident.fmu.driver import Driver, UpdateChoice
    from fmident.fmu.life_cycle.holder import Reuse
    from fmident.fmu.native_code.library import Library
    from fmident.fmu.native_code.log import LogBuffer
    from fmident.fmu.plan import InputUpdate
    from fmident.fmu.setup import SimulationSetup
    from fmident.fmu.simulator import Simulator
    from fmident.fmu.values import I64


class Fmu(Closes):
    """An unpacked FMU, made by :func:`open_fmu`; a context manager."""

    def __init__(
        self, archive: Archive, description: ModelDescription, scratch: ScratchFolder
    ) -> None:
        self.path = archive.path
        self.description = description
        self._scratch, self._folder = scratch, scratch.path
        self._libraries: dict[InterfaceKind, Library] = {}
        self._simulators: list[Simulator] = []
        self._closed = False

    @property
    def resources(self) -> str:
        """Location of the unpacked resources: a URI for FMI 2.0, a path for FMI 3.0."""
        folder = self._folder / "resources"
        three = self.description.fmi_version.startswith("3.")
        return f"{folder}{os.sep}" if three else folder.as_uri()

    @property
    def library_path(self) -> Path:
        """The unpacked shared library for this platform."""
        return self._library_path(self.description)

    def _library_path(self, description: ModelDescription) -> Path:
        name = description.model_identifier + library_suffix()
        return self._folder / "binaries" / platform_folder(description.fmi_version) / name

    def simulator(
        self,
        *,
        input_update: UpdateChoice = "auto",
        capture_output: bool = True,
        debug_logging: bool = False,
        progress: Callable[[str, float], None] | None = None,
        single_steps: bool = True,
        log_buffer: LogBuffer | None = None,
        loop_state: I64 | None = None,
        interface: InterfaceChoice = "auto",
        reuse: Reuse = "checked",
    ) -> Simulator:
        """Instantiate the FMU; arguments as for :class:`fmident.fmu.Simulator`.

        Raises `FmuError` if the FMU cannot be loaded or refuses, or permits only one instance.
        """
        from fmident.fmu.simulator import Simulator  # it loads FMPy

        return Simulator(
            self,
            input_update=input_update,
            capture_output=capture_output,
            debug_logging=debug_logging,
            progress=progress,
            single_steps=single_steps,
            log_buffer=log_buffer,
            loop_state=loop_state,
            interface=interface,
            reuse=reuse,
        )

    def load_library(self, interface: InterfaceChoice = "auto") -> Library:
        """Return the library of an interface, loaded by the first call.

        Raises `FmuError` if the loader refuses it, or the FMU does not have the interface.
        """
        if self._closed:
            raise FmuError(f"the FMU '{self.path}' is closed", hint="open it again: open_fmu(...)")
        description = self.description.with_interface(interface)
        kind = description.capabilities.kind
        if kind not in self._libraries:
            from fmident.fmu.native_code.library import Library, functions_of  # FMPy

            self._libraries[kind] = Library(
                self._library_path(description),
                str(self.path),
                functions_of(description.fmi_version, kind),
            )
        return self._libraries[kind]

    def driver(self, interface: InterfaceChoice, buffer: LogBuffer, update: UpdateChoice) -> Driver:
        """Return the driver of an interface, whose messages go to `buffer`."""
        library = self.load_library(interface)
        description = self.description.with_interface(interface)
        return load_driver(description)(description, library, self.resources, buffer, update)

    def try_inputs(
        self, setup: SimulationSetup, values: Mapping[str, Value], interface: InterfaceChoice
    ) -> tuple[InputUpdate, str]:
        """Return when inputs must be set, found out in another process."""
        return try_inputs_in_child(self.path, setup, values, interface)

    def register(self, simulator: Simulator) -> None:
        """Register a new simulator; called by the simulator."""
        if self._simulators and self.description.only_once_per_process:
            raise FmuError(
                f"the FMU of '{self.description.name}' allows one instance per process,"
                " and there is one",
                location=Location(str(self.path)),
                hint="close the other simulator, or use processes instead of threads",
                code=Code.NOT_SUPPORTED,
            )
        self._simulators.append(simulator)

    def forget(self, simulator: Simulator) -> None:
        """Remove a closed simulator; called by the simulator."""
        if simulator in self._simulators:
            self._simulators.remove(simulator)

    def close(self) -> None:
        """Close all simulators, unload the library, remove the folder."""
        if self._closed:
            return
        self._closed = True
        for simulator in list(self._simulators):
            simulator.close()
        for library in self._libraries.values():
            library.unload()
        self._libraries.clear()
        self._scratch.close()

    def __repr__(self) -> str:
        return f"Fmu('{self.path}', '{self.description.name}')"


def load_driver(description: ModelDescription) -> Callable[..., Driver]:
    """Import the driver for the interface of `description`, with its compiled code."""
    # Imported when needed: it loads FMPy.
    if description.capabilities.kind == "model-exchange":
        from fmident.fmu.model_exchange.driver import ModelExchange

        return ModelExchange
    from fmident.fmu.co_simulation import CoSimulation

    return CoSimulation


def read_description(
    path: str | os.PathLike[str], *, limits: ArchiveLimits | None = None
) -> ModelDescription:
    """Read an FMU's model description without unpacking its binaries.

    Raises `FmuError` like :func:`open_fmu`, except that no binary is required.
    """
    place = Path(path)
    try:
        status = place.stat()
    except OSError:  # the archive's check says what is wrong
        return _describe(check_archive(place, limits))
    if time.time() - status.st_ctime < _NEW:
        return _describe(check_archive(place, limits))
    state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return _read(place.absolute(), place, limits, state)


_NEW = 2.0
"""A file that was changed so many seconds ago may change again without another time stamp."""


@functools.lru_cache(maxsize=8)
def _read(
    _file: Path, place: Path, limits: ArchiveLimits | None, _state: tuple[int, ...]
) -> ModelDescription:
    """Return the description in a file, cached as long as the file does not change."""
    return _describe(check_archive(place, limits))


def open_fmu(path: str | os.PathLike[str], *, limits: ArchiveLimits | None = None) -> Fmu:
    """Check and unpack an FMU (FMI 2.0 or 3.0) into a private temporary folder.

    Parameters
    ----------
    path
        The ``.fmu`` file.
    limits
        Limits of the archive.

    Returns
    -------
    Fmu
        To be closed, or used in a ``with`` block.

    Raises
    ------
    FmuError
        Missing file; not a zip; unsafe members; missing or invalid description; entities in
        it; FMI version other than 2.0 and 3.0; clocks; no binary for this platform.
    """
    archive = check_archive(Path(path), limits)
    description = _describe(archive)
    here = platform_folder(description.fmi_version)
    if here not in description.platforms:
        held = ", ".join(f"'{p}'" for p in description.platforms)
        raise FmuError(
            f"the FMU has no binary for this platform ('{here}'); it has "
            + (f"those for {held}" if held else "none at all, only sources perhaps"),
            location=Location(str(path)),
            hint="export the FMU on this platform",
        )
    try:
        scratch = ScratchFolder()
    except OSError as error:
        raise FmuError(
            f"no temporary folder to unpack the FMU into: {error}",
            location=Location(str(path)),
            hint=advice_on(error) or "let TMPDIR name a folder that can be written to",
        ) from error
    try:
        archive.extract(scratch.path)
        (scratch.path / "resources").mkdir(exist_ok=True)
        fmu = Fmu(archive, description, scratch)
        if not fmu.library_path.is_file():
            raise FmuError(
                f"the FMU's binaries for '{here}' lack '{fmu.library_path.name}'",
                location=Location(str(path)),
                hint="the file must be named like the attribute modelIdentifier",
            )
    except BaseException:
        scratch.close()
        raise
    return fmu


def _describe(archive: Archive) -> ModelDescription:
    place = f"{archive.path}/{DESCRIPTION}"
    return _parsed(archive.read_description(), place, archive.platforms)


@functools.lru_cache(maxsize=8)
def _parsed(xml: bytes, place: str, platforms: tuple[str, ...]) -> ModelDescription:
    """Return a parsed description, cached since several parts of a run need it."""
    return parse_description(xml, file=place, platforms=platforms)


def try_inputs_in_child(
    path: str | os.PathLike[str],
    setup: SimulationSetup,
    values: Mapping[str, Value],
    interface: InterfaceChoice,
) -> tuple[InputUpdate, str]:
    """Return when inputs must be set, and a remark.

    Like :meth:`~fmident.fmu.life_cycle.input_trial.InputTrial.decide`, for FMUs that a process can
    instantiate only once: the child loads the FMU and makes a copy of itself for each part of the
    trial.
    """
    answers: list[tuple[InputUpdate, str]] = []
    if hasattr(os, "fork"):
        request = str(path), setup, dict(values), interface
        with ScratchFolder() as scratch, Child(_try_inputs, scratch.path, *request) as child:
            # The run itself will tell if the FMU fails, crashes or hangs.
            with contextlib.suppress(FmidentError):
                child.wait(START_LIMIT)
            answers = child.answers
    from fmident.fmu.life_cycle.input_trial import UNKNOWN  # it loads FMPy

    update, remark = answers[0] if answers else ("after_step", UNKNOWN)
    return update, remark


def _try_inputs(
    parent: Parent,
    path: str,
    setup: SimulationSetup,
    values: Mapping[str, Value],
    interface: InterfaceChoice,
) -> None:
    from fmident.fmu.life_cycle.instance import forked  # they load FMPy
    from fmident.fmu.native_code.log import borrow_buffer

    driver = open_fmu(path).driver(interface, borrow_buffer(), "auto").configured(values)
    trial = driver.trial(driver.lay_out(setup), driver.assignment(tuple(values)), values)
    parent.answer(("after_step", "") if trial is None else trial.decide(forked))
