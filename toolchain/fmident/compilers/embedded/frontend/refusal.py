"""The exception with which every part of the front end refuses a model."""

from __future__ import annotations

from collections.abc import Iterable

from fmident.compilers.embedded.frontend.reading.syntax import NOWHERE, Span
from fmident.errors import did_you_mean

OPENMODELICA = "compile this class with OpenModelica: --compiler openmodelica"

NO_ALGORITHM = f"write equations, or a function that has the statements; or {OPENMODELICA}"


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
