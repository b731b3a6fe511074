"""Released tables of counts of the same rows, made consistent: free, as it looks at what was released alone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pandas_dp.aggregates import consistent
from pandas_dp.aggregates.base import Answer, Caution
from pandas_dp.aggregates.consistent import Floats
from pandas_dp.aggregates.count import CountBy
from pandas_dp.aggregates.cross_tables import CellErrors, CrossTable
from pandas_dp.aggregates.uncertainty import LEVEL, EachOf
from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, Spelled
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.call import argument_text, columns_text
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.facts.numbers import checked_level, flag
from pandas_dp.release.base import NO_MORE, Release
from pandas_dp.release.count_tables import LINE, Group, Settled, Table, ends_of, group_of, promised_of, table_of
from pandas_dp.release.provenance import Provenance
from pandas_dp.release.values import make_release

ASK = "Ask both of one frame: df.dp(epsilon=0.5).count(), df.dp(epsilon=0.5).value_counts('sex', keys=['f', 'm'])"
FREE = "reconciled from entries {} of the ledger: its privacy is that of these entries together"
MOST_SHOWN = 12  # entries that are named
UNFINISHED = (
    "no tables without negative cells were found that agree exactly: they differ in the last digits that are shown"
)
MOVED = (
    "no negative cells: small counts are too large on average; intervals are those of the unbiased values, cut at 0, and a "
    "value may lie outside its own interval"
)
APART = "the tables disagree by more than noise explains: perhaps they are not about the same rows"


class Misfit(NamedTuple):
    """How far the tables lay apart: the sum of all squared corrections over their variances, and its mean where all is well."""

    statistic: float
    expected: float


class Reconciled(Spelled, Sequence[Release]):
    """What `reconcile` returns: the answers in their order, each as it was but consistent with the others.

    Attributes
    ----------
    raw : tuple of Release
        The answers as they were released.
    misfit : Misfit
        ``statistic``, and what it is on ``expected`` average if all tables are about the same rows.
    notes : tuple of str

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"sex": ["f", "m"] * 3000})
    >>> session = df.dp.protect(epsilon=3, name="reconciled example")
    >>> options = {"keys": ["f", "m"], "other": True, "null": True}
    >>> made = pandas_dp.reconcile([df.dp(epsilon=1).count(), df.dp(epsilon=1).groupby("sex", **options).size()])
    >>> len(made), abs(made[0] - made[1].sum()) < 1e-6
    (2, True)
    """

    def __init__(self, raw: tuple[Release, ...], groups: list[Group], notes: tuple[str, ...]) -> None:
        self.raw, self.notes, self._groups = raw, notes, groups
        sums = [consistent.misfit(group.fit, group.zero) for group in groups]
        self.misfit = Misfit(sum(one[0] for one in sums), sum(one[1] for one in sums))

    @cached_property
    def _made(self) -> list[Release]:
        found = {id(table.release): (group, table) for group in self._groups for table in group.tables}
        return [_release(*found[id(one)], self.notes) for one in self.raw]

    def __len__(self) -> int:
        """Number of answers."""
        return len(self.raw)

    def __getitem__(self, place: Any) -> Any:
        """One of the answers, by its place."""
        return self._made[place]

    def table(self, *columns: str, level: float = LEVEL) -> pd.DataFrame:
        """Return the counts by some columns of one of the tables: all margins are available.

        Parameters
        ----------
        *columns : str
            None for the total.
        level : float
            Of the intervals.

        Returns
        -------
        DataFrame
            Columns ``value``, ``lower``, ``upper``, by the keys or bins of the finest table. It counts all rows, if some table
            with these columns does, and otherwise those with listed keys.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            If no table has all these columns.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"sex": ["f", "m"] * 3000, "paid": ["y", "n", "n"] * 2000})
        >>> session = df.dp.protect(epsilon=3, name="reconciled table example")
        >>> keys, whole = {"sex": ["f", "m"], "paid": ["y", "n"]}, {"other": True, "null": True}
        >>> both = df.dp(epsilon=1).groupby(["sex", "paid"], keys=keys, **whole).size()
        >>> made = pandas_dp.reconcile([df.dp(epsilon=1).count(), both])
        >>> made.table("paid").index.tolist()[:2], made.table().columns.tolist()
        (['y', 'n'], ['value', 'lower', 'upper'])
        """
        checked_level(level)
        if not all(isinstance(name, str) for name in columns):
            raise ArgumentTypeError(f"name columns one by one: .table({', '.join(map(repr, self._some()))})")
        have = [(group, table) for group in self._groups for table in group.tables if {*columns} <= table.by.keys()]
        if not have or len({*columns}) < len(columns):
            raise ArgumentValueError(
                f"no table has these columns, each once: .table({', '.join(map(repr, self._some()))})"
            )
        # of all rows where there is a choice, and by the finest parts
        group, table = min(have, key=lambda one: (one[0].apart, -math.prod(len(one[1].labels[c]) for c in columns)))
        values, errors = group.margin(table, columns)
        ends = ends_of(values.ravel(), errors, level)
        labels = [table.labels[name] for name in columns]
        index = pd.Index(["count()"]) if not labels else _index(labels)
        return pd.DataFrame({"value": values.ravel(), "lower": ends[:, 0], "upper": ends[:, 1]}, index=index)

    def _some(self) -> list[str]:
        return next((list(table.by) for group in self._groups for table in group.tables if table.by), [])

    def __repr__(self) -> str:
        """Say what it is made of."""
        line = f".table({', '.join(map(repr, self._some()))})"
        return "\n  ".join([f"{len(self)} answers, consistent: [0] to [{len(self) - 1}], {line}", *self.notes])


@example(LINE)
def reconcile(answers: Any, complete: Any = (), nonnegative: bool = False, whole: bool = False) -> Reconciled:
    """Make released tables of counts agree with each other. They also become more exact. Nothing is charged.

    Parameters
    ----------
    answers : list of Release
        Counts of the same rows: from ``count``, ``histogram``, ``value_counts`` with keys, ``groupby(...).size()`` or
        ``crosstab``; by any columns, at any prices, with Laplace or Gaussian noise.
    complete : list of str, optional
        Columns for which you promise that no row is outside the listed keys or bins in any of the tables. A column that was
        asked with ``other=True, null=True`` is complete anyway. A false promise makes the numbers wrong; privacy does not
        depend on it.
    nonnegative : bool
        Give the nearest consistent tables without negative cells and with the same total (or 0). Small cells are then too
        large on average. Intervals are those of the unbiased values, clipped at 0, and may not contain the value.
    whole : bool
        The same in whole numbers that keep the rounded total and all common margins. If tables share columns in a ring (three
        tables by two columns each, and one by all three), such numbers need not exist, and the call is refused. So it is if
        keys or bins of the same column differ.

    Returns
    -------
    Reconciled
        The answers in their order, with new values and intervals. The old values are in ``.raw``, and for a Series in the
        column ``raw`` of its table.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For answers that are not such tables, or not about the same rows; for shares, discovered keys and sums; and if units
        have several rows, because each table counts another selection of them. For ``whole=True`` if common margins cannot be
        kept.

    Notes
    -----
    Weighted least squares: of all unbiased linear estimates, those with the smallest variance. Intervals use the distribution
    of the weighted noise. They are narrower than before, except if the noise was 0 or 1 most of the time. Tables that list
    only some keys count fewer rows: they are reconciled with tables that list the same keys. Privacy is that of the answers
    together, because only these are used. A reconciled answer has no epsilon of its own. Source: Barak et al. 2007; Xiao, He,
    Zhang, Kifer 2023; nonnegative: Dykstra 1983.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"sex": ["f", "m"] * 3000, "paid": ["y", "n", "n"] * 2000})
    >>> session = df.dp.protect(epsilon=3, name="reconcile example")
    >>> sex = df.dp(epsilon=1).groupby("sex", keys=["f", "m"]).size()
    >>> both = df.dp(epsilon=1).crosstab("sex", "paid", keys={"sex": ["f", "m"], "paid": ["y", "n"]})
    >>> made = pandas_dp.reconcile([sex, both], complete=["sex", "paid"])
    >>> bool(abs(made[0]["f"] - made[1].loc["f"].sum()) < 1e-6)
    True
    >>> session.left
    'epsilon=1'
    """
    whole, listed = flag(whole, "whole"), latest(answers_of("reconcile", answers, LINE))
    nonnegative = flag(nonnegative, "nonnegative") or whole
    tables = [table_of(place, one) for place, one in enumerate(listed)]
    _check_rows(listed, tables)
    promised = promised_of(complete, [table.by for table in tables])
    by_rows: dict[frozenset[tuple[Any, ...]], list[Table]] = {}
    for table in tables:
        by_rows.setdefault(table.incomplete(promised), []).append(table)
    groups = [group_of(same, promised, nonnegative, whole) for same in by_rows.values()]
    if all(len(group.fit.tables) < 2 for group in groups):
        raise ArgumentValueError(_apart(tables, promised))
    unfinished = nonnegative and not all(group.found for group in groups)
    moved = [Caution(text) for text in ([MOVED] * nonnegative + [UNFINISHED] * unfinished)]
    return Reconciled(tuple(listed), groups, (*_notes(groups), *moved))


def _check_rows(answers: list[Release], tables: Sequence[Table]) -> None:
    """Refuse answers that are not about the same rows."""
    for place, answer in enumerate(answers):
        if (owner := answer.unit.column) is not None:
            raise ArgumentTypeError(
                f"answer {place} counts some rows of each {owner!r}, and every table draws its own: no two tables count the "
                f"same rows. One table by all their columns agrees with itself, and its sums are free: "
                + _by_all(tables, answer.spent)
            )
        if answer._provenance.content is None or answer._provenance.content != answers[0]._provenance.content:
            raise ArgumentTypeError(
                f"answer {place} is not about the same rows as answer 0: they must be asked of one table in one session and "
                f"under one schema, or of one table= and version=. {ASK}"
            )
        if answer.query.steps != answers[0].query.steps:
            raise ArgumentTypeError(f"answer {place} was asked after different steps from answer 0. {ASK}")


def _by_all(tables: Sequence[Table], price: str) -> str:
    """The question of one table by all the columns of some, at a price."""
    keys: dict[str, Any] = {}
    bins: dict[str, Any] = {}
    for table in tables:
        for name, part in table.by.items():
            labels = table.labels[name]
            if isinstance(part, Keys):
                keys.setdefault(name, part.keys)
            else:
                bins.setdefault(name, labels.edges or pd.PeriodIndex(labels.values[: part.bins]))
    names = tuple(keys | bins)
    given = {
        of: known[names[0]] if len(names) == 1 else known for of, known in (("keys", keys), ("bins", bins)) if known
    }
    typed = [f"{of}={argument_text(known)}" for of, known in given.items()]
    asked = f"groupby({', '.join([columns_text(names), *typed])}).size()" if names else "count()"
    return f"df.dp({price}).{asked}"


def answers_of(call: str, answers: Any, line: str) -> list[Any]:
    """A list of two answers or more, each as it was released."""
    listed = list(answers) if isinstance(answers, list | tuple) else []
    if len(listed) < 2:
        raise ArgumentTypeError(f"{call} takes a list of two answers or more: {line}")
    for place, one in enumerate(listed):
        if not isinstance(one, Release):
            raise ArgumentTypeError(
                f"{call} takes answers as they were released, and element {place} is not one: a file of an answer, or "
                f"what pandas made from it, does not record its noise. Ask it again, which is free where the answer is stored: "
                f"{line}"
            )
    return listed


def latest(answers: list[Release]) -> list[Release]:
    """The answers, each in the place of those that it refines or averages: they tell nothing beside it."""
    made: dict[Any, Release] = {}
    for answer in sorted(answers, key=lambda each: len(each.query.within)):
        made |= {(answer._provenance.content, entry): answer for entry in answer.query.within}
    return [made.get((each._provenance.content, each._provenance.entry), each) for each in answers]


def reconcile_most(answers: Sequence[Release], complete: Any, nonnegative: bool, whole: bool) -> Reconciled:
    """Reconcile the tables among some answers that are about the same rows, the largest number of them."""
    given = complete if isinstance(complete, list | tuple) else [complete]
    if any(isinstance(one, Release) for one in given):
        raise ArgumentTypeError(f"session.reconcile() takes all answers on its budget; some alone go into {LINE}")
    found: list[list[Release]] = []
    for place, one in enumerate(answers):
        with contextlib.suppress(ArgumentTypeError):  # it is none, or was changed
            table_of(place, one)
            rows = one._provenance.content, one.query.steps
            known = next((same for same in found if (same[0]._provenance.content, same[0].query.steps) == rows), None)
            found.append([one]) if known is None else known.append(one)
    most = max(found, key=len, default=[])
    if len(most) < 2:
        raise ArgumentTypeError(
            "this process was not given two tables of counts of the same rows on this budget: ask those that are stored again, "
            "which is free, or others, as df.dp(epsilon=0.5).count() and df.dp(epsilon=0.5).value_counts('sex', keys=['f', "
            f"'m']); or give answers from elsewhere: {LINE}"
        )
    made, others = reconcile(most, complete, nonnegative, whole), sum(map(len, found)) - len(most)
    left = (f"{others} other table{'s' * (others > 1)} of counts: of other rows, or after other steps",) * (others > 0)
    return Reconciled(made.raw, made._groups, (*made.notes, *left))


def _notes(groups: list[Group]) -> tuple[str, ...]:
    notes: list[str] = []
    for group in groups:
        if len(group.fit.tables) < 2:
            counted = f"the counts by {', '.join(map(repr, group.columns))}" if group.columns else "the number of rows"
            notes.append(f"nothing to reconcile {counted} with: no other answer is about these rows")
        if len(group.fit.tables) < len(group.tables):
            notes.append("an answer that is listed twice counts once")
        found, mean, most = consistent.misfit(group.fit, group.zero)
        if mean and found > most:  # falsely, of the same rows, with less than 1 % as measured
            notes.append(Caution(APART))
    return tuple(dict.fromkeys(notes))


def _apart(tables: list[Table], promised: frozenset[str]) -> str:
    """Why no two tables are of the same rows, and the line."""
    if len({table.draw for table in tables}) < 2:
        return f"all of these are one answer: ask another table, or again with fresh=True: {LINE}"
    names = sorted({column for table in tables for column, _ in table.incomplete(promised)})
    return (
        "no two of these tables are about the same rows: a row outside the listed keys or bins is in one and not in the other. "
        f"Ask them with other=True and null=True, or promise that there is none: complete={names}"
    )


def _release(group: Group, table: Table, notes: tuple[str, ...]) -> Release:
    """The answer with its new values; as it was where nothing told more of it."""
    raw, asked, names = table.release, table.release.query.aggregate, [*table.by]
    if len(group.fit.tables) < 2 and not group.moved:
        return raw
    values, errors = group.margin(table, names)
    extras: tuple[pd.Series[Any], ...] = ()
    value: Any
    error: Any
    if isinstance(asked, CrossTable):
        value, error = _with_margins(group, table, asked, values, errors)
    elif isinstance(asked, CountBy):
        value = pd.Series(values.ravel(), index=asked.labels.index(), name=asked.name)
        old = pd.Series(table.counts.ravel().astype(np.int64), index=value.index, name="raw")
        order = np.argsort(-values.ravel(), kind="stable") if asked.sort else np.arange(value.size)
        one = all(each is errors[0] for each in errors)
        error = errors[0] if one else EachOf(tuple(errors[i] for i in order))
        value, extras = value.iloc[order], (old.iloc[order],)
    else:
        value, error = values.item(), errors[0]
    others = [each.release for each in group.tables]
    told = (*raw.notes, FREE.format(entries_of(others)), *notes)
    return made_of(others, "reconciled", raw._provenance, value, error, told, extras=extras)


def made_of(
    others: Sequence[Release],
    how: str,
    like: Provenance,
    value: Any,
    error: Any,
    notes: tuple[str, ...],
    **changes: Any,
) -> Release:
    """An answer that is made of others and costs nothing more, known like one of them but for these changes."""
    mechanism = f"{' and '.join(dict.fromkeys(each.mechanism for each in others))}, {how}"
    spent = f"{NO_MORE} entries {entries_of(others)}"
    known = replace(like, mechanism=mechanism, spent=spent, stored=False, error=error, notes=notes, **changes)
    return make_release(Answer(value, mechanism, error), known)


def entries_of(answers: Sequence[Release]) -> str:
    """Numbers of the ledger's entries that paid for some answers."""
    paid = {entry for each in answers for entry in (each._provenance.entry, *each.query.within)}
    entries = sorted(entry for entry in paid if entry is not None)
    more = f" and {len(entries) - MOST_SHOWN} more" * (len(entries) > MOST_SHOWN)
    return ", ".join(map(str, entries[:MOST_SHOWN])) + more


def _with_margins(group: Group, table: Table, asked: CrossTable, values: Floats, errors: list[Settled]) -> Any:
    """A table of two columns, with the margins that it had, and the error of each cell."""
    rows, columns = table.by
    cells = [
        [*pairs]
        for pairs in zip(values.tolist(), np.reshape(np.array(errors, dtype=object), values.shape), strict=True)
    ]
    grid = [list(zip(*pairs, strict=True)) for pairs in cells]
    if 0 in asked._summed:
        grid.append(_pairs(group, table, (columns,)))
    if 1 in asked._summed:
        beside = _pairs(group, table, (rows,)) + (_pairs(group, table, ()) if 0 in asked._summed else [])
        grid = [[*row, more] for row, more in zip(grid, beside, strict=True)]
    index, names = asked._index(0, asked.rows), asked._index(1, asked.columns)
    shown = pd.DataFrame([[value for value, _ in row] for row in grid], index=index, columns=names)
    return shown, CellErrors.of(names, [[error for _, error in row] for row in grid])


def _pairs(group: Group, table: Table, kept: Sequence[str]) -> list[tuple[float, Settled]]:
    values, errors = group.margin(table, kept)
    return list(zip(values.ravel().tolist(), errors, strict=True))


def _index(labels: list[Labels]) -> pd.Index[Any]:
    return labels[0].index() if len(labels) == 1 else CrossLabels(tuple(labels)).index()
