"""One rule for missing values, for every question and every way to write one.

A row whose value is missing is left out of what is asked about that column, unless the schema names a constant that it
counts as, or ``null=True`` a part of its own. Infinities are values: beyond all bounds, so clipped, and beyond all edges.
What is compared are the exact integers of the looks at the data: those of a table with missing values and those of the
table without these rows. Questions with a function of the user's own hand it the missing values; they are not here.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support import each_kind
from support.frames import fresh
from support.questions import (
    ADDITIVE,
    BY_DATA,
    BY_ROWS,
    BY_UNIT,
    FOUND,
    FROM_BLOCKS,
    GUARANTEED,
    IN_OWN_BOUNDS,
    KEYS,
    ROW_BY_ROW,
    SEVERAL,
    TOGETHER,
    table,
)

from pandas_dp.aggregates.vectors import Centres

QUESTIONS = (
    ADDITIVE
    | FROM_BLOCKS
    | GUARANTEED
    | BY_ROWS
    | BY_DATA
    | IN_OWN_BOUNDS
    | TOGETHER
    | SEVERAL
    | FOUND
    | ROW_BY_ROW
    | BY_UNIT
)
HOLES = np.arange(200) % 7 == 3  # these rows miss a value; every key is left in other rows

# of which columns a missing value leaves its row out, by question
USES: dict[str, tuple[str, ...]] = {
    "count": (),
    "size": (),
    **dict.fromkeys(["count of values", "count by column", "sum", "ranges", "few ranges"], ("cost",)),
    "after steps": ("age", "cost"),
    "nunique": ("ward",),
    "nunique of units": ("uid",),
    "sum by column": ("age",),
    "sum of durations": ("wait",),
    "histogram of keys": ("ward",),
    "histogram of days": ("day",),
    "value_counts": ("ward",),
    "group sizes": ("ward",),
    "group counts": ("ward", "cost"),
    "group nunique": ("ward", "to"),
    "group sums": ("ward", "cost"),
    "sizes of combinations": ("ward", "day"),
    "pivot table of sums": ("ward", "to", "cost"),
    "histogram of groups": ("ward",),
    "sums of bins": ("cost",),
    "sums of keys": ("ward",),
    **dict.fromkeys(["median", "quantile", "min", "best_price", "select"], ("cost",)),
    **dict.fromkeys(["quantile by column", "min by column", "best_price by column"], ("cost",)),
    "median by column": ("wait",),
    "quantiles": ("age",),
    "median of groups": ("ward", "cost"),
    "ranks of groups": ("ward", "cost"),
    "quantiles with error bars": ("age",),
    **dict.fromkeys(["min with error bar", "median with error bar"], ("cost",)),
    "quantiles of groups": ("ward", "age"),
    "mode of groups": ("ward", "to"),
    "max by column": ("day",),
    "max of open bounds": ("age",),
    **dict.fromkeys(["mode", "top_k", "mode by column", "top_k by column"], ("ward",)),
    **dict.fromkeys(["mean", "mean of a population", "var", "ecdf", "std of cost", "ecdf by column"], ("cost",)),
    "var by column": ("age",),
    "mean day": ("day",),
    **dict.fromkeys(["group means", "group means of a population", *IN_OWN_BOUNDS], ("ward", "cost")),
    "std": ("age",),
    **dict.fromkeys(["var of groups", "std of groups"], ("ward", "cost")),
    "value_counts as shares": ("ward",),
    "pivot table of means by group": ("ward", "age", "cost"),
    **dict.fromkeys(
        ["private bounds", "median in private bounds", "smooth median", "smooth error bar", "trimmed mean"], ("cost",)
    ),
    "groups by noisy size": ("ward", "cost"),
    "mst_cost": ("ward", "to", "cost"),
    "cov": ("age", "cost"),
    "cov of three": ("age", "cost", "uid"),
    "corr": ("age", "cost"),
    "regression": ("age", "cost"),
    "regression on categories": ("age", "cost", "ward"),
    "unique": ("ward",),
    "unique by column": ("cost",),
    "found counts": ("ward",),
    "found histogram": ("ward",),
    "found mode": ("ward",),
    "found top_k": ("ward",),
    "means of blocks of found groups": ("ward",),
    "found dates": ("day",),
    "sizes of found groups": ("ward",),
    "counts of found groups": ("ward",),  # the look at the keys; what is then asked about a column is asked above
    "sums of found groups": ("ward",),
    "means of found groups": ("ward",),
    "rows_per_unit": ("uid",),
}
PARTS = {"histogram": ("cost",), "crosstab": ("ward", "to"), "histogram of groups": ("cost",)}  # null=True
COLUMNWISE = {  # several answers, each about its own column
    "agg": ("cost",),
    "agg by column": ("cost", "day"),
    "agg of groups": ("cost",),
    "agg of a column": ("cost",),
    "agg by name": ("age", "cost"),
    "describe": ("cost",),
    "describe ranks": ("cost",),
    "agg of ranks": ("cost", "age"),
    "describe two": ("age", "cost"),
    "unique combinations": ("ward", "to"),
    "sizes of found combinations": ("ward", "day"),
    "means of found combinations": ("to", "ward"),  # the first look finds keys, and the ages of all are few
    "sums of combinations partly listed": ("ward", "to"),
}
ELSEWHERE = {  # random blocks, one answer per row, a user's function: further down, or in tests of their own
    *("mean of blocks", "means of blocks", "kmeans", "group means of blocks", "select by table", "vote"),
    *("own function", "own numbers", "randomized_response alpha"),
    *("median of blocks", "winsorized mean", "smooth blocks", "winsorized blocks", "randomized_response"),
    *("means of a function of groups", "medians of a function of groups", "function of groups by noisy size"),
}
ONE_BLOCK: dict[str, tuple[tuple[str, ...], Callable[[Any], Any]]] = {
    "group means of one block": (
        ("ward", "cost"),
        lambda d: d.groupby_mean_sa("ward", "cost", keys=KEYS, bounds=(0, 100), blocks=1, aggregator="mean"),
    ),
}


def filled(frame: pd.DataFrame, column: str, make: Callable[[list[Any]], Any]) -> pd.DataFrame:
    """The table with a column made anew from its cells, None where they are missing."""
    cells = [None if hole else cell for cell, hole in zip(frame[column].tolist(), HOLES, strict=True)]
    return frame.assign(**{column: make(cells)})


def series(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pd.Series(cells, dtype=dtype)


def floats(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pd.Series([np.nan if cell is None else cell for cell in cells], dtype="float64").astype(dtype)


def nan_in_arrow(cells: list[Any]) -> Any:
    """NaN as a value of Arrow, which is no null there, beside nulls."""
    values = [np.nan if cell is None and place % 2 else cell for place, cell in enumerate(cells)]
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, pa.float64(), from_pandas=False)))


def nan_beneath_mask(cells: list[Any]) -> Any:
    """NaN as a value of a nullable dtype, as 0 / 0 leaves it, beside masked cells."""
    values = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    mask = np.array([cell is None and place % 2 == 0 for place, cell in enumerate(cells)])
    return pd.Series(pd.arrays.FloatingArray(values, mask))


def decimals(cells: list[Any]) -> Any:
    exact = [None if cell is None else Decimal(str(cell)) for cell in cells]
    return pd.Series(exact, dtype=pd.ArrowDtype(pa.decimal128(12, 2)))


def objects(*missing: Any) -> Callable[[list[Any]], Any]:
    """Python objects with these ways to be missing in turn."""

    def make(cells: list[Any]) -> Any:
        values = np.empty(len(cells), dtype=object)
        values[:] = [missing[at % len(missing)] if cell is None else cell for at, cell in enumerate(cells)]
        return pd.Series(values, dtype=object)

    return make


def dictionary_of_nulls(cells: list[Any]) -> Any:
    """Arrow's dictionary with a null among its values, and null codes."""
    words = sorted({cell for cell in cells if cell is not None})
    codes = [(len(words) if at % 2 else None) if cell is None else words.index(cell) for at, cell in enumerate(cells)]
    both = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array([*words, None]))
    return pd.Series(pd.arrays.ArrowExtensionArray(both))


NUMBERS: dict[str, Callable[[list[Any]], Any]] = {
    "NaN in float64": floats("float64"),
    "NaN in float32": floats("float32"),
    "NA in Float64": series("Float64"),
    "NaN in Float64": nan_beneath_mask,
    "NA in Int64": series("Int64"),
    "NA in UInt16": series("UInt16"),
    "null in Arrow's double": series("double[pyarrow]"),
    "NaN in Arrow's double": nan_in_arrow,
    "null in Arrow's int64": series("int64[pyarrow]"),
    "null in Arrow's decimal": decimals,
}
TEXTS: dict[str, Callable[[list[Any]], Any]] = {
    "None in objects": objects(None),
    "NaN in objects": objects(np.nan, float("nan"), np.float64("nan"), np.float32("nan")),
    "NA in objects": objects(pd.NA),
    "NaT in objects": objects(pd.NaT),
    "all in objects": objects(None, np.nan, pd.NA, pd.NaT, Decimal("NaN")),
    "NaN in str": series("str"),
    "NA in string": series("string"),
    "NA in string of Python": series("string[python]"),
    "category": series("category"),
    "null in Arrow's string": series(pd.ArrowDtype(pa.string())),
    "null in Arrow's large string": series(pd.ArrowDtype(pa.large_string())),
    "nulls in Arrow's dictionary": dictionary_of_nulls,
}
DATES: dict[str, Callable[[list[Any]], Any]] = {
    **{f"NaT in datetime64[{unit}]": series(f"datetime64[{unit}]") for unit in ("s", "us", "ns")},
    "null in Arrow's timestamp": series(pd.ArrowDtype(pa.timestamp("us"))),
    "null in Arrow's date": lambda cells: pd.Series(
        [cell and cell.date() for cell in cells], dtype=pd.ArrowDtype(pa.date32())
    ),
}
SPANS: dict[str, Callable[[list[Any]], Any]] = {
    **{f"NaT in timedelta64[{unit}]": series(f"timedelta64[{unit}]") for unit in ("s", "ns")},
    "null in Arrow's duration": series(pd.ArrowDtype(pa.duration("ms"))),
}
WAYS = {"cost": NUMBERS, "age": NUMBERS, "uid": NUMBERS, "ward": TEXTS, "to": TEXTS, "day": DATES, "wait": SPANS}
CONSTANTS: dict[str, Any] = {"cost": 50, "age": 50, "wait": pd.Timedelta("7 min"), "day": pd.Timestamp("2013-01-20")}
TYPED = {  # bins, names of keys and candidates of quantiles follow the dtype
    *("private bounds", "median in private bounds", "unique by column", "median", "quantile", "quantiles", "min"),
    *("median by column", "quantile by column", "min by column", "max by column", "median of groups"),
    *("ranks of groups", "min with error bar", "median with error bar", "quantiles with error bars"),
    *("agg of ranks", "describe ranks"),
    *("quantiles of groups", "agg", "agg by column", "agg of groups", "agg by name", "describe", "describe two"),
}
SAME = {
    "group nunique",
    "nunique",
    "nunique of units",
    "unique",
    "smooth error bar",
}  # answers that these holes do not change
EXPRESSIONS = {"after steps", "select"}  # these see a missing value, whatever it counts as for sums


def asked(name: str, frame: pd.DataFrame, looks: list[Any], unit: bool = False, schema: Any = None) -> list[Any]:
    """Exact integers of the looks that a question takes at a table."""
    terms: dict[str, Any] = {"unit": "uid", "max_rows": 4} if unit or name in BY_UNIT else {}
    terms |= {"epsilon": 10**6, "delta": 0.5, "delta_reserved": 0.4, "name": fresh(), "schema": schema}
    relation = {"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {}
    frame.dp.protect(**terms, **relation)
    ask = ONE_BLOCK[name][1] if name in ONE_BLOCK else QUESTIONS[name]
    ask(frame.dp(epsilon=10**5, **({"delta": 1e-6} if name in FOUND else {})))
    return list(looks)


def first(name: str, *args: Any, **options: Any) -> Any:
    """The first look alone: later ones may depend on noise."""
    return asked(name, *args, **options)[0]


def cases(uses: dict[str, tuple[str, ...]]) -> list[Any]:
    return [each_kind.case(name, col, id=f"{name}-{col}") for name, columns in uses.items() for col in columns]


def test_every_question_has_its_place():
    assert {*USES, *PARTS, *COLUMNWISE, *ELSEWHERE} == set(QUESTIONS)


@pytest.mark.one_in(16)
@pytest.mark.parametrize(("name", "column"), cases(USES | {name: uses for name, (uses, _) in ONE_BLOCK.items()}))
def test_a_row_with_a_missing_value_is_left_out(name, column, looks):
    without = first(name, table()[~HOLES].reset_index(drop=True), looks)
    assert name in SAME or without != first(name, table(), looks)  # or nothing is tested
    for way, make in WAYS[column].items():
        holed = filled(table(), column, make)
        expected = first(name, holed[~HOLES].reset_index(drop=True), looks) if name in TYPED else without
        assert first(name, holed, looks) == expected, way


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", each_kind.questions(name for name in USES if name not in BY_UNIT))
def test_what_is_missing_in_other_columns_changes_nothing(name, looks):
    whole = first(name, table(), looks)
    for column in WAYS.keys() - {*USES[name], *PARTS.get(name, ())}:
        way, make = next(iter(WAYS[column].items()))
        if name.endswith("of found groups") and column == "cost":
            continue
        assert first(name, filled(table(), column, make), looks) == whole, (column, way)


def total(exact: Any) -> int:
    return sum(map(total, exact)) if isinstance(exact, list) else exact


@pytest.mark.parametrize(("name", "column"), cases(PARTS))
def test_a_part_for_missing_values_has_them_all(name, column, looks):
    whole = first(name, table(), looks)
    without = first(name, table()[~HOLES].reset_index(drop=True), looks)
    found = [first(name, filled(table(), column, make), looks) for make in WAYS[column].values()]
    assert all(each == found[0] for each in found)
    assert total(found[0]) == total(whole) == total(without) + HOLES.sum()
    assert all(a >= b for a, b in zip(found[0], without, strict=True))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "column"), cases(COLUMNWISE))
def test_each_of_several_answers_leaves_out_what_its_column_misses(name, column, looks):
    whole = asked(name, table(), looks)
    without = asked(name, table()[~HOLES].reset_index(drop=True), looks)
    for way, make in WAYS[column].items():
        holed = filled(table(), column, make)
        if name in TYPED:
            whole = asked(name, holed.assign(**{column: make(table()[column].tolist())}), looks)
            without = asked(name, holed[~HOLES].reset_index(drop=True), looks)
        found = asked(name, holed, looks)
        assert len(found) == len(whole) == len(without), way
        assert all(each in (a, b) for each, a, b in zip(found, whole, without, strict=True)), way
        assert found != whole, way


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["count", "sum", "group sums", "mean", "median", "value_counts", "rows_per_unit"])
def test_a_row_without_a_unit_is_left_out(name, looks):
    without = first(name, table()[~HOLES].reset_index(drop=True), looks, unit=True)
    assert without != first(name, table(), looks, unit=True)
    for way, make in (NUMBERS | TEXTS).items():
        numbers = way in NUMBERS
        frame = table() if numbers else table().assign(uid=[f"u{unit}" for unit in table()["uid"]])
        assert first(name, filled(frame, "uid", make), looks, unit=True) == without, way


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("name", "column"),
    [case for case in cases(USES | PARTS) if case.values[1] in CONSTANTS and case.values[0] not in EXPRESSIONS],
)
def test_the_constant_of_the_schema_stands_for_what_is_missing(name, column, looks):
    constant = CONSTANTS[column]
    known = table()
    known[column] = known[column].mask(HOLES, constant)
    whole = first(name, known, looks)
    for way, make in WAYS[column].items():
        holed, schema = filled(table(), column, make), {column: {"nulls": constant}}
        same = holed.assign(**{column: make(known[column].tolist())})
        expected = first(name, same, looks) if name in TYPED else whole
        assert first(name, holed, looks, schema=schema) == expected, way


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_expressions_see_that_a_value_is_missing(name, looks):
    schema = {"cost": {"nulls": 50}}
    without = first(name, table()[~HOLES].reset_index(drop=True), looks)
    for way, make in NUMBERS.items():
        assert first(name, filled(table(), "cost", make), looks, schema=schema) == without, way


INFINITE: dict[str, Callable[[list[float]], Any]] = {
    "float64": lambda cells: pd.Series(cells, dtype="float64"),
    "float32": lambda cells: pd.Series(cells, dtype="float32"),
    "Float64": lambda cells: pd.Series(pd.array(cells, dtype="Float64")),
    "Arrow's double": lambda cells: pd.Series(cells, dtype="double[pyarrow]"),
    "Arrow's float": lambda cells: pd.Series(cells, dtype="float[pyarrow]"),
}
NAMED = {"unique by column"}  # an infinity is another key than a large number
BOUGHT = {"private bounds", "median in private bounds"}


@pytest.mark.one_in(10)
@pytest.mark.parametrize(
    ("name", "column"),
    [
        case
        for case in cases(USES | PARTS | COLUMNWISE)
        if case.values[1] in ("cost", "age") and case.values[0] not in NAMED | BOUGHT
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_an_infinity_is_the_largest_of_values(name, column, sign, looks):
    def held(value: float, make: Callable[[list[float]], Any]) -> pd.DataFrame:
        cells = table()[column].astype("float64").mask(HOLES, sign * value)
        return table().assign(**{column: make(cells.tolist())})

    large = first(name, held(1.7e308, INFINITE["float64"]), looks)
    for dtype, make in INFINITE.items():
        assert first(name, held(np.inf, make), looks) == large, dtype


@pytest.mark.parametrize("name", sorted(BOUGHT))
@pytest.mark.parametrize("sign", [1, -1])
def test_no_infinity_has_a_part_in_the_bounds_that_are_bought(name, sign, looks):
    for dtype, make in INFINITE.items():
        cells = table()["cost"].astype("float64").mask(HOLES, sign * np.inf)
        frame = table().assign(cost=make(cells.tolist()))
        without = frame[~HOLES].reset_index(drop=True)  # before the frame has a budget: made of it, it would share that
        assert first(name, frame, looks) == first(name, without, looks), dtype


@pytest.mark.parametrize("column", ["age", "cost"])
def test_centres_of_clusters_leave_out_what_is_missing_and_clip_infinities(column):
    centres = Centres(("age", "cost"), (0.0, 0.0), (120.0, 100.0), 2)
    block = table().astype({"cost": "float64"})  # numbers come to blocks as float64
    holed = block.assign(**{column: block[column].mask(HOLES)})
    assert centres(holed) == centres(block[~HOLES]) != centres(block)
    ends = [block.assign(**{column: block[column].mask(HOLES, end)}) for end in (np.inf, 1e38)]
    assert centres(ends[0]) == centres(ends[1])


def test_randomized_answers_start_from_no_key_where_it_is_missing(looks):
    whole = first("randomized_response", table(), looks)
    expected = [-1 if hole else code for code, hole in zip(whole, HOLES, strict=True)]
    for way, make in TEXTS.items():
        assert first("randomized_response", filled(table(), "ward", make), looks) == expected, way
