"""Design of experiments: motions that make the parameters distinguishable."""

from fmident.designing.excitation import (
    Axis,
    Criterion,
    Design,
    DesignSettings,
    FourierMotion,
    SineCandidate,
    SineDesign,
    SineSettings,
    design_excitation,
    design_sine,
)
from fmident.designing.file import DesignTask, load_design

__all__ = [
    "Axis",
    "Criterion",
    "Design",
    "DesignSettings",
    "DesignTask",
    "FourierMotion",
    "SineCandidate",
    "SineDesign",
    "SineSettings",
    "design_excitation",
    "design_sine",
    "load_design",
]
