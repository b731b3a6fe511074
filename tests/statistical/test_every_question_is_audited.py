"""Every question there is, on two neighbours that are far apart: no audit refutes the price of the call.

Questions are those of `support.questions`, which has to ask every method of a priced frame, its columns and its groups
(`contract.test_every_argument`); each is audited here or is exempt, with the reason and the audit that stands in for it.

Each audit accuses a right question with probability at most 1e-6. What it is for is a question that gives a table away:
where half of the answers are never given by the other table, as with noise of 0 or 1, a violation is found with SAMPLES
answers a side wherever the search chooses that event (68 of 220 suffice; but for less than 1e-6 there are as many), with four
times as many also where it chooses one beside it, as shown below; with ONE_BY_ONE where every answer tells the table.
Audits of a finer power, twins with half the noise among them, are those of the other files here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import each_kind
from support.auditor import Result, audit
from support.drawing import Drawer, capture
from support.frames import fresh
from support.neighbours import ADD_REMOVE, RELATIONS, REPLACE_ONE
from support.questions import BY_UNIT, EVERY, FEW_BLOCKS, FOUND, FROM_BLOCKS, ROW_BY_ROW, table

from pandas_dp.core.measurement import Exact, Measurement
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import PrivacyLoss, Sensitivity
from pandas_dp.core.randomness import random_words

SAMPLES, ONE_BY_ONE, ALPHA, DELTA = 440, 160, 1e-6, Fraction(1, 100)
QUESTIONS: dict[str, Callable[[Any], Any]] = EVERY | FOUND
OF_BLOCKS = {*FROM_BLOCKS, *FEW_BLOCKS, "median of blocks", "smooth blocks", "winsorized mean"}
OF_GROUPS = {"group means of blocks", "groups by noisy size"}
EXEMPT: dict[str, tuple[str, str]] = {  # why, and which test audits it
    **dict.fromkeys(OF_BLOCKS, ("blocks are drawn and answered anew for each draw", "test_block_audits.py::test_pair")),
    **dict.fromkeys(
        OF_GROUPS, ("blocks are drawn anew for each answer", "test_audits.py::test_groupby_mean_sa_variants")
    ),
    "function of groups by noisy size": (
        "calls a function for each block of each draw",
        "test_group_block_audits.py::test_a_unit_of_several_groups",
    ),
    "above_threshold": ("answers after the call, one by one", "test_stream_audits.py::test_above_threshold"),
    "pmw": ("answers after the call, one by one", "test_stream_audits.py::test_oracle"),
    "median oracle": ("answers after the call, one by one", "test_stream_audits.py::test_oracle"),
    **dict.fromkeys(
        ("own function", "own numbers"),
        ("calls a function for each draw", "test_own_function_audits.py::test_pair"),
    ),
    "select by table": ("calls a function for each draw", "test_choice_audits.py::test_pair"),
}
BASE = table().iloc[:12]
LOW = {"uid": 48, "cost": 0, "age": 20.0, "ward": "B", "to": "C", "wait": pd.Timedelta(0), "day": BASE.day[0]}
HIGH = {"uid": 48, "cost": 99, "age": 79.0, "ward": "A", "to": "B", "wait": pd.Timedelta("59min")}
HIGH |= {"day": pd.Timestamp("2013-02-28")}


def with_row(row: dict[str, Any] | None) -> pd.DataFrame:
    """The table with a row more, of a unit of its own."""
    more = pd.DataFrame([row] if row else [], columns=BASE.columns).astype(BASE.dtypes)
    return pd.concat([BASE, more], ignore_index=True)


def unknown() -> list[str]:
    """Questions that are neither audited nor exempt: none, as all are audited that are not exempt."""
    return [
        *(f"{name!r} is exempt and no question" for name in EXEMPT if name not in QUESTIONS),
        *(f"{name!r} has no reason" for name, (why, _) in EXEMPT.items() if not why),
        *(
            f"{name!r} is exempt for {path}, which is no test"
            for name, (_, path) in EXEMPT.items()
            if f"def {path.partition('::')[2]}(" not in (Path(__file__).parent / path.partition("::")[0]).read_text()
        ),
    ]


def test_exemptions_name_the_audits_that_stand_in():
    assert unknown() == []


def outputs(sides: list[Drawer]) -> list[Any]:
    """All that many answers are made of: noisy integers, or what was listed as text; of both tables as many."""
    try:
        return [side.transcripts(SAMPLES) for side in sides]
    except ValueError:  # a later look depends on earlier answers, or what was drawn is no number
        drawn = [[side.draw()[1] for _ in range(ONE_BY_ONE)] for side in sides]
    every = [one for side in drawn for one in side]
    numbers = all(isinstance(x, int) for one in every for x in one) and len({len(one) for one in every}) == 1
    return [np.array(side, dtype=float) if numbers else [repr(one) for one in side] for side in drawn]


def audited(name: str, ask: Callable[[Any], Any], relation: str) -> Result:
    delta = DELTA if name in FOUND else Fraction(0)
    unit = {"unit": "uid", "max_rows": 4} if name in BY_UNIT else {}
    rows = {"rows": True} if name in ROW_BY_ROW else {}
    sides = []
    for row in (HIGH, None if relation == ADD_REMOVE else LOW):
        held = with_row(row)
        held.dp.protect(epsilon=10**3, delta=0.5, delta_reserved=0.4, neighbors=relation, name=fresh(), **unit, **rows)
        sides.append(Drawer(capture(lambda held=held: ask(held.dp(epsilon=1, delta=delta)))))
    both = outputs(sides)
    return audit(*([lambda n, one=one: one for one in both]), len(both[0]), 1, ALPHA, float(delta), batch=True)


DEAR = ("quantiles of groups", "agg of groups")  # seconds each; of quantiles and groups alone there are others
CASES = [
    each_kind.case(name, relation, slow=name in DEAR or (relation == REPLACE_ONE and name not in ROW_BY_ROW))
    for name in QUESTIONS
    for relation in RELATIONS
    if name not in EXEMPT and (relation == REPLACE_ONE or name not in ROW_BY_ROW)
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "relation"), CASES)
def test_no_audit_refutes_it(name, relation):
    result = audited(name, QUESTIONS[name], relation)
    assert not result.violated, str(result)


# ------------------------------------------------------------------------------------------------------ a planted mechanism
@dataclass(frozen=True)
class Coin:
    """Noise of 0 or 1, at the price of an honest one."""

    scale: Fraction

    name = "coin"

    def loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return DiscreteLaplace(self.scale).loss(sensitivity)

    def draw(self, exact: Exact, fill: Any = None) -> list[int]:
        exacts = exact.open()
        return [x + int(bit) % 2 for x, bit in zip(exacts, random_words(len(exacts)), strict=True)]


@pytest.mark.parametrize("name", ["sum", "count", "mean", "histogram of keys", "cov", "ecdf"])
def test_noise_of_0_or_1_is_found(name, monkeypatch):
    """Whatever is added up: the mechanism of its look in place of the one that it has.

    Of several numbers the search may choose an event that is a little worse than half of the answers against none: with
    SAMPLES answers 5 of 150 audits of an ecdf found no violation. With four times as many such an event suffices as well.
    """
    monkeypatch.setitem(globals(), "SAMPLES", 4 * SAMPLES)
    original = Drawer._many

    def many(self: Drawer, look: Measurement, n: int) -> Any:
        return original(self, Measurement(look.statistic, Coin(look.mechanism.scale)), n)

    monkeypatch.setattr(Drawer, "_many", many)
    assert audited(name, QUESTIONS[name], ADD_REMOVE).violated
