"""FMI 3.0: model description with arrays, instances, Co-Simulation."""
