"""Questions answered by a choice: the most common keys, the best price, and candidates with scores of one's own."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.choices import GRID, MOST_PRICES, BestPrice, SelectByFrame, SelectByRows, TopK, on_one_unit
from pandas_dp.aggregates.keys import FoundTop, KeyColumn
from pandas_dp.aggregates.quantiles import Mode
from pandas_dp.core.lattice import SUM_BITS, Lattice
from pandas_dp.core.privacy import show
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, told
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import of_text
from pandas_dp.facts.call import LEFT_OUT, MOST_LISTED
from pandas_dp.facts.kinds import exact_number, is_missing
from pandas_dp.facts.public_only import EXAMPLES, listed, python
from pandas_dp.questions.found_keys import finds
from pandas_dp.questions.function_trial import ZERO, made_up, no_number, rehearse
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.unknown_names import in_own_columns
from pandas_dp.release.values import FloatRelease, SeriesRelease
from pandas_dp.steps.expression import Expression
from pandas_dp.steps.parse import parse_expression
from pandas_dp.steps.values import Kind, family

MOST_CANDIDATES = 100_000
MOST_WEIGHT = 1 << 62  # of the integers that weights become, together
PLAIN = (str, bool, int, float, Decimal, Fraction, dt.date, dt.timedelta)  # Timestamp and Timedelta are among them
LARGEST = Fraction(10) ** 250
SMALLEST_PRICE, LARGEST_PRICE = 1e-250, 1e250


class ChoiceQuestions(PreparedFrame):
    """The questions of a priced frame that are answered by a choice."""

    __slots__ = ()

    def mode(self, column: str, *, keys: Any = None) -> Any:
        """Return the most common of the listed keys.

        Parameters
        ----------
        column : str
        keys : list, optional
            Listed values; from the schema if left out. Never from the data: see ``unique``. Other values are ignored. Without
            a list, and with a ``delta`` in the price, keys are discovered: see the notes.

        Returns
        -------
        Release
            The key. ``interval`` says how far its count may be below the largest; for discovered keys this is not known. None
            if no key was discovered.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Permute-and-flip on the counts (exponential mechanism where the session has delta > 0). Under add_remove all
        counts move one way and the rate is epsilon / c, under replace_one epsilon / (2 c), c the rows of a unit in one
        key. Discovered keys: the whole price buys the noisy counts of ``value_counts``, with the same threshold. Only the key
        with the largest noisy count is released. Source: McKenna, Sheldon 2020; McSherry, Talwar 2007.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"city": ["Ulm"] * 500 + ["Bonn"] * 900})
        >>> session = df.dp.protect(epsilon=1, name="mode example")
        >>> df.dp(epsilon=0.5).mode("city", keys=["Bonn", "Ulm"]).value
        'Bonn'
        """
        if finds(self, "mode", column, keys):
            return self._ask(self._text(), FoundTop((KeyColumn(column, self._kind(column)),)), (column,))
        keyed, _ = self._keys("mode", column, keys, False, False)
        return self._ask(self._text(keys=keyed.keys), Mode(keyed), (column,))

    def top_k(self, column: str, k: int, *, keys: Any = None) -> SeriesRelease:
        """Return the k most common of the listed keys, the most common first.

        Parameters
        ----------
        column : str
        k : int
            At most the number of keys.
        keys : list, optional
            Listed values; from the schema if left out. Other values are ignored. Without a list, and with a ``delta`` in the
            price, keys are discovered as by ``mode``; there may be fewer than k.

        Returns
        -------
        Release
            A Series of keys with index 1..k, named "rank". ``interval`` says how far each key's count may be below the true
            count of its rank, for all ranks together. The counts themselves are not released.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        k choices as by ``mode``, each at epsilon / k among the keys that are left: permute-and-flip, or the exponential
        mechanism if the session has delta > 0. With probability 1 - a, the counts of all ranks are off by less than (k / rate)
        (ln keys + ln k + ln(1/a)). The rate is epsilon / c under add_remove and epsilon / (2 c) under replace_one, where c is
        the number of rows of a unit in one key. Source: McKenna, Sheldon 2020; Durfee, Rogers 2019.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"state": ["NY"] * 3000 + ["CA"] * 2000 + ["WA"] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="top_k example")
        >>> df.dp(epsilon=1).top_k("state", k=2, keys=["CA", "NY", "TX", "WA"]).tolist()
        ['NY', 'CA']
        """
        if finds(self, "top_k", column, keys):
            most = numbers.positive_int(k, "k")
            return self._ask(self._text(), FoundTop((KeyColumn(column, self._kind(column)),), k=most), (column,))
        keyed, labels = self._keys("top_k", column, keys, False, False)
        if numbers.positive_int(k, "k") > keyed.count:
            raise ArgumentValueError(f"k must be at most the number of keys, {keyed.count:,}: k={keyed.count}")
        return self._ask(self._text(keys=keyed.keys), TopK(keyed, labels, int(k)), (column,))

    def best_price(
        self, column: str, *, prices: Any = None, bounds: Any = None, supply: int | None = None
    ) -> FloatRelease:
        """Return the revenue-maximising price: price times the number of bids of at least that price.

        Parameters
        ----------
        column : str
            The bids. They are not clipped: a bid above all prices buys at each. Missing bids, and those of 0 or less, buy
            nothing.
        prices : list of number, optional
            Public prices to choose from, positive; floats stand for their decimals. ``pandas_dp.geometric_prices`` makes a
            list.
        bounds : (0, highest), optional
            In place of prices: the candidates are all multiples of highest / 2**16 up to the highest price. From the schema if
            both are left out.
        supply : int, optional
            How many can be sold; no limit by default.

        Returns
        -------
        Release
            The price, a float. ``interval`` says how far its revenue may be below the largest, in the unit of the bids, and
            ``notes`` how far it is on average. The revenue itself is not shown: ask ``query("bid >= 20").count()`` for it.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Permute-and-flip (exponential mechanism if the session has delta > 0) on exact revenues, with rate epsilon / (k P).
        Here k is ``max_rows`` (at most the supply) and P the highest price: one unit changes the difference of two revenues by
        at most k P, under add_remove and replace_one alike. With probability 1 - a the revenue is within (k P / epsilon)
        (ln(prices) + ln(1/a)) of the best on the list, on average within (k P / epsilon) ln(prices). With ``bounds=`` the
        average is also at least OPT - (3 k P / epsilon) ln(e + (epsilon / k)^2 OPT m / P), OPT the largest revenue on the grid
        and m the items sold there (McSherry, Talwar 2007, Theorem 9, for k = P = 1); any price of (0, P] at which M items are
        sold earns at most M P / 2**16 more than the grid price below it. Noise added to the best price itself would be
        useless: one step above what a bidder pays, all revenue is lost. Source: McSherry, Talwar 2007; McKenna, Sheldon 2020.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"bid": [4, 10, 10, 25] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="best_price example")
        >>> df.dp(epsilon=1).best_price("bid", prices=[2, 4, 10, 25]).value
        10.0
        """
        kind = self._kind(column)
        if kind.name != "number":
            none = f"{column!r} holds none{of_text(kind, column)}"
            raise ArgumentTypeError(f"best_price() needs a column of numbers, and {none}")
        sold = None if supply is None else numbers.positive_int(supply, "supply")
        if prices is not None and bounds is not None:
            raise Line("leave bounds= out", (("bounds", ""),)).refuse("give either prices= or bounds=, not both")
        if prices is None:
            bounds = self._facts(column).bounds if bounds is None else bounds
            highest = _highest(bounds)
            aggregate = BestPrice(column, range(1, GRID + 1), highest / GRID, sold)
            resolved: dict[str, Any] = {"bounds": bounds}
        else:
            aggregate = BestPrice(column, *_price_list(prices), sold)
            resolved = {"prices": _written(aggregate), "bounds": LEFT_OUT}
        return self._ask(self._text(**resolved), aggregate, (column,))

    def select(
        self,
        candidates: Any,
        *,
        score: str | Callable[[Any, Any], Any],
        cap: Any = 1,
        sensitivity: Any = None,
        weights: Any = None,
    ) -> Any:
        """Return one of the candidates with a high total score.

        Parameters
        ----------
        candidates : list
            Public values (numbers, texts, dates, or tuples of them), each once.
        score : str or callable
            Score of one row for one candidate: a text with the name ``candidate`` in it, such as ``"bid >= candidate"``, or
            ``lambda d, candidate: d.bid >= candidate``. Both are read as ``query`` and ``filter`` read them, so the score of a
            row depends on that row alone. A true condition scores 1; a missing score counts as the lowest. A score is refused
            if, on four made-up rows with numbers from 1 to 4, it is clipped by `cap` to the same value for all candidates.
            With ``sensitivity``: a function of a whole table and a candidate that returns a number. It runs on a copy of the
            rows; an exception, or a result that is not a finite number, counts as 0. It is first tried on a made-up table, as
            in ``sample_and_aggregate``.
        cap : number or (lower, upper)
            The largest score of a row, if the lowest is 0; or both: ``cap=(-2, 0)``. Scores are clipped to this range.
        sensitivity : number, optional
            Your statement that one row more or fewer (under replace_one also a changed row, which may move it twice as far)
            moves the score of a whole table by at most this much, for all tables and candidates. Nothing checks it: the answer
            says so in ``assumes``. Such an answer is not stored.
        weights : list of number, optional
            Base measure: a positive weight for each candidate, together exactly 1.

        Returns
        -------
        Release
            The candidate. ``interval`` says how far its score may be below the largest. The score is not shown.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Each row's score less the least one is rounded to about cap / 2**30 and summed in integers; cap is upper - lower where
        both are given. A unit moves each total by at most ``max_rows`` cap, all in one direction under add_remove, so the rate
        is epsilon / (max_rows cap), half of it under replace_one. For a score of the whole table (rounded to sensitivity /
        2**20) the rate is epsilon / (2 max_rows sensitivity). Permute-and-flip, or the exponential mechanism where the session
        has delta > 0 or weights are given; with probability 1 - a the score is within (ln(1/m) + ln(1/a)) / rate of the best, m
        = 1 / candidates or the smallest weight. What a function of the whole table does beside returning a number cannot be
        stopped.
        Source: McSherry, Talwar 2007; McKenna, Sheldon 2020.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"hour": [7, 8, 8, 9, 17] * 1000})
        >>> session = df.dp.protect(epsilon=2, name="select example")
        >>> df.dp(epsilon=1).select([6, 8, 16], score="hour.between(candidate, candidate + 1)").value
        8
        >>> df.dp(epsilon=1).select([6, 8, 16], score=lambda d, c: -(d.hour - c).abs(), cap=(-24, 0)).value
        8
        """
        listed = _candidates(candidates)
        shares = None if weights is None else _weights(weights, len(listed))
        given = {} if weights is None else {"weights": tuple(weights)}
        if sensitivity is not None:
            if not callable(score):
                raise Line("leave sensitivity= out", (("sensitivity", ""),)).refuse(
                    "score must be a function of a table and a candidate where sensitivity= is given"
                )
            exact = positive(sensitivity, "sensitivity", EXAMPLES["sensitivity"])
            text = self._text(candidates=listed, cap=LEFT_OUT, **given)
            empty = self._empty()
            tried = rehearse(lambda table: score(table, listed[0]), empty.dtypes, no_number, "score", ZERO)
            return self._ask(text, SelectByFrame(listed, score, exact, shares, tried), tuple(empty.columns))
        ends = _range(cap)
        lattice = Lattice.between(*ends, SUM_BITS)
        trees = self._compiled(score, listed)
        _check_range(trees, self._empty(), *ends)
        read = tuple(sorted(frozenset().union(*(tree.columns() for tree in trees))))
        return self._ask(
            self._text(candidates=listed, cap=cap, **given), SelectByRows(listed, trees, lattice, shares), read
        )

    def _compiled(self, score: Any, candidates: tuple[Hashable, ...]) -> tuple[Expression, ...]:
        """The row-wise score of each candidate: no row is read."""
        empty = self._empty()
        if isinstance(score, str) and "candidate" in empty.columns:
            raise ArgumentValueError(
                "score names 'candidate', which is also a column: give a function, such as "
                "score=lambda d, candidate: d['candidate'] == candidate"
            )
        if not isinstance(score, str) and (not callable(score) or isinstance(score, pd.api.typing.Expression)):
            raise ArgumentTypeError("score must be text or a function of a table and a candidate")
        if isinstance(score, str) and "candidate" not in score and len(candidates) > 1:
            shown = "ward == candidate" if isinstance(candidates[0], str) else "age >= candidate"
            raise ArgumentValueError(
                f"score must depend on the candidate, and is summed over rows: score={in_own_columns(self, shown)!r}"
            )
        trees = tuple(_expression(score, candidate, empty) for candidate in candidates)
        if len(trees) > 1 and len(set(trees)) == 1:
            raise ArgumentValueError("score must depend on the candidate")
        return trees


def _expression(score: Any, candidate: Hashable, empty: pd.DataFrame) -> Expression:
    """The score of one candidate; what it refuses on the table without rows it refuses everywhere, and nowhere else."""
    of_table = (
        "" if isinstance(score, str) else ". One of the whole table needs its sensitivity: sensitivity=largest_change"
    )
    with told("score: ", of_table):
        if isinstance(score, str):
            tree = parse_expression(score, empty.columns, argument="score", constants={"candidate": candidate})
        else:
            tree = parse_expression(lambda d: score(d, candidate), empty.columns, argument="score")
        kind = tree.values(empty).kind
    if family(kind) is not Kind.NUMBER:
        raise ArgumentTypeError(f"score must give numbers or conditions, not {kind.value}")
    return tree


def _check_range(trees: tuple[Expression, ...], empty: pd.DataFrame, lower: Fraction, upper: Fraction) -> None:
    """Refuse scores that differ on made-up rows and are clipped to the same for all candidates: the choice would be a lot."""
    made = PandasView(made_up(empty.dtypes), {})
    try:
        raw = [made.computed(tree) for tree in trees]
    except PandasDPError:  # made-up text stands for objects and categories, of which it may ask more
        return
    known = [np.where(True if present is None else present, values.astype(float), np.nan) for values, present in raw]
    low, high = float(lower), float(upper)
    scores = np.nan_to_num(np.array(known), nan=low)  # shape (candidates, rows)
    cut = scores.clip(low, high)
    if (scores == scores[0]).all() or not (cut == cut[0]).all():
        return
    raise ArgumentValueError(
        f"score leaves {show(lower)}..{show(upper)} on made-up rows, and after clipping all candidates score the same: type "
        f"the range of your scores; on those rows it is cap=({scores.min() + 0:g}, {scores.max() + 0:g})"
    )


def _listed(given: Any, name: str, most: int) -> list[Any]:
    """A public list of at least one entry."""
    if not listed(given) or not isinstance(given, Sequence | np.ndarray | pd.Index):
        raise ArgumentTypeError(f"{name} must be a public list")
    if not 1 <= len(given) <= most:
        raise ArgumentValueError(f"{name} must hold between 1 and {most:,} values")
    return list(given)


def _candidates(given: Any) -> tuple[Hashable, ...]:
    listed = tuple(_plain(value) for value in _listed(given, "candidates", MOST_CANDIDATES))
    if len(set(listed)) != len(listed):
        raise ArgumentValueError("candidates must not hold a value twice")
    return listed


def _plain(value: Any) -> Hashable:
    """One candidate, of a type whose repr tells it from all others."""
    if isinstance(value, tuple):
        return tuple(_plain(entry) for entry in value)
    value = python(value)
    if not isinstance(value, PLAIN):
        raise ArgumentTypeError("candidates must be numbers, texts, dates or tuples of them")
    if is_missing(value):
        raise ArgumentValueError("candidates must not hold a missing value")
    return value


def _weights(given: Any, count: int) -> tuple[int, ...]:
    """Positive weights that add up to 1, as whole numbers."""
    line = numbers.halves(count)
    exact = numbers.shares(given, count, "candidate", line)
    bottom = math.lcm(*(weight.denominator for weight in exact))
    if bottom > MOST_WEIGHT:
        raise ArgumentValueError(f"weights must be whole numbers of 2**-62 or more: round them, such as {line}")
    return tuple(weight.numerator * (bottom // weight.denominator) for weight in exact)


def _exact(value: Any, argument: str, example: str) -> Fraction:
    """Exact number, or what to type instead."""
    return exact_number(value, argument, f", such as {argument}={example}")


def positive(value: Any, argument: str, example: str = "1") -> Fraction:
    """Exact positive number, of a size for which float64 can say how far an answer may be off at any price."""
    exact = _exact(value, argument, example)
    if not 1 / LARGEST <= exact <= LARGEST:
        raise ArgumentValueError(f"{argument} must be positive, between 1e-250 and 1e250, such as {argument}={example}")
    return exact


def _range(cap: Any) -> tuple[Fraction, Fraction]:
    """Exact ends of scores."""
    if not isinstance(cap, list | tuple):
        return Fraction(0), positive(cap, "cap", "1, or cap=(-2, 0) for scores below 0")
    line = "cap=(-2, 0)"
    if len(cap) != 2:
        raise ArgumentValueError(f"cap must be the largest score, or the least and the largest: {line}")
    lower, upper = (_exact(end, "cap", "(-2, 0)") for end in cap)
    size = max(abs(lower), abs(upper))
    if not lower < upper or size > LARGEST or upper - lower < size / 2**40:
        raise ArgumentValueError(f"cap must have the least score first, and the largest above it: {line}")
    return lower, upper


def _price_list(given: Any) -> tuple[tuple[int, ...], Fraction]:
    """Positive prices, rising, as whole numbers of one unit, and that unit."""
    exact = [_ratio(price) for price in _listed(given, "prices", MOST_PRICES)]
    if len(set(exact)) != len(exact):
        raise ArgumentValueError("prices must not hold a price twice")
    return on_one_unit(exact)


def _written(asked: BestPrice) -> tuple[float, ...]:
    """Prices as one types them, where they are few enough to be written out."""
    if len(asked.prices) > MOST_LISTED:
        return tuple(asked.prices)
    shown = [asked.price(steps) for steps in asked.prices]
    return tuple(int(price) if price.is_integer() else price for price in shown)


def _ratio(price: Any) -> tuple[int, int]:
    """Exact price in lowest terms; for plain numbers, of which there may be many, by the quick way."""
    if type(price) is int and 0 < price < LARGEST_PRICE:
        return price, 1
    if type(price) is float and SMALLEST_PRICE < price < LARGEST_PRICE:
        return Decimal(repr(price)).as_integer_ratio()
    return positive(price, "prices", "[1, 2, 5]").as_integer_ratio()


def _highest(bounds: Any) -> Fraction:
    """The end of public bounds that start at 0."""
    example = "bounds=(0, 500)"
    if bounds is None:
        raise ArgumentTypeError(
            "best_price() needs public prices, which must not come from the data: prices=[1, 2, 5] or bounds=(0, 500)"
        )
    pair = _listed(bounds, "bounds", 2)
    if len(pair) != 2 or exact_number(pair[0], "bounds") != 0:
        raise ArgumentValueError(f"bounds must be 0 and the highest price: {example}")
    return positive(pair[1], "bounds", "(0, 500)")
