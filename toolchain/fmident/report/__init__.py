"""Results for people and programs: terminal, JSON, tables, HTML.

:func:`~fmident.report.terminal.result_text` returns the text for a terminal, and
:func:`~fmident.report.folder.write_reports` fills the result folder with the registered
reporters.
"""
