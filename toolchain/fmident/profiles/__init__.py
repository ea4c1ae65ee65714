"""Profile likelihoods: how far a parameter can move when all others compensate.

The confidence threshold is computed in :mod:`fmident.statistics.likelihood`.
"""

from fmident.profiles.curve import tau_curve
from fmident.profiles.joint_walks import ProfileProgress, compared_with, run_profiles, with_notes
from fmident.profiles.result import (
    JointRegion,
    ParameterProfile,
    ProfileEnd,
    ProfilePoint,
    ProfileResult,
    ProfileVerdict,
    RegionEnd,
)

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
    "with_notes",
]
