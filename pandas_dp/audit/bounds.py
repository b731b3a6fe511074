"""Lower bounds on epsilon from counts of one event on two sides, by intervals of Clopper and Pearson."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MISSING = "an audit needs scipy, which is not installed; type: pip install 'pandas-dp[audit]'"


def load_beta() -> Any:
    """Return the inverse of the regularised incomplete beta function, or raise an ImportError that says what to install."""
    try:
        from scipy.special import betaincinv
    except ImportError:
        raise ImportError(MISSING) from None
    return betaincinv


def lower_bound(high: int, low: int, trials: int, alpha: float, delta: float) -> float:
    """Bound from below the epsilon of a mechanism with an event that was met `high` times on one side, `low` on the other.

    For all mechanisms whose trials are independent, and events that were chosen without these trials, it is above the
    epsilon that the mechanism keeps at `delta` with probability at most `alpha`: each end of the two intervals is missed
    with probability at most alpha / 2, and where both hold, ln((p - delta) / q) of the ends bounds that of the event.
    Negative, down to -inf, where the counts show nothing.
    """
    ends = _lower_end(np.array([high]), trials, alpha), _upper_end(np.array([low]), trials, alpha)
    return float(log_ratio(*ends, delta)[0])


def expected_bound(p0: float, p1: float, samples: int, alpha: float, delta: float = 0.0) -> float:
    """Bound, at least 0, that an event of these probabilities gets from so many samples a side at its expected counts."""
    m = samples - samples // 2
    return max(0.0, lower_bound(round(p0 * m), round(p1 * m), m, alpha, delta))


def tight_bound(claim: float, samples: int, alpha: float, delta: float = 0.0) -> float:
    """Bound that continuous Laplace noise spending exactly `claim` gets from so many samples a side.

    Its best event has probability 1/2 on one side and exp(-claim)/2 on the other; taken at the expected counts.
    """
    return expected_bound(0.5, 0.5 * math.exp(-claim), samples, alpha, delta)


def log_ratio(p0: Floats, p1: Floats, delta: float) -> Floats:
    """ln((p0 - delta) / p1), -inf where nothing is left of p0; entry by entry."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(p0 - delta, 0.0)) - np.log(p1))


@lru_cache(maxsize=16)
def ends(trials: int, alpha: float) -> tuple[Floats, Floats]:
    """Both ends of the intervals for k = 0, ..., trials, shape (trials + 1,): where all events of a search look theirs up."""
    k = np.arange(trials + 1)
    return _lower_end(k, trials, alpha), _upper_end(k, trials, alpha)


def _lower_end(k: NDArray[Any], n: int, alpha: float) -> Floats:
    return np.where(k > 0, load_beta()(np.maximum(k, 1), n - k + 1, alpha / 2), 0.0)


def _upper_end(k: NDArray[Any], n: int, alpha: float) -> Floats:
    return np.where(k < n, load_beta()(k + 1, np.maximum(n - k, 1), 1 - alpha / 2), 1.0)
