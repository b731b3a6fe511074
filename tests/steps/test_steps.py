"""Steps: what each does to a table, which columns it reads and touches, and that every row goes its own way."""

from __future__ import annotations

import pickle
import warnings
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.changes import Assign, Clip, Drop, FillNA, Filter, Rename, Step
from pandas_dp.steps.expression import Column, Constant
from tests.steps.tables import conditions, expressions, tables
from tests.support import steps

NAN = np.nan
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def table() -> pd.DataFrame:
    """A small table of the usual kinds, with labels that repeat."""
    return pd.DataFrame(
        {
            "age": [31, 45, 62, 18],
            "pay": [1000.0, NAN, -5.0, 500.0],
            "ward": ["ICU", None, "B", "B"],
            "city": pd.Categorical(["x", "y", None, "x"]),
            "sick": pd.array([True, None, False, True], dtype="boolean"),
            "when": pd.to_datetime(["2024-01-01", None, "2024-03-01", "2024-01-01"]),
        },
        index=[7, 7, 3, 0],
    )


EMPTY = table().iloc[:0]
LOOKUP = pd.DataFrame(
    {
        "ward": ["B", "C", "ICU"],
        "beds": [10.0, None, 4.0],
        "name": ["Back", None, "Care"],
        "since": pd.to_datetime(["2020-01-01", "2021-01-01", None]),
    }
)

# Each step through its builder: the steps, pandas' own result, what is read, what is touched.
CASES: dict[str, tuple] = {
    "query": (
        lambda e: steps.query("age > 20 and ward != 'B'", e),
        lambda d: d.query("age > 20 and ward != 'B'"),
        {"age", "ward"},
        set(),
    ),
    "filter": (lambda e: steps.filter_(pd.col("pay") > 0, e), lambda d: d[d.pay > 0], {"pay"}, set()),
    "filter by a function": (
        lambda e: steps.filter_(lambda d: d.sick & d.when.notna(), e),
        lambda d: d[d.sick.fillna(False) & d.when.notna()],
        {"sick", "when"},
        set(),
    ),
    "assign": (
        lambda e: steps.assign(e, rate=lambda d: d.pay / d.age),
        lambda d: d.assign(rate=d.pay / d.age),
        {"age", "pay"},
        {"rate"},
    ),
    "assign over a column": (
        lambda e: steps.assign(e, pay=pd.col("pay") * 2),
        lambda d: d.assign(pay=d.pay * 2),
        {"pay"},
        {"pay"},
    ),
    "assign a constant": (
        lambda e: steps.assign(e, wave="first"),
        lambda d: d.assign(wave=pd.Series("first", index=d.index, dtype="str")),
        set(),
        {"wave"},
    ),
    "assign a column": (
        lambda e: steps.assign(e, town=pd.col("city")),
        lambda d: d.assign(town=d.city),
        {"city"},
        {"town"},
    ),
    "eval": (lambda e: steps.eval_("`a b` = pay + 1", e), lambda d: d.assign(**{"a b": d.pay + 1}), {"pay"}, {"a b"}),
    "clip": (
        lambda e: steps.clip(0, 600, e, columns=["pay"]),
        lambda d: d.assign(pay=d.pay.clip(0, 600)),
        {"pay"},
        {"pay"},
    ),
    "clip from below": (
        lambda e: steps.clip(20, None, e, columns=["pay", "age"]),
        lambda d: d.assign(pay=d.pay.clip(lower=20), age=d.age.clip(lower=20)),
        {"pay", "age"},
        {"pay", "age"},
    ),
    "fillna": (
        lambda e: steps.fillna({"pay": 1, "ward": "none", "city": "q", "when": "2020-01-01", "sick": False}, e),
        lambda d: d.assign(
            pay=d.pay.fillna(1),
            ward=d.ward.fillna("none"),
            city=d.city.astype(object).fillna("q"),
            when=d.when.fillna(pd.Timestamp("2020-01-01")),
            sick=d.sick.fillna(False),
        ),
        {"pay", "ward", "city", "when", "sick"},
        {"pay", "ward", "city", "when", "sick"},
    ),
    "dropna": (
        lambda e: steps.dropna(["pay", "ward"], e),
        lambda d: d.dropna(subset=["pay", "ward"]),
        {"pay", "ward"},
        set(),
    ),
    "dropna of one": (lambda e: steps.dropna("sick", e), lambda d: d.dropna(subset="sick"), {"sick"}, set()),
    "dropna of all": (lambda e: steps.dropna(None, e), lambda d: d.dropna(), {*EMPTY.columns}, set()),
    "merge": (
        lambda e: steps.merge(LOOKUP, "ward", "left", e),
        lambda d: d.merge(LOOKUP, on="ward", how="left").set_index(d.index).assign(),
        {"ward"},
        {"beds", "name", "since"},
    ),
    "drop": (
        lambda e: steps.drop(["age", "ward"], e),
        lambda d: d.drop(columns=["age", "ward"]),
        set(),
        {"age", "ward"},
    ),
    "drop one": (lambda e: steps.drop("age", e), lambda d: d.drop(columns="age"), set(), {"age"}),
    "rename": (
        lambda e: steps.rename({"age": "years"}, e),
        lambda d: d.rename(columns={"age": "years"}),
        {"age"},
        {"age", "years"},
    ),
    "rename by turns": (
        lambda e: steps.rename({"age": "pay", "pay": "age"}, e),
        lambda d: d.rename(columns={"age": "pay", "pay": "age"}),
        {"age", "pay"},
        {"age", "pay"},
    ),
    "rename by a function": (
        lambda e: steps.rename(str.upper, e),
        lambda d: d.rename(columns=str.upper),
        {*EMPTY.columns},
        {*EMPTY.columns, *map(str.upper, EMPTY.columns)},
    ),
}
each = pytest.mark.parametrize("name", CASES)


def applied(done: tuple[Step, ...], frame: pd.DataFrame) -> pd.DataFrame:
    for step in done:
        frame = step.apply(frame)
    return frame


@each
def test_a_step_does_what_pandas_does_and_keeps_labels(name):
    build, expected, *_ = CASES[name]
    frame, before = table(), table()
    frame.attrs = {"mark": "kept"}
    result = applied(build(EMPTY), frame)
    pd.testing.assert_frame_equal(result, expected(table()))
    assert result.attrs == {"mark": "kept"}
    pd.testing.assert_frame_equal(frame, before)


@each
def test_reads_touches_and_filters(name):
    build, _, reads, touches = CASES[name]
    done = build(EMPTY)
    assert set().union(*(step.reads for step in done)) == reads
    assert set().union(*(step.touches for step in done)) == touches
    assert all(step.factor == 1 for step in done)
    assert [step.is_filter for step in done] == [isinstance(step, Filter) for step in done]


@each
def test_the_result_without_rows_has_the_same_names_and_dtypes(name):
    done = CASES[name][0](EMPTY)
    pd.testing.assert_series_equal(applied(done, EMPTY).dtypes, applied(done, table()).dtypes)


@each
def test_steps_are_frozen_hashable_and_picklable(name):
    done = CASES[name][0](EMPTY)
    again, other = CASES[name][0](EMPTY), pickle.loads(pickle.dumps(done))
    assert done == again == other
    assert repr(done) == repr(again) == repr(other)
    assert hash(done) == hash(again) == hash(other)
    with pytest.raises(AttributeError):
        done[0].reads = frozenset()


def test_each_kind_of_step_is_covered():
    kinds = {type(step) for build, *_ in CASES.values() for step in build(EMPTY)}
    assert kinds == {Filter, Assign, Clip, FillNA, Drop, Rename}


def test_equal_questions_are_equal_steps_and_others_are_not():
    def one(found: tuple[Step, ...]) -> Step:
        return found[0]

    assert one(steps.drop(["age", "pay"], EMPTY)) == one(steps.drop(iter(["pay", "age", "pay"]), EMPTY))
    assert one(steps.fillna({"pay": 1, "age": 2}, EMPTY)) == one(steps.fillna({"age": 2, "pay": 1}, EMPTY))
    assert one(steps.rename({"pay": "p", "age": "a"}, EMPTY)) == one(steps.rename({"age": "a", "pay": "p"}, EMPTY))
    assert one(steps.query("age > 3", EMPTY)) == one(steps.filter_(pd.col("age") > 3, EMPTY))
    assert one(steps.eval_("k = age * 2", EMPTY)) == one(steps.assign(EMPTY, k=lambda d: d.age * 2))
    distinct = [
        *(one(steps.assign(EMPTY, k=constant)) for constant in (1, 1.0, True, "1", lambda d: "age")),
        *(one(steps.fillna({"pay": constant}, EMPTY)) for constant in (1, 1.0)),
        *(one(steps.clip(*bounds, EMPTY, columns="pay")) for bounds in ((0, 1), (0.0, 1), (None, 1), (0, None))),
        one(steps.assign(EMPTY, k=pd.col("age"))),
        one(steps.assign(EMPTY, other=pd.col("age"))),
        one(steps.drop("age", EMPTY)),
        one(steps.drop("pay", EMPTY)),
        one(steps.rename({"age": "a"}, EMPTY)),
        one(steps.query("age > 3", EMPTY)),
        one(steps.query("age > 3.0", EMPTY)),
        one(steps.query("age >= 3", EMPTY)),
    ]
    assert len(set(distinct)) == len({repr(step) for step in distinct}) == len(distinct)


def test_later_columns_use_earlier_ones_and_see_the_table_as_it_is_by_then():
    done = steps.assign(EMPTY, twice=lambda d: d.age * 2, age=lambda d: d.twice + 1, thrice=lambda d: d.age)
    result = applied(done, table())
    expected = table().age * 2.0
    pd.testing.assert_series_equal(result.twice, expected, check_names=False)
    pd.testing.assert_series_equal(result.thrice, expected + 1, check_names=False)
    lines = applied(steps.eval_("twice = age * 2\n\n age = twice + 1 \nthrice = age", EMPTY), table())
    pd.testing.assert_frame_equal(lines, result)


def test_a_new_column_does_not_share_memory_with_the_old_one():
    frame = table()
    result = applied(steps.assign(frame.iloc[:0], copy=pd.col("pay"), pay=pd.col("pay")), frame)
    result.iloc[:, result.columns.get_loc("copy")] = -1.0
    result.iloc[:, result.columns.get_loc("pay")] = -2.0
    pd.testing.assert_frame_equal(frame, table())
    assert set(result["copy"]) == {-1.0}


@pytest.mark.slow
def test_hundreds_of_columns_make_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = steps.assign(EMPTY, **{f"c{i}": pd.col("age") + i for i in range(150)})
        assert applied(done, table()).shape == (4, 156)


def test_tables_of_any_index_keep_it():
    for index in (
        pd.MultiIndex.from_tuples([(1, "a"), (1, "a"), (2, "b"), (2, "c")]),
        pd.date_range("2024", periods=4, freq="D", tz="UTC"),
        pd.Index([NAN, NAN, 1.0, 2.0]),
        pd.Index(["a", "a", None, "b"]),
    ):
        frame = table().set_index(index)
        done = (*steps.fillna({"pay": 0}, EMPTY), *steps.assign(EMPTY, k=lambda d: d.pay * 2))
        result = applied(done, frame)
        assert result.index.equals(index)
        assert list(result.k) == [2000.0, 0.0, -10.0, 1000.0]
        kept = applied(steps.query("age > 40", EMPTY), frame)
        assert kept.index.equals(index[1:3])


# Row by row


_numeric = ["f", "i", "u", "ni", "ai"]
_bounds = st.integers(-9, 9) | st.floats(-9, 9)
_picked = st.lists(st.sampled_from(_numeric), unique=True, min_size=1).map(sorted).map(tuple)
_fills = {"f": 0.5, "ni": 3, "ai": 2**40, "nb": True, "s": "a", "sp": "b", "o": "c", "c": "d", "z": "2024-01-01"}
CHANGES = st.one_of(  # built once: each depth of an expression is a strategy of its own
    st.builds(Filter, conditions(2)),
    st.builds(Assign, st.sampled_from([*_numeric, "new"]), expressions()),
    st.builds(lambda c, a, b: Clip(c, Constant(min(a, b)), Constant(max(a, b))), _picked, _bounds, _bounds),
    st.builds(Clip, _picked, _bounds.map(Constant), st.none()),
    st.lists(st.sampled_from(sorted(_fills)), unique=True).map(
        lambda names: FillNA(tuple((name, Constant(_fills[name])) for name in names))
    ),
    st.just(Drop(("f", "o"))),
    st.just(Rename((("f", "i"), ("i", "f")))),
)


def rows_of(frame: pd.DataFrame) -> list[tuple]:
    """Rows with their labels, comparable across tables."""
    cells = [frame.index.tolist(), *(frame[name].astype(object).tolist() for name in frame.columns)]
    return [tuple(repr(cell) for cell in row) for row in zip(*cells, strict=True)]


def rowwise(step: Step, frame: pd.DataFrame) -> bool:
    """Whether a table's result is that of its rows one by one, and leaving one out changes no other."""
    parts = [rows_of(step.apply(frame.iloc[row : row + 1])) for row in range(len(frame))]
    if rows_of(step.apply(frame)) != list(chain(*parts)):
        return False
    for row in range(len(frame)):
        rest = frame.iloc[np.delete(np.arange(len(frame)), row)]
        if rows_of(step.apply(rest)) != list(chain(*parts[:row], *parts[row + 1 :])):
            return False
    return True


@quick
@given(tables(max_rows=3), CHANGES)
def test_every_row_goes_its_own_way_and_no_cell_decides_a_name_or_a_dtype(frame, step):
    result, without = step.apply(frame), step.apply(frame.iloc[:0])
    pd.testing.assert_series_equal(result.dtypes, without.dtypes)
    assert len(result) <= len(frame)
    assert step.is_filter or result.index.equals(frame.index)
    assert step.reads <= set(frame.columns)
    assert set(result.columns) ^ set(frame.columns) <= step.touches
    assert rowwise(step, frame)


@pytest.mark.parametrize(
    "broken",
    [
        lambda frame: frame[frame.age > frame.age.mean()],
        lambda frame: frame.head(2),
        lambda frame: frame.assign(pay=frame.pay / frame.pay.max()),
        lambda frame: frame.assign(pay=frame.pay.ffill()),
        lambda frame: frame.assign(k=frame.age.rank()),
        lambda frame: frame.drop_duplicates("ward"),
        lambda frame: pd.concat([frame, frame]),
    ],
)
def test_the_check_catches_steps_across_rows(broken):
    class Broken(Step):
        apply = staticmethod(broken)

    assert not rowwise(Broken(), table())
    assert rowwise(Filter(Column("sick")), table())


# Arguments


@each
def test_tables_with_names_that_mean_two_columns_are_refused(name):
    build = CASES[name][0]
    twice = table().iloc[:, [0, 1, 2, 3, 4, 5, 5]]
    levels = table().set_axis(pd.MultiIndex.from_product([["a"], table().columns]), axis=1)
    with pytest.raises(ArgumentValueError, match="same name"):
        build(twice)
    with pytest.raises(ArgumentValueError, match="several levels"):
        build(levels)


def test_builders_look_at_names_and_dtypes_alone():
    for build, *_ in CASES.values():
        assert build(table()) == build(EMPTY)


def test_columns_named_by_numbers_stay():
    frame = table().assign(k=1).rename(columns={"k": 7})
    result = applied(steps.query("age > 40", frame.iloc[:0]), frame)
    assert list(result[7]) == [1, 1]
    with pytest.raises(ArgumentTypeError, match="has to be text"):
        steps.drop([7], frame.iloc[:0])
