"""``max_rows="private"``: what it finds and pays, that it is not drawn again, and that its choice keeps the epsilon it pays."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from math import exp, prod

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, refused
from support.views import table

import pandas_dp
from pandas_dp import ArgumentTypeError, LedgerError, NoSessionError, QueryFailedError
from pandas_dp.accessor import private_bound
from pandas_dp.aggregates.count import found_bound
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import NeighboringRelation, PrivacyUnit
from pandas_dp.core.statistics.counts import UnitSizes

ADD, REPLACE = NeighboringRelation
EDGES = (1, 2)


def visits(units: int = 2000, rows: int = 8) -> pd.DataFrame:
    """Every unit has so many rows."""
    return pd.DataFrame({"pid": np.repeat(np.arange(units), rows), "cost": 1.0})


def ask(df: pd.DataFrame, **more: object) -> pandas_dp.Session:
    return df.dp.protect(**{"epsilon": 100, "unit": "pid", "max_rows": "private", "name": fresh(), **more})


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("total", [{"epsilon": 100}, {"epsilon": 100, "delta": 1e-6}, {"epsilon": None, "rho": 100}])
def test_it_finds_the_least_bound_that_drops_little(relation, total):
    """Wrong with probability below 1e-9: noise of scale 0.4 on counts of 2,000."""
    session = ask(visits(), neighbors=relation.value, **total)
    assert session.unit == PrivacyUnit("pid", 10, 10, 10, relation)


def test_a_twentieth_pays_it_and_later_answers_are_bounded_by_it():
    df = visits(rows=40)
    df.loc[:39, "cost"] = 0
    df = pd.concat([df, pd.DataFrame({"pid": [0] * 1000, "cost": [1.0] * 1000})], ignore_index=True)
    session = ask(df)
    assert session.unit.rows == 50
    assert session.spent == "epsilon=5"
    assert session.releases["kind"].tolist() == ["open", "query", "amend"]
    assert session.releases["query"].iloc[-1].startswith("max_rows=50 found for epsilon=5")
    count = df.dp(epsilon=50).count()
    assert abs(count - 80_010) < 50  # scale 1: 50 of its 1,040 rows count
    assert "at most 50 rows of each 'pid' are used" in " ".join(count.notes)
    assert "was raised" not in session.report()


def test_groups_of_a_unit_are_bounded_as_asked():
    assert ask(visits(), max_groups=3, max_rows_per_group=500).unit == PrivacyUnit("pid", 10, 3, 10)


def test_the_cell_runs_again():
    name = fresh()
    session = ask(visits(), name=name)
    assert ask(visits(), name=name) is session
    assert ask(visits(), name=name, max_rows=10) is session  # what its record says
    session.extend(to=200, reason="more")
    assert ask(visits(), name=name) is session
    assert session.spent == "epsilon=5"


def test_two_threads_pay_it_once():
    """Before it was one step, each found no bound on record, paid, and the later one closed the session of both."""
    name, start = fresh(), threading.Barrier(4)

    def protect(_: int) -> pandas_dp.Session:
        start.wait()
        return ask(visits(), name=name)

    with ThreadPoolExecutor(4) as pool:
        sessions = list(pool.map(protect, range(4)))
    assert {id(session) for session in sessions} == {id(sessions[0])}
    assert (sessions[0].unit.rows, sessions[0].spent) == (10, "epsilon=5")
    assert sessions[0].releases["kind"].tolist() == ["open", "query", "amend"]


def test_it_is_not_drawn_again_after_a_restart(tmp_path, monkeypatch):
    ledger = tmp_path / "visits.dpledger"
    ask(visits(), ledger=ledger, name="visits").close()
    monkeypatch.setattr(UnitSizes, "compute", lambda *_: pytest.fail("was read again"))
    session = ask(visits(rows=90), ledger=ledger, name="visits")
    assert (session.unit.rows, session.spent) == (10, "epsilon=5")
    assert pandas_dp.open_session(ledger, "visits").unit.rows == 10


@pytest.mark.parametrize(
    "more", [{"delta": 1e-6, "accountant": "gdp"}, {"delta": 1e-6, "plan": {0.1: 4}}, {"unit": None}]
)
def test_refused_where_it_cannot_be_paid(tmp_path, more):
    ledger = tmp_path / "visits.dpledger"
    with pytest.raises(ArgumentTypeError, match="max_rows"):
        ask(visits(), ledger=ledger, **more)
    assert not ledger.exists()


def test_it_is_charged_before_anything_is_read_and_nothing_is_answered_after_a_failure(tmp_path, monkeypatch):
    df, seen = visits(), []
    ledger = tmp_path / "visits.dpledger"

    def stopped(*_: object) -> None:
        seen.append(open_ledger(ledger).state("visits").epsilon)
        raise ValueError

    with monkeypatch.context() as patch:
        patch.setattr(UnitSizes, "compute", stopped)
        with pytest.raises(QueryFailedError):
            ask(df, ledger=ledger, name="visits")
    assert seen == [5]
    with pytest.raises(NoSessionError):
        df.dp(epsilon=1).count()
    session = ask(df, ledger=ledger, name="visits")  # another draw, which is paid
    assert (session.unit.rows, session.spent) == (10, "epsilon=10")


def test_a_bound_that_was_typed_and_used_stays(monkeypatch):
    df, name = visits(), fresh()
    ask(df, name=name, max_rows=10)
    assert ask(df, name=name).unit.rows == 10  # nothing was asked: found, and paid
    other = fresh()
    ask(df2 := visits(), name=other, max_rows=20)
    df2.dp(epsilon=1).count()
    with refused(monkeypatch, df2, LedgerError, "has max_rows=20"):
        ask(df2, name=other)


def test_what_extend_writes_is_not_taken_for_a_bound():
    name = fresh()
    session = ask(visits(), name=name, max_rows=1)
    session.extend(to=200, reason="max_rows=1 found for nothing")
    assert private_bound.on_record(None, name) is None


# The choice, exactly: all small tables, all neighbours, the whole law of the noise but for what lies beyond `NEAR`

EPSILON, NEAR, BEYOND = 2, 9, 5e-4


def law(sizes: tuple[int, ...], relation: NeighboringRelation, share: int) -> dict[int, float]:
    """The probability of each bound for units with so many rows, where a twin has only a `share` of the noise."""
    unit = PrivacyUnit("u", 1, 1, 1, relation)
    statistic = UnitSizes(EDGES)
    rows = [(place,) for place, size in enumerate(sizes) for _ in range(size)]
    exact = statistic.compute(table([*rows, (None,)], "u"), unit).open()
    noise = DiscreteLaplace.calibrate(Fraction(EPSILON) * share, statistic.sensitivity(unit))
    p = exp(-1 / noise.scale)
    chance = {z: (1 - p) / (1 + p) * p ** abs(z) for z in range(-NEAR, NEAR + 1)}
    told: dict[int, float] = {}
    for added in product(chance, repeat=len(exact)):
        bound = found_bound([x + z for x, z in zip(exact, added, strict=True)], EDGES, noise)
        told[bound] = told.get(bound, 0) + prod(chance[z] for z in added)
    assert 1 - sum(told.values()) < BEYOND
    return told


def largest_ratio(relation: NeighboringRelation, share: int = 1) -> float:
    """Over all tables of up to two other units with up to three rows each, and all that one more unit may own."""
    laws, ratios = {}, [0.0]
    others = [some for n in range(3) for some in combinations_with_replacement((1, 2, 3), n)]
    units = [(), (1,), (2,), (3,)]
    for some in others:
        tables = [tuple(sorted((*some, *unit))) for unit in units]
        for sizes in set(tables) - laws.keys():
            laws[sizes] = law(sizes, relation, share)
        pairs = permutations(tables[1:], 2) if relation is REPLACE else [(t, tables[0]) for t in tables[1:]]
        for one, two in (pair for given in pairs for pair in (given, given[::-1])):
            for bound, chance in laws[one].items():
                ratios.append((chance - BEYOND) / laws[two].get(bound, 0.0))
    return max(ratios)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_no_unit_makes_a_bound_likelier_than_its_epsilon_allows(relation):
    assert 1.5 < largest_ratio(relation) <= exp(EPSILON)


def test_half_of_the_noise_is_caught():
    assert largest_ratio(ADD, share=2) > exp(EPSILON)
