"""What is known of an estimate: uncertainty, combinations, jumps, bounds, delays."""
