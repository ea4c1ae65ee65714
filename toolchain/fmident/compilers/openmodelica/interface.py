"""Which parameters stayed settable in the FMU, and why the others did not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from xml.etree.ElementTree import Element

from fmident.errors import Diagnostic, did_you_mean
from fmident.fmu.model_description.description import ModelDescription
from fmident.fmu.model_description.variables import Variable

Sources = Mapping[str, tuple[str, ...]]
"""Calculated parameter -> the parameters that it is calculated from."""

_LITERAL = (
    "declare it in the exported class itself with a literal default, not final, not protected,"
    " without Evaluate=true"
)


def calculated_from(description: Element) -> dict[str, tuple[str, ...]]:
    """Read from a model description what calculated parameters depend on.

    Parameters
    ----------
    description
        Root of the description; its initial unknowns list the dependencies.
    """
    variables = list(description.iter("ScalarVariable"))
    found: dict[str, tuple[str, ...]] = {}
    for unknown in description.iterfind("ModelStructure/InitialUnknowns/Unknown"):
        variable = variables[int(unknown.get("index", "0")) - 1]
        if variable.get("causality") != "calculatedParameter":
            continue
        if "dependencies" in unknown.attrib:
            indices = unknown.attrib["dependencies"].split()
            found[variable.get("name", "")] = tuple(
                variables[int(i) - 1].get("name", "") for i in indices
            )
    return found


def reason(variable: Variable, sources: Sources | None = None) -> str | None:
    """Return in words why a variable cannot be set, ``None`` when it can.

    Parameters
    ----------
    variable
        Any variable.
    sources
        As from :func:`calculated_from`.
    """
    if variable.causality == "calculatedParameter" and sources is not None:
        origin = sources.get(variable.name)
        if origin:
            names = ", ".join(f"'{n}'" for n in origin)
            how = "a modifier of the component" if "." in variable.name else "its declaration"
            return f"calculated from {names} by {how}"
        if origin == ():
            return "evaluated when the FMU was built (final, Evaluate=true, or structural)"
    return variable.why_not_settable


def frozen_parameters(
    description: ModelDescription, sources: Sources | None = None
) -> dict[str, str]:
    """Return the parameters that cannot be set, with the reason in words."""
    frozen = {}
    for variable in description.parameters:
        why = reason(variable, sources)
        if why is not None:
            frozen[variable.name] = why
    return frozen


def check_interface(
    description: ModelDescription,
    identifiable: Iterable[str],
    sources: Sources | None = None,
) -> tuple[Diagnostic, ...]:
    """Check that parameters which shall be identified can be set.

    Parameters
    ----------
    description
        Of the FMU.
    identifiable
        Names of parameters, as the catalogue or the problem gives them.
    sources
        As from :func:`calculated_from`; makes reasons more precise.

    Returns
    -------
    tuple of Diagnostic
        One error per parameter that is missing or cannot be set. Whether a parameter
        changes an output is found by simulation: :func:`fmident.fmu.influence`.
    """
    found = []
    settable = [v.name for v in description.settable_parameters]
    for name in identifiable:
        variable = description.by_name.get(name)
        if variable is None:
            message = f"the FMU of '{description.name}' has no parameter '{name}'"
            hint = did_you_mean(name, settable, kind="settable parameter")
            found.append(Diagnostic("error", message, None, hint, "missing-parameter"))
            continue
        why = reason(variable, sources)
        if why is not None:
            origin = (sources or {}).get(name, ())
            free = [n for n in origin if n in settable]
            hint = (
                "identify " + " or ".join(f"'{n}'" for n in free) + " instead" if free else _LITERAL
            )
            message = f"'{name}' of '{description.name}' cannot be set: {why}"
            found.append(Diagnostic("error", message, None, hint, "frozen-parameter"))
    return tuple(found)


def frozen_note(description: ModelDescription, sources: Sources | None = None) -> Diagnostic | None:
    """Return a note on the frozen parameters at the top level, ``None`` without any."""
    frozen = {n: w for n, w in frozen_parameters(description, sources).items() if "." not in n}
    if not frozen:
        return None
    listed = "; ".join(f"'{name}': {why}" for name, why in sorted(frozen.items()))
    return Diagnostic(
        "note", f"parameters that cannot be set: {listed}", None, _LITERAL, "frozen-parameter"
    )


def integration_notes(description: ModelDescription) -> tuple[Diagnostic, ...]:
    """Return notes on how an FMU will be integrated, and on what is fixed with it.

    Parameters
    ----------
    description
        Of the FMU as it was built.
    """
    if description.sees_events_late and description.capabilities.kind == "model-exchange":
        return (
            Diagnostic(
                "note",
                f"the model has {description.indicator_count} event indicator(s): it is simulated"
                " as Model Exchange, because OpenModelica's Co-Simulation sees events at"
                " communication points only",
                None,
                'interface = "co-simulation" in [evaluation] takes that all the same',
                "late-events",
            ),
        )
    tolerance = description.fixed_tolerance
    if tolerance is None:
        return ()
    return (
        Diagnostic(
            "note",
            f"the FMU integrates at the relative tolerance {tolerance:g}, whatever a simulation"
            " asks for: OpenModelica fixes it at the export",
            None,
            "--tolerance builds it with another one; 'fmident check' measures whether this one"
            " is enough for a problem",
            "fixed-tolerance",
        ),
    )
