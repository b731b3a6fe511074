"""Smallest cuts between all pairs of vertices of a small graph, in whole numbers; sets of vertices are bits of an int."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
