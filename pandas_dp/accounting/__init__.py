"""Calculators: what differential privacy costs, by every theorem side by side. They read no data and charge nothing.

>>> from pandas_dp import accounting
>>> accounting.queries_for(epsilon=0.1, total=(3, 1e-6), rule="optimal")
46

``python -m pandas_dp.accounting`` prints how many equal queries fit into (3, 1e-6) by each of them.
"""

from __future__ import annotations

from pandas_dp.accounting.composition import compose, epsilon_for, queries_for
from pandas_dp.accounting.losses import Exponential, Gaussian, Laplace, Loss, gaussian_sigma, group_privacy, subsampled
from pandas_dp.errors import misspelt

__all__ = [
    "Exponential",
    "Gaussian",
    "Laplace",
    "Loss",
    "compose",
    "epsilon_for",
    "gaussian_sigma",
    "group_privacy",
    "queries_for",
    "subsampled",
]

__getattr__ = misspelt(__name__, __all__)
