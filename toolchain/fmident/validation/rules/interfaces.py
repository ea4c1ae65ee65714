"""The description as a whole, its interfaces and the default experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from fmident.validation.rules.document import Document, Element
from fmident.validation.rules.registry import Finding
from fmident.validation.rules.values import number

_DATE = re.compile(r"[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_VERSION_3 = re.compile(r"3\.[0-9]+(-(alpha|beta|rc)\.[0-9]+)?")
_FIRST_LINE = re.compile(
    rb"""(?:\xef\xbb\xbf)?<\?xml[^>]*?encoding\s*=\s*["']utf-8["']""", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if int long
register return short signed sizeof static struct switch typedef union unsigned void volatile while
inline restrict
"""
_STATE = ("canSerializeFMUstate", "canSerializeFMUState")


def check_encoding(xml: bytes, file: str) -> Iterator[Finding]:
    """Yield a finding if the first line does not say UTF-8."""
    if not _FIRST_LINE.match(xml[:400]):
        yield Finding("encoding", "the first line does not name the encoding UTF-8", 1, file)


def check_interfaces(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with the description as a whole."""
    root = document.root
    right = _VERSION_3.fullmatch(document.version) if document.major == 3 else None
    if not right and document.version != "2.0":
        expected = "3.0" if document.major == 3 else "2.0"
        yield Finding("version", f"fmiVersion is '{document.version}', not '{expected}'", root.line)
    token = "guid" if document.major == 2 else "instantiationToken"
    if not (root.get(token) or "").strip():
        said = "is empty" if root.get(token) is not None else "is missing"
        yield Finding("token", f"'{token}' {said}", root.line)
    date = root.get("generationDateAndTime")
    if date is not None and not _DATE.fullmatch(date.strip()):
        yield Finding(
            "date",
            f"generationDateAndTime is '{date[:40]}', not of the form YYYY-MM-DDThh:mm:ssZ",
            root.line,
        )
    if not document.interfaces:
        yield Finding("interface", "no element describes an interface", root.line)
    for interface in document.interfaces:
        yield from _interface(interface)
    yield from _experiment(document)


def _interface(interface: Element) -> Iterator[Finding]:
    said = interface.get("modelIdentifier")
    if said is None or not _IDENTIFIER.fullmatch(said) or said in _KEYWORDS.split():
        yield Finding(
            "identifier",
            f"the modelIdentifier of {interface.tag} is missing"
            if said is None
            else f"the modelIdentifier '{said}' of {interface.tag} is not a name of C",
            interface.line,
        )
    for serialize in _STATE:
        restore = serialize.replace("Serialize", "GetAndSet")
        if interface.flag(serialize) and not interface.flag(restore):
            yield Finding(
                "flags", f"{interface.tag} has '{serialize}' without '{restore}'", interface.line
            )
    early, updates = "canReturnEarlyAfterIntermediateUpdate", "providesIntermediateUpdate"
    if interface.flag(early) and not interface.flag(updates):
        yield Finding("flags", f"{interface.tag} has '{early}' without '{updates}'", interface.line)


def _experiment(document: Document) -> Iterator[Finding]:
    experiment = document.section("DefaultExperiment")
    if experiment is None:
        return
    values: dict[str, float] = {}
    for key in ("startTime", "stopTime", "tolerance", "stepSize"):
        said = experiment.get(key)
        if said is None:
            continue
        value = number(said, "Float64", document.major)
        if value is None or not math.isfinite(value):
            yield Finding(
                "experiment", f"{key} is '{said[:40]}', which is not a number", experiment.line
            )
        else:
            values[key] = value
    for key in ("tolerance", "stepSize"):
        if key in values and values[key] <= 0:
            yield Finding(
                "experiment", f"{key} is {values[key]:g}, not greater than 0", experiment.line
            )
    start = values.get("startTime", 0.0)
    if "stopTime" in values and values["stopTime"] < start:
        yield Finding(
            "experiment",
            f"the default experiment ends at {values['stopTime']:g}, before it starts at {start:g}",
            experiment.line,
        )
