"""Clocks and what belongs to them, in FMI 3.0."""

from __future__ import annotations

from collections.abc import Iterator

from fmident.validation.rules.document import Document, Variable, whole
from fmident.validation.rules.registry import Finding
from fmident.validation.rules.values import number

_PERIODIC = ("constant", "fixed", "tunable")
_KINDS = (*_PERIODIC, "changing", "countdown", "triggered")


def check_clocks(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with clocks and clocked variables."""
    if document.major == 2:
        return
    clocks = [v for v in document.variables if v.kind == "Clock"]
    for clock in clocks:
        yield from _clock(clock)
        yield from _interval(clock)
        yield from _priority(document, clock)
    cosimulation = document.root.first("CoSimulation")
    if clocks and cosimulation is not None and not cosimulation.flag("hasEventMode"):
        yield Finding(
            "event mode",
            f"Co-Simulation has no event mode, but the FMU has clocks, such as '{clocks[0].name}'",
            cosimulation.line,
        )
    held: dict[int, Variable] = {}
    for variable in document.variables:
        yield from _clocked(document, variable)
        yield from _previous(document, variable, held)


def _clock(clock: Variable) -> Iterator[Finding]:
    kind = clock.get("intervalVariability")
    wrong = ""
    if clock.causality not in ("input", "output", "local"):
        wrong = f"has the causality '{clock.causality}'"
    elif clock.variability != "discrete":
        wrong = f"has the variability '{clock.variability}', not 'discrete'"
    elif kind not in _KINDS:
        wrong = f"has the intervalVariability '{kind}'" if kind else "has no 'intervalVariability'"
    elif clock.causality != "input" and kind != "triggered":
        wrong = f"is '{kind}' and has the causality '{clock.causality}', not 'input'"
    if wrong:
        yield Finding("clock", f"the clock '{clock.name}' {wrong}", clock.line)


def _interval(clock: Variable) -> Iterator[Finding]:
    kind = clock.get("intervalVariability")
    if kind not in _KINDS:
        return
    given = {
        n: clock.get(n)
        for n in (
            "intervalDecimal",
            "shiftDecimal",
            "intervalCounter",
            "shiftCounter",
            "resolution",
        )
    }
    periodic = kind in _PERIODIC

    def wrong(text: str) -> Finding:
        return Finding("clock interval", f"the clock '{clock.name}' {text}", clock.line)

    for name in ("intervalDecimal", "intervalCounter", "resolution"):
        if given[name] is not None and not periodic:
            yield wrong(f"has '{name}' and is '{kind}', not periodic")
    if kind == "constant" and given["intervalDecimal"] is None and given["intervalCounter"] is None:
        yield wrong("is 'constant' and has no 'intervalDecimal'")
    if given["shiftDecimal"] is not None and given["intervalDecimal"] is None:
        yield wrong("has 'shiftDecimal' without 'intervalDecimal'")
    if given["shiftCounter"] is not None and given["intervalCounter"] is None:
        yield wrong("has 'shiftCounter' without 'intervalCounter'")
    fractions = (clock.get("supportsFraction") or "").strip() in ("true", "1")
    if given["intervalCounter"] is not None and not fractions:
        yield wrong("has 'intervalCounter' without 'supportsFraction'")
    if given["intervalCounter"] is not None and fractions and given["resolution"] is None:
        yield wrong("has 'intervalCounter' without 'resolution'")
    for name, least in (
        ("intervalDecimal", "more"),
        ("intervalCounter", "more"),
        ("shiftDecimal", "not less"),
        ("shiftCounter", "not less"),
    ):
        said = given[name]
        if said is None:
            continue
        value = number(said, "Float64", 3) if name.endswith("Decimal") else whole(said)
        if value is None or not (value > 0 if least == "more" else value >= 0):
            yield wrong(f"has {name} = '{said[:40]}', which must be {least} than 0")


def _priority(document: Document, clock: Variable) -> Iterator[Finding]:
    given = clock.get("priority")
    if given is not None and clock.causality == "output":
        message = f"the output clock '{clock.name}' has a priority"
        yield Finding("clock priority", message, clock.line)
    if given is None and clock.causality == "input" and document.has("ScheduledExecution"):
        message = f"the input clock '{clock.name}' of Scheduled Execution has no priority"
        yield Finding("clock priority", message, clock.line)


def _clocked(document: Document, variable: Variable) -> Iterator[Finding]:
    said = variable.element.get("clocks")
    if said is None:
        return
    wrong = ""
    if not said.split():
        wrong = "has an empty list of clocks"
    elif variable.variability not in ("discrete", "tunable"):
        wrong = f"has clocks and the variability '{variable.variability}'"
    for text in said.split():
        clock = document.target(whole(text))
        if clock is None:
            wrong = f"names the clock of the value reference '{text[:20]}', which is not there"
        elif clock.kind != "Clock":
            wrong = f"names '{clock.name}' as clock, which is of type {clock.kind}"
    if wrong:
        yield Finding("clocked variable", f"'{variable.name}' {wrong}", variable.line)


def _previous(
    document: Document, variable: Variable, held: dict[int, Variable]
) -> Iterator[Finding]:
    said = variable.element.get("previous")
    if said is None:
        return
    target = document.target(whole(said))
    if target is None:
        wrong = f"names the value reference '{said[:20]}' as previous, which no variable has"
        yield Finding("previous", f"'{variable.name}' {wrong}", variable.line)
        return
    other = held.setdefault(target.index, variable)
    wrong = ""
    if variable.kind == "Clock":
        wrong = "is a clock and has a previous value"
    elif not variable.clocked:
        wrong = "has a previous value and no clocks"
    elif variable.variability != "discrete":
        wrong = f"has a previous value and the variability '{variable.variability}'"
    elif target is variable:
        wrong = "is its own previous value"
    elif other is not variable:
        wrong = f"has the same previous value as '{other.name}', '{target.name}'"
    elif target.kind != variable.kind:
        wrong = f"has the previous value '{target.name}', which is of type {target.kind}"
    elif target.variability != "discrete":
        wrong = f"has the previous value '{target.name}', which is '{target.variability}'"
    elif target.causality == "input":
        wrong = f"has the previous value '{target.name}', which is an input"
    if wrong:
        yield Finding("previous", f"'{variable.name}' {wrong}", variable.line)
