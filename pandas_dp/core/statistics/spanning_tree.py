"""The cost of a minimum spanning tree of a table of edges, with its smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_rows, owners
from pandas_dp.core.lattice import Lattice, present_mask
from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.scores import cut_sizes
from pandas_dp.core.statistics.smooth import FLOOR, GAP, LOG_BITS, MOST_BETA, SmoothSensitivity, log_bound

Ints = NDArray[np.int64]


class Edges(NamedTuple):
    """Rows that count, lightest first: `pair` is u * vertices + v with u < v, `weight` an offset."""

    pair: Ints
    weight: Ints


@dataclass(frozen=True)
class SpanningTreeCost:
    """Cost of a minimum spanning tree in lattice steps, and its beta-smooth sensitivity.

    Each row is one edge between two of the public vertices; its weight is rounded to the lattice, whose ends are 0 and the
    largest weight. Every two vertices are moreover joined by as many edges of the largest weight as one likes: no table
    is disconnected, and a row that is added takes the place of one of these. A row with an unlisted end, without a weight
    or with two equal ends does not count. The sensitivity is the integer L that `SmoothOrder` carries as well: S =
    exp(L / 2**LOG_BITS) lattice steps.

    Parameters
    ----------
    source, target : Keys
        The same keys of two columns.
    weight : str
    lattice : Lattice
        From 0; (vertices - 1) * cells is below 2**31.
    beta : Fraction

    Notes
    -----
    All of this holds for all tables. Let w_1 <= w_2 <= ... be the weights of the edges across a cut (a set of vertices, neither
    empty nor all), and

        A(k) = max over all cuts of max(w_(k+1), w_(k+2) - w_1).

    *One row.* Adding a row of weight w between u and v lowers the cost by max(0, b - w), b the lightest heaviest step of a
    way from u to v. That is the largest w_1 of a cut between them, so b <= A(0). Removing one raises the cost by
    max(0, b - w) for the b without it: in the cut that attains b the row was the lightest, w = w_1, and b = w_2.
    *r rows,* r of a unit (`PrivacyUnit.rows`), removed and r others added: then A'(k) <= A(k + r). In every cut w'_j <=
    w_(j+r). So w'_(k+1) <= w_(k+1+r); if w'_1 was there before, w'_(k+2) - w'_1 <= w_(k+2+r) - w_1; if it was added, w'_(k+2)
    is at most the (k+1)-th of the rows that stayed, hence at most w_(k+1+r). Both hold with fewer than r rows too, so
    with none removed or none added.
    *Bound.* Removing r rows one by one raises the cost by at most A(0) + ... + A(r-1) <= r A(r-1), adding r lowers it by as
    much at most. Removing never lowers it and adding never raises it: a replaced unit raises it by no more than the
    removal and lowers it by no more than the addition would by themselves. So a unit moves the cost by at most
    r A(r-1) under either relation, and never by more than (vertices - 1) cells.
    *Smoothness.* The neighbour's A'(r (k+1) - 1) is at most A(r (k+2) - 1). So

        S = max over k = 0, 1, ... of exp(-beta k) min(r A(r (k+1) - 1), (vertices - 1) cells)

    bounds what a unit moves, and that of a neighbour is at most exp(beta) times larger. The same holds with
    log_bound in place of ln, which never falls, and FLOOR and GAP as in `SmoothOrder`: L moves by at most beta
    2**LOG_BITS - 1, which leaves room for the mechanism's rounding of exp.
    For r = 1 and add/remove S is, but for GAP and FLOOR, the smallest beta-smooth bound: k removals reach every A(k).
    Source: Nissim, Raskhodnikova, Smith 2007, Section 3.2.
    """

    source: Keys
    target: Keys
    weight: str
    lattice: Lattice
    beta: Fraction

    def sensitivity(self, unit: PrivacyUnit) -> SmoothSensitivity:
        """See the class notes."""
        most = min(unit.rows, self.source.count - 1) * self.lattice.cells
        return SmoothSensitivity(l1=most, l2_squared=most**2, linf=most, beta=self.beta)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact (value, L), as a list of one."""
        edges = self._edges(view, unit)
        vertices, cells = self.source.count, self.lattice.cells
        search = Search(edges, vertices, cells, unit.rows, self.beta)
        return Exact([(tree_cost(search.lightest), search.smooth())])

    def _edges(self, view: View, unit: PrivacyUnit) -> Edges:
        ends = np.stack((view.parts(self.source), view.parts(self.target)))  # shape (2, rows)
        values, present = view.column(self.weight)
        counted = (ends >= 0).all(axis=0) & (ends[0] != ends[1])  # shape (rows,)
        mask = present_mask(values, present)
        if mask is not None:
            counted &= mask
        if unit.column is not None:
            units, count = owners(view, unit)
            positions = np.flatnonzero(counted & (units >= 0))
            positions = positions[bound_rows(units[positions], count, unit)]
        else:
            positions = np.flatnonzero(counted)
        ends, weight = ends[:, positions], self.lattice.offsets(values[positions])
        pair = ends.min(axis=0) * self.source.count + ends.max(axis=0)
        order = np.argsort(weight, kind="stable")
        return Edges(pair[order].astype(np.int64, copy=False), weight[order])


def tree_cost(lightest: Ints) -> int:
    """Cost of a minimum spanning tree of the complete graph with these weights, shape (vertices, vertices) (Prim)."""
    near, cost = lightest[0].copy(), 0  # lightest edge from each vertex to the tree, shape (vertices,)
    outside = np.arange(near.size) > 0
    while outside.any():
        v = int(np.flatnonzero(outside)[np.argmin(near[outside])])
        cost += int(near[v])
        outside[v] = False
        near = np.minimum(near, lightest[v])
    return cost


class Search:
    """Finds the L of `SpanningTreeCost` without going through all cuts.

    Notes
    -----
    Let c(t, u, v) be the least number of rows lighter than t across a cut between u and v. A cut has
    w_(k+1) >= t exactly if at most k of its rows are lighter than t: so max over cuts of w_(k+1) is the largest weight t, or
    cells, with c(t, u, v) <= k for some u, v. The same with k + 1 rows gives the other term; with the lightest weight w of
    any pair across the cut in place of w_1 it is no larger, and equal for one pair. So the candidates (distance, k) are

        (t, c(t, u, v))  and, for w < t,  (t - w, c(t, u, v) - 1),

    w the lightest weight of the pair u, v, and t runs through the weights of the rows, and cells.
    c never falls as t rises. So the candidates for t in an interval score no more than its last t with the c of any
    earlier t would: intervals that cannot beat the best are left out, the most promising one is halved first.
    Flows stop at a c with which no distance up to the interval's last t could beat the best: what is cut off there, being
    a lower bound of c that loses all the same, changes neither the best nor what later bounds allow.
    """

    def __init__(self, edges: Edges, vertices: int, cells: int, rows: int, beta: Fraction) -> None:
        self.edges, self.vertices, self.rows = edges, vertices, rows
        self.most = (vertices - 1) * cells
        # as good as `rows` for distances that are cut at `most`, and never overflows
        self.factor = min(rows, self.most)
        self.cost = max(int(min(beta, Fraction(MOST_BETA)) * (1 << LOG_BITS)) - 1, 0)  # of one unit
        self.upper = np.triu_indices(vertices, 1)
        lightest = np.full((vertices, vertices), cells, dtype=np.int64)
        np.minimum.at(lightest.reshape(-1), edges.pair, edges.weight)
        self.lightest = np.minimum(lightest, lightest.T)
        self.levels = np.unique(np.append(edges.weight, cells))  # all t, rising

    def smooth(self) -> int:
        """L."""
        none = np.zeros((self.vertices, self.vertices), dtype=np.int64)
        best, last = FLOOR, self.levels.size - 1
        # entries: minus a bound on all scores of the levels first..last, these two, cut sizes at an earlier level; no
        # two have one `first`, so arrays are never compared
        todo = [(-self.score(last, none), 0, last, none)]
        while todo and -todo[0][0] > best:
            _, first, last, sizes = heappop(todo)
            middle = (first + last) // 2
            limit = self._limit(last, best)
            found = cut_sizes(self._lighter(middle), limit)
            best = max(best, self.score(middle, found))
            if first < middle:
                heappush(todo, (-self.score(middle - 1, sizes), first, middle - 1, sizes))
            if middle < last:
                heappush(todo, (-self.score(last, found), middle + 1, last, found))
        return best + GAP

    def score(self, level: int, sizes: Ints) -> int:
        """The best score of all candidates of one t with these cut sizes."""
        t, size, lightest = self.levels[level], sizes[self.upper], self.lightest[self.upper]  # shape (pairs,)
        distance = np.concatenate((np.full(size.size, t), np.maximum(t - lightest, 0)))
        units = np.concatenate((size, np.maximum(size - 1, 0))) // self.rows
        # beyond this many units everything is below FLOOR, and products stay small
        units = np.minimum(units, self._spare(level, FLOOR) + 1)
        return int((log_bound(np.minimum(distance * self.factor, self.most)) - self.cost * units).max())

    def _limit(self, level: int, best: int) -> int:
        """A cut size with which no candidate up to a level beats the best, by whichever of the two terms."""
        return min(self.rows * self._spare(level, best), self.edges.pair.size) + 1

    def _spare(self, level: int, best: int) -> int:
        """Units away from which no candidate up to a level scores more than `best`."""
        top = np.minimum(self.levels[level : level + 1] * self.factor, self.most)
        return -(-max(int(log_bound(top)[0]) - best, 0) // max(self.cost, 1))

    def _lighter(self, level: int) -> Ints:
        """Number of rows of each pair that are lighter than a level, shape (vertices, vertices)."""
        end = int(np.searchsorted(self.edges.weight, self.levels[level]))
        counts = np.bincount(self.edges.pair[:end], minlength=self.vertices**2).reshape(self.vertices, self.vertices)
        return (counts + counts.T).astype(np.int64)
