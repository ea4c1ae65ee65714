"""Build small Model Exchange FMUs of FMI 2.0 and 3.0 from one C source."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fmident.fmu import Fmu
from fmident.fmu.archive import library_suffix, platform_folder

from .build import GUID, compile_library


@dataclass(frozen=True)
class Signal:
    """One variable, in FMI 2.0's terms."""

    name: str
    reference: int
    causality: str = "local"
    start: float | None = None
    kind: str = "Real"
    variability: str | None = None
    derivative: str | None = None
    unit: str | None = None


@dataclass(frozen=True)
class Exchange:
    """What goes into an FMU."""

    source: str
    signals: tuple[Signal, ...]
    indicators: int = 0
    defines: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""


Opened = Callable[[Exchange], Fmu]
"""Builds and opens an FMU that is closed behind the test."""

_TYPES_3 = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean"}


def _attributes(**given: object) -> str:
    return "".join(f' {k}="{v}"' for k, v in given.items() if v is not None)


def _start(signal: Signal) -> object:
    if signal.kind == "Boolean" and signal.start is not None:
        return "true" if signal.start else "false"
    return signal.start


def _common(signal: Signal) -> dict[str, object]:
    variability = signal.variability
    if variability is None:
        parameter = signal.causality == "parameter"
        variability = (
            "fixed" if parameter else "continuous" if signal.kind == "Real" else "discrete"
        )
    settable = signal.causality in ("local", "output") and signal.start is not None
    return {
        "name": signal.name,
        "valueReference": signal.reference,
        "causality": signal.causality,
        "variability": variability,
        "initial": "exact" if settable else None,
    }


def _description_2(fixture: Exchange, identifier: str) -> str:
    signals = fixture.signals
    places = {s.name: k + 1 for k, s in enumerate(signals)}
    variables = "".join(
        f"<ScalarVariable{_attributes(**_common(s))}><{s.kind}"
        + _attributes(
            start=_start(s),
            unit=s.unit,
            derivative=None if s.derivative is None else places[s.derivative],
        )
        + "/></ScalarVariable>\n"
        for s in signals
    )
    unknowns = "".join(f'<Unknown index="{places[s.name]}"/>' for s in signals if s.derivative)
    flags = _attributes(**fixture.flags)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription fmiVersion="2.0" modelName="{identifier}" guid="{GUID}"'
        f' numberOfEventIndicators="{fixture.indicators}">\n'
        f'<ModelExchange modelIdentifier="{identifier}"{flags}/>\n'
        f"{fixture.extra}<ModelVariables>\n{variables}</ModelVariables>\n"
        f"<ModelStructure><Derivatives>{unknowns}</Derivatives></ModelStructure>\n"
        "</fmiModelDescription>\n"
    )


def _description_3(fixture: Exchange, identifier: str) -> str:
    references = {s.name: s.reference for s in fixture.signals}
    variables = "".join(
        f"<{_TYPES_3[s.kind]}{_attributes(**_common(s))}"
        + _attributes(
            start=_start(s),
            unit=s.unit,
            derivative=None if s.derivative is None else references[s.derivative],
        )
        + "/>\n"
        for s in fixture.signals
    )
    structure = "".join(
        f'<ContinuousStateDerivative valueReference="{s.reference}"/>'
        for s in fixture.signals
        if s.derivative
    )
    structure += '<EventIndicator valueReference="0"/>' * fixture.indicators
    renamed = {"providesDirectionalDerivative": "providesDirectionalDerivatives"}
    flags = {renamed.get(k, k): v for k, v in fixture.flags.items()}
    if flags.pop("completedIntegratorStepNotNeeded", "false") == "false":
        flags["needsCompletedIntegratorStep"] = "true"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription fmiVersion="3.0" modelName="{identifier}"'
        f' instantiationToken="{GUID}">\n'
        f'<ModelExchange modelIdentifier="{identifier}"{_attributes(**flags)}/>\n'
        f"{fixture.extra}<ModelVariables>\n{variables}</ModelVariables>\n"
        f"<ModelStructure>{structure}</ModelStructure>\n"
        "</fmiModelDescription>\n"
    )


def build_exchange(fixture: Exchange, version: int, folder: Path) -> Path:
    """Compile and zip; return the path of the FMU."""
    identifier = Path(fixture.source).stem
    key = hashlib.sha256(repr((fixture, version)).encode()).hexdigest()[:12]
    path = folder / f"{identifier}-{key}.fmu"
    if path.exists():
        return path
    library = folder / f"{identifier}-{key}{library_suffix()}"
    compile_library(fixture.source, (f"FMI={version}", *fixture.defines), library)
    text = (_description_2 if version == 2 else _description_3)(fixture, identifier)
    pack_fmu(path, text, library, f"{version}.0", identifier)
    return path


def pack_fmu(path: Path, text: str, library: Path, version: str, identifier: str) -> None:
    """Zip description and library."""
    member = f"binaries/{platform_folder(version)}/{identifier}{library_suffix()}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("modelDescription.xml", text)
        file.write(library, member)
        file.writestr("resources/note.txt", "resource")


def build_twin(folder: Path, *defines: str, tool: str = "") -> Path:
    """Return an FMI 2.0 FMU with both interfaces: coarse Co-Simulation, exact equations."""
    signals = (
        Signal("x", 0, "output"),
        Signal("der(x)", 1, derivative="x"),
        Signal("u", 2, "input", 0.0),
        Signal("k", 3, "parameter", 2.0),
        Signal("y", 4, "output"),
    )
    exchange = Exchange("twin_me.c", signals, defines=defines)
    return build_both(exchange, "twin_cs.c", folder, tool=tool)


def build_both(
    fixture: Exchange, slave: str, folder: Path, *, tool: str = "", experiment: str = ""
) -> Path:
    """Return an FMI 2.0 FMU with both interfaces, each from a C source of its own.

    Parameters
    ----------
    fixture
        Variables, and the equations for Model Exchange.
    slave
        Source of the Co-Simulation, with the same references.
    folder
        Where the FMU is written.
    tool
        Generation tool.
    experiment
        Attributes of the default experiment.
    """
    identifier, other = Path(fixture.source).stem, Path(slave).stem
    path = folder / f"{'-'.join((other, *fixture.defines, *tool.split()))}.fmu"
    text = _description_2(fixture, identifier)
    text = text.replace(
        "<ModelExchange ",
        f'<CoSimulation modelIdentifier="{other}" canHandleVariableCommunicationStepSize="true"/>'
        "<ModelExchange ",
    )
    if tool:
        text = text.replace(' fmiVersion="2.0"', f' fmiVersion="2.0" generationTool="{tool}"')
    if experiment:
        text = text.replace(
            "<ModelVariables>", f"<DefaultExperiment {experiment}/><ModelVariables>"
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("modelDescription.xml", text)
        for source, given in ((slave, ()), (fixture.source, ("FMI=2", *fixture.defines))):
            name = Path(source).stem
            library = folder / f"{path.stem}-{name}{library_suffix()}"
            compile_library(source, given, library)
            file.write(library, f"binaries/{platform_folder('2.0')}/{name}{library_suffix()}")
    return path


def states(*names: str) -> Sequence[Signal]:
    """Return states and their derivatives, with references as the C frame has them."""
    n = len(names)
    return [
        *(Signal(name, k, "output") for k, name in enumerate(names)),
        *(Signal(f"der({name})", n + k, derivative=name) for k, name in enumerate(names)),
    ]
