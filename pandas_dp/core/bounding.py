"""Contribution bounding: what one unit may add, enforced before anything is counted.

All choices are uniformly random and each unit's choice is made by itself: its law does not depend on any other unit, so
adding or removing a unit leaves what the others keep unchanged in distribution (a coupling keeps it identical).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import View
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.randomness import Fill, random_bytes, random_words
from pandas_dp.core.samplers.scalar import uniform_below

FEWEST_RANDOM_BITS = 16

Codes = NDArray[np.int64]


def different(values: Codes) -> Codes:
    """The different values, rising; ``np.unique`` would hash whole numbers, many times slower where most differ."""
    values = np.sort(values)
    first = np.ones(values.size, dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return values[first]


def owners(view: View, unit: PrivacyUnit) -> tuple[Codes, int]:
    """Whose each row is (-1: nobody's, it does not count), and how many owners there are.

    An owner is a unit, or where the unit has periods a pair of a unit and a period: what holds for the rows of one owner then
    holds for those of one pair, drawn for each pair by itself. A row without a unit, or in no period, has no owner.
    """
    units, count = view.units(unit.column or "")
    if unit.periods is None:
        return units, count
    periods, many = view.periods(unit.periods)
    known = (units >= 0) & (periods >= 0)
    if many <= 1:
        return np.where(known, units, -1), count
    pairs, place = np.unique(np.where(known, units * many + periods, -1), return_inverse=True)
    nobody = int(pairs.size > 0 and pairs[0] < 0)
    return place.astype(np.int64) - nobody, pairs.size - nobody


def keep_at_most(owner: Codes, owners: int, most: int, fill: Fill = random_bytes) -> NDArray[np.intp]:
    """Positions of a uniformly random subset of at most `most` items of each owner, in ascending order.

    Parameters
    ----------
    owner : ndarray of int64, shape (items,)
        Owner of each item, 0..owners-1.
    owners : int
    most : int

    Returns
    -------
    ndarray of intp
        For all inputs: every owner keeps min(its items, most) of them, each subset of that size with equal
        probability, independently of every other owner.
    """
    counts = np.bincount(owner, minlength=owners)
    over = counts > most
    if not over.any():
        return np.arange(owner.size, dtype=np.intp)
    heavy = over.take(owner)
    items = np.flatnonzero(heavy)  # shape (items of owners above the bound,)
    chosen = items[_first_in_random_order(owner[items], most, fill)]
    keep = ~heavy
    keep[chosen] = True
    return np.flatnonzero(keep)


def random_order(items: int, fill: Fill = random_bytes) -> NDArray[np.intp]:
    """A permutation of 0..items-1: for every number of items each one with equal probability."""
    return _first_in_random_order(np.zeros(items, dtype=np.int64), items, fill) if items else np.arange(0)


def _first_in_random_order(owner: Codes, most: int, fill: Fill) -> NDArray[np.intp]:
    """Sort items by (owner, random) and take the first `most` of each owner."""
    items = owner.size
    item_bits = max(1, (items - 1).bit_length())
    random_bits = min(32, 64 - item_bits - max(1, int(owner.max()).bit_length()))
    random = random_words(items, fill, np.uint32)
    if random_bits >= FEWEST_RANDOM_BITS:
        # one 64-bit key owner | random | item, one sort
        key = owner.astype(np.uint64) << np.uint64(random_bits)
        key |= random >> np.uint32(32 - random_bits)
        key <<= np.uint64(item_bits)
        key |= np.arange(items, dtype=np.uint64)
        key.sort()
        order = (key & np.uint64((1 << item_bits) - 1)).astype(np.intp)
        key >>= np.uint64(item_bits)
        tied = key[1:] == key[:-1]
    else:
        order = np.lexsort((random, owner))
        tied = (owner[order][1:] == owner[order][:-1]) & (random[order][1:] == random[order][:-1])
    if tied.any():
        _shuffle_ties(order, tied, fill)
    sorted_owner = owner[order]
    keep = np.ones(items, dtype=bool)
    keep[most:] = sorted_owner[most:] != sorted_owner[:-most]
    return order[keep]


def _shuffle_ties(order: NDArray[np.intp], tied: NDArray[np.bool_], fill: Fill) -> None:
    """Shuffle each run of items with equal keys, so that the order is uniform whatever the width of the key was.

    Without this the law of one unit's choice would depend, however little, on how many rows the others own.
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([False], tied, [False])).astype(np.int8)))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        for i in range(last, first, -1):  # Fisher and Yates
            j = first + uniform_below(i - first + 1, fill=fill)
            order[i], order[j] = order[j], order[i]


def bound_rows(units: Codes, count: int, unit: PrivacyUnit, fill: Fill = random_bytes) -> NDArray[np.intp]:
    """Positions of rows kept so that each unit has at most k of them."""
    return keep_at_most(units, count, unit.rows, fill)


def bound_groups(
    units: Codes, count: int, parts: NDArray[np.intp], part_count: int, unit: PrivacyUnit, fill: Fill = random_bytes
) -> NDArray[np.intp]:
    """Positions of rows in at most m random parts of each unit; all rows of a kept part stay."""
    pair = units * part_count + parts  # shape (rows,)
    pairs = different(pair)
    kept = pairs[keep_at_most(pairs // part_count, count, unit.groups, fill)]
    if kept.size == pairs.size:
        return np.arange(units.size, dtype=np.intp)
    return np.flatnonzero(kept.take(np.searchsorted(kept, pair), mode="clip") == pair)


def bound_parts(
    units: Codes, count: int, parts: NDArray[np.intp], part_count: int, unit: PrivacyUnit, fill: Fill = random_bytes
) -> NDArray[np.intp]:
    """Positions of rows kept so that each unit has rows in at most m parts, at most c in each, at most k in all.

    The first two are not drawn where the last one implies them: k rows lie in at most k parts, at most k in each.
    """
    if unit.groups >= unit.rows <= unit.rows_per_group:
        return keep_at_most(units, count, unit.rows, fill)
    rows = np.arange(units.size, dtype=np.intp)
    if unit.groups < unit.rows:
        rows = rows[bound_groups(units, count, parts, part_count, unit, fill)]
    if unit.rows_per_group < unit.rows:
        pair = units[rows] * part_count + parts[rows]
        pairs, owner = np.unique(pair, return_inverse=True)
        rows = rows[keep_at_most(owner.astype(np.int64), pairs.size, unit.rows_per_group, fill)]
    return rows[keep_at_most(units[rows], count, unit.rows, fill)]
