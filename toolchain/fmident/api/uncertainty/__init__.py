"""What begins from an estimate and asks how sure it is, wired together."""
