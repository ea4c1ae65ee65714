"""Assembly of the front end: flat model to :class:`OdeModel`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from fmident.compilers.embedded.frontend.equations.algorithms import (
    assigned_at_events,
    lower_algorithms,
    lower_initial_algorithms,
)
from fmident.compilers.embedded.frontend.equations.blocks import SolvedBlock, TornLoop
from fmident.compilers.embedded.frontend.equations.causalize import Solution, causalize
from fmident.compilers.embedded.frontend.equations.discrete import (
    DiscreteSolution,
    in_order,
    initial_values,
    solve_discrete,
)
from fmident.compilers.embedded.frontend.equations.structure import listed
from fmident.compilers.embedded.frontend.equations.system import (
    Alias,
    ModelScope,
    Substitution,
    Unknowns,
    lower_equations,
    lower_initial_equations,
)
from fmident.compilers.embedded.frontend.initial import (
    InitialStates,
    initial_states,
    is_fixed,
    start_value,
)
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Discrete, Events, LoweringState
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.user_functions import FunctionInliner
from fmident.compilers.embedded.frontend.lowering.values import Scalar, is_affine
from fmident.compilers.embedded.frontend.parameters import ParameterTable
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal
from fmident.compilers.embedded.frontend.units import UnitChecker
from fmident.compilers.embedded.model import (
    Assertion,
    Constraints,
    ExperimentDefaults,
    Function,
    Kind,
    Loop,
    Loops,
    OdeModel,
    ScalarVariable,
    TypeName,
)
from fmident.compilers.embedded.model import Events as EventModel


@dataclass(frozen=True)
class Assembled:
    """The model, warnings, and the listing of solved equations."""

    model: OdeModel
    warnings: tuple[tuple[str, str, sx.Span], ...]
    """Rule, text, place."""
    listing: tuple[str, ...]
    """Lines of ``fmident build --print equations``."""


def assemble(flat: sx.FlatModel, experiment: ExperimentDefaults, library_version: str) -> Assembled:
    """Turn a flat model into explicit differential equations."""
    units = UnitChecker(flat)
    units.check()
    if units.mismatches:
        raise ExceptionGroup("refused", units.mismatches)
    state = LoweringState(enumerators=flat.enumerators)
    inliner = FunctionInliner(flat.functions, flat.records)
    parameters = ParameterTable(flat, inliner, state)
    scope = ModelScope(flat, parameters.model_values, state.events, assigned_at_events(flat))
    lowering = Lowering(scope, inliner, state)
    equations = lower_equations(flat, lowering)
    initial = lower_initial_equations(flat, lowering) + lower_initial_algorithms(flat, lowering)
    unknowns = scope.unknowns
    unknowns.prescribed = inliner.prescribed
    at_events = DiscreteSolution()
    equations += lower_algorithms(flat, lowering, at_events)
    equations = solve_discrete(equations, lowering, at_events)
    initial = initial_values(initial, state.events, at_events)
    solution = causalize(equations, unknowns, frozenset(state.time_invariant))
    if solution.constraints and at_events.reinits:
        name, (_, span) = next(iter(at_events.reinits.items()))
        raise Refusal(
            "unsupported-reinit",
            f"'reinit' of '{name}' in a model whose states are bound to each other by "
            f"{listed([c.text for c in solution.constraints])}",
            span,
        )
    lowering = Lowering(scope, inliner, state, no_event=True)
    builder = _Builder(flat, parameters, unknowns, solution, lowering, state, at_events)
    start = initial_states(
        solution, unknowns, initial, builder.substitution, lowering, parameters.defaults()
    )
    start = start.replaced(_set_at_start(at_events, state, unknowns))
    warnings = (*units.unreadable, *units.remarks, *_remarks(solution, start, parameters, unknowns))
    model = builder.build(start, experiment, library_version)
    lines = listing(model, solution, start, state.events, at_events)
    return Assembled(model, warnings, lines)


def _set_at_start(
    at_events: DiscreteSolution, state: LoweringState, unknowns: Unknowns
) -> Substitution:
    """Return the substitution of parameters by the values that initial equations give them."""
    discretes = state.events.discretes
    given = {n: e for n, e in at_events.starts.items() if discretes[n].variable.free}
    known = {*state.time_invariant, unknowns.time.element_hash()}
    result = Substitution()
    for name in in_order(state.events, given):
        if name in given:
            value = result([given[name]])[0]
            if v.symbols(value).keys() <= known:
                result.define(discretes[name].symbol, value)
    return result


def _remarks(
    solution: Solution, start: InitialStates, parameters: ParameterTable, unknowns: Unknowns
) -> Iterator[tuple[str, str, sx.Span]]:
    """Yield rule, text and place of what users should know about the model."""
    for d in solution.demotions:
        variable, _ = unknowns.declared.get(d.name, (None, None))
        if variable and (
            (isinstance(variable.fixed, sx.Boolean) and variable.fixed.value)
            or variable.state_select in ("prefer", "always")
        ):
            yield "state-demoted", f"'{d.name}' is not a state: it follows from '{d.text}'", d.span
    for loop in solution.loops:
        origin = f"{listed(loop.names)}, from {listed([q.text for q in loop.equations])}"
        text = f"found by iteration while the model is simulated: {origin}"
        yield "algebraic-loop", text, loop.equations[0].span
    for c in solution.constraints:
        yield "constraint", f"states are bound to each other by '{c.text}'", c.span
    for name in start.deciding:
        text = (
            f"other start values follow from the 'start' of '{name}', which the FMU therefore "
            "keeps; to set it, make it a parameter"
        )
        yield "start-decides", text, unknowns.declared[name][0].span
    for name in start.defaulted:
        text = f"the state '{name}' has no fixed=true, and starts at its 'start'"
        yield "start-not-fixed", text, unknowns.declared[name][0].span
    if parameters.notes:
        text = "fixed when compiled, cannot be set: " + "; ".join(parameters.notes)
        yield "structural-parameter", text, sx.NOWHERE


@dataclass(frozen=True)
class _Builder:
    flat: sx.FlatModel
    parameters: ParameterTable
    unknowns: Unknowns
    solution: Solution
    lowering: Lowering
    state: LoweringState
    at_events: DiscreteSolution

    @cached_property
    def substitution(self) -> Substitution:
        """The substitution of algebraic variables, derivatives and aliases."""
        unknowns, solution = self.unknowns, self.solution
        result = Substitution()
        for one in unknowns.prescribed:
            result.define(one.symbol, one.value)
        for name, formula in solution.formulas.items():
            result.define(unknowns.symbol(name), formula)
        for name, alias in solution.aliases.items():
            other = alias.representative
            base: Scalar = solution.formulas.get(other, unknowns.symbol(other))
            result.define(unknowns.variables[name], alias.sign * base)
            if name in unknowns.derivatives:
                derivative = solution.formulas[f"der({other})"]
                result.define(unknowns.derivatives[name], alias.sign * derivative)
        return result

    def build(
        self, start: InitialStates, experiment: ExperimentDefaults, library_version: str
    ) -> OdeModel:
        unknowns, solution, parameters = self.unknowns, self.solution, self.parameters
        declared = unknowns.declared
        conditions = [a.condition for a in self.state.assertions]
        residuals = [q.residual for loop in solution.loops for q in loop.equations]
        events = EventFunctions(
            self.state.events, self.at_events, solution, unknowns, (*conditions, *residuals)
        )
        events.check_before()
        outputs = [n for n in unknowns.variables if is_output(declared[n][0], self.flat)]
        listed = set(outputs) | set(solution.states)
        locals_ = [
            n
            for n, (variable, _) in declared.items()
            if n in unknowns.variables and n not in listed and not variable.protected
        ]

        def formulas(symbols: Mapping[str, v.SX], names: Iterable[str]) -> list[Scalar]:
            return events.between(self.substitution([symbols[name] for name in names]))

        rates = formulas(unknowns.derivatives, solution.states)
        output_values = formulas(unknowns.variables, outputs)
        running = [loop.replaced(events.between) for loop in solution.loops]
        loops = LoopFunctions(running, start.loops)
        full = {
            "t": unknowns.time,
            "x": v.column(unknowns.variables[name] for name in solution.states),
            "u": v.column(unknowns.inputs.values()),
            "p": v.column(parameters.p),
            "c": v.column([*parameters.c, *events.held, *loops.behind]),
        }
        without_states = {key: full[key] for key in "tupc"}
        constraints = [c.residual for c in solution.constraints]
        model = OdeModel(
            name=self.flat.name,
            description=self.flat.description,
            states=tuple(self._variable(n, "state") for n in solution.states),
            derivatives=tuple(self._derivative(n) for n in solution.states),
            inputs=tuple(self._variable(n, "input") for n in unknowns.inputs),
            outputs=tuple(self._variable(n, "output") for n in outputs),
            locals=tuple(self._variable(n, "local") for n in locals_),
            parameters=tuple(parameters.settable),
            calculated=tuple(parameters.calculated),
            calculated_parameters=model_function(
                "calculated_parameters", {"p": full["p"]}, parameters.c_values, "c"
            ),
            initial_states=model_function("initial_states", without_states, start.values, "x"),
            free_starts=tuple(start.free),
            rhs=model_function("rhs", full, rates, "xdot"),
            output_values=model_function("output_values", full, output_values, "y"),
            local_values=model_function(
                "local_values", full, formulas(unknowns.variables, locals_), "w"
            ),
            assert_values=model_function(
                "assert_values", full, events.between(self.substitution(conditions)), "a"
            ),
            asserts=tuple(
                Assertion(a.message, "warning" if a.warning else "error")
                for a in self.state.assertions
            ),
            output_dependencies=tuple(self._dependencies(e, loops) for e in output_values),
            derivative_dependencies=tuple(self._dependencies(e, loops) for e in rates),
            experiment=experiment,
            library_version=library_version,
            frozen=dict(parameters.frozen),
            events=events.build(full, self.substitution, self.lowering, self._discrete, self.flat),
            constraints=Constraints(
                tuple(c.text for c in solution.constraints),
                model_function("constraints", full, constraints, "r") if constraints else None,
            ),
            loops=loops.build(full, unknowns, solution.aliases, self.lowering, parameters),
        )
        _check_closed(model)
        return model

    def _variable(self, name: str, kind: Kind) -> ScalarVariable:
        variable, position = self.unknowns.declared[name]
        start: float | None = None
        value = start_value(variable, position, self.lowering)
        if not v.is_symbolic(value) and (kind in ("state", "input") or variable.start is not None):
            start = float(value)
        return self.parameters.scalar(variable, name, kind, start, position)

    def _discrete(self, one: Discrete) -> ScalarVariable:
        description = self.parameters.scalar(one.variable, one.name, "discrete", None, one.position)
        # The values of an enumeration are numbers from 1 on.
        types: dict[str, TypeName] = {"Real": "Real", "Boolean": "Boolean"}
        return replace(description, type_name=types.get(one.variable.type_name, "Integer"))

    def _derivative(self, state: str) -> ScalarVariable:
        return ScalarVariable(
            name=f"der({state})",
            kind="derivative",
            unit=derivative_unit(self.unknowns.declared[state][0].unit),
            derivative_of=state,
        )

    def _dependencies(self, expression: Scalar, loops: LoopFunctions) -> tuple[str, ...]:
        used = loops.with_their_own(v.symbols(expression))
        candidates = [
            *((n, self.unknowns.variables[n]) for n in self.solution.states),
            *self.unknowns.inputs.items(),
        ]
        return tuple(name for name, symbol in candidates if symbol.element_hash() in used)


def _check_closed(model: OdeModel) -> None:
    """Raise if the model contains a symbol that no vector provides."""
    for function in (
        model.calculated_parameters,
        model.initial_states,
        model.rhs,
        model.output_values,
        model.local_values,
        model.assert_values,
        *(loop.residual for loop in model.loops.all),
        *((events.update, events.starts, events.live) if (events := model.events).any else ()),
    ):
        if function.has_free():
            raise Refusal(
                "unresolved",
                f"{function.name()} depends on {', '.join(map(str, function.get_free()))}, which "
                "nothing determines there",
            )


def derivative_unit(unit: str) -> str:
    """Return the unit of the time derivative; empty when `unit` is empty."""
    if not unit:
        return ""
    if unit == "1":
        return "1/s"
    numerator, slash, denominator = unit.partition("/")
    if not slash:
        return f"{numerator}/s"
    inner = denominator.strip("()")
    factors = inner.split(".")
    factors = [f"s{int(f[1:] or 1) + 1}" if _is_seconds(f) else f for f in factors]
    if not any(_is_seconds(f) for f in factors):
        factors.append("s")
    joined = ".".join(factors)
    return f"{numerator}/{joined}" if len(factors) == 1 else f"{numerator}/({joined})"


def _is_seconds(factor: str) -> bool:
    return factor == "s" or (factor.startswith("s") and factor[1:].isdigit())


def listing(
    model: OdeModel,
    solution: Solution,
    start: InitialStates,
    events: Events,
    at_events: DiscreteSolution,
) -> tuple[str, ...]:
    """Return the lines of ``fmident build --print equations``."""
    sections = {
        "inputs": [v.name for v in model.inputs],
        "states": list(solution.states),
        "equations, in the order in which they are solved": [
            line for block in solution.blocks for line in _block(block)
        ],
        "equal to another variable": [
            f"{name} = {'-' if alias.sign < 0 else ''}{alias.representative}"
            for name, alias in solution.aliases.items()
        ],
        "under der(), but no states": [f"{d.name}, from: {d.text}" for d in solution.demotions],
        "constraints of the states, kept after each step": [c.text for c in solution.constraints],
        "iterated at the start": [
            line
            for loop in start.loops
            for line in (
                ", ".join(loop.names),
                *dict.fromkeys(f"  {q.text}" for q in loop.equations),
            )
        ],
        "relations that switch at events": [h.text for h in events.held],
        "variables that change at events": list(events.discretes),
        "reinitialised at events": list(at_events.reinits),
    }
    lines = [model.name]
    for title, content in sections.items():
        if content:
            lines += ["", title, *(f"  {line}" for line in content)]
    return tuple(lines)


def _block(block: SolvedBlock) -> Iterator[str]:
    names = ", ".join(block.names)
    if len(block.names) == 1 and not block.iterated:
        yield f"{names}, from: {block.equations[0]}"
        return
    count = len(block.names)
    what = f"{count} linear equations, by formulas"
    if block.iterated:
        of = "" if len(block.iterated) == count else f" of {count} unknowns"
        what = f"by iteration of {', '.join(block.iterated)}{of}"
    yield f"{names}: {what}"
    yield from (f"  {text}" for text in dict.fromkeys(block.equations))


@dataclass(frozen=True)
class LoopFunctions:
    """Builds the iterated part of the model: `running` loops, and `initial` ones of its start."""

    running: Sequence[TornLoop]
    initial: Sequence[TornLoop]

    @cached_property
    def behind(self) -> list[v.SX]:
        """Symbols at the end of the vector ``c``."""
        loops = [*self.running, *self.initial]
        inverses = sum(len(loop.symbols) ** 2 for loop in loops)
        return [
            *(s for loop in loops for s in loop.symbols),
            *(ca.SX.sym(f"inverse {k}") for k in range(inverses)),
        ]

    def with_their_own(self, used: dict[int, v.SX]) -> dict[int, v.SX]:
        """Return the `used` symbols, by hash, and all symbols their loops depend on."""
        # A loop depends on earlier ones only.
        for loop in reversed(self.running):
            if any(s.element_hash() in used for s in loop.symbols):
                used = used | v.symbols(*(q.residual for q in loop.equations))
        return used

    def build(
        self,
        full: Mapping[str, v.SX],
        unknowns: Unknowns,
        aliases: Mapping[str, Alias],
        lowering: Lowering,
        parameters: ParameterTable,
    ) -> Loops:
        """Return the loops; `full` are the columns of t, x, u, p and complete c."""
        loops = [*self.running, *self.initial]
        if not loops:
            return Loops()
        built = [
            Loop(
                names=loop.names,
                equations=tuple(q.text for q in loop.equations),
                residual=model_function("loop", full, [q.residual for q in loop.equations], "g"),
                nominals=tuple(_nominal(n, unknowns, parameters) for n in loop.names),
                linear=is_affine([q.residual for q in loop.equations], loop.symbols),
            )
            for loop in loops
        ]
        starts = [_guess(n, unknowns, aliases, lowering) for loop in loops for n in loop.names]
        split = len(self.running)
        return Loops(
            tuple(built[:split]),
            tuple(built[split:]),
            model_function("loop_starts", {key: full[key] for key in "pc"}, starts, "z"),
        )


def _guess(
    name: str, unknowns: Unknowns, aliases: Mapping[str, Alias], lowering: Lowering
) -> Scalar:
    """Return the initial guess of an unknown: its ``start`` or that of an alias."""
    if name not in unknowns.declared:
        return 0.0  # a derivative
    same = [(name, 1), *((n, a.sign) for n, a in aliases.items() if a.representative == name)]
    for other, sign in same:
        variable, position = unknowns.declared[other]
        if variable.start is not None:
            return v.plain(sign * start_value(variable, position, lowering))
    return 0.0


def _nominal(name: str, unknowns: Unknowns, parameters: ParameterTable) -> float:
    if name not in unknowns.declared:
        return 1.0
    variable, position = unknowns.declared[name]
    nominal = parameters.attribute(variable.nominal, position)
    return abs(nominal) if nominal else 1.0


def model_function(
    name: str, inputs: Mapping[str, v.SX], values: Sequence[Scalar], output: str
) -> Function:
    """Return a function of the model; a later check finds symbols that are not inputs."""
    free = {"allow_free": True}
    return ca.Function(name, [*inputs.values()], [v.column(values)], [*inputs], [output], free)


@dataclass(frozen=True)
class EventFunctions:
    """Builds the event part of the model; `others` are further expressions between events."""

    events: Events
    at_events: DiscreteSolution
    solution: Solution
    unknowns: Unknowns
    others: Sequence[Scalar]

    @cached_property
    def discretes(self) -> list[Discrete]:
        """All discrete variables; those that the FMU shows come first."""
        return sorted(self.events.discretes.values(), key=lambda d: d.variable.protected)

    @cached_property
    def earlier(self) -> list[tuple[Discrete, v.SX]]:
        """The discrete variables whose ``pre`` in continuous equations must be held."""
        used = v.symbols(
            *self.solution.formulas.values(), *(h.live for h in self.events.held), *self.others
        )
        return [
            (d, ca.SX.sym(f"pre({d.name})"))
            for d in self.discretes
            if d.before.element_hash() in used
        ]

    @cached_property
    def between(self) -> Substitution:
        """Replaces ``pre`` values by those held between events."""
        result = Substitution()
        for discrete, symbol in self.earlier:
            result.define(discrete.before, symbol)
        return result

    @property
    def held(self) -> list[v.SX]:
        """Symbols of held values, which follow the calculated parameters."""
        if not self.events.any:
            return []
        return [
            *(h.symbol for h in self.events.held),
            self.events.initial,
            self.events.terminal,
            *(s.symbol for s in self.events.samples),
            *(d.symbol for d in self.discretes),
            *(c.symbol for c in self.at_events.conditions),
            *(symbol for _, symbol in self.earlier),
        ]

    def build(
        self,
        full: Mapping[str, v.SX],
        substitution: Substitution,
        lowering: Lowering,
        describe: Callable[[Discrete], ScalarVariable],
        flat: sx.FlatModel,
    ) -> EventModel:
        """Return the event functions.

        `full` are the columns of t, x, u, p and c with held values; `describe` returns the
        description of a discrete variable.
        """
        if not self.events.any:
            return EventModel()
        solution = self.at_events
        values = substitution([solution.formulas[d.name] for d in self.discretes])
        at_event = self._at_event(values)
        values = at_event([d.symbol for d in self.discretes])
        conditions = at_event(substitution([c.value for c in solution.conditions]))
        states = at_event(substitution(self._states_after()))
        before = [
            *(d.before for d in self.discretes),
            *(c.before for c in solution.conditions),
            *(ca.SX.sym("earlier") for _ in self.earlier),
        ]
        starts = substitution(
            [
                *(self._before_start(d, lowering, flat) for d in self.discretes),
                *(0 for _ in solution.conditions),
                *(self._before_start(d, lowering, flat) for d, _ in self.earlier),
            ]
        )
        live = self.between(substitution([h.live for h in self.events.held]))
        samples = [e for s in self.events.samples for e in (s.start, s.interval)]
        visible = [d for d in self.discretes if not d.variable.protected]
        update = ca.Function(
            "update",
            [*full.values(), v.column(before)],
            [
                v.column([*values, *conditions, *(d.before for d, _ in self.earlier)]),
                v.column(states),
            ],
            [*full, "pre"],
            ["d", "x_after"],
            {"allow_free": True},
        )
        return EventModel(
            variables=tuple(describe(d) for d in visible),
            outputs=frozenset(d.name for d in visible if is_output(d.variable, flat)),
            hidden=len(before) - len(visible),
            relations=tuple(h.text for h in self.events.held),
            live=model_function("live", full, live, "r"),
            samples=model_function("samples", {key: full[key] for key in "pc"}, samples, "s"),
            starts=model_function("starts", full, starts, "pre"),
            update=update,
        )

    def _at_event(self, values: Sequence[Scalar]) -> Substitution:
        formulas = {d.name: e for d, e in zip(self.discretes, values, strict=True)}
        result = Substitution()
        for name in in_order(self.events, formulas):
            result.define(self.events.discretes[name].symbol, result([formulas[name]])[0])
        return result

    def _before_start(self, discrete: Discrete, lowering: Lowering, flat: sx.FlatModel) -> Scalar:
        variable = discrete.variable
        first = 1.0 if flat.is_enumeration(variable.type_name) else 0.0
        start = start_value(variable, discrete.position, lowering, first)
        given = self.at_events.starts.get(discrete.name)
        if given is None:
            return start
        fixed = is_fixed(variable, discrete.position, lowering) is True
        if fixed and not ca.is_equal(ca.SX(given), ca.SX(start)):
            raise Refusal(
                "initial-equation",
                f"'{discrete.name}' has fixed=true, and an initial equation gives it a value, too",
                variable.span,
                "remove one of them",
            )
        return given

    def _states_after(self) -> list[Scalar]:
        after: dict[str, Scalar] = {n: self.unknowns.variables[n] for n in self.solution.states}
        for name, (value, span) in self.at_events.reinits.items():
            state, sign = self._state(name)
            if state is None:
                raise Refusal(
                    "reinit", f"'reinit' of '{name}', which is not a state", span, self._hint()
                )
            self._expect_own_state(name, state, span)
            after[state] = v.plain(sign * value)
        return list(after.values())

    def _expect_own_state(self, name: str, state: str, span: sx.Span) -> None:
        """Refuse ``reinit`` if states other than the preferred ones were chosen.

        Unlike a state, a variable computed from states changes when another is reinitialised.
        """
        for other in self.unknowns.variables:
            wanted = self.unknowns.declared[other][0].state_select
            if wanted not in ("prefer", "always") or self._state(other)[0] is not None:
                continue
            alias = self.solution.aliases.get(other)
            formula = self.solution.formulas.get(alias.representative if alias else other)
            if formula is None:
                continue
            used = v.symbols(formula)
            instead = [
                n
                for n in self.solution.states
                if n != state
                and self.unknowns.variables[n].element_hash() in used
                and self.unknowns.declared[n][0].state_select not in ("prefer", "always")
            ]
            if instead and self.unknowns.variables[state].element_hash() in used:
                raise Refusal(
                    "unsupported-reinit",
                    f"'reinit' of '{name}': by its stateSelect '{other}' is to be a state and to "
                    f"keep its value, and '{instead[0]}' is one in its place",
                    span,
                    f"set stateSelect of '{other}' to StateSelect.default",
                )

    def check_before(self) -> None:
        """Refuse ``pre`` of what is neither discrete nor a state."""
        for name, span in self.events.before.items():
            if self._state(name)[0] is None:
                raise Refusal(
                    "unsupported-pre",
                    f"'pre({name})': '{name}' is neither a discrete variable nor a state",
                    span,
                    f"write '{name}' where its value at the event is meant",
                )

    def _state(self, name: str) -> tuple[str | None, int]:
        alias = self.solution.aliases.get(name)
        other, sign = (alias.representative, alias.sign) if alias else (name, 1)
        return (other if other in self.solution.states else None), sign

    def _hint(self) -> str:
        return "the states are: " + (
            ", ".join(f"'{n}'" for n in self.solution.states) or "there are none"
        )


def is_output(variable: sx.Variable, flat: sx.FlatModel) -> bool:
    """Return whether a variable is an output of the exported class itself."""
    in_record = variable.name.split(".")[0] in flat.record_instances
    return (in_record or flat.is_interface(variable.name)) and variable.causality == "output"
