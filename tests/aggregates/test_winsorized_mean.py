"""A Winsorized mean where there are rows enough for its blocks, by a public or a noisy number, and two sums where not."""

from __future__ import annotations

import pickle
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from support.coverage import enough
from support.frames import fresh, protected, refused

from pandas_dp import ArgumentValueError, QueryFailedError
from pandas_dp.aggregates import sample_and_aggregate, winsorized_mean
from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.blocks import look_at
from pandas_dp.aggregates.winsorized_mean import Wider, WinsorizedMean
from pandas_dp.core.budget import Budget
from pandas_dp.core.filters import filter_for
from pandas_dp.core.gate import covers
from pandas_dp.core.lattice import SUM_BITS, Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyLoss, PrivacyUnit
from pandas_dp.facts.kinds import Kind

WIDE = {"bounds": (0, 1000), "method": "winsorized"}
LATTICE = Lattice.between(F(0), F(1000), SUM_BITS)
MEAN = WinsorizedMean("x", LATTICE, Kind("number"))
FEW, MANY = 2000, 9000  # rows, at epsilon 1: 853 blocks need 8,530


def ages(rows: int, seed: int = 1) -> pd.DataFrame:
    return pd.DataFrame({"x": np.random.default_rng(seed).gamma(9, 4.3, rows)})


def driven(question: WinsorizedMean, terms: Terms, size: int, sums=(10**9, 10**9)):
    """Looks and answer of the recipe, given a noisy number of rows and noisy sums, of no table at all."""
    recipe = question.steps(terms)
    looks = [next(recipe)]
    looks.append(recipe.send([size]))
    with pytest.raises(StopIteration) as end:
        recipe.send([1000, 2000, 10**6] if "quartiles" in looks[1].mechanism.name else [*sums])
    return looks, end.value.value


# ---------------------------------------------------------------------------------------------------------- few rows
def test_few_rows_are_answered_by_two_sums_and_many_by_blocks():
    """The number of rows has noise of scale 20: it is off by 530 or more with e^-26."""
    for rows, blocks in ((FEW, False), (MANY + 100, True)):
        answer = protected(ages(rows)).dp(epsilon=1).mean("x", **WIDE)
        assert (", of the mean of 853 block means clipped to about [" in repr(answer)) == blocks
        said = "not a Winsorized mean, as there may be fewer than the 8,530 rows that it needs: method='rotated' was used; 5 %"
        assert (f"\n  {said} of the price bought the number of rows" in repr(answer)) == (not blocks)
        assert answer.query.call == "mean('x', bounds=(0, 1000), method='winsorized')"
        assert answer.interval().lower <= answer <= answer.interval().upper


def test_an_empty_table_has_no_mean():
    """Given integers: by design one answer in a hundred about no rows is a number."""
    _, answer = driven(MEAN, Terms(PrivacyUnit(), Price(F(1))), 0, (0, 0))
    assert np.isnan(answer.value)
    assert any("too few rows for a value" in note for note in answer.notes)


@pytest.mark.parametrize("relation", NeighboringRelation)
def test_the_noisy_number_alone_decides(relation):
    terms = Terms(PrivacyUnit(relation=relation), Price(F(1)))
    unsure = driven(MEAN, terms, 0)[0][0].mechanism.half_width(0.95)
    assert unsure == DiscreteLaplace(F(20)).half_width(0.95) == 60
    for size, blocks in ((8530 + unsure, True), (8529 + unsure, False), (-7, False)):
        looks, answer = driven(MEAN, terms, size)
        assert (
            ("quartiles" in looks[1].mechanism.name) == blocks == any("Winsorized mean of" in n for n in answer.notes)
        )


def test_units_fill_blocks():
    """The fault: 9,000 rows of 90 units were taken for rows of 853 blocks."""
    frame = ages(MANY).assign(u=np.arange(MANY) // 100)
    df = protected(frame, unit="u", max_rows=100, epsilon=10)
    answer = df.dp(epsilon=1).mean("x", **WIDE)
    assert "fewer than the 8,530 units that it needs" in repr(answer)
    assert any(note.startswith("all rows of each 'u' count, together as at most 100 rows") for note in answer.notes)
    assert not any("all rows of one" in note for note in answer.notes)
    large = (
        protected(ages(2 * MANY).assign(u=np.arange(2 * MANY) // 2), unit="u", max_rows=2)
        .dp(epsilon=2)
        .mean("x", **WIDE)
    )
    assert any(note.startswith("all rows of each 'u' are used, in one block") for note in large.notes)


def test_missing_values_fill_no_block():
    frame = ages(3 * MANY)
    frame.loc[FEW:, "x"] = np.nan
    terms = {"neighbors": "replace_one", "rows": True}
    assert "fewer than" in repr(protected(frame, **terms).dp(epsilon=1).mean("x", **WIDE))


# ----------------------------------------------------------------------------------------------- a public number of rows
def test_publicly_few_rows_are_refused_for_nothing(monkeypatch):
    df = protected(ages(FEW), neighbors="replace_one", rows=True)
    line = r"needs 8,530 rows at this price, and there are 2,000: leave it out, mean\('x', bounds=\(lower, upper\)\)"
    with refused(monkeypatch, df, ArgumentValueError, line):
        df.dp(epsilon=1).mean("x", **WIDE)
    with refused(monkeypatch, df, ArgumentValueError, "needs 8,530 rows"):
        df.dp.preview(epsilon=1).mean("x", **WIDE)
    df.dp(epsilon=1).mean("x", bounds=(0, 1000))


def test_a_public_number_of_rows_that_all_hold_a_value_is_not_bought():
    terms = {"neighbors": "replace_one", "rows": True, "schema": {"x": {"nulls": 0}}}
    df = protected(ages(MANY), **terms)
    answer = df.dp(epsilon=1).mean("x", **WIDE)
    assert ", of the mean of 810 block means" in repr(answer)
    assert not any("bought" in note and "number of rows" in note for note in answer.notes)
    bought = protected(ages(MANY + 100), neighbors="replace_one", rows=True).dp(epsilon=1).mean("x", **WIDE)
    assert any("97.5 % confidence; 5 % of the price bought the number of rows" in note for note in bought.notes)


# ------------------------------------------------------------------------------------------------------------- price
ACCOUNTANTS = [({}, "pure"), *(({"delta": 1e-6}, name) for name in ("hybrid", "rdp", "zcdp"))]


@pytest.mark.parametrize(("terms", "accountant"), ACCOUNTANTS, ids=lambda x: str(x))
@pytest.mark.parametrize("relation", NeighboringRelation)
def test_either_answer_costs_at_most_what_is_charged(terms, accountant, relation):
    """The charge is one number, whatever the noisy number of rows is; the looks of both ways are covered in every currency."""
    rule = filter_for(Budget.of(F(100), F(str(terms.get("delta", 0))), accountant=accountant))
    for unit in (PrivacyUnit(relation=relation), PrivacyUnit("u", 5, 2, 3, relation)):
        for epsilon in map(F, ("1e-3", "0.1", "1", "3", "20")):
            here = Terms(unit, Price(epsilon))
            declared = rule.charge(MEAN.loss(here))
            assert declared.epsilon == epsilon
            for size in (0, 10**9):
                looks, _ = driven(MEAN, here, size)
                spent = sum((look.mechanism.loss(look.statistic.sensitivity(unit)) for look in looks), PrivacyLoss())
                assert covers(declared, rule.charge(spent))


def test_books_do_not_tell_which_way_was_taken():
    left = []
    for rows in (FEW, MANY + 200):
        df = protected(ages(rows), epsilon=5, delta=1e-6)
        df.dp(epsilon=1).mean("x", **WIDE)
        left.append(
            (df.dp.session.spent, df.dp.session.left, df.dp.session.releases[["query", "price"]].to_numpy().tolist())
        )
    assert left[0] == left[1]


def test_twin_that_charges_the_cheaper_way_is_refused_by_the_gate(monkeypatch):
    """Quartiles and a clipped mean lose less than two sums at the same epsilon, by Renyi divergence."""

    def cheaper(self, terms):
        rest = self._rest(terms)
        first = DiscreteLaplace(F(20)).loss(winsorized_mean.RowCounts("x", units=True).sensitivity(terms.unit))
        look = look_at(self._means(rest), "winsorized", rest.price.epsilon, terms.unit)
        return first + look.mechanism.loss(look.statistic.sensitivity(terms.unit))

    monkeypatch.setattr(WinsorizedMean, "loss", cheaper)
    many, few = (protected(ages(rows), epsilon=5, delta=1e-6) for rows in (MANY + 200, FEW))
    many.dp(epsilon=1).mean("x", **WIDE)
    with pytest.raises(QueryFailedError):
        few.dp(epsilon=1).mean("x", **WIDE)


def test_gaussian_prices_are_refused(monkeypatch):
    df = protected(ages(100), delta=1e-6)
    for price in ({"epsilon": 1, "delta": 1e-7}, {"rho": 0.1}):
        with refused(monkeypatch, df, ArgumentValueError, "plain epsilon"):
            df.dp(**price).mean("x", **WIDE)


# ---------------------------------------------------------------------------------------------------------- intervals
def test_noise_and_a_normal_deviation_together():
    noise = DiscreteLaplace(F(100))
    assert Wider(noise, 0.0).half_width(0.95) == noise.half_width(0.95)
    assert Wider(noise, 50.0).half_width(0.95) == int(np.ceil(np.hypot(noise.half_width(0.95), 1.959964 * 50)))
    assert Wider(noise, 50.0).half_width(0.5) == int(np.ceil(noise.half_width(0.5) + 0.67449 * 50))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95, 0.99])
def test_noise_and_a_normal_deviation_hold_together(level):
    """40,000 draws of both for each size of the deviation; refused by chance with 1e-9."""
    rng, scale, draws = np.random.default_rng(5), 1000, 40_000
    for deviation in (0, 300, 1000, 5000):
        drawn = np.rint(rng.laplace(0, scale, draws)) + rng.normal(0, deviation, draws)
        held = int((np.abs(drawn) <= Wider(DiscreteLaplace(F(scale)), deviation).half_width(level)).sum())
        assert held >= enough(draws, level)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "rows"), [(1, 9000), (4, 2400), (20, 450)])
def test_an_interval_covers_the_mean_of_all_rows_where_values_are_ages(epsilon, rows):
    """Ages in [0, 1000], 600 draws of blocks and noise: at a coverage of 0.92 as few are covered with 1e-9; the noise alone
    covers less than 0.85 at epsilon 20."""
    noise_alone, covered, draws = 0, 0, 600
    table = ages(rows)
    table.dp.protect(epsilon=10**6, name=fresh())
    dp, truth = table.dp(epsilon=epsilon, fresh=True), float(table["x"].mean())
    for _ in range(draws):
        answer = dp.mean("x", **WIDE)
        covered += answer.interval().lower <= truth <= answer.interval().upper
        error = answer._provenance.error
        assert isinstance(error.noise, Wider)
        noise_alone += abs(answer - truth) <= float(error.noise.noise.half_width(0.95) * error.step)
    assert covered >= enough(draws, 0.92)
    if epsilon == 20:
        assert noise_alone < 0.85 * draws


def test_pickled_questions_of_earlier_days_are_found():
    assert sample_and_aggregate.WinsorizedMean is WinsorizedMean
    kept = pickle.dumps(MEAN, protocol=0).replace(b"winsorized_mean\n", b"sample_and_aggregate\n", 1)
    assert pickle.loads(kept) == MEAN


@pytest.mark.parametrize("deviation", [0.0, 3.0, 50.0])
def test_an_interval_of_less_is_never_the_wider_one(deviation):
    """Below 95 % half-widths are added, as squares are no bound there; the interval at 95 % holds as well."""
    wider = Wider(DiscreteLaplace(F(7)), deviation)
    widths = [wider.half_width(level) for level in np.linspace(0.05, 0.999, 200)]
    assert widths == sorted(widths)
