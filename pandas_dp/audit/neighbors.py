"""Pairs of made-up tables: made of one table, and whether they differ in one unit and in nothing else that is public."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example
from pandas_dp.session import opening, registry
from pandas_dp.session.mock import PracticeSession
from pandas_dp.tables.frames import check_frame, elsewhere

PAIRS = "pandas_dp.audit.pairs(table, unit='patient_id')"
LINE = "check(question, table, table.iloc[:-1], epsilon=1)"


def check_pair(table: Any, neighbor: Any, unit: PrivacyUnit) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Check that two tables are made up, as far as can be known, and neighbours.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    for name, frame in (("table", table), ("neighbor", neighbor)):
        check_made_up(frame, name, unit, LINE)
    if list(table.columns) != list(neighbor.columns) or list(table.dtypes) != list(neighbor.dtypes):
        raise ArgumentTypeError(
            "table and neighbor must have the same columns in the same order with the same dtypes, which are public: "
            "neighbor = neighbor[table.columns].astype(table.dtypes)"
        )
    _check_neighbors(table, neighbor, unit)
    return table, neighbor


def check_made_up(frame: Any, name: str, unit: PrivacyUnit, line: str) -> None:
    """Refuse what is no table that can be audited, or may hold real data."""
    if not isinstance(frame, pd.DataFrame):
        raise ArgumentTypeError(f"{name} must be a DataFrame: {line}")
    check_frame(frame, unit)
    owners = [*registry.owners(frame), *filter(None, [elsewhere(frame, None)])]
    if any(not isinstance(session, PracticeSession) for session in owners):
        raise ArgumentValueError(
            f"{name} is a protected table, or was made from one or of its files, and an audit shows what it holds. Audit with "
            f"made-up tables: table = pandas_dp.mock(schema, rows=20), then {line}"
        )


def _check_neighbors(table: pd.DataFrame, neighbor: pd.DataFrame, unit: PrivacyUnit) -> None:
    """Refuse tables that are no neighbours under this unit and relation: nothing is claimed of them."""
    old, new = _rows(table, unit.column), _rows(neighbor, unit.column)
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    whose = "row" if unit.column is None else f"unit of {unit.column!r}"
    if not gone and not come:
        raise ArgumentValueError(f"table and neighbor hold the same rows; they must differ in one {whose}: {LINE}")
    if unit.column is None:
        right = sorted([gone.total(), come.total()]) == ([0, 1] if unit.add_remove else [1, 1])
    else:
        owners = [{owner for owner, _ in rows} for rows in (old, new)]  # of all rows, on each side
        changed = {owner for owner, _ in (*gone, *come)}
        alone = [len(changed - others) for others in reversed(owners)]  # owners of one side
        fitting = {(1, 1, 0), (1, 0, 1)} if unit.add_remove else {(1, 0, 0), (2, 1, 1)}
        right = (len(changed), *alone) in fitting
    if not right:
        change, other = f"differ in the content of one {whose}", "add_remove"
        if unit.add_remove:
            change, other = f"differ in exactly one {whose} that one of them lacks", "replace_one"
        raise ArgumentValueError(
            f"table and neighbor must {change}, the relation being {unit.relation.value!r}: {LINE}, or "
            f"name what they differ in: unit='patient_id', max_rows=10, neighbors={other!r}"
        )


def _rows(frame: pd.DataFrame, unit: str | None) -> list[tuple[Hashable, Hashable]]:
    """Owner and content of each row, in values that are equal where those are."""

    def hashed(part: pd.DataFrame) -> list[Hashable]:
        try:
            return list(pd.util.hash_pandas_object(part, index=False).tolist())
        except (TypeError, NotImplementedError):  # cells that are no scalars
            return [repr(row) for row in part.itertuples(index=False, name=None)]

    owners: list[Hashable] = [None] * len(frame) if unit is None else hashed(frame[[unit]])
    return list(zip(owners, hashed(frame), strict=True))


@example(PAIRS)
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
    check_made_up(table, "table", bounded, PAIRS)
    if table.empty:
        raise ArgumentValueError(f"table must have rows: {PAIRS}")
    made: dict[str, tuple[pd.DataFrame, pd.DataFrame]] = {}
    for name, place in _places(table, unit).items():
        neighbor = table[~_owned(table, place, unit)] if bounded.add_remove else _replaced(table, place, unit)
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


def _replaced(table: pd.DataFrame, place: int, unit: str | None) -> pd.DataFrame:
    """The table whose last unit has another row's content in each of its rows."""
    taken = np.where(_owned(table, len(table) - 1, unit), place, np.arange(len(table)))  # shape (rows,)
    made = table.iloc[taken].set_axis(table.index)
    return made if unit is None else made.assign(**{unit: table[unit]})
