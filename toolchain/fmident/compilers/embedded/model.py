"""The compiled model: what the front end hands to the code generator.

The front end (Modelica source to :class:`OdeModel`) and the back end (:class:`OdeModel`
to FMU) know each other only through this module.

All functions are ``casadi.Function`` objects of SX expressions with these vectors:

``t``
    time, scalar, s
``x``
    continuous states, in the order of ``states``
``u``
    top-level inputs, in the order of ``inputs``
``p``
    every parameter that can be set, in the order of ``parameters``
``c``
    constants and calculated parameters, in the order of ``calculated``; a function of ``p``.
    Behind them, in a model with events, what it holds between two events (:class:`Events`), and
    in a model with algebraic loops their unknowns and inverse matrices (:class:`Loops`)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from fmident.fmu.model_description.description import FrozenParameter

Function: TypeAlias = Any
"""A ``casadi.Function`` (CasADi ships no types)."""

Kind = Literal[
    "state", "derivative", "input", "output", "local", "parameter", "calculated", "discrete"
]

TypeName = Literal["Real", "Integer", "Boolean"]

Version = Literal["2.0", "3.0"]
VERSIONS: tuple[Version, ...] = ("2.0", "3.0")
"""Of FMI, of which FMUs can be."""

INTEGRATORS = ("auto", "explicit", "rosenbrock", "cvode")
"""What integrates the states of an FMU, in the order of the runtime's ``integrator.h``."""


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
        Literal start value (default value of a parameter); ``None`` when computed.
    unit, display_unit, quantity
        Modelica attributes; empty string when absent.
    minimum, maximum, nominal
        Modelica attributes; ``None`` when absent.
    description
        Modelica description string.
    derivative_of
        For kind ``"derivative"``: name of the state.
    type_name
        Of a discrete variable; all others are Real.
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
    """What a model holds between events, and what happens at one.

    What is held is behind the calculated parameters in the vector ``c``, in this order:
    relations, the phases ``initial()`` and ``terminal()``, the samples, discrete variables, the
    conditions of when-equations. The last two are one vector, ``d``; ``pre`` is what it was
    before the event.

    Parameters
    ----------
    variables
        Discrete variables that the FMU shows.
    outputs
        Names of those that are outputs.
    hidden
        Number of further discrete variables and of conditions of when-equations.
    relations
        Texts of the relations, for messages.
    live
        ``(t, x, u, p, c) -> (r)``: what the relations would be now.
    samples
        ``(p, c) -> (s)``: start and interval of each sample, in turns.
    starts
        ``(t, x, u, p, c) -> (pre)``: what discrete variables are before the start.
    update
        ``(t, x, u, p, c, pre) -> (d, x)``: at an event, with the states after it.
    """

    variables: tuple[ScalarVariable, ...]
    outputs: frozenset[str]
    hidden: int
    relations: tuple[str, ...]
    live: Function
    samples: Function
    starts: Function
    update: Function

    @property
    def sample_count(self) -> int:
        """Number of samples."""
        return int(self.samples.numel_out(0)) // 2

    @property
    def discrete_count(self) -> int:
        """Length of ``d``."""
        return len(self.variables) + self.hidden

    @property
    def held_count(self) -> int:
        """Number of elements behind the calculated parameters."""
        return len(self.relations) + 2 + self.sample_count + self.discrete_count


@dataclass(frozen=True)
class Loop:
    """Equations that are solved together while the model is simulated, by Newton's method.

    Parameters
    ----------
    names
        Unknowns of the iteration, after tearing.
    equations
        Texts of the equations that are left for them, as many.
    residual
        ``(t, x, u, p, c) -> (g)``, zero at the solution. It needs no loop behind it.
    nominals
        Attribute ``nominal`` of each unknown, 1 where there is none.
    linear
        Whether the residual is linear in the unknowns, so that one step solves it.
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
    """Algebraic loops, in the order in which they are solved.

    They are at the end of the vector ``c``: first the unknowns of all loops, those of `initial`
    last, then for each loop the inverse of ``d g / d unknowns``, dense column-major.

    Parameters
    ----------
    running
        Those on which everything may depend.
    initial
        Those on which only the initial states depend. They contain no state.
    starts
        ``(p, c) -> (z)``: where the first iteration begins, for all unknowns.
    """

    running: tuple[Loop, ...]
    initial: tuple[Loop, ...]
    starts: Function

    @property
    def all(self) -> tuple[Loop, ...]:
        """Those of both kinds."""
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
    """What binds the states to each other, besides what follows from their derivatives.

    Parameters
    ----------
    equations
        Texts of the equations that were differentiated.
    residual
        ``(t, x, u, p, c) -> (r)``, zero for states that are consistent. It depends on time, states
        and parameters only.
    """

    equations: tuple[str, ...]
    residual: Function


@dataclass(frozen=True)
class OdeModel:
    """A causalised model: explicit ordinary differential equations with outputs.

    An output that is also a state appears once in `outputs` (kind ``"output"``) and once
    in `states` under the same name; the FMU then shows one variable.

    Parameters
    ----------
    name
        Full Modelica class name.
    description
        Description string of the class.
    states, derivatives, inputs, outputs, locals, parameters, calculated
        Scalar variables, in the order of the vectors.
    calculated_parameters
        ``(p) -> (c)``. Integer, Boolean and String parameters are fixed when the model is
        compiled and are in no vector.
    initial_states
        ``(t, u, p, c) -> (x)``: start values and initial equations.
    free_starts
        For each state, whether it begins at its ``start``, from which no other start value follows:
        where that is a number, the host may set another.
    rhs
        ``(t, x, u, p, c) -> (xdot)``
    output_values
        ``(t, x, u, p, c) -> (y)``
    local_values
        ``(t, x, u, p, c) -> (w)``
    assert_values
        ``(t, x, u, p, c) -> (a)``; an element not greater than 0 means violated. The front end
        gives 1 where the condition holds and 0 where it does not.
    asserts
        Messages, in the order of ``a``. What varies with time in a message is in it as
        ``<expression>``.
    output_dependencies, derivative_dependencies
        For each output (derivative): names of the states and inputs it depends on.
    experiment
        Defaults of the simulation.
    library_version
        ``version`` annotation of the top-level package, or empty.
    frozen
        Parameters that cannot be set, by name. Some of them are in no vector.
    events
        ``None`` for a model without events.
    loops
        ``None`` for a model without algebraic loops that are solved by iteration.
    constraints
        ``None`` for a model whose states are independent.
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
    events: Events | None = None
    loops: Loops | None = None
    constraints: Constraints | None = None

    @property
    def held_count(self) -> int:
        """Number of elements of ``c`` that are held between events."""
        return self.events.held_count if self.events else 0

    @property
    def count_behind(self) -> int:
        """Number of elements of ``c`` behind the calculated parameters."""
        return self.held_count + (self.loops.count if self.loops else 0)
