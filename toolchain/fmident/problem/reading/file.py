"""Read a problem file (TOML) into a :class:`Problem`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from fmident._fmu_suggestions import advice
from fmident.data import Experiment, Reader, Table
from fmident.data.table import InMemory
from fmident.errors import (
    Code,
    CompilationError,
    FmuError,
    PluginError,
    ProblemError,
    did_you_mean,
    nearest_file,
    unknown_name,
)
from fmident.fmu import ModelDescription, read_description, resized
from fmident.fmu.setup import Interpolation
from fmident.problem.constraints import check_constraints
from fmident.problem.cost import Cost, TimeDomain
from fmident.problem.expressions import Constraint, read_constraint
from fmident.problem.model import (
    EstimatorSettings,
    EvaluationSettings,
    Parameter,
    Problem,
    ProblemFile,
    Stage,
    with_notes,
)
from fmident.problem.reading.experiments import read_experiment, read_experiments
from fmident.problem.reading.parameters import (
    Quantity,
    in_expression,
    read_bounds,
    read_parameters,
)
from fmident.problem.reading.quantities import start_values, stays_as_is, with_own_units
from fmident.problem.reading.tables import (
    ExperimentTable,
    ModelTable,
    ParameterTable,
    ProblemTables,
    StageTable,
    StartTable,
    several,
)
from fmident.problem.residuals import check_cost
from fmident.problem.settings_keys import setting_keys
from fmident.problem.stages import stage_of
from fmident.problem.validate import input_notes, validate_problem
from fmident.toml_file import Section, Source, parse_toml, read_text

if TYPE_CHECKING:
    import pandas as pd


class TakesOptions(Protocol):
    """The part of an executor needed to read a problem file."""

    @property
    def options_type(self) -> type[Any]:
        """A dataclass whose fields are keys of ``[evaluation]``."""


Executors: TypeAlias = Mapping[str, TakesOptions]
"""Executors by name."""

ModelResolver: TypeAlias = Callable[[str, Mapping[str, Any], Path], Path]
"""``(class name, [model] table, folder of the problem file) -> FMU``; builds it if needed."""

CostResolver: TypeAlias = Callable[[str], type[Cost]]
"""Name of a cost to its class; raises :class:`~fmident.errors.PluginError` if there is none."""


@dataclass(frozen=True)
class Plugins:
    """What plugins bring that a problem file can name.

    Parameters
    ----------
    model
        Finds or builds the FMU of ``model.class``; ``None``: only FMUs can be named.
    reader
        Reads data formats other than CSV.
    cost
        Finds costs; ``None``: there is ``time-domain`` only.
    executors
        Those that there are, by name; ``None``: any name is taken.
    """

    model: ModelResolver | None = None
    reader: Reader | None = None
    cost: CostResolver | None = None
    executors: Executors | None = None


NO_PLUGINS = Plugins()


def problem_from_file(
    path: str | Path, *, text: str | None = None, plugins: Plugins = NO_PLUGINS
) -> Problem:
    """Read a problem file, its data, and the description of its FMU.

    Parameters
    ----------
    path
        The TOML file; paths in it are relative to its folder.
    text
        What to read in place of the file's content.
    plugins
        What a problem file can name besides files.

    Returns
    -------
    Problem
        With the text as read and `notes` on what was taken for granted.

    Raises
    ------
    ProblemError
        Unknown keys, wrong types, names and units that contradict the FMU or the data; with
        the line of the file.
    fmident.errors.DataError, fmident.errors.FmuError, fmident.errors.CompilationError
        From the files that the problem names.
    """
    path = Path(path)
    if text is None:
        text = read_problem_file(path)
    return read_problem(Source(path, text), path.parent, plugins=plugins)


def read_problem(
    source: Source,
    base: Path,
    *,
    frames: Mapping[str, pd.DataFrame] | None = None,
    plugins: Plugins = NO_PLUGINS,
) -> Problem:
    """Read a problem from a text: as :func:`problem_from_file`, which reads it from a file.

    Paths in it are relative to `base`; `frames` are the data in memory, by names of files, of a
    problem that is made in Python.
    """
    text = source.text
    root = Section(source, (), parse_toml(text, source.path))
    tables = root.read(ProblemTables)
    reader = plugins.reader if frames is None else InMemory(frames, plugins.reader)
    fmu, description, shared = read_model(tables.model, base, plugins)
    evaluation = read_evaluation(root.inner("evaluation"), plugins.executors)
    try:
        description = description.with_interface(evaluation.interface)
    except FmuError as error:
        raise root.inner("evaluation").at_key(error, "interface") from error
    description = with_own_units(tables, description)
    if not tables.experiments:
        raise root.error(
            "the problem has no experiments", hint="add [[experiments]] with data and outputs"
        )
    experiments = read_experiments(
        tables.experiments,
        description,
        base,
        reader,
        interpolation=evaluation.interpolation,
        given=shared,
    )
    parameters, as_is = read_parameters(
        tables.parameters, description, experiments.everything, root, tables.constraints.values()
    )
    problem = Problem(
        fmu=fmu,
        parameters=parameters,
        experiments=experiments.fitted,
        validation=experiments.validation,
        estimator=read_estimator(root.inner("estimator")),
        evaluation=evaluation,
        cost=read_cost(root.inner("cost"), plugins),
        start_values=shared,
        file=ProblemFile(
            source.path if frames is None else None,
            text,
            frames=frames or {},
            experiments=tuple(e.name for e in experiments.everything),
        ),
    )
    read = [note for e in experiments.everything for note in e.notes]
    # A note on a column of several experiments is given once.
    once = {(n.rule, n.message): n for n in reversed([*read, *as_is])}.values()
    notes = (*reversed(once), *input_notes(problem, description))
    problem = with_constraints(root.inner("constraints"), with_notes(problem, notes))

    stages = read_stages(
        tables.stages,
        problem,
        lambda other: problem_from_file(other, plugins=replace(plugins, reader=reader)),
        lambda section: read_cost(section, plugins),
    )
    validate_problem(problem, description, where=root.where)
    if not stages:
        check_cost(problem, root.where("cost"))
    for position, stage in enumerate(stages):
        if not stage.separate:
            check_cost(stage.problem, root.where("stages", position, "cost"))
    return replace(problem, stages=stages)


def experiment_from_file(
    path: str | Path,
    number: int,
    *,
    fmu: str | Path,
    text: str | None = None,
    reader: Reader | None = None,
    table: Table | None = None,
) -> tuple[Experiment, dict[str, float]]:
    """Read one experiment of a problem file, which need not be finished.

    The experiment is that of :func:`problem_from_file`, but for the weights of outputs without
    sigma. Inputs without a column are not refused.

    Parameters
    ----------
    path
        The TOML file; paths in it are relative to its folder.
    number
        Of the experiment, counted from 0.
    fmu
        The FMU, in place of that of ``[model]``.
    text
        What to read in place of the file's content.
    reader
        Reads data formats other than CSV.
    table
        The experiment's data file, if it has been read already.

    Returns
    -------
    tuple
        The experiment, whose ``interpolation`` says of each input how it runs between samples:
        ``"hold"``, ``"linear"`` or ``"mean"``. The initial values of the parameters that its
        measurement model names.

    Raises
    ------
    ProblemError
        What the file says of the experiment, or of these parameters, is wrong.
    fmident.errors.DataError, fmident.errors.FmuError
        From the files.
    """
    root = read_toml(path, text)
    place = root.inner("model", "start_values")
    description = resized(read_description(Path(fmu)), dict(place.content))
    experiment = read_experiment(
        root.inner("experiments", number).read(ExperimentTable),
        number,
        description,
        Path(path).parent,
        reader,
        "auto",
        [v.name for v in description.inputs],
        table,
    )
    settings = root.inner("evaluation").content
    general = settings.get("interpolation", "auto")
    description = description.with_interface(settings.get("interface", "auto"))
    courses: dict[str, Interpolation] = {}
    for name in experiment.inputs:
        asked = experiment.interpolation.get(name, general)
        held = description.holds_input(name, asked)
        courses[name] = "hold" if held else "mean" if asked == "mean" else "linear"
    experiment = replace(experiment, interpolation=courses)
    references = {name for m in experiment.measurements for name in m.references}
    if not references:
        return experiment, {}
    given = root.inner("parameters")
    tables = {n: given.inner(n).read(ParameterTable) for n in given.content}
    parameters, _ = read_parameters(tables, description, (experiment,), root)
    return experiment, {q.name: q.initial for q in parameters if q.name in references}


def read_model(
    model: ModelTable, base: Path, plugins: Plugins
) -> tuple[Path, ModelDescription, dict[str, float | int | bool | str]]:
    """Return the FMU of ``[model]``, its description and the start values.

    Paths are relative to `base`, and `plugins` build the FMU of ``model.class``. The
    description has arrays of the sizes that the start values give.
    """
    fmu = _fmu(model, base, plugins.model)
    description = read_description(fmu)
    given = model.section.inner("start_values")
    if not given.content:
        return fmu, description, {}
    try:
        description = resized(description, dict(given.content))
    except FmuError as error:
        raise given.at_key(error) from error
    return fmu, description, dict(start_values(given, description))


def read_toml(path: str | Path, text: str | None = None) -> Section:
    """Return the root table of a TOML file, or of `text` instead of its content."""
    path = Path(path)
    if text is None:
        text = read_problem_file(path)
    return Section(Source(path, text), (), parse_toml(text, path))


def read_problem_file(path: str | Path) -> str:
    """Return the text of a problem file after checking that it is valid TOML.

    Raises `ProblemError`, with line and column, if it is missing, a folder, no text or not
    TOML.
    """
    path = Path(path)
    text = read_text(path, "problem file", "problem.toml", ProblemError)
    parse_toml(text, path)
    return text


def _fmu(model: ModelTable, base: Path, resolve_model: ModelResolver | None) -> Path:
    section = model.section
    if (model.fmu is None) == (model.class_name is None):
        raise section.error(
            "[model] needs either 'fmu' or 'class'"
            + (", not both" if model.fmu is not None else ""),
            hint='fmu = "path.fmu" for an existing FMU, class = "Package.Model" to build one',
        )
    if model.fmu is None:
        return _built(model, str(model.class_name), base, resolve_model)
    for key in ("sources", "compiler", "fmu_folder"):
        if section.has(key):
            raise section.error(f"'{key}' requires 'class', not 'fmu'", key)
    path: Path = base / model.fmu
    if not path.exists():
        raise section.error(
            f"there is no FMU '{path}'",
            "fmu",
            hint=advice(path, base),
            code=Code.UNKNOWN_NAME,
        )
    return path


def _built(
    model: ModelTable, class_name: str, base: Path, resolve_model: ModelResolver | None
) -> Path:
    section = model.section
    if resolve_model is None:
        raise section.error("'class' needs a compiler; give 'fmu' instead", "class")
    for source in several(model.sources):
        if not (base / source).exists():
            raise section.error(
                f"there is no source '{base / source}'",
                "sources",
                hint="paths are relative to the problem file; name a Modelica file, a package's"
                " folder or the folder above it",
                code=Code.UNKNOWN_NAME,
            )
    try:
        return resolve_model(class_name, dict(section.content), base)
    except CompilationError as error:
        if error.diagnostics:  # these have places of their own
            raise
        raise section.at_key(error, "class") from error


def read_estimator(section: Section) -> EstimatorSettings:
    """Return the estimator and its options as the user wrote them; by default least squares."""
    choice = section.read(_Choice, besides=section.content)
    options = {key: value for key, value in section.content.items() if key != "name"}
    return EstimatorSettings(choice.name or "least-squares", options)


@dataclass(frozen=True)
class _Choice:
    """What ``[estimator]`` or ``[cost]`` names."""

    name: str | None = None


def read_cost(section: Section, plugins: Plugins) -> Cost:
    """Return the cost of the file or of a stage; the default cost if the table is absent.

    Raises `ProblemError` for an unknown cost or unknown options.
    """
    name = section.read(_Choice, besides=section.content).name or TimeDomain.name
    kind: type[Cost] = TimeDomain
    if name != TimeDomain.name:
        if plugins.cost is None:
            message = f"there is no cost '{name}' without plugins"
            raise section.error(message, "name", code=Code.UNKNOWN_NAME)
        try:
            kind = plugins.cost(name)
        except PluginError as error:
            raise section.at_key(error, "name") from error
    return section.read(kind, owner=name, besides=("name",))


def read_evaluation(section: Section, executors: Executors | None = None) -> EvaluationSettings:
    """Return the settings of ``[evaluation]``, with the options of the executor it names.

    Without `executors`, any executor name is accepted, but no options. Raises
    `ProblemError`, with the line, for wrong types, unknown values and numbers out of range.
    """
    own = [s.key for s in setting_keys(EvaluationSettings)]
    further = [key for key in section.content if key not in own]
    chosen = section.content.get("executor", EvaluationSettings.executor)
    known = executors or {}
    # What is not asked for is not imported.
    kinds = {n: known[n].options_type for n in (known if further else [chosen]) if n in known}
    options = {n: {f.name for f in dataclasses.fields(kind)} for n, kind in kinds.items()}
    of_chosen = options.get(chosen, set())
    for name, keys in options.items():
        for key in further:
            if key in keys and key not in of_chosen:
                raise section.error(
                    f'[evaluation]: \'{key}\' requires executor = "{name}", not "{chosen}"', key
                )
    settings = section.read(EvaluationSettings, besides=of_chosen)
    if executors is not None and chosen not in executors:
        names = ", ".join(f'"{n}"' for n in sorted(executors))
        raise section.error(
            f"[evaluation]: 'executor' is {chosen!r}; it must be one of {names}",
            "executor",
            hint=did_you_mean(chosen, sorted(executors), kind="choice"),
            code=Code.NOT_A_CHOICE,
        )
    if not of_chosen:
        return settings
    given = {key: section.content[key] for key in further}
    own_section = Section(section.source, section.keys, given)
    return replace(settings, executor_options=own_section.read(kinds[chosen], owner=chosen))


def with_constraints(section: Section, problem: Problem) -> Problem:
    """Return the problem with the constraints of its file, and notes on them.

    `problem` has all parameters. Raises `ProblemError` if a constraint cannot be parsed,
    names an unknown parameter or compares different dimensions, or if they contradict each
    other.
    """
    constraints: list[Constraint] = []
    for name, text in section.content.items():
        try:
            constraints += read_constraint(name, text)
        except ProblemError as error:
            raise in_expression(section, name, error) from error
    if not constraints:
        return problem
    asked = replace(problem, constraints=tuple(constraints))
    try:
        remaining, notes = check_constraints(asked)
    except ProblemError as error:
        raise in_expression(section, str(error.key), error) from error
    located = tuple(
        note if note.location else replace(note, location=section.where(str(key)))
        for key, note in notes
    )
    return with_notes(replace(problem, constraints=remaining), (*problem.notes, *located))


def read_stages(
    tables: Sequence[StageTable],
    problem: Problem,
    load: Callable[[Path], Problem],
    read_cost: Callable[[Section], Cost],
) -> tuple[Stage, ...]:
    """Return the stages of ``[[stages]]``.

    `problem` provides everything that a stage does not override, `load` reads the problem
    file of a stage that has its own, and `read_cost` reads a table ``cost``. Raises
    `ProblemError`.
    """
    stages: list[Stage] = []
    for position, table in enumerate(tables):
        name = f"stage {position + 1}" if table.name is None else table.name
        if not name.strip() or name in (s.name for s in stages):
            raise table.section.error(
                f"two stages are called '{name}'" if name.strip() else "a stage has no name",
                "name",
                hint="give each a name of its own",
            )
        if table.problem is not None:
            stage = _from_file(table.section, name, table.problem, problem, load)
        else:
            stage = _stage(table, name, problem, read_cost)
        stages.append(replace(stage, propagate=table.propagate))
    return tuple(stages)


def _stage(
    table: StageTable, name: str, problem: Problem, read_cost: Callable[[Section], Cost]
) -> Stage:
    section, cost, estimator = table.section, problem.cost, problem.estimator
    if table.cost is not None:
        cost = read_cost(section.inner("cost"))
    if table.estimator is not None:
        estimator = read_estimator(section.inner("estimator"))
    try:
        stage = stage_of(
            problem,
            name,
            free=table.free,
            experiments=table.experiments,
            cost=cost,
            estimator=estimator,
        )
    except ProblemError as error:
        keys = [error.key] if error.key is not None and section.has(error.key) else []
        error.location = error.location or section.where(*keys)
        raise
    return _with_starts(table, stage)


def _with_starts(table: StageTable, stage: Stage) -> Stage:
    known = {q.name: q for q in stage.problem.parameters}
    starts: dict[str, float] = {}
    for name, own in table.parameters.items():
        if name not in known:
            raise own.section.error(
                f"stage '{stage.name}' has no parameter '{name}'",
                **unknown_name(name, known, "parameter"),
            )
        known[name] = _started(own, known[name], starts)
    parameters = tuple(known[q.name] for q in stage.problem.parameters)
    return Stage(stage.name, replace(stage.problem, parameters=parameters), starts)


def _started(table: StartTable, q: Parameter, starts: dict[str, float]) -> Parameter:
    section = table.section
    if not q.searched:
        held = q.expression is None
        raise section.error(
            f"{section.title}: '{q.name}' "
            + ("is held in this stage" if held else "follows from other parameters"),
            hint=("name it in 'free', or " if held else "") + "remove the table",
        )
    if stays_as_is(table.unit, q.unit):
        raise section.error(
            f"{section.title} is in '{table.unit}', but '{q.name}' itself has no unit",
            "unit",
            hint=f"write 'unit' in [parameters.{q.name}], too, or leave it out here",
        )
    quantity = Quantity(q.name, None, table.unit, q.unit, section.where())
    if table.bounds is not None:
        lower, upper = read_bounds(
            table, q.name, (q.lower, q.upper), q.scaling, q.prior, quantity.converted
        )
        if not lower < upper:
            raise section.error(
                f"the bounds of '{q.name}' are [{lower:g}, {upper:g}]:"
                " the lower one must be below the upper one",
                "bounds",
                hint="write bounds = [lower, upper]",
            )
        q = replace(q, lower=lower, upper=upper)
    if table.initial is not None:
        value = quantity.converted(table.initial, "the initial value")
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
    section: Section, name: str, file: str, problem: Problem, load: Callable[[Path], Problem]
) -> Stage:
    """Return a stage whose model, data, cost and estimator are in its own file."""
    path = Path(section.source.path).parent / file
    for key in ("free", "experiments", "cost", "estimator", "parameters"):
        if section.has(key):
            raise section.error(
                f"stage '{name}' has a problem file of its own, so '{key}' belongs there", key
            )
    if not path.is_file():
        raise section.error(
            f"stage '{name}': there is no problem file '{path}'",
            "problem",
            hint=nearest_file(path, "*.toml"),
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
            hint="give them the same names: values are passed on by name",
        )
    for q in shared:
        other = known[q.name].unit
        if q.unit is not None and other is not None and q.unit != other:
            raise section.error(
                f"stage '{name}': '{q.name}' is in '{q.unit}' there and in '{other}' here",
                "problem",
            )
    return Stage(name, own, separate=True)
