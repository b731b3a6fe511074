"""Questions about keys and groups: the statistics of each, choices, functions, several at once; also of keys that are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import pandas as pd

from pandas_dp.aggregates.base import Aggregate
from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.distinct import Shares
from pandas_dp.aggregates.keys import ByFoundKey, FoundCounts, FoundKeys, KeyColumn, KeyColumns
from pandas_dp.aggregates.moments import Mean, Sum
from pandas_dp.aggregates.population import MeanOfPopulation
from pandas_dp.aggregates.quantiles import GroupModes
from pandas_dp.aggregates.sample_and_aggregate import GroupsOfFunction
from pandas_dp.aggregates.several import SeveralOfGroups
from pandas_dp.core.lattice import RANK_BITS
from pandas_dp.core.partition import Cross, Keys
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.argument_help import Line, letting_go
from pandas_dp.facts.call import LEFT_OUT, columns_text
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.public_only import PERIODS
from pandas_dp.facts.schema import ColumnFacts
from pandas_dp.questions.found_keys import delta_needed, finds
from pandas_dp.questions.function_trial import no_number, rehearse
from pandas_dp.questions.group_statistics import GroupStatistics
from pandas_dp.questions.lacking import together
from pandas_dp.questions.of_units import refuse_units
from pandas_dp.questions.partition import Parts, few_columns, found_of, parts_of
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.several import composed
from pandas_dp.questions.unknown_names import BOUNDED, LACKING
from pandas_dp.questions.wanted import PricedColumns, wanted_of
from pandas_dp.release.values import FrameRelease, SeriesRelease

BY_GROUP = ("count", "nunique", "sum", "mean", "var", "std", "median")  # what agg knows of groups


class PricedGroups(GroupStatistics):
    """Groups of a priced frame: one answer for each listed key, all for the price of one call.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
    >>> session = df.dp.protect(epsilon=3, name="priced groups example")
    >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
    >>> groups["cost"].mean(bounds=(0, 50)).index.tolist(), session.left
    (['A', 'B'], 'epsilon=2')
    """

    __slots__ = ()
    _functions = BY_GROUP

    if TYPE_CHECKING:  # of overloads notebooks complete nothing

        @overload
        def __getitem__(self, column: str) -> PricedGroups: ...
        @overload
        def __getitem__(self, column: list[str]) -> PricedColumns: ...
        def __getitem__(self, column: Any) -> Any: ...

    else:

        @letting_go
        def __getitem__(self, column: str | list[str]) -> PricedGroups:
            """Select one column, or several by their list, as in pandas."""
            if isinstance(column, list):
                return PricedColumns(self, self._frame, column)
            return self._by_column(self._selected(column))

    def _by_column(self, column: str) -> PricedGroups:
        """The same groups, of one column."""
        return PricedGroups(self._frame, self._parts, column)

    def _check_listed(self, call: str) -> None:
        """Refuse what groups answer alone whose keys are listed, as these are; see `FoundGroups`."""

    def mode(self, column: str | None = None, *, keys: Any = None) -> SeriesRelease:
        """Return the most common of the listed keys of a column in each group; see `PricedFrame.mode`.

        Parameters
        ----------
        column : str, optional
        keys : list, optional
            Listed values; from the schema if left out. Other values are ignored.

        Returns
        -------
        Release
            A Series of keys. ``interval`` says how far the count of each may be below the largest of its group. A group with
            fewer rows than that may get any key.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A separate choice in each group, as by `PricedFrame.mode`, at rate epsilon / r under add_remove and epsilon / (2 r)
        under replace_one, where r is the number of rows of a unit that count. ``max_groups`` caps the pairs of group and key
        of a unit. Source: McKenna, Sheldon 2020; McSherry, Talwar 2007; McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group mode example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].mode(keys=[10, 40]).tolist()
        [10, 40]
        """
        self._check_listed("mode(...)")
        column = self._named(column, "mode")
        keyed, labels = self._frame._keys("mode", column, keys, False, False)
        crossed = self._parts.crossed((keyed, labels))
        if not isinstance(crossed.by, Cross):
            raise TypeError("groups and keys are a cross partition")
        question = GroupModes(crossed.by, keyed, self._parts.labels)
        return self._ask(question, column, keys=keyed.keys)

    def histogram(
        self, column: str | None = None, *, bins: Any = None, keys: Any = None, other: bool = False, null: bool = False
    ) -> SeriesRelease:
        """Count rows by bin or listed key of a column in each group; see `PricedFrame.histogram`.

        Parameters
        ----------
        column : str, optional
        bins : sequence of numbers or dates, or PeriodIndex, optional
        keys : list, optional
            Listed values; from the schema if left out.
        other, null : bool
            An additional part of this column for other values, and one for missing values.

        Returns
        -------
        Release
            An integer Series by group and part, the parts of the column in the last level of the index.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row counts in one part of one group: one price for all of them together, with the noise of `PricedFrame.histogram`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group histogram example")
        >>> groups = df.dp(epsilon=1).groupby("ward", keys=["A", "B"])
        >>> groups["cost"].histogram(bins=[0, 20, 50]).round(-3).tolist()  # two bins of A, two of B
        [2000, 0, 0, 2000]
        """
        self._check_listed("histogram(...)")
        column = self._named(column, "histogram")
        more = parts_of(self._frame, f"histogram({column!r}", [column], keys, bins, other, null)
        crossed = self._parts.crossed(more.factors[0])
        question = CountBy(crossed.by, crossed.labels, name="count")
        return self._ask(question, column, **more.given)

    def sample_and_aggregate(
        self,
        function: Callable[[pd.DataFrame], Any],
        *,
        bounds: Any = None,
        blocks: int | None = None,
        aggregator: str = "auto",
        error_bar: bool = True,
    ) -> SeriesRelease:
        """Your own function of each group, by sample and aggregate: one number for each.

        Each group is split into random blocks, the function runs on each block, and the results of each group are combined
        privately.

        Parameters
        ----------
        function : callable
            As in `PricedFrame.sample_and_aggregate`, for one number: it takes a DataFrame with this table's columns and some
            rows of one group. An exception, or a result that is not a finite number, counts as the middle of the bounds.
        bounds : (lower, upper)
            Public range of the results, the same for all groups.
        blocks : int, optional
            Number of blocks of each group, at most 1,000,000 in all groups together; by default it is chosen from the noisy
            sizes.
        aggregator : {"auto", "median", "mean", "smooth"}
            How results are combined; see `PricedFrame.sample_and_aggregate`.
        error_bar : bool
            Two fifths of what medians cost buy an interval of each, of the median of the block results; they err more then,
            and take more blocks.

        Returns
        -------
        Release
            A Series over all listed groups, within the bounds; a group that may have fewer than 5 rows per block has no value.
            It is not stored: asking again is charged again. ``table()`` adds the noisy sizes (numbers of units, if units have
            several rows), bought with a tenth of the price, and whether a group has enough rows for its blocks.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentValueError
        ArgumentTypeError
            Also if a trial on a made-up table fails; see `PricedFrame.sample_and_aggregate`.

        Notes
        -----
        A row of an unlisted group is in no block. A unit with several rows is in at most ``max_groups`` groups, and in one
        block of each. So with max_groups = m, a unit changes at most m block results under add_remove and 2 m under
        replace_one, never more than one in each group. Nine tenths of epsilon are divided by this number for each group: with
        one row per unit, each group gets all of it under add_remove, and half under replace_one. Source: Nissim,
        Raskhodnikova, Smith 2007, Section 4; McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 4000, "cost": [10, 40] * 4000})
        >>> session = df.dp.protect(epsilon=2, name="group function example")
        >>> groups = df.dp(epsilon=2).groupby("ward", keys=["A", "B"])
        >>> typical = groups.sample_and_aggregate(lambda d: d["cost"].median(), bounds=(0, 100), blocks=100)
        >>> typical.round().tolist()
        [10.0, 40.0]
        """
        self._check_listed(BOUNDED)
        line = f".groupby({self._by}, keys=[...]).{BOUNDED}"
        if self._column is not None:
            raise ArgumentTypeError(f"the function takes all columns, so select none: {line}")
        if not callable(function):
            raise ArgumentTypeError("function must be callable")
        if isinstance(bounds, Mapping):
            raise Line(line, LACKING).refuse("by group, the function returns one number; ask one call for each number")
        if isinstance(aggregator, str) and aggregator in ("vote", "winsorized"):
            raise Line(line, (("aggregator", ""),)).refuse(
                f"aggregator={aggregator!r} takes no groups", ArgumentValueError
            )
        count = numbers.blocks(blocks, aggregator, ("auto", "median", "mean", "smooth"))
        number, facts, bar = Kind("number"), ColumnFacts(), numbers.flag(error_bar, "error_bar")
        lattice = checks.lattice(
            bounds, None, RANK_BITS, number, facts, "sample_and_aggregate", "function", Line(line, LACKING)
        )
        empty = self._frame._empty()
        tried = rehearse(function, empty.dtypes, no_number)
        results = BlockResults(function, lattice, 1, by=self._parts.by)
        question = GroupsOfFunction(results, number, self._parts.labels, count, aggregator, tried, bar)
        text, every = self._text(None, blocks=blocks, aggregator=aggregator), tuple(empty.columns)
        return self._frame._filled(every)._ask(text, question, every)

    def agg(
        self,
        func: Any = None,
        *,
        bounds: Any = None,
        weights: Any = None,
        within: Any = None,
        error_bar: bool = True,
        **named: Any,
    ) -> FrameRelease:
        """Ask several questions about each group for one price, as pandas' agg; see `PricedFrame.agg`.

        Parameters
        ----------
        func : dict of str to str or list of str, or list of str
            By column: "count", "sum", "mean", "var", "std" or "median", or a list of them. For a selected column, the list
            alone.
        bounds : dict of str to (lower, upper), or (lower, upper) of a selected column, optional
        weights : list of numbers, optional
            Share of the price of each answer, in the order written; they add up to 1. Equal if left out.
        within : list of numbers or Timedeltas, optional
            In place of weights: the wanted error of each answer; see `PricedFrame.agg`. Not for means, whose error is not
            known in advance.
        error_bar : bool
            Two fifths of the share of each median buy an interval for it; see `quantile`.
        **named : (column, function)
            Names of columns, as in pandas: ``agg(typical=("cost", "median"))``.

        Returns
        -------
        Release
            A DataFrame with a row for each group and a column for each answer.

        Notes
        -----
        Moments of one column are computed from the same noisy sums of each group, and agree, as in `PricedFrame.agg`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="group agg example")
        >>> found = df.dp(epsilon=2).groupby("ward", keys=["A", "B"]).agg({"cost": ["count", "mean"]}, bounds={"cost": (0, 50)})
        >>> found.columns.tolist()
        [('cost', 'count'), ('cost', 'mean')]
        >>> bool(9 < found.loc["A", ("cost", "mean")] < 11)
        True
        """
        self._check_listed("agg(...)")
        selected = self._column is not None and not named and not isinstance(func, Mapping)
        if selected:
            func, bounds = {self._column: func}, None if bounds is None else {self._column: bounds}
        wanted, single = wanted_of(self._frame, func, named, BY_GROUP, self._column)
        split = weights, within, error_bar
        try:
            parts, text = composed(self._frame, self._of, wanted, bounds, split, bool(named))
        except (ArgumentTypeError, ArgumentValueError) as error:
            if selected and error._needs is not None and error._needs[1][0][0] == "bounds":
                error._needs = error._needs[0], LACKING, error._needs[2]
            raise
        if named or selected:
            parts = tuple(replace(part, column=None) for part in parts)
        columns = (*self._parts.columns, *dict.fromkeys(cell.column for cell in wanted))
        return self._frame._ask(f"{self._groups}.{text}", SeveralOfGroups(parts, single and not selected), columns)

    def _of(self, frame: PreparedFrame) -> PricedGroups:
        """The same groups of the same rows at another price."""
        return PricedGroups(frame, self._parts)


GROUPING = "by must be a column or a list of columns, by their names"


class GroupQuestions(PreparedFrame):
    """Counts by key, and keys themselves."""

    __slots__ = ()

    def value_counts(
        self,
        column: str,
        *,
        keys: Any = None,
        normalize: bool = False,
        sort: bool = True,
        other: bool = False,
        null: bool = False,
    ) -> SeriesRelease:
        """Count rows by key, largest first as in pandas; see ``histogram`` for listed keys.

        Parameters
        ----------
        column : str
        keys : list, optional
            Listed values, all of which are in the answer; from the schema if left out. Never from the data, such as
            ``df["city"].unique()``. Without a list, and with a ``delta`` in the price, keys are discovered: those whose noisy
            count reaches a threshold.
        normalize : bool
            With listed keys: shares instead of counts. Each is a noisy count divided by the sum of all noisy counts, clipped
            to [0, 1]. Rows with unlisted keys are not in that sum, unless ``other=True``.
        sort : bool
            Sort by the noisy counts; False keeps the listed order, or the order of the discovered keys.
        other, null : bool
            With listed keys: an additional key for other values, and one for missing values.

        Returns
        -------
        Release
            A Series over the keys: of integers, or of shares.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Discovered keys: noise is added to the count of every key that occurs, and the noisy count is compared with a threshold
        and released. With probability at most delta, any of the keys that only one unit has (at most max_groups, with
        max_rows_per_group rows each) is listed; otherwise the guarantee is that of the noise. The noise is Laplace noise, or
        Gaussian noise with half of delta if this gives a lower threshold. The threshold is 15 rows at (1, 1e-6) with one row
        per unit. The delta is charged to the session's ``delta_reserved``. Text, numbers, bools and dates can be discovered.
        In columns of objects or categories, text and whole numbers can (True and 1.0 count as 1), and everything else counts
        as missing. So do dates outside the years 1 to 9999 (with a time zone, also on the first and last day of these) and, in
        categories, numbers from 2**53 on, which pandas may have rounded. Source: Korolova, Kenthapadi, Mishra, Ntoulas 2009;
        Wilkins, Kifer, Zhang, Karrer 2024.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"city": ["Ulm"] * 500 + ["Bonn"] * 900 + ["Rust"]})
        >>> session = df.dp.protect(epsilon=3, delta=1e-4, name="value_counts example")
        >>> list(df.dp(epsilon=1, delta=1e-6).value_counts("city").index)
        ['Bonn', 'Ulm']
        """
        shares = numbers.flag(normalize, "normalize")
        if isinstance(column, list):
            raise together(self, column)
        if finds(self, "value_counts", column, keys, other, null):
            if shares:
                example = checks.KEYS.get(self._kind(column).name, checks.KEYS["key"])
                line = Line(f"value_counts({column!r}, keys={example}, normalize=True)", (("keys", example),))
                raise line.refuse("normalize= goes with listed keys")
            question = FoundCounts((KeyColumn(column, self._kind(column)),), sort=bool(sort))
            return self._ask(self._text(sort=LEFT_OUT), question, (column,))
        keyed, labels = self._keys("value_counts", column, keys, other, null)
        counts = CountBy(keyed, labels, name="count", sort=bool(sort))
        text = self._text(keys=keyed.keys, sort=LEFT_OUT)
        asking = self._from_schema((column,), keys)
        return asking._ask(text, Shares(counts) if shares else counts, (column,))

    def unique(self, column: str | list[str]) -> Any:
        """List the keys of a column that many units have; rare keys, and those of a single unit, are not listed.

        Parameters
        ----------
        column : str or list of str
            For several columns, combinations that many units have are listed.

        Returns
        -------
        Release
            A Series of keys, sorted, or a DataFrame of combinations. It is public, so it can be ``keys=`` of other questions.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A key that n units have is listed with the largest probability that epsilon and delta allow, at most delta for n = 1.
        With max_groups = m, each key gets (epsilon / m, delta / m) under add_remove, and half of that under replace_one. If m
        is large, from about 14 groups on (7 under replace_one), a unit with j keys counts 1 / sqrt(j) in each instead, and
        keys are listed whose sum with Gaussian noise reaches a threshold. This noise does not grow with the number of keys.
        Half of delta pays for the threshold and is charged to the session's ``delta_reserved``. ``unique`` mostly needs fewer
        units with a key than ``value_counts``, which also gives counts; see there for the kinds of keys that can be
        discovered. A combination is one key: max_groups caps the combinations of a unit, and a row with a missing value in one
        of the columns has none. Source: Desfontaines, Voss, Gipson, Mandayam 2022; of many groups Gopi, Gulhane, Kulkarni,
        Shen, Shokouhi, Yekhanin 2020.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"city": ["Ulm"] * 500 + ["Bonn"] * 900 + ["Rust"]})
        >>> session = df.dp.protect(epsilon=3, delta=1e-4, name="unique example")
        >>> list(df.dp(epsilon=0.5, delta=1e-7).unique("city"))
        ['Bonn', 'Ulm']
        >>> df = pd.DataFrame({"city": ["Ulm", "Bonn"] * 500, "sex": ["f", "m", "m", "m"] * 250})
        >>> session = df.dp.protect(epsilon=3, delta=1e-4, name="unique combinations example")
        >>> found = df.dp(epsilon=0.5, delta=1e-7).unique(["city", "sex"])
        >>> found.to_numpy().tolist()
        [['Bonn', 'm'], ['Ulm', 'f'], ['Ulm', 'm']]
        >>> df.dp(epsilon=1).groupby(["city", "sex"], keys=found).size().index.tolist()
        [('Bonn', 'm'), ('Ulm', 'f'), ('Ulm', 'm')]
        """
        columns = tuple(column) if isinstance(column, list) else (column,)
        if isinstance(column, list) and len(dict.fromkeys(map(repr, columns))) < max(len(columns), 2):
            raise ArgumentTypeError(
                "column must be the name of one column, or a list of several that differ: unique(['state', 'sex'])"
            )
        few_columns(columns)
        made = tuple(KeyColumn(name, self._kind(name)) for name in columns)
        if not self._price.delta:
            raise delta_needed(self, f"unique({column!r})")
        return self._ask(self._text(), FoundKeys(made), columns)

    def groupby(
        self, by: str | list[str], *, keys: Any = None, bins: Any = None, other: bool = False, null: bool = False
    ) -> PricedGroups:
        """Group rows by public keys or bins; then ``size``, ``count``, ``sum``, ``mean``, ``median`` and others.

        Parameters
        ----------
        by : str or list of str
            Several columns give a group for each combination of their keys and bins.
        keys : list, dict or DataFrame, optional
            Listed values, in the order wanted; from the schema if left out. All of them are in the answer. Never from the
            data, such as ``df["state"].unique()``; ``df.dp(epsilon=0.5, delta=1e-7).unique("state")`` is public. For several
            columns, a dict by column, or a public table whose rows are the possible combinations (at most 1,000,000). Without
            a list, and with a ``delta`` in the price, keys are discovered as in ``value_counts``. For ``sum`` and ``mean``,
            half of epsilon and the whole delta discover them as in ``unique`` (half of delta, if units have so many groups
            that Gaussian noise on the sums is less than half of Laplace noise). For several columns, combinations that many
            units have are discovered. If the keys of some columns are listed, a row with another value in one of these is in
            no group.
        bins : sequence of numbers or dates, PeriodIndex, or dict, optional
            In place of keys: edges as for ``histogram``, or consecutive periods of a column of dates, such as
            ``pd.period_range("2013-01", "2013-12", freq="M")``. For several columns, a dict by column.
        other, null : bool
            An additional group for the unlisted values of each column, and one for its missing values.

        Returns
        -------
        PricedGroups

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row is in at most one group, so all groups together cost epsilon once under add_remove. Under replace_one it may
        leave one group and enter another, which doubles the noise. A unit with several rows counts in at most ``max_groups``
        groups (combinations), which are chosen at random. Source: McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"state": ["NY", "CA"] * 1500, "sex": ["f", "m", "m"] * 1000, "age": range(3000)})
        >>> session = df.dp.protect(epsilon=2, name="groupby example")
        >>> sizes = df.dp(epsilon=1).groupby(["state", "sex"], keys={"state": ["CA", "NY"], "sex": ["f", "m"]}).size()
        >>> sizes.index.tolist()
        [('CA', 'f'), ('CA', 'm'), ('NY', 'f'), ('NY', 'm')]
        >>> 400 < int(sizes["CA", "f"]) < 600
        True
        >>> df = pd.DataFrame({"state": ["NY", "CA"] * 500 + ["RI"], "sex": ["f", "m", "m", "m"] * 250 + ["m"]})
        >>> session = df.dp.protect(epsilon=2, delta=1e-4, name="groupby found example")
        >>> df.dp(epsilon=1, delta=1e-6).groupby(["state", "sex"]).size().index.tolist()
        [('CA', 'm'), ('NY', 'f'), ('NY', 'm')]
        """
        columns = by if isinstance(by, list) else [by]
        if isinstance(by, pd.Grouper):
            key: Any = by.key if isinstance(by.key, str) and by.key in self._empty() else None
            needs = () if key is None else (("by", repr(key)), ("bins", checks.months(self._facts(key))))
            line = Line(f"groupby('visit', bins={PERIODS})", needs)
            raise line.refuse("a Grouper looks at the dates; months are bins")
        if any(map(callable, columns)):
            raise ArgumentTypeError("groups are those of a column, which a step may make: .assign(part=lambda d: ...)")
        if not columns or not all(isinstance(column, str) for column in columns):
            raise ArgumentTypeError(GROUPING)
        given = [of for of in (keys, bins) if of is not None]
        if all(isinstance(of, Mapping) for of in given):
            for column in columns:
                if not any(column in of for of in given):
                    refuse_units(self, column)
        if len(columns) == 1 and bins is None and finds(self, "groupby", columns[0], keys, other, null):
            return FoundGroups(self._from_schema(columns), (KeyColumn(columns[0], self._kind(columns[0])),), {})
        head = f"groupby({columns_text(tuple(columns))}"
        if self._price.delta and len(columns) > 1 and not isinstance(keys, pd.DataFrame):
            found = found_of(self, head, columns, keys, bins, other, null)
            if found is not None:
                return FoundGroups(self._from_schema(columns, keys, bins), *found)
        parts = parts_of(self, head, columns, keys, bins, other, null)
        return PricedGroups(self._from_schema(columns, keys, bins), parts)


class FoundGroups(PricedGroups):
    """Groups of unknown keys: those that the answer's own price finds.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"ward": ["A", "B"] * 2000, "cost": [10, 40] * 2000})
    >>> session = df.dp.protect(epsilon=3, delta=1e-4, name="found groups example")
    >>> groups = df.dp(epsilon=1, delta=1e-6).groupby("ward")
    >>> groups["cost"].mean(bounds=(0, 50)).index.tolist()
    ['A', 'B']
    """

    __slots__ = ("_keys",)
    _buys_bounds = False  # of what finds groups

    def __init__(
        self, frame: PreparedFrame, keys: KeyColumns, given: dict[str, Any], column: str | None = None
    ) -> None:
        first, names = keys[0].column, tuple(key.column for key in keys)
        super().__init__(frame, Parts(Keys(first, ()), Labels(first, ()), names, given), column)
        self._keys = keys

    def _by_column(self, column: str) -> FoundGroups:
        """The same groups, of one column."""
        return FoundGroups(self._frame, self._keys, self._parts.given, column)

    @property
    def _listed(self) -> str:
        """The groups as one lists them."""
        return f".groupby({self._by}, keys={'[...]' if len(self._keys) == 1 else '{...}'})"

    def _check_listed(self, call: str) -> None:
        """Refuse: what finds groups answers one question about them, and blocks are random parts of groups that are known."""
        name = call.partition("(")[0]
        raise ArgumentTypeError(f"{name}() of groups needs listed keys: {self._listed}.{call}")

    def _recipe(self, aggregate: Aggregate, column: str | None) -> Aggregate:
        """What finds the groups and answers for each."""
        if isinstance(aggregate, CountBy):
            return FoundCounts(self._keys, aggregate.column, aggregate.name or "size", sort=False)
        if isinstance(aggregate, Sum | Mean):
            return ByFoundKey(self._keys, aggregate)
        name = self._call[0].name
        needs = f"bounds: .{self._groups}[{column!r}].{name}(bounds=(lower, upper))"
        if isinstance(aggregate, MeanOfPopulation):
            needs = f"listed keys for population=True: {self._listed}"
        elif name not in ("sum", "mean"):
            needs = f"listed keys, {self._listed}: discovered ones take size(), count(), sum() and mean()"
        raise ArgumentTypeError(f"with discovered keys, {name}() needs {needs}")
