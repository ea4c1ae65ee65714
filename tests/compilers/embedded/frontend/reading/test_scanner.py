"""The scanner of Modelica text."""

from pathlib import Path

import pytest

from fmident.compilers.scanner import (
    annotation_arguments,
    classes,
    tokens,
)
from fmident.compilers.sources import choose_tree, read_tree
from fmident.errors import Code, CompilationError

from .....refused import refused

TEXT = """within A.B;
package P "model in a string"
  // model commented "
  /* end P; */
  type Angle = Real(unit="rad");
  function f = g(k=2);
  partial model Base "end Base;"
    replaceable model Law = Linear constrainedby Partial;
    Real x[3];
  equation
    x[end] = 1;
    for i in 1:2 loop
      x[i] = 2;
    end for;
    annotation (Documentation(info="experiment(StopTime=3)"), experiment(StopTime=5, Tolerance=1e-6));
  end Base;
  model extends Inherited
  end Inherited;
  model 'odd name'
  end 'odd name';
end P;
"""  # noqa: E501


def test_classes() -> None:
    found = {c.name: c for c in classes(TEXT, Path("P.mo"))}
    assert set(found) == {
        "A.B.P",
        "A.B.P.Angle",
        "A.B.P.f",
        "A.B.P.Base",
        "A.B.P.Base.Law",
        "A.B.P.Inherited",
        "A.B.P.'odd name'",
    }
    base = found["A.B.P.Base"]
    assert base.keyword == "model"
    assert [t.text for t in base.prefixes] == ["partial"]
    assert TEXT[base.start :].startswith("Base")
    assert TEXT[: base.end].endswith("end Base")
    assert "Angle" not in {t.text for t in base.tokens}


def test_annotation() -> None:
    base = next(c for c in classes(TEXT, Path("P.mo")) if c.name == "A.B.P.Base")
    assert annotation_arguments(base.tokens, "experiment") == {
        "StopTime": "5",
        "Tolerance": "1e-6",
    }
    assert annotation_arguments(base.tokens, "uses") == {}


def test_tokens_skip_comments_and_keep_strings_whole() -> None:
    assert [t.text for t in tokens('a/*b*/:=1.5e-3 "x \\" y"//c\n.*d')] == [
        "a",
        ":=",
        "1.5e-3",
        '"x \\" y"',
        ".*",
        "d",
    ]


def test_package_in_folders(tmp_path: Path) -> None:
    (tmp_path / "P" / "Sub").mkdir(parents=True)
    (tmp_path / "P" / "package.mo").write_text("package P\nend P;\n")
    (tmp_path / "P" / "Sub" / "package.mo").write_text("within P;\npackage Sub\nend Sub;\n")
    (tmp_path / "P" / "Sub" / "M.mo").write_text("within P.Sub;\n\n  model M\nend M;\n")
    for path in (tmp_path / "P", tmp_path / "P" / "package.mo"):
        tree = read_tree(path)
        assert set(tree.classes) == {"P", "P.Sub", "P.Sub.M"}
        place = tree.location("P.Sub.M")
        assert place is not None
        assert (Path(place.file).name, place.line, place.column) == ("M.mo", 3, 9)
    with pytest.raises(CompilationError) as caught:
        choose_tree("P.M", [tree])
    assert "'P.Sub.M'" in str(caught.value)


@pytest.mark.parametrize("name", ["missing.mo", "empty"])
def test_no_source(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CompilationError, match=name):
        read_tree(tmp_path / name)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "M.mo").write_bytes(b"model M \xff\nend M;\n")
    with refused(Code.UNUSABLE_FILE, CompilationError, match="UTF-8"):
        read_tree(tmp_path / "M.mo")


def test_a_short_definition_ends_behind_its_brackets(tmp_path: Path) -> None:
    text = "package P\n  model A = B(t = [0, 1; 2, 3]);\n  model C\n  end C;\nend P;\n"
    found = {item.name: item for item in classes(text, tmp_path / "P.mo")}
    assert set(found) == {"P", "P.A", "P.C"}
    assert [t.text for t in found["P.A"].tokens][-3:] == ["3", "]", ")"]
