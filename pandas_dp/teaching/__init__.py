"""NOT PRIVATE: mechanisms with their insides shown, to teach with public toy numbers.

Everything here is computed from the exact values and shows them. Nothing is charged. It has no place in a session: what
``df.dp(epsilon=1)`` answers is made by the same mechanisms and shows none of this.
"""

from __future__ import annotations

from pandas_dp.errors import misspelt
from pandas_dp.teaching.choosing import Selection, selection
from pandas_dp.teaching.median_mechanism import MedianTrace, candidate_tables, median_mechanism, median_thresholds
from pandas_dp.teaching.prices import Revenue, revenue
from pandas_dp.teaching.quantiles import Sensitivities, sensitivities
from pandas_dp.teaching.smooth_noise import Admissible, admissible

__all__ = [
    "Admissible",
    "MedianTrace",
    "Revenue",
    "Selection",
    "Sensitivities",
    "admissible",
    "candidate_tables",
    "median_mechanism",
    "median_thresholds",
    "revenue",
    "selection",
    "sensitivities",
]

__getattr__ = misspelt(__name__, __all__)
