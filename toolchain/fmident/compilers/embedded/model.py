"""Compiled model: the only interface between front end and code generator.

All functions are ``casadi.Function`` objects of SX expressions with these vectors:

``t``
    time, scalar, s
``x``
    continuous states, in the order of ``states``
``u``
    top-level inputs, in the order of ``inputs``
``p``
    settable parameters, in the order of ``parameters``
``c``
    constants and calculated parameters, in the order of ``calculated``; a function of
    ``p``. They are followed, in a model with events, by values held between two events
    (:class:`Events`) and, in a model with algebraic loops, by the unknowns and inverse
    matrices of these (:class:`Loops`)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from fmident.fmu.model_description.description import FrozenParameter

Function: TypeAlias = Any
"""A ``casadi.Function`` (CasADi ships no types)."""

Kind = Literal[
    "state", "derivative", "input", "output", "local", "parameter", "calculated", "discrete"
]

TypeName = Literal["Real", "Integer", "Boolean"]

Version = Literal["2.0", "3.0"]
VERSIONS: tuple[Version, ...] = get_args(Version)
"""Versions of FMI for which FMUs can be built."""

MEMORY_BYTES = 4 * 10**9
"""Memory that rumoca may take, and each process of the C compiler."""

INTEGRATORS = ("auto", "explicit", "rosenbrock", "cvode")
"""Integrators of an FMU's states, in the order of the runtime's ``integrator.h``."""


def instructions(function: Function) -> Iterator[tuple[int, int, list[int], list[int]]]:
    """Yield number, operation, sources and targets of each instruction of an SX function."""
    for k in range(function.n_instructions()):
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        yield k, function.instruction_id(k), sources, targets


@dataclass(frozen=True)
class ScalarVariable:
    """One scalar variable of the flat model.

    Parameters
    ----------
    name
        Flat Modelica name such as ``arm[1].phi``.
    kind
        Its role.
    start
        Literal start value (default value of a parameter); ``None`` if computed.
    unit, display_unit, quantity
        Modelica attributes; empty if absent.
    minimum, maximum, nominal
        Modelica attributes; ``None`` if absent.
    description
        Modelica description string.
    derivative_of
        For kind ``"derivative"``: name of the state.
    type_name
        Type of a discrete variable; all others are Real.
    """

    name: str
    kind: Kind
    start: float | None = None
    unit: str = ""
    display_unit: str = ""
    quantity: str = ""
    minimum: float | None = None
    maximum: float | None = None
    nominal: float | None = None
    description: str = ""
    derivative_of: str | None = None
    type_name: TypeName = "Real"


@dataclass(frozen=True)
class Assertion:
    """``assert(condition, message)`` of the model; its value is an element of ``asserts``."""

    message: str
    level: Literal["error", "warning"] = "error"


@dataclass(frozen=True)
class ExperimentDefaults:
    """The ``experiment`` annotation."""

    start_time: float = 0.0
    stop_time: float | None = None
    tolerance: float | None = None
    interval: float | None = None


@dataclass(frozen=True)
class Events:
    """Values that a model holds between events, and actions at an event.

    Held values follow the calculated parameters in the vector ``c``, in this order:
    relations, the phases ``initial()`` and ``terminal()``, samples, discrete variables,
    conditions of when-equations. The last two form the vector ``d``; ``pre`` is its value
    before the event. Without events the functions are ``None``.

    Parameters
    ----------
    variables
        Discrete variables visible in the FMU.
    outputs
        Names of those that are outputs.
    hidden
        Number of other discrete variables and of conditions of when-equations.
    relations
        Texts of the relations, for messages.
    live
        ``(t, x, u, p, c) -> (r)``: current values of the relations.
    samples
        ``(p, c) -> (s)``: start and interval of each sample, alternating.
    starts
        ``(t, x, u, p, c) -> (pre)``: discrete variables before the start.
    update
        ``(t, x, u, p, c, pre) -> (d, x)`` at an event, with the states after it.
    """

    variables: tuple[ScalarVariable, ...] = ()
    outputs: frozenset[str] = frozenset()
    hidden: int = 0
    relations: tuple[str, ...] = ()
    live: Function = None
    samples: Function = None
    starts: Function = None
    update: Function = None

    @property
    def any(self) -> bool:
        """Whether there are events."""
        return self.update is not None

    @property
    def sample_count(self) -> int:
        """Number of samples."""
        return int(self.samples.numel_out(0)) // 2 if self.any else 0

    @property
    def discrete_count(self) -> int:
        """Length of ``d``."""
        return len(self.variables) + self.hidden

    @property
    def held_count(self) -> int:
        """Number of elements after the calculated parameters."""
        phases = 2 if self.any else 0
        return len(self.relations) + phases + self.sample_count + self.discrete_count


@dataclass(frozen=True)
class Loop:
    """Equations that are solved simultaneously during simulation, by Newton's method.

    `names` are the unknowns after tearing, `equations` texts, equal in number. `residual`
    is ``(t, x, u, p, c) -> (g)``, zero at the solution, independent of later loops; if
    `linear` in the unknowns, one step solves it. `nominals` are 1 where absent.
    """

    names: tuple[str, ...]
    equations: tuple[str, ...]
    residual: Function
    nominals: tuple[float, ...]
    linear: bool

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.names)


@dataclass(frozen=True)
class Loops:
    """Algebraic loops, in order of solution.

    They are at the end of the vector ``c``: first the unknowns of all loops, those of
    `initial` last, then for each loop the inverse of ``d g / d unknowns``, dense
    column-major. Only initial states depend on `initial` loops, which contain no state.
    `starts` is ``(p, c) -> (z)``: initial guesses of all unknowns, ``None`` without loops.
    """

    running: tuple[Loop, ...] = ()
    initial: tuple[Loop, ...] = ()
    starts: Function = None

    @property
    def all(self) -> tuple[Loop, ...]:
        """Loops of both kinds."""
        return self.running + self.initial

    @property
    def unknowns(self) -> int:
        """Number of all unknowns."""
        return sum(loop.size for loop in self.all)

    @property
    def count(self) -> int:
        """Number of elements of ``c``."""
        return self.unknowns + sum(loop.size**2 for loop in self.all)


@dataclass(frozen=True)
class Constraints:
    """Constraints between states that their derivatives do not ensure.

    `residual` is ``(t, x, u, p, c) -> (r)``, zero for consistent states, and depends on
    time, states and parameters only; it is ``None`` without constraints.
    """

    equations: tuple[str, ...] = ()
    residual: Function = None


@dataclass(frozen=True)
class OdeModel:
    """A causalised model: explicit ordinary differential equations with outputs.

    An output that is also a state appears once in `outputs` (kind ``"output"``) and once in
    `states` under the same name; the FMU then has one variable.

    Parameters
    ----------
    name
        Full Modelica class name.
    description
        Description string of the class.
    states, derivatives, inputs, outputs, locals, parameters, calculated
        Scalar variables, in the order of the vectors.
    calculated_parameters
        ``(p) -> (c)``. Integer, Boolean and String parameters are fixed at compile time and
        are in no vector.
    initial_states
        ``(t, u, p, c) -> (x)``: start values and initial equations.
    free_starts
        For each state, whether it begins at its ``start`` and no other start value depends
        on it; if that is a number, the host may change it.
    rhs
        ``(t, x, u, p, c) -> (xdot)``
    output_values
        ``(t, x, u, p, c) -> (y)``
    local_values
        ``(t, x, u, p, c) -> (w)``
    assert_values
        ``(t, x, u, p, c) -> (a)``; an assert is violated where its element is not greater
        than
        0. The front end gives 1 if the condition holds and otherwise 0.
    asserts
        Messages, in the order of ``a``, with time-varying parts as ``<expression>``.
    output_dependencies, derivative_dependencies
        For each output (derivative): names of the states and inputs it depends on.
    experiment
        Defaults of the simulation.
    library_version
        ``version`` annotation of the top-level package, or empty.
    frozen
        Parameters that cannot be set, by name. Some of them are in no vector.
    events
        Held values, and actions at events.
    loops
        Iterated algebraic loops.
    constraints
        Those between the states.
    """

    name: str
    description: str
    states: tuple[ScalarVariable, ...]
    derivatives: tuple[ScalarVariable, ...]
    inputs: tuple[ScalarVariable, ...]
    outputs: tuple[ScalarVariable, ...]
    locals: tuple[ScalarVariable, ...]
    parameters: tuple[ScalarVariable, ...]
    calculated: tuple[ScalarVariable, ...]
    calculated_parameters: Function
    initial_states: Function
    free_starts: tuple[bool, ...]
    rhs: Function
    output_values: Function
    local_values: Function
    assert_values: Function
    asserts: tuple[Assertion, ...]
    output_dependencies: tuple[tuple[str, ...], ...]
    derivative_dependencies: tuple[tuple[str, ...], ...]
    experiment: ExperimentDefaults = ExperimentDefaults()
    library_version: str = ""
    frozen: Mapping[str, FrozenParameter] = field(default_factory=dict)
    events: Events = Events()
    loops: Loops = Loops()
    constraints: Constraints = Constraints()

    @property
    def suits_cvode(self) -> bool:
        """Whether CVODE can integrate it: without events and constraints."""
        return not (self.events.any or self.constraints.equations)

    @property
    def count_behind(self) -> int:
        """Number of elements of ``c`` after the calculated parameters."""
        return self.events.held_count + self.loops.count
