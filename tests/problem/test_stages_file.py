"""``[cost]`` and ``[[stages]]`` in the problem file."""

from __future__ import annotations

from pathlib import Path

import pytest

import fmident
from fmident.errors import FmidentError
from fmident.plugins import Host, load_plugins
from fmident.problem import Problem, TimeDomain
from fmident.problem.reading.in_memory import with_absolute_paths
from fmident_costs import FrequencyDomain, SmoothedSpectrum

from .conftest import Case


@pytest.fixture(scope="module")
def host() -> Host:
    return load_plugins()


def loaded(case: Case, host: Host, addition: str) -> Problem:
    path = case.folder / "problem.toml"
    path.write_text(path.read_text() + addition)
    return fmident.load_problem(path, host=host, report=lambda _: None)


def refused(case: Case, host: Host, addition: str) -> str:
    with pytest.raises(FmidentError) as caught:
        loaded(case, host, addition)
    return str(caught.value)


def line(case: Case, text: str) -> str:
    lines = (case.folder / "problem.toml").read_text().splitlines()
    (number,) = [k for k, found in enumerate(lines, 1) if found == text]
    return f"problem.toml:{number}"


def test_default_cost(case: Case, host: Host) -> None:
    assert loaded(case, host, "").cost == TimeDomain()


def test_cost_with_options(case: Case, host: Host) -> None:
    text = '\n[cost]\nname = "smoothed-spectrum"\nsmoothing = 1\nband = [0, 4]\n'
    assert loaded(case, host, text).cost == SmoothedSpectrum((0.0, 4.0), 1)


def test_options_of_the_default_cost_need_no_name(case: Case, host: Host) -> None:
    found = loaded(case, host, '\n[cost]\nnormalisation = "mean-square"\n')
    assert found.cost == TimeDomain("mean-square")


@pytest.mark.parametrize(
    ("text", "at", "fragment"),
    [
        ('name = "smooth-spectrum"', 0, "no cost 'smooth-spectrum'"),
        ('name = "smoothed-spectrum"\nsmoothing = 1.5', 1, "'smoothing' of 'smoothed-spectrum'"),
        ('name = "smoothed-spectrum"\nsmoothing = -1', 1, "it is a number of lines"),
        ('name = "smoothed-spectrum"\nsmothing = 1', 1, "no option 'smothing'"),
        ('name = "frequency-domain"\nband = [3, 1]', 1, "'band' is [3, 1] Hz"),
        ('name = "frequency-domain"\nband = [3]', 1, "'band'"),
        ('normalisation = "mean"', 0, "'normalisation' of 'time-domain'"),
        ('name = "squares-and-maxima"\nmaxima = { x = "1" }', 1, "cost.maxima]: 'x'"),
    ],
)  # fmt: skip
def test_mistakes_in_the_cost_are_told_with_their_line(
    case: Case, host: Host, text: str, at: int, fragment: str
) -> None:
    message = refused(case, host, f"\n[cost]\n{text}\n")
    assert fragment in message
    assert line(case, text.splitlines()[at]) in message


def test_nearest_names_are_told(case: Case, host: Host) -> None:
    message = refused(case, host, '\n[cost]\nname = "smooth-spectrum"\n')
    assert "'smoothed-spectrum'" in message


def test_a_cost_that_the_data_do_not_allow(case: Case, host: Host) -> None:
    message = refused(case, host, '\n[cost]\nname = "frequency-domain"\nband = [100, 200]\n')
    assert "no line of the spectrum of 'x' of 'push' lies in the band" in message
    assert line(case, "[cost]") in message


def test_an_estimator_with_equations_of_its_own(case: Case, host: Host) -> None:
    text = '\n[cost]\nname = "frequency-domain"\n\n[estimator]\nname = "linear-regression"\n'
    message = refused(case, host, text)
    assert "does not minimise the cost 'frequency-domain'" in message
    assert line(case, "[cost]") in message


STAGES = """
[estimator]
name = "least-squares"
starts = 1

[[stages]]
name = "global"
free = ["k"]
experiments = ["push"]

[stages.cost]
name = "frequency-domain"
band = [0, 4]

[stages.estimator]
name = "cma-es"
seed = 3

[stages.parameters.k]
initial = 0.2
bounds = [0.1, 0.9]
unit = "kN/m"

[[stages]]
"""


def test_stages(case: Case, host: Host) -> None:
    first, second = loaded(case, host, STAGES).stages
    assert (first.name, second.name) == ("global", "stage 2")
    assert [q.name for q in first.problem.free] == ["k"]
    assert [q.name for q in second.problem.free] == ["m", "k"]
    assert first.problem.cost == FrequencyDomain((0.0, 4.0))
    assert second.problem.cost == TimeDomain()
    assert first.problem.estimator.name == "cma-es"
    assert first.problem.estimator.options == {"seed": 3}
    assert second.problem.estimator.options == {"starts": 1}
    assert first.starts == {"k": pytest.approx(200.0)}
    (k,) = first.problem.free
    assert (k.lower, k.upper, k.initial) == pytest.approx((100.0, 900.0, 200.0))
    assert first.problem.stages == ()


def test_propagation_can_be_switched_off(case: Case, host: Host) -> None:
    off = STAGES + "propagate = false\n"
    assert [s.propagate for s in loaded(case, host, off).stages] == [True, False]


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ('name = "global"', "propagate = 1", "propagate"),
        ('free = ["k"]', 'free = ["q"]', "searches 'q', but there is no such parameter"),
        ('free = ["k"]', "free = []", "searches no parameter"),
        ('experiments = ["push"]', 'experiments = ["psh"]', "the experiment 'psh'"),
        ("band = [0, 4]", "bnd = [0, 4]", "[stages.cost]: 'frequency-domain' has no option 'bnd'"),
        ('name = "frequency-domain"', 'name = "frequency"', "no cost 'frequency'"),
        ("seed = 3", "sed = 3", "[stages.estimator]: 'cma-es' has no option 'sed'"),
        ('name = "cma-es"', 'name = "cma"', "no estimator 'cma'"),
        ("initial = 0.2", "initial = 2.0", "lies outside its bounds"),
        ("bounds = [0.1, 0.9]", "bounds = [0.9, 0.1]", "the lower one must be below"),
        ('unit = "kN/m"', 'unt = "kN/m"', "unknown key 'unt'"),
        ('name = "global"', 'name = ""', "a stage has no name"),
        ('name = "global"', 'nam = "global"', "unknown key 'nam'"),
    ],
)
def test_mistakes_in_a_stage_are_told_with_their_line(
    case: Case, host: Host, old: str, new: str, fragment: str
) -> None:
    assert STAGES.count(old) == 1
    message = refused(case, host, STAGES.replace(old, new))
    assert fragment in message
    assert line(case, new) in message


def test_more_mistakes(case: Case, host: Host) -> None:
    message = refused(case, host, '\n[stages]\nname = "one"\n')
    assert "write [[stages]] with double brackets" in message


def test_two_stages_of_one_name(case: Case, host: Host) -> None:
    message = refused(case, host, '\n[[stages]]\nname = "a"\n[[stages]]\nname = "a"\n')
    assert "two stages are called 'a'" in message


def test_a_parameter_that_the_stage_holds(case: Case, host: Host) -> None:
    text = '\n[[stages]]\nfree = ["k"]\n[stages.parameters.m]\ninitial = 1.0\n'
    assert "'m' is held in this stage" in refused(case, host, text)


def test_the_outer_estimator_may_be_wrong_for_a_stage(case: Case, host: Host) -> None:
    text = '\n[estimator]\nname = "least-squares"\nstart = 8\n\n[[stages]]\nname = "a"\n'
    message = refused(case, host, text)
    assert "no option 'start'" in message
    assert line(case, "start = 8") in message


def test_the_cost_of_a_stage_must_fit_its_estimator(case: Case, host: Host) -> None:
    text = """
[estimator]
name = "linear-regression"

[[stages]]
[stages.cost]
name = "frequency-domain"
"""
    message = refused(case, host, text)
    assert "does not minimise the cost 'frequency-domain'" in message
    assert line(case, "[stages.cost]") in message


def test_cost_and_estimator_of_the_file_need_not_fit_when_no_stage_has_both(
    case: Case, host: Host
) -> None:
    text = """
[cost]
name = "frequency-domain"

[estimator]
name = "least-squares"

[[stages]]
[stages.cost]
name = "time-domain"
[stages.estimator]
name = "linear-regression"

[[stages]]
name = "second"
"""
    first, second = loaded(case, host, text).stages
    assert first.problem.estimator.name == "linear-regression"
    assert second.problem.cost == FrequencyDomain()


@pytest.fixture
def other(case: Case) -> Path:
    text = (case.folder / "problem.toml").read_text().replace("[0.5, 10.0]", "[1.0, 20.0]")
    return case.write("other.toml", text + '\n[cost]\nname = "frequency-domain"\n')


def test_a_stage_with_a_file_of_its_own(case: Case, host: Host, other: Path) -> None:
    found = loaded(case, host, '\n[[stages]]\nname = "a"\nproblem = "other.toml"\n\n[[stages]]\n')
    own, rest = found.stages
    assert own.separate
    assert not rest.separate
    assert own.problem.source == other
    assert own.problem.cost == FrequencyDomain()
    assert own.problem.free[0].upper == 20.0
    text = with_absolute_paths(found.file.text, case.folder)
    assert f'problem = "{other.as_posix()}"' in text


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ('problem = "othr.toml"', "there is no problem file"),
        ('problem = "problem.toml"', "is this file itself"),
        ('problem = "other.toml"\nfree = ["m"]', "so 'free' belongs there"),
    ],
)
def test_mistakes_in_naming_the_file(
    case: Case, host: Host, other: Path, text: str, fragment: str
) -> None:
    message = refused(case, host, f"\n[[stages]]\n{text}\n")
    assert fragment in message
    assert line(case, text.splitlines()[-1]) in message


def test_mistakes_in_the_file_are_told_there(case: Case, host: Host, other: Path) -> None:
    other.write_text(other.read_text() + '\n[estimator]\nname = "least-squared"\n')
    message = refused(case, host, '\n[[stages]]\nproblem = "other.toml"\n')
    assert "no estimator 'least-squared'" in message
    assert "other.toml:" in message


def test_a_file_that_finds_nothing_of_this_one(case: Case, host: Host, other: Path) -> None:
    text = other.read_text().replace("[parameters.m]", '[parameters.mass]\nvariable = "m"')
    other.write_text(text.replace("[parameters.k]\ninitial = 300.0\n", ""))
    message = refused(case, host, '\n[[stages]]\nproblem = "other.toml"\n')
    assert "finds no parameter of this file" in message
    assert "searches 'mass'" in message


def test_stages_in_the_file_of_a_stage(case: Case, host: Host, other: Path) -> None:
    other.write_text(other.read_text() + '\n[[stages]]\nname = "inner"\n')
    message = refused(case, host, '\n[[stages]]\nproblem = "other.toml"\n')
    assert "has stages of its own" in message
