"""The version of fmident: at the bottom, so that every layer may ask for it."""

__version__ = "0.2.0.dev0"
