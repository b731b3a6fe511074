"""A protected frame with a price for one call, and one column of it: the questions, spelled as pandas spells them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast, overload

import pandas as pd

from pandas_dp.aggregates.count import Count
from pandas_dp.aggregates.moments import Mean, Sum, Variance
from pandas_dp.aggregates.smooth import TrimmedMeanOf
from pandas_dp.aggregates.winsorized_mean import WinsorizedMean
from pandas_dp.core.lattice import SUM_BITS
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import Guide, Line, explain, letting_go, uncopied
from pandas_dp.facts.chains import compared
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.questions import rows
from pandas_dp.questions.blocks import BlockQuestions
from pandas_dp.questions.choices import ChoiceQuestions
from pandas_dp.questions.column_forms import ColumnForms
from pandas_dp.questions.groups import GroupQuestions
from pandas_dp.questions.lacking import chosen
from pandas_dp.questions.made_columns import line_of
from pandas_dp.questions.quantiles import smooth_method, trimmed_share
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.several import SeveralQuestions
from pandas_dp.questions.statistics import StatisticQuestions
from pandas_dp.questions.streams import StreamQuestions
from pandas_dp.questions.tables import TableQuestions
from pandas_dp.questions.unknown_bounds import asked, bounded, full, is_private, mean_asked, square_lattice
from pandas_dp.questions.unknown_names import LACKING, in_own_columns, missing_question, refuse_dates
from pandas_dp.questions.wanted import PricedColumns
from pandas_dp.release.values import FloatRelease, IntRelease, Release
from pandas_dp.session.refining import refine
from pandas_dp.session.registry import table_of
from pandas_dp.steps.steps import take_steps


@explain
class PricedColumn(ColumnForms):
    """One column of a priced frame, with the questions of a pandas Series.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="priced column example")
    >>> print(df.dp(epsilon=0.5)["age"].mean(bounds=(0, 100)).query)
    mean('age', bounds=(0, 100))
    """

    __slots__ = ()
    _functions = SeveralQuestions._functions

    __reduce__ = uncopied

    def _examples(self) -> tuple[list[str], list[str]]:
        """See `PreparedFrame._examples`."""
        return self._frame._examples()

    def _lacks(self, parameters: Iterable[str], values: Mapping[str, Any]) -> dict[str, str]:
        """See `PreparedFrame._lacks`."""
        return self._frame._lacks(parameters, {"column": self._column, **values})

    @property
    def _before(self) -> str:
        """What stands before the call of a question."""
        return f"[{self._column!r}]."

    def __repr__(self) -> str:
        """Say what one call costs."""
        return f"{self._frame!r}[{self._column!r}]"

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what can be asked, for a name of pandas that cannot."""
            if name.startswith("_"):
                raise AttributeError(name)
            told = chosen(self._frame, name) or self._computed(ast.Attribute)
            hint = "" if told else missing_question(type(self), name, "")
            raise AttributeError(told or in_own_columns(self._frame, hint, self._column))

    def _computed(self, *kinds: type[ast.expr]) -> str:
        """What is said of code that computes with the column, as pandas' own do; no text where it cannot be read."""
        line = line_of(self._frame, self._column, *kinds)
        return f"a column is made, and rows are chosen, by a step: {line}" if line else ""

    @letting_go
    def _refused(self, *args: Any, **options: Any) -> NoReturn:
        """Say what step does what an operator or a function of pandas or NumPy would do with the cells."""
        told = self._computed(ast.BinOp, ast.UnaryOp, ast.Call)
        raise ArgumentTypeError(
            told
            or "a priced column shows no cells: ask about it, as in .count(), or make another: .assign(made=lambda d: ...)"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = _refused
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refused
    __array__ = __array_ufunc__ = __iter__ = __len__ = __contains__ = _refused

    @letting_go
    def __getitem__(self, rows: Any) -> NoReturn:
        """Say how rows are chosen, where a mask stands behind a column."""
        told = in_own_columns(self._frame, "rows are chosen by .query('age >= 65'), before the column", self._column)
        raise ArgumentTypeError(chosen(self._frame) or told)

    def agg(self, func: Any, *, bounds: Any = None, **options: Any) -> Any:
        """Ask several functions of the column for one price; see `PricedFrame.agg`.

        Parameters
        ----------
        func : str or list of str
        bounds : (lower, upper), optional
        **options
            ``weights``, ``within`` and ``error_bar``, as there.

        Returns
        -------
        Release
            As there, of one column.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column agg example")
        >>> df.dp(epsilon=1)["age"].agg(["count", "mean"], bounds=(0, 100)).index.tolist()
        ['count', 'mean']
        """
        try:
            given = None if bounds is None else {self._column: bounds}
            return self._frame.agg({self._column: func}, bounds=given, **options)
        except (ArgumentTypeError, ArgumentValueError) as error:
            if error._needs is not None:  # of this call, which has one pair of bounds and a list
                why, needs, otherwise = error._needs
                renamed = any(typed.startswith("=") for _, typed in needs)
                needs = needs if renamed else LACKING if needs[0][0] == "bounds" else ()
                error.args, error._needs = (why,), (why, needs, otherwise) if needs else None
            raise

    @letting_go
    def _compared(self, other: object) -> Any:
        """Say how rows are chosen, where a column is compared as one of pandas."""
        if told := self._computed(ast.Compare):
            raise ArgumentTypeError(told)
        condition = compared(self._column)
        share = f"; the share of rows for which it holds is .assign(holds=lambda d: d.{condition})['holds'].mean()"
        raise ArgumentTypeError(
            f"a column is not compared here: rows are chosen by .query({condition or '...'!r}), before the column"
            f"{share * self._column.isidentifier() if condition else ''}"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __hash__ = object.__hash__

    def count(self) -> IntRelease:
        """Count the non-null rows; see `PricedFrame.count`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column count example")
        >>> 3900 < df.dp(epsilon=0.5)["cost"].count() < 4100
        True
        """
        return self._frame.count(self._column)


def tell(frame: type) -> None:
    """Give the questions of a column the help of the frame's, as they are typed where the column is selected."""
    for name, method in vars(ColumnForms).items():
        told = None if name.startswith("_") else inspect.getdoc(getattr(frame, name))
        if told is not None:  # python -OO has none
            told = re.sub(r"^columns? : .*\n(?: +.*\n)*", "", told, flags=re.MULTILINE)
            told = told.replace("Parameters\n----------\n\n", "").replace('name="', 'name="column ')
            told = re.sub(rf'\.{name}\("(\w+)"(?:, )?', rf'["\1"].{name}(', told)
            method.__doc__ = f"{method.__doc__}\n\n{told}"


Answered = TypeVar("Answered", bound=Release)
REFINE = "answer = df.dp(epsilon=0.5).count(), then df.dp(epsilon=0.5).refine(answer)"
STEPS = {  # how the help of steps begins where they stand behind a price
    "query": "Keep rows for which an expression is true",
    "filter": "Keep rows for which a condition is true",
    "eval": 'Add a column by an expression such as ``"bmi = weight / height ** 2"``',
    "clip": "Clip values to public limits",
    "merge": "Add the columns of a public lookup table",
    "explode": "Make a row of each of the first ``max`` entries of a list",
}


class PricedFrame(
    BlockQuestions,
    ChoiceQuestions,
    GroupQuestions,
    SeveralQuestions,
    StatisticQuestions,
    StreamQuestions,
    TableQuestions,
):
    """What ``df.dp(epsilon=...)`` returns: every method is one question at that price.

    Nothing is read before the question is charged; a refused question costs nothing.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="priced frame example")
    >>> priced = df.dp(epsilon=0.5)
    >>> priced.query("age > 40").count().spent, session.left
    ('epsilon=0.5', 'epsilon=2.5')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        """Say what one call costs."""
        name = "df.dp" if self._ahead is None else "df.dp.preview"
        return f"<{name} at {self._price} per call: .count(), .mean('column', bounds=(lower, upper)), ...>"

    if TYPE_CHECKING:  # of overloads notebooks complete nothing

        @overload
        def __getitem__(self, column: str) -> PricedColumn: ...
        @overload
        def __getitem__(self, column: list[str]) -> PricedColumns: ...
        def __getitem__(self, column: Any) -> Any: ...

    else:

        @letting_go
        def __getitem__(self, column: str | list[str]) -> PricedColumn:
            """Select one column, or several by their list, as in pandas."""
            if isinstance(column, list):
                return PricedColumns(self, self, column)
            if not isinstance(column, str):
                if told := chosen(self):
                    raise ArgumentTypeError(told)
                hint = "rows are chosen by .query('age >= 65'), which comes before the column"
                raise ArgumentTypeError(
                    f"select one column by name, several by the list of their names; {in_own_columns(self, hint)}"
                )
            self._dtype(column)
            return PricedColumn(self, column)

    def count(self, column: str | None = None) -> IntRelease:
        """Count the rows, or the non-null rows of a column.

        Parameters
        ----------
        column : str, optional
            Rows with a missing value in it do not count. All rows count if it is left out, or if the schema replaces missing
            values of the column by a constant.

        Returns
        -------
        Release
            An int; noise may take it below zero.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        One row moves a count by at most 1 under both relations, and a unit by at most ``max_rows`` (a unit with more rows
        counts as that many). Discrete Laplace noise of scale max_rows / epsilon. If the number of rows is public (replace_one
        with rows=True, no filter), it is returned exactly, at price 0. Source: Ghosh, Roughgarden, Sundararajan 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="count example")
        >>> 2900 < df.dp(epsilon=0.5).count() < 3100
        True
        """
        if column is None:
            return self._ask(self._text(), Count(), ())
        dtype = self._dtype(column)
        if isinstance(dtype, pd.ArrowDtype) and kind_or_none(dtype) is None:  # such as lists: no cell of them is read
            return self.filter(lambda d: d[column].notna()).count()
        self._kind(column)
        if full(self, column):
            return self._ask(self._text(), Count(), ())
        return self._ask(self._text(), Count(column), (column,))

    def size(self) -> IntRelease:
        """Count the rows; the same question as ``count()``.

        Returns
        -------
        Release
            An int.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError

        Notes
        -----
        See ``count``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="size example")
        >>> df.dp.preview(epsilon=0.5).size().error
        '± 6 rows (95 %)'
        """
        return self.count()

    def sum(self, column: str, *, bounds: Any = None) -> FloatRelease:
        """Sum of a column, each value clipped to public bounds; missing values add nothing.

        Parameters
        ----------
        column : str
        bounds : (lower, upper) or "private", optional
            In the units of measurement of the column; from the schema if left out. Never from the data. "private" estimates
            bounds, powers of two, with 15 % of the price.

        Returns
        -------
        Release
            A float (a Timedelta for durations).

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Values are rounded to a lattice of 2**30 steps and summed as integers. If a unit has several rows, its total over all
        rows counts, clipped to that of k = max_rows rows at a bound. So a unit moves the sum by at most
        ``k max(|lower|, |upper|)`` under add_remove, and by k (max(upper, 0) - min(lower, 0)) under replace_one. More than
        max_rows rows can count if their values are small. Intervals do not cover the clipping. Private bounds come from a
        noisy histogram over powers of two; the notes of the answer say which were found. Source: Dwork, McSherry, Nissim,
        Smith 2006; Casacuberta, Shoemate, Vadhan, Wagaman 2022; private bounds: Wilson, Zhang, Lam, Desfontaines,
        Simmons-Marengo, Gipson 2020.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="sum example")
        >>> 50_000 < df.dp(epsilon=0.5).sum("cost", bounds=(0, 50)) < 70_000
        True
        """
        kind, lattice = bounded(self, "sum", column, bounds, SUM_BITS)
        refuse_dates(kind, "sum", column)
        question = asked(self, Sum(column, lattice, kind), bounds, SUM_BITS)
        return self._ask(self._text(), question, (column,))

    def mean(
        self,
        column: str,
        *,
        bounds: Any = None,
        method: str = "rotated",
        trim: Any = None,
        noise: str | None = None,
        error_bar: bool = False,
        population: bool = False,
    ) -> FloatRelease:
        """Mean of a column, each value clipped to public bounds; missing values are left out.

        Parameters
        ----------
        column : str
        bounds : (lower, upper) or "private", optional
            In the units of measurement of the column; from the schema if left out. Never from the data. "private" estimates
            bounds, powers of two, with 15 % of the price. If each row is a unit, the rest also pays for the number of clipped
            rows, and the noise of the mean is 1.4 times as large.
        method : {"rotated", "winsorized", "trimmed"}
            "rotated", the default, is the ratio of two noisy sums, see the notes. It is best if the bounds fit. "winsorized"
            is a Winsorized mean of the means of about 850 / epsilon random blocks, for bounds that are very wide because
            nobody knows narrower ones. With fewer than ten rows per block, "rotated" is used instead. "trimmed" leaves out the
            lowest and the highest rows, with noise scaled to the smooth sensitivity of the result.
        trim : number, optional
            With "trimmed": the share of rows left out at either end, 0.1 by default.
        noise, error_bar : optional
            With "trimmed", as in ``quantile`` with ``method="smooth"``.
        population : bool
            The same price also buys ``.interval(of="population")``, for rows that are a random sample. The noise grows by up
            to 12 %. Means of bools always have this interval.

        Returns
        -------
        Release
            A float within the bounds (a Timestamp or Timedelta for dates and durations). NaN (NaT) if there may be too few
            rows, in all or in a group; a note says how many would have given a value.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The whole price buys two sums whose ratio is the mean. Under add_remove, a unit moves the two by max_rows * (upper -
        lower) in total. Under replace_one, it moves them by twice that, but there the two sums are centred (the distances from
        the middle of the bounds, and the number of rows), which makes the error 1.4 times smaller. If the number of rows is
        public (replace_one with rows=True, a table in memory, no filter) and the schema replaces the column's missing values by
        a constant, only one sum is bought and divided by that number; the error is that of ``sum``, divided by it. All rows of
        a unit with more than max_rows rows count, together as much as max_rows rows. The error of "winsorized" does not grow
        with the bounds; it shrinks with the square root of the rows. It is larger than that of the default unless the bounds
        are wider than about 15 sqrt(rows / blocks) standard deviations of the column. A twentieth of its price buys the number
        of rows (units, if units have several rows). If there may be too few rows, by this noisy number at 97.5 % confidence,
        "rotated" is used, and the answer says so. If the number is public and no value can be missing, nothing is spent on it,
        and a number that is too small is refused. The charge is the same in every case. The noise of "trimmed" is about 1.5
        max_rows (range of the rows that are kept) / (rows epsilon), often less and seldom 10 times as much, if there are at
        least about 100 / epsilon rows. It is at least 1e-7 (upper - lower) / epsilon; otherwise it does not grow with the
        bounds. If values are skewed, a trimmed mean differs from the mean. Source: Kulesza, Suresh, Wang 2024; "winsorized":
        Smith 2011; "trimmed": Nissim, Raskhodnikova, Smith 2007; Bun, Steinke 2019.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=1, name="mean example")
        >>> 44 < df.dp(epsilon=0.5).mean("age", bounds=(0, 120)) < 48
        True
        """
        law = smooth_method(method, ("rotated", "winsorized", "trimmed"), noise, error_bar, "mean")
        if law is None and trim is not None:
            raise ArgumentValueError("trim= goes with method='trimmed': method='trimmed'")
        if method == "rotated":
            question = mean_asked(self, Mean, column, bounds, population)  # which checks what the text is made of
            return self._ask(self._text(), question, (column,))
        if numbers.flag(population, "population"):
            raise Line("leave method= out", (("method", ""),)).refuse(
                "population=True goes without method=", ArgumentValueError
            )
        share = trimmed_share(Fraction(1, 10) if trim is None else trim)
        if is_private(bounds):
            raise ArgumentValueError(
                f"bounds='private' has no use here: mean({column!r}, bounds=(lower, upper), method={method!r}) takes bounds "
                "as wide as you like"
            )
        kind, lattice = self._lattice("mean", column, bounds, None, SUM_BITS)
        if law is None:
            return self._ask(self._text(), WinsorizedMean(column, lattice, kind, full(self, column)), (column,))
        trimmed = TrimmedMeanOf(lattice, kind, law, error_bar, column, share)
        return self._ask(self._text(trim=float(share)), trimmed, (column,))

    def var(self, column: str, *, bounds: Any = None, ddof: int = 1) -> FloatRelease:
        """Variance of a column, each value clipped to public bounds; missing values are left out.

        Parameters
        ----------
        column : str
        bounds : (lower, upper) or "private", optional
            As for ``mean``.
        ddof : {0, 1}
            The divisor is the number of rows minus ddof, as in pandas.

        Returns
        -------
        Release
            A float in the square of the column's unit, between 0 and (upper - lower)^2 / 4 (twice that with ddof = 1). NaN if
            there may be too few rows, as for ``mean``.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The whole price buys three sums. A row moves them by 1 in total under add_remove and by 2 under replace_one, and a unit
        by max_rows times that. If the number of rows is public and no value can be missing (see ``mean``), it buys two sums:
        of the distances from the middle of the bounds and of their squares. A row moves these by 9/4 of half the width, and
        the error is up to a third smaller. Source: Fitzsimons, Honaker, Shoemate, Singhal 2024.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="var example")
        >>> 110 < df.dp(epsilon=1).var("age", bounds=(0, 100)) < 210  # without noise 161
        True
        """
        return self._variance("var", column, bounds, ddof)

    def std(self, column: str, *, bounds: Any = None, ddof: int = 1) -> FloatRelease:
        """Return the standard deviation: the square root of ``var``, at the same price; it is slightly biased.

        Parameters
        ----------
        column : str
        bounds : (lower, upper) or "private", optional
            As for ``mean``.
        ddof : {0, 1}
            As for ``var``.

        Returns
        -------
        Release
            A float in the column's unit. NaN if there may be too few rows, as for ``mean``.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Computed from the sums of ``var``, with their sensitivity under add_remove and replace_one; the root is free. Source:
        Fitzsimons, Honaker, Shoemate, Singhal 2024.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="std example")
        >>> 10.5 < df.dp(epsilon=1).std("age", bounds=(0, 100)) < 14.5  # without noise 12.7
        True
        """
        return self._variance("std", column, bounds, ddof)

    def _variance(self, name: str, column: str, bounds: Any, ddof: int) -> FloatRelease:
        kind, lattice = square_lattice(self, name, column, bounds, ddof)
        question = asked(self, Variance(column, lattice, kind, ddof, root=name == "std"), bounds, SUM_BITS)
        return self._ask(self._text(ddof=ddof), question, (column,))

    def refine(self, answer: Answered) -> Answered:
        """Pay more for an answer, to make it as precise as one that cost both prices together.

        A new question at a higher price would not use the first answer. Here the new answer is drawn so that
        both answers together reveal no more than the new one alone, and only the difference is charged. If that is not
        possible, the question is asked again at the price given, and the answer is the mean of all draws, weighted by their
        precision. The notes of the answer say which it was, and why.

        Parameters
        ----------
        answer : Release
            A count, sum, mean, variance, histogram or table of counts or sums, of listed keys, that this session answered for
            this frame, or a refined one. Each is refined once: to refine again, give the last one. With ``within=``, the price
            is what this error costs beyond what was paid; if nothing is missing, the answer itself is returned.

        Returns
        -------
        Release
            The answer to the same question, with the noise of both prices together, or with that of the mean. Asked again, it
            costs nothing.

        Raises
        ------
        LedgerError
            The answer is a choice, a quantile or made of several measurements; it is from another session, frame or table; it
            was refined before at another price; or the ledger holds a newer draw.
        ArgumentTypeError, ArgumentValueError
            For something that is not an answer, and with steps, ``fresh=True`` or a preview.
        BudgetExceededError
            The budget cannot pay.

        Notes
        -----
        An answer can be refined if it has Laplace noise, its budget has no delta and no plan, each row is a unit, and this
        process drew it from rows in memory. With prices e and f the total charge is e + f, and both answers together have a
        privacy loss of at most e + f, under ``add_remove`` and under ``replace_one``, like one answer at e + f. The answer at
        e is exactly the answer at e + f plus noise that does not depend on the data. If you refine only answers that look
        surprising, intervals cover less than 95 % of these. The rows must stay as they were protected: never write into their
        memory past pandas. Otherwise the answer is the mean of all draws of the question, from the same rows, that this
        process knows, rounded to steps of the noise; each draw is charged in full. In a budget for each period, with
        ``table=`` and no version, it is the mean of the answer given, its earlier draws and a new one. Source: Koufogiannis,
        Han, Pappas 2016.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="refine example")
        >>> rough = df.dp(epsilon=0.1).count()
        >>> better = df.dp(epsilon=0.9).refine(rough)
        >>> better.epsilon, better.spent, session.spent
        (1.0, 'epsilon=0.9 (epsilon=1 in all)', 'epsilon=1')
        """
        if not isinstance(answer, Release):
            raise ArgumentTypeError(f"refine needs an answer: {REFINE}")
        price = self._price
        if self._ahead or self._fresh or self._steps or (isinstance(price, Accuracy) and price.delta):
            raise ArgumentValueError(
                f"refine takes a price or within=, no preview, no fresh=True and no steps: {REFINE}"
            )
        table = table_of(self._frame)
        self._check_kept(table)
        return cast(Answered, refine(answer, table, price))


take_steps(PreparedFrame, PricedFrame, STEPS, "; see ``df.dp.{}``.")
tell(PricedFrame)
PricedFrame.__doc__ = Guide(PricedFrame.__doc__, __package__)  # type: ignore[assignment]
vars(rows).update(PricedFrame=PricedFrame)  # where completion reads what a step returns
