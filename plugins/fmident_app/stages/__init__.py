"""The stages of the page, in their order."""

from fmident_app.stages.data import DataStage
from fmident_app.stages.estimation import EstimationStage
from fmident_app.stages.model import ModelStage
from fmident_app.stages.parameters import ParameterStage
from fmident_app.stages.results import ResultStage

STAGES = (ModelStage, DataStage, ParameterStage, EstimationStage, ResultStage)

__all__ = ["STAGES"]
