"""Lists of categories that meet where partitions are put together decide nothing: a row is what its own cell makes of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from support.frames import fresh
from support.hostile import KILLING, categories, odd_objects
from support.hostile_rows import BASES, HOSTILE, column, objects

import pandas_dp.dask  # noqa: F401 - gives Dask DataFrames their accessor
from pandas_dp.core.measurement import Exact
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.engines.cells import Foreign, canonical
from pandas_dp.engines.encode import stored
from pandas_dp.tables.dask_chunks import Partitions

SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)
SETTINGS = [*itertools.product((False, True), (1, 2, 4), (False, True))]
SHARDS = 4 * len(SETTINGS)
MISSING = "missing"


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


@cache
def cells() -> list[Any]:
    """Hostile cells that can be a category, and the texts that some are written as: one of each form, type and dtype."""
    left = KILLING | {"many entries"}
    odd = [cell for name, cell in odd_objects().items() if name not in left and type(canonical(cell)) is not Foreign]
    # code that raises, where pandas lists it; and numpy finds a duration equal to what has another hash
    odd = [cell for cell in odd if type(cell).__name__ != "Odd" and type(cell) is not np.timedelta64]
    hostile = [*HOSTILE, *BASES["objects"], *odd]
    known: dict[str, Any] = {}
    for cell in [
        *hostile,
        "1.0",
        "0.5",
        "2020-01-01 00:00:00",
        "2020-01-01",
        "1 days 00:00:00",
        "2013-01",
        "(1, 'a')",
        "True",
    ]:
        made = column("category", objects([cell]))
        if made is not None and made.notna().all():
            form = formed(canonical(cell))
            known.setdefault(
                f"{made.cat.categories.dtype} {form} {type(cell)}" if form != MISSING else str(type(cell)), cell
            )
    return [*known.values()]


def formed(form: Any) -> str:
    """What is seen of a form; a class of one's own has none here."""
    if form is None or type(form) is Foreign or (pd.api.types.is_scalar(form) and pd.isna(form)):
        return MISSING
    return f"{form.asm8!r} {form.tz}" if type(form) is pd.Timestamp else ascii(form)


class Looked:
    """What a statistic sees of the categories of each unit, which has one row."""

    def compute(self, view: Any, unit: PrivacyUnit) -> Exact:
        return Exact(told(view._frame))

    def merge(self, parts: Any) -> Exact:
        return Exact({unit: seen for part in parts for unit, seen in part.open().items()})


def told(frame: pd.DataFrame) -> dict[int, tuple[str, ...]]:
    """The form of each cell of each unit, one of each column."""
    columns = []
    for name in frame.columns.drop("u"):
        coded = stored(frame[name])
        seen = [*map(formed, coded.values), "no form", MISSING]
        columns.append([seen[code] for code in coded.codes])
    return dict(zip(frame["u"].tolist(), zip(*columns, strict=True), strict=True))


PARTS = {1: (0, 5), 2: (0, 2, 5), 4: (0, 2, 3, 4, 5)}  # where rows of a table of five are cut


def seen_of(table: list[list[Any]], count: int, gathered: bool) -> dict[int, tuple[str, ...]]:
    """What is seen of units with a row each, in so many partitions, of columns that are given by their cells."""
    parts = []
    for first, end in itertools.pairwise(PARTS[count]):
        held = {str(place): column("category", objects(cells[first:end])) for place, cells in enumerate(table)}
        parts.append(pd.DataFrame({"u": np.arange(first, end), **held}))
    meta = pd.DataFrame({name: pd.Series([], dtype="int64" if name == "u" else "category") for name in parts[0]})
    ddf = dd.from_map(lambda part: parts[part], range(count), meta=meta, enforce_metadata=False)
    view = Partitions.of(ddf).view(frozenset(ddf.columns), {})
    if gathered:
        return told(view._frame)
    (found,) = view.summaries(Looked(), PrivacyUnit("u", 1, 1, 1))  # type: ignore[arg-type]
    return found.open()  # type: ignore[no-any-return]


def pairs(shard: int) -> list[list[Any]]:
    """Two cells, in two rows each, for each pair of hostile cells; one part of all pairs."""
    return [
        [a, a, b, b] for place, (a, b) in enumerate(itertools.product(cells(), repeat=2)) if place % SHARDS == shard
    ]


def beside(pair: list[Any], odd: Any) -> list[Any]:
    """A pair of cells and a row more; an equal one where pandas makes no categories of all of them, or loses one."""
    for first in (0, 2):
        made = column("category", objects([*pair[first:], odd]))
        if made is None or made.iloc[: len(made) - 1].isna().any():
            return [*pair, pair[-1]]
    return [*pair, odd]


def apart(table: list[list[Any]], count: int, gathered: bool) -> list[Any]:
    """Columns and rows of which something else is seen than of the cell by itself."""
    seen = seen_of(table, count, gathered)
    return [
        (cells, row, seen[row][place], formed(canonical(cell)))
        for place, cells in enumerate(table)
        for row, cell in enumerate(cells)
        if seen[row][place] != formed(canonical(cell))
    ]


@pytest.mark.one_in(12)
@pytest.mark.filterwarnings("ignore:DataFrame is highly fragmented")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_row_is_what_its_own_cell_makes_of_it(shard: int) -> None:
    """Beside any other cell in another partition, and with a row more of a third one, wherever all of them meet."""
    convert, count, gathered = SETTINGS[shard % len(SETTINGS)]
    odd = itertools.cycle([None, 7.5, "zz", pd.Timestamp(0)])
    table = [beside(pair, more) for pair, more in zip(pairs(shard), odd, strict=False)]
    # in one partition pandas has one list of them, where it makes one
    table = [cells for cells in table if count > 1 or column("category", objects(cells)) is not None]
    with dask.config.set({"dataframe.convert-string": convert}):
        assert apart(table, count, gathered) == []


ALIKE: list[tuple[Any, Any, Any]] = [  # pandas takes a list of the first for one of the second, and not with the third
    (1.0, "1.0", 7.5),
    (b"a", "a", b"b"),
    (pd.Timestamp("2020-01-01"), "2020-01-01", pd.Timestamp("2020-01-02")),
    (pd.Period("2020-01", "M"), "2020-01", pd.Period("2020-02", "M")),
]


def answers(parts: list[pd.Series], convert: bool = False) -> list[int]:
    """Questions about categories in some partitions, of units that may own several rows."""
    ends = np.cumsum([0, *map(len, parts)])
    rows = [
        pd.DataFrame({"u": range(end - len(part), end), "c": part}) for part, end in zip(parts, ends[1:], strict=True)
    ]
    with dask.config.set({"dataframe.convert-string": convert}):
        meta = pd.DataFrame({"u": pd.Series([], dtype="int64"), "c": pd.Series([], dtype="category")})
        ddf = dd.from_map(lambda part: rows[part], range(len(rows)), meta=meta, enforce_metadata=False)
        session = ddf.dp.protect(epsilon=10 * SURE, unit="u", max_rows=1, name=fresh())
        found = [ddf.dp(epsilon=SURE).count("c"), ddf.dp(epsilon=SURE).value_counts("c", keys=["a"]).iloc[0]]
        found.append(ddf.dp(epsilon=SURE).nunique("c"))
        session.close()
    return [round(float(one)) for one in found]


def cut(cells: list[Any], count: int) -> list[pd.Series]:
    """Cells as pandas lists them, in so many parts."""
    ends = {1: [0, 21], 2: [0, 11, 21], 4: [0, 5, 11, 15, 21]}[count]
    return [pd.Series(cells[first:end], dtype=object).astype("category") for first, end in itertools.pairwise(ends)]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("convert", "count"), [setting[:2] for setting in SETTINGS[::2]])
@pytest.mark.parametrize("alike", ALIKE)
def test_a_row_more_takes_no_others_away(alike: Any, convert: bool, count: int) -> None:
    one, other, odd = alike
    texts = 10 * (other == "a")
    assert answers(cut([*[one] * 10, None, *[other] * 10], count), convert) == [20, texts, 2]
    assert answers(cut([*[one] * 10, odd, *[other] * 10], count), convert) == [21, texts, 3]


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("odd", ["\ud800", (1, 2), (), (1, ("b", 2))], ids=ascii)
def test_a_category_ends_no_question(odd: Any, count: int) -> None:
    """Of text that is none, and of a tuple before a number, Dask makes no hash."""
    rest, other = [categories(["a"] * 5)] * (count - 1), "b" if type(odd) is str else 3.5
    texts = 5 * (count - 1)
    assert answers([categories([other, "a", other]), *rest]) == [3 + texts, 1 + texts, 2]
    assert answers([categories([odd, other, "a"]), *rest]) == [3 + texts, 1 + texts, 3]


def test_far_dates_among_categories_end_no_question() -> None:
    """Of objects that are all dates pandas makes a column of dates, which far ones of another partition do not fit."""
    parts = [
        [pd.Timestamp("2020-01-01") + pd.Timedelta(1, "ns")] * 5,
        [pd.Timestamp(np.datetime64("99999-01-01", "s"))] * 5,
    ]
    assert answers([*map(categories, parts), categories(["a"] * 5)]) == [15, 5, 3]
