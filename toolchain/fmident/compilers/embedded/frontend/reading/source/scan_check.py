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

from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.redeclarations import dropped_modifiers
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Token
from fmident.compilers.embedded.frontend.reading.source.sources import Found

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
_BASE_PREFIXES = frozenset(
    {"input", "output", "flow", "stream", "discrete", "parameter", "constant"}
)
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
_PREFIXES = frozenset(
    {"final", "replaceable", "redeclare", "flow", "discrete", "parameter", "constant", "input"}
    | {"output", "inner", "outer"}
)
_CLASS_WORDS = frozenset({"function", "package", "type", "model", "block", "record", "connector"})
_SIMPLE = frozenset({"Real", "Integer", "Boolean", "String"})
_WITH_COMPONENTS = frozenset({"model", "block", "record", "connector", "class"})
_MOST_ALIASES = 20


def check_sources(
    class_name: str, names: Names, shown: Callable[[ClassText], Collection[Token]]
) -> list[Found]:
    """Return the constructs in classes used by `class_name` that the compiler would drop."""
    result: list[Found] = []
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
    i = 0
    while i < len(item.tokens):
        token = item.tokens[i]
        if token.text == "annotation":
            i = _skip_parentheses(item.tokens, i + 1)
            continue
        starts = branches.starts_statement(item.tokens, i)
        if token.kind == "word":
            if token.text in _SECTION_WORDS:
                section = token.text
            if section == "equation" and starts and _is_call_statement(item.tokens, i):
                yield i
        i += 1


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
    """Return the class on which a short definition is based."""
    if not item.tokens or item.tokens[0].text != "=":
        return None
    scopes = item.name.split(".")[:-1]
    parts = next((p for p in _dotted_names(item.tokens) if p[0] not in _BASE_PREFIXES), [])
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
        waiting += [other for other in _referenced(item, names) if other not in items]
    names.used[class_name] = list(items.values())
    return names.used[class_name]


def _referenced(item: ClassText, names: Names) -> Iterator[str]:
    for parts in dict.fromkeys(map(tuple, _dotted_names(item.tokens))):
        full = names.resolve(parts, item)
        if full is not None and full != item.name:
            yield full


def _dotted_names(tokens: tuple[Token, ...]) -> Iterator[list[str]]:
    i = 0
    while i < len(tokens):
        if tokens[i].text == "annotation" and i + 1 < len(tokens):
            i = _skip_parentheses(tokens, i + 1)
            continue
        if tokens[i].text == "import":
            while i < len(tokens) and tokens[i].text != ";":
                i += 1
            continue
        if tokens[i].kind in ("word", "quoted"):
            parts = [tokens[i].text]
            while (
                i + 2 < len(tokens)
                and tokens[i + 1].text == "."
                and tokens[i + 2].kind
                in (
                    "word",
                    "quoted",
                )
            ):
                parts.append(tokens[i + 2].text)
                i += 2
            yield parts
        i += 1


def _skip_parentheses(tokens: tuple[Token, ...], i: int) -> int:
    depth = 0
    while i < len(tokens):
        depth += (tokens[i].text == "(") - (tokens[i].text == ")")
        i += 1
        if depth == 0:
            break
    return i


def _check(item: ClassText) -> Iterator[Found]:
    for token in item.prefixes:
        if token.text in FORBIDDEN_PREFIXES:
            yield Found(*FORBIDDEN_PREFIXES[token.text], item, token)
    tokens = item.tokens
    section = ""
    branches = _Branches()
    i = 0
    while i < len(tokens):
        token = tokens[i]
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        before = tokens[i - 1].text if i > 0 else ""
        if token.text == "annotation":
            i = _skip_parentheses(tokens, i + 1)
            continue
        starts = branches.starts_statement(tokens, i)
        if token.kind == "word":
            if token.text in _SECTION_WORDS:
                section = token.text
            if token.text in FORBIDDEN_WORDS:
                yield Found(*FORBIDDEN_WORDS[token.text], item, token)
            elif token.text in FORBIDDEN_CALLS and after == "(" and before != ".":
                yield Found(*FORBIDDEN_CALLS[token.text], item, token)
            elif after == "(" and out_of_order(tokens, i):
                yield Found(
                    "unsupported-named-arguments",
                    f"the named arguments of '{token.text}' have another order than"
                    f" {', '.join(ORDER[token.text])}",
                    item,
                    token,
                )
            elif section == "equation" and starts and _is_call_statement(tokens, i):
                yield Found(
                    "unsupported-call-statement",
                    f"a call of '{token.text}' as an equation",
                    item,
                    token,
                )
        if item.keyword == "function" and token.text == "=" and i == 0 and after == "der":
            yield Found(
                "unsupported-derivative-function",
                "a function defined as the partial derivative of another",
                item,
                tokens[i + 1],
            )
        i += 1


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
    while i + 2 < len(tokens) and tokens[i + 1].text == ".":
        i += 2
    if i + 1 >= len(tokens) or tokens[i + 1].text != "(":
        return False
    end = _skip_parentheses(tokens, i + 1)
    return end < len(tokens) and (tokens[end].text == ";" or tokens[end].kind == "string")


def component_conditions(class_name: str, known: Names) -> frozenset[str]:
    """Return the last parts of all names in conditions of components (``Part p if b;``).

    Parameters of these names decide which equations exist, which rumoca does not report.
    """
    names: set[str] = set()
    for item in involved(class_name, known):
        declaring, bound, depth = True, False, 0
        for i, token in enumerate(item.tokens):
            if token.text in _SECTION_WORDS:
                declaring = token.text in ("public", "protected")
            if token.kind == "symbol":
                depth += (token.text in "([{") - (token.text in ")]}")
                # The 'if' of a binding is an expression, not a condition.
                bound = token.text != ";" and (bound or (token.text == "=" and depth == 0))
            elif declaring and not bound and depth == 0 and token.text == "if":
                names.update(_condition_names(item.tokens, i + 1))
    return frozenset(names)


def _condition_names(tokens: tuple[Token, ...], i: int) -> Iterator[str]:
    while i < len(tokens) and tokens[i].text not in (";", "annotation"):
        last = i + 1 >= len(tokens) or tokens[i + 1].text != "."
        if tokens[i].kind in ("word", "quoted") and last:
            yield tokens[i].text
        i += 1


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
    names: list[str | None] = []
    depth = 0
    while i < len(tokens):
        text = tokens[i].text
        begins = (depth == 1 and text == ",") or (depth == 0 and text == "(")
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth == 0:
            break
        if begins:
            after = tokens[i + 1 : i + 3]
            named = len(after) == 2 and after[0].kind == "word" and after[1].text == "="
            names.append(after[0].text if named else None)
        i += 1
    return names


def outer_elements(items: Sequence[ClassText], names: Names) -> Iterator[Found]:
    """Yield the ``outer`` elements of classes that cannot be compiled."""
    inner = {name for item in items for name in _declared(item, "inner")}
    for item in items:
        for i, token in enumerate(item.tokens):
            if token.kind != "word" or token.text != "outer" or _in_annotation(item.tokens, i):
                continue
            what = _wrong(item, i, inner, names)
            if what:
                yield Found(_RULE, what, item, token)


def _in_annotation(tokens: Sequence[Token], i: int) -> bool:
    """Return whether a word is the name of a modifier or component rather than a prefix."""
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
    """Return whether a type is a model, block, record or connector with own components."""
    for _ in range(_MOST_ALIASES):
        if tuple(parts[:1]) == tuple(parts) and parts[0] in _SIMPLE:
            return False
        full = names.resolve(parts, item)
        definition = names.find(full) if full else None
        if definition is None or definition.keyword not in _WITH_COMPONENTS:
            return False
        if not definition.tokens or definition.tokens[0].text != "=":
            return True
        parts, item = [t.text for t in _type_of_short(definition.tokens)], definition
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
