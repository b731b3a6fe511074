"""Numbers and units in words: the noise of an answer decides how many of its digits are shown."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.uncertainty import Additive, Interval, NoError, RankBound, ScoreGap, duration_unit, percent
from pandas_dp.core.privacy import PrivacyUnit

if TYPE_CHECKING:
    from pandas_dp.release.plots import Column

_ELSEWHERE = {  # names of other packages, and of what is done with answers but is no method of one
    "lower upper error error_bar standard_error ci conf_int confidence_interval margin moe std_error stderr std_err se sem": (
        "an error bar is .interval(), and .table() shows it"
    ),
    "variance var std sd scale sigma noise noise_scale noise_std": (
        ".mechanism names the noise, .interval() is an error bar, and .scale of a preview is how large it is"
    ),
    "difference ratio quotient": (
        "answers are numbers, so this - that and this / that compute it; means by group have .difference('A', 'B') with an "
        "error bar of its own"
    ),
    "consistent reconcile make_consistent": "answers are made consistent, for free, by pandas_dp.reconcile([this, that])",
    "refine average combine": "to draw it again, better or averaged with this one, type df.dp(epsilon=0.5).refine(answer)",
    "params coef coef_ coefficients intercept intercept_ summary predict": (
        "the answer of linear_regression() is a Series of its coefficients, by name: answer['intercept'], answer.table()"
    ),
}
ELSEWHERE = {name: hint for names, hint in _ELSEWHERE.items() for name in names.split()}

COUNTED = "; counted: "  # between what somebody can do with a budget and the sums that say so
DIGITS = 2  # significant digits of an error bar
EXACT = Context(prec=400, traps=[])  # whatever a program's own decimals are cut to
PLAIN_RANGE = (1e-9, 1e15)  # beyond it numbers are written with an exponent
WHOLE: tuple[Any, ...] = (np.round, np.floor, np.ceil)  # of a count and the ends of its interval
MOST_COLUMNS, DEFAULT_COLUMNS = 60, (0, 20)  # the latter of pandas, in a terminal and elsewhere
CLOCKS: tuple[Any, ...] = ("minutes", "seconds", "milliseconds", "microseconds")  # to which moments are told


def protected(unit: PrivacyUnit) -> str:
    """Say who is protected, with the neighbouring relation in brackets; how much, the budget says.

    Examples
    --------
    >>> protected(PrivacyUnit())
    'each row (add/remove)'
    >>> protected(PrivacyUnit("pid", 3, 3, 3))
    "all rows of each 'pid' (uses at most 3 of them; add/remove)"
    """
    whose, relation = str(unit).replace("one ", "each ", 1), "add/remove" if unit.add_remove else "replace one"
    return f"{whose.removesuffix(')')}; {relation})" if whose.endswith(")") else f"{whose} ({relation})"


def unit_terms(unit: PrivacyUnit) -> tuple[str, ...]:
    """What of a unit is written into files."""
    return ("column", "rows", "groups", "rows_per_group", *(("period",) if unit.period else ()))


def per_period(unit: PrivacyUnit, span: tuple[int, int] | None = None) -> str:
    """Say for whom a price is, where it is that of one period, or of each from a first to a last.

    Examples
    --------
    >>> per_period(PrivacyUnit("pid", 3, 3, 3, periods='["D","at","naive",null,[]]'))
    " for one 'pid' in one day"
    """
    if not unit.period:
        return ""
    first, last = span or (0, 0)
    if unit.column is None:  # which is in one of them alone
        return f" for one row in one {unit.period}"
    each = f"each of {last - first + 1:,} {unit.period}s" if last > first else f"one {unit.period}"
    return f" for one {unit.column!r} in {each}"


def describe(
    value: Any,
    known: Interval | RankBound | ScoreGap | None,
    error: Any,
    buying: str = "",
    of_population: Interval | None = None,
) -> str:
    """Write a scalar with what is known about its error, of noise and population by their names where both are known.

    Where no interval is known it says what buys one.

    Examples
    --------
    >>> describe(48213, Interval(48064, 48362, 0.95), None)
    '48,210 [48,060, 48,370] (95 %)'
    >>> describe(38.648, Interval(38.639, 38.657, 0.95), None, "", Interval(38.531, 38.765, 0.95))
    '38.6480 [38.6390, 38.6570] noise, [38.53, 38.77] population (95 %)'
    >>> describe("ICU", ScoreGap(31, 0.95), None)
    "'ICU' (its count is within 31 of the largest, 95 %)"
    """
    if isinstance(error, NoError):
        return f"{plain(value)} (exact)"
    if known is None:
        return f"{plain(value)} (no interval known{buying})"
    if not isinstance(known, Interval):
        return f"{plain(value)} ({known.words}, {percent(known.level)}{buying})"
    symmetric = isinstance(error, Additive) and (error.within is None or _even(value, known))
    if of_population is None:
        return f"{_with_bar(value, known, symmetric)} ({percent(known.level)})"
    lower, upper = of_population
    ends = _with_bar(value, of_population, False)
    beside = ends[ends.index(" [") + 1 :] if lower <= upper else "too few rows for the"
    return f"{_with_bar(value, known, symmetric)} noise, {beside} population ({percent(known.level)})"


def _even(value: Any, known: Interval) -> bool:
    """Whether an interval was cut at neither end."""
    below, above = value - known.lower, known.upper - value
    return bool(abs(above - below) <= 1e-9 * (above + below))


def plain(value: Any) -> str:
    """Write a scalar of which no error bar is known: numbers with at most six digits."""
    if isinstance(value, str):
        return str.__repr__(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{int(value):,}"
    return f"{float(value):,.6g}" if isinstance(value, float) else str(value)


def _with_bar(value: Any, known: Interval, symmetric: bool) -> str:
    if isinstance(known.lower, pd.Timestamp):  # also of a date that is missing
        half = (known.upper - known.lower) / 2
        shown = ["NaT" if x is pd.NaT else _moment(x, half) for x in (value, known.lower, known.upper)]
        return f"{shown[0]} [{shown[1]}, {shown[2]}]"
    if isinstance(known.lower, pd.Timedelta):
        width = known.upper - known.lower
        unit, scale = duration_unit(width if value is pd.NaT else max(abs(value), width))
        return f"{_numbers(value / scale, known.lower / scale, known.upper / scale, symmetric)} {unit}"
    if isinstance(value, int | float):
        return _numbers(value, known.lower, known.upper, symmetric)
    return f"{value} [{known.lower}, {known.upper}]"


def _numbers(value: float, lower: float, upper: float, symmetric: bool) -> str:
    half = upper - value if symmetric else (upper - lower) / 2
    if not (half == 0 or PLAIN_RANGE[0] < half < PLAIN_RANGE[1]) or not abs(value) < PLAIN_RANGE[1]:
        return f"{value:.6g} ± {half:.2g}" if symmetric else f"{value:.6g} [{lower:.6g}, {upper:.6g}]"
    if half == 0:
        return f"{plain(value)} ± 0" if symmetric else f"{plain(value)} [{plain(lower)}, {plain(upper)}]"
    place = Decimal(str(half)).adjusted() - DIGITS + 1
    if isinstance(value, int):
        place = max(place, 0)
    shown = _rounded(value, place, ROUND_HALF_EVEN)
    if symmetric:
        # up, but not for the last bit that the float difference upper - value may carry
        return f"{shown} ± {_rounded(half - 10.0 ** (place - 2), place, ROUND_CEILING)}"
    return f"{shown} [{_rounded(lower, place, ROUND_FLOOR)}, {_rounded(upper, place, ROUND_CEILING)}]"


def with_half(value: float, half: float) -> str:
    r"""Write a number and, on the next line, half the width of its interval, to the digits that are known.

    Examples
    --------
    >>> with_half(0.2952238, 0.0001391), with_half(14421, 6.0)
    ('0.29522\n± 0.00014', '14,421\n± 6')
    """
    return _numbers(value, value - half, value + half, symmetric=True).replace(" ± ", "\n± ")


def legible(
    table: pd.DataFrame,
    drawn: list[Column],
    counting: frozenset[Hashable] = frozenset(),
    mixed: bool = False,
    beside: Sequence[int] = (),
) -> pd.DataFrame:
    """Return a table without the digits that noise made, as it is shown.

    Parameters
    ----------
    table : DataFrame
    drawn : list of Column
        What it begins with. Values with ends, three columns each, are rounded at the third digit of the narrowest interval.
    counting : frozenset
        Labels of columns that count rows: made of sums for several functions they are not whole, but shown so where their
        intervals are wider than a row on either side.
    mixed : bool
        Rows are about different functions: each is rounded by itself, `counting` are rows, and the columns become texts.
    beside : sequence of int
        Places of further ends, lower and upper in turn, which are rounded by their own widths.
    """
    if mixed:
        return _row_by_row(table, drawn, counting)
    shown = table.copy(deep=False)
    for pair in zip(beside[::2], beside[1::2], strict=True):
        ends = [table.iloc[:, place] for place in pair]
        half = float((ends[1] - ends[0]).min()) / 2 if ends[0].dtype.kind == "f" else 0.0
        if PLAIN_RANGE[0] < half < PLAIN_RANGE[1]:
            for place, end in zip(pair, ends, strict=True):
                shown.isetitem(place, end.round(_decimals(half, False)).array)
    for column in range(sum(lower is not None for _, _, lower, _ in drawn)):
        places = range(3 * column, 3 * column + 3)
        parts = [table.iloc[:, place] for place in places]
        if len(parts[0]) and all(part.dtype.kind == "m" and (part is parts[0] or part.notna().all()) for part in parts):
            step = _step((parts[2] - parts[1]).min() / 2)
            for place, part in zip(places, parts, strict=True):
                shown.isetitem(place, part.dt.round(step).array)
        missing = parts[0].isna()  # values without rows to speak of
        if missing.all() or not all(part.dtype.kind == "f" and np.isfinite(part[~missing]).all() for part in parts):
            continue
        half, most = float((parts[2] - parts[1]).min()) / 2, max(float(part.abs().max()) for part in parts)
        if not PLAIN_RANGE[0] < half < PLAIN_RANGE[1] or most >= PLAIN_RANGE[1]:
            continue
        count = drawn[column][1].name in counting
        decimals = _decimals(half, count)
        for place, part, to_whole in zip(places, parts, WHOLE, strict=True):
            cut = to_whole(part) if count and decimals == 0 else part.round(decimals)
            shown.isetitem(place, cut.array if decimals > 0 or missing.any() else cut.astype("int64").array)
    return shown


def most_columns() -> int | None:
    """Columns of a table that are shown: what ``pandas.options.display.max_columns`` says, three times its defaults.

    A column of an answer is one of a table with its two ends. None is for all.
    """
    set_to = pd.get_option("display.max_columns")
    return MOST_COLUMNS if set_to in DEFAULT_COLUMNS else set_to


def hidden_columns(table: pd.DataFrame) -> list[str]:
    """Say how many columns are not shown, and how to see them."""
    columns, most = table.shape[1], most_columns()
    if most is None or columns <= most:
        return []
    return [
        f"{columns - 2 * (most // 2):,} of {columns:,} columns are hidden: pandas.options.display.max_columns = None shows "
        "them, .table() has them all"
    ]


def wide(table: pd.DataFrame) -> str:
    """Write a table as pandas does, in several blocks where it is too wide for a line."""
    with pd.option_context("display.max_columns", most_columns()):
        return "\n".join([repr(table), *hidden_columns(table)])


def _decimals(half: float, count: bool) -> int:
    """Places behind the point that are shown of a number known to within `half`."""
    places = DIGITS - Decimal(str(half)).adjusted()
    return min(places, 0) if count and half >= 1 else places


def _step(half: pd.Timedelta) -> pd.Timedelta:
    """The third digit of a duration, in seconds."""
    return pd.Timedelta(max(10 ** (len(str(half.value)) - 1 - DIGITS), 1), unit="ns")


def _row_by_row(table: pd.DataFrame, drawn: list[Column], counting: frozenset[Hashable]) -> pd.DataFrame:
    """As `legible`, for rows about different functions."""
    shown, place = table.copy(deep=False), 0
    for _, values, lower, upper in drawn:
        parts = [values] if lower is None or upper is None else [values, lower, upper]
        rows = zip(table.index, zip(*(part.tolist() for part in parts), strict=True), strict=True)
        texts = [_row(row, label in counting) for label, row in rows]
        for part in zip(*texts, strict=True):
            shown.isetitem(place, pd.Series(part, index=table.index, dtype=object).array)
            place += 1
    return shown


def _row(row: tuple[Any, ...], count: bool) -> list[Any]:
    """Texts of a value and its ends, if they are numbers."""
    if not all(isinstance(x, float) for x in row):
        return list(row)
    half = (row[2] - row[1]) / 2 if len(row) == 3 else np.nan
    if not PLAIN_RANGE[0] < half < PLAIN_RANGE[1] or not max(map(abs, row)) < PLAIN_RANGE[1]:
        return [f"{x:.6g}" if math.isfinite(x) else x for x in row]
    places = _decimals(half, count)
    cut = [to_whole(x) for to_whole, x in zip(WHOLE, row, strict=True)] if count and places == 0 else row
    return [f"{round(float(x), places) + 0.0:.{max(places, 0)}f}" for x in cut]


def named(column: Any) -> str:
    """Write the label of a column; of one below another both."""
    return ", ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def side_by_side(parts: list[tuple[Any, str, pd.Series[Any]]]) -> pd.DataFrame:
    """Columns named (column, part); the column of a table with several levels is a tuple itself."""
    if not parts:  # of groups of which none was found
        return pd.DataFrame()
    frame = pd.concat([series for _, _, series in parts], axis=1)
    names = [(*name, part) if isinstance(name, tuple) else (name, part) for name, part, _ in parts]
    frame.columns = pd.MultiIndex.from_tuples(names)
    return frame


def _rounded(x: float, place: int, rounding: str) -> str:
    """Write a number cut at a power of ten."""
    cut = Decimal(str(x)).quantize(Decimal(1).scaleb(place, EXACT), rounding, EXACT)
    return f"{cut if cut else cut.copy_abs():,f}"  # no negative zero


def _moment(stamp: pd.Timestamp, half: pd.Timedelta) -> str:
    """Write a date, with as much of the clock as the error bar leaves."""
    if half >= pd.Timedelta(days=10):
        return str(stamp.date())
    clock = next((name for name in CLOCKS if half >= pd.Timedelta(10, unit=name)), "nanoseconds")
    return stamp.isoformat(sep=" ", timespec=clock)  # type: ignore[arg-type]  # one of pandas' literals
