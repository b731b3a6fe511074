"""Scores of candidates: of keys, cuts, conditions and prices, with the sensitivity of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.bounding import bound_rows, owners
from pandas_dp.core.lattice import Lattice, integer_info
from pandas_dp.core.measurement import AddsUp, Exact, View, computed
from pandas_dp.core.offset_sum import offset_sum
from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.errors import ArgumentValueError


@dataclass(frozen=True)
class CountWhere(AddsUp):
    """Number of rows for which a condition holds; where its truth is missing it does not hold.

    Parameters
    ----------
    condition : Expression
        Frozen; what it makes of a row depends on that row alone.

    Notes
    -----
    A unit with c such rows counts min(c, k) times, in 0..k whatever its rows are: its presence adds at most k and never
    takes anything away, so under add/remove all such counts rise together; its content moves a count by at most k.
    """

    condition: Any

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        k = unit.rows
        return Sensitivity(l1=k, l2_squared=k * k, linf=k, rising=unit.add_remove)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact count, a list of one int."""
        values, present = view.computed(self.condition)
        holds: NDArray[np.bool_] = values != 0  # shape (rows,)
        if present is not None:
            holds &= present
        if unit.column is None:
            return Exact([int(np.count_nonzero(holds))])
        units, count = owners(view, unit)
        counts = np.bincount(units[holds & (units >= 0)], minlength=count)  # shape (units,)
        return Exact([int(np.minimum(counts, unit.rows).sum())])


@dataclass(frozen=True)
class DistanceFrom:
    """How far a count of such rows lies from a public number, |count - expected|.

    Notes
    -----
    It moves by at most as much as the count, in either direction whatever the relation.
    """

    count: CountWhere
    expected: int

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """That of the count, but not rising."""
        k = unit.rows
        return Sensitivity(l1=k, l2_squared=k * k, linf=k)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact distance, a list of one int."""
        (count,) = computed(self.count, view, unit).open()
        return Exact([abs(count - self.expected)])


Ints = NDArray[np.int64]


def cut_sizes(capacity: Ints, limit: int) -> Ints:
    """Size of the smallest cut between every two vertices, or `limit` where it is not smaller.

    Parameters
    ----------
    capacity : ndarray of int64, shape (vertices, vertices)
        Symmetric, not negative.
    limit : int
        At least 0. Flows stop there.

    Returns
    -------
    ndarray of int64, shape (vertices, vertices)
        `limit` on the diagonal.

    Notes
    -----
    For all graphs and limits the sizes are exact.
    Gusfield's tree: vertex i is cut from the vertex it hangs on, later ones on its side that hang on the same one are hung
    on i, and a cut between i and an earlier j is the smaller of the new one and that between the other end and j.
    With a limit: join vertices between which no cut is below it by links that cannot be cut. That changes no cut below the
    limit, and between two joined vertices all cuts are equally large, so {i}, on whose side no later vertex lies, serves
    as the smallest. What runs here is the tree of that graph, whose cuts may be any smallest ones.
    Source: Gusfield 1990.
    """
    rows: list[list[int]] = capacity.tolist()
    links = [sum(1 << v for v, room in enumerate(row) if room) for row in rows]
    sizes = np.full(capacity.shape, limit, dtype=np.int64)
    hangs_on = [0] * len(rows)
    for i in range(1, len(rows)):
        end = hangs_on[i]
        size, side = smallest_cut(rows, links, i, end, limit)
        sizes[i, :i] = sizes[:i, i] = np.minimum(sizes[end, :i], size)  # the diagonal never lowers the new one
        for later in range(i + 1, len(rows)):
            if side >> later & 1 and hangs_on[later] == end:
                hangs_on[later] = i
    return sizes


def smallest_cut(rows: list[list[int]], links: list[int], source: int, sink: int, limit: int) -> tuple[int, int]:
    """Size of a smallest cut and the vertices on the side of the source; (limit, 0) where it is not below the limit.

    A flow along shortest ways (Edmonds, Karp 1972): when none is left, what the source reaches is cut off by as much as
    flows. `links` has the bit v of u set where rows[u][v] > 0.
    """
    room, links, flow = [row[:] for row in rows], links[:], 0
    while flow < limit:
        way, reached = _shortest_way(links, source, sink)
        if not way:
            return flow, reached
        more = min(room[u][v] for u, v in way)
        for u, v in way:
            room[u][v] -= more
            room[v][u] += more
            links[v] |= 1 << u
            if not room[u][v]:
                links[u] ^= 1 << v
        flow += more
    return limit, 0


def _shortest_way(links: list[int], source: int, sink: int) -> tuple[list[tuple[int, int]], int]:
    """Steps of a shortest way, last first; none, and the vertices that can be reached, where the sink cannot."""
    before, queue, reached = {source: source}, [source], 1 << source
    for u in queue:  # grows as it is walked through
        fresh = links[u] & ~reached
        if fresh >> sink & 1:
            way = [(u, sink)]
            while u != source:
                way.append((before[u], u))
                u = before[u]
            return way, 0
        reached |= fresh
        while fresh:
            v = fresh.bit_length() - 1
            fresh ^= 1 << v
            before[v] = u
            queue.append(v)
    return [], reached


FARTHEST = 1 << 61


@dataclass(frozen=True)
class RowScores(AddsUp):
    """Sum over the rows of a score for each candidate, in steps of a lattice from the least score on.

    Parameters
    ----------
    expressions : tuple
        The row-wise score of each candidate, in numbers.
    lattice : Lattice
        Values beyond count at its ends, missing ones at the lower one.

    Notes
    -----
    Each unit keeps at most k random rows, the same for all candidates, and a row adds an integer in 0..cells to each
    total. Add/remove: all totals move one way, each by at most k cells. Replace-one: each total moves by at most k cells,
    but one may rise as another falls, so the changes of two differ by up to 2 k cells.
    """

    expressions: tuple[Any, ...]
    lattice: Lattice

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        count, sides, largest = len(self.expressions), 1 if unit.add_remove else 2, unit.rows * self.lattice.cells
        return Sensitivity(l1=count * largest, l2_squared=count * largest**2, linf=largest, range=sides * largest)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact totals: a list of one Python int for each candidate, below 2**62 for up to 2**31 rows."""
        rows = None if unit.column is None else _rows_that_count(view, unit)
        totals = []
        for expression in self.expressions:
            values, present = view.computed(expression)
            if rows is not None:
                values, present = values[rows], None if present is None else present[rows]
            totals.append(offset_sum(self.lattice, (values, present))[1])
        return Exact(totals)


@dataclass(frozen=True)
class FrameScores:
    """What a user's function makes of the whole table and each candidate, rounded to steps.

    An exception, or a result that is no finite real number, counts as 0. What the function does beside returning a number
    cannot be controlled here.

    Parameters
    ----------
    function : callable of (table, candidate)
    candidates : tuple
    step : Fraction
    steps : int
        How many steps one row that comes, goes or is replaced moves a score by at most: the caller's word.

    Notes
    -----
    Each unit keeps at most k rows, and the function sees a copy rebuilt from these. Add/remove: at most k rows more or
    fewer, so the score moves by at most k ``steps``; rounding to the nearest step, after which the result is cut to
    2**61 steps, adds at most one, and so pays for the last digits of a score computed in floats. Scores may move either way.
    Replace-one is answered where a unit is one row.
    """

    function: Callable[[Any, Any], Any]
    candidates: tuple[Hashable, ...]
    step: Fraction
    steps: int

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        if unit.column is not None and not unit.add_remove:
            raise ArgumentValueError(
                "sensitivity= tells of one row, and a unit that is replaced changes the number of its rows too: give a score "
                "per row, such as select([10, 20], score='bid >= candidate', cap=1), or protect with neighbors='add_remove'"
            )
        count, largest = len(self.candidates), unit.rows * self.steps + 1
        return Sensitivity(l1=count * largest, l2_squared=count * largest**2, linf=largest)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact scores in steps: a list of one Python int of at most 2**61 for each candidate."""
        self.sensitivity(unit)
        functions = [lambda frame, of=candidate: self.function(frame, of) for candidate in self.candidates]
        return Exact(_of_whole(functions, view, unit, self.step, 1))


@dataclass(frozen=True)
class FrameNumbers:
    """One number, or a tuple of `outputs` numbers, that a user's function makes of the whole table, rounded to steps.

    All count as 0 where the function raises or returns anything else. What it does beside returning cannot be controlled here.

    Parameters
    ----------
    function : callable
    step : Fraction
    steps : int
        How many steps one unit, with k rows or fewer, that comes, goes or is replaced moves the numbers by at most, in the
        norm: the caller's word, also of numbers that count as 0.
    outputs : int
    norm : {1, 2}
        L1 or L2.

    Notes
    -----
    Each unit keeps at most k rows, chosen from its own rows alone, and the function sees a copy rebuilt from these. So for each
    choice neighbours differ by what the word tells of, under either relation.
    Write x for the change of the d numbers in steps, D for its bound and r for the change of what they are rounded to. For all
    numbers |r_i| < |x_i| + 1, and the cut to 2**61 steps afterwards takes none farther apart. So |r|_1 < |x|_1 + d, hence, as
    it is whole, at most d - 1 above a whole bound of |x|_1: D where the norm is L1, the root of d D^2 where it is L2. Either
    way |x|_2 <= D and |r|_2 <= D + sqrt(d), and no entry moves by more than D. One number is rounded for nothing.
    Source: Dwork, McSherry, Nissim, Smith 2006.
    """

    function: Callable[[Any], Any]
    step: Fraction
    steps: int
    outputs: int = 1
    norm: int = 1

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes; roots are rounded up."""
        d, far = self.outputs, self.steps
        together = far if self.norm == 1 else math.isqrt(d * far**2 - 1) + 1
        root = math.isqrt(d - 1) + 1 if d > 1 else 0
        return Sensitivity(l1=together + d - 1, l2_squared=(far + root) ** 2, linf=far)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact numbers in steps: a list of Python ints of at most 2**61."""
        return Exact(_of_whole([self.function], view, unit, self.step, self.outputs))


def _of_whole(
    functions: Sequence[Callable[[Any], Any]], view: View, unit: PrivacyUnit, step: Fraction, outputs: int
) -> list[int]:
    """What each function makes of a copy of the rows that count, rounded to steps: a number, or a tuple of `outputs`."""
    block = np.full(view.rows, 0 if unit.column is None else -1, dtype=np.intp)
    if unit.column is not None:
        block[_rows_that_count(view, unit)] = 0

    def stepped(function: Callable[[Any], Any], frame: Any) -> list[int]:
        # a result of a class of the user's own is read inside too: reading it runs that class's code
        result = function(frame)
        exact = [2 * _exact(part) / step for part in (result if type(result) is tuple else (result,))]
        return [min(max(int((number + 1) // 2), -FARTHEST), FARTHEST) for number in exact]

    found = [view.block_results(partial(stepped, function), block, 1)[0] or () for function in functions]
    return [number for each in found for number in (each if len(each) == outputs else [0] * outputs)]


def _exact(result: Any) -> Fraction:
    """A user's result as a fraction; whatever is not one finite real number raises."""
    if isinstance(result, bool | np.bool_) or not isinstance(result, int | float | np.integer | np.floating):
        raise TypeError
    # plain integers whatever class a float of the user's own makes up its ratio from: none of its code runs later on
    top, bottom = (result, 1) if isinstance(result, int | np.integer) else result.as_integer_ratio()
    return Fraction(int(top), int(bottom))


def _rows_that_count(view: View, unit: PrivacyUnit) -> NDArray[np.intp]:
    """Positions of at most k random rows of each unit."""
    units, count = owners(view, unit)
    positions = np.flatnonzero(units >= 0)
    return positions[bound_rows(units[positions], count, unit, view.fill)]


MOST_STEPS = 1 << 31
MOST_SOLD = (1 << 31) - 1  # so that a revenue in steps stays below 2**62


@dataclass(frozen=True)
class Revenue:
    """Revenue r min(#{bid >= r}, supply) at each listed price r, in steps; missing bids and those below all prices buy nothing.

    Parameters
    ----------
    column : str
        The bids, not clipped from above.
    prices : tuple or range of int
        In steps, rising strictly, at least 1 and at most 2**31.
    step : Fraction
        What one step is worth in the column's unit.
    supply : int or None
        How many can be sold; None: no limit.

    Notes
    -----
    Each unit keeps at most k of its bids that buy at some price. P is the largest price, D(r) the change of
    N(r) = #{bid >= r}. Under add/remove all D(r) have one sign and |D(r)| <= k, so revenues move one way, each by at
    most k P. Under replace-one D(r) counts the unit's new bids from r on less its old ones, so |D(r)| <= k again; where
    D(r) = A > 0 and D(t) = -B < 0, |D(r) - D(t)| = A + B bids of one side lie between r and t, so A + B <= k and the
    changes differ by r A + t B <= k P. So the range is k P under **both** relations. A supply of s cuts counts to
    a = min(N', s) - min(N, s), which is no larger and has the same sign, and of absolute value at most s; where it rises
    by a at r and falls by b at t, a + b <= s as well: for r < t min(N(r), s) <= s - a and N(r) >= N(t) >= b, for r > t the
    same holds of N'. So k becomes min(k, s). For all tables a revenue lies in 0..2**62: counts are cut at 2**31 - 1.
    Source: McSherry, Talwar 2007, Section 4.
    """

    column: str
    prices: Sequence[int]
    step: Fraction
    supply: int | None = None

    def sensitivity(self, unit: PrivacyUnit) -> Sensitivity:
        """See the class notes."""
        count, sold = len(self.prices), unit.rows if self.supply is None else min(unit.rows, self.supply)
        most = sold * self.prices[-1]
        return Sensitivity(l1=count * most, l2_squared=count * most**2, linf=most, range=most)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact revenues in steps, an int64 array of shape (prices,)."""
        bids, present = view.column(self.column)
        cuts = self._cuts(bids.dtype)
        # bids that buy at the lowest price, shape (rows,); NaN does not
        buys = bids >= cuts[0] if cuts.size else np.zeros(bids.size, dtype=bool)
        if present is not None:
            buys &= present
        if unit.column is None:
            bids = bids[buys]
        else:
            units, count = owners(view, unit)
            positions = np.flatnonzero(buys & (units >= 0))
            bids = bids[positions[bound_rows(units[positions], count, unit)]]
        bids = np.sort(bids)
        sold = np.zeros(len(self.prices), dtype=np.int64)
        sold[: cuts.size] = bids.size - np.searchsorted(bids, cuts, side="left")
        np.minimum(sold, MOST_SOLD if self.supply is None else min(self.supply, MOST_SOLD), out=sold)
        return Exact(sold * np.array(self.prices, dtype=np.int64))

    def _cuts(self, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        """Prices as numbers of the bids' dtype, never falling; those above all integers of a dtype are left out.

        A float bid stands for its decimal, so a price is rounded to the same float: it buys at its own price.
        """
        top, bottom = self.step.numerator, self.step.denominator
        if dtype.kind == "f":
            cuts = np.array([price * top / bottom for price in self.prices], dtype=np.float64).astype(dtype)
            # a price too small for the dtype would become 0, where bids of 0 buy
            return np.asarray(np.maximum(cuts, np.nextafter(0, 1, dtype=dtype)))
        info = integer_info(dtype)
        whole = [-(-price * top // bottom) for price in self.prices]  # a whole bid of at least the price
        return np.array([price for price in whole if price <= info.max], dtype=info.dtype)
