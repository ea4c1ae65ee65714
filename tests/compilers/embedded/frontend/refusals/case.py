"""What a case is, a model with one mistake and what must be said of it; and how to hear it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError

OTHER = "--compiler openmodelica"


@dataclass(frozen=True)
class Case:
    """A model that must be refused.

    The model has the input u, the output y and the state x with ``der(x) = -x + u``; `mark` is
    the text in it at which the first diagnostic must point.
    """

    rule: str
    mark: str
    equations: str = "y = x;"
    declarations: str = ""
    before: str = ""
    after: str = ""
    words: tuple[str, ...] = ()
    hint: str = ""

    @property
    def source(self) -> str:
        return (
            f"{self.before}\nmodel M\n  input Real u;\n  output Real y;\n"
            f"  Real x(start=1, fixed=true);\n  {self.declarations}\nequation\n"
            f"  der(x) = -x + u;\n  {self.equations}\n{self.after}\nend M;\n"
        )


def function(body: str, inputs: str = "input Real a;", name: str = "f") -> str:
    return f"function {name}\n  {inputs}\n  output Real b;\nalgorithm\n  {body}\nend {name};\n"


def refused(path: Path, source: str, name: str = "M") -> CompilationError:
    path.write_text(source, encoding="utf-8")
    with pytest.raises(CompilationError) as caught:
        load_model(name, [path])
    return caught.value
