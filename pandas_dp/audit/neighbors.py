"""Pairs of made-up tables: whether they differ in one unit, and in nothing else that is public."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import pandas as pd

from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.session import registry
from pandas_dp.session.mock import PracticeSession
from pandas_dp.tables.frames import check_frame, elsewhere

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
            f"{name} is a protected table, or was made of one or of its files, and an audit shows what it holds. Audit with "
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
        changed = {owner for owner, _ in gone} | {owner for owner, _ in come}
        only = [changed - owners[1], changed - owners[0]]  # those of one side alone
        right = len(changed) == 1 and (not unit.add_remove or bool(only[0] or only[1]))
        if not unit.add_remove:
            right = (len(changed) == 1 and not only[0] and not only[1]) or (
                len(changed) == 2 and len(only[0]) == len(only[1]) == 1
            )
    if not right:
        change = (
            "be the same but for one {} that one of them lacks"
            if unit.add_remove
            else "differ in the content of one {}"
        )
        other = "replace_one" if unit.add_remove else "add_remove"
        raise ArgumentValueError(
            f"table and neighbor must {change.format(whose)}, the relation being {unit.relation.value!r}: {LINE}, or "
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
