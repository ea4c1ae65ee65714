"""Finds constructs in the user's source that the flat model silently leaves out.

rumoca drops some constructs without a word (``terminate``, calls as equations, the operator
``der`` in a function definition). What it drops cannot be found in its output, so the tokens
of the classes that take part in the model are looked through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from fmident.compilers.embedded.frontend.reading.source.found import Found
from fmident.compilers.embedded.frontend.reading.source.named_arguments import ORDER, out_of_order
from fmident.compilers.embedded.frontend.reading.source.names import Names
from fmident.compilers.embedded.frontend.reading.source.outer_elements import outer_elements
from fmident.compilers.embedded.frontend.reading.source.redeclarations import dropped_modifiers
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Token

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


def check_sources(
    class_name: str, names: Names, shown: Callable[[ClassText], Collection[Token]]
) -> list[Found]:
    """Return what the classes used by `class_name` contain and the compiler would drop.

    Parameters
    ----------
    class_name
        The class.
    names
        All sources.
    shown
        Returns the calls as equations that rumoca is shown in another form.
    """
    result: list[Found] = []
    items = involved(class_name, names)
    for item in items:
        known = shown(item)
        result.extend(f for f in _check(item) if f.token not in known)
    result.extend(outer_elements(items, names))
    result.extend(dropped_modifiers(items, class_name, names))
    return result


def equation_calls(item: ClassText) -> Iterator[int]:
    """Yield the places in the tokens of a class where an equation is a call and nothing else."""
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
    """Return a class that is defined by itself, with the way round in words; ``None`` if none is.

    Such as ``type Real = Real(unit="Ohm")``: inside, the name is that of the new type. rumoca takes
    all memory over it.
    """
    for item in involved(class_name, names):
        way = [item]
        while (base := _base(way[-1], names)) is not None and base not in way:
            way.append(base)
        if base is not None and base == item:
            return item, " = ".join(f"'{c.name}'" for c in [*way, base])
    return None


def _base(item: ClassText, names: Names) -> ClassText | None:
    """Return the class by which a short definition defines its own."""
    if not item.tokens or item.tokens[0].text != "=":
        return None
    scopes = item.name.split(".")[:-1]
    parts = next((p for p in _dotted_names(item.tokens) if p[0] not in _BASE_PREFIXES), [])
    for depth in range(len(scopes), -1, -1):
        found = names.find(".".join([*scopes[:depth], *parts]))
        if found is not None:
            return found
    return None


def involved(class_name: str, names: Names) -> list[ClassText]:
    """Return the class and every class that it names, directly or not.

    An import counts where what it imports is named.
    """
    if class_name in names.used:
        return names.used[class_name]
    found: dict[str, ClassText] = {}
    waiting = [class_name]
    while waiting:
        name = waiting.pop()
        item = None if name in found else names.find(name)
        if item is None:
            continue
        found[name] = item
        waiting += [other for other in _referenced(item, names) if other not in found]
    names.used[class_name] = list(found.values())
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
    """Tells ``if`` that holds statements from ``if`` inside an expression."""

    def __init__(self) -> None:
        self._of_statements: list[bool] = []
        self._after_branch = False

    def starts_statement(self, tokens: tuple[Token, ...], i: int) -> bool:
        """Return whether a statement begins at token `i`; called for each in turn."""
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

    A parameter of such a name decides which equations there are, and rumoca does not say so.
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
