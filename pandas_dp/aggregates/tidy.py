"""Making released numbers tidy: not negative, adding up to a total, whole, monotone.

Each function works on a released vector (or any numbers) alone: no data, no charge, and the privacy of what went in holds
for what comes out. Each takes away noise where the truth has the wanted form, and adds bias: compute sums, means and
ratios from the released values themselves. Results are plain: the error bars of a release do not hold for them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import example

Floats = NDArray[np.float64]
__all__ = ["isotonic", "nonnegative", "round_to_total", "to_simplex"]

MOST_TOTAL = 2.0**53  # from here on float64 has no fractions left to round


def nonnegative(values: pd.Series[Any]) -> pd.Series[Any]:
    """Clip values at 0.

    Parameters
    ----------
    values : Series of numbers

    Returns
    -------
    Series
        On the same index and of the same dtype.

    Raises
    ------
    ArgumentTypeError
        For other values than numbers.

    Notes
    -----
    A count of 0 with Laplace noise of scale b comes out as b/2 on average: sums over many small counts should use the
    released values, or `to_simplex`.

    Examples
    --------
    >>> nonnegative(pd.Series([5.0, 3.0, -2.0])).tolist()
    [5.0, 3.0, 0.0]
    """
    _numbers(values, "nonnegative")
    return values.clip(lower=0)


def to_simplex(values: pd.Series[Any], total: float | None = None) -> pd.Series[Any]:
    """Nearest values, in least squares, that are not negative and add up to a total.

    Parameters
    ----------
    values : Series of numbers
    total : float, optional
        A public number, at least 0. The sum of the values where left out, or 0 if that is negative.

    Returns
    -------
    Series of float64
        On the same index.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For other values than numbers, or an impossible total.

    Notes
    -----
    All values are lowered (or raised) by one amount and then cut at 0. O(n log n).
    Source: Duchi, Shalev-Shwartz, Singer, Chandra 2008, Figure 1.

    Examples
    --------
    >>> to_simplex(pd.Series([5.0, 3.0, -2.0])).tolist()
    [4.0, 2.0, 0.0]
    """
    x = _numbers(values, "to_simplex")
    wanted = max(0.0, float(x.sum())) if total is None else _total(total, "to_simplex")
    if wanted < 0:
        raise ArgumentValueError("total must not be negative, such as to_simplex(total=1000)")
    return _like(simplex(x, wanted), values)


def simplex(x: Floats, total: float) -> Floats:
    """The nearest numbers that are not negative and have this sum (Duchi, Shalev-Shwartz, Singer, Chandra 2008)."""
    largest = np.sort(x)[::-1]
    excess = (np.cumsum(largest) - total) / np.arange(1, x.size + 1)  # amount that leaves the j largest, shape (n,)
    kept = int(np.count_nonzero(largest > excess))
    return np.maximum(x - excess[kept - 1], 0) if kept else np.zeros(x.size)


def round_to_total(values: pd.Series[Any], total: int | None = None) -> pd.Series[Any]:
    """Nearest whole numbers, in least squares, that add up to a total: largest-remainder rounding.

    Parameters
    ----------
    values : Series of numbers
        Negative ones stay negative; for counts pass them through `to_simplex` first.
    total : int, optional
        A public whole number; the rounded sum of the values where left out. Where it is another one, the difference is
        first shared out evenly.

    Returns
    -------
    Series of int64
        On the same index.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For other values than numbers, or a total that is not whole.

    Notes
    -----
    Every value is rounded down, then those that lost most are raised by 1, the first of equals first.

    Examples
    --------
    >>> round_to_total(pd.Series([1.4, 1.4, 1.2])).tolist()
    [2, 1, 1]
    """
    x = _numbers(values, "round_to_total")
    if x.size == 0:
        return _like(x.astype(np.int64), values)
    if not np.abs(x).max() < MOST_TOTAL:
        raise ArgumentValueError("round_to_total() works on values below 2**53: larger ones have no fractions")
    wanted = float(np.rint(math.fsum(x.tolist()))) if total is None else _total(total, "round_to_total")
    if wanted != int(wanted):
        raise ArgumentValueError("total must be a whole number, such as round_to_total(total=1000)")
    x = x + (wanted - math.fsum(x.tolist())) / x.size
    down = np.floor(x).astype(np.int64)
    missing = int(wanted) - int(down.sum())
    # 0 <= missing <= n but for the last bit of the sum
    every, rest = divmod(missing, x.size)
    down += every
    down[np.argsort(down - x, kind="stable")[:rest]] += 1
    return _like(down, values)


@example("isotonic(counts, increasing=False)")
def isotonic(values: Any, increasing: bool = True) -> Any:
    """Nearest values, in least squares, that never fall (or never rise) from one to the next.

    Parameters
    ----------
    values : Series of numbers, or ndarray
    increasing : bool
        False: values that never rise.

    Returns
    -------
    Series of float64, or ndarray
        On the same index.

    Raises
    ------
    ArgumentTypeError
        For other values than numbers.

    Notes
    -----
    Pool adjacent violators: neighbours in the wrong order are replaced by their mean until none are left. O(n).
    Source: Ayer, Brunk, Ewing, Reid, Silverman 1955; for noisy counts Hay, Rastogi, Miklau, Suciu 2010.

    Examples
    --------
    >>> isotonic(pd.Series([1.0, 3.0, 2.0])).tolist()
    [1.0, 2.5, 2.5]
    """
    x = _numbers(values, "isotonic", pd.Series | pd.Index | np.ndarray | list | tuple)
    fitted = _pool(x) if increasing else -_pool(-x)
    return _like(fitted, values) if isinstance(values, pd.Series) else fitted


def _pool(x: Floats) -> Floats:
    """Non-decreasing least-squares fit, shape (n,)."""
    means: list[float] = []
    sizes: list[int] = []
    for value in x.tolist():
        mean, size = value, 1
        while means and means[-1] >= mean:  # pooled with the block before
            before, many = means.pop(), sizes.pop()
            mean, size = (before * many + mean * size) / (many + size), many + size
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, dtype=np.float64), np.array(sizes, dtype=np.intp))


def _numbers(values: Any, name: str, kinds: Any = pd.Series) -> Floats:
    """Values as float64, shape (n,); they come as a Series, or as one of other kinds."""
    try:
        x = np.asarray(values if isinstance(values, kinds) else None)
    except ValueError:  # lists of different lengths
        x = np.array(None)
    if x.ndim != 1 or x.dtype.kind not in "iuf" or not np.isfinite(x).all():
        raise ArgumentTypeError(f"{name}() works on released numbers, such as those of histogram('age', bins=...)")
    return x.astype(np.float64)


def _total(total: Any, name: str) -> float:
    """Return a public total as a float."""
    # a duration of NumPy is one of its integers
    if isinstance(total, bool | np.timedelta64) or not isinstance(total, int | float | np.integer):
        raise ArgumentTypeError(f"total must be a public number, such as {name}(total=1000)")
    if not -MOST_TOTAL < total < MOST_TOTAL:
        raise ArgumentValueError(f"total must be finite and below 2**53, such as {name}(total=1000)")
    return float(total)


def _like(x: NDArray[Any], values: pd.Series[Any]) -> pd.Series[Any]:
    """Return a plain Series on the index of another one."""
    return pd.Series(x, index=values.index, name=values.name)
