"""Noise scaled to smooth sensitivity, with the constants at which shift and dilation together cost epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

from pandas_dp.core.measurement import Exact, Noisy
from pandas_dp.core.mechanisms.gaussian import erfcx
from pandas_dp.core.privacy import PrivacyLoss, PureLoss, Sensitivity
from pandas_dp.core.randomness import Bits, Fill, random_bytes
from pandas_dp.core.samplers import smooth as samplers
from pandas_dp.core.samplers.scalar import exp_bounds
from pandas_dp.core.statistics.smooth import LOG_BITS, SmoothSensitivity
from pandas_dp.errors import ArgumentValueError

SCALE_BITS = 96  # scales are multiples of 2**-96 lattice steps, and never below exp(-14)
MOST_EPSILON = 50  # more is charged but buys no less noise
MOST_GAUSSIAN = Fraction(20)  # likewise: beyond it dilation alone could use up a large delta
LEAST_WITH_DELTA = Fraction(1, 10**5)  # below, floats could not tell the two sides of a delta apart
MOST_DELTA = Fraction(1, 100)

DRAWS: dict[str, Callable[[int, int, Bits], int]] = {
    "polynomial_laplace": samplers.draw_polynomial_laplace,
    "polynomial": partial(samplers.draw_polynomial, 4),
    "cauchy": partial(samplers.draw_polynomial, 2),
    "student_t": samplers.draw_student3,
    "laplace": samplers.draw_laplace,
    "gaussian": samplers.draw_gaussian,
}
NEED_DELTA = ("laplace", "gaussian")
ONE = 1 << 2 * SCALE_BITS  # for exponentials
QUARTIC_SLOPE = Fraction("2.2796")  # 3**(3/4), rounded up
SLOPES = {  # of the log-density, rounded up, and how often beta dilation moves it
    "cauchy": (Fraction(1), 1),
    "polynomial": (QUARTIC_SLOPE, 3),
    "student_t": (Fraction("1.1548"), 3),  # 2 / sqrt(3)
}
MOST_IN_SPACE = Fraction(8)  # noise with a delta for several values: more is charged but buys no less noise


@dataclass(frozen=True)
class SmoothNoise:
    """Adds (S / alpha) Z to a value with a beta-smooth sensitivity S, rounded to the lattice of the value.

    Parameters
    ----------
    law : str
        Of Z, a key of `DRAWS`.
    epsilon, delta : Fraction
        For each part; delta is 0 except for the laws of `NEED_DELTA`.
    dimension : int
        How many values move together; each gets a Z of its own.

    Notes
    -----
    For neighbours with values f, f' and scales S, S' hold |f - f'| <= min(S, S') and exp(-beta) <= S / S' <= exp(beta). With
    h the density of Z, r = S / S' and a shift |D| <= alpha min(1, 1/r) the loss at y is ln h(y) - ln r - ln h(r (y + D)).
    `admissible` gives alpha and beta at which it is at most epsilon everywhere, or outside the usual delta, for all r and
    D together. Of values that move together S bounds the sum of their distances, and the losses of all of them add up.
    S enters as exp(L / 2**LOG_BITS) rounded up to a multiple of 2**-SCALE_BITS, which is again a bound,
    and moves the ratio by less than 1 + 2**-70; the `beta` that a `SmoothSensitivity` declares has room for that.
    Z is a real number drawn exactly, so the rounded answer is a function of the ideal mechanism's: it lies on the public
    lattice whatever S is, every point of which has positive probability for all tables, and S shows nowhere.
    Source: Nissim, Raskhodnikova, Smith 2007; Bun, Steinke 2019; polynomial Laplace: Hladik, Tetek 2025.
    """

    law: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    dimension: int = 1

    @property
    def name(self) -> str:
        """In words."""
        law = self.law.replace("_", " ").title().replace("Polynomial", "polynomial").replace(" T", "'s t")
        return f"smooth sensitivity, {law} noise"

    @property
    def alpha(self) -> Fraction:
        """What S is divided by."""
        return admissible(self.law, self.epsilon, self.delta, self.dimension)[0]

    @property
    def beta(self) -> Fraction:
        """How smooth S must be."""
        return admissible(self.law, self.epsilon, self.delta, self.dimension)[1]

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Epsilon and delta in each touched part."""
        if not isinstance(sensitivity, SmoothSensitivity) or sensitivity.beta > self.beta:
            raise TypeError("this noise needs a sensitivity that is at least as smooth as its beta")
        if sensitivity.dimension > self.dimension:
            raise TypeError("this noise is made for fewer values that move together")
        if self.alpha <= 0 or self.beta <= 0:
            raise ArgumentValueError(f"{self.law} noise cannot keep this epsilon and delta; leave noise= out")
        return PrivacyLoss(((PureLoss(self.epsilon), 1),), self.delta).times(sensitivity.touched)

    def draw(self, exact: Exact, fill: Fill = random_bytes) -> Noisy:
        """One lattice offset for each part, beyond the ends too."""
        draw, (above, below), bits = DRAWS[self.law], self.alpha.as_integer_ratio(), Bits(fill)
        return [
            value + draw(exp_bounds(log_scale, 1 << LOG_BITS, SCALE_BITS)[1] * below, above << SCALE_BITS, bits)
            for value, log_scale in exact.open()
        ]


@lru_cache(maxsize=256)
def admissible(law: str, epsilon: Fraction, delta: Fraction, dimension: int = 1) -> tuple[Fraction, Fraction]:
    """Return alpha and beta for a law, both rounded down; a smaller one of either is always safe.

    For one value; for several that move together see `in_space`.

    Notes
    -----
    Each is what the largest loss over all outputs, shifts and dilations allows. The split between shift and dilation is
    free: among rows at equal distances S is about their distance / (e beta), so noise is least where alpha beta is
    largest. Polynomial Laplace has the least whole power at which Z has a variance: the smaller it is, the larger beta.

    * Cauchy: the largest log ratio of two Cauchy densities is the distance d of their (location, scale) in the hyperbolic
      half-plane, cosh d = 1 + (D^2 + (s - s')^2) / (2 s s'), here cosh b + alpha^2 exp(-b) / 2 at a ratio exp(b). These points
      lie on a hypercycle, so d is convex in b, and d <= epsilon at b = 0 and at b = beta is enough.
    * Student's t with 3 degrees: the square of a Cauchy density of scale sqrt(3), so the loss is 2 d + b.
    * Density 1 / (1 + z^4): the log-density has slope at most 3**(3/4), and dilation by exp(beta) moves it by at most
      3 beta: alpha 3**(3/4) + 3 beta <= epsilon.
    * Polynomial Laplace with p = 1 + epsilon / beta = 4: the loss is largest at the kink or in the tail, which gives
      alpha = min(exp(epsilon / p) - 1, exp(beta) (exp((epsilon - beta) / p) - 1)).
    * Laplace with alpha = epsilon / 2: `laplace_delta` of beta, as long as alpha exp(-beta) + beta <= epsilon.
    * Gaussian with beta = epsilon / (4 + 4 ln(2 / delta)): `gaussian_delta` of alpha.
    """
    if (delta > 0) != (law in NEED_DELTA):
        raise ArgumentValueError(f"{law} noise needs {'a' if law in NEED_DELTA else 'no'} delta")
    if delta > 0 and epsilon < LEAST_WITH_DELTA:
        raise ArgumentValueError(f"{law} noise needs an epsilon of 1e-5 at least; leave noise= out")
    e, d = min(epsilon, Fraction(MOST_EPSILON)), min(delta, MOST_DELTA)
    if dimension > 1:
        return in_space(law, e, d, dimension)
    if law == "cauchy":
        beta = e * Fraction(7, 10)
        return hyperbolic_alpha(e, e, beta, 1), beta
    if law == "student_t":
        beta = e * Fraction(23, 100)
        return hyperbolic_alpha(e / 2, (e - beta) / 2, beta, 3), beta
    if law == "polynomial":
        return in_space(law, e, d, 1)
    if law == "polynomial_laplace":
        beta, p = e / samplers.POWER, samplers.POWER + 1
        first, second = _exp(e / p)[0] - ONE, _exp(beta + (e - beta) / p)[0] - _exp(beta)[1]
        return Fraction(min(first, second), ONE), beta
    if law == "laplace":
        return e / 2, _largest(lambda b: laplace_delta(float(e), float(e) / 2, b), float(e) / 2, float(d))
    e = min(e, MOST_GAUSSIAN)
    smooth = float(e) / (4 + 4 * math.log(2 / d))  # any beta will do: alpha is found for this very float
    return _largest(lambda a: gaussian_delta(float(e), a, smooth), float(e), float(d)), Fraction(smooth)


def in_space(law: str, e: Fraction, delta: Fraction, d: int) -> tuple[Fraction, Fraction]:
    """Alpha and beta for d >= 2 values that move together by at most S' in all.

    Notes
    -----
    Shifts sum to alpha at most, while dilation by exp(beta) meets every value.

    * Laws whose log-density has a slope of at most a and moves by at most g beta under dilation: alpha a + d g beta <= epsilon,
      halved between the two. a = 1, g = 1 for Cauchy, 3**(3/4) and 3 for 1 / (1 + z^4), 2 / sqrt(3) and 3 for Student's t.
    * Polynomial Laplace, p = 4: at the ratio exp(b) the loss of a value that moves by y / r is at most
      p max(ln(1 + y), b) - b, and p ln(1 + exp(-b) y) + b at exp(-b). Both are convex in b, and ln(1 + y) is concave in y: of
      j values that move, and d - j that do not, all do so by alpha / j. So the largest loss is that of j = d at both ends of
      b, or, for j < d, p j ln(1 + alpha / j) + beta (p (d - j) - d). With beta = epsilon / (6 (d - 1)) all allow some alpha.
    * Laplace and Gaussian: beta = epsilon / (4 (d + ln(2 / delta))), alpha = epsilon / 2 and
      epsilon / (5 sqrt(2 ln(2 / delta))), for epsilon <= 8: their exact delta is below 1/100 of the claim.
    Source: Nissim, Raskhodnikova, Smith 2007 (Laplace and Gaussian).
    """
    if law in SLOPES:
        slope, dilation = SLOPES[law]
        return e / 2 / slope, e / 2 / dilation / d
    if law in NEED_DELTA:
        # floats, rounded to the safe side by a billionth of themselves
        e, log = min(e, MOST_IN_SPACE), Fraction(math.log(2 / delta) * (1 + 1e-9))
        alpha = e / 2 if law == "laplace" else e / 5 / Fraction(math.sqrt(2 * log) * (1 + 1e-9))
        return alpha, e / (4 * (d + log))
    p, beta = samplers.POWER + 1, e / (2 * samplers.POWER * (d - 1))
    alphas = [d * (_exp(e / (p * d))[0] - ONE), d * (_exp(beta + (e - d * beta) / (p * d))[0] - _exp(beta)[1])]
    alphas += [j * (_exp((e - beta * (p * (d - j) - d)) / (p * j))[0] - ONE) for j in range(1, d)]
    return Fraction(min(alphas), ONE), beta


def hyperbolic_alpha(still: Fraction, dilated: Fraction, beta: Fraction, squared_scale: int) -> Fraction:
    """Largest alpha, rounded down, with a distance of at most `still` without dilation and `dilated` at exp(beta).

    alpha^2 = squared_scale min(2 cosh(still) - 2, 2 exp(beta) (cosh(dilated) - cosh(beta))).
    """
    shift = _exp(still)[0] + _exp(-still)[0] - 2 * ONE
    both = _exp(beta + dilated)[0] + _exp(beta - dilated)[0] - _exp(2 * beta)[1] - ONE
    return Fraction(math.isqrt(squared_scale * min(shift, both)), math.isqrt(ONE))


def laplace_delta(epsilon: float, alpha: float, beta: float) -> float:
    """Exact delta of Laplace noise: both tails where the scale shrinks by exp(beta) and the value moves by S'.

    From (epsilon + beta -+ alpha) / (exp(beta) - 1) on the loss exceeds epsilon, and the tail exceeds exp(epsilon) times the
    neighbour's by the share 1 - exp(-beta) of its mass.
    """
    # floats: positive terms without cancellation, so wrong by far less than the millionth that `_largest` keeps back
    wider = math.expm1(beta)
    tails = (math.exp(-(epsilon + beta + side * alpha) / wider) for side in (-1, 1))
    return sum(tails) * -math.expm1(-beta) / 2


def gaussian_delta(epsilon: float, alpha: float, beta: float) -> float:
    """Delta of Gaussian noise where the scale shrinks by exp(beta) and the value moves by S', the worst case.

    The loss exceeds epsilon beyond the two roots of a quadratic; at each the tail is phi(y) (M(y) - M(w) / r), M Mills'
    ratio, w the root as the neighbour sees it and r = exp(beta): the densities are equal there up to exp(epsilon).
    1 where that does not apply.
    """
    # floats: at 60 digits, epsilon 1e-5 to 45 and delta 1e-2 to 1e-100, the exact delta of what `_largest` returns is at most
    # 0.999999 of the claim
    r = math.exp(beta)
    a, b, c = math.expm1(2 * beta) / 2, r * alpha, alpha * alpha / 2 - beta - epsilon
    if c >= 0 or a == 0:
        return 1.0
    root = math.sqrt(b * b - 4 * a * c)
    total = 0.0
    for y, shift in ((-2 * c / (b + root), alpha / r), ((b + root) / (2 * a), -alpha / r)):
        w = r * (y + shift)
        if w < 0:
            return 1.0
        mills = erfcx(y / math.sqrt(2)) - erfcx(w / math.sqrt(2)) / r
        total += math.exp(-y * y / 2) * mills / 2
    return total


def _largest(delta_of: Callable[[float], float], most: float, delta: float) -> Fraction:
    """Largest parameter up to `most` whose delta fits, with room for the rounding of floats."""
    low, high = 0.0, most
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) <= delta * (1 - 1e-6) else (low, middle)
    return Fraction(low * (1 - 1e-9))


def _exp(x: Fraction) -> tuple[int, int]:
    return exp_bounds(x.numerator, x.denominator, 2 * SCALE_BITS)
