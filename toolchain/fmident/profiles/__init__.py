"""Profile likelihoods: how far a parameter can go when all others make up for it.

``landscape`` evaluates points, ``descent`` finds the least cost with one parameter held, ``walk``
goes along a profile to one side, ``regions`` along rays of two parameters, ``thresholds`` says
how far the cost may rise where more than white noise counts, ``joint_walks`` lets all
walks run side by side, ``collect`` and ``verdict`` say what they have found. The threshold is in
:mod:`fmident.statistics.likelihood`.
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
