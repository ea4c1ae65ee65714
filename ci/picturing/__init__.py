"""Pictures of the documentation, each drawn from a run, once for light and once for dark pages."""
