"""The life of an instance: one contract for all versions and interfaces of FMI.

What only one of them has (events, early return, arrays, messages with arguments) is tested beside
it; what holds for all is written here once.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import Code, FmuError, SimulationError
from fmident.fmu import Fmu, SimulationSetup, Simulator, open_fmu
from fmident.fmu.native_code.library import DISCARD, ERROR, FATAL, WARNING

from ..refused import refused
from .build import Fixture, build, real
from .exchange import Exchange, Signal, build_exchange
from .slave3 import Slave3, build_slave3

DRIVERS = ["cs2", "cs3", "me2", "me3"]
VARIABLES_2 = "\n".join(
    [
        real("u", 0, "input", start=0),
        real("k", 1, "parameter", start=2),
        real("x", 2, "output", start=0, initial="exact"),
        real("y", 4, "output"),
    ]
)
VARIABLES_3 = """
<Float64 name="u" valueReference="0" causality="input" start="0"/>
<Float64 name="k" valueReference="1" causality="parameter" start="2"/>
<Float64 name="x" valueReference="2" causality="output" start="0" initial="exact"/>
<Float64 name="y" valueReference="4" causality="output"/>
"""
SIGNALS = (
    Signal("u", 0, "input", 0.0),
    Signal("k", 1, "parameter", 2.0),
    Signal("x", 2, start=0.0),
    Signal("der", 3, derivative="x"),
    Signal("y", 4, "output"),
)
T = 0.5 + np.array([0.0, 0.1, 0.25, 0.3])
INPUT = np.array([1.0, -2.0, 4.0, 3.0])
SETUP = SimulationSetup(T, ("u",), INPUT[:, None], ("y", "x"), interpolation="hold")
X = np.concatenate([[0.0], np.cumsum(INPUT[:-1] * np.diff(T))])
NAMES = {
    "set k": r"fmi[23]Set(Real|Float64)",
    "set u": r"fmi[23]Set(Real|Float64)",
    "enter": r"fmi[23]EnterInitializationMode",
    "exit": r"fmi[23]ExitInitializationMode",
    "get": r"fmi[23]Get(Real|Float64)",
    "work": r"fmi[23](DoStep|GetDerivatives|GetContinuousStateDerivatives)",
}
"""What FMI calls that which may fail."""


def build_life(driver: str, folder: Path) -> Path:
    """Return an FMU that lists its calls."""
    if driver == "cs2":
        return build(Fixture("life.c", VARIABLES_2, defines=("FMI=2",)), folder)
    if driver == "cs3":
        return build_slave3(Slave3("life.c", VARIABLES_3, defines=("FMI=3",)), folder)
    exchange = Exchange("life.c", SIGNALS, defines=("EXCHANGE",))
    return build_exchange(exchange, int(driver[-1]), folder)


class Life:
    """An open FMU, its calls, and how to make them fail."""

    def __init__(self, fmu: Fmu) -> None:
        self.fmu = fmu
        self._library = ctypes.CDLL(str(fmu.library_path))
        self._library.life_calls.restype = ctypes.c_char_p
        self._library.life_restart()

    def simulator(self, **options: object) -> Simulator:
        """Return a simulator; inputs are set after the step, so nothing is tried."""
        return self.fmu.simulator(input_update="after_step", **options)  # type: ignore[arg-type]

    def calls(self) -> list[str]:
        """Return the calls since the last time, each with the number of its instance."""
        found: bytes = self._library.life_calls()
        self._library.life_forget()
        return found.decode().splitlines()

    def fail(self, call: str, status: int, *, after: int = 0, always: bool = False) -> None:
        """Let a call fail, after so many good ones, once or from then on."""
        self._library.life_fail(call.encode(), after, status, always)

    def keep_values(self) -> None:
        """Let a reset bring back the state only."""
        self._library.life_keep()


@pytest.fixture(scope="module", params=DRIVERS)
def opened(request: pytest.FixtureRequest, fmu_folder: Path) -> Iterator[Fmu]:
    with open_fmu(build_life(request.param, fmu_folder)) as fmu:
        yield fmu


@pytest.fixture
def life(opened: Fmu) -> Life:
    return Life(opened)


def expected(k: float = 2.0, x: float = 0.0) -> np.ndarray:
    """Return y and x: outputs belong to the inputs of the same instant."""
    with np.errstate(over="ignore"):
        return np.column_stack([k * INPUT + X + x, X + x])


def stages(calls: Sequence[str]) -> list[str]:
    """Return the calls that all drivers make, each stage once however many calls it has."""
    common = {"instantiate", "enter", "exit", "terminate", "reset", "free"}
    words = [call for call in calls if call.split(" ", 1)[1] in common | {"set k", "set u", "get"}]
    return [word for word, _ in itertools.groupby(words)]


def check(simulator: Simulator, **given: float) -> None:
    """Run, and compare with the solution."""
    np.testing.assert_allclose(simulator.simulate(SETUP, given), expected(**given), atol=1e-5)


STEPS = ["set u", "get"] * (T.size - 1)


def run_of(number: int, first: str = "") -> list[str]:
    """Return the stages of one run on an instance."""
    words = [first] * bool(first) + ["set k", "enter", "set u", "exit", "get", *STEPS, "terminate"]
    return [f"{number} {word}" for word in words]


def test_calls_come_in_the_order_that_fmi_wants(life: Life) -> None:
    with life.simulator(reuse="trusted") as simulator:
        check(simulator, k=3.0)
        check(simulator, k=5.0)
    assert stages(life.calls()) == [*run_of(1, "instantiate"), *run_of(1, "reset"), "1 free"]


def test_the_first_row_is_the_initial_state_with_the_first_inputs(life: Life) -> None:
    setup = SimulationSetup(T[:1], ("u",), INPUT[:1, None], ("x", "y"))
    with life.simulator() as simulator:
        assert simulator.simulate(setup, {"x": 7.0, "k": 3.0}).tolist() == [[7.0, 10.0]]


def test_the_first_use_of_a_reset_is_compared_with_a_new_instance(life: Life) -> None:
    with life.simulator() as simulator:
        check(simulator)
        life.calls()
        check(simulator, k=3.0)
        assert stages(life.calls()) == [
            *run_of(1, "reset"), "1 free", *run_of(2, "instantiate"),
        ]  # fmt: skip
        check(simulator, k=4.0)
        assert stages(life.calls()) == run_of(2, "reset")
        assert simulator.statistics.instantiations == 1  # that was for the comparison only
        assert simulator.statistics.steps == 3 * (T.size - 1)


def test_a_new_instance_for_each_run_where_that_is_asked_for(life: Life) -> None:
    with life.simulator(reuse="never") as simulator:
        for k in (2.0, 3.0):
            check(simulator, k=k)
        assert simulator.statistics.instantiations == 2
    assert stages(life.calls()) == [
        *run_of(1, "instantiate"), "1 free", *run_of(2, "instantiate"), "2 free",
    ]  # fmt: skip


@pytest.mark.parametrize("keeps", [False, True], ids=["clean reset", "a reset that keeps values"])
def test_every_run_starts_from_the_defaults(life: Life, keeps: bool) -> None:
    if keeps:
        life.keep_values()
    with life.simulator() as simulator:
        check(simulator)
        check(simulator, k=5.0, x=-1.0)
        check(simulator)
        assert simulator.statistics.runs == 3
        assert simulator.statistics.steps == 3 * (T.size - 1)
        # What a run has set is set back in all that follow, so the reset is good enough.
        assert simulator.statistics.instantiations == 1


def test_an_fmu_that_refuses_its_reset_is_instantiated_for_each_run(life: Life) -> None:
    with life.simulator() as simulator:
        check(simulator)
        life.fail("reset", ERROR)
        check(simulator, k=3.0)
        assert "Reset returned Error; the FMU is instantiated" in simulator.log[0].message
        life.calls()
        check(simulator)
        assert stages(life.calls()) == ["2 free", *run_of(3, "instantiate")]
        assert simulator.statistics.instantiations == 3


@pytest.mark.parametrize(
    ("status", "word"), [(DISCARD, "Discard"), (ERROR, "Error"), (FATAL, "Fatal")]
)
@pytest.mark.parametrize("call", NAMES)
def test_a_call_that_fails(life: Life, call: str, status: int, word: str) -> None:
    """It is reported with the FMU's own words; the instance is kept, freed or left; all goes on."""
    with life.simulator(reuse="trusted") as simulator:
        check(simulator)
        life.calls()
        life.fail(call, status)
        with pytest.raises(SimulationError, match=f"{NAMES[call]} returned {word}") as caught:
            simulator.simulate(SETUP, {"k": 3.0})
        error = caught.value
        assert "the FMU says: it is broken on purpose" in error.message
        assert any("it is broken on purpose" in line for line in error.log)
        assert not error.timed_out
        assert error.ended is None
        assert error.time == pytest.approx(T[0])
        calls = life.calls()
        assert ("1 free" in calls) == (status == ERROR)
        assert "1 terminate" not in calls
        check(simulator)
        renewed = status != DISCARD
        next_run = run_of(2, "instantiate") if renewed else run_of(1, "reset")
        assert stages(life.calls()) == next_run
        assert any("instantiated anew" in r.message for r in simulator.log) == renewed
        assert simulator.statistics.failures == 1


@pytest.mark.parametrize(("call", "rows"), [("get", 2), ("set u", 2), ("inf", 2), ("work", 1)])
def test_what_was_computed_before_a_failure_is_kept(life: Life, call: str, rows: int) -> None:
    """The error says how far the simulation came, as its message does."""
    values = {"k": 5e307} if call == "inf" else {}
    if call == "work":  # for ever, since an integrator may try again
        life.fail(call, DISCARD, always=True)
    else:
        life.fail(call, ERROR, after=2)
    with life.simulator() as simulator, pytest.raises(SimulationError) as caught:
        simulator.simulate(SETUP, values)
    error = caught.value
    assert error.time == T[rows if call != "work" else 0]
    assert error.says_time
    assert f" at t = {error.time!r} s" in error.message
    of_a_step = call == "work" and life.fmu.description.capabilities.kind == "co-simulation"
    assert (" (step of 0.1 s)" in error.message) == of_a_step
    assert error.outputs is not None
    np.testing.assert_allclose(error.outputs, expected(values.get("k", 2.0))[:rows], rtol=1e-5)


def test_a_warning_is_logged_and_the_run_goes_on(life: Life) -> None:
    with life.simulator(reuse="trusted") as simulator:
        for call in NAMES:
            before = simulator.statistics.warnings
            life.fail(call, WARNING)
            check(simulator, k=3.0)
            assert any("it is broken on purpose" in record.message for record in simulator.log)
            assert simulator.statistics.warnings - before == (call == "work")
        assert simulator.statistics.instantiations == 1


@pytest.mark.parametrize("status", [DISCARD, FATAL])
def test_a_terminate_that_fails_costs_nothing_but_the_instance(life: Life, status: int) -> None:
    with life.simulator(reuse="trusted") as simulator:
        life.fail("terminate", status)
        check(simulator, k=3.0)
        assert any("Terminate returned" in record.message for record in simulator.log)
        assert ("1 free" in life.calls()) == (status != FATAL)
        check(simulator)
        assert stages(life.calls()) == run_of(2, "instantiate")
        assert simulator.statistics.failures == 0


def test_an_fmu_that_refuses_to_be_instantiated(life: Life) -> None:
    life.fail("instantiate", ERROR, always=True)
    with pytest.raises(FmuError, match="'life' refuses to be instantiated and does not say why"):
        life.simulator()
    assert life.calls() == ["1 instantiate", "2 instantiate"]  # the second with all its messages


def test_an_fmu_that_refuses_to_be_instantiated_again(life: Life) -> None:
    with life.simulator(reuse="never") as simulator:
        check(simulator)
        life.fail("instantiate", ERROR)
        with refused(
            Code.SIMULATION_FAILED, SimulationError, match=r"fmi[23]Instantiate\w* returned Fatal"
        ):
            simulator.simulate(SETUP)
        check(simulator)


def test_a_value_that_is_refused_costs_nothing(life: Life) -> None:
    with life.simulator(reuse="trusted") as simulator:
        check(simulator)
        with refused(Code.WRONG_TYPE, FmuError, match="'k' is Real"):
            simulator.simulate(SETUP, {"k": "much"})
        check(simulator, k=3.0)
        assert simulator.statistics.instantiations == 1


def test_results_belong_to_the_caller(life: Life) -> None:
    with life.simulator(reuse="trusted") as simulator:
        first = simulator.simulate(SETUP)
        kept = first.copy()
        life.fail("get", ERROR, after=2)
        with pytest.raises(SimulationError) as caught:
            simulator.simulate(SETUP, {"k": 3.0})
        before = caught.value.outputs
        assert before is not None
        rows = before.copy()
        first *= 2.0
        check(simulator)
        check(simulator, k=5.0)
    np.testing.assert_array_equal(first, 2.0 * kept)
    np.testing.assert_array_equal(before, rows)


def test_a_closed_simulator_refuses_to_run(life: Life) -> None:
    simulator = life.simulator()
    simulator.close()
    simulator.close()
    assert life.calls() == ["1 instantiate", "1 free"]
    with pytest.raises(FmuError, match="the simulator is closed"):
        simulator.simulate(SETUP)
