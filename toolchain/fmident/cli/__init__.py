"""Command line."""


def main() -> int:
    """Run."""
    return 0
