"""Compilers that turn a Modelica class into an FMU."""
