"""Faults that several tests plant in the package."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pandas_dp.core.privacy import PrivacyUnit, Sensitivity
from pandas_dp.core.statistics.sums import Centred


def one_end_only(patch: pytest.MonkeyPatch) -> None:
    """As if a replaced value went from the middle of the bounds to an end of them, not from end to end."""
    original = Centred.sensitivity

    def half(self: Centred, unit: PrivacyUnit) -> Sensitivity:
        stated = original(self, unit)
        return replace(stated, l1=stated.l1 // 2, l2_squared=stated.l2_squared // 4)

    patch.setattr(Centred, "sensitivity", half)
