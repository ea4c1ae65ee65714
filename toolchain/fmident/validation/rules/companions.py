"""The other XML files: terminals and build configurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fmident.validation.rules.document import Document, Element
from fmident.validation.rules.registry import Finding

TERMINALS = "terminalsAndIcons/terminalsAndIcons.xml"
BUILD = "sources/buildDescription.xml"


def check_terminals(document: Document, root: Element) -> Iterator[Finding]:
    """Yield what is wrong with terminals."""
    known = {v.name: v for v in document.variables}
    if document.major == 3:
        for variable in document.variables:
            known.update({a.get("name") or "": variable for a in variable.element.all("Alias")})

    def wrong(text: str, element: Element) -> Finding:
        return Finding("terminals", text, element.line, TERMINALS)

    for level in root.walk():
        if level.tag not in ("Terminals", "Terminal"):
            continue
        names: dict[str, int] = {}
        for terminal in level.all("Terminal"):
            name = terminal.get("name") or ""
            if name in names:
                yield wrong(f"the terminal '{name}' is there twice", terminal)
            names.setdefault(name, terminal.line)
        if level.tag == "Terminal":
            for text, element in _members(level, known):
                yield wrong(text, element)


def _members(terminal: Element, known: Mapping[str, object]) -> Iterator[tuple[str, Element]]:
    name = terminal.get("name")
    matched = terminal.get("matchingRule") in ("plug", "bus")
    seen: set[str] = set()
    for member in terminal.all("TerminalMemberVariable"):
        variable = member.get("variableName") or ""
        if variable not in known:
            yield f"'{variable}', a member of the terminal '{name}', is not a variable", member
        said = member.get("memberName")
        if matched and not said:
            yield f"'{variable}', a member of the terminal '{name}', has no memberName", member
        if said and said in seen:
            yield f"the terminal '{name}' has two members '{said}'", member
        seen.add(said or "")
    for member in terminal.all("TerminalStreamMemberVariable"):
        for key in ("inStreamVariableName", "outStreamVariableName"):
            if (member.get(key) or "") not in known:
                yield (
                    f"'{member.get(key)}', {key} of the terminal '{name}', is not a variable",
                    member,
                )


def check_build(document: Document, root: Element, members: set[str]) -> Iterator[Finding]:
    """Yield what is wrong with build configurations."""
    identifiers = {i.get("modelIdentifier") for i in document.interfaces}
    key = "build configurations"
    configurations = root.all("BuildConfiguration")
    if not configurations:
        yield Finding(key, "there is no build configuration", root.line, BUILD)
    version = root.get("fmiVersion")
    if document.major == 3 and version != document.root.get("fmiVersion"):
        text = f"fmiVersion is '{version}' and that of the description '{document.version}'"
        yield Finding(key, text, root.line, BUILD)
    for_any: set[str | None] = set()
    for configuration in configurations:
        identifier = configuration.get("modelIdentifier")
        if identifier not in identifiers:
            text = f"'{identifier}' is the modelIdentifier of no interface"
            yield Finding(key, text, configuration.line, BUILD)
        if configuration.get("platform") is None:
            if identifier in for_any:
                text = f"a second configuration of '{identifier}' is for any platform"
                yield Finding(key, text, configuration.line, BUILD)
            for_any.add(identifier)
        yield from _files(configuration, members)


def _files(configuration: Element, members: set[str]) -> Iterator[Finding]:
    for element in configuration.walk():
        name = element.get("name")
        path = _within_sources(name or "")
        if element.tag == "SourceFile" and path not in members:
            text = f"the file 'sources/{name}' is listed and not there"
            yield Finding("sources", text, element.line, BUILD)
        elif element.tag == "IncludeDirectory" and not any(
            m.startswith(f"{path}/") for m in members
        ):
            text = f"the folder 'sources/{name}' is listed and holds no files"
            yield Finding("sources", text, element.line, BUILD)


def _within_sources(name: str) -> str:
    """Return the member that a path relative to the sources means."""
    parts = ["sources"]
    for part in name.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
