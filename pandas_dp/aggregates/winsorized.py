"""Winsorized means of block means: for bounds so wide that the noise of a plain mean drowns the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pandas_dp.aggregates.base import Answer, SingleLook, Terms, noise_of, pure_epsilon
from pandas_dp.aggregates.blocks import WINSORIZED, choose, combined, look_at, size_note
from pandas_dp.aggregates.expected import ExpectedError
from pandas_dp.aggregates.moments import Mean
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.statistics.blocks import BlockMeans
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import LEVEL, Additive


@dataclass(frozen=True)
class WinsorizedMean(SingleLook):
    """Mean of a column by the Winsorized mean, of Tukey's widening, of the means of ceil(800 / epsilon) random blocks.

    The quartiles need about 32/epsilon (ln(width of the bounds / spread of the block means) + 3) blocks: 800/epsilon are
    enough up to a ratio of e^20. A mean over few rows is as unbiased as one over many, so only blocks without any row,
    which count as the middle of the bounds, ask for a least number of rows; where their number is public it raises that
    of the blocks to its 2/5th power as in `choose`.
    """

    column: str
    lattice: Lattice
    kind: Kind

    by_rows = True

    def look(self, terms: Terms) -> Measurement:
        """Private quartiles and the clipped mean, in one look."""
        return look_at(self._means(terms), "winsorized", pure_epsilon(terms.price, "a Winsorized mean"), terms.unit)

    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Return a value within the bounds."""
        means = self._means(terms)
        blocks = means.blocks
        found = combined(means, look, noisy, self.kind, "give a larger epsilon, or leave method= out")
        notes: tuple[str, ...] = (
            f"Winsorized mean of {blocks:,} block means: made for at least {10 * blocks:,} rows",
            "worse than method='rotated' unless the bounds are wider than about 15 sqrt(rows / blocks) standard deviations",
        )
        if isinstance(found.error, Additive) and found.error.noise.half_width(LEVEL):
            notes += (f"method='rotated' has less noise from about {self._even(found.error, terms):,} rows on",)
        sizes = size_note(blocks, terms.public_rows)
        return Answer(self.kind.value(found.points[0]), found.mechanism, found.error, (*notes, *found.notes, *sizes))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Nothing of its size."""
        return WINSORIZED

    def _even(self, error: Additive, terms: Terms) -> int:
        """Rows at which the rotated mean has as much noise as this answer turned out to have: a fact of noisy numbers."""
        rotated = Mean(self.column, self.lattice, self.kind).look(terms)
        half = error.noise.half_width(LEVEL) * error.step
        return math.ceil(noise_of(rotated).tail(LEVEL) * float(self.lattice.step / half))

    def _means(self, terms: Terms) -> BlockMeans:
        epsilon = pure_epsilon(terms.price, "a Winsorized mean")
        blocks, _ = choose(None, "winsorized", epsilon, terms.public_rows)
        return BlockMeans(self.column, self.lattice, None, blocks)
