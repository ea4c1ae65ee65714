"""Pictures of Modelica classes from their annotations."""
