"""Releases in notebooks. Keys, names and notes are text of others: everything is escaped."""

from __future__ import annotations

from html import escape

import pandas as pd

MUTED = "color: #666; font-size: 90%"


def scalar_html(text: str, facts: list[str]) -> str:
    """Show one answer above its facts.

    Examples
    --------
    >>> scalar_html("<b>", ["epsilon 1"])
    "<div><strong>&lt;b&gt;</strong><div style='color: #666; font-size: 90%'>epsilon 1</div></div>"
    """
    return f"<div><strong>{escape(text)}</strong>{_facts(facts)}</div>"


def table_html(table: pd.DataFrame, facts: list[str]) -> str:
    """Show a table above its facts, with as many rows as pandas would show."""
    shown = table.to_html(max_rows=pd.get_option("display.max_rows"), escape=True, notebook=True)
    return f"<div>{shown}{_facts(facts)}</div>"


def _facts(facts: list[str]) -> str:
    return f"<div style='{MUTED}'>{'<br>'.join(escape(fact) for fact in facts)}</div>"
