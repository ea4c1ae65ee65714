"""Errors as tests expect them: by what a program reads, their code, not by their words."""

from __future__ import annotations

from typing import TypeVar

import pytest

from fmident.errors import Code, FmidentError
from fmident.options import OptionError

E = TypeVar("E", bound=FmidentError | OptionError)


def refused(code: Code | str, kind: type[E], *, match: str | None = None) -> pytest.RaisesExc[E]:
    """Expect an error in a block, as ``pytest.raises`` does.

    Parameters
    ----------
    code, kind
        Code, which may be the rule of a finding, and class of the error.
    match
        What its text must contain, as a regular expression: what was wrong and where, such as a
        name, rather than how it is said.
    """
    return pytest.raises(kind, match=match, check=lambda error: error.code == code)
