"""What notebooks show. Keys, names and notes are text of others: everything is escaped.

Colours are those of the page around, whatever its theme: text as it is or paler, and one accent that stands out on white
and on black.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import pandas as pd

from pandas_dp.report.plots import Column
from pandas_dp.report.row_charts import ACCENT, row_charts, scale, scale_words
from pandas_dp.report.text import hidden_columns, most_columns

MOST_CHARTED = 2  # columns: of a wider table the numbers alone have room on a page
MUTED = "opacity: .75; font-size: 90%"
# stands for a chart while pandas writes and escapes the table: characters that no text has by chance
MARK, MARKED = "\ue000{}\ue001", re.compile("\ue000([0-9]{1,9})\ue001")
Facts = Sequence[str | tuple[str, str]]
"""Lines below an answer; pairs are a name and what it is."""


def scalar_html(text: str, facts: Facts) -> str:
    """Show one answer above its facts.

    Examples
    --------
    >>> scalar_html("<b>", ["epsilon 1"])
    "<div><strong>&lt;b&gt;</strong><div style='opacity: .75; font-size: 90%'>epsilon 1</div></div>"
    """
    return f"<div><strong>{escape(text)}</strong>{_facts(facts)}</div>"


def table_html(table: pd.DataFrame, facts: Facts, drawn: Sequence[Column] = ()) -> str:
    """Show a table above its facts, with as many rows as pandas would show, and a small chart in each row.

    Parameters
    ----------
    table : DataFrame
    facts : sequence
    drawn : sequence of Column
        The columns of the table, in its order, each with its ends where they are known; a few are charted.
    """
    shown, most = table.copy(deep=False), pd.get_option("display.max_rows")
    charts: list[str] = []
    place = 0
    for _, values, lower, upper in drawn if len(drawn) <= MOST_CHARTED else ():
        place += 1 if lower is None else 3
        ends, made = scale(values, lower, upper), row_charts(values, lower, upper, most)
        if ends is not None and made is not None:
            above = shown.columns[place - 1]
            words = scale_words(ends, values)
            name = (*above[:-1], words) if isinstance(above, tuple) else words
            shown.insert(place, name, [MARK.format(len(charts) + i) for i in range(len(made))], allow_duplicates=True)
            charts, place = charts + made, place + 1
    text = shown.to_html(max_rows=most, max_cols=most_columns(), escape=True, notebook=True)
    text = MARKED.sub(lambda found: charts[int(found[1])] if int(found[1]) < len(charts) else "", text)
    return f"<div>{text}{_facts([*hidden_columns(shown), *facts])}</div>"


def bar_html(share: float, text: str) -> str:
    """Show how much of something is used.

    Parameters
    ----------
    share : float
        Between 0 and 1.
    text : str
        The same for those who do not see it.
    """
    return (
        f"<div role='img' aria-label='{escape(text, quote=True)}' style='max-width: 30em; height: .7em; margin: .4em 0; "
        f"border: 1px solid {ACCENT}; border-radius: .35em; overflow: hidden'>"
        f"<div style='width: {100 * min(max(share, 0.0), 1.0):.1f}%; height: 100%; background: {ACCENT}'></div></div>"
    )


def _facts(facts: Facts) -> str:
    lines = (escape(f) if isinstance(f, str) else f"<em>{escape(f[0])}</em> {escape(f[1])}" for f in facts)
    return f"<div style='{MUTED}'>{'<br>'.join(lines)}</div>"
