"""The plots of a result as files for papers, made from its folder.

``signals`` reads back what ``result.json`` does not hold, ``pictures`` draws.
"""

from fmident.report.static.pictures import FORMATS, write_pictures

__all__ = ["FORMATS", "write_pictures"]
