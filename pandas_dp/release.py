"""Releases: public values that know their price and their error.

A number is also a float (a count: an int), a text a str, a vector a Series, a table a DataFrame, so releases
drop into any code. Whatever is computed from them is plain: an error bar never outlives its value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Answer
from pandas_dp.report.base import Release
from pandas_dp.report.provenance import Provenance
from pandas_dp.report.scalars import FloatRelease, IntRelease, ObjectRelease, TextRelease
from pandas_dp.report.series import SeriesRelease
from pandas_dp.report.vectors import FrameRelease

__all__ = [
    "FloatRelease",
    "FrameRelease",
    "IntRelease",
    "ObjectRelease",
    "Provenance",
    "Release",
    "SeriesRelease",
    "TextRelease",
    "make_release",
]


def make_release(answer: Answer, provenance: Provenance) -> Release:
    """Wrap the value of an answer in the release of its kind.

    Parameters
    ----------
    answer : Answer
        Its value decides the kind: int, float, text, Series and DataFrame have their own, anything else
        (dates, durations, bools, decimals, tuples, None) is an `ObjectRelease`.
    provenance : Provenance

    Examples
    --------
    >>> from fractions import Fraction
    >>> from pandas_dp.aggregates.count import Count
    >>> from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
    >>> from pandas_dp.core.privacy import Price, PrivacyUnit
    >>> from pandas_dp.asked import AskedQuery
    >>> from pandas_dp.uncertainty import Additive
    >>> query = AskedQuery("count()", Count(), (), Price(Fraction(1, 50)))
    >>> noise = DiscreteLaplace(Fraction(50))
    >>> error = Additive(noise)
    >>> origin = Provenance(query, noise.name, PrivacyUnit(), "source", error, (), (), "epsilon 0.02")
    >>> rows = make_release(Answer(48213, noise.name, error), origin)
    >>> rows
    48,210 ± 150 (95 %), epsilon 0.02
    >>> rows.interval()
    Interval(lower=48063, upper=48363, level=0.95)
    >>> f"{rows / 1000:.1f} thousand"
    '48.2 thousand'
    """
    value = answer.value
    if not isinstance(value, bool):  # a bool is an int, and is none here
        for types, form in FORMS:
            if isinstance(value, types):
                release: Release = form(value, provenance)
                return release
    return ObjectRelease(value, provenance)


FORMS: tuple[tuple[tuple[type[Any], ...], Any], ...] = (  # types of values and the releases they become
    ((int, np.integer), IntRelease),
    ((float, np.floating), FloatRelease),
    ((str,), TextRelease),
    ((pd.Series,), SeriesRelease),
    ((pd.DataFrame,), FrameRelease),
)
