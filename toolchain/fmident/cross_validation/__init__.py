"""Cross-validation: prediction of samples that a problem was not fitted to.

M. Stone, Journal of the Royal Statistical Society B 36 (1974).
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
