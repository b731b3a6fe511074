"""Failures that a cell decided: each of these told of one row for free, or for the price of any question."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import signal
import sys
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support import interpreter
from support.frames import fresh, protected

from pandas_dp.core import interrupts
from pandas_dp.engines.encode import stored
from pandas_dp.errors import ArgumentTypeError, PandasDPError, QueryFailedError
from pandas_dp.questions import function_trial


def ages() -> pd.DataFrame:
    return pd.DataFrame({"age": [31.0, 45.0, 62.0] * 100 + [99.0]})


class Metres(pd.api.extensions.ExtensionDtype):
    """A dtype of another package, which says that it holds numbers."""

    name, type, kind, na_value = "metres", float, "f", np.nan

    @classmethod
    def construct_array_type(cls):
        return Lengths


class Lengths(pd.api.extensions.ExtensionArray):
    """Its array is one of integers unless a cell is missing."""

    dtype = Metres()

    def __init__(self, cells):
        self.cells = np.asarray(cells, dtype=object)

    def __len__(self):
        return len(self.cells)

    def __getitem__(self, at):
        return self.cells[at] if np.isscalar(at) else Lengths(self.cells[at])

    def __array__(self, dtype=None, copy=None):
        made = self.cells if self.isna().any() else self.cells.astype(np.int64)
        return made if dtype is None else made.astype(dtype)

    def isna(self):
        return np.array([cell is None for cell in self.cells])

    def copy(self):
        return Lengths(self.cells.copy())

    def take(self, places, *, allow_fill=False, fill_value=None):
        return Lengths(pd.api.extensions.take(self.cells, places, allow_fill=allow_fill, fill_value=None))

    @property
    def nbytes(self):
        return 8 * len(self)


@pytest.mark.parametrize("cell", [3, None])
def test_a_dtype_of_another_package_is_refused_whatever_its_cells_are(cell):
    df = protected(pd.DataFrame({"x": Lengths([1, 2, cell] * 50), "age": range(150)}))
    for ask in (
        lambda: df.dp(epsilon=1).count("x"),
        lambda: df.dp(epsilon=1).mean("x", bounds=(0, 5)),
        lambda: df.dp(epsilon=1).value_counts("x", keys=[1, 2]),
        lambda: df.dp.query("x > 1"),
        lambda: df.dp.assign(y=lambda d: d.x + 1),
        lambda: df.dp.fillna({"x": 1}),
    ):
        with pytest.raises(ArgumentTypeError, match=r"cannot be asked about|of a type no expression uses"):
            ask()
    assert df.dp.session.spent == "epsilon=0"
    assert df.dp(epsilon=1).count("age").value is not None


@pytest.mark.parametrize("age", [98, 99])
@pytest.mark.parametrize("scale", [60, -39])
def test_a_decimal_of_extreme_scale_is_refused_whoever_is_left(age, scale):
    amounts = pa.array([1] * 10, pa.decimal128(38, 0)).view(pa.decimal128(38, scale))
    column = pd.arrays.ArrowExtensionArray(pa.chunked_array([amounts]))
    df = protected(pd.DataFrame({"age": [30] * 9 + [99], "amount": column}))
    left = df.dp.query(f"age == {age}")
    with pytest.raises(ArgumentTypeError, match="type no expression uses"):
        left.dp.query("amount > 0")
    with pytest.raises(ArgumentTypeError, match="cannot be asked about"):
        left.dp(epsilon=1).sum("amount", bounds=(0, 1))
    assert df.dp.session.spent == "epsilon=0"


@pytest.mark.skipif(not hasattr(pa, "decimal32"), reason="an old version of Arrow has no narrow decimals")
def test_digits_beyond_what_a_narrow_decimal_says_are_numbers():
    bits = pa.array([2**31 - 1, 5], pa.int32()).buffers()[1]
    column = pa.Array.from_buffers(pa.decimal32(5, 0), 2, [None, bits])
    values, _ = stored(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))).numbers().raw()
    assert values.tolist() == [2**31 - 1, 5]


ZONES = [dt.timezone(dt.timedelta(hours=3), "nowhere"), dt.timezone(dt.timedelta(hours=3), "Europe/Berlin")]


@pytest.mark.parametrize("zone", ["dateutil", *ZONES], ids=str)
def test_a_time_zone_without_a_name_is_refused_before_it_is_paid(zone):
    tz = pytest.importorskip("dateutil.tz").gettz("Europe/Berlin") if zone == "dateutil" else zone
    days = pd.Series(pd.date_range("2013-01-01", periods=9, tz="UTC")).dt.tz_convert(tz)
    df = protected(pd.DataFrame({"day": days, "uid": range(9)}))
    with pytest.raises(ArgumentTypeError, match=r"df\[column\] = df\[column\]\.dt\.tz_convert\('UTC'\)"):
        df.dp(epsilon=1).mean("day", bounds=("2013-01-01", "2013-01-09"))
    with pytest.raises(ArgumentTypeError):
        df.dp.assign(hour=lambda d: d.day.dt.hour)
    assert df.dp.session.spent == "epsilon=0"
    named = protected(pd.DataFrame({"day": days.dt.tz_convert("UTC")}))
    assert named.dp(epsilon=1).mean("day", bounds=("2013-01-01", "2013-01-09")).value is not None


def test_a_time_zone_that_arrow_names_and_nobody_knows():
    day = pa.array([0] * 9, pa.int64()).view(pa.timestamp("us", "Nowhere/Nobody"))
    df = protected(pd.DataFrame({"day": pd.arrays.ArrowExtensionArray(pa.chunked_array([day]))}))
    with pytest.raises(ArgumentTypeError, match="tz_convert"):
        df.dp(epsilon=1).max("day", bounds=("2013-01-01", "2013-01-09"))


RAISED = [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, RecursionError, StopIteration, QueryFailedError]


@pytest.mark.parametrize("error", RAISED)
def test_what_a_function_raises_is_a_block_without_a_result(error):
    df = protected(ages(), epsilon=100)
    made = error() if error is QueryFailedError else error("secret42")

    def function(block: pd.DataFrame) -> float:
        if (block["age"] == 99).any():
            raise made
        return float(block["age"].mean())

    for ask in (
        lambda: df.dp(epsilon=1).sample_and_aggregate(function, bounds=(0, 100), rows=301),
        lambda: df.dp(epsilon=1).select([20, 40], score=lambda d, candidate: function(d), sensitivity=1),
    ):
        assert ask().value is not None


def test_a_signal_ends_the_query_whatever_the_function_catches():
    df = protected(ages(), epsilon=100)
    before = signal.getsignal(signal.SIGINT)

    def function(block: pd.DataFrame) -> float:
        if (block["age"] == 99).any():
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return 1.0

    with pytest.raises(KeyboardInterrupt, match="the query could not be answered"):
        df.dp(epsilon=1).sample_and_aggregate(function, bounds=(0, 100), rows=301)
    interrupts.stop()  # what an owner does next is not ended
    assert signal.getsignal(signal.SIGINT) is before
    assert df.dp(epsilon=1).count().value is not None


def test_a_handler_that_ends_the_process_ends_the_query():
    df = protected(ages(), epsilon=100)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))

    def function(block: pd.DataFrame) -> float:
        if (block["age"] == 99).any():
            signal.raise_signal(signal.SIGTERM)
        return 1.0

    try:
        with pytest.raises(SystemExit, match="the query could not be answered"):
            df.dp(epsilon=1).sample_and_aggregate(function, bounds=(0, 100), rows=301)
    finally:
        signal.signal(signal.SIGTERM, before)
    interrupts.stop()


@pytest.mark.parametrize("raised", ["all", "none"])
def test_settings_of_numpy_and_of_decimals_change_no_answer(raised):
    """Neither the question nor how it is shown: some numbers are below the least float, or have more digits."""
    df = protected(pd.DataFrame({"age": [31.5] * 7}), epsilon=10**6)
    settings = np.errstate(all="raise" if raised == "all" else "ignore")
    with settings, decimal.localcontext(decimal.Context(prec=2, traps=[decimal.Inexact, decimal.InvalidOperation])):
        for ask in (
            lambda q: q.mean("age", bounds=(0, 100), population=True),
            lambda q: q.count(),
            lambda q: q.groupby("age", bins=[0, 20, 50]).mean("age", bounds=(0, 100)),
            lambda q: q.release(lambda d: d["age"].gt(3).sum(), sensitivity=1),
        ):
            for epsilon in (1, 100):
                assert repr(ask(df.dp(epsilon=epsilon)))
                assert repr(ask(df.dp.preview(epsilon=epsilon)))


def test_a_handler_of_the_process_that_does_not_raise_decides_itself():
    df, came = protected(ages(), epsilon=100), []
    before = signal.signal(signal.SIGINT, lambda *_: came.append(1))
    try:
        answer = df.dp(epsilon=1).sample_and_aggregate(
            lambda block: signal.raise_signal(signal.SIGINT) or 1.0, bounds=(0, 100), rows=301
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert came
    assert answer.value is not None
    interrupts.stop()


def test_a_planted_guard_that_trusts_what_is_raised_is_seen(monkeypatch):
    df = protected(ages(), epsilon=100)

    monkeypatch.setattr(
        "pandas_dp.engines.pandas.stop", lambda text="": interrupts._here.__setattr__("brought", KeyboardInterrupt)
    )

    def function(block: pd.DataFrame) -> float:
        if (block["age"] == 99).any():
            raise KeyboardInterrupt
        return 1.0

    with pytest.raises(KeyboardInterrupt):
        df.dp(epsilon=1).sample_and_aggregate(function, bounds=(0, 100), rows=301)


def test_nothing_of_sessions_changes_from_inside_a_query(monkeypatch):
    monkeypatch.setattr(
        function_trial, "refuse_protected", lambda *_: None
    )  # what reaches them by ways that nothing shows
    df, other = protected(ages(), epsilon=100), ages()
    session = df.dp.session
    stream = df.dp(epsilon=1).above_threshold(10**6)
    acts = {
        "close": session.close,
        "extend": lambda: session.extend(to=200, reason="inside"),
        "adopt": lambda: session.adopt(other, reason="inside"),
        "protect": lambda: other.dp.protect(epsilon=1, name=fresh()),
        "join": lambda: other.dp.protect(session=session),
        "step": lambda: df.dp.query("age > 3"),
        "ask": lambda: df.dp(epsilon=1).count(),
        "preview": lambda: df.dp.preview(epsilon=1).count(),
        "allot": lambda: df.dp.allot("inside", epsilon=1),
        "partition": lambda: df.dp.partition("age", [31.0], epsilon=1),
        "end a stream": stream.close,
        "ask a stream": lambda: stream.ask("age > 3"),
    }
    refused: dict[str, str] = {}

    def function(block: pd.DataFrame) -> float:
        for name, act in acts.items() if (block["age"] == 99).any() else ():
            try:
                act()
            except PandasDPError as error:
                refused[name] = str(error)
        return 1.0

    before = len(session.releases)
    df.dp(epsilon=1).sample_and_aggregate(function, bounds=(0, 100), rows=301)
    assert refused == dict.fromkeys(
        acts, "pandas_dp was called from inside a query; ask, open and close before or after it"
    )
    assert len(session.releases) == before + 1
    assert session.budget.epsilon == 100
    assert stream.ask("age > 3") is False
    assert other.dp.protect(epsilon=1, name=fresh()) is not None  # no refusal was noted


def test_warnings_are_told_as_often_as_without_a_cell_that_warns():
    def times(odd: float) -> int:
        df = protected(pd.DataFrame({"x": [1.0, odd]}), epsilon=10)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            for _ in range(2):
                warnings.warn_explicit("once", UserWarning, __file__, 1, registry=globals().setdefault("__seen__", {}))
            df.dp.assign(y=lambda d: np.log(d.x) / 0)
            warnings.warn_explicit("once", UserWarning, __file__, 1, registry=globals()["__seen__"])
        return len(told)

    assert times(1.0) == times(-1.0)


DEEP = """
import numpy as np, pandas as pd, pandas_dp
cell = ()
for _ in range(1_000_000):
    cell = (cell,)
cells = np.empty(100, dtype=object)
cells[:] = "a"
cells[5] = cell
df = pd.DataFrame({"x": pd.Series(cells, dtype=object), "y": 1.0})
df["z"] = df["x"]  # keys of units are never found
df.dp.protect(epsilon=100, delta=1e-3, name="a", unit="x", max_rows=100)
asked = df.dp(epsilon=1)
asked.value_counts("x", keys=["a"]); asked.nunique("x"); asked.count("x"); asked.count()
asked.sample_and_aggregate(lambda block: 1.0, bounds=(0, 9), blocks=3, aggregator="mean")
df.dp(epsilon=1, delta=1e-5).value_counts("z")
df.dp.query("x == 'a'").dp(epsilon=1).nunique("x")
print("fine", flush=True)
import os; os._exit(0)  # taking it apart is Python's own
"""


def test_a_tuple_a_million_deep_ends_no_process():
    done = interpreter.run(DEEP)
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr[-500:]


def test_depth_decides_for_a_cell_alone():
    def nested(depth: int) -> tuple:
        cell: tuple = ()
        for _ in range(depth):
            cell = (cell,)
        return cell

    cells = np.empty(4, dtype=object)
    for place, cell in enumerate((nested(45), nested(45), nested(60), ["a"])):
        cells[place] = cell
    codes, count = stored(pd.Series(cells, dtype=object)).units()
    assert codes[0] == codes[1] >= 0
    assert codes[2] == codes[3] == -1
    assert count == 1
