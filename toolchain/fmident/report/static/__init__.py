"""The plots of a result as files for papers, made from its folder."""

from fmident.report.static.pictures import FORMATS, write_pictures, write_profile_pictures

__all__ = ["FORMATS", "write_pictures", "write_profile_pictures"]
