"""One row more, first or last, changes nothing that any question reads of another row, in any dtype.

A question sees rows through a view alone. So whatever the questions of `support.questions` read, which a new one joins by
itself, is read again of a table with one hostile row more, and has to tell of the other rows what it told before. That
statistics move by no more than they state, row by row, is in `test_every_dtype.py`.
"""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh
from support.hostile_rows import DTYPES, column, columns, each, facts, objects, seen
from support.questions import BY_UNIT, EVERY, FOUND, ROW_BY_ROW, STREAMS, table

from pandas_dp.core.measurement import View
from pandas_dp.core.partition import decoded
from pandas_dp.engines import encode
from pandas_dp.engines import pandas as view_module
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError

READS = [name for name, value in vars(View).items() if callable(value) and not name.startswith("_")]
TABLE = table().iloc[:15].assign(uid=lambda d: d.uid + 2**53)
PRICE = {"epsilon": 10**5}


def reads(question: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Any, ...]]:
    """What a question reads of a view, by its text."""
    seen: dict[str, tuple[Any, ...]] = {}

    def logged(name: str, original: Any) -> Any:
        def read(view: Any, *args: Any) -> Any:
            if name != "block_results":
                seen[f"{name}{args}"] = (name, *args)
            else:
                seen[name] = (name,)
            return original(view, *args)

        return read

    unit = {"unit": "uid", "max_rows": 4} if question in BY_UNIT else {}
    relation = {"neighbors": "replace_one", "rows": True} if question in ROW_BY_ROW else {}
    frame = table()
    frame.dp.protect(epsilon=10**6, delta=0.5, delta_reserved=0.4, name=fresh(), **unit, **relation)
    with monkeypatch.context() as patch:
        for name in [*READS, "keys"]:
            patch.setattr(PandasView, name, logged(name, getattr(PandasView, name)))
        answer = (EVERY | FOUND)[question](frame.dp(**PRICE, **({"delta": 1e-6} if question in FOUND else {})))
        if question in STREAMS:
            with contextlib.suppress(ArgumentTypeError):  # of candidates that are whole tables
                answer.ask("ward == 'A'")
    return seen


@cache
def every_read() -> dict[str, tuple[Any, ...]]:
    """What all questions read."""
    with pytest.MonkeyPatch.context() as patch:
        return {text: read for question in EVERY | FOUND for text, read in reads(question, patch).items()}


def again(read: tuple[Any, ...], frame: pd.DataFrame, others: np.ndarray) -> Any:
    """What a view says of rows that are not hostile; codes by what they stand for, or by the rows that share one."""
    name, *args = read
    view = PandasView(frame, {})
    try:
        if name == "block_results":
            return seen(frame, others)
        found = getattr(view, name)(*args)
    except ArgumentTypeError:
        return "refused"
    if name in ("keys", "combinations"):
        codes, _, names = found
        return [None if code < 0 else repr(names(np.array([code]))) for code in codes[others].tolist()]
    if name == "units":
        codes = found[0][others].tolist()
        return [code if code < 0 else codes.index(code) for code in codes]
    if name == "coded":
        return decoded(*found)[others].tolist()
    if name in ("column", "computed"):
        values, present = found
        mask = np.ones(len(values), dtype=bool) if present is None else present
        return [repr(value) if there else None for value, there in zip(values[others], mask[others], strict=True)]
    return (np.ones(len(others), dtype=bool) if found is None else found)[others].tolist()


def moved_by_questions(name: str) -> list[Any]:
    """What a view says otherwise of a column beside hostile cells: the read, and these."""
    dtype, moved = DTYPES[name], []
    for place in TABLE:
        cells = TABLE[place].tolist()
        plain = column(dtype, objects(cells))
        if plain is None or (place == "uid" and plain.dtype.kind in "mM"):  # beyond Python's dates
            continue
        asked = [read for text, read in every_read().items() if repr(place) in text or read[0] == "block_results"]
        all_of = np.ones(len(cells), dtype=bool)
        base = TABLE.assign(**{place: plain})
        expected = [again(read, base, all_of) for read in asked]
        known: set[Any] = set()
        for hostile, others, more in columns(dtype, cells):
            held = facts(more, others) if dtype == "category" else len(known)
            if held in known:  # of the others pandas keeps what it kept beside other cells
                continue
            known.add(held)
            rows = np.where(others, np.cumsum(others) - 1, 0)
            frame = TABLE.iloc[rows].reset_index(drop=True).assign(**{place: more})
            for read, wanted in zip(asked, expected, strict=True):
                if again(read, frame, others) != wanted:
                    moved.append((read, hostile))
    return moved


@pytest.mark.one_in(24)
@pytest.mark.parametrize("name", each(DTYPES))
def test_rows_more_change_nothing_that_a_question_reads_of_others(name):
    assert moved_by_questions(name) == []


def test_questions_read_all_that_a_view_shows():
    # periods are read in budgets that have them, and there by owners of rows alone: see tests/core/test_period_tables.py
    assert {read[0] for read in every_read().values()} == {*READS, "keys"} - {"rows", "periods"}


def raw(column: pd.Categorical) -> Any:
    """Categories as they are listed."""
    return column.codes, column.categories.astype(object).to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "name", "fault", "wanted"),
    [(encode, "forms", raw, {"units", "keys"}), (view_module, "forms", raw, {"block_results"})],
    ids=["codes", "blocks"],
)
def test_a_view_that_looks_at_the_list_is_found(module, name, fault, wanted, monkeypatch):
    monkeypatch.setattr(module, name, fault)
    assert {read[0] for read, _ in moved_by_questions("category")} >= wanted
