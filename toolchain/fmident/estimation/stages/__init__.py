"""Successive stages, and the propagation of uncertainty between them."""
