"""From equations to explicit formulas: aliases, matching, order, solution of blocks."""
