"""The zip file: how it is packed, and which files belong together."""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterator

from fmident.validation.rules.document import Document
from fmident.validation.rules.registry import Finding

_BIT_ENCRYPTED, _BIT_LENGTH_BEHIND = 0x1, 0x8
_NEWEST_READER = 20
_SOURCE = re.compile(r"sources/.*\.(c|cc|cpp|cxx)", re.IGNORECASE | re.DOTALL)


def check_archive_form(name: str, entries: list[zipfile.ZipInfo]) -> Iterator[Finding]:
    """Yield what is wrong with the zip file, whatever its contents."""
    if not name.endswith(".fmu"):
        yield Finding("ending", f"the file is called '{name}'", None)
    seen: set[str] = set()
    for entry in entries:
        yield from _packed(entry)
        yield from _named(entry, seen)


def _packed(entry: zipfile.ZipInfo) -> Iterator[Finding]:
    name = entry.filename
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        yield _zip(name, f"is compressed by method {entry.compress_type}")
    if entry.flag_bits & _BIT_ENCRYPTED:
        yield _zip(name, "is encrypted")
    if entry.flag_bits & _BIT_LENGTH_BEHIND and entry.compress_type != zipfile.ZIP_DEFLATED:
        yield _zip(name, "has its length behind it (bit 3) and is not deflated")
    if entry.extract_version > _NEWEST_READER:
        version = f"{entry.extract_version // 10}.{entry.extract_version % 10}"
        yield _zip(name, f"asks for a reader of version {version}, newer than 2.0")
    if stat.S_ISLNK(entry.external_attr >> 16):
        yield _zip(name, "is a link")


def _zip(name: str, what: str) -> Finding:
    return Finding("zip", f"the member '{name}' {what}")


def _named(entry: zipfile.ZipInfo, seen: set[str]) -> Iterator[Finding]:
    name = entry.orig_filename
    wrong = ""
    if "\\" in name:
        wrong = "has a back slash in its name"
    elif name.startswith("/") or name[1:2] == ":":
        wrong = "has an absolute path"
    elif ".." in name.split("/"):
        wrong = "leads out of the archive's folder"
    elif name in seen:
        wrong = "is there twice"
    seen.add(name)
    if wrong:
        yield Finding("member names", f"the member '{name}' {wrong}")


def check_files(document: Document, members: set[str]) -> Iterator[Finding]:
    """Yield which files are missing."""
    binaries = any(m.startswith("binaries/") for m in members)
    sources = sorted(m for m in members if _SOURCE.fullmatch(m))
    if not binaries and not any(m.startswith("sources/") for m in members):
        yield Finding("implementation", "the archive holds neither binaries nor sources")
    yield from _sources(document, members, sources)
    if document.major == 2:
        return
    licences = [m for m in members if m.startswith("documentation/licenses/")]
    if licences and not {f"documentation/licenses/license.{e}" for e in ("txt", "html", "spdx")} & (
        members
    ):
        yield Finding(
            "licences", "there is no license.txt, .html or .spdx in documentation/licenses"
        )
    for picture in ("documentation/diagram", "terminalsAndIcons/icon"):
        if f"{picture}.svg" in members and f"{picture}.png" not in members:
            yield Finding("pictures", f"there is '{picture}.svg', but no '{picture}.png'")
    needed = [i for i in document.interfaces if i.flag("needsExecutionTool")]
    said = {f"documentation/externalDependencies.{e}" for e in ("txt", "html")}
    if needed and not said & members:
        yield Finding(
            "external dependencies",
            f"{needed[0].tag} needs a tool, and documentation/externalDependencies.txt or .html is"
            " missing",
            needed[0].line,
        )


def _sources(document: Document, members: set[str], sources: list[str]) -> Iterator[Finding]:
    listed = False
    if document.major == 2:
        for interface in document.interfaces:
            for files in interface.all("SourceFiles"):
                for file in files.all("File"):
                    listed = True
                    if f"sources/{file.get('name')}" not in members:
                        yield Finding(
                            "sources",
                            f"the file 'sources/{file.get('name')}' is listed and not there",
                            file.line,
                        )
    if sources and not listed and "sources/buildDescription.xml" not in members:
        where = "nor <SourceFiles> " if document.major == 2 else ""
        yield Finding(
            "sources",
            f"there are sources, such as '{sources[0]}', and no buildDescription.xml {where}that"
            " lists them",
        )
