"""Read a problem file (TOML) into a :class:`Problem`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np

from fmident.data import Experiment, Reader
from fmident.errors import (
    Code,
    CompilationError,
    Diagnostic,
    FmidentError,
    FmuError,
    Location,
    PluginError,
    ProblemError,
    did_you_mean,
)
from fmident.fmu import ModelDescription, Variable, read_description, resized
from fmident.problem.cost import Cost, TimeDomain
from fmident.problem.model import (
    Parameter,
    Problem,
    Scaling,
)
from fmident.problem.reading.evaluation_file import Executors, read_evaluation
from fmident.problem.reading.experiments import read_experiments
from fmident.problem.reading.quantities import in_own_unit, note_as_is, to_unit, with_own_units
from fmident.problem.reading.stages_file import read_estimator, read_stages
from fmident.problem.reading.start_values import start_values
from fmident.problem.residuals import check_cost
from fmident.problem.validate import check_declared, input_notes, validate_problem
from fmident.toml_file import Section, Source, build_dataclass, parse_toml

ModelResolver: TypeAlias = Callable[[str, Mapping[str, Any], Path], Path]
"""``(class name, [model] table, folder of the problem file) -> FMU``; builds it if needed."""

CostResolver: TypeAlias = Callable[[str], type[Cost]]
"""Name of a cost to its class; raises :class:`~fmident.errors.PluginError` if there is none."""


def load_problem(
    path: str | Path,
    *,
    text: str | None = None,
    resolve_model: ModelResolver | None = None,
    reader: Reader | None = None,
    resolve_cost: CostResolver | None = None,
    executors: Executors | None = None,
) -> Problem:
    """Read a problem file, its data, and the description of its FMU.

    Parameters
    ----------
    path
        The TOML file; paths in it are relative to its folder.
    text
        What to read in place of the file's content.
    resolve_model
        Finds or builds the FMU of ``model.class``.
    reader
        Reads data formats other than CSV.
    resolve_cost
        Finds the costs that plugins bring; without it there is ``time-domain`` only.
    executors
        Those that there are, by name; without them any name is taken.

    Returns
    -------
    Problem
        With `text` as read and `notes` on what was taken for granted.

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
    root = Section(Source(path, text), (), parse_toml(text, path))
    base = path.parent
    fmu, description, shared = read_model(root, base, resolve_model)
    evaluation = read_evaluation(root, executors)
    try:
        description = description.with_interface(evaluation.interface)
    except FmuError as error:
        at = root.table("evaluation")
        raise at.at_key(error, "interface") from error
    description = with_own_units(root, description)
    straight = description.can_interpolate_inputs or description.input_ramps is not None
    experiments = read_experiments(
        root.source,
        _experiment_tables(root),
        description,
        base,
        reader,
        held=evaluation.interpolation == "hold"
        or (evaluation.interpolation == "auto" and not straight),
        given=shared,
    )
    parameters, as_is = read_parameters(root, description, experiments)
    problem = Problem(
        fmu=fmu,
        parameters=parameters,
        experiments=experiments,
        estimator=read_estimator(root),
        evaluation=evaluation,
        cost=read_cost(root, resolve_cost),
        start_values=shared,
        source=path,
        text=text,
    )
    read = [note for e in experiments for note in e.notes]
    # What is said of a column of several experiments is said once.
    once = {(n.rule, n.message): n for n in reversed([*read, *as_is])}.values()
    notes = (*reversed(once), *input_notes(problem, description))
    problem = replace(problem, notes=notes)

    def load_other(other: Path) -> Problem:
        return load_problem(
            other,
            resolve_model=resolve_model,
            reader=reader,
            resolve_cost=resolve_cost,
            executors=executors,
        )

    stages = read_stages(root, problem, load_other, lambda s: read_cost(s, resolve_cost))
    root.finish()
    validate_problem(problem, description, where=lambda *keys: root.source.where(keys))
    if not stages:
        check_cost(problem, root.source.where(("cost",)))
    for position, stage in enumerate(stages):
        if not stage.separate:
            check_cost(stage.problem, root.source.where(("stages", position, "cost")))
    return replace(problem, stages=stages)


def read_model(
    root: Section, base: Path, resolve_model: ModelResolver | None
) -> tuple[Path, ModelDescription, dict[str, float | int | bool | str]]:
    """Read ``[model]``.

    Parameters
    ----------
    root
        The file.
    base
        Folder to which paths are relative.
    resolve_model
        Finds or builds the FMU of ``model.class``.

    Returns
    -------
    fmu, description, start_values
        The description has arrays of the sizes that the start values give.
    """
    model = root.table("model")
    has_start_values = model.has("start_values")
    fmu = _fmu(model, base, resolve_model)
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
    """Return a TOML file as its outermost table; `text` in place of its content if given."""
    path = Path(path)
    if text is None:
        text = read_problem_file(path)
    return Section(Source(path, text), (), parse_toml(text, path))


def read_problem_file(path: str | Path) -> str:
    """Return the text of a problem file, which is TOML for certain.

    Raises
    ------
    ProblemError
        Missing, a folder, not text, not TOML; with line and column.
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
    """Return the FMU; every key of ``[model]`` has been checked before one is built."""
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
        near = [p.name for p in path.parent.glob("*.fmu")] if path.parent.is_dir() else []
        raise model.error(
            f"there is no FMU '{path}'",
            "fmu",
            hint=did_you_mean(path.name, near, kind="FMU") if near else "build it: fmident build",
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


def read_parameters(
    root: Section, description: ModelDescription, experiments: tuple[Experiment, ...]
) -> tuple[tuple[Parameter, ...], tuple[Diagnostic, ...]]:
    """Read the tables ``[parameters.NAME]``; notes on those that stay in a unit that is not SI.

    Parameters
    ----------
    root
        The file.
    description
        Of the FMU.
    experiments
        Whose measurement models may refer to parameters of their own.
    """
    tables = root.table("parameters", {})
    measured = {
        value
        for e in experiments
        for m in e.measurements
        for value in (m.gain, m.offset, m.delay)
        if isinstance(value, str)
    }
    names = [name for name, _ in tables.items()]
    if not names:
        raise root.error(
            "the problem has no parameters", hint="add a table [parameters.NAME] for each"
        )
    # An output that names 'T_mess' must not become an error on [parameters.T_meas].
    check_declared(names, experiments, lambda *keys: root.source.where(keys))
    delays = {m.delay for e in experiments for m in e.measurements}
    notes: list[Diagnostic] = []
    parameters = tuple(
        _parameter(tables.table(name), name, description, name in measured, name in delays, notes)
        for name in names
    )
    return parameters, tuple(notes)


def _parameter(
    section: Section,
    name: str,
    description: ModelDescription,
    in_measurement: bool,
    is_delay: bool,
    notes: list[Diagnostic],
) -> Parameter:
    variable = _parameter_variable(section, name, description, in_measurement)
    unit = section.text("unit", None)
    if variable is not None:
        variable = in_own_unit(section, variable, unit)
    own = "s" if is_delay else None
    wanted = own if variable is None else variable.unit
    where = section.source.where(section.keys)
    if variable is not None:
        note = note_as_is(f"parameter '{name}'", unit, variable, where, f"... in {section.title}")
        notes += [] if note is None else [note]

    def converted(value: float, what: str) -> float:
        return float(to_unit(np.float64(value), unit, wanted, f"{what} of '{name}'", where))  # type: ignore[arg-type]

    given = section.number("initial", None)
    if given is not None:
        initial = converted(given, "the initial value")
    elif variable is not None and _is_number(variable.start):
        initial = float(variable.start)  # type: ignore[arg-type]
    else:
        raise section.error(f"parameter '{name}' needs an 'initial' value")
    bounds = section.pair("bounds")
    if bounds is not None:
        lower, upper = (converted(b, "the bounds") for b in bounds)
    else:
        lower = _or(variable.minimum if variable else None, -np.inf)
        upper = _or(variable.maximum if variable else None, np.inf)
    scaling: Scaling = section.choice("scaling", get_args(Scaling), "linear")
    if scaling == "log":
        if bounds is not None and lower <= 0.0:
            raise section.error(
                f"'{name}' has log scaling, so its bounds must be positive, not"
                f" [{lower:g}, {upper:g}]",
                "bounds",
                hint='give positive bounds, or use scaling = "linear"',
            )
        lower = max(lower, 0.0)  # the FMU's own minimum, or none
    scale = section.number("scale", None)
    step = section.number("step", None)
    if step is not None and not (np.isfinite(step) and step > 0.0):
        raise section.error(f"the step of '{name}' must be positive, not {step:g}", "step")
    parameter = Parameter(
        name=name,
        initial=initial,
        lower=lower,
        upper=upper,
        variable=variable.name if variable is not None else None,
        experiments=section.words("experiments"),
        scaling=scaling,
        # A scale is a difference: an offset between units does not count.
        scale=_default_scale(initial, lower, upper)
        if scale is None
        else converted(scale, "scale") - converted(0.0, "scale"),
        fixed=section.flag("fixed", False),
        unit=wanted or unit,
        description=variable.description if variable is not None else "",
        step=None if step is None else converted(step, "step") - converted(0.0, "step"),
    )
    section.finish()
    return parameter


def _parameter_variable(
    section: Section, name: str, description: ModelDescription, in_measurement: bool
) -> Variable | None:
    """Return the FMU variable that a parameter sets; none for the measurement model's own."""
    explicit = section.text("variable", None)
    if explicit is None and in_measurement and name not in description.by_name:
        return None
    try:
        variable = description.variable(name if explicit is None else explicit)
    except FmuError as error:
        known = description.why_not_settable(name if explicit is None else explicit)
        if known is not None:
            raise _not_settable(section, explicit or name, known, description) from error
        raise section.error(
            f"{error.message} that parameter '{name}' could set",
            *(["variable"] if explicit is not None else []),
            hint=description.nearest_to(
                explicit or name, description.settable_parameters, kind="parameter of the FMU"
            ),
            code=Code.UNKNOWN_NAME,
        ) from error
    if not variable.settable:
        known = description.why_not_settable(variable.name)
        assert known is not None  # it is a variable that cannot be set
        raise _not_settable(section, variable.name, known, description)
    if variable.type != "Real":
        raise section.error(
            f"'{variable.name}' is {variable.type}; only Real variables can be estimated",
            hint="set it in [model.start_values] instead",
            code=Code.NOT_SETTABLE,
        )
    return variable


def _not_settable(
    section: Section, name: str, known: tuple[str, str], description: ModelDescription
) -> FmidentError:
    reason, advice = known
    settable = [v.name for v in description.settable_parameters if v.type == "Real"]
    nearest = did_you_mean(name, settable, kind="parameter that can be set")
    nearest = nearest.replace("known:", "those that can be set:")
    return section.error(
        f"'{name}' cannot be set in the FMU: {reason}",
        hint=f"{advice}; {nearest}" if advice else nearest,
        code=Code.NOT_SETTABLE,
    )


def _default_scale(initial: float, lower: float, upper: float) -> float:
    if initial != 0.0:
        return abs(initial)
    span = upper - lower
    return span if np.isfinite(span) and span > 0.0 else 1.0


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_cost(owner: Section, resolve_cost: CostResolver | None = None) -> Cost:
    """Read the table ``cost`` of the file or of a stage; the default cost when there is none.

    Raises
    ------
    ProblemError
        Unknown cost, or options that it does not take.
    """
    section = owner.table("cost", {})
    name = section.text("name", TimeDomain.name)
    options = {key: value for key, value in section.items() if key != "name"}
    kind: type[Cost] = TimeDomain
    if name != TimeDomain.name:
        if resolve_cost is None:
            message = f"there is no cost '{name}' without plugins"
            raise section.error(message, "name", code=Code.UNKNOWN_NAME)
        try:
            kind = resolve_cost(name)
        except PluginError as error:
            raise section.at_key(error, "name") from error

    def where(key: str | None) -> Location:
        return section.source.where((*section.keys, *(() if key is None else (key,))))

    return build_dataclass(kind, options, table=section.title, name=name, where=where)
