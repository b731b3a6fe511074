"""Bad inputs B60 to B65: a user's function that returns, raises or does what it should not."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, on_rows, people, protected, refused

from pandas_dp import PandasDPError, QueryFailedError

BOUNDS = (0, 10)


def ask(df, function, epsilon=1000, **terms):
    return df.dp(epsilon=epsilon).sample_and_aggregate(function, bounds=BOUNDS, **{"aggregator": "mean", **terms})


@pytest.mark.parametrize("blocks", [0, 2.5, -3, True])
def test_b60_blocks(monkeypatch, blocks):
    df = protected()
    with refused(monkeypatch, df, (TypeError, ValueError), "blocks"):
        ask(df, len, epsilon=1, blocks=blocks)
    for function in (None, "mean", 3):
        with refused(monkeypatch, df, TypeError, "function"):
            ask(df, function, epsilon=1)
    with refused(monkeypatch, df, TypeError, "bounds"):
        df.dp(epsilon=1).sample_and_aggregate(len, bounds=None)


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (np.nan, 5),
        (np.inf, 5),
        (-np.inf, 5),
        ("7", 5),
        (None, 5),
        ([1], 5),
        (10**400, 5),
        (True, 5),
        (10**30, 10),
        (-3, 0),
        (7, 7),
        (np.float32(2.5), 2.5),
        (np.int8(3), 3),
    ],
    ids=repr,
)
def test_b61_odd_results(result, value):
    """What is no finite number counts as the middle of the bounds; numbers are clipped. Noise: sd 0.0004."""
    df = protected(epsilon=10**6)
    assert ask(df, on_rows(result)) == pytest.approx(value, abs=0.01)


def test_b62_exceptions_count_as_the_middle_and_show_nowhere(capsys):
    df = protected(epsilon=10**6)

    def spiteful(block):
        raise ValueError(f"secret42 {block.to_string()}")

    assert ask(df, spiteful) == pytest.approx(5, abs=0.01)
    one = ask(df, lambda block: 1 / 0 if (block["pid"] == 5).any() else 2.0, blocks=4)
    assert one == pytest.approx((3 * 2 + 5) / 4, abs=0.05)  # missed with chance exp(-20)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("error", [SystemExit, MemoryError, RecursionError, GeneratorExit])
def test_b63_what_would_end_a_program_counts_as_no_result(error):
    """A query that failed because of one row would tell of that row."""
    df = protected(epsilon=10**6)

    def stop(block):
        if (block["pid"] == 5).any():
            raise error("secret42")
        return 2.0

    assert ask(df, stop, blocks=4) == pytest.approx((3 * 2 + 5) / 4, abs=0.05)  # missed with chance exp(-20)


class Odd(float):
    def __float__(self):
        raise ValueError("secret42")


def test_b61_a_result_of_a_class_of_its_own():
    df = protected(epsilon=10**6)
    assert ask(df, lambda block: Odd(3)) == pytest.approx(5, abs=0.01)


def test_b63_an_interrupt_ends_the_query():
    df = protected(epsilon=10)

    def stop(block):
        if (block["pid"] == 5).any():  # on rows, not when it is tried on a made-up table
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        ask(df, stop, epsilon=1)
    assert str(caught.value) == QueryFailedError.TEXT
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    trace, frames = caught.value.__traceback__, []
    while trace:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in frames:
        assert not any(isinstance(v, pd.DataFrame) for n, v in frame.f_locals.items() if n not in {"df", "self"})
    assert df.dp.session.spent == "epsilon=1"
    assert df.dp(epsilon=1).count() is not None  # the next call works


@pytest.mark.parametrize("result", ["7", [1], True, np.array([1.0]), pd.Series([1.0]), (1.0, 2.0), 1j], ids=repr)
def test_b61_results_that_never_count_are_told_before_they_are_paid(monkeypatch, result):
    df = protected()
    line = r"the function returned .*, which is not a number: return float\(\.\.\.\)\. It was tried on a made-up table"
    with refused(monkeypatch, df, TypeError, line):
        ask(df, lambda block: result)


def test_b64_asking_from_inside_is_told_before_it_is_paid(monkeypatch):
    df = protected()
    priced = df.dp(epsilon=1)
    with refused(monkeypatch, df, TypeError, "the function asks a question of its own"):
        ask(df, lambda block: float(priced.count()))


def test_b64_asking_from_inside_is_refused():
    df = protected(epsilon=10)
    priced, seen = df.dp(epsilon=1), []

    def nosy(block):
        if "a" in set(block["city"]):  # made-up rows
            return 1.0
        try:
            priced.count()
        except Exception as error:
            seen.append(type(error).__name__)
            raise
        return 1.0

    worker = threading.Thread(target=lambda: seen.append(ask(df, nosy, epsilon=1, blocks=3)), daemon=True)
    worker.start()
    worker.join(300)
    assert not worker.is_alive()
    assert seen[:3] == ["PandasDPError"] * 3
    assert df.dp.session.spent == "epsilon=1"


def test_b65_a_function_cannot_change_the_frame_or_another_block():
    df = protected(epsilon=10**6)
    before = df.copy(deep=True)

    def rude(block):
        value = float(block["age"].max() if len(block) else 0) / 20
        for column in list(block.columns):
            block.drop(columns=column, inplace=True)
        return value

    first = ask(df, rude, blocks=2)
    assert 0 < first <= 10
    pd.testing.assert_frame_equal(df, before)


def test_blocks_tell_nothing_of_each_other():
    """Adding one row changes one block's result, though the function returns labels, dtypes and categories."""
    frame = people()[["age", "pay", "city", "sex", "when"]]
    added = pd.concat([frame, frame.iloc[[0]].assign(age=99, pay=np.nan, city="new", sex=None)], ignore_index=True)
    added["city"] = added["city"].astype("category")

    def nosy(block):
        facts = (
            repr(block.dtypes.tolist()),
            repr(block.index),
            repr(block.attrs),
            repr(getattr(block["city"], "cat", None)),
            block.to_numpy().tolist(),
        )
        return float(hash(repr(facts)) % 997)

    from pandas_dp.core.lattice import Lattice
    from pandas_dp.core.privacy import PrivacyUnit
    from pandas_dp.core.statistics import blocks as module
    from pandas_dp.engines.pandas import PandasView

    statistic = module.BlockResults(nosy, Lattice.between(0, 1000, 16), 3)
    original = module._random_blocks
    try:
        module._random_blocks = lambda count, blocks, fill: np.arange(count) * 5 % 7 % blocks
        one, two = (statistic.values(PandasView(f, {}, {}), PrivacyUnit()) for f in (frame, added))
    finally:
        module._random_blocks = original
    assert (one != two).sum() == 1


def test_user_code_is_never_answered_from_the_store():
    df = protected(epsilon=2)
    ask(df, len, epsilon=1)
    ask(df, len, epsilon=1)
    assert df.dp.session.left == "epsilon=0"


BRACKETS = {
    "of a price": lambda df: df.dp(epsilon=1)[df["age"] > 40],
    "of groups": lambda df: df.dp(epsilon=1).groupby("sex", keys=["f"])[df["age"]],
    "of a list": lambda df: df.dp(epsilon=1)[[df["age"]]],
    "of no price": lambda df: df.dp[df["age"] > 40],
    "of a new column": lambda df: df.dp.__setitem__("old", df["age"] > 40),
    "a comparison": lambda df: df.dp(epsilon=1)["age"] > df["age"],
}


@pytest.mark.parametrize("name", BRACKETS)
def test_no_frame_of_a_refusal_holds_a_mask(name):
    """Tools that show the locals of a traceback, as loggers of errors do, would show it."""
    df = pd.DataFrame({"age": [31, 45, 62], "sex": ["f", "m", "f"]})
    df.dp.protect(epsilon=3, name=fresh())
    with pytest.raises(PandasDPError) as refused:
        BRACKETS[name](df)
    trace, frames = refused.tb.tb_next.tb_next, []  # behind this test and its lambda
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    held = [value for frame in frames for value in frame.f_locals.values()]
    held += [entry for value in held if isinstance(value, list | tuple) for entry in value]
    assert frames
    assert not any(isinstance(value, pd.Series | pd.DataFrame) for value in held)
