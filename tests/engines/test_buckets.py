"""Units of several rows, read in several passes: each pass holds whole units, and what they add up to is that of memory."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engines.test_scanned import COMPOSED
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.elsewhere import ADDITIVE, AGES, COST, FEW, NUMBER, WARDS
from support.looks import plain

from pandas_dp.core.measurement import AddsUp, Batched, computed
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import Distinct, DistinctBy, RowCounts, UnitSizes
from pandas_dp.core.statistics.lattice_counts import LatticeCounts
from pandas_dp.core.statistics.products import Products
from pandas_dp.core.statistics.scores import CountWhere
from pandas_dp.core.statistics.sums import Centred, Moments, Total
from pandas_dp.engines import scanned
from pandas_dp.engines.encode import stored
from pandas_dp.engines.pandas import PandasView
from pandas_dp.engines.scanned import ScannedView, buckets

DAY = dt.datetime(2020, 1, 1)
UNITS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "small": (pa.int8(), [None, -128, -1, 0, 1, 2, 3, 127]),
    "whole": (pa.int64(), [None, -(2**63), -1, 0, 7, 8, 9, 2**53, 2**53 + 1, 2**63 - 1]),
    "natural": (pa.uint64(), [None, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**63, 2**64 - 1]),
    "half": (
        pa.float16(),
        [None, np.float16("nan"), np.float16(-0.0), np.float16(0), np.float16(1), np.float16("inf")],
    ),
    "single": (pa.float32(), [None, np.nan, -0.0, 0.0, 0.1, 1.0, 2.0, 16777216.0, -np.inf, np.inf]),
    "double": (pa.float64(), [None, np.nan, -0.0, 0.0, 0.1, 1.0, 2.0, 3.0, 5e-324, -np.inf, np.inf, 1e300]),
    "when": (pa.timestamp("us"), [None, DAY, *(DAY + dt.timedelta(microseconds=10**n) for n in range(14))]),
    "zoned": (
        pa.timestamp("ns", "Asia/Kolkata"),
        [None, DAY, DAY + dt.timedelta(seconds=1), DAY + dt.timedelta(days=9)],
    ),
    "day": (pa.date32(), [None, dt.date(1, 1, 1), dt.date(9999, 1, 1), DAY.date(), DAY.date() + dt.timedelta(days=1)]),
    "text": (pa.string(), [None, "", "a", "b", "a\0", "é", "a" * 200]),
    "large": (pa.large_string(), [None, "", "a", "b", "c", "é"]),
    "view": (pa.string_view(), [None, "", "a", "b", "c", "a" * 200]),
    "truth": (pa.bool_(), [None, True, False]),
    "exact": (pa.decimal128(22, 2), [None, *map(Decimal, ("0.10", "-7.00", "7", "9" * 20, "9" * 19 + "8"))]),
    "wide": (pa.decimal256(50, 3), [None, *map(Decimal, ("0.1", "-7", "7", "9" * 47, "9" * 46 + "8"))]),
    "span": (pa.duration("us"), [None, dt.timedelta(0), dt.timedelta(hours=1), dt.timedelta(hours=-1)]),
}
PLACES = st.lists(st.integers(0, 40), max_size=40)


def column_of(name: str, places: list[int], chunks: int = 1) -> pd.Series[Any]:
    held, values = UNITS[name]
    cells = [values[place % len(values)] for place in places]
    parts = [pa.array(cells[at::chunks], held) for at in range(chunks)]
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(parts, held)))


@pytest.mark.parametrize("name", UNITS)
@settings(max_examples=40)
@given(PLACES, PLACES, st.integers(1, 9), st.integers(1, 3))
def test_equal_units_have_one_bucket_in_every_batch(name, here, there, count, chunks):
    one, other = column_of(name, here, chunks), column_of(name, there)
    codes, _ = stored(pd.concat([one, other], ignore_index=True)).units()
    found = np.concatenate([buckets(stored(one), count), buckets(stored(other), count)])
    assert ((found == -1) == (codes == -1)).all()
    assert found.max(initial=-1) < count
    assert all(np.unique(found[codes == code]).size == 1 for code in set(codes.tolist()))


def test_buckets_of_codes_and_of_bytes_that_are_no_text():
    bad = pa.array([b"\xff", b"a", b"\xff", None, b"\xed\xa0\x80"])
    text = pa.Array.from_buffers(pa.string(), 5, bad.buffers())
    found = buckets(stored(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([text])))), 1 << 20)
    assert found[0] == found[2] >= 0 > found[3]
    assert len(set(found.tolist())) == 4
    assert buckets(stored(pd.Series(["a", 1.0, True, None], dtype="object")), 7).tolist() == [0, 0, 0, -1]


def test_units_are_spread_over_the_buckets():
    """Ends of a binomial of 10,000 units and 1/8 with a probability below 1e-12, were the buckets drawn; they are fixed."""
    whole = np.arange(10_000)
    for units in (whole, whole * 4096, whole / 8, whole.astype("datetime64[D]"), whole.astype(str)):
        column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(units)])))
        sizes = np.bincount(buckets(stored(column), 8), minlength=8)
        assert sizes.min() > 1000
        assert sizes.max() < 1500


NEVER_DRAWN = [
    RowCounts(),
    RowCounts("age"),
    *(statistic for statistic in ADDITIVE if isinstance(statistic, CountWhere | Products | UnitSizes)),
    Total("cost", COST),
    Moments("cost", COST, 1),
    Moments("cost", COST, 2),
    Distinct("uid"),
]
OF_UNITS = [Distinct("uid"), DistinctBy("uid", WARDS), DistinctBy("uid", AGES)]
ROWS = st.lists(
    st.tuples(
        NUMBER, st.one_of(st.none(), st.integers(-5, 60)), st.sampled_from(["A", "B", "C", None]), st.integers(0, 6)
    ),
    max_size=30,
)


def frame_of(rows: list[tuple[Any, ...]], units: str | None) -> pd.DataFrame:
    dtypes = {"cost": "double[pyarrow]", "age": "int64[pyarrow]", "ward": "string[pyarrow]"}
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    frame = pd.DataFrame({n: pd.Series(c, dtype=d) for (n, d), c in zip(dtypes.items(), columns, strict=False)})
    frame["uid"] = (
        pd.Series(columns[3], dtype="int64[pyarrow]") if units is None else column_of(units, list(columns[3]))
    )
    return frame


def in_parts(statistic: Any, frame: pd.DataFrame, unit: PrivacyUnit, passes: int, size: int = 4) -> Any:
    """Its integers of batches of some rows, read in some passes."""
    batches = [frame.iloc[at : at + size].reset_index(drop=True) for at in range(0, max(len(frame), 1), size)]
    view = ScannedView(lambda: iter(batches), {"age": 20}, passes)
    exact = plain(computed(statistic, view, unit).open())
    assert passes == 1 or "_frame" not in vars(view), statistic  # all of them were never held together
    return exact


def in_memory(statistic: Any, frame: pd.DataFrame, unit: PrivacyUnit) -> Any:
    return plain(statistic.compute(PandasView(frame, {}, {"age": 20}), unit).open())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@settings(max_examples=8)
@given(ROWS, st.sampled_from(["double", "whole", "text", "exact"]), st.integers(1, 5))
def test_passes_add_up_to_the_integers_of_memory(relation, rows, units, passes):
    frame, relation = frame_of(rows, units), NeighboringRelation(relation)
    roomy, tight = (PrivacyUnit("uid", k, k, k, relation) for k in (30, 1))
    for statistic in [*ADDITIVE, *COMPOSED, *OF_UNITS]:
        assert in_parts(statistic, frame, roomy, passes) == in_memory(statistic, frame, roomy), statistic
    for statistic in NEVER_DRAWN:
        assert in_parts(statistic, frame, tight, passes) == in_memory(statistic, frame, tight), statistic


def norms(change: Any) -> tuple[int, int, int]:
    """L1, squared L2 and largest entry of the change of integers."""
    flat = [abs(x) for x in change]
    return sum(flat), sum(x * x for x in flat), max(flat, default=0)


def entries(statistic: Any, exact: Any) -> list[int]:
    """Integers at public places: counts at all points, where the lattice has few."""
    if not isinstance(statistic, LatticeCounts):
        return list(exact)
    return np.concatenate([np.bincount(at, counts, FEW.cells + 1) for at, counts in exact]).astype(int).tolist()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@settings(max_examples=8)
@given(
    ROWS, st.lists(ROWS, min_size=2, max_size=2), st.integers(2, 4), st.sampled_from([(3, 2, 2), (2, 2, 1), (1, 1, 1)])
)
def test_a_unit_moves_no_more_than_stated(relation, rows, own, passes, bounds):
    """The others keep all their rows, one each, so that whatever is drawn, all that changes is what one unit adds."""
    others = [(*row[:3], 10 + place) for place, row in enumerate(rows)]
    mine = [[(*row[:3], 4) for row in one] for one in own]
    unit = PrivacyUnit("uid", *bounds, NeighboringRelation(relation))
    before = frame_of(others[::2] + mine[0] * (not unit.add_remove) + others[1::2], None)
    after = frame_of(mine[1][::2] + others + mine[1][1::2], None)
    for statistic in [*ADDITIVE, *OF_UNITS]:
        if isinstance(statistic, LatticeCounts) and statistic.lattice is not FEW:
            continue
        if isinstance(statistic, Centred) and statistic.moments.degree == 2:  # of rows alone
            continue
        found = [entries(statistic, in_parts(statistic, table, unit, passes)) for table in (before, after)]
        stated = statistic.sensitivity(unit)
        l1, squared, largest = norms(b - a for a, b in zip(*found, strict=True))
        assert l1 <= stated.l1, statistic
        assert squared <= stated.l2_squared, statistic
        assert largest <= stated.linf, statistic


POINTS = LatticeCounts("cost", FEW)
UNITS_DRAWN, DRAWS = 1000, 20


def kept(passes: int) -> np.ndarray[Any, Any]:
    """Rows kept at each of four values, of 20 draws of one row of each of 1,000 units that has one of each value."""
    frame = pd.DataFrame({"uid": np.arange(4 * UNITS_DRAWN) // 4, "cost": np.arange(4 * UNITS_DRAWN) % 4 * 1.0})
    unit, total = PrivacyUnit("uid", 1, 1, 1), np.zeros(FEW.cells + 1, dtype=int)
    for _ in range(DRAWS):
        total += entries(POINTS, in_parts(POINTS, frame, unit, passes, 999))
    return total[:4]


def differ(one: Any, other: Any) -> bool:
    """A two-sample test: equal laws are called different with a probability of 1e-7 (chi-squared, some 5,000 in a cell).

    A value that 30 % of the units keep in place of 25 % is found with a probability above 1 - 1e-6.
    """
    rest = [UNITS_DRAWN * DRAWS - int(sum(counts)) for counts in (one, other)]
    if rest[0] != rest[1]:
        return True  # every unit keeps one row of each draw
    return bool(stats.chi2_contingency([one, other]).pvalue < 1e-7)


def test_the_rows_that_are_drawn_have_the_law_of_memory(monkeypatch):
    memory = kept(1)
    assert not differ(memory, kept(4))
    assert not differ(memory, [UNITS_DRAWN * DRAWS // 4] * 4)
    assert differ(memory, [UNITS_DRAWN * DRAWS * share // 100 for share in (30, 20, 25, 25)])

    def split(column: Any, count: int) -> Any:  # the twin: rows of a unit fall into two buckets
        return (np.arange(len(column.values)) % 2) * (count > 1)

    monkeypatch.setattr(scanned, "buckets", split)
    assert differ(memory, kept(4))


def test_only_numbers_of_units_add_up():
    """The twin: a value held by units of two buckets would count twice."""
    frame = pd.DataFrame({"uid": range(50), "cost": [1.0] * 50})
    unit = PrivacyUnit("uid", 1, 1, 1)
    view = ScannedView(lambda: iter([frame]), {}, 2)
    assert isinstance(view, Batched)
    assert computed(Distinct("cost"), view, unit).open() == [1]
    assert AddsUp.merge(
        Distinct("cost"), (Distinct("cost").compute(part, unit) for part in view.batches("uid"))
    ).open() == [2]
    assert computed(Distinct("uid"), view, unit).open() == [50]
