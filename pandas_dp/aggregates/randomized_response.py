"""Randomized response: one randomised answer a row, and what they tell together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp import postprocess
from pandas_dp.aggregates.base import Accuracy, Answer, SingleLook, Terms, least_epsilon, pure_epsilon
from pandas_dp.aggregates.count import Labels
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.randomized_response import WORD, RandomizedResponse
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import Price, PrivacyLoss
from pandas_dp.core.statistics.codes import Codes
from pandas_dp.errors import ArgumentValueError

LINE = "df.dp.protect(epsilon=..., neighbors='replace_one')"


@dataclass(frozen=True)
class RandomizedAnswers(SingleLook):
    """A column in which every row's key is kept or replaced at random."""

    by: Keys
    labels: Labels

    def loss(self, terms: Terms) -> PrivacyLoss:
        """The price as it was typed: what the rounding of probabilities saves is not worth its digits."""
        self._rows(terms)
        return PrivacyLoss.pure(pure_epsilon(terms.price, "randomized_response()"))

    def look(self, terms: Terms) -> Measurement:
        """One key for each row."""
        epsilon = pure_epsilon(terms.price, "randomized_response()")
        return Measurement(Codes(self.by), RandomizedResponse.calibrate(epsilon, self.by.count))

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return the keys in row order."""
        keys = self.labels.index().take(np.array(noisy, dtype=np.intp))
        series = pd.Series(keys.array, index=pd.RangeIndex(len(noisy)), name=self.by.column)
        if not isinstance(look.mechanism, RandomizedResponse):
            raise TypeError("answers are randomised by randomized response")
        note = (
            f"a key is kept with probability {look.mechanism.keep / WORD:.4g}, else any key is taken; see .estimate()"
        )
        return Answer(series, look.mechanism.name, None, (note,))

    def estimate(self, answers: pd.Series[Any], price: Price, level: float, project: bool) -> pd.DataFrame:
        """Proportion of each key, from released answers; see `proportions`."""
        mechanism = RandomizedResponse.calibrate(pure_epsilon(price, "randomized_response()"), self.by.count)
        codes = self.labels.index().get_indexer(pd.Index(answers))
        return proportions(codes, mechanism, self.labels, level, project)

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the interval of the proportion of a key, at its largest."""
        rows = self._rows(terms)

        def fits(epsilon: Fraction) -> bool:
            mechanism = RandomizedResponse.calibrate(epsilon, self.by.count)
            if not mechanism.keep or not rows:
                return False
            errors = [standard_error(mechanism, share, rows) for share in (0.0, 1.0)]
            return max(errors) * _z(wanted.level) <= float(wanted.within)

        return least_epsilon(fits)

    def _rows(self, terms: Terms) -> int:
        """Return the public number of rows, or refuse."""
        if terms.unit.add_remove:
            raise ArgumentValueError(
                f"randomized_response() gives one answer a row, which shows the number of rows; add_remove hides it: {LINE}"
            )
        if terms.unit.column is not None:
            raise ArgumentValueError(
                f"randomized_response() needs one row a unit; keep one row of each {terms.unit.column!r} first, then {LINE}"
            )
        if terms.public_rows is None:
            raise ArgumentValueError(
                "randomized_response() gives one answer a row, so it needs the whole table that opened the session: ask the "
                "protected frame itself, before query() and filter()"
            )
        return terms.public_rows


def proportions(
    answers: NDArray[np.intp], mechanism: RandomizedResponse, labels: Labels, level: float, project: bool
) -> pd.DataFrame:
    """Proportion of each key among the exact answers, from randomised ones.

    Parameters
    ----------
    answers : ndarray of int, shape (rows,)
        Codes of the randomised keys.
    mechanism : RandomizedResponse
    labels : Labels
    level : float
        Of the intervals.
    project : bool
        Move the proportions to the nearest ones that are not negative and add up to 1.

    Returns
    -------
    DataFrame
        Columns proportion, standard_error, lower, upper; one row for each key.

    Notes
    -----
    The estimate (N_v / n - q) / (p - q) is unbiased; its variance at a share s of the rows is
    (s p (1 - p) + (1 - s) q (1 - q)) / (n (p - q)^2) (checked by enumeration in the tests).
    """
    n = answers.size
    p, q = probabilities(mechanism)
    shares = (np.bincount(answers, minlength=mechanism.parts) / max(n, 1) - q) / (p - q)  # shape (keys,)
    errors = np.array([standard_error(mechanism, min(max(share, 0.0), 1.0), n) for share in shares])
    reach = _z(level) * errors
    shown = postprocess.to_simplex(pd.Series(shares), 1).to_numpy() if project else shares
    columns = {"proportion": shown, "standard_error": errors, "lower": shares - reach, "upper": shares + reach}
    return pd.DataFrame(columns, index=labels.index())


def probabilities(mechanism: RandomizedResponse) -> tuple[float, float]:
    """Probability of a key to come out as itself, and as a given other one."""
    q = (WORD - mechanism.keep) / (WORD * mechanism.parts)
    return mechanism.keep / WORD + q, q


def standard_error(mechanism: RandomizedResponse, share: float, rows: int) -> float:
    """Standard deviation of an estimated proportion, by the randomisation alone."""
    p, q = probabilities(mechanism)
    return math.sqrt((share * p * (1 - p) + (1 - share) * q * (1 - q)) / max(rows, 1)) / (p - q)


def _z(level: Any) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2)
