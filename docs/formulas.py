"""Formulas as MathML, which browsers set themselves: nothing is loaded from elsewhere, and no LaTeX is needed to build."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml


def inline(writer: Any, node: nodes.math) -> None:
    """A formula within a line; one that cannot be read ends the build."""
    writer.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """A formula on a line of its own."""
    formula = latex2mathml.tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer `mathml` to Sphinx."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
