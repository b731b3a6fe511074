"""What a review of exploded rows and of answers that share a look found."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.looks import record_looks

from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.engines.arrow import rows_at
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.steps.changes import Explode

VIEW, SURE = pd.ArrowDtype(pa.string_view()), 10_000


def dictionaries(more: int, lists: bool = False) -> pd.Series:
    """Two chunks of 64 and ``more`` texts with dictionaries of int8, which 128 texts together do not fit."""
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(range(size), pa.int8()), pa.array([f"{name}{i}" for i in range(size)]))
        for name, size in (("a", 64), ("b", more))
    ]
    if lists:
        chunks = [pa.ListArray.from_arrays(np.arange(len(chunk) + 1), chunk) for chunk in chunks]
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(chunks)))


def table(more: int) -> pd.DataFrame:
    rows = 64 + more
    lists = np.fromiter(([1, 2] for _ in range(rows)), object, rows)
    columns = {"pid": range(rows), "k": dictionaries(more), "l": dictionaries(more, lists=True), "o": lists, "v": 1.0}
    return pd.DataFrame(columns)


QUESTIONS = {
    "filter": (lambda dp: dp.query("k == 'a1' or k == 'b3'").count(), lambda rows: [2]),
    "explode": (lambda dp: dp.explode("o", max=2).count(), lambda rows: [2 * rows]),
    "explode dictionaries": (lambda dp: dp.explode("l", max=2).count("l"), lambda rows: [rows]),
}


@pytest.mark.parametrize("more", [63, 64])
@pytest.mark.parametrize("name", QUESTIONS)
def test_no_row_more_makes_a_question_fail_whose_dictionaries_do_not_fit(name, more, monkeypatch):
    frame, seen = table(more), record_looks(monkeypatch)
    frame.dp.protect(epsilon=2 * SURE, unit="pid", max_rows=2, name=f"{name} {more}")
    ask, expected = QUESTIONS[name]
    ask(frame.dp(epsilon=SURE))
    assert seen == [expected(64 + more)]


@pytest.mark.parametrize("more", [63, 64])
def test_a_row_more_leaves_the_other_blocks_their_results(more):
    view = PandasView(table(more), {})
    block = np.arange(view.rows) % 2
    assert sum(view.block_results(lambda rows: len(rows.k.unique()), block, 2)) == 64 + more


@pytest.mark.parametrize("kept", [[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]])
@pytest.mark.parametrize("dtype", [pa.string_view(), pa.list_(pa.string_view()), pa.struct([("a", pa.binary_view())])])
def test_a_filter_that_leaves_out_a_row_answers_beside_columns_that_arrow_cannot_take(dtype, kept):
    column = pd.array(pa.nulls(4, dtype), dtype=pd.ArrowDtype(dtype))
    frame = pd.DataFrame({"t": column, "v": kept})
    frame.dp.protect(epsilon=2 * SURE, name=f"views {dtype} {kept}")
    assert frame.dp(epsilon=SURE).query("v == 1").count() == sum(kept)  # P(noise is not 0) < e^-9999
    assert frame.dp.query("v == 1").t.dtype == frame.t.dtype


def test_rows_at_takes_what_take_takes():
    texts = pa.chunked_array([["a", None], [], ["b", "c", "d"]], pa.string())
    frame = pd.DataFrame({"x": range(5)}, index=[0, 0, 1, np.nan, 7])
    frame["t"] = pd.Series(pd.arrays.ArrowExtensionArray(texts), index=frame.index)
    frame["v"] = frame.t.astype(VIEW)
    names = [(1, 2), None, True]
    for places in ([], [0], [4, 4], [0, 1, 1, 2, 4], range(5)):
        found = rows_at(frame, np.array(places, dtype=np.intp))
        pd.testing.assert_frame_equal(found[["x", "t"]], frame[["x", "t"]].take(places))
        assert found.v.dtype == VIEW
        assert found.v.tolist() == found.t.tolist()
        odd = rows_at(frame.set_axis(pd.Index(names, dtype=object, tupleize_cols=False), axis=1), found.x.to_numpy())
        assert list(odd.columns) == names
        assert odd.iloc[:, 2].tolist() == found.v.tolist()
    assert list(rows_at(frame, np.array([], dtype=np.intp)).columns) == ["x", "t", "v"]


def test_lists_whose_entries_arrow_cannot_take_are_refused_before_anything_is_charged():
    lists = pd.array([["a"], None, ["b"]], dtype=pd.ArrowDtype(pa.list_(pa.string_view())))
    frame = pd.DataFrame({"pid": range(3), "l": lists})
    session = frame.dp.protect(epsilon=3, unit="pid", max_rows=2, name="lists of views")
    for ask in (lambda: frame.dp(epsilon=1).explode("l", max=2), lambda: frame.dp.explode("l", max=2)):
        with pytest.raises(ArgumentTypeError, match=r"(df|frame)\['l'\].astype\(pd.ArrowDtype\(pa.list_\(pa.string"):
            ask()
    assert session.left == "epsilon=3"


@pytest.mark.parametrize("dtype", [pa.list_(pa.int64()), pa.dictionary(pa.int8(), pa.string_view()), pa.binary()])
def test_units_of_a_dtype_that_cannot_be_read_are_refused_when_the_table_is_protected(dtype):
    frame = pd.DataFrame({"u": pd.array(pa.nulls(2, dtype), dtype=pd.ArrowDtype(dtype)), "x": 1.0})
    with pytest.raises(ArgumentTypeError, match=r"unit='u': columns of dtype .* cannot be asked about"):
        frame.dp.protect(epsilon=3, unit="u", max_rows=2, name=f"units {dtype}")


def test_dictionaries_of_views_are_refused_before_anything_is_charged():
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["a"], pa.string_view()))
    frame = pd.DataFrame({"t": pd.array(texts, dtype=pd.ArrowDtype(texts.type)), "x": 1.0})
    session = frame.dp.protect(epsilon=3, name="dictionaries of views")
    for ask in (lambda dp: dp.nunique("t"), lambda dp: dp.value_counts("t", keys=["a"])):
        with pytest.raises(ArgumentTypeError, match="cannot be asked about"):
            ask(frame.dp(epsilon=1))
    assert session.left == "epsilon=3"


class Erratic:
    """A cell that is never found again by its hash."""

    def __hash__(self) -> int:
        return random.getrandbits(60)


@pytest.mark.parametrize("beside", ["text", ("a", 1), float("nan")])
def test_all_rows_of_one_object_are_one_unit_whatever_its_hash(beside):
    unit = Erratic()
    cells = np.fromiter([unit, beside, unit, beside], object, 4)
    lists = np.fromiter(([0] * 50 for _ in cells), object, 4)
    made = Explode("l", 50).apply(pd.DataFrame({"u": pd.Series(cells, dtype=object), "l": lists}))
    others = 3 if beside == beside else 0  # a missing unit does not count
    assert RowCounts().compute(PandasView(made, {}), PrivacyUnit("u", 3, 3, 3)).open() == [3 + others]
