"""Estimates with a noise model that is estimated together with the parameters."""
