"""Sections of the pages: each has its data, its plot and its text in one module.

``content`` is what plugins build theirs from, ``html`` turns templates into text. A section is a
function that returns HTML, empty where there is nothing to show.
"""

from fmident.report.sections.content import Block, Figure, Section, Table, Text

__all__ = ["Block", "Figure", "Section", "Table", "Text"]
