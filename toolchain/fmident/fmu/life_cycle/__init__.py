"""Instances: their life, whether they can be used again, what a trial of them shows."""
