"""Bootstrap: estimates from replicates of the data."""

from fmident.resampling.bootstrap import BootstrapOptions, check_bootstrap, run_bootstrap
from fmident.resampling.result import BootstrapParameter, BootstrapResult, FailedReplicate
from fmident.resampling.schemes import METHODS, WEIGHTS, Method, Weights

__all__ = [
    "METHODS",
    "WEIGHTS",
    "BootstrapOptions",
    "BootstrapParameter",
    "BootstrapResult",
    "FailedReplicate",
    "Method",
    "Weights",
    "check_bootstrap",
    "run_bootstrap",
]
