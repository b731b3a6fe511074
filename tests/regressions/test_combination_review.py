"""What a review of found combinations and of blocks of groups brought to light: no row's cells show in another row's answer.

Prices are such that noise changes a count with probability below 1e-21: see `tests/contract/test_key_questions.py`.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.columns import view
from support.frames import protected

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys, decoded
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics import blocks as module
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.engines.encode import stored
from pandas_dp.engines.pandas import PandasView

SURE = {"epsilon": 50, "delta": 1e-9}
STAMP, SPAN = pd.Timestamp, pd.Timedelta


def objects(cells) -> pd.Series:
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.Series(column, dtype=object)


# What a block shows of its categories


def shown(column: pd.Series, rows: int) -> list:
    """What the first rows of a column look like in a block of their own."""
    seen: list = []
    block = np.where(np.arange(len(column)) < rows, 0, 1)
    PandasView(pd.DataFrame({"c": column}), {}).block_results(lambda part: seen.append(part["c"].tolist()), block, 2)
    return [(type(cell), repr(cell), getattr(cell, "unit", None)) for cell in seen[0]]


@pytest.mark.parametrize(
    ("cells", "other"),
    [
        ([1, 2], 1.5),
        ([1, 2], 1j),
        ([2**53 + 1, 2**53], 0.5),
        ([True, False], 1.5),
        ([STAMP("2020-01-01")], STAMP("2020-01-01 00:00:00.000000001")),
        ([datetime(2020, 1, 1)], "text"),
        ([date(2020, 1, 1)], "text"),
        ([SPAN(1, "h")], SPAN(1, "ns")),
        ([pd.Interval(1, 2)], pd.Interval(1.5, 2)),
        ([np.str_("a")], 1),
        ([pd.Period("2020", "Y")], 1),
    ],
)
def test_a_category_of_another_block_does_not_show(cells, other):
    """Pandas writes 1 as 1.0 where another row holds 1.5: a function of one block saw it in every other block."""
    assert shown(pd.Series(pd.Categorical([*cells, other])), len(cells)) == shown(
        pd.Series(pd.Categorical(cells)), len(cells)
    )


@pytest.mark.parametrize(
    ("cell", "equal"),
    [
        (1, True),
        (True, 1),
        (0.0, -0.0),
        (Decimal(1), 1),
        ((1, 2), (1.0, 2.0)),
        (STAMP("2020", tz="UTC"), STAMP("2020-01-01 01:00", tz="Europe/Berlin")),
    ],
)
def test_an_equal_category_that_another_row_holds_first_does_not_show(cell, equal):
    listed = [pd.Series(pd.Categorical.from_codes([0, 0], objects([first]))) for first in (cell, equal)]
    assert shown(listed[0], 1) == shown(listed[1], 1)


def test_one_row_changes_one_block_of_categories(monkeypatch):
    """The whole of it, as a natural function reads codes of a category: 25 of 25 results changed."""
    monkeypatch.setattr(module, "_random_blocks", lambda count, blocks, fill: np.arange(count) % blocks)
    statistic = BlockResults(lambda d: float((d["code"].astype(str) == "1.0").mean()), Lattice.between(0, 1, 8), 25)
    one, two = (
        statistic.values(PandasView(pd.DataFrame({"code": pd.Categorical(cells)}), {}), PrivacyUnit())
        for cells in ([1, 2] * 50, [1, 2] * 50 + [1.5])
    )
    assert (one != two).sum() <= 1


def test_categories_in_blocks_keep_their_values():
    cells = [
        1,
        2.5,
        "a",
        None,
        SPAN(1, "h"),
        STAMP("2020-01-01"),
        pd.Interval(0, 1),
        b"x",
        1j,
        ("a", 1),
        date(2020, 1, 1),
    ]
    column = pd.Series(
        pd.Categorical.from_codes([*range(3), -1, *range(3, 10)], objects([c for c in cells if c is not None]))
    )
    seen: list = []
    block = np.zeros(len(cells), dtype=np.intp)
    PandasView(pd.DataFrame({"c": column}), {}).block_results(lambda part: seen.append(part["c"].tolist()), block, 1)
    assert seen == [[*cells[:-1], STAMP("2020-01-01")]]  # numpy finds a date and its midnight equal to one and the same


def test_nested_cells_do_not_show_how_the_table_is_stored():
    """A block of all rows kept the chunks of Arrow, and a whole number beside a missing one in its chunk was a float."""
    kind = pa.struct([("a", pa.int64())])
    chunks = [pa.array([cell], type=kind) for cell in ({"a": 1}, {"a": None}, {"a": 2})]
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks)))
    assert shown(column.iloc[:2], 2) == shown(column, 2)


# Cells with code of their own


class Exits:
    def __hash__(self) -> int:
        raise SystemExit


class ExitsWhenCompared(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise SystemExit

    __hash__ = str.__hash__


class NeverCompared(float):
    """A number that cannot say whether it is missing."""

    def __ne__(self, other: object) -> bool:
        raise ValueError("a cell")

    __eq__ = __ne__
    __hash__ = float.__hash__


class NeverComparedDecimal(Decimal):
    def __ne__(self, other: object) -> bool:
        raise SystemExit

    __eq__ = __ne__
    __hash__ = Decimal.__hash__


ODD = [Exits(), ExitsWhenCompared("b"), NeverCompared(1), NeverComparedDecimal(1)]
ASKED = {
    "found sizes": lambda q: q.groupby(["a", "b"]).size(),
    "found sums": lambda q: q.groupby(["a", "b"])["cost"].sum(bounds=(0, 1)),
    "found keys": lambda q: q.unique(["a", "b"]),
    "listed sizes": lambda q: q.groupby(["a", "b"], keys={"a": ["x", "y"], "b": ["u"]}).size(),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("cell", ODD, ids=lambda cell: type(cell).__name__)
def test_a_cell_whose_code_fails_makes_no_query_fail(ask, cell):
    """Such a row made the query fail after its charge, which told that it was there."""
    answers = []
    for more in ([], [cell]):
        column = objects(["x", "y"] * 20 + more)
        frame = pd.DataFrame({"a": column, "b": objects(["u"] * len(column)), "cost": 1})
        answers.append(ask(protected(frame, epsilon=10**4, delta=1e-4).dp(epsilon=2000, delta=1e-9)).value.round())
    assert answers[0].equals(answers[1])


def test_a_cell_whose_code_fails_has_no_unit_and_changes_no_other_unit():
    for cell in (Exits(), NeverCompared(1), NeverComparedDecimal(1)):
        codes, count = view(objects(["x", cell, "y", "x", None])).units("x")
        assert codes.tolist() == [0, -1, 1, 0, -1]
        assert count == 2


# Keys that cannot be told, or named


def test_a_category_that_pandas_may_round_is_no_key():
    """Beside 0.5 pandas writes 2**53 + 1 as 2**53: one row renamed, and merged, the keys of all others."""
    big = [2**53 + 1, 2**53, 2**53 - 1, -(2**53) + 1]
    found = []
    for more in ([], [0.5]):
        codes, _, names = view(pd.Series(pd.Categorical([*big, *more]))).keys("x")
        found.append([None if code < 0 else names(np.array([code]))[0] for code in codes[:4].tolist()])
    assert found == [[None, None, 2**53 - 1, -(2**53) + 1]] * 2


@pytest.mark.parametrize("other", [0.5, 1j, "text", 2**70, -1])
def test_a_listed_key_that_pandas_may_round_holds_no_row_of_categories(other):
    keys = (2**53 + 1, 2**53, 2**53 - 1, 2**63)
    cells = [*keys, -(2**53)]
    alone, beside = (pd.Series(pd.Categorical(listed)) for listed in (cells, [*cells, other]))
    for column in (alone, beside):
        assert decoded(*stored(column).coded(Keys("x", (*keys, -(2**53))))).tolist()[:5] == [-1, -1, 2, -1, -1]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_ends_of_time_in_a_zone_are_no_keys(zone):
    """They have no label there: the query failed after its charge."""
    ticks = np.array([-(2**63) + 1, 2**63 - 2, 0] * 40)
    days = pd.Series(ticks.view("M8[ns]")).dt.tz_localize("UTC").dt.tz_convert(zone)
    frame = protected(pd.DataFrame({"day": days, "b": ["u"] * 120}), epsilon=10**4, delta=1e-4)
    assert frame.dp(**SURE).groupby(["day", "b"]).size().to_dict() == {(STAMP(0, tz="UTC").tz_convert(zone), "u"): 40}
    assert len(frame.dp(**SURE).unique("day")) == 1
