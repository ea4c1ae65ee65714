"""Events as functions of the model's vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.equations.blocks import Substitution
from fmident.compilers.embedded.frontend.equations.causalize import Solution
from fmident.compilers.embedded.frontend.equations.discrete import DiscreteSolution, in_order
from fmident.compilers.embedded.frontend.equations.system import Unknowns
from fmident.compilers.embedded.frontend.functions import column, model_function
from fmident.compilers.embedded.frontend.initial import is_fixed
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Discrete, Events
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal
from fmident.compilers.embedded.model import Events as EventModel
from fmident.compilers.embedded.model import ScalarVariable


class EventFunctions:
    """Builds the event part of the model; `others` are further expressions between events."""

    def __init__(
        self,
        events: Events,
        at_events: DiscreteSolution,
        solution: Solution,
        unknowns: Unknowns,
        others: Sequence[Scalar],
    ) -> None:
        self._events = events
        self._at_events = at_events
        self._solution = solution
        self._unknowns = unknowns
        self._check_before()
        # Those that the FMU shows come first.
        self._discretes = sorted(events.discretes.values(), key=lambda d: d.variable.protected)
        self._earlier = self._values_before(others)

    def _values_before(self, others: Sequence[Scalar]) -> list[tuple[Discrete, v.SX]]:
        """Return the discrete variables whose ``pre`` in continuous equations must be held."""
        formulas = [
            *self._solution.formulas.values(),
            *(h.live for h in self._events.held),
            *others,
        ]
        used = {s.element_hash() for f in formulas if v.is_symbolic(f) for s in ca.symvar(f)}
        return [
            (d, ca.SX.sym(f"pre({d.name})"))
            for d in self._discretes
            if d.before.element_hash() in used
        ]

    def between(self, expressions: Sequence[Scalar]) -> list[Scalar]:
        """Return expressions with ``pre`` values replaced by those held between events."""
        if not self._earlier:
            return list(expressions)
        held = Substitution()
        for discrete, symbol in self._earlier:
            held.define(discrete.before, symbol)
        return held(expressions)

    @property
    def held(self) -> list[v.SX]:
        """Symbols of held values, which follow the calculated parameters."""
        if not self._events.any:
            return []
        return [
            *(h.symbol for h in self._events.held),
            self._events.initial,
            self._events.terminal,
            *(s.symbol for s in self._events.samples),
            *(d.symbol for d in self._discretes),
            *(c.symbol for c in self._at_events.conditions),
            *(symbol for _, symbol in self._earlier),
        ]

    def build(
        self,
        full: Sequence[v.SX],
        substitution: Substitution,
        lowering: Lowering,
        describe: Callable[[Discrete], ScalarVariable],
        flat: sx.FlatModel,
    ) -> EventModel | None:
        """Return the event functions, or ``None`` if there are no events.

        `full` are the columns of t, x, u, p and c with held values; `describe` returns the
        description of a discrete variable.
        """
        if not self._events.any:
            return None
        names = ["t", "x", "u", "p", "c"]
        solution = self._at_events
        values = substitution([solution.formulas[d.name] for d in self._discretes])
        at_event = self._at_event(values)
        values = at_event([d.symbol for d in self._discretes])
        conditions = at_event(substitution([c.value for c in solution.conditions]))
        states = at_event(substitution(self._states_after()))
        before = [
            *(d.before for d in self._discretes),
            *(c.before for c in solution.conditions),
            *(ca.SX.sym("earlier") for _ in self._earlier),
        ]
        starts = substitution(
            [
                *(self._before_start(d, lowering, flat) for d in self._discretes),
                *(0 for _ in solution.conditions),
                *(self._before_start(d, lowering, flat) for d, _ in self._earlier),
            ]
        )
        live = self.between(substitution([h.live for h in self._events.held]))
        _, _, _, p, c = full
        pairs = [(s.start, s.interval) for s in self._events.samples]
        visible = [d for d in self._discretes if not d.variable.protected]
        update = ca.Function(
            "update",
            [*full, column(before)],
            [column([*values, *conditions, *(d.before for d, _ in self._earlier)]), column(states)],
            [*names, "pre"],
            ["d", "x_after"],
            {"allow_free": True},
        )
        return EventModel(
            variables=tuple(describe(d) for d in visible),
            outputs=frozenset(d.name for d in visible if is_output(d.variable, flat)),
            hidden=len(before) - len(visible),
            relations=tuple(h.text for h in self._events.held),
            live=model_function("live", full, names, column(live), "r"),
            samples=model_function(
                "samples", [p, c], ["p", "c"], column([e for pair in pairs for e in pair]), "s"
            ),
            starts=model_function("starts", full, names, column(starts), "pre"),
            update=update,
        )

    def _at_event(self, values: Sequence[Scalar]) -> Substitution:
        """Return the replacements of discrete variables at an event."""
        formulas = {d.name: e for d, e in zip(self._discretes, values, strict=True)}
        result = Substitution()
        for name in in_order(self._events, formulas):
            result.define(self._events.discretes[name].symbol, result([formulas[name]])[0])
        return result

    def _before_start(self, discrete: Discrete, lowering: Lowering, flat: sx.FlatModel) -> Scalar:
        """Return the value of a discrete variable before the start."""
        start = _start(discrete, lowering, flat)
        given = self._at_events.starts.get(discrete.name)
        if given is None:
            return start
        fixed = is_fixed(discrete.variable, discrete.position, lowering) is True
        if fixed and not ca.is_equal(ca.SX(given), ca.SX(start)):
            raise Refusal(
                "initial-equation",
                f"'{discrete.name}' has fixed=true, and an initial equation gives it a value, too",
                discrete.variable.span,
                "remove one of them",
            )
        return given

    def _states_after(self) -> list[Scalar]:
        """Return the states after an event: unchanged unless reinitialised."""
        after: dict[str, Scalar] = {n: self._unknowns.variables[n] for n in self._solution.states}
        for name, (value, span) in self._at_events.reinits.items():
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
        for other in self._unknowns.variables:
            wanted = self._unknowns.declared[other][0].state_select
            if wanted not in ("prefer", "always") or self._state(other)[0] is not None:
                continue
            alias = self._solution.aliases.get(other)
            formula = self._solution.formulas.get(alias.representative if alias else other)
            if formula is None or not v.is_symbolic(formula):
                continue
            used = {s.element_hash() for s in ca.symvar(formula)}
            instead = [
                n
                for n in self._solution.states
                if n != state
                and self._unknowns.variables[n].element_hash() in used
                and self._unknowns.declared[n][0].state_select not in ("prefer", "always")
            ]
            if instead and self._unknowns.variables[state].element_hash() in used:
                raise Refusal(
                    "unsupported-reinit",
                    f"'reinit' of '{name}': by its stateSelect '{other}' is to be a state and to "
                    f"keep its value, and '{instead[0]}' is one in its place",
                    span,
                    f"set stateSelect of '{other}' to StateSelect.default",
                )

    def _check_before(self) -> None:
        for name, span in self._events.before.items():
            if self._state(name)[0] is None:
                raise Refusal(
                    "unsupported-pre",
                    f"'pre({name})': '{name}' is neither a discrete variable nor a state",
                    span,
                    f"write '{name}' where its value at the event is meant",
                )

    def _state(self, name: str) -> tuple[str | None, int]:
        alias = self._solution.aliases.get(name)
        other, sign = (alias.representative, alias.sign) if alias else (name, 1)
        return (other if other in self._solution.states else None), sign

    def _hint(self) -> str:
        return "the states are: " + (
            ", ".join(f"'{n}'" for n in self._solution.states) or "there are none"
        )


def _start(discrete: Discrete, lowering: Lowering, flat: sx.FlatModel) -> Scalar:
    """Return ``start`` of a discrete variable; default 0, false or the first literal."""
    variable = discrete.variable
    if variable.start is None:
        return 1 if flat.is_enumeration(variable.type_name) else 0
    scalars = v.flat(lowering.evaluate(variable.start))
    value = scalars[discrete.position if len(scalars) > 1 else 0]
    if isinstance(value, str) or not lowering.is_time_invariant(value):
        raise Refusal(
            "variability",
            f"'start' of '{discrete.name}' is not a parameter expression",
            variable.span,
            "use parameters and constants only, or write an initial equation",
        )
    return int(value) if isinstance(value, bool) else value


def is_output(variable: sx.Variable, flat: sx.FlatModel) -> bool:
    """Return whether a variable is an output of the exported class itself."""
    in_record = variable.name.split(".")[0] in flat.record_instances
    return (in_record or flat.is_interface(variable.name)) and variable.causality == "output"
