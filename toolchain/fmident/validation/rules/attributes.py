"""Attributes of variables: causality, variability, initial, start, derivative and others."""

from __future__ import annotations

from collections.abc import Iterator

from fmident.validation.rules.document import FLOATS, Document, Variable
from fmident.validation.rules.registry import Finding

_CAUSALITIES = {"parameter", "calculatedParameter", "input", "output", "local", "independent"}
_VARIABILITIES = {"constant", "fixed", "tunable", "discrete", "continuous"}
_SIGNALS, _DATA = ("discrete", "continuous"), ("fixed", "tunable")
_ALLOWED = {
    "structuralParameter": _DATA,
    "parameter": _DATA,
    "calculatedParameter": _DATA,
    "input": _SIGNALS,
    "output": ("constant", *_SIGNALS),
    "local": ("constant", *_DATA, *_SIGNALS),
    "independent": ("continuous",),
}
_COMPUTED = ("calculated", "approx")


def check_attributes(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with attributes of variables."""
    for variable in document.variables:
        yield from _combination(document, variable)
        yield from _start(variable)
        if variable.variability == "continuous" and variable.kind not in (*FLOATS, ""):
            said = "" if variable.element.get("variability") else ", which is the default,"
            yield Finding(
                "continuous",
                f"'{variable.name}' is of type {variable.kind} and continuous{said}",
                variable.line,
            )
        yield from _derivative(document, variable)
        yield from _reinit(document, variable)
        yield from _special(document, variable)
    yield from _independent(document)


def initials(variable: Variable) -> tuple[str, ...] | None:
    """Return what `initial` may be; empty: not given; ``None``: the pair itself is wrong."""
    if variable.variability not in _ALLOWED.get(variable.causality, ()):
        return None
    if variable.causality == "independent":
        return ()
    if variable.causality == "input":
        return () if variable.major == 2 else ("exact",)
    if variable.variability == "constant" or variable.causality.endswith("arameter"):
        return _COMPUTED if variable.causality == "calculatedParameter" else ("exact",)
    return _COMPUTED if variable.variability in _DATA else ("exact", *_COMPUTED)


def _combination(document: Document, variable: Variable) -> Iterator[Finding]:
    known = _CAUSALITIES | ({"structuralParameter"} if document.major == 3 else set())
    if variable.causality not in known or variable.variability not in _VARIABILITIES:
        return  # against the schema, which FMPy checks
    allowed = initials(variable)
    if allowed is None:
        implied = "" if variable.element.get("variability") else " (the default)"
        yield Finding(
            "combination",
            f"'{variable.name}' has the causality '{variable.causality}', with which it cannot be"
            f" '{variable.variability}'{implied}",
            variable.line,
        )
        return
    said = variable.element.get("initial")
    if said is not None and said not in allowed:
        instead = f"only {_either(allowed)}" if allowed else "and it must not be given"
        yield Finding(
            "initial",
            f"'{variable.name}' has initial = '{said}', which causality '{variable.causality}' and"
            f" variability '{variable.variability}' do not allow, {instead}",
            variable.line,
        )


def _either(words: tuple[str, ...]) -> str:
    return " or ".join(f"'{w}'" for w in words)


def _start(variable: Variable) -> Iterator[Finding]:
    if variable.kind in ("Clock", ""):
        return
    if initials(variable) is None:
        return  # that is said already, and what `initial` would be is not defined
    name, start = variable.name, variable.start
    if start is None and (variable.initial in ("exact", "approx") or variable.causality == "input"):
        why = "is an input"
        if variable.causality != "input":
            why = (
                f"has initial = '{variable.initial}' (causality '{variable.causality}', variability"
                f" '{variable.variability}')"
            )
        yield Finding("start needed", f"'{name}' has no start value, but {why}", variable.line)
    if start is not None and (
        variable.initial == "calculated" or variable.causality == "independent"
    ):
        why = "independent" if variable.causality == "independent" else "initial = 'calculated'"
        yield Finding("start forbidden", f"'{name}' has a start value, but is {why}", variable.line)


def _derivative(document: Document, variable: Variable) -> Iterator[Finding]:
    said = variable.own.get("derivative")
    if said is None:
        return
    target = document.target(variable.own.whole("derivative"))
    if target is None:
        what = "value reference" if document.major == 3 else "index"
        yield Finding(
            "derivative",
            f"'{variable.name}' is the derivative of the variable of the {what} '{said}', which"
            " is not there",
            variable.line,
        )
        return
    for one in (variable, target):
        if one.kind not in FLOATS:
            yield Finding(
                "derivative",
                f"'{variable.name}' is the derivative of '{target.name}', but '{one.name}' is of"
                f" type {one.kind}",
                variable.line,
            )
            return


def _reinit(document: Document, variable: Variable) -> Iterator[Finding]:
    if variable.own.get("reinit") is None:
        return
    if not document.has("ModelExchange"):
        if document.major == 2:
            yield Finding(
                "reinit",
                f"'{variable.name}' has 'reinit' in an FMU without Model Exchange",
                variable.line,
            )
    elif variable.index not in document.states:
        yield Finding(
            "reinit",
            f"'{variable.name}' has 'reinit' and is not a continuous-time state",
            variable.line,
        )


def _special(document: Document, variable: Variable) -> Iterator[Finding]:
    if variable.element.get("canHandleMultipleSetPerTimeInstant") is not None:
        what = "'canHandleMultipleSetPerTimeInstant'"
        if variable.causality != "input":
            yield Finding(
                "multiple set", f"'{variable.name}' has {what} and is not an input", variable.line
            )
        elif document.major == 2 and not document.has("ModelExchange"):
            yield Finding(
                "multiple set",
                f"'{variable.name}' has {what} in an FMU without Model Exchange",
                variable.line,
            )
    if (
        document.major == 3
        and variable.element.flag("intermediateUpdate")
        and (variable.kind == "Clock" or variable.variability != "continuous")
    ):
        yield Finding(
            "intermediate update",
            f"'{variable.name}' has 'intermediateUpdate' and is not continuous",
            variable.line,
        )


def _independent(document: Document) -> Iterator[Finding]:
    found = [v for v in document.variables if v.causality == "independent"]
    for variable in found[1:]:
        yield Finding(
            "independent",
            f"'{variable.name}' is independent, and so is '{found[0].name}' (line {found[0].line})",
            variable.line,
        )
    if not found and document.major == 3:
        listed = document.section("ModelVariables")
        yield Finding(
            "independent",
            "no variable is independent",
            None if listed is None else listed.line,
        )
    for variable in found:
        if variable.kind not in (*FLOATS, ""):
            yield Finding(
                "independent",
                f"the independent variable '{variable.name}' is of type {variable.kind}",
                variable.line,
            )
