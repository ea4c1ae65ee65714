"""Build every FMU of a catalogue, and check the interface of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fmident.api.builds import compiled
from fmident.api.model_sources import expand, with_libraries
from fmident.catalog import Catalog, Entry
from fmident.compilers.base import BuildRequest, Compiler
from fmident.compilers.platforms import is_stale, platform_names
from fmident.errors import Code, CompilationError, Diagnostic, PluginError, did_you_mean
from fmident.validation import plan_fmu, validate

if TYPE_CHECKING:
    from fmident.plugins import Host

State = Literal["built", "up to date", "left out", "refused", "failed"]

_CHECKS = ("interface", "parameters", "model exchange")
"""What is checked after each build; the last of FMUs with a Model Exchange part."""


@dataclass(frozen=True)
class EntryBuild:
    """What became of one entry.

    Parameters
    ----------
    entry
        Of the catalogue.
    state
        ``"left out"``: no compiler for it runs here. ``"refused"``: the compiler cannot
        compile the class. ``"failed"``: the FMU does not offer what the catalogue says; it
        is kept as ``FILE.rejected``.
    compiler
        Name of the compiler, ``""`` when there is none.
    fmu
        The file.
    seconds
        Wall time of the build, without checks.
    size
        Of the FMU in bytes.
    reason
        Why it is not as wished; ``""`` when it is.
    diagnostics
        What the compiler said.
    """

    entry: Entry
    state: State
    compiler: str
    fmu: Path
    seconds: float = 0.0
    size: int = 0
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def good(self) -> bool:
        """Whether there is a usable FMU, or none was to be expected on this machine."""
        return self.state in ("built", "up to date", "left out")


def build_catalog(
    host: Host,
    catalog: Catalog,
    *,
    compiler: str = "auto",
    folder: Path | None = None,
    platforms: Sequence[str] = (),
    force: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    began: Callable[[Entry], None] = lambda _: None,
) -> Iterator[EntryBuild]:
    """Build what the catalogue holds, one entry after the other.

    Parameters
    ----------
    host
        Whose compilers.
    catalog
        What to build.
    compiler
        A name, or ``"auto"``: of each entry's compilers the first that runs here; where it refuses
        the class and advises another of them that can run here, that one.
    folder
        Where the FMUs go; the catalogue's own folder by default.
    platforms
        What the FMUs are to hold binaries for; none for what the catalogue says.
    force
        Build also what is up to date.
    progress
        Is told in a line what is being done, where it may take long.
    began
        Called with each entry when its turn comes.

    Yields
    ------
    EntryBuild
        In the catalogue's order.

    Raises
    ------
    fmident.errors.PluginError
        There is no compiler of that name.
    fmident.errors.CompilationError
        The compiler that was named cannot run here.
    """
    compilers = _Compilers(host, compiler)
    names = platform_names(platforms)
    for entry in catalog.built:
        began(entry)
        target = (folder or catalog.path.parent) / entry.file
        chosen, why_not = compilers.choose(entry)
        if not chosen:
            yield EntryBuild(entry, "left out", "", target, reason=why_not)
        else:
            yield _build_entry(entry, chosen, target, force, names, progress)


class _Compilers:
    """The compilers of a host, each asked once whether it can run."""

    def __init__(self, host: Host, wanted: str) -> None:
        self._host = host
        self._made: dict[str, Compiler] = {}
        self._reasons: dict[str, str | None] = {}
        self._wanted = wanted
        if wanted == "auto":
            return
        if wanted not in host.compilers:
            raise PluginError(
                f"there is no compiler '{wanted}'",
                hint=did_you_mean(wanted, host.compilers.names(), kind="compiler"),
                code=Code.UNKNOWN_NAME,
            )
        reason = self._reason(wanted)
        if reason is not None:
            raise CompilationError(f"the compiler '{wanted}' cannot run here: {reason}")

    def get(self, name: str) -> Compiler:
        if name not in self._made:
            self._made[name] = self._host.compiler(name)
        return self._made[name]

    def choose(self, entry: Entry) -> tuple[list[Compiler], str]:
        """Return the compilers for an entry, or none and why there is none."""
        if self._wanted != "auto":
            if self._wanted in entry.compilers:
                return [self.get(self._wanted)], ""
            return [], f"the catalogue has it built by {' or '.join(entry.compilers)}"
        known = [n for n in entry.compilers if n in self._host.compilers]
        able = [self.get(name) for name in known if self._reason(name) is None]
        return able, "; ".join(_first_line(f"{n}: {self._reason(n)}") for n in known)

    def _reason(self, name: str) -> str | None:
        if name not in self._reasons:
            self._reasons[name] = self.get(name).unavailable()
        return self._reasons[name]


def _build_entry(
    entry: Entry,
    compilers: Sequence[Compiler],
    target: Path,
    force: bool,
    platforms: tuple[str, ...],
    progress: Callable[[str], None],
) -> EntryBuild:
    name = compilers[0].name
    try:
        sources = with_libraries(expand(entry.sources))
    except CompilationError as error:
        return EntryBuild(entry, "refused", name, target, 0.0, 0, str(error.message))
    choices = []
    for compiler in compilers:
        settings = entry.settings_of(compiler.name)
        request = BuildRequest(
            entry.class_name,
            sources,
            target,
            settings.tolerance,
            dict(settings.options),
            platforms or entry.platforms,
            progress,
        )
        if not force and not is_stale(target, request, compiler):
            # The catalogue may have changed since it was built.
            reason = _wrong_interface(entry, target, ("interface",))
            state: State = "failed" if reason else "up to date"
            size = target.stat().st_size
            return EntryBuild(entry, state, compiler.name, target, size=size, reason=reason)
        choices.append((compiler, request))
    # Checked before it takes its place: a good FMU is replaced only by a good one.
    fresh = target.with_name(f".{target.name}.new")
    began = time.perf_counter()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        taken, result = compiled([(c, replace(r, output=fresh)) for c, r in choices])
    except CompilationError as error:
        seconds = time.perf_counter() - began
        first = next((str(d) for d in error.diagnostics if d.severity == "error"), error.message)
        return EntryBuild(
            entry, "refused", name, target, seconds, 0, first, tuple(error.diagnostics)
        )
    except PluginError as error:  # the other entries may have other compilers
        seconds = time.perf_counter() - began
        return EntryBuild(entry, "refused", name, target, seconds, 0, str(error))
    name = taken.name
    reason = _wrong_interface(entry, fresh)
    place = target.with_name(f"{target.name}.rejected") if reason else target
    fresh.replace(place)
    return EntryBuild(
        entry,
        "failed" if reason else "built",
        name,
        place,
        result.seconds,
        place.stat().st_size,
        reason,
        result.diagnostics,
    )


def _wrong_interface(entry: Entry, fmu: Path, checks: tuple[str, ...] = _CHECKS) -> str:
    """Return in which way an FMU is not what the catalogue says; ``""`` when it is."""
    (report,) = validate([plan_fmu(fmu, entry, only=checks)], jobs=1)
    if report.unusable is not None:
        return report.unusable
    return "; ".join(f"{c.name}: {c.detail}" for c in report.checks if not c.passed)


def _first_line(text: str) -> str:
    return text.splitlines()[0].rstrip(":")
