"""Plugins that are part of fmident."""
