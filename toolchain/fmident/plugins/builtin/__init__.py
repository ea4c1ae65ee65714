"""Plugins that are part of the host."""
