"""Medians and quantiles: one, several at once, without known bounds, and with noise that fits the data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.base import Caution, Unit
from pandas_dp.aggregates.ladder import ExtremeWithBar, QuantileWithBar, held
from pandas_dp.aggregates.quantiles import Extreme, QuantileOf
from pandas_dp.aggregates.smooth import BEST_NOISE, SmoothQuantileOf
from pandas_dp.core.lattice import RANK_BITS
from pandas_dp.core.mechanisms.smooth import DRAWS
from pandas_dp.core.statistics.lattice_counts import Grid
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.kinds import exact_number
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.unknown_bounds import asked, is_private, open_ended, rank_lattice
from pandas_dp.release.values import FloatRelease

MOST_LEVELS, MOST_CELLS = 25, 1 << 22  # levels whose cells are counted together, and cells of all groups


def smooth_method(method: Any, allowed: tuple[str, ...], noise: Any, error_bar: Any, call: str) -> str | None:
    """Law of the noise for the last of the allowed methods, the one by smooth sensitivity; None for the others."""
    if not isinstance(method, str) or method not in allowed:
        raise ArgumentValueError(f"method must be {', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}")
    law = smooth_noise(noise, error_bar)
    if method == allowed[-1]:
        return law
    if noise is not None or (error_bar and call == "mean"):
        what = "noise= and error_bar= go" if call == "mean" else "noise= goes"
        raise ArgumentValueError(f"{what} with method={allowed[-1]!r}: method={allowed[-1]!r}")
    return None


def smooth_noise(noise: Any, error_bar: Any) -> str:
    """Law of noise by smooth sensitivity."""
    numbers.flag(error_bar, "error_bar")
    if noise is None:
        return BEST_NOISE
    if not isinstance(noise, str) or noise not in DRAWS:
        raise ArgumentValueError(f"noise must be one of {', '.join(map(repr, DRAWS))}")
    return noise


def trimmed_share(trim: Any) -> Fraction:
    """Share of rows that a trimmed mean leaves out at either end."""
    share = exact_number(trim, "trim")
    if not 0 < share < Fraction(1, 2) or share.denominator > 10**6:
        raise ArgumentValueError("trim must lie between 0 and 0.5, with at most six decimals: trim=0.1")
    return share


def with_bar(frame: PreparedFrame, question: QuantileOf | Extreme, error_bar: Any) -> Any:
    """The question with an interval in values, where one is wanted."""
    if not numbers.flag(error_bar, "error_bar"):
        return question
    unit = unit_of_column(frame, question)
    if isinstance(question, Extreme):
        return ExtremeWithBar(**vars(question), unit=unit)
    if len(question.q) > MOST_LEVELS:
        raise ArgumentValueError(
            f"error bars of at most {MOST_LEVELS} levels are bought at once: error_bar=False, or fewer levels"
        )
    groups = 1 if question.by is None else question.by.count
    cells = groups * len(question.q) * (2 * question.lattice.cells.bit_length() + 3)
    if cells > MOST_CELLS:
        raise ArgumentValueError(
            f"error bars of {groups:,} groups would take {cells:,} counts, too many: error_bar=False"
        )
    return QuantileWithBar(**vars(question), unit=unit)


def unit_of_column(frame: PreparedFrame, question: QuantileOf | Extreme) -> Fraction | None:
    """What all values of the column are multiples of, where its dtype says."""
    return Fraction(1) if question.kind.name == "bool" else frame._unit(question.column)


def of_rounded(frame: PreparedFrame, question: QuantileOf | Extreme, step: Any) -> tuple[str, ...]:
    """Say of ranks, where values may lie between the possible answers, that they are those of rounded values.

    Who typed a step knows; others are told below the number.
    """
    lattice = question.lattice
    if hasattr(question, "unit") or held(unit_of_column(frame, question), lattice):
        return ()
    apart = Unit.of(question.kind).text(lattice.step)
    steps = "growing from" if isinstance(lattice, Grid) else "of"
    whole = "; for whole numbers type step=1" if question.kind.name == "number" and lattice.step < 1 else ""
    note = f"values are first rounded to the possible answers, in steps {steps} {apart}{whole}"
    typed = step is not None or frame._facts(question.column).step is not None
    return (note if typed else Caution(note),)


class QuantileQuestions(PreparedFrame):
    """The questions of a priced frame about ranks."""

    __slots__ = ()

    def median(
        self,
        column: str,
        *,
        bounds: Any = None,
        step: Any = None,
        method: str = "exponential",
        noise: str | None = None,
        error_bar: bool = False,
    ) -> FloatRelease:
        """Median of a column: ``quantile(column, 0.5)``.

        Parameters
        ----------
        column : str
        bounds : (lower, upper), (lower, None), (None, upper), (None, None) or "private", optional
            See ``quantile``.
        step : number, optional
            Distance of the possible answers; see ``quantile``.
        method, noise, error_bar : optional
            See ``quantile``.

        Returns
        -------
        Release
            As of ``quantile`` for one level.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        The mechanism of ``quantile`` at its price. A unit moves the distance in rank by max_rows / 2 under add_remove and by
        max_rows under replace_one. Source: Smith 2011; McSherry, Talwar 2007; with "smooth": Nissim, Raskhodnikova, Smith 2007.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": range(10_000)})
        >>> session = df.dp.protect(epsilon=5, name="smooth median example")
        >>> 4900 < df.dp(epsilon=5).median("cost", bounds=(0, 100_000), step=1, method="smooth") < 5100
        True
        """
        return self._quantile("median", column, 0.5, bounds, step, method, noise, error_bar)

    def quantile(
        self,
        column: str,
        q: Any = 0.5,
        *,
        bounds: Any = None,
        step: Any = None,
        method: str = "exponential",
        noise: str | None = None,
        error_bar: bool = False,
    ) -> Any:
        """Quantile of a column, chosen from public candidates by its rank.

        Parameters
        ----------
        column : str
        q : float or list of float
            Rounded to six decimals. Several levels share the price. Three or more are asked together, which costs about
            log2(levels) shares instead of one for each level, wherever that is the more accurate way.
        bounds : (lower, upper), (lower, None), (None, upper), (None, None) or "private", optional
            In the units of measurement of the column; values outside count at the ends. From the schema if left out. If an end
            is None, the possible answers on that side get farther apart: their distance from the known end (or from 0) grows by
            1 % from each to the next, up to 1e300, or 2**64 for integers. On an open side, there should be more than 25/epsilon
            rows beyond the quantile; otherwise the answer may lie far outside the data. "private" estimates bounds with
            15 % of the price.
        step : number, optional
            Distance of the possible answers: type ``step=1`` for whole numbers. The default is 1 for ``Int64`` and other
            nullable integers, and for a column that is whole by the schema's ``dtype``, if the bounds are at most 2**20 apart.
            (It is not 1 for ``int64``, because one missing value turns it into floats.) For columns of days it is a day, for
            other dates and durations a part of a day that clocks show, and otherwise about 1/2**16 of the bounds. For an open
            end, it is the distance of the first two, by default 0.01 (a second for dates and durations).
        method : {"exponential", "smooth"}
            ``smooth`` adds noise scaled to the smooth sensitivity of the quantile, for known bounds.
        noise : {"polynomial_laplace", "polynomial", "cauchy", "student_t", "laplace", "gaussian"}, optional
            Distribution of that noise, the first one by default. "laplace" and "gaussian" need a price with a delta, which is
            charged to the session's ``delta_reserved``.
        error_bar : bool
            Two fifths of the price buy an interval in values for ``interval``, ``table`` and plots. The error of the answer's
            rank is then 1.7 times as large, that of its value up to twice. With ``method="smooth"`` for one level only.

        Returns
        -------
        Release
            A float (Timestamp or Timedelta for dates and durations), or a Series by level, in ascending order. Without
            ``error_bar``, ``interval`` says how far its rank may be off. With it, the answer is missing if there are too few
            rows and its interval would span the bounds.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Exponential mechanism on the distance in rank, with ties counted correctly: a unit moves it by max_rows max(q, 1 - q)
        under add_remove and by max_rows under replace_one. For an even number of rows, the lower median is meant. Several
        levels: the middle one is answered first, then the others among the rows below and above its answer. With an error bar,
        the rest of the price counts the rows between cuts around each answer: at the answer, one step before it, and 1, 2, 4,
        ... steps beyond on either side. A row is in one cell. The interval ends where these counts, given the exactly known
        noise, are clearly on one side of q n. It is for the smallest possible answer with at least q n rows at or below it;
        pandas interpolates instead. Values between possible answers are off by at most half a step. Smooth: f + (S / alpha) Z,
        rounded to the lattice and clipped to the bounds. S is a smooth bound on how far one unit could move the quantile of
        this table; between neighbours S changes by at most a factor exp(beta). The noise is small if many rows are close to
        the quantile, so its size depends on the data, and an error bar is not free. The exponential mechanism mostly has a
        smaller error. Source: Smith 2011; McSherry, Talwar 2007; several levels: Kaplan, Schnapp, Stemmer 2022; open ends: the
        grid of Durfee 2023; private bounds: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020; smooth
        sensitivity: Nissim, Raskhodnikova, Smith 2007.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [0, 20, 40, 60, 80] * 1000}, dtype="Int64")
        >>> session = df.dp.protect(epsilon=3, name="quantile example")
        >>> df.dp(epsilon=1).quantile("cost", [0.1, 0.3, 0.5, 0.7, 0.9], bounds=(0, 100), step=1).tolist()
        [0.0, 20.0, 40.0, 60.0, 80.0]
        >>> df.dp(epsilon=1).quantile("cost", 0.9, bounds=(0, 100), error_bar=True).interval()
        Interval(lower=80.0, upper=80.0, level=0.95)
        """
        return self._quantile("quantile", column, q, bounds, step, method, noise, error_bar)

    def _quantile(
        self, name: str, column: str, q: Any, bounds: Any, step: Any, method: str, noise: str | None, error_bar: bool
    ) -> Any:
        if isinstance(q, str) and not isinstance(column, str):
            raise ArgumentTypeError("the column comes first, and then q, a number: .quantile('age', 0.5)")
        levels, scalar = numbers.quantiles(q)
        law = smooth_method(method, ("exponential", "smooth"), noise, error_bar, name)
        if law is not None:
            return self._smooth(name, column, q, bounds, step, law, error_bar)
        kind, lattice = rank_lattice(self, name, column, bounds, step)
        question = with_bar(self, QuantileOf(column, levels, lattice, kind, scalar), error_bar)
        text = self._text(**({} if name == "median" else {"q": numbers.levels_typed(levels, scalar)}))
        frame = self if is_private(bounds) else self._noting(of_rounded(self, question, step))
        return frame._ask(text, asked(self, question, bounds, RANK_BITS), (column,))

    def _smooth(
        self, name: str, column: str, q: Any, bounds: Any, step: Any, law: str, error_bar: bool
    ) -> FloatRelease:
        levels, scalar = numbers.quantiles(q)
        if error_bar and not scalar:
            raise ArgumentValueError("q of a smooth error bar must be one level: q=0.5")
        kind, facts = self._kind(column), self._facts(column)
        given = facts.bounds if bounds is None else bounds
        if is_private(given) or open_ended(given):
            raise ArgumentValueError("method='smooth' needs bounds that are known: bounds=(lower, upper)")
        _, lattice = self._lattice(name, column, bounds, step, RANK_BITS)
        question = SmoothQuantileOf(lattice, kind, law, error_bar, column, levels, scalar)
        text = self._text(**({} if name == "median" else {"q": numbers.levels_typed(levels, scalar)}))
        return self._ask(text, question, (column,))
