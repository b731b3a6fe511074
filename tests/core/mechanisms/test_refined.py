"""A draw that refines a public one: its kernel as fractions, twins that tell too much, and the error of one draw."""

from __future__ import annotations

import math
from fractions import Fraction as F
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms import refined
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.refined import RefinedLaplace
from pandas_dp.core.privacy import Sensitivity
from pandas_dp.core.randomness import Bits, random_bytes
from pandas_dp.core.samplers.scalar import draw_geometric
from tests.core.samplers.laws import FALSE_ALARM, chi_squared

FAR = 40  # values that are looked at on each side
LEVELS = [(F(3, 4), F(1, 2)), (F(9, 10), F(1, 5)), (F(2, 3), F(3, 5))]


@cache
def laplace(p: F, z: int) -> F:
    """P(Z = z) of discrete Laplace noise with p = exp(-1/scale)."""
    return (1 - p) / (1 + p) * p ** abs(z)


@cache
def between(p1: F, p2: F, w: int) -> F:
    """P(W = w) of what a draw at p2 lacks to one at p1."""
    none = p2 / p1 * ((1 - p1) / (1 - p2)) ** 2
    return (1 - none) * laplace(p1, w) + (none if w == 0 else 0)


@cache
def kernel(p1: F, p2: F, k: int, z: int) -> F:
    """P(Z2 = k | Z1 = z), as the docstring says it."""
    k, z = (k, z) if z >= 0 else (-k, -z)
    r, q = p2 / p1, p1 * p2
    c = (1 - r) * (1 - q) / (1 - p2**2)
    if k < 0:
        return c * q**-k
    if k > z:
        return c * r**z * q ** (k - z)
    return c * r**k + (r ** (z + 1) * (1 - p1**2) / (1 - p2**2) if k == z else 0)


@pytest.mark.parametrize(("p1", "p2"), LEVELS)
def test_the_kernel_is_that_of_bayes(p1, p2):
    for z, k in product(range(-FAR, FAR + 1), repeat=2):
        assert laplace(p1, z) * kernel(p1, p2, k, z) == laplace(p2, k) * between(p1, p2, z - k)


LAST = 9  # of geometric draws that are gone through: it stands for all from there on
NEAR = 4  # values on each side that a draw of LAST does not reach
EVERY = list(product(range(3), range(LAST + 1), range(LAST + 1)))  # place among the cuts, and both geometric draws


class Given:
    """A table, and geometric draws, that give what is wanted, one after the other."""

    def __init__(self, wanted: list[tuple[int, int, int]]) -> None:
        self.places, *self.draws = (list(each) for each in zip(*wanted, strict=True))

    def pick(self, bits):
        return self.places.pop(0)

    def draw(self, n, fill):
        return np.array(self.places)

    def scalar(self, one, rate, bits):
        self.draws.reverse()  # in turns
        return self.draws[-1].pop(0)

    def vector(self, one, rate, n, fill):
        return np.array(self.draws.pop(0))


def enumerated(p1: F, p2: F, z: int, draw) -> dict[int, F]:
    """The law of what `draw` makes of z, from all values of its three independent draws."""
    s, q, t, r = p1**2, p1 * p2, p2**2, p2 / p1
    places = [
        (1 - s) / (1 - t),
        (s - q) / (1 - t),
        (q - t) / (1 - t),
    ]  # by the cuts 2/worse, 1/worse + 1/better, 2/better

    def geometric(g: F, k: int) -> F:
        return g**k if k == LAST else (1 - g) * g**k

    law: dict[int, F] = {}
    for (place, up, down), k in zip(EVERY, draw(z, EVERY), strict=True):
        law[k] = law.get(k, F(0)) + places[place] * geometric(r, up) * geometric(q, down)
    return law


def drawing(monkeypatch, few: bool, mechanism=RefinedLaplace):
    """What a mechanism draws of an exact 7 and its base, from given draws of its samplers."""

    def draw(z: int, wanted: list[tuple[int, int, int]]) -> list[int]:
        given = Given(wanted)
        monkeypatch.setattr(refined, "cut_table", lambda cuts, one: given)
        monkeypatch.setattr(refined, "draw_geometric", given.scalar)
        monkeypatch.setattr(refined, "geometric_vector", given.vector)
        monkeypatch.setattr(refined, "FEWEST_FOR_TABLES", 10**6 if few else 0)
        n = len(wanted)
        return [y - 7 for y in mechanism(F(2), F(1), (7 + z,) * n).draw(Exact([7] * n), random_bytes)]

    return draw


@pytest.mark.parametrize("few", [pytest.param(True, id="few"), pytest.param(False, id="many")])
def test_what_is_drawn_has_the_kernel_by_enumeration(few, monkeypatch):
    draw = drawing(monkeypatch, few)
    for (p1, p2), z in product(LEVELS, range(-NEAR, NEAR + 1)):
        law = enumerated(p1, p2, z, draw)
        assert sum(law.values()) == 1
        for k in range(-NEAR - 1, NEAR + 2):
            assert law.get(k, 0) == kernel(p1, p2, k, z), (z, k)


def test_the_twins_of_the_sign_tell_all_there_is(monkeypatch):
    """At z = 0: one stays where it is, the other goes to one side only; then the ratio of neighbours is infinite."""
    for twin, k in ((SignOfZ, 1), (CopiedSign, -1)):
        law = enumerated(
            *LEVELS[0], 0, lambda z, wanted, twin=twin: twin.signed(z, drawing(monkeypatch, True)(z, wanted))
        )
        assert law.get(k, 0) == 0 < kernel(*LEVELS[0], k, 0)
    with_sign = enumerated(*LEVELS[0], 5, lambda z, wanted: CopiedSign.signed(z, drawing(monkeypatch, True)(z, wanted)))
    assert with_sign.get(-3, 0) == 0 < kernel(*LEVELS[0], -3, 5)


def test_the_cuts_are_those_of_the_proof(monkeypatch):
    seen = []
    monkeypatch.setattr(refined, "cut_table", lambda cuts, one: seen.append([F(cut, one) for cut in cuts]) or 1 / 0)
    for worse, better in ((F(2), F(1)), (F(7, 3), F(2, 9)), (F(10**30), F(10**29))):
        with pytest.raises(ZeroDivisionError):
            RefinedLaplace(worse, better, (0,)).draw(Exact([0]), random_bytes)
        assert seen.pop() == [2 / worse, 1 / worse + 1 / better, 2 / better]


@pytest.mark.parametrize(("p1", "p2"), LEVELS)
def test_a_worse_draw_is_a_better_one_plus_noise(p1, p2):
    for z in range(-5, 6):
        mass = sum((laplace(p2, k) * between(p1, p2, z - k) for k in range(-FAR, FAR + 1)), F(0))
        assert 0 <= laplace(p1, z) - mass < 2 * p1**FAR


def ratio(p1: F, p2: F, chain: list[F], joint) -> F:
    """The largest ratio of a joint law for x = 0 and x = 1."""
    values = range(-6, 8)
    return max(joint(out, 0) / joint(out, 1) for out in product(values, repeat=len(chain)) if joint(out, 1))


def test_a_pair_is_worth_its_second_level_and_the_twins_are_not():
    p1, p2, p3 = F(3, 4), F(1, 2), F(1, 5)

    def pair(out, x):
        return laplace(p1, out[0] - x) * kernel(p1, p2, out[1] - x, out[0] - x)

    def anew(out, x):
        return laplace(p1, out[0] - x) * laplace(p2, out[1] - x)

    def two_children(out, x):
        return pair(out[:2], x) * kernel(p1, p2, out[2] - x, out[0] - x)

    def three(out, x):
        return pair(out[:2], x) * kernel(p2, p3, out[2] - x, out[1] - x)

    def third_from_the_first(out, x):
        return pair(out[:2], x) * kernel(p1, p3, out[2] - x, out[0] - x)

    assert ratio(p1, p2, [p1, p2], pair) == 1 / p2
    assert ratio(p1, p2, [p1, p2, p3], three) == 1 / p3
    assert ratio(p1, p2, [p1, p2], anew) == F(8, 3) > 1 / p2
    assert ratio(p1, p2, [p1, p2, p2], two_children) == F(16, 3) > 1 / p2
    assert ratio(p1, p2, [p1, p2, p3], third_from_the_first) == F(40, 3) > 1 / p3
    step = max(kernel(p1, p2, k, z) / kernel(p1, p2, k - 1, z - 1) for k, z in product(range(-6, 8), repeat=2))
    assert step == 1 / (p1 * p2)  # the step alone is not worth the difference, p1 / p2


class SignOfZ:
    """A twin that multiplies by the sign of z, which is 0 for z = 0."""

    @staticmethod
    def signed(z: int, drawn: list[int]) -> list[int]:
        """What it makes of draws that mirror for z < 0."""
        return [0 if z == 0 else k for k in drawn]


class CopiedSign:
    """A twin that gives the answer the sign of z."""

    @staticmethod
    def signed(z: int, drawn: list[int]) -> list[int]:
        """See `SignOfZ`."""
        return [abs(k) if z >= 0 else -abs(k) for k in drawn]


N = 8_000


@pytest.mark.parametrize("z", [0, 3, -3])
def test_draws_have_the_law_of_the_kernel(z):
    """False alarms: 1e-8 each. The twins differ in a tenth of all draws, so that 8,000 refuse them but for 1e-9."""
    worse, better = F(2), F(1)
    p1, p2 = (F(math.exp(-1 / scale)).limit_denominator(10**12) for scale in (worse, better))
    law = {k: float(kernel(p1, p2, k, z)) for k in range(-30, 31)}
    mechanism, exact = RefinedLaplace(worse, better, (z,) * N), Exact([0] * N)
    few = RefinedLaplace(worse, better, (z,) * 20)
    alone = [k for _ in range(N // 20) for k in few.draw(Exact([0] * 20), random_bytes)]
    for drawn in (mechanism.draw(exact, random_bytes), alone):
        assert chi_squared(np.array(drawn), law) > FALSE_ALARM
        for twin in (CopiedSign, SignOfZ) if z == 0 else (CopiedSign,):
            assert chi_squared(np.array(twin.signed(z, drawn)), law) < FALSE_ALARM


def test_a_ladder_ends_at_the_error_of_one_draw():
    """Prices 0.25, 0.5, 0.75, 1: variances as of single draws, within 7 deviations; false alarms below 1e-9."""
    n, prices = 30_000, [F(1, 4), F(1, 2), F(3, 4), F(1)]
    mechanisms = [DiscreteLaplace.calibrate(price, Sensitivity(1, 1, 1)) for price in prices]
    levels = [mechanisms[0].draw(Exact([7] * n), random_bytes)]
    for worse, better in pairwise(mechanisms):
        levels.append(RefinedLaplace(worse.scale, better.scale, tuple(levels[-1])).draw(Exact([7] * n), random_bytes))
    charged = [RefinedLaplace(a.scale, b.scale, ()).loss(Sensitivity(1, 1, 1)).epsilon for a, b in pairwise(mechanisms)]
    assert charged == [F(1, 4)] * 3
    for mechanism, level in zip(mechanisms, levels, strict=True):
        noise = np.array(level) - 7
        wanted = mechanism.standard_deviation**2
        kurtosis = float(np.mean(noise.astype(float) ** 4)) / wanted**2
        deviation = wanted * math.sqrt((kurtosis - 1) / n)
        assert abs(noise.var() - wanted) < 7 * deviation
    assert mechanisms[-1].standard_deviation == pytest.approx(
        DiscreteLaplace.calibrate(F(1), Sensitivity(1, 1, 1)).standard_deviation
    )


def test_scales_of_any_size_are_drawn():
    for worse, better in ((F(10**30), F(10**29)), (F(10**9) + F(1, 7), F(10**9)), (F(1, 10), F(1, 1000))):
        base = DiscreteLaplace(worse).draw(Exact([10**40, -5]), random_bytes)
        made = RefinedLaplace(worse, better, tuple(base)).draw(Exact([10**40, -5]), random_bytes)
        assert abs(made[0] - 10**40) <= 60 * better + 1
        assert abs(made[1] + 5) <= 60 * better + 1  # exp(-60) for each


def test_a_geometric_draw_is_what_the_proof_takes_it_for():
    bits = Bits(random_bytes, size=512)
    drawn = np.array([draw_geometric(2, 3, bits) for _ in range(N)])  # P(G >= j) = exp(-3 j / 2)
    g = math.exp(-1.5)
    assert chi_squared(drawn, {j: (1 - g) * g**j for j in range(30)}) > FALSE_ALARM


def test_it_shows_nothing_of_what_it_draws_from_and_takes_vectors_of_one_length():
    mechanism = RefinedLaplace(F(2), F(1), (5, 6))
    assert "5" not in repr(mechanism)
    with pytest.raises(ValueError, match="longer"):
        mechanism.draw(Exact([1]), random_bytes)


def test_no_adaptive_strategy_beats_what_the_pure_filter_charges():
    """Two questions, each in three levels, in all orders, whatever was answered: the worst transcript of each is the books.

    A strategy chooses by the answers so far what to ask next, so that its worst transcript is one of these. Twins that refine
    the base twice, or pay the difference for a new draw, are beaten by some order.
    """
    prices = [F(1, 4), F(1, 2), F(1)]
    powers = [F(math.exp(-price)).limit_denominator(10**9) for price in prices]
    rule, values = filter_for(Budget.of(10, 0, None, "auto")), range(-4, 6)
    charges = [DiscreteLaplace(1 / prices[0]).loss(Sensitivity(1, 1, 1))]
    charges += [RefinedLaplace(1 / a, 1 / b, ()).loss(Sensitivity(1, 1, 1)) for a, b in pairwise(prices)]

    def levels(p: list[F], out: tuple[int, ...], x: int, twin: str) -> float:
        """The density of a chain's first answers, of the exact x."""
        found = laplace(p[0], out[0] - x)
        for place in range(1, len(out)):
            if twin == "anew":
                found *= laplace(p[place], out[place] - x)
            else:
                before = 0 if twin == "twice" else place - 1
                found *= kernel(p[before], p[place], out[place] - x, out[before] - x)
        return float(found)

    def worst(length: int, twin: str) -> float:
        some = product(values, repeat=length)
        return max(abs(math.log(levels(powers, out, 0, twin) / levels(powers, out, 1, twin))) for out in some)

    lengths = {twin: [0.0, *(worst(length, twin) for length in (1, 2, 3))] for twin in ("", "anew", "twice")}
    beaten = set()
    for order in (each for size in range(1, 6) for each in product("ab", repeat=size)):
        asked, state = {"a": 0, "b": 0}, State.zero()
        for question in order:
            if asked[question] == 3:
                break
            state = rule.admit(state, rule.charge(charges[asked[question]]))
            asked[question] += 1
            total = float(state.epsilon)
            assert sum(lengths[""][each] for each in asked.values()) == pytest.approx(total, abs=1e-6)
            beaten |= {
                twin for twin in ("anew", "twice") if sum(lengths[twin][n] for n in asked.values()) > total + 0.1
            }
    assert beaten == {"anew", "twice"}
