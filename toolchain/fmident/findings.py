"""Findings: what there is to say about a problem or a result, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fmident.errors import Diagnostic, Location, Severity
from fmident.views import view
from fmident.words import sentence

SEVERITIES: Mapping[str, Severity] = MappingProxyType(
    {
        # Of an estimate.
        "failed": "error",
        "constraint-not-kept": "error",
        "interrupted": "warning",
        "not-converged": "warning",
        "second-minimum": "warning",
        "prior-contradicted": "warning",
        # Of an estimate and of a check.
        "initial-simulation-fails": "error",
        "parameter-without-influence": "error",
        "too-few-samples": "error",
        "time-unit-suspicious": "warning",
        "unit-suspicious": "warning",
        "sign-suspicious": "warning",
        "interfaces-disagree": "warning",
        "integration-error": "warning",
        "communication-step": "warning",
        "model-misfit": "warning",
        "validation-failed": "warning",
        "not-identifiable": "warning",
        "cost-jumps": "warning",
        "rank-undecided": "warning",
        "derivatives-inexact": "warning",
        "no-uncertainty": "warning",
        "at-bound": "warning",
        "constraint-active": "warning",
        "nearly-collinear": "warning",
        "poorly-determined": "warning",
        "estimate-moved": "warning",
        "model-lacks-something": "warning",
        "residuals-correlated": "warning",
        "few-degrees-of-freedom": "warning",
        # Notes of an estimate, in the order of a report.
        "identifiability": "note",
        "fix-first": "note",
        "noise-counted": "note",
        "constraint-kept": "note",
        "cost": "note",
        "largest-error": "note",
        "no-intervals": "note",
        "intervals-unverified": "note",
        "away-from-minimum": "note",
        "lower-cost-elsewhere": "note",
        "parameter-acts-farther": "note",
        "interval-at-bound": "note",
        "interval-cut": "note",
        "interval-curved": "note",
        "interval-by-profile": "note",
        "interval-poor": "note",
        "derivatives-tightened": "note",
        "solver-error-unknown": "note",
        "prior-conflict": "note",
        "posterior-bends": "note",
        "residuals-repeat": "note",
        "residuals-outliers": "note",
        "residuals-short": "note",
        "sigma-too-small": "note",
        "sigma-too-large": "note",
        "noise-not-given": "note",
        "noise-by-spread": "note",
        "noise-unequal": "note",
        "noise-uneven": "note",
        "noise-shared": "note",
        "residuals-waves": "note",
        "residuals-coloured": "note",
        "output-delayed": "note",
        "input-course": "note",
        "validation": "note",
        "stage-start": "note",
        "stage-unused": "note",
        "stage-held-counted": "note",
        "stage-held-known": "note",
        "stage-held-undetermined": "note",
        "stage-held-changed": "note",
        "noise-model": "note",
        "simulations-failed": "note",
        "search": "note",
        "derivatives": "note",
        "reading": "note",
        "engine": "note",
        # Notes of profiles, bootstrap, predictions and cross-validation.
        "result-outdated": "warning",
        "errors-outdated": "note",
        "loss-ignored": "note",
        "profile-stage": "note",
        "profile-not-minimal": "note",
        "replicates-failed": "note",
        "replicates-few": "note",
        "replicates-noise": "note",
        "replicates-prior": "note",
        "band-missing": "note",
        "fold-failed": "note",
        "fold-undetermined": "note",
        "fold-not-converged": "note",
        "fold-gap": "note",
        "other": "note",
    }
)
"""The severity of each code, the gravest code of a severity first."""

_BY_SEVERITY: Mapping[Severity, int] = {"error": 0, "warning": 1, "note": 2}
_RANKS = {code: rank for rank, code in enumerate(SEVERITIES)}


@dataclass(frozen=True)
class Finding:
    """One thing to say.

    Parameters
    ----------
    code
        What kind of finding it is, for programs; usually from :data:`SEVERITIES`.
    severity
        ``"error"``, ``"warning"`` or ``"note"``.
    text
        What is the case: a clause or sentences.
    where
        In which file, if it is about one.
    hint
        What to do next.
    """

    code: str
    severity: Severity
    text: str
    where: Location | None = None
    hint: str = ""

    @classmethod
    def of(cls, diagnostic: Diagnostic) -> Finding:
        """Return what a reader of files or a plugin has reported."""
        d = diagnostic
        return cls(d.rule or "other", d.severity, d.message, d.location, d.hint or "")

    @property
    def diagnostic(self) -> Diagnostic:
        """The same, to be reported at once."""
        return Diagnostic(self.severity, self.text, self.where, self.hint or None, self.code)

    @property
    def sentence(self) -> str:
        """The text as a sentence."""
        return sentence(self.text)

    @property
    def note(self) -> str:
        """Text and hint as sentences."""
        return f"{self.sentence} {sentence(self.hint)}" if self.hint else self.sentence


def finding(code: str, text: str, hint: str = "") -> Finding:
    """Return a finding with the severity of its code."""
    return Finding(code, SEVERITIES[code], text, hint=hint)


class Noted:
    """A result with findings, which it also says in words.

    `contents` is the name of what a terminal and a notebook show of it, as :mod:`fmident` has
    registered it.
    """

    findings: tuple[Finding, ...]
    contents: ClassVar[str]

    def __str__(self) -> str:
        text: str = view(self.contents).text(self)
        return text

    def _repr_html_(self) -> str:
        html: str = view(self.contents).view(self)
        return html

    @property
    def notes(self) -> tuple[str, ...]:
        """The findings in words."""
        return tuple(f.note for f in self.findings)


def reading_notes(diagnostics: Iterable[Diagnostic]) -> list[Finding]:
    """Return what was noted when files were read; a report says it apart from the result."""
    return [Finding("reading", "note", d.message, d.location, d.hint or "") for d in diagnostics]


def gravity(code: str | None, severity: Severity) -> tuple[int, int]:
    """Return the place of a finding among others: the smallest is the gravest."""
    return _BY_SEVERITY[severity], _RANKS.get(code or "", len(_RANKS))


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings without repetitions, the gravest first."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda f: gravity(f.code, f.severity)))
