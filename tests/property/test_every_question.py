"""Every question on every way to hold the same table: the same exact integers, the same shape; also on no rows and on one.

What the first look at the data hands to its mechanism is compared, so equal means equal laws at every price. Blocks are drawn
at random: their answers are compared in type alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from support import each_kind
from support.elsewhere import DRAWN, QUESTIONS, with_nulls
from support.frames import fresh
from support.questions import BY_UNIT, FOUND, ROW_BY_ROW, table

from pandas_dp.core import gate

SORTED = {"value_counts", "value_counts as shares"}  # by the noisy counts
PRICE = {"epsilon": 10**5, "delta": 1e-6}
PURE = {"epsilon": 10**5}


ARROW = {"i": "int64[pyarrow]", "f": "double[pyarrow]", "M": pd.ArrowDtype(pa.timestamp("us")), "O": "string[pyarrow]"}
ARROW["m"] = pd.ArrowDtype(pa.duration("us"))
NULLABLE = {"i": "Int64", "f": "Float64", "O": "string"}


def to(frame: pd.DataFrame, dtypes: dict[str, Any]) -> pd.DataFrame:
    """Every column in another dtype of the same kind."""
    return frame.astype({name: dtypes.get(frame[name].dtype.kind, frame[name].dtype) for name in frame})


def arrow(frame: pd.DataFrame) -> pd.DataFrame:
    return to(frame, ARROW)


def chunked(frame: pd.DataFrame) -> pd.DataFrame:
    """Arrow columns of many chunks, one of them empty."""
    whole = arrow(frame)
    ends = [0, 7, 7, 64, len(frame)]
    parts = {name: pa.chunked_array([pa.array(whole[name].array[a:b]) for a, b in pairwise(ends)]) for name in whole}
    return pd.DataFrame({name: pd.arrays.ArrowExtensionArray(values) for name, values in parts.items()})


def sliced(frame: pd.DataFrame) -> pd.DataFrame:
    """The table amid other rows, of which it is a slice without a copy."""
    return pd.concat([frame.iloc[:9], frame, frame.iloc[:4]], ignore_index=True).iloc[9 : 9 + len(frame)]


def sliced_arrow(frame: pd.DataFrame) -> pd.DataFrame:
    return sliced(arrow(frame))


def categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as categories whose codes run backwards, with one that no row has."""
    listed = ["D", "C", "B", "A"]
    return frame.assign(**{name: pd.Categorical(frame[name], categories=listed) for name in ("ward", "to")})


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sample(frac=1, random_state=3)


def many_levels(frame: pd.DataFrame) -> pd.DataFrame:
    index = pd.MultiIndex.from_arrays([frame["uid"] % 3, frame["cost"].to_numpy()], names=["cost", None])
    return frame.set_axis(index)


FORMS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "duplicate index": lambda f: f.set_axis([0] * len(f)),
    "many levels": many_levels,
    "times as index": lambda f: f.set_axis(pd.date_range("2020", periods=len(f), freq="s", tz="UTC")),
    "shuffled": shuffled,
    "sliced": sliced,
    "nullable": lambda f: to(f, NULLABLE),
    "text": lambda f: f.astype({"ward": "str", "to": "str"}),
    "python text": lambda f: f.astype({"ward": "string[python]", "to": "string[python]"}),
    "categories": categories,
    "arrow": arrow,
    "chunked": chunked,
    "sliced arrow": sliced_arrow,
}

WITH_MISSING = ("nullable", "arrow", "chunked", "sliced arrow")  # dtypes of whole numbers too
PARTS = 3  # of the forms


def sorted_rows(name: str, exact: Any) -> Any:
    """One randomised answer a row follows the rows: their order, which some forms change, is no part of the law."""
    return sorted(exact) if name in ROW_BY_ROW else exact


def answer(name: str, frame: pd.DataFrame) -> Any:
    """What a question returns of a frame, at a price without noise worth speaking of."""
    unit = {"unit": "uid", "max_rows": 4} if name in BY_UNIT else {}
    relation = {"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {}
    terms = {"epsilon": 10**6, "delta": 0.5, "delta_reserved": 0.4, "name": fresh()} | unit | relation
    frame.dp.protect(**terms)
    return QUESTIONS[name](frame.dp(**(PRICE if name in FOUND else PURE))).value


def shape(value: Any) -> Any:
    """Type, labels and dtypes of an answer: all that must be public."""
    if isinstance(value, pd.DataFrame):
        return "frame", value.index, list(value.columns), list(value.dtypes)
    if isinstance(value, pd.Series):
        return "series", value.index, value.name, value.dtype
    return "Timestamp" if value is pd.NaT else type(value).__name__  # the one missing date there is


def equal_shape(one: Any, other: Any) -> bool:
    first, second = shape(one), shape(other)
    if isinstance(first, str) or isinstance(second, str):
        return bool(first == second)
    return first[0] == second[0] and first[1].equals(second[1]) and first[2:] == second[2:]


def cases() -> Iterator[Any]:
    """By turns with missing values and without: each question, and each form, meets both."""
    for number, name in enumerate(QUESTIONS):
        for part in range(PARTS):
            make = with_nulls if name in DRAWN or (number + part) % 2 else table
            yield each_kind.case(name, make, part, id=f"{name}-{make.__name__}-{part}")


@pytest.mark.one_in(5)  # no multiple of the parts
@pytest.mark.parametrize(("name", "make", "part"), [*cases()])
def test_the_same_table_in_another_form_has_the_same_integers(name, make, part, looks):
    """Of what is drawn at random the type alone is compared: there the table with missing values stands for both."""
    first, exact_of_numpy = answer(name, make()), looks[0]
    # whole numbers of a dtype that has missing values go one by one: those of NumPy's are floats beside one
    whole = {"cost": "Int64"} if make is table else {}
    answer(name, make().astype(whole))
    of_whole = looks[0]
    for form, change in [*FORMS.items()][part::PARTS]:
        exact = of_whole if form in WITH_MISSING else exact_of_numpy
        other = answer(name, change(make()))
        assert type(other) is type(first), form
        if name not in DRAWN:
            assert sorted_rows(name, looks[0]) == sorted_rows(name, exact), form
            assert name in FOUND or equal_shape(first, other) or name in SORTED, form


@pytest.mark.parametrize(
    "name", each_kind.questions(n for n in QUESTIONS if n not in ROW_BY_ROW)
)  # those answer each row
@pytest.mark.one_in(8)
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row_are_answered_in_the_same_shape(name, rows):
    whole = answer(name, table())
    for form in ("as it is", "arrow", "categories"):
        frame = table() if form == "as it is" else FORMS[form](table())
        few = answer(name, frame.iloc[:rows].copy())
        if name == "found mode":
            assert few is None, form  # no key was found
            continue
        if name in FOUND:
            assert type(few) is type(whole), form
            assert len(few) <= rows
            continue
        assert equal_shape(whole, few) or name in SORTED or name in DRAWN, form
        assert few is pd.NaT or type(few) is type(whole), form


def kinds(part: Any) -> str:
    """Of what a statistic is made: its class, and those of its partition and of the statistics in it."""
    if isinstance(part, tuple):
        return " ".join(sorted({kinds(one) for one in part}))
    if not type(part).__module__.startswith(("pandas_dp.core.statistics", "pandas_dp.core.partition")):
        return ""
    held = [kinds(getattr(part, field.name)) for field in fields(part)]
    return f"{type(part).__name__}({' '.join(sorted({each for each in held if each}))})"


@pytest.mark.slow
def test_plain_pytest_asks_for_every_kind_of_statistic(monkeypatch):
    """Without these names it would compare fewer of them than there are."""
    seen: dict[str, set[str]] = {}
    compute = gate.computed

    def computed(statistic: Any, *view: Any) -> Any:
        seen.setdefault(name, set()).add(kinds(statistic))
        return compute(statistic, *view)

    monkeypatch.setattr(gate, "computed", computed)
    for name in QUESTIONS:
        answer(name, table())
    assert seen.keys() >= each_kind.ONE
    assert set().union(*seen.values()) == set().union(*(seen[name] for name in each_kind.ONE))
