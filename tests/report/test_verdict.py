from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fmident.estimation.result import (
    CountedNoise,
    CountedWave,
    EstimationResult,
    Identifiability,
    ResidualCheck,
    StageResult,
    StageUncertainty,
)
from fmident.report.verdict import correlated_pairs, verdict

MakeResult = Callable[..., EstimationResult]


def with_first(result: EstimationResult, **changes: object) -> EstimationResult:
    first, *rest = result.estimates
    return replace(result, estimates=(replace(first, **changes), *rest))  # type: ignore[arg-type]


def test_good_when_nothing_speaks_against_it(make_result: MakeResult) -> None:
    judgement = verdict(make_result())
    assert judgement.grade == "good"
    assert judgement.headline.startswith("The estimation converged and every parameter")


@pytest.mark.parametrize("status", ["limit", "stopped", "interrupted"])
def test_doubtful_when_it_ended_early(make_result: MakeResult, status: str) -> None:
    judgement = verdict(make_result(status=status))
    assert judgement.grade == "doubtful"
    assert "converged and" not in judgement.headline


def test_bad_when_it_failed_or_has_no_cost(make_result: MakeResult) -> None:
    assert verdict(make_result(status="failed")).grade == "bad"
    assert verdict(make_result(cost_final=np.inf)).grade == "bad"


def test_doubtful_when_a_parameter_is_on_a_bound(make_result: MakeResult) -> None:
    judgement = verdict(with_first(make_result(), at_bound=True))
    assert judgement.grade == "doubtful"
    assert judgement.headline == "The estimation converged, but mass lies on a bound."


def test_doubtful_when_a_parameter_has_no_uncertainty(make_result: MakeResult) -> None:
    result = with_first(make_result(), standard_error=np.nan, interval_95=(-np.inf, np.inf))
    judgement = verdict(result)
    assert judgement.grade == "doubtful"
    assert judgement.headline.endswith("but there is no uncertainty for mass.")


def test_doubtful_when_the_rank_is_too_low(make_result: MakeResult) -> None:
    lacking = Identifiability(np.array([1.0, 1.0, 0.0]), 2, "mass and offset act together")
    judgement = verdict(make_result(identifiability=lacking))
    assert judgement.grade == "doubtful"
    assert judgement.reasons[0] == "Mass and offset act together."


def test_names_pairs_that_are_strongly_correlated(make_result: MakeResult) -> None:
    matrix = np.eye(3)
    matrix[0, 2] = matrix[2, 0] = -0.995
    result = make_result(correlation=matrix)
    assert correlated_pairs(result) == [("mass", "offset", -0.995)]
    assert verdict(result).grade == "doubtful"


def test_nan_correlation_is_no_pair(make_result: MakeResult) -> None:
    assert correlated_pairs(make_result(correlation=np.full((3, 3), np.nan))) == []


def test_residuals_far_above_the_noise_are_the_headline(make_result: MakeResult) -> None:
    found = make_result(residuals=ResidualCheck(246.3, 0.99), settings={"options": {"starts": 1}})
    judgement = verdict(with_first(found, at_bound=True))
    assert judgement.grade == "doubtful"
    assert judgement.headline == (
        "The estimation converged, but the model does not explain the data: the residuals are 246 "
        "times the noise; this may be a local minimum: try starts = 8 with bounds, or other "
        "initial values."
    )
    several = verdict(replace(found, settings={"options": {"starts": 8}})).headline
    assert "starts = 8 with bounds" not in several


def test_outliers_are_named_in_place_of_other_starts(make_result: MakeResult) -> None:
    found = make_result(
        residuals=ResidualCheck(4.98, 0.0, outliers={"x": 12}), settings={"options": {"starts": 1}}
    )
    assert verdict(found).headline == (
        "The estimation converged, but the model does not explain the data: the residuals are 4.98 "
        "times the noise; 12 samples of 'x' are outliers: exclude them (hampel), or take a robust "
        "loss (loss)."
    )
    without_sigma = replace(found, residuals=ResidualCheck(np.nan, 0.0, outliers={"x": 1}))
    assert "but 1 sample of 'x' is an outlier: exclude it" in verdict(without_sigma).headline


@pytest.mark.parametrize(
    ("wave", "words"),
    [
        (lambda o, a: CountedWave(o, "tone", 50.0, a), "they are mostly a tone of 50 Hz"),
        (lambda o, a: CountedWave(o, "steps", 3.0 * a, a), "mostly the sensor's steps of"),
    ],
)
def test_waves_that_explain_a_misfit(
    make_result: MakeResult, wave: Callable[[str, float], CountedWave], words: str
) -> None:
    found = make_result(residuals=ResidualCheck(3.0, 0.2), settings={"options": {"starts": 1}})
    output = found.fits[0].name
    rms = max(f.rms for f in found.fits if f.name == output)

    def headline(amplitude: float) -> str:
        noise = CountedNoise(True, False, False, (), waves=(wave(output, amplitude),))
        return verdict(replace(found, noise=noise)).headline

    assert words in headline(1.3 * rms)
    assert "local minimum" not in headline(1.3 * rms)
    assert "local minimum" in headline(0.1 * rms)


def test_what_the_model_lacks_qualifies_the_headline(make_result: MakeResult) -> None:
    noise = CountedNoise(True, False, False, (), contradicted=True)
    judgement = verdict(make_result(residuals=ResidualCheck(np.nan, 0.3), noise=noise))
    assert judgement.grade == "doubtful"
    assert judgement.headline == (
        "The estimation converged, but a part of the residuals is what the model lacks, not noise."
    )


@pytest.mark.parametrize("status", ["limit", "stopped", "interrupted"])
def test_a_misfit_is_told_of_runs_that_ended_early(make_result: MakeResult, status: str) -> None:
    judgement = verdict(make_result(status=status, residuals=ResidualCheck(40.0, 0.5)))
    assert any("the residuals are 40 times the noise" in r for r in judgement.reasons)
    assert "determined by the data" not in judgement.headline


def test_strongly_correlated_residuals_qualify_the_headline(make_result: MakeResult) -> None:
    judgement = verdict(make_result(residuals=ResidualCheck(np.nan, 0.9)))
    assert judgement.grade == "doubtful"
    assert "neighbouring residuals are strongly correlated" in judgement.headline
    assert verdict(make_result(residuals=ResidualCheck(1.0, 0.1))).grade == "good"


def test_derivatives_that_are_too_inexact_are_the_headline(make_result: MakeResult) -> None:
    open_ones = Identifiability(np.ones(3), 2, "too inexact", undecided=("mass", "offset"))
    headline = verdict(make_result(identifiability=open_ones)).headline
    assert headline.endswith("but the derivatives are too inexact to judge mass and offset.")


def test_no_word_of_intervals_where_there_are_none(make_result: MakeResult) -> None:
    result = make_result(status="limit", cost="smoothed-spectrum")
    assert "intervals" in verdict(result).headline
    bare = replace(
        result,
        estimates=tuple(replace(e, standard_error=np.nan) for e in result.estimates),
        identifiability=None,
    )
    judgement = verdict(bare)
    assert judgement.headline == "The estimation stopped at a limit before it converged."
    assert any(r.startswith("The cost 'smoothed-spectrum' fell") for r in judgement.reasons)


def test_the_rank_is_that_of_the_last_stage(make_result: MakeResult) -> None:
    """Two parameters of an earlier stage are no loss of rank in the last one."""
    result = make_result(
        identifiability=Identifiability(np.array([1.0]), 1, "the parameter is identifiable"),
        correlation=np.full((3, 3), np.nan),
    )
    assert verdict(result).grade == "doubtful"
    stages = ("static", "static", "dynamic", "")
    staged = replace(
        result,
        estimates=tuple(
            replace(e, stage=s) for e, s in zip(result.estimates, stages, strict=True)
        ),
        stages=tuple(
            StageResult(s, "least-squares", "time-domain", {}, 2.0, 1.0, "converged", "", {},
                        ("cycle",), 1, 1, 0.1)
            for s in ("static", "dynamic")
        ),
    )  # fmt: skip
    assert verdict(staged).grade == "good"
    unknown = with_first(staged, standard_error=np.nan)
    assert "there is no uncertainty for mass" in verdict(unknown).headline


def test_a_parameter_that_depends_on_what_no_data_determine_is_not_determined(
    make_result: MakeResult,
) -> None:
    result = make_result()
    static, dynamic = (
        StageResult(s, "least-squares", "time-domain", {}, 2.0, 1.0, "converged", "", {},
                    ("cycle",), 1, 1, 0.1)
        for s in ("static", "dynamic")
    )  # fmt: skip
    first, *others = result.estimates
    lost = replace(first, stage="dynamic", standard_error=np.nan, interval_95=(-np.inf, np.inf))
    counts = StageUncertainty(counted=("k",), conditional_errors={first.name: 0.1})
    staged = replace(
        result,
        estimates=(lost, *(replace(e, stage="dynamic") for e in others)),
        stages=(static, replace(dynamic, uncertainty=counts)),
    )
    assert f"the data do not determine {first.name}" in verdict(staged).headline


def test_a_cost_that_stayed_did_not_fall(make_result: MakeResult) -> None:
    assert (
        "The cost stayed at 12.5."
        in verdict(make_result(cost_initial=12.5, cost_final=12.5)).reasons
    )
    assert (
        "The cost fell from 12.5 to 2."
        in verdict(make_result(cost_initial=12.5, cost_final=2.0)).reasons
    )


def test_a_population_is_not_sent_to_other_initial_values(make_result: MakeResult) -> None:
    found = make_result(
        residuals=ResidualCheck(40.0, 0.5),
        settings={"options": {"generations": 1, "seed": 0}},
    )
    ended = " ".join(verdict(replace(found, status="limit")).reasons)
    assert "allow more generations than 1" in ended
    # The range of the children has shrunk: more generations would change nothing.
    shrunk = replace(found, status="limit", settings={"options": {"generations": 1000}})
    assert "generations" not in " ".join(verdict(shrunk).reasons)
    settled = verdict(found).headline
    assert "another seed or a larger population" in settled
    assert "initial values" not in ended + settled


def test_estimators_that_do_not_search_are_not_sent_to_other_initial_values(
    make_result: MakeResult,
) -> None:
    found = make_result(residuals=ResidualCheck(40.0, 0.5), settings={"options": {}})
    headline = verdict(found).headline
    assert "look for what the model lacks" in headline
    assert "minimum" not in headline


def test_a_model_that_explains_the_data_is_not_in_a_wrong_minimum(make_result: MakeResult) -> None:
    found = make_result(
        residuals=ResidualCheck(40.0, 0.5),
        settings={"options": {"starts": 1}},
    )
    fits = tuple(replace(f, relative_error=1e-6) for f in found.fits)
    headline = verdict(replace(found, fits=fits)).headline
    assert "sigma may be too small" in headline
    assert "starts" not in headline


def test_a_search_that_was_cut_short_is_to_go_on(make_result: MakeResult) -> None:
    options = {"options": {"starts": 1, "max_iterations": 1}}
    found = make_result(residuals=ResidualCheck(40.0, 0.5), settings=options)
    assert "more iterations than 1" in " ".join(verdict(replace(found, status="limit")).reasons)
    assert "--resume" in " ".join(verdict(replace(found, status="interrupted")).reasons)
    assert "starts = 8" in verdict(found).headline


def test_says_which_parameters_are_identifiable_beside_one_on_its_bound(
    make_result: MakeResult,
) -> None:
    rest = Identifiability(np.ones(2), 2, "Both parameters are identifiable.")
    judgement = verdict(with_first(make_result(identifiability=rest), at_bound=True))
    assert judgement.reasons[0] == (
        "The other 2 parameters are identifiable, with mass held at its bound."
    )


def test_with_another_cost_a_large_misfit_in_the_time_domain_is_told(
    make_result: MakeResult,
) -> None:
    result = make_result(
        cost="smoothed-spectrum", identifiability=None, residuals=ResidualCheck(31.0, 0.99)
    )
    said = verdict(result).headline
    assert "does not explain the data in the time domain: the residuals are 31 times" in said
    # Such a cost does not bring them down to the noise, and there are no intervals to qualify.
    slight = verdict(replace(result, residuals=ResidualCheck(1.5, 0.99))).headline
    assert "residuals" not in slight


@pytest.mark.parametrize(
    ("ended_by", "words"),
    [
        (None, "at a limit"),
        ("limit", "at a limit"),
        ("plateau", "on a plateau"),
        ("jump", "a jump"),
    ],
)
def test_the_headline_names_what_ended_the_run(
    ended_by: Any, words: str, make_result: MakeResult
) -> None:
    judged = verdict(make_result(status="limit", ended_by=ended_by))
    assert judged.grade == "doubtful"
    assert words in judged.headline


def test_an_unknown_rank_is_not_said_of_the_others_beside_a_bound(make_result: MakeResult) -> None:
    result = with_first(make_result(), at_bound=True)
    assert result.identifiability is not None
    judged = replace(result.identifiability, verdict="The rank cannot be judged")
    known = verdict(replace(result, identifiability=judged))
    assert any(reason.startswith("The other") for reason in known.reasons)
    jumps = replace(judged, rank_known=False)
    unknown = verdict(replace(result, identifiability=jumps))
    assert "The rank cannot be judged." in unknown.reasons
