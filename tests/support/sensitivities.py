"""How far one unit moves every statistic: a class without an entry here fails the suite.

For each class statistics on tables of a few rows (unit, g, x), and how two exact results are compared with what the sensitivity
states. The tables are all there are of a few units with a few rows over a few cells; `moves` goes through all their neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction as F
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from support.views import ArrayView

from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Bins, Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics import (
    blocks,
    codes,
    counts,
    lattice_counts,
    products,
    scores,
    smooth,
    spanning_tree,
    strategies,
    sums,
)
from pandas_dp.core.statistics import counts as key_counts
from pandas_dp.core.statistics import scores as conditions
from pandas_dp.core.statistics import scores as revenue
from pandas_dp.core.statistics.smooth import LOG_BITS

Row = tuple[Any, Any]
GROUPS = Keys("g", ("a", "b"))
ENDS = Keys("h", ("a", "b"))
CELLS = Lattice(F(1), 0, 2)
SIGNED = Lattice(F(1), -1, 3)
ROWS: tuple[Row, ...] = (("a", 0), ("a", 2), ("b", 2), (None, None))
BOUNDS = ((2, 1, 2), (2, 2, 1))  # k, m, c of units with several rows
MORE = (3, 2, 2)  # the same, where a unit is added: its replacements are too many
ADD, REPLACE = NeighboringRelation.ADD_REMOVE, NeighboringRelation.REPLACE_ONE


class View(ArrayView):
    """Columns u, g and x; h, the other end of an edge, is the other group, and y the value seen from above."""

    def __init__(self, rows: list[tuple[int, Any, Any]]) -> None:
        owners, groups, values = (list(column) for column in zip(*(rows or [(-1, None, None)]), strict=True))
        others = [{"a": "b", "b": "a"}.get(group) for group in groups]
        mirrored = [None if x is None else 2 - x for x in values]
        owned = [None if owner < 0 else owner for owner in owners]
        super().__init__({"u": owned, "g": groups, "x": values, "h": others, "y": mirrored})

    def units(self, column: str) -> Any:
        """Units keep their codes when one of them is absent."""
        if column != "u":
            return super().units(column)
        owners = self.columns["u"]
        return np.array([-1 if owner is None else owner for owner in owners], dtype=np.int64), 4

    def block_results(self, function: Any, block: Any, count: int, columns: Any = None) -> list[Any]:
        values = [[x for x, b in zip(self.columns["x"], block, strict=True) if b == one] for one in range(count)]
        return [result_of(function, tuple(one)) for one in values]


@cache
def result_of(function: Any, cells: tuple[Any, ...]) -> Any:
    """What a function makes of a block, of which small tables have few."""
    try:
        return function(pd.DataFrame({"x": list(cells)}))
    except Exception:
        return None


@dataclass(frozen=True)
class Case:
    """One statistic.

    Attributes
    ----------
    statistic : Statistic
    moved : callable of (before, after, sensitivity)
        Pairs of (name of what is stated, what was found, what is stated): every one found must be at most stated.
    near : dict of str to float
        The share of what is stated that some pair attains in at least one kind of unit; 1 where it is not named.
    relations, bounds
        Those that it is for; () for `bounds` where every row is a unit.
    rows : tuple
        What a row can hold.
    """

    statistic: Any
    moved: Callable[[Any, Any, Any], Iterator[tuple[str, float, float]]] = field(default=None)  # type: ignore[assignment]
    near: dict[str, float] = field(default_factory=dict)
    relations: tuple[NeighboringRelation, ...] = (ADD, REPLACE)
    bounds: tuple[tuple[int, int, int], ...] = BOUNDS
    rows: tuple[Row, ...] = ROWS

    def values(self, view: View, unit: PrivacyUnit) -> Any:
        """The exact result."""
        if hasattr(self.statistic, "compute"):
            return self.statistic.compute(view, unit).open()
        return self.statistic.values(view, unit)

    def units(self) -> Iterator[PrivacyUnit]:
        for relation in self.relations:
            yield PrivacyUnit(relation=relation)
            more = (MORE,) if self.bounds and relation is ADD else ()
            yield from (PrivacyUnit("u", *bounds, relation) for bounds in self.bounds + more)


def integers(before: Any, after: Any, s: Any) -> Iterator[tuple[str, float, float]]:
    """Vectors of integers, entry by entry."""
    change = [int(b) - int(a) for a, b in zip(np.ravel(before), np.ravel(after), strict=True)]  # squares wrap in int64
    yield "l1", sum(map(abs, change)), s.l1
    yield "l2_squared", sum(x * x for x in change), s.l2_squared
    yield "linf", max(map(abs, change)), s.linf
    if s.range is not None:
        yield "range", max(change) - min(change), s.range
    if s.rising:
        yield "rising", -min(change), 0


def parts(before: Any, after: Any, s: Any) -> Iterator[tuple[str, float, float]]:
    """Block values by group: the sum of each group, and how many groups changed."""
    yield from integers(np.sum(before, axis=1), np.sum(after, axis=1), s)
    yield "touched", (np.asarray(before) != np.asarray(after)).any(axis=1).sum(), s.touched


def ranks(before: Any, after: Any, s: Any) -> Iterator[tuple[str, float, float]]:
    """`Points` of each part: counts of rows at, below or above a point; rows that come and go; parts that change."""
    come, touched = 0, 0
    for one, two in zip(before, after, strict=True):
        counts_ = np.zeros((2, 4), dtype=np.int64)
        for side, (offsets, rows) in enumerate((one, two)):
            counts_[side, offsets] = rows
        change = counts_[1] - counts_[0]
        sums_ = np.cumsum(change)
        every = [*change, *sums_, *(sums_[-1] - sums_)]
        yield "linf", np.abs(every).max(), s.linf
        yield "range", max(*every, 0) - min(*every, 0), s.score_range
        come, touched = come + np.abs(change).sum(), touched + change.any()
    yield "l1", come, s.l1
    yield "touched", touched, s.touched


def by_key(before: Any, after: Any, s: Any) -> Iterator[tuple[str, float, float]]:
    """Counts of keys, of which those without rows are not there."""
    one, two = ({str(names(np.array([i]))): n for i, n in enumerate(held)} for held, names in (before, after))
    keys = sorted(one.keys() | two.keys())
    yield from integers([one.get(key, 0) for key in keys] or [0], [two.get(key, 0) for key in keys] or [0], s)
    for more, less in ((one, two), (two, one)):
        alone = [n for key, n in more.items() if key not in less]
        for name, convex in (
            ("keys", float.__bool__),
            ("rows", float),
            ("tails", lambda v: 2 ** (9 * v / max(s.linf, 1))),
        ):
            together = (sum(n * convex(float(v)) for n, v in content) for content in s.contents)
            yield name, sum(convex(float(v)) for v in alone), float(max(together))
    yield "touched", sum(one.get(key, 0) != two.get(key, 0) for key in keys), s.touched


def smoothly(before: Any, after: Any, s: Any) -> Iterator[tuple[str, float, float]]:
    """(value, L): values no farther apart than either exp(L) allows, all coordinates together, and L beta-smooth."""
    distance, touched = 0, 0
    for (v, a), (w, b) in zip(before, after, strict=True):
        distance, touched = distance + abs(v - w), touched + ((v, a) != (w, b))
        bound = math.exp(min(a, b) / 2**LOG_BITS)
        yield "S", distance if s.dimension > 1 else abs(v - w), bound
        yield "beta", abs(a - b), float(s.beta) * 2**LOG_BITS
        yield "linf", abs(v - w), s.linf
    yield "l1", distance, s.l1
    if s.dimension == 1:
        yield "touched", touched, s.touched


def places(before: Any, after: Any, s: Any) -> Iterator[tuple[str, float, float]]:
    """One entry a row: how many entries change."""
    yield "touched", sum(a != b for a, b in zip(sorted(before), sorted(after), strict=True)) / 2, s.touched


def above(row: dict[str, Any]) -> bool | None:
    """A condition of a row."""
    return None if row["x"] is None else row["x"] > 1


def first(block: pd.DataFrame) -> float:
    """A user's function: the mean of a block."""
    return float(block["x"].mean())


def two(block: pd.DataFrame) -> tuple[float, float]:
    """A user's function of two numbers."""
    return float(block["x"].min()), float(block["x"].max())


def total(frame: pd.DataFrame, candidate: float) -> float:
    """A score of the table: one row moves it by 2 at most."""
    return 2.0 * float((frame["x"] == candidate).sum())


def halves(frame: pd.DataFrame) -> tuple[float, float]:
    """A user's function of two numbers: one row moves each by a half, so that both are rounded up."""
    half = float(frame["x"].notna().sum()) / 2
    return half, half


def counted(frame: pd.DataFrame) -> int:
    """A user's function of one number: one row moves it by 1 at most."""
    return int(frame["x"].notna().sum())


class Scoring(View):
    """Computes numbers, where `View` computes conditions."""

    def computed(self, expression: Any) -> Any:
        made = [expression(x) for x in self.columns["x"]]
        return np.array([0.0 if m is None else m for m in made]), np.array([m is not None for m in made])


RANKS, BY_GROUP = lattice_counts.LatticeCounts("x", CELLS), lattice_counts.LatticeCounts("x", CELLS, GROUPS)
MEANS = blocks.BlockMeans("x", CELLS, GROUPS, 2)
RESULTS, PAIRS = blocks.BlockResults(first, CELLS, 2), blocks.BlockResults(two, CELLS, 2, outputs=2)
BETA = F(1, 2)
HALF = {"l1": 0.5, "l2_squared": 0.25, "linf": 0.5}
LOOSE = {"linf": 0, "l2_squared": 0, "range": 0}
LITTLE = {"l1": 0.3, "l2_squared": 0.1, "linf": 0.3}
SMOOTH = {"S": 0.5, "beta": 0.3, "linf": 0.5, "l1": 0.5}

STATISTICS: dict[type, list[Case]] = {
    counts.RowCounts: [
        Case(counts.RowCounts(column, by, **once), integers)
        for column in (None, "x")
        for by in (None, GROUPS)
        for once in ({}, {"once": True}, {"units": True})
    ],
    sums.Total: [
        Case(sums.Total("x", lattice, by), integers, {"l2_squared": 0.5, "linf": 0.5})
        for lattice in (CELLS, SIGNED)
        for by in (None, GROUPS)
    ],
    sums.Moments: [Case(sums.Moments("x", CELLS, degree, by), integers) for degree in (1, 2) for by in (None, GROUPS)],
    sums.Centred: [
        *(
            Case(sums.Centred(sums.Moments("x", CELLS, 1), weights), integers, relations=(REPLACE,))
            for weights in ((1, 0), (1, 1), (7, 12))
        ),
        Case(sums.Centred(sums.Moments("x", CELLS, 2)), integers, {"l1": 0.6, "l2_squared": 0.4}, (REPLACE,), ()),
    ],
    products.Products: [Case(products.Products(("x", "y"), (CELLS, CELLS)), integers, {"l2_squared": 0.5})],
    conditions.CountWhere: [Case(conditions.CountWhere(above), integers)],
    conditions.DistanceFrom: [Case(conditions.DistanceFrom(conditions.CountWhere(above), 1), integers)],
    counts.Distinct: [Case(counts.Distinct("x"), integers), Case(counts.Distinct("u"), integers)],
    counts.DistinctBy: [
        Case(counts.DistinctBy("x", GROUPS), integers, {"l2_squared": 0.5, "range": 0.5}),
        Case(counts.DistinctBy("u", GROUPS), integers, bounds=(*BOUNDS, (2, 2, 2))),
    ],
    key_counts.KeyCounts: [
        Case(key_counts.KeyCounts(("g",)), by_key),
        Case(key_counts.KeyCounts(("g",), "x"), by_key),
        Case(key_counts.KeyCounts(("g",), None, True), by_key),
        Case(key_counts.KeyCounts(("g",), None, True, True), by_key, {"l1": 0.999, "l2_squared": 0.999}),
    ],
    lattice_counts.LatticeCounts: [Case(RANKS, ranks), Case(BY_GROUP, ranks)],
    revenue.Revenue: [
        Case(revenue.Revenue("x", (1, 2), F(1), supply), integers, HALF | {"range": 0.5}) for supply in (None, 1)
    ],
    scores.RowScores: [Case(scores.RowScores((lambda x: x, lambda x: None if x is None else 2 - x), CELLS), integers)],
    scores.FrameScores: [
        Case(
            scores.FrameScores(total, (0, 2), F(1), 2), integers, {"l1": 0.3, "l2_squared": 0.1, "linf": 0.5}, bounds=()
        ),
        Case(scores.FrameScores(total, (0, 2), F(1), 2), integers, {"l1": 0.3, "l2_squared": 0.1, "linf": 0.5}, (ADD,)),
    ],
    scores.FrameNumbers: [
        Case(scores.FrameNumbers(counted, F(1), 3), integers),
        Case(scores.FrameNumbers(halves, F(1), 3, 2), integers, {"l2_squared": 0.3, "linf": 0.6}),
        Case(scores.FrameNumbers(halves, F(1), 3, 2, norm=2), integers, {"l1": 0.6, "l2_squared": 0.3, "linf": 0.6}),
    ],
    codes.Codes: [Case(codes.Codes(GROUPS), places, relations=(REPLACE,), bounds=())],
    counts.UnitSizes: [Case(counts.UnitSizes((1, 2)), integers)],
    strategies.Tree: [Case(strategies.Tree(Bins("x", (0, 1, 2, 3)), 2, 2), integers, {"l2_squared": 0.5, "l1": 0.75})],
    strategies.Haar: [
        Case(strategies.Haar(Bins("x", (0, 1, 2, 3))), integers, {"l2_squared": 0.3, "l1": 0.5, "linf": 0.5})
    ],
    strategies.Weighted: [
        Case(strategies.Weighted(Bins("x", (0, 1, 2, 3)), ((3, -1, 0), (1, 1, 1))), integers),
    ],
    blocks.BlockMeans: [Case(MEANS, parts, HALF | {"touched": 1})],
    blocks.BlockResults: [Case(RESULTS, parts, HALF), Case(PAIRS, parts, HALF)],
    blocks.BlockSums: [Case(blocks.BlockSums(MEANS), integers, HALF)],
    blocks.BlockPoints: [Case(blocks.BlockPoints(MEANS), ranks, {"range": 0.5})],
    blocks.BlockVotes: [Case(blocks.BlockVotes(first, (0.0, 1.0, 2.0), 2), integers)],
    smooth.SmoothOrder: [
        Case(smooth.SmoothOrder(of, q, BETA), smoothly, SMOOTH) for of in (RANKS, BY_GROUP) for q in (F(1, 2), F(1, 4))
    ],
    smooth.SmoothScale: [Case(smooth.SmoothScale(smooth.SmoothOrder(RANKS, F(1, 2), BETA)), integers, LITTLE)],
    smooth.TrimmedMean: [Case(smooth.TrimmedMean(RANKS, F(1, 4), BETA), smoothly, SMOOTH | {"S": 0, "beta": 0})],
    spanning_tree.SpanningTreeCost: [
        Case(spanning_tree.SpanningTreeCost(GROUPS, ENDS, "x", CELLS, BETA), smoothly, SMOOTH | {"touched": 0})
    ],
    smooth.CentreOfAttention: [Case(smooth.CentreOfAttention(RESULTS, BETA), smoothly, SMOOTH | {"S": 0.3, "beta": 0})],
}
