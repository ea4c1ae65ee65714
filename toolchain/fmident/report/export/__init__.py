"""Identified values in the forms that modelling tools read: Modelica text and SSV.

``values`` picks from a result what belongs to the model, ``tree`` sorts it into
components and arrays, then one module per form.
"""

from fmident.report.export.modelica import modifier, record
from fmident.report.export.ssv import FORMS, export_reporters, write_ssv
from fmident.report.export.values import ExportedValue, Exports, exported_values

__all__ = [
    "FORMS",
    "ExportedValue",
    "Exports",
    "export_reporters",
    "exported_values",
    "modifier",
    "record",
    "write_ssv",
]
