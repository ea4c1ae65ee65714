"""Which values of a result belong to the model, sorted into components and arrays.

``arms[2].c[1]`` is element (2, 1) of ``arms.c``: Modelica cannot modify one element, but
takes arrays as a whole, and hands those of an array of components down to the components.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from fmident.errors import EstimationError
from fmident.words import plain

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.fmu import ModelDescription
    from fmident.statistics import Identifiability


_PART = re.compile(r"([A-Za-z_]\w*)((?:\[\d+(?:\s*,\s*\d+)*\])?)")


@dataclass(frozen=True)
class ExportedValue:
    """A value of one variable of the model.

    Parameters
    ----------
    name
        Name of the variable, such as ``"axis.mass"`` or ``"c[2]"``.
    value
        In `unit`.
    unit
        The variable's own, or ``None``.
    description
        From the model.
    standard_error
        ``nan`` if there is none.
    interval_95
        Lower and upper end; ``nan`` or infinite if there is none.
    origin
        ``"identified"``, ``"dependent"`` on others, ``"fixed"`` in the problem,
        ``"silent"`` without influence on the outputs, or ``"default"`` of the FMU, to
        complete an array.
    expression
        Defining expression of a dependent one.
    base
        Names of the base parameters of which it is a member.
    """

    name: str
    value: float
    unit: str | None = None
    description: str = ""
    standard_error: float = math.nan
    interval_95: tuple[float, float] = (math.nan, math.nan)
    origin: str = "identified"
    expression: str = ""
    base: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exports:
    """Exportable values of a result.

    `model` is the full class name from the FMU. `left_out` has parameters that cannot be
    set in a model with the reason, and `source` the origin of the values for comments.
    `elements` are all parameters of the FMU by name, for array elements that were not
    searched; ``None`` if the FMU is not available. `base` are combinations that the data
    determine instead of their members.
    """

    model: str
    values: tuple[ExportedValue, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    elements: Mapping[str, ExportedValue] | None = None
    base: tuple[ParameterEstimate, ...] = ()


def exported_values(
    result: EstimationResult,
    description: ModelDescription | None = None,
    start_values: Mapping[str, float | int | bool | str] | None = None,
) -> Exports:
    """Return the exportable values of an estimation result.

    If single elements of arrays were identified, the FMU's `description` is needed for the
    other elements, whose values are replaced by the problem's `start_values`. Raises
    `EstimationError` if the result has no values of model parameters.
    """
    values: list[ExportedValue] = []
    left_out: dict[str, str] = {}
    for estimate in result.estimates:
        if estimate.variable is None:
            left_out[estimate.name] = (
                f"follows from others ({estimate.expression}), sets no variable of the model"
                if estimate.expression
                else "belongs to the measurement, not to the model"
            )
        elif estimate.experiments is not None:
            listed = ", ".join(estimate.experiments)
            left_out[estimate.name] = f"holds for some experiments only: {listed}"
        elif not math.isfinite(estimate.value):
            left_out[estimate.name] = "has no value, for the estimation failed"
        else:
            values.append(
                ExportedValue(
                    estimate.variable,
                    estimate.value,
                    estimate.unit,
                    estimate.description,
                    estimate.standard_error,
                    estimate.interval_95,
                    _origin(estimate, result.identifiability),
                    estimate.follows if estimate.expression else "",
                    estimate.base,
                )
            )
    if not values:
        raise EstimationError(
            "the result holds no value of a model parameter"
            + (": " + "; ".join(f"'{n}' {why}" for n, why in left_out.items()) if left_out else ""),
            hint="only parameters of the FMU can be exported",
        )
    return Exports(
        result.fmu_name,
        tuple(values),
        left_out,
        f"{result.estimator}, {result.status}"
        + ("" if result.noise is None else f"; {result.noise.summary}"),
        None if description is None else _elements(description, start_values or {}),
        result.base_parameters,
    )


def _origin(estimate: ParameterEstimate, judged: Identifiability | None) -> str:
    if estimate.expression:
        return "dependent"
    if judged is not None and estimate.name in judged.silent:
        return "silent"
    return "fixed" if estimate.fixed else "identified"


def _elements(
    description: ModelDescription, start_values: Mapping[str, float | int | bool | str]
) -> dict[str, ExportedValue]:
    values: dict[str, ExportedValue] = {}
    for variable in description.parameters:
        value = start_values.get(variable.name, variable.start)
        if variable.type == "Real" and isinstance(value, int | float):
            values[variable.name] = ExportedValue(
                variable.name,
                float(value),
                variable.unit,
                variable.description,
                origin="default",
            )
    return values


@dataclass(frozen=True)
class Leaf:
    """A scalar, or a whole array with its elements in row-major order, as in Modelica.

    `path` has the names from the model down, without indices; `shape` is ``()`` for a
    scalar.
    """

    path: tuple[str, ...]
    shape: tuple[int, ...]
    elements: tuple[ExportedValue, ...]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path[-1]

    def literal(self) -> str:
        """Return the value or values as Modelica text with full precision."""
        return _nested([real(e.value) for e in self.elements], self.shape)


@dataclass
class Branch:
    """A component: its leaves and subcomponents, in order."""

    children: dict[str, Leaf | Branch] = field(default_factory=dict)

    def leaves(self) -> Iterator[Leaf]:
        """Yield all leaves below."""
        for child in self.children.values():
            if isinstance(child, Branch):
                yield from child.leaves()
            else:
                yield child


def build_tree(exports: Exports) -> Branch:
    """Arrange values in components and arrays.

    Raises `EstimationError` for an invalid Modelica name or unknown elements of an array.
    """
    groups: dict[tuple[str, ...], dict[tuple[int, ...], ExportedValue]] = {}
    for value in exports.values:
        path, index = split_name(value.name)
        groups.setdefault(path, {})[index] = value
    others = _by_path(exports.elements) if exports.elements is not None else None
    root = Branch()
    for path, elements in groups.items():
        leaf = _leaf(path, elements, None if others is None else others.get(path, {}))
        branch = root
        for part in path[:-1]:
            child = branch.children.setdefault(part, Branch())
            if not isinstance(child, Branch):
                raise EstimationError(f"'{part}' is a component and a parameter at once")
            branch = child
        branch.children[path[-1]] = leaf
    return root


def split_name(name: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the parts of a variable's name without indices, and all indices in order.

    Raises `EstimationError` if it is not a Modelica name.
    """
    path: list[str] = []
    index: list[int] = []
    for part in re.split(r"\.(?![^\[]*\])", name):
        match = _PART.fullmatch(part)
        if match is None:
            raise EstimationError(
                f"'{name}' is not a name that Modelica knows",
                hint="export it as SSV, which takes the FMU's names as they are",
            )
        path.append(match[1])
        index += [int(n) for n in re.findall(r"\d+", match[2])]
    return tuple(path), tuple(index)


def real(value: float) -> str:
    """Return a Modelica literal with enough digits to restore the number exactly."""
    text = repr(float(value))
    return text if any(c in text for c in ".einf") else f"{text}.0"


def _by_path(
    elements: Mapping[str, ExportedValue],
) -> dict[tuple[str, ...], dict[tuple[int, ...], ExportedValue]]:
    values_by_path: dict[tuple[str, ...], dict[tuple[int, ...], ExportedValue]] = {}
    for name, value in elements.items():
        try:
            path, index = split_name(name)
        except EstimationError:
            continue  # a name of another tool; only those that are asked for matter
        values_by_path.setdefault(path, {})[index] = value
    return values_by_path


def _leaf(
    path: tuple[str, ...],
    given: dict[tuple[int, ...], ExportedValue],
    known: Mapping[tuple[int, ...], ExportedValue] | None,
) -> Leaf:
    name = ".".join(path)
    depths = {len(index) for index in given}
    if depths == {0}:
        return Leaf(path, (), (given[()],))
    if known is None:
        some = next(iter(given.values())).name
        raise EstimationError(
            f"'{some}' is an element of an array, and Modelica can set arrays as a whole only",
            hint=f"name the FMU, so that the other elements of '{name}' are known: --fmu FILE;"
            " or export as SSV, which takes single elements",
        )
    every = {**known, **given}
    if len({len(index) for index in every}) != 1:
        raise EstimationError(f"elements of '{name}' have different numbers of indices")
    shape = tuple(max(column) for column in zip(*every, strict=True))
    ordered: list[ExportedValue] = []
    for index in product(*(range(1, n + 1) for n in shape)):
        if index not in every:
            listed = ",".join(map(str, index))
            raise EstimationError(
                f"the FMU does not give the value of element [{listed}] of '{name}'",
                hint="it was frozen when the FMU was built; export as SSV instead",
            )
        ordered.append(every[index])
    return Leaf(path, shape, tuple(ordered))


def _nested(values: list[str], shape: tuple[int, ...]) -> str:
    if not shape:
        return values[0]
    size = len(values) // shape[0]
    parts = (_nested(values[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0]))
    return "{" + ", ".join(parts) + "}"


def header(exports: Exports) -> list[str]:
    """Return the origin of the values, those not exported, and the base parameters."""
    from fmident._version import __version__

    lines = [f"Identified with fmident {__version__} ({exports.source})"]
    lines += [f"Left out: '{name}' {reason}" for name, reason in exports.left_out.items()]
    return lines + [f"Base parameter {text}" for text in base_lines(exports)]


def base_lines(exports: Exports) -> list[str]:
    """Return a line per base parameter with formula, value and interval."""
    lines = []
    for e in exports.base:
        low, high = e.interval_95
        line = f"{e.name} = {e.expression} = {plain(e.value, 8)} {e.unit or ''}".rstrip()
        if math.isfinite(low) and math.isfinite(high):
            line += f", standard error {plain(e.standard_error, 3)}"
            line += f", 95 % interval {plain(low, 6)} to {plain(high, 6)}"
        lines.append(line)
    return lines


def remark(leaf: Leaf) -> str:
    """Return unit, standard error and interval of a leaf in one line."""
    if not leaf.shape:
        return of_value(leaf.elements[0])
    units = sorted({e.unit for e in leaf.elements if e.unit})
    parts = [
        f"[{','.join(map(str, index))}] {of_value(element, unit=False)}"
        for index, element in zip(indices(leaf), leaf.elements, strict=True)
        if element.origin != "default"
    ]
    return "; ".join([*units, *parts])


def of_value(value: ExportedValue, *, unit: bool = True) -> str:
    """Return unit, standard error and interval of one value."""
    parts = [value.unit] if unit and value.unit and value.unit != "1" else []
    if value.origin == "fixed":
        parts.append("fixed, not identified")
    if value.origin == "silent":
        parts.append("no influence on the outputs")
    if value.expression:
        parts.append(value.expression)
    if math.isfinite(value.standard_error):
        parts.append(f"standard error {plain(value.standard_error, 3)}")
    low, high = value.interval_95
    if math.isfinite(low) and math.isfinite(high):
        parts.append(f"95 % interval {plain(low, 6)} to {plain(high, 6)}")
    elif value.base:
        parts.append(f"in {', '.join(value.base)}")
    elif value.origin in ("identified", "dependent"):
        parts.append("without an interval")
    return ", ".join(parts)


def indices(leaf: Leaf) -> list[tuple[int, ...]]:
    """Return the indices of a leaf's elements in order."""
    found: list[tuple[int, ...]] = [()]
    for size in leaf.shape:
        found = [(*index, k) for index in found for k in range(1, size + 1)]
    return found
