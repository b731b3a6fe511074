"""How many more calls a budget pays: what the filter admits when they are asked one by one."""

from __future__ import annotations

import re
from fractions import Fraction as F
from types import SimpleNamespace

import pytest

from pandas_dp.accounting import group_privacy
from pandas_dp.books.what_fits import group_text, left_text, more_calls, raised
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentValueError
from pandas_dp.release.text import COUNTED

DELTA = F(1, 10**6)
LOSSES = [
    PrivacyLoss.pure(F(1, 10)),
    PrivacyLoss.pure(F("0.7")),
    PrivacyLoss.pure(F(2)),
    PrivacyLoss.gaussian(F(1, 100)),
    PrivacyLoss.pure(F(1, 10)) + PrivacyLoss((), DELTA / 100),
]
BEFORE = [[], [PrivacyLoss.pure(F("2.9"))], [PrivacyLoss.gaussian(F(1, 50))], [LOSSES[4]] * 3]


@pytest.mark.parametrize("budget", [Budget.of(3), Budget.of(3, DELTA)], ids=["pure", "hybrid"])
@pytest.mark.parametrize("loss", LOSSES, ids=range(len(LOSSES)))
@pytest.mark.parametrize("before", BEFORE, ids=range(len(BEFORE)))
def test_as_many_as_the_filter_admits(budget, loss, before):
    rule, state, count = filter_for(budget), State.zero(), 0
    for past in before:
        state = rule.admit(state, rule.charge(past)) or state
    said = more_calls(rule, state, loss)
    while (after := rule.admit(state, rule.charge(loss))) is not None:
        state, count = after, count + 1
    assert said == count


def test_words():
    hybrid = filter_for(Budget.of(3, DELTA))
    text = left_text(hybrid, State.zero(), None)
    first, theory = text.split(COUNTED)
    assert first == "about 40 more calls at epsilon=0.1, and delta=1e-7 for finding keys"
    assert re.fullmatch(r"epsilon=3 added up or Renyi divergence about \S+ \(whichever pays more\)", theory)
    big = left_text(hybrid, State.zero(), ("rho=9", PrivacyLoss.gaussian(F(9))))
    assert big.startswith("about 0 more calls at rho=9, ")
    one = left_text(hybrid, State.zero(), ("epsilon=3", PrivacyLoss.pure(F(3))))
    assert one.startswith("about 1 more call at epsilon=3, ")
    gaussian = left_text(filter_for(Budget.of(3, DELTA, accountant="gdp")), State.zero(), None)
    assert re.fullmatch(r"about \d+ more calls at rho=0.01; counted: mu\^2 about \S+", gaussian)  # no delta for keys
    assert left_text(filter_for(Budget.of(3)), State.zero(), None) == "epsilon=3"


@pytest.mark.parametrize("written", ["1e-6", "0.000001"])  # as now, and as in ledgers of earlier versions
def test_a_delta_that_a_total_had_before_is_taken_for_a_cell_that_runs_again(written):
    terms = SimpleNamespace(kind="open", price=f"epsilon=3, delta={written}, delta_reserved=1e-7, accountant='hybrid'")
    assert raised("delta", "to_delta", 2 * DELTA, DELTA, [terms]) == 2 * DELTA
    with pytest.raises(ArgumentValueError, match="can only be raised"):
        raised("delta", "to_delta", 2 * DELTA, DELTA / 2, [terms])


def test_groups_of_units():
    unit = PrivacyUnit("pid", 4, 4, 4)
    assert group_text(Budget.of(F("0.5")), unit, 3) == "any 3 units of 'pid' together: epsilon=1.5"
    assert group_text(Budget.of(1, F(1, 10**6)), PrivacyUnit(), 1) == "any 1 rows together: epsilon=1, delta=1e-6"
    text = group_text(Budget.of(1, F(1, 10**6)), PrivacyUnit(), 3)
    assert text == "any 3 rows together: epsilon=3, delta=1.1108e-5"  # 1e-6 (1 + e + e^2) = 1.11073...e-5
    assert "too many to be hidden together" in group_text(Budget.of(3, F(1, 10**6)), PrivacyUnit(), 9)
    assert "too many to be hidden together" in group_text(Budget.of(900, F(1, 10**6)), PrivacyUnit(), 2)
    assert "too many to be hidden together" in group_text(Budget.of(F(1, 10), F(1, 10**6)), PrivacyUnit(), 10**9)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [("3", "1e-6"), ("0.001", "1.23456789e-9"), ("1/3", "1e-30"), ("1", "1e-5")]
)
def test_the_delta_of_a_group_is_the_calculators_rounded_up_once(epsilon, delta, size):
    text = group_text(Budget.of(F(epsilon), F(delta)), PrivacyUnit(), size)
    _, exact = group_privacy((F(epsilon), F(delta)), size)
    shown = F(text.split("delta=")[1])
    assert F(exact) * (1 - F(1, 10**14)) <= shown <= F(exact) * (1 + F(1, 10**4))
    assert shown >= F(delta)
