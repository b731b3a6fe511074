"""Consistent tables without negative cells as whole numbers that are consistent, too.

Margins that tables share come first, the smallest before those that hold them. A margin that holds one other is shared out cell
by cell. One that holds two is a table with given sums of rows and columns, for each combination of the columns that both have;
whole numbers with given whole sums always exist for it. One that holds more is made of two of them first, as long as that
settles nothing that a third one tells: three tables by two of three columns each need not have a whole table by all three.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from pandas_dp.aggregates.consistent import Columns, Floats
from pandas_dp.aggregates.tidy import simplex

ROUNDS, CLOSE = 500, 1e-6  # of the search for the nearest table with given sums; cells below 0 that are left
FLOOR = 1e-9  # that much below a whole number is one
Set = frozenset[int]


def whole(tables: Sequence[tuple[Columns, Floats]]) -> list[Floats] | None:
    """Whole numbers near the cells of tables, with equal margins; None where these need not exist.

    Parameters
    ----------
    tables : sequence of (columns, cells)
        Cells that are not negative, with one axis for each of the rising columns; margins on common columns are equal.
    """
    made = _Whole(tables)
    return [made.fixed[frozenset(columns)] for columns, _ in tables] if made.settled else None


class _Whole:
    def __init__(self, tables: Sequence[tuple[Columns, Floats]]) -> None:
        self.tables, self.fixed = tables, dict[Set, Floats]()
        sets = {frozenset(columns) for columns, _ in tables} | {frozenset[int]()}
        while more := {one & other for one, other in combinations(sets, 2)} - sets:
            sets |= more
        self.settled = all(self._fix(one) for one in sorted(sets, key=lambda one: (len(one), sorted(one))))

    def _fix(self, columns: Set) -> bool:
        """Settle a margin; whether it can be promised."""
        inside = _largest(one for one in self.fixed if one < columns)
        while len(inside) > 2 or (len(inside) == 2 and inside[0] | inside[1] != columns):
            joined = next(
                (one | other for one, other in combinations(inside, 2) if _apart(one, other, inside, columns)), None
            )
            if joined is None or not self._fix(joined):
                return False
            inside = _largest(one for one in self.fixed if one < columns)
        real = self._real(columns)
        if not inside:
            self.fixed[columns] = np.maximum(np.round(real), 0)
        elif len(inside) == 1:
            self.fixed[columns] = self._shared_out(columns, inside[0], real)
        else:
            self.fixed[columns] = self._with_sums(columns, inside[0], inside[1], real)
        return True

    def _real(self, columns: Set) -> Floats:
        """The margin as it was, one axis for each of the rising columns."""
        own, cells = next((own, cells) for own, cells in self.tables if columns <= {*own})
        return cells.sum(axis=tuple(axis for axis, column in enumerate(own) if column not in columns))

    def _shared_out(self, columns: Set, inside: Set, real: Floats) -> Floats:
        order = [*sorted(inside), *sorted(columns - inside)]
        moved = real.transpose([sorted(columns).index(column) for column in order])
        parents = self.fixed[inside].ravel()
        found = [
            _parts(cells, total) for cells, total in zip(moved.reshape(len(parents), -1), parents.tolist(), strict=True)
        ]
        return _back(np.array(found).reshape(moved.shape), order)

    def _with_sums(self, columns: Set, one: Set, other: Set, real: Floats) -> Floats:
        both, rows, beside = sorted(one & other), sorted(one - other), sorted(other - one)
        order = [*both, *rows, *beside]
        moved = real.transpose([sorted(columns).index(column) for column in order])
        slices = math.prod(moved.shape[: len(both)])
        across = math.prod(moved.shape[len(both) : len(both) + len(rows)])
        sums = [
            self.fixed[given].transpose([sorted(given).index(column) for column in [*both, *own]]).reshape(slices, -1)
            for given, own in ((one, rows), (other, beside))
        ]
        found = [_table(*each) for each in zip(moved.reshape(slices, across, -1), *sums, strict=True)]
        return _back(np.array(found).reshape(moved.shape), order)


def _largest(sets: Iterable[Set]) -> list[Set]:
    """Those that lie in no other one."""
    every = list(sets)
    return [one for one in every if not any(one < other for other in every)]


def _apart(one: Set, other: Set, every: Sequence[Set], columns: Set) -> bool:
    """Whether the table by both may be settled before the whole: no third one tells of it what these two do not."""
    joined = one | other
    return joined != columns and all(third & joined <= one or third & joined <= other for third in every)


def _back(moved: Floats, order: Sequence[int]) -> Floats:
    """Axes in the rising order of their columns."""
    return moved.transpose(np.argsort(order))


def _parts(cells: Floats, total: float) -> Floats:
    """Whole numbers of this sum near some numbers: the nearest that are not negative, then the largest remainders go up."""
    near = simplex(cells, total)
    found: Floats = np.floor(near + FLOOR)
    missing = round(total - found.sum())
    found[np.argsort(found - near, kind="stable")[:missing]] += 1
    return found


def _table(cells: Floats, rows: Floats, columns: Floats) -> Floats:
    """Whole numbers with these sums near some numbers."""
    near = _nearest(cells, rows, columns)
    found: Floats = np.floor(near + FLOOR)
    missing, short = rows - found.sum(axis=1), columns - found.sum(axis=0)
    # the largest remainders first, then whatever is left
    order = np.argsort((found - near).ravel(), kind="stable")
    for most in (1.0, math.inf):
        for at in order.tolist():
            i, j = divmod(at, len(columns))
            more = min(missing[i], short[j], most)
            if more > 0:
                found[i, j] += more
                missing[i] -= more
                short[j] -= more
    return found


def _nearest(cells: Floats, rows: Floats, columns: Floats) -> Floats:
    """The nearest table without negative cells whose sums are these, or a little less (Dykstra 1983)."""

    def moved(table: Floats) -> Floats:
        down, across = rows - table.sum(axis=1), columns - table.sum(axis=0)
        return table + down[:, None] / len(columns) + across / len(rows) - down.sum() / table.size

    near, below = moved(cells), np.zeros(cells.shape)
    for _ in range(ROUNDS):
        if near.min() >= -CLOSE:
            break
        kept = np.maximum(near + below, 0)
        below, near = near + below - kept, moved(kept)
    near = np.maximum(near, 0)
    for axis, sums in ((1, rows), (0, columns)):
        now = near.sum(axis=axis)
        near = near * np.expand_dims(np.minimum(1, sums / np.where(now > 0, now, 1)), axis)
    return near
