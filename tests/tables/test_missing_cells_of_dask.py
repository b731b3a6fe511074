"""A Dask frame beside the same one with a row more that lacks its cell: nothing but the noise and that row tells them apart.

Pandas makes floats of NumPy's integers beside a missing one, and Dask declares whatever pandas made of the rows. So texts,
previews, refusals and stored keys have to be the same, and the exact integers of each look may differ by what the statistic
claims of one row, no more: were other rows rounded or missing because of it, all of them would move.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pytest
from support.frames import fresh
from support.looks import plain

import pandas_dp.dask  # noqa: F401 - gives Dask DataFrames their accessor
from pandas_dp.core import gate
from pandas_dp.errors import PandasDPError
from pandas_dp.tables import conforming, dask_chunks

ROWS = 60
HUGE = 2**53
MOMENT = pd.Timestamp("2020-01-02")
COLUMNS: dict[str, pd.Series[Any]] = {
    "int64": pd.Series([n % 40 for n in range(ROWS)], dtype="int64"),
    "int8": pd.Series([n % 40 for n in range(ROWS)], dtype="int8"),
    "uint16": pd.Series([n % 40 for n in range(ROWS)], dtype="uint16"),
    "float64": pd.Series([n % 40 + 0.5 for n in range(ROWS)], dtype="float64"),
    "float32": pd.Series([n % 40 + 0.5 for n in range(ROWS)], dtype="float32"),
    "Int64": pd.Series([n % 40 for n in range(ROWS)], dtype="Int64"),
    "large": pd.Series([2**60 + 3 * n for n in range(ROWS)], dtype="int64"),
    "large and small": pd.Series([HUGE + n if n % 2 else -n for n in range(ROWS)], dtype="int64"),
    "larger": pd.Series([2**63 + 5 * n for n in range(ROWS)], dtype="uint64"),
    "exact": pd.Series([2**60 + 3 * n for n in range(ROWS)], dtype="Int64"),
    "boolean": pd.Series([n % 3 == 0 for n in range(ROWS)], dtype="boolean"),
    "dates": pd.Series([MOMENT + pd.Timedelta(days=n % 40) for n in range(ROWS)], dtype="datetime64[us]"),
    "fine dates": pd.Series([MOMENT + pd.Timedelta(days=n % 40) for n in range(ROWS)], dtype="datetime64[ns]"),
    "zoned dates": pd.Series([MOMENT + pd.Timedelta(days=n) for n in range(ROWS)]).dt.tz_localize("Europe/Paris"),
    "durations": pd.Series([pd.Timedelta(hours=n % 40) for n in range(ROWS)], dtype="timedelta64[us]"),
}
BOUNDS = {
    "dates": (MOMENT, MOMENT + pd.Timedelta(days=99)),
    "fine dates": (MOMENT, MOMENT + pd.Timedelta(days=99)),
    "zoned dates": (MOMENT.tz_localize("Europe/Paris"), MOMENT.tz_localize("Europe/Paris") + pd.Timedelta(days=99)),
    "durations": (pd.Timedelta(0), pd.Timedelta(days=9)),
    "boolean": None,
    "large": (0, 2**62),
    "larger": (0, 2.0**65),
    "exact": (0, 2**62),
}
Ask = Callable[[Any, Any], Any]
KEYS: dict[str, Any] = {"dates": [MOMENT], "fine dates": [MOMENT], "boolean": [False, True]}
ASKS: dict[str, Ask] = {
    "count": lambda d, b: d.count("x"),
    "rows": lambda d, b: d.count(),
    "nunique": lambda d, b: d.nunique("x"),
    "sum": lambda d, b: d.sum("x", bounds=b),
    "mean": lambda d, b: d.mean("x", bounds=b),
    "var": lambda d, b: d.var("x", bounds=b),
    "private bounds": lambda d, b: d.mean("x", bounds="private"),
    "median": lambda d, b: d.median("x", bounds=b),
    "open median": lambda d, b: d.median("x", bounds=(0, None)),
    "open quantile": lambda d, b: d.quantile("x", 0.9, bounds=(0, None)),
    "max": lambda d, b: d.max("x", bounds=b),
    "describe": lambda d, b: d.describe("x", bounds=b, error_bar=False),
    "bins": lambda d, b: d.histogram("x", bins=[0, 10, 2**30, 2**62]),
    "keys": lambda d, b: d.histogram("x", keys=[0, 1, 2], null=True, other=True),
    "large keys": lambda d, b: d.histogram("x", keys=[0, HUGE, 2**60]),
    "groups": lambda d, b: d.groupby("g", keys=["a", "b"])["x"].mean(bounds=b),
    "groups of it": lambda d, b: d.groupby("x", keys=[0, 1, 2]).size(),
    "condition": lambda d, b: d.query("x > 3").count(),
    "large condition": lambda d, b: d.query("x == 1152921504606846979").count(),
    "written": lambda d, b: d.assign(y=lambda t: t.x + 1).count("y"),
    "written over": lambda d, b: d.assign(x=lambda t: t.x // 2).sum("x", bounds=b),
    "whole": lambda d, b: d.assign(x=lambda t: t.x.astype("int64")).median("x", bounds=b),
    "as text": lambda d, b: d.assign(x=lambda t: t.x.astype("str")).histogram("x", keys=["1", "2.0", "True"]),
    "clip": lambda d, b: d.clip(3, 9, columns="x").sum("x", bounds=b),
    "fillna": lambda d, b: d.fillna({"x": 3}).sum("x", bounds=b),
    "dropna": lambda d, b: d.dropna(subset=["x"]).count(),
    "isin": lambda d, b: d.query("x in [1, 2, 3]").count(),
    "mapped": lambda d, b: d.assign(y=lambda t: t.x.map({1: "one", 2: "two"})).histogram("y", keys=["one", "two"]),
    "abs": lambda d, b: d.assign(x=lambda t: t.x.abs()).nunique("x"),
    "text": lambda d, b: d.assign(x=lambda t: t.x.str.upper()).count("x"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


def with_a_row(column: pd.Series[Any], place: str) -> pd.DataFrame:
    """A table of a column, with a row more before or behind that lacks its cell, in the dtype that pandas gives it then."""
    labels = {"": range(ROWS), "first": range(-1, ROWS), "last": range(ROWS + 1)}[place]
    made = column.reindex(labels).reset_index(drop=True)
    return pd.DataFrame({"x": made, "g": "a"})


def at_once(table: pd.DataFrame) -> Any:
    """Rows whose dtypes Dask declares as they are."""
    return dd.from_pandas(table, npartitions=3)


def one_by_one(table: pd.DataFrame) -> Any:
    """Partitions as pandas makes them of their own rows, of which the dtypes of all are declared."""
    cells = table["x"]

    def part(number: int) -> pd.DataFrame:
        rows = cells.iloc[number * 21 : (number + 1) * 21]
        whole = cells.dtype.kind == "f" and not rows.isna().any()
        return pd.DataFrame({"x": rows.astype("int64" if rows.min() < 0 else "uint64") if whole else rows, "g": "a"})

    return dd.from_map(part, range(3), meta=table.iloc[:0], enforce_metadata=False)


def cuts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that holds, after each question, its looks in turn: the statistic, exact integers and how far a row moves them."""
    seen: list[Any] = []
    compute = gate.computed

    def computed(statistic: Any, view: Any, unit: Any) -> Any:
        exact = compute(statistic, view, unit)
        seen.append((repr(statistic), plain(exact.open()), statistic.sensitivity(unit)))
        return exact

    monkeypatch.setattr(gate, "computed", computed)
    return seen


def told(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What comes of some work, or the text of its refusal; and of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = work()
        except PandasDPError as error:
            made = f"{type(error).__name__}: {error}"
    return made, [str(warning.message) for warning in caught]


def shown(ddf: Any, ask: Ask, bounds: Any, seen: list[Any], **terms: Any) -> tuple[Any, list[Any]]:
    """All that is visible of a question but for its answer, and its looks."""
    ddf.dp.protect(epsilon=10**6, name=fresh(), **terms)
    before, first = told(lambda: repr(ask(ddf.dp.preview(epsilon=1000), bounds)))
    seen.clear()
    answer, second = told(lambda: ask(ddf.dp(epsilon=1000), bounds))
    plain_text = isinstance(answer, str)
    of_it = answer if plain_text else (str(answer.query), answer.query.aggregate, type(answer).__name__, answer.lineage)
    return (before, first, of_it, second, str(ddf.dp.session.spent)), list(seen)


def flat(exact: Any) -> list[float]:
    return [float(entry) for part in exact for entry in (flat(part) if isinstance(part, list) else [part])]


def moved(one: list[Any], other: list[Any]) -> list[str]:
    """Looks that a row moves by more than their statistics claim; the first ones, as later ones may follow the noise."""
    far = []
    for (statistic, exact, claimed), (same, beside, _) in zip(one, other, strict=False):
        if statistic != same:
            break
        apart = [abs(a - b) for a, b in zip(flat(exact), flat(beside), strict=True)]
        if max(apart, default=0) > claimed.linf or sum(apart) > claimed.l1:
            far.append(statistic)
    return far


def compared(column: pd.Series[Any], ask: Ask, bounds: Any, seen: list[Any], make: Any, **terms: Any) -> list[str]:
    """What tells a table from those with a row more that lacks its cell."""
    first, looks = shown(make(with_a_row(column, "")), ask, bounds, seen, **terms)
    odd = []
    for place in ("first", "last"):
        other, beside = shown(make(with_a_row(column, place)), ask, bounds, seen, **terms)
        odd += [f"{place}: {one} / {two}" for one, two in zip(first, other, strict=True) if one != two]
        odd += moved(looks, beside)
        assert len(looks) == len(beside) or odd or "private" in repr(other)
    return odd


@pytest.mark.one_in(16)
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("question", ASKS)
def test_a_missing_cell_shows_in_nothing(name, question, monkeypatch):
    seen = cuts(monkeypatch)
    assert compared(COLUMNS[name], ASKS[question], BOUNDS.get(name, (0, 100)), seen, at_once) == []


@pytest.mark.one_in(16)
@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.dtype.kind in "iu"])
@pytest.mark.parametrize("question", ASKS)
def test_nor_where_partitions_have_dtypes_of_their_own(name, question, monkeypatch):
    seen = cuts(monkeypatch)
    assert compared(COLUMNS[name], ASKS[question], BOUNDS.get(name, (0, 100)), seen, one_by_one) == []


@pytest.mark.parametrize(
    ("name", "question"), [("large", "count"), ("large", "bins"), ("int64", "median"), ("int8", "large keys")]
)
def test_the_test_finds_integers_that_settle_to_what_floats_do_not(name, question, monkeypatch):
    """A planted fault: as it was, with large integers missing where floats are not."""
    monkeypatch.setattr(conforming, "settled", conforming.with_missing)
    assert compared(COLUMNS[name], ASKS[question], BOUNDS.get(name, (0, 100)), cuts(monkeypatch), at_once) != []


def test_stored_answers_are_found_beside_a_missing_cell(tmp_path):
    for place in ("", "last"):
        ddf = at_once(with_a_row(COLUMNS["int64"], place))
        ddf.dp.protect(epsilon=9, name="stored", ledger=tmp_path / "a.dpledger", table="t", version="1")
        ddf.dp(epsilon=1).median("x", bounds=(0, 100))
        ddf.dp.query("x > 3").dp(epsilon=1).histogram("x", keys=[1, 2])
        assert str(ddf.dp.session.spent) == "epsilon=2"
        ddf.dp.session.close()


@pytest.mark.parametrize("said", ["int64", "float64"])
def test_a_schema_is_taken_or_not_whatever_is_missing(said):
    for place in ("", "last"):
        ddf = at_once(with_a_row(COLUMNS["int64"], place))
        ddf.dp.protect(epsilon=9, name=fresh(), schema={"x": {"dtype": said}})
        answer = ddf.dp(epsilon=1).median("x", bounds=(0, 100))
        assert answer.query.aggregate.lattice.step == 1 if said == "int64" else answer.query.aggregate.lattice.step < 1


def test_integers_that_may_be_missing_stay_exact():
    ddf = at_once(with_a_row(COLUMNS["exact"], "first"))
    ddf.dp.protect(epsilon=10**6, name=fresh())
    assert list(ddf.dp(epsilon=10**4).histogram("x", keys=[2**60, 2**60 + 1, 2**60 + 3], null=True)) == [1, 0, 1, 1]
    assert ddf.dp(epsilon=10**4).nunique("x") == ROWS


def of_units(ids: list[Any], values: list[float], declared: str) -> Any:
    """Two partitions of rows of some units, of which the dtype is declared."""
    rows = pd.DataFrame({"id": ids, "x": values})
    parts = [rows.iloc[:2], rows.iloc[2:]]
    meta = rows.iloc[:0].astype({"id": declared})
    return dd.from_map(lambda number: parts[number].infer_objects(), range(2), meta=meta, enforce_metadata=False)


UNIT_ASKS: dict[str, Ask] = {
    "sum": lambda d, b: d.sum("x", bounds=b),
    "count": lambda d, b: d.count(),
    "units": lambda d, b: d.nunique("id"),
    "values": lambda d, b: d.nunique("x"),
    "found": lambda d, b: d.quantile("x", 0.5, bounds=b),
    "gathered": lambda d, b: d.groupby("x", keys=[-10, 10]).size(),
}


def units_moved(declared: str, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Looks that all rows of a unit move by more than is claimed, where another one's number is the same as a float."""
    seen, terms = cuts(monkeypatch), {"unit": "id", "max_rows": 1}
    ids, values = [5, 6, 2**60 + 3, 2**60 + 2, 2**60 + 2], [-10.0, 10.0, 10.0, -10.0, -10.0]
    _, one = shown(of_units(ids, values, declared), ask, (-10, 10), seen, **terms)
    _, other = shown(of_units(ids[:3], values[:3], declared), ask, (-10, 10), seen, **terms)
    return moved(one, other)


@pytest.mark.parametrize("declared", ["int64", "uint64", "float64", "Int64", "object"])
@pytest.mark.parametrize("question", UNIT_ASKS)
def test_no_two_units_become_one(declared, question, monkeypatch):
    """Of a unit that two people share each one is a part, and its rows are replaced where one of them leaves."""
    assert units_moved(declared, UNIT_ASKS[question], monkeypatch) == []


def test_the_test_finds_units_that_are_rounded(monkeypatch):
    monkeypatch.setattr(dask_chunks, "whole_units", lambda column: column)
    assert units_moved("int64", UNIT_ASKS["sum"], monkeypatch) != []


@pytest.mark.parametrize("question", ["sum", "count", "units"])
def test_a_unit_that_is_missing_decides_nothing_of_others(question, monkeypatch):
    seen = cuts(monkeypatch)
    found = []
    for ids in ([1, 1, 2, 2**60 + 1], [1, 1, 2, 2**60 + 1, None]):
        ddf = at_once(pd.DataFrame({"id": ids, "x": 1.0}))
        found.append(shown(ddf, UNIT_ASKS[question], (0, 10), seen, unit="id", max_rows=5))
    assert found[0] == found[1]
