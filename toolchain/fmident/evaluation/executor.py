"""Former home of the executors."""

from fmident.evaluation.executors.base import Executor
from fmident.evaluation.executors.inline import InProcessExecutor
from fmident.evaluation.tasks import refuse_not_finite

__all__ = ["Executor", "InProcessExecutor", "refuse_not_finite"]
