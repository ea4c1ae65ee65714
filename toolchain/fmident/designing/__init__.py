"""Design of experiments: motions that make the parameters distinguishable."""

from fmident.designing.excitation import Design, DesignSettings, design_excitation
from fmident.designing.file import DesignTask, load_design
from fmident.designing.fourier import Axis, FourierMotion
from fmident.designing.information import Criterion
from fmident.designing.sine import SineCandidate, SineDesign, SineSettings, design_sine

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
