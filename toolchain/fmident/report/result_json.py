"""``result.json``: the result for programs, written and read.

A ``null`` standard error means that there is none, a ``null`` end of an interval that it is open
where ``interval_known`` is true, else that there is no interval.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fmident._json import checked
from fmident.estimation.comparisons import (
    CountedNoise,
    DrawnParameter,
    DrawnPosterior,
    ExcludedSamples,
    Influence,
    InputSignal,
    OutputFit,
    OutputSensitivity,
    PriorKnowledge,
    Validation,
)
from fmident.estimation.result import (
    BaseParameter,
    ConstraintCheck,
    DerivativeCheck,
    EstimationResult,
    Factor,
    ParameterEstimate,
    StageResult,
    StageUncertainty,
)
from fmident.findings import Finding, finding
from fmident.report.codec import Codec, Form, Json, Layout, read_file, written_by
from fmident.report.verdict import findings_of
from fmident.statistics.identifiability import FixingStep, Identifiability

FILE_NAME, PAGE = "result.json", "report.html"

OPEN = (-math.inf, math.inf)
_NOTHING = np.empty(0)
_COST = {
    "cost_initial": "cost.initial",
    "cost_final": "cost.final",
    "cost": "cost.name",
    "cost_options": "cost.options",
}
_NO_COST = {"cost_initial": math.inf, "cost_final": math.inf}


def as_json(result: EstimationResult, version: str) -> Json:
    """Return the content of ``result.json``, as a version of fmident writes it."""
    return {**CODEC.dump(result), "fmident": version}


@dataclass(frozen=True)
class StoredResult:
    """Contents of a result folder.

    `result` is from ``result.json``, without time series and history. `version` is that of
    fmident that wrote it, empty if unknown, and `samples` the number of compared samples by
    experiment and output, including validation.
    """

    result: EstimationResult
    page: Path | None
    version: str = ""
    samples: Mapping[tuple[str, str], int] = field(default_factory=dict)


def read_result(path: Path) -> StoredResult:
    """Read a result folder, or its ``result.json``.

    Raises
    ------
    fmident.errors.EstimationError
        There is no ``result.json``, or it was not written by fmident.
    """
    file = path / FILE_NAME if path.is_dir() else path
    page = file.parent / PAGE

    def convert(content: Json) -> StoredResult:
        version = checked(content.get("fmident", ""), str, "fmident")
        there = page if page.is_file() else None
        return StoredResult(result_of(content), there, version, _samples(content))

    return read_file(file, convert, "a result of fmident", written_by("estimate"))


def result_of(content: Any, place: str = "") -> EstimationResult:
    """Return the result from the content of a ``result.json``.

    Raises `ValueError` for content that fmident does not write.
    """
    result: EstimationResult = CODEC.load(EstimationResult, content, place)
    checked_matrices(result, sum(e.searched for e in result.estimates))
    return result


def checked_matrices(result: Any, size: int) -> None:
    """Check that covariance and correlation have a row for each free parameter, or none.

    Raises
    ------
    ValueError
        One has another shape.
    """
    for name in ("covariance", "correlation"):
        if getattr(result, name).shape not in ((0,), (size, size)):
            raise ValueError(f"'{name}' has not {size} rows and columns")


def _samples(content: Json) -> dict[tuple[str, str], int]:
    """Return the numbers of samples; results of earlier versions have none."""
    parts = [content, *([content["validation"]] if content.get("validation") else [])]
    return {
        (e["name"], name): CODEC.load(int, output["samples"], f"experiments.{name}.samples")
        for part in parts
        for e in part["experiments"]
        for name, output in e["outputs"].items()
        if "samples" in output
    }


@dataclass(frozen=True)
class _ExperimentFits:
    name: str
    outputs: tuple[OutputFit, ...]


def _experiments(fits: Sequence[OutputFit]) -> list[_ExperimentFits]:
    names = dict.fromkeys(f.experiment for f in fits)
    return [_ExperimentFits(n, tuple(f for f in fits if f.experiment == n)) for n in names]


def _fits(value: Any, place: str) -> tuple[OutputFit, ...]:
    return tuple(
        dataclasses.replace(fit, experiment=e.name)
        for e in CODEC.load(tuple[_ExperimentFits, ...], value, place)
        for fit in e.outputs
    )


_FITS = Form(_experiments, _fits)


def _whole(value: Any, place: str) -> int:
    number: float = CODEC.load(float, value, place)
    if not number.is_integer():
        raise ValueError(f"'{place}' is not a whole number")
    return int(number)


def opened(pair: Any, *, is_open: bool) -> Any:
    """Return the ends of an interval, infinite in place of ``None`` where it is open."""
    if not is_open or not isinstance(pair, list) or len(pair) != 2:
        return pair
    return [end if value is None else value for value, end in zip(pair, OPEN, strict=True)]


def _parameter(content: Json) -> Json:
    known = checked(content.get("interval_known", True), bool, "interval_known")
    if "interval_95" not in content:
        return content
    ends = opened(content["interval_95"], is_open=known)
    unsure = content.get("at_bound", False) and content.get("standard_error") is None
    whole = opened(content.get("bounds", [*OPEN]), is_open=True)
    # Earlier versions did not say whether the data push a parameter onto its bound.
    return {"held": unsure and not (known and ends == whole), **content, "interval_95": ends}


def _influence(content: Json) -> Json:
    """Return it with the infinite move of what is invisible."""
    unseen = content.get("moved_by", 0.0) is None and content.get("share") == 0.0
    return {**content, "moved_by": math.inf} if unseen else content


def _coded(findings: Iterable[Finding]) -> list[Json]:
    return [
        {"code": f.code, "severity": f.severity, "text": f.text, "hint": f.hint} for f in findings
    ]


def _stored_findings(content: Json) -> list[Json]:
    """Return the notes with their codes; results of earlier versions have texts alone."""
    texts: tuple[str, ...] = CODEC.load(tuple[str, ...], content.get("notes", []), "notes")
    stored: tuple[Finding, ...] = CODEC.load(
        tuple[Finding, ...], content.get("findings", []), "findings"
    )
    coded = {f.note: f for f in stored}
    return _coded(coded.get(text, finding("other", text)) for text in texts)


def noted(layout: Layout) -> Layout:
    """Return the layout of a result with findings, which are written with their words, too."""
    return dataclasses.replace(
        layout,
        unwritten=(*layout.unwritten, "findings"),
        computed={
            **layout.computed,
            "notes": lambda r: r.notes,
            "findings": lambda r: _coded(r.findings),
        },
        prepare=lambda content: layout.prepare({**content, "findings": _stored_findings(content)}),
    )


def _result(content: Json) -> Json:
    """Return it with what earlier versions did not write: variables, codes of findings."""
    parameters = checked(content.get("parameters"), dict, "parameters")
    named = {
        name: {"variable": name, **checked(one, dict, f"parameters.{name}")}
        for name, one in parameters.items()
    }
    return {**content, "parameters": named, "findings": _stored_findings(content)}


def _derivatives(content: Json) -> Json:
    """Return it with the key that was another before version 0.2 was ready."""
    return {"ignores_tolerance": content.get("heedless", False), **content}


LAYOUTS: dict[type, Layout] = {
    EstimationResult: Layout(
        keys={
            "estimates": "parameters",
            "fits": "experiments",
            "seconds": "wall_time_s",
            "fmu_name": "fmu.name",
            "fmu_guid": "fmu.guid",
            "fmu_tool": "fmu.generation_tool",
            **_COST,
        },
        omitted={"history": (), "series": (), "generations": (), "whitened": (), "fmu_path": None},
        by_name={"estimates": "name", "base_parameters": "name"},
        missing={"covariance": _NOTHING, "correlation": _NOTHING},
        null=_NO_COST,
        unwritten=("findings",),
        computed={
            "free_parameters": lambda r: [e.name for e in r.estimates if e.searched],
            "notes": lambda r: r.notes,
            "findings": lambda r: _coded(findings_of(r)),
        },
        forms={"fits": _FITS},
        prepare=_result,
    ),
    ParameterEstimate: Layout(
        keys={"lower": "bounds.0", "upper": "bounds.1"},
        omitted={"factors": ()},
        missing={"description": "", "fixed": False, "lower": OPEN[0], "upper": OPEN[1]},
        null={"lower": OPEN[0], "upper": OPEN[1]},
        computed={"interval_known": lambda e: not any(map(math.isnan, e.interval_95))},
        prepare=_parameter,
    ),
    BaseParameter: Layout(
        keys={"expression": "formula"},
        omitted={
            "description": "",
            "lower": OPEN[0],
            "upper": OPEN[1],
            "at_bound": False,
            "held": False,
            "fixed": False,
            "variable": None,
            "experiments": None,
            "base": (),
            "curvature": None,
            "interval_kind": "",
        },
    ),
    Factor: Layout(forms={"power": Form(int, _whole)}),
    Identifiability: Layout(omitted={"determined": ()}),
    FixingStep: Layout(null={"before": math.inf, "after": math.inf}),
    DerivativeCheck: Layout(null={"share": 0.0, "step_share": 0.0}, prepare=_derivatives),
    _ExperimentFits: Layout(by_name={"outputs": "name"}),
    OutputFit: Layout(
        omitted={"experiment": "", **dict.fromkeys(
            ("times", "measured", "initial", "fitted", "sigma"), _NOTHING
        )},
        computed={"samples": lambda f: np.count_nonzero(np.isfinite(f.measured))},
    ),
    ExcludedSamples: Layout(
        keys={"count": "samples"}, omitted={"times": _NOTHING, "values": _NOTHING}
    ),
    Validation: Layout(keys={"fits": "experiments"}, forms={"fits": _FITS}),
    InputSignal: Layout(omitted={"times": _NOTHING, "values": _NOTHING}),
    OutputSensitivity: Layout(
        keys={"name": "output", "influences": "parameters"},
        omitted={"times": _NOTHING, "values": np.empty((0, 0))},
    ),
    Influence: Layout(keys={"move": "moved_by"}, prepare=_influence),
    CountedNoise: Layout(null={"degrees_of_freedom": math.inf}),
    PriorKnowledge: Layout(
        keys={"checks": "parameters"}, computed={"conflict": lambda k: [c.name for c in k.conflict]}
    ),
    DrawnPosterior: Layout(
        omitted={"values": np.empty((0, 0, 0)), "densities": np.empty((0, 0))}
    ),
    DrawnParameter: Layout(computed={"error": lambda p: p.error}),
    ConstraintCheck: Layout(missing=dict.fromkeys(("equality", "active", "violated"), False)),
    StageUncertainty: Layout(keys={"conditional_errors": "conditional_standard_errors"}),
    StageResult: Layout(
        keys=_COST,
        omitted={"identifiability": None},
        null=_NO_COST,
        computed={"verdict": lambda s: s.identifiability and s.identifiability.verdict},
    ),
}  # fmt: skip
"""Layouts of an estimate, which may also be a part of other files."""

CODEC = Codec(LAYOUTS)
