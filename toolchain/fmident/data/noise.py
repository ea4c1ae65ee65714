"""What is asked for the noise of an output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Criterion = Literal["aicc", "bic"]

LARGEST_ORDER = 40


@dataclass(frozen=True)
class NoiseChoice:
    """A model of the noise of one output, which is estimated with the parameters.

    Parameters
    ----------
    model
        ``"ar"``: an autoregression; ``"white"``: white noise of a size of its own.
    order
        Of the autoregression; ``None``: by the criterion.
    criterion
        ``"aicc"``: Akaike's, corrected; ``"bic"``: Schwarz's.
    """

    model: Literal["ar", "white"] = "ar"
    order: int | None = None
    criterion: Criterion = "aicc"
