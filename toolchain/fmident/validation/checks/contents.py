"""What the FMU says of itself."""

from __future__ import annotations

from fmident.validation.bench import Bench
from fmident.validation.check import Check


def check_identity(bench: Bench) -> Check:
    """Name the model, the FMI version and the tool."""
    about = bench.description
    tool = f", made by {about.generation_tool}" if about.generation_tool else ""
    kind = "Model Exchange" if about.capabilities.kind == "model-exchange" else "Co-Simulation"
    return Check("identity", "ok", f"{about.name}, FMI {about.fmi_version} {kind}{tool}")


def check_contents(bench: Bench) -> Check:
    """Count what can be driven, set and recorded; one without outputs is a finding."""
    about = bench.description
    detail = ", ".join(
        (
            count(len(about.inputs), "input"),
            count(len(about.outputs), "output"),
            f"{count(len(about.settable_parameters), 'parameter')} that can be set",
            count(len(about.variables), "variable"),
        )
    )
    if not about.outputs:
        detail += "; without an output there is nothing to compare with measurements"
    return Check("contents", "ok" if about.outputs else "finding", detail)


def count(number: int, noun: str) -> str:
    """Return number and noun, in the plural where it is due."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
