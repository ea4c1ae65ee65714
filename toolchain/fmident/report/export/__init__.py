"""Export of identified values to modelling tools: Modelica text and SSV."""

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
