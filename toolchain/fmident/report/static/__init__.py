"""The plots of a result as files for papers, made from its folder."""

from fmident.report.static.files import FORMATS, write_files
from fmident.report.static.pictures import write_pictures

__all__ = ["FORMATS", "write_files", "write_pictures"]
