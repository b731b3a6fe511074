"""A black-box auditor: a lower bound on epsilon from samples of both sides of a pair of neighbours.

Half of the samples serves to find the event that tells the two sides apart best, whatever the search does; on the
other half that one event is counted, and Clopper-Pearson intervals turn the counts into a lower bound on epsilon that
holds with confidence 1 - alpha. Everything an analyst can see is part of an output: numbers down to their lowest bits,
types, dtypes, indexes, names, texts of exceptions, warnings, what was printed.

A bound above the claim proves a violation, up to alpha. One below it proves nothing by itself: read it with `tight`,
what a mechanism that spends the claim to the full would have got with as many samples.
"""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaincinv

from pandas_dp.release import Release

FEATURES = 64  # coordinates that are searched
MOST_THRESHOLDS = 100
ODD_BITS = 9999  # lowest bit of zero
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Result:
    """What one audit found.

    With confidence 1 - alpha the mechanism spends at least `eps_lb`; for `tight` see `tight_bound`.
    """

    eps_lb: float
    claim: float
    tight: float
    event: str
    samples: int  # a side, search and test together
    counts: tuple[int, int]  # of outputs in the event on the likelier and on the other side, of samples / 2 each
    alpha: float
    delta: float

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.eps_lb > self.claim

    def __str__(self) -> str:
        return (
            f"eps >= {self.eps_lb:.3f} (claim {self.claim}, tight {self.tight:.3f}), {self.samples} samples a side, "
            f"event: {self.event}, {self.counts[0]} to {self.counts[1]}"
        )


def audit(
    draw0: Callable[..., Any],
    draw1: Callable[..., Any],
    n: int,
    claim: float,
    alpha: float = 1e-6,
    delta: float = 0.0,
    batch: bool = False,
) -> Result:
    """Bound the epsilon of a mechanism from below by `n` samples on each of two neighbours.

    Parameters
    ----------
    draw0, draw1 : callable
        One output a call, taken in turns of random order so that a drift of the machine is no difference; an exception
        is an output. With ``batch``, draw(n) returns n outputs: a list, or an array of shape (n,) or (n, d).
    n : int
        Samples a side, at least 8.
    claim, delta : float
        Claimed is P0(E) <= exp(claim) P1(E) + delta for all events, and the same with the sides exchanged.
    alpha : float
        Rate of false alarms: a mechanism that keeps the claim is accused with at most this probability.
    """
    if batch:
        sides: tuple[Any, Any] = draw0(n), draw1(n)
    else:
        sides = ([], [])
        for first in np.random.default_rng().integers(0, 2, n).tolist():
            for side in (first, 1 - first):
                sides[side].append(_output((draw0, draw1)[side]))
    return _audit_samples(_encode(*sides), n, claim, alpha, delta)


def tight_bound(claim: float, n: int, alpha: float) -> float:
    """Bound that continuous Laplace noise spending exactly `claim` gets from `n` samples a side.

    Its best event has probability 1/2 on one side and exp(-claim)/2 on the other; taken at the expected counts.
    """
    return expected_bound(0.5, 0.5 * math.exp(-claim), n, alpha)


def expected_bound(p0: float, p1: float, n: int, alpha: float, delta: float = 0.0) -> float:
    """Bound that an event of these probabilities gets from `n` samples a side at its expected counts."""
    m = n - n // 2
    bound = _lower_bound(np.array([round(p0 * m)]), m, np.array([round(p1 * m)]), m, alpha, delta)
    return max(0.0, float(bound[0]))


def structure(value: Any) -> str:
    """All of an output but its numbers, as text: equal for all outputs of a method whose answers only differ there."""
    return "".join(_flatten(value, []))


def observe(call: Callable[[], Any]) -> Callable[[], Any]:
    """Turn everything a caller can see into the output: value, exception, warnings, what was printed."""

    def observed() -> Any:
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            with contextlib.redirect_stderr(printed):
                value = _output(call)
        return value, [f"{w.category.__name__}: {w.message}" for w in caught], printed.getvalue()

    return observed


# ------------------------------------------------------------------------------------------------------- encoding
@dataclass(frozen=True)
class Raised:
    """An exception as an output, with what hangs on it."""

    text: str


def _output(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        chain = [error, error.__cause__, error.__context__]
        return Raised(" < ".join(f"{type(e).__name__}: {e}" for e in chain if e is not None))


@dataclass(frozen=True)
class Samples:
    """Outputs of both sides as numbers, and all else about them as a code."""

    numbers: Floats  # shape (samples, d), finite
    structure: Codes  # shape (samples,)
    side: Codes  # shape (samples,), 0 or 1


def _encode(outputs0: Any, outputs1: Any) -> Samples:
    side = np.repeat([0, 1], [len(outputs0), len(outputs1)])
    if all(isinstance(o, np.ndarray) and o.dtype.kind in "fiub" for o in (outputs0, outputs1)):
        rows = [np.asarray(o, dtype=float).reshape(len(o), -1) for o in (outputs0, outputs1)]
        numbers = np.concatenate(rows)
        bad = np.isnan(numbers) + 2.0 * np.isposinf(numbers) + 3.0 * np.isneginf(numbers)
        structure = _row_codes(bad) if bad.any() else np.zeros(len(numbers), dtype=np.int64)
        return Samples(np.where(bad > 0, 0.0, numbers), structure, side)
    names: dict[str, int] = {}
    codes, found = [], []
    for output in (*outputs0, *outputs1):
        values: list[float] = []
        text = "".join(_flatten(output, values))
        codes.append(names.setdefault(text, len(names)))
        found.append(values)
    d = min(FEATURES, max(map(len, found)))
    numbers = np.zeros((len(found), d))
    for row, values in zip(numbers, found, strict=True):
        row[: len(values)] = values[:d]  # how many there are is part of the structure
    return Samples(numbers, np.array(codes), side)


def _flatten(value: Any, numbers: list[float]) -> Iterator[str]:
    """Yield what is not a number as text; append what is one."""
    yield f"<{type(value).__name__}"
    if isinstance(value, bool | np.bool_):
        numbers.append(float(value))
    elif isinstance(value, int | float | np.integer | np.floating):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        finite = math.isfinite(number) and (not isinstance(value, int) or int(number) == int(value))
        numbers.append(number if finite else 0.0)
        yield "" if finite else f" {value}"
    elif isinstance(value, pd.DataFrame):
        yield f" {list(value.index)} {value.index.dtype} {value.index.name!r} {value.attrs}"
        for name in value.columns:
            yield f" {name!r}:"
            yield from _flatten(value[name], numbers)
    elif isinstance(value, pd.Series):
        yield f" {list(value.index)} {value.index.dtype} {value.index.name!r} {value.dtype} {value.name!r} {value.attrs}"
        yield from _flatten(value.to_numpy(), numbers)
    elif isinstance(value, np.ndarray):
        yield f" {value.dtype} {value.shape}"
        for item in value.ravel().tolist():
            yield from _flatten(item, numbers)
    elif isinstance(value, dict):
        for key in value:  # in their order
            yield f" {key!r}:"
            yield from _flatten(value[key], numbers)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _flatten(item, numbers)
    else:
        yield f" {value!r}"
    if isinstance(value, Release):
        yield " price and error:"
        yield from _flatten([value.interval(), value.mechanism, value.notes, value.spent, value.query.call], numbers)
    yield ">"


def _row_codes(rows: Floats) -> Codes:
    """One code for each distinct row, by a hash of its bits (a collision would only cost power)."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    odd = np.random.default_rng(1).integers(0, 2**62, rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    mixed = (bits ^ (bits >> np.uint64(29))) * odd  # shape (rows, d)
    return np.unique(np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1), return_inverse=True)[1]


# ---------------------------------------------------------------------------------------------------------- search
def _audit_samples(samples: Samples, n: int, claim: float, alpha: float, delta: float) -> Result:
    part = np.empty(2 * n, dtype=np.int64)  # 0: learn scores, 1: choose event and threshold, 2: test
    for side in (0, 1):
        sizes = [n // 4, n // 2 - n // 4, n - n // 2]
        part[side * n : (side + 1) * n] = np.random.default_rng(side).permutation(np.repeat([0, 1, 2], sizes))
    best = (-math.inf, "none", np.zeros(2 * n, dtype=bool), 0)
    chosen = [(part == 1) & (samples.side == side) for side in (0, 1)]
    for name, score in _scores(samples, part == 0):
        for sign, compare in ((1.0, ">="), (-1.0, "<=")):
            bound, cut, likelier = _best_threshold(sign * score, chosen, alpha, delta)
            if bound > best[0]:
                best = (
                    bound,
                    f"{name} {compare} {sign * cut:.6g} (side {likelier})",
                    sign * score >= cut,
                    likelier,
                )
    _, event, inside, likelier = best
    k = [int(np.count_nonzero(inside & (part == 2) & (samples.side == side))) for side in (0, 1)]
    m = n - n // 2
    high, low = k[likelier], k[1 - likelier]
    eps = float(_lower_bound(np.array([high]), m, np.array([low]), m, alpha, delta)[0])
    return Result(max(0.0, eps), claim, tight_bound(claim, n, alpha), event, n, (high, low), alpha, delta)


def _best_threshold(
    score: Floats, chosen: Sequence[NDArray[np.bool_]], alpha: float, delta: float
) -> tuple[float, float, int]:
    """Best bound over events {score >= cut}: the bound, the cut, and the side on which the event is likelier."""
    sides = [np.sort(score[c]) for c in chosen]
    cuts = np.unique(np.concatenate(sides))
    if cuts.size > MOST_THRESHOLDS:
        at = np.unique(np.concatenate([np.linspace(0, 1, MOST_THRESHOLDS), [1e-3, 3e-3, 1 - 3e-3, 1 - 1e-3]]))
        cuts = cuts[np.round(at * (cuts.size - 1)).astype(int)]
    inside = [s.size - np.searchsorted(s, cuts, side="left") for s in sides]  # shape (cuts,) each
    best = (-math.inf, 0.0, 0)
    ends = [_ends(side.size, alpha) for side in sides]
    for likelier in (0, 1):
        high, low = ends[likelier][0][inside[likelier]], ends[1 - likelier][1][inside[1 - likelier]]
        bounds = _log_ratio(high, low, delta)
        i = int(np.argmax(bounds))
        best = max(best, (float(bounds[i]), float(cuts[i]), likelier))
    return best


def _lower_bound(k0: Any, n0: int, k1: Any, n1: int, alpha: float, delta: float) -> Floats:
    """Bound on epsilon from k0 of n0 and k1 of n1: ln((lower end of p0 - delta) / upper end of p1)."""
    return _log_ratio(_lower_end(k0, n0, alpha), _upper_end(k1, n1, alpha), delta)


def _log_ratio(p0: Floats, p1: Floats, delta: float) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(p0 - delta, 0.0)) - np.log(p1))


def _lower_end(k: Any, n: int, alpha: float) -> Floats:
    return np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, alpha / 2), 0.0)


def _upper_end(k: Any, n: int, alpha: float) -> Floats:
    return np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - alpha / 2), 1.0)


@lru_cache(maxsize=16)
def _ends(n: int, alpha: float) -> tuple[Floats, Floats]:
    """Both ends for k = 0, ..., n: every audit of as many samples looks its events up here."""
    k = np.arange(n + 1)
    return _lower_end(k, n, alpha), _upper_end(k, n, alpha)


def _scores(samples: Samples, fit: NDArray[np.bool_]) -> Iterator[tuple[str, Floats]]:
    """Yield real numbers a sample; an event is a half-line of them."""
    x, learn = samples.numbers, _Learner(samples.side, fit)
    yield "structure", learn.ratio(samples.structure)
    whole = _row_codes(np.column_stack([samples.structure.astype(float), x]))
    if 2 * np.unique(whole[fit]).size < fit.sum():  # otherwise hardly any output is seen twice
        yield "whole output", learn.ratio(whole)
    d = x.shape[1]
    for j in range(d):
        yield f"x[{j}]", x[:, j]
        yield f"x[{j}] by bins", learn.ratio(learn.bins(x[:, j]))
        bit = _lowest_bit(x[:, j])
        if np.ptp(bit[fit]) > 0:
            yield f"lowest bit of x[{j}]", bit
            yield f"lowest bit of x[{j}] by value", learn.ratio(np.unique(bit, return_inverse=True)[1])
    if d < 2:
        return
    for name, score in (("sum", x.sum(axis=1)), ("largest", x.max(axis=1)), ("smallest", x.min(axis=1))):
        yield name, score
        yield f"{name} by bins", learn.ratio(learn.bins(score))
    yield "argmax", learn.ratio(x.argmax(axis=1))
    for i, j in combinations(range(min(d, 8)), 2):
        yield f"x[{i}] - x[{j}]", x[:, i] - x[:, j]
    yield "naive Bayes", sum((learn.ratio(learn.bins(x[:, j], 16)) for j in range(d)), np.zeros(len(x)))
    yield "logistic", learn.logistic(np.column_stack([x, np.sign(x), np.sign(x) * np.log1p(np.abs(x))]))


@dataclass(frozen=True)
class _Learner:
    """Scores learnt on a part of the samples."""

    side: Codes
    fit: NDArray[np.bool_]

    def ratio(self, codes: Codes) -> Floats:
        """Log-likelihood ratio of each sample's code, with one more count of each."""
        counts = [
            np.bincount(codes[self.fit & (self.side == side)], minlength=int(codes.max()) + 1) + 1.0 for side in (0, 1)
        ]
        return np.log(counts[0] / counts[1])[codes]

    def bins(self, x: Floats, most: int = 64) -> Codes:
        """Values by quantile."""
        edges = np.unique(np.quantile(x[self.fit], np.linspace(0, 1, most + 1)[1:-1], method="nearest"))
        # an edge is a bin of its own when values repeat, as whole numbers do
        return np.searchsorted(edges, x, side="left") + np.searchsorted(edges, x, side="right")

    def logistic(self, features: Floats, rounds: int = 12, ridge: float = 1e-3) -> Floats:
        """Linear score by Newton's method."""
        spread = features[self.fit].std(axis=0)
        used = features[:, spread > 0]
        z = (used - used[self.fit].mean(axis=0)) / used[self.fit].std(axis=0)
        z = np.column_stack([np.ones(len(z)), np.clip(z, -8, 8)])  # shape (samples, features + 1)
        a, target = z[self.fit], 1.0 - self.side[self.fit]
        weights = np.zeros(z.shape[1])
        for _ in range(rounds):
            p = 1 / (1 + np.exp(-np.clip(a @ weights, -30, 30)))
            curvature = (a * (p * (1 - p))[:, None]).T @ a + ridge * len(a) * np.eye(len(weights))
            weights += np.linalg.solve(curvature, a.T @ (target - p) - ridge * len(a) * weights)
        return np.asarray(z @ weights)


def _lowest_bit(x: Floats) -> Floats:
    """k such that a number is an odd multiple of 2**k: noise drawn as floats gives itself away there."""
    mantissa, exponent = np.frexp(x)
    whole = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    _, lowest = np.frexp((whole & -whole).astype(float))
    return np.where(whole == 0, float(ODD_BITS), exponent - 53.0 + lowest - 1)
