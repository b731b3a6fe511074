"""Features of a row, from its offset on the lattice: by fractions, where the package counts in integers of 64 bits."""

from __future__ import annotations

import math
from fractions import Fraction

from pandas_dp.core.lattice import Lattice


def crossed(v: int, lattice: Lattice) -> int:
    """F v (M - v) / M, rounded, halves up."""
    return math.floor(Fraction(lattice.parts * v * (lattice.cells - v), lattice.cells) + Fraction(1, 2))


def features(v: int, lattice: Lattice, degree: int) -> list[int]:
    """What `Moments` adds for a row."""
    m, f, q = lattice.cells, lattice.parts, crossed(v, lattice)
    return [v, m - v] if degree == 1 else [f * v - q, f * (m - v) - q, 2 * q]
