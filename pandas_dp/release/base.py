"""What every release knows beside its value: where it comes from, what it cost and how far off it may be."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Caution, Guarantee
from pandas_dp.aggregates.uncertainty import LEVEL, ErrorModel, Interval, NoError, RankBound, ScoreGap, percent
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, Spelled
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.numbers import as_float, checked_level
from pandas_dp.release.along import population_of
from pandas_dp.release.csv import CSV, guarded, write_csv
from pandas_dp.release.html import scalar_html
from pandas_dp.release.plots import Column, Curve, draw, plotting
from pandas_dp.release.provenance import Provenance
from pandas_dp.release.summary import jsonable
from pandas_dp.release.text import ELSEWHERE, describe, legible, named, per_period, protected, unit_terms

ROWS_FROM = {  # by lineage
    "source": "rows of the table as it was protected",
    "declared": "rows made by checked steps from the table as it was protected",
    "vouched": "rows that the owner vouched for",
}
BESIDE = ("population_lower", "population_upper")  # columns of the ends for the population
OF_BOTH = ("", " (lower, upper: noise; population_lower, population_upper: population)"), (" of the noise", "")
NO_MORE = "no cost beyond"  # begins what was spent on an answer that is made of others, which cost what they did
STORED = "answered before: costs nothing now"
INTERVAL, JSON = ".interval(0.95, of='population')", "pathlib.Path('answer.json').write_text(answer.to_json())"
ONE_ROW_EACH = "make one row of each before the table is protected, and leave unit= out"


def dependent(owner: str) -> str:
    """Why nothing is told of a population where a unit may own several rows."""
    return f"several rows of one {owner!r} are not independent, so no statement about the population is possible"


class Release(Spelled):
    """What every answer has besides its value.

    Intervals are for the statistic without noise, unless that of the population is asked for. In a vector, each holds for one
    entry separately.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="release example")
    >>> count = df.dp(epsilon=0.5).count()
    >>> count.spent, count.mechanism, count.neighbors
    ('epsilon=0.5', 'discrete Laplace', 'add_remove')
    >>> count + 0 == count.value  # an int among numbers
    True
    """

    _released: Any
    _provenance: Provenance
    _each = ""  # of a vector "each ", before what is known of its entries

    if not TYPE_CHECKING:  # see `Spelled`

        def _spelt(self, name):
            """Say where an error bar is, or which name is close."""
            return f": {ELSEWHERE[name]}" if name in ELSEWHERE else super()._spelt(name)

    def _keep(self, value: Any, provenance: Provenance) -> None:
        # past pandas' own attribute handling, which would take a name for a column
        object.__setattr__(self, "_released", value)
        object.__setattr__(self, "_provenance", provenance)

    @property
    def value(self) -> Any:
        """The plain value."""
        return self._released

    @property
    def query(self) -> AskedQuery:
        """What was asked."""
        return self._provenance.query

    @property
    def mechanism(self) -> str:
        """How the noise was drawn."""
        return self._provenance.mechanism

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected: a row, or the rows of a unit."""
        return self._provenance.unit

    @property
    def neighbors(self) -> str:
        """The neighbouring relation: ``add_remove`` or ``replace_one``."""
        return self._provenance.unit.relation.value

    @property
    def lineage(self) -> str:
        """How the rows came from the protected table: ``source``, ``declared`` or ``vouched``."""
        return self._provenance.lineage

    @property
    def assumes(self) -> str | None:
        """What the guarantee assumes on the caller's word; None for nothing."""
        return self._provenance.assumes

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a reader should know."""
        return self._provenance.notes

    @property
    def spent(self) -> str:
        """The price in words; ``nothing`` for a public number."""
        return self._provenance.spent

    @property
    def epsilon(self) -> float | None:
        """Epsilon of the price; None where the price is a rho."""
        return self._charged(self.query.price.epsilon)

    @property
    def delta(self) -> float | None:
        """Delta of the price; None where the price is a rho."""
        return None if self.query.price.rho is not None else self._charged(self.query.price.delta)

    @property
    def rho(self) -> float | None:
        """Rho of the price; None where the price is an epsilon."""
        return self._charged(self.query.price.rho)

    def _charged(self, amount: Fraction | None) -> float | None:
        if amount is None or self.spent.startswith(NO_MORE):
            return None
        return 0.0 if self.spent == "nothing" else as_float(amount)

    @example(INTERVAL)
    def interval(self, level: float = LEVEL, of: str = "noise", residuals: str | None = None) -> Any:
        """Return what is known of the error.

        Parameters
        ----------
        level : float
            Confidence, between 0 and 1.
        of : {"noise", "population"}
            An interval for the exact answer about these rows, or for the answer about the population of which they are a
            random sample. The second is known for means with ``mean(..., population=True)``, with "std" or "var" in ``agg``,
            and of bools; for shares; and for quantiles with error bars.
        residuals : {"constant"}, optional
            For the population interval of a line on one column: you state that `y` spreads equally around the line for small
            and large `x`. If it does not, the interval covers too rarely (76 to 95 % of the time, instead of 95 %, in
            simulations).

        Returns
        -------
        Interval, DataFrame, RankBound, ScoreGap or None
            Ends for a scalar; columns ``lower`` and ``upper`` on the same index for a vector, (column,
            ``lower``) and (column, ``upper``) for a table; the bound that is known instead for a selection;
            None when nothing is.

        Raises
        ------
        ArgumentValueError
            For a level that is not between 0 and 1.
        ArgumentTypeError
            For the population if a unit may have several rows, because these are not independent; if the data chose the
            bounds; and for answers that do not tell how far values spread.

        Notes
        -----
        The interval for the population adds sampling error to the noise, for free: it is computed from the same noisy sums, by
        Student's t. It holds if rows are a simple random sample (not for a census), for the mean of values clipped to the
        bounds and of the rows that steps kept. With fewer than about 100 rows, or if few rows hold most of the total, it can
        be far too short. The population interval of a quantile is wider than needed, and does not get shorter below a level of
        0.95. Ends are missing if there are too few rows to tell. Source: Du, Foot, Moniot, Bray, Groce 2020; shares: Wilson
        1927; quantiles: Drechsler, Globus-Harris, McMillan, Sarathy, Smith 2022.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="interval example")
        >>> ends = df.dp(epsilon=0.5).count().interval(0.99)
        >>> ends.upper - ends.lower, ends.level
        (18, 0.99)
        >>> df.dp(epsilon=0.5).histogram("age", bins=[0, 40, 100]).interval().columns.tolist()
        ['lower', 'upper']
        >>> mean = df.dp(epsilon=1).mean("age", bounds=(0, 100), population=True)
        >>> narrow, wide = mean.interval(), mean.interval(of="population")
        >>> wide.lower < narrow.lower < narrow.upper < wide.upper
        True
        """
        checked_level(level)
        if not isinstance(of, str) or of not in ("noise", "population"):
            raise ArgumentValueError("of must be 'noise' or 'population': .interval(0.95, of='population')")
        if residuals is not None and (not isinstance(residuals, str) or residuals != "constant"):
            raise ArgumentValueError(
                "residuals must be 'constant': .interval(0.95, of='population', residuals='constant')"
            )
        if of == "population":
            return self._ends(self._population(residuals is not None), level)
        if residuals is not None:
            raise ArgumentTypeError(
                "residuals= is about a population: .interval(0.95, of='population', residuals='constant')"
            )
        error = self._provenance.error
        if error is None:
            return None
        return error.at(level) if isinstance(error, Guarantee) else self._ends(error, level)

    def _check_draws(self) -> None:
        """Refuse rows of units."""
        if (owner := self.unit.column) is not None:
            raise ArgumentTypeError(f"{dependent(owner)}: {ONE_ROW_EACH}")

    def _population(self, constant_residuals: bool = False) -> ErrorModel:
        """The error of the answer as one about the population."""
        self._check_draws()
        line: ErrorModel | None = getattr(self._provenance.error, "constant_residuals", None)
        if line is not None and constant_residuals:
            return line
        if line is not None:
            raise ArgumentTypeError(
                "for a line this is known only if residuals spread equally everywhere, which its sums do not tell; if they "
                "do: .interval(0.95, of='population', residuals='constant')"
            )
        if constant_residuals:
            raise ArgumentTypeError(
                "residuals= goes with an interval of linear_regression on one column, where one is known"
            )
        if (found := self._provenance.found) is not None:
            raise ArgumentTypeError(
                f"{found}, so this does not estimate the mean of a population: "
                "type mean('age', bounds=(0, 120), population=True)"
            )
        known: ErrorModel | None = population_of(self._provenance.error)
        if known is None and self.query.averages:
            raise ArgumentTypeError(
                "of a mean of these draws the error of the noise alone is known; the answers before it may tell more, each by "
                "its own .interval(0.95, of='population')"
            )
        if known is None:
            raise ArgumentTypeError(
                "this answer does not tell how far values spread. These do: mean('age', bounds=(0, 120), population=True), "
                "agg({'age': ['mean', 'std']}, ...) where one call gives both, means of bools, quantiles with error_bar=True, "
                "shares with normalize=True, and pivot tables as groupby([...]).mean(..., population=True).unstack()"
            )
        return known

    def _sampled(self) -> ErrorModel | None:
        """The same, None where nothing is known of the population."""
        try:
            return self._population()
        except ArgumentTypeError:
            return None

    def _beside(self) -> ErrorModel | None:
        """The same where tables show it: of rows about different functions it is one of a few."""
        return None if self.query.aggregate.mixed else self._sampled()

    def _ends(self, error: ErrorModel, level: float) -> Any:
        return Interval(*error.bounds(self._released, level), level)

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Return what to publish: value, lower, upper and the extras as columns.

        Parameters
        ----------
        level : float
            Of the intervals, 0.95 by default.

        Returns
        -------
        DataFrame
            The value alone if no interval is known. If the interval for the population is known, too, ``population_lower`` and
            ``population_upper`` are added. The row of a single number is named by its question, so that
            ``pandas.concat([first.table(), second.table()])`` is a table to publish.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="table example")
        >>> df.dp(epsilon=0.5).count().table().columns.tolist()
        ['value', 'lower', 'upper']
        """
        return self._table(self.interval(level), level)

    def _table(self, known: Any, level: float) -> pd.DataFrame:
        """The same where the intervals are known already."""
        columns = {"value": self._released}
        if isinstance(known, Interval):
            columns |= {"lower": known.lower, "upper": known.upper}
        if (sampled := self._sampled()) is not None:
            columns |= zip(BESIDE, self._ends(sampled, level), strict=True)
        return self._with_extras(pd.DataFrame({name: [x] for name, x in columns.items()}, index=[str(self.query)]))

    def _with_extras(self, table: pd.DataFrame) -> pd.DataFrame:
        for extra in self._provenance.extras:
            table[extra.name] = extra.array.copy()
        return table

    @example(CSV)
    def to_csv(self, path: Any = None, level: float = LEVEL, **options: Any) -> str | None:
        """Write the table as it is shown, below ``#`` lines with error, price, question, cautions and notes.

        Parameters
        ----------
        path : str, path, text file or None
            None: the text is returned.
        level : float
            Of the intervals.
        **options
            Of ``DataFrame.to_csv``, such as ``sep``, except those that say how a file is opened.

        Returns
        -------
        str or None

        Raises
        ------
        ArgumentTypeError
            For another path, and for options that say how a file is opened.

        Notes
        -----
        Digits that are only noise are left out; ``.table().to_csv()`` has all of them and no comments. A single answer is a row
        named by its question. ``pandas.read_csv(path, comment="#", keep_default_na=False, na_values="")`` reads it, whatever
        the keys are. If keys are texts that look like numbers, the comments have this line with their ``dtype=``. A text that
        a spreadsheet would take for a formula, such as ``=A1``, gets an apostrophe before it.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="csv example")
        >>> print(df.dp(epsilon=1).count().to_csv().splitlines()[0])
        # 95 % interval, epsilon 1, discrete Laplace
        """
        shown = guarded(self._legible(self.interval(level), level))
        return write_csv(shown, self._comments(level), path, options)

    def _comments(self, level: float = LEVEL) -> list[str]:
        """What a file says above the table: error and price, question, cautions and notes."""
        return [self._price_line(level, self.interval(level)), *self._facts()]

    def _legible(self, known: Any, level: float = LEVEL) -> pd.DataFrame:
        """The table without the digits that noise made."""
        asked = self.query.aggregate
        table = self._table(known, level)
        beside = [place for place, name in enumerate(table.columns) if named(name).endswith(BESIDE)]
        return legible(table, self._drawn(known), asked.counting, asked.mixed, beside)

    @example(JSON)
    def to_json(self) -> str:
        """Return value, interval and provenance as a JSON object.

        Returns
        -------
        str
            Dates and durations in ISO 8601.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="to_json example")
        >>> import json
        >>> told = json.loads(df.dp(epsilon=0.5).count().to_json())
        >>> told["query"], told["price"]["epsilon"], told["mechanism"]
        ('count()', 0.5, 'discrete Laplace')
        """
        record = {
            "value": self._released,
            "interval": self.interval(),
            "level": LEVEL,
            "price": {"spent": self.spent, "epsilon": self.epsilon, "delta": self.delta, "rho": self.rho},
            "mechanism": self.mechanism,
            "unit": {name: getattr(self.unit, name) for name in unit_terms(self.unit)},
            "neighbors": self.neighbors,
            "lineage": self.lineage,
            "assumes": self.assumes,
            "query": str(self.query),
            "notes": self.notes,
            "extras": {str(extra.name): extra.tolist() for extra in self._provenance.extras},
        }
        if (sampled := self._sampled()) is not None:
            record["population"] = self._ends(sampled, LEVEL)
        return json.dumps(jsonable(record), allow_nan=False, ensure_ascii=False)

    @plotting
    def plot(self, ax: Any = None, level: float = LEVEL) -> Any:
        """Draw the value with its error bars: bars for a vector, a point for a scalar or for dates.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure is made without one. For a table whose columns have panels, an array of as many.
        level : float
        y : label or list of labels, optional
            Of tables alone: the columns to draw, all by default.

        Returns
        -------
        matplotlib Axes or array of them
            One for each column of a table; one alone for a crosstab, a heat map.

        Raises
        ------
        ImportError
            Without matplotlib: ``pip install 'pandas-dp[plot]'``.
        ArgumentTypeError
            For text and other values that cannot be drawn, and for one Axes where each column has its own.
        ArgumentValueError
            For a column that the table does not have.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="plot example")
        >>> from matplotlib.figure import Figure
        >>> ax = df.dp(epsilon=0.5).count().plot(ax=Figure().subplots())
        >>> ax.get_title()
        '95 % interval, epsilon 0.5, discrete Laplace'
        """
        known = self.interval(level)
        line = Curve(self._price_line(level, known, drawn=True), self._cautions())
        return draw(self._drawn(known)[0], [""], line, ax, points=True)

    def _drawn(self, known: Any) -> list[Column]:
        """Columns to draw, with their ends where an interval is known."""
        ends = (known.lower, known.upper) if isinstance(known, Interval) else (None, None)
        lower, upper = (None if end is None else pd.Series([end]) for end in ends)
        return [(self.query.call, pd.Series([self._released]), lower, upper)]

    def _price_line(self, level: float, known: Any, drawn: bool = False) -> str:
        """One line: what is known of the error, the price, and whose word it rests on."""
        if isinstance(self._provenance.error, NoError):
            error = "exact"
        elif isinstance(known, RankBound | ScoreGap):
            error = f"each: {known}{self.query.aggregate.buying}" if self._each else str(known)
        else:
            unknown = self.query.aggregate.without_interval
            of, more = OF_BOTH[drawn or self.query.aggregate.mixed] if self._sampled() is not None else ("", "")
            error = unknown if known is None else f"{percent(level)} interval{'s' * bool(self._each)}{of}{more}"
        return ", ".join([error, self._price_words(), self.mechanism])

    def _price_words(self) -> str:
        whose = per_period(self.unit, self._provenance.periods)
        words = [self.spent.replace("=", " ") + whose if self.spent != "nothing" else "nothing spent"]
        if self.lineage == "vouched":
            words.append("on the owner's word")
        if self.assumes is not None:
            words.append(f"assumes {self.assumes}")
        if self._provenance.found is not None:
            words.append(self._provenance.found)
        return ", ".join(words)

    def _facts(self) -> list[str]:
        """Lines below the value in HTML."""
        known = self._provenance.error.at(LEVEL) if isinstance(self._provenance.error, Guarantee) else None
        ranks = [known.places] if isinstance(known, RankBound) else []
        rows = ROWS_FROM.get(self.lineage, self.lineage)
        return [*ranks, f"protects {protected(self.unit)}; {rows}", str(self.query), *self.notes]

    def _text(self) -> str:
        sampled = self._sampled()
        of_all = None if sampled is None else self._ends(sampled, LEVEL)
        told = describe(self._released, self.interval(), self._provenance.error, self.query.aggregate.buying, of_all)
        return f"{told}, {self._price_words()}"

    def _cautions(self) -> list[str]:
        """What would make the value misleading if it did not stand below."""
        return [str(note) for note in self.notes if isinstance(note, Caution)]

    def _stored(self) -> list[str]:
        """What is said on the screen of an answer that was paid for earlier."""
        return [STORED] if self._provenance.stored else []

    def _caution_lines(self) -> str:
        """Lines below the value in text."""
        return "".join(f"\n  {line}" for line in [*self._stored(), *self._cautions()])

    def __repr__(self) -> str:
        """Show the value as precisely as it is known, and the price; below it what would make it misleading."""
        return self._text() + self._caution_lines()

    def _repr_html_(self) -> str | None:
        return scalar_html(self._text(), [*self._stored(), self.mechanism, *self._facts()])

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle the value and where it comes from."""
        return type(self), (self._released, self._provenance)

    def __copy__(self) -> Release:
        """A scalar cannot change."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Release:
        """A scalar cannot change."""
        return self
