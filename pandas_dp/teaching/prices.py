"""NOT PRIVATE: the revenue of every price, and how the exponential mechanism tilts towards the best of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.errors import ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.numbers import typed
from pandas_dp.teaching.public import MARK, axes_for, positive, public_numbers

LINE = "revenue([100, 100, 100, 401], upper=500, epsilon=1)"
NEARLY_FLAT = 1e-4  # below, the mean of a tilted piece is taken from its series
POINTS = 400  # of a drawn piece


@dataclass(frozen=True)
class Piece:
    """Prices in (low, high], at which the same number of items is sold."""

    low: Fraction
    high: Fraction
    sold: int


@dataclass(frozen=True, repr=False)
class Revenue:
    """NOT PRIVATE: revenue at each price in (0, upper], and the law of a price that is chosen by it.

    Attributes
    ----------
    bids : tuple of Fraction, shape (n,)
        Ascending.
    upper, epsilon : Fraction
    supply : int or None
        Items for sale; None: as many as are asked for.
    pieces : tuple of Piece
        Between two bids revenue is linear: price times items sold.

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> found = teaching.revenue([100, 100, 100, 401], upper=500, epsilon=10)
    >>> [float(found.at(price)) for price in (100, 101, 401, 402)], float(found.optimum)
    ([400.0, 101.0, 401.0, 0.0], 401.0)
    """

    bids: tuple[Fraction, ...]
    upper: Fraction
    epsilon: Fraction
    supply: int | None
    pieces: tuple[Piece, ...]

    @property
    def rate(self) -> Fraction:
        """The rate c = epsilon / upper: a bid moves every revenue by at most upper, and all of them in one direction."""
        return self.epsilon / self.upper

    @property
    def optimum(self) -> Fraction:
        """OPT: the highest revenue."""
        return max(piece.high * piece.sold for piece in self.pieces)

    def at(self, price: Any) -> Fraction:
        """NOT PRIVATE: revenue at one price.

        Parameters
        ----------
        price : number
            In (0, upper].

        Returns
        -------
        Fraction

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> found = teaching.revenue([3, 4], upper=5, epsilon=1, supply=1)
        >>> float(found.at(3)), float(found.at(4))
        (3.0, 4.0)
        """
        asked = self._price(price, ".at(100)")
        return next(asked * piece.sold for piece in self.pieces if piece.low < asked <= piece.high)

    def probability(self, low: Any, high: Any) -> float:
        """NOT PRIVATE: the chance that the exponential mechanism chooses a price in (low, high].

        Parameters
        ----------
        low, high : number
            In 0..upper.

        Returns
        -------
        float

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> found = teaching.revenue([100, 100, 100, 401], upper=500, epsilon=100)
        >>> round(found.probability(90, 100), 3), round(found.probability(390, 401), 3)
        (0.17, 0.738)
        """
        line = ".probability(90, 100)"
        start, end = typed(line, exact_number, low, "low"), self._price(high, line)
        if not 0 <= start < end:
            raise ArgumentValueError(f"low must be at least 0 and below high: {line}")
        cut = [Piece(max(p.low, start), min(p.high, end), p.sold) for p in self.pieces]
        logs = [self._log_mass(piece) for piece in cut if piece.low < piece.high]
        return math.exp(_log_sum(logs) - self._log_total)

    @property
    def expected(self) -> float:
        """Expected revenue of the chosen price."""
        found = 0.0
        for piece in self.pieces:
            found += math.exp(self._log_mass(piece) - self._log_total) * piece.sold * self._mean(piece)
        return found

    @property
    def promised(self) -> float:
        """What the theorem promises of it: OPT - 3 ln(e + epsilon^2 m OPT) / epsilon with prices in units of upper, or 0.

        m is the number of items sold at the best price (McSherry, Talwar 2007, Section 4; with their exponent epsilon times
        revenue, which costs epsilon as all revenues move together).
        """
        best = max(self.pieces, key=lambda piece: piece.high * piece.sold)
        price, scaled = float(self.epsilon), float(self.optimum / self.upper)
        short = 3 * math.log(math.e + price**2 * scaled * best.sold) / price
        return float(self.upper) * max(0.0, scaled - short)

    def table(self) -> pd.DataFrame:
        """NOT PRIVATE: each piece of the curve.

        Returns
        -------
        DataFrame
            Columns: above and up to, the prices; sold; revenue, at the upper end; chance.

        Examples
        --------
        >>> from pandas_dp import teaching
        >>> teaching.revenue([3, 4], upper=5, epsilon=10).table().round(3)
        NOT PRIVATE  above  up to  sold  revenue  chance
        0              0.0    3.0     2      6.0   0.969
        1              3.0    4.0     1      4.0   0.031
        2              4.0    5.0     0      0.0   0.000
        """
        columns = {
            "above": [float(p.low) for p in self.pieces],
            "up to": [float(p.high) for p in self.pieces],
            "sold": [p.sold for p in self.pieces],
            "revenue": [float(p.high * p.sold) for p in self.pieces],
            "chance": [math.exp(self._log_mass(p) - self._log_total) for p in self.pieces],
        }
        return pd.DataFrame(columns).rename_axis(columns=MARK)

    def plot(self, axes: Any = None) -> Any:
        """NOT PRIVATE: draw revenue over the price, and the density exp(c revenue) to which it tilts the choice.

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
        >>> teaching.revenue([3, 4], upper=5, epsilon=1).plot(Figure().subplots(2))[1].get_ylabel()
        'density'
        """
        curve, tilt = axes_for(axes, 2, 5)
        for piece in self.pieces:
            prices = np.linspace(float(piece.low), float(piece.high), POINTS)
            curve.plot(prices, prices * piece.sold, color="tab:blue")
            density = np.exp(float(self.rate) * piece.sold * prices - self._log_total)
            tilt.plot(prices, density, color="tab:orange")
        curve.axhline(float(self.optimum), color="tab:green", linestyle="--", label=f"OPT = {float(self.optimum):g}")
        curve.axhline(self.expected, color="tab:orange", linestyle="--", label=f"expected {self.expected:.4g}")
        curve.legend(fontsize="small")
        curve.set(ylabel="revenue")
        curve.set_title(f"{MARK}: revenue, and the choice at epsilon {float(self.epsilon):g}", fontsize="medium")
        tilt.set(xlabel="price", ylabel="density", ylim=(0, None))
        return [curve, tilt] if axes is None else axes

    def __repr__(self) -> str:
        """The table and what is to be expected, marked."""
        head = f"{MARK}: revenue of {len(self.bids)} bids, prices up to {float(self.upper):g}"
        return (
            f"{head}, epsilon {float(self.epsilon):g}\n{self.table().round(4).to_string()}\n"
            f"OPT {float(self.optimum):g}, expected {self.expected:.5g}, promised {self.promised:.5g}"
        )

    def _price(self, value: Any, line: str) -> Fraction:
        asked = positive(value, "a price", line, 10**300)
        if asked > self.upper:
            raise ArgumentValueError(f"a price must be at most upper = {float(self.upper):g}: {line}")
        return asked

    def _log_mass(self, piece: Piece) -> float:
        """Logarithm of the integral of exp(c price sold) over a piece."""
        slope, width = float(self.rate * piece.sold), float(piece.high - piece.low)
        if slope == 0:
            return math.log(width)
        return slope * float(piece.high) + math.log(-math.expm1(-slope * width) / slope)

    @property
    def _log_total(self) -> float:
        return _log_sum([self._log_mass(piece) for piece in self.pieces])

    def _mean(self, piece: Piece) -> float:
        """Mean price of a density that grows like exp(slope price) within a piece."""
        slope, width = float(self.rate * piece.sold), float(piece.high - piece.low)
        if slope * width < NEARLY_FLAT:
            return float(piece.high) - width / 2 + slope * width**2 / 12
        behind = math.exp(-slope * width)
        return float(piece.high) - 1 / slope + width * behind / -math.expm1(-slope * width)


@example(LINE)
def revenue(bids: Any, *, upper: Any, epsilon: Any, supply: Any = None) -> Revenue:
    """NOT PRIVATE: the revenue curve of PUBLIC bids, and the tilt exp(c revenue) of the exponential mechanism.

    Parameters
    ----------
    bids : list, array or Series of numbers
        At most 500; who bids 5 buys at every price up to 5. They must be public: toy numbers.
    upper : number
        Largest price; prices are all numbers in (0, upper].
    epsilon : number
    supply : int, optional
        Items for sale: 1 for an auction of one item. As many as are asked for where left out.

    Returns
    -------
    Revenue

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        Also for a protected column.

    Notes
    -----
    Revenue at r is r times the number of bids of at least r, or `supply` if that is less. A price is chosen with density
    proportional to exp(c revenue), c = epsilon / upper, which is epsilon-differentially private under add_remove and
    replace_one: one bid moves all revenues in the same direction, by at most upper. If the bids themselves were the list of
    prices, it would reveal them. ``best_price`` takes a public list of prices. It chooses by this distribution if the session
    has a delta, and otherwise by permute-and-flip. Source: McSherry, Talwar 2007, Section 4.

    Examples
    --------
    >>> from pandas_dp import teaching
    >>> teaching.revenue([100, 100, 100, 401], upper=500, epsilon=100)
    NOT PRIVATE: revenue of 4 bids, prices up to 500, epsilon 100
    NOT PRIVATE  above  up to  sold  revenue  chance
    0              0.0  100.0     4    400.0  0.1699
    1            100.0  401.0     1    401.0  0.8301
    2            401.0  500.0     0      0.0  0.0000
    OPT 401, expected 395.83, promised 266.15
    """
    found = sorted(public_numbers(bids, "bids", "revenue", LINE))
    top, price = positive(upper, "upper", LINE, 10**300), positive(epsilon, "epsilon", LINE)
    items = None if supply is None else typed(LINE, numbers.positive_int, supply, "supply")
    ends = [Fraction(0), *sorted({bid for bid in found if 0 < bid < top} | {top})]
    pieces = []
    for low, high in pairwise(ends):
        asked = sum(bid >= high for bid in found)
        pieces.append(Piece(low, high, asked if items is None else min(asked, items)))
    return Revenue(tuple(found), top, price, items, tuple(pieces))


def _log_sum(logs: Sequence[float]) -> float:
    most = max(logs)
    return most + math.log(sum(math.exp(log - most) for log in logs))
