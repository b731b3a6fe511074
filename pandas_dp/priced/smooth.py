"""Arguments of questions that are answered with noise that fits the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.smooth import BEST_NOISE
from pandas_dp.core.mechanisms.smooth import DRAWS
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.kinds import exact_number


def smooth_method(
    method: Any, allowed: tuple[str, ...], noise: Any, error_bar: Any, call: str, column: str
) -> str | None:
    """Law of the noise for the last of the allowed methods, the one by smooth sensitivity; None for the others."""
    if not isinstance(method, str) or method not in allowed:
        raise ArgumentValueError(f"method must be {', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}")
    law = smooth_noise(noise, error_bar)
    if method == allowed[-1]:
        return law
    if noise is not None or error_bar:
        raise ArgumentValueError(
            f"noise= and error_bar= go with method={allowed[-1]!r}: {call}({column!r}, method={allowed[-1]!r})"
        )
    return None


def smooth_noise(noise: Any, error_bar: Any) -> str:
    """Law of noise by smooth sensitivity."""
    if not isinstance(error_bar, bool):
        raise ArgumentTypeError("error_bar must be True or False")
    if noise is None:
        return BEST_NOISE
    if not isinstance(noise, str) or noise not in DRAWS:
        raise ArgumentValueError(f"noise must be one of {', '.join(map(repr, DRAWS))}")
    return noise


def trimmed_share(trim: Any) -> Fraction:
    """Share of rows that a trimmed mean leaves out at either end."""
    share = exact_number(trim, "trim")
    if not 0 < share < Fraction(1, 2) or share.denominator > 10**6:
        raise ArgumentValueError("trim must lie between 0 and 0.5, with at most six decimals: trim=0.1")
    return share
