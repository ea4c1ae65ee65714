"""Search for constructs in the user's source that the flat model silently omits.

rumoca silently drops some constructs (``terminate``, calls as equations, the operator
``der`` in a function definition). They are missing in its output, so the tokens of all
classes involved are searched. Also refused are forms that it gets wrong: it takes named
arguments of built-in operators in the order of writing (Modelica 3.6, sections 3.7 and
12.4.1), counts an ``outer`` variable of a simple type as a separate unknown, leaves an
``outer`` function unresolved, and gives ``inner outer`` elements too many equations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from fmident.compilers.embedded.frontend.reading.names import Names
from fmident.compilers.embedded.frontend.reading.redeclarations import Construct, dropped_modifiers
from fmident.compilers.scanner import (
    NAMES,
    ClassText,
    Element,
    Token,
    behind,
    dotted,
    has,
    outside,
)

FORBIDDEN_WORDS: Mapping[str, tuple[str, str]] = {
    "stream": ("unsupported-stream", "a stream variable"),
}
FORBIDDEN_PREFIXES: Mapping[str, tuple[str, str]] = {
    "expandable": ("unsupported-expandable", "an expandable connector"),
    "operator": ("unsupported-operator-record", "an operator record or operator function"),
}
FORBIDDEN_CALLS: Mapping[str, tuple[str, str]] = {
    "terminate": ("unsupported-terminate", "'terminate'"),
    "transition": ("unsupported-state-machine", "a state machine ('transition')"),
    "initialState": ("unsupported-state-machine", "a state machine ('initialState')"),
    "inStream": ("unsupported-stream", "a stream connector ('inStream')"),
    "actualStream": ("unsupported-stream", "a stream connector ('actualStream')"),
    "spatialDistribution": ("unsupported-spatialDistribution", "'spatialDistribution'"),
    "Clock": ("unsupported-clocked", "a clock"),
}
_SECTION_WORDS = frozenset({"equation", "algorithm", "public", "protected"})
_STATEMENT_STARTS = frozenset({";", "equation", "algorithm", "loop"})
_ALLOWED_STATEMENTS = frozenset({"connect", "assert", "terminate", "reinit", "annotation", "when"})
_KEYWORDS = frozenset({"if", "for", "elseif", "elsewhen", "while", "end", "not", "der"})


ORDER: Mapping[str, tuple[str, ...]] = {
    "atan2": ("u1", "u2"),
    "delay": ("expr", "delayTime", "delayMax"),
    "div": ("x", "y"),
    "homotopy": ("actual", "simplified"),
    "linspace": ("x1", "x2", "n"),
    "max": ("x", "y"),
    "min": ("x", "y"),
    "mod": ("x", "y"),
    "rem": ("x", "y"),
    "sample": ("start", "interval"),
    "semiLinear": ("x", "positiveSlope", "negativeSlope"),
    "smooth": ("p", "expr"),
}
"""Built-in operator to the names of its arguments."""


_RULE = "unsupported-inner-outer"
_SIMPLE = frozenset({"Real", "Integer", "Boolean", "String"})
_WITH_COMPONENTS = frozenset({"model", "block", "record", "connector", "class"})


def check_sources(
    class_name: str, names: Names, shown: Callable[[ClassText], Collection[Token]]
) -> list[Construct]:
    """Return the constructs in classes used by `class_name` that the compiler would drop."""
    result: list[Construct] = []
    items = involved(class_name, names)
    for item in items:
        known = shown(item)
        result.extend(f for f in _check(item) if f.token not in known)
    result.extend(outer_elements(items, names))
    result.extend(dropped_modifiers(items, class_name, names))
    return result


def equation_calls(item: ClassText) -> Iterator[int]:
    """Yield the token positions of equations that are just a call."""
    section = ""
    branches = _Branches()
    for i in _code(item.tokens):
        starts = branches.starts_statement(item.tokens, i)
        if item.tokens[i].kind == "word":
            if item.tokens[i].text in _SECTION_WORDS:
                section = item.tokens[i].text
            if section == "equation" and starts and _is_call_statement(item.tokens, i):
                yield i


def _code(tokens: Sequence[Token]) -> Iterator[int]:
    after = 0
    for i, token in enumerate(tokens):
        if i >= after and token.text == "annotation":
            after = behind(tokens, i + 1)
        elif i >= after:
            yield i


def circular_definition(class_name: str, names: Names) -> tuple[ClassText, str] | None:
    """Return a class defined by itself, with the cycle in words; ``None`` if there is none.

    For ``type Real = Real(unit="Ohm")``, for example, rumoca would use up all memory.
    """
    for item in involved(class_name, names):
        way = [item]
        while (base := _base(way[-1], names)) is not None and base not in way:
            way.append(base)
        if base is not None and base == item:
            return item, " = ".join(f"'{c.name}'" for c in [*way, base])
    return None


def _base(item: ClassText, names: Names) -> ClassText | None:
    if not has(item.tokens, 0, "="):
        return None
    scopes = item.name.split(".")[:-1]
    parts = item.elements[0].type_name if item.elements else ()
    for depth in range(len(scopes), -1, -1):
        base = names.find(".".join([*scopes[:depth], *parts]))
        if base is not None:
            return base
    return None


def involved(class_name: str, names: Names) -> list[ClassText]:
    """Return the class and every class that it names, directly or not."""
    if class_name in names.used:
        return names.used[class_name]
    items: dict[str, ClassText] = {}
    waiting = [class_name]
    while waiting:
        name = waiting.pop()
        item = None if name in items else names.find(name)
        if item is None:
            continue
        items[name] = item
        waiting += [other for other in references(item, names) if other not in items]
    names.used[class_name] = list(items.values())
    return names.used[class_name]


def references(item: ClassText, names: Names) -> Iterator[str]:
    """Yield the full names of the classes that a class names itself."""
    for parts in dict.fromkeys(_dotted_names(item.tokens)):
        full = names.resolve(parts, item)
        if full is not None and full != item.name:
            yield full


def _dotted_names(tokens: Sequence[Token]) -> Iterator[tuple[str, ...]]:
    after = 0
    for i in _code(tokens):
        if i >= after and tokens[i].text == "import":
            after = next((k for k in outside(tokens, i) if tokens[k].text == ";"), len(tokens))
        elif i >= after and tokens[i].kind in NAMES:
            parts, after = dotted(tokens, i)
            yield parts


def _check(item: ClassText) -> Iterator[Construct]:
    for token in item.prefixes:
        if token.text in FORBIDDEN_PREFIXES:
            yield Construct(*FORBIDDEN_PREFIXES[token.text], item, token)
    calls = set(equation_calls(item))
    for i in _code(item.tokens):
        if item.tokens[i].kind == "word" and (why := _forbidden(item, i, i in calls)):
            yield Construct(*why, item, item.tokens[i])


def _forbidden(item: ClassText, i: int, is_equation: bool) -> tuple[str, str] | None:
    """Return rule and name of the construct that begins with a word, if it is outside the subset.

    `is_equation` says whether it is a call that is an equation.
    """
    tokens, text = item.tokens, item.tokens[i].text
    called = has(tokens, i + 1, "(")
    if item.keyword == "function" and i == 1 and text == "der" and has(tokens, 0, "="):
        what = "a function defined as the partial derivative of another"
        return "unsupported-derivative-function", what
    if text in FORBIDDEN_WORDS:
        return FORBIDDEN_WORDS[text]
    if text in FORBIDDEN_CALLS and called and not has(tokens, i - 1, "."):
        return FORBIDDEN_CALLS[text]
    if called and out_of_order(tokens, i):
        what = f"the named arguments of '{text}' have another order than {', '.join(ORDER[text])}"
        return "unsupported-named-arguments", what
    if is_equation:
        return "unsupported-call-statement", f"a call of '{text}' as an equation"
    return None


class _Branches:
    """Distinguishes ``if`` statements from ``if`` expressions."""

    def __init__(self) -> None:
        self._of_statements: list[bool] = []
        self._after_branch = False

    def starts_statement(self, tokens: tuple[Token, ...], i: int) -> bool:
        """Return whether a statement begins at token `i`; must be called for each in turn."""
        text, before = tokens[i].text, tokens[i - 1].text if i > 0 else ""
        starts = before in _STATEMENT_STARTS or self._after_branch
        self._after_branch = False
        if before == "end":
            if text in ("if", "when") and self._of_statements:
                self._of_statements.pop()
        elif text in ("if", "when"):
            self._of_statements.append(starts)
        elif text in ("then", "else") and self._of_statements:
            self._after_branch = self._of_statements[-1]
            if text == "else" and not self._after_branch:
                self._of_statements.pop()  # what follows belongs to the if around it
        return starts


def _is_call_statement(tokens: tuple[Token, ...], i: int) -> bool:
    if tokens[i].text in _ALLOWED_STATEMENTS | _KEYWORDS:
        return False
    _, end = dotted(tokens, i)
    after = behind(tokens, end, "(") if has(tokens, end, "(") else len(tokens)
    return after < len(tokens) and (tokens[after].text == ";" or tokens[after].kind == "string")


def component_conditions(class_name: str, known: Names) -> frozenset[str]:
    """Return the last parts of all names in conditions of components (``Part p if b;``).

    Parameters of these names decide which equations exist, which rumoca does not report.
    """
    names: set[str] = set()
    for item in involved(class_name, known):
        tokens = item.tokens
        for element in item.elements:
            i = behind(tokens, element.behind, "(")
            if element.kind == "component" and has(tokens, i, "if"):
                ends = (k for k in range(i, len(tokens)) if has(tokens, k, ";", "annotation"))
                words = range(i + 1, next(ends, len(tokens)))
                names.update(tokens[k].text for k in words if _is_last_part(tokens, k))
    return frozenset(names)


def _is_last_part(tokens: Sequence[Token], i: int) -> bool:
    return tokens[i].kind in NAMES and not has(tokens, i + 1, ".")


def out_of_order(tokens: Sequence[Token], i: int) -> bool:
    """Return whether token `i` calls a built-in operator with named arguments reordered."""
    expected = ORDER.get(tokens[i].text)
    if expected is None or (i > 0 and tokens[i - 1].text == "."):
        return False
    given = _names(tokens, i + 1)
    named = [name for name in given if name is not None]
    if not named or not set(named) <= set(expected):
        return False  # or the modification of a component of that name
    return [name or other for name, other in zip(given, expected, strict=False)] != list(
        expected[: len(given)]
    )


def _names(tokens: Sequence[Token], i: int) -> list[str | None]:
    """Return the argument names after the parenthesis at `i`; ``None`` for a positional one."""
    if has(tokens, i + 1, ")"):
        return []
    commas = (k for k in outside(tokens, i + 1) if tokens[k].text == ",")
    return [
        tokens[k + 1].text if has(tokens, k + 2, "=") and tokens[k + 1].kind == "word" else None
        for k in (i, *commas)
    ]


def outer_elements(items: Sequence[ClassText], names: Names) -> Iterator[Construct]:
    """Yield the ``outer`` classes and components that cannot be compiled."""
    components = [e for item in items for e in item.elements if e.kind == "component"]
    inner = {e.token.text for e in components if "inner" in e.prefixes}
    for item in items:
        for token in item.prefixes:
            if token.text == "outer":
                yield Construct(_RULE, "an 'outer' class", item, token)
    for element in components:
        what = _wrong(element, inner, names) if "outer" in element.prefixes else ""
        if what:
            before = reversed(element.item.tokens[: element.name])
            yield Construct(_RULE, what, element.item, next(t for t in before if t.text == "outer"))


def _wrong(component: Element, inner: set[str], names: Names) -> str:
    """Return what an ``outer`` component is that cannot be compiled; empty if it can."""
    name = component.token.text
    if "inner" in component.prefixes:
        return "an 'inner outer' declaration"
    if not _has_components(component.type_name, component.item, names):
        return f"the 'outer' variable '{name}', whose type is not that of a component"
    if name not in inner:
        return f"the 'outer' component '{name}', for which there is no 'inner' one"
    return ""


def _has_components(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    """Return whether a type is a model, block, record or connector with own components."""
    if len(parts) == 1 and parts[0] in _SIMPLE:
        return False
    definitions = list(names.definitions(parts, item))
    return (
        bool(definitions)
        and all(d.keyword in _WITH_COMPONENTS for d in definitions)
        and not has(definitions[-1].tokens, 0, "=")
    )
