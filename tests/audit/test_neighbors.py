"""Which tables are neighbours, under every unit and relation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pandas_dp import ArgumentValueError
from pandas_dp.audit.neighbors import check_pair
from pandas_dp.session.opening import privacy_unit

ROWS = pd.DataFrame({"u": ["a", "a", "b", None], "x": [1.0, 2.0, np.nan, 4.0]})


def changed(place: int, **cells: Any) -> pd.DataFrame:
    made = ROWS.copy()
    for name, cell in cells.items():
        made.loc[place, name] = cell
    return made


def rows(*places: int) -> pd.DataFrame:
    return ROWS.iloc[list(places)]


FULL = rows(0, 1, 2, 3)
TABLES = {
    "one row fewer": rows(0, 1, 2),
    "another order": rows(3, 2, 1, 0),
    "one row fewer, another order": rows(3, 1, 0),
    "one row twice": rows(0, 1, 2, 3, 3),
    "two rows fewer": rows(2, 3),
    "three rows fewer": rows(3),
    "a value changed": changed(0, x=9.0),
    "a value went missing": changed(3, x=np.nan),
    "two values of a unit changed": changed(0, x=9.0).assign(x=[8.0, 9.0, np.nan, 4.0]),
    "two values of two units changed": changed(0, x=9.0).assign(x=[8.0, 2.0, 9.0, 4.0]),
    "a unit has another name": ROWS.replace({"u": {"b": "c"}}),
    "a row moves to another unit": changed(0, u="b"),
}
ONE_ROW = {
    "add_remove": {"one row fewer", "one row fewer, another order", "one row twice"},
    "replace_one": {
        "a value changed",
        "a value went missing",
        "a unit has another name",
        "a row moves to another unit",
    },
}
ONE_UNIT = {
    "add_remove": {"one row fewer", "one row fewer, another order", "two rows fewer"},
    "replace_one": {
        "one row twice",
        "a value changed",
        "a value went missing",
        "two values of a unit changed",
        "a unit has another name",
    },
}
CASES = [
    (name, relation, unit, name in near[relation])
    for unit, near in ((None, ONE_ROW), ("u", ONE_UNIT))
    for relation in near
    for name in TABLES
]


@pytest.mark.parametrize(("name", "relation", "unit", "right"), CASES)
def test_neighbors(name: str, relation: str, unit: str | None, right: bool):
    """Rows without a unit are taken for one of their own."""
    terms = privacy_unit(unit, None if unit is None else 5, None, None, relation)
    for pair in ((FULL, TABLES[name]), (TABLES[name], FULL)):
        if right:
            assert check_pair(*pair, terms)[1] is pair[1]
        else:
            with pytest.raises(ArgumentValueError, match=r"table and neighbor (must|hold the same rows)"):
                check_pair(*pair, terms)


def test_cells_that_are_no_scalars_are_compared_too():
    lists = pd.DataFrame({"x": [[1, 2], [3], {"a": 1}]})
    assert check_pair(lists, lists.iloc[1:], privacy_unit(None, None, None, None, "add_remove"))
    with pytest.raises(ArgumentValueError, match="hold the same rows"):
        check_pair(lists, lists.copy(), privacy_unit(None, None, None, None, "add_remove"))


def test_a_table_without_rows_has_neighbours():
    check_pair(FULL.iloc[:0], FULL.iloc[:1], privacy_unit(None, None, None, None, "add_remove"))
