"""Model description of an FMU."""
