"""What an FMU says of itself: the content of ``modelDescription.xml`` as frozen data.

Sources: FMI specification 2.0.4, section 2.2 (schema), table in 2.2.7 (causality,
variability, initial); FMI specification 3.0.1, section 2.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from fmident.errors import Code, FmuError, did_you_mean, nearest
from fmident.fmu.model_description.variables import Declaration, Variable, array_name, element_name
from fmident.fmu.setup import InputRamps, Interpolation

INDEX = re.compile(r"\[[\d,]+\]")
SYMBOLS_SHOWN = 3
"""With more variables than these a name is too common to be a symbol."""
OPENMODELICA_TOLERANCE = 1e-6
"""Of OpenModelica's integrator where the class has no ``experiment``."""


InterfaceKind = Literal["co-simulation", "model-exchange"]
InterfaceChoice = Literal["auto", "co-simulation", "model-exchange"]
CHOICES = ("auto", "co-simulation", "model-exchange")


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
        Whether Real inputs can follow straight lines between the communication points.
    can_get_and_set_state, can_handle_variable_step, only_once_per_process,
    needs_execution_tool, provides_directional_derivative
        As FMI defines them.
    has_event_mode, can_return_early, provides_intermediate_update
        FMI 3.0 Co-Simulation: events between steps, steps that end before their time,
        calls back within a step.
    fixed_step
        FMI 3.0 Co-Simulation: the fixed step of the FMU's own integrator, s, if it says so.
    needs_completed_step
        Model Exchange: whether the FMU wants to hear of every step of the integrator.
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
    can_return_early: bool = False
    provides_intermediate_update: bool = False
    fixed_step: float | None = None
    needs_completed_step: bool = True

    def flags(self) -> dict[str, Any]:
        """Return what :class:`fmident.fmu.ModelDescription` repeats of this."""
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
"""How the generation tool of OpenModelica's FMUs begins."""


def sees_events_late(generation_tool: str, indicators: int) -> bool:
    """Whether an FMU's Co-Simulation handles state events at communication points only.

    Parameters
    ----------
    generation_tool
        As the description gives it. OpenModelica (1.26 and before) looks for state events
        when a communication step is over: its integrator has gone through them by then.
    indicators
        Number of event indicators; without any there are no state events.
    """
    return indicators > 0 and generation_tool.startswith(OPENMODELICA)


def choose_interface(
    name: str,
    offered: Sequence[Capabilities],
    choice: InterfaceChoice,
    *,
    exchange_first: bool = False,
) -> Capabilities:
    """Return the interface to use; ``"auto"`` takes Co-Simulation where there is one.

    Parameters
    ----------
    name
        Of the model, for messages.
    offered
        What the FMU has; at least one.
    choice
        What the user wants.
    exchange_first
        ``"auto"`` takes Model Exchange where there is one, see :func:`sees_events_late`.

    Raises
    ------
    FmuError
        The FMU does not have it, or there is no such choice.
    """
    if choice not in CHOICES:
        raise FmuError(
            f"there is no interface '{choice}'",
            hint="use one of " + ", ".join(f"'{c}'" for c in CHOICES),
            code=Code.NOT_A_CHOICE,
        )
    kinds: tuple[InterfaceKind, ...] = ("co-simulation", "model-exchange")
    for kind in reversed(kinds) if exchange_first else kinds:
        for found in offered:
            if found.kind == kind and choice in ("auto", kind):
                return found
    has = " and ".join(f"'{o.kind}'" for o in offered)
    raise FmuError(
        f"the FMU of '{name}' does not offer '{choice}', it offers {has}",
        hint="use interface='auto', or export the FMU again with both interfaces",
        code=Code.NOT_SUPPORTED,
    )


@dataclass(frozen=True)
class FrozenParameter:
    """Why a parameter of the Modelica class cannot be set, as fmident's compiler wrote it down.

    Parameters
    ----------
    reason
        Such as "it is 'final' in the Modelica source".
    advice
        What to do next.
    """

    reason: str
    advice: str = "change that in the Modelica source and build the FMU again"


@dataclass(frozen=True)
class ModelDescription:
    """A model description of FMI 2.0 or 3.0, as far as simulation needs it.

    Parameters
    ----------
    name, guid, fmi_version, generation_tool, description, model_identifier
        Texts of the file; `guid` is FMI 3.0's instantiationToken.
    variables
        All scalar variables in the file's order; arrays by their elements (``"a[2,3]"``).
    platforms
        Names of the folders under ``binaries/`` that hold files, such as ``"linux64"``.
    default_start, default_stop, default_tolerance, default_step
        The default experiment; ``None`` where it is silent. Times in s.
    can_interpolate_inputs, can_get_and_set_state, can_handle_variable_step
        Capability flags of the interface in use. Inputs of Model Exchange can always be
        interpolated: the engine does it.
    only_once_per_process, needs_execution_tool, provides_directional_derivative
        More capability flags.
    log_categories
        Names of log categories that the FMU declares.
    output_dependencies
        For outputs with declared dependencies: output name -> names it depends on
        directly. Outputs without the attribute are left out (they may depend on all).
    input_ramps
        Extra inputs by which the engine makes inputs follow straight lines; ``None`` for
        most FMUs.
    frozen
        Parameters of the Modelica class that cannot be set, by name. Some of them are not
        variables of the FMU.
    capabilities
        What the interface in use offers beyond the flags above.
    interfaces
        All interfaces of the FMU that can be simulated, Co-Simulation first.
    shapes
        Dimensions of the array variables, by name; FMI 3.0 only.
    declarations
        The variables before arrays were taken apart; FMI 3.0 only.
    state_count
        Number of continuous states by the XML; of FMI 3.0, arrays of them count as one, and
        the FMU itself is asked.
    indicator_count
        Number of event indicators by the XML; of FMI 3.0, arrays of them count as one.
    indicator_references
        Value references of variables that are event indicators, FMI 3.0 only.
    state_references, derivative_references
        Value references of the continuous states and their derivatives, in the order of
        the vectors of Model Exchange; empty where the XML does not tell all.
    derivative_dependencies
        For each derivative of a state, the places of the states that it depends on directly, or
        ``None`` where the XML does not say; empty where it says so of none.
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
        """Return the description with the flags of another interface of the FMU.

        Raises
        ------
        FmuError
            The FMU does not have it.
        """
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
        """Whether it says that fmident's embedded compiler has made the FMU."""
        tool = self.generation_tool
        return tool.startswith("fmident ") and tool.endswith("(embedded compiler)")

    @property
    def fixed_tolerance(self) -> float | None:
        """The relative tolerance that the FMU's own integrator has whatever it is asked for.

        ``None`` where it takes the one that it is given, as far as is known, where there is
        nothing to integrate, and in Model Exchange, where fmident integrates. OpenModelica's
        Co-Simulation has the tolerance of its export.
        """
        own = self.capabilities.kind == "co-simulation" and self.state_count > 0
        if not own or not self.generation_tool.startswith(OPENMODELICA):
            return None
        return self.default_tolerance or OPENMODELICA_TOLERANCE

    def holds_input(self, name: str, interpolation: Interpolation) -> bool:
        """Return whether an input keeps its value between samples, with what is asked for it."""
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
        """All variables by their names."""
        return {variable.name: variable for variable in self.variables}

    @cached_property
    def by_reference(self) -> dict[tuple[str, int], str]:
        """Names by type's letter (``"r"``, ``"i"``, ``"b"``, ``"s"``) and value reference.

        Of several aliases the first counts.
        """
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
        """Variables of causality "input", without those that belong to the engine."""
        hidden = self.input_ramps.names if self.input_ramps is not None else frozenset()
        return tuple(v for v in self.variables if v.causality == "input" and v.name not in hidden)

    @cached_property
    def outputs(self) -> tuple[Variable, ...]:
        """Variables of causality "output"."""
        return tuple(v for v in self.variables if v.causality == "output")

    @cached_property
    def recorded(self) -> tuple[Variable, ...]:
        """What is recorded where nobody says what: the outputs, or else the local variables.

        Texts, constants and parameters are left out, and FMI 3.0's own variables of the time and
        of event indicators, unless these are states.
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
        """Return why a name of the Modelica class cannot be set, and what to do.

        Parameters
        ----------
        name
            Of a variable, or of a parameter that the compiler left out of the FMU.

        Returns
        -------
        tuple of str or None
            Reason and advice; ``None`` when it can be set, or when nothing is known of it.
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
        """Return the variable called `name`.

        Raises
        ------
        FmuError
            If there is none; the nearest names are listed.
        """
        found = self.by_name.get(name)
        if found is None:
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
        return found

    def nearest_to(
        self, name: str, among: Iterable[Variable] | None = None, *, kind: str = "variable"
    ) -> str:
        """Return a hint at variables: by a symbol in their descriptions, or by their names.

        Modellers write the symbol of a paper behind a comma or in parentheses, "Coulomb
        friction force, Fc". Of the variables with that symbol those of the outer components are
        meant. Of an array one element is named: that with the index in `name`, or the first.

        Parameters
        ----------
        name
            What the user wrote.
        among
            The variables to choose from, all by default.
        kind
            The noun for them.
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
            found = ", ".join(f"'{v.name}' ({v.description})" for v in meant)
            return f"'{base}' is a symbol of {found}"
        if close := nearest(base, one):
            return f"nearest {kind}: " + ", ".join(f"'{one[v].name}'" for v in close)
        return did_you_mean(base, [v.name for v in one.values()], kind=kind)
