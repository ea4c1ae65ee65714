"""Exact derivatives, differences with steps from measured noise, and their verification."""
