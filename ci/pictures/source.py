"""Classes of Modelica source as a tool for diagrams needs them.

Read are names, bases, components, connections and annotations; equations are passed over. The
grammar is that of the Modelica Language Specification 3.4, appendix B, as far as it reaches these.
"""

from __future__ import annotations

from pathlib import Path

from pictures.scanner import Token, tokens, unquote
from pictures.tree import (
    BINDING,
    Base,
    Call,
    Choice,
    Class,
    Component,
    Connection,
    Expression,
    Items,
    Operation,
    Ref,
)

CLASS_KINDS = frozenset(
    {
        "model",
        "block",
        "function",
        "package",
        "class",
        "connector",
        "record",
        "type",
        "operator",
    }
)
PREFIXES = frozenset(
    {
        "final",
        "inner",
        "outer",
        "replaceable",
        "redeclare",
        "encapsulated",
        "partial",
        "expandable",
        "pure",
        "impure",
        "each",
        "flow",
        "stream",
        "discrete",
        "parameter",
        "constant",
        "input",
        "output",
    }
)
SECTIONS = frozenset({"equation", "algorithm", "public", "protected", "initial"})
BLOCKS = frozenset({"for", "if", "when", "while"})


class Parser:
    """Recursive descent over the tokens of one file."""

    def __init__(self, text: str, file: Path | None = None) -> None:
        self.text = text
        self.file = file
        self.tokens = [*tokens(text), Token("end", "", len(text), len(text))]
        self.at = 0

    # ------------------------------------------------------------------ words
    @property
    def word(self) -> str:
        """Return the text of the next token."""
        return self.tokens[self.at].text

    def next(self) -> Token:
        """Take the next token."""
        self.at += 1
        return self.tokens[self.at - 1]

    def accept(self, *words: str) -> bool:
        """Take the next token if it is one of the words."""
        if self.tokens[self.at].kind != "string" and self.word in words:
            self.at += 1
            return True
        return False

    def expect(self, word: str) -> Token:
        """Take a token that must be there."""
        token = self.tokens[self.at]
        if token.text != word:
            line = self.text.count("\n", 0, token.start) + 1
            raise SyntaxError(f"{self.file}:{line}: {word!r} expected, {token.text!r} found")
        return self.next()

    def name(self) -> str:
        """Read a dotted name."""
        parts = ["."] if self.accept(".") else []
        parts.append(self.next().text)
        while self.word == "." and self.tokens[self.at + 1].kind == "name":
            self.next()
            parts.append("." + self.next().text)
        return "".join(parts)

    def string(self) -> str:
        """Read a string comment, joined by ``+`` or absent."""
        parts = []
        while self.tokens[self.at].kind == "string":
            parts.append(unquote(self.next().text))
            if not (self.word == "+" and self.tokens[self.at + 1].kind == "string"):
                break
            self.next()
        return "".join(parts)

    def skip_brackets(self) -> str:
        """Skip a bracketed group; return its text without the brackets."""
        opening = self.next()
        depth = 1
        while depth:
            token = self.next()
            if token.kind == "sign":
                depth += (token.text in "([{") - (token.text in ")]}")
            elif token.kind == "end":
                raise SyntaxError(f"{self.file}: a bracket is not closed")
        return self.text[opening.stop : token.start]

    def skip_statement(self) -> None:
        """Skip to after the next semicolon."""
        while self.word != ";":
            if self.tokens[self.at].kind == "sign" and self.word in "([{":
                self.skip_brackets()
            elif self.tokens[self.at].kind == "end":
                raise SyntaxError(f"{self.file}: a semicolon is missing")
            else:
                self.next()
        self.next()

    # ------------------------------------------------------------ expressions
    def expression(self) -> Expression:
        """Read an expression."""
        if self.accept("if"):
            condition = self.expression()
            self.expect("then")
            yes = self.expression()
            if self.word == "elseif":
                self.tokens[self.at] = Token("name", "if", 0, 0)
                return Choice(condition, yes, self.expression())
            self.expect("else")
            return Choice(condition, yes, self.expression())
        return self._operation(0)

    def _operation(self, least: int) -> Expression:
        """Read operands with operators that bind at least as strongly as `least`."""
        left = self.operand()
        while self.tokens[self.at].kind != "string":
            binding = BINDING.get(self.word, -1)
            if binding < least:
                break
            left = Operation(self.next().text, (left, self._operation(binding + 1)))
        return left

    def operand(self) -> Expression:
        """Read one operand with what belongs to it."""
        token = self.tokens[self.at]
        if token.text in ("-", "+", "not"):
            self.next()
            operand = self.operand()
            if token.text == "-" and isinstance(operand, float):
                return -operand
            return operand if token.text == "+" else Operation(token.text, (operand,))
        if token.kind == "number":
            return float(self.next().text)
        if token.kind == "string":
            return self.string()
        if token.text in ("true", "false"):
            return self.next().text == "true"
        if token.text == "{":
            return self.items()
        if token.text == "[":
            return Ref(f"[{self.skip_brackets()}]")
        if token.text == "(":
            self.next()
            inner = self.expression()
            while not self.accept(")"):
                self.next()
            return inner
        name = self.name()
        while self.word == "[":
            name += f"[{self.skip_brackets()}]"
            while self.accept("."):
                name += "." + self.name()
        return self.call(name) if self.word == "(" else Ref(name)

    def items(self) -> Items:
        """Read an array; the loop of a comprehension is left out."""
        self.next()
        items = []
        while not self.accept("}"):
            items.append(self.expression())
            if self.accept("for"):
                while self.word != "}":
                    self.skip_brackets() if self.word in "([{" else self.next()
            self.accept(",")
        return Items(tuple(items))

    def call(self, name: str) -> Call:
        """Arguments or a modification, from the opening bracket on."""
        self.expect("(")
        arguments: list[Expression] = []
        named: dict[str, Expression] = {}
        while not self.accept(")"):
            while self.accept("each", "final"):
                pass
            passed = self.accept("function")
            if self.word in ("redeclare", "replaceable"):
                self.skip_redeclaration()
            elif not passed and self._names_argument():
                key, item = self.named_argument()
                named[key] = item
            else:
                arguments.append(self.expression())
                if self.accept("for"):
                    while self.word != ")":
                        self.skip_brackets() if self.word in "([{" else self.next()
            self.string()
            if not self.accept(","):
                self.expect(")")
                break
        return Call(name, tuple(arguments), named)

    def named_argument(self) -> tuple[str, Expression]:
        """Read ``name=value`` or ``name(...)=value``."""
        key = self.name()
        modification = self.call(key) if self.word == "(" else None
        value = self.expression() if self.accept("=") else None
        self.string()
        if modification is not None:
            return key, Call(key, modification.arguments, modification.named, value)
        assert value is not None
        return key, value

    def _names_argument(self) -> bool:
        """Whether ``name =`` or the modification ``name(...)`` begins here."""
        if self.tokens[self.at].kind != "name" or self.word in ("if", "not"):
            return False
        begin = self.at
        self.name()
        called = self.word == "("
        if called:
            self.skip_brackets()
        found = self.word == "=" or (
            called and (self.word in (",", ")") or self.tokens[self.at].kind == "string")
        )
        self.at = begin
        return found

    def skip_redeclaration(self) -> None:
        """Skip a redeclared element of a modification."""
        while self.word not in (",", ")"):
            self.skip_brackets() if self.word in "([{" else self.next()

    def annotation(self) -> Call:
        """Read an annotation, empty where there is none."""
        if self.accept("annotation"):
            return self.call("annotation")
        return Call("annotation")

    # ---------------------------------------------------------------- classes
    def stored_definition(self) -> tuple[str, list[Class]]:
        """Return the name after ``within``, and the classes of the file."""
        within = ""
        if self.accept("within"):
            within = "" if self.word == ";" else self.name()
            self.expect(";")
        found = []
        while self.tokens[self.at].kind != "end":
            prefixes = self.prefixes()
            found.append(self.class_definition(prefixes, None))
            self.expect(";")
        return within, found

    def prefixes(self) -> frozenset[str]:
        """Read the prefixes of a class or component."""
        found = set()
        while self.word in PREFIXES:
            found.add(self.next().text)
        return frozenset(found)

    def class_definition(self, prefixes: frozenset[str], parent: Class | None) -> Class:
        """Read a class from its kind on."""
        kind = self.next().text
        if kind == "operator" and self.word in ("function", "record"):
            kind = self.next().text
        if self.accept("extends"):
            prefixes |= {"extends"}
        it = Class(self.next().text, kind, prefixes, parent=parent, file=self.file)
        if "extends" in prefixes:
            if self.word == "(":
                self.skip_brackets()
            it.bases.append(Base(it.name, Call(it.name), Call("annotation")))
        if self.accept("="):
            self.short_class(it)
            return it
        it.description = self.string()
        self.composition(it)
        return it

    def short_class(self, it: Class) -> None:
        """Read what follows ``=`` in a short class."""
        if self.accept("enumeration", "der"):
            self.skip_brackets()
        else:
            prefixes = self.prefixes()
            it.prefixes |= prefixes & {"input", "output"}
            base = self.name()
            if self.word == "[":
                self.skip_brackets()
            it.bases.append(Base(base, self.modification(base), Call("annotation")))
        it.description = self.string()
        it.annotation = self.annotation()
        if self.accept("constrainedby"):
            while self.word != ";":
                self.skip_brackets() if self.word in "([{" else self.next()

    def modification(self, name: str) -> Call:
        """Read a modification, empty where there is none."""
        return self.call(name) if self.word == "(" else Call(name)

    def composition(self, it: Class) -> None:
        """Read the elements of a class to its ``end``."""
        section, public = "", True
        while True:
            token = self.tokens[self.at]
            if token.kind == "end":
                raise SyntaxError(f"{self.file}: end {it.name} is missing")
            if token.text == "end" and self.tokens[self.at + 1].text == it.name:
                self.at += 2
                return
            if token.kind == "name" and token.text in SECTIONS:
                section = "" if token.text in ("public", "protected") else "equation"
                public = token.text != "protected" if section == "" else public
                self.next()
            elif token.text == "annotation":
                it.annotation = self.annotation()
                self.expect(";")
            elif token.text == "external":
                self.skip_statement()
            elif section:
                self.equation(it)
            else:
                self.element(it, public)

    def equation(self, it: Class) -> None:
        """Read a connection, or skip an equation."""
        token = self.tokens[self.at]
        if token.text == "connect" and self.tokens[self.at + 1].text == "(":
            self.at += 2
            first = reference(self.expression())
            self.expect(",")
            second = reference(self.expression())
            stop = self.expect(")").stop
            self.string()
            connection = Connection((first, second), self.annotation(), (token.start, stop))
            it.connections.append(connection)
            self.expect(";")
        elif token.text in BLOCKS or token.text in ("loop", "then", "else", "elseif", "elsewhen"):
            self.next()
            while self.word not in ("loop", "then"):
                if token.text in ("loop", "then", "else"):
                    return
                self.skip_brackets() if self.word in "([{" else self.next()
            self.next()
        elif token.text == "end":
            self.at += 2
            self.expect(";")
        else:
            self.skip_statement()

    def element(self, it: Class, public: bool) -> None:
        """Read an import, a base, a class or components."""
        if self.accept("import"):
            self.import_clause(it)
        elif self.accept("extends"):
            base = self.name()
            modification = self.modification(base)
            it.bases.append(Base(base, modification, self.annotation()))
            self.expect(";")
        else:
            prefixes = self.prefixes()
            if self.word in CLASS_KINDS and self.tokens[self.at + 1].kind == "name":
                inner = self.class_definition(prefixes, it)
                it.classes[inner.name] = inner
                if self.accept("constrainedby"):
                    self.modification(self.name())
                self.string()
                self.annotation()
                self.expect(";")
            elif self.word == "extends":
                self.element(it, public)
            else:
                self.components(it, prefixes, public)

    def import_clause(self, it: Class) -> None:
        """Read what follows ``import``."""
        name = self.name()
        if self.accept("="):
            it.imports[name] = self.name()
        elif self.accept("."):
            self.skip_brackets()
        elif self.word == ".*":
            self.next()
        else:
            it.imports[name.rpartition(".")[2]] = name
        self.skip_statement()

    def components(self, it: Class, prefixes: frozenset[str], public: bool) -> None:
        """Read the components of one declaration."""
        type_name = self.name()
        common = f"[{self.skip_brackets()}]" if self.word == "[" else ""
        while True:
            first = self.next()
            dimensions = f"[{self.skip_brackets()}]" if self.word == "[" else common
            modification = self.modification(first.text)
            value = ""
            if self.accept("=", ":="):
                begin = self.tokens[self.at].start
                self.expression()
                value = self.text[begin : self.tokens[self.at - 1].stop]
            condition = self.expression() if self.accept("if") else None
            if self.accept("constrainedby"):
                self.modification(self.name())
            description = self.string()
            stop = self.tokens[self.at - 1].stop
            annotation = self.annotation()
            if self.accept("constrainedby"):
                self.modification(self.name())
                description = description or self.string()
                stop = self.tokens[self.at - 1].stop
                annotation = self.annotation()
            it.components.append(
                Component(
                    first.text,
                    type_name,
                    prefixes,
                    dimensions,
                    modification,
                    value,
                    condition,
                    description,
                    annotation,
                    (first.start, stop),
                    public,
                )
            )
            if not self.accept(","):
                self.expect(";")
                return


def reference(expression: Expression) -> str:
    """Name of a connector in a ``connect``."""
    if not isinstance(expression, Ref):
        raise SyntaxError(f"a connector is expected, not {expression}")
    return expression.name


def read_library(folder: Path) -> Class:
    """Read a library kept as a folder with ``package.mo``, or as one file."""
    return _read(folder, None)


def _read(path: Path, parent: Class | None) -> Class:
    file = path / "package.mo" if path.is_dir() else path
    (it,) = Parser(file.read_text(encoding="utf-8"), file).stored_definition()[1]
    it.parent = parent
    if path.is_dir():
        order = path / "package.order"
        names = order.read_text(encoding="utf-8").split() if order.exists() else []
        for child in sorted(path.iterdir(), key=lambda p: _rank(p, names)):
            if (child.suffix == ".mo" and child.name != "package.mo") or (
                child / "package.mo"
            ).exists():
                inner = _read(child, it)
                it.classes[inner.name] = inner
    return it


def _rank(path: Path, order: list[str]) -> tuple[int, str]:
    return (order.index(path.stem) if path.stem in order else len(order), path.stem)
