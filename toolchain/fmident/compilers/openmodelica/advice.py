"""OpenModelica's messages as diagnostics, with hints added."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fmident.compilers.openmodelica.availability import plain_version
from fmident.compilers.openmodelica.sessions.messages import Message
from fmident.errors import Diagnostic, Severity, nearest

ClassNames = Callable[[str], Sequence[str]]
"""Names of the classes inside a class, as far as OpenModelica has it loaded."""

_SEVERITY: dict[str, Severity] = {"error": "error", "warning": "warning"}
_COUNTS = re.compile(r"has (\d+) equation\(s\) and (\d+) variable\(s\)")
_TRIVIAL = re.compile(r"(\d+) of these are trivial")
_MISSING_CLASS = re.compile(r"Class (\S+) not found in scope (\S+?)\.?$")
_MISSING_LIBRARY = re.compile(r"Failed to load package (\S+) \((.*?)\) using MODELICAPATH (.*)")
_LOADED = re.compile(r"Automatically loaded package (\S+) (\S+?)\.? due to usage")
_LIKE_LIBRARY = re.compile(r"^(?:Modelica|ModelicaServices|Complex)$")


@dataclass(frozen=True)
class Advice:
    """Hint for a well-known message: its pattern, a short name, and what to do."""

    pattern: re.Pattern[str]
    rule: str
    hint: str


def _advice(pattern: str, rule: str, hint: str) -> Advice:
    return Advice(re.compile(pattern), rule, hint)


KNOWN = (
    _advice(
        r"^Expected token of type|^Parser error|^No viable alternative|^Missing token",
        "syntax-error",
        "look at the place named and just before it: often a ';' or an 'end' is missing",
    ),
    _advice(
        r"under-determined system|over-determined system|Too (?:few|many) equations",
        "unbalanced",
        "give every variable that is neither parameter nor input one equation, no more",
    ),
    _advice(
        r"does not have any remaining equation to be solved in",
        "unbalanced",
        "this is the variable that has no equation",
    ),
    _advice(
        r"^Variable \S+ not found in scope",
        "missing-variable",
        "declare it, or correct its name",
    ),
    _advice(
        r"INCONSISTENT due to specified unit information|need to be equal",
        "unit-error",
        "correct the unit of one side, or the equation; the numbers are computed as they are",
    ),
    _advice(
        r"requires derivatives of some inputs",
        "input-derivative",
        "nothing may differentiate an input: take position, speed and acceleration as three inputs",
    ),
    _advice(
        r"post-optimization module inputDerivativesUsed",
        "input-derivative",
        "follows from the message before",
    ),
    _advice(
        r"has neither value nor start value, and is fixed",
        "parameter-without-value",
        "give the parameter a literal default",
    ),
    _advice(
        r"[Ss]ingular",
        "singular",
        "two equations say the same or contradict each other: look for a loop without a unique"
        " solution",
    ),
    _advice(
        r"cmake|CMake",
        "cmake",
        'platforms "static" needs CMake and a C compiler; on Debian: apt-get install cmake gcc',
    ),
)


def to_diagnostic(message: Message, class_names: ClassNames | None = None) -> Diagnostic:
    """Convert a message to a diagnostic; `class_names` finds names similar to a missing one."""
    severity = _SEVERITY.get(message.level, "note")
    rule, hint = _rule_and_hint(message.text, class_names)
    if rule is None and message.kind:
        rule = f"omc-{message.kind}-{message.id}"
    return Diagnostic(severity, message.text, message.location, hint, rule)


def to_diagnostics(
    messages: Sequence[Message], class_names: ClassNames | None = None
) -> list[Diagnostic]:
    """Convert messages to diagnostics: errors first, without duplicates."""
    diagnostics: list[Diagnostic] = []
    for message in messages:
        if message.level == "internal" or message.about_index:
            continue
        diagnostic = to_diagnostic(message, class_names)
        if diagnostic not in diagnostics:
            diagnostics.append(diagnostic)
    order = {"error": 0, "warning": 1, "note": 2}
    return sorted(diagnostics, key=lambda d: order[d.severity])


def _rule_and_hint(text: str, class_names: ClassNames | None) -> tuple[str | None, str | None]:
    if match := _MISSING_CLASS.search(text):
        return "missing-class", _missing_class(match[1], match[2], class_names)
    if match := _MISSING_LIBRARY.search(text):
        return "missing-library", _missing_library(match[1], match[2], match[3])
    if match := _LOADED.search(text):
        name, version = match[1], plain_version(match[2])
        return "library-loaded", (
            "name the version in the top-level class:"
            f' annotation(uses({name}(version="{version}")))'
        )
    for known in KNOWN:
        if known.pattern.search(text):
            return known.rule, known.hint
    return None, None


def _missing_class(name: str, scope: str, class_names: ClassNames | None) -> str:
    path, _, last = name.rpartition(".")
    if class_names is not None:
        scopes = [path] if path else [scope] if scope.casefold() != "<top>" else []
        for candidate in (*scopes, ""):
            prefix = f"{candidate}." if candidate else ""
            close = nearest(last, class_names(candidate))
            if close:
                return "nearest class: " + ", ".join(f"'{prefix}{c}'" for c in close)
    return "correct the name, import it, or give the library that holds it as another source"


def _missing_library(name: str, version: str, path: str) -> str:
    places = path.rstrip(".") or "(empty)"
    exact = f', "{version}"' if version not in ("", "default") else ""
    if _LIKE_LIBRARY.match(name):
        exact = exact or ', "4.0.0"'
    return (
        f"looked in MODELICAPATH {places}; if '{name}' is a library, install it with"
        f" omc's package manager: installPackage({name}{exact}); or give its folder as another"
        " source, or set MODELICAPATH to the folder that holds it"
    )


@dataclass(frozen=True)
class ClassSize:
    """Number of equations and variables of a class, as counted by ``checkModel``."""

    equations: int
    variables: int
    trivial: int = 0

    @property
    def balanced(self) -> bool:
        """Whether there are as many equations as variables."""
        return self.equations == self.variables


def parse_check(text: str) -> ClassSize | None:
    """Read the counts in the answer of ``checkModel``; ``None`` if there are none."""
    counts = _COUNTS.search(text)
    if counts is None:
        return None
    trivial = _TRIVIAL.search(text)
    return ClassSize(int(counts[1]), int(counts[2]), int(trivial[1]) if trivial else 0)


def balance_diagnostic(class_name: str, size: ClassSize) -> Diagnostic | None:
    """Return a diagnostic for unequal counts, which ``checkModel`` does not report itself."""
    if size.balanced:
        return None
    gap = size.variables - size.equations
    if gap > 0:
        what, hint = "few", f"{gap} variable(s) have no equation: add them, or make them inputs"
    else:
        what, hint = "many", f"take {-gap} equation(s) away, or declare what they determine"
    return Diagnostic(
        "error",
        f"too {what} equations: '{class_name}' has {size.equations} equation(s) and"
        f" {size.variables} variable(s)",
        None,
        hint,
        "unbalanced",
    )
