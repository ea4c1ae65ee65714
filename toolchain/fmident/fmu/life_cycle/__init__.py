"""Life cycle of instances: reuse, replacement, trials."""
