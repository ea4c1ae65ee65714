"""Read a problem file (TOML) into a :class:`Problem`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fmident._known_fmus import advice
from fmident.data import Reader
from fmident.data.table import InMemory
from fmident.errors import (
    Code,
    CompilationError,
    Diagnostic,
    FmuError,
    Location,
    PluginError,
    ProblemError,
    did_you_mean,
)
from fmident.fmu import ModelDescription, read_description, resized
from fmident.problem.constraints import check_constraints
from fmident.problem.cost import Cost, TimeDomain
from fmident.problem.expressions import Constraint, read_constraint
from fmident.problem.model import Problem, ProblemFile, with_notes
from fmident.problem.reading.evaluation_file import Executors, read_evaluation
from fmident.problem.reading.experiments import read_experiments
from fmident.problem.reading.parameters import in_expression, read_parameters
from fmident.problem.reading.quantities import start_values, with_own_units
from fmident.problem.reading.stages_file import read_estimator, read_stages
from fmident.problem.residuals import check_cost
from fmident.problem.validate import input_notes, validate_problem
from fmident.toml_file import Section, Source, build_dataclass, parse_toml

if TYPE_CHECKING:
    import pandas as pd


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


def load_problem(
    path: str | Path,
    *,
    text: str | None = None,
    plugins: Plugins = NO_PLUGINS,
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
    """Read a problem from a text: as :func:`load_problem`, which reads it from a file.

    Parameters
    ----------
    source
        The text, and where it is from.
    base
        Folder to which paths in it are relative.
    frames
        For a problem that is made in Python: data in memory under the names of files.
    plugins
        As for :func:`load_problem`.
    """
    text = source.text
    root = Section(source, (), parse_toml(text, source.path))
    reader = plugins.reader if frames is None else InMemory(frames, plugins.reader)
    fmu, description, shared = read_model(root, base, plugins)
    evaluation = read_evaluation(root, plugins.executors)
    try:
        description = description.with_interface(evaluation.interface)
    except FmuError as error:
        at = root.table("evaluation")
        raise at.at_key(error, "interface") from error
    description = with_own_units(root, description)
    experiments = read_experiments(
        root.source,
        _experiment_tables(root),
        description,
        base,
        reader,
        interpolation=evaluation.interpolation,
        given=shared,
    )
    parameters, as_is = read_parameters(root, description, experiments.everything)
    problem = Problem(
        fmu=fmu,
        parameters=parameters,
        experiments=experiments.fitted,
        validation=experiments.validation,
        estimator=read_estimator(root),
        evaluation=evaluation,
        cost=read_cost(root, plugins),
        start_values=shared,
        file=ProblemFile(
            source.path if frames is None else None,
            text,
            frames=frames or {},
            experiments=tuple(e.name for e in experiments.everything),
        ),
    )
    read = [note for e in experiments.everything for note in e.notes]
    # What is said of a column of several experiments is said once.
    once = {(n.rule, n.message): n for n in reversed([*read, *as_is])}.values()
    notes = (*reversed(once), *input_notes(problem, description))
    problem = with_constraints(root, with_notes(problem, notes))

    stages = read_stages(
        root,
        problem,
        lambda other: load_problem(other, plugins=replace(plugins, reader=reader)),
        lambda section: read_cost(section, plugins),
    )
    root.finish()
    validate_problem(problem, description, where=lambda *keys: root.source.where(keys))
    if not stages:
        check_cost(problem, root.source.where(("cost",)))
    for position, stage in enumerate(stages):
        if not stage.separate:
            check_cost(stage.problem, root.source.where(("stages", position, "cost")))
    return replace(problem, stages=stages)


def read_model(
    root: Section, base: Path, plugins: Plugins
) -> tuple[Path, ModelDescription, dict[str, float | int | bool | str]]:
    """Read ``[model]``.

    Parameters
    ----------
    root
        The file.
    base
        Folder to which paths are relative.
    plugins
        Build the FMU of ``model.class``.

    Returns
    -------
    fmu, description, start_values
        The description has arrays of the sizes that the start values give.
    """
    model = root.table("model")
    has_start_values = model.has("start_values")
    fmu = _fmu(model, base, plugins.model)
    description = read_description(fmu)
    if not has_start_values:
        return fmu, description, {}
    given = model.table("start_values")
    try:
        description = resized(description, dict(given.items()))
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
    if path.is_dir():
        raise ProblemError(
            f"'{path}' is a folder",
            hint=f"name the file, such as {path / 'problem.toml'}",
            code=Code.UNUSABLE_FILE,
        )
    if not path.exists():
        near = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise ProblemError(
            f"there is no problem file '{path}'",
            hint=did_you_mean(path.name, near, kind="file") if near else "check the path",
            code=Code.UNKNOWN_NAME,
        )
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ProblemError(
            f"the file is not text in UTF-8 (byte {error.start})",
            location=Location(str(path)),
            code=Code.UNUSABLE_FILE,
        ) from error
    parse_toml(text, path)
    return text


def _fmu(model: Section, base: Path, resolve_model: ModelResolver | None) -> Path:
    """Return the FMU; all keys of ``[model]`` are checked before one is built."""
    name, class_name = model.text("fmu", None), model.text("class", None)
    given = [key for key in ("sources", "compiler", "fmu_folder") if model.has(key)]
    model.finish()
    if (name is None) == (class_name is None):
        raise model.error(
            "[model] needs either 'fmu' or 'class'" + (", not both" if name is not None else ""),
            hint='fmu = "path.fmu" for an existing FMU, class = "Package.Model" to build one',
        )
    if class_name is not None:
        return _built(model, class_name, base, resolve_model)
    for key in given:
        raise model.error(f"'{key}' requires 'class', not 'fmu'", key)
    path: Path = base / name
    if not path.exists():
        raise model.error(
            f"there is no FMU '{path}'",
            "fmu",
            hint=advice(path, base),
            code=Code.UNKNOWN_NAME,
        )
    return path


def _built(
    model: Section, class_name: str, base: Path, resolve_model: ModelResolver | None
) -> Path:
    if resolve_model is None:
        raise model.error("'class' needs a compiler; give 'fmu' instead", "class")
    model.text("compiler", None)
    model.text("fmu_folder", None)
    sources = model.raw("sources", [])
    if not isinstance(sources, str):
        sources = model.words("sources") or ()
    for source in [sources] if isinstance(sources, str) else sources:
        if not (base / source).exists():
            raise model.error(
                f"there is no source '{base / source}'",
                "sources",
                hint="paths are relative to the problem file; name a Modelica file, a package's"
                " folder or the folder above it",
                code=Code.UNKNOWN_NAME,
            )
    try:
        return resolve_model(class_name, model.as_dict(), base)
    except CompilationError as error:
        if error.diagnostics:  # these have places of their own
            raise
        raise model.at_key(error, "class") from error


def _experiment_tables(root: Section) -> list[Any]:
    tables = root.raw("experiments", [])
    if isinstance(tables, Mapping):
        raise root.error("write [[experiments]] with double brackets", "experiments")
    if not isinstance(tables, list) or not tables:
        raise root.error(
            "the problem has no experiments", hint="add [[experiments]] with data and outputs"
        )
    return tables


def read_cost(owner: Section, plugins: Plugins) -> Cost:
    """Read the table ``cost`` of the file or of a stage; the default cost if it is absent.

    Raises `ProblemError` for an unknown cost or unknown options.
    """
    section = owner.table("cost", {})
    name = section.text("name", TimeDomain.name)
    options = {key: value for key, value in section.items() if key != "name"}
    kind: type[Cost] = TimeDomain
    if name != TimeDomain.name:
        if plugins.cost is None:
            message = f"there is no cost '{name}' without plugins"
            raise section.error(message, "name", code=Code.UNKNOWN_NAME)
        try:
            kind = plugins.cost(name)
        except PluginError as error:
            raise section.at_key(error, "name") from error

    def where(key: str | None) -> Location:
        return section.source.where((*section.keys, *(() if key is None else (key,))))

    return build_dataclass(kind, options, table=section.title, name=name, where=where)


def with_constraints(root: Section, problem: Problem) -> Problem:
    """Return the problem with the constraints of its file, and notes on them.

    `problem` has all parameters. Raises `ProblemError` if a constraint cannot be parsed,
    names an unknown parameter or compares different dimensions, or if they contradict each
    other.
    """
    table = root.table("constraints", {})
    constraints: list[Constraint] = []
    for name, _ in table.items():
        text = table.text(name)
        try:
            constraints += read_constraint(name, text)
        except ProblemError as error:
            raise in_expression(table, name, error) from error
    if not constraints:
        return problem
    asked = replace(problem, constraints=tuple(constraints))
    try:
        remaining, notes = check_constraints(asked)
    except ProblemError as error:
        raise in_expression(table, str(error.key), error) from error
    located = tuple(note if note.location else _at(note, table, str(key)) for key, note in notes)
    return with_notes(replace(problem, constraints=remaining), (*problem.notes, *located))


def _at(note: Diagnostic, table: Section, key: str) -> Diagnostic:
    return replace(note, location=table.source.where((*table.keys, key)))
