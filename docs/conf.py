"""Settings of the documentation: built offline from docstrings and Markdown, every link checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import figures  # noqa: E402

import pandas_dp  # noqa: E402

project = "pandas_dp"
author = "The pandas_dp developers"
copyright = "2026, The pandas_dp developers"
release = version = pandas_dp.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "formulas", "notebook_pages"]
exclude_patterns = ["_build", "_generated", "_templates"]
templates_path = ["_templates"]
nitpicky = True
# of Python's own docstrings of sequences
nitpick_ignore = [
    ("py:class", "integer -- return first index of value."),
    ("py:class", "integer -- return number of occurrences of value"),
]
default_role = "code"

# Docstrings state the types of parameters; those of signatures would be said twice.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "pandas_dp"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {"install": [], "tutorial": [], "calls": [], "index": []}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "pygments_light_style": "tango",
}


def setup(app: Any) -> None:
    """Draw what pages include: figures and the help texts of the command line."""
    figures.draw(HERE / "_generated")
    app.connect("source-read", figures.two_themes)
