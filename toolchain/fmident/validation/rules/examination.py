"""All rules for one FMU."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path

from fmident.validation.rules.aliases import check_value_references
from fmident.validation.rules.archive import check_archive_form, check_files
from fmident.validation.rules.arrays import check_arrays
from fmident.validation.rules.attributes import check_attributes
from fmident.validation.rules.clocks import check_clocks
from fmident.validation.rules.companions import BUILD, TERMINALS, check_build, check_terminals
from fmident.validation.rules.document import Document, Element, NotReadableError, parse
from fmident.validation.rules.functions import check_binaries
from fmident.validation.rules.interfaces import check_encoding, check_interfaces
from fmident.validation.rules.names import check_names
from fmident.validation.rules.registry import DESCRIPTION, Finding
from fmident.validation.rules.structure import check_structure
from fmident.validation.rules.units import check_units
from fmident.validation.rules.values import check_values

_LARGEST = 256 * 1024**2
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def examine_description(xml: bytes) -> tuple[Document, tuple[Finding, ...]]:
    """Check a model description by itself.

    Raises
    ------
    NotReadableError
        It is not XML.
    """
    document = Document(parse(xml))
    return document, tuple(_description(document, xml))


def _description(document: Document, xml: bytes) -> Iterator[Finding]:
    yield from check_encoding(xml, DESCRIPTION)
    for check in (
        check_interfaces,
        check_names,
        check_attributes,
        check_values,
        check_units,
        check_value_references,
        check_structure,
        check_arrays,
        check_clocks,
    ):
        yield from check(document)


def examine_fmu(path: Path) -> tuple[Document, tuple[Finding, ...]]:
    """Check an FMU.

    Parameters
    ----------
    path
        The file; nothing is unpacked and none of its code runs.

    Raises
    ------
    NotReadableError
        It is not a zip file, or its description is not XML.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            xml = _read(archive, DESCRIPTION)
            if xml is None:
                raise NotReadableError(f"'{DESCRIPTION}' is missing or damaged")
            document, found = examine_description(xml)
            return document, (*found, *_archive(path, archive, document))
    except (OSError, *_DAMAGE, ValueError) as error:
        raise NotReadableError(str(error)) from error


def _archive(path: Path, archive: zipfile.ZipFile, document: Document) -> Iterator[Finding]:
    entries = archive.infolist()
    yield from check_archive_form(path.name, entries)
    places = {e.filename.replace("\\", "/"): e.filename for e in entries if not e.is_dir()}
    members = set(places)
    yield from check_files(document, members)
    for file in (TERMINALS, BUILD):
        root = yield from _companion(archive, file)
        if root is None:
            continue
        if file == TERMINALS:
            yield from check_terminals(document, root)
        else:
            yield from check_build(document, root, members)
    yield from check_binaries(document, members, lambda name: _read(archive, places[name]))


def _companion(archive: zipfile.ZipFile, file: str) -> Generator[Finding, None, Element | None]:
    """Yield what is wrong with the form of another XML file; return its root."""
    xml = _read(archive, file)
    if xml is None:
        return None
    yield from check_encoding(xml, file)
    try:
        return parse(xml)
    except NotReadableError as error:
        key = "terminals" if file == TERMINALS else "build configurations"
        yield Finding(key, f"this is not well-formed XML: {error}", None, file)
        return None


def _read(archive: zipfile.ZipFile, name: str) -> bytes | None:
    """Return a member's content; ``None`` if it is missing, damaged or far too large."""
    try:
        if archive.getinfo(name).file_size > _LARGEST:
            return None
        return archive.read(name)
    except (KeyError, OSError, ValueError, *_DAMAGE):
        return None
