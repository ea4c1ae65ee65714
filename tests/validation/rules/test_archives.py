"""Rules about the zip file and what it holds; the check as a whole."""

# ruff: noqa: E501

from __future__ import annotations

import random
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from fmident.validation import Check
from fmident.validation.checks.rules import check_rules
from fmident.validation.rules import RULES, NotReadableError, examine_fmu
from fmident.validation.rules.examination import examine_description
from fmident.validation.rules.functions import required_functions

from .libraries import dll, dylib, elf
from .sound import SOUND_2, SOUND_3
from .test_descriptions import CASES_2, CASES_3

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
ALL_2 = sorted(required_functions(2, ["ModelExchange", "CoSimulation"]))
ALL_3 = sorted(required_functions(3, []))
TERMINALS = f"""{DECLARATION}<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>
<Terminal name="a" matchingRule="plug">
<TerminalMemberVariable variableName="u" memberName="u" variableKind="signal"/>
<TerminalMemberVariable variableName="y" memberName="y" variableKind="signal"/>
</Terminal>
<Terminal name="b" matchingRule="sequence"/>
</Terminals></fmiTerminalsAndIcons>
"""
BUILD = f"""{DECLARATION}<fmiBuildDescription fmiVersion="3.0">
<BuildConfiguration modelIdentifier="M"><SourceFileSet language="C99">
<SourceFile name="all.c"/>
<IncludeDirectory name="deeper/../include"/>
</SourceFileSet></BuildConfiguration>
</fmiBuildDescription>
"""
SOUND_FILES_2: Mapping[str, bytes | str] = {
    "modelDescription.xml": SOUND_2,
    "binaries/linux64/M.so": elf(ALL_2),
    "binaries/win64/M.dll": dll(ALL_2),
    "binaries/aarch64-darwin/M.dylib": dylib(ALL_2, machine=0x100000C),
    "binaries/vendors-own/anything": "",
    "terminalsAndIcons/terminalsAndIcons.xml": TERMINALS,
    "sources/buildDescription.xml": BUILD,
    "sources/all.c": "",
    "sources/include/all.h": "",
}
SOUND_FILES_3: Mapping[str, bytes | str] = {
    **{k: v for k, v in SOUND_FILES_2.items() if not k.startswith("binaries")},
    "modelDescription.xml": SOUND_3,
    "binaries/x86_64-linux/M.so": elf(ALL_3),
    "documentation/licenses/license.txt": "",
    "documentation/diagram.svg": "",
    "documentation/diagram.png": "",
}

ARCHIVES: tuple[tuple[str, int, Mapping[str, bytes | str | None], str], ...] = (
    ("implementation", 2, {}, "neither binaries nor sources"),
    ("library", 2, {"binaries/linux64/M.so": None, "binaries/linux64/N.so": b""}, "no 'binaries/linux64/M.so'"),
    ("library", 3, {"binaries/x86_64-windows/M.so": b""}, "no 'binaries/x86_64-windows/M.dll'"),
    ("binary", 2, {"binaries/linux64/M.so": b"text"}, "neither ELF, PE nor Mach-O"),
    ("binary", 2, {"binaries/linux64/M.so": elf(ALL_2, machine=183)}, "for linux on aarch64"),
    ("binary", 2, {"binaries/linux64/M.so": dll(ALL_2)}, "for windows on x86_64"),
    ("functions", 2, {"binaries/win64/M.dll": dll([n for n in ALL_2 if n != "fmi2Reset"])}, "exported: fmi2Reset"),
    ("functions", 3, {"binaries/x86_64-linux/M.so": elf(ALL_3[10:])}, "and 4 more"),
    ("licences", 3, {"documentation/licenses/license.txt": None, "documentation/licenses/mit": ""}, "license.txt"),
    ("pictures", 3, {"terminalsAndIcons/icon.svg": ""}, "icon.png"),
    ("external dependencies", 3, {"modelDescription.xml": SOUND_3.replace('<CoSimulation ', '<CoSimulation needsExecutionTool="true" ')}, "line 5: CoSimulation needs a tool"),
    ("sources", 2, {"sources/buildDescription.xml": None}, "nor <SourceFiles>"),
    ("sources", 2, {"modelDescription.xml": SOUND_2.replace('<CoSimulation modelIdentifier="M"/>', '<CoSimulation modelIdentifier="M"><SourceFiles><File name="b.c"/></SourceFiles></CoSimulation>')}, "'sources/b.c' is listed"),
    ("sources", 3, {"sources/all.c": None}, "line 4: the file 'sources/all.c'"),
    ("sources", 3, {"sources/include/all.h": None}, "line 5: the folder"),
    ("build configurations", 3, {"sources/buildDescription.xml": BUILD.replace('Identifier="M"', 'Identifier="N"')}, "line 3: 'N'"),
    ("build configurations", 3, {"sources/buildDescription.xml": BUILD.replace('"3.0"', '"3.1"')}, "line 2: fmiVersion"),
    ("build configurations", 3, {"sources/buildDescription.xml": BUILD.replace("</fmiB", '<BuildConfiguration modelIdentifier="M"/></fmiB')}, "line 7: a second"),
    ("build configurations", 3, {"sources/buildDescription.xml": DECLARATION + '<fmiBuildDescription fmiVersion="3.0"/>'}, "no build configuration"),
    ("build configurations", 3, {"sources/buildDescription.xml": DECLARATION + "<a>"}, "not well-formed"),
    ("terminals", 2, {"terminalsAndIcons/terminalsAndIcons.xml": TERMINALS.replace('"y" mem', '"v" mem')}, "line 5: 'v'"),
    ("terminals", 2, {"terminalsAndIcons/terminalsAndIcons.xml": TERMINALS.replace('memberName="y"', 'memberName="u"')}, "line 5: the terminal 'a' has two"),
    ("terminals", 3, {"terminalsAndIcons/terminalsAndIcons.xml": TERMINALS.replace('memberName="y" ', "")}, "line 5: 'y', a member of the terminal 'a', has no"),
    ("terminals", 3, {"terminalsAndIcons/terminalsAndIcons.xml": TERMINALS.replace('name="b"', 'name="a"')}, "line 7: the terminal 'a' is there twice"),
    ("encoding", 2, {"terminalsAndIcons/terminalsAndIcons.xml": TERMINALS.replace(' encoding="UTF-8"', "")}, "terminalsAndIcons.xml, line 1"),
)  # fmt: skip


def pack(path: Path, files: Mapping[str, bytes | str | None]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            if content is not None:
                file.writestr(name, content)
    return path


def files_of(major: int) -> Mapping[str, bytes | str]:
    return SOUND_FILES_2 if major == 2 else SOUND_FILES_3


@pytest.mark.parametrize("major", [2, 3])
def test_a_sound_fmu_breaks_no_rule(major: int, tmp_path: Path) -> None:
    path = pack(tmp_path / "M.fmu", files_of(major))
    document, found = examine_fmu(path)
    assert [f.text(document.major) for f in found] == []
    check = check_rules(path, Check("model description", True, ""))
    assert (check.word, check.name) == ("ok", "FMI rules")


@pytest.mark.parametrize(("rule", "major", "changes", "fragment"), ARCHIVES)
def test_what_breaks_one_rule_of_the_archive(
    rule: str, major: int, changes: Mapping[str, bytes | str | None], fragment: str, tmp_path: Path
) -> None:
    files = {**files_of(major), **changes}
    if rule == "implementation":
        files = {"modelDescription.xml": SOUND_2}
    document, found = examine_fmu(pack(tmp_path / "M.fmu", files))
    assert {f.key for f in found} == {rule}
    assert any(fragment in f.text(document.major) for f in found)


def test_how_members_are_packed(tmp_path: Path) -> None:
    path = tmp_path / "M.zip"
    link, new = zipfile.ZipInfo("resources/link"), zipfile.ZipInfo("resources/new")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    new.extract_version = 45
    with zipfile.ZipFile(pack(path, SOUND_FILES_2), "a") as file:
        file.writestr(link, "x")
        file.writestr(new, "x")
        file.writestr("resources/b", "x" * 99, zipfile.ZIP_BZIP2)
        file.writestr("/etc/a", "x")
        file.writestr("../a", "x")
        file.writestr("resources\\a", "x")
    found = {f.message: f.key for f in examine_fmu(path)[1]}
    zips = [m for m, key in found.items() if key == "zip"]
    assert [m for m in zips if "link' is a link" in m]
    assert [m for m in zips if "new' asks for a reader of version 4.5" in m]
    assert [m for m in zips if "b' is compressed by method 12" in m]
    names = [m for m, key in found.items() if key == "member names"]
    assert [m.split("' ")[1] for m in names] == [
        "has an absolute path", "leads out of the archive's folder", "has a back slash in its name",
    ]  # fmt: skip
    assert [m for m, key in found.items() if key == "ending"] == ["the file is called 'M.zip'"]
    assert set(found.values()) == {"zip", "member names", "ending"}


def test_every_rule_has_a_case() -> None:
    tried = {case[0] for case in (*CASES_2, *CASES_3)} | {case[0] for case in ARCHIVES}
    elsewhere = {"interface", "zip", "member names", "ending"}
    assert tried | elsewhere == set(RULES)
    for rule in RULES.values():
        assert any(rule.sections), rule.key


def test_what_is_no_fmu(tmp_path: Path) -> None:
    for content in (b"", b"PK\x03\x04", b"no zip"):
        path = tmp_path / "a.fmu"
        path.write_bytes(content)
        with pytest.raises(NotReadableError):
            examine_fmu(path)
    for xml in (
        b"",
        b"<a>",
        b"\xff\xfe<",
        b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        b"<a>" * 999,
    ):
        with pytest.raises(NotReadableError):
            examine_description(xml)
    check = check_rules(path, Check("model description", True, ""))
    assert not check.passed
    assert check.detail.startswith("the rules cannot be checked")


def test_warnings_failures_and_what_fmpy_has_said(tmp_path: Path) -> None:
    silent = Check("model description", True, "")
    tolerable = SOUND_2.replace("03:04:05Z", "yesterday")
    path = pack(tmp_path / "M.fmu", {**SOUND_FILES_2, "modelDescription.xml": tolerable})
    assert check_rules(path, silent).word == "warning"
    broken = tolerable.replace('Integer start="2"', "Integer")
    pack(path, {**SOUND_FILES_2, "modelDescription.xml": broken})
    check = check_rules(path, silent)
    assert check.word == "FAILED"
    assert check.detail.endswith("(FMI 2.0.5, 2.2.7) (and 1 more)")
    line = re.match(r"line ([0-9]+): 'n' has no start value", check.detail)
    assert line is not None
    said = Check("model description", False, f'Variable "n" (line {line[1]}) has no start value.')
    check = check_rules(path, said)
    assert check.word == "warning"
    assert "yesterday" in check.detail


def test_equal_findings_are_counted(tmp_path: Path) -> None:
    many = "\n".join(
        f'<ScalarVariable name="m{i}" valueReference="{100 + i}" causality="parameter"'
        f' variability="fixed"><Real/></ScalarVariable>'
        for i in range(50)
    )
    broken = SOUND_2.replace("<!-- more -->", many)
    path = pack(tmp_path / "M.fmu", {**SOUND_FILES_2, "modelDescription.xml": broken})
    check = check_rules(path, Check("model description", True, ""))
    assert len(check.further) == 20
    assert check.further[-1] == "30 more of the rule 'start needed'"


@pytest.mark.parametrize("sound", [SOUND_2, SOUND_3])
def test_no_description_makes_the_rules_fail(sound: str) -> None:
    """Values and names are exchanged, deleted and filled with nonsense."""
    chance = random.Random(7)
    values = re.findall(r'"[^"\n]*"', sound)
    nonsense = [
        '""',
        '" "',
        '"-1"',
        '"1e999"',
        '"99999999999999999999999"',
        '"1 1 1"',
        '"\u0661"',
        '"NaN"',
    ]
    lines = sound.splitlines()
    for _ in range(400):
        changed = list(lines)
        for _ in range(chance.randint(1, 5)):
            i = chance.randrange(2, len(changed) - 1)
            kind = chance.randrange(4)
            if kind == 0:
                changed[i] = re.sub(
                    r'"[^"]*"',
                    lambda _: chance.choice(values + nonsense),
                    changed[i],
                    count=chance.randint(0, 3),
                )
            elif kind == 1:
                changed[i] = re.sub(
                    r' [A-Za-z]+="[^"]*"', "", changed[i], count=chance.randint(1, 2)
                )
            elif kind == 2:
                changed[i] = re.sub(
                    r"Float64|Real|Boolean|Integer|Clock|String",
                    lambda _: chance.choice(
                        ("Float64", "Real", "Clock", "String", "Int8", "Unknown")
                    ),
                    changed[i],
                )
            else:
                changed[i] = changed[chance.randrange(2, len(changed) - 1)]
        try:
            document, found = examine_description("\n".join(changed).encode())
        except NotReadableError:
            continue
        for finding in found:
            assert finding.line is not None
            rule = finding.rule
            assert rule.sections[document.major - 2] is not None, rule.key
