"""The TOML file and its data, read into a problem."""
