"""Vectors of block results and the one that most others are near to, with its smooth sensitivity."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pandas_dp.core.measurement import Exact, View
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.blocks import BlockResults
from pandas_dp.core.statistics.smooth import FLOOR, GAP, SmoothSensitivity, cost_of, log_bound

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CentreOfAttention:
    """The block result with the most others close to it, and a beta-smooth bound on how far (L1) one unit moves it.

    Each coordinate is one entry (value, L) with the L of `SmoothOrder`; they share it.

    Notes
    -----
    Of K results z_1, ..., z_K one changes (see `BlockResults`), under either relation. Let t = floor((K + 1) / 2) + 1, r_c(u)
    the distance from z_c to its u-th nearest result, itself included, and rho_j(u) the j-th smallest of r_1(u), ..., r_K(u).
    The answer is the z_c of least r_c(t), the first of equals. Then

        L = GAP + max(FLOOR, max over k >= 0 of log_bound(rho_(1+k)(t + k) + rho_(2+k)(t + 1 + k)) - c k),

    c = beta 2**LOG_BITS - 1 rounded down, with the diameter of all results wherever it is less, or an index exceeds K.

    *Bound.* The ball of radius rho_1(t) around the one answer, and that of radius rho'_1(t) around the other, each hold at
    least t - 1 of the K - 1 results that did not change. 2 (t - 1) >= K, so both hold one of them, and the answers are at most
    rho_1(t) + rho'_1(t) apart. rho'_1(t) <= rho_2(t + 1): of the two results with the least r(t + 1) one is still there,
    and so are at least t of the t + 1 near it.
    *Smoothness.* Likewise rho'_j(u) <= rho_(j+1)(u + 1) for all j and u, so the term k of one table is at most the term k + 1
    of its neighbour, and log_bound never falls.
    Source: Nissim, Raskhodnikova, Smith 2007, Section 5, with order statistics instead of their averages.
    """

    results: BlockResults
    beta: Fraction

    def sensitivity(self, unit: PrivacyUnit) -> SmoothSensitivity:
        """All coordinates move together."""
        cells, outputs = self.results.lattice.cells, self.results.outputs
        return SmoothSensitivity(outputs * cells, outputs * cells**2, cells, beta=self.beta, dimension=outputs)

    def compute(self, view: View, unit: PrivacyUnit) -> Exact:
        """Exact (value, L) of each coordinate."""
        values = self.results.values(view, unit)
        place, log_scale = centre(values, self.results.outputs * self.results.lattice.cells, self.beta)
        return Exact([(int(value), log_scale) for value in values[:, place]])


def centre(values: Ints, diameter: int, beta: Fraction) -> tuple[int, int]:
    """Place of the central one among results of shape (outputs, blocks), and its L; see `CentreOfAttention`."""
    blocks = values.shape[1]
    distances = np.zeros((blocks, blocks), dtype=np.int64)
    for row in values:
        distances += np.abs(row[:, None] - row)
    radius = np.sort(distances, axis=1)  # shape (blocks, blocks): r_c(u) at [c, u - 1]
    t = (blocks + 1) // 2 + 1
    if t > blocks:  # one result, or two
        return 0, max(FLOOR, int(log_bound(np.array([diameter]))[0])) + GAP
    place = int(np.argmin(radius[:, t - 1]))
    rho = np.sort(radius[:, t - 1 :], axis=0)  # shape (blocks, blocks - t + 1): rho_j(t + k) at [j - 1, k]
    near = np.append(np.diagonal(rho), diameter)  # k-th: rho_(1+k)(t + k), shape (blocks - t + 2,)
    moved = np.minimum(near + np.append(np.diagonal(rho[1:, 1:]), [diameter, diameter]), diameter)
    cost = cost_of(beta, 1)
    spare = int(log_bound(np.array([diameter]))[0]) - FLOOR  # terms that cost more are below the floor
    moved = moved[: spare // cost + 2] if cost else moved
    return place, max(FLOOR, int((log_bound(moved) - cost * np.arange(moved.size)).max())) + GAP
