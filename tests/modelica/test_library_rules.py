"""Rules that every class of the libraries keeps; read from source and front end, nothing is built.

The front end reads Mechanisms. MechanismsMSL needs the standard library, which is not at hand: its
classes are held by what their source says.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import rumoca
from drawing.tree import Call, Component
from libraries import STANDARD, libraries
from machines import LIBRARY

FILES = sorted(LIBRARY.rglob("*.mo"))
STANDARD_FILES = sorted(STANDARD.rglob("*.mo"))
ALL_FILES = FILES + STANDARD_FILES
EVENTS = frozenset({"when", "elsewhen", "if", "pre", "edge", "change", "reinit", "sample", "delay"})
KINKS = frozenset({"abs", "sign", "floor", "ceil", "integer", "mod", "rem", "div", "min", "max"})
FORBIDDEN = EVENTS | KINKS | {"external", "noEvent", "smooth"}


def qualified(file: Path) -> str:
    parts = list(file.relative_to(LIBRARY.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "package" else parts)


def code(file: Path) -> str:
    """Source without strings and comments; attributes such as ``min=`` are taken out too."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', file.read_text(), flags=re.DOTALL)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\b(?:min|max|smooth)\s*=", "", text)


def kind(file: Path) -> str:
    match = re.search(
        r"^(partial )?(model|block|function|package|class|connector)\b", code(file), re.MULTILINE
    )
    assert match, f"{file} declares no class"
    return "partial" if match.group(1) else match.group(2)


MODELS = [f for f in FILES if kind(f) == "model"]
MACHINES = [f for f in MODELS if f.parent.name not in ("Examples", "Sources")]
STANDARD_MODELS = [f for f in STANDARD_FILES if kind(f) in ("model", "block")]
STANDARD_PARTS = [f for f in STANDARD_MODELS if f.parent.name != "Examples"]
STANDARD_MACHINES = [
    f
    for f in STANDARD_PARTS
    if f.parent.name in ("DriveTrains", "Linkages", "Robots") and kind(f) == "model"
]


@pytest.fixture(scope="module")
def loaded() -> dict[str, rumoca.Model]:
    session = rumoca.Session()
    return {
        qualified(f): session.load(str(LIBRARY / "package.mo"), model=qualified(f)) for f in MODELS
    }


def components(file: Path) -> dict[str, Component]:
    """Components of a class, with those of its bases in these libraries."""
    it = libraries().find(qualified(file), None)
    assert it is not None
    return {p.component.name: p.component for p in libraries().components(it)}


def test_file_holds_the_class_of_its_name(subtests: pytest.Subtests) -> None:
    for file in ALL_FILES:
        with subtests.test(qualified(file)):
            name = qualified(file)
            within, _, short = name.rpartition(".")
            text = file.read_text()
            assert text.startswith(f"within {within};\n")
            assert text.rstrip().endswith(f"end {short};") or kind(file) == "connector"
            assert re.search(
                rf"^(partial )?(model|block|function|package|class|connector) {short}\s+(= .* )?"
                r'"[A-Z]',
                text,
                re.MULTILINE,
            )


def test_package_order_lists_every_class_once() -> None:
    for folder in {f.parent for f in ALL_FILES}:
        listed = [
            line for line in (folder / "package.order").read_text().splitlines() if line
        ] if (folder / "package.order").exists() else []  # fmt: skip
        found = [f.stem for f in folder.glob("*.mo") if f.name != "package.mo"]
        found += [d.name for d in folder.iterdir() if (d / "package.mo").exists()]
        assert sorted(listed) == sorted(found), folder


def test_no_event_and_no_other_library(subtests: pytest.Subtests) -> None:
    for file in FILES:
        with subtests.test(qualified(file)):
            words = set(re.findall(r"[A-Za-z_]\w*", code(file)))
            assert not words & FORBIDDEN
            assert "Modelica" not in words
            if kind(file) != "function":
                assert "algorithm" not in words


def test_model_is_balanced_and_has_its_annotations(
    loaded: dict[str, rumoca.Model], subtests: pytest.Subtests
) -> None:
    for file in MODELS:
        with subtests.test(qualified(file)):
            structure = loaded[qualified(file)].structure()
            assert structure.is_balanced
            assert structure.is_matched
            text = file.read_text()
            assert re.search(
                r"experiment\(StopTime=[\d.]+, Tolerance=1e-\d+, Interval=[\d.]+\)", text
            )
            assert 'Documentation(info="<html>' in text


def test_machine_is_documented(subtests: pytest.Subtests) -> None:
    for file in MACHINES + STANDARD_PARTS:
        with subtests.test(qualified(file)):
            text = file.read_text()
            for heading in ("Assumptions", "Implementation", "Limitations", "References"):
                assert f"<h4>{heading}</h4>" in text
            figure = "/".join(qualified(file).split(".")[1:])
            assert (
                f"modelica://{qualified(file).split('.')[0]}/Resources/Images/{figure}.svg" in text
            )


def test_variables_carry_unit_and_description(
    loaded: dict[str, rumoca.Model], subtests: pytest.Subtests
) -> None:
    for file in MACHINES:
        with subtests.test(qualified(file)):
            model = loaded[qualified(file)]
            variables = [*model.parameters, *model.inputs, *model.outputs]
            assert variables
            for variable in variables:
                if "." not in variable.name:
                    assert variable.unit, variable.name
                    assert variable.description, variable.name


def test_own_parameters_have_literal_defaults(
    loaded: dict[str, rumoca.Model], subtests: pytest.Subtests
) -> None:
    """Nothing protected or computed: what an FMU's user can set. What follows is final, inside."""
    for file in MACHINES:
        with subtests.test(qualified(file)):
            flat = loaded[qualified(file)].render("flat-modelica")
            declaration = (
                r'^ *(.*parameter) Real(?:\[[\d, ]+\])? ([A-Za-z]\w*)\(.*?\) = (.+?)(?: ".*")?;$'
            )
            own = re.findall(declaration, flat, re.MULTILINE)
            assert own
            declared = components(file)
            for prefix, name, default in own:
                if prefix == "final parameter":
                    assert not declared[name].public, name
                    continue
                assert prefix == "parameter", name
                assert re.fullmatch(r"[-+{}()\d.,e ]+", default), f"{name} = {default}"
            assert "protected\n  parameter" not in flat


def test_machine_accounts_for_its_power(
    loaded: dict[str, rumoca.Model], subtests: pytest.Subtests
) -> None:
    for file in MACHINES:
        with subtests.test(qualified(file)):
            names = {v.name for v in loaded[qualified(file)].outputs}
            if qualified(file).startswith("Mechanisms.Friction."):
                assert {"storedEnergy", "lossPower"} <= names
            elif not qualified(file).endswith("CascadeController"):
                assert {
                    "kineticEnergy",
                    "potentialEnergy",
                    "inputPower",
                    "dissipatedPower",
                } <= names


def test_parts_of_the_other_library_carry_units_and_descriptions(subtests: pytest.Subtests) -> None:
    for file in STANDARD_PARTS:
        with subtests.test(qualified(file)):
            for component in components(file).values():
                if not component.public or not component.prefixes & {
                    "parameter",
                    "input",
                    "output",
                }:
                    continue
                assert component.description, component.name
                assert has_unit(component), component.name


def has_unit(component: Component) -> bool:
    if component.type_name in ("Boolean", "Integer"):
        return True
    if component.type_name.removeprefix("Modelica.Units.").startswith("SI."):
        return True
    given = component.modification
    return isinstance(given, Call) and "unit" in given.named


def test_machine_of_the_other_library_keeps_the_rules(subtests: pytest.Subtests) -> None:
    """Literal defaults, an experiment, and an account of its power."""
    for file in STANDARD_MACHINES:
        with subtests.test(qualified(file)):
            known = components(file)
            for component in known.values():
                if component.public and "parameter" in component.prefixes:
                    assert re.fullmatch(r"[-+{}()\d.,e ]+", component.value), component.name
            assert {"kineticEnergy", "potentialEnergy", "inputPower", "dissipatedPower"} <= set(
                known
            )
            assert re.search(
                r"experiment\(StopTime=[\d.]+, Tolerance=1e-\d+, Interval=[\d.]+\)",
                file.read_text(),
            )


def test_every_machine_has_an_example() -> None:
    examples = " ".join(f.read_text() for f in MODELS if f.parent.name == "Examples")
    driven = {f.stem for f in MACHINES if f.parent.name not in ("Friction",)}
    used_inside = {"CascadeController"}
    missing = {name for name in driven - used_inside if f".{name} " not in examples}
    assert not missing


def test_every_machine_of_the_other_library_has_an_example() -> None:
    """Variants with events or with constraints are driven as the machine itself."""
    examples = " ".join(f.read_text() for f in STANDARD_MODELS if f.parent.name == "Examples")
    driven = {re.sub("(WithEvents|Constraints)$", "", f.stem) for f in STANDARD_MACHINES}
    assert not {name for name in driven if not re.search(rf"^  {name} ", examples, re.MULTILINE)}
