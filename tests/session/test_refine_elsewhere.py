"""Where no difference buys a refinement: a new draw at the price offered, averaged by precision with the earlier ones."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp.aggregates.weighted_noise import CellNoise, MeanNoise
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import Price
from pandas_dp.core.randomness import random_bytes
from pandas_dp.core.samplers.vector import discrete_gaussian_vector, discrete_laplace_vector
from pandas_dp.errors import LedgerError
from tests.session.test_refine import COLUMN, QUESTIONS, SURE, held

BUDGETS = {
    "hybrid": {"delta": 1e-6},
    "rdp": {"delta": 1e-6, "accountant": "rdp"},
    "planned": {"delta": 1e-6, "plan": {1: 3}},
}
OTHERS = {
    "group means": lambda d: d.groupby("city", keys=["x", "y"])["age"].mean(bounds=(0, 100)),
    "std": lambda d: d.std("age", bounds=(0, 100)),
    "covariance": lambda d: d[["age", "other"]].cov(bounds={"age": (0, 100), "other": (0, 100)}),
    "ecdf": lambda d: d.ecdf("age", bins=[0, 50, 100]),
    "value counts": lambda d: d.value_counts("city", keys=["x", "y", "z"]),
}


def elsewhere(**terms) -> pd.DataFrame:
    df = pd.DataFrame({"age": COLUMN, "city": ["x", "y", "z"] * 100, "other": COLUMN[::-1]})
    df.dp.protect(**{"epsilon": 5 * SURE, "name": fresh(), **terms})
    return df


@pytest.mark.parametrize("name", [*QUESTIONS, *OTHERS])
def test_two_draws_without_noise_to_speak_of_are_what_one_is(name):
    df, ask = elsewhere(delta=1e-6), (QUESTIONS | OTHERS)[name]
    first = ask(df.dp(epsilon=SURE))
    second = df.dp(epsilon=SURE).refine(first)
    assert type(second) is type(first)
    pd.testing.assert_frame_equal(second.table(), first.table(), atol=0.02)
    assert second.mechanism.startswith("mean of 2 draws of discrete Laplace")
    assert df.dp(epsilon=SURE).refine(first)._provenance.stored


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_new_draw_is_paid_in_full_and_said_to_be_one(budget):
    df = elsewhere(**{"epsilon": 20, **BUDGETS[budget]})
    session = df.dp.session
    first = df.dp(epsilon=1).count()
    preview = df.dp.preview(epsilon=F(1, 2)).count().charge
    before = session._state
    mean = df.dp(epsilon=F(1, 2)).refine(first)
    assert session._rule.admit(before, preview) == session._state
    assert mean.spent == "epsilon=0.5 (beside epsilon=1)"
    assert "the mean of a new draw and entry 2, weighted by precision" in mean.notes
    assert any(note.startswith("a new draw, not a refinement: with a delta or declared prices") for note in mean.notes)
    assert session.releases["query"].tolist()[-2:] == ["count()"] * 2
    third = df.dp(epsilon=F(1, 2)).refine(mean)
    assert third.query.averages == ((2, Price(F(1))), (3, Price(F(1, 2))))
    charged = session.spent
    assert df.dp(epsilon=F(1, 2)).refine(first) == mean
    assert df.dp(epsilon=F(1, 2)).refine(mean) == third
    assert session.spent == charged


def test_the_mean_is_weighted_by_precision_and_its_width_is_that_of_the_weights(monkeypatch):
    drawn = iter([[100], [140]])
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, exact, fill: next(drawn))
    df = elsewhere(epsilon=20, delta=1e-6)
    first = df.dp(epsilon=F(1, 10)).count()
    mean = df.dp(epsilon=F(3, 10)).refine(first)
    worse, better = (DiscreteLaplace(scale).standard_deviation ** 2 for scale in (F(10), F(10, 3)))
    assert mean.value == round((100 / worse + 140 / better) / (1 / worse + 1 / better))
    alone, together = (each.interval()[1] - each.interval()[0] for each in (first, mean))
    assert together < alone / 2.9


def test_gaussian_draws_are_averaged_with_the_others():
    df = elsewhere(epsilon=20, delta=1e-6)
    first = df.dp(rho=F(1, 10)).histogram("age", bins=[0, 50, 100])
    second = df.dp(rho=F(1, 10)).refine(first)
    whole = elsewhere(epsilon=20, delta=1e-6).dp(rho=F(2, 10)).histogram("age", bins=[0, 50, 100])
    third = df.dp(epsilon=1).refine(second)
    widths = [(each.interval()["upper"] - each.interval()["lower"]).max() for each in (second, whole, third)]
    assert widths[0] <= widths[1] + 1  # nothing is lost but rounding
    assert widths[2] < widths[1]
    assert third.mechanism == "mean of 3 draws of discrete Gaussian and discrete Laplace"
    assert third.spent == "epsilon=1 (beside rho=0.1 and rho=0.1)"


def test_rows_of_units_and_files_are_drawn_anew(tmp_path):
    df = pd.DataFrame({"age": COLUMN, "u": COLUMN})
    df.dp.protect(epsilon=20, unit="u", max_rows=2, name=fresh())
    mean = df.dp(epsilon=1).refine(df.dp(epsilon=1).groupby("age", keys=[1, 2]).size())
    assert any("each question draws some rows of each 'u'" in note for note in mean.notes)
    pd.DataFrame({"age": COLUMN}).to_parquet(path := tmp_path / "t.parquet")
    scanned = pandas_dp.scan_parquet(path)
    scanned.dp.protect(epsilon=20, name=fresh())
    mean = scanned.dp(epsilon=1).refine(scanned.dp(epsilon=1).count())
    assert any("files are read again" in note for note in mean.notes)
    assert scanned.dp.session.spent.epsilon == df.dp.session.spent.epsilon == 2


def test_the_last_of_each_chain_and_every_single_draw_count_once(tmp_path):
    """After a restart: the chain of two, whose base says nothing more, and a draw asked afresh."""
    terms = {"epsilon": 50, "ledger": tmp_path / "v.dpledger", "table": "visits", "version": "1", "name": "v"}

    def asked(df):
        base = df.dp(epsilon=1).count()
        return base, df.dp(epsilon=2).refine(base), df.dp(epsilon=4).count()

    df = held(**terms)
    asked(df)
    df.dp.session._ledger.close()
    df = held(**terms)
    base, child, single = asked(df)
    assert df.dp.session.spent.epsilon == 7
    mean = df.dp(epsilon=5).refine(child)
    entries = [each._provenance.entry for each in (child, single)]
    assert mean.query.averages == tuple(zip(entries, (Price(F(3)), Price(F(4))), strict=True))
    assert mean.query.within == {base._provenance.entry, *entries}  # its privacy is that of the base, too
    assert df.dp.session.spent.epsilon == 12
    df.dp.session._ledger.close()


def test_draws_of_other_rows_are_not_averaged():
    """Of two versions in one session, and of other rules for missing values."""
    df = elsewhere(epsilon=50, delta=1e-6, table="visits", version="1")
    other = pd.DataFrame({"age": COLUMN[:-9], "city": ["x"] * 291, "other": [1] * 291})
    other.dp.protect(epsilon=50, delta=1e-6, name=df.dp.session.name, table="visits", version="2")
    other.dp(epsilon=3).count()
    answer = df.dp(epsilon=1).count()
    mean = df.dp(epsilon=1).refine(answer)
    assert mean.query.averages == ((answer._provenance.entry, Price(F(1))),)
    df.dp(epsilon=2).sum("age", bounds=(0, 100))
    df.dp.protect(epsilon=50, delta=1e-6, name=df.dp.session.name, schema={"age": {"nulls": 50}})
    answer = df.dp(epsilon=1).sum("age", bounds=(0, 100))
    mean = df.dp(epsilon=1).refine(answer)
    assert mean.query.averages == ((answer._provenance.entry, Price(F(1))),)


def test_before_a_total_is_named_it_is_drawn_anew(monkeypatch):
    """What the implicit session answered is carried to another budget, one entry after the other."""
    df = held(epsilon=20)
    answer = df.dp(epsilon=1).count()
    monkeypatch.setattr(df.dp.session, "_implicit", True)
    mean = df.dp(epsilon=1).refine(answer)
    assert any(r"df.dp.protect(epsilon=3)" in note for note in mean.notes)
    assert not df.dp.session.releases["query"].str.startswith("refine(").any()


@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6}])
def test_a_wanted_error_costs_what_is_missing(terms):
    df = elsewhere(epsilon=50, **terms)
    answer = df.dp(epsilon=F(1, 10)).count()
    better = df.dp(within=4).refine(answer)
    lower, upper = better.interval()
    assert upper - lower <= 8
    assert df.dp(within=4).refine(better) is better
    assert df.dp(within=100).refine(answer) is answer
    spent, alone = df.dp.session.spent.epsilon, df.dp.preview(within=4).count()
    total = float(alone.charge.epsilon)
    assert float(spent) == pytest.approx(total, rel=1e-3) if not terms else total < spent < total + 0.2


def test_a_price_that_makes_it_another_question_is_refused_for_nothing():
    """With Gaussian noise ranges add up other numbers."""
    df = elsewhere(epsilon=50, delta=1e-6)
    answer = df.dp(epsilon=1).ecdf("age", bins=list(range(0, 101, 10)))
    before = df.dp.session.spent
    with pytest.raises(LedgerError, match=r"adds up other numbers than before: refine with a plain epsilon"):
        df.dp(rho=1).refine(answer)
    assert df.dp.session.spent == before


def test_a_mean_takes_the_place_of_its_draws_among_reconciled_answers():
    df = elsewhere(epsilon=50, delta=1e-6)
    first = df.dp(epsilon=F(1, 10)).count()
    mean = df.dp(epsilon=F(1, 10)).refine(first)
    sizes = df.dp(epsilon=F(1, 10)).groupby("city", keys=["x", "y", "z"], other=True, null=True).size()
    made = pandas_dp.reconcile([first, mean, sizes])
    assert made[0] == made[1] == pytest.approx(made[2].sum())
    noise, alone = mean._provenance.error.noise, first._provenance.error.noise
    one, two = CellNoise.of(noise).variance, 5 * CellNoise.of(alone).variance
    wanted = (mean / one + sizes.sum() / two) / (1 / one + 1 / two)
    assert made[0] == pytest.approx(wanted)


# ------------------------------------------------------------------------------------------------ the law of means
def law_of(scale: F) -> dict[int, float]:
    p = math.exp(-1 / scale)
    return {z: (1 - p) / (1 + p) * p ** abs(z) for z in range(-120, 121)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("scales", [(F(1), F(1)), (F(2), F(1)), (F(5), F(5)), (F(9), F(3)), (F(1, 5), F(1, 4))])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_half_widths_of_means_by_enumeration(scales, level):
    """At least what is promised; and of two steps less not so much, where there are several steps."""
    noise = MeanNoise.of([DiscreteLaplace(scale) for scale in scales])
    chances: dict[int, float] = {}
    pairs = [*product(law_of(scales[0]).items(), law_of(scales[1]).items())]
    errors = noise.mean([[y for (y, _), _ in pairs], [z for _, (z, _) in pairs]])
    for error, ((_, a), (_, b)) in zip(errors, pairs, strict=True):
        chances[abs(error)] = chances.get(abs(error), 0.0) + a * b
    half = noise.half_width(level)
    assert sum(p for error, p in chances.items() if error <= half) >= level - 1e-9
    assert half < 2 or sum(p for error, p in chances.items() if error <= half - 2) < level


def test_weighted_sums_of_means_stay_within_their_half_widths():
    """Of 50,000 sums those outside are 5 % at most, within 6 deviations; and of a width a third less there are more."""
    n, weights = 50_000, np.array([1.0, -0.4])
    for noises in (
        [DiscreteLaplace(F(40)), DiscreteLaplace(F(60))],
        [DiscreteGaussian(F(2500)), DiscreteGaussian(F(900))],
        [DiscreteLaplace(F(40)), DiscreteGaussian(F(2500))],
    ):
        noise = MeanNoise.of(noises)
        draws = [
            [
                (
                    discrete_laplace_vector(one.scale, n, fill=random_bytes)
                    if isinstance(one, DiscreteLaplace)
                    else discrete_gaussian_vector(one.variance, n, fill=random_bytes)
                ).tolist()
                for one in noises
            ]
            for _ in weights
        ]
        sums = np.abs(weights @ np.array([noise.mean(some) for some in draws], dtype=float))
        half = float(noise.half_widths(weights, 0.95))
        most = 0.05 + 6 * math.sqrt(0.05 * 0.95 / n)
        assert (sums > half).mean() < most < (sums > half * 2 / 3).mean()
        alone = np.abs(np.array(noise.mean(draws[0])))
        assert (alone > noise.half_width(0.95)).mean() < most
        assert (alone > noise.tail(0.95)).mean() < most
        spread = float(alone.std() ** 2 + alone.mean() ** 2)
        assert spread == pytest.approx(noise.standard_deviation**2, rel=0.1)


def test_a_mean_draws_nothing_and_lifts_nobody():
    noise = MeanNoise.of([DiscreteLaplace(F(2)), DiscreteLaplace(F(10**-6).limit_denominator(10**7))])
    assert noise.mean([[7], [5]]) == [5]  # the second one has no noise to speak of
    assert noise.lifting(3, 64) == 1
    with pytest.raises(TypeError):
        noise.draw(None)


def visits(rows: int) -> pd.DataFrame:
    """A table to which a later night adds rows."""
    return pd.DataFrame({"at": pd.to_datetime(["2026-11-28"] * rows), "age": 1})


@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6}], ids=["pure", "hybrid"])
def test_a_table_that_grew_is_not_the_one_it_was_drawn_from(terms, tmp_path):
    """A mean of draws of both would be near what neither holds, and its interval a false one."""
    path, day = tmp_path / "v.dpledger", "2026-11-28"
    said = {"epsilon": 20, "period": "D", "time": "at", "table": "visits", "name": "v", "ledger": path, **terms}
    first, later = visits(100), visits(300)
    session = first.dp.protect(**said)
    later.dp.protect(session=session, table="visits")
    rough = first.dp.period(day).dp(epsilon=2).count()
    stored = later.dp.period(day).dp(epsilon=2).count()
    assert stored == rough
    for answer in (rough, stored):
        with pytest.raises(LedgerError, match="from the rows it was drawn from"):
            later.dp.period(day).dp(epsilon=2).refine(answer)
    fresh_one = later.dp.period(day).dp(epsilon=2, fresh=True).count()
    mean = later.dp.period(day).dp(epsilon=3).refine(fresh_one)
    assert 280 < mean < 320
    assert (
        80 < first.dp.period(day).dp(epsilon=3).refine(rough) < 120
    )  # what is stored at this price is not of its rows
    spent = session.spent.epsilon
    assert spent == 2 + 2 + 3 + 3
    session._ledger.close()
    again = visits(300)
    session = again.dp.protect(**said)
    rough = again.dp.period(day).dp(epsilon=2).count()  # the latest draw, of rows that this process has not held
    with pytest.raises(LedgerError, match="from the rows it was drawn from"):
        again.dp.period(day).dp(epsilon=4).refine(rough)
    assert session.spent.epsilon == spent
    session._ledger.close()


def test_a_job_on_a_table_that_grows_gets_its_refined_answers_again(tmp_path):
    path, day, known = tmp_path / "v.dpledger", "2026-11-28", []
    for _ in range(2):
        df = visits(100)
        df.dp.protect(epsilon=20, delta=1e-6, period="D", time="at", table="visits", name="v", ledger=path)
        rough = df.dp.period(day).dp(epsilon=1).count()
        known.append((rough, df.dp.period(day).dp(epsilon=2).refine(rough), df.dp.session.spent.epsilon))
        df.dp.session._ledger.close()
    assert known[0] == known[1]
