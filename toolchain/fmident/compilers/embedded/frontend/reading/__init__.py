"""Modelica source to the syntax tree of the flat model, using rumoca."""
