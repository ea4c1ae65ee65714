"""``python -m fmident``."""

import sys

from fmident.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
