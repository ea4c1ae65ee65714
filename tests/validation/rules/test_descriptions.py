"""Each rule finds what breaks it, and nothing else, at its line."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.validation.rules.examination import examine_description

from .sound import SOUND_2, SOUND_3

MORE = "<!-- more -->"

Case = tuple[str, str, str] | tuple[str, str, str, str]
"""Rule, text that is replaced, replacement, and a part of the line of the finding."""

CASES_2: tuple[Case, ...] = (
    ("encoding", '<?xml version="1.0" encoding="UTF-8"?>', '<?xml version="1.0"?>'),
    ("version", 'fmiVersion="2.0"', 'fmiVersion="2.0.5"'),
    ("token", 'guid="(1)"', 'guid=" "'),
    ("date", "03:04:05Z", "03:04:05", "<fmiModelDescription"),
    ("identifier", '<CoSimulation modelIdentifier="M"', '<CoSimulation modelIdentifier="M.x"'),
    ("identifier", '<CoSimulation modelIdentifier="M"', '<CoSimulation modelIdentifier="while"'),
    ("flags", 'canGetAndSetFMUstate="true" can', "can"),
    ("experiment", 'tolerance="1e-6"', 'tolerance="0"'),
    ("experiment", 'stopTime="1"', 'stopTime="-1"'),
    ("experiment", 'stepSize="0.1"', 'stepSize="NaN"'),
    (
        "log categories",
        '"logEvents"',
        '"logStatusError"',
        '<Category name="logStatusError"/>\n</Log',
    ),
    ("annotations", '<Tool name="B"/>', '<Tool name="A"/>', '<Tool name="A"/>\n</Ven'),
    ("unique names", 'name="y"', 'name="u"', 'valueReference="8" causality="output"'),
    ("structured names", 'name="u"', 'name="u v"'),
    ("structured names", 'name="u"', 'name="a..b"'),
    ("structured names", 'name="y"', 'name="der(der(y))"'),
    ("array elements", 'name="p[2]"', 'name="p[0]"'),
    (
        "array elements",
        MORE,
        '<ScalarVariable name="p[3]" valueReference="90"><Real/></ScalarVariable>',
    ),
    (
        "type names",
        '<SimpleType name="Choice">',
        '<SimpleType name="u"><Real/></SimpleType>\n<SimpleType name="Choice">',
    ),
    (
        "type names",
        '<SimpleType name="Choice">',
        '<SimpleType name="Length"><Real/></SimpleType>\n<SimpleType name="Choice">',
    ),
    ("unit names", 'DisplayUnit name="km"', 'DisplayUnit name="mm"', 'factor="0.001"'),
    ("unit names", 'Unit name="m/s"/>', 'Unit name="m/s"/><Unit name="m"/>'),
    ("items", 'name="b" value="2"', 'name="b" value="1"'),
    (
        "combination",
        'name="n" valueReference="4" causality="parameter" variability="fixed"',
        'name="n" valueReference="4" causality="parameter" variability="discrete"',
    ),
    ("initial", 'name="u" valueReference="3"', 'name="u" valueReference="3" initial="exact"'),
    ("start needed", 'Integer start="2"', "Integer"),
    ("start needed", '<Real start="0"/>', "<Real/>", 'name="u"'),
    (
        "start forbidden",
        'causality="calculatedParameter" variability="fixed"><Real/>',
        'causality="calculatedParameter" variability="fixed"><Real start="1"/>',
    ),
    (
        "start forbidden",
        'causality="independent"><Real/>',
        'causality="independent"><Real start="0"/>',
    ),
    (
        "continuous",
        'name="b" valueReference="10" causality="output" variability="discrete"',
        'name="b" valueReference="10" causality="output"',
    ),
    (
        "independent",
        MORE,
        '<ScalarVariable name="t" valueReference="90" causality="independent"><Real/></ScalarVariable>',
    ),
    (
        "derivative",
        MORE,
        '<ScalarVariable name="w" valueReference="90"><Real derivative="12"/></ScalarVariable>',
    ),
    (
        "derivative",
        MORE,
        '<ScalarVariable name="w" valueReference="90"><Real derivative="99"/></ScalarVariable>',
    ),
    (
        "reinit",
        MORE,
        '<ScalarVariable name="w" valueReference="90"><Real reinit="false"/></ScalarVariable>',
    ),
    (
        "reinit",
        '<ModelExchange modelIdentifier="M" canGetAndSetFMUstate="true" canSerializeFMUstate="true"/>',
        "",
        'name="x"',
    ),
    ("multiple set", 'name="n"', 'name="n" canHandleMultipleSetPerTimeInstant="false"'),
    ("numbers", 'Integer start="2"', 'Integer start="2.5"'),
    ("numbers", 'Integer start="2"', 'Integer start="2147483648"'),
    ("numbers", 'start="9.81"', 'start="INF"'),
    ("numbers", 'max="10" nominal', 'max="ten" nominal'),
    ("range", 'Integer start="2"', 'Integer start="50"'),
    ("range", 'Integer start="2" min="0" max="10"', 'Integer start="2" min="5" max="3"'),
    ("range", 'declaredType="Length" start="1"', 'declaredType="Length" start="-11"'),
    ("nominal", 'nominal="2"', 'nominal="0"'),
    (
        "declared type",
        MORE,
        '<ScalarVariable name="w" valueReference="90"><Real declaredType="Lenght"/></ScalarVariable>',
    ),
    (
        "declared type",
        MORE,
        '<ScalarVariable name="w" valueReference="90"><Real declaredType="Choice"/></ScalarVariable>',
    ),
    ("declared type", 'Enumeration declaredType="Choice"', "Enumeration"),
    ("enumeration start", 'declaredType="Choice" start="1"', 'declaredType="Choice" start="3"'),
    ("unit", 'Real unit="m/s"', 'Real unit="m/h"'),
    ("display unit", '<Real start="0"/>', '<Real start="0" displayUnit="mm"/>'),
    ("value references", 'valueReference="4"', 'valueReference="-4"'),
    ("alias set", 'name="p[2]" valueReference="2"', 'name="p[2]" valueReference="1"'),
    ("alias set", 'name="u" valueReference="3"', 'name="u" valueReference="0"'),
    ("alias constant", 'name="k" valueReference="7"', 'name="k" valueReference="6"'),
    (
        "alias constant",
        MORE,
        '<ScalarVariable name="h" valueReference="6" variability="constant"><Real start="9"/></ScalarVariable>',
    ),
    ("alias unit", 'causality="output"><Real unit="m"/>', 'causality="output"><Real unit="m/s"/>'),
    ("outputs", '<Unknown index="12" dependencies="1 4"/>', "", 'valueReference="10"'),
    ("outputs", "</Outputs>", '<Unknown index="3"/></Outputs>'),
    ("outputs", "</Outputs>", '<Unknown index="12"/></Outputs>'),
    ("outputs", "</Outputs>", '<Unknown index="13"/></Outputs>'),
    ("state derivatives", "</Derivatives>", '<Unknown index="11"/></Derivatives>'),
    ("initial unknowns", '<Unknown index="8" dependencies="2 3"/>', "", 'name="k"'),
    (
        "initial unknowns",
        '<Unknown index="8" dependencies="2 3"/>',
        '<Unknown index="7"/>\n<Unknown index="8"/>',
        '<Unknown index="7"/>',
    ),
    (
        "initial order",
        '<Unknown index="10"/>\n<Unknown index="11"/>',
        '<Unknown index="11"/>\n<Unknown index="10"/>',
        '<Unknown index="10"/>\n',
    ),
    ("dependencies", 'dependencies="1 4"', 'dependencies="1 2"'),
    ("dependencies", 'dependencies="1 4"', 'dependencies="1 99"'),
    ("dependencies", 'dependencies="2 3"', 'dependencies="2 10"'),
    ("dependencies order", 'dependencies="1 4"', 'dependencies="4 1"'),
    ("dependencies kind", '"dependent fixed"', '"dependent"'),
    ("dependencies kind", '"dependent fixed"', '"dependent firm"'),
    (
        "dependencies kind",
        'dependencies="1 4"',
        'dependencies="1 4" dependenciesKind="constant dependent"',
    ),
    (
        "dependencies kind",
        'dependencies="2 3"',
        'dependencies="2 3" dependenciesKind="fixed dependent"',
    ),
    ("dependencies kind", 'dependencies="1 4"', 'dependenciesKind="dependent"'),
)

NEW = '<Float64 name="w" valueReference="90" '
CLOCK = '<Clock name="w" valueReference="90" causality="input" priority="2" '

CASES_3: tuple[Case, ...] = (
    ("version", 'fmiVersion="3.0"', 'fmiVersion="3.0.2"'),
    ("token", ' instantiationToken="(1)"', ""),
    ("flags", 'canGetAndSetFMUState="true" can', "can"),
    ("flags", 'providesIntermediateUpdate="true" can', "can"),
    ("unique names", 'Alias name="position"', 'Alias name="u"'),
    ("structured names", 'Alias name="position"', 'Alias name="the position"'),
    ("items", 'name="b" value="2"', 'name="a" value="2"', 'value="2"'),
    (
        "combination",
        'name="c" valueReference="9"',
        'name="c" variability="discrete" valueReference="9"',
    ),
    ("initial", 'name="u"', 'name="u" initial="approx"'),
    ("start needed", 'causality="parameter" start="1">', 'causality="parameter">'),
    ("start forbidden", '"calculatedParameter"', '"calculatedParameter" start="0"'),
    ("independent", MORE, NEW + 'causality="independent"/>'),
    (
        "independent",
        '<Float64 name="time" valueReference="0" causality="independent"/>',
        "",
        "<ModelVariables>",
    ),
    ("derivative", MORE, NEW + 'derivative="8"/>'),
    ("reinit", MORE, NEW + 'reinit="true"/>'),
    ("multiple set", 'name="n"', 'name="n" canHandleMultipleSetPerTimeInstant="false"'),
    ("intermediate update", 'name="previous_s"', 'name="previous_s" intermediateUpdate="true"'),
    ("numbers", 'start="2" min="0"', 'start="128" min="0"'),
    ("numbers", 'start="1 2 3"', 'start="1 two 3"'),
    ("range", 'start="2" min="0"', 'start="-1" min="0"'),
    ("nominal", 'nominal="2"', 'nominal="-2"'),
    ("declared type", MORE, NEW + 'declaredType="Lenght"/>'),
    ("enumeration start", 'declaredType="Choice" start="1"', 'declaredType="Choice" start="3"'),
    ("unit", 'unit="m/s"', 'unit="m/h"'),
    (
        "display unit",
        'Alias name="position" displayUnit="km"',
        'Alias name="position" displayUnit="in"',
    ),
    ("display unit", 'unit="m" displayUnit="mm"', 'unit="m" displayUnit="in"'),
    ("value references", MORE, '<Float64 name="w" valueReference="4"/>'),
    (
        "outputs",
        "<ContinuousState",
        '<Output valueReference="4"/>\n<ContinuousState',
        '<Output valueReference="4"/>',
    ),
    ("outputs", '<Output valueReference="11" dependencies="10"/>', "", 'name="tick"'),
    (
        "state derivatives",
        "<ClockedState ",
        '<ContinuousStateDerivative valueReference="7"/>\n<ClockedState ',
        '<ContinuousStateDerivative valueReference="7"/>',
    ),
    ("initial unknowns", '<InitialUnknown valueReference="6"/>', "", 'name="der(x)"'),
    (
        "initial unknowns",
        '<InitialUnknown valueReference="6"/>',
        '<InitialUnknown valueReference="6"/><InitialUnknown valueReference="14"/>',
    ),
    (
        "initial unknowns",
        '<InitialUnknown valueReference="6"/>',
        '<InitialUnknown valueReference="6"/><InitialUnknown valueReference="6"/>',
    ),
    (
        "event indicators",
        '<EventIndicator valueReference="14"/>',
        '<EventIndicator valueReference="13"/>',
    ),
    (
        "event indicators",
        '<EventIndicator valueReference="14"/>',
        '<EventIndicator valueReference="4"/>',
    ),
    (
        "clocked states",
        '<ClockedState valueReference="12"/>',
        '<ClockedState valueReference="13"/>',
    ),
    (
        "clocked states",
        '<ClockedState valueReference="12"/>',
        '<ClockedState valueReference="11"/>',
    ),
    ("dependencies", 'dependencies="5"', 'dependencies="14"'),
    ("dependencies", 'dependencies="2 8"', 'dependencies="2 14"'),
    ("dependencies kind", '"dependent fixed dependent"', '"dependent fixed"'),
    ("dimensions", '<Dimension valueReference="1"/>', '<Dimension valueReference="8"/>'),
    ("dimensions", '<Dimension valueReference="1"/>', '<Dimension valueReference="1" start="3"/>'),
    (
        "dimensions",
        'causality="structuralParameter" start="3"',
        'causality="structuralParameter" start="0"',
        '<Dimension valueReference="1"/>',
    ),
    ("dimensions", '<Dimension start="2"/></Float64>', '<Dimension start="0"/></Float64>'),
    ("dimensions", 'start="3"/>', 'start="3"><Dimension start="1"/></UInt64>'),
    ("start count", 'start="1 2 3"', 'start="1 2"'),
    ("start count", 'causality="input" start="0"', 'causality="input" start="0 0"'),
    ("start count", '<Start value="b c"/>', '<Start value="b"/><Start value="c"/>', 'name="texts"'),
    (
        "clock",
        'name="tick" valueReference="11" causality="output" intervalVariability="triggered"',
        'name="tick" valueReference="11" causality="output" intervalVariability="changing"',
    ),
    ("clock", 'intervalVariability="triggered"', 'intervalVariability="often"'),
    ("clock interval", 'intervalDecimal="0.1"', 'intervalDecimal="0"'),
    ("clock interval", 'intervalDecimal="0.1"', ""),
    ("clock interval", MORE, CLOCK + 'intervalVariability="countdown" intervalDecimal="1"/>'),
    (
        "clock interval",
        MORE,
        CLOCK + 'intervalVariability="fixed" intervalCounter="1" resolution="2"/>',
    ),
    (
        "clock interval",
        MORE,
        CLOCK + 'intervalVariability="fixed" intervalCounter="1" supportsFraction="true"/>',
    ),
    ("clock interval", MORE, CLOCK + 'intervalVariability="fixed" shiftDecimal="1"/>'),
    ("clock interval", 'intervalDecimal="0.1"', 'intervalDecimal="0.1" shiftDecimal="-1"'),
    ("clock priority", ' priority="1"', ""),
    ("clock priority", '"triggered"', '"triggered" priority="1"'),
    ("clocked variable", MORE, NEW + 'clocks="10"/>'),
    ("clocked variable", MORE, NEW + 'variability="discrete" clocks="7"/>'),
    ("previous", 'previous="13"', 'previous="12"'),
    ("previous", 'previous="13"', 'previous="99"'),
    ("previous", MORE, NEW + 'variability="discrete" clocks="10" previous="13"/>'),
    ("event mode", ' hasEventMode="true"', ""),
)


def cases() -> list[object]:
    return [
        pytest.param(sound, case, id=f"{version}-{i}-{case[0]}")
        for version, sound, listed in (("2", SOUND_2, CASES_2), ("3", SOUND_3, CASES_3))
        for i, case in enumerate(listed)
    ]


@pytest.mark.parametrize("sound", [SOUND_2, SOUND_3])
def test_a_sound_description_breaks_no_rule(sound: str, tmp_path: Path) -> None:
    from fmpy.validation import validate_fmu

    document, found = examine_description(sound.encode())
    assert [f.text(document.major) for f in found] == []
    (tmp_path / "modelDescription.xml").write_text(sound, encoding="utf-8")
    assert validate_fmu(str(tmp_path)) == []


@pytest.mark.parametrize(("sound", "case"), cases())
def test_what_breaks_one_rule_is_found_at_its_line(sound: str, case: Case) -> None:
    rule, old, new, *marker = case
    assert old in sound
    broken = sound.replace(old, new, 1)
    document, found = examine_description(broken.encode())
    assert {f.key for f in found} == {rule}
    at = broken.index(marker[0]) if marker else sound.index(old)
    begin = broken.rindex("<", 0, at + 1)  # of the element that this is part of
    assert found[0].line == broken.count("\n", 0, begin) + 1
    assert found[0].rule.section(document.major) in found[0].text(document.major)


@pytest.mark.parametrize("sound", [SOUND_2, SOUND_3])
def test_without_any_interface(sound: str) -> None:
    lines = [x for x in sound.splitlines() if "modelIdentifier" not in x]
    _, found = examine_description("\n".join(lines).encode())
    assert "interface" in {f.key for f in found}


def test_flat_names_have_no_line_breaks() -> None:
    flat = SOUND_2.replace(' variableNamingConvention="structured"', "")
    assert examine_description(flat.replace('"u"', '"any name"').encode())[1] == ()
    _, (found,) = examine_description(flat.replace('"u"', '"u&#10;v"').encode())
    assert found.key == "structured names"
    assert found.message == "the name 'u\\nv' contains a line break or a tab"


def test_quoted_names_are_structured() -> None:
    quoted = SOUND_2.replace('name="u"', "name=\"a[1,2].'motor #2 \\'x\\''.b\"")
    assert examine_description(quoted.encode())[1] == ()


def test_messages_name_variable_line_and_section() -> None:
    broken = SOUND_2.replace('Integer start="2"', 'Integer start="50"')
    document, (found,) = examine_description(broken.encode())
    assert found.text(document.major) == (
        f"line {found.line}: 'n' starts with 50, greater than its max 10 (FMI 2.0.5, 2.2.3)"
    )
