"""Cells that are equal in the form they are keyed by have one hash: a table of hashes never decides which are one."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pandas_dp  # noqa: F401 - the accessor
from pandas_dp.engines import cells

UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
ZONES = (None, "UTC", "Europe/Zurich", dt.timezone(dt.timedelta(hours=5)))


def moments() -> list[Any]:
    """The same few moments in every class, unit and zone that holds them: near ones, and years that Python has not."""
    made: list[Any] = []
    for seconds in (0, 86_400, 1_000_000_000, 1_635_645_600, 300 * 10**9, -(10**11), 6 * 10**13, 10**14, 10**17):
        for unit, factor in UNITS.items():
            if abs(seconds * factor) < 2**63:
                scalar = np.datetime64(seconds * factor, unit)
                made.append(scalar)
                made += [pd.Timestamp(scalar)] if abs(seconds * factor) < 2**62 and seconds < 10**17 else []
                made += [np.timedelta64(seconds * factor, unit)]
                made += [pd.Timedelta(np.timedelta64(seconds * factor, unit))] if seconds < 10**16 else []
        if abs(seconds) < 10**11:
            instant = dt.datetime.fromtimestamp(seconds, dt.UTC)
            made += [instant.date(), dt.timedelta(seconds=seconds)]
            made += [
                kind(instant.astimezone(zone)) for zone in ZONES[1:] if not isinstance(zone, str) for kind in KINDS
            ]
            made += [pd.Timestamp(instant).tz_convert(zone).as_unit(unit) for zone in ZONES for unit in UNITS]
            made += [np.datetime64(instant.date(), "D"), instant.replace(tzinfo=None), instant.time()]
    return made


KINDS = (pd.Timestamp, lambda same: same)
NUMBERS = [
    kind(value)
    for value in (0, 1, 2, 0.5, 2**53)
    for kind in (float, complex, Decimal, Fraction, np.float32, np.float64, np.longdouble, np.complex64)
] + [kind(value) for value in (0, 1, 2) for kind in (int, np.int8, np.uint64, np.int64)]
NUMBERS += [True, np.True_, 2**53 + 1, np.float32(0.1), 0.1, Decimal("0.1"), -0.0]


def clashes(form: Any, held: list[Any]) -> list[tuple[Any, Any]]:
    array = np.empty(len(held), dtype=object)
    array[:] = held
    formed, keyed = form(array)
    known = [cell for cell, is_keyed in zip(formed, keyed, strict=True) if is_keyed and cell is not None]
    assert len(known) > len(held) * 0.9  # or nothing is compared
    return [
        (one, other) for one, other in itertools.combinations(known, 2) if one == other and hash(one) != hash(other)
    ]


@pytest.mark.parametrize("held", [moments(), NUMBERS], ids=["moments", "numbers"])
@pytest.mark.parametrize("wrap", [lambda cell: cell, lambda cell: (cell,), lambda cell: ("a", (cell, 1))])
def test_equal_forms_have_one_hash(held, wrap):
    assert clashes(cells.comparable, [wrap(cell) for cell in held]) == []


def test_moments_as_they_are_have_not():
    """What the forms are for."""
    as_they_are = [cell for cell in moments() if type(cell) is pd.Timestamp]
    assert len(clashes(lambda held: (held, np.ones(held.size, dtype=bool)), as_they_are)) > 3


def far(seconds: int) -> tuple[pd.Timestamp, pd.Timestamp]:
    return pd.Timestamp(np.datetime64(seconds, "s")), pd.Timestamp(np.datetime64(seconds * 1000, "ms"))


def slot(ticks: Any, slots: int) -> Any:
    """Where pandas' table of hashes looks first for a moment of a far year."""
    return ((ticks >> 32) ^ ticks) & (slots - 1)


def test_a_row_more_makes_no_two_units_of_one():
    """Each moment twice, in two units whose ticks fall into one slot while the table is small, and into two as it grows."""
    chosen: list[int] = []
    small, large = set(), set()
    drawn = np.random.default_rng(1).integers(6 * 10**11, 6 * 10**14, 2_000_000)
    for seconds in drawn[slot(drawn, 1024) == slot(drawn * 1000, 1024)].tolist():
        one, apart = slot(seconds, 1024), {slot(seconds, 2048), slot(seconds * 1000, 2048)}
        if len(chosen) < 393 and len(apart) == 2 and one not in small and not apart & large:
            chosen.append(seconds)
            small.add(one)
            large |= apart
    assert len(chosen) == 393
    counts = []
    for extra in (["x"], ["x", "y"]):
        held = [cell for seconds in chosen for cell in far(seconds)] + extra
        df = pd.DataFrame({"who": pd.Series(held, dtype=object)})
        df.dp.protect(epsilon=10**6, name=f"far moments {len(held)}")
        counts.append(int(df.dp(epsilon=10**5).nunique("who")))
    assert counts == [len(chosen) + 1, len(chosen) + 2]
