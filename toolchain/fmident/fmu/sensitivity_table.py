"""Derivatives of outputs with respect to parameters and start values, by the FMU itself.

The functions are an extension of FMI, specified in ``docs/reference/sensitivities.md``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, FmuError
from fmident.fmu.archive import Archive
from fmident.fmu.model_description.description import ModelDescription, output_variable
from fmident.fmu.model_description.variables import Variable, native_type
from fmident.fmu.native_code.program import NOT_GIVEN, TRANSFER, VALUES, Program
from fmident.fmu.values import address_of

if TYPE_CHECKING:
    from fmident.fmu.life_cycle.instance import BaseInstance
    from fmident.fmu.native_code.library import Library

SET, GET = "fmidentSetSensitivityVariables", "fmidentGetSensitivities"
EXTENSION_FILE = "extra/fmident/sensitivities.json"
"""The file in the archive of an FMU that has these functions."""

_CONTENT = {"version": 1, "set": SET, "get": GET}
EXTENSION_TEXT = json.dumps(_CONTENT, indent=2) + "\n"
"""Content of that file."""

_LARGEST = 65536
"""Bytes of it; what is larger is another one."""


def offered_by(archive: Archive) -> bool:
    """Return whether an FMU has this version of the functions; no native code is loaded."""
    entry = archive.members.get(PurePosixPath(EXTENSION_FILE))
    if entry is None or entry.file_size > _LARGEST:
        return False
    try:
        content = json.loads(archive.read(EXTENSION_FILE))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and all(content.get(k) == v for k, v in _CONTENT.items())


def _may_vary(variable: Variable) -> bool:
    return native_type(variable) in ("Real", "Float64") and variable.causality != "independent"


def is_known(variable: Variable) -> bool:
    """Return whether the extension can differentiate with respect to a variable."""
    if native_type(variable) not in ("Real", "Float64"):
        return False
    if variable.causality == "parameter":
        return True
    return variable.initial == "exact" and variable.variability == "continuous"


def known_of(description: ModelDescription) -> frozenset[str]:
    """Return the names of all variables with respect to which outputs can be differentiated."""
    return frozenset(v.name for v in description.variables if is_known(v))


def known_variables(description: ModelDescription, names: Sequence[str]) -> list[Variable]:
    """Return what to differentiate with respect to; raise `FmuError` if that is impossible."""
    variables = [description.variable(name) for name in names]
    for variable in variables:
        if not is_known(variable):
            raise FmuError(
                f"outputs cannot be differentiated with respect to '{variable.name}'",
                hint="Real parameters and start values of states can be named",
                code=Code.NOT_SUPPORTED,
            )
    return variables


class Sensitivities:
    """Sensitivities requested from an FMU in each step, as an array and a program row.

    The `outputs` are differentiated with respect to `known`; those that are not Real have
    zero derivatives. Step i of `program` fills row i + 1.
    """

    def __init__(
        self,
        description: ModelDescription,
        library: Library,
        outputs: Sequence[str],
        known: Sequence[str],
        rows: int,
    ) -> None:
        if not library.address(GET) or not library.address(SET):
            raise refused(description)
        variables = [output_variable(description, name) for name in outputs]
        self._places = [i for i, v in enumerate(variables) if _may_vary(v)]
        self._outputs = len(outputs)
        references = [variables[i].element_reference for i in self._places]
        self._unknown = np.array(references, np.uint32)
        knowns = known_variables(description, known)
        self._known = np.array([v.element_reference for v in knowns], np.uint32)
        self._rows = rows
        self._first = self._make_room()
        row = (
            VALUES, library.address(GET), self._unknown.ctypes.data, self._unknown.size,
            self._address(1), self._values.strides[0], NOT_GIVEN, 0,
        )  # fmt: skip
        self.program: Program = np.array([row], TRANSFER)

    @property
    def _plain(self) -> bool:
        """Whether all outputs are differentiated, so that the array is the result."""
        return len(self._places) == self._outputs

    def _make_room(self) -> int:
        """Make a new array, with outputs before their derivatives; return its width."""
        first = self._outputs if self._plain else 0
        width = first + self._unknown.size * self._known.size
        self._values = np.empty((self._rows, width))
        return first

    def _address(self, row: int) -> int:
        return address_of(self._values) + row * self._values.strides[0] + 8 * self._first

    def renew(self) -> None:
        """Allocate new arrays for a run, so that returned ones are not overwritten."""
        self._make_room()
        self.program["values"][0] = self._address(1)

    def ask(self, instance: BaseInstance) -> None:
        """Declare before a run with respect to which variables to differentiate."""
        instance.call(SET, self._known.ctypes.data, self._known.size)

    def read(self, instance: BaseInstance, row: int) -> None:
        """Read the sensitivities of one instant; raises `CallFailed`."""
        instance.call(GET, self._unknown.ctypes.data, self._unknown.size, self._address(row))

    def beside(self, outputs: F64) -> F64:
        """Return outputs of shape (rows, n) with their derivatives, (rows, n * (1 + k))."""
        if self._plain:
            self._values[:, : self._first] = outputs
            return self._values
        table = np.zeros((self._rows, 1 + self._known.size, self._outputs))
        table[:, 0] = outputs
        table[:, 1:, self._places] = self._values.reshape(
            self._rows, self._known.size, self._unknown.size
        )
        return table.reshape(self._rows, -1)


def refused(description: ModelDescription) -> FmuError:
    """Return the error for an FMU that cannot differentiate."""
    return FmuError(
        f"the FMU of '{description.name}' cannot differentiate its outputs",
        hint="FMUs of the embedded compiler can; compile the model again with it",
        code=Code.NOT_SUPPORTED,
    )
