"""``noise`` of an output in a problem file."""

from __future__ import annotations

import pytest

from fmident.data.experiment import NoiseChoice
from fmident.errors import Code, FmidentError
from fmident.problem import problem_from_file

from ..refused import refused
from .conftest import Case

OUTPUT = 'x = { column = "position", sigma = 0.01 }'


def changed(keys: str) -> str:
    return OUTPUT.replace(", sigma = 0.01", keys)


@pytest.mark.parametrize(
    ("keys", "choice"),
    [
        (', noise = { model = "ar", order = "auto" }', NoiseChoice()),
        (', noise = "ar"', NoiseChoice()),
        (', noise = { model = "ar", order = 3, criterion = "bic" }', NoiseChoice("ar", 3, "bic")),
        (', noise = { model = "white" }', NoiseChoice("white")),
        ("", None),
    ],
)
def test_a_model_of_the_noise_is_read(case: Case, keys: str, choice: NoiseChoice | None) -> None:
    problem = case.load(OUTPUT, changed(keys))
    (x,) = problem.experiments[0].measurements
    assert x.noise == choice
    assert not problem.sigma_known
    target = case.folder / "copy.toml"
    problem.to_toml(target)
    (again,) = problem_from_file(target).experiments[0].measurements
    assert again.noise == choice


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        (', sigma = 0.01, noise = "ar"', Code.INVALID_PROBLEM),
        (', noise = "arma"', Code.NOT_A_CHOICE),
        (", noise = 3", Code.WRONG_TYPE),
        (', noise = { model = "ar", order = 0 }', Code.OUT_OF_RANGE),
        (', noise = { model = "ar", order = true }', Code.WRONG_TYPE),
        (', noise = { model = "white", order = 2 }', Code.REQUIRES_OPTION),
        (', noise = { model = "ar", criterion = "aic" }', Code.NOT_A_CHOICE),
        (', noise = { model = "ar", ordre = 2 }', Code.UNKNOWN_KEY),
    ],
)
def test_another_model_of_the_noise_is_refused(case: Case, keys: str, code: Code) -> None:
    with pytest.raises(FmidentError) as refused:
        case.load(OUTPUT, changed(keys))
    assert refused.value.code == code
    assert refused.value.location is not None


def test_all_outputs_have_one_or_none(case: Case) -> None:
    two = changed(', noise = "ar"') + '\n"q[1]" = { column = "angle" }'
    with refused(Code.INVALID_PROBLEM, FmidentError, match="but not for 'q"):
        case.load(OUTPUT, two)
