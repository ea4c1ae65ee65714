"""Exact sensitivities of Model Exchange FMUs: the variational equation beside the states.

Reading order: ``variations`` (one setup), ``columns`` (what is integrated), ``shifted`` (instances
with shifted parameters), ``variation_step`` (compiled: the equation over one step), ``saltation``
(events).
"""
