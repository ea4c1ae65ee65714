"""Exception by which all parts of the front end refuse a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fmident.compilers.embedded.frontend.reading.syntax import NOWHERE, Span
from fmident.errors import did_you_mean

OPENMODELICA = "compile this class with OpenModelica: --compiler openmodelica"

NO_ALGORITHM = f"write equations, or a function that has the statements; or {OPENMODELICA}"


LARGEST = 200_000
"""Scalar variables, equations or values of one model; a few thousand compile in a minute."""

MOST_PASSES = 1_000_000
"""Passes of all loops of functions, array constructors and equations together."""

_HINT = "make it smaller: a model of ordinary size has some thousand equations"


class Refusal(Exception):  # noqa: N818 - a refusal is the term of this package
    """The model is wrong or needs an unsupported feature.

    `rule` is a short identifier such as ``"unsupported-when"``; a `hint` of ``None``
    recommends OpenModelica.
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
        """Return this refusal with `span` as its position, unless it already has one."""
        if self.span != NOWHERE:
            return self
        return Refusal(self.rule, self.message, span, self.hint)


@contextmanager
def refusing_at(span: Span) -> Iterator[None]:
    """Give a refusal of the enclosed code a position, unless it already has one."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.at(span) from None


class Collector:
    """Collects the refusals of several parts of a model, so that all are reported at once."""

    def __init__(self) -> None:
        self._refusals: list[Refusal] = []

    @contextmanager
    def at(self, span: Span) -> Iterator[None]:
        """Collect a refusal of the enclosed code, with `span` unless it has a position."""
        try:
            yield
        except Refusal as refusal:
            self._refusals.append(refusal.at(span))

    def check(self) -> None:
        """Raise what was collected, if anything."""
        if self._refusals:
            raise ExceptionGroup("refused", self._refusals)


def unknown_name(name: str, span: Span, known: Iterable[str]) -> Refusal:
    """Return the refusal of an undefined name, suggesting similar ones."""
    return Refusal(
        "unknown-variable",
        f"there is no variable '{name}'",
        span,
        did_you_mean(name, known, kind="variable"),
    )


def check_size(sizes: Iterable[int], what: str, span: Span = NOWHERE) -> None:
    """Raise `Refusal` for an array above :data:`LARGEST` elements or with a negative size."""
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
    """Raise `Refusal` after more than :data:`MOST_PASSES` loop iterations."""
    if passes > MOST_PASSES:
        raise Refusal(
            "too-large", f"the loops have more than {MOST_PASSES} passes in all", span, _HINT
        )
