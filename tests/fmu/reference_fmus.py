"""What is known of the Reference FMUs of the Modelica Association, and what is tried with them.

https://github.com/modelica/Reference-FMUs, FMI 2.0 and 3.0. They are not part of this project:
build them (see ``docs/reference/fmi.md``) and name their folder.
"""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

import fmident
from fmident.arrays import F64
from fmident.errors import FmidentError, SimulationError
from fmident.fmu import Fmu, ModelDescription, SimulationSetup, open_fmu, resized
from fmident.fmu.model_description.description import InterfaceKind

G, E = 9.81, 0.7  # of the ball


@dataclass(frozen=True)
class Row:
    """One check of one interface of one FMU; `passed` is ``None`` where the FMU prevents it."""

    fmu: str
    version: str
    interface: str
    check: str
    passed: bool | None
    detail: str


Answer = tuple[bool | None, str]


@dataclass(frozen=True)
class Model:
    """One of the models.

    Parameters
    ----------
    outputs
        Variables that are compared.
    stop, step
        Experiment, s.
    exact
        Solution of its equations at the times, shape (n, outputs).
    start
        Begin of the experiment, s.
    estimated
        True values of the parameters to be estimated.
    measured
        Outputs and last instant (s) that they are estimated from; default all.
    allowed
        Deviation from `exact` over range, as Model Exchange.
    fmpy
        Deviation from FMPy over range, as Model Exchange.
    """

    outputs: tuple[str, ...]
    stop: float
    step: float
    exact: Callable[[F64], F64]
    start: float = 0.0
    estimated: Mapping[str, float] = field(default_factory=dict)
    measured: tuple[tuple[str, ...], float] | None = None
    allowed: float = 1e-5
    fmpy: float = 1e-4

    @property
    def times(self) -> F64:
        """The instants, shape (n,)."""
        count = round((self.stop - self.start) / self.step)
        return np.linspace(self.start, self.stop, count + 1)


def bouncing(times: F64) -> F64:
    """Return height and speed of the ball, which rests below 0.1 m/s."""
    fall = float(np.sqrt(2.0 / G))
    height, speed = 1.0 - 0.5 * G * times**2, -G * times
    contact, up = fall, E * G * fall
    while contact < times[-1]:
        after = times - contact
        here = after >= 0.0
        if up < 0.1:
            return np.column_stack([np.where(here, 0.0, height), np.where(here, 0.0, speed)])
        height = np.where(here, up * after - 0.5 * G * after**2, height)
        speed = np.where(here, up - G * after, speed)
        contact, up = contact + 2.0 * up / G, E * up
    return np.column_stack([height, speed])


def integrated(f: Callable[[float, F64], Any], begin: tuple[float, ...]) -> Callable[[F64], F64]:
    """Return the solution of x' = f(t, x) as a function of times."""

    def solution(times: F64) -> F64:
        found = solve_ivp(f, (times[0], times[-1]), begin, "Radau", times, rtol=1e-10, atol=1e-14)
        return np.asarray(found.y.T)

    return solution


def van_der_pol(_: float, x: F64) -> list[float]:
    """Return the derivatives of Van der Pol's oscillator with mu = 1."""
    return [x[1], (1.0 - x[0] ** 2) * x[1] - x[0]]


def robertson(_: float, y: F64) -> list[float]:
    """Return the derivatives of Robertson's kinetics."""
    third = 1.0 - y[0] - y[1]
    first = -0.04 * y[0] + 1e4 * y[1] * third
    return [first, -first - 3e7 * y[1] ** 2]


MODELS = {
    # Its speed jumps: from that, no gradient leads to the parameters.
    "BouncingBall": Model(
        ("h", "v"), 3.0, 0.01, bouncing, estimated={"g": -G, "e": E}, measured=(("h",), 1.0)
    ),
    "Dahlquist": Model(
        ("x",), 10.0, 0.1, lambda t: np.exp(-t)[:, np.newaxis], estimated={"k": 1.0}
    ),
    "Resource": Model(("y",), 1.0, 0.1, lambda t: np.full((t.size, 1), 97.0)),
    "Roberts": Model(
        ("y1", "y2"), 0.4, 0.004, integrated(robertson, (1.0, 0.0)), allowed=1e-3, fmpy=1e-2
    ),
    "Stair": Model(
        ("counter",), 9.0, 0.2, lambda t: 1.0 + np.floor(t + 1e-9)[:, np.newaxis]
    ),
    "StateSpace": Model(
        ("y[1]", "y[2]", "y[3]"), 10.0, 1.0, lambda t: np.exp(t)[:, np.newaxis] * (1.0, 2.0, 3.0),
        estimated={"A[1,1]": 1.0, "D[2,2]": 1.0},
    ),
    "VanDerPol": Model(
        ("x0", "x1"), 20.0, 0.01, integrated(van_der_pol, (2.0, 0.0)), estimated={"mu": 1.0}
    ),
}  # fmt: skip
TOLERANCE = 1e-8  # of CVODE
COARSE = 1e-9  # of range: Co-Simulation is the same sequence of calls whoever makes them


@dataclass(frozen=True)
class Subject:
    """One interface of one FMU."""

    path: Path
    fmu: Fmu
    interface: InterfaceKind
    model: Model

    @property
    def description(self) -> ModelDescription:
        return self.fmu.description.with_interface(self.interface)

    def setup(self, **more: Any) -> SimulationSetup:
        tolerance = TOLERANCE if self.interface == "model-exchange" else None
        given = {"output_names": self.model.outputs, "tolerance": tolerance, **more}
        return SimulationSetup(given.pop("times", self.model.times), **given)

    def simulate(self, **more: Any) -> F64:
        with self.fmu.simulator(interface=self.interface) as simulator:
            return simulator.simulate(self.setup(**more))


def tables(path: Path) -> Mapping[str, F64] | None:
    """Return the reference trajectories that an FMU carries; arrays have a row per instant."""
    with zipfile.ZipFile(path) as file:
        name = next((n for n in file.namelist() if n.endswith(f"{path.stem}_out.csv")), None)
        if name is None:
            return None
        rows = list(csv.reader(io.StringIO(file.read(name).decode())))
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    return {
        k: np.array([[float(x) for x in cell.split()] for cell in v]) for k, v in columns.items()
    }


def deviation(found: F64, expected: F64) -> float:
    """Return the largest deviation over the range of a signal."""
    size = np.ptp(expected, axis=0)
    size = np.where(size > 0.0, size, 1.0)
    return float(np.max(np.abs(found - expected) / size))


# ------------------------------------------------------------------------------ checks


def against_reference(subject: Subject) -> Answer:
    """Co-Simulation against the trajectory that comes with the FMU."""
    given = tables(subject.path)
    if given is None:
        return None, "the FMU brings no trajectory"
    if not {n.partition("[")[0] for n in subject.model.outputs} <= set(given):
        return None, "the FMU brings the trajectory of another model"
    times = given["time"].ravel()
    signals = {n.partition("[")[0]: given[n.partition("[")[0]] for n in subject.model.outputs}
    gap = deviation(subject.simulate(times=times), np.column_stack(list(signals.values())))
    return gap <= COARSE, f"{gap:.1e} from its own trajectory, {times.size} instants"


def against_solution(subject: Subject) -> Answer:
    """Model Exchange against the solution of the equations."""
    gap = deviation(subject.simulate(), subject.model.exact(subject.model.times))
    return gap <= subject.model.allowed, f"{gap:.1e} from the solution"


def theirs(subject: Subject, **more: Any) -> F64:
    """Return what FMPy makes of it, in event mode and with early return where there are any."""
    model, exchange = subject.model, subject.interface == "model-exchange"
    able = subject.description.capabilities
    events = able.has_event_mode and subject.path.stem != "Roberts"  # offers it, and refuses it
    found = fmpy.simulate_fmu(
        str(subject.path), validate=False, start_time=model.start, stop_time=model.stop,
        output_interval=model.step, fmi_type="ModelExchange" if exchange else "CoSimulation",
        relative_tolerance=TOLERANCE if exchange else None, record_events=False,
        output=[n.partition("[")[0] for n in model.outputs], early_return_allowed=events,
        use_event_mode=events, **more,
    )  # fmt: skip
    time = found["time"]
    names = found.dtype.names[1:]
    columns = np.column_stack([found[n].reshape(time.size, -1) for n in names]).astype(float)
    # With early return and event mode there are more rows: of each instant the last counts.
    last = np.searchsorted(time, model.times + 1e-9, side="right") - 1
    there = np.isclose(time[last], model.times, rtol=0.0, atol=1e-9)
    assert there[:-1].all(), "FMPy leaves out the last instant at most, where the FMU ends there"
    return np.asarray(columns[last[there]])


def against_fmpy(subject: Subject) -> Answer:
    """The same simulation by FMPy."""
    ours = subject.simulate()
    found = theirs(subject)
    gap = deviation(ours[: len(found)], found[:, : ours.shape[1]])
    allowed = subject.model.fmpy if subject.interface == "model-exchange" else COARSE
    return gap <= allowed, f"{gap:.1e} from FMPy"


def repeated(subject: Subject) -> Answer:
    """Run, run with other values, run again: the same bits, whatever the FMU does on reset."""
    setup = subject.setup()
    with subject.fmu.simulator(interface=subject.interface) as simulator:
        first = simulator.simulate(setup)
        for name, value in subject.model.estimated.items():
            other = simulator.simulate(setup, {name: 0.9 * value + 0.05})
            if np.array_equal(other, first):
                return False, f"'{name}' has no influence"
        same = np.array_equal(simulator.simulate(setup), first)
        count = simulator.statistics.instantiations
    return same, f"equal to the last bit, {count} instantiation" + "s" * (count > 1)


def estimated(subject: Subject) -> Answer:
    """Estimate parameters from what FMPy simulates with other values."""
    model, wanted = subject.model, dict(subject.model.estimated)
    true = {n: 1.05 * v for n, v in wanted.items()}
    measured, last = model.measured or (model.outputs, model.stop)
    columns = theirs(subject, start_values=flat(subject, true)).T
    data = pd.DataFrame(dict(zip(("time", *model.outputs), (model.times, *columns), strict=False)))
    data = data[data["time"] <= last]
    parameters = "".join(
        f"[parameters.p{k}]\nvariable = '{n}'\ninitial = {v}\n"
        for k, (n, v) in enumerate(wanted.items())
    )
    outputs = "".join(f"'{n}' = {{ column = '{n}', sigma = 0.01 }}\n" for n in measured)
    tolerance = f"tolerance = {TOLERANCE}\n" if subject.interface == "model-exchange" else ""
    with tempfile.TemporaryDirectory() as folder:
        data.to_csv(Path(folder, "data.csv"), index=False)
        problem = Path(folder, "problem.toml")
        problem.write_text(
            f"[model]\nfmu = '{subject.path.resolve()}'\n{parameters}"
            f"[[experiments]]\ndata = 'data.csv'\n[experiments.outputs]\n{outputs}"
            "[estimator]\nname = 'least-squares'\n"
            f"[evaluation]\nexecutor = 'inline'\n{tolerance}interface = '{subject.interface}'\n"
        )
        value = fmident.estimate(fmident.load_problem(problem)).parameters.value
    found = {n: float(value[f"p{k}"]) for k, n in enumerate(wanted)}
    gap = max(abs(found[n] - v) / max(abs(v), 1.0) for n, v in true.items())
    words = ", ".join(f"{n} = {v:.6g}" for n, v in found.items())
    return gap <= 1e-3, f"{words}; off by {gap:.1e}"


def flat(subject: Subject, values: Mapping[str, float]) -> dict[str, Any]:
    """Return values as FMPy wants them: an array of FMI 3.0 as a whole."""
    found: dict[str, Any] = {}
    description = subject.description
    for name, value in values.items():
        base = name.partition("[")[0]
        if base not in description.shapes:
            found[name] = value
            continue
        elements = [v for v in description.variables if v.name.partition("[")[0] == base]
        array = found.setdefault(base, [v.start for v in elements])
        array[[v.name for v in elements].index(name)] = value
    return found


def sizes(subject: Subject) -> Answer:
    """A state space of other sizes: x1' = -2 x1 + u1 + 2 u2, x2' = -x2, y = 3 x1 + x2.

    Square, since the FMU takes the number of inputs for that of outputs in places, and it makes
    no use of x0.
    """
    two = [(i, j) for i in (1, 2) for j in (1, 2)]
    values: dict[str, float] = {"m": 2, "n": 2, "r": 2, "x0[1]": 0.0, "x0[2]": 0.0}
    values |= {"u[1]": 0.5, "u[2]": 0.75}
    for name, matrix in (("A", (-2, 0, 0, -1)), ("B", (1, 2, 0, 0)), ("C", (3, 1, 0, 0)),
                         ("D", (0, 0, 0, 0))):  # fmt: skip
        values |= {f"{name}[{i},{j}]": float(v) for (i, j), v in zip(two, matrix, strict=True)}
    assert resized(subject.description, values).shapes["D"] == (2, 2)
    times = np.linspace(0.0, 2.0, 21)
    try:
        found = subject.simulate(times=times, output_names=("y[1]",), start_values=values)
    except SimulationError as error:
        if "Expected nValues >=" in error.message:  # its index runs too early
            return None, "the FMU refuses every size (an error of its versions from 0.0.41 on)"
        raise
    if subject.interface == "model-exchange":
        exact = 3.0 * (1.0 - np.exp(-2.0 * times))
    else:  # it takes Euler steps of 1 ms
        exact = 3.0 * (1.0 - (1.0 - 2e-3) ** np.round(times / 1e-3))
    gap = deviation(found, exact[:, np.newaxis])
    return gap <= 1e-6, f"{gap:.1e} from the solution with m = n = r = 2"


def fed_through(subject: Subject) -> Answer:
    """Every numeric type of FMI: what goes in comes out at the same instant."""
    times = np.linspace(0.0, 2.0, 21)
    chance = np.random.default_rng(1)
    inputs = [v for v in subject.description.inputs if v.type != "String"]
    columns = []
    for variable in inputs:
        if variable.type == "Real":
            column = chance.normal(size=times.size)
            exact = variable.native_type != "Float32"
            column = column if exact else column.astype(np.float32).astype(float)
        elif variable.type == "Boolean":
            column = chance.integers(0, 2, times.size).astype(float)
        elif variable.type == "Enumeration":
            column = chance.integers(1, 3, times.size).astype(float)
        else:
            native = variable.native_type or "Int32"
            info = np.iinfo(native.lower())
            low, high = max(int(info.min), -(2**53)), min(int(info.max), 2**53)
            column = chance.integers(low, high, times.size, endpoint=True).astype(float)
            column[:2] = low, high
        columns.append(column)
    data = np.column_stack(columns)
    names = tuple(v.name for v in inputs)
    outputs = tuple(n.replace("_input", "_output") for n in names)
    found = subject.simulate(times=times, input_names=names, inputs=data, output_names=outputs)
    same = np.array_equal(found, data)
    return same, f"{len(names)} inputs of {len({v.native_type or v.type for v in inputs})} types"


def ended(subject: Subject) -> Answer:
    """The staircase ends the simulation at 9 s: told as such, and the next run is sound."""
    with subject.fmu.simulator(interface=subject.interface) as simulator:
        good = simulator.simulate(subject.setup())
        try:
            simulator.simulate(subject.setup(times=np.linspace(0.0, 10.0, 51)))
        except SimulationError as error:
            told = error.ended
        else:
            return False, "nothing was said"
        same = np.array_equal(simulator.simulate(subject.setup()), good)
    return same and told is not None and abs(told - 9.0) < 1e-9, f"ends at t = {told} s"


# ------------------------------------------------------------------------------- all


def checks_of(subject: Subject) -> dict[str, Callable[[Subject], Answer]]:
    """Return what is tried with an interface, by name."""
    name = subject.path.stem
    if name == "Feedthrough":
        return {"every type": fed_through}
    exchange = subject.interface == "model-exchange"
    found: dict[str, Callable[[Subject], Answer]] = {
        **({"solution": against_solution} if exchange else {"reference": against_reference}),
        "FMPy": against_fmpy,
        "repeated": repeated,
    }
    if subject.model.estimated:
        found["estimate"] = estimated
    if name == "StateSpace":
        found["sizes"] = sizes
    if name == "Stair":
        found["end"] = ended
    return found


def check_fmu(path: Path) -> Iterator[Row]:
    """Try one of the FMUs by each of its interfaces.

    Yields
    ------
    Row
        One for each check.
    """
    name = path.stem
    try:
        fmu = open_fmu(path)
    except FmidentError as error:
        refused = name == "Clocks" and "Scheduled Execution" in error.message
        yield Row(name, "3.0", "scheduled execution", "refused", refused, error.message)
        return
    with fmu:
        for offered in fmu.description.interfaces:
            model = MODELS.get(name, Model((), 1.0, 0.1, lambda t: t))
            subject = Subject(path, fmu, offered.kind, model)
            for check, run in checks_of(subject).items():
                try:
                    passed, detail = run(subject)
                except FmidentError as error:
                    passed, detail = False, error.message
                version = fmu.description.fmi_version
                yield Row(name, version, offered.kind, check, passed, detail)


def find_fmus(folder: Path) -> list[Path]:
    """Return the Reference FMUs under a folder."""
    known = {*MODELS, "Feedthrough", "Clocks"}
    return [p for p in sorted(folder.rglob("*.fmu")) if p.stem in known]
