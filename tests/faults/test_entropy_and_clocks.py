"""What a caller can do to clocks and generators of random numbers decides neither what is charged nor what is drawn."""

from __future__ import annotations

import os
import random
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy import stats
from support.frames import people, protected

from pandas_dp import BudgetExceededError, QueryFailedError
from pandas_dp.core import records

QUESTIONS = {
    "count": lambda priced: priced.count(),
    "sum": lambda priced: priced.sum("pay", bounds=(0, 10**12)),
    "mean": lambda priced: priced.mean("pay", bounds=(0, 10**12)),
    "median": lambda priced: priced.median("pay", bounds=(0, 10**6)),
    "mode": lambda priced: priced.mode("sex", keys=["f", "m"]),
    "histogram": lambda priced: priced.histogram("age", bins=[0, 50, 100]),
}


def tampered(patch):
    """Seed everything, stop the clocks, and make every other source of randomness refuse."""

    def refuse(*_, **__):
        raise AssertionError("a generator that is not the operating system's was asked")

    np.random.seed(0)
    random.seed(0)
    for name in (
        "random",
        "normal",
        "laplace",
        "geometric",
        "integers",
        "bytes",
        "default_rng",
        "RandomState",
        "Generator",
    ):
        patch.setattr(np.random, name, refuse, raising=False)
    for name in ("random", "randrange", "getrandbits", "gauss", "randbytes", "SystemRandom", "Random"):
        patch.setattr(random, name, refuse)
    for name in ("time", "time_ns", "monotonic", "perf_counter"):
        patch.setattr(time, name, lambda: 1_000_000)


def test_x19_seeds_patched_generators_and_stopped_clocks_change_no_draw(monkeypatch):
    """Sums with noise of scale 1e13: two of four agree with probability below 1e-12."""
    df, sums = protected(epsilon=100), []
    for _ in range(4):
        with monkeypatch.context() as patch:
            tampered(patch)
            sums.append(float(df.dp(epsilon=0.1, fresh=True).sum("pay", bounds=(0, 10**12))))
            for ask in QUESTIONS.values():
                ask(df.dp(epsilon=1, fresh=True))
    assert len(set(sums)) == 4


def law_of_counts(answers):
    """p-value of counts of 8 rows under their exact law at epsilon=1; tails from 4 on together."""
    ratio = np.exp(-1.0)
    inner = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-3, 4))
    expected = np.concatenate([[(1 - inner.sum()) / 2], inner, [(1 - inner.sum()) / 2]])
    seen = np.bincount(np.clip(np.array(answers) - 8, -4, 4) + 4, minlength=9)
    return stats.chisquare(seen, len(answers) * expected).pvalue


@pytest.mark.slow
def test_x19_the_law_stays_the_exact_one(monkeypatch):
    """Alarms falsely at a rate below 1e-6; noise that is a third too narrow is missed at a rate below 1e-9."""
    df = protected(epsilon=10**5)
    with monkeypatch.context() as patch:
        tampered(patch)
        answers = [int(df.dp(epsilon=1, fresh=True).count()) for _ in range(2000)]
    assert law_of_counts(answers) > 1e-8
    assert law_of_counts([int(df.dp(epsilon=1.5, fresh=True).count()) for _ in range(2000)]) < 1e-8


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("error", [OSError("no entropy"), NotImplementedError("no generator")])
def test_x20_without_entropy_nothing_is_answered_and_the_charge_stays(monkeypatch, question, error):
    df = protected(epsilon=3)

    def refuse(count):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", refuse)
        for spent in ("epsilon=1", "epsilon=2"):  # no stored answer either
            with pytest.raises(QueryFailedError) as caught:
                QUESTIONS[question](df.dp(epsilon=1))
            assert (caught.value.__cause__, caught.value.__context__) == (None, None)
            assert df.dp.session.spent == spent
    QUESTIONS[question](df.dp(epsilon=1))
    assert df.dp.session.spent == "epsilon=3"


@pytest.mark.parametrize(
    "step",
    [timedelta(days=-365), timedelta(days=365), timedelta(hours=-1), timedelta(seconds=-1), timedelta(0)],
    ids=str,
)
def test_x15_a_clock_that_steps_decides_nothing(monkeypatch, tmp_path, step):
    """Back, forward, an hour at the end of summer, a step while a call waits, and past the year 2038: order is by number."""
    df, told = people(), []

    class Clock:
        @staticmethod
        def now(zone):
            told.append(datetime(2038, 1, 19, 3, 14, 7, tzinfo=UTC) + len(told) * step)
            return told[-1]

    monkeypatch.setattr(records, "datetime", Clock)
    for name in ("time", "monotonic"):
        monkeypatch.setattr(time, name, lambda: 10**9 + len(told) * step.total_seconds())
    session = df.dp.protect(epsilon=1, ledger=tmp_path / "l.dpledger")
    for number in range(10):
        df.dp(epsilon=0.1, fresh=True).count()
        assert session.spent == ("epsilon=1" if number == 9 else f"epsilon=0.{number + 1}")
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=0.1, fresh=True).count()
    assert session.releases.iloc[:, 0].tolist() == list(range(1, 12))
    session._ledger.verify()
    session._ledger.close()
