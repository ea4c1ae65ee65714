"""Cross-validation: prediction of samples that a problem was not fitted to.

M. Stone, Journal of the Royal Statistical Society B 36 (1974).
"""

from fmident.cross_validation.folds import (
    Fold,
    Way,
    fold_problem,
    make_folds,
    refuse_other_samples,
    refuse_unpredictable,
)
from fmident.cross_validation.result import (
    CrossValidation,
    FoldResult,
    ModelFolds,
    ModelSummary,
    OutputScore,
    ParameterSpread,
    fold_result,
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
