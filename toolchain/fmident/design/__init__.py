"""Design of experiments: motions that tell the parameters apart."""

from fmident.design.excitation import Design, DesignSettings, design_excitation
from fmident.design.file import DesignTask, load_design
from fmident.design.fourier import Axis, FourierMotion
from fmident.design.information import Criterion
from fmident.design.sine import SineCandidate, SineDesign, SineSettings, design_sine

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
