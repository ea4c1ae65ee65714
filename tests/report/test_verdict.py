from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fmident.estimation.comparisons import CountedNoise, CountedWave, ResidualCheck
from fmident.estimation.result import (
    DerivativeCheck,
    EstimationResult,
    StageResult,
    StageUncertainty,
)
from fmident.findings import finding
from fmident.report.verdict import correlated_pairs, verdict
from fmident.statistics.identifiability import Identifiability
from fmident.statistics.local_model import LocalModel

MakeResult = Callable[..., EstimationResult]


def with_first(result: EstimationResult, **changes: object) -> EstimationResult:
    first, *rest = result.estimates
    return replace(result, estimates=(replace(first, **changes), *rest))  # type: ignore[arg-type]


def codes(result: EstimationResult) -> list[str]:
    """Return the codes of what speaks against a result, the gravest first."""
    return [f.code for f in verdict(result).findings if f.severity != "note"]


def hint(result: EstimationResult, code: str) -> str:
    found = verdict(result).of(code)
    assert found is not None
    return found.hint


def test_the_words_of_a_verdict(make_result: MakeResult) -> None:
    good = verdict(make_result())
    assert good.headline == (
        "The estimation converged and every parameter is determined by the data."
    )
    assert good.reasons == (
        "All 3 parameters are identifiable.",
        "Largest relative error of an output: 3.51 % (tau[1], cycle).",
    )
    bound = verdict(with_first(make_result(), at_bound=True))
    assert bound.headline == "The estimation converged, but parameter mass lies on a bound."
    assert bound.reasons[0].startswith("Widen the bound if other values are possible")
    assert "The cost fell from 123456 to 9375." in bound.more


def test_good_when_nothing_speaks_against_it(make_result: MakeResult) -> None:
    judgement = verdict(make_result())
    assert judgement.grade == "good"
    assert codes(make_result()) == []


@pytest.mark.parametrize(
    ("status", "code"),
    [("limit", "not-converged"), ("stopped", "not-converged"), ("interrupted", "interrupted")],
)
def test_doubtful_when_it_ended_early(make_result: MakeResult, status: str, code: str) -> None:
    result = make_result(status=status)
    assert verdict(result).grade == "doubtful"
    assert codes(result) == [code]


def test_bad_when_it_failed_or_has_no_cost(make_result: MakeResult) -> None:
    for result in (make_result(status="failed"), make_result(cost_final=np.inf)):
        assert verdict(result).grade == "bad"
        assert codes(result) == ["failed"]


@pytest.mark.parametrize("ended_by", [None, "limit", "plateau", "jump", "stuck"])
def test_what_ended_the_run_without_convergence(ended_by: Any, make_result: MakeResult) -> None:
    judged = verdict(make_result(status="limit", ended_by=ended_by))
    found = judged.of("not-converged")
    assert judged.grade == "doubtful"
    assert found is not None
    assert judged.headline == f"{found.text}."


UNBOUNDED = {"standard_error": np.nan, "interval_95": (-np.inf, np.inf)}
LACKING = Identifiability(np.array([1.0, 0.0, 0.0]), 1, "mass and friction act together")
COLOURED = ResidualCheck(np.nan, 0.9)
MISFIT = ResidualCheck(40.0, 0.9)
MOVED = DerivativeCheck(1e-6, shifts={"mass": 0.7}, needed=1e-8)
INEXACT = DerivativeCheck(1e-6, share=2.0, needed=1e-8)
MINIMA = (finding("second-minimum", "there are two minima"),)


def unbounded(result: EstimationResult) -> EstimationResult:
    first, second, *rest = result.estimates
    lost = (replace(first, **UNBOUNDED), replace(second, **UNBOUNDED))  # type: ignore[arg-type]
    return replace(result, estimates=(*lost, *rest), identifiability=LACKING)


def bounded(result: EstimationResult) -> EstimationResult:
    first, second, third, *rest = result.estimates
    return replace(result, estimates=(first, second, replace(third, at_bound=True), *rest))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([unbounded], ["not-identifiable"]),
        ([bounded], ["at-bound"]),
        ([{"residuals": COLOURED}], ["residuals-correlated"]),
        ([{"residuals": MISFIT}], ["model-misfit"]),
        ([{"derivatives": MOVED}], ["estimate-moved"]),
        ([{"derivatives": INEXACT}], ["integration-error"]),
        ([{"findings": MINIMA}], ["second-minimum"]),
        ([unbounded, {"residuals": COLOURED}], ["not-identifiable", "residuals-correlated"]),
        ([bounded, {"residuals": COLOURED}], ["at-bound", "residuals-correlated"]),
        ([unbounded, bounded], ["not-identifiable", "at-bound"]),
        (
            [unbounded, bounded, {"residuals": COLOURED, "derivatives": MOVED}],
            ["not-identifiable", "at-bound", "estimate-moved", "residuals-correlated"],
        ),
        ([unbounded, {"residuals": MISFIT}], ["model-misfit", "not-identifiable"]),
        (
            [unbounded, {"residuals": MISFIT, "derivatives": INEXACT}],
            ["integration-error", "model-misfit", "not-identifiable"],
        ),
        (
            [unbounded, {"status": "limit", "residuals": COLOURED, "findings": MINIMA}],
            ["not-converged", "second-minimum", "not-identifiable", "residuals-correlated"],
        ),
    ],
)
def test_the_gravest_finding_is_the_headline_and_none_is_hidden(
    make_result: MakeResult, changes: list[Any], expected: list[str]
) -> None:
    result = make_result()
    for change in changes:
        result = change(result) if callable(change) else replace(result, **change)
    judged = verdict(result)
    assert codes(result) == expected
    gravest = judged.findings[0]
    assert gravest.text in judged.headline
    said = " ".join((judged.headline, *judged.reasons, *judged.more)).lower()
    for other in judged.findings[: len(expected)]:
        assert other.text.lower() in said
        assert other.hint.lower() in said
    wrapped = [textwrap.wrap(text, 88) for text in (judged.headline, *judged.reasons)]
    assert sum(map(len, wrapped)) <= 6


def test_warnings_without_room_are_counted(make_result: MakeResult) -> None:
    matrix = np.full((3, 3), 0.99)
    result = bounded(make_result(correlation=matrix, residuals=COLOURED, derivatives=MOVED))
    many = verdict(replace(result, derivatives=replace(MOVED, step_shifts={"mass": 3.0})))
    assert sum(f.severity == "warning" for f in many.findings) == 7
    assert many.reasons[-1].endswith("more warnings below.")
    assert sum(len(textwrap.wrap(t, 88)) for t in (many.headline, *many.reasons)) <= 6


def test_doubtful_when_a_parameter_has_no_uncertainty(make_result: MakeResult) -> None:
    result = with_first(make_result(), **UNBOUNDED)
    assert verdict(result).grade == "doubtful"
    assert codes(result) == ["no-uncertainty"]


def test_names_pairs_that_are_strongly_correlated(make_result: MakeResult) -> None:
    matrix = np.eye(3)
    matrix[0, 2] = matrix[2, 0] = -0.995
    result = make_result(correlation=matrix)
    assert correlated_pairs(result) == [("mass", "offset", -0.995)]
    assert codes(result) == ["nearly-collinear"]


def test_nan_correlation_is_no_pair(make_result: MakeResult) -> None:
    assert correlated_pairs(make_result(correlation=np.full((3, 3), np.nan))) == []


def test_a_misfit_comes_with_advice(make_result: MakeResult) -> None:
    found = make_result(residuals=ResidualCheck(246.3, 0.99), settings={"options": {"starts": 1}})
    assert codes(with_first(found, at_bound=True)) == ["model-misfit", "at-bound"]
    assert "starts = 8" in hint(found, "model-misfit")
    several = replace(found, settings={"options": {"starts": 8}})
    assert "starts = 8" not in hint(several, "model-misfit")


def test_outliers_are_named_in_place_of_other_starts(make_result: MakeResult) -> None:
    found = make_result(
        residuals=ResidualCheck(4.98, 0.0, outliers={"x": 12}), settings={"options": {"starts": 1}}
    )
    assert "12 samples of 'x'" in hint(found, "model-misfit")
    assert "hampel" in hint(found, "model-misfit")
    without_sigma = replace(found, residuals=ResidualCheck(np.nan, 0.0, outliers={"x": 1}))
    assert codes(without_sigma) == ["model-lacks-something"]
    assert "hampel" in hint(without_sigma, "model-lacks-something")


@pytest.mark.parametrize(
    "wave",
    [
        lambda o, a: CountedWave(o, "tone", 50.0, a),
        lambda o, a: CountedWave(o, "steps", 3.0 * a, a),
    ],
)
def test_waves_that_explain_a_misfit(
    make_result: MakeResult, wave: Callable[[str, float], CountedWave]
) -> None:
    found = make_result(residuals=ResidualCheck(3.0, 0.2), settings={"options": {"starts": 1}})
    output = found.fits[0].name
    rms = max(f.rms for f in found.fits if f.name == output)

    def advice(amplitude: float) -> str:
        noise = CountedNoise(True, False, False, (), waves=(wave(output, amplitude),))
        return hint(replace(found, noise=noise), "model-misfit")

    assert str(wave(output, 1.3 * rms)) in advice(1.3 * rms)
    assert "starts = 8" not in advice(1.3 * rms)
    assert "starts = 8" in advice(0.1 * rms)


def test_what_the_model_lacks_qualifies_the_headline(make_result: MakeResult) -> None:
    noise = CountedNoise(True, False, False, (), contradicted=True)
    result = make_result(residuals=ResidualCheck(np.nan, 0.3), noise=noise)
    assert codes(result) == ["model-lacks-something"]


@pytest.mark.parametrize("status", ["limit", "stopped", "interrupted"])
def test_a_misfit_is_told_of_runs_that_ended_early(make_result: MakeResult, status: str) -> None:
    result = make_result(status=status, residuals=ResidualCheck(40.0, 0.5))
    assert codes(result)[1] == "model-misfit"
    assert any("40 times" in r for r in verdict(result).reasons)


def test_white_residuals_of_the_size_of_the_noise_are_no_finding(make_result: MakeResult) -> None:
    assert codes(make_result(residuals=ResidualCheck(1.0, 0.1))) == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("undecided", "rank-undecided"),
        ("withheld", "derivatives-inexact"),
        ("jumps", "cost-jumps"),
    ],
)
def test_parameters_that_derivatives_do_not_judge(
    make_result: MakeResult, kind: str, code: str
) -> None:
    judged: Any = {kind: ("mass", "offset")}
    result = make_result(identifiability=Identifiability(np.ones(3), 2, "inexact", **judged))
    assert codes(result) == [code]
    assert "mass and offset" in verdict(result).headline


def test_no_word_of_intervals_where_there_are_none(make_result: MakeResult) -> None:
    result = make_result(status="limit", cost="smoothed-spectrum")
    assert "intervals" in verdict(result).headline
    bare = replace(
        result,
        estimates=tuple(replace(e, standard_error=np.nan) for e in result.estimates),
        identifiability=None,
    )
    assert "intervals" not in verdict(bare).headline
    cost = verdict(bare).of("cost")
    assert cost is not None
    assert "'smoothed-spectrum'" in cost.text


def test_the_rank_is_that_of_the_last_stage(make_result: MakeResult) -> None:
    """Two parameters of an earlier stage are no loss of rank in the last one."""
    result = make_result(
        identifiability=Identifiability(np.array([1.0]), 1, "the parameter is identifiable"),
        correlation=np.full((3, 3), np.nan),
    )
    assert codes(result) == ["not-identifiable"]
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
    assert codes(staged) == []
    unknown = with_first(staged, standard_error=np.nan)
    assert codes(unknown) == ["no-uncertainty"]


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
    assert codes(staged) == ["not-identifiable"]
    assert first.name in verdict(staged).headline


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(12.5, 12.5, "stayed at 12.5"), (12.5, 2.0, "fell from 12.5 to 2"), (2.0, 3.0, "rose")],
)
def test_how_the_cost_changed(
    make_result: MakeResult, before: float, after: float, change: str
) -> None:
    found = verdict(make_result(cost_initial=before, cost_final=after)).of("cost")
    assert found is not None
    assert change in found.text


def test_a_population_is_not_sent_to_other_initial_values(make_result: MakeResult) -> None:
    found = make_result(
        residuals=ResidualCheck(40.0, 0.5),
        settings={"options": {"generations": 1, "seed": 0}},
    )
    ended = hint(replace(found, status="limit"), "not-converged")
    assert "generations than 1" in ended
    # The range of the children has shrunk: more generations would change nothing.
    shrunk = replace(found, status="limit", settings={"options": {"generations": 1000}})
    assert hint(shrunk, "not-converged") == ""
    assert "seed" in hint(found, "model-misfit")
    assert "initial values" not in hint(found, "model-misfit")


def test_estimators_that_do_not_search_are_not_sent_to_other_initial_values(
    make_result: MakeResult,
) -> None:
    found = make_result(residuals=ResidualCheck(40.0, 0.5), settings={"options": {}})
    assert "minimum" not in hint(found, "model-misfit")


def test_a_model_that_explains_the_data_is_not_in_a_wrong_minimum(make_result: MakeResult) -> None:
    found = make_result(
        residuals=ResidualCheck(40.0, 0.5),
        settings={"options": {"starts": 1}},
    )
    fits = tuple(replace(f, relative_error=1e-6) for f in found.fits)
    advice = hint(replace(found, fits=fits), "model-misfit")
    assert "sigma" in advice
    assert "starts" not in advice


def test_a_search_that_was_cut_short_is_to_go_on(make_result: MakeResult) -> None:
    options = {"options": {"starts": 1, "max_iterations": 1}}
    found = make_result(residuals=ResidualCheck(40.0, 0.5), settings=options)
    assert "iterations than 1" in hint(replace(found, status="limit"), "not-converged")
    assert "--resume" in hint(replace(found, status="interrupted"), "interrupted")
    assert "starts = 8" in hint(found, "model-misfit")


def test_says_which_parameters_are_identifiable_beside_one_on_its_bound(
    make_result: MakeResult,
) -> None:
    rest = Identifiability(np.ones(2), 2, "Both parameters are identifiable.")
    found = verdict(
        with_first(
            make_result(identifiability=rest),
            at_bound=True,
            held=True,
            standard_error=float("nan"),
        )
    )
    about = found.of("identifiability")
    assert about is not None
    assert about.text.startswith("The other 2 parameters")
    assert about.sentence in found.reasons


def test_a_parameter_that_is_open_counts_as_such_on_its_bound(make_result: MakeResult) -> None:
    result = make_result()
    first, second, *_ = result.estimates
    names, values = [first.name, second.name], np.array([first.value, second.value])
    model = LocalModel(names, values, np.ones((9, 2)), np.zeros(9), True)
    nothing = {"standard_error": float("nan"), "interval_95": (-np.inf, np.inf)}
    for at_bound in (False, True):
        estimates = replace(first, **nothing, at_bound=at_bound), replace(second, **nothing)
        found = verdict(replace(result, estimates=estimates, identifiability=model.identifiability))
        assert f"the data do not determine {first.name} and {second.name}" in found.headline


def test_identifiable_is_not_said_alone_of_numbers_without_meaning(make_result: MakeResult) -> None:
    """Rank says whether the data determine a parameter, its interval how well."""
    result = with_first(make_result(), value=5.0, initial=3.0, standard_error=19.0)
    assert result.estimates[0].poorly_determined
    about = verdict(result).of("identifiability")
    assert about is not None
    assert about.text.endswith(f"but {result.estimates[0].name} only to worse than its value")
    better = with_first(result, standard_error=4.0)
    assert not better.estimates[0].poorly_determined
    known = verdict(better).of("identifiability")
    assert known is not None
    assert "worse" not in known.text


def test_with_another_cost_only_a_large_misfit_in_the_time_domain_is_told(
    make_result: MakeResult,
) -> None:
    result = make_result(
        cost="smoothed-spectrum", identifiability=None, residuals=ResidualCheck(31.0, 0.99)
    )
    assert codes(result) == ["model-misfit"]
    # Such a cost does not bring them down to the noise, and there are no intervals to qualify.
    assert codes(replace(result, residuals=ResidualCheck(1.5, 0.99))) == []


def test_an_unknown_rank_is_not_said_of_the_others_beside_a_bound(make_result: MakeResult) -> None:
    result = with_first(make_result(), at_bound=True, held=True, standard_error=float("nan"))
    assert result.identifiability is not None
    judged = replace(result.identifiability, verdict="The rank cannot be judged")
    known = verdict(replace(result, identifiability=judged)).of("identifiability")
    assert known is not None
    assert known.text.startswith("The other")
    jumps = replace(judged, rank_known=False)
    unknown = verdict(replace(result, identifiability=jumps)).of("identifiability")
    assert unknown is not None
    assert unknown.text == "The rank cannot be judged"
