"""The checks, one module each."""
