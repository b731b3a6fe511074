"""One question may count a unit in fewer groups than its budget allows: less noise, and more rows left out."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp.core import gate

PEOPLE, FILMS = 40, 30


@pytest.fixture
def films():
    """Each person saw every film once."""
    return pd.DataFrame({"uid": np.repeat(np.arange(PEOPLE), FILMS), "film": np.tile(np.arange(FILMS), PEOPLE)})


def protected(frame, groups, relation="add_remove"):
    frame = frame.copy()
    frame.attrs = {}
    frame.dp.protect(
        epsilon=10**6, delta=0.5, unit="uid", max_rows=FILMS, max_groups=groups, max_rows_per_group=1, neighbors=relation,
        name=fresh(),
    )  # fmt: skip
    return frame


QUESTIONS = [
    lambda d: d.value_counts("film", keys=list(range(FILMS))),
    lambda d: d.groupby("film", keys=[1, 2]).size(),
    lambda d: d.groupby("film", keys=[1, 2])["film"].mean(bounds=(0, 30)),
    lambda d: d.groupby("film", keys=[1, 2])["film"].sum(bounds=(0, 30)),
    lambda d: d.groupby("film", keys=[1, 2])["film"].median(bounds=(0, 30)),
    lambda d: d.histogram("film", bins=[0, 10, 20, 30]),
    lambda d: d.mode("film", keys=[1, 2]),
    lambda d: d.nunique("film"),
    lambda d: d.groupby("film", keys=[1, 2]).agg({"film": ["mean", "std"]}, bounds={"film": (0, 30)}),
]
FOUND = [lambda d: d.value_counts("film"), lambda d: d.unique("film"), lambda d: d.groupby("film").size()]


def requested(frame, ask, monkeypatch, **price):
    """What the gate is asked for, up to names and files: the loss, what counts of a unit, and the looks without noise."""
    seen = []

    def release(request):
        recipe, looks = request.recipe(), []
        looks.append(next(recipe))
        seen.append((request.loss, request.unit, looks[0].mechanism, looks[0].statistic.sensitivity(request.unit)))
        raise InterruptedError

    monkeypatch.setattr(gate, "release", release)
    with pytest.raises(InterruptedError):
        ask(frame.dp(**price))
    monkeypatch.undo()
    return seen[0]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("at", range(len(QUESTIONS + FOUND)))
def test_it_is_asked_as_of_a_budget_that_allows_no_more(films, at, relation, monkeypatch):
    """Loss, sensitivity and noise are those of a session of so many groups, for which they are proved."""
    ask, price = (QUESTIONS + FOUND)[at], {"epsilon": 2} | ({"delta": 1e-3} if at >= len(QUESTIONS) else {})
    narrow = requested(protected(films, 3, relation), ask, monkeypatch, **price)
    assert requested(protected(films, 20, relation), ask, monkeypatch, max_groups=3, **price) == narrow
    assert narrow[1].groups == 3
    assert requested(protected(films, 20, relation), ask, monkeypatch, **price) != narrow


@pytest.mark.parametrize("groups", [1, 7, None])
def test_rows_of_so_many_groups_count(films, groups):
    """At a price without noise to speak of: a random choice of groups for each person."""
    frame = protected(films, 20)
    counts = frame.dp(epsilon=10**5, max_groups=groups).value_counts("film", keys=list(range(FILMS)))
    assert counts.sum() == PEOPLE * (groups or 20)
    assert len(set(counts)) > 1  # not the same films of all


def test_it_is_a_question_of_its_own(films):
    frame = protected(films, 20)
    session, ask = frame.dp.session, lambda **told: frame.dp(epsilon=1, **told).value_counts("film", keys=[1, 2])
    first = ask(max_groups=3)
    assert "epsilon 1, max_groups 3" in repr(first)
    assert ask(max_groups=3).equals(first)
    assert session.spent.startswith("epsilon=1;")
    ask()
    ask(max_groups=4)
    assert session.spent.startswith("epsilon=3;")
    query = pandas_dp.query(epsilon=1, max_groups=3).value_counts("film", keys=[1, 2])
    assert query(frame).equals(first)
    assert query.plain_epsilon is None
    assert frame.dp(epsilon=1, max_groups=5).value_counts("film", keys=[1, 2]).query.groups == 5


def test_fewer_groups_err_less_in_advance(films):
    frame = protected(films, 20)
    asked = [frame.dp.preview(epsilon=1, max_groups=m).histogram("film", bins=[0, 10, 20, 30]) for m in (20, 5)]
    assert [preview.price for preview in asked] == ["epsilon=1, max_groups=20", "epsilon=1, max_groups=5"]
    least = [
        frame.dp.preview(within=10, max_groups=m).histogram("film", bins=[0, 10, 20, 30]).charge.epsilon
        for m in (20, 5)
    ]
    assert least[0] == pytest.approx(4 * least[1], rel=0.01)
    assert isinstance(least[1], Fraction)
    assert frame.dp.session.spent == "epsilon=0"


@pytest.mark.parametrize(
    ("groups", "error", "told"),
    [
        (0, pandas_dp.ArgumentValueError, "max_groups must be at least 1"),
        ("5", pandas_dp.ArgumentTypeError, "max_groups must be a whole number"),
        (True, pandas_dp.ArgumentTypeError, "max_groups must be a whole number"),
        (
            21,
            pandas_dp.ArgumentValueError,
            "max_groups of one question may be at most that of its budget: max_groups=20",
        ),
    ],
)
def test_what_is_refused(films, groups, error, told):
    frame = protected(films, 20)
    with pytest.raises(error, match=told):
        frame.dp(epsilon=1, max_groups=groups).value_counts("film", keys=[1, 2])
    assert frame.dp.session.spent == "epsilon=0"


def test_rows_that_are_units_have_one_group(films):
    films.dp.protect(epsilon=1, name=fresh())
    with pytest.raises(pandas_dp.ArgumentTypeError, match="max_groups= needs units of several rows"):
        films.dp(epsilon=1, max_groups=1).count()
    assert films.dp.session.spent == "epsilon=0"
