"""Exact samplers: every law holds to the last bit, from the bytes of `pandas_dp.core.randomness` alone.

Scalars are Python integers of any scale; vectors are int64 arrays; all parameters are exact fractions.
"""
