"""Profile likelihoods: how far a parameter can move when all others compensate.

The confidence threshold is computed in :mod:`fmident.statistics.distributions`.
"""

from fmident.profiles.joint_walks import ProfileProgress, compared_with, run_profiles
from fmident.profiles.result import (
    JointRegion,
    ParameterProfile,
    ProfileEnd,
    ProfilePoint,
    ProfileResult,
    ProfileVerdict,
    RegionEnd,
)
from fmident.profiles.thresholds import tau_curve

__all__ = [
    "JointRegion",
    "ParameterProfile",
    "ProfileEnd",
    "ProfilePoint",
    "ProfileProgress",
    "ProfileResult",
    "ProfileVerdict",
    "RegionEnd",
    "compared_with",
    "run_profiles",
    "tau_curve",
]
