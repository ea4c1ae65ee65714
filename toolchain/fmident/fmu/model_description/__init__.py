"""What an FMU says of itself."""
