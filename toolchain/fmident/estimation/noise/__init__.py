"""Estimates with a model of the noise, which is estimated with the parameters."""
