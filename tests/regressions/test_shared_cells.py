"""A block of a user's function has cells of its own, and all that is within them: nothing is left in one for the next."""

from __future__ import annotations

import sys
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pandas_dp.engines.pandas import PandasView

Pair = namedtuple("Pair", "name value")


@dataclass
class Visit:
    name: str


class Slotted:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Text(str):
    __slots__ = ()


def fresh() -> str:
    return "".join(["éa"] * 20)


def nested(kind):
    """A cell with a text far inside."""

    @dataclass(frozen=True, slots=True)
    class Local:
        name: str

    array = np.empty(1, dtype=object)
    array[0] = fresh()
    return {
        "list": lambda: [fresh()],
        "tuple": lambda: (fresh(), 1),
        "set": lambda: {fresh()},
        "frozenset": lambda: frozenset([fresh()]),
        "keys of dict": lambda: {fresh(): 1},
        "values of dict": lambda: {"a": fresh()},
        "deep": lambda: [({"a": {1: frozenset([(fresh(),)])}},)],
        "array": lambda: array,
        "named tuple": lambda: Pair(fresh(), 1),
        "object": lambda: Visit(fresh()),
        "object with slots": lambda: Slotted(fresh()),
        "object of a local class": lambda: Local(fresh()),
        "text of a class": lambda: Text(fresh()),
        "text of numpy": lambda: np.str_(fresh()),
        "partial": lambda: partial(print, fresh()),
    }[kind]()


def texts(cell):
    """All long texts that are within a cell."""
    if isinstance(cell, str):
        return [cell] if len(cell) > 1 else []
    if isinstance(cell, dict):
        return [text for pair in cell.items() for one in pair for text in texts(one)]
    if isinstance(cell, list | tuple | set | frozenset | np.ndarray):
        return [text for one in cell for text in texts(one)]
    return texts(getattr(cell, "name", None) or getattr(cell, "args", ()))


KINDS = [
    *("list", "tuple", "set", "frozenset", "keys of dict", "values of dict", "deep", "array", "named tuple", "object"),
    *("object with slots", "object of a local class", "text of a class", "text of numpy", "partial"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_share_no_text_within_cells(kind):
    """Python keeps the UTF-8 form of a text inside it once somebody asked for it, and its size shows that."""
    cell = nested(kind)
    column = np.empty(8, dtype=object)
    column[:] = [cell] * 8
    sizes = []

    def looked(block):
        found = [text for one in block["c"] for text in texts(one)]
        sizes.extend(map(sys.getsizeof, found))
        pa.array(found, pa.string())
        return float(len(found))

    blocks = np.arange(8) % 4
    assert PandasView(pd.DataFrame({"c": column}), {}).block_results(looked, blocks, 4) == [2.0] * 4
    assert len({*sizes}) == 1


@pytest.mark.parametrize("cell", [[1], {"a": [1]}, ([1],), [[1], [2]], {"a": {"b": {1}}}, Visit("x"), Slotted("x")])
def test_what_one_block_writes_into_a_cell_no_other_sees(cell):
    column = np.empty(6, dtype=object)
    for place in range(6):
        column[place] = cell
    before = repr(cell) if not isinstance(cell, Slotted) else cell.name
    seen = []

    def writes(block):
        for one in block["c"]:
            seen.append(one.name if isinstance(one, Slotted) else repr(one))
            while isinstance(one, tuple | dict):
                one = one[0] if isinstance(one, tuple) else next(iter(one.values()))
            if isinstance(one, list):
                one.append(one[0])
            elif isinstance(one, set):
                one.add(99)
            else:
                one.name = "written"
        return 1.0

    frame = pd.DataFrame({"c": column})
    PandasView(frame, {}).block_results(writes, np.arange(6) // 2, 3)
    assert {*seen} == {before}
    assert {one.name if isinstance(one, Slotted) else repr(one) for one in frame["c"]} == {before}


@pytest.mark.parametrize("cell", [pd.Timestamp(0), pd.Timedelta(1), pd.Period("2020", "D"), Fraction(1, 3)])
def test_no_block_leaves_a_mark_on_a_cell(cell):
    """These have room for attributes, or let their own be written."""
    column = np.empty(4, dtype=object)
    column[:] = [cell] * 4
    name = "_numerator" if isinstance(cell, Fraction) else "mark"
    seen = []

    def marks(block):
        for one in block["c"]:
            seen.append(getattr(one, name, None))
            setattr(one, name, 77)
        return 1.0

    PandasView(pd.DataFrame({"c": column}), {}).block_results(marks, np.arange(4), 4)
    assert 77 not in seen
    assert getattr(cell, name, None) != 77


def test_cells_in_blocks_are_what_they_were():
    """Those of classes and functions that no name leads to as well."""

    def function():
        return 1

    class Gone:
        pass

    shared = [1]
    cells = [[], (), {}, set(), [None, np.nan, pd.NaT, pd.NA], (1, 2.5, 10**30, 1j, b"x", True), {"a": {"b": [1]}}]
    cells += [
        Decimal("1.5"),
        Fraction(1, 3),
        pd.Timestamp(0, tz="Europe/Berlin"),
        pd.Interval(0, 1),
        "\ud800",
        ["\ud800"],
    ]
    cells += [Visit("x"), Pair("a", 1), np.float32(1.5), [function, Gone, len, np, np.sum], [shared, shared], ...]
    column = np.empty(len(cells), dtype=object)
    column[:] = cells
    held = []
    PandasView(pd.DataFrame({"c": column}), {}).block_results(
        lambda block: held.extend(block["c"]), np.zeros(len(cells), dtype=np.intp), 1
    )
    assert list(map(repr, held)) == list(map(repr, cells))
    assert list(map(type, held)) == list(map(type, cells))
    found = held[-3]
    assert found == [function, Gone, len, np, np.sum]
    assert held[-2][0] is held[-2][1]


def deep():
    cell = ()
    for _ in range(10**6):
        cell = (cell,)
    return cell


def cyclic():
    cell: list = [1]
    cell.append(cell)
    return cell


class Unwilling:
    def __reduce_ex__(self, protocol):
        raise SystemExit


class Endless:
    def __reduce__(self):
        return Endless, (), {"next": Endless()}


@pytest.mark.parametrize("cell", [deep(), cyclic(), Unwilling(), Endless(), [Unwilling()], (i for i in [1]), [deep()]])
def test_a_cell_that_cannot_be_copied_is_missing_and_ends_nothing(cell):
    column = np.empty(3, dtype=object)
    column[:] = ["a", cell, "b"]
    found = []
    PandasView(pd.DataFrame({"c": column}), {}).block_results(
        lambda block: found.extend(block["c"]), np.zeros(3, dtype=np.intp), 1
    )
    assert found == ["a", None, "b"]


def test_a_single_letter_has_one_size_whatever_a_block_did():
    """Python has one object for each of the first 256 letters, which is every block's."""
    letter = "".join(["é", "ß"])[1]
    sizes = []

    def sized(block):
        sizes.append({sys.getsizeof(cell) for cell in block["c"]})
        pa.array(block["c"].tolist())
        return 1.0

    column = pd.Series([letter, letter.upper().lower()[:1], chr(0xDF), "ÿ"] * 2, dtype=object)
    PandasView(pd.DataFrame({"c": column}), {}).block_results(sized, np.arange(8) // 4, 2)
    assert sizes[0] == sizes[1]
