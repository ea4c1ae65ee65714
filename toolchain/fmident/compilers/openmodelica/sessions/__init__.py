"""How omc is asked, and what it answers."""
