"""Which ``outer`` elements rumoca resolves: components of models, blocks, records, connectors.

An ``outer`` variable of a simple type counts as an unknown of its own with rumoca, an ``outer``
function stays unresolved, and ``inner outer`` elements have equations too many: these are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fmident.compilers.embedded.frontend.reading.source.found import Found
from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Token

_RULE = "unsupported-inner-outer"
_PREFIXES = frozenset(
    {"final", "replaceable", "redeclare", "flow", "discrete", "parameter", "constant", "input"}
    | {"output", "inner", "outer"}
)
_CLASS_WORDS = frozenset({"function", "package", "type", "model", "block", "record", "connector"})
_SIMPLE = frozenset({"Real", "Integer", "Boolean", "String"})
_WITH_COMPONENTS = frozenset({"model", "block", "record", "connector", "class"})
_MOST_ALIASES = 20


def outer_elements(items: Sequence[ClassText], names: Names) -> Iterator[Found]:
    """Yield those of the ``outer`` elements of classes that cannot be compiled."""
    inner = {name for item in items for name in _declared(item, "inner")}
    for item in items:
        for i, token in enumerate(item.tokens):
            if token.kind != "word" or token.text != "outer" or _in_annotation(item.tokens, i):
                continue
            what = _wrong(item, i, inner, names)
            if what:
                yield Found(_RULE, what, item, token)


def _in_annotation(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a word is the name of a modifier or of a component, not a prefix."""
    before = tokens[i - 1].text if i > 0 else ";"
    return before in ("(", ",", ".", "=")


def _declared(item: ClassText, prefix: str) -> Iterator[str]:
    for i, token in enumerate(item.tokens):
        if token.kind == "word" and token.text == prefix and not _in_annotation(item.tokens, i):
            _, name = _declaration(item.tokens, i)
            yield name


def _declaration(tokens: Sequence[Token], i: int) -> tuple[list[str], str]:
    """Return the parts of the type and the name of the component declared at a prefix."""
    while i < len(tokens) and tokens[i].text in _PREFIXES:
        i += 1
    parts: list[str] = []
    while i < len(tokens) and tokens[i].kind in ("word", "quoted"):
        parts.append(tokens[i].text)
        i += 1
        if i >= len(tokens) or tokens[i].text != ".":
            break
        i += 1
    while i < len(tokens) and tokens[i].text == "[":
        while i < len(tokens) and tokens[i].text != "]":
            i += 1
        i += 1
    return parts, tokens[i].text if i < len(tokens) else ""


def _wrong(item: ClassText, i: int, inner: set[str], names: Names) -> str:
    tokens = item.tokens
    around = {
        tokens[i - 1].text if i > 0 else "",
        tokens[i + 1].text if i + 1 < len(tokens) else "",
    }
    if "inner" in around:
        return "an 'inner outer' declaration"
    parts, name = _declaration(tokens, i)
    if not parts or parts[0] in _CLASS_WORDS:
        return "an 'outer' class"
    if not _has_components(parts, item, names):
        return f"the 'outer' variable '{name}', whose type is not that of a component"
    if name not in inner:
        return f"the 'outer' component '{name}', for which there is no 'inner' one"
    return ""


def _has_components(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    """Return whether a type is a model, block, record or connector with components of its own."""
    for _ in range(_MOST_ALIASES):
        if tuple(parts[:1]) == tuple(parts) and parts[0] in _SIMPLE:
            return False
        full = names.resolve(parts, item)
        found = names.find(full) if full else None
        if found is None or found.keyword not in _WITH_COMPONENTS:
            return False
        if not found.tokens or found.tokens[0].text != "=":
            return True
        parts, item = [t.text for t in _type_of_short(found.tokens)], found
    return False


def _type_of_short(tokens: Sequence[Token]) -> Iterator[Token]:
    i = 1
    while i < len(tokens) and tokens[i].text in _PREFIXES:
        i += 1
    while i < len(tokens) and tokens[i].kind in ("word", "quoted"):
        yield tokens[i]
        if i + 1 >= len(tokens) or tokens[i + 1].text != ".":
            return
        i += 2
