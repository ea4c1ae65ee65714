"""What is said of a syntax error: one sentence, at the place where the text is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError

from ..refusals import refused


def test_syntax_error_that_hides_the_class(tmp_path: Path) -> None:
    source = "package L\n  model M\n    Real x = (1;\n  end M;\nend L;\n"
    found = refused(tmp_path / "L.mo", source, "L.M").diagnostics[0]
    assert found.rule == "syntax-error"
    assert found.location is not None
    assert found.location.line == 3


@pytest.mark.parametrize(
    ("line", "token", "column", "hint"),
    [
        ("  parameter Real m = 1 // mass\n  output Real x = m;", "output", 3, "line 2"),
        ("  Real x = 1  Real y = 2;", "Real", 15, "there"),
        ('  Real x = 1 "text"\n\n\n  Real y = 2;', "Real", 3, "line 2"),
    ],
)
def test_missing_semicolon(tmp_path: Path, line: str, token: str, column: int, hint: str) -> None:
    found = refused(tmp_path / "M.mo", f"model M\n{line}\nend M;\n").diagnostics[0]
    assert found.rule == "syntax-error"
    assert found.message == f"syntax error: expected ';' before '{token}'"
    assert found.location is not None
    assert found.location.column == column
    assert found.hint is not None
    assert hint in found.hint


def test_hint_of_a_syntax_error_is_short(tmp_path: Path) -> None:
    source = "model M\n  Real y;\nequation\n  y = 1 + ;\nend M;\n"
    found = refused(tmp_path / "M.mo", source).diagnostics[0]
    assert found.hint is not None
    assert "gtequ" not in found.hint
    assert len(found.hint) < 100


def test_syntax_error_inside_a_package_of_folders(tmp_path: Path) -> None:
    package = tmp_path / "Lib"
    package.mkdir()
    (package / "package.mo").write_text("package Lib\nend Lib;\n")
    (package / "Good.mo").write_text("within Lib;\nmodel Good\n  Real x = 1;\nend Good;\n")
    (package / "Bad.mo").write_text("within Lib;\nmodel Bad\n  Real x = 1\nend Bad;\n")
    with pytest.raises(CompilationError) as caught:
        load_model("Lib.Bad", [package])
    found = caught.value.diagnostics[0]
    assert found.rule == "syntax-error"
    assert found.location is not None
    assert (Path(found.location.file).name, found.location.line) == ("Bad.mo", 4)
