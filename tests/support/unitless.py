"""NumPy's times without a unit: tables may hold them, though what makes one has been warned about since NumPy 2.5."""

from __future__ import annotations

import numpy as np

_MISSING = np.int64(np.iinfo(np.int64).min)
NO_DATE, NO_DURATION = _MISSING.view("M8"), _MISSING.view("m8")
ONE, FIVE = np.int64(1).view("m8"), np.int64(5).view("m8")
