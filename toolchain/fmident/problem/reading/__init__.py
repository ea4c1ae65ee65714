"""Reading the TOML file and its data into a problem."""
