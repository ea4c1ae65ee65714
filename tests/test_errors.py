"""Errors have codes, which stay while messages change, and nothing searches in a message."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

# They define errors of their own.
import fmident.catalog
import fmident.cli.usage
import fmident.compilers.openmodelica.compiler
import fmident.evaluation.derivatives.differences  # noqa: F401
from fmident.errors import (
    Code,
    CompilationError,
    DataError,
    Diagnostic,
    EstimationError,
    FmidentError,
    FmuError,
    Location,
    PluginError,
    ProblemError,
    SimulationError,
    UnitError,
)
from fmident.options import POSITIVE, OptionError, Requires
from fmident.toml_file.section import Section, Source
from fmident.units import parse_unit

from .test_architecture import COSTS, DASK, ESTIMATORS, HOST, modules, name_of, nodes_of

FOREIGN = {
    "toolchain/fmident/operating_system/posix.py",
    "toolchain/fmident/operating_system/windows.py",
    "toolchain/fmident/compilers/embedded/frontend/reading/rumoca.py",
    "toolchain/fmident/compilers/embedded/frontend/reading/rumoca_worker.py",
}
"""These read what the dynamic loader and rumoca say, which have nothing but prose."""


def test_codes_are_short_and_explained() -> None:
    for code in Code:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.value)
        assert code.meaning.endswith(".")
        assert str(code) == code.value == code
    assert len({code.meaning for code in Code}) == len(Code)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (FmidentError, "error"),
        (UnitError, "unreadable-unit"),
        (FmuError, "unusable-fmu"),
        (SimulationError, "simulation-failed"),
        (CompilationError, "compilation-failed"),
        (DataError, "invalid-data"),
        (ProblemError, "invalid-problem"),
        (EstimationError, "estimation-failed"),
        (PluginError, "plugin-failed"),
    ],
)
def test_an_error_has_the_code_of_its_class_or_its_own(kind: type[FmidentError], code: str) -> None:
    assert kind("it is wrong").code == code
    assert kind("it is wrong", code="my-own").code == "my-own"


def test_how_a_simulation_failed_is_its_code() -> None:
    assert SimulationError("slow", timed_out=True).code == Code.TIMED_OUT
    assert SimulationError("over", ended=1.0).code == Code.ENDED_BY_FMU
    assert SimulationError("over", ended=1.0, code=Code.NOT_FINITE).code == Code.NOT_FINITE
    assert SimulationError("wall-clock sync lost: it timed out").code == Code.SIMULATION_FAILED


@pytest.mark.parametrize(
    "error",
    [
        FmuError("broken", code=Code.UNKNOWN_NAME),
        SimulationError("slow", timed_out=True),
        SimulationError("nan", code=Code.NOT_FINITE),
    ],
)
def test_codes_travel_between_processes(error: FmuError | SimulationError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.code) == (type(error), error.code)


def kinds(base: type[FmidentError] = FmidentError) -> Iterator[type[FmidentError]]:
    """Return the errors that fmident defines."""
    yield base
    for kind in base.__subclasses__():
        yield from kinds(kind)


ARGUMENTS: dict[str, Any] = {
    "message": "it is wrong",
    "location": Location("problem.toml", 3, 4),
    "hint": "put it right",
    "code": "my-own",
    "time": 1.5,
    "log": ("first", "last"),
    "ended": 1.0,
    "outputs": np.arange(6.0).reshape(3, 2),
    "timed_out": True,
    "says_time": True,
    "diagnostics": (Diagnostic("error", "not a class", Location("a.mo", 1), rule="syntax"),),
    "key": "bounds",
    "option": "steps",
    "text": "2 * m",
    "position": 4,
}
"""A value of each argument that an error takes."""


def facts(error: Exception) -> dict[str, Any]:
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(error).items()}


def test_who_names_the_nearest_names_says_what_kind_of_error_it_is() -> None:
    """The code of the class would leave a program with the words."""
    without = [
        f"{name_of(path)}:{node.lineno}"
        for folder in (HOST, ESTIMATORS, COSTS, DASK)
        for path in modules(folder)
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and any(
            k.arg == "hint" and re.search(r"did_you_mean|nearest_to", ast.unparse(k.value))
            for k in node.keywords
        )
        and not any(k.arg == "code" for k in node.keywords)
    ]
    assert without == []


def test_every_class_of_errors_is_known_here() -> None:
    defined = {
        node.name
        for folder in (HOST, ESTIMATORS, COSTS, DASK)
        for path in modules(folder)
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef)
        and {ast.unparse(b) for b in node.bases} & {kind.__name__ for kind in kinds()}
    }
    assert {kind.__name__ for kind in kinds()} >= defined


@pytest.mark.parametrize("kind", [*kinds(), OptionError], ids=lambda kind: kind.__name__)
def test_errors_can_be_pickled(kind: type[Exception]) -> None:
    """They are sent between processes, by multiprocessing and by Dask."""
    signature = inspect.signature(kind)
    error = kind(**{name: ARGUMENTS[name] for name in signature.parameters})
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (str(again), facts(again)) == (str(error), facts(error))


def read(text: str, **table: object) -> Section:
    return Section(Source(Path("problem.toml"), text), (), table)


@dataclass(frozen=True)
class Keys:
    a: float
    b: Annotated[float, POSITIVE] = 1.0
    c: Literal["y", "z"] = "y"
    d: Annotated[float, Requires("c", "z")] = 1.0


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ({"a": 1, "e": 1}, Code.UNKNOWN_KEY),
        ({}, Code.MISSING_KEY),
        ({"a": "x"}, Code.WRONG_TYPE),
        ({"a": 1, "c": "x"}, Code.NOT_A_CHOICE),
        ({"a": 1, "c": 1}, Code.WRONG_TYPE),
        ({"a": 1, "b": 0}, Code.OUT_OF_RANGE),
        ({"a": 1, "d": 2}, Code.REQUIRES_OPTION),
    ],
)
def test_each_mistake_in_a_table_has_its_code(table: dict[str, object], code: Code) -> None:
    with pytest.raises(ProblemError) as caught:
        read("", **table).read(Keys)
    assert caught.value.code == code


def test_an_error_of_another_part_keeps_its_code_at_a_key() -> None:
    with pytest.raises(UnitError) as raised:
        parse_unit("qwertz")
    assert read("a = 1").at_key(raised.value, "a").code == Code.UNREADABLE_UNIT


def test_an_option_says_what_is_wrong_with_it() -> None:
    assert OptionError("too small", "steps").code == Code.OUT_OF_RANGE


def searches(path: Path) -> list[str]:
    """Return where a module looks for words in a message."""
    found = []
    for node in nodes_of(path):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            what, where = node.left, node.comparators[0]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("startswith", "endswith", "find", "index")
            and node.args
        ):
            what, where = node.args[0], node.func.value
        else:
            continue
        where = where.values[0] if isinstance(where, ast.BoolOp) else where
        if isinstance(what, ast.Constant) and isinstance(what.value, str) and is_message(where):
            found.append(f"{name_of(path)}:{node.lineno}: {ast.unparse(node)}")
    return found


def is_message(node: ast.expr) -> bool:
    names = {"message", "hint", "reason", "note", "notes", "verdict", "stderr", "stdout"}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return isinstance(node.args[0], ast.Name) and node.args[0].id in {"error", "failure"}
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in names


def test_nothing_is_decided_by_the_words_of_a_message() -> None:
    wrong = [
        line
        for folder in (HOST, ESTIMATORS, COSTS, DASK)
        for path in modules(folder)
        if name_of(path) not in FOREIGN and "testing" not in path.parts
        for line in searches(path)
    ]
    assert wrong == []
    foreign = [line for name in FOREIGN for line in searches(HOST.parents[1] / name)]
    assert foreign  # else the list is out of date
