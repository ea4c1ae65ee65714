"""Modelica source to the syntax tree of the flat model, by way of rumoca."""
