"""Functions and pd.col: whatever looks at other rows, or at anything but columns and constants, is refused."""

# ruff: noqa: RUF005 - every order of writing is the point

from __future__ import annotations

import math
import operator

import numpy as np
import pandas as pd
import pytest

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.expression import Column
from pandas_dp.steps.parse import parse_expression

COLUMNS = ["x", "y", "g", "when", "flag", "count"]
OUTSIDE = pd.DataFrame({"x": [1.0, 2.0], "g": ["a", "b"]})


OTHER_ROWS = {
    "max": lambda d: d.x / d.x.max(),
    "min": lambda d: d.x - d.x.min(),
    "z-score": lambda d: (d.x - d.x.mean()) / d.x.std(),
    "above the mean": lambda d: d.x > d.x.mean(),
    "rank": lambda d: d.x.rank(),
    "cumsum": lambda d: d.x.cumsum(),
    "shift": lambda d: d.x.shift(),
    "diff": lambda d: d.x.diff(),
    "ffill": lambda d: d.x.ffill(),
    "interpolate": lambda d: d.x.interpolate(),
    "pct_change": lambda d: d.x.pct_change(),
    "rolling": lambda d: d.x.rolling(4).mean(),
    "expanding": lambda d: d.x.expanding().sum(),
    "codes": lambda d: d.g.cat.codes,
    "factorize": lambda d: d.g.factorize()[0],
    "pd.factorize": lambda d: pd.factorize(d.g)[0],
    "cut": lambda d: pd.cut(d.x, 5),
    "qcut": lambda d: pd.qcut(d.x, 4),
    "get_dummies": lambda d: pd.get_dummies(d.g),
    "clip at a quantile": lambda d: d.x.clip(d.x.quantile(0.1)),
    "fillna(mean)": lambda d: d.x.fillna(d.x.mean()),
    "fill from a list of columns": lambda d: d.x.fillna([d.y]),
    "groupby.transform": lambda d: d.groupby("g").x.transform("mean"),
    "groupby.cumcount": lambda d: d.groupby("g").cumcount(),
    "duplicated": lambda d: d.x.duplicated(),
    "unique": lambda d: d.x.isin(d.y.unique()),
    "isin a column": lambda d: d.x.isin(d.y),
    "isin columns": lambda d: d.x.isin([d.y]),
    "position": lambda d: d.x[0],
    "slice": lambda d: d.x[::2],
    "iloc": lambda d: d.iloc[::2],
    "loc": lambda d: d.loc[[0, 0]],
    "head": lambda d: d.head(2),
    "nlargest": lambda d: d.nlargest(2, "x"),
    "sample": lambda d: d.sample(5),
    "sort": lambda d: d.sort_values("x"),
    "index": lambda d: d.index,
    "own index": lambda d: d.x.index > 3,
    "reset_index": lambda d: d.reset_index(),
    "explode": lambda d: d.explode("g"),
    "melt": lambda d: d.melt("g"),
    "concat": lambda d: pd.concat([d, d]),
    "merge": lambda d: d.merge(d, on="g"),
    "describe": lambda d: d.x.describe(),
    "value_counts": lambda d: d.g.value_counts(),
    "len": lambda d: d.x / len(d),
    "len of a column": lambda d: d.x / len(d.x),
    "shape": lambda d: d.shape[0],
    "size": lambda d: d.x.size,
    "values": lambda d: d.x.values,
    "to_numpy": lambda d: d.x.to_numpy(),
    "asarray": lambda d: np.asarray(d.x),
    "asarray of a table": lambda d: np.asarray(d),
    "iteration": lambda d: [cell + 1 for cell in d.x],
    "iteration over a table": lambda d: [d[name] for name in d],
    "sum()": lambda d: sum(d.x),
    "max()": lambda d: max(d.x),
    "sorted()": lambda d: sorted(d.x),
    "float()": lambda d: float(d.x),
    "int()": lambda d: int(d.x),
    "math": lambda d: math.sqrt(d.x),
    "range()": lambda d: range(d.x),
    "np.sum": lambda d: d.x / np.sum(d.x),
    "np.max": lambda d: d.x / np.max(d.x),
    "np.mean": lambda d: d.x - np.mean(d.x),
    "np.cumsum": lambda d: np.cumsum(d.x),
    "np.sort": lambda d: np.sort(d.x),
    "np.argsort": lambda d: np.argsort(d.x),
    "np.where": lambda d: np.where(d.x > 1, 1, 0),
    "np.add.reduce": lambda d: np.add.reduce(d.x),
    "np.add.accumulate": lambda d: np.add.accumulate(d.x),
    "np.multiply.outer": lambda d: np.multiply.outer(d.x, d.x),
    "np.add(out=)": lambda d: np.add(d.x, 1, out=np.zeros(3)),
    "np.maximum": lambda d: np.maximum(d.x, 0),
    "if": lambda d: 1 if d.x > 3 else 0,
    "and": lambda d: d.x > 1 and d.y < 2,
    "not": lambda d: not d.flag,
    "chained": lambda d: 1 < d.x < 3,
    "in": lambda d: d.x in [1, 2],
    "in a set": lambda d: d.x in {1, 2},
    "in a column": lambda d: 3 in d.x,
    "foreign Series": lambda d: d.x > OUTSIDE.x,
    "foreign Series on the left": lambda d: OUTSIDE.x < d.x,
    "foreign Series alone": lambda d: OUTSIDE.x,
    "foreign column in isin": lambda d: d.g.isin(OUTSIDE.g),
    "foreign array": lambda d: d.x * OUTSIDE.x.to_numpy(),
    "foreign array on the left": lambda d: OUTSIDE.x.to_numpy() * d.x,
    "foreign index": lambda d: OUTSIDE.index + d.x,
    "foreign frame": lambda d: OUTSIDE[["x"]] * d.x,
    "foreign array alone": lambda d: OUTSIDE.x.to_numpy(),
    "foreign array in clip": lambda d: d.x.clip(OUTSIDE.x.to_numpy(), None),
    "foreign array in between": lambda d: d.x.between(right=OUTSIDE.x, left=0),
    "list": lambda d: [1, 2],
    "list beside a column": lambda d: d.x + [1, 2],
    "table": lambda d: d,
    "apply": lambda d: d.x.apply(lambda cell: cell + 1),
    "map": lambda d: d.g.map(str.upper),
    "map to a column": lambda d: d.g.map({"a": d.x}),
    "pipe": lambda d: d.pipe(lambda t: t.x),
    "dot": lambda d: d.x @ d.y,
    "assignment": lambda d: operator.setitem(d, "x", 1),
    "assignment in a column": lambda d: operator.setitem(d.x, 0, 1),
    "xor": lambda d: d.flag ^ d.flag,
    "dict": lambda d: {1: 2}[d.x],
    "str accessor": lambda d: d.g.str.cat(),
    "str accessor by a column": lambda d: d.g.str.slice(d.x),
    "dt accessor": lambda d: d.when.dt.to_period("D"),
    "dt accessor alone": lambda d: d.when.dt,
    "method itself": lambda d: d.x.mean,
    "pd.col inside": lambda d: d.x > pd.col("y"),
    "pd.col max": pd.col("x") / pd.col("x").max(),
    "pd.col rank": pd.col("x").rank() > 3,
    "pd.col position": pd.col("x")[0],
    "pd.col str": pd.col("g").str.cat(),
    "pd.col foreign": pd.col("x") > OUTSIDE.x,
    "pd.col case_when": pd.col("x").case_when([(pd.col("y") > 0, pd.col("y").max())]),
    "pd.col cumsum": np.cumsum,
}


@pytest.mark.parametrize("source", OTHER_ROWS.values(), ids=OTHER_ROWS)
def test_what_looks_at_other_rows_is_refused(source):
    with pytest.raises((ArgumentTypeError, ArgumentValueError)) as caught:
        parse_expression(source, COLUMNS, argument="assign")
    text = str(caught.value)
    assert text.startswith("assign: ")
    assert len(text) > 50, "it has to say what to do instead"


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (lambda d: d.x - d.x.mean(), r"as in x - 40; or pay for one first: df\.dp\(epsilon=0\.5\)\.mean"),
        (lambda d: d.x / d.x.sum(), r"as in x - 40"),
        (lambda d: d.x / d.x.std(), r"as in x - 40"),
        (lambda d: d.x / d.x.max(), r"as in x / 100"),
        (lambda d: d.x - d.x.min(), r"as in x - 18"),
        (lambda d: d.x.rank(), r"d\.x\.cut\(\[0, 18, 65\]"),
        (lambda d: d.x.shift(), "before the table is protected"),
        (lambda d: d.x.cumsum(), "before the table is protected"),
        (lambda d: d.x.ffill(), r"\.fillna\(0\)"),
        (lambda d: d.x - d.groupby("g").x.transform("mean"), r"g\.map\(\{'a': 40, 'b': 50\}\)"),
        (lambda d: d.sort_values("x").x, "leave it out"),
        (lambda d: d.sample(3).x, r"df\.dp\.query\('x > 3'\)"),
        (lambda d: d.head().x, r"df\.dp\.query\('x > 3'\)"),
        (lambda d: d.drop_duplicates().x, "unit='person', max_rows=1"),
        (lambda d: d.g.cat.codes, r"\.map\(\{'a': 0, 'b': 1\}\)"),
        (lambda d: d.merge(d, on="g").x, r"df\.dp\.merge\(lookup, on='g'\)"),
        (lambda d: d.explode("g").g, "how many rows a person has"),
    ],
)
def test_a_refusal_names_what_to_use_instead(source, advice):
    with pytest.raises(ArgumentValueError, match=advice):
        parse_expression(source, COLUMNS)


def test_an_error_of_the_function_itself_is_its_cause():
    def broken(d: object) -> object:
        raise KeyError("no such thing")

    with pytest.raises(ArgumentTypeError, match="it raised KeyError") as caught:
        parse_expression(broken, COLUMNS)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_function_is_called_once_and_sees_no_data():
    seen: list[object] = []

    def function(d: object) -> object:
        seen.append(d)
        return d.x + 1  # type: ignore[attr-defined]

    parse_expression(function, COLUMNS)
    assert len(seen) == 1
    assert not any(isinstance(part, pd.DataFrame | pd.Series) for part in vars(seen[0]).values())


def test_names_of_methods_are_columns_only_in_brackets():
    assert parse_expression(lambda d: d["count"], COLUMNS) == Column("count")
    with pytest.raises(ArgumentValueError, match=r"write d\['count'\]"):
        parse_expression(lambda d: d.count > 1, COLUMNS)


@pytest.mark.parametrize("dtype", ["float64", "Float64", "double[pyarrow]", "category"])
def test_a_series_from_outside_is_refused_in_words_whatever_stores_it(dtype):
    outside = OUTSIDE.x.astype(dtype)
    for function in (lambda d: outside == d.x, lambda d: d.x == outside, lambda d: outside.array == d.x):
        with pytest.raises(ArgumentTypeError, match="Use columns of this table"):
            parse_expression(function, COLUMNS)
