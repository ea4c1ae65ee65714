"""How large a model may be: what would take all memory is refused before it is written out."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fmident.compilers.embedded.frontend.reading.syntax import NOWHERE, Span
from fmident.compilers.embedded.frontend.refusal import Refusal

LARGEST = 200_000
"""Scalar variables, equations or values of one model; a few thousand compile in a minute."""

MOST_PASSES = 1_000_000
"""Passes of all loops of functions, array constructors and equations together."""

MEMORY_BYTES = 4 * 10**9
"""What rumoca and the C compiler may take, each."""

_HINT = "make it smaller: a model of ordinary size has some thousand equations"


def check_size(sizes: Iterable[int], what: str, span: Span = NOWHERE) -> None:
    """Refuse an array of some sizes that nobody could compile.

    Raises
    ------
    Refusal
        It has more than :data:`LARGEST` elements, or a size is negative.
    """
    listed = list(sizes)
    if any(size < 0 for size in listed):
        raise Refusal(
            "unknown-size", f"{what} has the sizes {listed}", span, "give sizes of 0 or more"
        )
    count = math.prod(listed)
    if count > LARGEST:
        raise Refusal(
            "too-large",
            f"{what} has {count} elements, more than {LARGEST} are refused",
            span,
            _HINT,
        )


def check_passes(passes: int, span: Span = NOWHERE) -> None:
    """Refuse loops that have run too often.

    Raises
    ------
    Refusal
        More than :data:`MOST_PASSES`.
    """
    if passes > MOST_PASSES:
        raise Refusal(
            "too-large", f"the loops have more than {MOST_PASSES} passes in all", span, _HINT
        )
