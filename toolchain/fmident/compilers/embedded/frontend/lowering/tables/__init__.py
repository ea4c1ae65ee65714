"""Lookup tables of the Modelica Standard Library: the meaning of its external functions."""
