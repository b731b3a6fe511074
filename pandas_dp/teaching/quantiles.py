"""NOT PRIVATE: local, smooth and global sensitivity of a quantile side by side, to teach with public toy numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.core.privacy import NeighboringRelation
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.public_only import listed
from pandas_dp.teaching.public import MARK, axes_for, public_numbers

LINE = "sensitivities([1, 2, 3], bounds=(0, 10), beta=1)"
SHOWN = 20  # values in a repr

Window = tuple[int, int]
"""Ranks of the left and the right end, from 0 (the lower bound) to n + 1 (the upper one)."""


@dataclass(frozen=True, repr=False)
class Sensitivities:
    """NOT PRIVATE: what one value more, fewer or other does to a quantile, here, nearby and anywhere.

    Attributes
    ----------
    values : tuple of Fraction, shape (n,)
        Ascending, clipped to the bounds.
    bounds : tuple of two Fractions
    q, beta : Fraction
    relation : str
        ``"add_remove"`` or ``"replace_one"``.
    value : Fraction
        f(x), the value of rank ceil(q n), at least 1: for q = 1/2 the lower median.
    local_sensitivity : Fraction
        The farthest that one step moves f from here.
    windows : tuple of (int, int), shape (n + 1,)
        For each distance k the ranks i <= j with A(k) = x_j - x_i; rank 0 is the lower bound, n + 1 the upper one.

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> found = teaching.sensitivities([0] * 6 + [9] * 4, bounds=(0, 9), beta=0.5, relation="replace_one")
    >>> float(found.local_sensitivity), found.k, round(found.smooth_sensitivity, 2)
    (0.0, 1, 5.46)
    """

    values: tuple[Fraction, ...]
    bounds: tuple[Fraction, Fraction]
    q: Fraction
    beta: Fraction
    relation: NeighboringRelation
    value: Fraction
    local_sensitivity: Fraction
    windows: tuple[Window, ...]

    @property
    def global_sensitivity(self) -> Fraction:
        """The farthest that one step moves f anywhere: the width of the bounds."""
        return self.bounds[1] - self.bounds[0]

    @property
    def largest(self) -> tuple[Fraction, ...]:
        """A(k) for k = 0, ..., n: the largest local sensitivity at distance k, shape (n + 1,)."""
        x = (self.bounds[0], *self.values, self.bounds[1])
        return tuple(x[j] - x[i] for i, j in self.windows)

    @property
    def k(self) -> int:
        """The distance at which the smooth sensitivity is attained; of several the smallest."""
        logs = self._logs
        return logs.index(max(logs))

    @property
    def smooth_sensitivity(self) -> float:
        """S* = max of exp(-beta k) A(k); 0.0 where it is below the least float, though it never is 0."""
        return _weighted(self.largest[self.k], self.beta, self.k)

    @property
    def exact(self) -> bool:
        """Whether A(k) is the very largest local sensitivity, or for q other than 1/2 under add_remove a bound."""
        return self.relation is NeighboringRelation.REPLACE_ONE or self.q == Fraction(1, 2)

    @property
    def _logs(self) -> list[float]:
        """Logarithms of exp(-beta k) A(k): the exponentials themselves may underflow, shape (n + 1,)."""
        beta = float(self.beta)
        return [_log(a) - beta * k for k, a in enumerate(self.largest)]

    def table(self) -> pd.DataFrame:
        """NOT PRIVATE: A(k), exp(-beta k) A(k) and the ends of the widest window.

        Returns
        -------
        DataFrame
            One row for each distance k.

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> teaching.sensitivities([1, 2, 3, 4], bounds=(0, 9), beta=0.5).table().columns.tolist()
        ['A(k)', 'exp(-beta k) A(k)', 'from', 'to']
        """
        x, largest = (self.bounds[0], *self.values, self.bounds[1]), self.largest
        columns = {
            "A(k)": [float(a) for a in largest],
            "exp(-beta k) A(k)": [_weighted(a, self.beta, k) for k, a in enumerate(largest)],
            "from": [float(x[i]) for i, _ in self.windows],
            "to": [float(x[j]) for _, j in self.windows],
        }
        return pd.DataFrame(columns).rename_axis(columns=f"{MARK}, k")

    def plot(self, axes: Any = None) -> Any:
        """NOT PRIVATE: draw the values with the window that attains S*, and exp(-beta k) A(k) over k.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, optional
            A new figure where left out.

        Returns
        -------
        sequence of two matplotlib Axes

        Raises
        ------
        ImportError
            Without matplotlib; the text says what to install.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from pandas_dp import teaching
        >>> found = teaching.sensitivities([1, 2, 3, 4], bounds=(0, 9), beta=0.5)
        >>> found.plot(Figure().subplots(2))[0].get_title()
        'NOT PRIVATE: the exact values and their sensitivities'
        """
        found = axes_for(axes, 2, 5)
        _draw_line(self, found[0])
        _draw_distances(self, found[1])
        return found if axes is None else axes

    def __repr__(self) -> str:
        """Everything in words, marked."""
        shown = ", ".join(f"{float(v):g}" for v in self.values[:SHOWN]) + (", ..." if len(self.values) > SHOWN else "")
        smooth = self.smooth_sensitivity
        lines = {
            f"{len(self.values)} sorted values": shown,
            self._name: f"{float(self.value):g}",
            "local sensitivity": f"{float(self.local_sensitivity):g}",
            "smooth sensitivity": (f"{smooth:.6g}" if smooth else f"exp({max(self._logs):.6g})") + f" at k = {self.k}",
            "global sensitivity": f"{float(self.global_sensitivity):g}",
        }
        head = (
            f"{MARK}: sensitivities under {self.relation}, beta = {float(self.beta):g}, all of them facts of the data"
        )
        bound = "" if self.exact else f"\n  (A(k) is an upper bound for q = {float(self.q):g} under add_remove)"
        return "\n".join([head, *(f"  {name:<18}  {text}" for name, text in lines.items())]) + bound

    @property
    def _name(self) -> str:
        return "lower median" if self.q == Fraction(1, 2) else f"quantile {float(self.q):g}"


@example(LINE)
def sensitivities(values: Any, bounds: Any, q: Any = 0.5, *, beta: Any, relation: str = "add_remove") -> Sensitivities:
    """NOT PRIVATE: local, smooth and global sensitivity of a quantile of PUBLIC numbers.

    Parameters
    ----------
    values : list, array or Series of numbers
        At most 500, without missing ones. Everything that comes out is made of them, so they must be public: toy numbers,
        never rows of a table that is to be protected, never inside a session. A protected frame and its columns are
        refused, but a list, an array or a changed copy of a column cannot be recognised.
    bounds : (lower, upper)
        Values beyond count at the ends.
    q : number
        Level of the quantile, 0.5 for the lower median.
    beta : number
        How smooth S* has to be: positive.
    relation : {"add_remove", "replace_one"}

    Returns
    -------
    Sensitivities

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also for a protected frame and its columns.

    Notes
    -----
    f(x) is the value x_r of rank r(n) = max(1, ceil(q n)); x_i is the lower bound for i < 1 and the upper one for i > n;
    f of no values is the lower bound, r(0) = 0. A(k) is the largest local sensitivity of all tables k steps away:

    * *replace_one:* the widest window x_j - x_i of k + 1 gaps, j = i + k + 1, with i <= r <= j. Moving k values away
      merges k + 1 gaps, so neighbouring gaps alone are not enough.
    * *add_remove:* x_h - x_l with m = k + 1 and l = r(n - m), h = r(n + m) for q >= 1/2, otherwise l = r(n + m) - m,
      h = r(n - m) + m: the range of f over all tables m steps away. For q = 1/2 it is A(k), else an upper bound of it.

    S* = max over k = 0, ..., n of exp(-beta k) A(k): the least bound of local sensitivity whose values for neighbours differ
    by at most a factor exp(beta). Fractions throughout; floats only in what is shown.
    Source: Nissim, Raskhodnikova, Smith 2007, Section 3.1 (replace_one).

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> teaching.sensitivities(range(1, 11), bounds=(0, 1000), beta=2, relation="replace_one")
    NOT PRIVATE: sensitivities under replace_one, beta = 2, all of them facts of the data
      10 sorted values    1, 2, 3, 4, 5, 6, 7, 8, 9, 10
      lower median        5
      local sensitivity   1
      smooth sensitivity  1 at k = 0
      global sensitivity  1000
    >>> teaching.sensitivities([0] * 6 + [9] * 4, bounds=(0, 9), beta=0.5, relation="replace_one").table().round(2).head(3)
    NOT PRIVATE, k  A(k)  exp(-beta k) A(k)  from   to
    0                0.0               0.00   0.0  0.0
    1                9.0               5.46   0.0  9.0
    2                9.0               3.31   0.0  9.0
    """
    lower, upper = _bounds(bounds)
    levels, scalar = numbers.quantiles(q)
    if not scalar:
        raise ArgumentTypeError(f"q must be one number, such as q=0.5: {LINE}")
    if not isinstance(relation, str) or relation not in tuple(NeighboringRelation):
        raise ArgumentValueError("relation must be 'add_remove' or 'replace_one'")
    smoothness = exact_number(beta, "beta")
    if not 0 < smoothness <= 10**6:
        raise ArgumentValueError(f"beta must be positive and at most 1e6: {LINE}")
    level, chosen = levels[0], NeighboringRelation(relation)
    # shape (n,)
    x = tuple(sorted(min(max(v, lower), upper) for v in public_numbers(values, "values", "sensitivities", LINE)))
    ends = (lower, *x, upper)  # by rank, shape (n + 2,)
    replaced = chosen is NeighboringRelation.REPLACE_ONE
    moved, widest = (_replaced, _widest_windows) if replaced else (_added_or_removed, _balls)
    value = ends[_rank(level, len(x))]
    local = max(abs(value - ends[rank]) for rank in moved(level, len(x)))
    return Sensitivities(x, (lower, upper), level, smoothness, chosen, value, local, tuple(widest(ends, level)))


def _rank(q: Fraction, n: int) -> int:
    """r(n): ceil(q n), at least 1; 0 for n = 0."""
    return max(1, math.ceil(q * n)) if n else 0


def _replaced(q: Fraction, n: int) -> list[int]:
    """Ranks of the farthest values that f takes after one value was replaced: a low one for a high one, or reversely."""
    r = _rank(q, n)
    return [r - 1, r + 1]


def _added_or_removed(q: Fraction, n: int) -> list[int]:
    """Ranks, in the present order, of the values that f takes after one value at an end was added, or any was removed."""
    more, fewer = _rank(q, n + 1), _rank(q, n - 1)
    return [more - 1, more, fewer, fewer + 1] if fewer else [more - 1, more, 0]


def _widest_windows(ends: Sequence[Fraction], q: Fraction) -> Iterable[Window]:
    """Widest window of k + 1 gaps around the value, for k = 0, ..., n. Beyond the bounds there are no gaps."""
    n = len(ends) - 2
    r = _rank(q, n)
    for width in range(1, n + 2):
        windows = ((max(i, 0), min(i + width, n + 1)) for i in range(r - width, r + 1))
        yield max(windows, key=lambda window: ends[window[1]] - ends[window[0]])


def _balls(ends: Sequence[Fraction], q: Fraction) -> Iterable[Window]:
    """Range of f over all tables at most k + 1 steps away, for k = 0, ..., n."""
    n = len(ends) - 2
    for m in range(1, n + 2):
        fewer, more = _rank(q, n - m if m < n else 0), _rank(q, n + m)
        low, high = (fewer, more) if 2 * q >= 1 else (more - m, fewer + m)
        yield max(low, 0), min(high, n + 1)


def _log(a: Fraction) -> float:
    """Logarithm of any fraction, -inf for 0."""
    return math.log(a.numerator) - math.log(a.denominator) if a else -math.inf


def _weighted(a: Fraction, beta: Fraction, k: int) -> float:
    return float(a) * math.exp(-float(beta) * k)


def _bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    if not listed(bounds) or not isinstance(bounds, Sequence | np.ndarray):
        raise ArgumentTypeError(f"bounds must be a pair of numbers: {LINE}")
    if len(bounds) != 2:
        raise ArgumentValueError(f"bounds must be a pair of numbers: {LINE}")
    lower, upper = (exact_number(bound, "bounds") for bound in bounds)
    if not lower < upper:
        raise ArgumentValueError(f"bounds must be a lower end and a larger upper one, in this order: {LINE}")
    return lower, upper


def _draw_line(found: Sensitivities, ax: Any) -> None:
    """Draw the sorted values, equal ones above each other, and the window whose width counts."""
    x = [float(v) for v in (found.bounds[0], *found.values, found.bounds[1])]
    i, j = found.windows[found.k]
    heights = [0]
    for before, value in pairwise(x[1:-1]):
        heights.append(heights[-1] + 1 if value == before else 0)
    gaps = f"k = {found.k}, width {x[j] - x[i]:g}"
    ax.axvspan(x[i], x[j], alpha=0.2, color="tab:orange", label=f"window that attains S* ({gaps})")
    ax.plot(x[1:-1], heights, "o", color="tab:blue", label="values")
    ax.axvline(float(found.value), color="tab:green", label=f"f(x) = {float(found.value):g}, the {found._name}")
    left, right = min(x[1], x[i]), max(x[-2], x[j])
    room = (right - left or x[-1] - x[0]) / 20
    ax.set(xlim=(left - room, right + room), ylim=(-0.5, max(heights) + 1.5))
    ax.set(xlabel=f"values within {x[0]:g} to {x[-1]:g}", yticks=[])
    ax.legend(fontsize="small")
    ax.set_title(f"{MARK}: the exact values and their sensitivities", fontsize="medium")


def _draw_distances(found: Sensitivities, ax: Any) -> None:
    """Draw what each distance contributes, linear up to S* and by powers of ten beyond."""
    weighted = [_weighted(a, found.beta, k) for k, a in enumerate(found.largest)]
    smooth, local, whole = found.smooth_sensitivity, float(found.local_sensitivity), float(found.global_sensitivity)
    ax.bar(range(len(weighted)), weighted, color="tab:orange", alpha=0.5)
    ax.plot([found.k], [smooth], "o", color="tab:orange", label=f"S* = {smooth:.4g}, at k = {found.k}")
    ax.axhline(local, color="tab:green", linestyle="--", label=f"local sensitivity {local:g}")
    ax.axhline(whole, color="tab:red", linestyle="--", label=f"global sensitivity {whole:g}")
    if smooth:
        ax.set_yscale("symlog", linthresh=smooth)  # local sensitivity may be 0
    ax.set_yticks([0, smooth, whole], ["0", f"{smooth:.3g}", f"{whole:g}"])
    ax.minorticks_off()
    ax.set_ylim(0, 30 * whole)  # room for the legend
    ax.set(xlabel=f"distance k ({found.relation})", ylabel=f"exp(-{float(found.beta):g} k) A(k)")
    ax.legend(fontsize="small", loc="upper right", ncols=3)
