"""The filters: budgets, exact sums, the pure and the hybrid rule. What strategies reach: test_filters_twins."""

from __future__ import annotations

import math
import random
import re
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.ledgers import DELTA, gaussian, pure, spend

from pandas_dp.books import budget_words
from pandas_dp.core.budget import Budget, Charge, State
from pandas_dp.core.filters import HybridFilter, PureFilter, best_order, filter_for, renyi_limit
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError


def admitted(rule, state, loss):
    """How many queries of one price still fit."""
    charge, count = rule.charge(loss), 0
    while (after := rule.admit(state, charge)) is not None:
        state, count = after, count + 1
    return count


# -- budgets ----------------------------------------------------------------------------------------------------


def test_defaults():
    assert Budget.of(1) == Budget(F(1), F(0), F(0), "pure")
    assert Budget.of(F(3), DELTA) == Budget(F(3), DELTA, DELTA / 10, "hybrid")
    assert isinstance(filter_for(Budget.of(1)), PureFilter)
    assert isinstance(filter_for(Budget.of(1, DELTA)), HybridFilter)
    assert filter_for(Budget.of(1, DELTA)) is filter_for(Budget.of(1, DELTA))


@pytest.mark.parametrize(
    ("terms", "line"),
    [
        ({"epsilon": 0}, "epsilon=3"),
        ({"epsilon": -1}, "epsilon=3"),
        ({"epsilon": 10**6 + 1}, "epsilon=3"),
        ({"epsilon": 1, "delta": F(-1, 10**9)}, "delta=1e-6"),
        ({"epsilon": 1, "delta": 1}, "delta=1e-6"),
        ({"epsilon": 1, "accountant": "pld"}, "'hybrid'"),
        ({"epsilon": 1, "delta": DELTA, "accountant": "pure"}, "delta=0"),
        ({"epsilon": 1, "accountant": "hybrid"}, "delta=1e-6"),
        ({"epsilon": 1, "delta_reserved": DELTA}, "delta=1e-6"),
        ({"epsilon": 1, "delta": DELTA, "delta_reserved": 0}, "delta_reserved=1e-7"),
        ({"epsilon": 1, "delta": DELTA, "delta_reserved": DELTA}, "delta_reserved=1e-7"),
        ({"epsilon": F(1, 10**310)}, "300 decimals"),
    ],
)
def test_bad_budgets_are_refused_with_the_line_to_type(terms, line):
    with pytest.raises(ArgumentValueError, match="type") as error:
        Budget.of(**terms)
    assert line in str(error.value)


@pytest.mark.parametrize("epsilon", [0.1, True, "1", None])
def test_only_exact_numbers_are_taken(epsilon):
    with pytest.raises(ArgumentTypeError, match="exact"):
        Budget.of(epsilon)


def test_nothing_is_ever_paid_back():
    for triple in [(F(-1), F(0), F(0)), (F(1), F(-1), F(0)), (None, F(0), F(-1))]:
        with pytest.raises(ArgumentValueError, match="negative"):
            Charge(*triple)


# -- the pure filter --------------------------------------------------------------------------------------------


def test_ten_times_a_tenth_is_one():
    rule = filter_for(Budget.of(1))
    state = spend(rule, State.zero(), *[pure("0.1")] * 10)
    assert state == State(F(1), False, F(0), F(0))
    assert rule.admit(state, rule.charge(pure("1e-12"))) is None


def test_a_tenth_and_a_fifth_fit_three_tenths_and_not_a_trillionth_more():
    rule = filter_for(Budget.of(F("0.3")))
    state = spend(rule, State.zero(), pure("0.1"))
    assert rule.admit(state, rule.charge(pure(F("0.2") + F("1e-12")))) is None
    assert spend(rule, state, pure("0.2")).epsilon == F("0.3")


@pytest.mark.parametrize("loss", [gaussian("0.001"), pure("0.1") + gaussian("0.001"), PrivacyLoss((), F("1e-9"))])
def test_a_pure_budget_pays_no_gaussian_noise_and_says_so(loss):
    rule = filter_for(Budget.of(1))
    charge = rule.charge(loss)
    assert rule.admit(State.zero(), charge) is None
    error = budget_words.refusal(rule, State.zero(), "rho=0.001", charge)
    assert error.currency == "delta"
    assert error.fits.startswith("this budget has no delta, so there is no Gaussian noise and no key discovery")
    assert "leave out delta= and rho= (epsilon=1 would fit and spend all that is left)" in error.fits
    assert "df.dp.session.extend(to_delta=1e-6, reason='...')" in error.fits


def test_a_pure_refusal_says_what_fits():
    rule = filter_for(Budget.of(1))
    state = spend(rule, State.zero(), pure("0.8"))
    error = budget_words.refusal(rule, state, "epsilon=0.3", rule.charge(pure("0.3")))
    assert (error.asked, error.spent, error.left) == ("epsilon=0.3", "epsilon=0.8", "epsilon=0.2")
    assert (error.currency, error.fits) == ("epsilon", "epsilon=0.2 would fit and spend all that is left")
    state = spend(rule, state, pure("0.2"))
    assert budget_words.refusal(rule, state, "epsilon=1", rule.charge(pure(1))).fits == "nothing fits any more"


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (F(1, 3), "=1/3"),
        (F(2, 7) + F(1, 11), "=29/77"),
        (F("0.123456789012"), "=0.123456789012"),
        (F(1, 10**7), "=1e-7"),
        (F("0.000012345678"), "=1.2345678e-5"),
        (F("0.0001"), "=0.0001"),
        (F(1, 1013), " about 0.000987"),
        (F("0.12345678901234567"), " about 0.123"),
        (F(2, 3) + F(1, 10**15), " about 0.666"),
        (F(1, 2**40), " about 9.09e-13"),
        (F(12345678, 1013), " about 12100"),
    ],
)
def test_sums_are_told_exactly_or_as_about(amount, said):
    pure_rule, hybrid = filter_for(Budget.of(10**5)), filter_for(Budget.of(10**5, DELTA))
    state = State(amount, False, F(0), F(0))
    spent = budget_words.spent(pure_rule, state)
    assert spent == budget_words.spent(hybrid, state)
    shown = F(spent.removeprefix("epsilon").removeprefix("=").removeprefix(" about "))
    assert amount <= shown < amount * F("1.02")  # upwards: an amount never looks smaller than it is
    assert spent == f"epsilon{said}" or "about" in spent
    assert budget_words.left(pure_rule, State(10**5 - amount, False, F(0), F(0))) == f"epsilon{said}"
    number = F(said.removeprefix("=").removeprefix(" about "))
    assert number <= amount < number * F("1.01") + F(1, 10**300)
    assert number == amount or "about" in said


def test_texts_of_a_hybrid_budget():
    rule = filter_for(Budget.of(3, DELTA))
    assert budget_words.spent(rule, State.zero()) == "epsilon=0"
    assert re.fullmatch(
        r"epsilon=3 by addition or Renyi divergence about \S+ \(whichever allows more\), delta=1e-7 for finding keys",
        budget_words.left(rule, State.zero()),
    )
    state = spend(rule, State.zero(), pure(F(1, 3)), gaussian("0.001"), PrivacyLoss((), DELTA / 20))
    assert re.fullmatch(
        r"Renyi divergence about \S+ \(with Gaussian noise\), delta=5e-8",
        budget_words.spent(rule, state),
    )
    assert budget_words.left(rule, state).startswith("Renyi divergence about ")


def test_thirds_are_exact_and_long_denominators_stay_short():
    rule = filter_for(Budget.of(1))
    assert spend(rule, State.zero(), *[pure(F(1, 3))] * 3).epsilon == 1
    state, true = State.zero(), F(0)
    for prime in [p for p in range(3, 3000, 2) if all(p % q for q in range(3, math.isqrt(p) + 1, 2))]:
        state = spend(rule, state, pure(F(1, prime * 10**4)))
        true += F(1, prime * 10**4)
    assert state.epsilon.denominator.bit_length() <= 1025 < true.denominator.bit_length()
    assert true <= state.epsilon < true + F(1, 10**300)  # rounded up, and no one can tell
    assert State.from_text(state.to_text()) == state


# -- text -------------------------------------------------------------------------------------------------------

rationals = st.fractions(min_value=0, max_value=10**6, max_denominator=10**30)


@given(rationals, st.booleans(), rationals, rationals)
def test_states_survive_text(epsilon, unbounded, renyi, delta):
    state = State(epsilon, unbounded, renyi, delta)
    assert State.from_text(state.to_text()) == state
    charge = Charge(None if unbounded else epsilon, renyi, delta)
    assert Charge.from_text(charge.to_text()) == charge


def test_ten_thousand_random_charges_sum_exactly():
    choose = random.Random(7)
    rule, state = filter_for(Budget.of(10**6, F(1, 2))), State.zero()
    sums = [F(0), F(0), F(0)]
    for _ in range(10_000):
        epsilon = F(choose.randrange(1, 10**6), 10 ** choose.randrange(4, 13))
        loss = PrivacyLoss.pure(epsilon) + PrivacyLoss((), F(choose.randrange(10**3), 10**12))
        charge = rule.charge(loss)
        assert charge.epsilon == epsilon
        assert 0 <= charge.renyi - loss.renyi(rule.order) < F(1, 2**64)  # up, by less than one step
        state = State.from_text(rule.admit(state, charge).to_text())
        sums = [total + part for total, part in zip(sums, (epsilon, charge.renyi, loss.delta), strict=True)]
    assert [state.epsilon, state.renyi, state.delta] == sums


# -- the hybrid filter ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reserved", "tenths", "hundredths"), [(F(1, 10**15), 41, 1728), (None, 40, 1714)])
def test_what_three_and_a_millionth_pay(reserved, tenths, hundredths):
    """The plain sum pays 30 of 0.1, and 200 of 0.01 after two of 0.5; zCDP pays 37, and then none."""
    rule = filter_for(Budget.of(3, DELTA, reserved))
    assert admitted(rule, State.zero(), pure("0.1")) == tenths
    halves = spend(rule, State.zero(), pure("0.5"), pure("0.5"))
    assert admitted(rule, halves, pure("0.01")) == hundredths
    assert [admitted(rule, State.zero(), pure(e)) for e in ("0.5", 1, 3)] == [6, 3, 1]  # never below the sum
    assert admitted(rule, State.zero(), gaussian("0.01")) == 18
    by_zcdp = sum(1 for k in range(1, 60) if k * rule.charge(pure("0.1")).renyi <= rule.limit)
    assert by_zcdp == tenths


def test_every_charge_counts_in_every_sum_and_a_refused_one_in_none():
    rule = filter_for(Budget.of(1, DELTA))
    state = spend(rule, State.zero(), pure("0.9"))  # only the first test admits it
    assert rule.admit(State(F(1), False, F(0), F(0)), rule.charge(pure("0.9"))) is None
    assert state.epsilon == F("0.9")
    assert state.renyi > rule.limit
    before = state.to_text()
    assert rule.admit(state, rule.charge(gaussian("1e-6"))) is None
    assert state.to_text() == before
    state = spend(rule, state, pure("0.1"))
    assert rule.admit(state, rule.charge(pure("1e-9"))) is None


def test_after_gaussian_noise_the_epsilons_bound_nothing():
    rule = filter_for(Budget.of(3, DELTA))
    state = spend(rule, State.zero(), gaussian("0.001"))
    assert state.unbounded
    assert state.epsilon == 0
    assert rule.admit(state, rule.charge(pure(2))) is None  # 2 <= 3, but only the second test counts now
    assert rule.admit(state, rule.charge(pure("0.1"))) is not None


def test_deltas_come_out_of_the_reserved_part_alone():
    rule = filter_for(Budget.of(3, DELTA))
    loss = pure("0.1") + PrivacyLoss((), DELTA / 20)
    state = spend(rule, State.zero(), loss, loss)
    assert state.delta == DELTA / 10
    charge = rule.charge(loss)
    assert rule.admit(state, charge) is None
    error = budget_words.refusal(rule, state, "epsilon=0.1, delta=5e-8", charge)
    assert error.currency == "delta"
    assert error.fits.startswith("epsilon=2.8 would fit in a query that needs no delta; of the delta reserved")
    assert error.fits.endswith(" 0 is left; raise it on record: df.dp.session.extend(to_delta=1.5e-6, reason='...')")
    spend(rule, state, pure("2.8"))


@pytest.mark.parametrize(("epsilon", "offered"), [("0.1", True), ("2.8", True), ("2.9", False), ("5", False)])
def test_a_smaller_delta_is_offered_where_it_would_be_admitted(epsilon, offered):
    rule = filter_for(Budget.of(3, DELTA))
    state = spend(rule, State.zero(), pure("0.2") + PrivacyLoss((), DELTA / 20))
    error = budget_words.refusal(rule, state, "as typed", rule.charge(pure(epsilon) + PrivacyLoss((), DELTA)))
    assert error.fits.endswith(": delta=5e-8 would fit") == offered
    assert (rule.admit(state, rule.charge(pure(epsilon) + PrivacyLoss((), DELTA / 20))) is not None) == offered


@given(
    st.lists(st.sampled_from([("e", "0.1"), ("e", "0.37"), ("e", "1.3"), ("g", "0.004"), ("g", "0.05")]), max_size=12),
    st.sampled_from([F(1), F("0.02")]),
)
@settings(max_examples=60, deadline=None)
def test_what_a_refusal_offers_would_fit_and_little_more_would(history, asked):
    rule, state = filter_for(Budget.of(3, DELTA)), State.zero()
    for kind, size in history:
        state = rule.admit(state, rule.charge(pure(size) if kind == "e" else gaussian(size))) or state
    for loss, make, word in ((pure(4), pure, "epsilon="), (gaussian(asked), gaussian, "rho=")):
        charge = rule.charge(loss)
        if rule.admit(state, charge) is not None:
            continue
        fits = budget_words.refusal(rule, state, "asked", charge).fits
        offered = re.search(word + r"([0-9][0-9.e-]*)", fits)
        if offered is None:
            assert rule.admit(state, rule.charge(make("1e-9"))) is None
            continue
        offer = F(offered[1])
        assert rule.admit(state, rule.charge(make(offer))) is not None
        assert rule.admit(state, rule.charge(make(offer * F("1.011")))) is None


@given(
    st.fractions(min_value=F(1, 10**9), max_value=10**6, max_denominator=10**9),
    st.integers(min_value=1, max_value=300),
    st.fractions(min_value=F(101, 100), max_value=1000, max_denominator=4096) | st.none(),
)
@settings(max_examples=200, deadline=None)
def test_the_limit_is_never_above_a_longer_evaluation(epsilon, digits, order):
    delta = F(7, 10**digits)
    order = best_order(epsilon, delta) if order is None else order
    limit = renyi_limit(epsilon, delta, order)
    with localcontext(Context(prec=60, rounding=ROUND_CEILING, Emin=-(10**6), Emax=10**6)):
        e, z, a = (Decimal(x.numerator) / Decimal(x.denominator) for x in (epsilon, delta, order))
        # written another way: the epsilon at which a divergence of `limit` converts to exactly delta
        converted = Decimal(limit.numerator) / Decimal(limit.denominator) + (a - 1).ln() - a.ln()
        converted -= (a.ln() + z.ln()) / (a - 1)
        excess = converted - e
    if limit:
        assert excess <= Decimal("1e-45")
        assert excess >= Decimal("-1e-18")  # and not needlessly low
    assert (limit * 2**64).denominator == 1


def test_a_tiny_delta_and_extreme_budgets_open():
    for epsilon, delta in ((F(1, 10**9), DELTA), (F(10**6), DELTA), (F(1), F(9, 10)), (F(1), F(1, 10**299))):
        rule = HybridFilter(Budget.of(epsilon, delta))
        assert rule.order > 1
        assert rule.limit > 0
        assert rule.admit(State.zero(), rule.charge(PrivacyLoss.pure(epsilon))) is not None
        most = rule.limit / rule.order
        assert rule.admit(State.zero(), rule.charge(gaussian(most))) is not None
        assert rule.admit(State.zero(), rule.charge(gaussian(most * F("1.001")))) is None


def test_the_order_on_record_is_kept():
    budget = Budget.of(3, DELTA)
    rule = filter_for(budget, F(5))
    best = filter_for(budget)
    assert (rule.order, rule.limit) == (5, renyi_limit(F(3), DELTA * F(9, 10), F(5)))
    assert rule.limit / rule.order < best.limit / best.order  # and the one chosen pays for more Gaussian noise
