"""Model description: the content of ``modelDescription.xml`` as immutable data.

Sources: FMI specification 2.0.4, section 2.2 (schema), table in 2.2.7 (causality,
variability, initial); FMI specification 3.0.1, section 2.4.

**Array variables** of FMI 3.0 are taken apart into scalar ones. The size of an array can depend on
structural parameters: then the names of its elements do, too. A description is made from
declarations and values of these parameters.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from fmident.errors import Code, FmuError, did_you_mean, nearest
from fmident.fmu.model_description.variables import (
    Declaration,
    Value,
    Variable,
    array_name,
    element_name,
)
from fmident.fmu.setup import InputRamps, Interpolation

INDEX = re.compile(r"\[[\d,]+\]")
SYMBOLS_SHOWN = 3
"""With more variables than these a name is too common to be a symbol."""
OPENMODELICA_TOLERANCE = 1e-6
"""Tolerance of OpenModelica's integrator where the class has no ``experiment``."""


InterfaceKind = Literal["co-simulation", "model-exchange"]
InterfaceChoice = Literal["auto", "co-simulation", "model-exchange"]
CHOICES = ("auto", "co-simulation", "model-exchange")


LARGEST = 100_000
"""Arrays with more elements keep their start values; their elements have no names."""


@dataclass(frozen=True)
class Capabilities:
    """One interface of an FMU and its capability flags.

    Parameters
    ----------
    kind
        ``"co-simulation"`` or ``"model-exchange"``.
    model_identifier
        Name of the shared library, without suffix.
    can_interpolate_inputs
        Whether Real inputs can be interpolated linearly between the communication points.
    can_get_and_set_state, can_handle_variable_step, only_once_per_process,
    needs_execution_tool, provides_directional_derivative
        As FMI defines them.
    has_event_mode, provides_intermediate_update
        FMI 3.0 Co-Simulation: events between steps, callbacks within a step.
    fixed_step
        FMI 3.0 Co-Simulation: fixed step of the FMU's own integrator, s, if specified.
    needs_completed_step
        Model Exchange: whether the FMU needs a call after each completed integrator step.
    """

    kind: InterfaceKind = "co-simulation"
    model_identifier: str = ""
    can_interpolate_inputs: bool = False
    can_get_and_set_state: bool = False
    can_handle_variable_step: bool = False
    only_once_per_process: bool = False
    needs_execution_tool: bool = False
    provides_directional_derivative: bool = False
    has_event_mode: bool = False
    provides_intermediate_update: bool = False
    fixed_step: float | None = None
    needs_completed_step: bool = True

    def flags(self) -> dict[str, Any]:
        """Return the flags that :class:`fmident.fmu.ModelDescription` repeats."""
        return {
            name: getattr(self, name)
            for name in (
                "model_identifier",
                "can_interpolate_inputs",
                "can_get_and_set_state",
                "can_handle_variable_step",
                "only_once_per_process",
                "needs_execution_tool",
                "provides_directional_derivative",
            )
        }


OPENMODELICA = "OpenModelica"
"""Beginning of the generation tool in OpenModelica's FMUs."""


def sees_events_late(generation_tool: str, indicators: int) -> bool:
    """Return whether a Co-Simulation handles state events at communication points only.

    OpenModelica (1.26 and earlier) checks for state events after each communication step,
    when its integrator has already passed them.
    """
    return indicators > 0 and generation_tool.startswith(OPENMODELICA)


def choose_interface(
    name: str,
    offered: Sequence[Capabilities],
    choice: InterfaceChoice,
    *,
    exchange_first: bool = False,
) -> Capabilities:
    """Return the interface to use; ``"auto"`` prefers Co-Simulation.

    With `exchange_first` it prefers Model Exchange, see :func:`sees_events_late`.
    """
    if choice not in CHOICES:
        raise FmuError(
            f"there is no interface '{choice}'",
            hint="use one of " + ", ".join(f"'{c}'" for c in CHOICES),
            code=Code.NOT_A_CHOICE,
        )
    kinds: tuple[InterfaceKind, ...] = ("co-simulation", "model-exchange")
    for kind in reversed(kinds) if exchange_first else kinds:
        for interface in offered:
            if interface.kind == kind and choice in ("auto", kind):
                return interface
    has = " and ".join(f"'{o.kind}'" for o in offered)
    raise FmuError(
        f"the FMU of '{name}' does not offer '{choice}', it offers {has}",
        hint="use interface='auto', or export the FMU again with both interfaces",
        code=Code.NOT_SUPPORTED,
    )


@dataclass(frozen=True)
class FrozenParameter:
    """Why a parameter of the Modelica class cannot be set, as recorded by fmident's compiler."""

    reason: str
    advice: str = "change that in the Modelica source and build the FMU again"


@dataclass(frozen=True)
class ModelDescription:
    """A model description of FMI 2.0 or 3.0, with the parts needed for simulation.

    Parameters
    ----------
    name, guid, fmi_version, generation_tool, description, model_identifier
        Texts of the file; `guid` is FMI 3.0's instantiationToken.
    variables
        All scalar variables in the file's order; arrays by their elements (``"a[2,3]"``).
    platforms
        Names of the non-empty folders under ``binaries/``, such as ``"linux64"``.
    default_start, default_stop, default_tolerance, default_step
        The default experiment; ``None`` where unspecified. Times in s.
    can_interpolate_inputs, can_get_and_set_state, can_handle_variable_step
        Capability flags of the interface in use. Inputs of Model Exchange can always be
        interpolated, by the engine.
    only_once_per_process, needs_execution_tool, provides_directional_derivative
        More capability flags.
    log_categories
        Names of log categories that the FMU declares.
    output_dependencies
        For outputs with declared dependencies: output name -> names it depends on directly.
        Outputs without the attribute are omitted (they may depend on all).
    input_ramps
        Extra inputs with which the engine makes inputs linear ramps; ``None`` for most
        FMUs.
    frozen
        Parameters of the Modelica class that cannot be set, by name. Some of them are not
        variables of the FMU.
    capabilities
        All capabilities of the interface in use.
    interfaces
        All interfaces of the FMU that can be simulated, Co-Simulation first.
    shapes
        Dimensions of the array variables, by name; FMI 3.0 only.
    declarations
        The variables before expansion of arrays; FMI 3.0 only.
    state_count
        Number of continuous states in the XML; in FMI 3.0, an array counts as one, and the
        FMU itself is asked.
    indicator_count
        Number of event indicators in the XML; in FMI 3.0, an array counts as one.
    indicator_references
        Value references of variables that are event indicators, FMI 3.0 only.
    state_references, derivative_references
        Value references of the continuous states and their derivatives, in the order of the
        vectors of Model Exchange; empty if the XML is incomplete.
    derivative_dependencies
        For each derivative of a state, the positions of the states that it depends on
        directly, or ``None`` if the XML does not specify them; empty if it specifies none.
    """

    name: str
    guid: str
    fmi_version: str
    model_identifier: str
    variables: tuple[Variable, ...]
    generation_tool: str = ""
    description: str = ""
    platforms: tuple[str, ...] = ()
    default_start: float | None = None
    default_stop: float | None = None
    default_tolerance: float | None = None
    default_step: float | None = None
    can_interpolate_inputs: bool = False
    can_get_and_set_state: bool = False
    can_handle_variable_step: bool = False
    only_once_per_process: bool = False
    needs_execution_tool: bool = False
    provides_directional_derivative: bool = False
    log_categories: tuple[str, ...] = ()
    output_dependencies: Mapping[str, frozenset[str]] = field(default_factory=dict)
    input_ramps: InputRamps | None = None
    frozen: Mapping[str, FrozenParameter] = field(default_factory=dict)
    capabilities: Capabilities = field(default_factory=Capabilities)
    interfaces: tuple[Capabilities, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    declarations: tuple[Declaration, ...] = ()
    state_count: int = 0
    indicator_count: int = 0
    indicator_references: tuple[int, ...] = ()
    state_references: tuple[int, ...] = ()
    derivative_references: tuple[int, ...] = ()
    derivative_dependencies: tuple[tuple[int, ...] | None, ...] = ()

    def with_interface(self, choice: InterfaceChoice) -> ModelDescription:
        """Return the description with the flags of another interface of the FMU."""
        if not self.interfaces:
            return self
        chosen = choose_interface(
            self.name, self.interfaces, choice, exchange_first=self.sees_events_late
        )
        if chosen == self.capabilities:
            return self
        return replace(self, capabilities=chosen, **chosen.flags())

    @property
    def sees_events_late(self) -> bool:
        """Whether its Co-Simulation handles state events at communication points only."""
        return sees_events_late(self.generation_tool, self.indicator_count)

    @property
    def is_own(self) -> bool:
        """Whether the FMU declares that fmident's embedded compiler made it."""
        tool = self.generation_tool
        return tool.startswith("fmident ") and tool.endswith("(embedded compiler)")

    @property
    def fixed_tolerance(self) -> float | None:
        """Relative tolerance of the FMU's own integrator that cannot be changed, or ``None``.

        OpenModelica's Co-Simulation has the tolerance of its export.
        """
        own = self.capabilities.kind == "co-simulation" and self.state_count > 0
        if not own or not self.generation_tool.startswith(OPENMODELICA):
            return None
        return self.default_tolerance or OPENMODELICA_TOLERANCE

    def holds_input(self, name: str, interpolation: Interpolation) -> bool:
        """Return whether an input is held between samples with the requested interpolation."""
        variable = self.by_name.get(name)
        if variable is not None and not variable.is_continuous:
            return True
        if interpolation != "auto":
            return interpolation == "hold"
        if self.input_ramps is not None and name in self.input_ramps.slopes:
            return False
        per_input = self.fmi_version[0] == "3" and self.capabilities.kind == "co-simulation"
        refused = per_input and variable is not None and not variable.intermediate
        return refused or not self.can_interpolate_inputs

    @cached_property
    def by_name(self) -> dict[str, Variable]:
        """All variables by name."""
        return {variable.name: variable for variable in self.variables}

    @cached_property
    def by_reference(self) -> dict[tuple[str, int], str]:
        """Names by type letter (``"r"``, ``"i"``, ``"b"``, ``"s"``) and value reference."""
        names: dict[tuple[str, int], str] = {}
        for variable in self.variables:
            letter = "i" if variable.type == "Enumeration" else variable.type[0].lower()
            names.setdefault((letter, variable.value_reference), variable.name)
        return names

    @cached_property
    def parameters(self) -> tuple[Variable, ...]:
        """Variables of causality "parameter" or "calculatedParameter"."""
        return tuple(v for v in self.variables if v.causality.lower().endswith("parameter"))

    @cached_property
    def settable_parameters(self) -> tuple[Variable, ...]:
        """Parameters that can be set."""
        return tuple(v for v in self.parameters if v.settable)

    @cached_property
    def inputs(self) -> tuple[Variable, ...]:
        """Variables of causality "input", without those reserved for the engine."""
        hidden = self.input_ramps.names if self.input_ramps is not None else frozenset()
        return tuple(v for v in self.variables if v.causality == "input" and v.name not in hidden)

    @cached_property
    def outputs(self) -> tuple[Variable, ...]:
        """Variables of causality "output"."""
        return tuple(v for v in self.variables if v.causality == "output")

    @cached_property
    def recorded(self) -> tuple[Variable, ...]:
        """Variables recorded by default: the outputs, or else the local variables.

        Texts, constants, parameters, time and event indicators are excluded.
        """
        states = {*self.state_references, *self.derivative_references}
        indicators = {*self.indicator_references} - states
        local = tuple(
            v
            for v in self.variables
            if v.causality == "local"
            and v.variability in ("continuous", "discrete")
            and v.value_reference not in indicators
        )
        return tuple(v for v in self.outputs or local if v.type != "String")

    def why_not_settable(self, name: str) -> tuple[str, str] | None:
        """Return why a name of the Modelica class cannot be set, and what to do, or ``None``.

        The compiler may have left it out of the FMU.
        """
        variable = self.by_name.get(name)
        frozen = self.frozen.get(name) or self.frozen.get(name.partition("[")[0])
        if variable is None and frozen is None:
            return None
        if frozen is not None and (variable is None or not variable.settable):
            return frozen.reason, frozen.advice
        if variable is None or variable.why_not_settable is None:
            return None
        reason = f"it is {variable.why_not_settable}"
        if variable.is_constant:
            return reason, (
                "most likely it is final or has the annotation Evaluate=true in the Modelica"
                " source; remove that and build the FMU again"
            )
        return reason, ""

    def variable(self, name: str) -> Variable:
        """Return a variable; raise `FmuError`, suggesting similar names, if there is none."""
        variable = self.by_name.get(name)
        if variable is None:
            base = array_name(name)
            shape = self.shapes.get(base)
            if shape is not None:
                size = " x ".join(str(k) for k in shape)
                raise FmuError(
                    f"'{base}' of '{self.name}' is an array of {size} elements, and '{name}'"
                    " is none of them",
                    hint=f"elements are '{element_name(base, [1] * len(shape))}' to"
                    f" '{element_name(base, shape)}', counted from 1; structural parameters, where"
                    " there are any, change the size",
                    code=Code.UNKNOWN_NAME,
                )
            raise FmuError(
                f"the FMU of '{self.name}' has no variable '{name}'",
                hint=self.nearest_to(name),
                code=Code.UNKNOWN_NAME,
            )
        return variable

    def nearest_to(
        self, name: str, among: Iterable[Variable] | None = None, *, kind: str = "variable"
    ) -> str:
        """Return a hint to variables, by a symbol in their descriptions or by similar names.

        Modellers write the symbol of a paper after a comma or in parentheses, "Coulomb friction
        force, Fc". Variables of the outermost components are preferred. Of an array one element
        is named. `among` are the candidates, all by default; `kind` is the noun for them.
        """
        base, _, index = name.partition("[")
        symbol = re.compile(rf"(, |\(){re.escape(base)}(\)|$)")
        one: dict[str, Variable] = {}
        for known in self.variables if among is None else among:
            plain = INDEX.sub("", known.name)
            if plain not in one or (index and known.name == f"{plain}[{index}"):
                one[plain] = known
        meant = [v for v in one.values() if symbol.search(v.description)]
        depth = min((v.name.count(".") for v in meant), default=0)
        meant = [v for v in meant if v.name.count(".") == depth]
        if base and 0 < len(meant) <= SYMBOLS_SHOWN:
            listing = ", ".join(f"'{v.name}' ({v.description})" for v in meant)
            return f"'{base}' is a symbol of {listing}"
        if close := nearest(base, one):
            return f"nearest {kind}: " + ", ".join(f"'{one[v].name}'" for v in close)
        return did_you_mean(base, [v.name for v in one.values()], kind=kind)


def input_variable(description: ModelDescription, name: str) -> Variable:
    """Return an input that can follow data."""
    variable = description.variable(name)
    if variable.causality == "structuralParameter":
        raise FmuError(
            f"'{name}' of '{description.name}' is a structural parameter: it can be set before"
            " initialisation only, not follow data",
            hint="give it in the start values of the setup",
            code=Code.NOT_AN_INPUT,
        )
    if variable.causality != "input":
        known = ", ".join(f"'{v.name}'" for v in description.inputs[:12]) or "none"
        raise FmuError(
            f"variable '{name}' of '{description.name}' is not an input"
            f" (causality '{variable.causality}')",
            hint=f"inputs of this FMU: {known}",
            code=Code.NOT_AN_INPUT,
        )
    if variable.type == "String":
        raise FmuError(
            f"input '{name}' is a text, which cannot follow data", code=Code.NOT_AN_INPUT
        )
    return variable


def output_variable(description: ModelDescription, name: str) -> Variable:
    """Return a variable that can be recorded."""
    variable = description.variable(name)
    if variable.type == "String":
        raise FmuError(
            f"variable '{name}' is a text, which cannot be recorded",
            hint="choose a variable that is a number, a Boolean or an enumeration",
            code=Code.NOT_AN_OUTPUT,
        )
    return variable


def size_parameters(declarations: Sequence[Declaration]) -> dict[str, Variable]:
    """Return the structural parameters that are sizes of arrays, by name.

    Others are like any parameter, but set in configuration mode (FMI 3.0.2, section
    2.4.7.4).
    """
    sizes = {size for d in declarations for size in d.dimensions if isinstance(size, str)}
    return {
        name: d.variable
        for d in declarations
        if d.variable.causality == "structuralParameter"
        and str(d.variable.value_reference) in sizes
        for name in (d.variable.name, *(a[0] for a in d.aliases))
    }


def take_apart(
    declarations: Sequence[Declaration], values: Mapping[str, Value]
) -> tuple[tuple[Variable, ...], dict[str, tuple[int, ...]]]:
    """Return all scalar variables, and the dimensions of the arrays by name.

    `values` are structural parameters that differ from their start values.
    """
    sizes: dict[str, int] = {}
    for name, parameter in size_parameters(declarations).items():
        value = values.get(name, parameter.start)
        reference = str(parameter.value_reference)
        if name in values or reference not in sizes:
            sizes[reference] = _size(name, value)
    variables: list[Variable] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for declaration in declarations:
        shape = tuple(_dimension(declaration, d, sizes) for d in declaration.dimensions)
        count = math.prod(shape)
        starts = declaration.starts if len(declaration.starts) in (1, count) else ()
        base = declaration.variable
        names = [(base.name, base.description, base.display_unit), *declaration.aliases]
        for name, text, display_unit in names:
            named = replace(base, name=name, description=text, display_unit=display_unit)
            if not declaration.dimensions:
                variables.append(named)
                continue
            shapes[name] = shape
            if count > LARGEST:
                continue
            for element, index in enumerate(itertools.product(*(range(1, k + 1) for k in shape))):
                start = starts[element % len(starts)] if starts else None
                label = element_name(name, index)
                variables.append(
                    replace(named, name=label, start=start, element=element, elements=count)
                )
    return tuple(variables), shapes


def configure(description: ModelDescription, values: Mapping[str, Value]) -> ModelDescription:
    """Return the description for other values of structural parameters."""
    variables, shapes = take_apart(description.declarations, values)
    return replace(description, variables=variables, shapes=shapes)


def resized(description: ModelDescription, values: Mapping[str, Value]) -> ModelDescription:
    """Return the description with array sizes from the structural parameters among `values`."""
    known = size_parameters(description.declarations)
    sizes = {name: value for name, value in values.items() if name in known}
    return configure(description, sizes) if sizes else description


def _size(name: str, value: object) -> int:
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    if not whole or not 0 <= value < 2**31 or value != int(value):  # type: ignore[operator,call-overload]
        raise FmuError(
            f"the structural parameter '{name}' is {value!r}",
            hint="it is the size of an array: give a whole number",
        )
    return int(value)  # type: ignore[call-overload,no-any-return]


def _dimension(declaration: Declaration, given: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(given, int):
        return given
    if given not in sizes:
        raise FmuError(
            f"a dimension of '{declaration.variable.name}' refers to the variable"
            f" {given}, which is not a structural parameter",
            hint="the model description is wrong: export the FMU again",
        )
    return sizes[given]
