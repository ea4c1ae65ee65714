"""Coloured noise: models, tests, and the covariance of estimates."""
