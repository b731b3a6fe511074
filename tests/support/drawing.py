"""Drawing one question many times on one table, for audits: the gate's own recipe and mechanisms, without its charge.

`capture` puts a question through the public API once and keeps the request that reached the gate; `Drawer` then drives
the same recipe again and again. An exact result that no random choice enters is computed once. One that random blocks or
samples of rows enter is computed anew for every draw, by the very code of the package: on many copies of the table at
once, each copy with parts and units of its own, where the statistic works by part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from pandas_dp.core import gate
from pandas_dp.core.measurement import Exact, Measurement
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.partition import uncoded
from pandas_dp.core.samplers import selection
from pandas_dp.core.statistics.blocks import BlockPoints, BlockSums
from pandas_dp.core.statistics.counts import Distinct, KeyCounts
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.scores import FrameNumbers, FrameScores, Revenue, RowScores
from pandas_dp.core.statistics.smooth import SmoothOrder, SmoothScale, TrimmedMean
from pandas_dp.core.statistics.spanning_tree import SpanningTreeCost
from pandas_dp.core.statistics.strategies import Haar, Tree, Weighted

MOST_ROWS = 1 << 20  # of all copies together
MOST_BOUNDS = 64  # kept at a time
CHECKED = 20  # answers that check whether a look depends on earlier ones

SAMPLED = (
    Distinct,
    KeyCounts,
    LatticeCounts,
    Revenue,
    RowScores,
    FrameScores,
    FrameNumbers,
    SpanningTreeCost,
)  # rows of units are drawn, but not by part


def capture(ask: Callable[[], Any]) -> gate.Request:
    """Return the request that a call of the public API sends to the gate."""
    requests = []
    original = gate.release

    def keep(request: gate.Request) -> Any:
        requests.append(request)
        return original(request)

    gate.release = keep
    try:
        ask()
    finally:
        gate.release = original
    return requests[-1]


@contextmanager
def equal_bounds_computed_once() -> Iterator[None]:
    """Keep the bounds from which an exponential mechanism proposes: they follow from its scores, its draws do not.

    A mechanism computes them anew for every draw, which is a third of the work when one question is drawn thousands of
    times.
    """
    original, known = selection._Bounds, {}

    def bounds(scores: Any, best: int, numerator: int, denominator: int, counts: Any) -> Any:
        key = scores.tobytes(), best, numerator, denominator, None if counts is None else counts.tobytes()
        if key not in known:
            if len(known) == MOST_BOUNDS:
                known.clear()
            known[key] = original(scores, best, numerator, denominator, counts)
            known[key]._chunk = cache(known[key]._chunk)
        return known[key]

    selection._Bounds = bounds
    try:
        yield
    finally:
        selection._Bounds = original


class Remembered:
    """A view that reads and computes each thing once: no random choice enters, and nobody may write into it."""

    def __init__(self, view: Any) -> None:
        self.view, self.rows = view, view.rows
        self.known: dict[tuple[str, Any], tuple[Any, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.view, name)

    def column(self, name: str) -> Any:
        return self._once("column", name)

    def present(self, name: str) -> Any:
        return self._once("present", name)

    def parts(self, partition: Any) -> Any:
        return self._once("parts", partition)

    def units(self, column: str) -> Any:
        return self._once("units", column)

    def computed(self, expression: Any) -> Any:
        return self._once("computed", expression)

    def _once(self, kind: str, thing: Any) -> Any:
        key = kind, thing if isinstance(thing, str) else id(thing)
        if key not in self.known:
            result = getattr(self.view, kind)(thing)
            for array in result if isinstance(result, tuple) else (result,):
                if isinstance(array, np.ndarray):
                    array.flags.writeable = False
            self.known[key] = thing, result  # what is kept keeps its id
        return self.known[key][1]


class Drawer:
    """Draws the answer of one captured request as often as wanted."""

    def __init__(self, request: gate.Request) -> None:
        self.request = request
        self.view = Remembered(request.view())
        self.exact: dict[Any, Any] = {}

    def __call__(self) -> Any:
        """Return one answer's value, drawn afresh."""
        return self.draw()[0]

    def draw(self) -> tuple[Any, list[int]]:
        """Return one answer's value and the noisy integers behind it, drawn look by look as the gate does."""
        recipe, transcript = self.request.recipe(), []
        try:
            look = next(recipe)
            while True:
                noisy = look.mechanism.draw(self._exact(look.statistic))
                transcript += noisy
                look = recipe.send(noisy)
        except StopIteration as stop:
            return stop.value.value, transcript

    def transcripts(self, n: int, adaptive: bool = False) -> np.ndarray:
        """Return the noisy integers of n answers, as floats, shape (n, integers of one answer).

        Answers are functions of them. With `adaptive` later looks may depend on earlier integers: the recipe is asked
        for each look of each answer, and equal looks are drawn together. Otherwise they must not, which a few answers
        check.
        """
        stages: list[list[list[int]]] = []
        while self._look(stages, 0) is not None:
            asked = n if adaptive and stages else min(n, CHECKED)
            looks = [self._look(stages, i) for i in range(asked)]
            different = set(looks)
            if len(different) > 1 and not adaptive:
                raise ValueError("a later look depends on earlier answers: transcripts(n, adaptive=True)")
            stage: list[list[int]] = [[]] * n
            for look in different:
                which = [i for i, other in enumerate(looks) if other == look] if len(different) > 1 else range(n)
                for i, integers in zip(which, self._many(look, len(which)), strict=True):
                    stage[i] = integers
            stages.append(stage)
        return np.concatenate([np.array(stage, dtype=float) for stage in stages] or [np.empty((n, 0))], axis=1)

    def _look(self, stages: list[list[list[int]]], i: int) -> Measurement | None:
        """Return the look that a recipe wants after the integers of answer i; None after the last one."""
        recipe = self.request.recipe()
        try:
            look = next(recipe)
            for stage in stages:
                look = recipe.send(stage[i])
        except StopIteration:
            return None
        return look

    def _many(self, look: Measurement, n: int) -> list[list[int]]:
        """Draw one look n times."""
        mechanism = look.mechanism
        exact = self._exacts(look.statistic, n)
        if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):  # every entry has its own noise
            flat = mechanism.draw(Exact(list(chain.from_iterable(exact))))
            size = len(flat) // n
            return [flat[i : i + size] for i in range(0, n * size, size)]
        with equal_bounds_computed_once():
            return [mechanism.draw(Exact(one)) for one in exact]

    def _random(self, statistic: Any) -> bool:
        """Whether rows or blocks are drawn at random."""
        if isinstance(statistic, SmoothScale):
            return self._random(statistic.of)
        if isinstance(statistic, SmoothOrder | TrimmedMean):
            return self._random(statistic.points)
        if isinstance(statistic, BlockSums | BlockPoints):
            return True
        by_part = getattr(statistic, "by", None) is not None
        return self.request.unit.column is not None and (by_part or isinstance(statistic, SAMPLED))

    def _exact(self, statistic: Any) -> Exact:
        if self._random(statistic):
            return statistic.compute(self.view, self.request.unit)
        if statistic not in self.exact:
            self.exact[statistic] = statistic.compute(self.view, self.request.unit)
        return self.exact[statistic]

    def _exacts(self, statistic: Any, n: int) -> list[list[Any]]:
        """Exact results of n draws."""
        unit = self.request.unit
        if not self._random(statistic):
            return [self._exact(statistic).open()] * n
        if isinstance(
            statistic, (*SAMPLED, SmoothOrder, SmoothScale, TrimmedMean, Tree, Haar, Weighted)
        ):  # parts of several copies would lie in one run
            return [statistic.compute(self.view, unit).open() for _ in range(n)]
        results: list[list[Any]] = []
        most = max(1, MOST_ROWS // max(1, self.view.rows))
        while len(results) < n:
            copies = min(most, n - len(results))
            flat = _of_copies(statistic, copies).compute(_Copies(self.view, copies), unit).open()
            size = len(flat) // copies
            results += [flat[i * size : (i + 1) * size] for i in range(copies)]
        return results


@dataclass(frozen=True)
class _PartsOfCopies:
    """A partition with parts of its own for each copy of the table."""

    by: Any
    copies: int

    @property
    def count(self) -> int:
        return self.copies * self.by.count


def _of_copies(statistic: Any, copies: int) -> Any:
    """The same statistic of each copy."""
    if isinstance(statistic, BlockSums | BlockPoints):
        return replace(statistic, means=_of_copies(statistic.means, copies))
    return replace(statistic, by=_PartsOfCopies(statistic.by, copies))


class _Copies:
    """Several copies of one table, one below the other, with no part and no unit in common."""

    def __init__(self, view: Any, copies: int) -> None:
        self.view, self.copies = view, copies
        self.rows, self.fill = view.rows * copies, view.fill

    def column(self, name: str) -> Any:
        values, present = self.view.column(name)
        return np.tile(values, self.copies), None if present is None else np.tile(present, self.copies)

    def present(self, name: str) -> Any:
        present = self.view.present(name)
        return None if present is None else np.tile(present, self.copies)

    def coded(self, partition: _PartsOfCopies) -> Any:
        return uncoded(self.parts(partition), partition.count)

    def parts(self, partition: _PartsOfCopies) -> Any:
        return self._apart(self.view.parts(partition.by), partition.by.count)

    def units(self, column: str) -> Any:
        codes, count = self.view.units(column)
        return self._apart(codes, count), count * self.copies

    def _apart(self, codes: np.ndarray, count: int) -> np.ndarray:
        """Codes of all copies, those of the next one above those of the one before; -1 stays."""
        above = np.repeat(np.arange(self.copies) * count, codes.size)
        tiled = np.tile(codes, self.copies)
        return np.where(tiled < 0, -1, tiled + above).astype(codes.dtype)
