"""Selections of keys: their thresholds, chances and laws, computed exactly; twins that are a little wrong are caught."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from support.coupling import first_of_each
from support.key_laws import chance_listing, gaussian_listing, laplace_listing, least_delta
from support.views import table

from pandas_dp.core import bounding
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.key_selection import (
    NoisyThreshold,
    OptimalSelection,
    chance_bounds,
    switch,
)
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import GaussianLoss, LaplaceLoss, NeighboringRelation, PrivacyUnit, PureLoss, Sensitivity
from pandas_dp.core.randomness import Bits, Lazy
from pandas_dp.core.samplers.scalar import exp_bounds
from pandas_dp.core.statistics.counts import WHOLE, KeyCounts, KeySensitivity

AR, RO = NeighboringRelation.ADD_REMOVE, NeighboringRelation.REPLACE_ONE
UNITS = [(1, 1, 1), (2, 2, 1), (2, 1, 2), (2, 2, 2), (3, 2, 2)]  # k, m, c
PRICES = [(Fraction(1), Fraction(1, 20)), (Fraction(1, 2), Fraction(1, 5)), (Fraction(3), Fraction(1, 1000))]
ROUNDING = 1e-12


def unit_of(bounds, relation):
    k, m, c = bounds
    return PrivacyUnit(None if bounds == (1, 1, 1) else "u", k, m, c, relation)


def laplace(statistic, unit, epsilon, delta):
    sensitivity = statistic.sensitivity(unit)
    return NoisyThreshold.calibrate(DiscreteLaplace.calibrate(epsilon, sensitivity), sensitivity, delta)


def contents(rows, keys, most):
    """All ways in which the rows of a unit can lie in keys that only it has: rows in each, largest first."""
    if keys == 0:
        return [()]
    found = [()]
    for first in range(1, min(rows, most) + 1):
        found += [(first, *rest) for rest in contents(rows - first, keys - 1, first)]
    return found


# ------------------------------------------------------------------------------------------------ a key of one unit
@pytest.mark.one_in(6)
@pytest.mark.parametrize("delta", [Fraction(1, 5), Fraction(1, 10**6), Fraction(7, 10**30), Fraction(1, 10**100)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(40)])
@pytest.mark.parametrize("bounds", [(1, 1, 1), (10, 4, 3), (10, 4, 10), (9, 9, 9)])
@pytest.mark.parametrize("relation", [AR, RO])
def test_keys_of_one_unit_are_listed_with_probability_at_most_delta(relation, bounds, epsilon, delta):
    """In decimals of 150 digits, whatever keys its rows lie in; with a threshold two lower (one, for one row) it is not."""
    sensitivity = KeyCounts(("g",)).sensitivity(unit_of(bounds, relation))
    selection = laplace(KeyCounts(("g",)), unit_of(bounds, relation), epsilon, delta)
    with localcontext() as context:
        context.prec = 150
        p = (-Decimal(epsilon.numerator) / (Decimal(epsilon.denominator) * sensitivity.l1)).exp()
        threshold, bound = selection.threshold, Decimal(delta.numerator) / delta.denominator

        def chance(threshold):
            return max(sum(p ** (threshold - v) / (1 + p) for v in rows) for rows in contents(*bounds))

        assert threshold >= sensitivity.linf
        assert chance(threshold) <= bound
        lower = threshold - (1 if bounds == (1, 1, 1) else 2)
        assert lower < sensitivity.linf or chance(lower) > bound
    assert selection.loss(sensitivity).delta == delta


@pytest.mark.one_in(10)
@pytest.mark.parametrize("delta", [Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**15)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("bounds", [(1, 1, 1), (10, 4, 3), (9, 9, 9)])
@pytest.mark.parametrize("relation", [AR, RO])
def test_gaussian_noise_lists_them_with_probability_at_most_delta(relation, bounds, epsilon, delta):
    """The law of the noise is summed over its lattice; the bound that decides is at most a sixth of a deviation too careful."""
    sensitivity = KeyCounts(("g",)).sensitivity(unit_of(bounds, relation))
    noise = DiscreteGaussian.calibrate(sensitivity, epsilon, delta, None)
    selection = NoisyThreshold.calibrate(noise, sensitivity, delta)
    variance = float(noise.variance)
    lattice = np.arange(-int(12 * math.sqrt(variance)), int(12 * math.sqrt(variance)))
    weights = np.exp(-(lattice.astype(float) ** 2) / (2 * variance))

    above = np.concatenate([np.cumsum(weights[::-1])[::-1] / weights.sum(), [0.0]])  # P(Z >= lattice[i])

    def reached(threshold, v):
        """P((v << refine) + Z, rounded, is at least the threshold)."""
        least = ((threshold - v) << noise.refine) - (1 << noise.refine >> 1)
        return above[min(max(least - int(lattice[0]), 0), lattice.size)]

    def chance(threshold):
        different = {v: reached(threshold, v) for v in range(1, sensitivity.linf + 1)}
        return max(sum(different[v] for v in rows) for rows in contents(*bounds))

    assert chance(selection.threshold) <= float(delta) * (1 + 1e-9)
    lower = selection.threshold - 2 - math.ceil(noise.standard_deviation / 6)
    assert lower < sensitivity.linf or chance(lower) > float(delta)
    assert selection.loss(sensitivity).delta == delta


def test_a_threshold_that_is_too_low_is_refused():
    unit = unit_of((10, 4, 3), RO)
    sensitivity = KeyCounts(("g",)).sensitivity(unit)
    right = laplace(KeyCounts(("g",)), unit, Fraction(1), Fraction(1, 1000))
    low = NoisyThreshold(right.noise, right.threshold - 1, right.delta)
    with pytest.raises(TypeError, match="too low"):
        low.loss(sensitivity)
    with pytest.raises(TypeError, match="counts by key"):
        right.loss(Sensitivity(1, 1, 1))
    with pytest.raises(TypeError, match="number of units"):
        OptimalSelection(Fraction(1), Fraction(1, 10)).loss(sensitivity)


def test_losses():
    sensitivity = KeyCounts(("g",)).sensitivity(unit_of((10, 4, 3), RO))
    heavy = ((3, 3), (1, 1))  # three keys of three rows and one of one, whichever end of the line is looked at
    assert sensitivity == KeySensitivity(20, 2 * (9 * 3 + 1), 3, touched=8, contents=(heavy,))
    loss = laplace(KeyCounts(("g",)), unit_of((10, 4, 3), RO), Fraction(1, 2), Fraction(1, 100)).loss(sensitivity)
    assert loss.parts == ((LaplaceLoss(Fraction(1, 2), steps=20), 1),)
    noise = DiscreteGaussian.calibrate(sensitivity, Fraction(1), Fraction(1, 1000), None)
    loss = NoisyThreshold.calibrate(noise, sensitivity, Fraction(1, 50)).loss(sensitivity)
    assert isinstance(loss.parts[0][0], GaussianLoss)
    assert loss.delta == Fraction(1, 50)
    units = KeyCounts(("g",), distinct=True).sensitivity(unit_of((10, 4, 3), RO))
    assert units == KeySensitivity(8, 8, 1, touched=8, contents=(((4, 1),),))
    loss = OptimalSelection(Fraction(1, 16), Fraction(1, 800)).loss(units)
    assert loss.parts == ((PureLoss(Fraction(1, 16)), 8),)
    assert (loss.epsilon, loss.delta) == (Fraction(1, 2), Fraction(1, 100))


# ------------------------------------------------------------------------------------------- all neighbouring tables
ROWS = [*combinations_with_replacement("abcd", 2), ("a",), ("b",), ()]
HALVES = {"a": ("p", "p"), "b": ("p", "q"), "c": ("q", "p"), "d": ("q", "q"), None: ("p", None)}
HEAVY = [("a", "a", "b"), ("c", "c", "d"), ("a", "c", "c"), ("a", "a", "a")]


def tables(relation, bounds):
    """Rows of (unit, key, value) of neighbours: no or two other units, and one unit that comes, goes or changes."""
    contents = ROWS + (HEAVY if bounds[0] > 2 else [])
    if bounds == (1, 1, 1):
        contents = [("a",), ("b",), ("c",), (None,)]
    for others in [(), (("a",), ("a", "b")), (("a", "b"), ("a", "b"))]:
        ahead = [(i, key, 0) for i, rows in enumerate(others) for key in rows]
        for one, other in product(contents, contents if relation is RO else [()]):
            yield tuple([*ahead, *((9, key, 0) for key in rows)] for rows in (one, other))


def counts_of(statistic, rows, unit):
    """Counts by key; of two columns each key is a combination, and any two keys share a cell or none."""
    if len(statistic.columns) > 1:
        rows = [(owner, *HALVES[key]) for owner, key, _ in rows]
    counts, names = statistic.compute(table(rows or [(0, None, 0)]), unit).open()
    assert all(n > 0 for n in counts)
    return dict(zip(map(tuple, names(np.arange(len(counts)))), counts, strict=True))


def worst(statistic, bounds, relation, epsilon, law):
    """Largest delta over all neighbouring tables, at an epsilon."""
    unit = unit_of(bounds, relation)
    found = 0.0
    for pair in tables(relation, bounds):
        one, two = (counts_of(statistic, rows, unit) for rows in pair)
        keys = sorted({*one, *two})
        listed = [[counts.get(key, 0) for key in keys] for counts in (one, two)]
        found = max(found, least_delta(*listed, law, float(epsilon)))
    return found


@pytest.fixture
def coupled(monkeypatch):
    monkeypatch.setattr(bounding, "keep_at_most", first_of_each)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("columns", [("g",), ("g", "x")], ids=len)
@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("bounds", UNITS)
@pytest.mark.parametrize("relation", [AR, RO])
def test_keys_and_counts_keep_epsilon_and_delta(relation, bounds, price, columns, coupled):
    selection = laplace(KeyCounts(columns), unit_of(bounds, relation), *price)
    law = laplace_listing(float(selection.noise.scale), selection.threshold)
    assert worst(KeyCounts(columns), bounds, relation, price[0], law) <= price[1] + ROUNDING


@pytest.mark.one_in(12)
@pytest.mark.parametrize("columns", [("g",), ("x", "g")], ids=len)
@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("bounds", UNITS)
@pytest.mark.parametrize("relation", [AR, RO])
def test_keys_alone_keep_epsilon_and_delta(relation, bounds, price, columns, coupled):
    statistic = KeyCounts(columns, distinct=True)
    touched = statistic.sensitivity(unit_of(bounds, relation)).touched
    law = chance_listing(chances(price[0] / touched, price[1] / touched))
    assert worst(statistic, bounds, relation, price[0], law) <= price[1] + ROUNDING


def chances(epsilon, delta):
    return lambda n: chance_bounds(epsilon, delta, n, 60)[1] / 2**60 if n else 0.0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relation", [AR, RO])
def test_twins_of_the_threshold_are_caught(relation, coupled):
    """One too low; for rows but calibrated for units; calibrated for one key, or for one side of a replacement."""
    epsilon, delta = PRICES[0]
    for bounds in [(1, 1, 1), (2, 1, 2), (2, 2, 1)]:
        right = laplace(KeyCounts(("g",)), unit_of(bounds, relation), epsilon, delta)
        law = laplace_listing(float(right.noise.scale), right.threshold - 1)
        assert worst(KeyCounts(("g",)), bounds, relation, epsilon, law) > delta + ROUNDING
    units = laplace(KeyCounts(("g",), distinct=True), unit_of((2, 1, 2), relation), epsilon, delta)
    law = laplace_listing(float(units.noise.scale), units.threshold)
    assert worst(KeyCounts(("g",)), (2, 1, 2), relation, epsilon, law) > delta + ROUNDING
    one = laplace(KeyCounts(("g",)), unit_of((1, 1, 1), relation), epsilon, delta)
    law = laplace_listing(float(one.noise.scale), one.threshold)
    assert worst(KeyCounts(("g",)), (2, 2, 1), relation, epsilon, law) > delta + ROUNDING
    if relation is RO:
        small = laplace(KeyCounts(("g",)), unit_of((1, 1, 1), AR), Fraction(1), Fraction(1, 1000))
        law = laplace_listing(float(small.noise.scale), small.threshold)
        assert least_delta([20, 20], [21, 19], law, 1.0) > 1 / 1000 + ROUNDING  # a row moves from one key to another


# ---------------------------------------------------------------------------------------------- keys that share a unit
SHARES = KeyCounts(("g",), distinct=True, shared=True)
MANY = PrivacyUnit("u", 40, 40, 1)


def gaussian(statistic, unit, epsilon, delta):
    sensitivity = statistic.sensitivity(unit)
    noise = DiscreteGaussian.calibrate(sensitivity, epsilon, delta / 2, None)
    return NoisyThreshold.calibrate(noise, sensitivity, delta / 2)


def normal_listing(selection):
    return gaussian_listing(selection.noise.standard_deviation, selection.threshold)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("columns", [("g",), ("x", "g")], ids=len)
@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("bounds", UNITS)
@pytest.mark.parametrize("relation", [AR, RO])
def test_keys_and_shares_keep_epsilon_and_delta(relation, bounds, price, columns, coupled):
    """Noisy counts are told in steps of a quarter of a deviation; that is all the sum over outcomes leaves out."""
    statistic = KeyCounts(columns, distinct=True, shared=True)
    law = normal_listing(gaussian(statistic, unit_of(bounds, relation), *price))
    assert worst(statistic, bounds, relation, price[0], law) <= price[1] + ROUNDING


@pytest.mark.parametrize("held", range(1, 41))
def test_however_many_keys_a_unit_has_any_of_them_is_listed_with_probability_at_most_delta(held):
    """Of 40 that may count it nearly is; not by the twin that knows one key alone."""
    delta = Fraction(1, 20)
    right = gaussian(SHARES, MANY, Fraction(1), delta)
    one = gaussian(SHARES, PrivacyUnit("u"), Fraction(1), delta)

    def spent(selection):
        (chance,) = {normal_listing(selection)(0, n)[1][1:].sum() for n in shares_of_one(held)}
        return held * chance

    assert spent(right) <= delta / 2
    if held == 40:
        assert spent(right) > 0.85 * delta / 2
    if held > 1:
        assert spent(one) > delta / 2


def shares_of_one(held):
    counts = counts_of(SHARES, [(9, f"k{i:02d}", 0) for i in range(held)], MANY)
    return [*counts.values()]


@pytest.mark.parametrize("relation", [AR, RO])
def test_a_unit_that_counts_whole_in_each_of_its_keys_is_caught(relation):
    """It has two, which others hold as well, and leaves two others for them under replace_one."""
    epsilon, delta = PRICES[0]
    selection = gaussian(SHARES, unit_of((2, 2, 1), relation), epsilon, delta)
    law, n = normal_listing(selection), selection.threshold + 3 * WHOLE

    def spent(share):
        one, two = [n + share, n + share], [n, n]
        return least_delta(one + two, two + one, law, 1.0) if relation is RO else least_delta(one, two, law, 1.0)

    assert 0.3 * delta < spent(math.isqrt(WHOLE**2 // 2)) <= delta
    assert spent(WHOLE) > delta


# --------------------------------------------------------------------------------------------------- the optimal rule
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (Fraction(1), Fraction(1, 10**6)),
        (Fraction(1, 7), Fraction(3, 1000)),
        (Fraction(4), Fraction(1, 5)),
        (Fraction(1, 40), Fraction(1, 10**12)),
        (Fraction(1), Fraction(9, 10)),
        (Fraction(90), Fraction(1, 10**20)),
    ],
)
def test_chances_are_the_largest_that_epsilon_and_delta_allow(epsilon, delta):
    """Both constraints hold for all n up to where the chance is 1, one of them with equality: to 180 bits."""
    bits, last, n = 200, Fraction(0), 0
    factor = Fraction(exp_bounds(epsilon.numerator, epsilon.denominator, bits + 400)[0], 1 << bits + 400)
    small = Fraction(1, 1 << 180)
    while last < 1:
        n += 1
        low, high = (Fraction(end, 1 << bits) for end in chance_bounds(epsilon, delta, n, bits))
        assert high - low <= Fraction(4, 1 << bits)
        best = min(factor * last + delta, 1 - (1 - last - delta) / factor, Fraction(1))
        assert abs(low - best) < small * factor
        last = min(low + Fraction(4, 1 << bits), Fraction(1))
    assert chance_bounds(epsilon, delta, n + 1, bits)[1] == 1 << bits
    assert n <= 2 * switch(epsilon, delta) + 1
    assert chance_bounds(epsilon, delta, 1, bits) == (int(delta * (1 << bits)), -int(-delta * (1 << bits) // 1))


def test_chances_close_in_and_rise():
    epsilon, delta = Fraction(1, 3), Fraction(1, 10**9)
    known = [[Fraction(end, 1 << bits) for end in chance_bounds(epsilon, delta, 60, bits)] for bits in (8, 64, 300)]
    for wide, narrow in pairwise(known):
        assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]
    ends = [chance_bounds(epsilon, delta, n, 64) for n in range(1, 200)]
    assert all(a[1] <= b[0] + 2 for a, b in pairwise(ends))


def test_chances_at_the_smallest_and_the_largest_prices():
    assert chance_bounds(Fraction(1, 10**18), Fraction(1, 10**18), 3, 200)[0] > 0
    assert chance_bounds(Fraction(10**6), Fraction(1, 10**100), 2, 64)[0] == (1 << 64) - 1
    assert switch(Fraction(1, 10**9), Fraction(1, 10**12)) > 10**9


def test_a_twin_of_the_rule_is_caught(coupled):
    """It lists a key of n units as the rule lists one of n + 1; and one that gives every key of a unit all of delta."""
    epsilon, delta = PRICES[0]
    right = chances(epsilon, delta)
    law = chance_listing(lambda n: right(n + 1) if n else 0.0)
    statistic = KeyCounts(("g",), distinct=True)
    assert worst(statistic, (1, 1, 1), AR, epsilon, law) > delta + ROUNDING
    assert worst(statistic, (2, 2, 1), AR, epsilon, chance_listing(right)) > delta + ROUNDING
    several = KeyCounts(("g", "x"), distinct=True)
    assert worst(several, (2, 2, 1), AR, epsilon, chance_listing(right)) > delta + ROUNDING


def test_a_unit_that_is_not_bounded_in_combinations_is_caught(coupled, monkeypatch):
    """The twin bounds the keys of the first column, and lets a unit into every combination with them."""
    epsilon, delta = PRICES[0]
    statistic = KeyCounts(("g", "x"), distinct=True)
    law = chance_listing(chances(epsilon, delta))
    pair = ([], [(9, "a", 0), (9, "b", 0)])  # ("p", "p") and ("p", "q")
    unit = PrivacyUnit("u", 2, 1, 2)

    def spent():
        one, two = (counts_of(statistic, rows, unit) for rows in pair)
        keys = sorted({*one, *two})
        return least_delta(*([counts.get(key, 0) for key in keys] for counts in (one, two)), law, float(epsilon))

    assert spent() <= delta + ROUNDING
    monkeypatch.setattr(bounding, "keep_at_most", lambda owner, owners, most: np.arange(owner.size))
    assert spent() > delta + ROUNDING


# -------------------------------------------------------------------------------------------------------------- draws
def named(counts):
    """Keys k0, k1, ... of these counts."""
    return Exact((list(counts), lambda places: [[f"k{place:06d}"] for place in places.tolist()]))


def agrees(hits: int, n: int, p: float) -> bool:
    """Whether a binomial draw is within 6 deviations: it is not with probability below 1e-7 (n p (1 - p) > 100)."""
    assert n * p * (1 - p) > 100
    return abs(hits - n * p) <= 6 * math.sqrt(n * p * (1 - p))


def test_draws_follow_the_law():
    n, epsilon, delta = 20_000, Fraction(1), Fraction(1, 20)
    selection = laplace(KeyCounts(("g",)), unit_of((1, 1, 1), AR), epsilon, delta)
    law, _ = laplace_listing(1.0, selection.threshold)(3, selection.threshold + 3)
    listing = selection.draw(named([3] * n))
    assert all(count >= selection.threshold for _, count in listing)
    assert agrees(n - len(listing), n, law[0])
    for place, count in enumerate(range(selection.threshold, selection.threshold + 3), start=1):
        assert agrees(sum(noisy == count for _, noisy in listing), n, law[place])
    low = NoisyThreshold(selection.noise, selection.threshold - 1, delta)
    assert not agrees(n - len(low.draw(named([3] * n))), n, law[0])


def test_draws_of_the_rule_follow_its_chances():
    n, rule = 20_000, OptimalSelection(Fraction(1), Fraction(1, 20))
    for units in range(1, 5):
        p = chances(rule.epsilon, rule.delta)(units)
        assert agrees(len(rule.draw(named([units] * n))), n, p)
        assert not agrees(len(rule.draw(named([units + 1] * n))), n, p)
    assert len(rule.draw(named([50] * n))) == n
    assert rule.draw(named([])) == []


def test_more_bits_decide_where_a_word_does_not():
    """Words that stand exactly where the chance lies: the next words of the same number decide."""
    rule = OptimalSelection(Fraction(1), Fraction(1, 20))
    low, high = chance_bounds(rule.epsilon, rule.delta, 3, 64)
    exact = chance_bounds(rule.epsilon, rule.delta, 3, 256)
    edge = exact[0] >> 192  # the first 64 bits of the chance
    rest = (exact[0] >> 128) & ((1 << 64) - 1)

    def words(*given):
        queue = [word.to_bytes(8, "little") for word in given]
        return lambda count: b"".join(queue.pop(0) if queue else bytes(8) for _ in range(count // 8))

    def below(then):
        further = Bits(lambda count: then.to_bytes(8, "little") * (count // 8))
        return rule._below(Lazy(further, edge, 64), 3)

    assert low <= edge <= high
    assert below(rest - 2)
    assert not below(rest + 2)
    assert rule.draw(named([3]), words(low - 1)) == [["k000000"]]
    assert rule.draw(named([3]), words(high)) == []


def test_what_is_listed_is_in_the_order_of_keys():
    keys = ["b", 10, "a", 2, "é", "Z"]
    exact = Exact(([10**6] * 6, lambda places: [[keys[place]] for place in places.tolist()]))
    sensitivity = KeySensitivity(1, 1, 1)
    threshold = NoisyThreshold.calibrate(DiscreteLaplace(Fraction(1)), sensitivity, Fraction(1, 10**6))
    for selection in (threshold, OptimalSelection(Fraction(1), Fraction(1, 10**6))):
        assert [entry[0] for entry in selection.draw(exact)] == [2, 10, "Z", "a", "b", "é"]


def test_combinations_are_in_the_order_of_their_cells():
    keys = [["b", 1], [2, "a"], ["b", "A"], [10, "Z"], ["b", -1], [2, 7], ["a", "z"]]
    exact = Exact(([10**6] * 7, lambda places: [keys[place] for place in places.tolist()]))
    threshold = NoisyThreshold.calibrate(DiscreteLaplace(Fraction(1)), KeySensitivity(1, 1, 1), Fraction(1, 10**6))
    for selection in (threshold, OptimalSelection(Fraction(1), Fraction(1, 10**6))):
        found = [entry[:2] for entry in selection.draw(exact)]
        assert found == [[2, 7], [2, "a"], [10, "Z"], ["a", "z"], ["b", -1], ["b", 1], ["b", "A"]]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3), Fraction(12)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**5)])
@pytest.mark.parametrize(("rows", "keys"), [(2, 2), (3, 2), (3, 3), (5, 3), (5, 4), (6, 4), (7, 4)])
def test_with_two_rows_a_key_the_threshold_is_the_least_that_every_layout_allows(rows, keys, epsilon, delta):
    unit = PrivacyUnit("uid", rows, keys, 2)
    sensitivity = KeyCounts("x").sensitivity(unit)
    noise = DiscreteLaplace.calibrate(epsilon, sensitivity)
    threshold = NoisyThreshold.calibrate(noise, sensitivity, delta).threshold
    layouts = [n for n in product((0, 1, 2), repeat=keys) if sum(n) <= rows]
    p = math.exp(-1 / float(noise.scale))

    def worst(least: int) -> float:
        return max(sum(p ** (least - n) / (1 + p) for n in layout if n) for layout in layouts)

    assert worst(threshold) <= float(delta) * (1 + 1e-9)
    assert threshold == 2 or worst(threshold - 1) > float(delta) * (1 - 1e-9)
