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
        "model M\n  Real x;\n  Real y;\nequation\n  der(x) = delay(x, 0.5);\n  y = x/0;\nend M;\n"
    )
    rules = [d.rule for d in refused(tmp_path / "M.mo", source).diagnostics]
    assert rules == ["unsupported-delay", "division-by-zero"]


def test_what_takes_all_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The limit is below that of any sound class: what counts is that it is kept and named.
    monkeypatch.setattr(
        "fmident.compilers.embedded.frontend.reading.rumoca.MEMORY_BYTES", 500_000_000
    )
    source = (
        "model M\n  Real x[1000000000];\nequation\n  for i in 1:1000000000 loop\n"
        "    x[i] = 1;\n  end for;\nend M;\n"
    )
    error = refused(tmp_path / "M.mo", source)
    assert "too large" in error.message
    assert "0.5 GB" in (error.hint or "")
