"""Coloured noise: models, tests, and the covariance of estimates."""

from fmident.statistics.noise.covariance import (
    NoiseFinding,
    OutputFinding,
    noise_found,
    output_findings,
    repetitions,
    waves_found,
    whitened_finding,
)
from fmident.statistics.noise.processes import (
    NoiseModel,
    NoisyOutput,
    Order,
    fit_noise,
    outputs_of,
    spanned,
)
from fmident.statistics.noise.series import Series, sampling_interval, series_of
from fmident.statistics.noise.waves import Steps, Wave, factor_of, with_amplitudes
from fmident.statistics.noise.whiteness import colour_level

__all__ = [
    "NoiseFinding",
    "NoiseModel",
    "NoisyOutput",
    "Order",
    "OutputFinding",
    "Series",
    "Steps",
    "Wave",
    "colour_level",
    "factor_of",
    "fit_noise",
    "noise_found",
    "output_findings",
    "outputs_of",
    "repetitions",
    "sampling_interval",
    "series_of",
    "spanned",
    "waves_found",
    "whitened_finding",
    "with_amplitudes",
]
