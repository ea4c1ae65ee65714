"""Reading TOML files so that every mistake is answered with its line.

``text`` parses and finds lines, ``section`` reads typed values and refuses unknown keys,
``options`` turns a table into a dataclass and describes one, ``overrides`` changes keys.
"""

from fmident.toml_file.section import Arguments, Section, Source, build_dataclass
from fmident.toml_file.text import (
    NotTomlError,
    document,
    encoded,
    loads,
    parse_toml,
    quoted,
    read_text,
)

__all__ = [
    "Arguments",
    "NotTomlError",
    "Section",
    "Source",
    "build_dataclass",
    "document",
    "encoded",
    "loads",
    "parse_toml",
    "quoted",
    "read_text",
]
