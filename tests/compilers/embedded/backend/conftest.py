"""Small models made by hand, built once per session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import casadi as ca
import pytest
from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Slave

from fmident.compilers.embedded.backend.compiling import missing_tools
from fmident.compilers.embedded.backend.fmu import build_fmu
from fmident.compilers.embedded.backend.layout import dependency_rows
from fmident.compilers.embedded.model import (
    Assertion,
    ExperimentDefaults,
    OdeModel,
    ScalarVariable,
)

Expressions = Sequence[Any]


def make_model(
    name: str,
    *,
    states: Sequence[ScalarVariable] = (),
    inputs: Sequence[ScalarVariable] = (),
    outputs: Sequence[ScalarVariable] = (),
    parameters: Sequence[ScalarVariable] = (),
    calculated: Sequence[ScalarVariable] = (),
    local: Sequence[ScalarVariable] = (),
    c: Callable[[Any], Expressions] = lambda p: [],
    x0: Callable[[Any, Any, Any, Any], Expressions] | None = None,
    rhs: Callable[[Any, Any, Any, Any, Any], Expressions] = lambda t, x, u, p, c: [],
    y: Callable[[Any, Any, Any, Any, Any], Expressions] = lambda t, x, u, p, c: [],
    w: Callable[[Any, Any, Any, Any, Any], Expressions] = lambda t, x, u, p, c: [],
    a: Callable[[Any, Any, Any, Any, Any], Expressions] = lambda t, x, u, p, c: [],
    asserts: Sequence[Assertion] = (),
    description: str = "",
    experiment: ExperimentDefaults = ExperimentDefaults(),  # noqa: B008
) -> OdeModel:
    """Make an :class:`OdeModel` from expressions."""
    t = ca.SX.sym("t")
    x, u, p, cc = (
        ca.SX.sym(n, len(g))
        for n, g in zip("xupc", (states, inputs, parameters, calculated), strict=True)
    )
    arguments = [t, x, u, p, cc]

    def function(name: str, args: list[Any], items: Expressions) -> Any:
        value = ca.vertcat(*items) if items else ca.SX(0, 1)
        return ca.Function(name, args, [value])

    starts = x0 or (lambda t, u, p, c: [v.start for v in states])
    dx = rhs(*arguments)
    right = function("rhs", arguments, dx)
    values = function("y", arguments, y(*arguments))

    def named(rows: list[list[set[int]]]) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple([states[j].name for j in sorted(r[1])] + [inputs[j].name for j in sorted(r[2])])
            for r in rows
        )

    return OdeModel(
        name=name,
        description=description,
        states=tuple(states),
        derivatives=tuple(
            ScalarVariable(f"der({s.name})", "derivative", derivative_of=s.name) for s in states
        ),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        locals=tuple(local),
        parameters=tuple(parameters),
        calculated=tuple(calculated),
        calculated_parameters=function("c", [p], c(p)),
        initial_states=function("x0", [t, u, p, cc], starts(t, u, p, cc)),
        free_starts=(True,) * len(states),
        rhs=right,
        output_values=values,
        local_values=function("w", arguments, w(*arguments)),
        assert_values=function("a", arguments, a(*arguments)),
        asserts=tuple(asserts),
        output_dependencies=named(dependency_rows(values)),
        derivative_dependencies=named(dependency_rows(right)),
        experiment=experiment,
    )


def variable(name: str, kind: Any, start: float | None = None, **more: Any) -> ScalarVariable:
    return ScalarVariable(name, kind, start, **more)


def oscillator() -> OdeModel:
    """Mass, spring and damper under a force; the position is a state and an output."""
    return make_model(
        "Test.Oscillator",
        description='Mass & <spring> with "damper"',
        states=[
            variable("s", "state", 0.1, unit="m", description="Position"),
            variable("v", "state", 0.0, unit="m/s"),
        ],
        inputs=[variable("f", "input", 0.0, unit="N")],
        outputs=[
            variable("s", "output", unit="m"),
            variable("acceleration", "output", unit="m/s2"),
        ],
        parameters=[
            variable("m", "parameter", 2.0, unit="kg", minimum=0.0),
            variable("k", "parameter", 50.0, unit="N/m"),
            variable("d", "parameter", 1.5, unit="N.s/m"),
        ],
        calculated=[
            variable("omega", "calculated", unit="rad/s"),
            variable("two", "calculated", 2.0),
        ],
        local=[variable("energy", "local", unit="J")],
        c=lambda p: [ca.sqrt(p[1] / p[0]), 2.0],
        rhs=lambda t, x, u, p, c: [x[1], (u[0] - p[2] * x[1] - p[1] * x[0]) / p[0]],
        y=lambda t, x, u, p, c: [x[0], (u[0] - p[2] * x[1] - p[1] * x[0]) / p[0]],
        w=lambda t, x, u, p, c: [p[0] * x[1] ** 2 / c[1] + p[1] * x[0] ** 2 / c[1]],
        experiment=ExperimentDefaults(0.0, 10.0, 1e-6, 0.01),
    )


def integrator() -> OdeModel:
    """``der(x) = u``, and an output with feedthrough."""
    return make_model(
        "Test.Integrator",
        states=[variable("x", "state", 0.0)],
        inputs=[variable("u", "input", 0.0)],
        outputs=[variable("y", "output"), variable("x", "output")],
        parameters=[variable("k", "parameter", 1.0)],
        rhs=lambda t, x, u, p, c: [p[0] * u[0]],
        y=lambda t, x, u, p, c: [x[0] + 10 * u[0], x[0]],
    )


def algebraic() -> OdeModel:
    """No states: ``y = a*u1 + sqrt(u2)``, with an assertion on u1 and a warning."""
    return make_model(
        "Test.Algebraic",
        inputs=[variable("u[1]", "input", 0.0), variable("u[2]", "input", 1.0)],
        outputs=[variable("y", "output")],
        parameters=[variable("a", "parameter", 3.0)],
        local=[variable("w", "local")],
        y=lambda t, x, u, p, c: [p[0] * u[0] + ca.sqrt(u[1])],
        w=lambda t, x, u, p, c: [u[0] + t],
        a=lambda t, x, u, p, c: [10 - u[0], 5 - u[0]],
        asserts=[
            Assertion("u[1] is 100% too large"),
            Assertion("u[1] is rather large", "warning"),
        ],
    )


def pendulum() -> OdeModel:
    """Driven pendulum whose start speed follows from a parameter; start angle an initial
    equation of the input; asserts that it does not turn over."""
    return make_model(
        "Test.Pendulum",
        states=[
            variable("phi", "state", None, unit="rad"),
            variable("w", "state", None, unit="rad/s"),
        ],
        inputs=[variable("tau", "input", 0.0, unit="N.m")],
        outputs=[variable("phi", "output", unit="rad"), variable("power", "output", unit="W")],
        parameters=[
            variable("l", "parameter", 0.5, unit="m"),
            variable("w0", "parameter", 1.0, unit="rad/s"),
        ],
        calculated=[variable("a", "calculated")],
        c=lambda p: [9.81 / p[0]],
        x0=lambda t, u, p, c: [u[0] / 100, p[1]],
        rhs=lambda t, x, u, p, c: [x[1], -c[0] * ca.sin(x[0]) - 0.2 * x[1] + u[0]],
        y=lambda t, x, u, p, c: [x[0], u[0] * x[1]],
        a=lambda t, x, u, p, c: [3.0 - x[0]],
        asserts=[Assertion("the pendulum turned over")],
    )


def growing() -> OdeModel:
    """``der(x) = x`` from 0.1, asserted to stay below 2, where it comes at ln 20."""
    return make_model(
        "Test.Growing",
        states=[variable("x", "state", 0.1)],
        rhs=lambda t, x, u, p, c: [x[0]],
        a=lambda t, x, u, p, c: [2.0 - x[0]],
        asserts=[Assertion("x is too large")],
    )


def draining() -> OdeModel:
    """A tank that runs dry at t = 2; then the law of outflow has no real value."""
    return make_model(
        "Test.Draining",
        states=[variable("h", "state", 1.0, nominal=1.0)],
        outputs=[variable("flow", "output"), variable("inverse", "output")],
        rhs=lambda t, x, u, p, c: [-ca.sqrt(x[0]) - 0.001],
        y=lambda t, x, u, p, c: [ca.sqrt(x[0]), 1 / (x[0] - 1)],
    )


def motor() -> OdeModel:
    """A DC motor whose current settles in 10 microseconds, with the motion in 40 milliseconds."""
    return make_model(
        "Test.Motor",
        states=[variable("i", "state", 0.0), variable("w", "state", 0.0)],
        inputs=[variable("v", "input", 0.0)],
        outputs=[variable("power", "output")],
        rhs=lambda t, x, u, p, c: [
            (u[0] - x[0] - 0.05 * x[1]) / 1e-5,
            (0.05 * x[0] - 1e-5 * x[1]) / 1e-4,
        ],
        y=lambda t, x, u, p, c: [u[0] * x[0]],
    )


def tank() -> OdeModel:
    """A tank that is empty at first: the law of outflow has no finite slope there."""
    return make_model(
        "Test.Tank",
        states=[variable("h", "state", 0.0)],
        inputs=[variable("q", "input", 0.0)],
        rhs=lambda t, x, u, p, c: [u[0] - ca.sqrt(x[0])],
    )


def rod() -> OdeModel:
    """Heat along a rod of 110 cells, from a source at one end to a heat sink at the other."""
    n = 110

    def rhs(t: Any, x: Any, u: Any, p: Any, c: Any) -> list[Any]:
        neighbours = [x[0] + u[0] / n, *(x[i] for i in range(n)), 0.0]
        return [
            n * n * (neighbours[i] - 2.0 * neighbours[i + 1] + neighbours[i + 2]) for i in range(n)
        ]

    return make_model(
        "Test.Rod",
        states=[variable(f"T[{i + 1}]", "state", 0.0) for i in range(n)],
        inputs=[variable("q", "input", 0.0)],
        rhs=rhs,
    )


def relaxation() -> OdeModel:
    """``der(x) = k*(u - x)``; gain and start value follow from parameters."""
    return make_model(
        "Test.Relaxation",
        states=[variable("x", "state", None), variable("z", "state", 0.5)],
        inputs=[variable("u", "input", 0.0)],
        outputs=[variable("y", "output"), variable("x", "output")],
        parameters=[
            variable("k", "parameter", 2.0),
            variable("a", "parameter", 3.0),
            variable("b", "parameter", 0.25),
        ],
        calculated=[variable("gain", "calculated")],
        local=[variable("square", "local")],
        c=lambda p: [p[1] ** 2],
        x0=lambda t, u, p, c: [p[2] * p[1], 0.5],
        rhs=lambda t, x, u, p, c: [p[0] * (u[0] - x[0]), -p[0] * x[1]],
        y=lambda t, x, u, p, c: [c[0] * x[0] + p[2], x[0]],
        w=lambda t, x, u, p, c: [c[0] * x[0] ** 2],
    )


def two_speeds() -> OdeModel:
    """A position that runs at one speed up to a line and at another one behind it."""
    return make_model(
        "Test.TwoSpeeds",
        states=[variable("s", "state", 0.0), variable("r", "state", 1.0)],
        parameters=[
            variable("before", "parameter", 2.0),
            variable("behind", "parameter", 0.5),
            variable("line", "parameter", 1.0),
        ],
        rhs=lambda t, x, u, p, c: [
            ca.if_else(x[0] < p[2], p[0], p[1]),
            -x[1] * ca.fabs(x[0] - p[2]),
        ],
    )


def sliding() -> OdeModel:
    """Coulomb friction by the sign of the speed: the solution comes to rest on the jump."""
    return make_model(
        "Test.Sliding",
        states=[variable("v", "state", 1.0)],
        parameters=[variable("mu", "parameter", 1.0)],
        rhs=lambda t, x, u, p, c: [-p[0] * ca.sign(x[0])],
    )


def bends() -> OdeModel:
    """Friction without a jump: states that turn round within the width of a bend, and a signal."""

    def rhs(t: Any, x: Any, u: Any, p: Any, c: Any) -> Expressions:
        force, mu, width, instant = (p[k] for k in range(4))
        exponent = ca.fmax(-300.0, ca.fmin(300.0, -2.0 * x[2] / width))
        return [
            force - mu * x[0] / ca.sqrt(x[0] ** 2 + width**2),
            force - mu * ca.tanh(x[1] / width),
            force - mu * (2.0 / (1.0 + ca.exp(exponent)) - 1.0),
            force + mu * ca.tanh((t - instant) / width),
        ]

    names = ("root", "tanh", "logistic", "driven")
    values = {"F": -2.0, "mu": 1.0, "width": 1e-7, "T": 0.73}
    return make_model(
        "Test.Bends",
        states=[variable(name, "state", 1.0) for name in names],
        parameters=[variable(name, "parameter", value) for name, value in values.items()],
        rhs=rhs,
    )


def together() -> OdeModel:
    """Conditions that switch together: by a signal that jumps, at the same instant, an angle."""

    def rhs(t: Any, x: Any, u: Any, p: Any, c: Any) -> Expressions:
        bound = ca.if_else(t > p[0], 0.2, 2.0)
        signal = ca.if_else(t > p[0], 1.0, 0.0)
        return [
            ca.if_else(x[0] < bound, 1.0, 3.0),
            ca.if_else(signal > 0.5, 4.0, 1.0),
            ca.if_else(ca.logic_and(t > p[1], t > p[2]), 1.0, 0.0),
            ca.if_else(t > p[1], 1.0, 0.0) + ca.if_else(t > p[2], 3.0, 0.0),
            ca.atan2(ca.sin(p[3] * t), ca.cos(p[3] * t)),
        ]

    names = ("bounded", "driven", "both", "sum", "turned")
    values = {"t1": 0.73, "t2": 0.6, "t3": 0.6, "w": 3.0}
    return make_model(
        "Test.Together",
        states=[variable(name, "state", 0.0) for name in names],
        parameters=[variable(name, "parameter", value) for name, value in values.items()],
        rhs=rhs,
    )


def functions() -> OdeModel:
    """All elementary functions, each of a state, in one right-hand side and output."""

    def values(x: Any, p: Any) -> list[Any]:
        s = p[0] * x[0]
        return [
            ca.exp(-s), ca.log(2.0 + s), ca.sqrt(2.0 + s), ca.sin(s), ca.cos(s), ca.tan(s / 2),
            ca.asin(s / 4), ca.acos(s / 4), ca.atan(s), ca.sinh(s), ca.cosh(s), ca.tanh(s),
            ca.asinh(s), ca.acosh(2.0 + s), ca.atanh(s / 4), ca.atan2(s, 2.0), (2.0 + s) ** 1.7,
            p[0] ** s, ca.fmin(s, 10.0), ca.fmax(s, -10.0), ca.fabs(s + 3.0), ca.sign(s + 3.0) * s,
            ca.floor(s + 0.5) * s, ca.ceil(s - 0.4) * s, ca.fmod(s + 7.0, 5.0),
            ca.if_else(ca.logic_and(s > -5.0, s < 5.0), s**2, 0.0), 1.0 / (2.0 + s), ca.erf(s),
        ]  # fmt: skip

    count = 28
    return make_model(
        "Test.Functions",
        states=[
            variable("x", "state", 0.3),
            *(variable(f"q{i}", "state", 0.0) for i in range(count)),
        ],
        outputs=[variable(f"y{i}", "output") for i in range(count)],
        parameters=[variable("p", "parameter", 0.9)],
        rhs=lambda t, x, u, p, c: [-0.2 * x[0], *values(x, p)],
        y=lambda t, x, u, p, c: values(x, p),
    )


MODELS: dict[str, Callable[[], OdeModel]] = {
    f.__name__: f
    for f in (
        *(oscillator, integrator, algebraic, pendulum, growing, draining, motor),
        *(rod, tank),
        *(relaxation, two_speeds, sliding, bends, together, functions),
    )
}


@dataclass
class Fmu:
    """A slave with its description and what it logged."""

    slave: FMU2Slave
    references: dict[str, int]
    messages: list[tuple[int, str]] = field(default_factory=list)

    def set(self, **values: float) -> None:
        self.slave.setReal([self.references[n] for n in values], list(values.values()))

    def get(self, *names: str) -> list[float]:
        return list(self.slave.getReal([self.references[n] for n in names]))

    def initialize(
        self, tolerance: float | None = None, start: float = 0.0, **values: float
    ) -> None:
        self.slave.setupExperiment(tolerance=tolerance, startTime=start)
        if values:
            self.set(**values)
        self.slave.enterInitializationMode()
        self.slave.exitInitializationMode()

    def step(self, time: float, size: float) -> None:
        self.slave.doStep(currentCommunicationPoint=time, communicationStepSize=size)

    def error(self) -> str:
        return self.messages[-1][1]


class Builder:
    """Builds each model once and opens instances of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._extracted: dict[str, Path] = {}

    def path(self, name: str, integrator: str = "auto") -> Path:
        path = self._folder / f"{name}-{integrator}.fmu"
        if not path.exists():
            build_fmu(MODELS[name](), path, generation_tool="test", integrator=integrator)
        return path

    def extracted(self, name: str, integrator: str = "auto") -> Path:
        path = self.path(name, integrator)
        if path.name not in self._extracted:
            folder = path.with_suffix("")
            extract(str(path), unzipdir=str(folder))
            self._extracted[path.name] = folder
        return self._extracted[path.name]

    @contextmanager
    def open(self, name: str, integrator: str = "auto") -> Iterator[Fmu]:
        from ctypes import byref

        from fmpy.fmi2 import (
            fmi2CallbackAllocateMemoryTYPE,
            fmi2CallbackFreeMemoryTYPE,
            fmi2CallbackFunctions,
            fmi2CallbackLoggerTYPE,
        )

        folder = self.extracted(name, integrator)
        description = read_model_description(str(folder))
        messages: list[tuple[int, str]] = []

        def log(env: Any, instance: bytes, status: int, category: bytes, text: bytes) -> None:
            messages.append((status, text.decode()))

        callbacks = fmi2CallbackFunctions()
        callbacks.logger = fmi2CallbackLoggerTYPE(log)
        callbacks.allocateMemory = fmi2CallbackAllocateMemoryTYPE()
        callbacks.freeMemory = fmi2CallbackFreeMemoryTYPE()
        slave = FMU2Slave(
            guid=description.guid,
            unzipDirectory=str(folder),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="test",
        )
        slave.instantiate(callbacks=callbacks)
        references = {v.name: v.valueReference for v in description.modelVariables}
        try:
            yield Fmu(slave, references, messages)
        finally:
            slave.fmi2FreeInstance(slave.component)
            assert byref(callbacks)  # lives as long as the instance


@pytest.fixture(scope="session")
def tools() -> None:
    """Skip where nothing can be compiled."""
    reason = missing_tools()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def fmus(tools: None, tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("fmus"))
