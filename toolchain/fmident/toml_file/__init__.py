"""Reading TOML files so that every mistake is answered with its line.

``locate`` finds lines, ``section`` reads typed values and refuses unknown keys.
"""

from fmident.toml_file.section import Section, Source

__all__ = ["Section", "Source"]
