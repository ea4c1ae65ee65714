"""Whole builds against recorded answers, by every kind of session."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fmident.compilers.base import BuildRequest, BuildResult
from fmident.compilers.openmodelica.compiler import OpenModelicaCompiler
from fmident.errors import Code, CompilationError
from fmident.fmu import read_description

from ...refused import refused

Build = Callable[..., BuildResult]
pytestmark = [pytest.mark.usefixtures("fake_omc"), pytest.mark.slow]


EITHER = pytest.mark.parametrize("session", ["local", "script"], indirect=True)
"""Both kinds of session with each change."""


@pytest.fixture(params=["local", pytest.param("script", marks=pytest.mark.nightly)])
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name a session; omc as a server is for ordinary users."""
    monkeypatch.setattr("os.geteuid", lambda: 1000 if request.param == "local" else 0)
    return request.param


def asked(log: Path, start: str) -> list[str]:
    return [line for line in log.read_text().splitlines() if line.startswith(start)]


@EITHER
def test_good_model(build: Build, session: str, tmp_path: Path, omc_log: Path) -> None:
    result = build("Good", session=session, ramp_inputs=False)
    assert result.fmu == tmp_path / "out" / "Good.fmu"
    assert result.compiler == "OpenModelica v1.26.9-cmake"
    description = read_description(result.fmu)
    assert description.name == "Good"
    assert [v.name for v in description.settable_parameters] == ["c", "k", "m"]
    assert [d.rule for d in result.diagnostics] == ["frozen-parameter", "fixed-tolerance"]
    assert "'k2': calculated from 'k'" in result.diagnostics[0].message
    assert description.fixed_tolerance == description.default_tolerance
    assert description.only_once_per_process
    assert asked(omc_log, "buildModelFMU") == [
        'buildModelFMU(Good, version="2.0", fmuType="me_cs", fileNamePrefix="Good",'
        ' platforms={"static"})'
    ]
    with zipfile.ZipFile(result.fmu) as archive:
        assert "resources/Good_flags.json" in archive.namelist()


def test_nothing_is_left_behind(
    build: Build, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    result = build("Good", session=session)
    assert list(here.iterdir()) == []
    assert list(result.fmu.parent.iterdir()) == [result.fmu]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_solver_is_passed_to_omc(build: Build, session: str, omc_log: Path) -> None:
    build("Good", session=session, command_line_options="-d=bltdump")
    text = omc_log.read_text()
    assert "--fmiFlags=s:cvode" in text
    assert "-d=bltdump" in text


def test_missing_solver_settings_are_told(
    build: Build, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_OMC_FLAGS", "missing")
    result = build("Good", session=session)
    assert "euler" in [d.rule for d in result.diagnostics]


def failure(build: Build, name: str, session: str, **options: object) -> CompilationError:
    with pytest.raises(CompilationError) as caught:
        build(name, session=session, **options)
    return caught.value


@pytest.mark.parametrize(
    ("name", "line", "column", "rule", "text"),
    [
        ("SyntaxError", 5, 1, "syntax-error", "Expected token of type SEMICOLON"),
        ("MissingClass", 2, 3, "missing-class", "NoSuchThing not found in scope MissingClass"),
        ("UnknownVariable", 4, 3, "missing-variable", "Variable k not found"),
        ("Warns", 2, 3, "parameter-without-value", "Parameter a has neither value nor start"),
    ],
)
def test_errors_have_file_line_and_advice(
    build: Build, session: str, name: str, line: int, column: int, rule: str, text: str
) -> None:
    error = failure(build, name, session)
    first = error.diagnostics[0]
    assert (first.severity, first.rule) == ("error", rule)
    assert text in first.message
    assert first.hint
    assert first.location is not None
    assert first.location.file.endswith(f"{name}.mo")
    assert (first.location.line, first.location.column) == (line, column)


@EITHER
def test_missing_class_names_the_nearest(build: Build, session: str) -> None:
    error = failure(build, "MissingClass", session)
    hint = error.diagnostics[0].hint
    assert hint is not None
    assert "'Modelica.Mechanics.Rotational.Components.NoSuchThings'" in hint


def test_unbalanced_model(build: Build, session: str) -> None:
    error = failure(build, "Unbalanced", session)
    unbalanced = [d for d in error.diagnostics if d.rule == "unbalanced"]
    assert "'Unbalanced' has 1 equation(s) and 2 variable(s)" in unbalanced[0].message
    assert "1 variable(s) have no equation" in (unbalanced[0].hint or "")
    place = next(d.location for d in unbalanced if "Variable y" in d.message)
    assert place is not None
    assert (place.line, place.column) == (2, 11)


def test_without_a_reason_the_front_end_names_the_variable(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("FAKE_OMC_SILENT", "1")
    error = failure(build, "Unbalanced", "script")
    (place,) = [d.location for d in error.diagnostics if d.rule == "too-few-equations"]
    assert place is not None
    assert (place.line, place.column) == (2, 11)


def test_derivative_of_an_input(build: Build, session: str) -> None:
    error = failure(build, "DerOfInput", session)
    assert error.diagnostics[0].rule == "input-derivative"
    assert "der(u)" in error.diagnostics[0].message


def test_warnings_come_with_their_places(build: Build, session: str) -> None:
    result = build("WrongUnit", session=session)
    warnings = [d for d in result.diagnostics if d.severity == "warning"]
    assert [d.rule for d in warnings] == ["unit-error"] * 4
    assert "INCONSISTENT" in warnings[0].message
    assert warnings[0].location is not None
    assert (warnings[0].location.line, warnings[0].location.column) == (4, 3)


def test_class_that_is_nowhere(build: Build, session: str, recorded) -> None:
    with pytest.raises(CompilationError) as caught:
        build("Goood", recorded.MODELS / "Good.mo", session=session)
    assert "'Good'" in (caught.value.hint or "")


def test_missing_library(build: Build, session: str, tmp_path: Path) -> None:
    source = tmp_path / "Uses.mo"
    source.write_text('model Uses annotation(uses(NoSuchLibrary(version="1.0")));\nend Uses;\n')
    with pytest.raises(CompilationError) as caught:
        build("Uses", source, session=session)
    first = caught.value.diagnostics[0]
    assert first.rule == "missing-library"
    assert "installPackage(NoSuchLibrary" in (first.hint or "")
    assert "/home/user/.openmodelica/libraries" in (first.hint or "")


def test_libraries_are_loaded_before_the_source(
    build: Build, session: str, tmp_path: Path, omc_log: Path
) -> None:
    source = tmp_path / "Uses.mo"
    source.write_text(
        'model Uses "Text" Real x = 1; annotation(uses(Modelica(version="4.0.0")));\nend Uses;\n'
    )
    build("Uses", source, session=session)
    loads = list(dict.fromkeys(asked(omc_log, "load")))
    assert loads == [
        'loadModel(Modelica, {"4.0.0"}, requireExactVersion=true)',
        f'loadFile("{source}", uses=false)',
    ]


def test_tolerance_goes_through_the_experiment_annotation(
    build: Build, session: str, tmp_path: Path, omc_log: Path
) -> None:
    result = build("Good", tolerance=1e-11, session=session, ramp_inputs=False)
    description = read_description(result.fmu)
    assert description.default_tolerance == 1e-11
    assert description.default_stop == 1.0
    assert description.default_step == 0.001
    assert description.name == "Good"
    assert asked(omc_log, "buildModelFMU")[0].startswith("buildModelFMU(fmident_export,")


def test_own_tolerance_needs_no_wrapper(build: Build, session: str, omc_log: Path) -> None:
    build("Good", tolerance=1e-8, session=session, ramp_inputs=False)
    assert asked(omc_log, "buildModelFMU")[0].startswith("buildModelFMU(Good,")


@EITHER
def test_ramps_are_invisible(build: Build, session: str) -> None:
    plain = read_description(build("Good", session=session, ramp_inputs=False).fmu)
    ramped = read_description(build("Good", session=session).fmu)
    shown = [v.name for v in ramped.inputs if not v.name.startswith("fmident.")]
    assert shown == [v.name for v in plain.inputs] == ["F"]
    assert [v.name for v in ramped.outputs] == [v.name for v in plain.outputs]
    assert ramped.settable_parameters != ()
    for variable in (*plain.inputs, *plain.outputs, *plain.settable_parameters):
        found = ramped.variable(variable.name)
        assert (found.unit, found.nominal, found.start, found.description) == (
            variable.unit,
            variable.nominal,
            variable.start,
            variable.description,
        )
    assert ramped.guid != plain.guid


def test_without_states_there_are_no_ramps(build: Build, session: str, tmp_path: Path) -> None:
    result = build("Singular", session=session)
    with zipfile.ZipFile(result.fmu) as archive:
        root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    assert root.find("VendorAnnotations") is None


def test_ramps_asked_for_where_there_are_none(build: Build, session: str) -> None:
    error = failure(build, "Wrapper", session, ramp_inputs=True)
    assert error.code == Code.COMPILATION_FAILED
    assert "no Real input" in error.message


def test_ramps_that_cannot_be_built(
    build: Build, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_OMC_BREAK", "ramps")
    result = build("Good", session=session)
    assert "no-ramps" in [d.rule for d in result.diagnostics]
    assert [v.name for v in read_description(result.fmu).inputs] == ["F"]
    with pytest.raises(CompilationError, match="Internal error in x") as caught:
        build("Good", session=session, ramp_inputs=True)
    assert caught.value.diagnostics[0].location is None  # not in a file of the user's


def test_an_existing_fmu_survives_a_failed_build(
    build: Build, session: str, tmp_path: Path
) -> None:
    output = tmp_path / "out" / "UnknownVariable.fmu"
    output.parent.mkdir()
    output.write_bytes(b"good")
    failure(build, "UnknownVariable", session)
    assert output.read_bytes() == b"good"
    assert list(output.parent.iterdir()) == [output]


@EITHER
def test_output_that_cannot_be_written(session: str, tmp_path: Path, recorded) -> None:
    (tmp_path / "file").write_text("")
    request = BuildRequest(
        "Good", (recorded.MODELS / "Good.mo",), tmp_path / "file" / "Good.fmu", None,
        {"session": session},
    )  # fmt: skip
    with refused(Code.UNUSABLE_FILE, CompilationError):
        OpenModelicaCompiler().build(request)


@pytest.mark.parametrize("name", ["", "A..B", 'A; system("rm")', "1A", "A.B)"])
def test_names_that_are_none_never_reach_omc(name: str, tmp_path: Path, omc_log: Path) -> None:
    with pytest.raises(CompilationError, match="not the full name"):
        OpenModelicaCompiler().build(BuildRequest(name, (), tmp_path / "x.fmu"))
    assert not omc_log.exists()


@pytest.mark.parametrize("ramps", [True, False])
def test_rewritten_descriptions_keep_to_the_schema(
    build: Build, session: str, recorded, ramps: bool
) -> None:
    """FMPy finds nothing in our description that it does not find in OpenModelica's own."""
    from fmpy import read_model_description
    from fmpy.validation import validate_model_description

    result = build("Good", session=session, ramp_inputs=ramps)
    own = read_model_description(str(result.fmu), validate=False)
    read_model_description(str(result.fmu), validate=True)  # raises when it breaks the schema
    original = read_model_description(
        str(recorded.RECORDED / "Good.modelDescription.xml"), validate=False
    )
    assert set(validate_model_description(own)) <= set(validate_model_description(original))


def test_interpolation_is_not_claimed(build: Build, session: str, recorded) -> None:
    text = (recorded.RECORDED / "Good.modelDescription.xml").read_text()
    assert 'canInterpolateInputs="true"' in text
    for ramps in (True, False):
        fmu = build("Good", session=session, ramp_inputs=ramps).fmu
        assert read_description(fmu).can_interpolate_inputs is False


def test_the_fmu_knows_what_it_was_made_from(
    build: Build, session: str, tmp_path: Path, recorded
) -> None:
    from fmident.compilers.platforms import is_stale

    result = build("Good", session=session)
    request = BuildRequest(
        "Good", (recorded.MODELS / "Good.mo",), result.fmu, None, {"session": session}
    )
    assert not is_stale(result.fmu, request, OpenModelicaCompiler())
    other = BuildRequest("Good", request.sources, result.fmu, 1e-9, {"session": session})
    assert is_stale(result.fmu, other, OpenModelicaCompiler())


def test_experiment_from_the_options(build: Build, session: str) -> None:
    result = build("Good", session=session, stop_time=7.5, interval=0.25)
    description = read_description(result.fmu)
    assert (description.default_stop, description.default_step) == (7.5, 0.25)
    assert description.default_tolerance == 1e-8  # of the class


def test_modification_of_the_class(
    build: Build, session: str, tmp_path: Path, omc_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: dict[str, str] = {}
    write_text = Path.write_text

    def keep(path: Path, text: str, **given: object) -> int:
        texts[path.name] = text
        return write_text(path, text, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_text", keep)
    build("Good", session=session, model_options="redeclare model F = G, m = 2")
    assert "  extends Good(redeclare model F = G, m = 2);\n" in texts["fmident_export.mo"]
    assert "  fmident_export fmident_component;\n" in texts["fmident_ramp.mo"]


def test_libraries_from_the_options(build: Build, session: str, omc_log: Path) -> None:
    build("Good", session=session, libraries={"Modelica": "4.0.0"})
    build("Good", session=session, libraries={"Modelica": ""})
    loads = list(dict.fromkeys(asked(omc_log, "loadModel")))
    assert loads == [
        f'loadModel(Modelica, {{"{version}"}}, requireExactVersion=true)'
        for version in ("4.0.0", "default")
    ]


def test_other_kinds_of_fmu(build: Build, session: str, omc_log: Path) -> None:
    build("Good", session=session, fmu_type="me", platforms=["static", "x86_64-linux-gnu"])
    build("Good", session=session, fmi_version="3.0", fmi_flags="")
    first, second = dict.fromkeys(asked(omc_log, "buildModelFMU"))
    assert 'fmuType="me", fileNamePrefix="Good", platforms={"static", "x86_64-linux-gnu"}' in first
    assert 'version="3.0"' in second
    assert "--fmiFlags" not in omc_log.read_text().splitlines()[-1]


def test_library_with_packages_in_folders(
    build: Build, session: str, tmp_path: Path, omc_log: Path
) -> None:
    library = tmp_path / "Lib"
    library.mkdir()
    (library / "package.mo").write_text("within ;\npackage Lib end Lib;\n")
    (library / "M.mo").write_text(
        'within Lib;\nmodel M "Text" annotation(experiment(StopTime=3.0)); end M;\n'
    )
    request = BuildRequest(
        "Lib.M", (tmp_path,), tmp_path / "o.fmu", None, {"session": session, "ramp_inputs": False}
    )
    assert OpenModelicaCompiler().build(request).fmu.is_file()
    assert f'loadFile("{library}/package.mo", uses=false)' in omc_log.read_text()
