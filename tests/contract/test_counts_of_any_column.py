"""Columns of which nothing else can be asked, such as lists and times of day, are counted, for no cell of them is read."""

from __future__ import annotations

import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.frames import fresh, protected, refused

from pandas_dp import ArgumentTypeError
from pandas_dp.facts.kinds import kind_or_none

N = 60
HELD = np.arange(N) % 10 != 0


def arrow(cells: list[object], held: pa.DataType) -> pd.Series:
    return pd.Series([cell if has else None for cell, has in zip(cells, HELD, strict=True)], dtype=pd.ArrowDtype(held))


ENDS = pa.array(np.arange(1, N + 1), pa.int32())  # of runs of one
NUMBERS = [i if has else None for i, has in enumerate(HELD)]
PLACES = pa.array(np.where(HELD, 0, 1), pa.int8())
# an old version of Arrow has no narrow decimals
NEWER = [pa.decimal32(5, -30)] if hasattr(pa, "decimal32") else []
COLUMNS = {
    "struct": lambda: arrow([{"a": i} for i in range(N)], pa.struct([("a", pa.int64())])),
    "list": lambda: arrow([[i] for i in range(N)], pa.list_(pa.int64())),
    "list of text that is none": lambda: pd.Series(
        pa.ListArray.from_arrays(pa.array(range(N + 1), pa.int32()), broken(), mask=pa.array(~HELD)),
        dtype=pd.ArrowDtype(pa.list_(pa.string())),
    ),
    "map": lambda: arrow([[("a", i)] for i in range(N)], pa.map_(pa.string(), pa.int64())),
    "time": lambda: arrow([dt.time(1, i) for i in range(N)], pa.time64("us")),
    "time beyond a day": lambda: arrow([2**40 + i for i in range(N)], pa.int64()).astype(
        pd.ArrowDtype(pa.time64("ns"))
    ),
    "bytes": lambda: arrow([b"\xff"] * N, pa.binary()),
    # these keep no nulls of their own
    "runs": lambda: of(pa.RunEndEncodedArray.from_arrays(ENDS, pa.array(NUMBERS))),
    "sparse union": lambda: of(pa.UnionArray.from_sparse(PLACES, [pa.array(NUMBERS), pa.nulls(N, pa.string())])),
    "dense union": lambda: of(pa.UnionArray.from_dense(PLACES, ENDS, [pa.array([0, *NUMBERS]), pa.nulls(N + 1)])),
    "runs of unions": lambda: of(
        pa.RunEndEncodedArray.from_arrays(ENDS, pa.UnionArray.from_sparse(PLACES, [pa.array(NUMBERS), pa.nulls(N)]))
    ),
    "union of runs and dictionaries": lambda: of(
        pa.UnionArray.from_sparse(
            PLACES,
            [
                pa.RunEndEncodedArray.from_arrays(ENDS, pa.array(NUMBERS)),
                pa.DictionaryArray.from_arrays(PLACES, pa.array(["a", None])),
            ],
        )
    ),
    "dictionary of lists": lambda: of(pa.DictionaryArray.from_arrays(PLACES, pa.array([[1], None]))),
    **{
        f"no {held}": lambda held=held: pd.Series(pd.array(pa.nulls(N, held), dtype=pd.ArrowDtype(held)))
        for held in (
            *(pa.null(), pa.binary_view(), pa.list_view(pa.int8()), pa.struct([]), pa.month_day_nano_interval()),
            *(pa.run_end_encoded(pa.int32(), pa.int64()), pa.dense_union([pa.field("a", pa.int64())]), *NEWER),
            *(pa.dictionary(pa.int8(), pa.string_view()), pa.dictionary(pa.int8(), pa.list_(pa.int8())), pa.uuid()),
        )
    },
}


def of(cells: pa.Array) -> pd.Series:
    """In two chunks, the second of which does not start at the first row of its array."""
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([cells.slice(0, 25), cells.slice(25)])))


def broken() -> pa.Array:
    """Bytes that are no UTF-8 in an array that says it is text."""
    return pa.array([b"\xff"] * N, pa.binary()).view(pa.string())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", COLUMNS)
def test_values_are_counted_and_nothing_else_is_asked(monkeypatch, name):
    df = protected(pd.DataFrame({"x": COLUMNS[name](), "n": range(N)}), epsilon=10**6)
    assert kind_or_none(df.x.dtype) is None
    answer = df.dp(epsilon=10**4).count("x")
    assert answer == (0 if name.startswith("no ") else HELD.sum())
    assert df.dp(epsilon=10**4)["x"].count() == answer
    line = r"\.count\('x'\) counts its values, \.filter\(lambda d: d\['x'\]\.notna\(\)\) keeps their rows"
    for ask in (
        lambda d: d.nunique("x"),
        lambda d: d["x"].mean(bounds=(0, 1)),
        lambda d: d.groupby("x", keys=[1]).size(),
    ):
        with refused(monkeypatch, df, ArgumentTypeError, line):
            ask(df.dp(epsilon=1))
    kept = df.dp(epsilon=10**4).filter(lambda d: d["x"].notna())
    assert kept.count() == answer
    assert len(df.dp.session.releases) == 2  # the very same question: protecting, and one count


def test_the_line_in_the_books_asks_the_same_question():
    df = protected(pd.DataFrame({"x": COLUMNS["list"]()}), epsilon=10**6)
    answer = df.dp(epsilon=10**4).count("x")
    assert str(answer.query) == "query('not x.isna()').count()"
    assert pickle.loads(pickle.dumps(answer)).value == HELD.sum()
    assert df.dp.query("not x.isna()").dp(epsilon=10**4).count().value == answer.value
    assert len(df.dp.session.releases) == 2


def test_how_many_have_a_value_is_no_public_number_of_rows():
    df = pd.DataFrame({"x": COLUMNS["time"]()})
    df.dp.protect(epsilon=10**6, name=fresh(), neighbors="replace_one")
    preview = df.dp.preview(epsilon=0.5).count("x")
    assert preview.half_width > 0
    before = df.dp.session.spent
    assert df.dp(epsilon=0.5).count("x").interval().lower < df.dp(epsilon=0.5).count("x").interval().upper
    assert df.dp.session.spent != before
