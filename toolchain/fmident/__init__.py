"""Identify the parameters of Modelica models from measured data."""

__version__ = "0.1.0"
