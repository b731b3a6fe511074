"""All that a function can see of a block, and small tables on which it would see traces of other rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

COLUMNS = ["unit", "whole", "number", "text", "category", "date", "truth"]
CELLS = st.tuples(
    st.sampled_from([0, 1, 2**40]),
    st.sampled_from([np.nan, np.inf, 0.5]),
    st.sampled_from([None, "a", "new"]),
    st.sampled_from([None, "x", "only here"]),
    st.sampled_from([pd.NaT, pd.Timestamp("2013-01-01"), pd.Timestamp("1900-01-01 00:00:00.123456")]),
    st.sampled_from([None, True, False]),
)


def frame(rows: list[tuple], categories: str) -> pd.DataFrame:
    """A frame whose dtypes, categories, labels and attrs depend on all of its rows."""
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["category"] = table["category"].astype("category")
    table["truth"] = table["truth"].astype("boolean")
    if table["whole"].max() < 100:
        table["whole"] = table["whole"].astype("int8")
    table.index = [f"{categories} {i} of {len(rows)}" for i in range(len(rows))]
    table.attrs["rows"] = len(rows)
    return table


def facts(block: pd.DataFrame) -> str:
    """All that a function can see of a block: labels, dtypes, categories, attrs, cells, memory layout."""
    column = block["category"]
    return repr(
        (
            block.dtypes.tolist(),
            block.index.tolist(),
            block.attrs,
            column.cat.categories.tolist() if hasattr(column, "cat") else None,
            [type(cell).__name__ for cell in block.to_numpy(dtype=object).ravel()],
            block.to_numpy(dtype=object).tolist(),
            [block[name].to_numpy().base is not None and block[name].to_numpy().base.size for name in block],
        )
    )
