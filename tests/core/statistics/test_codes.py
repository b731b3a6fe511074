"""One entry a row, whatever its value; one row moves one entry; refused where the number of rows is private."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.views import ArrayView

from pandas_dp.core.partition import Bins, Keys
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.codes import Codes
from pandas_dp.errors import ArgumentValueError

UNIT = PrivacyUnit(relation=NeighboringRelation.REPLACE_ONE)
VALUES = st.sampled_from([0, 1, 2, 7, -3, None])
PARTITIONS = [Keys("x", (2, 0)), Keys("x", (2, 0), other=True), Keys("x", (0, 1, 2), other=True, null=True)]


@pytest.mark.parametrize("by", [*PARTITIONS, Bins("x", (-1, 1, 2), null=True)])
@settings(max_examples=50, deadline=None)
@given(rows=st.lists(VALUES, min_size=1, max_size=8), other=VALUES, data=st.data())
def test_replacing_a_row_moves_its_own_entry_alone(by, rows, other, data):
    place = data.draw(st.integers(0, len(rows) - 1))
    after = [*rows[:place], other, *rows[place + 1 :]]
    one, two = (Codes(by).compute(ArrayView({"x": cells}), UNIT).open() for cells in (rows, after))
    assert len(one) == len(two) == len(rows)
    assert set(one) | set(two) <= set(range(-1, by.count))
    moved = [b - a for a, b in zip(one, two, strict=True)]
    assert not any(moved[:place] + moved[place + 1 :])
    bound = Codes(by).sensitivity(UNIT)
    assert abs(moved[place]) <= bound.linf <= bound.l1
    assert moved[place] ** 2 <= bound.l2_squared
    assert bound.touched == 1


def test_codes_of_listed_other_and_missing_values():
    view = ArrayView({"x": [2, 0, 5, None]})
    codes = [Codes(by).compute(view, UNIT).open() for by in PARTITIONS]
    assert codes == [[0, 1, -1, -1], [0, 1, 2, -1], [2, 0, 3, 4]]


@pytest.mark.parametrize(
    "unit", [PrivacyUnit(), PrivacyUnit("u", 1, 1, 1, UNIT.relation), PrivacyUnit("u", 3, 1, 3), PrivacyUnit("u")]
)
def test_refused_where_the_number_of_rows_is_private(unit):
    codes = Codes(PARTITIONS[0])
    for ask in (lambda: codes.sensitivity(unit), lambda: codes.compute(ArrayView({"x": [1], "u": [1]}), unit)):
        with pytest.raises(ArgumentValueError, match="shows how many rows there are"):
            ask()
