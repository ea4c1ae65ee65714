"""Check an FMU's files for defects that FMPy does not detect, without running its code.

A rule is included if an FMU of some tool breaks it, or if breaking it gives wrong
results.
"""

from __future__ import annotations

import re
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmident.errors import UnitError
from fmident.fmu.native_code.library import fmpy
from fmident.validation.checks.interface import same_meaning
from fmident.validation.result import Check, Outcome

NAME = "FMI rules"
STANDARDS = {2: "FMI 2.0.5", 3: "FMI 3.0.2"}
_MOST = 20
"""Findings of one rule that are shown; a flaw of the exporting tool is often in all variables."""
_FLOATS = ("Real", "Float32", "Float64")
_DATE = re.compile(r"[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_SOURCE = re.compile(r"sources/.*\.(c|cc|cpp|cxx)", re.IGNORECASE | re.DOTALL)


SECTIONS: Mapping[str, tuple[str, str]] = {
    "alias set": ("2.2.7", ""),
    "alias unit": ("2.2.7", ""),
    "dependencies": ("2.2.8", ""),
    "dependencies kind": ("2.2.8", "2.4.8"),
    "date": ("2.2.1", "2.4.1"),
    "sources": ("2.3", "2.4.10, 2.5.1.3"),
    "build configurations": ("", "2.4.10"),
    "external dependencies": ("", "2.4.2, 2.5.1.1"),
}
"""Sections of FMI 2.0.5 and FMI 3.0.2 on each rule, empty if a version does not have it;
``docs/reference/fmi-rules.md`` describes the rules. A violation is a finding, or a failure if it is
:attr:`Broken.wrong`."""


@dataclass(frozen=True)
class Broken:
    """Violation of a rule by an FMU.

    `line` is that in the description, if it is there. A violation is a failure if it makes
    results `wrong`.
    """

    rule: str
    message: str
    line: int | None = None
    wrong: bool = False

    def text(self, major: int) -> str:
        """Return location, message and section."""
        place = "" if self.line is None else f"line {self.line}: "
        section = f"{STANDARDS[major]}, {SECTIONS[self.rule][major - 2]}"
        return f"{place}{self.message} ({section})"


def check_rules(path: Path) -> Check:
    """Return the rules that an FMU breaks."""
    began = time.perf_counter()
    try:
        description = fmpy.read_model_description(str(path), validate=False)
        major = int(description.fmiMajorVersion)
        broken = [*_variables(description, major), *_files(path, description, major)]
    except Exception as error:  # FMPy reports errors of reading in its own check
        return Check(NAME, "skipped", f"the rules cannot be checked: {error}")
    seconds = time.perf_counter() - began
    if not broken:
        return Check(NAME, "ok", f"nothing is against {STANDARDS[major]}", seconds=seconds)
    broken.sort(key=lambda b: not b.wrong)  # stable: what makes results wrong comes first
    first, *others = list(_texts(broken, major))
    more = f" (and {len(others)} more)" if others else ""
    outcome: Outcome = "failed" if broken[0].wrong else "finding"
    return Check(NAME, outcome, first + more, seconds=seconds, further=tuple(others))


def _texts(broken: list[Broken], major: int) -> Iterator[str]:
    counts: Counter[tuple[str, bool]] = Counter()
    for item in broken:
        key = (item.rule, item.wrong)
        counts[key] += 1
        if counts[key] <= _MOST:
            yield " ".join(item.text(major).split())
    for (rule, _), count in counts.items():
        if count > _MOST:
            yield f"{count - _MOST} more of the rule '{rule}'"


def _variables(description: Any, major: int) -> Iterator[Broken]:
    """Yield defects of variables; `description` is FMPy's."""
    if major == 2:
        yield from _aliases(description)
        states = {d.variable.derivative for d in description.derivatives}
        known = [("an output", description.outputs), ("a derivative", description.derivatives)]
        for what, unknowns in known:
            for unknown in unknowns:
                for other in unknown.dependencies or ():
                    if other.causality in ("input", "independent") or other in states:
                        continue
                    message = (
                        f"{what}, '{unknown.variable.name}', is declared to depend on"
                        f" '{other.name}', of causality '{other.causality}' and not a state"
                    )
                    yield Broken("dependencies", message, unknown.sourceline)
    for unknowns in (description.outputs, description.derivatives, description.initialUnknowns):
        for unknown in unknowns:
            kinds = sorted({*(unknown.dependenciesKind or ())} - {"dependent"})
            if kinds and unknown.variable.type not in _FLOATS:
                message = (
                    f"the kind of dependency '{kinds[0]}' of '{unknown.variable.name}' is not"
                    f" allowed of type {unknown.variable.type}"
                )
                yield Broken("dependencies kind", message, unknown.sourceline)
    date = description.generationDateAndTime
    if date is not None and not _DATE.fullmatch(date.strip()):
        yield Broken("date", f"generationDateAndTime is '{date[:40]}'")


def _aliases(description: Any) -> Iterator[Broken]:
    groups: dict[tuple[str, int], list[Any]] = {}
    for variable in description.modelVariables:
        kind = variable.type.replace("Enumeration", "Integer")
        groups.setdefault((kind, variable.valueReference), []).append(variable)
    for first, *others in groups.values():
        settable = [v for v in (first, *others) if _settable(v)]
        for variable in settable[1:]:
            message = (
                f"both '{settable[0].name}' (line {settable[0].sourceline}) and"
                f" '{variable.name}', which have one value reference, can be set"
            )
            yield Broken("alias set", message, variable.sourceline, wrong=True)
        for variable in others:
            units = (_unit(first), _unit(variable))
            if units[0] == units[1]:
                continue
            texts = " and ".join("no unit" if u is None else f"the unit '{u}'" for u in units)
            message = (
                f"'{first.name}' (line {first.sourceline}) and '{variable.name}', which have one"
                f" value reference, have {texts}"
            )
            yield Broken("alias unit", message, variable.sourceline, _contradict(*units))


def _settable(variable: Any) -> bool:
    """Return whether fmi2SetXXX may be called at any time."""
    if variable.variability == "constant":
        return False
    return bool(variable.causality == "input" or variable.initial in ("exact", "approx"))


def _unit(variable: Any) -> str | None:
    unit = variable.unit or getattr(variable.declaredType, "unit", None)
    return None if unit is None else str(unit)


def _contradict(first: str | None, second: str | None) -> bool:
    if first is None or second is None:
        return False
    try:
        return not same_meaning(first or "1", second or "1")
    except UnitError:
        return False


def _files(path: Path, description: Any, major: int) -> Iterator[Broken]:
    names = {
        "ModelExchange": description.modelExchange,
        "CoSimulation": description.coSimulation,
        "ScheduledExecution": description.scheduledExecution,
    }
    interfaces = {name: kinds for name, kinds in names.items() if kinds is not None}
    identifiers = {interface.modelIdentifier for interface in interfaces.values()}
    with zipfile.ZipFile(path) as archive:
        members = {e.filename.replace("\\", "/") for e in archive.infolist() if not e.is_dir()}
    sources = sorted(filter(_SOURCE.fullmatch, members))
    built = "sources/buildDescription.xml" in members
    if sources and not built and not description.buildConfigurations:
        yield Broken("sources", f"there are sources, such as '{sources[0]}', that are not listed")
    if major == 2:
        return
    for build in (
        fmpy.model_description.read_build_description(str(path), validate=False) if built else ()
    ):
        if build.modelIdentifier not in identifiers:
            message = f"'{build.modelIdentifier}' is not the modelIdentifier of an interface"
            yield Broken("build configurations", f"buildDescription.xml: {message}")
    tools = [name for name, interface in interfaces.items() if interface.needsExecutionTool]
    documents = {f"documentation/externalDependencies.{ending}" for ending in ("txt", "html")}
    if tools and not documents & members:
        message = f"{tools[0]} needs a tool, which no documentation/externalDependencies names"
        yield Broken("external dependencies", message)
