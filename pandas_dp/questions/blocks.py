"""Questions about functions: on many random blocks, combined privately, or of the whole table, with a sensitivity given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd

from pandas_dp.aggregates.keys import ByFoundKey, KeyColumn, labels_of
from pandas_dp.aggregates.own_function import OwnFunction
from pandas_dp.aggregates.sample_and_aggregate import GroupsOfBlocks, SampleAndAggregate, VoteOfBlocks
from pandas_dp.aggregates.vectors import MOST_FOR_CENTRE, Estimates, KMeans
from pandas_dp.core.lattice import RANK_BITS, SUM_BITS
from pandas_dp.core.partition import Keys
from pandas_dp.core.statistics.blocks import BlockMeans
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import checks, numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.call import LEFT_OUT
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.public_only import EXAMPLES, legible, listed
from pandas_dp.facts.schema import ColumnFacts
from pandas_dp.questions.choices import positive
from pandas_dp.questions.found_keys import finds
from pandas_dp.questions.function_trial import (
    MIDDLE,
    NO_VOTE,
    WHOLE_ZERO,
    no_key,
    no_number,
    no_vector,
    one_number,
    rehearse,
)
from pandas_dp.questions.lacking import by_column
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.unknown_names import BOUNDED, LACKING
from pandas_dp.release.values import FrameRelease, SeriesRelease

MOST_OUTPUTS = 1000  # of kmeans, centres times columns
VOTE = "sample_and_aggregate(function, keys=['A', 'B'], aggregator='vote')"


class BlockQuestions(PreparedFrame):
    """The questions of a priced frame that are answered from block results, or by a function that moves little."""

    __slots__ = ()

    def groupby_mean_sa(
        self,
        by: str,
        column: str,
        *,
        keys: Any = None,
        bounds: Any = None,
        blocks: int | None = None,
        aggregator: str = "auto",
        error_bar: bool = True,
    ) -> SeriesRelease:
        """Mean of a column in each listed group by sample and aggregate.

        Each group is split into random blocks and the block means are combined privately: by their median where groups
        are large, by their noisy mean otherwise.

        Parameters
        ----------
        by, column : str
        keys : list, optional
            Listed groups; from the schema if left out. Without any, and with a ``delta`` in the price, half of epsilon and
            the whole delta find them as in ``unique``.
        bounds : (lower, upper), optional
            Bounds of each value, and so of the block means; from the schema if left out.
        blocks : int, optional
            Number of blocks of each group; by default it is chosen from the noisy sizes.
        aggregator : {"auto", "median", "mean", "smooth"}
        error_bar : bool
            Two fifths of what medians cost buy an interval of each, of the median of the block means; they err more then,
            and take more blocks.

        Returns
        -------
        Release
            A Series over all listed groups. ``table()`` adds the noisy sizes (numbers of units, if units have several rows),
            bought with a tenth of the price, and whether a group has 5 rows per block. A group that may have fewer has no
            value. For noisy means the limit is 3: they are corrected for the expected share of empty blocks.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A unit lies in one block of each of at most max_groups groups. So with one row per unit, all groups together cost
        epsilon once under add_remove. Under replace_one, two groups can change. For a plain mean
        ``groupby(by)[column].mean()`` is usually better: its noise is (upper - lower) / (rows epsilon) instead of (upper -
        lower) / (blocks epsilon). Sample and aggregate wins where the bounds are very wide and the values narrow. Source:
        Nissim, Raskhodnikova, Smith 2007; Smith 2011; McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"ward": ["A", "B"] * 4000, "cost": [10, 40] * 4000})
        >>> session = df.dp.protect(epsilon=10, name="groupby_mean_sa example")
        >>> means = df.dp(epsilon=10).groupby_mean_sa("ward", "cost", keys=["A", "B"], bounds=(0, 100), blocks=200)
        >>> means.round().tolist()
        [10.0, 40.0]
        >>> means.table().columns.tolist()
        ['value', 'lower', 'upper', 'size', 'enough_rows']
        """
        count = numbers.blocks(blocks, aggregator, ("auto", "median", "mean", "smooth"))
        bar = numbers.flag(error_bar, "error_bar")
        if finds(self, "groupby_mean_sa", by, keys):
            key, (kind, lattice) = (
                KeyColumn(by, self._kind(by)),
                self._lattice("groupby_mean_sa", column, bounds, None, RANK_BITS),
            )
            none = BlockMeans(column, lattice, Keys(by, ()), 1)
            groups = GroupsOfBlocks(none, kind, labels_of((key,), ()), count, aggregator, (), bar)
            return self._ask(self._text(blocks=blocks, aggregator=aggregator), ByFoundKey((key,), groups), (by, column))
        keyed, labels = self._keys("groupby_mean_sa", by, keys, False, False)
        kind, lattice = self._lattice("groupby_mean_sa", column, bounds, None, RANK_BITS)
        aggregate = GroupsOfBlocks(BlockMeans(column, lattice, keyed, 1), kind, labels, count, aggregator, (), bar)
        text = self._text(keys=keyed.keys, blocks=blocks, aggregator=aggregator)
        return self._ask(text, aggregate, (by, column))

    def sample_and_aggregate(
        self,
        function: Callable[[pd.DataFrame], Any],
        *,
        bounds: Any = None,
        keys: Any = None,
        blocks: int | None = None,
        aggregator: str = "auto",
        widening: str = "tukey",
        rows: int | None = None,
        error_bar: bool = False,
    ) -> Any:
        """Your own function of a table, by sample and aggregate: one number, several numbers, or one of listed keys.

        The rows are split into random blocks (all rows of a unit into one), the function runs on each block, and its
        results are combined privately.

        Parameters
        ----------
        function : callable
            Takes a DataFrame with this table's columns and some of its rows, and returns a number (for a vote, a key). Numbers
            arrive as float64, also those in categories (missing there from 2**53 on), and dates as timestamps. An exception,
            or a result that is not a finite number, counts as the middle of the bounds (for a vote, as no vote). It should
            compute from its argument alone and keep nothing from one block to the next. It is called once for all blocks
            without rows.
        bounds : (lower, upper) or dict of str to (lower, upper), optional
            Public range of the results; not for a vote. A dict names several numbers: the function returns a dict or Series
            with these names, or as many numbers in their order.
        keys : list, optional
            Public list of the results that a vote counts.
        blocks : int, optional
            Number of blocks. By default, with e for epsilon and n for rows: max(n^0.4, 100/e) for a median or a vote, 810/e
            instead of 100/e for a Winsorized mean; for a mean 50, or 25 if n is unknown or below 250. At most n.
        aggregator : {"auto", "median", "mean", "smooth", "winsorized", "vote"}
            ``auto`` takes the median where blocks times epsilon is at least 50 (and, without ``blocks``, n at least 10 times
            the blocks), the noisy mean otherwise. ``smooth`` is their median with noise scaled to its smooth sensitivity.
            ``winsorized`` is a mean of the results clipped around two private quartiles; it needs 8 times the blocks of a
            median and has no bias on skewed results. ``vote`` is the most common result.
        widening : {"tukey", "smith"}
            How far beyond its quartiles a Winsorized mean clips: 1.5 times their distance, or as Smith 2011 proves the best
            for very many blocks.
        rows : int, optional
            Roughly how many rows there are (units, if units have several rows), if that is public: never from the data. If the
            number of rows is public in this budget, it is known already.
        error_bar : bool
            For a median of one number: two fifths of the price buy an interval for the median of the block results. The median
            itself then has a larger error, and takes more blocks.

        Returns
        -------
        Release
            A float within the bounds, a Series by name, or a key. It is not stored: asking again is charged again. If public
            numbers show that the noise is a large part of the bounds, its notes say so. If the noise is as wide as the bounds,
            or as the number of blocks or votes, the question is refused before it is charged.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentValueError
        ArgumentTypeError
            Also if the function raises a TypeError, NameError, AttributeError or KeyError on a made-up table with the columns
            of this one, returns something that is not a number (for a vote: not a key), or asks a question. This is tried
            before anything is read or charged.

        Notes
        -----
        One unit changes one block's result, whatever the function returns, under add_remove and replace_one alike. Blocks have
        equal sizes under replace_one with rows=True, one row per unit and no filter. Otherwise each unit draws its block
        independently. What else the function does (printing, writing files, taking a long time) is not controlled. Inside, it
        must not ask another question. For files and Dask DataFrames, all rows of the columns are loaded into this process; a
        warning says so before the charge. With K blocks: noisy mean, Laplace noise (upper - lower) / (K epsilon); median,
        exponential mechanism of rate epsilon / 2 on ranks; smooth median as in ``median(..., method="smooth")``; Winsorized
        mean, two quartiles at epsilon / 4 each and Laplace noise on the clipped mean; vote, permute-and-flip of rate epsilon /
        2 (exponential mechanism where the session has delta > 0). Source: Nissim, Raskhodnikova, Smith 2007, Section 4; Smith
        2011; blocks: Mohan, Thakurta, Shi, Song, Culler 2012.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=5, name="sample and aggregate example")
        >>> middle = df.dp(epsilon=5).sample_and_aggregate(lambda d: d["age"].median(), bounds=(0, 100), rows=3000)
        >>> 35 < middle < 55
        True
        """
        if not callable(function):
            raise ArgumentTypeError("function must be callable")
        count = numbers.blocks(blocks, aggregator, ("auto", "median", "mean", "smooth", "winsorized", "vote"))
        known = None if rows is None else numbers.positive_int(rows, "rows")
        name, facts = "sample_and_aggregate", ColumnFacts()
        if (keys is not None) != (aggregator == "vote") or (aggregator == "vote" and bounds is not None):
            wanted = (("keys", "['A', 'B']"), ("bounds", ""), ("aggregator", "'vote'"))
            voting = aggregator == "vote" or (bounds is None and keys is not None)
            needs = wanted if voting else (("keys", ""), ("bounds", "(lower, upper)"))
            raise Line(VOTE, needs).refuse("a vote takes keys= and no bounds=, the other aggregators bounds= alone")
        if widening not in ("tukey", "smith") or (widening != "tukey" and aggregator != "winsorized"):
            raise ArgumentValueError(
                "widening is 'tukey' or, with aggregator='winsorized' alone, 'smith': widening='tukey'"
            )
        aggregate: SampleAndAggregate | VoteOfBlocks | Estimates
        wrong: Callable[[Any], str | None] = no_number
        resolved: dict[str, Any] = {}
        if isinstance(bounds, Mapping):
            aggregate = self._estimates(function, bounds, count, aggregator, known)
            wrong = no_vector(aggregate.names)
        elif aggregator == "vote":
            wrong = no_key
            listed, _ = checks.keys(
                keys, False, False, Kind("key"), facts, name, "function", Line(VOTE, (("keys", "['A', 'B']"),))
            )
            aggregate, resolved = VoteOfBlocks(function, listed, count, known), {"keys": listed.keys}
        else:
            bits = SUM_BITS if aggregator == "winsorized" else RANK_BITS  # results may be narrow in wide bounds
            lattice = checks.lattice(
                bounds, None, bits, Kind("number"), facts, name, "function", Line(BOUNDED, LACKING)
            )
            aggregate = SampleAndAggregate(function, lattice, count, aggregator, widening, known)
        if numbers.flag(error_bar, "error_bar"):
            if not isinstance(aggregate, SampleAndAggregate) or aggregator not in ("auto", "median"):
                raise ArgumentValueError(
                    "error_bar=True buys an interval of a median of one number: sample_and_aggregate(function, bounds=(0, 9), "
                    "aggregator='median', error_bar=True)"
                )
            aggregate = replace(aggregate, error_bar=True)
        text = self._text(blocks=blocks, aggregator=aggregator, **resolved)
        tried = rehearse(function, self._empty().dtypes, wrong, without=NO_VOTE if wrong is no_key else MIDDLE)
        every = tuple(self._empty().columns)
        return self._filled(every)._ask(text, replace(aggregate, tried=tried), every)

    def _estimates(
        self,
        function: Callable[[pd.DataFrame], Any],
        bounds: Mapping[Any, Any],
        count: int | None,
        how: str,
        rows: int | None,
    ) -> Estimates:
        """Several named numbers."""
        line = "sample_and_aggregate(function, bounds={'slope': (-1, 1), 'intercept': (0, 100)})"
        if not 1 <= len(bounds) <= MOST_OUTPUTS or not all(map(legible, bounds)):
            raise ArgumentValueError(f"a dict of bounds names 1 to {MOST_OUTPUTS:,} numbers by text: {line}")
        if how == "winsorized":
            raise ArgumentValueError("aggregator='winsorized' takes one number; leave it out for several")
        few_enough(count, how, len(bounds))
        needs = (("bounds", f"{{{', '.join(f'{name!r}: (lower, upper)' for name in bounds)}}}"),)
        ranges = _ends("sample_and_aggregate", bounds, lambda _: ColumnFacts(), Line(line, needs))
        return Estimates(tuple(bounds), ranges, count, rows, how, function)

    def kmeans(
        self,
        columns: Sequence[str],
        *,
        k: int,
        bounds: Mapping[str, Any] | None = None,
        blocks: int | None = None,
        aggregator: str = "auto",
        rows: int | None = None,
    ) -> FrameRelease:
        """Centres of k clusters by sample and aggregate: k-means on each of many random blocks, combined privately.

        Parameters
        ----------
        columns : list of str
            Columns of numbers; rows with a missing value in one of them are left out.
        k : int
            Number of centres.
        bounds : dict of str to (lower, upper), optional
            Bounds of each column; from the schema if left out. Values are clipped to them, and distances are measured in their
            widths.
        blocks : int, optional
            By default as in ``sample_and_aggregate``, with epsilon / (k times the number of columns) in place of epsilon.
        aggregator : {"auto", "median", "mean", "smooth"}
            "smooth" takes all centres of the block that most others resemble, with noise scaled to its smooth sensitivity;
            at most 2,000 blocks.
        rows : int, optional
            About how many rows there are, if that is public; see ``sample_and_aggregate``.

        Returns
        -------
        Release
            A DataFrame with k rows and these columns. If public numbers show that the noise is a large part of the bounds, its
            notes say so. If the noise is as wide as the bounds, the question is refused before it is charged.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Each block's centres are sorted by their first coordinate, then the next, and one unit changes the centres of one
        block, under add_remove and replace_one alike. With d columns, each of the k d coordinates is the private median of
        that coordinate over the blocks, at epsilon / (k d). If the number of blocks times this epsilon is below 50, it is the
        noisy mean instead. "smooth" has a larger error and needs about 60 k d / epsilon blocks, but all its centres come from
        the same block. Well separated clusters of similar size are found; clusters that are close in the first column are
        matched badly between blocks, so put the column that separates them first. Source: Nissim, Raskhodnikova, Smith 2007,
        Sections 4 and 5.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [20, 60] * 5000, "cost": [5, 40] * 5000})
        >>> session = df.dp.protect(epsilon=10, name="kmeans example")
        >>> centres = df.dp(epsilon=10).kmeans(["age", "cost"], k=2, bounds={"age": (0, 100), "cost": (0, 50)}, blocks=200)
        >>> centres.round().to_numpy().tolist()
        [[20.0, 5.0], [60.0, 40.0]]
        """
        (names, given), centres = by_column(self, "kmeans", columns, bounds, ("number",)), numbers.positive_int(k, "k")
        if centres * len(names) > MOST_OUTPUTS:
            raise ArgumentValueError(f"k times the number of columns may be at most {MOST_OUTPUTS:,}: k=3")
        count = numbers.blocks(blocks, aggregator, ("auto", "median", "mean", "smooth"))
        few_enough(count, aggregator, len(names) * centres)
        known = None if rows is None else numbers.positive_int(rows, "rows")
        line = self._bounds_line("kmeans", names, given)
        ranges = _ends("kmeans", {name: given.get(name) for name in names}, self._facts, line)
        text = self._text(columns=names, bounds=self._bounds(names, given), blocks=blocks)
        return self._filled(names)._ask(text, KMeans(names, ranges, count, known, aggregator, centres), names)

    def release(
        self,
        function: Callable[[pd.DataFrame], Any],
        sensitivity: Any,
        *,
        names: Sequence[str] | None = None,
        norm: int = 1,
    ) -> Any:
        """One number, or several, that a function of yours computes from the whole table, with noise for its sensitivity.

        This is the basic mechanism of differential privacy: you say how far one unit can move the result, and the noise hides
        it.

        Parameters
        ----------
        function : callable
            Takes a DataFrame with this table's columns and the rows that count, at most ``max_rows`` of each unit, and returns
            a number. Columns have the dtypes that ``sample_and_aggregate`` uses. An exception, or a result that is not a
            finite number, counts as 0. It should compute from its argument alone. It is first tried on made-up rows, as in
            ``sample_and_aggregate``.
        sensitivity : number
            Your statement that one unit more or fewer (under replace_one also a unit with other rows) moves what the function
            returns by at most this much, for all tables. In a budget for each period, it is about the rows of a unit in one
            period; its rows in other periods stay. It must also hold if the function fails for one of the tables, which counts
            as 0. Nothing checks it: the answer and the certificate say so in ``assumes``.
        names : list of str, optional
            Names of several numbers, at most 1,000: the function returns a dict or Series with these names, or as many numbers
            in their order. If it returns anything else, all count as 0.
        norm : {1, 2}
            For several numbers: whether the sensitivity bounds the sum of the absolute changes (L1), or the root of the sum of
            their squares (L2).

        Returns
        -------
        Release
            A float, or a Series by name. ``interval`` is around what the function returned. It is not stored: asking again
            is charged again.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentValueError
        ArgumentTypeError
            Also if the function raises a TypeError, NameError, AttributeError or KeyError on a made-up table with the columns
            of this one, returns something that is not a number, or asks a question. This is tried before anything is read or
            charged.

        Notes
        -----
        Discrete Laplace noise of scale sensitivity / epsilon at a plain epsilon, discrete Gaussian noise with a ``delta`` or
        ``rho``, under add_remove and replace_one alike: the sensitivity refers to the relation and the unit of the budget.
        Both norms work with both kinds of noise: for d numbers, L1 is at most the root of d times L2, and L2 is at most L1.
        Results are rounded to multiples of a power of two of at most sensitivity / 2**20 (for several numbers, divided by
        their number), and clipped to 2**61 such steps. Rounding one number costs nothing; rounding several numbers adds a few
        millionths to the noise. A sum of floats has rounding errors, which add to its sensitivity: if that matters, type a
        slightly larger sensitivity. For counts, sums and means, use the call of that name: it needs no sensitivity from you,
        and clips values. What a function does besides returning numbers is not controlled. Source: Dwork, McSherry, Nissim,
        Smith 2006.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=2, name="own function example")
        >>> seniors = df.dp(epsilon=1).release(lambda d: (d["age"] >= 60).sum(), sensitivity=1)
        >>> 950 < seniors < 1050
        True
        >>> seniors.assumes
        'one row more or fewer changes the result by at most 1'
        >>> halves = df.dp(epsilon=1).release(
        ...     lambda d: [(d["age"] < 40).sum(), (d["age"] >= 40).sum()], sensitivity=1, names=["young", "old"]
        ... )
        >>> halves.index.tolist()
        ['young', 'old']
        """
        if not callable(function):
            raise ArgumentTypeError("function must be callable: release(lambda d: len(d), sensitivity=largest_change)")
        exact = positive(sensitivity, "sensitivity", EXAMPLES["sensitivity"])
        if isinstance(norm, bool) or norm not in (1, 2):
            meant = {"1": "1", "2": "2"}.get(norm.lower().removeprefix("l")) if isinstance(norm, str) else None
            raise ArgumentValueError(
                "sensitivity bounds the sum of the changes with norm=1, and the root of the sum of their squares with norm=2"
                f"{f': norm={meant}' if meant else ''}"
            )
        of = () if names is None else _names(names)
        wrong = no_vector(of) if of else one_number
        tried = rehearse(function, self._empty().dtypes, wrong, without=WHOLE_ZERO)
        every = tuple(self._empty().columns)
        text = self._text(names=of or LEFT_OUT)
        return self._filled(every)._ask(text, OwnFunction(function, exact, of, norm, tried), every)


def _ends(
    call: str, pairs: Mapping[str, Any], facts: Callable[[str], ColumnFacts], line: Line
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Exact ends of the bounds of several numbers."""
    lattices = [
        checks.lattice(pair, None, RANK_BITS, Kind("number"), facts(name), call, name, line)
        for name, pair in pairs.items()
    ]
    return tuple((lattice.lower, lattice.upper) for lattice in lattices)


def few_enough(blocks: int | None, aggregator: str, outputs: int) -> None:
    """Refuse more blocks than the smooth aggregator of vectors compares."""
    if aggregator == "smooth" and outputs > 1 and blocks is not None and blocks > MOST_FOR_CENTRE:
        raise ArgumentValueError(f"aggregator='smooth' takes at most {MOST_FOR_CENTRE:,} blocks of several numbers")


def _names(given: Any) -> tuple[str, ...]:
    """Distinct names of several numbers."""
    line = "names=['low', 'high']"
    if isinstance(given, str) or not listed(given) or not isinstance(given, Sequence | pd.Index):
        raise ArgumentTypeError(f"names must be a public list of text: {line}")
    names = tuple(given)
    if not all(isinstance(name, str) and legible(name) for name in names):
        raise ArgumentTypeError(f"names must be a public list of text: {line}")
    if not 1 <= len(names) <= MOST_OUTPUTS or len(set(names)) != len(names):
        raise ArgumentValueError(f"names must be 1 to {MOST_OUTPUTS:,} different ones: {line}")
    return names
