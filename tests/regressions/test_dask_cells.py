"""One cell of one partition decides on nothing but itself: not on what is raised, on a dtype, a price or on other cells."""

from __future__ import annotations

import datetime as dt
import time
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import hostile
from support.frames import fresh
from support.unitless import FIVE

import pandas_dp.dask  # noqa: F401 - gives Dask DataFrames their accessor
from pandas_dp.engines.cells import canonical
from pandas_dp.errors import PandasDPError
from pandas_dp.tables import conforming
from pandas_dp.tables.conforming import conformed, declared, settled

SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)
HUGE = 2**53


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


def protected(frame: Any, **terms: Any) -> Any:
    frame.dp.protect(**({"epsilon": 10 * SURE, "name": fresh()} | terms))
    return frame


COUNTED = ("rows", "values", "distinct", "present")


def seen(ddf: Any, column: str, asked: tuple[str, ...] = (), **terms: Any) -> dict[str, Any]:
    """All that is visible of questions about a column, and what they count."""
    protected(ddf, **terms)
    said: dict[str, Any] = {"dtypes": [str(dtype) for dtype in ddf.dp.query(f"{column} == {column}").dtypes]}
    asks = {
        "preview": lambda d: repr(d.dp.preview(epsilon=SURE).count(column)),
        "rows": lambda d: int(d.dp(epsilon=SURE).count()),
        "values": lambda d: int(d.dp(epsilon=SURE).count(column)),
        "distinct": lambda d: int(d.dp(epsilon=SURE).nunique(column)),
        "present": lambda d: int(d.dp.dropna(subset=[column]).dp(epsilon=SURE).count()),
    }
    for name, ask in [(name, ask) for name, ask in asks.items() if name in asked or not asked]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                said[name] = ask(ddf)
            except PandasDPError as error:
                said[name] = str(error)
        assert not caught
    assert all(isinstance(said[name], int) for name in COUNTED if name in said)  # nothing fails
    said["spent"] = str(ddf.dp.session.spent)
    ddf.dp.session.close()
    return said


def differ(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What two looks differ in, but for counts, which noise hides and one row moves by one."""
    apart = {name: (one[name], other[name]) for name in one if one[name] != other[name]}
    near = [name for name in COUNTED if name in apart and isinstance(one[name], int) and isinstance(other[name], int)]
    return {name: both for name, both in apart.items() if name not in near or abs(both[0] - both[1]) > 1}


def in_partitions(last: Any, cells: list[Any], declared: Any) -> Any:
    """Three partitions as pandas makes them of plain cells, with one cell more in the last, of a column declared so."""

    def make(part: int) -> pd.DataFrame:
        return pd.DataFrame({"x": cells + [last] * (part == 2)})

    return dd.from_map(make, range(3), meta=pd.DataFrame({"x": pd.Series([], dtype=declared)}), enforce_metadata=False)


MOMENT = pd.Timestamp("2020-01-02 12:00")
HOSTILE: list[Any] = [
    None, np.nan, pd.NaT, pd.NA, 1, 1.5, 1.0, True, "a", "1", "", "none", HUGE, float(HUGE), -HUGE - 1, 2**64, 10**400, np.inf,
    Decimal(1), Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), 1j, b"\xff", (1, 2), [1], {"a": 1},
    object(), np.str_("a"), 1 + 0j,
    np.int8(1), np.float32(0.1), np.datetime64("2020-01-02"), np.datetime64("20000-01-01"), MOMENT, MOMENT.tz_localize("UTC"),
    MOMENT.as_unit("ns") + pd.Timedelta(1, "ns"), dt.date(9999, 12, 31), dt.datetime(1, 1, 1), dt.timedelta(days=1),
    pd.Timedelta.max, pd.Period("2020"), pd.Interval(0, 1), "\ud800", "a\0", "9" * 400, "2020-01-02 00:00:00.123456789",
]  # fmt: skip
DECLARED: dict[str, tuple[list[Any], Any]] = {  # plain cells, and what is declared of them
    "int64": ([1, 2, 3] * 20, "int64"),
    "int8": ([1, 2, 3] * 20, "int8"),
    "uint64": ([1, 2, 3] * 20, "uint64"),
    "Int64": ([1, 2, 3] * 20, "Int64"),
    "float64": ([1.0, 2.5, 3.0] * 20, "float64"),
    "float32": ([1.0, 2.5, 3.0] * 20, "float32"),
    "Float64": ([1.0, 2.5, 3.0] * 20, "Float64"),
    "bool": ([True, False, True] * 20, "bool"),
    "boolean": ([True, False, True] * 20, "boolean"),
    "str": (["a", "b", "c"] * 20, "str"),
    "string": (["a", "b", "c"] * 20, "string"),
    "text of Python": (["a", "b", "c"] * 20, pd.StringDtype("python")),
    "object": (["a", "b", "c"] * 20, object),
    "numbers as objects": ([1, 2, 3] * 20, object),
    "category": (["a", "b", "c"] * 20, "category"),
    "dates": ([MOMENT, MOMENT + pd.Timedelta(days=1)] * 30, "datetime64[us]"),
    "days": ([MOMENT.normalize(), MOMENT.normalize() + pd.Timedelta(days=1)] * 30, "datetime64[s]"),
    "fine dates": ([MOMENT, MOMENT + pd.Timedelta(days=1)] * 30, "datetime64[ns]"),
    "zoned": ([MOMENT.tz_localize("UTC")] * 60, "datetime64[us, Europe/Paris]"),
    "durations": ([pd.Timedelta(days=1), pd.Timedelta(days=2)] * 30, "timedelta64[us]"),
    "Arrow integers": ([1, 2, 3] * 20, pd.ArrowDtype(pa.int64())),
    "Arrow floats": ([1.0, 2.5, 3.0] * 20, pd.ArrowDtype(pa.float32())),
    "Arrow bool": ([True, False, True] * 20, pd.ArrowDtype(pa.bool_())),
    "Arrow text": (["a", "b", "c"] * 20, pd.ArrowDtype(pa.string())),
    "Arrow dictionary": (["a", "b", "c"] * 20, pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    "Arrow dates": ([MOMENT, MOMENT + pd.Timedelta(days=1)] * 30, pd.ArrowDtype(pa.timestamp("us", "UTC"))),
    "Arrow days": ([dt.date(2020, 1, 2), dt.date(2020, 1, 3)] * 30, pd.ArrowDtype(pa.date32())),
    "Arrow decimals": ([Decimal("1.25"), Decimal("2.50")] * 30, pd.ArrowDtype(pa.decimal128(9, 2))),
}


def plain(cells: list[Any]) -> pd.Series[Any]:
    """A column as pandas guesses it of cells, of objects where it cannot."""
    try:
        return pd.Series(cells)
    except Exception:  # too large for any dtype
        return pd.Series(cells, dtype=object)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", DECLARED)
def test_a_cell_becomes_what_it_is_by_itself(name):
    """Beside every hostile cell the plain ones are what they are without it, and its own result is that of it alone."""
    cells, dtype = DECLARED[name]
    wanted = settled(pd.api.types.pandas_dtype(dtype))
    known = conformed(plain(cells), wanted)
    assert known.dtype == wanted or dtype == "category"
    assert known.notna().all()
    for cell in HOSTILE:
        for several, own in (([*cells, cell], len(cells)), ([cell, *cells], 0)):
            made = conformed(plain(several), wanted)
            assert made.dtype == known.dtype or dtype == "category"
            rest = made.drop(own)
            if dtype == "category":
                rest, compare = rest.astype(object), known.astype(object)
            else:
                compare = known
            pd.testing.assert_series_equal(rest.reset_index(drop=True), compare, check_categorical=False)


class Elusive(dt.timedelta):
    """Whose own code ends whatever looks at it."""

    def __getattribute__(self, name: str) -> Any:
        raise GeneratorExit(name)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", [*DECLARED, "Arrow dictionary of bytes"])
def test_no_code_of_a_cell_ends_a_question(name):
    """What it raises is no failure, interrupts among it: of a time zone, of a class of its own, of the class of its class."""
    bytes_ = ([b"a"], pd.ArrowDtype(pa.dictionary(pa.int8(), pa.binary())))
    wanted = settled(pd.api.types.pandas_dtype(DECLARED.get(name, bytes_)[1]))
    known = conformed(hostile.objects(["A", 3, None]), wanted).isna().tolist()
    ended = []
    for what, cell in {**hostile.odd_objects(), "elusive": Elusive(1)}.items():
        try:
            assert conformed(hostile.objects(["A", 3, None, cell]), wanted).iloc[:3].isna().tolist() == known
        except BaseException:
            ended.append(what)
    assert ended == []


@pytest.mark.parametrize(
    "held", [pa.dictionary(pa.int8(), pa.binary()), pa.dictionary(pa.int8(), pa.int64()), pa.string_view()]
)
def test_a_decimal_of_a_million_digits_is_not_written_down(held):
    """Arrow does that before it refuses the cell, for seconds, and for integers for hours."""
    long = Decimal("1e999999")
    before = time.process_time()
    assert conforming._one(long, held).null_count == 1
    assert conforming._one(-long, held).null_count == 1
    assert time.process_time() - before < 0.5
    assert conforming._one(Decimal("1.25"), pa.decimal128(9, 2)).to_pylist() == [Decimal("1.25")]


@pytest.mark.parametrize("dtype", ["float64", "str", "object", "datetime64[us]", "int64[pyarrow]"])
def test_a_far_date_of_a_zone_takes_no_other_cells_with_it(dtype):
    ticks = np.array([0, 86_400, 2**38, np.iinfo(np.int64).min])  # of the year 10680, and missing
    zoned = pd.Series(ticks.view("M8[s]")).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    for column in (zoned, zoned.astype("category"), zoned.astype(pd.ArrowDtype(pa.timestamp("s", "Europe/Berlin")))):
        wanted = settled(pd.api.types.pandas_dtype(dtype))
        made, alone = (conformed(part, wanted).astype(object) for part in (column, column.iloc[[0, 1]]))
        assert made.iloc[:2].tolist() == alone.tolist() or made.iloc[:2].isna().all() == alone.isna().all()


@pytest.mark.parametrize("dtype", ["str", "string"])
def test_text_in_objects_under_the_name_of_arrow_is_held_by_arrow(dtype):
    cells = np.array(["a", "b", "\ud800", pd.NA], dtype=object)
    column = pd.Series(pd.arrays.StringArray(cells))
    assert column.dtype.storage == "pyarrow"
    made = conformed(column, pd.api.types.pandas_dtype(dtype))
    assert isinstance(made.array, pd.arrays.ArrowExtensionArray)
    assert [None if pd.isna(cell) else cell for cell in made] == ["a", "b", "?", None]


NUMBER = st.sampled_from([0, 1, -1, 2**31, HUGE - 1, HUGE, HUGE + 1, -HUGE, 2**62, 2**63 - 1])


@settings(max_examples=60)
@given(
    cells=st.lists(NUMBER, min_size=1, max_size=5),
    dtype=st.sampled_from(["int64", "uint64", "object", "float64", "str"]),
)
def test_numbers_are_the_same_from_whatever_dtype_pandas_made_of_them(cells, dtype):
    wanted = settled(pd.api.types.pandas_dtype(dtype))
    exact, beside = pd.Series(cells, dtype="int64"), pd.Series([*cells, None])
    assert beside.dtype == "float64"
    expected = conformed(exact, wanted)
    for other in (beside, pd.Series([*cells, None], dtype=object), pd.Series([*map(str, cells), "a letter"])):
        if dtype in ("object", "str") and other.dtype == "str":
            continue  # text is what it is
        made = conformed(other, wanted)[: len(cells)]
        if dtype == "str" or dtype == "object":
            assert [a if pd.notna(a) else None for a in made] == [a if pd.notna(a) else None for a in expected]
        else:
            pd.testing.assert_series_equal(made, expected)


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("name", "relation"),
    [*((name, "add_remove") for name in DECLARED), *((name, "replace_one") for name in ("int64", "bool", "dates"))],
)
def test_no_cell_of_a_partition_is_seen(name, relation):
    cells, dtype = DECLARED[name]
    first = seen(in_partitions(cells[0], cells, dtype), "x", neighbors=relation)
    for cell in (None, "a", object()) if name in ("int64", "dates") else (None, "a"):
        try:
            pd.DataFrame({"x": [*cells, cell]})
        except Exception:  # the function of a partition would fail by itself
            continue
        assert differ(first, seen(in_partitions(cell, cells, dtype), "x", neighbors=relation)) == {}


def test_the_test_finds_partitions_that_are_left_as_they_are(monkeypatch):
    """A planted fault: a partition of which pandas made objects because of one text has no numbers."""

    def left(column: Any, dtype: Any) -> Any:
        return conforming._none(dtype, len(column)) if column.dtype == object else column.astype(dtype)

    monkeypatch.setattr(conforming, "_numbers", left)
    cells, dtype = DECLARED["int64"]
    first = seen(in_partitions(1, cells, dtype), "x")
    with pytest.raises(AssertionError):
        assert differ(first, seen(in_partitions("a", cells, dtype), "x")) == {}


def test_the_test_finds_numbers_that_are_rounded(monkeypatch):
    """A planted fault: from 2**53 on whole numbers stay, those that are exact as they are and others rounded."""
    monkeypatch.setattr(conforming, "EXACT", 2**70)
    cells = [HUGE + 1, HUGE + 2, HUGE + 3] * 20
    asked = [seen(in_partitions(last, cells, "Int64"), "x") for last in (HUGE + 1, None)]
    assert "distinct" in differ(*asked)


@pytest.mark.parametrize("last", [50, None, HUGE + 1])
def test_integers_of_parquet_without_notes_of_pandas(last, tmp_path):
    for part in range(3):
        ages = pa.array([31, 45, 62] * 10 + ([last] if part == 2 else []), pa.int64())
        pq.write_table(pa.table({"age": ages}), tmp_path / f"{part}.parquet")
    for relation in ("add_remove", "replace_one"):
        said = seen(dd.read_parquet(tmp_path), "age", neighbors=relation)
        assert (said["rows"], said["values"]) == (91, 91 - (last is None))
    filled = protected(dd.read_parquet(tmp_path)).dp.fillna({"age": 0})
    assert filled.dp(epsilon=SURE).count("age") == 91


def work(kind: str, last: Any) -> Any:
    """Work of Dask after which pandas makes other dtypes of a partition with such a last row."""
    frame = pd.DataFrame({"k": [1, 2] * 30 + [last]})
    ddf = dd.from_pandas(frame, npartitions=3)
    if kind == "left merge":
        return ddf.merge(pd.DataFrame({"k": [1, 2], "x": [7, 8]}), on="k", how="left")
    if kind == "left merge of truth values":
        return ddf.merge(pd.DataFrame({"k": [1, 2], "x": [True, False]}), on="k", how="left")
    if kind == "where":
        return ddf.assign(x=ddf.k.where(ddf.k < 5))
    if kind == "map":
        return ddf.assign(x=ddf.k.map({1: 10, 2: 20}, meta=("x", "int64")))
    if kind == "delayed parts":
        parts = [
            dask.delayed(lambda rows: pd.DataFrame({"x": rows.k.where(rows.k < 5)}))(part) for part in ddf.to_delayed()
        ]
        return dd.from_delayed(parts, meta=pd.DataFrame({"x": [1]}).iloc[:0])
    made = {"indicators": lambda rows: pd.get_dummies(rows.k).rename(columns={1: "x", 2: "y"})}[kind]
    return ddf.map_partitions(made, meta=pd.DataFrame({"x": [True], "y": [True]}).iloc[:0])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "kind", ["left merge", "left merge of truth values", "where", "map", "delayed parts", "indicators"]
)
def test_work_of_dask_whose_dtypes_and_names_follow_from_cells(kind):
    assert differ(*(seen(work(kind, last), "x") for last in (1, 9))) == {}


CSV = {"age": [str(n % 90) for n in range(300)], "code": [f"{n % 7:03d}" for n in range(300)]}
CSV["code"][0] = "A00"
CSV |= {"day": [f"2020-01-{1 + n % 28:02d}" for n in range(300)], "price": [f"{n / 10}" for n in range(300)]}
LINES = {
    "as the others": "31,001,2020-01-02,1.5", "blank": ",,,", "letters": "x,y,z,w", "comma too many": "3,1,001,2020-01-02,1.5",
    "cells too few": "31", "fine": "31,001,2020-01-02 00:00:00.123456789,1.5", "huge": f"{10**30},001,99999-01-01,1e999",
    "Latin-1": "31,Andr\xe9,2020-01-02,1.5", "a text": "31,A1,2020-01-02,1.5", "zero byte": "31,0\x001,2020-01-02,1.5",
}  # fmt: skip


def of_csv(line: str, path: Path, **options: Any) -> Any:
    text = pd.DataFrame(CSV).to_csv(index=False) + line + "\n"
    path.write_bytes(text.encode("latin-1"))
    return dd.read_csv(path, parse_dates=["day"], blocksize=2000, sample=1000, **options)


OPTIONS = {"day": {}, "age": {"dtype": {"age": "int64", "price": "float64"}}, "price": {"include_path_column": True}}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("column", OPTIONS)
def test_no_line_of_csv_is_seen(column, tmp_path: Path):
    """Dask guesses dtypes from the first lines, and its reader refuses blocks of others."""
    first = seen(of_csv(LINES["as the others"], tmp_path / "a.csv", **OPTIONS[column]), column, ("rows", "values"))
    assert first["rows"] == 301
    for line in LINES.values():
        assert (
            differ(first, seen(of_csv(line, tmp_path / "a.csv", **OPTIONS[column]), column, ("rows", "values"))) == {}
        )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LINES)
def test_text_of_csv_is_text_in_blocks_of_digits(name, tmp_path: Path):
    ddf = protected(of_csv(LINES[name], tmp_path / "a.csv"))
    assert ddf.npartitions > 2
    assert 0 <= ddf.dp(epsilon=SURE).histogram("code", keys=["001", "002"]).value.sum() - 86 <= 1


def test_what_dask_says_wrongly_of_every_table_is_answered(tmp_path: Path):
    """After `to_datetime` Dask takes a column of whole numbers for one of floats."""
    path = tmp_path / "a.csv"
    path.write_text("t,x\n" + "".join(f"2020-01-{1 + i % 28:02d},1\n" for i in range(300)))
    read = dd.read_csv(path)
    ddf = protected(read.assign(t=dd.to_datetime(read.t)))
    assert ddf.dp(epsilon=SURE).count() == 300
    assert round(ddf.dp(epsilon=SURE).sum("x", bounds=(0, 2))) == 300


def test_a_schema_names_dtypes_as_dask_does():
    ddf = dd.from_pandas(pd.DataFrame({"age": [1, 2, 3], "yes": [True, False, True]}), npartitions=1)
    protected(ddf, schema={"age": {"dtype": "int64", "bounds": (0, 9)}, "yes": {"dtype": "bool"}})
    assert list(map(str, declared(ddf._meta).dtypes)) == ["float64", "boolean"]
    assert ddf.dp(epsilon=SURE).count("age") == 3


class Raising(dt.tzinfo):
    """A time zone whose code raises."""

    def utcoffset(self, when):
        raise SystemExit


@pytest.mark.parametrize(
    ("cells", "odd"),
    [
        (["a"] * 5, FIVE),
        (["a"] * 5, dt.datetime(2020, 1, 1, tzinfo=Raising())),
        ([dt.date(2020, 1, 1)] * 5, np.datetime64("2020-01-01")),
        ([5] * 5, np.timedelta64(5, "s")),
    ],
)
def test_a_cell_of_categories_is_its_form_or_missing_whatever_is_beside_it(cells, odd):
    plain, alone, more = (
        conformed(pd.Series(held, dtype=object), pd.CategoricalDtype()) for held in (cells, [odd], [*cells, odd])
    )
    assert more.iloc[:-1].tolist() == plain.tolist() == [*map(canonical, cells)]
    one, other = alone.iloc[0], more.iloc[-1]
    assert (pd.isna(one) and pd.isna(other)) or (one, type(one)) == (other, type(other)) == (
        canonical(odd),
        pd.Timestamp if isinstance(odd, np.datetime64) else pd.Timedelta,
    )


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "str", "boolean", "datetime64[us]", "timedelta64[us]", "object"])
@pytest.mark.parametrize("held", [pa.date32(), pa.date64()])
def test_a_day_that_python_has_not_got_is_missing_wherever_it_is_read(dtype, held):
    days = pa.array([1, 2**31 - 1], pa.int32()).view(pa.date32())
    days = days if held == pa.date32() else pa.array([86_400_000, 2**62], pa.int64()).view(held)
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([days])))
    made = conformed(column, pd.Series([], dtype=dtype).dtype)
    alone = conformed(column.iloc[:1], pd.Series([], dtype=dtype).dtype)
    assert (made.dtype, made.iloc[:1].tolist()) == (alone.dtype, alone.tolist()) or pd.isna(alone.iloc[0])


VIEWS = [pa.list_view(pa.int64()), pa.large_list_view(pa.string()), pa.run_end_encoded(pa.int32(), pa.int64())]
VIEWS += [pa.binary_view(), pa.string_view(), pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.binary()]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "dtype", ["object", "Int64", "str", "category", "datetime64[us]", pd.ArrowDtype(pa.list_(pa.int64()))]
)
@pytest.mark.parametrize("held", VIEWS, ids=str)
def test_cells_that_are_all_missing_end_no_process(held, dtype):
    """Arrow ends the process where pandas makes an array of no chunk at all, as it does of views of lists without one."""
    wanted = pd.api.types.pandas_dtype(dtype)
    for chunks in ([], [pa.nulls(0, held)], [pa.nulls(3, held)], [pa.nulls(1, held), pa.nulls(2, held)]):
        made = conformed(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks, held))), wanted)
        assert all(map(pd.isna, made))
        assert len(made) == sum(map(len, chunks))
    assert all(map(pd.isna, conforming._none(pd.ArrowDtype(held), 3)))  # a column that a partition lacks
    union = pa.dense_union([pa.field("a", pa.int64())])
    assert len(conformed(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([], union))), wanted)) == 0


def test_a_list_is_a_list_beside_one_that_is_none():
    """Pandas makes arrays of lists, and nothing where one holds bytes that are no text."""
    texts = pa.array([["a"], ["b", "c"]], pa.list_(pa.string()))
    broken = pa.ListArray.from_arrays([0, 1], pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers()))
    whole, more = (
        pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(held))) for held in ([texts], [texts, broken])
    )
    made = conformed(more, np.dtype(object)).tolist()
    assert made[:2] == conformed(whole, np.dtype(object)).tolist() == [["a"], ["b", "c"]]


@pytest.mark.parametrize("cells", [[pd.Period("2020-01", "M")] * 5, [1j] * 5, [pd.Interval(0, 1)] * 5], ids=repr)
def test_what_no_question_is_about_shows_no_odd_cell_of_others(cells):
    """Functions see rows of such columns, of which pandas makes objects beside a text."""
    for more in ([], ["a"], [None]):
        parts = [pd.DataFrame({"x": pd.Series(cells + more), "n": 1.0})]
        empty = pd.DataFrame({"x": pd.Series(cells).iloc[:0], "n": pd.Series([], dtype=float)})
        ddf = dd.from_map(lambda part, held=parts: held[part], [0], meta=empty, enforce_metadata=False)
        protected(ddf)
        seen = ddf.dp(epsilon=SURE).release(lambda rows: float(rows["x"].notna().sum()), sensitivity=1)
        assert round(float(seen)) == 0
        ddf.dp.session.close()


@pytest.mark.slow
@pytest.mark.parametrize("values", [1, 60])
def test_dictionaries_that_are_too_long_for_one_end_no_question(values):
    """Where there are more than 32 partitions a shuffle puts dictionaries together, which must have an int8 for each value."""
    held = pa.dictionary(pa.int8(), pa.binary())

    def make(part: int) -> pd.DataFrame:
        cells = pa.array([f"{part}-{place % values}".encode() for place in range(60)]).dictionary_encode().cast(held)
        return pd.DataFrame(
            {"u": range(60 * part, 60 * part + 60), "x": pd.arrays.ArrowExtensionArray(pa.chunked_array([cells]))}
        )

    meta = pd.DataFrame({"u": pd.Series([], dtype="int64"), "x": pd.Series([], dtype=pd.ArrowDtype(held))})
    ddf = protected(dd.from_map(make, range(40), meta=meta, enforce_metadata=False), unit="u", max_rows=1)
    assert ddf.dp(epsilon=SURE).count("x") == 2400
    assert ddf.dp(epsilon=SURE).nunique("x") == 40 * values
