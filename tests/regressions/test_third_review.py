"""What a reviewer found in trimmed means, spanning trees, accountants, plans and previews."""

from __future__ import annotations

import sqlite3
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from support.frames import protected
from support.views import table

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.smooth import SmoothQuantileOf
from pandas_dp.core import records
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.smooth import DRAWS, NEED_DELTA
from pandas_dp.core.plans import DeclaredPlan
from pandas_dp.core.privacy import LaplaceLoss, NeighboringRelation, Price, PrivacyLoss, PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.lattice_counts import LatticeCounts, Points
from pandas_dp.core.statistics.smooth import TrimmedMean, trimmed
from pandas_dp.core.statistics.spanning_tree import Edges, Search
from pandas_dp.errors import LedgerError, QueryFailedError
from pandas_dp.facts.kinds import Kind

TENTH = PrivacyLoss.pure(F(1, 10))
HYBRID = Budget.of(3, F(1, 10**6))
PLANNED = HYBRID.planned([(F(1, 10), 40)])
UNIT = PrivacyUnit()


def test_probabilities_that_floats_cannot_hold_are_no_zeros():
    """All of 10,000 signs agree with probability 2**-10000: a promise of delta = 0 below the sum is not kept."""
    plan = DeclaredPlan([(F(1, 1000), 10_000)])
    assert 0 < plan.delta(9.99) <= 1e-290
    assert plan.delta(10.001) == 0
    assert plan.beside(F(999, 100), F(1, 10**400)) is None
    assert plan.beside(F(11), F(1, 10**400)) <= 1


def test_trees_of_units_of_any_size():
    """A product of a distance and the rows of a unit wrapped around from 2**39 rows on, and the noise all but vanished."""
    edges = Edges(np.array([1, 2, 5]), np.array([5, 7, 1 << 23]))
    found = {Search(edges, 3, 1 << 24, rows, F(1, 10)).smooth() for rows in (10, 10**9, 1 << 40, 1 << 62)}
    assert len(found) == 1


@pytest.mark.parametrize("levels", [(F(1, 2),), (F(1, 4), F(1, 2), F(3, 4))])
@pytest.mark.parametrize("error_bar", [True, False])
@pytest.mark.parametrize("law", DRAWS)
def test_prices_of_smooth_noise_sum_to_what_is_charged(law, error_bar, levels):
    """Shares of epsilon and of delta; an error bar goes with one level."""
    price = Price(F(2), F(1, 10**6) if law in NEED_DELTA else F(0))
    question = SmoothQuantileOf(Lattice(F(1), 0, 1000), Kind("number"), law, error_bar, "x", levels, len(levels) == 1)
    for relation in NeighboringRelation:
        loss = question.loss(Terms(PrivacyUnit("u", 3, 2, 2, relation), price, False, None))
        assert (loss.epsilon, loss.delta) == (price.epsilon, price.delta)


@pytest.mark.parametrize("l1", [1, 2, 3, 1000])
def test_laplace_noise_is_accounted_at_the_steps_of_its_shift(l1):
    """More steps than there are would be counted too cheaply, also where one entry moves by less."""
    (part, times), *_ = DiscreteLaplace(F(2)).loss(Sensitivity(l1=l1, l2_squared=l1, linf=1)).parts
    assert (part, times) == (LaplaceLoss(F(l1, 2), steps=l1), 1)


def test_a_plan_pays_no_delta():
    """Smooth noise with a delta is a pure epsilon beside it: a plan has no delta left for it."""
    rule = filter_for(PLANNED)
    for epsilon in (F(1, 10), F(1, 20)):
        assert rule.admit(State.zero(), rule.charge(PrivacyLoss.pure(epsilon) + PrivacyLoss((), F(1, 10**9)))) is None
        assert rule.admit(State.zero(), rule.charge(PrivacyLoss.pure(epsilon))) is not None


@pytest.mark.parametrize("before", [Budget.of(3), HYBRID, PLANNED])
@pytest.mark.parametrize("after", [Budget.of(5), HYBRID, PLANNED, HYBRID.planned([(F(1, 10), 30)])])
def test_no_plan_comes_or_goes_after_the_first_answer(before, after):
    if not (before.plan or after.plan) or before == after:
        return
    ledger = Ledger()
    ledger.open("n", before, UNIT)
    ledger.reserve("n", None, "count()", "epsilon=0.1", TENTH, UNIT)
    with pytest.raises(LedgerError, match="before the first answer"):
        ledger.amend("n", after, UNIT, "more")
    with pytest.raises(LedgerError):
        ledger.open("n", after, UNIT, mistaken=True)
    assert ledger.budget("n")[0] == before


def test_what_costs_nothing_is_an_answer_too():
    """A public number of rows under replace-one is not public any more under add/remove."""
    df = protected(pd.DataFrame({"x": [1.0] * 70}), neighbors="replace_one", rows=True, name="third-review-free")
    assert df.dp(epsilon=1).count() == 70
    assert df.dp.session.spent == "epsilon=0"
    with pytest.raises(LedgerError, match="neighbors"):
        df.dp.protect(epsilon=10, name="third-review-free")


def test_verifying_counts_what_was_taken_from_a_plan(tmp_path):
    """A row that says so itself, seal and all, but not its entries."""
    path = tmp_path / "books.dpledger"
    ledger = Ledger(path)
    ledger.open("n", PLANNED, UNIT)
    for _ in range(2):
        ledger.reserve("n", None, "count()", "epsilon=0.1", TENTH, UNIT)
    ledger.verify()
    ledger.close()
    with sqlite3.connect(path) as connection:
        row = records.find(connection, "n")
        assert row is not None
        state = State.from_text(row.state)
        less = row._replace(state=State(state.epsilon, False, state.renyi, state.delta, (1,)).to_text())
        connection.execute("UPDATE budgets SET state = ?, seal = ?", (less.state, records._seal(less)))
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).verify()


@pytest.mark.parametrize("before", ["hybrid", "rdp", "zcdp", "gdp"])
@pytest.mark.parametrize("after", ["hybrid", "rdp", "zcdp", "gdp"])
def test_sums_are_never_read_in_another_currency(before, after):
    """A rho is no divergence of order 6, and no epsilon is a mu: no amendment brings that about."""
    ledger, more = Ledger(), Budget.of(9, F(1, 10**6), accountant=after)
    ledger.open("n", Budget.of(3, F(1, 10**6), accountant=before), UNIT)
    ledger.reserve("n", None, "count()", "rho=0.01", PrivacyLoss.gaussian(F(1, 100)), UNIT)
    if before == after:
        ledger.amend("n", more, UNIT, "more")
        return
    with pytest.raises(LedgerError, match=f"type accountant='{before}' to continue"):
        ledger.amend("n", more, UNIT, "more")
    with pytest.raises(LedgerError):
        ledger.open("n", more, UNIT, mistaken=True)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_trimmed_means_know_the_rows_of_a_unit(rows):
    """The sensitivity of a unit, where it is far from the ends of the lattice."""
    statistic = TrimmedMean(LatticeCounts("x", Lattice(F(1), 0, 1 << 20)), F(1, 4), F(1, 3))
    values = [(key << 10) + 5 for key in range(900)]
    view = table([(key, "g", float(x)) for key, x in enumerate(values)])
    offsets = Points(np.array(values), np.ones(900, dtype=np.int64))
    found = statistic.compute(view, PrivacyUnit("u", rows, rows, rows)).open()
    assert found == [trimmed(offsets, 1 << 20, F(1, 4), F(1, 3), rows)]
    assert rows == 1 or found != statistic.compute(view, PrivacyUnit("u", 1, 1, 1)).open()


class Greedy(Count):
    """Declares one look and takes two."""

    def steps(self, terms):
        yield self.look(terms)
        noisy = yield self.look(terms)
        return self.answer(noisy, self.look(terms), terms)


@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6}])
def test_the_gate_stops_a_recipe_that_looks_more_often_than_it_declared(monkeypatch, terms):
    df = protected(pd.DataFrame({"x": [1.0] * 70}), **terms)
    monkeypatch.setattr("pandas_dp.questions.frame.Count", Greedy)
    with pytest.raises(QueryFailedError):
        df.dp(epsilon=1).count()


@pytest.mark.parametrize("steps", [1, 2, 1024])
def test_small_prices_are_not_rounded_below_the_truth(steps):
    """Even continuous noise, the cheapest law, has a mean loss above e^2 / 2 - e^3 / 6; floats would cancel there."""
    for power in range(3, 10):
        for digits in range(1, 100):
            e = F(digits, 10 * 10**power)
            assert LaplaceLoss(e, steps=steps).rho >= e**2 / 2 - e**3 / 6
