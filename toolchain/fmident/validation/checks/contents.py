"""Contents of the FMU according to its description."""

from __future__ import annotations

import re
import time
from pathlib import Path

from fmident.fmu.model_description.variables import structured_name
from fmident.fmu.native_code.library import fmpy
from fmident.validation.bench import Bench
from fmident.validation.result import Check
from fmident.words import counted


def check_identity(bench: Bench) -> Check:
    """Report the model, the FMI version and the tool."""
    about = bench.description
    tool = f", made by {about.generation_tool}" if about.generation_tool else ""
    kind = "Model Exchange" if about.capabilities.kind == "model-exchange" else "Co-Simulation"
    return Check("identity", "ok", f"{about.name}, FMI {about.fmi_version} {kind}{tool}")


def check_contents(bench: Bench) -> Check:
    """Count inputs, settable parameters and outputs; no outputs are a finding."""
    about = bench.description
    detail = ", ".join(
        (
            counted(len(about.inputs), "input"),
            counted(len(about.outputs), "output"),
            f"{counted(len(about.settable_parameters), 'parameter')} that can be set",
            counted(len(about.variables), "variable"),
        )
    )
    if not about.outputs:
        detail += "; without an output there is nothing to compare with measurements"
    return Check("contents", "ok" if about.outputs else "finding", detail)


def check_description(path: Path) -> Check:
    """Return the result of FMPy's validation of an FMU."""
    # Not at the top: FMPy must be loaded as the module `library` does.
    from fmpy.validation import validate_fmu as problems_of

    began = time.perf_counter()
    problems: list[str] = problems_of(str(path))
    seconds = time.perf_counter() - began
    name = "model description"
    if not problems:
        return Check(name, "ok", "no problem found by FMPy", seconds=seconds)
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    first, *others = (" ".join(_in_words(p, path).split()) for p in problems)
    return Check(name, "finding", first + more, seconds=seconds, further=tuple(others))


def _illegal_name(name: str, line: str) -> str:
    """Describe an illegal name; FMPy prints only what its parser expected."""
    legal = structured_name(name)
    instead = f"; it would be '{legal}'" if legal != name else ""
    return (
        f"'{name}' (line {line}) is not a legal name in the naming convention \"structured\" of"
        f" FMI{instead}"
    )


def _in_words(problem: str, path: Path) -> str:
    """Explain a message in which FMPy gives only the name of an undefined unit."""
    illegal = re.match(r'"(.*)" \(line (\d+)\) is not a legal variable name', problem)
    if illegal is not None:
        return _illegal_name(illegal[1], illegal[2])
    missing = re.fullmatch(r"'(.*)'|None", problem)
    if missing is None:
        return problem
    unit = missing[1]
    for variable in fmpy.read_model_description(str(path), validate=False).modelVariables:
        declared = variable.declaredType
        own = variable.unit or (None if declared is None else declared.unit)
        if own == unit and variable.displayUnit is not None:
            at = f"variable '{variable.name}' (line {variable.sourceline})"
            if unit is None:
                return f"{at} has the display unit '{variable.displayUnit}', but no unit"
            return (
                f"the unit '{unit}' of {at} is not among the <UnitDefinitions>, though it has"
                f" the display unit '{variable.displayUnit}'"
            )
    return f"FMPy's validation stops and gives no other reason than {problem}"
