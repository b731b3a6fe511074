"""A census of intervals: every question there is, on tables of every shape, asked again and again: what is printed holds.

An interval is refused when the chance of so few covers, at a coverage of 94.5 %, is below 1e-4, and is so once more, far
smaller, among ten times as many new draws: right intervals fail the whole grid with probability below 1e-6. There is no upper
limit on coverage, for whole numbers, ladders and intervals that end at a bound cover more, but one on the width beside the
error that is seen, see `support.census.WIDE`. Power: of 120 draws a coverage of 80 % has too few covers with probability 0.9, a
single draw whose interval is 2.5 times too wide too few large errors with 0.97; and where all intervals are a fifth too narrow
(of the smaller cases two fifths), all of them together have too few covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from scipy.stats import binom
from support import census, questions
from support.census import (
    BLOCK_RANKS,
    BLOCKS,
    DEAR,
    EVERY,
    FALSE_ALARMS,
    FLAGGED,
    GRID,
    LEAST,
    NONE,
    RECORDED,
    STREAMED,
    TABLES,
    TOLD,
    TRUE,
    Entry,
    ends,
    entries,
    factor,
    faults,
    goes,
    number,
    release_of,
)
from support.each_kind import ONE

DRAWS, DEAR_DRAWS, AGAIN = 120, 40, 10
JUDGED = [name for name in EVERY if name in TRUE or name in TOLD]
SMALL = ("count", "sum", "histogram", "mean", "median with error bar")
INDEPENDENT = ("group sums", "pivot table of sums", "group means")  # noise of their numbers

Found = dict[tuple[str, str], Entry]


def asked(case: str, names: Iterable[str], draws: int | None = None) -> Found:
    """What is printed of each number of each question that goes with the terms."""
    return {
        (name, label): entry
        for name in names
        if goes(case, name)
        for label, entry in entries(case, name, draws or (DEAR_DRAWS if name in DEAR else DRAWS)).items()
    }


def refused(case: str, found: Found, alarms: float) -> list[str]:
    """Numbers whose intervals do not hold, or are too wide, by what was asked and by what is asked anew."""
    flagged: dict[str, list[str]] = {}
    for (name, label), entry in found.items():
        if faults(entry, factor(name), FLAGGED):
            flagged.setdefault(name, []).append(label)
    limit = alarms / (2 * len(found) * FLAGGED)
    return [
        f"{name} {label}: {', '.join(wrong)}"
        for name, suspects in flagged.items()
        for label, entry in entries(case, name, AGAIN * DRAWS).items()
        if label in suspects and (wrong := faults(entry, factor(name), limit))
    ]


def chance(found: Iterable[Entry]) -> float:
    """Of so few covers of numbers whose noise is independent."""
    every = [entry.covers for entry in found if entry.judged]
    return float(binom.cdf(sum(covers.sum() for covers in every), sum(map(len, every)), LEAST))


def test_every_question_is_judged_or_said_to_have_no_interval():
    named = [*TRUE, *TOLD, *NONE, *STREAMED, *BLOCK_RANKS, *RECORDED, *BLOCKS]
    assert [name for name in EVERY if named.count(name) != 1] == [], "TRUE in tests/support/census.py"


@pytest.mark.parametrize("name", [*NONE, *(pytest.param(name, marks=pytest.mark.slow) for name in BLOCK_RANKS)])
def test_no_interval_is_printed_where_none_is_known(name):
    case = next(case for case in GRID if goes(case, name))
    assert all(math.isnan(number(end)) for side in ends(release_of(case, name)) for end in side)


def test_a_small_census():
    """Right intervals fail it with probability below 1e-6, and those that are three tenths too narrow pass it with 1e-6."""
    case = "Adult, 400 rows"
    several = asked(case, INDEPENDENT, 120)
    assert refused(case, several | asked(case, SMALL, 50), FALSE_ALARMS / 2) == []
    assert chance(several.values()) > FALSE_ALARMS / 2
    assert chance(entry.narrowed(0.7) for entry in several.values()) < FALSE_ALARMS / 2


@pytest.mark.nightly
@pytest.mark.parametrize("case", GRID)
def test_the_census(case):
    found = asked(case, JUDGED if case in TABLES else [name for name in JUDGED if name in ONE])
    assert refused(case, found, FALSE_ALARMS / len(GRID) / 2) == []
    first = {name: entry for (name, _), entry in reversed(found.items()) if entry.judged}
    assert chance(first.values()) > FALSE_ALARMS / len(GRID) / 2
    twin = 0.8 if case in TABLES else 0.6  # of fewer questions
    assert chance(entry.narrowed(twin) for entry in first.values()) < FALSE_ALARMS / len(GRID) / 2


@pytest.mark.nightly
@pytest.mark.parametrize("name", RECORDED)
def test_a_mean_of_blocks_is_that_of_what_the_function_returned(name, monkeypatch):
    results, function = [], getattr(questions, RECORDED[name])
    monkeypatch.setattr(questions, RECORDED[name], lambda block: results.append(function(block)) or results[-1])
    case, draws = "Adult, 5,000 rows", 60
    found = census.asked(lambda: release_of(case, name), lambda release: census.of_results(release, results), draws)
    assert len(found) == (1 if name == "mean of blocks" else 2)
    for entry in found.values():
        assert (len(entry.true), entry.judged) == (draws, True)
        assert entry.covered > FALSE_ALARMS / 4
        assert entry.narrowed(0.2).covered < FALSE_ALARMS / 4
