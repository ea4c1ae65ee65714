"""Modelica class to FMU."""
