"""Notebooks as pages of the site: every kind of output is shown, and nothing in one ends its block."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("myst_parser")
sys.path.append(str(Path(__file__).parent.parent / "docs"))

from notebook_pages import cell_text


def shown(**output):
    return cell_text({"cell_type": "code", "source": ["1 + 1\n", "2"], "outputs": [output]})


def test_a_cell_is_its_source_and_below_it_what_it_showed():
    assert shown(name="stdout", text=["a\n", "b\n"]) == (
        "``````python\n1 + 1\n2\n``````\n\n``````{code-block} text\n:class: shown\na\nb\n``````"
    )


def test_html_is_preferred_to_text():
    page = shown(data={"text/html": ["<b>3</b>"], "text/plain": ["3"]})
    assert '``````{raw} html\n<div class="shown"><b>3</b></div>\n``````' in page
    assert "code-block" not in page


def test_pictures_stand_in_the_page_itself():
    picture = shown(data={"image/png": "QUJD\nREVG", "text/plain": ['<Figure "a">']})
    assert '<img alt="&lt;Figure &quot;a&quot;&gt;" src="data:image/png;base64,QUJDREVG">' in picture
    words = {
        "cell_type": "markdown",
        "source": ["![x](attachment:a.png)"],
        "attachments": {"a.png": {"image/png": "QUJD"}},
    }
    assert cell_text(words) == "![x](data:image/png;base64,QUJD)"


def test_refusals_are_shown_without_colours_and_may_wrap():
    page = shown(output_type="error", traceback=["\x1b[0;31mline 1\x1b[0m", "ArgumentValueError: no"])
    assert "``````{code-block} text\n:class: shown refusal\nline 1\nArgumentValueError: no\n``````" in page
