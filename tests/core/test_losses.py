"""Losses that mechanisms hand to the accountant: outward of the exact divergence of what is drawn."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction as F
from itertools import pairwise, product

import pytest

from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import LaplaceLoss, PureLoss, Sensitivity

EPSILONS = [F(1, 1000), F(1, 100), F(1, 10), F(1), F(5)]
ORDERS = [F(11, 10), F(2), F("8.9138"), F(64)]


def divergence(order, epsilon, steps, shift) -> Decimal:
    """(order - 1) times the divergence of a shift, by its definition as a sum, to 60 digits."""
    a, step = Decimal(order.numerator) / order.denominator, Decimal(epsilon.numerator) / epsilon.denominator / steps
    norm = (1 - (-step).exp()) / (1 + (-step).exp())
    inner = sum(((-step * abs(z) * a - step * abs(z - shift) * (1 - a)).exp() for z in range(1, shift)), Decimal(0))
    tail = 1 / (1 - (-step).exp())  # sums over z <= 0 and z >= shift
    ends = tail * ((step * shift * (a - 1)).exp() + (-step * shift * a).exp())
    return (norm * (inner + ends)).ln()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("steps", [1, 2, 3, 40])
def test_divergence_of_discrete_laplace(steps):
    with localcontext(Context(prec=60)):
        for epsilon, order in product(EPSILONS, ORDERS):
            a = Decimal(order.numerator) / order.denominator
            exact = divergence(order, epsilon, steps, steps) / (a - 1)
            found = LaplaceLoss(epsilon, steps=steps).renyi(order)
            shown = Decimal(found.numerator) / found.denominator
            assert exact <= shown <= exact * (1 + Decimal("1e-6"))
            for shift in range(1, steps):  # smaller shifts, and shifts that two coordinates share
                assert divergence(order, epsilon, steps, shift) / (a - 1) <= exact
                both = divergence(order, epsilon, steps, shift) + divergence(order, epsilon, steps, steps - shift)
                assert both / (a - 1) <= exact


@pytest.mark.parametrize("steps", [1, 2, 40])
def test_rho_of_discrete_laplace(steps):
    """The largest divergence divided by its order, over orders from 1 on, is that at 1; to 60 digits."""
    with localcontext(Context(prec=60)):
        for epsilon in EPSILONS:
            found = LaplaceLoss(epsilon, steps=steps).rho
            shown = Decimal(found.numerator) / found.denominator
            least = F(1) + F(1, 10**12)
            for order in (least, F(101, 100), F(3, 2), *ORDERS):
                a = Decimal(order.numerator) / order.denominator
                each = divergence(order, epsilon, steps, steps) / (a - 1) / a
                assert each <= shown
                if order == least:
                    assert shown <= each * (1 + Decimal("1e-6"))


def test_more_steps_diverge_less():
    for epsilon, order in product(EPSILONS, ORDERS):
        losses = [LaplaceLoss(epsilon, steps=steps) for steps in (1, 2, 3, 5, 10, 100, 1024, 2**20)]
        for what in ([loss.renyi(order) for loss in losses], [loss.rho for loss in losses]):
            assert all(after <= before * (1 + F(1, 10**9)) for before, after in pairwise(what))


def test_one_step_is_randomized_response_and_many_are_continuous():
    for epsilon in (F(1, 10), F(1), F(5)):
        assert LaplaceLoss(epsilon).rho == pytest.approx(float(epsilon) * math.tanh(float(epsilon) / 2))
        assert LaplaceLoss(epsilon).renyi(F(9)) == pytest.approx(float(PureLoss(epsilon).renyi(F(9))))
        many = LaplaceLoss(epsilon, steps=2**40)
        assert float(many.rho) == pytest.approx(float(epsilon) - 1 + math.exp(-epsilon), rel=1e-6)
        assert many.renyi(F(9)) < PureLoss(epsilon).renyi(F(9))


@pytest.mark.parametrize("epsilon", [F(1, 10**9), F(1, 2000), F(0), F(700), F(10**6)])
def test_extreme_prices_fall_back_on_any_pure_mechanism(epsilon):
    for steps in (1, 2**60):
        loss = LaplaceLoss(epsilon, steps=steps)
        assert loss.renyi(F(9)) <= PureLoss(epsilon).renyi(F(9))
        assert loss.rho <= PureLoss(epsilon).rho


def test_what_the_mechanism_says():
    noise = DiscreteLaplace(F(200))
    loss = noise.loss(Sensitivity(l1=100, l2_squared=100**2, linf=100))
    assert loss.parts == ((LaplaceLoss(F(1, 2), steps=100), 1),)
    assert loss.epsilon == F(1, 2)
    assert loss.rho < F(1, 2) * F(math.tanh(0.25))
