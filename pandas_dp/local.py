"""Randomized response at collection: answers that are private before anybody else sees them.

No session and no ledger: each person randomises their own answer, and `estimate` counts what was collected. Whoever gives
several answers pays for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp import arguments
from pandas_dp.aggregates.count import Labels
from pandas_dp.aggregates.randomized_response import proportions
from pandas_dp.core.measurement import Exact
from pandas_dp.core.mechanisms.randomized_response import WORD, RandomizedResponse
from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.kinds import Kind, exact_number
from pandas_dp.schema import ColumnFacts

__all__ = ["epsilon_of", "estimate", "randomize"]


def randomize(value: Any, *, keys: Any, epsilon: Any = None, alpha: Any = None) -> Any:
    """Randomise one answer, on the device of whoever gives it.

    Parameters
    ----------
    value : object
        One of the keys; anything else gives a random key.
    keys : list
        At least two public answers.
    epsilon : number
        Price of the answer.
    alpha : number, optional
        Instead of epsilon: the probability, in [0, 1), of keeping the answer rather than taking a random key.

    Returns
    -------
    object
        One of the keys.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Notes
    -----
    See ``df.dp(epsilon=1).randomized_response``. For all pairs of answers the ratio of the probabilities of any result is
    at most e^epsilon. Source: Warner 1965; Kairouz, Bonawitz, Ramage 2016.

    Examples
    --------
    >>> randomize("yes", keys=["no", "yes"], epsilon=1) in ("no", "yes")
    True
    """
    keyed, _ = _keys(keys)
    mechanism = _mechanism(keyed.count, epsilon, alpha)
    place = next((i for i, key in enumerate(keyed.keys) if type(key) is type(value) and key == value), -1)
    return keyed.keys[mechanism.draw(Exact([place]))[0]]


def estimate(
    answers: Iterable[Any],
    *,
    keys: Any,
    epsilon: Any = None,
    alpha: Any = None,
    level: float = 0.95,
    project: bool = False,
) -> pd.DataFrame:
    """Estimate the proportion of each key from randomised answers.

    Parameters
    ----------
    answers : iterable
        What `randomize` returned, one for each person.
    keys : list
    epsilon, alpha : number
        As the answers were randomised.
    level : float
        Of the intervals, which speak of these people's own answers.
    project : bool
        Move the proportions to the nearest ones that are not negative and add up to 1: closer, but no longer unbiased.

    Returns
    -------
    DataFrame
        Columns proportion, standard_error, lower, upper; one row for each key.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError

    Examples
    --------
    >>> answers = ["yes"] * 300 + ["no"] * 700
    >>> estimate(answers, keys=["no", "yes"], alpha=0.5)["proportion"].round(3).tolist()
    [0.9, 0.1]
    """
    keyed, labels = _keys(keys)
    mechanism = _mechanism(keyed.count, epsilon, alpha)
    if mechanism.keep == 0:
        raise ArgumentValueError("alpha=0 keeps no answer, so nothing can be estimated: alpha=0.5")
    if not 0 < level < 1:
        raise ArgumentValueError("level must lie between 0 and 1, such as level=0.95")
    places = {(type(key), key): i for i, key in enumerate(keyed.keys)}
    codes = [places.get((type(answer), answer), -1) for answer in answers]
    if min(codes, default=0) < 0:
        raise ArgumentValueError("answers must all be keys, as randomize() returns them")
    return proportions(np.array(codes, dtype=np.intp), mechanism, labels, level, project)


def epsilon_of(alpha: Any, keys: Any) -> float:
    """Return the exact epsilon of keeping an answer with probability alpha: ln(1 + k alpha / (1 - alpha)) for k keys.

    Examples
    --------
    >>> round(epsilon_of(0.5, ["no", "yes"]), 6)
    1.098612
    """
    keyed, _ = _keys(keys)
    return float(_mechanism(keyed.count, None, alpha).epsilon)


def _keys(keys: Any) -> tuple[Keys, Labels]:
    keyed, labels = arguments.keys(keys, False, False, Kind("key"), ColumnFacts(), "randomize", "answer")
    if keyed.count < 2:
        raise ArgumentValueError("randomized response needs at least two keys: keys=['no', 'yes']")
    return keyed, labels


def _mechanism(parts: int, epsilon: Any, alpha: Any) -> RandomizedResponse:
    if (epsilon is None) == (alpha is None):
        raise ArgumentTypeError("give either epsilon= or alpha=: randomize(answer, keys=['no', 'yes'], epsilon=1)")
    if alpha is None:
        return RandomizedResponse.calibrate(arguments.positive_epsilon(epsilon), parts)
    kept = exact_number(alpha, "alpha")
    if not 0 <= kept < 1:
        raise ArgumentValueError("alpha must be at least 0 and below 1: with alpha=1 nothing is hidden")
    return RandomizedResponse(parts, int(kept * Fraction(WORD)))
