"""A prediction as text, and as a result folder."""
