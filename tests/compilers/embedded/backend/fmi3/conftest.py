"""FMUs of FMI 3.0, of the same hand-made models and of one with arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import casadi as ca
import pytest
from fmpy import extract, read_model_description
from fmpy.fmi3 import FMU3Slave

from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.compilers.embedded.model import OdeModel, Version

from ..conftest import MODELS, make_model, variable

EVENTS = Path(__file__).parents[2] / "events" / "Events.mo"


def chain() -> OdeModel:
    """Three masses in a row, all of whose quantities are arrays or look like ones."""

    def acceleration(x: Any, u: Any, p: Any) -> list[Any]:
        stretch = [x[0], x[1] - x[0], x[2] - x[1]]
        force = [p[k] * stretch[k] + p[6] * stretch[k] ** 3 for k in range(3)]
        inside = [force[0] - force[1], force[1] - force[2], force[2]]
        drive = [u[0], p[3] * u[0] * u[1], u[1] ** 2]
        return [drive[k] - inside[k] - p[5] * x[3 + k] for k in range(3)]

    def named(name: str, kind: Any, starts: Sequence[float | None], **more: Any) -> list[Any]:
        return [variable(f"{name}[{k}]", kind, s, **more) for k, s in enumerate(starts, start=1)]

    return make_model(
        "Test.Chain",
        states=[
            *named("body.q", "state", [0.1, None, -0.2], unit="m"),
            *named("body.v", "state", [0.0, 0.5, 0.0], unit="m/s"),
        ],
        inputs=named("f", "input", [0.0, 1.0], unit="N"),
        outputs=[
            *named("a", "output", [None] * 3, unit="m/s2"),
            variable("y[2]", "output"),
            variable("y[3]", "output"),
        ],
        parameters=[
            *named("k", "parameter", [20.0, 30.0, 40.0], unit="N/m", minimum=0.0),
            variable("odd[1]", "parameter", 2.0, unit="1/N"),
            variable("odd[2]", "parameter", 0.25, unit="m"),
            variable("d", "parameter", 0.1),
            variable("h", "parameter", 3.0),
            *(
                variable(f"G[{i},{j}]", "parameter", 10.0 * i + j)
                for i in (1, 2)
                for j in (1, 2, 3)
            ),
        ],
        calculated=named("w", "calculated", [None, None]),
        local=named("e", "local", [None, None]),
        c=lambda p: [ca.sqrt(p[0]), ca.sqrt(p[1])],
        x0=lambda t, u, p, c: [0.1, p[4] * u[1], -0.2, 0.0, 0.5, 0.0],
        rhs=lambda t, x, u, p, c: [x[3], x[4], x[5], *acceleration(x, u, p)],
        y=lambda t, x, u, p, c: [
            *acceleration(x, u, p),
            p[7] * x[0] + p[8] * x[1] + p[9] * x[2],
            p[10] * x[3] + p[11] * x[4] + p[12] * x[5] + u[0] + ca.sin(t),
        ],
        w=lambda t, x, u, p, c: [p[0] * x[0] ** 2, x[3] ** 2],
    )


def rows() -> OdeModel:
    """As :func:`chain` in small, without anything that keeps a variable from being an array."""
    n = 3
    return make_model(
        "Test.Rows",
        states=[variable(f"x[{k + 1}]", "state", 1.0 + k) for k in range(n)],
        inputs=[variable(f"u[{k + 1}]", "input", 0.0) for k in range(n)],
        outputs=[variable(f"y[{k + 1}]", "output") for k in range(n)],
        parameters=[variable(f"a[{k + 1}]", "parameter", 0.5 * (k + 1)) for k in range(n)],
        rhs=lambda t, x, u, p, c: [u[k] - p[k] * x[k] * x[(k + 1) % n] for k in range(n)],
        y=lambda t, x, u, p, c: [p[k] * x[k] + u[(k + 1) % n] for k in range(n)],
    )


def timed() -> OdeModel:
    """A state that begins where the time says."""
    return make_model(
        "Test.Timed",
        states=[variable("x", "state", None)],
        outputs=[variable("y", "output")],
        x0=lambda t, u, p, c: [t**2],
        rhs=lambda t, x, u, p, c: [-x[0]],
        y=lambda t, x, u, p, c: [x[0] + ca.sin(t)],
    )


ALL: Mapping[str, Callable[[], OdeModel]] = {**MODELS, "chain": chain, "rows": rows, "timed": timed}


@contextmanager
def instance(path: Path, folder: Path) -> Iterator[FMU3Slave]:
    """Instantiate any FMU for Co-Simulation."""
    extract(str(path), unzipdir=str(folder))
    description = read_model_description(str(folder))
    slave = FMU3Slave(
        guid=description.guid,
        unzipDirectory=str(folder),
        modelIdentifier=description.coSimulation.modelIdentifier,
        instanceName="test",
    )
    slave.instantiate()
    try:
        yield slave
    finally:
        slave.fmi3FreeInstance(slave.component)


@dataclass
class Fmu3:
    """A slave with its description and what it logged."""

    slave: FMU3Slave
    references: dict[str, int]
    sizes: dict[str, int]
    messages: list[tuple[int, str, str]] = field(default_factory=list)

    def width(self, names: Sequence[str]) -> int:
        return sum(self.sizes[n] for n in names)

    def set(self, **values: Sequence[float]) -> None:
        numbers = [number for value in values.values() for number in value]
        self.slave.setFloat64([self.references[n] for n in values], numbers)

    def get(self, *names: str) -> list[float]:
        found = [self.references[n] for n in names]
        return list(self.slave.getFloat64(found, self.width(names)))

    def initialize(self, tolerance: float | None = None, **values: Sequence[float]) -> None:
        if values:
            self.set(**values)
        self.slave.enterInitializationMode(tolerance=tolerance)
        self.slave.exitInitializationMode()

    def step(self, time: float, size: float) -> tuple[bool, bool, bool, float]:
        done: tuple[bool, bool, bool, float] = self.slave.doStep(time, size)
        return done

    def error(self) -> str:
        return self.messages[-1][2]


Update = Callable[[Fmu3, float], None]


class Builder3:
    """Builds each model once for a version of FMI, and opens instances for 3.0."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str, version: Version = "3.0") -> Path:
        path = self._folder / f"{name}-{version}.fmu"
        if not path.exists():
            build_fmu(ALL[name](), path, generation_tool="test", version=version)
        return path

    def extracted(self, name: str) -> Path:
        folder = self.path(name).with_suffix("")
        if not folder.exists():
            extract(str(self.path(name)), unzipdir=str(folder))
        return folder

    @contextmanager
    def open(
        self, name: str, update: Update | None = None, moved: Sequence[str] = ()
    ) -> Iterator[Fmu3]:
        folder = self.extracted(name)
        description = read_model_description(str(folder))
        slave = FMU3Slave(
            guid=description.guid,
            unzipDirectory=str(folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="test",
        )
        fmu = Fmu3(
            slave,
            {v.name: v.valueReference for v in description.modelVariables},
            {
                v.name: math.prod(int(d.start) for d in v.dimensions)
                for v in description.modelVariables
            },
        )

        def log(environment: Any, status: int, category: bytes, text: bytes) -> None:
            fmu.messages.append((status, category.decode(), text.decode()))

        def within(environment: Any, time: float, wanted: bool, *rest: Any) -> None:
            assert update is not None
            update(fmu, time)

        slave.instantiate(
            logMessage=log,
            intermediateUpdate=within if update else None,
            requiredIntermediateVariables=[fmu.references[n] for n in moved] or None,
        )
        try:
            yield fmu
        finally:
            slave.fmi3FreeInstance(slave.component)


@pytest.fixture(scope="session")
def fmus3(tools: None, tmp_path_factory: pytest.TempPathFactory) -> Builder3:
    return Builder3(tmp_path_factory.mktemp("fmus3"))
