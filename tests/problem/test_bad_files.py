"""Everything that can be wrong in a problem file, and the place and words that the user is given.

Lines are those of ``PROBLEM`` in conftest.py after the change.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fmident.errors import Code, CompilationError, FmidentError, ProblemError
from fmident.problem import problem_from_file

from ..fmu.build import Fixture, description
from ..refused import refused
from .conftest import PROBLEM, VARIABLES, Case

Change = Callable[..., FmidentError]

X = 'x = { column = "position", sigma = 0.01 }'
K = "[parameters.k]\ninitial = 300.0"

TABLE: list[tuple[str, str, str, tuple[str, ...]]] = [
    # --- TOML
    ("not closed", "[model]", "[model", ("problem.toml:1:7", "not TOML")),
    ("key twice", "initial = 300.0", "initial = 1\ninitial = 2",
     ("problem.toml:10", "'initial'", "lines 9 and 10")),
    ("output twice", X, f'{X}\nx = "angle"', (":21:", "'x'", "lines 20 and 21", 'variable = "x"')),
    ("output and its table", X, f"{X}\n[experiments.outputs.x]\ngain = 2", (":21:", "20 and 21")),
    ("input twice", 'F = "force"', 'F = "force"\n"F" = "torque"', (":17:", "lines 16 and 17")),
    ("table twice", K, f"{K}\n[parameters.m]\nfixed = true",
     (":10:", "[parameters.m]", "lines 4 and 10")),
    ("an experiment in single brackets", X, f'{X}\n[experiments]\nname = "b"',
     (":21:", "lines 11 and 21", "[[experiments]]")),
    ("list of several lines twice", K, f"{K}\nbounds = [\n1,\n9]\nbounds = [\n1,\n8]",
     (":13:", "'bounds'", "lines 10 and 13")),
    ("key of an output twice", "sigma = 0.01", "sigma = 0.01, sigma = 1",
     (":20:", "'sigma'", "twice")),
    ("bracket without quotes", '"tau[1]" = ', "tau[1] = ", ("problem.toml:17", "need quotes")),
    ("decimal comma", "initial = 2.5", "initial = 2,5", ("problem.toml:5", "decimal point")),
    ("number without its first digit", "initial = 2.5", "initial = .5",
     ("problem.toml:5", "begin with a digit")),
    ("text without quotes", 'data = "data.csv"', "data = data.csv",
     ("problem.toml:13", "need quotes")),
    ("backslash", 'data = "data.csv"', 'data = "d\\data.csv"', ("problem.toml:13", "backslash")),
    ("no problem file at all", PROBLEM, "time,x\n0,1\n", ("problem.toml:1", "looks like data")),
    # --- keys
    ("unknown table", "[parameters.m]", "[parameter.m]", (":4:", "'parameter'", "'parameters'")),
    ("unknown key", "initial = 2.5", "inital = 2.5", (":5:", "'inital'", "'initial'")),
    ("unknown key of an experiment", 'name = "push"', 'names = "push"',
     (":12:", "'names'", "'name'")),
    ("unknown key of an output", "sigma = 0.01", "sigm = 0.01", (":20:", "'sigm'", "'sigma'")),
    ("unknown key of an input", 'F = "force"', 'F = { colum = "force" }', (":16:", "column")),
    ("unknown key of the model", 'fmu = "model.fmu"', 'fmu = "model.fmu"\nfmi = 2',
     (":3:", "'fmi'", "'fmu'")),
    ("unknown key of evaluation", "[model]", "[evaluation]\ntolerence = 1\n[model]",
     (":2:", "'tolerence'", "'tolerance'")),
    ("unknown key of decimation", "sigma = 0.01", "decimate = { factor = 2, ordr = 3 }",
     (":20:", "'ordr'", "'order'")),
    ("unknown key beside a class", 'fmu = "model.fmu"', 'class = "A.B"\nsource = "x"',
     (":3:", "'source'", "'sources'")),
    ("key of a class beside an FMU", 'fmu = "model.fmu"', 'fmu = "model.fmu"\nfmu_folder = "x"',
     (":3:", "'fmu_folder' requires 'class'")),
    ("parameter that the FMU does not have", "[parameters.m]", "[parameters.mm]",
     (":4:", "'mm'", "nearest parameter of the FMU: 'm'")),
    ("symbol for a parameter", "[parameters.m]", "[parameters.c_G]",
     (":4:", "'c_G' is a symbol of 'k' (Stiffness, c_G)")),
    ("symbol for a start value", 'fmu = "model.fmu"',
     'fmu = "model.fmu"\nstart_values = { c_G = 1 }',
     (":3:", "'c_G' is a symbol of 'k' (Stiffness, c_G)")),
    # --- types
    ("text for a number", "initial = 2.5", 'initial = "2.5"', (":5:", "'initial'", "a number")),
    ("number for fixed", "initial = 2.5", "fixed = 2.5",
     (":5:", "'fixed' must be true or false", "and fixed = true")),
    ("truth for a number", "initial = 2.5", "initial = true", (":5:", "a number", "true")),
    ("three bounds", "[0.5, 10.0]", "[0.5, 1.0, 10.0]", (":6:", "'bounds'", "2 numbers")),
    ("number for a table", 'F = "force"', "F = 3", (":16:", "inputs.F]", "column")),
    ("single brackets", "[[experiments]]", "[experiments]", ("double brackets",)),
    ("wrong word", "initial = 300.0", 'initial = 300.0\nscaling = "ln"',
     (":10:", "'ln'", "'linear'", "'log'")),
    ("truth wanted", "initial = 300.0", "initial = 300.0\nfixed = 1", (":10:", "true or false")),
    ("not positive", "[model]", "[evaluation]\ntimeout = 0\n[model]",
     (":2:", "timeout", "positive")),
    ("tolerance of one", "[model]", "[evaluation]\ntolerance = 1\n[model]",
     (":2:", "between 0 and 1")),
    ("wrong interpolation", "[model]", '[evaluation]\ninterpolation = "cubic"\n[model]',
     (":2:", "'cubic'", "'hold'")),
    ("wrong interpolation of an experiment", "[experiments.inputs]",
     'interpolation = "cubic"\n[experiments.inputs]', (":15:", "'cubic'", "'hold'")),
    ("wrong interpolation of an input", 'F = "force"',
     'F = { column = "force", interpolation = "step" }', (":16:", "'step'", "'hold'")),
    ("an input that cannot be linear", 'F = "force"',
     'F = { column = "force", interpolation = "linear" }', (":16:", "'F'", '"mean"')),
    # --- what must be there
    ("no model", 'fmu = "model.fmu"', "", ("'fmu' or 'class'",)),
    ("both", 'fmu = "model.fmu"', 'fmu = "model.fmu"\nclass = "A"', ("not both",)),
    ("no parameters", PROBLEM[PROBLEM.index("[parameters.m]"):PROBLEM.index("[[")], "",
     ("no parameters",)),
    ("no experiments", PROBLEM[PROBLEM.index("[[experiments]]"):], "", ("no experiments",)),
    ("no outputs", X, "", ("'push' has no outputs",)),
    ("no data", 'data = "data.csv"', "", (":11:", "'data'")),
    ("no column", 'column = "position", ', "", (":20:", "'column'")),
    ("missing FMU", '"model.fmu"', '"modell.fmu"', (":2:", "modell.fmu", "'model.fmu'")),
    ("missing data", '"data.csv"', '"dat.csv"', (":13:", "dat.csv", "'data.csv'")),
    ("missing data of an output", 'column = "position"', 'column = "position", data = "dat.csv"',
     (":20:", "dat.csv", "'data.csv'")),
    # --- names of the FMU
    ("unknown parameter", "[parameters.m]", "[parameters.mass]", (":4:", "'mass'", "'m'")),
    ("unknown variable", "initial = 300.0", 'initial = 1\nvariable = "kk"',
     (":10:", "'kk'", "'k'")),
    ("empty variable", "initial = 300.0", 'initial = 1\nvariable = ""', (":10:", "''")),
    ("calculated parameter", "[parameters.k]", "[parameters.derived]",
     (":8:", "'derived'", "calculated from other")),
    ("frozen", "[parameters.k]", "[parameters.frozen]",
     (":8:", "'frozen'", "frozen when", "final", "Evaluate=true")),
    ("final in the source", "[parameters.k]", "[parameters.odd_k]",
     (":8:", "'odd_k'", "'final' in the Modelica source", "build the FMU again")),
    ("whole number in the source", "[parameters.k]", '[parameters."count2[1]"]',
     (":8:", "'count2[1]'", "Integer parameters are fixed", "only Real")),
    ("whole number", "[parameters.k]", "[parameters.count]", (":8:", "Integer", "Real")),
    ("unknown input", 'F = "force"', 'f = "force"', (":16:", "'f'", "'F'")),
    ("output as input", 'F = "force"', 'x = "force"', (":16:", "'x'", "not an input")),
    ("unknown output", "x = {", "xx = {", (":20:", "'xx'", "'x'")),
    ("input as output", "x = {", "F = {", (":20:", "'F' is an input", "not an output")),
    ("parameter as output", "x = {", "m = {", (":20:", "'m' is a parameter", "not an output")),
    ("text as output", "x = {", "file = {", (":20:", "'file'", "text")),
    ("unknown start value", "[parameters.m]", "[model.start_values]\ncunt = 1\n[parameters.m]",
     (":5:", "'cunt'", "'count'")),
    ("whole start value", "[parameters.m]", "[model.start_values]\ncount = 1.5\n[parameters.m]",
     (":5:", "'count'", "whole number")),
    ("huge start value", "[parameters.m]", "[model.start_values]\ncount = 1e10\n[parameters.m]",
     (":5:", "'count'", "32 bits")),
    ("true start value", "[parameters.m]", "[model.start_values]\non = 1\n[parameters.m]",
     (":5:", "'on'", "true or false")),
    ("text start value", "[parameters.m]", "[model.start_values]\nfile = 1\n[parameters.m]",
     (":5:", "'file'", "a text")),
    ("infinite start value", "[parameters.m]",
     "[model.start_values]\nphi0 = inf\n[parameters.m]",
     (":5:", "'phi0'", "finite")),
    ("start value that cannot be set", "[parameters.m]",
     "[model.start_values]\nderived = 1\n[parameters.m]", (":5:", "'derived'", "cannot be set")),
    ("parameter and start value", "[parameters.m]", "[model.start_values]\nk = 1\n[parameters.m]",
     ("'k'", "start value at once")),
    # --- values
    ("bounds exclude", "initial = 2.5", "initial = 0.25", (":6:", "0.25", "'m'", "[0.5, 10]")),
    ("the FMU's bounds exclude", "initial = 2.5\nbounds = [0.5, 10.0]", "initial = 60.0",
     (":4:", "60", "'m'", "[0.1, 50]")),
    ("bounds reversed", "[0.5, 10.0]", "[10.0, 0.5]", (":6:", "'m'", "[10, 0.5]", "below")),
    ("log of zero", "bounds = [0.5, 10.0]", 'bounds = [0, 10.0]\nscaling = "log"',
     (":6:", "log scaling", "positive")),
    ("log of a negative start", K, '[parameters.k]\ninitial = -1\nscaling = "log"',
     ("'k'", "log scaling")),
    ("scale zero", "initial = 300.0", "initial = 300.0\nscale = 0", (":10:", "scale", "positive")),
    ("scale beyond reason", "initial = 300.0", "initial = 300.0\nscale = 1e-320",
     (":10:", "scale", "near its size")),
    ("not a number", "initial = 300.0", "initial = nan", ("'k'", "finite")),
    ("all fixed", PROBLEM[PROBLEM.index("bounds"):PROBLEM.index("[[")],
     "fixed = true\n", ("no parameter is free", "fixed")),
    ("wrong unit of a parameter", "initial = 300.0", 'initial = 300.0\nunit = "kg"',
     (":8:", "'kg'", "'N/m'")),
    ("unreadable unit", "initial = 300.0", 'initial = 300.0\nunit = "Nm"', ("'Nm'", "N.m")),
    ("no initial value", X,
     'x = { column = "position", gain = "g" }\n[parameters.g]\nscale = 1',
     (":21:", "'g'", "initial")),
    # --- measurement model
    ("sigma zero", "sigma = 0.01", "sigma = 0.0", (":20:", "sigma", "positive")),
    ("sigma beyond reason", "sigma = 0.01", "sigma = 1e-320", (":20:", "sigma", "positive")),
    ("sigma of a column that is not there", "sigma = 0.01", 'sigma = "spar"',
     (":20:", "'spar'", "'spare'")),
    ("sigma for some", X, X + '\n"q[1]" = "angle"', (":21:", "'q[1]'", "every output, or of none")),
    ("weight negative", "sigma = 0.01", "weight = -1", (":20:", "weight", "positive")),
    ("weight beside sigma", "sigma = 0.01", "sigma = 0.01, weight = 2",
     (":20:", "together", "leave the weight out")),
    ("infinite delay", "sigma = 0.01", "delay = inf", (":20:", "delay", "finite")),
    ("undeclared gain", "sigma = 0.01", 'gain = "g"', (":20:", "gain", "'g'", "[parameters.g]")),
    ("undeclared delay beside one that is like it", "sigma = 0.01",
     'delay = "T_mess" }\n[parameters.T_meas]\ninitial = 1\n[estimator]\nx = { y = 1',
     (":20:", "delay", "'T_mess'", "not declared", "'T_meas'")),
    ("used nowhere", "[parameters.k]", '[parameters.other]\ninitial = 1\n[parameters.k]',
     (":8:", "'other'")),
    ("decimation of too few", "sigma = 0.01", "decimate = 10", (":20:", "4 samples")),
    ("decimation by half", "sigma = 0.01", "decimate = 1.5", (":20:", "decimate")),
    ("decimation by nothing", "sigma = 0.01", "decimate = 1", (":20:", "from 2")),
    # --- columns
    ("unknown column", '"position"', '"positon"', (":20:", "'positon'", "'position'", "data.csv")),
    ("unknown input column", '"torque"', '"torqe"', (":17:", "'torqe'", "'torque'", "data.csv")),
    ("unknown time", 'name = "push"', 'time = "tt"', ("'tt'", "data.csv")),
    ("wrong unit", '"position"', '"angle"', (":20:", "'angle'", "'deg'", "'m'")),
    ("window outside", 'name = "push"', 'window = [5, 6]', (":12:", "0 rows", "0 to 0.3")),
    ("window reversed", 'name = "push"', 'window = [2, 1]', (":12:", "start < stop")),
    ("every zero", 'name = "push"', 'every = 0', (":12:", "every", "at least 1")),
    ("every too large", 'name = "push"', 'every = 9', (":12:", "every = 9", "fewer than two")),
    # --- experiments
    ("unknown experiment", "initial = 300.0", 'initial = 300.0\nexperiments = ["pushh"]',
     (":10:", "'pushh'", "'push'")),
    ("no experiment", "initial = 300.0", "initial = 300.0\nexperiments = []",
     (":10:", "'k'", "no experiment")),
    ("experiment without a name", 'name = "push"', 'name = " "', (":12:", "empty")),
    ("experiment twice", X, X + PROBLEM[PROBLEM.index("\n[[experiments]]"):], ("'push'", "name")),
    ("two parameters for one variable", "[parameters.k]",
     '[parameters.mass]\nvariable = "m"\n[parameters.k]', (":8:", "'m'", "'mass'", "both set")),
]  # fmt: skip


CODES = {
    "no data": Code.MISSING_KEY,
    "no column": Code.MISSING_KEY,
    "wrong interpolation": Code.NOT_A_CHOICE,
    "tolerance of one": Code.OUT_OF_RANGE,
    "unknown parameter": Code.UNKNOWN_NAME,
    "unknown variable": Code.UNKNOWN_NAME,
    "unknown input": Code.UNKNOWN_NAME,
    "unknown output": Code.UNKNOWN_NAME,
    "unknown start value": Code.UNKNOWN_NAME,
    "calculated parameter": Code.NOT_SETTABLE,
    "frozen": Code.NOT_SETTABLE,
    "final in the source": Code.NOT_SETTABLE,
    "whole number": Code.NOT_SETTABLE,
    "true start value": Code.WRONG_TYPE,
    "text start value": Code.WRONG_TYPE,
    "unknown experiment": Code.UNKNOWN_NAME,
    "no model": Code.INVALID_PROBLEM,
}


@pytest.mark.parametrize(("name", "old", "new", "fragments"), TABLE, ids=[row[0] for row in TABLE])
def test_one_change(
    name: str, old: str, new: str, fragments: tuple[str, ...], error: Change
) -> None:
    caught = error(old, new)
    if name in CODES:
        assert caught.code == CODES[name]
    for fragment in fragments:
        assert fragment in str(caught)


@pytest.mark.parametrize(
    ("old", "new", "fragments"),
    [
        ("0.1,1.5,0.1,0.1", "0.1,,0.1,0.1", ("data.csv:3", "'force'", "gap", "fill_inputs")),
        ("0.1,1.5,0.1,0.1", "0.1,one,0.1,0.1", ("data.csv:3:2", "'one'", "'force'")),
        ("0.1,1.5,0.1,0.1", "0.1,1.5,0.1,inf", ("data.csv:3", "'position'", "infinite")),
        ("0.1,1.5,0.1,0.1", "0.1,-inf,0.1,0.1", ("data.csv:3", "'force'", "infinite")),
        ("0.1,1.5", "inf,1.5", ("data.csv:3", "time", "infinite")),
        ("0.2,2.0", "0.1,2.0", ("data.csv:4", "appears twice")),
        ("0.2,2.0", "0.05,2.0", ("data.csv:4", "goes back")),
        ("[m]", "[kg]", (":20:", "'position'", "'kg'", "'m'")),
        ("[N]", "[furlong]", (":16:", "'force'", "'furlong'")),
        ("[m]", "[metres]", (":20:", "'metres'")),
    ],
)
def test_messages_on_data(
    old: str, new: str, fragments: tuple[str, ...], case: Case, error: Change
) -> None:
    case.change_data(old, new)
    told = str(error())
    for fragment in fragments:
        assert fragment in told


def test_a_column_without_any_value(case: Case, error: Change) -> None:
    case.write("data.csv", "t,force,torque,position\n0,1,0,\n1,1,0,NaN\n")
    told = str(error())
    assert "problem.toml:20" in told
    assert "'position'" in told
    assert "no values" in told


def test_outputs_of_another_time(case: Case, error: Change) -> None:
    case.write("late.csv", "t,x\n5,1\n6,1\n")
    told = str(error('column = "position"', 'column = "x", data = "late.csv"'))
    assert "5 to 6 s" in told
    assert "overlap" in told


def test_a_unit_of_the_fmu_that_nobody_knows(case: Case, error: Change) -> None:
    told = str(error(X, 'odd = { column = "position", sigma = 1 }'))
    assert "'furlong'" in told
    assert "exactly as the FMU does" in told


@pytest.mark.parametrize("course", ["linear", "mean"])
def test_discrete_inputs_are_held(case: Case, course: str) -> None:
    variables = VARIABLES.replace('causality="input"', 'causality="input" variability="discrete"')
    fixture = Fixture("none.c", variables)
    with zipfile.ZipFile(case.folder / "model.fmu", "w") as archive:
        archive.writestr("modelDescription.xml", description(fixture, "model"))
    asked = f'F = {{ column = "force", interpolation = "{course}" }}'
    with refused(Code.NOT_SUPPORTED, ProblemError, match="'F' is discrete"):
        case.load('F = "force"', asked)


def test_linear_interpolation_that_the_fmu_lacks(error: Change) -> None:
    told = str(error("[model]", '[evaluation]\ninterpolation = "linear"\n[model]'))
    assert "problem.toml:2" in told
    assert "canInterpolateInputs" in told


def test_class_without_a_compiler(error: Change) -> None:
    caught = error('fmu = "model.fmu"', 'class = "A.B"')
    assert caught.code == Code.INVALID_PROBLEM
    assert caught.location is not None
    assert caught.location.line == 2


@pytest.mark.parametrize(
    ("more", "fragments"),
    [
        ('sources = ["none"]', (":3:", "no source", "none", "relative to the problem file")),
        ("sources = 3", (":3:", "'sources'", "list of texts")),
        ("compiler = 3", (":3:", "'compiler'", "a text")),
        ("fmu_folder = 3", (":3:", "'fmu_folder'", "a text")),
        ("", (":2:", "no such class", "hint: look")),
    ],
)
def test_class_that_cannot_be_built(more: str, fragments: tuple[str, ...], case: Case) -> None:
    def resolve(name: str, table: Mapping[str, object], base: Path) -> Path:
        raise CompilationError("no such class", hint="look")

    with pytest.raises(ProblemError) as caught:
        case.load('fmu = "model.fmu"', f'class = "A.B"\n{more}', model=resolve)
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_missing_file_and_folder(case: Case) -> None:
    with refused(Code.UNKNOWN_NAME, FmidentError, match=r"\n  hint: nearest file: 'problem"):
        problem_from_file(case.folder / "problm.toml")
    with refused(Code.UNUSABLE_FILE, FmidentError):
        problem_from_file(case.folder)
    (case.folder / "problem.toml").write_bytes(b"\xff\xfe")
    with refused(Code.UNUSABLE_FILE, FmidentError):
        case.load()
