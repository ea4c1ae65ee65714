"""The catalogue of FMUs."""
