"""Public parts of rows: by the keys or bins of one column, or by combinations of those of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pandas_dp.aggregates.keys import KeyColumn, KeyColumns
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, closest, told
from pandas_dp.facts import binning, checks, numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.call import argument_text
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.facts.public_only import PERIODS, listed
from pandas_dp.facts.written import code_of
from pandas_dp.questions.found_keys import finding
from pandas_dp.questions.lacking import needed_parts
from pandas_dp.questions.rows import PreparedFrame

MOST_COMBINATIONS = 1_000_000
MOST_FOUND = 100  # columns whose combinations are found
MOST_NUMBERED = 1 << 62  # combinations, allowed or not

Factor = tuple[Keys | Bins, Labels]


class Parts(NamedTuple):
    """Public parts of rows, and how they were asked for.

    Attributes
    ----------
    by : Keys, Bins or Cross
    labels : Labels or CrossLabels
    columns : tuple of str
    given : dict of str to Any
        The arguments that name the parts, as they were resolved.
    """

    by: Keys | Bins | Cross
    labels: Labels | CrossLabels
    columns: tuple[str, ...]
    given: dict[str, Any]

    @property
    def text(self) -> str:
        """The arguments that name the parts, as one types them."""
        return ", ".join(f"{name}={argument_text(value)}" for name, value in self.given.items())

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The parts and labels of each column."""
        if isinstance(self.by, Cross) and isinstance(self.labels, CrossLabels):
            return tuple(zip(self.by.factors, self.labels.factors, strict=True))  # type: ignore[arg-type]  # nor are they crosses
        return ((self.by, self.labels),)  # type: ignore[return-value]  # one column has neither

    def crossed(self, factor: Factor) -> Parts:
        """Every part with every one of another column, which changes fastest."""
        more, _ = factor
        few(self.by.count * more.count)
        places = None
        if isinstance(self.by, Cross):
            _numbered(self.by.combinations * more.count)
            if self.by.allowed is not None:
                places = tuple(place * more.count + i for place in self.by.allowed for i in range(more.count))
        by, labels = zip(*self.factors, factor, strict=True)
        return Parts(Cross(by, places), CrossLabels(labels, places), (*self.columns, more.column), self.given)


def parts_of(
    frame: PreparedFrame, head: str, columns: Sequence[str], keys: Any, bins: Any, other: bool, null: bool
) -> Parts:
    """Parts of the combinations of several columns; of one column its own parts.

    Parameters
    ----------
    frame : PreparedFrame
    head : str
        The beginning of the call, for errors, such as ``groupby(['state', 'sex']``.
    columns : sequence of str
        Not empty.
    keys : list, dict of lists by column, DataFrame of the allowed combinations, or None
    bins : sequence of edges, periods, dict of them by column, or None
    other, null : bool
        For every column.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    if isinstance(keys, pd.DataFrame):
        kinds = kinds_of(frame, head, columns)
        return _allowed(frame, kinds, keys, bins, other, null, _line(frame, head, kinds).text)
    factors = [factor for factor in factors_of(frame, head, columns, keys, bins, other, null) if factor is not None]
    few(math.prod(factor.count for factor, _ in factors))
    given = _given(factors, len(columns) == 1) | {
        name: True for name, asked in (("other", other), ("null", null)) if asked
    }
    if len(factors) == 1:
        return Parts(*factors[0], tuple(columns), given)
    by, labels = zip(*factors, strict=True)
    return Parts(Cross(by), CrossLabels(labels), tuple(columns), given)


def kinds_of(frame: PreparedFrame, head: str, columns: Sequence[str]) -> dict[str, Kind]:
    """Kinds of different columns."""
    kinds = {column: frame._kind(column) for column in columns}
    if len(kinds) != len(columns):
        raise ArgumentValueError(f"the columns of {head}) must differ")
    return kinds


def factors_of(
    frame: PreparedFrame,
    head: str,
    columns: Sequence[str],
    keys: Any,
    bins: Any,
    other: bool,
    null: bool,
    finds: bool = False,
) -> list[Factor | None]:
    """Parts of each column; with `finds` None for those whose keys are unknown. See `parts_of`."""
    kinds = kinds_of(frame, head, columns)
    line = partial(_line, frame, head, kinds)
    _grouped_by(frame, kinds, {"keys": keys, "bins": bins}, line)
    listed, binned = _by_column(keys, "keys", kinds, line), _by_column(bins, "bins", kinds, line)
    both = [column for column in listed if column in binned]
    if both:
        raise line().refuse(f"give either bins= or keys= of {both[0]!r}, not both")
    call, alone, wanted = head.partition("(")[0], len(columns) == 1, partial(line, listed, binned)
    factors: list[Factor | None] = []
    for column, kind in kinds.items():
        unlisted = column not in listed | binned and frame._facts(column).keys is None and kind.name != "bool"
        try:
            if unlisted and finds:
                factors.append(None)
            elif column in binned:
                factors.append(_binned(binned[column], other, null, kind, call, column, None if alone else wanted()))
            else:
                instead = None if alone else wanted()
                factors.append(frame._keys(call, column, listed.get(column), other, null, instead))
        except (ArgumentTypeError, ArgumentValueError) as error:
            if alone:
                raise
            left = [other for other in kinds if other not in listed | binned and frame._facts(other).keys is None]
            common = call == "groupby" and all(
                kinds[one].name in ("key", "bool") or pd.api.types.is_integer_dtype(frame._dtype(one)) for one in left
            )  # hardly two rows share a date or a float
            found = finding(frame, "", f"{head})") if unlisted and common else Line("")
            error._priced = found.priced
            with told(f"{column!r}: ", found.otherwise):
                raise
    return factors


def found_of(
    frame: PreparedFrame, head: str, columns: Sequence[str], keys: Any, bins: Any, other: bool, null: bool
) -> tuple[KeyColumns, dict[str, Any]] | None:
    """Columns whose combinations the price finds, and the arguments that list some of them; None where all are listed.

    See `parts_of`.
    """
    factors = factors_of(frame, head, columns, keys, bins, other, null, finds=True)
    if None not in factors:
        return None
    few_columns(columns)
    if other or null:
        raise ArgumentTypeError(
            f"other= and null= go with keys or bins of every column: {_line(frame, head, kinds_of(frame, head, columns)).text}"
        )
    made = tuple(
        KeyColumn(column, frame._kind(column), factor) for column, factor in zip(columns, factors, strict=True)
    )
    return made, _given([factor for factor in factors if factor is not None], False)


def few_columns(columns: Sequence[str]) -> None:
    """Refuse more columns than one call finds combinations of."""
    if len(columns) > MOST_FOUND:
        raise ArgumentValueError(
            f"combinations of at most {MOST_FOUND} columns can be discovered: name fewer, such as groupby(['state', 'sex'])"
        )


def few(parts: int) -> None:
    """Refuse more parts than a call may count."""
    if parts > MOST_COMBINATIONS:
        raise ArgumentValueError(
            f"{parts:,} combinations are more than the 1,000,000 that one call may count: list fewer keys, or the allowed "
            "combinations alone as a table, keys=pd.DataFrame({'state': [...], 'sex': [...]})"
        )


def _numbered(combinations: int) -> None:
    if combinations >= MOST_NUMBERED:
        raise ArgumentValueError("a table as keys= may have fewer than 2**62 combinations of its values")


def _line(frame: PreparedFrame, head: str, kinds: dict[str, Kind], listed: Any = (), binned: Any = ()) -> Line:
    """What to type: keys and bins for all columns whose keys are known from nowhere else."""
    parts = needed_parts(frame, kinds, {*listed, *binned})
    needs = tuple((name, typed) for name, typed in parts if typed or not (listed or binned))
    return Line(f"{', '.join([head, *(f'{name}={typed}' for name, typed in needs if typed)])})", needs)


def _grouped_by(
    frame: PreparedFrame, kinds: Mapping[str, Kind], parts: Mapping[str, Any], of: Callable[..., Line]
) -> None:
    """Refuse keys and bins of columns that are not grouped by: the line goes without them.

    What stands under a name that is close to a column is of that one.
    """
    given = {name: entries for name, entries in parts.items() if isinstance(entries, Mapping)}
    typed = [column for entries in given.values() for column in entries]
    wrong = {name: [column for column in entries if column not in kinds] for name, entries in given.items()}
    if not any(wrong.values()):
        return
    meant = {
        near: (name, code)
        for name, columns in wrong.items()
        for column in columns
        if (near := closest(column, kinds)) and near not in typed and (code := code_of(name, column))
    }
    needs = dict(of([*typed, *meant]).needs)
    for name, columns in wrong.items():
        entries = [f"{near!r}: {code}" for near, (argument, code) in meant.items() if argument == name]
        entries += [f"{column!r}: None" for column in columns if isinstance(column, str)]
        if entries:
            needs[name] = f"{{{', '.join(filter(None, [needs.get(name, '')[1:-1], *entries]))}}}"
    first, others = next((name, columns) for name, columns in wrong.items() if columns)
    known = next((f", {column!r}" for column in others if column in frame._empty()), "")
    told = next((f"; did you mean {near!r}?" for near in (closest(column, kinds) for column in others) if near), known)
    made = of(typed)._replace(needs=tuple(needs.items()))
    raise made.refuse(f"{first}= names a column that groupby() does not use{told}", ArgumentValueError)


def _by_column(given: Any, name: str, kinds: dict[str, Kind], line: Callable[[], Line]) -> dict[str, Any]:
    """What an argument says of each column."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {column: entry for column, entry in given.items() if entry is not None}
    if len(kinds) > 1:
        fits = [column for column, kind in kinds.items() if (kind.name in checks.BINS) == (name == "bins")]
        typed, filled = code_of(name), listed(given) and hasattr(given, "__len__") and len(given)
        meant = f"{{{fits[0]!r}: {typed}}}" if len(fits) == 1 and typed and filled else ""
        told = Line(f"{name}={meant}", ((name, meant),)) if meant else line()
        raise told.refuse(f"{name}= of several columns is a dict by column")
    return {next(iter(kinds)): given}


def _binned(given: Any, other: bool, null: bool, kind: Kind, call: str, column: str, line: Line | None) -> Factor:
    """Bins between edges, or one for each period."""
    if not isinstance(given, pd.PeriodIndex) or not kind.numeric:
        return binning.bins(given, other, null, kind, call, column, line)
    line = line or Line(f"{call}({column!r}, bins={PERIODS})", (("bins", PERIODS),))
    if kind.name != "datetime":
        raise ArgumentTypeError(
            f"periods can only be bins of a column of dates; here type {call}({column!r}, bins=[...])"
        )
    # the Friday of business days is over long before the next one starts
    if not checks.follow(given) or ((given + 1).start_time - given.end_time > pd.Timedelta(1, unit="s")).any():
        raise line.refuse("periods must follow one another without gaps", ArgumentValueError)
    starts = pd.DatetimeIndex([*given.start_time, (given[-1] + 1).start_time])
    try:  # where the clocks skip the start, the period starts with the first instant after it
        starts = starts.as_unit("ns").tz_localize(kind.tz, nonexistent="shift_forward")
    except ValueError:
        turned = "" if kind.tz is None else f", and none may start in an hour that the clocks of {kind.tz!r} show twice"
        raise line.refuse(f"periods must lie between 1678 and 2261{turned}", ArgumentValueError) from None
    binned, labels = binning.bins(starts, other, null, kind, call, column, line)
    return binned, Labels(column, (*given, *labels.values))


def _given(factors: list[Factor], alone: bool) -> dict[str, Any]:
    """The arguments keys= and bins= as they were resolved."""
    given: dict[str, dict[str, Any]] = {"keys": {}, "bins": {}}
    for factor, labels in factors:
        if isinstance(factor, Keys):
            given["keys"][factor.column] = factor.keys
        else:
            periods = None if labels.edges else pd.PeriodIndex(labels.values[: factor.bins])
            given["bins"][factor.column] = labels.edges if periods is None else periods
    return {name: next(iter(of.values())) if alone else of for name, of in given.items() if of}


def _allowed(
    frame: PreparedFrame, kinds: dict[str, Kind], table: pd.DataFrame, bins: Any, other: bool, null: bool, line: str
) -> Parts:
    """Parts for the combinations that the rows of a public table list, in their order."""
    other, null = numbers.flag(other, "other"), numbers.flag(null, "null")
    columns = list(kinds)
    wanted = f"keys=pd.DataFrame({{{', '.join(f'{column!r}: [...]' for column in columns)}}})"
    if len(columns) == 1:
        raise ArgumentTypeError(f"a table as keys= lists groups of several columns; of one column type {line}")
    if bins is not None or other or null:
        raise ArgumentTypeError(
            f"a table as keys= lists every group, so leave bins=, other= and null= out: {wanted}; or type {line}"
        )
    if len(table.columns) != len(columns) or set(table.columns) != set(columns):
        raise ArgumentValueError(f"a table as keys= has the columns that are grouped by, no others: {wanted}")
    few(len(table))
    if not len(table) or table.isna().to_numpy().any():
        raise ArgumentValueError(f"a table as keys= needs rows, and a value in each cell: {wanted}")
    factors, places = [], np.zeros(len(table), dtype=np.int64)
    total = 1
    for column, kind in kinds.items():
        cells = [checks.plain(cell, kind) for cell in table[column].tolist()]
        order = {cell: place for place, cell in enumerate(dict.fromkeys(cells))}
        factors.append(frame._keys("groupby", column, list(order), False, False, Line(wanted)))
        total *= len(order)
        _numbered(total)
        places = places * len(order) + np.array([order[cell] for cell in cells], dtype=np.int64)  # shape (rows,)
    allowed = tuple(places.tolist())
    if len(set(allowed)) != len(allowed):
        raise ArgumentValueError(f"a table as keys= must not hold a combination twice: {wanted}")
    by, labels = zip(*factors, strict=True)
    return Parts(Cross(by, allowed), CrossLabels(labels, allowed), tuple(columns), {"keys": table[columns]})
