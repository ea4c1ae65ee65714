"""Read ``[[stages]]``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fmident.errors import Code, ProblemError, did_you_mean
from fmident.problem.cost import Cost
from fmident.problem.model import EstimatorSettings, Parameter, Problem, Stage
from fmident.problem.reading.parameters import within_prior
from fmident.problem.reading.quantities import stays_as_is, to_unit
from fmident.problem.stages import stage_of
from fmident.toml_file import Section


def read_stages(
    root: Section,
    problem: Problem,
    load: Callable[[Path], Problem],
    read_cost: Callable[[Section], Cost],
) -> tuple[Stage, ...]:
    """Read the array ``stages``; empty if the file has none.

    `problem` provides everything that a stage does not override, `load` reads the problem
    file of a stage that has its own, and `read_cost` reads a table ``cost``. Raises
    `ProblemError`.
    """
    tables = root.raw("stages", [])
    if isinstance(tables, Mapping):
        raise root.error("write [[stages]] with double brackets", "stages")
    if not isinstance(tables, list) or not all(isinstance(t, Mapping) for t in tables):
        raise root.wrong("stages", tables, "tables, each written [[stages]]")
    stages: list[Stage] = []
    for position, table in enumerate(tables):
        section = Section(root.source, ("stages", position), table)
        name = section.text("name", f"stage {position + 1}")
        if not name.strip() or name in (s.name for s in stages):
            raise section.error(
                f"two stages are called '{name}'" if name.strip() else "a stage has no name",
                "name",
                hint="give each a name of its own",
            )
        propagate = section.flag("propagate", True)
        if section.has("problem"):
            stage = _from_file(section, name, problem, load)
        else:
            stage = _stage(section, name, problem, read_cost)
        section.finish()
        stages.append(replace(stage, propagate=propagate))
    return tuple(stages)


def _stage(
    section: Section, name: str, problem: Problem, read_cost: Callable[[Section], Cost]
) -> Stage:
    cost = read_cost(section) if section.has("cost") else problem.cost
    estimator = read_estimator(section) if section.has("estimator") else problem.estimator
    free, experiments = section.words("free"), section.words("experiments")
    try:
        stage = stage_of(
            problem, name, free=free, experiments=experiments, cost=cost, estimator=estimator
        )
    except ProblemError as error:
        key = error.key
        keys = section.keys if key is None or not section.has(key) else (*section.keys, key)
        error.location = error.location or section.source.where(keys)
        raise
    return _with_starts(section, stage)


def _with_starts(section: Section, stage: Stage) -> Stage:
    """Read the initial values and bounds set by a stage itself."""
    tables = section.table("parameters", {})
    known = {q.name: q for q in stage.problem.parameters}
    starts: dict[str, float] = {}
    for name, _ in tables.items():
        if name not in known:
            raise tables.error(
                f"stage '{stage.name}' has no parameter '{name}'",
                name,
                hint=did_you_mean(name, known, kind="parameter"),
                code=Code.UNKNOWN_NAME,
            )
        own = tables.table(name)
        known[name] = _parameter(own, known[name], starts)
        own.finish()
    parameters = tuple(known[q.name] for q in stage.problem.parameters)
    return Stage(stage.name, replace(stage.problem, parameters=parameters), starts)


def _parameter(section: Section, q: Parameter, starts: dict[str, float]) -> Parameter:
    if not q.searched:
        held = q.expression is None
        raise section.error(
            f"{section.title}: '{q.name}' "
            + ("is held in this stage" if held else "follows from other parameters"),
            hint=("name it in 'free', or " if held else "") + "remove the table",
        )
    unit = section.text("unit", None)
    place = section.source.where(section.keys)
    if stays_as_is(unit, q.unit):
        raise section.error(
            f"{section.title} is in '{unit}', but '{q.name}' itself has no unit",
            "unit",
            hint=f"write 'unit' in [parameters.{q.name}], too, or leave it out here",
        )

    def converted(value: float, what: str) -> float:
        return float(to_unit(value, unit, q.unit, f"{what} of '{q.name}'", place))  # type: ignore[arg-type]

    bounds, initial = section.pair("bounds"), section.number("initial", None)
    if bounds is not None:
        lower, upper = (converted(b, "the bounds") for b in bounds)
        if not lower < upper:
            raise section.error(
                f"the bounds of '{q.name}' are [{lower:g}, {upper:g}]:"
                " the lower one must be below the upper one",
                "bounds",
                hint="write bounds = [lower, upper]",
            )
        if q.scaling == "log" and lower <= 0.0:
            raise section.error(
                f"'{q.name}' has log scaling, so its bounds must be positive", "bounds"
            )
        if q.prior is not None:
            within_prior(section, q.name, q.prior, (lower, upper), given=True)
        q = replace(q, lower=lower, upper=upper)
    if initial is not None:
        value = converted(initial, "the initial value")
        if not q.lower <= value <= q.upper:
            raise section.error(
                f"the initial value {value:g} of '{q.name}' lies outside its bounds"
                f" [{q.lower:g}, {q.upper:g}]",
                "initial",
            )
        starts[q.name] = value
    inside = min(max(starts.get(q.name, q.initial), q.lower), q.upper)
    return replace(q, initial=inside)


def _from_file(
    section: Section, name: str, problem: Problem, load: Callable[[Path], Problem]
) -> Stage:
    """Return a stage whose model, data, cost and estimator are in its own file."""
    path = Path(section.source.path).parent / section.text("problem")
    for key in ("free", "experiments", "cost", "estimator", "parameters"):
        if section.has(key):
            raise section.error(
                f"stage '{name}' has a problem file of its own, so '{key}' belongs there", key
            )
    if not path.is_file():
        near = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise section.error(
            f"stage '{name}': there is no problem file '{path}'",
            "problem",
            hint=did_you_mean(path.name, near, kind="file") if near else "check the path",
            code=Code.UNKNOWN_NAME,
        )
    if path.resolve() == Path(section.source.path).resolve():
        raise section.error(f"stage '{name}' is this file itself", "problem")
    own = load(path)
    if own.stages:
        raise section.error(
            f"stage '{name}': '{path}' has stages of its own",
            "problem",
            hint="write them one after the other in this file",
        )
    if own.validation:
        raise section.error(
            f"stage '{name}': the experiment '{own.validation[0].name}' of '{path}' is for"
            " validation, which only the experiments of this file can be",
            "problem",
            hint="leave it out there; write it in this file if its FMU is the same",
            code=Code.NOT_SUPPORTED,
        )
    known = {q.name: q for q in problem.parameters}
    shared = [q for q in own.free if q.name in known]
    if not shared:
        raise section.error(
            f"stage '{name}' finds no parameter of this file: '{path}' searches"
            f" {', '.join(repr(q.name) for q in own.free)}",
            "problem",
            hint="give them the same names: the values are handed on by name",
        )
    for q in shared:
        other = known[q.name].unit
        if q.unit is not None and other is not None and q.unit != other:
            raise section.error(
                f"stage '{name}': '{q.name}' is in '{q.unit}' there and in '{other}' here",
                "problem",
            )
    return Stage(name, own, separate=True)


def read_estimator(owner: Section) -> EstimatorSettings:
    """Read the table ``estimator`` of the file or of a stage."""
    section = owner.table("estimator", {"name": "least-squares"})
    name = section.text("name", "least-squares")
    options: dict[str, Any] = {key: value for key, value in section.items() if key != "name"}
    return EstimatorSettings(name, options)
