"""No unit moves any statistic by more than it states, and some unit by about that much: all small tables, all neighbours.

Statistics are found by looking at the package; one without an entry in `support.sensitivities` fails here. Every statistic
is computed on all tables of a few rows, in which one unit is added, removed or replaced, for rows that are units and for
units of several rows under several bounds. The random choice of a unit's rows depends on its own rows alone, so neighbours
can be coupled to choose alike for all other units: here each unit keeps its first rows, and its block follows from its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from support import walking
from support.coupling import first_of_each
from support.sensitivities import STATISTICS, Case, Scoring, View, smoothly

from pandas_dp.core import bounding
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics import blocks, scores
from pandas_dp.core.statistics.smooth import LOG_BITS

OTHERS = ((), (("a", 0), ("b", 2)))  # what a unit beside the one that changes has
Found = dict[str, float]


def without_an_entry() -> list[str]:
    """Statistics of which nobody has enumerated how far they move."""
    missing = walking.statistics() - STATISTICS.keys()
    return [
        f"no sensitivity test for class {cls.__name__}: add it to tests/support/sensitivities.py" for cls in missing
    ]


def test_every_statistic_has_an_entry():
    assert without_an_entry() == []
    assert STATISTICS.keys() <= walking.statistics()


@pytest.fixture(autouse=True)
def coupled(monkeypatch):
    monkeypatch.setattr(bounding, "keep_at_most", first_of_each)
    monkeypatch.setattr(blocks, "bound_groups", bounding.bound_groups)
    monkeypatch.setattr(blocks, "_random_blocks", lambda count, number, fill: np.arange(count) * 7 % 3 % number)


def tables(case: Case, unit: PrivacyUnit) -> Iterator[tuple[list[Any], list[Any]]]:
    """All pairs of neighbours: one unit, the last one, is added, or replaced by another."""
    most = 1 if unit.column is None else unit.rows + 1
    least = 0 if unit.column is not None else 1
    contents = [rows for n in range(least, most + 1) for rows in combinations_with_replacement(case.rows, n)]
    for other in OTHERS:
        base = [(0, *row) for row in other]
        if unit.add_remove:
            yield from ((base, base + [(1, *row) for row in rows]) for rows in contents)
        else:
            for i, one in enumerate(contents):
                for two in contents[i + 1 :]:
                    yield base + [(1, *row) for row in one], base + [(1, *row) for row in two]


def found(case: Case, wrong: Any = None, stop: bool = False) -> tuple[list[str], Found]:
    """What moves farther than is stated, and the largest shares of it that are attained; `wrong` changes what is stated.

    With `stop` the kinds of unit after the first one that fails are left out.
    """
    view = Scoring if isinstance(case.statistic, scores.RowScores) else View
    beyond, shares = [], {}
    for unit in case.units():
        stated, known = case.statistic.sensitivity(unit), {}
        if beyond and stop:
            break
        stated = stated if wrong is None else wrong(stated)
        for pair in tables(case, unit):
            both = []
            for rows in pair:
                key = tuple(rows)
                if key not in known:
                    known[key] = case.values(view(rows), unit)
                both.append(known[key])
            for before, after in (both, both[::-1]) if not stated.rising else (both,):
                for name, moved, most in case.moved(before, after, stated):
                    if moved > most * (1 + 1e-12):
                        beyond.append(f"{name} {moved} > {most} for {unit}, {unit.relation}: {pair}")
                    elif most:
                        shares[name] = max(shares.get(name, 0.0), float(moved) / float(most))
    return beyond, shares


CASES = [  # after the first one of a statistic they are slow
    pytest.param(case, id=f"{cls.__name__} {i}", marks=[pytest.mark.slow] if i else [])
    for cls, cases in STATISTICS.items()
    for i, case in enumerate(cases)
]


@pytest.mark.parametrize("case", CASES)
def test_no_unit_moves_it_farther_than_is_stated(case):
    beyond, shares = found(case)
    assert beyond == []
    assert {name: share for name, share in shares.items() if share < case.near.get(name, 1.0)} == {}


def halved(stated: Any) -> Any:
    """A sensitivity as one would forget a factor 2 in it."""
    less = {name: getattr(stated, name) // 2 for name in ("l1", "l2_squared", "linf", "touched")}
    return replace(stated, **less)


@pytest.mark.parametrize("case", CASES)
def test_half_of_it_is_found(case):
    """The broken twin of every entry: also of what is nearly attained alone."""
    if case.moved is smoothly:  # what is stated of its values stands beside them
        case = replace(case, statistic=_Rough(case.statistic))
        beyond, _ = found(case, stop=True)
    else:
        beyond, _ = found(case, halved, stop=True)
    assert beyond


class _Rough:
    """A smooth statistic whose bounds are e**6 too small."""

    def __init__(self, of: Any) -> None:
        self.sensitivity, self._of = of.sensitivity, of

    def compute(self, view: Any, unit: PrivacyUnit) -> Any:
        smaller = [(value, log_scale - (6 << LOG_BITS)) for value, log_scale in self._of.compute(view, unit).open()]
        return type("Opened", (), {"open": lambda self: smaller})()
