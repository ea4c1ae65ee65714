"""A bootstrap as text, and as a result folder."""
