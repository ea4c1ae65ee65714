"""What became of the equations, as text."""

from __future__ import annotations

from pathlib import Path

from fmident.compilers.embedded.frontend import list_equations

LOOPS = Path(__file__).parents[1] / "loops"


def sections(name: str, file: Path) -> dict[str, list[str]]:
    lines, _ = list_equations(name, [file])
    assert lines[0] == name
    found: dict[str, list[str]] = {}
    for line in lines[1:]:
        if line and not line.startswith(" "):
            title = line
            found[title] = []
        elif line:
            found[title].append(line.strip())
    return found


def test_loops_and_what_is_iterated_of_them() -> None:
    found = sections("Loops.DiodeResistor", LOOPS / "Loops.mo")
    assert found["inputs"] == ["u"]
    solved = found["equations, in the order in which they are solved"]
    assert "by iteration of " in solved[0]
    assert " of 2 unknowns" in solved[0]
    assert set(solved[1:]) == {"u = R*i + v", "i = Is*(exp(v/Vt) - 1)"}


def test_constraints_and_the_start() -> None:
    found = sections("Constraints.Pendulum", LOOPS / "Constraints.mo")
    assert found["states"] == ["x", "y", "vx", "vy"]
    kept = found["constraints of the states, kept after each step"]
    assert kept == ["x^2 + y^2 = L^2", "der(x^2 + y^2 = L^2)"]
    solved = found["equations, in the order in which they are solved"]
    assert any("3 linear equations, by formulas" in line for line in solved)
    assert "x^2 + y^2 = L^2" in found["iterated at the start"]


def test_events(tmp_path: Path) -> None:
    file = tmp_path / "M.mo"
    file.write_text(
        "model M\n  Real x(start=1, fixed=true), z = x;\n  discrete Real n(start=0);\nequation\n"
        "  der(x) = if x > 0.5 then -1 else 1;\n  when sample(0, 0.1) then\n    n = pre(n) + 1;\n"
        "    reinit(x, 1);\n  end when;\nend M;\n"
    )
    found = sections("M", file)
    assert found["relations that switch at events"] == ["x > 0.5"]
    assert found["variables that change at events"] == ["n"]
    assert found["reinitialised at events"] == ["x"]
    assert found["equal to another variable"] == ["z = x"]
