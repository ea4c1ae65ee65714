"""Models that must be refused, by subject."""

from .case import Case, refused
from .events import EVENTS
from .functions import FUNCTIONS
from .operators import OPERATORS
from .sizes import SIZES
from .source import SOURCE
from .structure import STRUCTURE
from .values import VALUES

SUBJECTS = (EVENTS, OPERATORS, FUNCTIONS, STRUCTURE, VALUES, SOURCE, SIZES)

__all__ = ["SUBJECTS", "Case", "refused"]
