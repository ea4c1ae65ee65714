"""The exception with which every part of the front end refuses a model."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fmident.compilers.embedded.frontend.reading.syntax import NOWHERE, Span
from fmident.errors import did_you_mean

OPENMODELICA = "compile this class with OpenModelica: --compiler openmodelica"

NO_ALGORITHM = f"write equations, or a function that has the statements; or {OPENMODELICA}"


LARGEST = 200_000
"""Scalar variables, equations or values of one model; a few thousand compile in a minute."""

MOST_PASSES = 1_000_000
"""Passes of all loops of functions, array constructors and equations together."""

MEMORY_BYTES = 4 * 10**9
"""What rumoca and the C compiler may take, each."""

_HINT = "make it smaller: a model of ordinary size has some thousand equations"


class Refusal(Exception):  # noqa: N818 - a refusal is the term of this package
    """The model is wrong, or needs something that the subset does not contain.

    Parameters
    ----------
    rule
        Short identifier of the kind of finding, such as ``"unsupported-when"``.
    message
        What is wrong; names the construct.
    span
        Where in the user's source.
    hint
        What to do next. ``None`` advises OpenModelica.
    """

    def __init__(
        self, rule: str, message: str, span: Span = NOWHERE, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.span = span
        self.hint = OPENMODELICA if hint is None else hint

    def at(self, span: Span) -> Refusal:
        """Return this refusal with `span` as its place, unless it has one already."""
        if self.span != NOWHERE:
            return self
        return Refusal(self.rule, self.message, span, self.hint)


class Refusals(Exception):  # noqa: N818
    """Several refusals, in the order in which they were found."""

    def __init__(self, refusals: list[Refusal]) -> None:
        super().__init__(f"{len(refusals)} refusals")
        self.refusals = refusals


def unknown_name(name: str, span: Span, known: Iterable[str]) -> Refusal:
    """Return the refusal of a name that does not exist."""
    return Refusal(
        "unknown-variable",
        f"there is no variable '{name}'",
        span,
        did_you_mean(name, known, kind="variable"),
    )


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
