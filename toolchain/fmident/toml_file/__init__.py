"""Reading TOML files so that every mistake is answered with its line.

``text`` parses, ``locate`` finds lines, ``section`` reads typed values and refuses unknown
keys.
"""

from fmident.toml_file.section import Section, Source
from fmident.toml_file.text import parse_toml

__all__ = ["Section", "Source", "parse_toml"]
