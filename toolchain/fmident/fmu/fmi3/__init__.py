"""FMI 3.0: its model description with arrays, its instances, its Co-Simulation."""
