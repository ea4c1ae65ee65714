"""Directional and adjoint derivatives against each other, and against differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

from fmident.compilers.base import Compiler
from fmident.fmu import read_description

from .....kept import library_fmu
from .conftest import Builder3, Fmu3, instance

UNKNOWNS = ("a", "y[2]", "y[3]", "der(body.v)", "der(body.q[2])", "body.v", "body.q[3]")
KNOWNS = ("f", "k", "odd[1]", "G", "d", "h", "time", "body.v", "body.q[1]", "body.q[3]")


def directional(
    fmu: Fmu3, unknowns: Sequence[str], knowns: Sequence[str], seed: Sequence[float]
) -> np.ndarray:
    found = fmu.slave.getDirectionalDerivative(
        [fmu.references[n] for n in unknowns],
        [fmu.references[n] for n in knowns],
        list(seed),
        fmu.width(unknowns),
    )
    return np.array(found)


def adjoint(
    fmu: Fmu3, unknowns: Sequence[str], knowns: Sequence[str], seed: Sequence[float]
) -> np.ndarray:
    found = fmu.slave.getAdjointDerivative(
        [fmu.references[n] for n in unknowns],
        [fmu.references[n] for n in knowns],
        list(seed),
        fmu.width(knowns),
    )
    return np.array(found)


def by_columns(fmu: Fmu3, unknowns: Sequence[str], knowns: Sequence[str]) -> np.ndarray:
    eye = np.eye(fmu.width(knowns))
    return np.array([directional(fmu, unknowns, knowns, seed) for seed in eye]).T


def by_rows(fmu: Fmu3, unknowns: Sequence[str], knowns: Sequence[str]) -> np.ndarray:
    eye = np.eye(fmu.width(unknowns))
    return np.array([adjoint(fmu, unknowns, knowns, seed) for seed in eye])


@pytest.mark.parametrize("initializing", [True, False])
def test_rows_and_columns_are_one_matrix(fmus3: Builder3, initializing: bool) -> None:
    with fmus3.open("chain") as fmu:
        fmu.set(f=[0.7, -0.4])
        fmu.slave.enterInitializationMode()
        if not initializing:
            fmu.slave.exitInitializationMode()
            fmu.step(0.0, 0.3)
        knowns = (*KNOWNS, "odd[2]") if initializing else (*KNOWNS, "body.q[2]")
        unknowns = (*UNKNOWNS, "body.q[2]")
        columns, rows = by_columns(fmu, unknowns, knowns), by_rows(fmu, unknowns, knowns)
        assert np.count_nonzero(columns) > 40
        np.testing.assert_allclose(rows, columns, rtol=1e-13, atol=1e-15)


def test_initial_states_are_followed_back(fmus3: Builder3) -> None:
    """The start of q[2] is odd[2]*f[2]: 0.25*f[2]."""
    with fmus3.open("chain") as fmu:
        fmu.set(f=[0.7, -0.4])
        fmu.slave.enterInitializationMode()
        assert list(adjoint(fmu, ["body.q[2]"], ["f", "odd[2]"], [1.0])) == [0.0, 0.25, -0.4]
        (own,) = adjoint(fmu, ["body.q[1]"], ["body.q[1]"], [3.0])
        assert own == 3.0


def test_against_differences_of_outputs(fmus3: Builder3) -> None:
    def outputs(**values: Sequence[float]) -> np.ndarray:
        with fmus3.open("chain") as fmu:
            fmu.initialize(**{"f": [0.7, -0.4], **values})
            return np.array(fmu.get("a", "y[2]", "y[3]"))

    with fmus3.open("chain") as fmu:
        fmu.set(f=[0.7, -0.4])
        fmu.slave.enterInitializationMode()
        rows = by_rows(fmu, ["a", "y[2]", "y[3]"], ["k", "odd[2]", "d"])
        assert list(adjoint(fmu, ["y[3]", "a"], ["time"], [2.0, 1.0, 1.0, 1.0])) == [2.0]
    step = 1e-5
    k = np.array([20.0, 30.0, 40.0])
    pairs = [({"k": list(k + s)}, {"k": list(k - s)}) for s in step * np.eye(3)]
    pairs += [({"odd[2]": [0.25 + step]}, {"odd[2]": [0.25 - step]})]
    pairs += [({"d": [0.1 + step]}, {"d": [0.1 - step]})]
    differences = [(outputs(**up) - outputs(**down)) / (2.0 * step) for up, down in pairs]
    np.testing.assert_allclose(rows, np.array(differences).T, rtol=1e-6, atol=1e-8)


def test_one_adjoint_is_the_gradient_of_a_sum(fmus3: Builder3) -> None:
    with fmus3.open("rows") as fmu:
        fmu.initialize(u=[1.0, 2.0, 3.0])
        # y = a x + u shifted by one: the gradient of the sum of squares is 2 y x, and 2 y shifted
        y, x = np.array(fmu.get("y")), np.array(fmu.get("x"))
        gradient = adjoint(fmu, ["y"], ["a", "u"], 2.0 * y)
        np.testing.assert_allclose(gradient[:3], 2.0 * y * x, rtol=1e-14)
        np.testing.assert_allclose(gradient[3:], np.roll(2.0 * y, 1), rtol=1e-14)


@pytest.mark.parametrize("function", [directional, adjoint])
@pytest.mark.parametrize(
    ("unknown", "known", "message"),
    [
        ("e", "f", "'e[1]' cannot be an unknown here"),
        ("d", "f", "'d' cannot be an unknown here"),
        ("a", "w", "'w[1]' cannot be a known here"),
        ("time", "f", "'time' cannot be an unknown here"),
    ],
)
def test_what_is_not_offered(
    fmus3: Builder3, function: object, unknown: str, known: str, message: str
) -> None:
    assert callable(function)
    with fmus3.open("chain") as fmu:
        fmu.initialize()
        size = fmu.sizes[known if function is directional else unknown]
        with pytest.raises(FMICallException):
            function(fmu, [unknown], [known], [1.0] * size)
        assert message in fmu.error()


def test_seeds_have_to_fit(fmus3: Builder3) -> None:
    with fmus3.open("rows") as fmu:
        fmu.initialize()
        with pytest.raises(FMICallException):
            adjoint(fmu, ["y"], ["a"], [1.0])
        assert fmu.error() == (
            "fmi3GetAdjointDerivative: the variables have 3 values together, not 1"
        )
    with fmus3.open("rows") as fmu:
        with pytest.raises(FMICallException):
            adjoint(fmu, ["y"], ["a"], [1.0] * 3)
        assert fmu.error().startswith("fmi3GetAdjointDerivative cannot be called while")


def scalars(path: Path) -> tuple[list[int], list[int], list[int]]:
    """Return references of unknowns, of knowns in initialization mode, and of those later."""
    found = [v for v in read_description(path).variables if v.native_type == "Float64"]
    assert all(v.elements == 1 or v.name.startswith("eventIndicators") for v in found)
    of = [v.value_reference for v in found if v.causality == "output" or v.name[:4] == "der("]
    always = [
        v.value_reference for v in found if v.causality in ("input", "parameter", "independent")
    ]
    states = [v.name[4:-1] for v in found if v.name[:4] == "der("]
    settable = [v.value_reference for v in found if v.name in states and v.initial == "exact"]
    return of, always + settable, always + [v.value_reference for v in found if v.name in states]


@pytest.mark.each_time("loops/Loops-Chain", "events/Events-Controller", "events/Across-Pull")
@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("loops/Loops", "DiodeResistor"),  # iterated, torn
        ("loops/Loops", "Limiter"),  # with a relation in it
        ("loops/Loops", "Rest"),  # in the initial equations, too
        ("loops/Loops", "Root"),
        ("loops/Loops", "Chain"),
        ("loops/Constraints", "Pendulum"),
        ("events/Events", "Thermostat"),
        ("events/Events", "Controller"),
        ("events/Across", "Pull"),
    ],
)
def test_loops_constraints_and_events(
    embedded_compiler: Compiler, source: str, name: str, tmp_path: Path
) -> None:
    file = Path(__file__).parents[2] / f"{source}.mo"
    path = library_fmu(embedded_compiler, f"{file.stem}.{name}", (file,), fmi="3.0")
    of, initially, later = scalars(path)
    with instance(path, tmp_path) as slave:
        slave.enterInitializationMode()
        for knowns in (initially, later):
            columns = [slave.getDirectionalDerivative(of, [k], [1.0]) for k in knowns]
            rows = [slave.getAdjointDerivative([o], knowns, [1.0], len(knowns)) for o in of]
            np.testing.assert_allclose(rows, np.array(columns).T, rtol=1e-12, atol=1e-14)
            assert np.any(rows)
            if knowns is initially:
                slave.exitInitializationMode()
                slave.doStep(0.0, 0.1)


def test_time_moves_calculated_starts(fmus3: Builder3) -> None:
    """x starts at t^2, and y = x + sin(t): at t = 0.5, dy/dt is 2 t + cos(t), later cos(t)."""
    with fmus3.open("timed") as fmu:
        fmu.slave.enterInitializationMode(startTime=0.5)
        expected = [1.0 + math.cos(0.5), 1.0]
        assert list(directional(fmu, ["y", "x"], ["time"], [1.0])) == pytest.approx(expected)
        (both,) = adjoint(fmu, ["y", "x"], ["time"], [1.0, 10.0])
        assert both == pytest.approx(expected[0] + 10.0 * expected[1])
        fmu.slave.exitInitializationMode()
        assert list(directional(fmu, ["y", "x"], ["time"], [1.0])) == [math.cos(0.5), 0.0]


def test_a_model_without_states(fmus3: Builder3) -> None:
    with fmus3.open("algebraic") as fmu:
        fmu.initialize(u=[2.0, 4.0])
        assert list(adjoint(fmu, ["y"], ["u", "a"], [2.0])) == [6.0, 0.5, 4.0]
