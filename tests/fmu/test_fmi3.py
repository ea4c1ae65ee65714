"""FMI 3.0 Co-Simulation: arrays, every type, event mode, early return, lines within steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu import (
    Fmu,
    SimulationSetup,
    check_survives,
    open_fmu,
    read_description,
    resized,
)

from ..refused import refused
from .slave3 import CONTACT, GRID, GRID_TYPES, LINES, Slave3, build_slave3
from .test_model_exchange import ball

T = np.linspace(0.0, 1.0, 11)
ONES = np.ones((11, 1))
(
    SOUND, BAD_DISCARD, BAD_ERROR, BAD_FATAL, TERMINATE, STALL, WRONG_TIME, UNSETTLED,
    NOT_A_NUMBER, UNASKED, END_IN_EVENT, START_UNSETTLED, EARLY_ONLY,
) = range(13)  # fmt: skip

Opened = Callable[..., Fmu]


@pytest.fixture
def opened(fmu_folder: Path, request: pytest.FixtureRequest) -> Opened:
    def open_one(source: str, variables: str, flags: Mapping[str, str] | None = None) -> Fmu:
        extra = GRID_TYPES if source == "grid.c" else ""
        fmu = open_fmu(build_slave3(Slave3(source, variables, flags or {}, extra), fmu_folder))
        request.addfinalizer(fmu.close)
        return fmu

    return open_one


@pytest.fixture
def grid(opened: Opened) -> Fmu:
    return opened("grid.c", GRID)


def contact(opened: Opened, **flags: str) -> Fmu:
    return opened("contact.c", CONTACT, {"hasEventMode": "true", **flags})


# ------------------------------------------------------------------- description


def test_the_description(grid: Fmu) -> None:
    model = grid.description
    assert model.fmi_version == "3.0"
    assert model.shapes == {"u": (2,), "x": (2,), "position": (2,), "a": (2,), "M": (2, 3),
                            "flags": (3,), "text": (2,)}  # fmt: skip
    assert [v.name for v in model.variables if v.name.startswith("M")] == [
        "M[1,1]", "M[1,2]", "M[1,3]", "M[2,1]", "M[2,2]", "M[2,3]"
    ]  # fmt: skip
    assert model.variable("M[2,1]").start == 4.0
    assert model.variable("a[2]").variability == "tunable"
    alias = model.variable("position[2]")
    assert (alias.value_reference, alias.element) == (3, 1)
    assert (alias.unit, alias.display_unit, alias.description) == ("m", "km", "the same")
    tuned = model.variable("tuned")
    assert (tuned.unit, tuned.display_unit, tuned.minimum) == ("N.m", "kN.m", 0.0)
    assert model.variable("n").settable
    assert model.variable("n").causality == "structuralParameter"
    assert [model.variable(f"flags[{k}]").start for k in (1, 2, 3)] == [False, True, False]
    assert [model.variable(f"text[{k}]").start for k in (1, 2)] == ["ab", "c"]
    assert model.variable("u64").native_type == "UInt64"
    assert model.variable("mode").type == "Enumeration"
    assert "blob" not in model.by_name


BROKEN = {
    "clocks": (
        GRID + '<Clock name="tick" valueReference="90" causality="input"'
        ' intervalVariability="triggered"/>',
        r"the FMU has clocks \('tick'\)",
    ),
    "dimension of nothing": (
        GRID.replace('<Dimension valueReference="1"/>', '<Dimension valueReference="6"/>', 1),
        "refers to the variable 6, which is not a structural parameter",
    ),
    "empty dimension": (
        GRID.replace('<Dimension start="3"/>', "<Dimension/>", 1),
        "neither start nor valueReference",
    ),
    "unknown type": (GRID + '<Complex name="c" valueReference="91"/>', "unknown type 'Complex'"),
    "bad start": (GRID.replace('start="1 2 3', 'start="1 two 3'), "'two', which is not a number"),
    "starts of a scalar": (GRID.replace('name="i8" v', 'name="i8" start="1 2" v').replace(
        'causality="parameter" start="0"/>\n<UInt8', 'causality="parameter"/>\n<UInt8'),
        "is a scalar, but has 2 start values"),
    "name twice": (GRID + '<Float64 name="y" valueReference="92"/>', "two variables"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_description_is_refused(fmu_folder: Path, case: str) -> None:
    variables, words = BROKEN[case]
    path = build_slave3(Slave3("grid.c", variables, extra=GRID_TYPES), fmu_folder)
    with refused(Code.UNUSABLE_FMU, FmuError, match=words):
        read_description(path)


# ------------------------------------------------------------------------ arrays


def test_elements_are_driven_and_recorded(grid: Fmu) -> None:
    setup = SimulationSetup(
        T, ("u[2]", "u[1]"), np.column_stack([np.sin(T), T]), ("x[2]", "position[1]", "y")
    )
    with grid.simulator() as simulator:
        found = simulator.simulate(setup)
        area = np.concatenate([[0.0], np.cumsum(0.1 * np.sin(T[:-1]))])
        np.testing.assert_allclose(found[:, 0], 2.0 * area, atol=1e-14)
        np.testing.assert_allclose(found[-1, 1], 0.1 * T[:-1].sum(), atol=1e-14)
        np.testing.assert_array_equal(found[:, 2], 654321.0)  # row-major order
        changed = simulator.simulate(setup, {"M[2,1]": 0.0, "a[2]": 5.0})
        np.testing.assert_allclose(changed[:, 0], 5.0 * area, atol=1e-14)
        np.testing.assert_array_equal(changed[:, 2], 650321.0)
        np.testing.assert_array_equal(simulator.simulate(setup), found)


def test_elements_that_no_column_drives_keep_their_value(grid: Fmu) -> None:
    setup = SimulationSetup(T, ("u[1]",), ONES, ("x[1]", "x[2]"), {"u[2]": 3.0})
    with grid.simulator() as simulator:
        np.testing.assert_allclose(simulator.simulate(setup)[-1], [1.0, 6.0])
        np.testing.assert_allclose(simulator.simulate(setup, {"u[2]": -1.0})[-1], [1.0, -2.0])


def test_structural_parameters_change_the_size(grid: Fmu) -> None:
    small = SimulationSetup(T, ("u[2]",), ONES, ("x[2]",))
    large = SimulationSetup(T, ("u[3]",), ONES, ("x[3]", "x[1]"), {"n": 3})
    with grid.simulator() as simulator:
        assert simulator.simulate(small)[-1, 0] == pytest.approx(2.0)
        np.testing.assert_allclose(simulator.simulate(large)[-1], [3.0, 0.0])
        given = {"a[1]": 1.0, "a[2]": 1.0, "a[3]": 7.0}
        np.testing.assert_allclose(simulator.simulate(large, given)[-1], [7.0, 0.0])
        assert simulator.simulate(small)[-1, 0] == pytest.approx(2.0)
        with pytest.raises(FmuError, match=r"'a\[2\]' has neither a value nor a start value"):
            simulator.simulate(large, {"a[1]": 1.0})
        with refused(Code.UNKNOWN_NAME, FmuError, match=r"2 elements, .*'u\[3\]'"):
            simulator.simulate(large, {"n": 2})
        for wrong in (np.nan, np.inf, -np.inf):
            with pytest.raises(FmuError, match="structural parameter 'n' is"):
                simulator.simulate(SimulationSetup(T, output_names=("n",)), {"n": wrong})
        with pytest.raises(FmuError, match=r"structural parameter 'n' is 2\.5"):
            simulator.simulate(small, {"n": 2.5})
        with refused(Code.NOT_AN_INPUT, FmuError, match="'n' of 'grid'"):
            simulator.simulate(SimulationSetup(T, ("n",), ONES, ("y",)))


def test_structural_parameters_that_are_no_sizes(opened: Opened) -> None:
    """Only a parameter that a dimension refers to must be a whole number."""
    more = (
        '<Boolean name="mirrored" valueReference="25" causality="structuralParameter"'
        ' variability="tunable" start="false"/>'
        '<String name="label" valueReference="26" causality="structuralParameter"'
        ' variability="tunable"><Start value=""/></String>'
    )
    setup = SimulationSetup(T, output_names=("y", "length", "x[1]"))
    with opened("grid.c", GRID + more).simulator() as simulator:
        y, length, _ = simulator.simulate(setup)[0]
        for size in (2, 3):
            arrays = {f"{name}[{k}]": 1.0 for name in "au" for k in range(1, size + 1)}
            values = {"mirrored": True, "label": "abc", "n": size, **arrays}
            np.testing.assert_array_equal(
                simulator.simulate(setup, values)[-1], [-y, length + 30000.0, 1.0]
            )
        np.testing.assert_array_equal(simulator.simulate(setup)[0, :2], [y, length])


@pytest.mark.parametrize("name", ["M[3,1]", "M[1]", "M", "x[0]", "x[1,1]"])
def test_a_wrong_element_is_refused(grid: Fmu, name: str) -> None:
    with refused(Code.UNKNOWN_NAME, FmuError, match=f"'{name[0]}' of 'grid'"):
        grid.description.variable(name)


def test_every_type_arrives(grid: Fmu) -> None:
    values = {
        "i8": -128, "u8": 255, "i16": -(2**15), "u16": 2**16 - 1, "i32": -(2**31),
        "u32": 2**32 - 1, "i64": -(2**40), "u64": 2**41,
    }  # fmt: skip
    setup = SimulationSetup(
        T, ("sin", "flags[3]"), np.column_stack([T, T > 0.5]),
        ("total", "sout", "flags[3]", "flags[2]", "length", "i8", "u64", "mode"),
    )  # fmt: skip
    with grid.simulator() as simulator:
        found = simulator.simulate(
            setup, {**values, "f32": 0.5, "text[2]": "wxyz", "mode": 2, "flags[2]": True}
        )
        np.testing.assert_array_equal(found[:, 0], sum(values.values()))
        np.testing.assert_array_equal(found[:, 1], (2.0 * T.astype(np.float32) + 0.5))
        np.testing.assert_array_equal(found[:, 2], T > 0.5)
        np.testing.assert_array_equal(found[0, 3:], [1.0, 204.0, -128.0, 2.0**41, 2.0])
        assert simulator.simulate(setup)[0, 4] == 201.0


def test_inputs_at_the_ends_of_their_types(opened: Opened) -> None:
    ends = {"i8": (-128, 127), "u16": (0, 2**16 - 1), "i32": (-(2**31), 2**31 - 1),
            "u32": (0, 2**32 - 1), "i64": (-(2**63), 2**62), "u64": (0, 2**63)}  # fmt: skip
    variables = GRID
    for name in ends:
        for attributes in ('causality="parameter"',):
            place = variables.index(f'name="{name}"')
            variables = variables[:place] + variables[place:].replace(
                attributes, 'causality="input"', 1
            )
    data = np.array(list(ends.values()), dtype=float).T
    setup = SimulationSetup([0.0, 1.0], tuple(ends), data, tuple(ends))  # type: ignore[arg-type]
    with opened("grid.c", variables).simulator() as simulator:
        np.testing.assert_array_equal(simulator.simulate(setup), data)
        for name, value in (("i64", 2.0**63), ("u64", 2.0**64), ("i32", 2.0**31)):
            wrong = SimulationSetup([0.0, 1.0], (name,), np.full((2, 1), value), ("y",))  # type: ignore[arg-type]
            with refused(Code.WRONG_TYPE, FmuError, match=f"'{name}' is U?Int"):
                simulator.simulate(wrong)


REFUSED = {
    "range": ({"i8": 200}, r"'i8' is Integer: it takes a whole number from -128 to 127"),
    "sign": ({"u64": -1}, "a whole number from 0 to 18446744073709551615"),
    "fraction": ({"u16": 1.5}, "a whole number"),
    "nan": ({"tuned": float("nan")}, "a finite number"),
    "Boolean": ({"flags[1]": 2}, "True or False"),
    "text": ({"text[1]": 3}, "a text"),
    "output": ({"y": 1.0}, "cannot be set"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_value_is_refused(grid: Fmu, case: str) -> None:
    values, words = REFUSED[case]
    with grid.simulator() as simulator, pytest.raises(FmuError, match=words):
        simulator.simulate(SimulationSetup(T, output_names=("y",)), values)  # type: ignore[arg-type]


def test_inputs_out_of_range_and_texts_are_refused(grid: Fmu) -> None:
    with grid.simulator() as simulator:
        with refused(Code.WRONG_TYPE, FmuError, match=r"'flags\[1\]' is Boolean.* 3"):
            simulator.simulate(SimulationSetup(T, ("flags[1]",), 3.0 * ONES, ("y",)))
        with refused(Code.NOT_AN_OUTPUT, FmuError, match=r"'text\[1\]'"):
            simulator.simulate(SimulationSetup(T, output_names=("text[1]",)))
        with refused(Code.NOT_AN_INPUT, FmuError, match="'tuned'"):
            simulator.simulate(SimulationSetup(T, ("tuned",), ONES, ("y",)))


def test_tolerance_reaches_the_fmu(grid: Fmu) -> None:
    with grid.simulator() as simulator:
        for tolerance, seen in ((1e-4, 1e-4), (None, -1.0)):
            setup = SimulationSetup(T, output_names=("tolerance",), tolerance=tolerance)
            assert simulator.simulate(setup)[0, 0] == seen


# ------------------------------------------------------------------------ events


def test_events_and_early_returns_are_handled(opened: Opened) -> None:
    t = np.linspace(0.0, 3.0, 61)
    push = np.round(2.0 * t)
    setup = SimulationSetup(t, ("push",), push[:, None], ("h", "v", "ticks", "pushed"))
    with contact(opened).simulator() as simulator:
        found = simulator.simulate(setup)
        h, v, _ = ball(t)
        np.testing.assert_allclose(found[:, 0], h, atol=1e-12)
        np.testing.assert_allclose(found[:, 1], v, atol=1e-12)
        np.testing.assert_array_equal(found[:, 2], np.floor(t / 0.25 + 1e-9))
        np.testing.assert_array_equal(found[:, 3], push)
        np.testing.assert_array_equal(simulator.simulate(setup), found)
        assert simulator.statistics.instantiations == 1


def test_time_events_between_the_instants(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 3.0, 4), output_names=("h", "ticks", "steps"))
    with contact(opened).simulator() as simulator:
        found = simulator.simulate(setup)
    np.testing.assert_allclose(found[:, 0], ball(setup.times)[0], atol=1e-12)
    np.testing.assert_array_equal(found[:, 1], [0.0, 4.0, 8.0, 12.0])


def test_early_return_without_an_event(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 3.0, 61), output_names=("h", "steps"))
    with contact(opened).simulator() as simulator:
        found = simulator.simulate(setup, {"kind": EARLY_ONLY})
    np.testing.assert_allclose(found[:, 0], ball(setup.times)[0], atol=1e-12)
    assert found[-1, 1] > 100


FAILURES = {
    TERMINATE: r"the FMU requested termination at t = 1\.1",
    STALL: r"events follow one another without end at t = 1\.0.*101 of them without progress",
    WRONG_TIME: r"claims to have reached 0\.0 s, which is outside the step",
    UNSETTLED: r"an event never settles at t = 1\.",
    NOT_A_NUMBER: r"output 'h' is nan at t = 1\.1",
    END_IN_EVENT: r"the FMU requested termination",
    START_UNSETTLED: r"an event never settles at t = 0\.0",
}


@pytest.mark.parametrize("kind", FAILURES)
def test_what_fails_is_told_and_the_next_run_is_sound(opened: Opened, kind: int) -> None:
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("h",))
    with contact(opened).simulator() as simulator:
        good = simulator.simulate(setup)
        with pytest.raises(SimulationError, match=FAILURES[kind]):
            simulator.simulate(setup, {"kind": kind})
        np.testing.assert_array_equal(simulator.simulate(setup), good)


@pytest.mark.parametrize(("kind", "stop", "steps"), [(TERMINATE, 1.1, 11), (END_IN_EVENT, 1.25, 5)])
def test_an_end_that_the_fmu_wants_at_the_last_instant_is_no_failure(
    opened: Opened, kind: int, stop: float, steps: int
) -> None:
    setup = SimulationSetup(np.linspace(0.0, stop, steps + 1), output_names=("h", "ticks"))
    elastic = {"e": 1.0}  # no contact between 0.5 s and 1.3 s: time events only
    with contact(opened).simulator() as simulator:
        good = simulator.simulate(setup, elastic)
        found = simulator.simulate(setup, {**elastic, "kind": kind})
        np.testing.assert_array_equal(found[:-1], good[:-1])
        assert np.isfinite(found).all()
        if kind == END_IN_EVENT:
            np.testing.assert_array_equal(found[-1], good[-1])
        np.testing.assert_array_equal(simulator.simulate(setup, {**elastic, "kind": 0}), good)


def test_an_event_that_was_not_offered(opened: Opened) -> None:
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("h",))
    with contact(opened, hasEventMode="false").simulator() as simulator:
        assert np.isfinite(simulator.simulate(setup)).all()  # it falls on and on
        with pytest.raises(SimulationError, match="which its description does not offer"):
            simulator.simulate(setup, {"kind": UNASKED})


@pytest.mark.parametrize(("step", "said"), [("0.2", True), ("0.1", False), ("0.01", False)])
def test_steps_shorter_than_those_of_the_fmu_are_told(
    opened: Opened, step: str, said: bool
) -> None:
    setup = SimulationSetup(T, ("u",), ONES, ("x",))
    with opened("lines.c", LINES, {"fixedInternalStepSize": step}).simulator() as simulator:
        simulator.simulate(setup)
        told = [r.message for r in simulator.log]
    assert [f"fixed steps of {step} s" in message for message in told] == [True] * said


def test_early_return_with_fixed_steps_is_refused(opened: Opened) -> None:
    flags = {"canHandleVariableCommunicationStepSize": "false"}
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("h",))
    words = "cannot take a step of another size"
    with (
        contact(opened, **flags).simulator() as simulator,
        refused(Code.SIMULATION_FAILED, SimulationError, match=words),
    ):
        simulator.simulate(setup)


def test_inputs_before_the_step(opened: Opened) -> None:
    with refused(Code.NOT_SUPPORTED, FmuError):
        contact(opened).simulator(input_update="before_step")
    with opened("grid.c", GRID).simulator(input_update="before_step") as simulator:
        setup = SimulationSetup(T, ("u[1]",), T[:, None], ("x[1]",))
        assert simulator.simulate(setup)[-1, 0] == pytest.approx(0.1 * T[1:].sum())


# ------------------------------------------------------------------------- lines


def test_lines_by_intermediate_update(opened: Opened) -> None:
    t = np.array([0.0, 0.1, 0.3, 0.35, 1.0])
    u = np.array([1.0, -2.0, 3.0, 0.0, 5.0])
    area = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (u[1:] + u[:-1]))])
    held = np.concatenate([[0.0], np.cumsum(np.diff(t) * u[:-1])])
    fmu = opened("lines.c", LINES, {"providesIntermediateUpdate": "true"})
    assert fmu.description.can_interpolate_inputs
    with fmu.simulator() as simulator:
        for interpolation, wanted in (("auto", area), ("hold", held), ("linear", area)):
            setup = SimulationSetup(
                t,
                ("u",),
                u[:, None],
                ("x", "u", "asked"),
                interpolation=interpolation,  # type: ignore[arg-type]
            )
            found = simulator.simulate(setup)
            np.testing.assert_allclose(found[:, 0], wanted, atol=1e-14)
            np.testing.assert_array_equal(found[:, 1], u)
            assert found[-1, 2] == 8
            assert simulator.log == ()


def test_inputs_are_held_with_a_note_otherwise(opened: Opened) -> None:
    u = np.sin(3.0 * T)
    with opened("lines.c", LINES).simulator() as simulator:
        setup = SimulationSetup(T, ("u",), u[:, None], ("x",))
        found = simulator.simulate(setup)
        np.testing.assert_allclose(found[-1, 0], 0.1 * u[:-1].sum())
        assert "inputs are held from instant to instant" in simulator.log[0].message
        mean = SimulationSetup(T, ("u",), u[:, None], ("x",), interpolation="mean")
        assert simulator.simulate(mean)[-1, 0] == pytest.approx(np.trapezoid(u, T))
        linear = SimulationSetup(T, ("u",), u[:, None], ("x",), interpolation="linear")
        with refused(Code.NOT_SUPPORTED, FmuError):
            simulator.simulate(linear)


def test_an_input_without_intermediate_update_is_held(opened: Opened) -> None:
    fmu = opened("lines.c", LINES, {"providesIntermediateUpdate": "true"})
    with fmu.simulator() as simulator:
        setup = SimulationSetup(
            T, ("u", "w"), np.column_stack([T, np.cos(T)]), ("x", "w"), interpolation="auto"
        )
        found = simulator.simulate(setup)
    np.testing.assert_allclose(found[:, 0], 0.5 * T**2, atol=1e-14)
    np.testing.assert_array_equal(found[:, 1], np.cos(T))


@pytest.mark.parametrize("interpolation", ["auto", "hold", "mean"])
def test_continuous_inputs_that_jump_are_set_in_event_mode(
    opened: Opened, interpolation: str
) -> None:
    """FMI 3.0.1, section 4.1.1: the importer raises an event where an input jumps."""
    flags = {"providesIntermediateUpdate": "true", "hasEventMode": "true"}
    u, w = np.sin(3.0 * T), np.where(T > 0.55, 2.0, 1.0)
    setup = SimulationSetup(
        T,
        ("u", "w"),
        np.column_stack([u, w]),
        ("x", "u", "w"),
        interpolation=interpolation,  # type: ignore[arg-type]
    )
    with opened("lines.c", LINES, flags).simulator() as simulator:
        found = simulator.simulate(setup)
        np.testing.assert_array_equal(simulator.simulate(setup), found)
    area = 0.1 * np.sum(u[:-1]) if interpolation == "hold" else np.trapezoid(u, T)
    assert found[-1, 0] == pytest.approx(area)
    np.testing.assert_array_equal(found[:, 1:], np.column_stack([u, w]))


# ------------------------------------------------------------------------- the rest


@pytest.mark.slow
def test_the_guard_runs_it_in_a_child(fmu_folder: Path) -> None:
    path = build_slave3(Slave3("contact.c", CONTACT, {"hasEventMode": "true"}), fmu_folder)
    setup = SimulationSetup(np.linspace(0.0, 2.0, 21), output_names=("h",))
    assert check_survives(path, setup).time_reached == 2.0
    with pytest.raises(SimulationError, match="singular at once"):
        check_survives(path, setup, {"kind": BAD_ERROR})


def test_a_wrong_token_is_told(fmu_folder: Path, tmp_path: Path) -> None:
    import zipfile

    path = build_slave3(Slave3("lines.c", LINES), fmu_folder)
    wrong = tmp_path / "wrong.fmu"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(wrong, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "modelDescription.xml":
                content = content.replace(b"{fmident-test}", b"{another}")
            target.writestr(name, content)
    with (
        open_fmu(wrong) as fmu,
        refused(Code.UNUSABLE_FMU, FmuError, match=r"refuses.*: wrong token"),
    ):
        fmu.simulator()


def test_fmpy_comes_to_the_same(fmu_folder: Path) -> None:
    import fmpy

    path = build_slave3(Slave3("contact.c", CONTACT, {"hasEventMode": "true"}), fmu_folder)
    t = np.linspace(0.0, 2.0, 41)
    theirs = fmpy.simulate_fmu(
        str(path), stop_time=2.0, output_interval=0.05, output=["h", "ticks"], validate=False,
        use_event_mode=True, early_return_allowed=True, record_events=False,
    )  # fmt: skip
    with open_fmu(path) as fmu, fmu.simulator() as simulator:
        ours = simulator.simulate(SimulationSetup(t, output_names=("h", "ticks")))
    np.testing.assert_allclose(ours[:, 0], np.interp(t, theirs["time"], theirs["h"]), atol=1e-9)


def test_a_description_has_the_sizes_that_are_given(grid: Fmu) -> None:
    larger = resized(grid.description, {"n": 3, "a[3]": 1.0})
    assert larger.variable("x[3]").unit == "m"
    assert "x[3]" not in grid.description.by_name
    assert resized(grid.description, {"a[1]": 2.0}) is grid.description
