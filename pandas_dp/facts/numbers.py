"""Checking numbers that decide a price or a size: epsilons, deltas, wanted errors, counts, levels; all exact rationals."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import LARGEST_EPSILON, SMALLEST_EPSILON, Price, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import Kind, exact_number
from pandas_dp.facts.public_only import comparable, listed
from pandas_dp.facts.written import typed_out

Checked = TypeVar("Checked")
DECIMAL = re.compile(r"\d{1,20}(\.\d{1,300})?([eE][-+]?\d{1,3})?", re.ASCII)
ROUNDED = 2**53  # from here on floats round whole numbers
MOST_HALVES = 20  # weights that an example lists
SMALLEST_DELTA = Fraction(1, 10**100)
MOST_DELTA = Fraction(1, 10)  # of a price
MOST_CONFIDENCE = 1 - Fraction(1, 10**12)


WITHIN = "df.dp(within=20) or df.dp(within='5min')"


@dataclass(frozen=True)
class Accuracy:
    """A wanted error instead of a price: the answer within `within` of the exact one with probability `level`.

    With ``delta`` the noise is Gaussian. ``within`` is in the unit of the answer: rows for counts and ranks; for a
    `duration` in nanoseconds.
    """

    within: Fraction
    level: float
    delta: Fraction = Fraction(0)
    duration: bool = False

    @property
    def typed(self) -> str:
        """The error as a user would type it."""
        return f"within={str(pd.Timedelta(int(self.within)))!r}" if self.duration else f"within={show(self.within)}"

    def __str__(self) -> str:
        """Say it as a user would type it."""
        return f"{self.typed}, confidence={self.level:.12g}" + (f", delta={show(self.delta)}" if self.delta else "")


def unquoted(value: Any) -> Any:
    """An epsilon of a call or budget as it may be typed: a decimal in quotes, too, with an exponent of three digits at most."""
    return Decimal(value) if type(value) is str and DECIMAL.fullmatch(value) else value


def positive_epsilon(value: Any, argument: str = "epsilon") -> Fraction:
    """Exact epsilon within 1e-9..1e6."""
    exact = exact_number(value, argument, f", such as {argument}=0.5")
    if not SMALLEST_EPSILON <= exact <= LARGEST_EPSILON:
        raise ArgumentValueError(f"{argument} must lie between 1e-9 and 1e6, such as {argument}=0.5")
    return exact


def planned_prices(plan: Any) -> list[tuple[Fraction, int]]:
    """Prices of a plan and their counts, from a dict of them, or from a list of prices or queries."""
    line = "plan={0.1: 40}, or plan=[query, query] with queries that pandas_dp.query(epsilon=0.1) made"
    if not isinstance(plan, Mapping):
        if isinstance(plan, str) or not isinstance(plan, Sequence):
            raise ArgumentTypeError(f"plan must be a dict of prices and counts or a list: {line}")
        prices = [price.plain_epsilon if hasattr(price, "plain_epsilon") else price for price in plan]
        if any(price is None for price in prices):
            raise ArgumentTypeError(
                f"plan takes queries with a plain epsilon, without delta=, rho= and within=: {line}"
            )
        return list(Counter(typed(line, positive_epsilon, price, "a price of plan") for price in prices).items())
    counts = Counter[Fraction]()
    for price, times in plan.items():
        counts[typed(line, positive_epsilon, price, "a price of plan")] += typed(
            line, positive_int, times, "a count of plan"
        )
    return list(counts.items())


def typed(line: str, check: Callable[..., Checked], *arguments: Any) -> Checked:
    """Check an argument; what is refused is told with the whole line to type instead."""
    try:
        return check(*arguments)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise type(error)(f"{str(error).split(', such as')[0]}: {line}") from None


def small_delta(value: Any, argument: str = "delta") -> Fraction:
    """Exact delta within [0, 1)."""
    exact = exact_number(value, argument, f", such as {argument}=1e-6")
    if exact and not SMALLEST_DELTA <= exact < 1:
        raise ArgumentValueError(f"{argument} must be 0 or lie between 1e-100 and 1, such as {argument}=1e-6")
    return exact


def priced_delta(value: Any) -> Fraction:
    """Exact delta of a price: a confidence in its place would buy an answer with hardly any noise."""
    exact = small_delta(value)
    if exact and exact >= MOST_DELTA:
        raise ArgumentValueError(
            "delta is the probability with which the promise may fail: of a price it must be below 0.1, such as delta=1e-6; "
            "the confidence of an error bar is chosen afterwards, for free: .interval(0.95)"
        )
    return exact


def price(epsilon: Any, delta: Any, rho: Any) -> Price:
    """Price of one call: epsilon, epsilon with delta, or rho."""
    if rho is not None:
        if epsilon is not None:
            raise ArgumentValueError(
                "a price is epsilon= or rho=, not both: leave one of them out, as in df.dp(epsilon=0.5)"
            )
        if delta:
            raise ArgumentValueError("rho= takes no delta=, which belongs to an epsilon: leave delta= out")
        return Price(rho=positive_epsilon(rho, "rho"))
    if epsilon is None:
        raise ArgumentTypeError("a query needs a price: df.dp(epsilon=0.5)")
    return Price(positive_epsilon(unquoted(epsilon)), priced_delta(delta))


def accuracy(within: Any, confidence: Any, epsilon: Any, delta: Any, rho: Any) -> Accuracy:
    """Wanted error instead of a price."""
    if epsilon is not None or rho is not None:
        raise ArgumentValueError("give either within= or a price, not both: df.dp(within=5, confidence=0.95)")
    duration = isinstance(within, str | dt.timedelta | np.timedelta64)
    try:
        exact = Kind("timedelta" if duration else "number").number(within, "within")
    except ArgumentTypeError:
        raise ArgumentTypeError(f"within must be a number, or a duration with its unit: {WITHIN}") from None
    if exact <= 0:
        raise ArgumentValueError("within must be positive: df.dp(within=5, confidence=0.95)")
    level = exact_number(confidence, "confidence")
    if not 0 < level <= MOST_CONFIDENCE:
        raise ArgumentValueError("confidence must lie between 0 and 1: df.dp(within=5, confidence=0.95)")
    return Accuracy(exact, float(level), priced_delta(delta), duration)


def offer(
    epsilon: Any, delta: Any, rho: Any, within: Any, confidence: Any, fresh: Any, max_groups: Any
) -> tuple[Price | Accuracy, bool, int | None]:
    """Price or wanted error of one call, whether it shall be a new draw, and in how many groups a unit counts there."""
    again, groups = flag(fresh, "fresh"), None if max_groups is None else positive_int(max_groups, "max_groups")
    if within is not None:
        return accuracy(within, confidence, epsilon, delta, rho), again, groups
    if type(confidence) is not float or confidence != 0.95:
        raise ArgumentValueError(
            "confidence goes with within=. At a price it is chosen afterwards, for free: "
            "df.dp(epsilon=0.5).count().interval(0.99)"
        )
    return price(epsilon, delta, rho), again, groups


def flag(value: Any, argument: str) -> bool:
    """Return a bool: what decides the number of parts may not be anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError(f"{argument} must be True or False: {argument}=True")
    return bool(value)


def positive_int(value: Any, argument: str) -> int:
    """Return an int of at least 1."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ArgumentTypeError(f"{argument} must be a whole number, such as {argument}=10")
    if not 1 <= value <= 10**9:
        raise ArgumentValueError(f"{argument} must be at least 1 and at most 1e9, such as {argument}=10")
    return int(value)


def quantiles(q: Any) -> tuple[tuple[Fraction, ...], bool]:
    """Exact quantile levels, rounded to six decimals, and whether a single one was asked."""
    scalar = not listed(q) or not isinstance(q, Sequence | np.ndarray | pd.Series | pd.Index)
    levels = [q] if scalar else list(q)
    if not 1 <= len(levels) <= 1000:
        raise ArgumentValueError("q must hold between 1 and 1,000 levels, such as q=[0.25, 0.5, 0.75]")
    # np.arange(0.1, 1, 0.1) holds 0.30000000000000004
    given = (exact_number(level, "q") for level in levels)
    exact = tuple(level if 10**6 % level.denominator == 0 else round(level, 6) for level in given)
    if any(not 0 <= level <= 1 for level in exact):
        percent = 0 <= min(exact) <= max(exact) <= 100 and type(q) in (int, float, list, tuple) and typed_out(q, "q")
        typed = levels_typed(tuple(level / 100 for level in exact), scalar) if percent else 0.9
        raise ArgumentValueError(f"q must lie between 0 and 1, such as q={typed}")
    if len(set(exact)) != len(exact):
        raise ArgumentValueError("q must hold each level once, after rounding to six decimals")
    return exact, scalar


def levels_typed(levels: tuple[Fraction, ...], scalar: bool) -> float | list[float]:
    """Levels of quantiles as one types them."""
    return float(levels[0]) if scalar else list(map(float, levels))


def halves(count: int) -> str:
    """So many weights as one types them."""
    typed = [show(Fraction(1, 2 ** min(i + 1, count - 1))) for i in range(count)] if count > 1 else ["1"]
    return f"weights=[{', '.join(typed)}]" if count <= MOST_HALVES else "weights=None"


def shares(weights: Any, count: int, of: str, line: str) -> list[Fraction]:
    """Exact positive weights, one for each of some answers, queries or candidates, that add up to 1."""
    if not listed(weights) or not isinstance(weights, Sequence | np.ndarray | pd.Index):
        raise ArgumentTypeError(
            f"weights must be a list of {count:,} numbers, one for each {of}, in the same order: {line}"
        )
    exact = [exact_number(weight, "weights") for weight in weights]
    if len(exact) != count or min(exact) <= 0 or sum(exact) != 1:
        raise ArgumentValueError(
            f"weights must be {count:,} positive numbers, one for each {of}, in the same order, that add up to exactly 1 "
            f"(thirds as Fraction(1, 3)): {line}"
        )
    return exact


def blocks(given: Any, aggregator: Any, allowed: tuple[str, ...]) -> int | None:
    """Number of blocks, for one of the allowed aggregators."""
    if not isinstance(aggregator, str) or aggregator not in allowed:
        raise ArgumentValueError(f"aggregator must be {', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}")
    count = None if given is None else positive_int(given, "blocks")
    if count is not None and count > 10**6:
        raise ArgumentValueError("blocks may be at most 1,000,000")
    return count


def as_float(x: Fraction) -> float:
    """The float that is written as this decimal, else the next one above: no price is told smaller than it is.

    Examples
    --------
    >>> as_float(Fraction(3, 10)), as_float(Fraction(1, 3)) > Fraction(1, 3)
    (0.3, True)
    """
    near = float(x)
    return near if Fraction(repr(near)) >= x else math.nextafter(near, math.inf)


def rounded(x: Fraction, digits: int, rounding: str = ROUND_CEILING) -> Fraction:
    """Round, up where nothing else is said, to so many significant digits."""
    return Fraction(Context(prec=digits, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator)))


def three_digits(x: Fraction, rounding: str = ROUND_FLOOR) -> Fraction:
    """Round, down where nothing else is said, to three significant digits, which one would type; 0 for what is negative."""
    return rounded(x, 3, rounding) if x > 0 else Fraction(0)


def of_total(x: Fraction, total: Fraction) -> Fraction:
    """Round what is spent of a total up to three digits, or to so many more that it does not come out above the total."""
    found = (rounded(x, digits) for digits in range(3, 13))
    return three_digits(x, ROUND_CEILING) if x > total else next((up for up in found if up <= total), total)


def say(x: Fraction) -> str:
    """Write a rational as a decimal: exactly when it has at most 12 places, else rounded down to 3 digits."""
    return show(x if x >= 0 and 10**12 % x.denominator == 0 else three_digits(x))


def unrounded(parts: Keys, dtype: Any) -> None:
    """Refuse keys that floats round, in a column of these or of a dtype that one missing value makes one of these."""
    decimals = isinstance(dtype, pd.ArrowDtype) and pa.types.is_decimal(dtype.pyarrow_dtype)
    given = (key for key in parts.keys if isinstance(key, Real | Decimal))
    if not decimals and any(ROUNDED <= abs(key) < math.inf for key in given):
        raise ArgumentValueError(
            f"keys of {parts.column!r} must lie below 2**53: this column may hold larger numbers in rounded form. Protect it "
            f"with a dtype of whole numbers that may be missing: df.astype({{{parts.column!r}: 'Int64'}}), or read its file by "
            "pandas_dp.read_parquet('visits.parquet')"
        )


def checked_level(level: float) -> float:
    """Return a level between 0 and 1."""
    if not isinstance(level, Real | Decimal) or not comparable(level):
        raise ArgumentTypeError("level must be a number between 0 and 1, such as level=0.95")
    if not 0 < level <= float(MOST_CONFIDENCE):
        raise ArgumentValueError("level must lie between 0 and 1, such as level=0.95")
    return float(level)
