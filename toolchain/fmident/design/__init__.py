"""Design of experiments: motions that tell the parameters apart."""

from fmident.design.excitation import Criterion, Design, DesignSettings, design_excitation
from fmident.design.file import DesignTask, load_design
from fmident.design.fourier import Axis, FourierMotion

__all__ = [
    "Axis",
    "Criterion",
    "Design",
    "DesignSettings",
    "DesignTask",
    "FourierMotion",
    "design_excitation",
    "load_design",
]
