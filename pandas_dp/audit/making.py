"""Pairs of neighbours that are worth an audit, made of one table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.audit.neighbors import check_made_up
from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.session import opening

LINE = "pandas_dp.audit.pairs(table, unit='patient_id')"


@example(LINE)
def pairs(
    table: pd.DataFrame, *, unit: str | None = None, neighbors: str = "add_remove"
) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Make neighbours of a made-up table: each is a pair for ``check``, named by what differs.

    Parameters
    ----------
    table : DataFrame
        Made up. Values at the bounds of a question show most: append rows that have them.
    unit : str, optional
        Column that says whose row it is; None: every row is a unit of its own.
    neighbors : {"add_remove", "replace_one"}

    Returns
    -------
    dict of (DataFrame, DataFrame)
        The table and, under add_remove, the table without the unit of its first and last row and of the least and largest
        value of each column of numbers or dates; under replace_one, the table whose last unit has that row's content.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also where the table is protected.

    Notes
    -----
    A claim holds for all pairs, and these are a few of them. With each pair that is audited, false alarms add up.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> table = pd.DataFrame({"age": [20, 90, 40], "sex": ["f", "m", "f"]})
    >>> for name, (one, other) in pandas_dp.audit.pairs(table).items():
    ...     print(name, len(one), len(other))
    first row 3 2
    last row 3 2
    largest 'age' 3 2
    """
    bounded = opening.privacy_unit(unit, None if unit is None else 1, None, None, neighbors)
    check_made_up(table, "table", bounded, LINE)
    if table.empty:
        raise ArgumentValueError(f"table must have rows: {LINE}")
    made: dict[str, tuple[pd.DataFrame, pd.DataFrame]] = {}
    for name, place in _places(table, unit).items():
        neighbor = _without(table, place, unit) if bounded.add_remove else _replaced(table, place, unit)
        same = any(neighbor.equals(other) for _, other in made.values())
        if not neighbor.equals(table) and not same:
            made[name] = table, neighbor
    return made


def _places(table: pd.DataFrame, unit: str | None) -> dict[str, int]:
    """Rows that stand out, by what they do it by."""
    places = {"first row": 0, "last row": len(table) - 1}
    for column in table.columns:
        values = table[column]
        ordered = pd.api.types.is_numeric_dtype(values.dtype) or values.dtype.kind in "mM"
        if column != unit and ordered and values.notna().any():
            ranks = values.rank().to_numpy(dtype=float, na_value=np.nan)  # shape (rows,)
            places |= {f"least {column!r}": int(np.nanargmin(ranks)), f"largest {column!r}": int(np.nanargmax(ranks))}
    return places


def _owned(table: pd.DataFrame, place: int, unit: str | None) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The rows of the unit of one row, shape (rows,); rows without a unit belong together."""
    if unit is None:
        return np.asarray(np.arange(len(table)) == place)
    codes = pd.factorize(table[unit])[0]
    return np.asarray(codes == codes[place])


def _without(table: pd.DataFrame, place: int, unit: str | None) -> pd.DataFrame:
    return table[~_owned(table, place, unit)]


def _replaced(table: pd.DataFrame, place: int, unit: str | None) -> pd.DataFrame:
    """The table whose last unit has another row's content in each of its rows."""
    taken = np.where(_owned(table, len(table) - 1, unit), place, np.arange(len(table)))  # shape (rows,)
    made = table.iloc[taken].set_axis(table.index)
    return made if unit is None else made.assign(**{unit: table[unit]})
