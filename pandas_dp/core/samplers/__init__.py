"""Exact samplers: every law holds to the last bit, from the bytes of `pandas_dp.core.randomness` alone.

Scalars are Python integers of any scale; vectors are int64 arrays; all parameters are exact fractions.
"""

from pandas_dp.core.samplers.scalar import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    uniform_below,
)
from pandas_dp.core.samplers.selection import exponential_mechanism, permute_and_flip
from pandas_dp.core.samplers.vector import discrete_gaussian_vector, discrete_laplace_vector

__all__ = [
    "bernoulli",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_gaussian_vector",
    "discrete_laplace",
    "discrete_laplace_vector",
    "exponential_mechanism",
    "permute_and_flip",
    "uniform_below",
]
