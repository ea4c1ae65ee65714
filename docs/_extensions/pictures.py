"""Pictures for light and for dark pages: ``NAME.svg`` has a twin ``NAME-dark.svg`` beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class Twins(SphinxTransform):
    """Adds to a picture that has a twin the one that dark pages show."""

    default_priority = 200  # before Sphinx collects the images

    def apply(self, **_: Any) -> None:
        """Add the twins."""
        page = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            name = image["uri"]
            dark = name.removesuffix(".svg") + "-dark.svg"
            if not name.endswith(".svg") or not (page / dark).exists():
                continue
            twin = image.copy()
            twin["uri"] = dark
            image["classes"] = [*image["classes"], "only-light"]
            twin["classes"] = [*twin["classes"], "only-dark"]
            image.parent.insert(image.parent.index(image) + 1, twin)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_transform(Twins)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
