"""Structures and lists of Arrow in the type that is declared, field by field and entry by entry.

Arrow takes the type of a part of a table from its cells. For all columns: whether a field or an entry is there follows from its
own row alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Conform = Callable[["pd.Series[Any]", Any], "pd.Series[Any]"]


def by_parts(column: pd.Series[Any], dtype: Any, conform: Conform) -> pd.Series[Any] | None:
    """A column of structures or lists; None where it is none, or is declared to be none.

    Parameters
    ----------
    column : Series
    dtype : dtype
        The declared one.
    conform : callable
        Puts a column of fields or entries into a dtype, cell by cell.
    """
    held: Any = getattr(dtype, "pyarrow_dtype", None)
    own: Any = getattr(column.dtype, "pyarrow_dtype", None)
    if None in (held, own) or not any(kind(held) and kind(own) for kind in (_is_list, pa.types.is_struct)):
        return None

    def part(cells: Any, wanted: pa.DataType) -> Any:
        column: Any = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([cells])))
        found: Any = conform(column, pd.ArrowDtype(wanted))
        return pa.chunked_array(found.array.__arrow_array__()).combine_chunks()

    array: Any = column.array
    cells = pa.chunked_array(array.__arrow_array__()).combine_chunks()
    if _is_list(held):
        sizes = pc.list_value_length(cells).fill_null(0).to_numpy(zero_copy_only=False)
        ends = pa.array(np.append(0, np.cumsum(sizes)), pa.int64())
        entries = part(pc.list_flatten(cells), held.value_type)
        made = pa.LargeListArray.from_arrays(ends, entries, mask=cells.is_null()).cast(held)
    else:
        places = [own.get_field_index(field.name) for field in held]
        fields = [
            part(pc.struct_field(cells, [place]) if place >= 0 else pa.nulls(len(cells), field.type), field.type)
            for place, field in zip(places, held, strict=True)
        ]
        made = pa.StructArray.from_arrays(fields, fields=list(held), mask=cells.is_null())
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([made])))


def _is_list(held: pa.DataType) -> bool:
    return bool(pa.types.is_list(held) or pa.types.is_large_list(held))
