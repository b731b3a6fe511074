"""Several answers in one call, pandas' agg and describe, also by how far off each may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Aggregate, Terms
from pandas_dp.aggregates.moments import Mean
from pandas_dp.aggregates.several import Part, Several
from pandas_dp.aggregates.summary import Summary, SummaryWithBars
from pandas_dp.aggregates.uncertainty import LEVEL
from pandas_dp.core.lattice import RANK_BITS, SUM_BITS
from pandas_dp.core.privacy import Price, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import of_text
from pandas_dp.facts.call import LEFT_OUT, bounds_text, value_text
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.facts.written import as_dict
from pandas_dp.questions.lacking import by_column
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.unknown_bounds import full
from pandas_dp.questions.wanted import AGG, BARRED, BOUNDED, FUNCTIONS, MOST_PARTS, Wanted, wanted_of
from pandas_dp.session.registry import table_of

MILLION = 10**6
FACTOR, HALVINGS = 1024.0, 24  # an error is searched between 1/1024 and 1024 times the wanted one, to 7 digits


def prices_for(total: Fraction, least: Callable[[float], list[Fraction]], line: str) -> list[Fraction]:
    """Prices that sum to the total, of some wanted errors, all times the least common factor that this pays for.

    The least epsilon for an error never rises as the error grows, so bisection finds the factor.

    Parameters
    ----------
    total : Fraction
    least : callable (factor)
        Least epsilon of each answer for its wanted error times a factor.
    line : str
        What to type instead.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        What `least` raises, and where no factor up to 1024 is enough.
    """
    low, high = 1 / FACTOR, 1.0
    found = least(high)
    if sum(found) > total:
        low, high = 1.0, FACTOR
        found = least(high)
        if sum(found) > total:
            raise ArgumentValueError(f"epsilon is too small for errors 1,000 times as large as within= says: {line}")
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        trial = least(middle)
        if sum(trial) <= total:
            high, found = middle, trial
        else:
            low = middle
    # what whole numbers of rows leave over makes every answer better in the same proportion
    step = total / MILLION
    prices = [max(step * (price * MILLION // sum(found)), price) for price in found]
    return [prices[0] + total - sum(prices), *prices[1:]]


class SeveralQuestions(PreparedFrame):
    """The questions of a priced frame with several answers."""

    __slots__ = ()
    _functions = FUNCTIONS

    def agg(
        self,
        func: Any = None,
        *,
        bounds: Any = None,
        weights: Any = None,
        within: Any = None,
        error_bar: bool = True,
        **named: Any,
    ) -> Any:
        """Ask several questions for one price, as pandas' agg.

        Parameters
        ----------
        func : dict of str to str or list of str
            By column: "count", "nunique", "sum", "mean", "var", "std", "median", "min" or "max", or a list of them.
        bounds : dict of str to (lower, upper), optional
            By column, as the single questions take them; from the schema if left out.
        weights : list of numbers, optional
            Share of the price for each answer, in the order written; they add up to 1. Equal if left out.
        within : list of numbers or Timedeltas, optional
            In place of weights: the wanted error of each answer, in that order and in its unit (for medians: ranks). The
            shares are chosen so that each error, if asked alone, is about the same multiple of the wanted one, as small as the
            price allows.
        error_bar : bool
            Two fifths of the share of a median, ``min`` or ``max`` buy its interval; see ``quantile``.
        **named : (column, function)
            Names of rows, as in pandas: ``agg(typical=("income", "median"))``.

        Returns
        -------
        Release
            A DataFrame of functions (names) by columns, NaN where nothing was asked; a Series by column if each has one
            function. ``table()`` shows each answer with its own interval.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Under add_remove and replace_one alike, the losses of all answers add up to the price, which is charged once. If two or
        more of "count", "sum", "mean", "var" and "std" are asked of one column, they are computed from the same two noisy sums
        (three with "var" or "std"), bought with all their shares. So the mean is the sum divided by the count, as shown,
        unless it is clipped to the bounds or there is less than one row; and "var" is the square of "std". Such counts are not
        rounded to whole rows. A unit with more than max_rows rows enters with its mean, max_rows times. ``sum`` uses the
        clipped total of a unit, so if units have several rows it is bought separately. No answer gets a larger standard
        deviation from sharing than it would have alone at its share. If it would, which may happen for "count" and "sum" under
        replace_one, with rho=, with a large share of the price or with hardly any noise, it is asked separately. So are all
        other functions, and everything with bounds="private". With ``within``, errors are those of 95 % intervals, and answers
        that share sums have smaller ones. The error of a mean is known in advance only if the number of rows is public: under
        replace_one, with one row per unit, without filter and groups. Missing values make it larger. Source: Kulesza, Suresh,
        Wang 2024; Fitzsimons, Honaker, Shoemate, Singhal 2024.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="agg example")
        >>> found = df.dp(epsilon=2).agg({"age": ["count", "mean"]}, bounds={"age": (0, 100)})
        >>> found.index.tolist(), found.columns.tolist()
        (['count', 'mean'], ['age'])
        >>> bool(44 < found.loc["mean", "age"] < 48)
        True
        """
        wanted, single = wanted_of(self, func, named)
        split = weights, within, error_bar
        parts, text = composed(self, lambda frame: frame, wanted, bounds, split, bool(named))
        return self._ask(text, Several(parts, single), tuple(dict.fromkeys(cell.column for cell in wanted)))

    def describe(self, columns: Any = None, *, bounds: Any = None, error_bar: bool = True) -> Any:
        """Count, mean, standard deviation, smallest and largest value and quartiles of columns of numbers.

        Parameters
        ----------
        columns : str or list of str, optional
            By default those that ``bounds`` names.
        bounds : (lower, upper), or dict of str to (lower, upper) for a list, optional
            From the schema where left out. Values are clipped to them.
        error_bar : bool
            Two fifths of the price of the quantiles buy their intervals; see ``quantile``.

        Returns
        -------
        Release
            As in pandas: a Series with "count", "mean", "std", "min", "25%", "50%", "75%", "max"; for a list, a DataFrame with
            these rows. ``table()`` shows the interval of each; without ``error_bar``, of the first three only.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Under either relation, columns get equal shares of the price. A quarter of a column's share buys three sums, from which
        count, mean and standard deviation are computed. The rest buys the five quantiles together, as ``quantile`` does. "min"
        and "max" are quantiles as close to the ends as the noise allows, see ``min``. With error bars, the five share the
        counts around them. Without, the notes say which quantiles they are, and how far ranks may be off. Source: Fitzsimons,
        Honaker, Shoemate, Singhal 2024; Kaplan, Schnapp, Stemmer 2022.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 10_000})
        >>> session = df.dp.protect(epsilon=5, name="describe example")
        >>> found = df.dp(epsilon=5).describe("age", bounds=(0, 100))
        >>> found.index.tolist()
        ['count', 'mean', 'std', 'min', '25%', '50%', '75%', 'max']
        >>> bool(45 < found["mean"] < 47)
        True
        """
        if isinstance(columns, str):
            summary = self._summary(columns, bounds, error_bar)  # checks the bounds
            return self._ask(self._text(bounds=self._bounds(columns, bounds)), summary, (columns,))
        if columns is None and isinstance(bounds, Mapping):
            columns = list(bounds)
        if columns is None:
            named = self._examples()[0][:2] or ["age"]
            lacking = [name for name in named if self._lacks(("bounds",), {"column": name})]
            pairs = f"{{{', '.join(f'{name!r}: (lower, upper)' for name in lacking)}}}"
            more = () if isinstance(bounds, str) or not lacking else (("bounds", pairs),)
            raise Line("describe(['age'], ...)", (("columns", repr(named)), *more)).refuse("describe() needs columns")
        names, given = by_column(self, "describe", columns, bounds)
        if len(names) > MOST_PARTS:
            raise ArgumentValueError(f"describe() takes at most {MOST_PARTS} columns")
        line = self._bounds_line("describe", names, given)
        asked = [self._summary(name, given.get(name), error_bar, line) for name in names]
        share = Fraction(1, len(names))
        parts = [
            Part(f"describe({name!r})", None, name, question, share)
            for name, question in zip(names, asked, strict=True)
        ]
        text = self._text(columns=names, bounds=self._bounds(names, given))
        return self._ask(text, Several(tuple(parts)), names)

    def _summary(self, column: str, bounds: Any, error_bar: Any, line: Line | None = None) -> Summary:
        kind = self._kind(column)
        if kind.name != "number":
            raise ArgumentTypeError(
                f"describe() needs columns of numbers; of {column!r} ask .count(...), .value_counts(...), .quantile(...)"
                + of_text(kind, column)
            )
        facts = self._facts(column)
        unit = self._unit(column)
        squares, ranks = (
            checks.lattice(bounds, None, bits, kind, facts, "describe", column, line, of)
            for bits, of in ((SUM_BITS, None), (RANK_BITS, unit))
        )
        if squares.width > 10**150:
            raise ArgumentValueError(
                "bounds of describe() may be at most 1e150 apart, for a square to fit into a float"
            )
        known = full(self, column)
        if not numbers.flag(error_bar, "error_bar"):
            return Summary(column, squares, ranks, kind, known)
        return SummaryWithBars(column, squares, ranks, kind, known, unit)


def composed(
    frame: PreparedFrame,
    on: Callable[[Any], Any],
    wanted: list[Wanted],
    bounds: Any,
    split: tuple[Any, Any, Any],
    named: bool,
) -> tuple[tuple[Part, ...], str]:
    """Single questions at their shares of the price, checked as each would be alone, and the call that asks them all.

    ``on`` gives what the questions are methods of: the frame itself, or its groups; ``split`` is weights, wanted errors and
    whether error bars are bought.
    """
    if isinstance(frame._price, Accuracy):
        raise ArgumentTypeError("several answers have errors of their own; give a price: df.dp(epsilon=0.5).agg(...)")
    if bounds is not None and not isinstance(bounds, Mapping):
        asked_of = [cell.column for cell in wanted if cell.function in BOUNDED]
        line = frame._bounds_line("agg", list(dict.fromkeys(asked_of)), bounds)
        raise line.refuse("bounds must be a dict with a pair for each column")
    given = {} if bounds is None else dict(bounds)
    unasked = [column for column in given if column not in {cell.column for cell in wanted if cell.function in BOUNDED}]
    if unasked:
        ends = {name: "None" for name in unasked if isinstance(name, str)}
        ends |= {cell.column: "(lower, upper)" for cell in _unbounded(frame, wanted, given)}
        needs = (("bounds", as_dict(ends)),)
        first = f"; leave out {unasked[0]!r}" if isinstance(unasked[0], str) else ""
        raise Line(AGG, needs).refuse(f"bounds must name only columns that are asked about{first}", ArgumentValueError)
    weights, within, error_bar = split
    numbers.flag(error_bar, "error_bar")
    if weights is not None and within is not None:
        raise Line("agg(..., weights=[0.6, 0.4])", (("within", ""),)).refuse("give weights= or within=, not both")
    shares = _shares(weights, len(wanted))
    _refuse_unbounded(frame, wanted, given)
    asked = [_alone(frame, on, cell, given.get(cell.column), error_bar) for cell in wanted]
    if within is not None:
        shares = _shares_within(frame, within, asked)
    parts = tuple(
        Part(query.call, cell.row, cell.column, query.aggregate, share)
        for cell, share, query in zip(wanted, shares, asked, strict=True)
    )
    known = frame._bounds(tuple(dict.fromkeys(cell.column for cell in wanted if cell.function in BOUNDED)), given)
    text = f"agg({_text(wanted, named)}" + (f", bounds={bounds_text(known)}" if known is not LEFT_OUT else "")
    if within is not None:
        text += f", within=[{', '.join(map(value_text, within))}]"
    text += "" if error_bar else ", error_bar=False"
    return parts, text + ("" if weights is None else f", weights=[{', '.join(map(show, shares))}]") + ")"


def _unbounded(frame: PreparedFrame, wanted: list[Wanted], given: dict[Any, Any]) -> list[Wanted]:
    """What lacks bounds."""
    lacking = [cell for cell in wanted if cell.function in BOUNDED and given.get(cell.column) is None]
    lacking = [cell for cell in lacking if frame._facts(cell.column).bounds is None]
    return [cell for cell in lacking if (kind := frame._kind(cell.column)).numeric and kind.name != "bool"]


def _refuse_unbounded(frame: PreparedFrame, wanted: list[Wanted], given: dict[Any, Any]) -> None:
    """Say how bounds stand in this call: the single question would show its own line."""
    if lacking := _unbounded(frame, wanted, given):
        function, column = lacking[0].function, lacking[0].column
        line = frame._bounds_line("agg", list(dict.fromkeys(cell.column for cell in lacking)), given)
        raise line.refuse(f"{function}() needs public bounds for {column!r}, which must not come from the data")


def _alone(frame: PreparedFrame, on: Callable[[Any], Any], cell: Wanted, bounds: Any, error_bar: Any) -> AskedQuery:
    """What the single question would ask, with its checks."""
    found: list[AskedQuery] = []

    def keep(table: Any, query: AskedQuery, *rest: Any) -> None:
        found.append(query)

    priced = frame._with(_price=Price(Fraction(1)), _ahead=keep, _notes=())
    options = {"bounds": bounds} if cell.function in BOUNDED else {}
    options |= {"error_bar": error_bar} if cell.function in BARRED else {}
    try:
        getattr(on(priced), cell.function)(cell.column, **options)
    except (ArgumentTypeError, ArgumentValueError) as error:
        if error._needs is not None and error._needs[1][0][0] == "bounds":  # stand by column here
            why, needs, otherwise = error._needs
            error._needs = why, (("bounds", f"{{{cell.column!r}: {needs[0][1]}}}"),), otherwise
        raise
    return found[0]


def _shares(weights: Any, count: int) -> list[Fraction]:
    """Shares of the price, which add up to 1."""
    if weights is None:
        return [Fraction(1, count)] * count
    return numbers.shares(weights, count, "answer", numbers.halves(count))


def _shares_within(frame: PreparedFrame, within: Any, asked: list[AskedQuery]) -> list[Fraction]:
    """Shares of the price at which the error of each question, asked alone, is the same multiple of the wanted one."""
    price, table = frame._price, table_of(frame._frame)
    line = f"agg(..., weights=[{', '.join(['...'] * min(len(asked), 3))}])"
    if not isinstance(price, Price) or price.gaussian or price.epsilon is None:
        raise ArgumentValueError(f"within= of agg() takes a plain epsilon; with delta= or rho= type {line}")
    terms = table.terms(frame._steps, price, table.counted(frame._groups, table.session.unit))
    if (unknown := next((query for query in asked if not _known(query.aggregate, terms)), None)) is not None:
        halves = numbers.halves(len(asked)).removeprefix("weights=")
        weighed = Line(f"agg(..., weights={halves})", (("within", ""), ("weights", halves)))
        raise weighed.refuse(
            f"within= works where the error is known in advance; that of {unknown.call} depends on the data"
        )
    if isinstance(within, str) or not isinstance(within, Sequence) or len(within) != len(asked):
        example = ", ".join(["20"] * len(asked))
        raise ArgumentTypeError(
            f"within must be a list of {len(asked)} errors, one for each answer, in the same order: within=[{example}]"
        )
    wanted = [numbers.accuracy(error, LEVEL, None, 0, None) for error in within]

    def least(factor: float) -> list[Fraction]:
        return [
            _least(query.aggregate, replace(error, within=error.within * Fraction(factor)), terms)
            for query, error in zip(asked, wanted, strict=True)
        ]

    prices = prices_for(price.epsilon, least, line)
    shares = [max(Fraction(price * MILLION // sum(prices), MILLION), Fraction(1, MILLION)) for price in prices]
    largest = shares.index(max(shares))
    shares[largest] += 1 - sum(shares)
    return shares


def _known(question: Aggregate, terms: Terms) -> bool:
    """Whether public facts tell the error of a question."""
    over_rows = isinstance(question, Mean) and question.by is None and bool(terms.public_rows)
    return over_rows or type(question).epsilon_for is not Aggregate.epsilon_for


def _least(question: Aggregate, wanted: Accuracy, terms: Terms) -> Fraction:
    """Least epsilon of a question for a wanted error, from public facts alone."""
    if isinstance(question, Mean) and question.by is None and terms.public_rows:
        return question.epsilon_over_rows(wanted, terms, terms.public_rows)
    return question.epsilon_for(wanted, terms)


def _text(wanted: list[Wanted], named: bool) -> str:
    if named:
        return ", ".join(f"{cell.row}=({cell.column!r}, {cell.function!r})" for cell in wanted)
    columns: dict[str, list[str]] = {}
    for cell in wanted:
        columns.setdefault(cell.column, []).append(cell.function)
    return f"{{{', '.join(f'{column!r}: {names!r}' for column, names in columns.items())}}}"
