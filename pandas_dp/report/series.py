"""Releases that are a Series: sums of its bins, estimates and tidied values are free."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from pandas_dp import postprocess
from pandas_dp.aggregates.base import Answer
from pandas_dp.calls import explained
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.report.base import Release, checked_level
from pandas_dp.report.plots import Column
from pandas_dp.report.scalars import FloatRelease
from pandas_dp.report.vectors import Vector
from pandas_dp.uncertainty import LEVEL, ErrorModel

if TYPE_CHECKING:
    Series = pd.Series[Any]
else:
    Series = pd.Series


class SeriesRelease(Vector, Series):  # type: ignore[misc]  # plot, to_json: the release's own
    """A vector. Slices, copies and results of arithmetic are plain Series.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="series release example")
    >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 100])
    >>> bool(ages.sum() == ages.value.sum()), type(ages / ages.sum()).__name__
    (True, 'Series')
    """

    @property
    def _constructor(self) -> Any:
        return pd.Series

    def _ends(self, error: ErrorModel, level: float) -> pd.DataFrame:
        lower, upper = error.bounds(self._released, level)
        return pd.DataFrame({"lower": lower, "upper": upper})

    def range_sum(self, left: Any = None, right: Any = None) -> Release:
        """Sum of the bins from one edge to another: free, with an interval of its own.

        Parameters
        ----------
        left, right : edge of a bin, optional
            From the first and to the last edge where left out.

        Returns
        -------
        Release
            A float. Its privacy is that of this answer: it is computed from it.

        Raises
        ------
        ArgumentTypeError
            For any release but those of ``histogram(..., workload="ranges")``.
        ArgumentValueError
            For what is no edge.

        Notes
        -----
        The variance of a sum of least-squares estimates is a public number. With Gaussian noise the interval is the normal
        one. With Laplace noise it is that of the worst symmetric log-concave law of this variance, for long sums a fifth
        wider than needed (two fifths where the noise has a scale of two rows).

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="range_sum example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=range(0, 101, 5), workload="ranges")
        >>> 1800 < ages.range_sum(40, 100) < 2200
        True
        >>> session.left
        'epsilon=2'
        """
        error = self._provenance.error
        from pandas_dp.aggregates import ranges  # here, so that importing the package costs little

        if not isinstance(error, ranges.PartsError):
            raise ArgumentTypeError(
                "range_sum() needs counts made for it: histogram('age', bins=..., workload='ranges')"
            )
        first, last = ranges.places_between(self._released.index, left, right)
        answer = Answer(float(self._released.iloc[first:last].sum()), self.mechanism, error.between(first, last))
        notes = (*self.notes, "free: a sum of bins of an answer that was paid for")
        return FloatRelease(answer.value, replace(self._provenance, error=answer.error, notes=notes, extras=()))

    @explained
    def estimate(self, level: float = LEVEL, project: bool = False) -> pd.DataFrame:
        """Estimate the proportion of each key among the exact answers: free, for `randomized_response` alone.

        Parameters
        ----------
        level : float
            Of the intervals.
        project : bool
            Move the proportions to the nearest ones that are not negative and add up to 1: closer, but no longer unbiased.

        Returns
        -------
        DataFrame
            A row for each key; columns proportion, standard_error, lower, upper and count. See `local.estimate`.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            For any release but those of ``randomized_response``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"smoker": ["no", "yes", "no", "no"] * 2500})
        >>> session = df.dp.protect(epsilon=2, neighbors="replace_one", rows=True, name="estimate example")
        >>> answers = df.dp(epsilon=1).randomized_response("smoker", keys=["no", "yes"])
        >>> answers.estimate().columns.tolist()
        ['proportion', 'standard_error', 'lower', 'upper', 'count']
        """
        aggregate = self.query.aggregate
        from pandas_dp.aggregates.randomized_response import RandomizedAnswers  # see above

        if not isinstance(aggregate, RandomizedAnswers):
            raise ArgumentTypeError("estimate() needs randomised answers: randomized_response('sex', keys=[...])")
        return aggregate.estimate(self.value, self.query.price, checked_level(level), project)

    def nonnegative(self) -> Series:
        """Return the values cut at 0: free; sums should use the released values. See `postprocess.nonnegative`.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series nonnegative example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> bool((ages.nonnegative() >= 0).all())
        True
        """
        return postprocess.nonnegative(self.value)

    def to_simplex(self, total: float | None = None) -> Series:
        """Return the nearest values, none negative, that add up to a public total. See `postprocess.to_simplex`.

        Parameters
        ----------
        total : float, optional
            At least 0; the sum of the values where left out.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series to_simplex example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> float(ages.to_simplex(3000).sum().round(6))
        3000.0
        """
        return postprocess.to_simplex(self.value, total)

    def round_to_total(self, total: int | None = None) -> Series:
        """Return the nearest whole numbers that add up to a public total. See `postprocess.round_to_total`.

        Parameters
        ----------
        total : int, optional
            The rounded sum of the values where left out.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series round_to_total example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> int(ages.round_to_total(3000).sum())
        3000
        """
        return postprocess.round_to_total(self.value, total)

    def isotonic(self, increasing: bool = True) -> Series:
        """Return the nearest values that never fall, or never rise. See `postprocess.isotonic`.

        Parameters
        ----------
        increasing : bool
            False: values that never rise.

        Returns
        -------
        Series
            Plain, on the same index, without error bars. Free, and as private as this answer.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series isotonic example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.isotonic().is_monotonic_increasing
        True
        """
        fitted: Series = postprocess.isotonic(self.value, increasing)
        return fitted

    def table(self, level: float = LEVEL) -> pd.DataFrame:
        """Return value, lower, upper and the extras as columns; value alone where no interval is known.

        Parameters
        ----------
        level : float
            Of the intervals.

        Returns
        -------
        DataFrame
            Plain, on the same index.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="series table example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.table().columns.tolist(), len(ages.table())
        (['value', 'lower', 'upper'], 3)
        """
        table = self._released.to_frame("value")
        known = self.interval(level)
        if isinstance(known, pd.DataFrame):
            for end in known.columns:
                table[end] = known[end].array
        return self._with_extras(table)

    def _changed(self) -> bool:
        return super()._changed() or bool(self.name != self._released.name)

    def _drawn(self, known: Any) -> list[Column]:
        ends = (known["lower"], known["upper"]) if isinstance(known, pd.DataFrame) else (None, None)
        return [("value" if self._released.name is None else str(self._released.name), self._released, *ends)]
