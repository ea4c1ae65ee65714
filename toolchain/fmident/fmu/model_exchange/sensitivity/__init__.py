"""Exact sensitivities of Model Exchange FMUs, by the variational equation."""
