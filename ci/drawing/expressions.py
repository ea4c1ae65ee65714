"""Expressions, modifications and annotations of Modelica source.

Source: Modelica Language Specification 3.4, appendix B.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from drawing.tree import (
    BINDING,
    Call,
    Choice,
    Expression,
    Items,
    Operation,
    Ref,
)
from fmident.compilers.scanner import Token, tokens

NAMES = frozenset({"word", "quoted"})
"""Kinds of tokens that are names."""
_ESCAPES = {"n": "\n", "t": "\t"}


class ExpressionParser:
    """Recursive descent over tokens, as far as expressions, annotations and modifications go.

    Parameters
    ----------
    text
        Of the file.
    file
        For messages.
    own
        Tokens to read in place of all: those of one class, without the classes in it.
    """

    def __init__(
        self, text: str, file: Path | None = None, own: Sequence[Token] | None = None
    ) -> None:
        self.text = text
        self.file = file
        read = list(tokens(text) if own is None else own)
        self.tokens: list[Token] = [*read, Token("end", "", len(text))]
        self.at = 0

    # ------------------------------------------------------------------ words
    @property
    def word(self) -> str:
        """Return the text of the next token."""
        return self.tokens[self.at].text

    def next(self) -> Token:
        """Take the next token."""
        token = self.tokens[self.at]
        if token.kind == "end":
            raise SyntaxError(f"{self.file}: the text ends too early")
        self.at += 1
        return token

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
            line = self.text.count("\n", 0, token.offset) + 1
            raise SyntaxError(f"{self.file}:{line}: {word!r} expected, {token.text!r} found")
        return self.next()

    def name(self) -> str:
        """Read a dotted name."""
        parts = ["."] if self.accept(".") else []
        parts.append(self.next().text)
        while self.word == "." and self.tokens[self.at + 1].kind in NAMES:
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
            if token.kind == "symbol":
                depth += (token.text in "([{") - (token.text in ")]}")
            elif token.kind == "end":
                raise SyntaxError(f"{self.file}: a bracket is not closed")
        return self.text[opening.offset + 1 : token.offset]

    def skip_statement(self) -> None:
        """Skip to after the next semicolon."""
        while self.word != ";":
            if self.tokens[self.at].kind == "symbol" and self.word in "([{":
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
                self.tokens[self.at] = Token("word", "if", 0)
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
        if self.tokens[self.at].kind not in NAMES or self.word in ("if", "not"):
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


def unquote(text: str) -> str:
    """Text of a string literal."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)
