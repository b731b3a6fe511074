"""The page of the lectures: each call of its tables gives the number beside it, each block exactly what stands below it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import page_runs

PAGES = [
    Path(__file__).parent.parent / "docs" / name
    for name in (
        "background/lectures.md",
        "mechanisms/composition.md",
        "mechanisms/selection.md",
        "mechanisms/smooth-sensitivity.md",
    )
]
ROW = re.compile(r"^\| .* \| `(?P<call>.+)` \| (?P<gives>[^|]+) \|$", re.MULTILINE)
ITEM = re.compile(r"^\* .*\\\n  `(?P<call>.+)` gives (?P<gives>.+)$", re.MULTILINE)
RANDOM = r"dp\(|\.answer\(|median_mechanism\("  # drawn anew each time, and compared by form elsewhere
LEAST_ROWS = {"lectures": 60, "composition": 12}


def agree(found: Any, told: Any) -> bool:
    """Whether all numbers agree in the digits that are told."""
    if isinstance(told, list | tuple):
        entries = list(found)
        return len(entries) == len(told) and all(map(agree, entries, told))
    if isinstance(told, bool | str) or told is None:
        return bool(found == told)
    digits, _, power = repr(told).partition("e")
    places = len(digits.partition(".")[2]) - int(power or 0)
    return abs(float(found) - told) <= 0.5001 * 10.0**-places


def as_told(cell: str) -> Any:
    text = cell.strip().replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+", cell.strip()) else cell.strip()
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def scope_of(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], list[str]]:
    """Run all blocks; what those that ask no table say has to be exactly what stands below."""
    monkeypatch.chdir(folder)
    scope: dict[str, Any] = {}
    wrong = []
    for language, code, told in page_runs.BLOCK.findall(text):
        if language != "python":
            continue
        found = page_runs.run_python(code, scope)
        if not re.search(RANDOM, code) and found.split() != told.split():
            wrong.append(f"{code}\ngives {found}not {told}")
    return scope, wrong


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem == "lectures" else []) for page in PAGES],
)
def test_every_line_gives_its_number(page, tmp_path, monkeypatch):
    text = page.read_text()
    scope, wrong = scope_of(text, tmp_path, monkeypatch)
    tables = [part.splitlines()[2:] for part in text.split("\n\n") if "| call |" in part.partition("\n")[0]]
    found_rows = [ROW.fullmatch(line) for table in tables for line in table]
    assert all(found_rows), "a row is not read"
    rows = [match.groupdict() for match in (*found_rows, *ITEM.finditer(text)) if match]
    assert len(rows) == len(found_rows) + len(re.findall(r"` gives ", text)) >= LEAST_ROWS.get(page.stem, 0)
    for row in rows:
        found = eval(row["call"], scope)
        if not agree(found, as_told(row["gives"])):
            wrong.append(f"{row['call']} gives {found!r}, not {row['gives']}")
    assert not wrong, "\n".join(wrong)


def test_a_wrong_number_is_found():
    assert agree(0.7311, 0.73)
    assert agree(np.array([1, 2.004]), [1, 2.0])
    assert not agree(0.74, 0.73)
    assert not agree([1, 2], [1, 3])
    assert not agree([1], [1, 2])
    assert not agree("scale 2", "scale 1")
    assert not agree(1.2e-6, 1.1e-6)
    assert as_told(" 48,842 ") == 48842
    assert as_told(" scale 2 rows ") == "scale 2 rows"
