"""Annotations from the source text: whose documentation, which bases, what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend.presentation.reader import read_presentation
from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.sources import read_tree
from fmident.compilers.embedded.presentation import Label, Outline

from .conftest import Read

BASES = """
package T
  package Icons
    partial model Frame "a frame"
      annotation(Icon(graphics={Rectangle(extent={{-100,-100},{100,100}}, lineColor={1,2,3})}),
        Documentation(info="<html><p>The frame.</p></html>"));
    end Frame;
    partial model Named extends Frame;
      annotation(Icon(graphics={Text(extent={{-100,110},{100,150}}, textString="%name")}));
    end Named;
  end Icons;
  model M "of two bases"
    extends Icons.Named;
    replaceable model Inner = Icons.Frame constrainedby Icons.Frame;
    partial model Other
      annotation(Icon(graphics={Ellipse(extent={{-9,-9},{9,9}})}));
    end Other;
    Real x(start = 1, fixed = true) "a state" annotation(Dialog(group = "a)b"));
  equation
    der(x) = -x; // annotation(Icon(graphics={Rectangle(extent={{0,0},{1,1}})}))
    annotation(Icon(graphics={Line(points={{-50,0},{50,0}}, color={255,0,0})})MORE);
  end M;
end T;
"""


def test_bases_are_drawn_beneath_in_their_order(read: Read) -> None:
    shown, remarks = read(BASES.replace("MORE", ""))
    assert remarks == ()
    assert shown.icon is not None
    frame, name, line = shown.icon.shapes
    assert isinstance(frame, Outline)
    assert frame.stroke is not None
    assert frame.stroke.color == "#010203"
    assert isinstance(name, Label)
    assert name.text == "M"
    assert isinstance(line, Outline)
    assert line.start == (-50, 0)
    assert line.steps == (((50, 0),),)


def test_the_documentation_is_that_of_the_nearest_base_with_one(read: Read) -> None:
    shown, _ = read(BASES.replace("MORE", ""))
    assert (shown.documented, shown.information) == (
        "T.Icons.Frame",
        "<html><p>The frame.</p></html>",
    )
    own = ', Documentation(info="<html>a \\"word\\"</html>" + " b", revisions="<html>1</html>")'
    shown, _ = read(BASES.replace("MORE", own))
    assert (shown.documented, shown.information) == ("T.M", '<html>a "word"</html> b')
    assert shown.revisions == "<html>1</html>"


def test_a_class_without_annotations_presents_nothing(read: Read) -> None:
    shown, remarks = read("package T model M Real x; equation x = time; end M; end T;")
    assert (shown.icon, shown.information, shown.connectors, remarks) == (None, "", (), ())


@pytest.mark.parametrize(
    ("annotation", "what"),
    [
        ("Icon(graphics={Rectangle(extent={{-100,-100}})})", "the icon"),
        ("Icon(graphics={Line(points={{0,0},{1}})})", "the icon"),
        ("Icon(graphics={Rectangle(extent={{0,0},{1e9,1e300}})})", "the icon"),
        ("Icon(coordinateSystem(extent={{0,0},{0,0}}))", "the icon"),
    ],
)
def test_what_cannot_be_read_is_a_note_and_nothing_worse(
    read: Read, annotation: str, what: str
) -> None:
    text = f'annotation({annotation}, Documentation(info="kept"));'
    shown, remarks = read(f"package T model M Real x; equation x = time; {text} end M; end T;")
    assert shown.icon is None
    assert shown.information == "kept"
    (remark,) = remarks
    assert (remark.severity, remark.rule) == ("note", "annotation")
    assert what in remark.message
    assert remark.location is not None
    assert remark.location.line == 1


def test_conditional_and_protected_connectors_are_left_out(read: Read) -> None:
    shown, remarks = read("""
    package T
      connector In = input Real "a number"
        annotation(Icon(graphics={Polygon(points={{-100,100},{100,0},{-100,-100}},
          lineColor={0,0,127}, fillColor={0,0,127}, fillPattern=FillPattern.Solid)}));
      model M
        parameter Boolean more = false;
        In u annotation(Placement(transformation(extent={{-120,-10},{-100,10}})));
        In v "another" annotation(Placement(transformation(
          extent={{-10,-10},{10,10}}, rotation=90, origin={0,-110})));
        In w if more annotation(Placement(transformation(extent={{0,0},{20,20}})));
        Real plain;
      protected
        In hidden;
      equation
        hidden = u; plain = v;
      end M;
    end T;
    """)
    assert remarks == ()
    u, v = shown.connectors
    assert (u.name, u.class_name, u.description, u.color) == ("u", "T.In", "a number", (0, 0, 127))
    assert v.description == "another"
    assert u.picture is not None
    assert v.picture is not None
    assert u.picture.extent == pytest.approx((-121, -11, -99, 11))  # with a margin of 1
    assert v.picture.extent == pytest.approx((-11, -121, 11, -99))
    (up,) = v.picture.shapes
    assert isinstance(up, Outline)
    corners = [up.start, *(step[-1] for step in up.steps)]
    assert corners[1] == pytest.approx((0, 100))  # its tip shows upwards; y is downwards here


def test_pictures_of_the_documentation_are_those_of_the_library_only(tmp_path: Path) -> None:
    library = tmp_path / "T"
    images = library / "Resources" / "Images"
    images.mkdir(parents=True)
    (images / "a b.png").write_bytes(b"\x89PNG one")
    (tmp_path / "secret.png").write_bytes(b"\x89PNG two")
    (library / "Resources" / "notes.txt").write_text("text")
    addresses = (
        "modelica://T/Resources/Images/a%20b.png",
        "modelica://T/../secret.png",
        "modelica://T/Resources/notes.txt",
        "modelica://U/Resources/Images/a.png",
        "https://example.org/a.png",
    )
    html = "".join(f"<img src='{address}'>" for address in addresses)
    (library / "package.mo").write_text("package T end T;")
    (library / "M.mo").write_text(
        f'within T; model M Real x; equation x = 1; annotation(Documentation(info="<html>{html}'
        '</html>")); end M;'
    )
    shown, remarks = read_presentation("T.M", Names([read_tree(library)]))
    assert shown.images == {addresses[0]: ("image/png", b"\x89PNG one")}
    assert remarks == ()
