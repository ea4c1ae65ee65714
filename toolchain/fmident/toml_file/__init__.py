"""Reading TOML files so that every mistake is answered with its line.

``text`` parses, ``locate`` finds lines, ``section`` reads typed values and refuses unknown
keys, ``options`` turns a table into a dataclass, ``option_table`` describes
one.
"""

from fmident.toml_file.options import build_dataclass
from fmident.toml_file.printing import encoded, quoted
from fmident.toml_file.section import Section, Source
from fmident.toml_file.text import NotTomlError, loads, parse_toml

__all__ = [
    "NotTomlError",
    "Section",
    "Source",
    "build_dataclass",
    "encoded",
    "loads",
    "parse_toml",
    "quoted",
]
