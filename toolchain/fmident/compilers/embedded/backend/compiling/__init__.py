"""Compile C sources to the binaries of an FMU."""
