"""NOT PRIVATE: noise for smooth sensitivity in the notation of the lectures: a law h(z) with alpha, beta and gamma."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.mechanisms import smooth
from pandas_dp.core.randomness import Bits, random_bytes
from pandas_dp.core.samplers.scalar import exp_bounds
from pandas_dp.core.statistics.smooth import LOG_BITS
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.numbers import positive_epsilon, small_delta, typed
from pandas_dp.teaching.public import axes_for, positive
from pandas_dp.teaching.quantiles import Sensitivities

LINE = "admissible('polynomial', epsilon=1)"
Floats = NDArray[np.float64]
STEP = Fraction(1, 1 << 20)  # of the width of the bounds, the lattice of an answer
LEAST_LOG = -14 << LOG_BITS  # of a scale in lattice steps
MOST_GAMMA = 100


def _polynomial(z: Floats, gamma: float) -> Floats:
    """Of 1 / (1 + |z|^gamma), whose integral is 2 pi / (gamma sin(pi / gamma)); by logarithms, which never overflow."""
    far: Floats = gamma * np.log(np.maximum(np.abs(z), 1e-300))
    return -np.logaddexp(0, far) - math.log(2 * math.pi / (gamma * math.sin(math.pi / gamma)))


LOG_DENSITIES: dict[str, Callable[[Floats, float], Floats]] = {
    "cauchy": _polynomial,
    "polynomial": _polynomial,
    "student_t": lambda z, gamma: -2 * np.log1p(z * z / 3) + math.log(2 / (math.sqrt(3) * math.pi)),
    "polynomial_laplace": lambda z, gamma: -gamma * np.log1p(np.abs(z)) + math.log((gamma - 1) / 2),
    "laplace": lambda z, gamma: -np.abs(z) - math.log(2),
    "gaussian": lambda z, gamma: -z * z / 2 - math.log(2 * math.pi) / 2,
}
DEVIATIONS = {"student_t": math.sqrt(3), "polynomial_laplace": 1.0, "laplace": math.sqrt(2), "gaussian": 1.0}
GAMMAS = {"cauchy": Fraction(2), "polynomial": Fraction(4), "student_t": Fraction(4), "polynomial_laplace": Fraction(4)}
# where the loss is looked for: dense around the kink and the shift, and far into the tail
GRID = np.concatenate([-np.logspace(9, -9, 4000), [0.0], np.logspace(-9, 9, 4000)])


@dataclass(frozen=True, repr=False)
class Admissible:
    """A law of noise with what may be promised of it: A(d) = q(d) + Z S*(d) / alpha.

    Attributes
    ----------
    law : str
    epsilon, delta : Fraction
    alpha : Fraction
        How far Z may slide: the value moves by S* at most, which is alpha in units of the noise.
    beta : Fraction
        How far Z may be stretched: S* of neighbours differs by a factor exp(beta) at most.
    gamma : Fraction or None
        Of the tail, which falls like abs(z)^-gamma; None where it falls exponentially.

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> found = teaching.admissible("cauchy", epsilon=1)
    >>> round(float(found.alpha), 3), float(found.beta), float(found.gamma), round(found.loss, 3)
    (1.042, 0.7, 2.0, 1.0)
    """

    law: str
    epsilon: Fraction
    delta: Fraction
    alpha: Fraction
    beta: Fraction
    gamma: Fraction | None

    def density(self, z: Any) -> Floats:
        """h(z), the density of Z.

        Parameters
        ----------
        z : number, list or array of numbers

        Returns
        -------
        ndarray of float, in the shape of z

        Raises
        ------
        ArgumentTypeError

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> teaching.admissible("laplace", epsilon=1, delta=1e-6).density([0, 1]).round(3).tolist()
        [0.5, 0.184]
        """
        try:
            at, entries = np.asarray(z), np.asarray(z, dtype=object)
            numeric = at.dtype.kind in "iuf" and not any(isinstance(x, bool | np.bool_) for x in entries.flat)
        except (TypeError, ValueError):
            numeric = False
        if not numeric:
            raise ArgumentTypeError("z must be a number or an array of numbers: .density([0, 1])")
        return np.asarray(np.exp(self._log_density(at.astype(float))))

    @property
    def loss(self) -> float:
        """Largest log-ratio of the densities of neighbouring answers, over all outputs; inf where delta is needed.

        Slides by up to alpha and stretches by up to exp(beta) are gone through together, so epsilon may be less than the sum
        of what each alone would cost.
        """
        if self.law in smooth.NEED_DELTA:
            return math.inf
        alpha, beta, most = float(self.alpha), float(self.beta), 0.0
        for log_stretch in (-beta, -beta / 2, 0.0, beta / 2, beta):
            ratio = math.exp(log_stretch)
            for slide in (0.0, alpha * min(1, 1 / ratio)):
                z = np.concatenate([GRID, GRID - slide])
                most = max(most, float(self._losses(z, slide, log_stretch).max()))
        return most

    @property
    def exact_delta(self) -> float:
        """Delta that these alpha and beta spend at this epsilon; 0 where `loss` is at most epsilon.

        For Laplace and Gaussian noise; of the other laws NaN where `loss` is larger.
        """
        epsilon, alpha, beta = float(self.epsilon), float(self.alpha), float(self.beta)
        if self.law == "laplace":
            return smooth.laplace_delta(epsilon, alpha, beta)
        if self.law == "gaussian":
            return smooth.gaussian_delta(epsilon, alpha, beta)
        return 0.0 if self.loss <= epsilon * (1 + 1e-9) else math.nan

    @property
    def deviation(self) -> float:
        """Standard deviation of Z / alpha, which S* multiplies; inf where the tail is too heavy."""
        if self.law == "polynomial" and self.gamma is not None and self.gamma > 3:
            gamma = float(self.gamma)
            spread = math.sqrt(math.sin(math.pi / gamma) / math.sin(3 * math.pi / gamma))
        else:
            spread = DEVIATIONS.get(self.law, math.inf)
        return spread / float(self.alpha)

    def answer(self, found: Any) -> float:
        """NOT PRIVATE: draw A(d) = q(d) + Z S*(d) / alpha once, from PUBLIC numbers.

        Parameters
        ----------
        found : Sensitivities
            q(d) and S*(d), with a beta that is not larger.

        Returns
        -------
        float
            A lattice point; lattice steps are a millionth of the width of the bounds.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> law = teaching.admissible("polynomial", epsilon=10_000)
        >>> found = teaching.sensitivities(range(1, 11), bounds=(0, 1000), beta=law.beta)
        >>> -45 < law.answer(found) < 55
        True
        """
        line = f".answer(sensitivities([1, 2, 3], bounds=(0, 10), beta={float(self.beta):.3g}))"
        if not isinstance(found, Sensitivities):
            raise ArgumentTypeError(f"answer() takes what sensitivities() found: {line}")
        if found.beta > self.beta:
            raise ArgumentValueError(f"S* is not smooth enough for this noise; type a beta that is not larger: {line}")
        if self.law == "polynomial" and self.gamma != GAMMAS["polynomial"]:
            raise ArgumentValueError("answers are drawn for gamma=4 alone, and for 'cauchy', which is gamma=2")
        step = found.global_sensitivity * STEP
        in_steps = max(found._logs) - math.log(step.numerator) + math.log(step.denominator)
        log_scale = max(LEAST_LOG, math.ceil(in_steps * (1 << LOG_BITS)))
        scale = exp_bounds(log_scale, 1 << LOG_BITS, smooth.SCALE_BITS)[1]
        above, below = self.alpha.as_integer_ratio()
        noise = smooth.DRAWS[self.law](scale * below, above << smooth.SCALE_BITS, Bits(random_bytes))
        return float(found.value + noise * step)

    def plot(self, axes: Any = None) -> Any:
        """Draw what neighbours see: h slid by alpha, h stretched by exp(beta), and the loss of both together.

        Parameters
        ----------
        axes : sequence of three matplotlib Axes, optional
            A new figure where left out.

        Returns
        -------
        sequence of three matplotlib Axes

        Raises
        ------
        ImportError
            Without matplotlib; the text says what to install.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from pandas_dp import teaching
        >>> drawn = teaching.admissible("cauchy", epsilon=1).plot(Figure().subplots(3))
        >>> [ax.get_title() for ax in drawn]
        ['sliding', 'dilation', 'loss of both']
        """
        drawn = axes_for(axes, 3, 2.8, columns=3)
        alpha, beta = float(self.alpha), float(self.beta)
        z = np.linspace(-8, 8, 1601)
        for ax, slide, stretch, words in (
            (drawn[0], alpha, 0.0, "slid by α"),
            (drawn[1], 0.0, beta, "stretched by exp(β)"),
        ):
            moved = np.exp(self._log_density(math.exp(stretch) * (z + slide)) + stretch)
            ax.plot(z, self.density(z), color="tab:blue", label="h(z)")
            ax.plot(z, moved, color="tab:orange", label=words)
            # room for the legend
            ax.set(xlabel="z", yscale="log", ylim=(min(moved.min(), self.density(z).min()) / 20, None))
            ax.legend(fontsize="small", loc="lower center")
        for sign, colour in ((1, "tab:blue"), (-1, "tab:orange")):
            slide = alpha * min(1, math.exp(-sign * beta))
            drawn[2].plot(z, self._losses(z, slide, sign * beta), color=colour)
        for end in (-float(self.epsilon), float(self.epsilon)):
            drawn[2].axhline(end, color="tab:red", linestyle="--")
        drawn[2].set(xlabel="z", ylabel="log-ratio")
        for ax, title in zip(drawn, ("sliding", "dilation", "loss of both"), strict=True):
            ax.set_title(title, fontsize="medium")
        return drawn if axes is None else axes

    def __repr__(self) -> str:
        """All in words."""
        named = f"alpha {float(self.alpha):.4g}, beta {float(self.beta):.4g}"
        tail = "" if self.gamma is None else f", gamma {float(self.gamma):g}"
        price = f"epsilon {float(self.epsilon):g}" + (f", delta {float(self.delta):g}" if self.delta else "")
        spent = f"exact delta {self.exact_delta:.3g}" if self.delta else f"largest loss {self.loss:.4g}"
        return f"{self.law} noise at {price}: {named}{tail}; {spent}, deviation {self.deviation:.4g} S*"

    def _log_density(self, z: Floats) -> Floats:
        return LOG_DENSITIES[self.law](z, float(self.gamma or 0))

    def _losses(self, z: Floats, slide: float, log_stretch: float) -> Floats:
        """Ln h(z) - ln r - ln h(r (z + D)), r = exp(log_stretch)."""
        return self._log_density(z) - log_stretch - self._log_density(math.exp(log_stretch) * (z + slide))


@example(LINE)
def admissible(
    law: str, epsilon: Any, delta: Any = 0, *, gamma: Any = None, alpha: Any = None, beta: Any = None
) -> Admissible:
    """The noise of the package for smooth sensitivity, as (alpha, beta)-admissible noise; or with constants of your own.

    Parameters
    ----------
    law : {"cauchy", "polynomial", "student_t", "polynomial_laplace", "laplace", "gaussian"}
        Of Z; see the notes.
    epsilon : number
    delta : number
        For ``"laplace"`` and ``"gaussian"``.
    gamma : number, optional
        For ``"polynomial"``: above 1, the tail falls like abs(z)^-gamma; 4 where left out.
    alpha, beta : number, optional
        Both, to try others: `loss` or `exact_delta` then say what they cost.

    Returns
    -------
    Admissible

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    h(z) is proportional to 1 / (1 + z^2) for ``cauchy``, 1 / (1 + abs(z)^gamma) for ``polynomial``, (1 + z^2 / 3)^-2 for
    ``student_t`` (3 degrees of freedom), (1 + abs(z))^-4 for ``polynomial_laplace``, exp(-abs(z)) and exp(-z^2 / 2) for the
    others.
    With other gammas than 4, alpha (gamma - 1)^((gamma - 1) / gamma) and beta max(1, gamma - 1) are epsilon / 2 each: the
    log-density has this slope at most, and dilation by exp(beta) moves it by this at most.
    A(d) = q(d) + Z S*(d) / alpha is (epsilon, delta)-differentially private under either relation, if S* is a beta-smooth
    bound of the local sensitivity under it. The lectures have alpha = epsilon / (4 gamma) and beta = epsilon / gamma.
    Source: Nissim, Raskhodnikova, Smith 2007; Bun, Steinke 2019; Hladik, Tetek 2025.

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> teaching.admissible("polynomial", epsilon=1)
    polynomial noise at epsilon 1: alpha 0.2193, beta 0.1667, gamma 4; largest loss 0.8482, deviation 4.559 S*
    >>> round(teaching.admissible("polynomial", epsilon=1, gamma=2, alpha=1 / 8, beta=1 / 2).loss, 2)
    0.51
    """
    if not isinstance(law, str) or law not in LOG_DENSITIES:
        raise ArgumentValueError(
            f"law must be one of {', '.join(LOG_DENSITIES)}{did_you_mean(law, LOG_DENSITIES)}: {LINE}"
        )
    price, slack = typed(LINE, positive_epsilon, epsilon), typed(LINE, small_delta, delta)
    if (slack > 0) != (law in smooth.NEED_DELTA):
        raise ArgumentValueError(f"{law} noise takes {'a' if law in smooth.NEED_DELTA else 'no'} delta: {LINE}")
    if gamma is not None and law != "polynomial":
        raise ArgumentValueError(f"gamma is for polynomial noise: {LINE[:-1]}, gamma=4)")
    tail = GAMMAS.get(law)
    if gamma is not None:
        tail = positive(gamma, "gamma", f"{LINE[:-1]}, gamma=4)", MOST_GAMMA)
        if tail <= 1:
            raise ArgumentValueError(f"gamma must be above 1, or h has no integral: {LINE[:-1]}, gamma=4)")
    if (alpha is None) != (beta is None):
        raise ArgumentTypeError(f"give alpha= and beta= both, or neither: {LINE[:-1]}, alpha=0.1, beta=0.1)")
    if alpha is not None:
        slide, stretch = positive(alpha, "alpha", LINE), positive(beta, "beta", LINE)
    elif gamma is None or tail is None:
        slide, stretch = smooth.admissible(law, price, slack)
    else:
        slope = Fraction(float(tail - 1) ** (1 - 1 / float(tail)) * (1 + 1e-12))
        slide, stretch = price / 2 / slope, price / 2 / max(Fraction(1), tail - 1)
    return Admissible(law, price, slack, slide, stretch, tail)
