"""Exact laws of programs that read, protect, ask, read again, protect and ask again, with all that they publish.

The mechanism is a small one: from every number it gives 0, 1 or 2, and neighbouring numbers change a probability by a factor of
2 at most, which the price of 0.7 pays (ln 2 < 0.7). All its draws are enumerated, so the joint law of what is published is a
table of fractions, for both relations and whichever of the two tables the person is in.
"""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction as F

import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.tables import frames as tables

PRICE, RATIO, MOST = 0.7, F(2), 2
Law = dict[tuple[str, ...], F]


def small_law(exact: int) -> list[F]:
    """Of a two-sided geometric law of ratio 1/2 around a number in the range, what falls outside put at its ends."""
    at = [F(1, 3) * F(1, 2) ** abs(out - exact) for out in range(MOST + 1)]
    at[0] += F(1, 3) * F(1, 2) ** exact  # of all below 0
    at[MOST] += F(1, 3) * F(1, 2) ** (MOST - exact)
    return at


def test_the_small_mechanism_is_private_at_its_price():
    for exact in range(MOST + 1):
        assert sum(small_law(exact)) == 1
        for other in {max(exact - 1, 0), min(exact + 1, MOST)}:
            ratios = [a / b for a, b in zip(small_law(exact), small_law(other), strict=True)]
            assert max(ratios) <= RATIO
            assert other == exact or max(ratios) == RATIO


class Draws:
    """All outcomes of all draws of a program, one run after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path: list[int] = []
        self.at, self.weight = 0, F(1)
        monkeypatch.setattr(DiscreteLaplace, "draw", lambda mechanism, exact, fill=None: self.draw(exact))

    def draw(self, exact) -> list[int]:
        (number,) = exact.open()
        if self.at == len(self.path):
            self.path.append(0)
        out = self.path[self.at]
        self.at, self.weight = self.at + 1, self.weight * small_law(int(number))[out]
        return [out]

    def runs(self) -> Iterator[None]:
        """Every path of outcomes, in the order of digits."""
        while True:
            self.at, self.weight = 0, F(1)
            yield
            while self.path and self.path[-1] == MOST:
                self.path.pop()
            if not self.path:
                return
            self.path[-1] += 1


def published(read: Callable[[int], pd.DataFrame], terms: dict[str, object], relation: str) -> tuple[str, ...]:
    """What the program shows: answers, sums, warnings and errors."""
    told, name = [], fresh()
    for day in range(2):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                frame = read(day)
                session = frame.dp.protect(epsilon=5, name=name, neighbors=relation, **terms)
                told.append(repr(frame.dp.query("x == 1").dp(epsilon=PRICE).count()))
                told.append(f"{session.spent}, {len(session.releases)} entries")
            except pandas_dp.PandasDPError as error:
                told.append(f"{type(error).__name__}: {error}")
        told += [str(warning.message).replace(name, "NAME") for warning in seen]
    session.close()
    return tuple(told)


def law(draws: Draws, contents: list[list[int]], reader: str, terms: dict[str, object], relation: str, tmp_path) -> Law:
    """The joint law of what is published, where the table has these contents on the two days."""
    found: Law = defaultdict(F)
    path = tmp_path / f"{fresh()}.parquet"
    frames = [pd.DataFrame({"x": cells}) for cells in contents]
    frames[0].to_parquet(path)

    def read(day: int) -> pd.DataFrame:
        if reader == "pandas":
            return frames[day].copy()
        if day == 1 and reader == "rewritten":
            frames[1].to_parquet(path)
        return pandas_dp.read_parquet(path)

    for _ in draws.runs():
        if reader == "rewritten":
            frames[0].to_parquet(path)
        told = published(read, terms, relation)
        found[told] += draws.weight
    assert sum(found.values()) == 1
    return dict(found)


PAID = {"epsilon=0.7": 1, "epsilon=1.4": 2}


def worst(one: Law, other: Law) -> tuple[F | None, int]:
    """The largest ratio of probabilities (None: infinite), and of how many draws the price was paid at most."""
    ratio: F | None = F(0)
    paid = max(PAID[text.split(",")[0]] for told in (*one, *other) for text in told if text.startswith("epsilon="))
    for told in {*one, *other}:
        for a, b in ((one.get(told, F(0)), other.get(told, F(0))), (other.get(told, F(0)), one.get(told, F(0)))):
            if a and not b:
                return None, paid
            if a and ratio is not None:
                ratio = max(ratio, a / b)
    return ratio, paid


# what the table holds on the two days, beside a neighbour: a person who came on the second day, who was there on both, who left
SEQUENCES = {
    "add_remove": [([[1], [1]], [[1], [1, 1]]), ([[1], [1]], [[1, 1], [1, 1]]), ([[1, 1], [1]], [[1], [1]])],
    "replace_one": [([[1, 0], [1, 0]], [[1, 0], [1, 1]]), ([[1, 0], [1, 0]], [[1, 1], [1, 1]])],
}
TERMS: list[dict[str, object]] = [{}, {"table": "t", "version": "1"}]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("reader", ["pandas", "unwritten", "rewritten"])
@pytest.mark.parametrize("terms", TERMS, ids=["unnamed", "version"])
@pytest.mark.parametrize("relation", SEQUENCES)
def test_what_a_program_publishes_differs_by_the_price_at_most(monkeypatch, tmp_path, relation, terms, reader):
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    draws = Draws(monkeypatch)
    reached = F(0)
    for contents, neighbor in SEQUENCES[relation]:
        if reader == "unwritten":  # the file is as it was on the first day
            contents, neighbor = ([days[0]] * 2 for days in (contents, neighbor))
        one, other = (law(draws, days, reader, terms, relation, tmp_path) for days in (contents, neighbor))
        ratio, paid = worst(one, other)
        assert ratio is not None
        assert ratio <= RATIO**paid
        reached = max(reached, ratio / RATIO**paid)
    assert reached == 1 or reader == "unwritten" or "version" in terms  # there the answers of both days are one


@pytest.mark.parametrize("relation", SEQUENCES)
def test_sameness_by_content_is_found(monkeypatch, tmp_path, relation):
    """The broken twin: a table that equals the one before is served from the store."""
    draws = Draws(monkeypatch)
    monkeypatch.setattr(tables, "read_token", lambda frame: f"content {frame['x'].tolist()}")
    contents, neighbor = SEQUENCES[relation][0]
    ratio, _ = worst(*(law(draws, days, "pandas", {}, relation, tmp_path) for days in (contents, neighbor)))
    assert ratio is None


def test_paths_are_enumerated(monkeypatch):
    draws = Draws(monkeypatch)
    draws.draw = lambda exact: None  # not used: the paths alone
    seen = []
    for _ in draws.runs():
        while draws.at < 2:
            if draws.at == len(draws.path):
                draws.path.append(0)
            draws.at += 1
        seen.append(tuple(draws.path))
    assert seen == list(itertools.product(range(MOST + 1), repeat=2))
