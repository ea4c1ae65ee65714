"""Simulations in worker processes; ``child`` imports only the FMU engine to start quickly."""
