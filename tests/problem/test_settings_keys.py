"""Keys of ``[evaluation]`` come from the fields of the dataclass: file, identity, docs."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from fmident.errors import ProblemError
from fmident.evaluation import python_problem
from fmident.evaluation.journal.keys import identity_of
from fmident.options import Options, Range
from fmident.plugins import load_plugins
from fmident.problem.model import EvaluationSettings, Problem
from fmident.problem.reading import file as problem_file
from fmident.problem.settings_keys import (
    WHAT,
    WHO,
    InFile,
    as_written,
    deciding_what,
    setting_keys,
)
from fmident.toml_file import Section, Source, parse_toml

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "problem-file.md"


@dataclass(frozen=True)
class Settings(Options):
    """In place of the settings, with keys that these do not have."""

    executor: Annotated[str, WHO] = "auto"
    executor_options: Annotated[Any, InFile(None), WHO] = None
    share: Annotated[float | None, Range(least=0.0, most=1.0), WHAT] = None
    retries: Annotated[int, Range(least=1), WHO] = 3
    buffer: Annotated[int | None, InFile("buffer_kb", 1000), WHO] = None
    order: Annotated[Literal["given", "random"], WHAT] = "given"


def read(text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(problem_file, "EvaluationSettings", Settings)
    source = f"[evaluation]\n{text}\n"
    path = Path("problem.toml")
    root = Section(Source(path, source), (), parse_toml(source, path))
    return problem_file.read_evaluation(root.inner("evaluation"))


def test_a_new_field_is_a_key_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'share = 0.5\nretries = 2\nbuffer_kb = 1.5\norder = "random"'
    assert read(text, monkeypatch) == Settings(share=0.5, retries=2, buffer=1500, order="random")
    assert read("", monkeypatch) == Settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("share = 2", "share must be from 0 to 1, not 2"),
        ("retries = 1.5", "'retries' must be an integer, not 1.5"),
        ("retries = 0", "retries must be at least 1, not 0"),
        ("buffer_kb = 0", "buffer_kb must be positive and finite, not 0"),
        ("buffer = 1", "unknown key 'buffer'"),
        ('order = "radom"', "must be 'given' or 'random', not 'radom'"),
        ("executor_options = 1", "unknown key 'executor_options'"),
    ],
)
def test_a_new_field_is_checked(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)) as caught:
        read(text, monkeypatch)
    assert caught.value.location is not None
    assert caught.value.location.line == 2


def test_what_and_who_are_marked_at_the_field() -> None:
    assert deciding_what(Settings(retries=7)) == {"share": None, "order": "given"}
    assert as_written(Settings(buffer=1500))["buffer_kb"] == 1.5


def test_every_setting_says_what_it_decides() -> None:
    assert [s.field for s in setting_keys(EvaluationSettings) if s.decides is None] == []


OTHER: dict[str, Any] = {
    "tolerance": 1e-5, "interpolation": "hold", "substeps": 3, "interface": "model-exchange",
    "difference": "central", "relative_step": 1e-4, "check": True, "timeout": 7.0,
    "executor": "processes", "executor_options": ("any",), "workers": 3,
    "memory_limit": 10**9, "renew_after": 4,
}  # fmt: skip


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(EvaluationSettings)])
def test_a_run_is_another_one_when_what_is_simulated_differs(field: str, tmp_path: Path) -> None:
    fmu = tmp_path / "model.fmu"
    fmu.write_bytes(b"")
    base: Problem = dataclasses.replace(python_problem({}, [0.0, 1.0], []), fmu=fmu)  # type: ignore[arg-type]
    settings = dataclasses.replace(base.evaluation, **{field: OTHER[field]})
    same = identity_of(base) == identity_of(dataclasses.replace(base, evaluation=settings))
    (setting,) = [s for s in setting_keys(EvaluationSettings) if s.field == field]
    assert same == (setting.decides == WHO)


def test_the_result_holds_all_keys() -> None:
    found = as_written(EvaluationSettings(memory_limit=600_000_000))
    assert found["memory_limit_mb"] == 600
    assert set(found) == {s.key for s in setting_keys(EvaluationSettings)} - {None}
    json.dumps(found, allow_nan=False)


def test_the_page_has_a_row_for_each_key() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## `[evaluation]`")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", section, re.MULTILINE))
    keys = {s.key: s for s in setting_keys(EvaluationSettings) if s.key is not None}
    executors = load_plugins().executors.by_name.values()
    assert set(rows) == set(keys) | {name for kind in executors for name in kind.options}
    for name, setting in keys.items():
        if setting.default is not None:
            shown = rows[name].strip("`")
            assert next(iter(tomllib.loads(f"key = {shown}").values())) == setting.default
