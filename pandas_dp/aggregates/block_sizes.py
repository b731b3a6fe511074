"""Which groups have rows enough for their blocks, by noisy numbers: an empty block counts as the middle of the bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from pandas_dp.aggregates.base import Caution
from pandas_dp.aggregates.blocks import ROWS_A_BLOCK, Combined
from pandas_dp.aggregates.uncertainty import Additive, EachOf
from pandas_dp.core.measurement import Noisy
from pandas_dp.core.statistics.blocks import BlockMeans, BlockResults

LEAST_A_BLOCK = 3  # of means, from which the expected share of empty blocks, at most 5 %, is taken out


@dataclass(frozen=True)
class Sizes:
    """Noisy numbers of what fills the blocks of groups.

    Parameters
    ----------
    noisy : list of int
    unsure : int
        By how many one may be too large, with 2.5 %.
    what : str
        Rows, or units of several rows.
    """

    noisy: Noisy
    unsure: int
    what: str

    def have(self, least: int) -> list[bool]:
        """Which groups surely have so many."""
        return [size - self.unsure >= least for size in self.noisy]

    def known(self, found: Combined, values: BlockMeans | BlockResults) -> tuple[Combined, list[bool]]:
        """Take empty blocks out of means where their share is about known; say which groups have rows enough for a value.

        Of n rows a block has none with probability p = (1 - 1/K)^n. The rows of another are a random choice, whose mean is
        expected to be that of all. So of the mean z of all block means (z - p middle) / (1 - p) is expected to be that of the
        rows. What a function gives for an empty block nobody knows, nor how far it moves a median.
        """
        blocks, lattice, error = values.blocks, values.lattice, found.error
        means = isinstance(values, BlockMeans) and isinstance(error, Additive)
        least = (LEAST_A_BLOCK if means else ROWS_A_BLOCK) * blocks
        known, full = self.have(least), self.have(ROWS_A_BLOCK * blocks)
        if not all(known):
            few = f"no value where a group may have too few {self.what} for {blocks:,} block{'s' * (blocks > 1)}"
            note = Caution(f"{few}: {least + 2 * self.unsure:,} or more would have given one with 97.5 %")
            found = replace(found, notes=(*found.notes, note))
        if isinstance(error, Additive) and known != full:
            rest = [
                1 - Fraction((1 - 1 / blocks) ** size) if some > enough else Fraction(1)
                for size, some, enough in zip(self.noisy, known, full, strict=True)
            ]
            middle, ends = lattice.point(lattice.cells // 2), (lattice.lower, lattice.upper)
            spread = [middle + (point - middle) / share for point, share in zip(found.points, rest, strict=True)]
            points = [min(max(point, ends[0]), ends[1]) for point in spread]
            models = EachOf(tuple(replace(error, step=error.step / share) for share in rest))
            few = f"fewer than {ROWS_A_BLOCK * blocks:,} {self.what}"
            taken = f"of groups that may have {few} the expected share of empty blocks is taken out"
            found = replace(found, points=points, error=models, notes=(*found.notes, taken))
        return found, known
