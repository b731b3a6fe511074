"""Columns of odd cells and of many chunks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa


def column(array: object) -> pd.DataFrame:
    return pd.DataFrame({"x": array})


def objects(*cells: object) -> pd.Series:
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return pd.Series(array, dtype=object)


def arrow(*chunks: pa.Array) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks)))
