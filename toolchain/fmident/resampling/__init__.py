"""Bootstrap: estimates of replicates of the data.

``panels`` says which residuals belong together, ``schemes`` how the noise of a replicate comes
about (``block_length`` for moving blocks), ``refits`` finds the estimate of one, ``summary`` and
``intervals`` say what all of them mean, ``bootstrap`` puts it together.
"""

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
