"""Public partitions of rows: which released part each row counts in.

A partition is a list of parts fixed before any data is read: listed keys, or bins between listed edges, with
an optional part for other values and one for missing ones, or combinations of the parts of several columns. A row
counts in exactly one part or in none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.lattice import CHUNK, Lattice, integer_info

FEW_ROWS = 1000  # below, a table costs more than a search
MOST_GRID = 1 << 17  # most widths of the narrowest bin that a table is made for
SPARSE = 4  # of integers also as many times as many as are listed
SMALLEST_SPACING = 1e-250
LEAST_CODE = -2
MOST_COMBINED = (1 << 15) - 1  # combinations of codes in two bytes
MOST_PAIRED, AT_ONCE = 1 << 8, 1 << 17  # codes whose pairs have a table, and rows that are paired at once
Codes = NDArray[np.signedinteger[Any]]
T = TypeVar("T")


@dataclass(frozen=True)
class Keys:
    """One part for each listed key of a column, in this order, then `other`, then `null` where wanted."""

    column: str
    keys: tuple[Hashable, ...]
    other: bool = False
    null: bool = False

    @property
    def count(self) -> int:
        """Number of parts."""
        return len(self.keys) + self.other + self.null

    def once(self, make: Callable[..., T], *more: Any) -> T:
        """What is made of the keys and some arguments, kept: there may be millions, and a table comes in many batches."""
        known = self.__dict__.setdefault("known", {})
        if (make, more) not in known:
            known[make, more] = make(self.keys, *more)
        return known[make, more]  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        """Leave that behind."""
        return Keys, (self.column, self.keys, self.other, self.null)

    def codes(self, position: NDArray[np.intp], present: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Part of each row.

        Parameters
        ----------
        position : ndarray of intp, shape (rows,)
            Place of the row's value among the keys, -1 where it is not listed.
        present : ndarray of bool, shape (rows,), or None
            False where the value is missing; None when no value is.

        Returns
        -------
        ndarray of intp, shape (rows,)
            0..count-1, or -1 for a row that counts in no part.
        """
        if self.other:
            position = np.where(position < 0, len(self.keys), position)
        if present is not None:
            position = np.where(present, position, self.count - 1 if self.null else -1)
        return position


@dataclass(frozen=True)
class Bins:
    """One part for each bin [e_i, e_{i+1}) of a numeric column, as ``pandas.cut(..., right=False)`` has them.

    With `other`, values outside the edges have a part; with `null`, missing ones have. ``edges`` are plain
    numbers in the unit of the raw column (nanoseconds for dates and durations).
    """

    column: str
    edges: tuple[int | float, ...]
    other: bool = False
    null: bool = False
    closed: str = field(default="left", init=False)  # in keys of stored answers: earlier versions closed the last bin

    @property
    def bins(self) -> int:
        """Number of bins without `other` and `null`."""
        return len(self.edges) - 1

    @property
    def count(self) -> int:
        """Number of parts."""
        return self.bins + self.other + self.null

    def codes(self, values: NDArray[np.generic], present: NDArray[np.bool_] | None) -> Codes:
        """Part of each row, in few bytes; see `Keys.codes`. Infinite values lie outside the edges.

        Integers are compared with the exact edges, whatever their size; floats with the edges as float64.
        """
        # by the number of edges at or below the value
        parts = np.arange(-1, self.bins + 1, dtype=np.min_scalar_type(-self.count - 1))
        parts[0] = parts[-1] = self.bins if self.other else -1
        cuts = self._cuts(values.dtype)
        # equal cuts, left by rounding, count as one
        last = np.append(np.flatnonzero(cuts[1:] != cuts[:-1]), cuts.size - 1) if cuts.size else np.arange(0)
        out = _parts_between(values, cuts[last], parts[np.append(0, last + 1)])
        if present is not None:
            np.copyto(out, self.count - 1 if self.null else -1, where=~present)
        return out

    def _cuts(self, dtype: np.dtype[np.generic]) -> NDArray[np.generic]:
        """Edges as numbers of one dtype."""
        if dtype.kind == "f":
            return np.array(self.edges, dtype=np.float64)
        info, whole = integer_info(dtype), map(math.ceil, self.edges)
        # no value reaches an edge above the dtype, and every value is past one below it; there may be millions of edges
        return np.fromiter((max(cut, info.min) for cut in whole if cut <= info.max), dtype=info.dtype)


@dataclass(frozen=True)
class Cross:
    """One part for each combination of parts of several columns: the last column changes fastest.

    ``allowed`` holds the combinations that are parts, by their places in that order, all different, in the order of the
    parts; None: all of them are. A row that lies in no part of one column, or in no allowed combination, lies in none.
    """

    factors: tuple[Keys | Bins | Cross, ...]
    allowed: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what 64 bits cannot number, and no part at all."""
        if self.combinations >= 1 << 62 or self.count < 1:
            raise ValueError("a cross partition has 1 to 2**62 combinations")

    @property
    def combinations(self) -> int:
        """Number of combinations, allowed or not."""
        return math.prod(factor.count for factor in self.factors)

    @property
    def count(self) -> int:
        """Number of parts."""
        return self.combinations if self.allowed is None else len(self.allowed)

    def codes(self, columns: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
        """Part of each row, from its part in each column; see `Keys.codes`.

        Parameters
        ----------
        columns : sequence of ndarray of intp, shape (rows,)
            For each factor 0..factor.count-1, or -1; read only.
        """
        place, inside = np.zeros(columns[0].size, dtype=np.intp), np.ones(columns[0].size, dtype=bool)
        for factor, codes in zip(self.factors, columns, strict=True):
            place *= factor.count
            place += codes
            inside &= codes >= 0
        if self.allowed is not None:
            allowed = np.array(self.allowed, dtype=np.intp)
            order = np.argsort(allowed)  # shape (parts,)
            nearest = np.searchsorted(allowed[order], place).clip(max=allowed.size - 1)
            part = order[nearest]
            inside &= allowed[part] == place
            place = part
        return np.where(inside, place, -1)


Partition = Keys | Bins | Cross


def uncoded(parts: Codes, count: int) -> tuple[Codes, NDArray[np.intp]]:
    """Parts as codes of themselves, and the part of each code from LEAST_CODE on."""
    return parts, np.maximum(np.arange(LEAST_CODE, count), -1)


def places(codes: Codes) -> NDArray[np.int64]:
    """Place of each code in a table that begins at LEAST_CODE."""
    place = codes.astype(np.int64)  # a plain copy widens faster than a subtraction does
    place -= LEAST_CODE
    return place


def decoded(codes: Codes, parts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Part of each row, from its code and the part of each code."""
    return np.roll(parts, LEAST_CODE)[codes]  # the parts of codes -2 and -1 come last; a plain index beats take() here


def cross_coded(cross: Cross, columns: Sequence[tuple[Codes, NDArray[np.intp]]]) -> tuple[Codes, NDArray[np.intp]]:
    """Codes of combinations of the factors' codes, in one or two bytes where they are few, and the part of each."""
    size = math.prod(parts.size for _, parts in columns)
    if size > MOST_COMBINED:
        return uncoded(cross.codes([decoded(*column) for column in columns]), cross.count)
    combined = np.zeros(columns[0][0].size, dtype=np.min_scalar_type(-size - 1))  # `size` itself fits
    for codes, parts in columns:
        combined *= parts.size
        combined += codes
        combined -= LEAST_CODE
    grid = np.meshgrid(*(parts for _, parts in columns), indexing="ij")
    return combined, np.append([-1] * -LEAST_CODE, cross.codes([parts.ravel() for parts in grid]))


def code_counts(codes: Codes, size: int) -> NDArray[np.int64]:
    """Rows of each code LEAST_CODE, LEAST_CODE + 1, ..., shape (size,); chunks of wider integers are all that is copied.

    Few codes of one or two bytes are counted two rows at a time, in a table of all pairs: half the steps.
    """
    counts, table = np.zeros(size, dtype=np.int64), np.zeros((size, size) if size <= MOST_PAIRED else 0, dtype=np.int64)
    paired = codes.size & -2 if codes.itemsize <= 2 and 0 < table.size <= codes.size else 0
    for at in range(paired, codes.size, max(CHUNK, size)):
        counts += np.bincount(places(codes[at : at + max(CHUNK, size)]), minlength=size)
    bits = 8 * codes.itemsize
    for at in range(0, paired, AT_ONCE):
        # wraps, back when unsigned
        one = np.subtract(codes[at : min(at + AT_ONCE, paired)], LEAST_CODE, dtype=codes.dtype)
        two = one.view(f"u{2 * codes.itemsize}")  # first + second * 2**bits, shape (pairs,)
        second = two >> bits
        second *= (1 << bits) - size
        two -= second  # a power of two from one pair to the next would leave most of the processor's caches unused
        table += np.bincount(two, minlength=table.size).reshape(table.shape)
    return counts + table.sum(axis=0) + table.sum(axis=1) if paired else counts


def match(values: NDArray[np.generic], listed: NDArray[np.generic], places: Codes) -> Codes | None:
    """places[i] where a value equals listed[i], -1 where it equals none; None where no table can tell.

    `listed` rises strictly and has the dtype of the values.
    """
    close = all_between(listed, max(MOST_GRID, SPARSE * listed.size))
    if close is not None:
        table = np.full(close.cells + 1, -1, dtype=places.dtype)
        table[close.offsets(listed)] = places[: listed.size]
        return _looked_up(values, close, table)
    grid = _grid(values.dtype, listed)
    if grid is None:
        return None
    lattice, offsets = grid
    nearest = np.zeros(lattice.cells + 1, dtype=np.intp)
    nearest[offsets] = np.arange(listed.size)  # a value of any other offset equals nothing listed
    sides = np.stack((np.full(nearest.size, -1, places.dtype), places.take(nearest)), axis=1)
    return _decide(values, lattice, listed.take(nearest), sides, np.equal)


def _parts_between(values: NDArray[np.generic], cuts: NDArray[np.generic], parts: Codes) -> Codes:
    """parts[number of cuts at or below the value] of each row; `cuts` rises strictly."""
    close = all_between(cuts, max(MOST_GRID, SPARSE * cuts.size)) if values.size >= FEW_ROWS else None
    if close is not None:
        whole = cuts.astype(np.int64)  # modulo 2**64, as distances; the lattice begins 1 before and ends 1 behind
        return _looked_up(values, close, np.repeat(parts, np.concatenate(([1], whole[1:] - whole[:-1], [2]))))
    grid = _grid(values.dtype, cuts) if values.size >= FEW_ROWS else None
    if grid is None:
        return parts.take(np.searchsorted(cuts, values, side="right"))
    lattice, offsets = grid
    nearest = np.searchsorted(offsets, np.arange(lattice.cells + 1), side="right") - 1
    np.maximum(nearest, 0, out=nearest)
    sides = np.stack((parts.take(nearest), parts.take(nearest + 1)), axis=1)
    return _decide(values, lattice, cuts.take(nearest), sides, np.greater_equal)


def all_between(values: NDArray[np.generic], most: int) -> Lattice | None:
    """Lattice of all integers from one below the least value to one above the largest, where these are few."""
    if values.dtype.kind == "f" or not values.size:
        return None
    least, largest = int(values.min()), int(values.max())
    return Lattice(Fraction(1), least - 1, largest - least + 2) if largest - least <= most else None


def _looked_up(values: NDArray[np.generic], lattice: Lattice, table: Codes) -> Codes:
    """The entry of each value's offset: values beyond the lattice count at its ends."""
    write, scratch = lattice.rule(values.dtype), np.empty(min(values.size, CHUNK), dtype=np.int64)
    out = np.empty(values.size, dtype=table.dtype)
    for at in range(0, values.size, CHUNK):
        place = scratch[: values.size - at]
        write(values[at : at + CHUNK], place)
        table.take(place, mode="clip", out=out[at : at + CHUNK])
    return out


def _decide(
    values: NDArray[np.generic], lattice: Lattice, cut_at: NDArray[np.generic], sides: Codes, compare: np.ufunc
) -> Codes:
    """One comparison for each row, with the one cut that its offset leaves in doubt.

    A lattice map never falls as the value rises, so where the offsets of a value and a cut differ, they tell
    which of the two is larger, whatever rounding happens.

    Parameters
    ----------
    cut_at : ndarray, shape (cells + 1,)
        The cut for each offset.
    sides : ndarray of signed integers, shape (cells + 1, 2)
        Result for each offset where the comparison fails, and where it holds, in the dtype of the answer.
    """
    if values.dtype.kind == "b":
        values = values.view(np.uint8)
    results, scratch = sides.ravel(), np.empty(min(values.size, CHUNK), dtype=np.int64)
    out, write = np.empty(values.size, dtype=results.dtype), lattice.rule(values.dtype)
    with np.errstate(all="ignore"):
        for at in range(0, values.size, CHUNK):
            part, cells = values[at : at + CHUNK], scratch[: values.size - at]
            write(part, cells)
            holds = compare(part, cut_at.take(cells, mode="clip"))
            cells *= 2
            cells += holds
            results.take(cells, mode="clip", out=out[at : at + CHUNK])
    return out


def _grid(dtype: np.dtype[np.generic], cuts: NDArray[np.generic]) -> tuple[Lattice, NDArray[np.int64]] | None:
    """A lattice on which no two cuts share an offset, and their offsets; None if it takes too many cells."""
    if cuts.size < 2:
        return None
    points = cuts.astype(np.float64)
    with np.errstate(all="ignore"):
        spacing, width = float(np.diff(points).min()), float(points[-1] - points[0])
    if not (SMALLEST_SPACING < spacing <= width < math.inf and width / spacing < MOST_GRID):
        return None
    bits = math.ceil(1 + math.log2(width / spacing))  # at least two steps from each cut to the next
    lattice = Lattice.between(Fraction(cuts[0].item()), Fraction(cuts[-1].item()), bits)
    offsets = lattice.offsets(cuts)
    return None if (offsets[1:] == offsets[:-1]).any() else (lattice, offsets)
