"""FMI 2.0: instances and Co-Simulation."""
