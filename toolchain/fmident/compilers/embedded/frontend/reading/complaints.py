"""rumoca's error messages to diagnostics with a place, a rule and a hint.

For source that it cannot parse, rumoca lists all possible tokens. Most often a
semicolon is missing, and then the diagnostic says just that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fmident.compilers.embedded.frontend.lowering.values import UNSUPPORTED_FUNCTIONS
from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.scan_check import involved
from fmident.compilers.embedded.frontend.reading.source.scanner import (
    ClassText,
    Token,
    annotation_arguments,
)
from fmident.compilers.embedded.frontend.reading.source.sources import SourceTree, offset_location
from fmident.compilers.embedded.frontend.reading.source.standard_library import (
    HOW_TO_GET_IT,
    STANDARD_LIBRARY,
    is_stand_in,
)
from fmident.compilers.embedded.frontend.refusal import NO_ALGORITHM, OPENMODELICA
from fmident.compilers.libraries import modelica_path
from fmident.errors import Diagnostic, Location, did_you_mean, nearest

_PLACE = re.compile(r"\s*\[(?P<file>[^\[\]]*):(?P<line>\d+):(?P<column>\d+)\]\s*$")
_QUOTED = re.compile(r"[`']([^`']+)[`']")
_IMPORT = re.compile(r"unresolved import: [`'](?:(?P<alias>\w+) = )?(?P<name>[\w.]+)")
_UNRESOLVED = re.compile(
    r"(?:unresolved (?!import)|base class not found|type )[^`']*[`'](?P<head>\w+)\."
)
_SPAN = re.compile(r"start: BytePos\((\d+)\)")

DER_OF_EXPRESSION = "der("
"""Stands for a search for ``der`` of something else than a variable."""

_RULES: Sequence[tuple[str, str, str | None]] = (
    (r"^unresolved component reference|^unresolved Flat reference", "unknown-variable", None),
    (r"^unresolved function call", "unknown-function", None),
    (r"^unresolved type reference|^unresolved import", "missing-class", None),
    (r"^base class not found|^unresolved extends", "missing-class", None),
    (r"^impure function", "unsupported-impure", OPENMODELICA),
    (r"unresolved flat reference", "unresolved", None),
    (r"unbalanced model", "unbalanced", "make the number of equations and of unknowns equal"),
    (
        r"invalid call of function|expects \d+ argument",
        "argument-count",
        "give it the arguments that its declaration asks for",
    ),
    (
        r"unknown modifier|cannot redeclare|is declared final",
        "wrong-modifier",
        "modify only what the class declares and does not make final",
    ),
    (r"dimension mismatch|out of bounds|shape", "shape-mismatch", "correct the sizes"),
    (r"type mismatch", "type-error", "correct the types"),
    (r"cyclic dependency in parameter", "cyclic-parameter", "give one of them a value"),
    (r"cannot depend on continuous variable", "variability", "use parameters and constants only"),
    (r"partial model", "partial-class", "use a class that is not partial, or redeclare it"),
    (r"requires inner", "unsupported-inner-outer", OPENMODELICA),
    (r"state-machine", "unsupported-state-machine", OPENMODELICA),
    (r"clock", "unsupported-clocked", OPENMODELICA),
    (
        r"derivative expression",
        "unsupported-der",
        "give the expression a variable of its own, as in 'w = a - b', and write 'der(w)'",
    ),
    (r"derivative target", "unsupported-der", OPENMODELICA),
    (r"initial algorithm|model algorithm", "unsupported-algorithm", NO_ALGORITHM),
    (r"equality comparison on Real", "real-equality", "compare with < or >"),
    (r"[Dd]uplicate", "duplicate", "remove one of them"),
    (r"cardinality", "unsupported-cardinality", OPENMODELICA),
    (
        r"function statement|function loop|record output|function call statement",
        "unsupported-function-body",
        OPENMODELICA,
    ),
    (r"expected (a )?(Boolean|numeric)", "type-error", "correct the types"),
    (r"^type '.*' not found", "missing-class", None),
    (r"violates constrainedby", "wrong-modifier", "redeclare with a subtype"),
    (
        r"array dimensions|component dimension",
        "unknown-size",
        "give sizes by literals, constants of the class or Integer parameters",
    ),
    (r"unsupported", "unsupported", OPENMODELICA),
    (
        r"\(MLS |cyclic class",
        "invalid",
        "correct it; the Modelica specification forbids it",
    ),
)


_SYNTAX = re.compile(
    r"×\s*(?P<what>.*?)\n\s*╭─\[(?P<file>.*?):(?P<line>\d+):(?P<column>\d+)\]", re.DOTALL
)
_EXPECTED = re.compile(r"help: expected (?:one of: )?(.*?)(?:\n\n|\n[A-Z]{2}\d+|\Z)", re.DOTALL)
_UNEXPECTED = re.compile(r"unexpected `(?P<token>[^`]*)`")
_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|\w+|[^\s\w]", re.DOTALL)

_OPERATORS = re.compile(
    r"and|or|not|[-*+/^]|dot(star|plus|minus|slash|circumflex)|circumflex|(lt|gt|equ)(equ|gt)?"
)
_OPEN = re.compile(
    r"algorithm|block|class|connector|connect|constant|discrete|each|else|elseif|elsewhen"
    r"|encapsulated|equation|expandable|extends|final|flow|for|function|if|import|impure|in"
    r"|initial|inner|input|loop|model|not|or|and|operator|outer|output|package|parameter|partial"
    r"|protected|public|pure|record|redeclare|replaceable|stream|then|type|when|while|within"
)
"""Words behind which no semicolon can be missing."""


def diagnose(
    class_name: str,
    error: str,
    found: Sequence[Mapping[str, Any]],
    tree: SourceTree,
    names: Names,
    *,
    panic: bool = False,
) -> list[Diagnostic]:
    """Return diagnostics for a class that rumoca did not accept.

    `found` are rumoca's own diagnostics, `tree` and `names` the sources for suggestions and
    missing places; `panic` says whether rumoca crashed.
    """
    syntax = [d for item in found if item["level"] == "error" for d in syntax_errors(item)]
    if syntax:
        return syntax[:1]
    messages = _without_consequences(_messages(class_name, error, panic))
    absent, messages = _absent_libraries(messages, names)
    result = [*absent, *(_diagnostic(class_name, message, tree, names) for message in messages)]
    causes = [d for d in result if d.rule == "unsupported-msl"]
    one_per_place = {str(d.location): d for d in reversed(causes or result)}
    return list(reversed(one_per_place.values()))


def _without_consequences(messages: Sequence[str]) -> list[str]:
    """Remove unknown names that are only a consequence of an import not found."""
    imports = [m for message in messages if (m := _IMPORT.match(message))]
    heads = {m["alias"] or m["name"].rsplit(".", 1)[-1] for m in imports}
    remaining = []
    for message in messages:
        unresolved = _UNRESOLVED.match(message)
        if unresolved is None or unresolved["head"] not in heads:
            remaining.append(message)
    return remaining


def _absent_libraries(messages: Sequence[str], names: Names) -> tuple[list[Diagnostic], list[str]]:
    """Return a diagnostic for each missing library, and the other messages."""
    there = {tree.classes.top_level for tree in names.trees}
    diagnostics: dict[str, Diagnostic] = {}
    remaining = []
    for message in messages:
        unknown = "not found" in message or "unresolved" in message
        quoted = _QUOTED.findall(_PLACE.sub("", message)) if unknown else []
        heads = [q.split(" = ")[-1].split(".")[0] for q in quoted]
        absent = next((h for h in heads if h not in there and _asked_for(h, names)), None)
        if absent is None:
            remaining.append(message)
        elif absent not in diagnostics and (asking := _asked_for(absent, names)) is not None:
            item, offset = asking
            diagnostics[absent] = Diagnostic(
                "error",
                f"'{item.name}' needs the library '{absent}', which is not among the sources",
                offset_location(item.file, offset),
                f"put '{absent}' beside '{item.name}', or let MODELICAPATH name the folder that "
                "holds it; or name it with --source",
                "missing-library",
            )
    return list(diagnostics.values()), remaining


def _asked_for(library: str, names: Names) -> tuple[ClassText, int] | None:
    """Return the package whose annotation ``uses`` names a library, and the position."""
    for tree in names.trees:
        item = names.find(tree.classes.top_level)
        words = [] if item is None else [t.text for t in item.tokens]
        if item is not None and "uses" in words:
            offset = find_words(item.tokens[words.index("uses") :], [library])
            if offset is not None:
                return item, offset
    return None


def _messages(class_name: str, error: str, panic: bool) -> list[str]:
    """Split an exception's text into findings, without the names of rumoca's phases."""
    related = [
        line.split("]: ", 1)[1]
        for line in error.splitlines()
        if line.startswith("- ") and "]: " in line
    ]
    if related:
        return list(dict.fromkeys(related))
    first = error.splitlines()[0] if error else f"rumoca gave no message about '{class_name}'"
    detail = re.search(r'feature: "([^"]*)", detail: "([^"]*)"', first)
    if detail:  # a panic
        place = _SPAN.search(first)
        return [f"{detail[1]}: {detail[2]}" + (f" ({place[0]})" if place else "")]
    if panic:
        return [f"rumoca failed inside when it compiled '{class_name}': {first}"]
    first = re.sub(r"^\w+ failed: \S+ failed in \w+: ", "", first)
    return [re.sub(r"^\S+ could not be compiled: ", "", first)]


def _diagnostic(class_name: str, message: str, tree: SourceTree, known: Names) -> Diagnostic:
    place_match = _PLACE.search(message)
    place: Location | None = None
    if place_match:
        place = Location(place_match["file"], int(place_match["line"]), int(place_match["column"]))
        message = message[: place_match.start()]
    rule, hint = "unsupported", OPENMODELICA
    for pattern, known_rule, known_hint in _RULES:
        if re.search(pattern, message):
            rule, hint = known_rule, known_hint or OPENMODELICA
            break
    quoted = (n.split(" = ")[-1] for n in _QUOTED.findall(message))  # import A = B.C
    names = [n for n in quoted if n != class_name]
    if rule in ("unknown-variable", "unknown-function", "missing-class") and names:
        rule, hint = _missing(rule, names[0], class_name, tree, known)
    if place is None:
        place = _search(class_name, [*_keywords(message), *names], tree, known, message)
        message = re.sub(r" \(start: BytePos\(\d+\)\)$", "", message)
    return Diagnostic("error", _plain(message), place, hint, rule)


_REWORDED: Sequence[tuple[str, str]] = (
    (r".*derivative (expression|target).*", "'der' of something that is not a plain variable"),
    (r".*initial algorithm.*", "an initial algorithm section"),
    (
        r".*model algorithm.*multi-output.*",
        "an algorithm section that gives values to several variables",
    ),
    (r".*unsupported model algorithm.*", "an algorithm section of a model"),
    (
        r".*(function statement|loop reduction)`: `([^`]*)`.*",
        r"the function '\2' has a loop or statement that cannot be unrolled",
    ),
    (
        r".*type mismatch: expected Boolean, found (\w+).*",
        r"a \1 is used where a Boolean is needed",
    ),
)


def _plain(message: str) -> str:
    for pattern, words in _REWORDED:
        if re.fullmatch(pattern, message, re.DOTALL):
            return re.sub(pattern, words, message, flags=re.DOTALL)
    message = re.sub(r"unsupported Flat semantic owner `([^`]*)`", r"unsupported \1", message)
    return message.replace("`", "'")


def _missing(
    rule: str, name: str, class_name: str, tree: SourceTree, sources: Names
) -> tuple[str, str]:
    """Return rule and hint for an undefined name."""
    if name.split(".")[0] == STANDARD_LIBRARY:
        if any(map(is_stand_in, sources.trees)):
            return "unsupported-msl", f"{HOW_TO_GET_IT}; or {OPENMODELICA}; {modelica_path()}"
        if not (version := _library_version(sources)).startswith("4."):
            return "unsupported-msl", f"this is version {version}: {HOW_TO_GET_IT}"
    if name in UNSUPPORTED_FUNCTIONS:
        return f"unsupported-{name}", OPENMODELICA
    if rule == "unknown-variable":
        own = tree.classes.get(class_name)
        words = {t.text for t in own.tokens if t.kind == "word"} - {name} if own else set()
        return rule, did_you_mean(name, words, kind="name in this class")
    kinds = {"function"} if rule == "unknown-function" else None
    known = [n for n, c in tree.classes.items() if kinds is None or c.keyword in kinds]
    known += [n.rsplit(".", 1)[-1] for n in known]
    close = nearest(name, known)
    kind = "function" if kinds else "class"
    if close:
        return rule, f"nearest {kind}: " + ", ".join(f"'{c}'" for c in close)
    package = name.split(".")[0]
    looked = "" if sources.find(package) else f"; {modelica_path()}"
    return rule, f"declare it, or add the file or folder of '{package}' to the sources{looked}"


def _library_version(sources: Names) -> str:
    item = sources.find(STANDARD_LIBRARY)
    arguments = annotation_arguments(item.tokens, "version") if item else None
    return (arguments or {}).get("version", "").strip('"') or "unknown"


def _keywords(message: str) -> list[str]:
    """Return words to search for when a message quotes no name."""
    if "derivative" in message:
        return [DER_OF_EXPRESSION]
    if "initial algorithm" in message or "model algorithm" in message:
        return ["algorithm"]
    if "equality comparison" in message:
        return ["==", "<>"]
    if "expected Boolean" in message:
        return ["assert", "if"]
    match = re.search(r"(\w+)\(\)", message)
    if match:
        return [match.group(1)]
    match = re.search(r"requires inner declarations: (\w+)", message)
    return [match.group(1)] if match else []


def _search(
    class_name: str, names: Iterable[str], tree: SourceTree, known: Names, message: str
) -> Location | None:
    """Return the first place of one of the names, in the class or else in those it uses."""
    own = tree.classes.get(class_name)
    byte = _SPAN.search(message)
    if byte and own is not None and len(tree.files) == 1:
        return offset_location(own.file, int(byte.group(1)))
    others = [item for item in _used_and_around(class_name, known) if item.name != class_name]
    for name in names:
        words = name.removesuffix(".*").split(".")
        for item in [own, *others]:
            if item is None:
                continue
            offset = find_words(item.tokens, words)
            if offset is not None:
                return offset_location(item.file, offset)
    return tree.location(class_name)


def _used_and_around(class_name: str, known: Names) -> list[ClassText]:
    """Return the classes that a class uses and their enclosing classes, for their imports."""
    used = involved(class_name, known)
    items = {item.name: item for item in used}
    for item in used:
        parts = item.name.split(".")
        for depth in range(len(parts) - 1, 0, -1):
            around = known.find(".".join(parts[:depth]))
            if around is not None:
                items.setdefault(around.name, around)
    return list(items.values())


def _der_of_expression(tokens: Sequence[Token]) -> int | None:
    for i, token in enumerate(tokens):
        if token.text != "der" or i + 1 >= len(tokens) or tokens[i + 1].text != "(":
            continue
        j = i + 2
        depth = 0
        while j < len(tokens) and (depth > 0 or tokens[j].text != ")"):
            text = tokens[j].text
            depth += (text == "[") - (text == "]")
            plain = tokens[j].kind in ("word", "quoted") or text in (".", "[", "]")
            if depth == 0 and not plain:
                return token.offset
            j += 1
    return None


def find_words(tokens: Sequence[Token], words: Sequence[str]) -> int | None:
    """Return the offset of a dotted name in tokens; its declaration is the last choice."""
    if words == [DER_OF_EXPRESSION]:
        return _der_of_expression(tokens)
    wanted: list[str] = []
    for i, word in enumerate(words):
        wanted.extend([".", word] if i else [word])
    for i, token in enumerate(tokens):
        if token.text != wanted[0]:
            continue
        if i > 0 and tokens[i - 1].text == ".":
            continue
        if [t.text for t in tokens[i : i + len(wanted)]] == wanted:
            return token.offset
    return None


def syntax_errors(item: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the parse errors in one of rumoca's findings."""
    text = str(item["message"])
    result = []
    for match in _SYNTAX.finditer(text):
        rest = text[match.end() :].split("×")[0]
        listing = _EXPECTED.search(rest)
        expected = _tokens(listing[1]) if listing else []
        what = " ".join(match["what"].replace("│", " ").split())
        place = Location(match["file"], int(match["line"]), int(match["column"]))
        if "uplicate" in what:
            result.append(
                Diagnostic(
                    "error",
                    what.removeprefix("parse error: "),
                    place,
                    "correct the source here",
                    "duplicate",
                )
            )
            continue
        missing = _missing_semicolon(what, place) if ";" in expected else None
        message = f"syntax error: {what.replace('`', chr(39))}"
        hint = f"expected {_listed(expected)}" if expected else "correct the source here"
        if missing is not None:
            message, hint = missing
        result.append(Diagnostic("error", message, place, hint, "syntax-error"))
    return result


def _missing_semicolon(what: str, place: Location) -> tuple[str, str] | None:
    """Return message and hint if a semicolon is missing before the unexpected token."""
    unexpected = _UNEXPECTED.search(what)
    if unexpected is None or not re.match(r"\w", unexpected["token"]):
        return None
    assert place.line is not None
    assert place.column is not None
    try:
        lines = Path(place.file).read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError):
        return None
    before = "".join(lines[: place.line - 1]) + lines[place.line - 1][: place.column - 1]
    code = [m for m in _CODE.finditer(before) if not m[0].startswith(("//", "/*"))]
    if not code or _OPEN.fullmatch(code[-1][0]):
        return None
    last = code[-1]
    if not re.match(r"[\w\")\]}]", last[0]):
        return None
    line = before.count("\n", 0, last.end()) + 1
    return (
        f"syntax error: expected ';' before '{unexpected['token']}'",
        f"end line {line} with a ';'" if line < place.line else "put a ';' there",
    )


def _tokens(text: str) -> list[str]:
    """Return the tokens of rumoca's comma-separated list, in which the comma is a token, too."""
    words = " ".join(text.split()).replace(", ,,", ", COMMA,").replace(", ,", ", COMMA")
    return ["," if word == "COMMA" else word for word in words.split(", ") if word]


def _listed(expected: list[str]) -> str:
    """Return the tokens in words; operators count as one kind."""
    kinds = dict.fromkeys(
        "an operator" if _OPERATORS.fullmatch(token) else _shown(token) for token in expected
    )
    listed = list(kinds)
    if "an operator" in kinds:  # the commonest, and the least telling
        listed = [k for k in listed if k != "an operator"] + ["an operator"]
    if len(listed) > 8:
        signs = [k for k in listed if not k[1:2].isalpha()]
        listed = [*signs[:5], "a keyword"] if len(signs) < len(listed) else signs[:8]
    return listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " or " + listed[-1]


def _shown(token: str) -> str:
    names = {"colonequ": ":=", "string": "a text"}
    token = names.get(token, token.removesuffix(" (keyword)"))
    return token if token.startswith("a ") else f"'{token}'"
