"""``modelDescription.xml``: what all versions of FMI have in common, and a module for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fmident.compilers.embedded.backend.description.xml_text import number, tag
from fmident.compilers.embedded.model import ExperimentDefaults
from fmident.fmu.model_description.description import FrozenParameter

GUID_PLACEHOLDER = "{guid-of-the-content-comes-here}"
"""What stands for the GUID while the content that it is a hash of is collected."""


def model_identifier(class_name: str) -> str:
    """Return a C identifier for a Modelica class: the name of the binary.

    >>> model_identifier("Mechanisms.Robots.DeltaInverse")
    'Mechanisms_Robots_DeltaInverse'
    """
    identifier = re.sub(r"[^A-Za-z0-9_]", "_", class_name)
    return identifier if identifier[:1].isalpha() else f"m_{identifier}"


def log_categories() -> Iterable[str]:
    """Yield the lines of the element ``LogCategories``."""
    yield "  <LogCategories>"
    yield "    " + tag("Category", {"name": "logStatusWarning"})
    yield "    " + tag("Category", {"name": "logStatusError"})
    yield "  </LogCategories>"


def default_experiment(experiment: ExperimentDefaults, tolerance: float) -> str:
    """Return the line of the element ``DefaultExperiment``."""
    return "  " + tag(
        "DefaultExperiment",
        {
            "startTime": number(experiment.start_time),
            "stopTime": number(experiment.stop_time),
            "tolerance": number(tolerance),
            "stepSize": number(experiment.interval),
        },
    )


def frozen_parameters(frozen: Mapping[str, FrozenParameter]) -> Iterable[str]:
    """Yield the lines of an annotation of our own: why parameters of the class cannot be set."""
    yield "      <FrozenParameters>"  # the schema wants one element
    for name, one in frozen.items():
        given = {"name": name, "reason": one.reason, "advice": one.advice}
        yield "        " + tag("Frozen", given)
    yield "      </FrozenParameters>"


def whole(limit: float | None) -> str | None:
    """Return a limit of an Integer variable."""
    return None if limit is None else str(round(limit))
