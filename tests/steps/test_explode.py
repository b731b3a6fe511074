"""``explode``: pandas' own result on lists that are cut, in every storage, and cells that are no lists left alone."""

from __future__ import annotations

import collections
import pickle
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cells import arrow, objects

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.schema import ColumnFacts, Schema
from pandas_dp.steps.changes import Explode, check_units
from tests.support import steps

NAN = float("nan")
KINDS = {"list": list, "tuple": tuple, "array": np.array, "objects": lambda cells: objects(*cells).to_numpy()}
quick = settings(max_examples=60, deadline=None)
_lists = st.none() | st.lists(st.none() | st.integers(-3, 3), max_size=5)


def table(lists: pd.Series) -> pd.DataFrame:
    """Lists between two other columns, under labels that repeat."""
    n = len(lists)
    index = pd.Index(np.arange(n) // 2, name="label")
    return pd.DataFrame(
        {"u": np.arange(n) % 3, "x": lists.set_axis(index), "s": [f"s{i}" for i in range(n)]}, index=index
    )


def exploded(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    (step,) = steps.explode("x", most, frame.iloc[:0])
    return step.apply(frame)


@quick
@given(cells=st.lists(_lists, max_size=8), most=st.integers(1, 6), kinds=st.lists(st.sampled_from(list(KINDS))))
def test_lists_in_objects_are_exploded_as_pandas_does_once_they_are_cut(cells, most, kinds):
    made = [c if c is None else KINDS[[*kinds, "list"][i % (len(kinds) + 1)]](c) for i, c in enumerate(cells)]
    frame = table(objects(*made))
    expected = table(objects(*(c if c is None else c[:most] for c in made))).explode("x")
    result = exploded(frame, most)
    pd.testing.assert_frame_equal(result, expected.astype({"x": object}))
    assert result.x.dtype == object
    pd.testing.assert_frame_equal(frame, table(objects(*made)))


@quick
@given(
    cells=st.lists(_lists, max_size=8),
    most=st.integers(1, 6),
    inner=st.sampled_from([pa.int64(), pa.string(), pa.float32(), pa.dictionary(pa.int8(), pa.string())]),
    cut=st.integers(0, 8),
)
def test_lists_in_arrow_are_exploded_as_pandas_does_once_they_are_cut(cells, most, inner, cut):
    def column(lists, kind):
        if not (pa.types.is_integer(inner) or pa.types.is_floating(inner)):
            lists = [None if c is None else [None if e is None else str(e) for e in c] for c in lists]
        whole = pa.array(lists, kind)
        return arrow(pa.array([[None]] * 2, kind).slice(1, 0), whole[:cut], whole[cut:])

    expected = table(column([None if c is None else c[:most] for c in cells], pa.list_(inner))).explode("x")
    for kind in (pa.list_(inner), pa.large_list(inner)):
        result = exploded(table(column(cells, kind)), most)
        pd.testing.assert_frame_equal(result, expected)
        assert result.x.dtype == pd.ArrowDtype(inner)


def test_lists_of_arrow_that_pandas_leaves_alone():
    fixed = arrow(pa.array([[1, 2, 3], None, [4, None, 6]], pa.list_(pa.int64(), 3)))
    assert exploded(table(fixed), 2).x.tolist() == [1, 2, pd.NA, 4, pd.NA]
    views = arrow(pa.array([[1, 2, 3], [], None, [4]], pa.list_view(pa.int64())))
    assert exploded(table(views), 2).x.tolist() == [1, 2, pd.NA, pd.NA, 4]
    nested = arrow(pa.array([[[1, 2], None], [[3]]]))
    once = exploded(table(nested), 5)
    assert once.x.dtype == pd.ArrowDtype(pa.list_(pa.int64()))
    assert exploded(once, 1).x.tolist() == [1, pd.NA, 3]


def test_what_lies_behind_a_missing_list_is_not_read():
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 2, 4], pa.int32()), pa.array([1, 2, 3, 4]), mask=pa.array([True, False])
    )
    assert exploded(table(arrow(hidden)), 5).x.tolist() == [pd.NA, 3, 4]


@pytest.mark.parametrize(
    "lists",
    [
        objects([1, 2], (), None, np.array([[1, 2], [3, 4]]), "ab"),
        objects(["a", "b"], ["c"], ["a"], ("b",)),  # which pandas takes for text
        arrow(pa.array([["a", "b"], [], None, ["c"], ["d"]])),
    ],
)
def test_the_result_without_rows_has_the_same_names_and_dtypes(lists):
    frame = table(lists)
    frame.attrs = {"mark": "kept"}
    frame.columns.name = "names"
    result = exploded(frame, 2)
    for rows in (slice(0), slice(1), slice(1, 3)):
        pd.testing.assert_series_equal(exploded(frame.iloc[rows], 2).dtypes, result.dtypes)
    assert result.attrs == {"mark": "kept"}
    assert result.columns.equals(frame.columns)
    assert result.columns.name == "names"


def test_tables_of_any_index_repeat_their_labels():
    lists = objects([1, 2], None, [3], [])
    for index in (
        pd.MultiIndex.from_tuples([(1, "a"), (1, "a"), (2, "b"), (2, "c")]),
        pd.date_range("2024", periods=4, freq="D", tz="UTC"),
        pd.Index([NAN, NAN, 1.0, 2.0]),
        pd.Index(["a", "a", None, "b"]),
    ):
        frame = table(lists).set_index(index)
        assert exploded(frame, 2).index.equals(index.take([0, 0, 1, 2, 3]))
        done = (*steps.explode("x", 2, frame.iloc[:0]), *steps.assign(frame.iloc[:0], k=lambda d: d.u * 2))
        for step in done:
            frame = step.apply(frame)
        assert frame.k.tolist() == [0, 0, 2, 4, 0]
        (kept,) = steps.query("u > 0", frame.iloc[:0])
        assert kept.apply(frame).x.tolist() == [None, 3]


# Odd cells


class Hostile:
    """A cell that runs code wherever anybody looks."""

    def _run(self, *args, **kwargs):
        raise RuntimeError("code of a cell was run")

    __len__ = __iter__ = __getitem__ = __eq__ = __bool__ = __array__ = __getattr__ = __repr__ = _run
    __hash__ = _run

    @property
    def __class__(self):
        raise RuntimeError("code of a cell was run")


class HostileList(list):
    __len__ = __iter__ = __getitem__ = __bool__ = Hostile._run


def test_cells_that_are_no_lists_stay_one_row_and_run_nothing():
    def generator():
        raise RuntimeError("code of a cell was run")
        yield

    odd = [
        *(Hostile(), HostileList([1, 2]), np.array(7)),
        *({1, 2}, frozenset([3]), {"k": 1}, "text", b"bytes", range(3), generator(), collections.deque([1])),
        *(pd.Series([1, 2]), pd.DataFrame({"a": [1]}), pa.array([1, 2]), np.ma.array([1, 2]), 3, NAN, pd.NaT, pd.NA),
    ]
    cells = [["a", "b"]]
    for cell in odd:
        cells += [cell, ["c", cell, "cut"]]
    result = exploded(table(objects(*cells)), 2)
    found = result.x.array
    assert found[:2].tolist() == ["a", "b"]
    for place, cell in enumerate(odd):
        alone, first, inside = (found[2 + 3 * place + k] for k in range(3))
        assert alone is cell
        assert first == "c"
        assert inside is cell
    assert len(result) == 2 + 3 * len(odd)


def test_arrays_of_a_class_of_their_own_are_not_opened():
    cell = np.array([1, 2]).view(np.ma.MaskedArray)
    hostile = np.ndarray.__new__(type("Plain", (np.ndarray,), {"__getitem__": Hostile._run}), 2)
    found = exploded(table(objects(cell, hostile)), 5).x.array
    assert found[0] is cell
    assert found[1] is hostile
    assert len(found) == 2


_cells = _lists | st.sampled_from([{1}, "ab", {"k": 1}, 3, NAN]) | st.lists(st.lists(st.integers(0, 2)), max_size=3)


def rows_of(frame: pd.DataFrame) -> list[tuple]:
    cells = [frame.index.tolist(), *(list(frame[name].array) for name in frame.columns)]
    return [tuple(map(repr, row)) for row in zip(*cells, strict=True)]


def rowwise(explode, frame: pd.DataFrame) -> bool:
    """Whether a table's result is that of its rows one by one."""
    parts = [rows_of(explode(frame.iloc[row : row + 1])) for row in range(len(frame))]
    return rows_of(explode(frame)) == list(chain(*parts))


@quick
@given(cells=st.lists(_cells, max_size=6), most=st.integers(1, 4))
def test_every_row_goes_its_own_way(cells, most):
    frame = table(objects(*cells))
    result = exploded(frame, most)
    assert rowwise(lambda part: exploded(part, most), frame)
    assert len(result) <= most * len(frame)
    assert result.groupby(["label", "u", "s"]).size().between(1, most).all()


@pytest.mark.parametrize(
    "broken",
    [
        lambda frame: frame.explode("x").head(4),  # a cut of all rows together
        lambda frame: frame.explode("x").drop_duplicates("x"),
        lambda frame: frame.assign(x=[c[: len(frame) // 2] for c in frame.x]).explode("x"),
    ],
)
def test_what_looks_at_other_rows_is_found(broken):
    assert not rowwise(broken, table(objects([1, 2, 3], [4, 5], [1, 6])))


# The step as data, and its arguments


def test_the_step_is_frozen_data_and_shows_what_one_types():
    frame = table(objects([1]))
    (step,) = steps.explode("x", np.int64(3), frame.iloc[:0])
    assert step == Explode("x", 3) == pickle.loads(pickle.dumps(step))
    assert steps.explode(["x"], 3, frame.iloc[:0]) == (step,)
    assert str(step) == "explode('x', max=3)"
    assert repr(step) == "Explode(column='x', max=3)"
    assert step.reads == step.touches == {"x"}
    assert (step.factor, step.is_filter) == (3, False)
    assert len({step, Explode("x", 2), Explode("y", 3)}) == 3


@pytest.mark.parametrize(
    ("column", "most", "error", "match"),
    [
        ("y", 3, ArgumentValueError, "no column 'y'"),
        (3, 3, ArgumentTypeError, "by their names"),
        (["x", "u"], 3, ArgumentTypeError, r"takes one column, .*df = df\.explode\(\['tags', 'prices'\]\)"),
        ("u", 3, ArgumentTypeError, r"the dtype of 'u' holds no lists.*\.str\.split"),
        ("s", 3, ArgumentTypeError, r"df\['s'\] = df\['s'\]\.str\.split\(','\)"),
        ("c", 3, ArgumentTypeError, "the dtype of 'c'"),
        ("x", 2.0, ArgumentTypeError, r"whole number.*explode\('x', max=5\)"),
        ("x", True, ArgumentTypeError, "whole number"),
        ("x", None, ArgumentTypeError, "whole number"),
        ("x", "3", ArgumentTypeError, "whole number"),
        ("x", 0, ArgumentValueError, r"from 1 to 2\*\*31 - 1: explode\('x', max=5\)"),
        ("x", -1, ArgumentValueError, "from 1"),
        ("x", 2**31, ArgumentValueError, "from 1"),
    ],
)
def test_arguments_that_do_not_fit(column, most, error, match):
    empty = table(objects([1])).assign(c=pd.Categorical(["private"])).iloc[:0]
    with pytest.raises(error, match=match) as caught:
        steps.explode(column, most, empty)
    assert "private" not in str(caught.value)


def test_several_rows_of_one_need_a_column_of_units():
    many, same = Explode("x", 3), Explode("x", 1)
    check_units((many, many), "u")
    check_units((same, same), None)
    for done, rows in (((many,), 3), ((many, same, many), 9)):
        with pytest.raises(ArgumentValueError, match=rf"df\['id'\] = range\(len\(df\)\).*unit='id', max_rows={rows}\)"):
            check_units(done, None)


def test_what_was_said_of_lists_is_said_of_their_entries():
    schema = Schema({"x": {"keys": ["a", "b"], "dtype": "object"}, "u": {"bounds": (0, 9), "keys": [1, 2], "nulls": 0}})
    assert schema.after([Explode("x", 3)]) == schema
    empty = table(objects(["a"])).iloc[:0]
    done = (*steps.explode("x", 3, empty), *steps.rename({"x": "tag"}, empty))
    assert schema.after(done)["tag"].keys == ("a", "b")
    assert schema.after(done)["x"] == ColumnFacts()
