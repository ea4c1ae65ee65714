"""The conformance checks, which raise if their subject does not conform.

They are the functions whose names begin with ``check_``; the first lines of their
docstrings describe what is checked.
"""
