"""Units: read, convert, compare, combine.

The syntax is Modelica's (``N.m.s/rad``, ``kg.m2``, ``J/(kg.K)``, ``1``); what people write
in column headers (``m/s^2``, ``N*m``, ``m/s²``, ``°``) is read as well. A unit is eight
exponents of kg, m, s, A, K, mol, cd, rad with a factor and an offset to SI, as in FMI's
``BaseUnit``. The radian is kept, but counts as dimensionless when units are compared.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from fmident.arrays import F64
from fmident.errors import Code, UnitError, did_you_mean, nearest

BASE_SYMBOLS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
"""Order of :attr:`Unit.exponents`, as in FMI's ``BaseUnit``."""

Exponents = tuple[Fraction, ...]
_RAD = BASE_SYMBOLS.index("rad")
_LARGEST_POWER = 12
_LONGEST = 200


@dataclass(frozen=True)
class Unit:
    """A unit of measurement.

    A value v in this unit is ``factor * v + offset`` in SI; only a temperature in degC has an
    offset. `text` is as written, and `exponents` are those of `BASE_SYMBOLS`.
    """

    text: str
    exponents: Exponents
    factor: float = 1.0
    offset: float = 0.0

    @property
    def dimension(self) -> Exponents:
        """The exponents without the radian: equal for units that can be converted."""
        return self.exponents[:_RAD]

    @property
    def dimensionless(self) -> bool:
        """Whether no base unit but the radian is in it."""
        return not any(self.dimension)

    @property
    def si(self) -> str:
        """The same dimension in base units, such as ``kg.m2/s2``."""
        return _written(self.exponents)

    def __mul__(self, other: Unit) -> Unit:
        exponents = tuple(a + b for a, b in zip(self.exponents, other.exponents, strict=True))
        return Unit(_written(exponents), exponents, self.factor * other.factor)

    def __truediv__(self, other: Unit) -> Unit:
        return self * other ** Fraction(-1)

    def __pow__(self, power: Fraction | int) -> Unit:
        exponents = tuple(e * power for e in self.exponents)
        try:
            factor = float(self.factor ** float(power))
        except (OverflowError, ZeroDivisionError):
            factor = math.inf
        return Unit(_written(exponents), exponents, factor)


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit:
    """Read a unit such as ``"N.m.s/rad"``; ``"1"`` and ``"-"`` are dimensionless.

    Raises `UnitError` with the position and the nearest known symbols.
    """
    plain = text.strip()
    if plain in ("", "-", "1"):
        return Unit(text, DIMENSIONLESS.exponents)
    plain = plain.replace("°C", "degC").replace("°", "deg").replace("Ω", "Ohm").replace("Ω", "Ohm")
    plain = plain.translate(_SUPERSCRIPTS)
    if len(plain) > _LONGEST:
        raise UnitError(f"unit '{text[:20]}...' cannot be read: it has {len(text)} characters")
    tokens = _tokens(text, plain)
    reader = _Reader(text, tokens)
    result = reader.expression()
    if reader.here is not None:
        raise reader.error(f"unexpected '{reader.here[1]}'")
    if not 0.0 < result.factor < math.inf:
        raise UnitError(f"unit '{text}' cannot be read: its size is out of range")
    if max(map(abs, result.exponents)) > _LARGEST_POWER:
        raise UnitError(
            f"unit '{text}' cannot be read: it is {result.si}, with an exponent above"
            f" {_LARGEST_POWER}"
        )
    alone = _WHOLE.get(plain)
    offset = alone.offset if alone is not None else 0.0
    return Unit(text, result.exponents, result.factor, offset)


def unit_or_none(text: str | None) -> Unit | None:
    """Return a unit; ``None`` if the text is ``None`` or cannot be parsed."""
    try:
        return None if text is None else parse_unit(text)
    except UnitError:
        return None


def same_unit(a: str, b: str) -> bool:
    """Return whether two texts denote the same unit, such as ``N.m`` and ``N*m``."""
    one, other = unit_or_none(a), unit_or_none(b)
    if one is None or other is None:
        return a == b
    return compatible(one, other) and (one.factor, one.offset) == (other.factor, other.offset)


def compatible(a: Unit, b: Unit) -> bool:
    """Return whether values in `a` can be converted to `b`; the radian does not count."""
    return a.dimension == b.dimension


def convert(values: F64, source: Unit, target: Unit) -> F64:
    """Convert values of any shape; unchanged to the bit when the units are equal in size.

    Raises `UnitError` if the dimensions differ.
    """
    if not compatible(source, target):
        raise UnitError(
            f"'{source.text}' ({source.si}) cannot be converted to '{target.text}' ({target.si})",
            code=Code.UNITS_DIFFER,
        )
    if (source.factor, source.offset) == (target.factor, target.offset):
        return values
    return (values * source.factor + (source.offset - target.offset)) / target.factor


def in_si(unit: Unit) -> bool:
    """Return whether values in the unit are values in SI units, as in ``N.m`` or ``kg``."""
    return math.isclose(unit.factor, 1.0, rel_tol=1e-12) and unit.offset == 0.0


def si_symbols(unit: Unit) -> str:
    """Return the SI unit that a unit is converted to, close to how it was written.

    ``kJ/mol`` becomes ``J/mol`` and ``mm2`` becomes ``m2``; where that does not do, the base
    units are returned.
    """
    text = unit.text.strip()
    if text in _SI_ALONE:
        return _SI_ALONE[text]
    written = re.sub(r"[A-Za-zµμ]+", lambda m: _without_prefix(m[0]), text)
    parsed = unit_or_none(written)
    fits = parsed is not None and in_si(parsed) and parsed.exponents == unit.exponents
    return written if fits else unit.si


DIMENSIONLESS = Unit("1", (Fraction(0),) * len(BASE_SYMBOLS))


def _unit(symbol: str, factor: float = 1.0, offset: float = 0.0, **powers: int) -> Unit:
    return Unit(symbol, tuple(Fraction(powers.get(s, 0)) for s in BASE_SYMBOLS), factor, offset)


_UNITS = (
    _unit("g", 1e-3, kg=1),
    _unit("m", m=1),
    _unit("s", s=1),
    _unit("A", A=1),
    _unit("K", K=1),
    _unit("mol", mol=1),
    _unit("cd", cd=1),
    _unit("rad", rad=1),
    _unit("Hz", s=-1),
    _unit("N", kg=1, m=1, s=-2),
    _unit("Pa", kg=1, m=-1, s=-2),
    _unit("J", kg=1, m=2, s=-2),
    _unit("W", kg=1, m=2, s=-3),
    _unit("C", A=1, s=1),
    _unit("V", kg=1, m=2, s=-3, A=-1),
    _unit("F", kg=-1, m=-2, s=4, A=2),
    _unit("Ohm", kg=1, m=2, s=-3, A=-2),
    _unit("S", kg=-1, m=-2, s=3, A=2),
    _unit("Wb", kg=1, m=2, s=-2, A=-1),
    _unit("T", kg=1, s=-2, A=-1),
    _unit("H", kg=1, m=2, s=-2, A=-2),
    _unit("lm", cd=1),
    _unit("lx", cd=1, m=-2),
    _unit("Bq", s=-1),
    _unit("Gy", m=2, s=-2),
    _unit("Sv", m=2, s=-2),
    _unit("kat", mol=1, s=-1),
    _unit("l", 1e-3, m=3),
    _unit("L", 1e-3, m=3),
    _unit("t", 1e3, kg=1),
    _unit("bar", 1e5, kg=1, m=-1, s=-2),
    _unit("eV", 1.602176634e-19, kg=1, m=2, s=-2),
)
_WITHOUT_PREFIX = (
    _unit("1"),
    _unit("%", 1e-2),
    _unit("sr"),
    _unit("min", 60.0, s=1),
    _unit("h", 3600.0, s=1),
    _unit("d", 86400.0, s=1),
    _unit("deg", math.pi / 180.0, rad=1),
    _unit("rev", 2.0 * math.pi, rad=1),
    _unit("rpm", 2.0 * math.pi / 60.0, rad=1, s=-1),
    _unit("degC", 1.0, 273.15, K=1),
)
_PREFIXABLE = {unit.text: unit for unit in _UNITS}
_WHOLE = {unit.text: unit for unit in _WITHOUT_PREFIX}
_SI_ALONE = {"rpm": "rad/s", "l": "m3", "L": "m3", "%": "1"}
_SI_FOR = {
    "g": "kg", "t": "kg", "min": "s", "h": "s", "d": "s", "deg": "rad", "rev": "rad",
    "degC": "K", "bar": "Pa", "eV": "J",
}  # fmt: skip


def _without_prefix(symbol: str) -> str:
    """Return the SI unit for one symbol, such as ``J`` for ``kJ`` and ``kg`` for ``mg``."""
    if symbol not in _WHOLE and symbol not in _PREFIXABLE:
        symbol = next((rest for _, rest in _prefixed(symbol)), symbol)
    return _SI_FOR.get(symbol, symbol)


def _prefixed(symbol: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to read a symbol as a prefix and a known one."""
    for length in (1, 2):
        if symbol[:length] in _PREFIXES and symbol[length:] in _PREFIXABLE:
            yield symbol[:length], symbol[length:]


_PREFIXES = {
    "Y": 1e24, "Z": 1e21, "E": 1e18, "P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3,
    "h": 1e2, "da": 1e1, "d": 1e-1, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6,
    "n": 1e-9, "p": 1e-12, "f": 1e-15, "a": 1e-18, "z": 1e-21, "y": 1e-24,
}  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_TOKEN = re.compile(
    r"\s*(?:(?P<symbol>[A-Za-zµμΩ%]+)|(?P<number>[+-]?\d+)"
    r"|(?P<operator>[./()*·⋅^]))"
)


def _tokens(text: str, plain: str) -> list[tuple[str, str, int]]:
    tokens: list[tuple[str, str, int]] = []
    position = 0
    while position < len(plain):
        match = _TOKEN.match(plain, position)
        if match is None or match.lastgroup is None:
            raise UnitError(
                f"unit '{text}' cannot be read: unexpected '{plain[position]}'"
                f" at position {position + 1}",
                hint="write units as in Modelica, such as 'N.m/rad' or 'kg.m2'",
            )
        tokens.append((match.lastgroup, match[match.lastgroup], position))
        position = match.end()
    return tokens


class _Reader:
    """Recursive descent over the tokens of one unit."""

    def __init__(self, text: str, tokens: list[tuple[str, str, int]]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0

    @property
    def here(self) -> tuple[str, str, int] | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def error(self, what: str) -> UnitError:
        here = self.here
        where = "at the end" if here is None else f"at position {here[2] + 1}"
        return UnitError(
            f"unit '{self._text}' cannot be read: {what} {where}",
            hint="write units as in Modelica, such as 'N.m/rad' or 'kg.m2'",
        )

    def take(self, *operators: str) -> bool:
        here = self.here
        if here is not None and here[0] == "operator" and here[1] in operators:
            self._next += 1
            return True
        return False

    def expression(self) -> Unit:
        result = self.factor()
        while True:
            if self.take(".", "*", "·", "⋅"):
                result = result * self.factor()
            elif self.take("/"):
                result = result / self.factor()
            else:
                return result

    def factor(self) -> Unit:
        if self.take("("):
            inner = self.expression()
            if not self.take(")"):
                raise self.error("a ')' is missing")
            return inner ** self.power()
        here = self.here
        if here is None:
            raise self.error("a symbol is missing")
        if here[0] == "number" and here[1] == "1":
            self._next += 1
            return DIMENSIONLESS
        if here[0] != "symbol":
            raise self.error(f"unexpected '{here[1]}'")
        unit = self.symbol(here[1])
        self._next += 1
        return unit ** self.power()

    def power(self) -> int:
        caret = self.take("^")
        here = self.here
        if here is not None and here[0] == "number":
            if len(here[1]) > 3 or abs(int(here[1])) > _LARGEST_POWER:
                raise self.error(f"the exponent {here[1]} is above {_LARGEST_POWER}")
            self._next += 1
            return int(here[1])
        if caret:
            raise self.error("an exponent is missing")
        return 1

    def symbol(self, name: str) -> Unit:
        known = _WHOLE.get(name) or _PREFIXABLE.get(name)
        if known is not None:
            return known
        for prefix, rest in _prefixed(name):
            base = _PREFIXABLE[rest]
            return Unit(name, base.exponents, base.factor * _PREFIXES[prefix])
        raise UnitError(
            f"unit '{self._text}' cannot be read: there is no unit '{name}'",
            hint=_suggestion(name),
        )


def _suggestion(name: str) -> str:
    """Return what may be meant, such as ``N.m`` for ``Nm``."""
    for cut in range(1, len(name)):
        left, right = name[:cut], name[cut:]
        if left in _PREFIXABLE and (right in _PREFIXABLE or right in _WHOLE):
            return f"did you mean '{left}.{right}'?"
    words = difflib.get_close_matches(name.casefold(), _WORDS, n=1, cutoff=0.8)
    if words and len(name) > 2:
        return f"did you mean '{_WORDS[words[0]]}'? Units are written as symbols, such as 'kg.m2'"
    alike = [s for s in (*_PREFIXABLE, *_WHOLE) if abs(len(s) - len(name)) <= 1]
    if nearest(name, alike):
        return did_you_mean(name, alike, kind="unit")
    return "write units as in Modelica, such as 'mm', 'N.m/rad' or 'kg.m2'"


def _spelled_out() -> dict[str, str]:
    """Return names of units that people write instead of symbols, with the symbols."""
    names = {
        "meter": "m", "metre": "m", "gram": "g", "second": "s", "newton": "N", "pascal": "Pa",
        "volt": "V", "ampere": "A", "watt": "W", "joule": "J", "hertz": "Hz", "radian": "rad",
        "ohm": "Ohm", "liter": "l", "litre": "l",
    }  # fmt: skip
    prefixes = {
        "": "", "milli": "m", "micro": "u", "nano": "n", "centi": "c", "kilo": "k", "mega": "M",
    }  # fmt: skip
    whole = {
        "minute": "min", "hour": "h", "day": "d", "degree": "deg", "celsius": "degC",
        "kelvin": "K", "percent": "%", "revolution": "rev", "tonne": "t",
    }  # fmt: skip
    both = {p + n: prefixes[p] + names[n] for p in prefixes for n in names}
    singular = {**both, **whole}
    return {**singular, **{f"{word}s": symbol for word, symbol in singular.items()}}


_WORDS = _spelled_out()


def _written(exponents: Exponents) -> str:
    def part(symbol: str, power: Fraction) -> str:
        if power == 1:
            return symbol
        return f"{symbol}{power}" if power.denominator == 1 else f"{symbol}({power})"

    pairs = list(zip(BASE_SYMBOLS, exponents, strict=True))
    above = [part(s, e) for s, e in pairs if e > 0]
    below = [part(s, -e) for s, e in pairs if e < 0]
    text = ".".join(above) or "1"
    if not below:
        return text
    return f"{text}/{below[0]}" if len(below) == 1 else f"{text}/({'.'.join(below)})"
