"""One stage after the other, and what their intervals count of each other."""
