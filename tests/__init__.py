"""Tests, in packages as those of fmident."""

import os

# Several workers share the processors, and a second thread for small matrices then costs many
# times more. NumPy reads this when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
