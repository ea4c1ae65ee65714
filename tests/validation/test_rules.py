"""What the rules find that FMPy's validation does not look for."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from fmident.validation.checks.rules import SECTIONS, check_rules

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "fmi-rules.md"
TWO = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="M" guid="(1)"
 generationDateAndTime="2026-01-02T03:04:05Z">
<CoSimulation modelIdentifier="M"/>
<UnitDefinitions><Unit name="m"/><Unit name="mm"/><Unit name="N.m"/><Unit name="J"/></UnitDefinitions>
<ModelVariables>
<ScalarVariable name="p" valueReference="1" causality="parameter" variability="fixed"><Real start="1" min="0" max="10"/></ScalarVariable>
<ScalarVariable name="u" valueReference="2" causality="input"><Real start="0"/></ScalarVariable>
<ScalarVariable name="x" valueReference="3" initial="exact"><Real start="1" unit="m" nominal="2"/></ScalarVariable>
<ScalarVariable name="der(x)" valueReference="4"><Real derivative="3"/></ScalarVariable>
<ScalarVariable name="y" valueReference="3" causality="output"><Real unit="m"/></ScalarVariable>
<ScalarVariable name="n" valueReference="5" causality="output" variability="discrete"><Integer/></ScalarVariable>
</ModelVariables>
<ModelStructure>
<Outputs>
<Unknown index="5" dependencies="2 3" dependenciesKind="dependent constant"/>
<Unknown index="6" dependencies="2" dependenciesKind="dependent"/>
</Outputs>
<Derivatives><Unknown index="4" dependencies="2"/></Derivatives>
<InitialUnknowns><Unknown index="4"/><Unknown index="5"/><Unknown index="6"/></InitialUnknowns>
</ModelStructure>
</fmiModelDescription>
"""  # noqa: E501
THREE = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="M" instantiationToken="(1)">
<CoSimulation modelIdentifier="M"/>
<ModelVariables>
<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
<Float64 name="q" valueReference="1" causality="parameter" variability="fixed" start="1 2" max="5"><Dimension start="2"/></Float64>
<Float64 name="y" valueReference="2" causality="output"/>
</ModelVariables>
<ModelStructure><Output valueReference="2"/><InitialUnknown valueReference="2"/></ModelStructure>
</fmiModelDescription>
"""  # noqa: E501
BUILD = """<?xml version="1.0" encoding="UTF-8"?>
<fmiBuildDescription fmiVersion="3.0">
<BuildConfiguration modelIdentifier="{}"><SourceFileSet><SourceFile name="m.c"/></SourceFileSet>
</BuildConfiguration>
</fmiBuildDescription>
"""


def archive(folder: Path, xml: str, files: dict[str, str] | None = None) -> Path:
    path = folder / "M.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", xml)
        for name, content in (files or {}).items():
            file.writestr(name, content)
    return path


@pytest.mark.parametrize("xml", [TWO, THREE])
def test_nothing_is_wrong(tmp_path: Path, xml: str) -> None:
    check = check_rules(archive(tmp_path, xml))
    assert (check.outcome, check.further) == ("ok", ())


@pytest.mark.parametrize(
    ("old", "new", "outcome", "line", "words"),
    [
        ('"output"><Real unit="m"/>', '"output"><Real/>', "finding", 11, "'m' and no unit"),
        ('"output"><Real unit="m"/>', '"output"><Real unit="mm"/>', "failed", 11, "'m' and the"),
        ('name="u" valueReference="2"', 'name="u" valueReference="1"', "failed", 8, "can be set"),
        ('dependencies="2 3"', 'dependencies="1 3"', "finding", 16, "depend on 'p'"),
        ('Kind="dependent"/>', 'Kind="constant"/>', "finding", 17, "type Integer"),
        ("03:04:05Z", "03:04:05", "finding", None, "2026-01-02T03:04:05"),
    ],
)
def test_a_description_that_breaks_a_rule(
    tmp_path: Path, old: str, new: str, outcome: str, line: int | None, words: str
) -> None:
    assert old in TWO
    check = check_rules(archive(tmp_path, TWO.replace(old, new)))
    assert check.outcome == outcome
    assert words in check.detail
    assert check.detail.startswith(f"line {line}: ") == (line is not None)


def test_units_of_one_meaning_are_a_finding(tmp_path: Path) -> None:
    xml = TWO.replace('unit="m" nominal', 'unit="N.m" nominal').replace('unit="m"/>', 'unit="J"/>')
    assert check_rules(archive(tmp_path, xml)).outcome == "finding"


def test_a_flaw_of_the_tool_is_listed_in_part(tmp_path: Path) -> None:
    """OpenModelica writes aliases without a unit for every connection of two components."""
    one = '<ScalarVariable name="z{}" valueReference="3"><Real/></ScalarVariable>\n'
    more = "".join(one.format(i) for i in range(30))
    check = check_rules(
        archive(tmp_path, TWO.replace("</ModelVariables>", f"{more}</ModelVariables>"))
    )
    assert check.outcome == "finding"
    assert len(check.further) == 20
    assert check.further[-1] == "10 more of the rule 'alias unit'"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"sources/m.c": ""}, "'sources/m.c', that are not listed"),
        ({"sources/m.c": "", "sources/buildDescription.xml": BUILD.format("N")}, "'N' is not the"),
    ],
)
def test_files_that_break_a_rule(tmp_path: Path, files: dict[str, str], words: str) -> None:
    check = check_rules(archive(tmp_path, THREE, files))
    assert check.outcome == "finding"
    assert words in check.detail


def test_a_tool_that_is_needed_is_named(tmp_path: Path) -> None:
    needs = THREE.replace('"M"/>', '"M" needsExecutionTool="true"/>')
    assert check_rules(archive(tmp_path, needs)).outcome == "finding"
    said = {"documentation/externalDependencies.txt": "Python"}
    assert check_rules(archive(tmp_path, needs, said)).outcome == "ok"


def test_what_fmpy_cannot_read_is_left_to_its_own_check(tmp_path: Path) -> None:
    assert (
        check_rules(archive(tmp_path, TWO.replace('index="5"', 'index="50"'))).outcome == "skipped"
    )


def test_the_page_lists_all_rules() -> None:
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| ")
    ]
    sections = [(name, two, three) for name, _, two, three, _ in rows[1:]]
    assert sections == [(name, *of) for name, of in SECTIONS.items()]
    assert all(demand for _, demand, *_ in rows)
