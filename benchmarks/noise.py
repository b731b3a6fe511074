"""CPU time of exact noise per entry, by scale, and of the largest draws: choices among many candidates, many bins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from benchmarks.made_tables import make
from benchmarks.rows import Row
from benchmarks.timing import Call, Effort, clock, in_turns
from pandas_dp.core.samplers.selection import permute_and_flip
from pandas_dp.core.samplers.vector import discrete_gaussian_vector, discrete_laplace_vector

EXPONENTS = (-3, 0, 3, 6, 9, 12)
MILLION = 10**6


def measure(wanted: Callable[[str], bool], effort: Effort, quick: bool) -> Iterator[Row]:
    """All rows of the part."""
    rng = np.random.default_rng(7)
    for entries in (1000, 10_000) if quick else (1000, MILLION):
        for exponent in EXPONENTS:
            scale = Fraction(10) ** exponent
            for law, draw, plain in (
                ("Laplace", lambda scale=scale, n=entries: discrete_laplace_vector(scale, n), rng.laplace),
                ("Gaussian", lambda scale=scale, n=entries: discrete_gaussian_vector(scale**2, n), rng.normal),
            ):
                name = f"discrete {law}, scale 1e{exponent}"
                if wanted(name):
                    yield _per_entry(name, entries, draw, lambda plain=plain, n=entries: plain(0, 1, n), effort)
    candidates, bins = (10_000, 100_000) if quick else (MILLION, 10 * MILLION)
    if wanted("permute-and-flip"):
        yield from _choices(candidates, effort)
    if wanted("noise of many bins"):
        yield _per_entry("noise of many bins", bins, lambda: discrete_laplace_vector(Fraction(1), bins),
            lambda: rng.laplace(0, 1, bins), Effort(1, 2, 1))  # fmt: skip
    if wanted("histogram of many bins"):
        yield _histogram(1000 if quick else 100_000)


def _per_entry(name: str, entries: int, draw: Call, plain: Call, effort: Effort) -> Row:
    """Nanoseconds per entry; beside it the first draw, which makes the tables of the scale, and numpy's float noise."""
    first = clock(draw).cpu
    costs = in_turns({"exact": draw, "float": plain}, effort)
    exact, other = costs["exact"].cpu, costs["float"].cpu
    return Row("noise", name, "warm", entries, exact / entries * 1e9, "ns", "CPU of an entry", None, True, {
        "cpu_ms": exact * 1e3, "wall_ms": costs["exact"].wall * 1e3, "fastest": "numpy's float noise",
        "fastest_x": exact / other, "first_cpu_ms": first * 1e3,
    })  # fmt: skip


def _choices(candidates: int, effort: Effort) -> Iterator[Row]:
    """Choices by score: all alike, the hardest case of a random order; spread; and one far ahead."""
    rng = np.random.default_rng(7)
    ahead = np.zeros(candidates, dtype=np.int64)
    ahead[candidates // 2] = 1000
    for name, scores in (
        ("alike", np.zeros(candidates, dtype=np.int64)),
        ("spread", rng.integers(0, 1000, candidates)),
        ("one ahead", ahead),
    ):
        draw = lambda scores=scores: permute_and_flip(scores, Fraction(1, 2))  # noqa: E731
        costs = in_turns({"ours": draw, "argmax": scores.argmax}, effort)
        ours = costs["ours"].cpu
        yield Row("noise", f"permute-and-flip, {name}", "warm", candidates, ours / candidates * 1e9, "ns",
            "CPU of a candidate", None, True, {"cpu_ms": ours * 1e3, "wall_ms": costs["ours"].wall * 1e3,
            "fastest": "argmax", "fastest_x": ours / costs["argmax"].cpu})  # fmt: skip


def _histogram(bins: int) -> Row:
    """A whole histogram of many bins: edges, counts, noise and the Series of the answer."""
    df, edges = make("rows", bins), np.linspace(0, 500_000, bins + 1)
    x = df["income"].to_numpy()
    costs = in_turns(
        {"ours": lambda: df.dp(epsilon=1, fresh=True).histogram("income", bins=edges),
         "numpy": lambda: np.histogram(x, bins=edges)}, Effort(1, 2, 1),
    )  # fmt: skip
    ours = costs["ours"].cpu
    return Row("noise", "histogram of many bins", "cold", bins, ours / bins * 1e9, "ns", "CPU of a bin", None, True, {
        "cpu_ms": ours * 1e3, "wall_ms": costs["ours"].wall * 1e3, "fastest": "np.histogram",
        "fastest_x": ours / costs["numpy"].cpu,
    })  # fmt: skip
