"""``documentation/index.html``: well-formed, without programs, and it loads nothing."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from fmident.compilers.embedded.backend.documentation.page import page
from fmident.compilers.embedded.backend.documentation.sanitise import sanitised
from fmident.compilers.embedded.presentation import Presentation

from ..conftest import oscillator


def tree(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{text}</div>")


HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT src=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<p onload='alert(1)' onclick=\"alert(1)\">",
    '<a href="javascript:alert(1)">',
    '<a href=" java\nscript:alert(1)">',
    '<a href="&#106;avascript:alert(1)">',
    '<a href="data:text/html,<script>alert(1)</script>">',
    '<a href="vbscript:alert(1)">',
    '<iframe src="https://evil.example"></iframe>',
    '<object data="https://evil.example/x"><embed src="https://evil.example/x"></object>',
    '<svg onload="alert(1)"><script>alert(1)</script></svg>',
    '<math href="javascript:alert(1)">x</math>',
    '<link rel="stylesheet" href="https://evil.example/x.css">',
    '<style>@import "https://evil.example/x.css"</style>',
    '<p style="background:url(https://evil.example/x)">',
    '<p style="width: expression(alert(1))">',
    '<img src="https://evil.example/x.png" srcset="https://evil.example/y.png 2x">',
    '<img src="data:image/svg+xml;base64,PHN2Zz4=">',
    '<meta http-equiv="refresh" content="0;url=https://evil.example">',
    '<base href="https://evil.example/">',
    '<form action="https://evil.example"><input name="a"><button>x</button></form>',
    '<video src="https://evil.example/x"></video>',
    '<table background="https://evil.example/x"><tr><td>x',
    "<!-- <script>alert(1)</script> --><![CDATA[<script>alert(1)</script>]]>",
    "<!--><script>alert(1)</script>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_runs_and_nothing_is_loaded(text: str) -> None:
    clean = sanitised(f"<html><p>before</p>{text}<p>after</p></html>", {})
    root = tree(clean)
    assert "before" in "".join(root.itertext())
    for element in root.iter():
        assert element.tag in {"div", "p", "a", "img", "i", "table", "tr", "td"}
        assert not [key for key in element.attrib if key.startswith("on")]
        assert "url" not in element.get("style", "")
        assert element.get("href") is None
        assert element.get("src") is None
        assert "alert" not in "".join(element.attrib.values())


def test_text_that_looks_like_markup_stays_text() -> None:
    clean = sanitised("<html><p>a &lt;script&gt; b &amp; c < d</p></html>", {})
    assert "".join(tree(clean).itertext()) == "a <script> b & c < d"


def test_what_is_harmless_is_kept() -> None:
    text = (
        "<html><h4>Title</h4><p>x<sub>1</sub> <b>bold</b><br>line</p><ul><li>one<li>two</ul>"
        '<table border="1"><tr><td colspan=2>a<td>b<tr><td>c</table>'
        '<a href="https://example.org/a?b=1&amp;c=2">link</a> <a href="#part">part</a>'
        '<p style="color: red; margin: 0 1em">red</p></html>'
    )
    root = tree(sanitised(text, {}))
    assert [li.text for li in root.iter("li")] == ["one", "two"]
    assert [[td.text for td in tr.iter("td")] for tr in root.iter("tr")] == [["a", "b"], ["c"]]
    assert [a.get("href") for a in root.iter("a")] == ["https://example.org/a?b=1&c=2", "#part"]
    assert [p.get("style") for p in root.iter("p")] == [None, "color: red; margin: 0 1em"]
    assert root.find("ul/li/li") is None


def test_links_to_classes_are_text_and_pictures_are_inside() -> None:
    text = (
        '<html><a href="modelica://T.Other">Other</a><img src="modelica://T/a.png" alt="A">'
        '<img src="modelica://T/gone.png" alt="the plot"></html>'
    )
    root = tree(sanitised(text, {"modelica://T/a.png": ("image/png", b"content")}))
    (link,) = root.iter("a")
    assert (link.text, dict(link.attrib)) == ("Other", {})
    (image,) = root.iter("img")
    assert image.get("src") == "data:image/png;base64,Y29udGVudA=="
    assert [i.text for i in root.iter("i")] == ["[the plot]"]


def test_plain_text_keeps_its_lines() -> None:
    assert sanitised("one <b>\ntwo", {}) == "<pre>one &lt;b&gt;\ntwo</pre>"
    assert sanitised("  ", {}) == ""


def test_deep_nesting_has_an_end() -> None:
    assert sanitised("<html>" + "<div>" * 5000 + "x", {}).count("<div>") == 100


def page_of(presentation: Presentation) -> tuple[str, ElementTree.Element]:
    text = page(replace(oscillator(), presentation=presentation))
    return text, ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n"))


def test_a_page_has_the_variables_with_units_and_limits() -> None:
    text, root = page_of(Presentation())
    rows = [
        [td.findtext("code") or td.text or "" for td in tr.iter("td")] for tr in root.iter("tr")
    ]
    assert ["m", "2", "kg", "0 or more", ""] in rows
    assert ["f", "N", "", ""] in rows
    assert ["acceleration", "m/s2", "", ""] in rows
    assert ["s", "m", "", "Position"] in rows  # a state
    assert 'Mass & <spring> with "damper"' in [p.text for p in root.iter("p")]
    assert "https://" not in text


def test_a_page_says_whose_documentation_it_shows() -> None:
    shown = Presentation("<html><p>Of a base.</p></html>", "<html>v1</html>", "Test.Base")
    _, root = page_of(shown)
    texts = ["".join(p.itertext()) for p in root.iter("p")]
    assert "The documentation is that of Test.Base, which the class extends." in texts
    assert "Of a base." in texts
    assert [h.text for h in root.iter("h2")][-1] == "Revisions"
    policy = [m.get("content", "") for m in root.iter("meta") if m.get("http-equiv")]
    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_characters_that_xml_cannot_hold_are_left_out() -> None:
    text, _ = page_of(Presentation("<html>a\x00b\x1bc</html>", "", "Test.Oscillator"))
    assert "abc" in text
