"""Which entries of a column of Arrow are missing, in types that say so by the values that others of them stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


def nulls_in(cells: Any) -> Mask:
    """Which entries of an array are null, by the value that each stands for.

    For all arrays. Runs, unions and dictionaries may keep no nulls of their own: older versions of Arrow then call no entry
    null, whatever it stands for, and mistake the entries of a union that does not start at its first one. Of a dictionary that
    lists a null, pandas says what that is by whether another cell is missing.
    """
    held, first, last = cells.type, cells.offset, cells.offset + len(cells)
    if pa.types.is_dictionary(held):
        places = cells.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        listed = np.append(nulls_in(cells.dictionary), True)  # the last for entries without a place
        return np.asarray(listed.take(places.astype(np.int64), mode="wrap"))
    if pa.types.is_run_end_encoded(held):
        runs = np.searchsorted(cells.run_ends.to_numpy(), np.arange(first, last), side="right")
        return nulls_in(cells.values).take(runs)
    if not pa.types.is_union(held) or not len(cells):
        return np.asarray(cells.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    codes, *offsets = cells.buffers()[1 : 2 + (held.mode == "dense")]
    places = np.frombuffer(offsets[0], np.int32)[first:last] if offsets else np.arange(len(cells))
    missing, codes = np.empty(len(cells), dtype=bool), np.frombuffer(codes, np.int8)[first:last]
    for number, code in enumerate(held.type_codes):
        missing[codes == code] = nulls_in(cells.field(number)).take(places[codes == code])
    return missing
