"""Randomized response at collection: answers that are private before anybody else sees them.

No session and no ledger: each person randomises their own answer, and `estimate` counts what was collected. Whoever gives
several answers pays for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.aggregates.randomized_response import keeping, proportions
from pandas_dp.aggregates.uncertainty import LEVEL
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.randomized_response import RandomizedResponse
from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, misspelt
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import Kind, exact_number
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.numbers import checked_level
from pandas_dp.facts.public_only import listed
from pandas_dp.facts.schema import ColumnFacts

__all__ = ["epsilon_of", "estimate", "randomize"]
__getattr__ = misspelt(__name__, __all__)


def __dir__() -> list[str]:
    """Names that users may type."""
    return [*__all__, "__doc__", "__name__"]


MANY = (pd.Series, pd.DataFrame, pd.Index, pd.api.extensions.ExtensionArray, np.ndarray, list, dict, set)
LINE = "randomize(answer, keys=['no', 'yes'], epsilon=1)"
KIND = Kind("key")  # keys of any type, each compared as what it is


@example(LINE)
def randomize(value: Any, *, keys: Any, epsilon: Any = None, alpha: Any = None) -> Any:
    """Randomise one answer, on the device of whoever gives it.

    Parameters
    ----------
    value : object
        One of the keys. Anything else gives a random key, because an error would reveal it. A list, array, Series or dict is
        refused: call it once for each person.
    keys : list
        At least two public answers.
    epsilon : number
        Price of the answer.
    alpha : number, optional
        In place of epsilon: the probability, in [0, 1), of keeping the answer rather than taking a random key. `epsilon_of`
        gives its price.

    Returns
    -------
    object
        One of the keys.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    With k keys, the answer is kept with probability a = alpha, or (e^epsilon - 1) / (e^epsilon + k - 1) rounded down.
    Otherwise it is a uniformly random key, possibly the same. For any two values that are not refused, the probabilities of
    any result have a ratio of at most 1 + k a / (1 - a) <= e^epsilon. Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016.

    Examples
    --------
    >>> randomize("yes", keys=["no", "yes"], epsilon=1) in ("no", "yes")
    True
    """
    keyed, _ = _keys(keys)
    mechanism = _mechanism(keyed.count, epsilon, alpha)
    if isinstance(value, MANY):  # a mistake of type tells nothing of an answer: none is a key
        raise ArgumentTypeError(
            "randomize() takes one person's answer, and each is paid for: [randomize(v, keys=..., epsilon=1) for v in values]"
        )
    return keyed.keys[mechanism.draw(Exact(_codes([value], keyed)))[0]]


@example("estimate(answers, keys=['no', 'yes'], epsilon=1)")
def estimate(
    answers: Iterable[Any],
    *,
    keys: Any,
    epsilon: Any = None,
    alpha: Any = None,
    level: float = LEVEL,
    project: bool = False,
) -> pd.DataFrame:
    """Estimate the proportion of each key from randomised answers.

    Parameters
    ----------
    answers : iterable
        What `randomize` returned, one for each person: a list, an array, a Series.
    keys : list
    epsilon, alpha : number
        As the answers were randomised.
    level : float
        Of the intervals, which are about the true answers of these people.
    project : bool
        Move the proportions to the nearest ones that are not negative and add up to 1: closer, but no longer unbiased.

    Returns
    -------
    DataFrame
        Columns proportion, standard_error, lower, upper and count (proportion times answers); one row for each key.
        Standard errors and ends are those of the unprojected proportion.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    Let n be the number of answers, k that of keys, a the probability of keeping an answer, q = (1 - a)/k and p = a + q. If N
    answers are a key, the estimate (N / n - q) / a is unbiased. At a true share s its variance is (s p (1 - p) + (1 - s) q (1
    - q)) / (n a^2).

    Examples
    --------
    >>> answers = ["yes"] * 300 + ["no"] * 700
    >>> estimate(answers, keys=["no", "yes"], alpha=0.5)["proportion"].round(3).tolist()
    [0.9, 0.1]
    """
    keyed, labels = _keys(keys)
    mechanism = _mechanism(keyed.count, epsilon, alpha)
    if mechanism.keep == 0:
        raise ArgumentValueError(
            "alpha is so small that no answer is ever kept, so nothing can be estimated: alpha=0.5"
        )
    if isinstance(answers, str | bytes) or not isinstance(answers, Iterable):
        raise ArgumentTypeError("answers must be a list of what randomize() returned: estimate(['no', 'yes'], ...)")
    codes = _codes(answers, keyed)
    if (codes < 0).any():
        raise ArgumentValueError("answers must all be keys, as randomize() returns them")
    return proportions(codes, mechanism, labels, checked_level(level), project)


@example("epsilon_of(0.5, keys=['no', 'yes'])")
def epsilon_of(alpha: Any, *, keys: Any) -> float:
    """Return the exact epsilon of keeping an answer with probability alpha: ln(1 + k alpha / (1 - alpha)) for k keys.

    Parameters
    ----------
    alpha : number
        In (0, 1).
    keys : list

    Returns
    -------
    float

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Examples
    --------
    >>> round(epsilon_of(0.5, keys=["no", "yes"]), 6)
    1.098612
    """
    keyed, _ = _keys(keys)
    return float(_mechanism(keyed.count, None, alpha).epsilon)


def _keys(keys: Any) -> tuple[Keys, Labels]:
    keyed, labels = checks.keys(keys, False, False, KIND, ColumnFacts(), "randomize", "answer")
    if keyed.count < 2:
        raise ArgumentValueError("randomized response needs at least two keys: keys=['no', 'yes']")
    return keyed, labels


def _codes(answers: Iterable[Any], keyed: Keys) -> NDArray[np.intp]:
    """Place of each answer among the keys, -1 for what is none of them, shape (answers,)."""
    if not listed(answers):
        raise ArgumentTypeError("answers must be a list: estimate(answers, keys=['no', 'yes'], epsilon=1)")
    places = {(isinstance(key, bool), key): i for i, key in enumerate(keyed.keys)}  # True is no 1
    return np.array([_place(answer, places) for answer in answers], dtype=np.intp)


def _place(answer: Any, places: dict[tuple[bool, Any], int]) -> int:
    try:
        key = checks.plain(answer, KIND)
        return places.get((isinstance(key, bool), key), -1)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - no key can be like this, nor what an answer's own code raises
        return -1


def _mechanism(parts: int, epsilon: Any, alpha: Any) -> RandomizedResponse:
    if (epsilon is None) == (alpha is None):
        raise ArgumentTypeError(f"give either epsilon= or alpha=: {LINE}")
    if alpha is None:
        return RandomizedResponse.calibrate(numbers.positive_epsilon(epsilon), parts)
    return keeping(exact_number(alpha, "alpha"), parts)
