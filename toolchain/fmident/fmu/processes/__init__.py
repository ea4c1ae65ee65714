"""Child processes that contain the faults of an FMU, and their traces."""
