"""Icons and diagrams of Modelica classes from their annotations, as SVG."""
