"""FMI 2.0: its instances, its Co-Simulation."""
