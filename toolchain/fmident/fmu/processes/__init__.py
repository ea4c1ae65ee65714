"""Child processes in which an FMU may do what it wants, and what they leave."""
