"""Communication with omc."""
