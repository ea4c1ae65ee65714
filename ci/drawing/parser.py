"""Classes of Modelica source with their annotations, as pictures and documentation need them.

Read are names, bases, components, connections and annotations; equations are passed over. The
grammar is that of the Modelica Language Specification 3.4, appendix B, as far as it reaches these.
"""

from __future__ import annotations

from drawing.expressions import NAMES, ExpressionParser
from drawing.tree import (
    Base,
    Call,
    Class,
    Component,
    Connection,
    Expression,
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
_BEHIND_A_CLASS = frozenset({";", "constrainedby", "annotation"})
"""What may be left of a class inside another when its own tokens are taken out."""


class Parser(ExpressionParser):
    """Recursive descent over the tokens of a file, or of one class."""

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
            while self.word != ";" and self.tokens[self.at].kind != "end":
                self.skip_brackets() if self.word in "([{" else self.next()

    def modification(self, name: str) -> Call:
        """Read a modification, empty where there is none."""
        return self.call(name) if self.word == "(" else Call(name)

    def own(self, it: Class) -> Class:
        """Read into a class from its own tokens: what is between its name and its ``end``."""
        if self.accept("="):
            self.short_class(it)
        else:
            if self.word == "(":  # the modification of ``model extends X(...)``
                self.skip_brackets()
            it.description = self.string()
            self.composition(it, has_end=False)
        return it

    def composition(self, it: Class, *, has_end: bool = True) -> None:
        """Read the elements of a class to its ``end``, or to the last of the tokens."""
        section, public = "", True
        while True:
            token = self.tokens[self.at]
            if token.kind == "end" and not has_end:
                return
            if token.kind == "end":
                raise SyntaxError(f"{self.file}: end {it.name} is missing")
            if token.text == "end" and self.tokens[self.at + 1].text == it.name:
                self.at += 2
                return
            if token.kind in NAMES and token.text in SECTIONS:
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
            self.expect(")")
            self.string()
            connection = Connection((first, second), self.annotation())
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
            if self.word in CLASS_KINDS and self.tokens[self.at + 1].kind in NAMES:
                inner = self.class_definition(prefixes, it)
                it.classes[inner.name] = inner
                if self.accept("constrainedby"):
                    self.modification(self.name())
                self.string()
                self.annotation()
                self.expect(";")
            elif self.word == "extends":
                self.element(it, public)
            elif self.word in _BEHIND_A_CLASS:
                self.skip_statement()
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
                begin = self.tokens[self.at].offset
                self.expression()
                last = self.tokens[self.at - 1]
                value = self.text[begin : last.offset + len(last.text)]
            condition = self.expression() if self.accept("if") else None
            if self.accept("constrainedby"):
                self.modification(self.name())
            description = self.string()
            annotation = self.annotation()
            if self.accept("constrainedby"):
                self.modification(self.name())
                description = description or self.string()
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
