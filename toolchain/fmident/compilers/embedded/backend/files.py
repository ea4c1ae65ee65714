"""Names of a model's C files."""

from __future__ import annotations

SIZES_FILE = "model_sizes.h"
KIND_FILE = "model_kind.h"
DATA_FILE = "model_data.c"
FUNCTIONS_FILE = "model_functions.c"
LANES_FILE = "model_lanes.h"
FMI3_FILE = "model_fmi3.c"
"""A model with this file becomes an FMU of FMI 3.0."""
