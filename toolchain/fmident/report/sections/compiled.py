"""Templates as Jinja has compiled them, kept from one page to the next."""

from __future__ import annotations

import io
from pathlib import Path

from jinja2.bccache import Bucket, BytecodeCache

from fmident.report.kept import keep_bytes, kept_bytes


class CompiledTemplates(BytecodeCache):
    """A folder with a file for each template; unlike Jinja's own, it never ends a run.

    Parameters
    ----------
    folder
        Of one version of Jinja and one set of its options.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket, if its template is there as it was written."""
        content = kept_bytes(self._folder / bucket.key)
        if content is not None:
            bucket.load_bytecode(io.BytesIO(content))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write what the bucket holds."""
        stream = io.BytesIO()
        bucket.write_bytecode(stream)
        keep_bytes(self._folder / bucket.key, stream.getvalue())
