"""What is told of aggregates beside their answers: the price of a wanted error, and what several noises are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from pandas_dp.aggregates.base import PRICED
from pandas_dp.core.privacy import show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.numbers import Accuracy

MOST_POWERS = 60  # of ten, by which an error that fits is larger than the wanted one


def bought(least: Callable[[Accuracy], Fraction], wanted: Accuracy, asked: str = "") -> Fraction:
    """Return the epsilon that buys a wanted accuracy; a refusal of one that none buys names one that fits, or a price.

    Parameters
    ----------
    least : callable
        The least epsilon for an accuracy.
    wanted : Accuracy
    asked : str
        The question, as it stands behind its price.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    try:
        return least(wanted)
    except ArgumentValueError as error:  # even the largest does not
        for larger in (replace(wanted, within=wanted.within * 10**power) for power in range(1, MOST_POWERS)):
            with suppress(ArgumentValueError):
                if (epsilon := least(larger)) <= 1:
                    error.args = (f"{error}; epsilon={show(epsilon)} buys {larger.typed}",)
                    break
        raise
    except ArgumentTypeError as error:
        error.args = (f"{error}{f'.{asked}' if asked and str(error).endswith(PRICED) else ''}",)
        raise


def noises(names: Iterable[str]) -> str:
    """What several mechanisms are called together, of which some have parts of one name.

    Examples
    --------
    >>> noises(["discrete Laplace", "exponential mechanism on ranks, discrete Laplace"])
    'discrete Laplace, exponential mechanism on ranks'
    """
    return ", ".join(dict.fromkeys(part for name in names for part in name.split(", ")))
