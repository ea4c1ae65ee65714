"""The checks: each takes a subject and raises when it does not do what it must.

A module's functions whose names begin with ``check_`` are its checks; the first line of their
docstrings says what is checked.
"""
