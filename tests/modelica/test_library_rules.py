"""Rules that every class of the library keeps; read from its source, nothing is built.

``tests/compilers/embedded/frontend/test_library.py`` compiles every class that can run.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from drawing.tree import Call, Component
from libraries import libraries
from machines import LIBRARY

FILES = sorted(LIBRARY.rglob("*.mo"))
EVENTS = frozenset({"when", "elsewhen", "if", "pre", "edge", "change", "reinit", "sample", "delay"})
KINKS = frozenset({"abs", "sign", "floor", "ceil", "integer", "mod", "rem", "div", "min", "max"})
FORBIDDEN = EVENTS | KINKS | {"external", "noEvent", "smooth"}
SWITCHING = re.compile(r"WithEvents$|^Sticking$")
"""Names of the classes that may have events."""
LITERAL = re.compile(r"[-+{}()\d.,e ]+")
EXPERIMENT = re.compile(r"experiment\(StopTime=[\d.]+, Tolerance=1e-\d+, Interval=[\d.]+\)")
FRICTION = LIBRARY / "Friction"
POWER = {"kineticEnergy", "potentialEnergy", "inputPower", "dissipatedPower"}


def qualified(file: Path) -> str:
    parts = list(file.relative_to(LIBRARY.parent).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "package" else parts)


def code(file: Path) -> str:
    """Source without strings and comments; attributes such as ``min=`` are taken out too.

    So is ``delay`` where it is the name of a parameter.
    """
    text = re.sub(r'"(?:\\.|[^"\\])*"', '""', file.read_text(), flags=re.DOTALL)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"\b(?:min|max|smooth)\s*=|\bdelay\b(?!\s*\()|\bTime delay\b", "", text)


def kind(file: Path) -> str:
    match = re.search(
        r"^(partial )?(model|block|function|package|class|connector|record|type)\b",
        code(file),
        re.MULTILINE,
    )
    assert match, f"{file} declares no class"
    return "partial" if match.group(1) else match.group(2)


MODELS = [f for f in FILES if kind(f) in ("model", "block")]
MACHINES = [f for f in MODELS if f.parent.name == "FMUs"]
PARTS = [f for f in MODELS if f.parent.name not in ("Examples", "Icons", "Sources")]


def is_friction(file: Path) -> bool:
    """Whether an exported class is a friction law by itself."""
    return file.parent.name == "FMUs" and "extends Friction." in file.read_text()


def components(file: Path) -> dict[str, Component]:
    """Components of a class, with those of its bases."""
    it = libraries().find(qualified(file), None)
    assert it is not None
    return {p.component.name: p.component for p in libraries().components(it)}


def test_file_holds_the_class_of_its_name(subtests: pytest.Subtests) -> None:
    for file in FILES:
        with subtests.test(qualified(file)):
            name = qualified(file)
            within, _, short = name.rpartition(".")
            text = file.read_text()
            assert text.startswith(f"within {within};\n")
            assert text.rstrip().endswith(f"end {short};")
            assert re.search(
                rf"^(partial )?(model|block|function|package|class|record) {short}\s+"
                r'"[A-Z]',
                text,
                re.MULTILINE,
            )


def test_package_order_lists_every_class_once() -> None:
    for folder in {f.parent for f in FILES}:
        listed = [
            line for line in (folder / "package.order").read_text().splitlines() if line
        ] if (folder / "package.order").exists() else []  # fmt: skip
        found = [f.stem for f in folder.glob("*.mo") if f.name != "package.mo"]
        found += [d.name for d in folder.iterdir() if (d / "package.mo").exists()]
        assert sorted(listed) == sorted(found), folder


def test_only_classes_with_events_have_them(subtests: pytest.Subtests) -> None:
    for file in FILES:
        if SWITCHING.search(file.stem):
            continue
        with subtests.test(qualified(file)):
            words = set(re.findall(r"[A-Za-z_]\w*", code(file)))
            assert not words & FORBIDDEN
            if kind(file) != "function":
                assert "algorithm" not in words


def test_machine_and_example_have_an_experiment(subtests: pytest.Subtests) -> None:
    for file in [*MACHINES, *(f for f in MODELS if f.parent.name == "Examples")]:
        with subtests.test(qualified(file)):
            assert EXPERIMENT.search(file.read_text())


def test_variables_carry_unit_and_description(subtests: pytest.Subtests) -> None:
    """Parameters and connectors with one value, also those of bases in the library."""
    for file in PARTS:
        with subtests.test(qualified(file)):
            it = libraries().find(qualified(file), None)
            assert it is not None
            own = [p for p in libraries().components(it) if p.owner.full_name.startswith("Mech")]
            for component in (p.component for p in own if p.component.public):
                signal = component.type_name.startswith("Modelica.Blocks.Interfaces.Real")
                if signal or component.prefixes & {"parameter", "input", "output"}:
                    assert component.description, component.name
                    assert has_unit(component), component.name


def has_unit(component: Component) -> bool:
    if component.type_name in ("Boolean", "Integer", "StateSelect"):
        return True
    if component.type_name.removeprefix("Modelica.Units.").startswith("SI."):
        return True
    given = component.modification
    return isinstance(given, Call) and "unit" in given.named


def test_parameters_of_machines_have_literal_defaults(subtests: pytest.Subtests) -> None:
    """None is computed: all can be set in an FMU."""
    for file in MACHINES:
        with subtests.test(qualified(file)):
            for component in components(file).values():
                if "parameter" not in component.prefixes or "final" in component.prefixes:
                    continue
                assert component.public, component.name
                if component.type_name != "Boolean":
                    assert LITERAL.fullmatch(component.value), component.name


def test_machine_accounts_for_its_power(subtests: pytest.Subtests) -> None:
    for file in PARTS:
        with subtests.test(qualified(file)):
            names = set(components(file))
            if FRICTION in file.parents or is_friction(file):
                assert "Functions" in file.parts or {"storedEnergy", "lossPower"} <= names
            elif file.parent.name == "FMUs" and kind(file) != "partial":
                assert names >= POWER


def test_every_machine_has_an_example() -> None:
    """Variants with events are driven as the machine itself, friction laws inside machines."""
    examples = " ".join(f.read_text() for f in MODELS if f.parent.name == "Examples")
    driven = {f.stem.removesuffix("WithEvents") for f in MACHINES if not is_friction(f)}
    assert not {name for name in driven if f".{name} " not in examples}
