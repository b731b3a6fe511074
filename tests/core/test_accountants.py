"""The filters beside the default one: what they pay for, that no strategy exceeds them, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused
from support.ledgers import DELTA, gaussian, pure, spend
from support.strategies import UNIT, worst_delta

from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import GDPFilter, HybridFilter, RenyiFilter, ZCDPFilter, filter_for, gdp_limit
from pandas_dp.core.mechanisms.gaussian import gaussian_delta
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.errors import ArgumentValueError

ALMOST = DELTA / 10**6  # of delta reserved: the table counts as if none were


def budget(accountant: str, reserved=ALMOST) -> Budget:
    return Budget.of(3, DELTA, None if accountant == "gdp" else reserved, accountant)


def fit(rule, loss: PrivacyLoss) -> int:
    """How many of one loss are admitted."""
    state, count = State.zero(), 0
    while (after := rule.admit(state, rule.charge(loss))) is not None:
        state, count = after, count + 1
    return count


@pytest.mark.parametrize(
    ("accountant", "size", "count"),
    [
        ("zcdp", "0.5", 1),
        ("zcdp", "0.1", 37),
        ("zcdp", "0.01", 3701),
        ("rdp", "0.5", 3),
        ("rdp", "0.1", 41),
        ("rdp", "0.01", 3705),
    ],
)
def test_answers_of_one_size(accountant, size, count):
    """Known counts at (3, 1e-6); the order of the Renyi filter, 8.93, was chosen for Gaussian noise."""
    assert fit(filter_for(budget(accountant)), pure(size)) == count


@pytest.mark.parametrize(("accountant", "count"), [("zcdp", 74), ("rdp", 74), ("hybrid", 74), ("gdp", 83)])
def test_gaussian_answers(accountant, count):
    """Noise with the standard deviation of Laplace noise at epsilon 0.1: rho = 0.1^2 / 4."""
    assert fit(filter_for(budget(accountant)), gaussian(F(1, 400))) == count


def test_what_each_admits_of_the_others():
    """zcdp admits a part of what rdp admits, and that a part of what the hybrid does."""
    rules = [filter_for(budget(name)) for name in ("zcdp", "rdp", "hybrid")]
    assert [type(rule) for rule in rules] == [ZCDPFilter, RenyiFilter, HybridFilter]
    assert rules[0].limit * rules[1].order <= rules[1].limit
    for loss in (pure(3), pure(1), pure("0.3"), pure("0.1"), gaussian("0.1")):
        counts = [fit(rule, loss) for rule in rules]
        assert counts == sorted(counts)


@pytest.mark.parametrize("accountant", ["rdp", "zcdp"])
def test_no_strategy_exceeds_them(accountant):
    terms = Budget.of(1, F(1, 1000), None, accountant)
    assert worst_delta(filter_for(terms)) <= float(terms.delta - terms.delta_reserved)
    assert worst_delta(filter_for(terms), [terms.delta / 10]) <= float(terms.delta)


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["rdp", "zcdp"])
def test_twins_with_a_larger_limit_are_found(accountant):
    rule = filter_for(Budget.of(1, F(1, 1000), None, accountant))
    wide = type(rule)(rule.budget)
    wide.limit = 2 * rule.limit
    assert worst_delta(wide) > float(rule.budget.delta)


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(3), F(20)])
@pytest.mark.parametrize("delta", [F(1, 10**3), F(1, 10**6), F(1, 10**12)])
def test_limit_of_gaussian_noise(epsilon, delta):
    limit = float(gdp_limit(epsilon, delta))
    assert gaussian_delta(float(epsilon), math.sqrt(limit)) <= float(delta)
    assert gaussian_delta(float(epsilon), 1.001 * math.sqrt(limit)) > float(delta)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("steps", [1, 4, 16])
def test_composed_noise_as_it_is_drawn(steps):
    """Exact delta of several draws on the coarsest lattice there is: 2**10 steps in the sensitivity, or more.

    The loss of all draws together is a linear function of their sum, whose law is a convolution.
    """
    terms = budget("gdp")
    d = 1 << 10
    variance = F(d * d * steps) / gdp_limit(terms.epsilon, terms.delta)  # each step a share of mu^2
    sigma = math.sqrt(variance)
    reach = math.ceil(12 * sigma)
    one = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * float(variance)))
    one /= one.sum()
    length = 1 << (2 * reach * steps).bit_length()
    law = np.fft.irfft(np.fft.rfft(one, length) ** steps, length)[: 2 * reach * steps + 1]
    total = np.arange(-reach * steps, reach * steps + 1)
    loss = (2 * total * d + steps * d * d) / (2 * float(variance))
    delta = (law * np.maximum(0, -np.expm1(float(terms.epsilon) - np.maximum(loss, float(terms.epsilon))))).sum()
    assert 0.99 * float(terms.delta) < delta <= float(terms.delta)


def test_what_gaussian_sessions_refuse(monkeypatch):
    df = protected(
        pd.DataFrame({"age": np.arange(1000) % 90, "sex": ["F", "M"] * 500}), epsilon=3, delta=1e-6, accountant="gdp"
    )
    session = df.dp.session
    assert "; counted: mu^2 about 0.41" in session.left
    with refused(monkeypatch, df, ArgumentValueError, "allows Gaussian noise only.*rho=0.01"):
        df.dp(epsilon=0.1).count()
    with refused(monkeypatch, df, ArgumentValueError, "allows Gaussian noise only"):
        df.dp(epsilon=0.1).mode("sex", keys=["F", "M"])
    count = df.dp(rho=0.01).count()
    assert abs(count - 1000) < 100
    assert (
        session.spent.partition("; counted: ")[2]
        == "mu^2 about 0.02 (with Gaussian noise)"  # the steps of the sum are no digit
    )
    assert "more calls at rho=0.01" in session.left
    for _ in range(19):
        df.dp(rho=0.01, fresh=True).count()
    with pytest.raises(Exception, match=r"rho=0.00.*mu\^2"):
        df.dp(rho=0.01, fresh=True).count()


@pytest.mark.parametrize("accountant", ["rdp", "zcdp", "gdp"])
def test_extending_and_reopening(accountant, tmp_path):
    df = pd.DataFrame({"age": np.arange(1000) % 90})
    path = tmp_path / "books.dpledger"
    terms = {"epsilon": 1, "delta": 1e-6, "accountant": accountant, "ledger": path, "name": "people"}
    session = df.dp.protect(**terms)
    df.dp(rho=0.001).count()
    spent, before = session.spent, session._rule.limit
    session.extend(to=2, reason="another year")
    assert session.budget.accountant == accountant
    assert session._rule.limit > before
    assert session.spent == spent
    again = pd.DataFrame({"age": np.arange(1000) % 90})
    with pytest.warns(UserWarning, match="counts as new content"):
        assert again.dp.protect(**terms).spent == spent
    with pytest.raises(Exception, match="accountant"):
        again.dp.protect(**terms | {"accountant": "hybrid", "epsilon": 2})


def test_terms():
    assert filter_for(Budget.of(3, DELTA, None, "gdp")).budget.delta_reserved == 0
    for accountant in ("rdp", "zcdp", "gdp"):
        with pytest.raises(ArgumentValueError, match="delta=1e-6"):
            Budget.of(3, 0, None, accountant)
    with pytest.raises(ArgumentValueError, match="delta_reserved"):
        Budget.of(3, DELTA, DELTA / 2, "gdp")
    assert isinstance(filter_for(Budget.of(3, DELTA, None, "gdp")), GDPFilter)


def test_the_search_looks_at_sizes_that_matter():
    """One unit is a twentieth: the promised epsilon is 20 of them."""
    assert UNIT * 20 == 1
    assert spend(filter_for(Budget.of(1)), State.zero(), pure(1)).epsilon == 1
