"""Sections of the pages: functions that return HTML, empty where there is nothing to show."""

from fmident.report.sections.html import Block, Figure, Section, Table, Text

__all__ = ["Block", "Figure", "Section", "Table", "Text"]
