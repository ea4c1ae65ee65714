"""How well a problem predicts samples that it was not fitted to.

M. Stone, Journal of the Royal Statistical Society B 36 (1974). ``folds`` says what is left out,
``held_out`` makes problems of it, ``scores`` compares predictions with what was left out,
``summary`` puts several models side by side, ``result`` is what comes out.
"""

from fmident.cross_validation.folds import Fold, Way, make_folds
from fmident.cross_validation.held_out import (
    fold_problem,
    refuse_other_samples,
    refuse_unpredictable,
)
from fmident.cross_validation.result import (
    CrossValidation,
    FoldResult,
    ModelFolds,
    OutputScore,
)
from fmident.cross_validation.scores import fold_result
from fmident.cross_validation.summary import (
    ModelSummary,
    ParameterSpread,
    parameter_spreads,
    summarised,
    verdict,
)

__all__ = [
    "CrossValidation",
    "Fold",
    "FoldResult",
    "ModelFolds",
    "ModelSummary",
    "OutputScore",
    "ParameterSpread",
    "Way",
    "fold_problem",
    "fold_result",
    "make_folds",
    "parameter_spreads",
    "refuse_other_samples",
    "refuse_unpredictable",
    "summarised",
    "verdict",
]
