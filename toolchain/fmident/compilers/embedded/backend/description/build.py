"""``sources/buildDescription.xml`` of FMI 3.0: how the C sources in an FMU are compiled.

Source: FMI specification 3.0.1, section 2.5.1.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fmident.compilers.embedded.backend.description.xml_text import tag
from fmident.compilers.platforms import PLATFORMS, Platform

EXACT = "-ffp-contract=off"
"""Where a processor can multiply and add in one, gcc lets it, which rounds otherwise."""


def write_build_description(identifier: str, files: Sequence[str]) -> str:
    """Return the text of ``buildDescription.xml``.

    Parameters
    ----------
    identifier
        The attribute ``modelIdentifier`` of the interfaces.
    files
        What is compiled, relative to ``sources``.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        tag("fmiBuildDescription", {"fmiVersion": "3.0"}, close=False),
        *(line for p in PLATFORMS for line in _configuration(p, identifier, files)),
        "</fmiBuildDescription>",
    ]
    return "\n".join(lines) + "\n"


def _configuration(platform: Platform, identifier: str, files: Sequence[str]) -> Iterable[str]:
    attributes = {"modelIdentifier": identifier, "platform": platform.tuple}
    yield "  " + tag("BuildConfiguration", attributes, close=False)
    files_of = {"language": "C11"}
    if platform.system != "windows":  # gcc and clang: else the bits depend on the processor
        files_of["compilerOptions"] = EXACT
    yield "    " + tag("SourceFileSet", files_of, close=False)
    yield from ("      " + tag("SourceFile", {"name": name}) for name in files)
    yield "      " + tag("IncludeDirectory", {"name": "."})
    yield "    </SourceFileSet>"
    if platform.system != "windows":  # which has no library of mathematical functions
        yield "    " + tag("Library", {"name": "m", "external": "true"})
    yield "  </BuildConfiguration>"
