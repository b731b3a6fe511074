"""Questions about tables whose rows are the edges of a graph."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from itertools import islice
from typing import Any

from pandas_dp import arguments
from pandas_dp.aggregates.spanning_tree import COST_BITS, MOST_VERTICES, SpanningTreeOf
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.kinds import Kind, is_missing
from pandas_dp.priced.prepared import PreparedFrame
from pandas_dp.priced.smooth import smooth_noise
from pandas_dp.public_arguments import listed
from pandas_dp.release import Release

LINE = "mst_cost({}, {}, {}, vertices=['A', 'B', 'C'], max_weight=10)"


class GraphQuestions(PreparedFrame):
    """The questions of a priced frame about its rows as edges of a graph."""

    __slots__ = ()

    def mst_cost(
        self,
        source: str,
        target: str,
        weight: str,
        *,
        vertices: Any = None,
        max_weight: Any = None,
        noise: str | None = None,
        error_bar: bool = False,
    ) -> Release:
        """Cost of a minimum spanning tree: what it takes to connect all vertices by the cheapest edges.

        Parameters
        ----------
        source, target : str
            Columns with the two ends of each row's edge; edges have no direction, and two vertices may share several.
        weight : str
            Column of numbers or durations; weights are clipped to 0..max_weight. Rows with an unlisted vertex, a missing
            value or two equal ends do not count.
        vertices : list
            Public vertices, 2 to 63; from the schema's keys of the source column where left out. Never from the data.
        max_weight : number or Timedelta
            Public and positive. Two vertices can always be connected at this weight, whether a row says so or not: a
            table that leaves a vertex out costs more, it does not fail.
        noise, error_bar : optional
            As in ``quantile`` with ``method="smooth"``.

        Returns
        -------
        Release
            A float (a Timedelta for durations) from 0 to (vertices - 1) max_weight. No error bar is free.

        Raises
        ------
        BudgetExceededError, UnverifiedFrameError, ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Hidden are rows, or units of up to max_rows rows, with their weights and ends: not vertices, which are public.
        Adding or removing a row is the change of one weight to or from max_weight on the complete graph, so one row may
        move the cost by max_weight. The noise is scaled to S = max over k of exp(-beta k) m A(m (k + 1) - 1), m the rows of
        a unit, A(k) the most by which one row could move the cost k rows away from this table: the largest, over all cuts
        of the vertices in two, of w_(k+1) and w_(k+2) - w_1, w_j the j-th lightest weight across. S bounds what a unit
        moves and falls to other tables by at most a factor exp(beta) a unit, under add_remove and replace_one alike: one
        row that is replaced is one removed, which can only raise the cost, and one added, which can only lower it.
        The noise is small where every cut has many light edges, and up to max_weight / epsilon times a small number
        where a few edges hold the graph together. Weights are rounded to steps of at most max_weight / 2**24.
        Source: Nissim, Raskhodnikova, Smith 2007, Section 3.2; smallest cuts: Gusfield 1990.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> stops = list(range(61))
        >>> df = pd.DataFrame([(i, i + 1, 1.0) for i in stops[:-1]] * 100, columns=["start", "end", "km"])
        >>> session = df.dp.protect(epsilon=5, name="mst_cost example")
        >>> 40 < df.dp(epsilon=5).mst_cost("start", "end", "km", vertices=stops, max_weight=10) < 80
        True
        """
        kinds = [self._kind(column) for column in (source, target, weight)]
        if len({source, target, weight}) < 3:
            raise ArgumentValueError("mst_cost() needs three columns: mst_cost('source', 'target', 'weight', ...)")
        if kinds[2].name not in ("number", "timedelta"):
            raise ArgumentTypeError(
                f"mst_cost() needs weights that are numbers or durations, and {weight!r} holds none"
            )
        line = LINE.format(repr(source), repr(target), repr(weight))
        given = self._facts(source).keys if vertices is None else vertices
        listed = _vertices(given, kinds[:2], line)
        lattice = Lattice.between(Fraction(0), _max_weight(max_weight, kinds[2], line), COST_BITS)
        law = smooth_noise(noise, error_bar)
        columns = (source, target, weight)
        ends = Keys(source, listed), Keys(target, listed)
        question = SpanningTreeOf(lattice, kinds[2], law, error_bar, *ends, weight)
        return self._ask(self._text(vertices=listed), question, columns)


def _vertices(given: Any, kinds: list[Kind], line: str) -> tuple[Hashable, ...]:
    """Public vertices as keys of both columns."""
    if given is None:
        raise ArgumentTypeError(
            f"mst_cost() needs the public list of vertices, which must not come from the data: {line}"
        )
    if not listed(given):
        raise ArgumentTypeError(f"vertices must be a list: {line}")
    vertices = list(islice(given, MOST_VERTICES + 1))
    if not 2 <= len(vertices) <= MOST_VERTICES:
        raise ArgumentValueError(f"vertices must be 2 at least and {MOST_VERTICES} at most: {line}")
    if any(is_missing(vertex) for vertex in vertices):
        raise ArgumentValueError(f"vertices must not hold a missing value: {line}")
    try:
        source, target = (tuple(arguments.plain(vertex, kind) for vertex in vertices) for kind in kinds)
    except ArgumentTypeError:
        source, target = (), (None,)
    if source != target:
        raise ArgumentTypeError(f"vertices must be values of the columns of both ends, which are of one kind: {line}")
    if len(set(source)) != len(source):
        raise ArgumentValueError(f"vertices must not hold a value twice: {line}")
    return source


def _max_weight(given: Any, kind: Kind, line: str) -> Fraction:
    """Exact largest weight."""
    if given is None:
        raise ArgumentTypeError(
            f"mst_cost() needs the public largest weight, which must not come from the data: {line}"
        )
    try:
        exact = kind.number(given, "max_weight")
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise type(error)(f"{error}; type {line}") from None
    if exact < arguments.NARROWEST:
        raise ArgumentValueError(f"max_weight must be positive: {line}")
    return exact
