"""A result as people and programs read it: terminal, JSON, tables, HTML.

:func:`~fmident.report.terminal.summary` gives the text for a terminal,
:func:`~fmident.report.folder.write_reports` fills the result folder through the
reporters that plugins registered.
"""
