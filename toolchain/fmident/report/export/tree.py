"""From flat names to components and arrays.

``arms[2].c[1]`` is element (2, 1) of ``arms.c``: Modelica cannot modify one element, but
takes arrays as a whole, and hands those of an array of components down to the components.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from fmident.errors import EstimationError
from fmident.report.export.values import ExportedValue, Exports

_PART = re.compile(r"([A-Za-z_]\w*)((?:\[\d+(?:\s*,\s*\d+)*\])?)")


@dataclass(frozen=True)
class Leaf:
    """A scalar, or a whole array.

    Parameters
    ----------
    path
        Names from the model down, without indices.
    shape
        Of the array; ``()`` for a scalar.
    elements
        In Modelica's order, the last index the fastest.
    """

    path: tuple[str, ...]
    shape: tuple[int, ...]
    elements: tuple[ExportedValue, ...]

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path[-1]

    def literal(self) -> str:
        """Return the value or values as Modelica text, with all digits."""
        return _nested([real(e.value) for e in self.elements], self.shape)


@dataclass
class Branch:
    """A component: its own leaves and the components in it, in order."""

    children: dict[str, Leaf | Branch] = field(default_factory=dict)

    def leaves(self) -> Iterator[Leaf]:
        """Yield all leaves below."""
        for child in self.children.values():
            if isinstance(child, Branch):
                yield from child.leaves()
            else:
                yield child


def build_tree(exports: Exports) -> Branch:
    """Sort values into components and arrays.

    Raises
    ------
    fmident.errors.EstimationError
        A name that is not a Modelica name; elements of an array that are not known.
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

    Raises
    ------
    fmident.errors.EstimationError
        It is not a Modelica name.
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
    """Return a number as Modelica writes it, with as many digits as it takes to read it back."""
    text = repr(float(value))
    return text if any(c in text for c in ".einf") else f"{text}.0"


def _by_path(
    elements: Mapping[str, ExportedValue],
) -> dict[tuple[str, ...], dict[tuple[int, ...], ExportedValue]]:
    found: dict[tuple[str, ...], dict[tuple[int, ...], ExportedValue]] = {}
    for name, value in elements.items():
        try:
            path, index = split_name(name)
        except EstimationError:
            continue  # a name of another tool; only those that are asked for matter
        found.setdefault(path, {})[index] = value
    return found


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
