"""Formulas as MathML, which browsers draw by themselves: no script, and nothing is downloaded."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _mathml(formula: str, block: bool) -> str:
    """Return the formula, which is written in LaTeX, as an element ``math``."""
    tree = latex2mathml.tex2mathml(formula, as_block=block)
    return str(tree)


def _inline(visitor: Any, node: nodes.math) -> None:
    visitor.body.append(_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def _block(visitor: Any, node: nodes.math_block) -> None:
    visitor.body.append(f'<div class="math">{_mathml(node.astext(), block=True)}</div>')
    raise nodes.SkipNode
