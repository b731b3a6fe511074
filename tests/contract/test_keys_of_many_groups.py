"""Keys of units that are in many groups: found by Gaussian noise on what the keys of a unit share, and asked about then."""

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

from pandas_dp.core.privacy import GaussianLoss
from pandas_dp.datasets import load_flights

PEOPLE, FILMS, SEEN, MOST = 1000, 60, 30, 40
PRICE = {"epsilon": 1, "delta": 1e-6}


@pytest.fixture(scope="module")
def seen():
    """Each person saw 30 films: the first one all of them, the last one nobody but the first person."""
    rng = np.random.default_rng(0)
    rows = [
        (person, film, 1.0)
        for person in range(PEOPLE)
        for film in [0, *rng.choice(np.arange(1, FILMS), SEEN - 1, replace=False)]
    ]
    return pd.DataFrame([*rows, (0, FILMS, 1.0)], columns=["uid", "film", "minutes"])


def protected(frame, relation="add_remove", groups=MOST, **more):
    frame = frame.copy()
    frame.dp.protect(
        epsilon=10**6, delta=0.1, unit="uid", max_rows=groups, max_groups=groups, max_rows_per_group=1,
        neighbors=relation, **{"name": fresh()} | more,
    )  # fmt: skip
    return frame


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_keys_that_a_third_of_all_units_hold_are_found(seen, relation):
    """About 490 people saw each film: shares of 0.18 add up to 89, and the threshold is below 42 with noise of 7 or less."""
    frame = protected(seen, relation)
    found = frame.dp(**PRICE).unique("film")
    assert list(found) == list(range(FILMS))
    assert found.name == "film"
    assert "Gaussian" in repr(found)
    assert any("with 40 keys each" in note for note in found.notes)
    charge = frame.dp.preview(epsilon=1, delta=1e-5).unique("film").charge
    assert charge.epsilon is None
    assert charge.delta == pytest.approx(5e-6)  # the rest is in the noise
    listed = frame.dp(epsilon=10).groupby("film", keys=found).size()
    assert list(listed.index) == list(range(FILMS))


def test_few_groups_are_listed_by_the_rule_that_adds_up(seen):
    frame = protected(seen, groups=5)
    found = frame.dp(**PRICE).unique("film")
    assert "optimal" in repr(found)
    assert frame.dp.preview(epsilon=2, delta=1e-6).unique("film").charge.epsilon == 2
    frame = protected(seen)
    assert frame.dp.preview(epsilon=1, delta=1e-6, max_groups=5).unique("film").charge.epsilon == 1


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_sums_and_means_of_found_groups(seen, relation):
    """Errors of 10 standard deviations are met with probability below 1e-20."""
    frame = protected(seen, relation, groups=150)
    groups = frame.dp(epsilon=20, delta=1e-6).groupby("film")["minutes"]
    exact = seen.groupby("film")["minutes"].sum().iloc[:FILMS]
    total = groups.sum(bounds=(0, 1))
    lower, upper = (total.interval(0.95)[side] for side in ("lower", "upper"))
    assert list(total.index) == list(range(FILMS))
    assert ((total - exact).abs() <= 10 * (upper - lower) / 2).all()
    assert "discrete Gaussian" in repr(total)
    assert any("half of delta" in note for note in total.notes)
    expected = frame.dp.preview(epsilon=20, delta=1e-6).groupby("film")["minutes"].sum(bounds=(0, 1))
    assert ((upper - lower) / 2 <= expected.half_width + 1).all()
    mean = groups.mean(bounds=(0, 2))
    assert ((mean - 1).abs() < 0.2).all()
    assert any("half of delta" in note for note in mean.notes)


def test_block_means_of_found_groups_keep_their_own_noise(seen):
    frame = protected(seen)
    means = frame.dp(epsilon=200, delta=1e-6).groupby_mean_sa(
        "film", "minutes", bounds=(0, 2), blocks=25, aggregator="mean"
    )
    assert list(means.index) == list(range(FILMS))
    assert any("whole delta" in note for note in means.notes)


def test_a_ledger_gives_the_same_answers_again(seen, tmp_path):
    answers, terms = [], {"ledger": tmp_path / "books.dpledger", "version": "1", "name": "films"}
    for _ in range(2):
        frame = protected(seen, **terms)
        asked = frame.dp(**PRICE)
        answers.append([asked.unique("film").tolist(), asked.groupby("film")["minutes"].sum(bounds=(0, 1)).tolist()])
        frame.dp.session.close()
    assert answers[0] == answers[1]


def test_rows_that_are_units_are_in_one_group():
    flights = load_flights()
    flights.dp.protect(epsilon=3, delta=1e-4, name=fresh())
    assert "optimal" in repr(flights.dp(epsilon=0.5, delta=1e-7).unique("dest"))


def test_the_loss_names_its_parts(seen, monkeypatch):
    """Of a sum by found keys both looks are Gaussian, and half of what the threshold gets of delta is charged as such."""
    from pandas_dp.core import gate

    asked = []

    def release(request):
        asked.append(request.loss)
        raise InterruptedError

    frame = protected(seen, groups=150)
    monkeypatch.setattr(gate, "release", release)
    with pytest.raises(InterruptedError):
        frame.dp(epsilon=1, delta=4e-6).groupby("film")["minutes"].sum(bounds=(0, 1))
    (loss,) = asked
    assert all(isinstance(part, GaussianLoss) for part, _ in loss.parts)
    assert float(loss.delta) == pytest.approx(1e-6)
