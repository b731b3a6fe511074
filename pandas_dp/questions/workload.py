"""The sums over parts that a histogram is asked for: ranges of bins, lists of keys, predicates, rows of a public matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.workloads import Query
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, told
from pandas_dp.facts.call import MOST_LISTED, value_text
from pandas_dp.facts.kinds import exact_number
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.public_only import legible
from pandas_dp.questions.reached import refuse_protected

MOST_PARTS, MOST_QUERIES, MOST_NUMBERS = 512, 1 << 16, 1 << 24
ANY = "workload='bins'"  # of whatever bins or keys there are


def queries_of(given: Any, labels: Labels) -> tuple[Labels, tuple[Query, ...]]:
    """Labels of the queries and the queries themselves.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    line = _example(labels)
    listed = _listed(given, line)
    index = labels.index()
    if len(index) > MOST_PARTS:
        raise ArgumentValueError(
            f"workload= of your own goes with at most {MOST_PARTS} bins or keys: workload='ranges'"
        )
    if not 1 <= len(listed) <= MOST_QUERIES or len(listed) * len(index) > MOST_NUMBERS:
        raise ArgumentValueError(f"workload must hold 1 to {MOST_QUERIES:,} queries: {line}")
    rows = [_row(query, index, labels.edges, place, line) for place, (_, query) in enumerate(listed, 1)]
    if not any(row.any() for row in rows):
        raise ArgumentValueError(f"workload asks about no bin or key: {line}")
    names = tuple(name or _name(query, labels.edges, place) for place, (name, query) in enumerate(listed, 1))
    return Labels("query", names), tuple(map(_runs, rows))


def _example(labels: Labels) -> str:
    """A workload that these bins or keys answer."""
    if labels.edges:
        first, second, last = (value_text(labels.edges[place]) for place in (0, 1, -1))
        return f"workload=[({first}, {second}), ({first}, {last})]"
    some = [repr(key) for key in labels.values[:2] if isinstance(key, str)]
    return f"workload=[[{some[0]}], [{', '.join(some)}]]" if some else ANY


def as_typed(given: Any, labels: Labels) -> Any:
    """The workload for the books: of a function its place alone, of many queries their names."""
    shown = [_as_typed(query) for _, query in _listed(given, ANY)]
    if len(shown) > MOST_LISTED:
        return labels.values
    return dict(zip(given, shown, strict=True)) if isinstance(given, Mapping) else shown


def _as_typed(query: Any) -> Any:
    if callable(query):
        return "function"
    return query if isinstance(query, tuple | str) and len(query) == 2 else list(map(_plain, query))


def _listed(given: Any, line: str) -> list[tuple[str, Any]]:
    """Each query with its name, an empty text where it has none."""
    if isinstance(given, Mapping):
        if not all(isinstance(name, str) and name and legible(name) for name in given):
            raise ArgumentTypeError(f"names of queries are text, such as {{'young': ...}}, or left out: {line}")
        return list(given.items())
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return [("", row) for row in given]
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise ArgumentTypeError(
            f"workload must be 'bins', 'ranges', or a public list, dict or matrix of queries: {line}"
        )
    return [("", query) for query in given]


def _row(
    query: Any, index: pd.Index[Any], edges: tuple[Any, ...], place: int, line: str
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Weights of all parts."""
    if callable(query):
        refuse_protected(query, f"query {place} of the workload")
        return np.array([_holds(query, label, place) for label in index], dtype=np.float64)
    if not edges and isinstance(query, Sequence) and all(isinstance(key, str) for key in query) and query:
        if isinstance(query, str) or not set(query) <= set(index):
            raise ArgumentValueError(f"query {place} of the workload must be a list of listed keys: {line}")
        return np.array([label in query for label in index], dtype=np.float64)
    if _is_pair(query, edges):
        return _range(query, edges, place, line)
    if not isinstance(query, Iterable) or isinstance(query, str | bytes | Mapping):
        raise ArgumentTypeError(
            f"query {place} of the workload is no pair of edges, function of a label, list of keys or row of weights: {line}"
        )
    with told(behind=f": {line}"):
        weights = [
            float(exact_number(_plain(weight), f"a weight of query {place} of the workload")) for weight in query
        ]
    if len(weights) != len(index):
        raise ArgumentValueError(
            f"query {place} of the workload must have a weight for each of the {len(index):,} bins or keys: {line}"
        )
    return np.array(weights)


def _plain(weight: Any) -> Any:
    return weight.item() if isinstance(weight, np.generic) else weight


def _holds(query: Any, label: Any, place: int) -> bool:
    holds = query(label)
    if not isinstance(holds, bool | np.bool_):
        raise ArgumentTypeError(
            f"query {place} of the workload must return True or False for a bin or key: lambda bin: bin.left >= 18"
        )
    return bool(holds)


def _range(pair: Sequence[Any], edges: tuple[Any, ...], place: int, line: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """1 for the bins between two edges; None is the first or the last one."""
    known = [edge.item() if isinstance(edge, np.generic) else edge for edge in edges]
    wanted = [end if one is None else _plain(one) for one, end in zip(pair, (known[0], known[-1]), strict=True)]
    try:
        if any(isinstance(edge, bool) for edge in wanted):
            raise ValueError
        read = type(known[0]) if isinstance(known[0], pd.Timestamp | pd.Timedelta) else None
        first, last = (known.index(edge if read is None else read(edge)) for edge in wanted)
    except (TypeError, ValueError):
        first = last = 0
    if first >= last:
        raise ArgumentValueError(
            f"query {place} of the workload must be a pair of bin edges in ascending order: {line}"
        )
    row = np.zeros(len(known) - 1)
    row[first:last] = 1
    return row


def _is_pair(query: Any, edges: tuple[Any, ...]) -> bool:
    """Whether it is a range: also a list of two, as files write it; where there are two bins, that is their weights."""
    pair = bool(edges) and isinstance(query, tuple | list) and len(query) == 2
    return pair and (type(query) is tuple or len(edges) != 3)


def _name(query: Any, edges: tuple[Any, ...], place: int) -> str:
    if _is_pair(query, edges):
        left, right = (end if one is None else one for one, end in zip(query, (edges[0], edges[-1]), strict=True))
        return f"[{left}, {right})"
    return f"query {place}"


def _runs(row: np.ndarray[Any, np.dtype[np.float64]]) -> Query:
    starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
    return tuple(zip(starts.tolist(), row[starts].tolist(), strict=True))
