"""Exact privacy of every finite mechanism: all tables of up to four units over three values, both relations.

Rational arithmetic throughout: with rate = ln 2 / d every weight exp(-rate s) is a rational power of 1/2, and the claim
exp(epsilon) is one too. The scores are those the real code hands to its sampler; the samplers' laws are tested apart.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from support.views import table

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms import quantiles
from pandas_dp.core.mechanisms.quantiles import Quantile
from pandas_dp.core.mechanisms.selection import ExponentialMechanism, PermuteAndFlip
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import RowCounts
from pandas_dp.core.statistics.lattice_counts import LatticeCounts

BASE = Fraction(1, 2)  # exp(-rate)
RELATIONS = list(NeighboringRelation)


def softmax(scores, counts=None):
    """P(i) proportional to counts_i BASE^(best - score_i)."""
    best = max(scores)
    weights = [c * BASE ** (best - s) for s, c in zip(scores, counts or [1] * len(scores), strict=True)]
    return [w / sum(weights) for w in weights]


def permute_and_flip_law(scores):
    """P(r) = p_r integral_0^1 prod_{s != r} (1 - p_s t) dt."""
    best = max(scores)
    keep = [BASE ** (best - s) for s in scores]
    law = []
    for r, p in enumerate(keep):
        polynomial = [Fraction(1)]
        for s, q in enumerate(keep):
            if s != r:
                shifted = [Fraction(0), *(-q * c for c in polynomial)]
                polynomial = [a + b for a, b in zip([*polynomial, Fraction(0)], shifted, strict=True)]
        law.append(p * sum(c / (i + 1) for i, c in enumerate(polynomial)))
    return law


def tables(values):
    """All multisets of up to four one-row units."""
    for n in range(5):
        yield from combinations_with_replacement(values, n)


def neighbours(relation, values):
    for rows in tables(values):
        if relation is NeighboringRelation.ADD_REMOVE:
            if len(rows) < 4:
                for value in values:
                    yield rows, (*rows, value)
        else:
            for i, value in product(range(len(rows)), values):
                yield rows, (*rows[:i], value, *rows[i + 1 :])


def worst_ratio(law, relation, values):
    worst = Fraction(0)
    for one, two in neighbours(relation, values):
        for p, q in zip(law(one), law(two), strict=True):
            worst = max(worst, p / q, q / p)
    return worst


def view(rows):
    """One-row units; a column of one null row stands for the empty table."""
    return table([(0, value, value) for value in rows] or [(0, None, None)])


KEYS = Keys("g", ("a", "b", "c"))


def mode_law(law, unit):
    return lambda rows: law(RowCounts(by=KEYS).compute(view(rows), unit).open())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("family", "law"), [(PermuteAndFlip, permute_and_flip_law), (ExponentialMechanism, softmax)])
def test_mode(relation, family, law):
    unit = PrivacyUnit(relation=relation)
    sensitivity = RowCounts(by=KEYS).sensitivity(unit)
    claim = BASE ** -int(family(Fraction(1)).loss(sensitivity).epsilon)
    worst = worst_ratio(mode_law(law, unit), relation, ["a", "b", "c", "d", None])
    assert 1 < worst <= claim
    if relation is NeighboringRelation.ADD_REMOVE:
        # the whole claim is nearly used, so half of it would be wrong
        assert worst**2 > claim


def test_mode_under_replace_one_needs_the_factor_two():
    """The broken twin: calibrated as if all counts moved one way."""
    relation = NeighboringRelation.REPLACE_ONE
    worst = worst_ratio(mode_law(softmax, PrivacyUnit(relation=relation)), relation, ["a", "b", "c"])
    assert worst > BASE**-1


def captured(monkeypatch):
    """Replace the sampler by one that records what it is asked."""
    asked = {}

    def record(scores, rate, counts=None, fill=None):
        asked.update(scores=scores.tolist(), rate=rate, counts=counts.tolist())
        return int(np.flatnonzero(counts > 0)[0])

    monkeypatch.setattr(quantiles, "exponential_mechanism", record)
    monkeypatch.setattr(quantiles, "uniform_below", lambda count, fill=None: 0)
    return asked


def quantile_law(asked, q, cells, unit):
    """Law on the lattice points, spread evenly over each group of points."""
    lattice = Lattice(Fraction(1), 0, cells)

    def law(rows):
        exact = LatticeCounts("x", lattice).compute(view(rows), unit)
        (points,) = exact.open()
        Quantile(q, Fraction(1), cells).draw(exact)
        groups = softmax(asked["scores"], asked["counts"])
        occupied = points.offsets.tolist()
        runs = [-1, *occupied, cells + 1]
        out = [Fraction(0)] * (cells + 1)
        for i, point in enumerate(occupied):
            out[point] += groups[i]
        for i, (left, right) in enumerate(pairwise(runs)):
            for point in range(left + 1, right):
                out[point] += groups[len(occupied) + i] / (right - left - 1)
        return out

    return law


@pytest.mark.one_in(12)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(1)])
@pytest.mark.parametrize("cells", [2, 4])
def test_quantile(monkeypatch, relation, q, cells):
    unit = PrivacyUnit(relation=relation)
    asked = captured(monkeypatch)
    law = quantile_law(asked, q, cells, unit)
    worst = worst_ratio(law, relation, [0, 1, cells, None])
    # the sampler is called with rate / bottom: exp(-rate / bottom) is BASE, so rate is bottom * ln 2
    sensitivity = LatticeCounts("x", Lattice(Fraction(1), 0, cells)).sensitivity(unit)
    loss = Quantile(q, Fraction(q.denominator), cells).loss(sensitivity).epsilon
    assert loss.denominator == 1
    assert 1 < worst <= BASE ** -int(loss)
    assert worst**2 > BASE ** -int(loss)  # half the claim would be wrong


def test_quantile_answers_for_an_empty_table(monkeypatch):
    asked = captured(monkeypatch)
    law = quantile_law(asked, Fraction(1, 2), 4, PrivacyUnit())(())
    assert law == [Fraction(1, 5)] * 5


def test_quantile_without_the_factor_two_breaks_the_claim(monkeypatch):
    """The broken twin: Smith's exponent without the half, under replace-one."""
    relation = NeighboringRelation.REPLACE_ONE
    asked = captured(monkeypatch)
    law = quantile_law(asked, Fraction(1, 2), 4, PrivacyUnit(relation=relation))
    assert worst_ratio(law, relation, [0, 1, 4]) > BASE**-2  # rate 2 ln 2 (bottom 2) times 1 instead of 2
