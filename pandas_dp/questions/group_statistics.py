"""Statistics of each group of a priced frame that pandas has by name: counts, sums, means, variances, quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from pandas_dp.aggregates.base import Aggregate
from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.distinct import DistinctCounts
from pandas_dp.aggregates.moments import Mean, Sum, Variance
from pandas_dp.aggregates.private_bounds import InOwnBounds, largest
from pandas_dp.aggregates.quantiles import QuantileOf
from pandas_dp.core.lattice import RANK_BITS, SUM_BITS, Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, told
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.argument_help import Line, explain, uncopied
from pandas_dp.facts.as_text import of_text
from pandas_dp.facts.call import LEFT_OUT, columns_text, listing
from pandas_dp.facts.chains import arguments, first_text
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.schema import ColumnFacts
from pandas_dp.facts.written import typed_out
from pandas_dp.questions.lacking import completed_line
from pandas_dp.questions.partition import Parts, few
from pandas_dp.questions.quantiles import of_rounded, with_bar
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.unknown_bounds import asked, bounded, is_private, mean_asked, rank_lattice, square_lattice
from pandas_dp.questions.unknown_names import ONE_COLUMN, missing_question, refuse_dates
from pandas_dp.release.values import SeriesRelease

Ends = Mapping[Any, tuple[Fraction, Fraction]]


def in_unit_of_bounds(
    frame: PreparedFrame, name: str, column: str, parts: dict[str, Any], ends: Ends
) -> tuple[Mean | Sum, PreparedFrame]:
    """Question about values in the unit of the bounds of their own key, and the rows that hold them; see `InOwnBounds`."""
    by = parts["by"].column

    def of_key(table: Any, number: Callable[[Fraction, Fraction], Fraction]) -> Any:
        return table[by].map({key: float(number(*pair)) for key, pair in ends.items()})

    def inside(table: Any) -> Any:
        return ((table[column] - of_key(table, min)) / of_key(table, lambda a, b: b - a)).clip(0, 1)

    def in_largest(table: Any) -> Any:
        width, lowest = (
            of_key(table, lambda a, b: (b - a) / largest((a, b))),
            of_key(table, lambda a, b: a / largest((a, b))),
        )
        return inside(table) * width + lowest

    low, high, made = Fraction(0), Fraction(1), inside
    if name == "sum":
        made = in_largest
        low, high = (most(pair[side] / largest(pair) for pair in ends.values()) for side, most in ((0, min), (1, max)))
    lattice, kind = Lattice.between(low, high, SUM_BITS), Kind("number")
    question: Mean | Sum = (Sum if name == "sum" else Mean)(column, lattice, kind, **parts)
    return question, frame.assign(**{column: made})


@partial(explain, public=True)
class GroupStatistics:
    """Groups of a priced frame, and one number for each of them."""

    __slots__ = ("_call", "_column", "_frame", "_parts")

    def __init_subclass__(cls) -> None:
        """Every class of groups says what to type where arguments do not fit, and takes public ones alone."""
        explain(cls, public=True)

    def __init__(self, frame: PreparedFrame, parts: Parts, column: str | None = None) -> None:
        self._frame, self._parts, self._column = frame, parts, column
        self._call: Any = None  # the question that is put just now, see `explain`

    __reduce__ = uncopied

    @property
    def _by(self) -> str:
        """The columns of groups, as typed."""
        return columns_text(self._parts.columns)

    @property
    def _groups(self) -> str:
        """The groups as they were asked for."""
        return f"groupby({', '.join(filter(None, (self._by, self._parts.text)))})"

    @property
    def _before(self) -> str:
        """What stands before the call of a question."""
        return self._of_column(self._column)

    def _ipython_key_completions_(self) -> list[str]:
        """See `PreparedFrame._ipython_key_completions_`."""
        return self._frame._ipython_key_completions_()

    def _examples(self) -> tuple[list[str], list[str]]:
        """See `PreparedFrame._examples`."""
        return self._frame._examples()

    def _lacks(self, parameters: Iterable[str], values: Mapping[str, Any]) -> dict[str, str]:
        """See `PreparedFrame._lacks`."""
        return self._frame._lacks(parameters, {"column": self._column, **values})

    def _missing(self, name: str, column: str, numbers: tuple[str, ...]) -> str:
        """What groups can be asked instead, or one of them."""
        by, labels = self._parts.columns[0], self._parts.factors[0][1]
        listed = list(labels.edges or labels.values)
        # what a variable holds may be data
        if labels.values != (False, True) and not typed_out(listed, "keys", "bins"):
            known: dict[type, list[Any]] = {str: ["A"], int: [0, 10], float: [0, 10]}
            listed = [one for kind in [*map(type, listed)][:1] for one in known.get(kind, [])]
        one = "..."
        if listed and isinstance(listed[0], str | int | float):
            one = f"{by} >= {listed[0]!r} and {by} < {listed[1]!r}" if labels.edges else f"{by} == {listed[0]!r}"
        hint = missing_question(type(self), name, column, self._parts.columns, one, numbers)
        if "ask it group by group" in hint:  # the very question, at the price that was typed
            price = self._frame._price
            hint = hint.replace("df.dp(epsilon=0.5)", f"df.dp({getattr(price, 'typed', price)})")
            if typed := arguments(name):
                hint = f"{hint.partition(f'.{name}(')[0]}.{name}({typed})"
        line = completed_line(self._frame, name, of=type(self)) if name in ("describe", "transform") else ""
        return f"{hint.partition(': .groupby(')[0]}: {line}" if line and f".{name}(" not in line else hint

    def _of_column(self, column: str | None) -> str:
        return f"{self._groups}." if column is None else f"{self._groups}[{column!r}]."

    def __repr__(self) -> str:
        """Say what one call costs."""
        selected = "" if self._column is None else f"[{self._column!r}]"
        return f"{self._frame!r}.groupby({self._by}){selected}"

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what can be asked, for a name of pandas that cannot."""
            if name.startswith("_"):
                raise AttributeError(name)
            if self._column is None and name in self._frame._empty():
                line = completed_line(self._frame, name, of=type(self)) or f".groupby({self._by}, keys=[...])[{name!r}]"
                raise AttributeError(f"{name!r} is a column; select it: {line}")
            column = repr(self._column or first_text(name) or "column")
            mine = () if self._column is None else (self._column,)
            numbers = tuple(dict.fromkeys((*mine, *self._examples()[0])))[:2] or ("age", "cost")
            raise AttributeError(self._missing(name, f"{column}, ", numbers))

    def size(self) -> SeriesRelease:
        """Count the rows of each group; see `PricedFrame.size`.

        Notes
        -----
        A row is in one group. So all groups together cost as much as one answer under add_remove, and need twice the noise
        under replace_one. The rows of a unit count in at most ``max_groups`` groups. Source: McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group size example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups.size().index.tolist()
        ['A', 'B']
        >>> df.dp.preview(epsilon=1).groupby("ward", keys=["A", "B"]).size().error
        'each ± 3 rows (95 %)'
        """
        return self._ask(CountBy(self._parts.by, self._parts.labels, name="size"), None)

    def count(self, column: str | None = None) -> SeriesRelease:
        """Count the non-null rows of a column in each group, or all rows if no column is given; see `PricedFrame.count`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group count example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> known = groups["cost"].count()
        >>> known.name, known.index.name, bool(1900 < known["A"] < 2100)
        ('cost', 'ward', True)
        """
        column = column or self._column
        if column is not None:
            self._frame._kind(column)
        name = "size" if column is None else column
        return self._ask(CountBy(self._parts.by, self._parts.labels, column, name), column)

    def nunique(self, column: str | None = None) -> SeriesRelease:
        """Count the distinct values of a column in each group; see `PricedFrame.nunique`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group nunique example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].nunique().table().columns.tolist()  # one value in each, up to noise
        ['value', 'lower', 'upper']
        """
        column = self._named(column, "nunique")
        self._frame._kind(column)
        mixed = self._frame._empty()[column].dtype == object
        question = DistinctCounts(column, self._parts.by, self._parts.labels, mixed)
        return self._ask(question, column)

    def sum(self, column: str | None = None, *, bounds: Any = None) -> SeriesRelease:
        """Sum of a column in each group; see `PricedFrame.sum`.

        Notes
        -----
        In each group, the total of a unit's rows counts, clipped to that of max_rows_per_group rows at a bound. If the
        absolute totals of a unit add up to more than that of max_rows rows at a bound (or of max_groups times
        max_rows_per_group rows, if that is less), all are reduced in proportion. So no row is dropped at random, and a unit
        may be in more than max_groups groups. If all values have one sign, and max_groups and max_rows_per_group are left out,
        the sums of all groups add up to ``sum``. Bounds by key are as for ``mean``; the noise of a sum is in proportion to the
        larger of the bounds of its own group.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group sum example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].sum(bounds=(0, 50)).round(-4).tolist()
        [20000.0, 80000.0]
        """
        column = self._named(column, "sum")
        if isinstance(bounds, Mapping):
            return self._in_own_bounds("sum", column, bounds)
        kind, lattice = bounded(self._frame, "sum", column, bounds, SUM_BITS)
        refuse_dates(kind, "sum", column)
        question = Sum(column, lattice, kind, self._parts.by, self._parts.labels)
        return self._ask(asked(self._frame, question, bounds, SUM_BITS), column)

    def mean(self, column: str | None = None, *, bounds: Any = None, population: bool = False) -> SeriesRelease:
        """Mean of a column in each group; see `PricedFrame.mean`. Rows beyond the caps of a unit are dropped at random.

        Notes
        -----
        The two sums are not centred under replace_one, because by group centred sums would move twice as far. Each of the
        listed keys of one column may have its own bounds, ``bounds={"glucose": (0, 500), "ph": (7, 8)}``. Values are clipped
        to those of their key, and the noise of each mean is in proportion to the width of its bounds.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group mean example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].mean(bounds=(0, 50)).round().tolist()
        [10.0, 40.0]
        """
        column = self._named(column, "mean")
        if isinstance(bounds, Mapping) and not population:
            return self._in_own_bounds("mean", column, bounds)
        question = partial(Mean, by=self._parts.by, labels=self._parts.labels)
        return self._ask(mean_asked(self._frame, question, column, bounds, population), column)

    def _in_own_bounds(self, name: str, column: str, bounds: Mapping[Any, Any]) -> SeriesRelease:
        by, facts, kind = self._parts.by, ColumnFacts(), self._frame._kind(column)
        line = Line(f".groupby({self._by}, keys=['A', 'B'])[{column!r}].{name}(bounds={{'A': (0, 1), 'B': (0, 500)}})")
        if not isinstance(by, Keys) or not by.keys or by.other or by.null or kind.name != "number":
            line = line._replace(otherwise=of_text(kind, column))
            raise line.refuse(
                "bounds by key go with the listed keys of one column, without other= and null=, and numbers"
            )
        if set(bounds) != set(by.keys) or by.column == column:
            keys = listing(by.keys)
            needs = () if "..." in keys else (("bounds", f"dict.fromkeys({keys}, (lower, upper))"),)
            line = line._replace(needs=needs)
            raise line.refuse("bounds by key name each of the listed keys, and no others", ArgumentValueError)
        ends = {}
        for key in by.keys:
            with told(f"bounds of {key!r}: "):
                checks.lattice(bounds[key], None, SUM_BITS, kind, facts, name, column, line)
                lower, upper = checks.ends(bounds[key], kind, facts, name, line)
            ends[key] = lower, upper
        parts: dict[str, Any] = {"by": by, "labels": self._parts.labels}
        question, scaled = in_unit_of_bounds(self._frame._filled((column,)), name, column, parts, ends)
        text, own = self._text(column, bounds={key: bounds[key] for key in ends}), len(self._frame._steps)
        made = InOwnBounds(question, tuple(ends.values()))
        return scaled._ask(text, made, (by.column, column), len(scaled._steps) - own)

    def var(self, column: str | None = None, *, bounds: Any = None, ddof: int = 1) -> SeriesRelease:
        """Variance of a column in each group; see `PricedFrame.var`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group var example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> spread = groups["cost"].var(bounds=(0, 50))
        >>> bool(spread.between(0, 60).all())  # without noise 0 and 0
        True
        """
        return self._variance("var", column, bounds, ddof)

    def std(self, column: str | None = None, *, bounds: Any = None, ddof: int = 1) -> SeriesRelease:
        """Standard deviation of a column in each group; see `PricedFrame.std`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group std example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> print(groups["cost"].std(bounds=(0, 50)).query)
        groupby('ward', keys=['A', 'B'])['cost'].std(bounds=(0, 50), ddof=1)
        """
        return self._variance("std", column, bounds, ddof)

    def _variance(self, name: str, column: str | None, bounds: Any, ddof: int) -> SeriesRelease:
        column = self._named(column, name)
        kind, lattice = square_lattice(self._frame, name, column, bounds, ddof)
        parts = self._parts
        question = Variance(column, lattice, kind, ddof, name == "std", parts.by, parts.labels)
        return self._ask(asked(self._frame, question, bounds, SUM_BITS), column, ddof=ddof)

    def median(
        self, column: str | None = None, *, bounds: Any = None, step: Any = None, error_bar: bool = True
    ) -> SeriesRelease:
        """Median of a column in each group, ``quantile`` at 0.5; see `PricedFrame.median`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000}).astype({"cost": "Int64"})
        >>> session = df.dp.protect(epsilon=3, name="group median example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].median(bounds=(0, 100)).table()[["value", "lower", "upper"]].to_numpy().tolist()
        [[10.0, 10.0, 10.0], [40.0, 40.0, 40.0]]
        """
        return self._quantile("median", self._named(column, "median"), 0.5, bounds, step, error_bar)

    def quantile(self, q: Any = 0.5, *, bounds: Any = None, step: Any = None, error_bar: bool = True) -> SeriesRelease:
        """Quantile of the selected column in each group, chosen from public candidates by its rank among the group's rows.

        Parameters
        ----------
        q : float or list of float
            Several quantile levels add a level to the index, as in pandas.
        bounds, step : optional
            See `PricedFrame.quantile`.
        error_bar : bool
            Two fifths of the price buy an interval in values for each answer. Without it, errors in rank are three fifths as
            large, but nothing tells which groups have rows at all.

        Returns
        -------
        Release
            A Series. A value is missing if the group has too few rows to tell it. Without error bars, ``interval`` says how
            far the rank of each answer may be off. A group with fewer rows than that may get any number within the bounds.

        Notes
        -----
        The exponential mechanism of `PricedFrame.quantile`, separately in each group. A row is in one group, so all groups
        cost epsilon once under add_remove. Under replace_one a row may leave one group and enter another, so the rate is
        halved. The price covers a unit however its rows are distributed over the groups. The same holds for the counts of an
        error bar: a row is in one cell of one group. Source: Smith 2011; McSherry, Talwar 2007; McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=1, name="group quantile example")
        >>> df.dp(epsilon=1).groupby("ward", keys=["A", "B"])["cost"].quantile(0.9, bounds=(0, 100), step=1).tolist()
        [10.0, 40.0]
        """
        return self._quantile("quantile", self._named(None, "quantile"), q, bounds, step, error_bar)

    def _quantile(self, name: str, column: str, q: Any, bounds: Any, step: Any, error_bar: bool) -> SeriesRelease:
        levels, scalar = numbers.quantiles(q)
        if not scalar:
            few(self._parts.by.count * len(levels))
        kind, lattice = rank_lattice(self._frame, name, column, bounds, step)
        plain = QuantileOf(column, levels, lattice, kind, scalar, self._parts.by, self._parts.labels)
        question = with_bar(self._frame, plain, error_bar)
        level = {} if name == "median" else {"q": numbers.levels_typed(levels, scalar)}
        notes = () if is_private(bounds) else of_rounded(self._frame, question, step)
        return self._ask(asked(self._frame, question, bounds, RANK_BITS), column, notes, **level)

    def _selected(self, column: str) -> str:
        """The name of a column that there is."""
        if not isinstance(column, str):
            raise ArgumentTypeError(ONE_COLUMN.replace("{by}", self._by))
        self._frame._kind(column)
        return column

    def _named(self, column: str | None, name: str) -> str:
        named = column or self._column
        if named is None:
            column = repr((self._examples()[0] or ["cost"])[0])
            raise Line(f".{self._groups}[{column}].{name}(...)", (("column", column),)).refuse(
                f"{name}() needs a column"
            )
        return named

    def _ask(self, aggregate: Aggregate, column: str | None, notes: tuple[str, ...] = (), **resolved: Any) -> Any:
        needed = self._parts.columns if column is None else (*self._parts.columns, column)
        frame = self._frame._noting(notes)
        return frame._ask(self._text(column, **resolved), self._recipe(aggregate, column), needed)

    def _recipe(self, aggregate: Aggregate, column: str | None) -> Aggregate:
        """What is asked: of groups that have to be found another recipe, that pays for them."""
        return aggregate

    def _text(self, column: str | None, **resolved: Any) -> str:
        """The call that was typed, for the books, with arguments as they were resolved and its column in brackets."""
        call, parameters = self._call
        known = {} if column is None else self._frame._bounds_of(call, parameters, column)
        return self._of_column(column) + str(call.text(parameters, {**known, **resolved, "column": LEFT_OUT}))
