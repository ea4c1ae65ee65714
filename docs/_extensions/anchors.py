"""The anchors of headings, as links of these pages and of other repositories name them."""

from __future__ import annotations

import re


def slug(heading: str) -> str:
    """Return the anchor of a heading: words in lower case, joined by single hyphens."""
    plain = re.sub(r"[^\w\s-]", "", heading).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)
