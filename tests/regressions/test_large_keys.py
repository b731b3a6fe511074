"""A listed key beyond 2**53 was rounded in columns of floats, so that it was counted under the label of another one."""

from __future__ import annotations

import importlib
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pandas_dp
from pandas_dp import ArgumentValueError
from pandas_dp.engines.numeric import as_dtype
from tests.support.frames import fresh, refused

dask = pytest.importorskip("dask.dataframe")
importlib.import_module("pandas_dp.dask")
E53 = 2**53
CELLS = [E53 - 1, E53, E53 + 1, E53 + 2, 2**63 - 1]
KEYS = [*CELLS, 2**63, 2**64 - 1]
EXACT = {
    "Int64": "Int64",
    "UInt64": "UInt64",
    "Arrow's integers": "int64[pyarrow]",
    "Arrow's unsigned": "uint64[pyarrow]",
    "Arrow's decimals": pd.ArrowDtype(pa.decimal128(20, 0)),
}
ROUNDED = ["int64", "uint64", "float64", "Float64", "float32", "double[pyarrow]", "int8"]
QUESTIONS = {
    "groupby": lambda d, keys: d.groupby("k", keys=keys).count(),
    "histogram": lambda d, keys: d.histogram("k", keys=keys),
    "value_counts": lambda d, keys: d.value_counts("k", keys=keys, other=True, null=True),
    "two columns": lambda d, keys: d.groupby(["k", "g"], keys={"k": keys, "g": ["a"]}).count(),
    "a table": lambda d, keys: d.groupby(["k", "g"], keys=pd.DataFrame({"k": keys, "g": "a"}, dtype=object)).count(),
    "mode": lambda d, keys: d.mode("k", keys=keys),
    "top_k": lambda d, keys: d.top_k("k", 1, keys=keys),
    "randomized_response": lambda d, keys: d.randomized_response("k", keys=keys),
    "dummies": lambda d, keys: d.linear_regression("y", ["k"], keys={"k": keys}, bounds={"y": (0, 1)}),
}


def frame(dtype, cells=CELLS):
    made = pd.Series(list(map(Decimal, cells)) if isinstance(dtype, pd.ArrowDtype) else cells, dtype=object)
    column = (
        made.astype("float64").astype(dtype) if "loat" in str(dtype) or "double" in str(dtype) else made.astype(dtype)
    )
    return pd.DataFrame({"k": column, "g": "a", "y": 1.0})


def protected(table):
    table.dp.protect(epsilon=10**6, name=fresh())
    return table


@pytest.mark.parametrize("dtype", EXACT)
def test_dtypes_that_hold_them_count_each_key_alone(dtype):
    ask = protected(frame(EXACT[dtype])).dp(epsilon=10**5)
    for name in ("groupby", "histogram", "two columns"):
        assert list(QUESTIONS[name](ask, KEYS)) == [1] * 5 + [0] * 2, name


@pytest.mark.one_in(4)
@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("question", QUESTIONS)
def test_others_refuse_them_in_the_same_words(monkeypatch, dtype, question):
    table = protected(frame(dtype, [1, 2]))
    for large in (E53, -E53, 2**64, 1e17, 1e300, Decimal(10) ** 20):
        with refused(
            monkeypatch, table, ArgumentValueError, r"keys of 'k' must lie below 2\*\*53: .*df.astype\(\{'k': 'Int64'\}"
        ):
            QUESTIONS[question](table.dp(epsilon=1), [1, large])


def test_one_missing_cell_decides_nothing_of_the_other_rows():
    """Of thousand rows beyond one missing cell made floats, and counted them under the label of the next key."""
    for cells in ([E53 + 1] * 1000, [E53 + 1] * 1000 + [None]):
        table = protected(pd.DataFrame({"k": cells}))
        with pytest.raises(ArgumentValueError, match="must lie below"):
            table.dp(epsilon=1).histogram("k", keys=[E53])
        assert list(table.dp(epsilon=10**5).histogram("k", keys=[E53 - 1, float("inf")])) == [0, 0]


def test_steps_and_schemas_are_asked_too():
    exact, said = protected(frame("Int64")), frame("float64")
    assert list(exact.dp.query("g == 'a'").dp(epsilon=10**5).histogram("k", keys=KEYS)) == [1] * 5 + [0] * 2
    said.dp.protect(epsilon=10**6, name=fresh(), schema={"k": {"keys": KEYS}})
    with pytest.raises(ArgumentValueError, match="must lie below"):
        said.dp(epsilon=1).histogram("k")


def test_scans_and_readers_hold_the_integers_of_a_file(tmp_path):
    path = str(tmp_path / "ids.parquet")
    frame("Int64", [*CELLS, None]).to_parquet(path)
    for table in (pandas_dp.scan_parquet(path), pandas_dp.read_parquet(path)):
        table.dp.protect(epsilon=10**6, name=fresh(), reason="test")
        assert list(table.dp(epsilon=10**5).histogram("k", keys=KEYS)) == [1] * 5 + [0] * 2
        table.dp.session.close()
    frame("float64").to_parquet(path)
    scan = protected(pandas_dp.scan_parquet(path))
    with pytest.raises(ArgumentValueError, match="must lie below"):
        scan.dp(epsilon=1).histogram("k", keys=KEYS)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "Int64"])
@pytest.mark.parametrize("said", [{}, {"schema": {"k": {"dtype": "int64"}}}], ids=["", "schema"])
def test_in_a_dask_frame_numbers_of_numpy_are_floats(dtype, said):
    """As one missing cell makes floats of integers: keys beyond are refused, whatever a schema says of the dtype."""
    table = dask.from_pandas(frame(dtype), npartitions=2)
    table.dp.protect(epsilon=10**6, name=fresh(), **said)
    assert list(table.dp(epsilon=10**5).histogram("k", keys=[E53 - 1])) == [1]
    if dtype == "Int64":
        assert list(table.dp(epsilon=10**5).histogram("k", keys=KEYS)) == [1] * 5 + [0] * 2
        return
    assert table.dp(epsilon=10**5).count("k") == 5
    with pytest.raises(ArgumentValueError, match="must lie below"):
        table.dp(epsilon=1).histogram("k", keys=KEYS)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_equal_whole_numbers_exactly_and_fractions_as_they_round(dtype):
    kind = np.dtype(dtype)
    first = 2 ** (np.finfo(kind).nmant + 1)
    assert as_dtype(kind, first) == first
    for other in (first + 1, 2 * first + 1, 10**300, Decimal("1e400"), Decimal("1e-400"), 0.5**1074):
        assert as_dtype(kind, other) in (None, other), other
    assert as_dtype(kind, 0.1) == kind.type(0.1)
    assert as_dtype(kind, float("inf")) == float("inf")
