"""Which of several equal cells a category column lists, and in what dtype, changed what was said of a thousand other rows.

Prices are such that noise changes a count with probability below 1e-21: see `tests/contract/test_key_questions.py`.
"""

from __future__ import annotations

import datetime as dt
import enum
import itertools
import zoneinfo
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dateutil import tz
from support.cells import objects
from support.columns import view
from support.frames import fresh, protected
from support.hostile_rows import BASES, HOSTILE

import pandas_dp
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.core.statistics.counts import Distinct
from pandas_dp.engines.cells import Foreign, canonical, forms

BIG, DAY = 2**53 + 1, pd.Timestamp("2020-01-01")  # such as a 64-bit id
OLD = pytest.mark.skipif(pd.__version__.startswith("3.0."), reason="that pandas itself fails on these cells")


class Ward(enum.StrEnum):
    A = "a"


class Code(enum.IntEnum):
    ONE = 1


class Like:
    """Equal to the text a by code of its own."""

    def __eq__(self, other: object) -> bool:
        return other == "a"

    def __hash__(self) -> int:
        return hash("a")


def asked(cells: list[Any], ask: Any) -> Any:
    frame = protected(pd.DataFrame({"x": objects(*cells).astype("category")}), epsilon=1000)
    return ask(frame.dp, frame.dp(epsilon=50))


STEPS = {
    "filter": lambda wanted: lambda steps, _: steps.filter(lambda d: d.x == wanted).dp(epsilon=50).count(),
    "isin": lambda wanted: lambda steps, _: steps.filter(lambda d: d.x.isin([wanted])).dp(epsilon=50).count(),
    "map": lambda wanted: lambda steps, _: steps.assign(z=lambda d: d.x.map({wanted: "p"})).dp(epsilon=50).count("z"),
    "number": lambda _: lambda steps, _: steps.assign(z=lambda d: d.x.astype(float)).dp(epsilon=50).count("z"),
    "nunique": lambda _: lambda _, priced: priced.nunique("x"),
    "histogram": lambda wanted: lambda _, priced: priced.histogram("x", keys=[wanted]).value.tolist()[0],
}


@pytest.mark.parametrize("step", STEPS)
def test_ids_of_64_bits_are_the_same_beside_a_number_that_is_not_whole(step):
    ask = STEPS[step](BIG)
    cells = [BIG] * 1000 + [5] * 100
    assert abs(asked([*cells, 1.5], ask) - asked(cells, ask)) <= 1


EQUAL = [
    ("a", [np.str_("a"), Ward.A], "a"),
    (1, [True, 1.0, Decimal(1), np.int64(1), np.bool_(True), Code.ONE, complex(1), np.float32(1)], 1),
    (0.0, [-0.0, False, Decimal("-0")], 0.0),
    (DAY, [dt.datetime(2020, 1, 1), np.datetime64("2020-01-01", "ns"), dt.datetime(2020, 1, 1, fold=1)], DAY),
    (pd.Timedelta(1, "D"), [dt.timedelta(1), np.timedelta64(24, "h")], pd.Timedelta(1, "D")),
]


@OLD
@pytest.mark.one_in(2)
@pytest.mark.parametrize(("cell", "equals", "wanted"), EQUAL, ids=lambda one: str(one)[:20])
def test_a_step_is_the_same_whichever_of_equal_cells_is_listed(cell, equals, wanted):
    for first in equals:
        for step in ("filter", "map", "number", "histogram"):
            ask = STEPS[step](wanted)
            alone, beside = asked([cell] * 1000 + ["x"], ask), asked([first] + [cell] * 1000 + ["x"], ask)
            assert beside - alone in (0, 1), (step, first)


def test_length_of_text_and_listed_keys_are_the_same_whichever_of_equal_cells_is_listed():
    length = lambda steps, _: steps.filter(lambda d: d.x.str.len() == 1).dp(epsilon=50).count()  # noqa: E731
    assert [asked([*first, *["a"] * 1000, 1], length) for first in ([], [np.str_("a")], [Ward.A])] == [1000, 1001, 1001]
    counts = lambda _, priced: priced.value_counts("x", keys=[Decimal(1)]).value.tolist()  # noqa: E731
    assert [asked([*first, *[1] * 1000, "x"], counts) for first in ([], [np.int64(1)], [True])] == [
        [1000],
        [1001],
        [1001],
    ]


def test_one_row_more_merges_no_units():
    """Beside 1.5 pairs of ids became one float: 1000 units were 500, and each of them answered for two people."""
    ids = [2**53 + k for k in range(1000)]
    columns = [pd.Series(pd.Categorical([*ids, *more])) for more in ([], [1.5])]
    counts = [Distinct("x").compute(view(column), PrivacyUnit()).open()[0] for column in columns]
    assert counts == [0, 1]
    small = [view(objects(*range(1000), *more).astype("category")).units("x")[1] for more in ([], [1.5])]
    assert small == [1000, 1001]


def test_an_object_of_ones_own_class_is_what_it_says_where_its_code_may_run():
    for cells in (["a", "b"], [Like(), "a", "b"]):
        shown = view(objects(*cells).astype("category"))
        assert shown.parts(Keys("x", ("b", "a"), other=True)).tolist()[-2:] == [1, 0]
        assert shown.units("x")[1] == 2


@pytest.mark.parametrize(
    ("cell", "same"),
    [
        ((1, "a"), (True, np.str_("a"))),
        ((1.0, ("a", 0.0)), (Code.ONE, (Ward.A, -0.0))),
        (pd.Interval(0, 1), pd.Interval(0.0, 1.0)),
        (dt.date(2020, 1, 1), np.datetime64("2020-01-01")),
        (b"a", memoryview(b"a")),
        (DAY.tz_localize("UTC"), pd.Timestamp("2020-01-01 01:00", tz="Europe/Berlin")),
        (dt.datetime(9999, 12, 31), pd.Timestamp("9999-12-31").as_unit("s")),
    ],
)
def test_equal_cells_have_one_form(cell, same):
    assert cell == same
    one, two = canonical(cell), canonical(same)
    assert repr(one) == repr(two)
    assert type(one) is type(two)
    assert hash(one) == hash(two)


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
ZONES = [BERLIN, tz.gettz("Europe/Berlin"), zoneinfo.ZoneInfo("Europe/London"), dt.timezone(dt.timedelta(hours=1))]
CLOCKS = [dt.datetime(2020, 10, 25, hour, 30) for hour in (0, 1, 2, 3)]  # of which one is shown twice
CLOCKS += [dt.datetime(2020, 3, 29, hour, 30) for hour in (0, 1, 2, 3)]  # of which one is left out
FOLDED = [clock.replace(tzinfo=zone, fold=fold) for clock in CLOCKS for zone in ZONES for fold in (0, 1)]


def dates_by_the_clock() -> list[Any]:
    """Dates, timestamps of their instants in their zones and in UTC, and what is made of them."""
    stamps = [pd.Timestamp(one) for one in FOLDED]
    stamps += [one.tz_convert("UTC") for one in stamps]
    stamps += [one.as_unit("ns") + pd.Timedelta(3, "ns") for one in stamps]
    spans = [pd.Interval(one, one + pd.Timedelta("40min")) for one in stamps]
    return [*FOLDED, *stamps, *spans, *[(one, 1) for one in (*FOLDED, *stamps)]]


@OLD
def test_cells_that_a_list_holds_in_place_of_each_other_have_one_form():
    """One row more with another `fold`, listed first, moved a thousand rows to another hour."""
    places: dict[int, list[Any]] = {}
    for cell in dates_by_the_clock():
        places.setdefault(hash(cell), []).append(cell)
    compared = 0
    for cells in places.values():
        for one, other in itertools.combinations(cells, 2):
            if one == other:
                compared += 1
                assert canonical(one) == canonical(other), (one, other)
                assert repr(canonical(one)) == repr(canonical(other))
    assert compared > 300


@OLD
@pytest.mark.parametrize("zone", ZONES)
def test_a_date_has_one_form_in_lists_of_each_dtype(zone):
    cells = [pd.Timestamp(one) for one in FOLDED if one.tzinfo is zone]
    for made in (
        objects(*cells, "x").astype("category"),
        pd.Series(cells).astype("category"),
        pd.Series(cells).astype(pd.ArrowDtype(pa.timestamp("us", "Europe/Berlin"))).astype("category"),
    ):
        if "pyarrow" in str(made.dtype.categories.dtype) and zone is not BERLIN:
            continue
        codes, listed = forms(made.array)
        assert [listed[code] for code in codes[: len(cells)]] == [canonical(cell) for cell in cells]


def test_one_row_more_with_another_fold_moves_no_others():
    first, other = (dt.datetime(2020, 10, 25, 2, 30, fold=fold, tzinfo=BERLIN) for fold in (0, 1))
    hour = pd.Timestamp("2020-10-25 00:30", tz="UTC")
    for step in ("filter", "isin", "histogram"):
        counts = [asked([*more, *[first] * 1000, "x"], STEPS[step](hour)) for more in ([], [other])]
        assert counts[1] - counts[0] in (0, 1)
        assert counts[0] == 1000


@pytest.mark.parametrize(
    "cell", [2**53, -(2**53), 2.0**60, 2**70, 10**400, np.longdouble(2) ** 2000, np.inf, Decimal(2**53)]
)
def test_a_number_that_may_be_another_one_rounded_has_no_form(cell):
    assert canonical(cell) is None


def test_what_has_no_form_is_present_and_equals_itself_alone():
    other = Like()
    column = pd.Categorical.from_codes([0, 1, 2, -1, 0], pd.Index(objects(BIG, "a", (BIG, "a")), dtype=object))
    codes, listed = forms(column)
    assert codes.tolist() == [-2, 0, 1, -1, -2]
    assert listed[0] == "a"
    assert isinstance(listed[1], Foreign)
    assert isinstance(canonical(other), Foreign)
    shown = view(pd.Series(column))
    assert shown.present("x").tolist() == [True, True, True, False, True]
    assert shown.parts(Keys("x", ("a", (BIG, "a"), BIG), other=True, null=True)).tolist() == [
        3,
        0,
        3,
        4,
        3,
    ]  # a tuple that holds one is no key
    assert shown.units("x")[0].tolist() == [-1, 0, 1, -1, -1]


def test_tuples_within_tuples_end_somewhere():
    deep: Any = ()
    for _ in range(500):
        deep = (deep,)
    assert isinstance(canonical(deep), Foreign)


def test_cells_without_a_form_are_no_keys_whichever_is_listed():
    """Equality is not transitive for these: a key equals the one that is listed first, or does not."""
    usual, odd, key = (np.nan, "flu"), (float("nan"), "flu"), (np.nan, "flu")
    told = []
    for cells in ([usual] * 100, [odd, *[usual] * 100], [*[usual] * 100, odd]):
        column = np.empty(len(cells), dtype=object)
        column[:] = cells
        df = pd.DataFrame({"c": pd.Series(column, dtype=object).astype("category")})
        df.dp.protect(epsilon=10**6, name=fresh())
        told.append(int(df.dp(epsilon=10**4).value_counts("c", keys=[key]).iloc[0]))
    assert told == [0, 0, 0]


def test_a_set_is_no_key():
    """Nor are cells that are sets, as above; and it is written in another order in each process."""
    df = protected()
    with pytest.raises(pandas_dp.ArgumentTypeError, match="a frozenset has no fixed order"):
        df.dp(epsilon=1).value_counts("sex", keys=[frozenset([pd.Timestamp("2020-01-01")])])


@pytest.mark.parametrize(
    ("cells", "more"),
    [
        ([pd.Interval(0, 1)] * 200, [pd.Interval(0.5, 1)]),
        ([pd.Interval(0, 1)] * 200, [np.nan]),
        (pd.arrays.SparseArray([1] * 200), [None]),
    ],
    ids=["interval", "missing", "sparse"],
)
def test_no_row_decides_the_class_of_others_cells_in_blocks(cells, more):
    told = []
    for column in (pd.Series(cells), pd.Series(type(cells)([*cells, *more]))):
        df = pd.DataFrame({"c": column})
        df.dp.protect(epsilon=10**6, name=fresh())
        blocks = df.dp(epsilon=10**4).sample_and_aggregate(
            lambda d: float(repr(d["c"].iloc[0]).count(".")), bounds=(0, 10), rows=200, blocks=20
        )
        told.append(round(float(blocks), 1))
    assert told[0] == told[1]


def test_two_tuples_of_one_hash_end_no_question():
    """Python asks NA whether it equals the other one's cell, which is neither yes nor no."""
    one, other = (pd.NA, 7), (4, pd.Timedelta(-1775677888063708570, "ns"))
    assert hash(one) == hash(other)
    column = pd.Series(
        pd.Categorical.from_codes([0, 1, 2] * 20, pd.Index(objects(one, other, "a"), tupleize_cols=False))
    )
    assert [cell is one for cell in column.cat.categories] == [True, False, False]
    frame = protected(pd.DataFrame({"x": column}), epsilon=1000)
    assert (frame.dp(epsilon=50).count("x"), frame.dp(epsilon=50).nunique("x")) == (60, 3)
    assert frame.dp(epsilon=50).histogram("x", keys=["a", other]).value.tolist() == [20, 20]


def test_all_forms_say_whether_they_are_equal():
    """Of any two that share a hash Python asks it."""
    listed = [*HOSTILE, *BASES["objects"], *((cell, 1) for cell in HOSTILE)]
    made = [form for form in map(canonical, listed) if type(form) is not Foreign]
    assert len(made) > 80
    assert all(type(one == other) is bool for one, other in itertools.product(made, made))
