"""The rules: what each demands, and where the standard says so."""

from __future__ import annotations

from dataclasses import dataclass

DESCRIPTION = "modelDescription.xml"
STANDARDS = {2: "FMI 2.0.5", 3: "FMI 3.0.2"}


@dataclass(frozen=True)
class Rule:
    """One demand of the standard.

    Parameters
    ----------
    key
        Its name here.
    demand
        What must be so.
    sections
        Where FMI 2.0.5 and FMI 3.0.2 say it; ``None`` where a version does not.
    tolerable
        fmident uses an FMU that breaks it all the same: a warning.
    known_to_fmpy
        FMPy's validation looks for it, too; what it found at a line is not said twice.
    """

    key: str
    demand: str
    sections: tuple[str | None, str | None]
    tolerable: bool = False
    known_to_fmpy: bool = False

    def section(self, major: int) -> str:
        """Return the standard's name and the section."""
        return f"{STANDARDS[major]}, {self.sections[major - 2]}"


@dataclass(frozen=True)
class Finding:
    """A rule that an FMU breaks.

    Parameters
    ----------
    key
        The rule's.
    message
        What breaks it.
    line
        Where, in `file`; ``None`` for what concerns the archive.
    file
        A member of the archive.
    """

    key: str
    message: str
    line: int | None = None
    file: str = DESCRIPTION

    @property
    def rule(self) -> Rule:
        """What is broken."""
        return RULES[self.key]

    def text(self, major: int) -> str:
        """Return place, message and section."""
        place = "" if self.line is None else f"line {self.line}: "
        if self.file != DESCRIPTION:
            place = f"{self.file}, {place}" if place else f"{self.file}: "
        return f"{place}{self.message} ({self.rule.section(major)})"


_VARIABLES = ("2.2.7", "2.4.7.4")
_TYPED = ("2.2.7", "2.4.7.5")
_TYPES = ("2.2.3", "2.4.4")
_STRUCTURE = ("2.2.8", "2.4.8")
_NAMES = ("2.2.9", "2.4.7.5.1")
_DISTRIBUTION = ("2.3", "2.5")
_INTERFACES = ("3.3.1, 4.3.1", "2.4.2")

_ALL = (
    # The document
    Rule(
        "encoding",
        "The first line of an XML file names UTF-8 as its encoding",
        ("2.2", "2.4"),
        tolerable=True,
    ),
    Rule(
        "version",
        "`fmiVersion` is `2.0`, or `3.0`, without the number of a revision",
        ("2.2.1", "2.4.1"),
    ),
    Rule(
        "interface",
        "There is an element for at least one interface",
        ("2.2.1", "2.4.1"),
    ),
    Rule(
        "token",
        "`guid` or `instantiationToken` is there and can identify the description",
        ("2.2.1", "2.4.1"),
    ),
    Rule(
        "date",
        "`generationDateAndTime` has the form `YYYY-MM-DDThh:mm:ssZ`",
        ("2.2.1", "2.4.1"),
        tolerable=True,
    ),
    Rule(
        "identifier",
        "`modelIdentifier` is a name of C",
        _INTERFACES,
    ),
    Rule(
        "flags",
        "Capability flags agree with each other",
        ("3.3.1, 4.3.1", "2.4.2, 4.4"),
    ),
    Rule(
        "experiment",
        "The default experiment's numbers are finite, its tolerance and step are positive, it "
        "does not end before it starts",
        ("2.2.5", "2.4.6"),
    ),
    Rule(
        "log categories",
        "Log categories have names that differ",
        ("2.2.4", "2.4.5"),
    ),
    Rule(
        "annotations",
        "Vendor annotations name different tools",
        ("2.2.6", None),
    ),
    # Names
    Rule(
        "unique names",
        "Names of variables (and of aliases, in FMI 3.0) differ and are not empty",
        _NAMES,
        known_to_fmpy=True,
    ),
    Rule(
        "structured names",
        "Names keep to the convention that the description declares",
        _NAMES,
        known_to_fmpy=True,
    ),
    Rule(
        "array elements",
        "Elements of an array follow each other, the last index runs fastest",
        ("2.2.9", None),
        tolerable=True,
    ),
    Rule(
        "type names",
        "Names of types differ from each other and from those of variables",
        _TYPES,
    ),
    Rule(
        "unit names",
        "Names of units differ, and those of the display units of a unit",
        ("2.2.2", "2.4.3"),
    ),
    Rule(
        "items",
        "Enumerations have items, whose names (FMI 3.0) and values differ",
        _TYPES,
    ),
    # Attributes of variables
    Rule(
        "combination",
        "Causality and variability are a pair that the table allows",
        _VARIABLES,
        known_to_fmpy=True,
    ),
    Rule(
        "initial",
        "`initial` is one that the table allows for causality and variability",
        _TYPED,
        known_to_fmpy=True,
    ),
    Rule(
        "start needed",
        "Variables that are `exact` or `approx`, parameters, constants and inputs have a "
        "start value",
        _TYPED,
        known_to_fmpy=True,
    ),
    Rule(
        "start forbidden",
        "Variables that are calculated, and the independent one, have no start value",
        _TYPED,
        known_to_fmpy=True,
    ),
    Rule(
        "continuous",
        "Only floating-point variables are continuous",
        _VARIABLES,
        known_to_fmpy=True,
    ),
    Rule(
        "independent",
        "At most one variable is independent (FMI 3.0: exactly one), of a floating-point type",
        _VARIABLES,
    ),
    Rule(
        "derivative",
        "`derivative` names a variable that is there, of a floating-point type",
        _TYPED,
    ),
    Rule(
        "reinit",
        "Only states of Model Exchange have `reinit`",
        _TYPED,
    ),
    Rule(
        "multiple set",
        "Only inputs have `canHandleMultipleSetPerTimeInstant`, in FMI 2.0 only in Model Exchange",
        _VARIABLES,
        tolerable=True,
    ),
    Rule(
        "intermediate update",
        "Only continuous variables have `intermediateUpdate`",
        (None, "2.4.7.4"),
    ),
    # Values
    Rule(
        "numbers",
        "Start values, bounds and nominal values are numbers of the variable's type; in FMI "
        "2.0, finite ones",
        ("2.2, 2.2.3", "2.4, 2.4.4"),
    ),
    Rule(
        "range",
        "`min` is not greater than `max`, and the start value is between them",
        _TYPES,
    ),
    Rule(
        "nominal",
        "Nominal values are greater than 0",
        ("2.2.3, 3.2.2", "2.4.4, 2.3.3"),
        tolerable=True,
    ),
    Rule(
        "declared type",
        "`declaredType` names a type of the same kind; enumerations have one",
        _TYPED,
    ),
    Rule(
        "enumeration start",
        "An enumeration starts with the value of one of its items",
        _TYPES,
    ),
    # Units
    Rule(
        "unit",
        "Units of variables and types are among the unit definitions",
        _TYPES,
        known_to_fmpy=True,
    ),
    Rule(
        "display unit",
        "What has a display unit has a unit that is defined; in FMI 3.0, the display unit is "
        "one of it",
        _TYPES,
        known_to_fmpy=True,
    ),
    # Value references
    Rule(
        "value references",
        "Value references are whole numbers; in FMI 3.0, no two variables have the same",
        _VARIABLES,
        known_to_fmpy=True,
    ),
    Rule(
        "alias set",
        "At most one of the variables with one value reference can be set; none if one is "
        "independent",
        ("2.2.7", None),
    ),
    Rule(
        "alias constant",
        "Constants share a value reference with constants only, of equal start values",
        ("2.2.7", None),
    ),
    Rule(
        "alias unit",
        "Variables with one value reference have the same unit, or none",
        ("2.2.7", None),
    ),
    # Structure
    Rule(
        "outputs",
        "The model structure lists each output once, and nothing else as output",
        _STRUCTURE,
        known_to_fmpy=True,
    ),
    Rule(
        "state derivatives",
        "Listed derivatives are of continuous states that are local or output, one for each",
        ("2.2.7, 2.2.8", "2.4.7.4, 2.4.8"),
        known_to_fmpy=True,
    ),
    Rule(
        "initial unknowns",
        "The initial unknowns are calculated parameters, and outputs, states and derivatives "
        "that are not `exact`; each once",
        _STRUCTURE,
    ),
    Rule(
        "initial order",
        "Initial unknowns are in the order of the variables",
        ("2.2.8", None),
        tolerable=True,
    ),
    Rule(
        "event indicators",
        "Event indicators are continuous floating-point variables, local or output",
        (None, "2.4.7.4, 2.4.8"),
    ),
    Rule(
        "clocked states",
        "Clocked states are discrete, have clocks and a previous value, and are not clocks",
        (None, "2.4.8"),
    ),
    Rule(
        "dependencies",
        "Dependencies are on variables that are there and known at that time",
        _STRUCTURE,
        tolerable=True,
    ),
    Rule(
        "dependencies order",
        "Dependencies are in ascending order, each once",
        ("2.2.8", None),
        tolerable=True,
    ),
    Rule(
        "dependencies kind",
        "There is a kind for each dependency, one that the list and the unknown's type allow",
        _STRUCTURE,
        tolerable=True,
        known_to_fmpy=True,
    ),
    # Arrays
    Rule(
        "dimensions",
        "A dimension has a positive size, or names a constant or structural parameter of type "
        "UInt64 that has one; clocks and structural parameters have none",
        (None, "2.4.7.2"),
    ),
    Rule(
        "start count",
        "An array has one start value, or one for each element; a scalar has one",
        (None, "2.4.7.5"),
    ),
    # Clocks
    Rule(
        "clock",
        "Clocks are discrete inputs, outputs or local; those that are not inputs are triggered",
        (None, "2.2.8.2, 2.4.7.4"),
    ),
    Rule(
        "clock interval",
        "Clocks have the attributes of interval and shift that belong to their kind",
        (None, "2.4.4"),
    ),
    Rule(
        "clock priority",
        "Input clocks of Scheduled Execution have a priority, output clocks have none",
        (None, "2.4.4"),
    ),
    Rule(
        "clocked variable",
        "`clocks` names clocks, and only discrete or tunable variables have it",
        (None, "2.4.7.4"),
    ),
    Rule(
        "previous",
        "`previous` names another discrete variable of the same type that is not an input, for "
        "one clocked discrete variable only",
        (None, "2.4.7.4"),
    ),
    Rule(
        "event mode",
        "Co-Simulation with clocks has event mode",
        (None, "4.4"),
    ),
    # The archive
    Rule(
        "ending",
        "The file's name ends in `.fmu`",
        _DISTRIBUTION,
        tolerable=True,
    ),
    Rule(
        "zip",
        "Members are stored or deflated (only those with a length behind them), for readers "
        "of version 2.0, not encrypted, no links",
        _DISTRIBUTION,
        tolerable=True,
    ),
    Rule(
        "member names",
        "Names in the archive have forward slashes, lead nowhere else and differ",
        _DISTRIBUTION,
        tolerable=True,
        known_to_fmpy=True,
    ),
    Rule(
        "implementation",
        "There are binaries or sources",
        _DISTRIBUTION,
    ),
    Rule(
        "library",
        "Each folder of a platform holds the library `modelIdentifier` with the ending of "
        "that platform",
        ("2.3", "2.5.1"),
    ),
    Rule(
        "binary",
        "A library is a shared library for the platform of its folder",
        ("2.3", "2.5.1.4"),
    ),
    Rule(
        "functions",
        "A library exports all functions of its interfaces (FMI 3.0: all functions), whatever "
        "the flags say",
        _DISTRIBUTION,
        tolerable=True,
    ),
    Rule(
        "licences",
        "A folder of licences has its entry, `license.txt`, `.html` or `.spdx`",
        (None, "2.5.1.1"),
        tolerable=True,
    ),
    Rule(
        "pictures",
        "A picture in SVG has one in PNG beside it",
        (None, "2.5.1"),
        tolerable=True,
    ),
    Rule(
        "external dependencies",
        "An FMU that needs a tool says so in `documentation/externalDependencies`",
        (None, "2.4.2, 2.5.1.1"),
        tolerable=True,
    ),
    Rule(
        "sources",
        "Sources are listed in the description or in `buildDescription.xml`, and what is "
        "listed is there",
        ("2.3", "2.4.10, 2.5.1.3"),
        tolerable=True,
    ),
    Rule(
        "build configurations",
        "Build configurations are for an interface of the FMU, and at most one per interface "
        "is for any platform",
        ("2.3", "2.4.10"),
        tolerable=True,
    ),
    Rule(
        "terminals",
        "Terminals have names that differ on their level, and members that are variables, "
        "with names that differ",
        ("2.3", "2.4.9.2"),
        tolerable=True,
    ),
)


RULES: dict[str, Rule] = {rule.key: rule for rule in _ALL}
