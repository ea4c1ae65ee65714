"""How a class presents itself: documentation, icon and connectors, from its annotations."""
