"""Assembly of the front end: flat model to :class:`OdeModel`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from fmident.compilers.embedded.frontend.equations.algorithms import (
    assigned_in_algorithms,
    lower_algorithms,
)
from fmident.compilers.embedded.frontend.equations.blocks import SolvedBlock, Substitution, TornLoop
from fmident.compilers.embedded.frontend.equations.causalize import Solution, causalize
from fmident.compilers.embedded.frontend.equations.discrete import (
    DiscreteSolution,
    assigned_names,
    in_order,
    initial_values,
    solve_discrete,
)
from fmident.compilers.embedded.frontend.equations.jumps import is_affine
from fmident.compilers.embedded.frontend.equations.structure import listed
from fmident.compilers.embedded.frontend.equations.system import (
    Alias,
    ModelScope,
    Unknowns,
    lower_equations,
    lower_initial_equations,
)
from fmident.compilers.embedded.frontend.event_functions import EventFunctions, is_output
from fmident.compilers.embedded.frontend.functions import column, model_function
from fmident.compilers.embedded.frontend.initial import (
    InitialStates,
    initial_states,
    start_value,
)
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Discrete, Events
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.functions import FunctionInliner
from fmident.compilers.embedded.frontend.lowering.scope import LoweringState
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.parameters import ParameterTable, scalar_variable
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import NO_ALGORITHM, Refusal, Refusals
from fmident.compilers.embedded.frontend.units.unit_check import UnitChecker
from fmident.compilers.embedded.model import (
    Assertion,
    Constraints,
    ExperimentDefaults,
    Loop,
    Loops,
    OdeModel,
    ScalarVariable,
    TypeName,
)


@dataclass(frozen=True)
class Assembled:
    """The model, warnings, and the listing of solved equations."""

    model: OdeModel
    warnings: tuple[tuple[str, str, sx.Span], ...]
    """Rule, text, place."""
    listing: tuple[str, ...]
    """What became of the equations, line by line."""


def assemble(flat: sx.FlatModel, experiment: ExperimentDefaults, library_version: str) -> Assembled:
    """Turn a flat model into explicit differential equations."""
    if flat.unsupported:
        hints = {"unsupported-algorithm": NO_ALGORITHM}
        raise Refusals(
            [Refusal(rule, what, span, hints.get(rule)) for rule, what, span in flat.unsupported]
        )
    units = UnitChecker(flat)
    units.check()
    if units.mismatches:
        raise Refusals(units.mismatches)
    state = LoweringState(enumerators=flat.enumerators)
    inliner = FunctionInliner(flat.functions, flat.records)
    parameters = ParameterTable(flat, inliner, state)
    assigned = assigned_names(flat.whens) | assigned_in_algorithms(flat)
    scope = ModelScope(flat, parameters.model_values(), state.events, assigned)
    equations = lower_equations(flat, scope, inliner, state)
    initial = lower_initial_equations(flat, scope, inliner, state)
    unknowns = scope.unknowns
    at_events = DiscreteSolution()
    equations += lower_algorithms(flat, scope, inliner, state, at_events)
    own = Lowering(scope, inliner, state)
    equations = solve_discrete(flat, equations, own, state, at_events)
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
    demoted = tuple(
        ("state-demoted", f"'{d.name}' is not a state: it follows from '{d.text}'", d.span)
        for d in solution.demotions
    )
    start = start.replaced(_set_at_start(at_events, state, unknowns))
    warnings = (
        *units.unreadable,
        *units.remarks,
        *demoted,
        *(_iterated(loop) for loop in solution.loops),
        *(
            ("constraint", f"states are bound to each other by '{c.text}'", c.span)
            for c in solution.constraints
        ),
        *(_deciding(n, unknowns) for n in start.deciding),
        *_warnings(start.defaulted, parameters, unknowns),
    )
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
            symbols = ca.symvar(value) if v.is_symbolic(value) else []
            if all(s.element_hash() in known for s in symbols):
                result.define(discretes[name].symbol, value)
    return result


def _with_sides(loop: TornLoop, change: Callable[[Sequence[Scalar]], list[Scalar]]) -> TornLoop:
    """Return a loop with both sides of each equation transformed."""
    sides = [change([q.left, q.right]) for q in loop.equations]
    pairs = zip(loop.equations, sides, strict=True)
    return replace(loop, equations=tuple(replace(q, left=a, right=b) for q, (a, b) in pairs))


def _iterated(loop: TornLoop) -> tuple[str, str, sx.Span]:
    texts = [q.text for q in loop.equations]
    origin = f"{listed(loop.names)}, from {listed(texts)}"
    text = f"found by iteration while the model is simulated: {origin}"
    return ("algebraic-loop", text, loop.equations[0].span)


def _deciding(name: str, unknowns: Unknowns) -> tuple[str, str, sx.Span]:
    text = (
        f"other start values follow from the 'start' of '{name}', which the FMU therefore keeps; "
        "where it shall be set, make it a parameter"
    )
    return "start-decides", text, unknowns.declared[name][0].span


def _warnings(
    defaulted: Sequence[str], parameters: ParameterTable, unknowns: Unknowns
) -> tuple[tuple[str, str, sx.Span], ...]:
    result = [
        (
            "start-not-fixed",
            f"the state '{name}' has no fixed=true; it starts at its 'start' all the same",
            unknowns.declared[name][0].span,
        )
        for name in defaulted
    ]
    if parameters.notes:
        text = "fixed when compiled, cannot be set: " + "; ".join(parameters.notes)
        result.append(("structural-parameter", text, sx.NOWHERE))
    return tuple(result)


class _Builder:
    """Builds the CasADi functions and the lists of variables."""

    def __init__(
        self,
        flat: sx.FlatModel,
        parameters: ParameterTable,
        unknowns: Unknowns,
        solution: Solution,
        lowering: Lowering,
        state: LoweringState,
        at_events: DiscreteSolution,
    ) -> None:
        self._at_events = at_events
        self._flat = flat
        self._parameters = parameters
        self._unknowns = unknowns
        self._solution = solution
        self._lowering = lowering
        self._state = state
        self.substitution = self._substitution()

    def _substitution(self) -> Substitution:
        """Return the substitution of algebraic variables, derivatives and aliases."""
        unknowns, solution = self._unknowns, self._solution
        result = Substitution()
        for name, formula in solution.formulas.items():
            result.define(self._symbol(name), formula)
        for name, alias in solution.aliases.items():
            other = alias.representative
            base: Scalar = solution.formulas.get(
                other,
                unknowns.inputs[other] if other in unknowns.inputs else unknowns.variables[other],
            )
            result.define(unknowns.variables[name], alias.sign * base)
            if name in unknowns.derivatives:
                derivative = solution.formulas[f"der({other})"]
                result.define(unknowns.derivatives[name], alias.sign * derivative)
        return result

    def _symbol(self, name: str) -> v.SX:
        if name.startswith("der("):
            return self._unknowns.derivatives[name[4:-1]]
        return self._unknowns.variables[name]

    def build(
        self, start: InitialStates, experiment: ExperimentDefaults, library_version: str
    ) -> OdeModel:
        """Return the model."""
        unknowns, solution, parameters = self._unknowns, self._solution, self._parameters
        x = [unknowns.variables[name] for name in solution.states]
        u = list(unknowns.inputs.values())
        t = unknowns.time
        p, c = parameters.p, parameters.c
        conditions = [a.condition for a in self._state.assertions]
        residuals = [q.residual for loop in solution.loops for q in loop.equations]
        everywhere = [*conditions, *residuals]
        events = EventFunctions(self._state.events, self._at_events, solution, unknowns, everywhere)

        def formulas(expressions: Sequence[Scalar]) -> list[Scalar]:
            return events.between(self.substitution(expressions))

        rates = formulas([unknowns.derivatives[name] for name in solution.states])
        outputs = [n for n in unknowns.variables if self._is_output(n)]
        output_values = formulas([unknowns.variables[n] for n in outputs])
        listed = set(outputs) | set(solution.states)
        locals_ = [
            n
            for n, (variable, _) in unknowns.declared.items()
            if n in unknowns.variables and n not in listed and not variable.protected
        ]
        local_values = formulas([unknowns.variables[n] for n in locals_])
        asserts = formulas(conditions)
        running = [_with_sides(loop, events.between) for loop in solution.loops]
        loops = LoopFunctions(running, start.loops)
        c = [*c, *events.held, *loops.behind]
        full = [t, column(x), column(u), column(p), column(c)]
        names = ["t", "x", "u", "p", "c"]
        rhs = column(rates)
        model = OdeModel(
            name=self._flat.name,
            description=self._flat.description,
            states=tuple(self._variable(n, "state") for n in solution.states),
            derivatives=tuple(self._derivative(n) for n in solution.states),
            inputs=tuple(self._variable(n, "input") for n in unknowns.inputs),
            outputs=tuple(self._variable(n, "output") for n in outputs),
            locals=tuple(self._variable(n, "local") for n in locals_),
            parameters=tuple(parameters.settable),
            calculated=tuple(parameters.calculated),
            calculated_parameters=model_function(
                "calculated_parameters", [column(p)], ["p"], column(parameters.c_values), "c"
            ),
            initial_states=model_function(
                "initial_states",
                [t, column(u), column(p), column(c)],
                ["t", "u", "p", "c"],
                column(start.values),
                "x",
            ),
            free_starts=tuple(start.free),
            rhs=model_function("rhs", full, names, rhs, "xdot"),
            output_values=model_function("output_values", full, names, column(output_values), "y"),
            local_values=model_function("local_values", full, names, column(local_values), "w"),
            assert_values=model_function("assert_values", full, names, column(asserts), "a"),
            asserts=tuple(
                Assertion(a.message, "warning" if a.warning else "error")
                for a in self._state.assertions
            ),
            output_dependencies=tuple(self._dependencies(e, loops) for e in output_values),
            derivative_dependencies=tuple(self._dependencies(e, loops) for e in rates),
            experiment=experiment,
            library_version=library_version,
            frozen=dict(parameters.frozen),
            events=events.build(
                full, self.substitution, self._lowering, self._discrete, self._flat
            ),
            constraints=self._constraints(full, names),
            loops=loops.build(full, unknowns, solution.aliases, self._lowering, parameters),
        )
        self._check_closed(model)
        return model

    def _constraints(self, full: Sequence[v.SX], names: Sequence[str]) -> Constraints | None:
        equations = self._solution.constraints
        if not equations:
            return None
        residual = column([c.residual for c in equations])
        return Constraints(
            tuple(c.text for c in equations),
            model_function("constraints", full, names, residual, "r"),
        )

    def _is_output(self, name: str) -> bool:
        variable, _ = self._unknowns.declared[name]
        return is_output(variable, self._flat)

    def _variable(self, name: str, kind: str) -> ScalarVariable:
        variable, position = self._unknowns.declared[name]
        attributes = self._parameters.attributes(variable, position)
        start: float | None = None
        value = start_value(variable, position, self._lowering)
        if not v.is_symbolic(value) and (kind in ("state", "input") or variable.start is not None):
            start = float(value)
        return scalar_variable(variable, name, kind, start, attributes)

    def _discrete(self, one: Discrete) -> ScalarVariable:
        attributes = self._parameters.attributes(one.variable, one.position)
        description = scalar_variable(one.variable, one.name, "discrete", None, attributes)
        # The values of an enumeration are numbers from 1 on.
        types: dict[str, TypeName] = {"Real": "Real", "Boolean": "Boolean"}
        return replace(description, type_name=types.get(one.variable.type_name, "Integer"))

    def _derivative(self, state: str) -> ScalarVariable:
        return ScalarVariable(
            name=f"der({state})",
            kind="derivative",
            unit=derivative_unit(self._unknowns.declared[state][0].unit),
            derivative_of=state,
        )

    def _dependencies(self, expression: Scalar, loops: LoopFunctions) -> tuple[str, ...]:
        if not v.is_symbolic(expression):
            return ()
        used = loops.with_their_own({s.element_hash() for s in ca.symvar(expression)})
        candidates = [
            *((n, self._unknowns.variables[n]) for n in self._solution.states),
            *self._unknowns.inputs.items(),
        ]
        return tuple(name for name, symbol in candidates if symbol.element_hash() in used)

    @staticmethod
    def _check_closed(model: OdeModel) -> None:
        """Raise if the model contains a symbol that no vector provides."""
        for function in (
            model.calculated_parameters,
            model.initial_states,
            model.rhs,
            model.output_values,
            model.local_values,
            model.assert_values,
            *(loop.residual for loop in (model.loops.all if model.loops else ())),
            *(
                (model.events.update, model.events.starts, model.events.live)
                if model.events
                else ()
            ),
        ):
            free = function.get_free() if function.has_free() else []
            if free:
                raise Refusal(
                    "unresolved",
                    f"{function.name()} depends on {', '.join(map(str, free))}, which nothing "
                    "determines there",
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
        "equations, in the order in which they are solved": _blocks(solution.blocks),
        "equal to another variable": [
            f"{name} = {'-' if alias.sign < 0 else ''}{alias.representative}"
            for name, alias in solution.aliases.items()
        ],
        "under der(), but no states": [f"{d.name}, from: {d.text}" for d in solution.demotions],
        "constraints of the states, kept after each step": [c.text for c in solution.constraints],
        "iterated at the start": _iterated_variables(start.loops),
        "relations that switch at events": [h.text for h in events.held],
        "variables that change at events": list(events.discretes),
        "reinitialised at events": list(at_events.reinits),
    }
    lines = [model.name]
    for title, content in sections.items():
        if content:
            lines += ["", title, *(f"  {line}" for line in content)]
    return tuple(lines)


def _blocks(blocks: Sequence[SolvedBlock]) -> list[str]:
    return [line for block in blocks for line in _block(block)]


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
    yield from (f"  {text}" for text in _once(block.equations))


def _iterated_variables(loops: Iterable[TornLoop]) -> list[str]:
    lines = []
    for loop in loops:
        lines.append(", ".join(loop.names))
        lines += [f"  {text}" for text in _once(q.text for q in loop.equations)]
    return lines


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


class LoopFunctions:
    """Builds the iterated part of the model: `running` loops, and `initial` ones of its start."""

    def __init__(self, running: Sequence[TornLoop], initial: Sequence[TornLoop]) -> None:
        self._running = running
        self._initial = initial
        loops = [*running, *initial]
        inverses = sum(len(loop.symbols) ** 2 for loop in loops)
        self.behind: list[v.SX] = [
            *(s for loop in loops for s in loop.symbols),
            *(ca.SX.sym(f"inverse {k}") for k in range(inverses)),
        ]
        """Symbols at the end of the vector ``c``."""

    def with_their_own(self, used: set[int]) -> set[int]:
        """Return the hashes of `used` symbols and of all symbols their loops depend on."""
        used = set(used)
        # A loop depends on earlier ones only.
        for loop in reversed(self._running):
            if any(s.element_hash() in used for s in loop.symbols):
                sides = ca.vertcat(*(q.residual for q in loop.equations))
                used |= {s.element_hash() for s in ca.symvar(ca.SX(sides))}
        return used

    def build(
        self,
        full: Sequence[v.SX],
        unknowns: Unknowns,
        aliases: Mapping[str, Alias],
        lowering: Lowering,
        parameters: ParameterTable,
    ) -> Loops | None:
        """Return the loops, or ``None``; `full` are the columns of t, x, u, p and complete c."""
        loops = [*self._running, *self._initial]
        if not loops:
            return None
        names = ["t", "x", "u", "p", "c"]
        built = [
            Loop(
                names=loop.names,
                equations=tuple(q.text for q in loop.equations),
                residual=model_function(
                    "loop", full, names, column([q.residual for q in loop.equations]), "g"
                ),
                nominals=tuple(_nominal(n, unknowns, parameters) for n in loop.names),
                linear=is_affine([q.residual for q in loop.equations], loop.symbols),
            )
            for loop in loops
        ]
        starts = [_guess(n, unknowns, aliases, lowering) for loop in loops for n in loop.names]
        split = len(self._running)
        return Loops(
            tuple(built[:split]),
            tuple(built[split:]),
            model_function("loop_starts", full[3:], names[3:], column(starts), "z"),
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
    nominal = parameters.attributes(*unknowns.declared[name]).nominal
    return abs(nominal) if nominal else 1.0
