"""Published files: what stands in them is read back by the line in the documentation, and is no formula in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh
from support.questions import STREAMS
from support.questions import table as visits
from support.yesterday import QUESTIONS, price, promised

from pandas_dp.commands.answer_files import AnswerFiles
from pandas_dp.release.csv import NUMBER, SIGNS, guarded, one_name

ROOT = Path(__file__).parent.parent.parent
FORMULAS = [
    "=1+1",
    "+A1",
    "-A1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "'=1",
    "''=1",
    "\uff1d1",
    "-1+1",
    '=A1&"x"',
]
KEYS = [
    "C",
    "C#",
    "#none",
    "a#b#c",
    'say "#"',
    "1, 2",
    "two\nlines",
    "'s-Gravenhage",
    "-1",
    "NA",
    "null",
    "None",
    "é€",
    "a\\b",
]


def read(text: str) -> pd.DataFrame:
    """As the documentation reads it."""
    (line,) = re.findall(r'`pd\.(read_csv\("cost\.csv", .*?\))`', (ROOT / "docs" / "calls.md").read_text())
    back: pd.DataFrame = eval(f"pd.{line}".replace('"cost.csv"', "io.StringIO(text)"))
    return back


def cells(text: str) -> list[str]:
    """What a spreadsheet makes of the lines below the comments."""
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("# "))
    return [cell for row in csv.reader(io.StringIO(body, newline="")) for cell in row]


def is_formula(cell: str) -> bool:
    return cell.startswith(SIGNS) and not re.fullmatch(r"-?(\d.*|inf)", cell)


def plain(cell: str) -> str:
    """A key without its guard."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("' ").startswith(SIGNS) else cell


def asked(frame: pd.DataFrame, **terms: Any) -> Any:
    frame.dp.protect(epsilon=1000, delta=1e-3, name=fresh(), **terms)
    return frame.dp(epsilon=100)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("key", KEYS + FORMULAS)
def test_any_key_comes_back_and_is_no_formula(key):
    frame = pd.DataFrame({"lang": [key, "C"] * 100, "x": [1, 2] * 100})
    d = asked(frame)
    listed = list(dict.fromkeys([key, "other key"]))
    for made in (
        d.histogram("lang", keys=listed),
        d.groupby(["lang", "x"], keys={"lang": listed, "x": [1, 2]}).size(),
        d.groupby("lang", keys=listed).agg({"x": ["count", "mean"]}, bounds={"x": (0, 3)}),
    ):
        text = made.to_csv()
        labels = made.index.get_level_values("lang").tolist()
        assert [plain(str(cell)) for cell in read(text)["lang"]] == labels
        assert not any(map(is_formula, cells(text)))
    across = d.crosstab("x", "lang", keys={"x": [1, 2], "lang": listed})
    text = across.to_csv()
    assert not any(map(is_formula, cells(text)))
    assert [plain(name) for name in read(text).columns[1:4]] == [
        f"{key} {part}" for part in ("value", "lower", "upper")
    ]
    assert read(text).iloc[:, 1:].to_numpy().tolist() == across._legible(across.interval()).to_numpy().tolist()
    text = d.mode("lang", keys=[key]).to_csv()
    assert plain(str(read(text)["value"].iloc[0])) == key
    assert not any(map(is_formula, cells(text)))


def test_names_of_columns_are_no_formulas():
    frame = pd.DataFrame({"=x#": ["a", "b"] * 100})
    text = asked(frame).histogram("=x#", keys=["a", "b"]).to_csv()
    assert read(text).columns.tolist() == ["'=x#", "value", "lower", "upper"]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in STREAMS])
def test_every_answer_comes_back(name):
    """One row of names, the labels, and each number as it was shown."""
    frame = visits()
    frame.dp.protect(epsilon=10, delta=1e-3, name=fresh(), **promised(name))
    release = QUESTIONS[name](frame.dp(**price(name)))
    text, shown = release.to_csv(), release._legible(release.interval())
    back = read(text)
    levels = shown.index.nlevels
    assert back.columns.tolist()[levels:] == [str(one_name(column)) for column in shown.columns]
    labels, there = shown.index.get_level_values(0), back.iloc[:, 0]
    dates = len(labels) and all(isinstance(label, pd.Timestamp) for label in labels)  # days are written without an hour
    plain_label = pd.Timestamp if dates else str
    assert [None if pd.isna(label) else plain_label(label) for label in there] == [
        None if pd.isna(label) else plain_label(label) for label in labels
    ]
    assert not any(map(is_formula, cells(text)))
    for place, column in enumerate(shown.columns):
        told, found = shown[column], back.iloc[:, levels + place]
        pairs = list(zip(told, found, strict=True))
        if told.dtype.kind in "iuf" or all(isinstance(x, float) or NUMBER.fullmatch(str(x)) for x in told):
            pairs = [(float(x), float(y)) for x, y in pairs]
        assert all(str(x) == str(y) or (pd.isna(x) and pd.isna(y)) for x, y in pairs), pairs


def test_two_columns_of_one_name_are_told_apart():
    table = pd.DataFrame([[1, 2, 3]], columns=pd.MultiIndex.from_tuples([("a b", "c"), ("a", "b c"), ("a", "b c_")]))
    assert guarded(table).columns.tolist() == ["a b c", "a b c_", "a b c__"]


def test_numbers_are_not_guarded():
    assert [bool(NUMBER.fullmatch(x)) for x in ("-1", "+1.5", "-1e-5", "-1+1", "--1", "-A1", "")] == [True] * 3 + [
        False
    ] * 4
    kept = pd.DataFrame({"x": [-1.5, np.nan], "y": ["-2", None]}, index=pd.Index([-3, -4]))
    assert guarded(kept).to_csv() == kept.to_csv()


def test_files_of_answers_hold_no_formulas(tmp_path):
    frame = pd.DataFrame({"lang": ["=1+1", "C"] * 100})
    made = AnswerFiles(str(tmp_path), "csv")
    made.add("answer", asked(frame).histogram("lang", keys=["=1+1", "C"]), False)
    assert pd.read_csv(tmp_path / "answer.csv", comment="#")["lang"].tolist() == ["'=1+1", "C"]


def test_a_changed_object_is_written_as_pandas_does():
    frame = pd.DataFrame({"lang": ["=1+1", "C"] * 100})
    made = asked(frame).histogram("lang", keys=["=1+1", "C"])
    made.iloc[0] = 7
    assert made.to_csv() == made._current().to_csv()
