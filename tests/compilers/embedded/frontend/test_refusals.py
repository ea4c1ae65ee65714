"""What the subset does not contain, and what is wrong: each with rule, place and advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from .refusals import SUBJECTS, refused

CASES = {name: case for cases in SUBJECTS for name, case in cases.items()}


@pytest.mark.parametrize("name", CASES)
def test_refusal(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    path = tmp_path / "M.mo"
    found = refused(path, case.source).diagnostics[0]
    assert found.severity == "error"
    assert found.rule == case.rule
    assert found.location is not None
    assert found.location.file == str(path)
    line, column = found.location.line, found.location.column
    assert line is not None
    assert column is not None
    text = case.source.splitlines(keepends=True)
    rest = text[line - 1][column - 1 :] + "".join(text[line:])
    assert rest.startswith(case.mark), (line, column, rest[:40])
    for word in case.words:
        assert word in found.message.replace("`", "'")
    assert case.hint in (found.hint or "")


def test_there_are_many_kinds() -> None:
    assert len(CASES) == sum(len(cases) for cases in SUBJECTS), "a name stands twice"
    assert len({case.rule for case in CASES.values()}) >= 50


def test_several_errors_are_told_at_once(tmp_path: Path) -> None:
    source = (
        "model M\n  Real x;\n  Real y;\nequation\n  der(x) = sign(x);\n  y = floor(x);\nend M;\n"
    )
    rules = [d.rule for d in refused(tmp_path / "M.mo", source).diagnostics]
    assert rules == ["unsupported-sign", "unsupported-floor"]
