"""Rules of the text of FMI 2.0.5 and 3.0.2, checked in an FMU's files; none of its code runs.

:mod:`.registry` lists the rules, each with its section of the standard. The other modules look
for what breaks them, one group of rules each.
"""

from __future__ import annotations

from fmident.validation.rules.document import NotReadableError
from fmident.validation.rules.examination import examine_fmu
from fmident.validation.rules.registry import RULES, Finding, Rule

__all__ = ["RULES", "Finding", "NotReadableError", "Rule", "examine_fmu"]
