"""The view of a DataFrame, compared with plain Python over every dtype that pandas 3 has."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pandas_dp.core.lattice import present_mask
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError

DAY = 86_400 * 10**9  # nanoseconds
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NULLABLE = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
STR_PYTHON = pd.StringDtype("python", na_value=np.nan)
STR_ARROW = pd.StringDtype("pyarrow", na_value=np.nan)


def view(column: Any, nulls: dict[str, Any] | None = None) -> PandasView:
    """A view of a frame with the one column x."""
    return PandasView(pd.DataFrame({"x": column}), {}, nulls or {})


def arrow(cells: list[Any], kind: pa.DataType) -> pd.Series:
    """An Arrow column in several chunks, one of them a slice and one empty."""
    padded = pa.array([None, *cells, None], kind)
    cut = len(cells) // 2
    chunks = [padded[1 : 1 + cut], padded[1:1], padded[1 + cut : 1 + len(cells)]]
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks)))


def arrow_slice(cells: list[Any], kind: pa.DataType) -> pd.Series:
    """An Arrow column in one chunk that starts in the middle of its memory."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array([*cells[:3], *cells], kind)[3:]])))


def block(cells: list[float]) -> pd.Series:
    """A column that is every third number of a wide block."""
    return pd.DataFrame(np.stack((np.zeros(len(cells)), cells, np.ones(len(cells))), axis=1))[1]


def stamp(text: str | None) -> pd.Timestamp | None:
    return None if text is None else pd.Timestamp(text)


def nanoseconds(cell: Any) -> Any:
    """A date or duration in nanoseconds since the epoch, as a Python int; other numbers as they are."""
    if isinstance(cell, pd.Timestamp | dt.date):
        cell = pd.Timestamp(cell)
        return int(cell.timestamp()) * 10**9 + cell.microsecond * 1000 + cell.nanosecond
    return int(cell / pd.Timedelta(1, "ns")) if isinstance(cell, pd.Timedelta) else cell


WHOLE = [3, 0, 7, 3, 100, 1, 0]
HOLED = [3, None, 7, 3, 100, None, 0]
REAL = [1.5, -0.0, 0.0, 2.25, 1.5, 1e3, 0.1]
REAL_HOLED = [1.5, None, 0.0, 2.25, None, -0.0]
FLAGS = [True, False, True, True]
FLAGS_HOLED = [True, None, False, True, None]
DATES = [stamp(t) for t in ("2020-01-01", None, "1969-12-31", "2020-01-01", "2262-04-11")]
SPANS = [pd.Timedelta("90 min"), None, pd.Timedelta(0), pd.Timedelta("-3 days"), pd.Timedelta("90 min")]
DECIMALS = [Decimal("1.10"), None, Decimal("-2.25"), Decimal("1.1"), Decimal("0.00")]
NUMBER_KEYS = (3, 7.0, 100, -5, 0.0, 1.5, True, 2.25, "a", 10**30, 0.1)
DATE_KEYS = (
    stamp("2020-01-01"),
    stamp("1969-12-31"),
    stamp("2020-01-01 12:00"),
    stamp("9999-01-01"),
    0,
    "2020",
)
SPAN_KEYS = (pd.Timedelta("90 min"), dt.timedelta(days=-3), pd.Timedelta("1 ns"), 0)

NUMERIC: dict[str, tuple[Any, list[Any], tuple[Any, ...]]] = {
    **{name: (pd.Series(WHOLE, dtype=name), WHOLE, NUMBER_KEYS) for name in INTEGERS},
    **{name: (pd.Series(HOLED, dtype=name), HOLED, NUMBER_KEYS) for name in NULLABLE},
    **{f"{name} in Arrow": (arrow(HOLED, getattr(pa, name)()), HOLED, NUMBER_KEYS) for name in INTEGERS},
    "int64 in Arrow without nulls": (arrow(WHOLE, pa.int64()), WHOLE, NUMBER_KEYS),
    "slice of int32 in Arrow": (arrow_slice(HOLED, pa.int32()), HOLED, NUMBER_KEYS),
    "slice of bool in Arrow": (arrow_slice(FLAGS_HOLED, pa.bool_()), FLAGS_HOLED, (True, False)),
    "slice of dates in Arrow": (arrow_slice([c and c.date() for c in DATES], pa.date32()), DATES, DATE_KEYS),
    "slice of decimals": (arrow_slice(DECIMALS, pa.decimal128(10, 2)), DECIMALS, (Decimal("1.1"), 0)),
    "int64 made float by a null": (pd.Series(HOLED, dtype="float64"), HOLED, NUMBER_KEYS),
    "big-endian": (pd.Series(np.array(WHOLE, dtype=">i4")), WHOLE, NUMBER_KEYS),
    "float64": (pd.Series(REAL_HOLED, dtype="float64"), REAL_HOLED, NUMBER_KEYS),
    "float32": (pd.Series(REAL_HOLED, dtype="float32"), REAL_HOLED, NUMBER_KEYS),
    "float16": (pd.Series(REAL_HOLED, dtype="float16"), REAL_HOLED, NUMBER_KEYS),
    "Float64": (pd.Series(REAL_HOLED, dtype="Float64"), REAL_HOLED, NUMBER_KEYS),
    "Float32": (pd.Series(REAL_HOLED, dtype="Float32"), REAL_HOLED, NUMBER_KEYS),
    "float64 in a wide block": (block(REAL), REAL, NUMBER_KEYS),
    "double in Arrow": (arrow(REAL_HOLED, pa.float64()), REAL_HOLED, NUMBER_KEYS),
    "float in Arrow": (arrow(REAL_HOLED, pa.float32()), REAL_HOLED, NUMBER_KEYS),
    "halffloat in Arrow": (
        arrow([None if c is None else np.float16(c) for c in REAL_HOLED], pa.float16()),
        REAL_HOLED,
        NUMBER_KEYS,
    ),
    "bool": (pd.Series(FLAGS), FLAGS, (True, False)),
    "boolean": (pd.Series(FLAGS_HOLED, dtype="boolean"), FLAGS_HOLED, (False, True)),
    "bool in Arrow": (arrow(FLAGS_HOLED, pa.bool_()), FLAGS_HOLED, (1, 2, 0.0)),
    "decimal128": (
        arrow(DECIMALS, pa.decimal128(10, 2)),
        DECIMALS,
        (1.1, Decimal("-2.250"), 0, Decimal("1.101"), "a"),
    ),
    "decimal256": (arrow(DECIMALS, pa.decimal256(50, 5)), DECIMALS, (Decimal("1.1"), False, 7, 10**60)),
    **{
        f"datetime64[{unit}]": (pd.Series(DATES, dtype=f"datetime64[{unit}]"), DATES, DATE_KEYS)
        for unit in ("s", "ms", "us", "ns")
    },
    **{
        f"timestamp[{unit}] in Arrow": (arrow(DATES, pa.timestamp(unit)), DATES, DATE_KEYS)
        for unit in ("s", "ms", "us", "ns")
    },
    "datetime64[us, Berlin]": (
        pd.Series(DATES, dtype="datetime64[us]").dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin"),
        [None if c is None else c.tz_localize("UTC") for c in DATES],
        (*DATE_KEYS, pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin")),
    ),
    "timestamp with zone in Arrow": (
        arrow(DATES, pa.timestamp("us", "Asia/Tokyo")),
        [None if c is None else c.tz_localize("UTC") for c in DATES],
        (pd.Timestamp("2020-01-01", tz="UTC"), stamp("2020-01-01")),
    ),
    "date32": (arrow([c and c.date() for c in DATES], pa.date32()), DATES, DATE_KEYS),
    "date64": (arrow([c and c.date() for c in DATES], pa.date64()), DATES, DATE_KEYS),
    **{
        f"timedelta64[{unit}]": (pd.Series(SPANS, dtype=f"timedelta64[{unit}]"), SPANS, SPAN_KEYS)
        for unit in ("s", "ms", "us", "ns")
    },
    "duration in Arrow": (arrow(SPANS, pa.duration("ms")), SPANS, SPAN_KEYS),
    "empty float": (pd.Series([], dtype="float64"), [], NUMBER_KEYS),
    "empty int": (pd.Series([], dtype="int64"), [], NUMBER_KEYS),
    "empty Arrow": (pd.Series([], dtype="int64[pyarrow]"), [], NUMBER_KEYS),
    "empty dates": (pd.Series([], dtype="datetime64[us]"), [], DATE_KEYS),
    "one row": (pd.Series([3]), [3], NUMBER_KEYS),
    "all null": (pd.Series([None, None], dtype="Int64"), [None, None], NUMBER_KEYS),
    "all nan": (pd.Series([np.nan, np.nan]), [None, None], NUMBER_KEYS),
    "all null in Arrow": (arrow([None, None], pa.float64()), [None, None], NUMBER_KEYS),
}

TEXT = ["b", None, "a", "", "b", "a\0b", "a\0c", "a", "zürich", "x" * 1_000_000]
TEXT_KEYS = ("a", "b", "a\0b", "x" * 1_000_000, "zürich", "nowhere", 1, "\ud800")
DICTIONARY = pd.Series(
    pd.arrays.ArrowExtensionArray(
        pa.chunked_array([pa.array(TEXT[:4]).dictionary_encode(), pa.array(TEXT[4:]).dictionary_encode()])
    )
)
MIXED = ["a", 1, None, 2.5, np.nan, (1, 2), pd.NaT, pd.NA, "a", Decimal("NaN"), True, dt.date(2020, 1, 1)]
MIXED_TRUTH = ["a", 1, None, 2.5, None, (1, 2), None, None, "a", None, True, dt.date(2020, 1, 1)]

KEYED: dict[str, tuple[Any, list[Any], tuple[Any, ...]]] = {
    "str": (pd.Series(TEXT, dtype="str"), TEXT, TEXT_KEYS),
    "str in Python": (pd.Series(TEXT, dtype=STR_PYTHON), TEXT, TEXT_KEYS),
    "string[python]": (pd.Series(TEXT, dtype="string[python]"), TEXT, TEXT_KEYS),
    "string[pyarrow]": (pd.Series(TEXT, dtype="string[pyarrow]"), TEXT, TEXT_KEYS),
    "str in Arrow memory": (pd.Series(TEXT, dtype=STR_ARROW), TEXT, TEXT_KEYS),
    "Arrow string": (arrow(TEXT, pa.string()), TEXT, TEXT_KEYS),
    "slice of Arrow string": (arrow_slice(TEXT, pa.string()), TEXT, TEXT_KEYS),
    "Arrow large_string": (arrow(TEXT, pa.large_string()), TEXT, TEXT_KEYS),
    "Arrow string_view": (arrow(TEXT, pa.string_view()), TEXT, TEXT_KEYS),
    "Arrow dictionary": (DICTIONARY, TEXT, TEXT_KEYS),
    "object": (pd.Series(TEXT, dtype=object), TEXT, TEXT_KEYS),
    "mixed objects": (pd.Series(MIXED, dtype=object), MIXED_TRUTH, ("a", 1.0, (1, 2), dt.date(2020, 1, 1))),
    "category of text": (pd.Series(TEXT, dtype="category"), TEXT, TEXT_KEYS),
    "category of numbers": (pd.Series(HOLED).astype("category"), HOLED, NUMBER_KEYS),
    "category of dates": (pd.Series(DATES).astype("category"), DATES, DATE_KEYS),
    "category of intervals": (
        pd.Series(pd.cut([1, 5, np.nan, 1], [0, 2, 9])),
        [pd.Interval(0, 2), pd.Interval(2, 9), None, pd.Interval(0, 2)],
        (pd.Interval(2, 9), pd.Interval(0, 2), 1),
    ),
    "category of objects": (
        pd.Series(pd.Categorical(["a", (1, 2), None], categories=pd.Index([(1, 2), "a"], tupleize_cols=False))),
        ["a", (1, 2), None],
        ((1, 2), "a"),
    ),
    "empty str": (pd.Series([], dtype="str"), [], TEXT_KEYS),
    "empty object": (pd.Series([], dtype=object), [], TEXT_KEYS),
    "empty category": (pd.Series([], dtype="category"), [], TEXT_KEYS),
    "empty Arrow string": (pd.Series([], dtype=pd.ArrowDtype(pa.string())), [], TEXT_KEYS),
}
ALL = {**NUMERIC, **KEYED}


def place(cell: Any, keys: tuple[Any, ...]) -> int:
    """Place of a cell among keys by Python's equality, -1 where it is not listed."""
    for i, key in enumerate(keys):
        if isinstance(cell, Decimal) and isinstance(key, float):
            key = Decimal(str(key))  # a float stands for its shortest decimal
        same_kind = isinstance(cell, dt.date | dt.timedelta | str) == isinstance(key, dt.date | dt.timedelta | str)
        if same_kind and key == cell:
            return i
    return -1


def same_groups(codes: list[int], cells: list[Any]) -> bool:
    """Whether codes are a renaming of the distinct cells, with -1 for None."""
    pairs = {(code, cell) for code, cell in zip(codes, cells, strict=True)}
    return len(pairs) == len({p[0] for p in pairs}) == len({p[1] for p in pairs}) and all(
        (code == -1) == (cell is None) for code, cell in pairs
    )


@pytest.mark.parametrize("name", NUMERIC)
def test_column(name: str) -> None:
    column, cells, _ = NUMERIC[name]
    shown = view(column)
    values, present = shown.column("x")
    assert shown.rows == values.size == len(cells)
    assert values.dtype.kind in "iuf"
    assert values.dtype.isnative
    mask = present_mask(values, present)
    assert [c is not None for c in cells] == (mask.tolist() if mask is not None else [True] * len(cells))
    for value, cell in zip(values.tolist(), cells, strict=True):
        if cell is not None:
            exact = values.dtype.type(nanoseconds(cell)) if values.dtype.kind == "f" else nanoseconds(cell)
            assert value == exact


@pytest.mark.parametrize("name", ALL)
def test_present(name: str) -> None:
    column, cells, _ = ALL[name]
    present = view(column).present("x")
    expected = [c is not None for c in cells]
    assert all(expected) if present is None else present.tolist() == expected


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("other", "null"), [(False, False), (True, False), (False, True), (True, True)])
def test_parts_by_keys(name: str, other: bool, null: bool) -> None:
    column, cells, keys = ALL[name]
    if column.dtype in ("float16", "float32", "Float32") or str(column.dtype).startswith(("float[", "halffloat")):
        keys = tuple(k for k in keys if k != 0.1)  # rounded to the column: see below
    partition = Keys("x", keys, other, null)
    expected = [place(c, keys) if c is not None else None for c in cells]
    if other:
        expected = [len(keys) if p == -1 else p for p in expected]
    expected = [(partition.count - 1 if null else -1) if p is None else p for p in expected]
    shown = view(column)
    codes = shown.parts(partition)
    assert codes.dtype == np.intp
    assert codes.tolist() == expected
    assert shown.parts(partition).tolist() == expected  # from the cache


@pytest.mark.parametrize("name", NUMERIC)
def test_parts_by_bins(name: str) -> None:
    column, cells, _ = NUMERIC[name]
    edges = (-3 * DAY, 0, 1, 3, 50 * 365 * DAY + 12 * DAY)
    expected = []
    for cell in cells:
        number = None if cell is None else nanoseconds(cell)
        inside = number is not None and edges[0] <= number <= edges[-1]
        place = 3 if inside and number == edges[-1] else sum(number >= e for e in edges) - 1 if inside else 4
        expected.append(5 if number is None else place)
    assert view(column).parts(Bins("x", edges, other=True, null=True)).tolist() == expected


@pytest.mark.parametrize("name", ALL)
def test_units(name: str) -> None:
    column, cells, _ = ALL[name]
    codes, count = view(column).units("x")
    assert codes.dtype == np.int64
    known = [code for code in codes.tolist() if code >= 0]
    assert sorted(set(known)) == list(range(count))
    if name != "mixed objects":  # there 1 and True are equal
        assert same_groups(codes.tolist(), cells)


def test_units_of_a_wide_range_and_of_real_numbers() -> None:
    cells = [10**18, 5, -(10**18), 5, 10**18]
    assert same_groups(view(pd.Series(cells)).units("x")[0].tolist(), cells)
    cells = [2**64 - 1, 0, 2**64 - 2, 2**64 - 1]
    assert same_groups(view(pd.Series(cells, dtype="uint64")).units("x")[0].tolist(), cells)
    codes, count = view(pd.Series([0.0, -0.0, np.nan, 0.1, math.inf])).units("x")
    assert (codes.tolist(), count) == ([0, 0, -1, 1, 2], 3)


def test_units_of_decimals_are_not_rounded() -> None:
    cells = [Decimal(10**30), Decimal(10**30 + 1), Decimal(10**30)]
    shown = view(arrow(cells, pa.decimal128(38, 0)))
    assert same_groups(shown.units("x")[0].tolist(), cells)
    assert shown.parts(Keys("x", (10**30 + 1, 10**30))).tolist() == [1, 0, 1]


def test_codes_of_units_are_kept() -> None:
    cache: dict[Any, Any] = {}
    shown = PandasView(pd.DataFrame({"x": ["a", "b", "a"]}), cache)
    assert shown.units("x")[0] is PandasView(pd.DataFrame({"x": ["a", "b", "a"]}), cache).units("x")[0]
    assert all(isinstance(key[0], str) and key[0] in ("units", "keys", "objects", "series") for key in cache)


def test_float_keys_take_the_precision_of_the_column() -> None:
    for dtype in ("float16", "float32", "Float32", "float32[pyarrow]"):
        column = pd.Series([0.1, 0.5], dtype="float32").astype(dtype)
        assert view(column).parts(Keys("x", (0.1, 0.5))).tolist() == [0, 1]
    # a key that is too large for the column is not infinite
    assert view(pd.Series([np.inf], dtype="float32")).parts(Keys("x", (1e300,))).tolist() == [-1]
    assert view(pd.Series([np.inf, -np.inf])).parts(Keys("x", (math.inf,))).tolist() == [0, -1]


@pytest.mark.parametrize("dtype", [*INTEGERS, *NULLABLE, "float64", "Float64", "int64[pyarrow]", "double[pyarrow]"])
def test_keys_far_apart(dtype: str) -> None:
    largest = 100 if "8" in dtype else 30_000 if "16" in dtype else 2**31 - 1
    column = pd.Series([0, largest, 5, 0, largest - 1], dtype=dtype)
    assert view(column).parts(Keys("x", (largest, 0, -1, 2**70))).tolist() == [1, 0, -1, 1, -1]


def test_integers_at_the_end_of_their_range() -> None:
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        cells = [int(info.min), int(info.max), 1]
        shown = view(pd.Series(cells, dtype=dtype))
        assert shown.parts(Keys("x", (int(info.max), int(info.min), int(info.max) + 1))).tolist() == [
            1,
            0,
            -1,
        ]
        assert shown.parts(Keys("x", (int(info.max),))).tolist() == [-1, 0, -1]
        assert same_groups(shown.units("x")[0].tolist(), cells)


# Strange cells ------------------------------------------------------------


class Hostile:
    """A cell whose own code raises, with the cell in the text."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __float__(self) -> float:
        raise ValueError("secret42")

    def __eq__(self, other: object) -> bool:
        if self.name == "eq":
            raise ValueError("secret42")
        return self is other

    def __hash__(self) -> int:
        if self.name == "hash":
            raise ValueError("secret42")
        return hash("a")


STRANGE = [[1], {"k": 1}, Hostile("hash"), lambda: 1, np.array([1, 2]), Decimal("sNaN"), {1, 2}]


def test_cells_that_cannot_be_keys_are_in_no_key() -> None:
    for cells in ([*STRANGE, "a", None, Hostile("eq")], [Hostile("eq"), "a", "a", 1.0]):
        shown = view(pd.Series(cells, dtype=object))
        places = shown.parts(Keys("x", ("a", 1), other=True, null=True)).tolist()
        assert places == [
            {"a": 0, 1.0: 1}.get(c, 2) if isinstance(c, str | float) else 3 if c is None else 2 for c in cells
        ]
        present = shown.present("x")
        assert [c is not None for c in cells] == ([True] * len(cells) if present is None else present.tolist())


def test_cells_that_cannot_be_units_have_none() -> None:
    codes, count = view(pd.Series([*STRANGE, "a", None, "b", "a"], dtype=object)).units("x")
    unhashable = [not callable(cell) for cell in STRANGE]
    assert [code == -1 for code in codes[: len(STRANGE)]] == unhashable
    assert codes[-3] == -1
    assert count == 3
    assert codes[-1] == codes[-4] != codes[-2]


@pytest.mark.parametrize("dtype", [object, STR_PYTHON, "string[python]", "category"])
def test_a_lone_surrogate_is_a_text_of_its_own(dtype: Any) -> None:
    cells = ["\ud800", repr("\ud800"), "a\0b", "a\0c", "a", "\ud800"]
    if dtype == "category":
        categories = pd.Index(cells[:5], dtype=object)
        column = pd.Series(pd.Categorical.from_codes([0, 1, 2, 3, 4, 0], categories=categories))
    else:
        column = pd.Series(cells, dtype=dtype)
    shown = view(column)
    assert same_groups(shown.units("x")[0].tolist(), cells)
    assert shown.parts(Keys("x", ("\ud800", "a", "a\0c"))).tolist() == [0, -1, -1, 2, 1, 0]


def test_other_rows_do_not_decide_what_is_equal() -> None:
    # one number among texts must not make pandas compare the texts in another way
    cells = ["\ud800", repr("\ud800"), "a"]
    for more in ([], [1], [None], [[1]]):
        codes = view(pd.Series(cells + more, dtype=object)).units("x")[0].tolist()
        assert len(set(codes[:3])) == 3


def test_errors_do_not_quote_cells() -> None:
    for column in (
        pd.Series(["secret42"], dtype=object),
        pd.Series(["secret42"]),
        pd.Series(["secret42"], dtype="category"),
    ):
        with pytest.raises(ArgumentTypeError) as caught:
            view(column).column("x")
        assert "secret42" not in str(caught.value)
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1 + 2j]),
        pd.Series(pd.arrays.SparseArray([0, 1])),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series(pd.period_range("2020", periods=2)),
        pd.Series([b"x"], dtype=pd.ArrowDtype(pa.binary())),
        pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    ],
    ids=lambda column: str(column.dtype),
)
def test_dtypes_that_are_refused(column: pd.Series) -> None:
    with pytest.raises(ArgumentTypeError):
        view(column).present("x")


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_dates_beyond_nanoseconds_are_held_at_the_ends(unit: str) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6}[unit]
    largest = 2**63 - 1
    ticks = [
        2**62,
        -(2**62),
        largest // 10**9 * per_second,
        (largest // 10**9 + 1) * per_second,
        2**63 - 1,
        -(2**63) + 1,
    ]
    factor = 10**9 // per_second
    expected = [min(max(tick * factor, -(2**63)), largest) for tick in ticks]
    column = pd.Series(np.array(ticks).view(f"datetime64[{unit}]"))
    values, present = view(column).column("x")
    assert present is None
    assert values.tolist() == expected
    in_arrow = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(ticks).view(pa.duration(unit))])))
    assert view(in_arrow).column("x")[0].tolist() == expected
    # keys are compared in the unit of the column, where nothing is held at an end
    key = pd.Timestamp("3000-01-01")
    dates = pd.Series([key, pd.Timestamp("4000-01-01")], dtype=f"datetime64[{unit}]")
    assert view(dates).parts(Keys("x", (key,))).tolist() == [0, -1]


def test_days_beyond_nanoseconds() -> None:
    dates = arrow([dt.date(9999, 12, 31), dt.date(1, 1, 1), dt.date(2000, 1, 1)], pa.date32())
    assert view(dates).column("x")[0].tolist() == [2**63 - 1, -(2**63), 10957 * DAY]


# Missing values that count as a constant ------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [n for n, (column, _, _) in NUMERIC.items() if column.dtype.kind not in "mM" or "[" not in n]
)
def test_nulls_count_as_a_constant(name: str) -> None:
    column, cells, _ = NUMERIC[name]
    shown = view(column, {"x": 1})
    values, present = shown.column("x")
    assert present is None
    assert present_mask(values, present) is None
    assert shown.present("x") is None
    untouched, _ = view(column).column("x")
    for value, before, cell in zip(values.tolist(), untouched.tolist(), cells, strict=True):
        assert value == (1 if cell is None else before)


def test_a_constant_is_found_among_keys_and_bins() -> None:
    shown = view(pd.Series([3, None, 7], dtype="Int64"), {"x": 7})
    assert shown.parts(Keys("x", (3, 7), null=True)).tolist() == [0, 1, 1]
    assert shown.parts(Bins("x", (0, 5, 10), null=True)).tolist() == [0, 1, 1]
    assert shown.units("x")[0].tolist() == [0, -1, 1]
    dates = pd.Series(["2020-01-01", None], dtype="datetime64[us]")
    constant = pd.Timestamp("2020-01-01").as_unit("ns").value
    assert view(dates, {"x": constant}).parts(Keys("x", (pd.Timestamp("2020-01-01"),))).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("dtype", "constant"),
    [("Int64", 0.5), ("Int8", 1000), ("UInt64", -1), ("float32", 0.1), ("Float32", 0.1)],
)
def test_the_dtype_with_a_constant_does_not_depend_on_rows(dtype: str, constant: float) -> None:
    whole = view(pd.Series([3, 4], dtype=dtype), {"x": constant}).column("x")[0]
    holed = view(pd.Series([3, None], dtype=dtype), {"x": constant}).column("x")[0]
    assert whole.dtype == holed.dtype == np.float64
    assert holed.tolist() == [3, constant]


def test_one_cache_serves_views_with_and_without_a_constant() -> None:
    frame, cache, keys = pd.DataFrame({"x": [1.0, np.nan]}), {}, Keys("x", (1, 2), null=True)
    assert PandasView(frame, cache).parts(keys).tolist() == [0, 2]
    assert PandasView(frame, cache, {"x": 2}).parts(keys).tolist() == [0, 1]
    assert PandasView(frame, cache, {"x": 1}).parts(keys).tolist() == [0, 0]


# Properties ------------------------------------------------------------

cells = {
    "int64": st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3),
    "Int8": st.none() | st.integers(-128, 127),
    "float64": st.floats() | st.sampled_from([0.0, -0.0, 1.0]),
    "str": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=2),
    "object": st.none() | st.text(max_size=2) | st.integers(-2, 2) | st.floats() | st.lists(st.integers(), max_size=1),
    "category": st.none() | st.sampled_from(["a", "b", "c"]),
    "string[pyarrow]": st.none() | st.sampled_from(["a", "b", "c"]),
}
keys_of = {
    "int64": (0, 1, 2**63 - 1, -2),
    "Int8": (-128, 0, 1),
    "float64": (0, 1.0, math.inf),
    "object": ("", "a", 1, 0.5),
}


@given(st.data(), st.sampled_from(sorted(cells)))
@settings(max_examples=200, deadline=None)
def test_permuting_rows_permutes_the_codes(data: st.DataObject, dtype: str) -> None:
    rows = data.draw(st.lists(cells[dtype], max_size=20))
    order = data.draw(st.permutations(range(len(rows))))
    column = pd.Series(rows, dtype=dtype)
    shuffled = pd.Series([rows[i] for i in order], dtype=dtype)
    if dtype == "category":
        shuffled = shuffled.cat.set_categories(["c", "unused", "b", "a"])
    keys = Keys("x", keys_of.get(dtype, ("", "a", "b")), other=True, null=True)
    first, second = view(column), view(shuffled)
    assert first.parts(keys)[list(order)].tolist() == second.parts(keys).tolist()
    before, count = first.units("x")
    after, count_after = second.units("x")
    pairs = set(zip(before[list(order)].tolist(), after.tolist(), strict=True))
    assert count == count_after
    assert len(pairs) == len({p[0] for p in pairs}) == len({p[1] for p in pairs})


arrow_cells = {
    pa.int64(): st.none() | st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.none() | st.floats(allow_nan=False),
    pa.bool_(): st.none() | st.booleans(),
    pa.string(): st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=2),
    pa.date32(): st.none() | st.dates(),
    pa.timestamp("us"): st.none() | st.datetimes(),
    pa.decimal128(10, 2): st.none() | st.decimals(-1000, 1000, places=2),
}


@given(st.data(), st.sampled_from(sorted(arrow_cells, key=str)))
@settings(max_examples=200, deadline=None)
def test_chunks_change_nothing(data: st.DataObject, dtype: pa.DataType) -> None:
    rows = data.draw(st.lists(arrow_cells[dtype], max_size=20))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    array = pa.array(rows, dtype)
    pieces = [array[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    whole, cut = (
        view(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks, dtype)))) for chunks in ([array], pieces)
    )
    keys = Keys("x", tuple({row for row in rows[:5] if row is not None}), other=True, null=True)
    assert whole.parts(keys).tolist() == cut.parts(keys).tolist()
    assert whole.units("x")[0].tolist() == cut.units("x")[0].tolist()
    assert whole.units("x")[1] == cut.units("x")[1]
    if dtype != pa.string():
        values, present = whole.column("x")
        values_cut, present_cut = cut.column("x")
        known = slice(None) if present is None else present
        assert values[known].tolist() == values_cut[known].tolist()
        assert (present is None) == (present_cut is None)
        assert present is None or present.tolist() == present_cut.tolist()


def test_a_function_runs_on_one_block_without_rows_only():
    """All of them are alike, and get the result it has there."""
    sizes = []

    def count(block):
        sizes.append(len(block))
        return len(block) + 10

    block = np.array([3, 3, 7, -1])
    results = PandasView(pd.DataFrame({"x": [1, 2, 3, 4]}), {}).block_results(count, block, 9)
    assert results == [10, 10, 10, 12, 10, 10, 10, 11, 10]
    assert sorted(sizes) == [0, 1, 2]
    assert (
        PandasView(pd.DataFrame({"x": []}), {}).block_results(lambda b: 1 / len(b), np.array([], int), 3) == [None] * 3
    )
