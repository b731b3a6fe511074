"""What a review of found keys brought to light: whatever a cell is, its row's key follows from that cell alone.

Prices are such that noise changes a count with probability below 1e-21: see `tests/contract/test_key_questions.py`.
"""

from __future__ import annotations

import itertools
import json
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.columns import view
from support.frames import protected, refused
from support.unitless import NO_DURATION, ONE

from pandas_dp.aggregates.base import Terms
from pandas_dp.aggregates.key_selections import listed_half_the_time
from pandas_dp.aggregates.keys import FoundCounts, KeyColumn
from pandas_dp.core.mechanisms.gaussian import DiscreteGaussian
from pandas_dp.core.mechanisms.key_selection import OptimalSelection, chance_bounds
from pandas_dp.core.privacy import Price, PrivacyUnit
from pandas_dp.core.statistics.counts import KeyCounts
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentValueError, BudgetExceededError
from pandas_dp.facts.kinds import Kind

SURE = {"epsilon": 50, "delta": 1e-9}


class Equal(str):
    """Text that equals everything it is compared with."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("a")


class Unlike(str):
    """Text that equals itself alone."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return hash("a")


class Unhashable(str):
    """Text whose hash raises."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise ValueError("a cell")


class Disguised:
    """No text, whatever it says of itself."""

    @property
    def __class__(self) -> type:
        return str


class Shifty(int):
    """A whole number of a class of its own."""

    def __int__(self) -> int:
        raise ValueError("a cell")

    __index__ = __int__


CELLS = {
    "equal to all": (Equal("z"), "z"),
    "equal to none": (Unlike("a"), "a"),
    "unhashable": (Unhashable("z"), "z"),
    "disguised": (Disguised(), None),
    "class of numbers": (Shifty(1), None),
    "class of a numpy text": (np.str_("b"), "b"),
    "true": (True, 1),
    "numpy's true": (np.bool_(True), 1),
    "one as a float": (1.0, 1),
    "one as a small float": (np.float16(1), 1),
    "one as a long float": (np.longdouble(1), 1),
    "minus zero": (-0.0, 0),
    "a fraction": (1.5, None),
    "infinity": (float("inf"), None),
    "nan": (float("nan"), None),
    "numpy's nan": (np.float32("nan"), None),
    "missing": (pd.NA, None),
    "no time": (pd.NaT, None),
    "one day": (np.timedelta64(1, "D"), None),
    "one nanosecond": (np.timedelta64(1, "ns"), None),
    "one of no unit": (ONE, None),
    "no duration": (NO_DURATION, None),
    "a day": (date(2013, 1, 31), None),
    "a decimal": (Decimal(1), None),
    "bytes": (b"a", None),
    "a list": (["a"], None),
    "a tuple": (("a", 1), None),
    "too large to be written": (10**5000, None),
    "large": (-(2**1000), -(2**1000)),
    "largest": (2**1024 - 1, 2**1024 - 1),
    "too large": (2**1024, None),
    "composed": ("\xe9", "\xe9"),
    "decomposed": ("e\u0301", "e\u0301"),
    "one as text": ("1", "1"),
    "lone surrogate": ("\ud800", "\ud800"),
    "its escape": ("\\ud800", "\\ud800"),
    "empty": ("", ""),
    "nothing": ("\0", "\0"),
}
OTHERS = {"numbers and texts": ["a", 1, "a", "b", 1, 0], "texts": ["a", "b", "a", "z"], "numbers": [1, 1, 0]}


def objects(cells) -> pd.Series:
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.Series(column, dtype=object)


def keys_of_rows(column: pd.Series) -> list:
    """Key of each row, None for none; what the ledger keeps of them is them."""
    codes, count, names = view(column).keys("x")
    keys = names(np.arange(count))
    assert len({(type(key), key) for key in keys}) == len(keys)
    assert json.loads(json.dumps(keys)) == keys
    assert {type(key) for key in keys} <= {str, int}
    return [None if code < 0 else keys[code] for code in codes]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize(("cell", "key"), CELLS.values(), ids=CELLS)
def test_a_cell_is_its_own_key_and_changes_no_other_rows(cell, key, others):
    for place in (0, 1, len(others)):
        cells = [*others[:place], cell, *others[place:]]
        assert keys_of_rows(objects(cells)) == [*others[:place], key, *others[place:]]
        assert keys_of_rows(objects(cells[::-1])) == [*others[:place], key, *others[place:]][::-1]


def test_all_strange_cells_at_once():
    cells = [cell for cell, _ in CELLS.values()]
    assert keys_of_rows(objects(cells)) == [key for _, key in CELLS.values()]


def test_categories_that_are_one_key():
    twice = pd.Index([Unlike("a"), Unlike("a"), "b"], dtype=object)
    assert keys_of_rows(pd.Series(pd.Categorical.from_codes([0, 1, -1, 2, 0], twice))) == ["a", "a", None, "b", "a"]


@pytest.mark.parametrize("cell", [1.5, True, None, "b", 7, pd.Timestamp("2013-01-31")])
def test_a_category_of_another_row_renames_none(cell):
    """Pandas makes 1 and 2 floats where another row holds 1.5, and 1 True where True comes first."""
    for cells in ([1, 2, 1, cell], [cell, 1, 2, 1]):
        column = objects(cells).astype("category")
        found = dict(zip(range(4), keys_of_rows(column), strict=True))
        rows = [0, 1, 2] if cells[0] == 1 and cells[3] is cell else [1, 2, 3]
        assert [found[row] for row in rows] == [1, 2, 1]
    numbers = pd.Series([1, 2, 1, 1.5 if cell is None else 3]).astype("category")
    assert keys_of_rows(numbers)[:3] == [1, 2, 1]


ASKED = {
    "counts": lambda q: q.value_counts("x"),
    "sizes": lambda q: q.groupby("x").size(),
    "sums": lambda q: q.groupby("x")["cost"].sum(bounds=(0, 1)),
    "keys": lambda q: q.unique("x"),
}


def answered(column: pd.Series, ask) -> list:
    frame = pd.DataFrame({"x": column, "cost": 1})
    release = ask(protected(frame, epsilon=10**4, delta=1e-4).dp(**SURE))
    assert isinstance(repr(release), str)
    return list(release if release.name == "x" else release.index)


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("name", ["equal to all", "unhashable", "one day", "one of no unit", "disguised"])
def test_no_cell_of_one_row_makes_a_question_fail(name, ask):
    cell, _ = CELLS[name]
    assert answered(objects([cell, *["a"] * 30, *[1] * 20]), ask) in ([1, "a"], ["a", 1])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize(("cell", "key"), CELLS.values(), ids=CELLS)
def test_nor_does_a_cell_of_many(cell, key, ask):
    found = answered(objects([cell] * 30 + ["common"] * 20), ask)
    assert set(found) == {"common"} | ({key} if key is not None else set())
    assert len(found) == len(set(found))


def test_bytes_that_are_no_text_stay_apart():
    parts = [b"\xff", b"\xfe", b"\xff", b"a"]
    offsets = np.array([0, 1, 2, 3, 4], dtype=np.int32)
    column = pa.Array.from_buffers(pa.string(), 4, [None, *map(pa.py_buffer, (offsets, b"".join(parts)))])
    keys = keys_of_rows(pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column]))))
    assert keys == ["\udcff", "\udcfe", "\udcff", "a"]


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_a_date_that_nanoseconds_cannot_say_is_a_key_of_its_own(day, ask):
    """But of the first and the last day with a time zone, which have no label in some."""
    days = np.array([day] * 30 + ["2013-01-31"] * 20, dtype="datetime64[s]")
    both = {pd.Timestamp(day), pd.Timestamp("2013-01-31")}
    for column in (pd.Series(days), pd.Series(days).astype("date32[pyarrow]")):
        found = answered(column, ask)
        assert len(found) == 2
        assert set(map(pd.Timestamp, found)) == both
    zoned = answered(pd.Series(days).dt.tz_localize("UTC"), ask)
    assert [pd.Timestamp(key).tz_localize(None) for key in zoned] == [pd.Timestamp("2013-01-31")]


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_durations_of_two_hundred_years_are_told_apart(ask):
    """Their keys are exact, and an index of them is one of durations."""
    ticks = [2**62 + 1, 2**62 + 2, -(2**63) + 2, 5]
    column = pd.Series(np.array(ticks * 20, dtype="timedelta64[ns]"))
    assert sorted(pd.Timedelta(key).value for key in answered(column, ask)) == sorted(ticks)
    far = pd.Series(np.array([10**12] * 20 + [7] * 20, dtype="timedelta64[s]"))
    assert answered(far, ask) == [pd.Timedelta("7 s")]
    frame = protected(pd.DataFrame({"x": column}), epsilon=10**4, delta=1e-4)
    assert frame.dp(**SURE).value_counts("x").index.dtype == "timedelta64[ns]"


def test_the_order_of_rows_shows_in_no_answer_of_strange_cells():
    cells = [Equal("z"), "a", 1, True, 1.0, "1", np.timedelta64(1, "ns"), np.int8(1)]
    said = {
        protected(pd.DataFrame({"x": objects(order * 10)}), epsilon=10**4, delta=1e-4)
        .dp(**SURE)
        .value_counts("x")
        .to_json()
        for order in itertools.islice(map(list, itertools.permutations(cells)), 0, None, 2000)
    }
    assert len(said) == 1


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize(
    ("terms", "error"),
    [
        ({"delta": 0}, BudgetExceededError),
        ({"delta": 1e-4, "plan": {50: 2}}, BudgetExceededError),
        ({"delta": 1e-4, "accountant": "gdp"}, ArgumentValueError),
    ],
    ids=["pure", "plan", "gdp"],
)
def test_a_budget_that_cannot_find_keys_names_lists_of_keys(terms, error, ask, monkeypatch):
    frame = protected(pd.DataFrame({"x": ["a"] * 30, "cost": 1}), epsilon=200, **terms)
    with refused(monkeypatch, frame, error, "list keys=,? (and )?leave out delta=|of listed keys"):
        ask(frame.dp(**SURE))


@pytest.mark.parametrize("accountant", ["hybrid", "rdp", "zcdp"])
def test_every_other_budget_pays_the_whole_delta(accountant):
    for ask in ASKED.values():
        frame = protected(pd.DataFrame({"x": ["a"] * 30, "cost": 1}), epsilon=10**4, delta=1e-4, accountant=accountant)
        ask(frame.dp(**SURE))
        assert frame.dp.session._state.delta == Fraction(1, 10**9)
        assert frame.dp.session._state.renyi > 0


@pytest.mark.parametrize("terms", [{}, {"unit": "uid", "max_rows": 1}], ids=["rows", "units"])
def test_counts_of_values_leave_out_missing_ones(terms):
    frame = pd.DataFrame({"x": ["a"] * 40 + ["b"] * 30, "uid": range(70), "cost": [1.0] * 40 + [None] * 30})
    counts = protected(frame, epsilon=10**4, delta=1e-4, **terms).dp(**SURE).groupby("x")["cost"].count()
    assert counts.to_dict() == {"a": 40}


def test_keys_of_one_column_are_not_those_of_another():
    frame = pd.DataFrame({"x": [1.0] * 30, "y": [2.0] * 20 + [np.nan] * 10})
    one = view(frame["x"])
    assert one.keys("x")[2](np.array([0])) == [1.0]
    q = protected(frame, epsilon=10**4, delta=1e-4).dp(**SURE)
    assert q.value_counts("x").to_dict() == {1.0: 30}
    assert q.value_counts("y").to_dict() == {2.0: 20}
    cache: dict = {}
    kept = [PandasView(frame, cache, nulls).keys("y") for nulls in ({}, {"y": 7.0})]
    assert [len(names(np.arange(count))) for _, count, names in kept] == [1, 2]


@pytest.mark.parametrize("name", ["keys", "sums"])
def test_the_price_is_for_all_keys_that_a_unit_can_touch(name):
    bounds = {"unit": "uid", "max_rows": 4, "max_groups": 2, "max_rows_per_group": 2, "neighbors": "replace_one"}
    frame = pd.DataFrame({"x": ["a"] * 30, "uid": range(30), "cost": 1})
    frame = protected(frame, epsilon=10**4, delta=1e-4, **bounds)
    ASKED[name](frame.dp(epsilon=1, delta=1e-6))
    assert frame.dp.session._state.epsilon == 1
    assert frame.dp.session._state.delta == Fraction(1, 10**6)


def test_gaussian_noise_gets_half_of_delta_and_the_threshold_the_other():
    unit = PrivacyUnit("uid", 60, 60, 1)
    question = FoundCounts((KeyColumn("x", Kind("key")),))
    terms = Terms(unit=unit, price=Price(Fraction(1), Fraction(1, 10**6)))
    selection = question.selection(terms)
    half = Fraction(1, 2 * 10**6)
    assert selection.noise == DiscreteGaussian.calibrate(KeyCounts(("x",)).sensitivity(unit), Fraction(1), half, None)
    assert selection.delta == half


def test_half_the_time_is_said_of_the_least_such_key():
    selection = OptimalSelection(Fraction(1), Fraction(1, 10**6))
    least = listed_half_the_time(selection)
    assert chance_bounds(selection.epsilon, selection.delta, least, 64)[0] >= 1 << 63
    assert chance_bounds(selection.epsilon, selection.delta, least - 1, 64)[1] < 1 << 63


def test_found_bools_are_bools():
    frame = protected(pd.DataFrame({"x": [True] * 30 + [False] * 20}), epsilon=10**4, delta=1e-4)
    found = frame.dp(**SURE).unique("x")
    assert found.dtype == bool
    assert list(found) == [False, True]
