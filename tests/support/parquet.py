"""Tables in Parquet files, cut in ways that must not matter."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def write(frame: pd.DataFrame, folder: Path, cuts: Sequence[int] = (), group: int = 1000) -> str:
    """Files of the rows between cuts, in groups of so many rows; a pattern that they match."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = pa.Table.from_pandas(frame, preserve_index=False)
    for place, (first, last) in enumerate(pairwise([0, *cuts, len(frame)])):
        pq.write_table(whole.slice(first, last - first), folder / f"{place:03}.parquet", row_group_size=group)
    return str(folder / "*.parquet")
