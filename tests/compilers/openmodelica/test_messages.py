"""Messages in all their forms; values; advice."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.openmodelica.messages import (
    Message,
    balance_diagnostic,
    parse_printed,
    parse_raised,
    parse_records,
    quoted,
    scan_value,
    to_diagnostic,
    to_diagnostics,
)
from fmident.errors import Location


def test_every_recorded_exception_is_read(recorded) -> None:
    raised = [r for r in recorded.ompython() if r.raised and "Error occurred" not in r.raised]
    assert len(raised) == 11
    for call in raised:
        messages = parse_raised(call.raised)
        assert len(messages) == call.raised.count("\n0")
        assert any(m.level == "error" for m in messages)
        assert all(m.text and m.kind and m.id for m in messages)


def test_message_over_several_lines(recorded) -> None:
    call = next(r for r in recorded.ompython() if r.subject == "DerOfInput" and r.raised)
    first, second = parse_raised(call.raised)
    assert first.text.endswith("as listed below:\nder(u)")
    assert (first.kind, first.id, first.location) == ("translation", 528, None)
    assert second.id == 5999


def test_place_in_the_source() -> None:
    (message,) = parse_raised(
        "OMC error occurred:\n00: [syntax:error:2] [/tmp/a b/C:x.mo:false:5:1:5:15] Expected"
    )
    assert message == Message("error", "Expected", Location("/tmp/a b/C:x.mo", 5, 1), "syntax", 2)


def test_exception_without_numbered_messages(recorded) -> None:
    call = next(r for r in recorded.ompython() if r.expression == "nonsense(")
    (message,) = parse_raised(call.raised)
    assert message.level == "error"
    assert "Unexpected token near: nonsense" in message.text
    assert message.location is None
    assert parse_raised("No connection with OMC (timeout=3.00s).") == (
        Message("error", "No connection with OMC (timeout=3.00s)."),
    )


def test_printed_messages_of_wrong_units(recorded) -> None:
    text = recorded.placed(recorded.scripts()["checkModel", "WrongUnit"], "/tmp")
    messages = parse_printed(text[text.index("\n[") :])
    assert [m.level for m in messages] == ["warning"] * 4
    place = messages[0].location
    assert place is not None
    assert (place.line, place.column) == (4, 3)
    assert place.file.endswith("recorded/models/WrongUnit.mo")
    assert messages[1].text.splitlines()[-1] == '- sub-expression "s" has unit "m"'


def test_records_come_newest_first() -> None:
    entry = (
        "record OpenModelica.Scripting.ErrorMessage\n"
        "    info = record OpenModelica.Scripting.SourceInfo\n"
        '    filename = "{file}",\n    readonly = false,\n    lineStart = 4,\n'
        "    columnStart = 3,\n    lineEnd = 4,\n    columnEnd = 11\n"
        "end OpenModelica.Scripting.SourceInfo;,\n"
        '    message = "{text}",\n'
        "    kind = .OpenModelica.Scripting.ErrorKind.translation,\n"
        "    level = .OpenModelica.Scripting.ErrorLevel.{level},\n"
        "    id = 7\nend OpenModelica.Scripting.ErrorMessage;"
    )
    new = entry.format(file="", text="second", level="error")
    old = entry.format(file="/a/B.mo", text='the \\"first\\"\\nÄ', level="warning")
    messages = parse_records("{" + new + "," + old + "}\n")
    assert messages == (
        Message("warning", 'the "first"\nÄ', Location("/a/B.mo", 4, 3), "translation", 7),
        Message("error", "second", None, "translation", 7),
    )
    assert parse_records("{}\n") == ()


def test_umlauts_survive_ompython() -> None:
    text = "Variable größe not found"
    mangled = text.encode().decode("latin-1")
    (message,) = parse_raised(f"01: [translation:error:5] [/a/B.mo:false:4:3:4:9] {mangled}")
    assert message.text == text


def test_files_here_are_shown_as_the_user_types_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (message,) = parse_printed(f"[{tmp_path}/lib/A.mo:1:2-3:4:writable] Error: no\n")
    assert message.location == Location("lib/A.mo", 1, 2)


@pytest.mark.parametrize(
    ("text", "value", "rest"),
    [
        ("true\n", True, "\n"),
        ("false", False, ""),
        ('"a \\"b\\"\nc" next', 'a "b"\nc', " next"),
        ("{}\n", (), "\n"),
        ("{Real, Modelica.Blocks ,'a b'}", ("Real", "Modelica.Blocks", "'a b'"), ""),
        ("(0.0,1.0,1e-06,500,0.002)", (0.0, 1.0, 1e-06, 500, 0.002), ""),
        ('{"a",{1,-2}}', ("a", (1, -2)), ""),
        ("  \n", None, ""),
    ],
)
def test_values(text: str, value: object, rest: str) -> None:
    found, end = scan_value(text)
    assert found == value
    assert text[end:] == rest


@pytest.mark.parametrize("text", ['"open', "{1, 2", "(1 2)", "]"])
def test_values_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="of omc"):
        scan_value(text)


def test_quoted_is_read_back() -> None:
    text = 'C:\\a "b"'
    assert scan_value(quoted(text)) == (text, len(quoted(text)))


def test_balance_of_every_recorded_check(recorded) -> None:
    findings = {
        r.subject: balance_diagnostic(r.subject, r.value)
        for r in recorded.ompython()
        if r.function == "checkModel" and r.value
    }
    unbalanced = findings.pop("Unbalanced")
    assert unbalanced is not None
    assert unbalanced.message.endswith("'Unbalanced' has 1 equation(s) and 2 variable(s)")
    assert "Good" in findings
    assert set(findings.values()) == {None}
    assert balance_diagnostic("A", "") is None


def test_words_for_both_sides_of_unbalance() -> None:
    counts = "has {} equation(s) and {} variable(s)"
    few = balance_diagnostic("A", counts.format(1, 3))
    many = balance_diagnostic("A", counts.format(3, 1))
    assert few is not None
    assert many is not None
    assert few.message.startswith("too few equations: 'A' has 1 equation(s) and 3")
    assert many.message.startswith("too many equations")
    assert many.hint is not None
    assert "2 equation(s)" in many.hint


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Too few equations, under-determined system. The model has 1", "unbalanced"),
        ("Variable y does not have any remaining equation to be solved in.", "unbalanced"),
        ("The model requires derivatives of some inputs as listed below:", "input-derivative"),
        ("Error solving linear system: matrix is singular", "singular"),
        ("Automatically loaded package Modelica 4.1.0 due to usage.", "library-loaded"),
        ("CMake Error: not found", "cmake"),
    ],
)
def test_well_known_messages_have_advice(text: str, rule: str) -> None:
    diagnostic = to_diagnostic(Message("error", text))
    assert diagnostic.rule == rule
    assert diagnostic.hint


def test_unknown_messages_keep_omcs_number() -> None:
    diagnostic = to_diagnostic(Message("error", "Something else", None, "symbolic", 42))
    assert diagnostic.rule == "omc-symbolic-42"
    assert diagnostic.hint is None


def test_nearest_class_is_searched_from_the_inside_out() -> None:
    loaded = {"A.B": ("Spring", "Mass"), "": ("Complex", "Modelica")}
    asked = []

    def names(scope: str) -> tuple[str, ...]:
        asked.append(scope)
        return loaded.get(scope, ())

    missing = Message("error", "Class A.B.Sprng not found in scope User.")
    assert to_diagnostic(missing, names).hint == "nearest class: 'A.B.Spring'"
    top = Message("error", "Class Modelca not found in scope <TOP>.")
    assert to_diagnostic(top, names).hint == "nearest class: 'Modelica'"
    assert asked == ["A.B", ""]
    hopeless = to_diagnostic(Message("error", "Class Zzz not found in scope X."), names)
    assert hopeless.hint is not None
    assert "as another source" in hopeless.hint


def test_errors_come_first_and_once() -> None:
    messages = [
        Message("notification", "n"), Message("internal", "i"), Message("warning", "w"),
        Message("error", "e"), Message("error", "e"),
    ]  # fmt: skip
    assert [d.severity for d in to_diagnostics(messages)] == ["error", "warning", "note"]
