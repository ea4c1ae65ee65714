"""The model structure: what is listed, in which order, and what it depends on."""

from __future__ import annotations

from collections.abc import Iterator

from fmident.validation.rules.document import FLOATS, Document, Element, Variable
from fmident.validation.rules.registry import Finding

_KINDS = ("dependent", "constant", "fixed", "tunable", "discrete")
_UNKNOWN = ("approx", "calculated")
_LISTS_2 = {
    "Outputs": "an output",
    "Derivatives": "a derivative of a state",
    "InitialUnknowns": "an initial unknown",
}
_LISTS_3 = {
    "Output": "an output",
    "ContinuousStateDerivative": "a derivative of a state",
    "ClockedState": "a clocked state",
    "InitialUnknown": "an initial unknown",
    "EventIndicator": "an event indicator",
}
_RULE = {
    "an output": "outputs",
    "a derivative of a state": "state derivatives",
    "a clocked state": "clocked states",
    "an initial unknown": "initial unknowns",
    "an event indicator": "event indicators",
}


class _Lists:
    """The entries of the model structure, those that name a variable."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.entries: dict[str, list[tuple[Element, Variable]]] = {w: [] for w in _RULE}
        self.lost: list[Finding] = []
        for what, entry in self._all():
            variable = document.entry_target(entry)
            if variable is None:
                key = "index" if document.major == 2 else "valueReference"
                self.lost.append(
                    Finding(
                        _RULE[what],
                        f"{what} has the {key} '{entry.get(key)}', which no variable has",
                        entry.line,
                    )
                )
            else:
                self.entries[what].append((entry, variable))

    def _all(self) -> Iterator[tuple[str, Element]]:
        if self.document.major == 3:
            for entry in self.document.entries("ModelStructure", *_LISTS_3):
                yield _LISTS_3[entry.tag], entry
        else:
            for listed in self.document.entries("ModelStructure", *_LISTS_2):
                for entry in listed.all("Unknown"):
                    yield _LISTS_2[listed.tag], entry

    def twice(self, what: str) -> Iterator[Finding]:
        """Yield entries that are there a second time."""
        first: dict[int, int] = {}
        for entry, variable in self.entries[what]:
            if variable.index in first:
                yield Finding(
                    _RULE[what],
                    f"'{variable.name}' is listed as {what} twice (also in line"
                    f" {first[variable.index]})",
                    entry.line,
                )
            first.setdefault(variable.index, entry.line)


def check_structure(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with the model structure."""
    lists = _Lists(document)
    yield from lists.lost
    yield from _outputs(document, lists)
    yield from _derivatives(document, lists)
    yield from _initial_unknowns(document, lists)
    yield from _of_events(lists)
    dependencies = _Dependencies(document)
    for what, entries in lists.entries.items():
        for entry, variable in entries:
            yield from dependencies.check(what, entry, variable)


def _outputs(document: Document, lists: _Lists) -> Iterator[Finding]:
    yield from lists.twice("an output")
    for entry, variable in lists.entries["an output"]:
        if variable.causality != "output":
            yield Finding(
                "outputs",
                f"'{variable.name}' is listed as output and has the causality"
                f" '{variable.causality}'",
                entry.line,
            )
    listed = {v.index for _, v in lists.entries["an output"]}
    for variable in document.variables:
        if variable.causality == "output" and variable.index not in listed:
            yield Finding(
                "outputs",
                f"the output '{variable.name}' is not listed in the model structure",
                variable.line,
            )


def _derivatives(document: Document, lists: _Lists) -> Iterator[Finding]:
    key = "state derivatives"
    yield from lists.twice("a derivative of a state")
    of: dict[int, Variable] = {}
    for entry, variable in lists.entries["a derivative of a state"]:
        if variable.own.get("derivative") is None:
            yield Finding(
                key,
                f"'{variable.name}' is listed as derivative of a state and has no attribute"
                " 'derivative'",
                entry.line,
            )
            continue
        state = document.target(variable.own.whole("derivative"))
        if state is None:
            continue  # rule "derivative"
        other = of.setdefault(state.index, variable)
        if other is not variable:
            yield Finding(
                key,
                f"'{variable.name}' and '{other.name}' are both listed as derivative of the state"
                f" '{state.name}'",
                entry.line,
            )
        for one in (variable, state):
            if one.kind in FLOATS and one.variability != "continuous":
                yield Finding(
                    key,
                    f"'{one.name}', in the list of states and their derivatives, has the"
                    f" variability '{one.variability}', not 'continuous'",
                    one.line,
                )
        if state.causality not in ("local", "output"):
            yield Finding(
                key,
                f"the state '{state.name}' has the causality '{state.causality}', not 'local' or"
                " 'output'",
                state.line,
            )


def _initial_unknowns(document: Document, lists: _Lists) -> Iterator[Finding]:
    key, what = "initial unknowns", "an initial unknown"
    yield from lists.twice(what)
    entries = lists.entries[what]
    expected = {v.index: why for v, why in _expected(document)}
    listed = {v.index for _, v in entries}
    for entry, variable in entries:
        # As the FMU wishes; of clocks, which cannot have `initial`, the standard does not say.
        free = document.major == 3 and (
            variable.clocked or (variable.kind == "Clock" and variable.causality == "output")
        )
        if variable.index not in expected and not free:
            said = "" if variable.initial is None else f" and initial = '{variable.initial}'"
            yield Finding(
                key,
                f"'{variable.name}' is listed as initial unknown, but has the causality"
                f" '{variable.causality}'{said}",
                entry.line,
            )
    for variable in document.variables:
        if variable.index in expected and variable.index not in listed:
            yield Finding(
                key,
                f"'{variable.name}' is not listed as initial unknown, but is"
                f" {expected[variable.index]}",
                variable.line,
            )
    if document.major == 2:
        last: Variable | None = None
        for entry, variable in entries:
            if last is not None and variable.index < last.index:
                yield Finding(
                    "initial order",
                    f"'{variable.name}' (variable {variable.index}) is listed after '{last.name}'"
                    f" (variable {last.index})",
                    entry.line,
                )
            last = variable


def _expected(document: Document) -> Iterator[tuple[Variable, str]]:
    """Yield the variables that must be initial unknowns, and why."""
    for state in document.states.values():
        if state.initial in _UNKNOWN and not state.clocked:
            yield state, f"a state with initial = '{state.initial}'"
    for entry in document.derivatives:
        variable = document.entry_target(entry)
        if variable is not None and variable.initial in _UNKNOWN and not variable.clocked:
            yield variable, f"the derivative of a state, with initial = '{variable.initial}'"
    for variable in document.variables:
        if document.major == 3 and variable.clocked:
            continue
        if variable.causality == "calculatedParameter":
            yield variable, "a calculated parameter"
        elif variable.causality == "output" and variable.initial in _UNKNOWN:
            yield variable, f"an output with initial = '{variable.initial}'"


def _of_events(lists: _Lists) -> Iterator[Finding]:
    for entry, variable in lists.entries["an event indicator"]:
        wrong = ""
        if variable.kind not in FLOATS:
            wrong = f"is of type {variable.kind}"
        elif variable.variability != "continuous":
            wrong = f"has the variability '{variable.variability}'"
        elif variable.causality not in ("local", "output"):
            wrong = f"has the causality '{variable.causality}'"
        if wrong:
            message = f"the event indicator '{variable.name}' {wrong}"
            yield Finding("event indicators", message, entry.line)
    for entry, variable in lists.entries["a clocked state"]:
        wrong = ""
        if variable.kind == "Clock":
            wrong = "is a clock"
        elif variable.element.get("previous") is None:
            wrong = "has no attribute 'previous'"
        elif not variable.clocked:
            wrong = "has no attribute 'clocks'"
        elif variable.variability != "discrete":
            wrong = f"has the variability '{variable.variability}'"
        if wrong:
            message = f"the clocked state '{variable.name}' {wrong}"
            yield Finding("clocked states", message, entry.line)


class _Dependencies:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.states = document.states
        held = [v.element.whole("previous") for v in document.variables]
        self.previous = {p for p in held if p is not None} if document.major == 3 else set()

    def check(self, what: str, entry: Element, unknown: Variable) -> Iterator[Finding]:
        """Yield what is wrong with the dependencies of one entry."""
        said = entry.get("dependencies")
        kinds = entry.get("dependenciesKind")
        numbers = [] if said is None else said.split()
        if kinds is not None:
            yield from self._kinds(what, entry, unknown, kinds.split(), said)
        last = 0
        for text in numbers:
            number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
            known = self.document.target(number)
            where = f"{what}, '{unknown.name}', is said to depend on"
            if known is None or number is None:
                key = "index" if self.document.major == 2 else "value reference"
                yield Finding(
                    "dependencies",
                    f"{where} the variable of the {key} '{text[:20]}', which is not there",
                    entry.line,
                )
                continue
            if self.document.major == 2 and number <= last:
                yield Finding(
                    "dependencies order",
                    f"{where} variable {number} after variable {last}",
                    entry.line,
                )
                last = number
                continue
            last = number
            if not self._known(what, known):
                yield Finding("dependencies", f"{where} '{known.name}', {_kind(known)}", entry.line)

    def _known(self, what: str, variable: Variable) -> bool:
        """Whether a variable is a known there."""
        if variable.causality in ("input", "independent") or variable.kind == "Clock":
            return True
        if what == "an initial unknown":
            return variable.initial == "exact"
        if what in ("an event indicator", "a clocked state"):
            return True  # the standard does not say of what
        if variable.index in self.states:
            return True
        if self.document.major == 2:
            return False
        # Which discrete variables are states is not said, except of clocked ones.
        return (
            variable.causality in ("parameter", "structuralParameter")
            or variable.variability == "discrete"
            or variable.reference in self.previous
        )

    def _kinds(
        self, what: str, entry: Element, unknown: Variable, kinds: list[str], said: str | None
    ) -> Iterator[Finding]:
        key = "dependencies kind"
        if said is None:
            message = f"{what}, '{unknown.name}', has kinds of dependencies and no dependencies"
            yield Finding(key, message, entry.line)
            return
        count = len(said.split())
        if len(kinds) != count:
            message = f"{what}, '{unknown.name}', has {count} dependencies and {len(kinds)} kinds"
            yield Finding(key, message, entry.line)
        for kind in dict.fromkeys(kinds):
            of = f"the kind of dependency '{kind[:20]}' of {what}, '{unknown.name}',"
            if kind not in _KINDS:
                yield Finding(key, f"{of} is none of {', '.join(_KINDS)}", entry.line)
            elif what == "an initial unknown" and kind not in ("dependent", "constant"):
                yield Finding(key, f"{of} is not allowed at initialization", entry.line)
            elif kind != "dependent" and unknown.kind not in FLOATS:
                yield Finding(key, f"{of} is not allowed of type {unknown.kind}", entry.line)


def _kind(variable: Variable) -> str:
    """Say what a variable is that is not known there."""
    initial = "" if variable.initial is None else f", initial = '{variable.initial}'"
    return (
        f"which is not known there (causality '{variable.causality}', variability"
        f" '{variable.variability}'{initial})"
    )
