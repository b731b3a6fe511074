"""Randomised columns: what comes back and what it tells."""

from __future__ import annotations

import copy
import json
import math
import pickle
import uuid
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from support.frames import protected

from pandas_dp.aggregates.randomized_response import _ends, keeping, probabilities, proportions, standard_error, widest
from pandas_dp.aggregates.uncertainty import normal
from pandas_dp.core.mechanisms.randomized_response import WORD, RandomizedResponse
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.facts.labels import Labels

KEYS = ["no", "yes"]
SURE = 10**5  # an epsilon at which every listed key is kept, but for one row in e^10000


def survey(rows: int = 400, epsilon: object = 10**6, **terms: object) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "smoker": (["no", "yes", "no", None] * rows)[:rows],
            "x": np.arange(rows) % 3,
            "b": (np.arange(rows) % 2).astype(bool),
            "d": pd.to_datetime(["2013-01-01", "2013-01-02"] * (rows // 2)),
            "c": pd.Categorical((["u", "v"] * rows)[:rows], categories=["v", "u", "w"]),
        },
        index=[f"person {i // 2}" for i in range(rows)],
    )
    return protected(frame, epsilon=epsilon, neighbors="replace_one", rows=True, **terms)


@pytest.mark.parametrize("counts", [(0, 3, 1), (2, 1, 1), (4, 0, 0), (1, 3), (0, 4)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2)])
def test_estimates_are_unbiased_and_their_variance_is_right(counts, epsilon):
    """By enumeration of all outputs of four rows."""
    mechanism = RandomizedResponse.calibrate(epsilon, len(counts))
    p, q, _ = probabilities(mechanism)
    rows = [part for part, count in enumerate(counts) for _ in range(count)]
    labels, n = Labels("x", tuple("abc"[: len(counts)])), len(rows)
    mean, square = np.zeros(len(counts)), np.zeros(len(counts))
    for output in product(range(len(counts)), repeat=n):
        chance = math.prod(p if a == b else q for a, b in zip(rows, output, strict=True))
        found = proportions(np.array(output), mechanism, labels, 0.95, False)
        assert found["count"].to_numpy() == pytest.approx(n * found["proportion"].to_numpy())
        mean += chance * found["proportion"].to_numpy()
        square += chance * found["proportion"].to_numpy() ** 2
    shares = np.array(counts) / n
    assert mean == pytest.approx(shares, abs=1e-12)
    errors = [standard_error(mechanism, share, n) for share in shares]
    assert np.sqrt(square - mean**2) == pytest.approx(errors, rel=1e-9)


def test_a_row_without_key_counts_evenly_for_all():
    """Missing and unlisted ones take each key with 1/k: the estimates add 1/k of them to every key."""
    mechanism = RandomizedResponse.calibrate(Fraction(1), 3)
    p, q, kept = probabilities(mechanism)
    counts, without = np.array([5, 0, 1]), 2
    expected = (counts * p + (6 - counts) * q + without / 3) / 8
    assert (expected - q) / kept == pytest.approx((counts + without / 3) / 8)


def test_two_keys_have_the_same_variance_whatever_the_data():
    mechanism = RandomizedResponse.calibrate(Fraction(1), 2)
    alpha = math.tanh(0.5)
    for share in (0.0, 0.3, 1.0):
        assert standard_error(mechanism, share, 100) ** 2 == pytest.approx((1 - alpha**2) / (4 * alpha**2 * 100))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("rows", [1, 5, 30, 300, 1000])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(4), Fraction(6), Fraction(8)])
@pytest.mark.parametrize("parts", [2, 3, 10])
def test_intervals_cover_at_least_as_often_as_they_say(parts, epsilon, rows):
    """Exact coverage, from the law of the number of answers; not twice as wide as need be where rows are many."""
    mechanism = RandomizedResponse.calibrate(epsilon, parts)
    p, q, kept = probabilities(mechanism)
    for share in (0.0, 0.02, 0.1, 0.5, 0.9, 1.0):
        own = round(share * rows)
        law = np.convolve(binom.pmf(range(own + 1), own, p), binom.pmf(range(rows - own + 1), rows - own, q))
        answers = np.flatnonzero(law > 1e-12)
        for level in (0.8, 0.95, 0.99):
            lower, upper = _ends(mechanism, (answers / rows - q) / kept, rows, level)
            held = (lower <= own / rows + 1e-9) & (own / rows <= upper + 1e-9)
            assert float(law[answers] @ held) >= level
            width = float(law[answers] @ (upper - lower)) / 2
            assert width <= widest(mechanism, rows, level) + 1e-9
            if rows >= 300 and 0.1 <= share <= 0.9 and epsilon <= 2:
                assert width <= 1.2 * normal(level) * standard_error(mechanism, share, rows)


def test_an_interval_of_the_plain_normal_law_does_not_cover():
    """The broken twin: variance at the estimate, and no answer allowed for, as long printed."""
    mechanism = RandomizedResponse.calibrate(Fraction(6), 2)
    p, q, kept = probabilities(mechanism)
    law = np.convolve(binom.pmf(range(51), 50, p), binom.pmf(range(51), 50, q))
    shares = (np.arange(101) / 100 - q) / kept
    reach = [normal(0.95) * standard_error(mechanism, min(max(share, 0.0), 1.0), 100) for share in shares]
    assert law @ (abs(shares - 0.5) <= reach) < 0.8


def test_a_projection_is_the_nearest_point_of_the_simplex():
    """Against a fine grid of three proportions, and at no loss where the estimate lies in the simplex already."""
    mechanism, labels = RandomizedResponse.calibrate(Fraction(1), 3), Labels("x", ("a", "b", "c"))
    grid = np.array([(i, j, 200 - i - j) for i in range(201) for j in range(201 - i)]) / 200
    for counts in ([2, 40, 8], [0, 50, 0], [25, 0, 25], [17, 17, 16]):
        codes = np.repeat(np.arange(3), counts)
        raw, near = (proportions(codes, mechanism, labels, 0.95, project) for project in (False, True))
        shares, projected = raw["proportion"].to_numpy(), near["proportion"].to_numpy()
        assert projected.min() >= 0
        assert projected.sum() == pytest.approx(1)
        assert ((projected - shares) ** 2).sum() <= ((grid - shares) ** 2).sum(axis=1).min() + 1e-12
        if shares.min() >= 0:
            assert projected == pytest.approx(shares)
        assert near["count"].to_numpy() == pytest.approx(50 * projected)
        pd.testing.assert_frame_equal(
            raw[["standard_error", "lower", "upper"]], near[["standard_error", "lower", "upper"]]
        )


@pytest.mark.parametrize(
    ("column", "keys", "more", "answers"),
    [
        ("x", [0, 1, 2], {}, [0, 1, 2, 0]),
        ("x", [2, 0], {"other": True}, [0, "other", 2, 0]),
        ("b", None, {}, [False, True, False, True]),
        ("d", ["2013-01-02", "2013-01-01"], {}, list(pd.to_datetime(["2013-01-01", "2013-01-02"] * 2))),
        ("c", ["u", "v"], {}, ["u", "v", "u", "v"]),
        ("smoker", KEYS, {"null": True}, ["no", "yes", "no", None]),
        ("smoker", ["yes"], {"null": True, "other": True}, ["other", "yes", "other", None]),
        ("x", [0, 1, 2], {"null": True}, [0, 1, 2, 0]),
    ],
)
def test_kinds_of_keys(column, keys, more, answers):
    """At a large epsilon: categories in the order of the keys, answers in that of the categories, and the estimate true."""
    got = survey().dp(epsilon=SURE).randomized_response(column, keys=keys, **more)
    assert got.name == column
    assert isinstance(got.dtype, pd.CategoricalDtype)
    listed = [*(got.dtype.categories), *([None] if more.get("null") else [])]
    known = set(listed)
    truth = [None if pd.isna(cell) else cell if cell in known else "other" for cell in survey()[column]]
    assert truth[:4] == answers
    assert Counter(None if pd.isna(answer) else answer for answer in got) == Counter(truth)
    codes = got.cat.codes.to_numpy()
    assert (np.diff(np.where(codes < 0, len(listed), codes)) >= 0).all()  # sorted, missing ones last
    estimate = got.estimate()
    assert len(estimate) == len(listed)
    exact = [float((got.isna() if part is None else got == part).mean()) for part in listed]
    assert estimate["proportion"].tolist() == pytest.approx(exact)
    assert estimate["count"].sum() == pytest.approx(400)
    assert (estimate.index.name, list(estimate)) == (
        column,
        ["proportion", "standard_error", "lower", "upper", "count"],
    )


def test_the_index_of_the_frame_does_not_come_along():
    answers = survey().dp(epsilon=1).randomized_response("smoker", keys=KEYS)
    assert isinstance(answers.index, pd.RangeIndex)
    assert len(answers) == 400


def test_no_row_is_left_out_or_missing():
    """A row without a listed key takes a random one, also at a price at which no other row does."""
    answers = survey().dp(epsilon=SURE).randomized_response("smoker", keys=KEYS)
    assert not answers.isna().any()
    assert list(answers.dtype.categories) == KEYS
    counts = answers.value_counts()
    assert counts["no"] >= 200
    assert counts["yes"] >= 100
    assert 200 < counts["no"] < 300  # all 100 others alike: 2**-99


def test_what_the_release_says_and_keeps():
    answers = survey().dp(epsilon=1).randomized_response("x", keys=[0, 1, 2])
    assert answers.interval() is None
    assert answers.mechanism == "randomized response"
    assert answers.epsilon == 1
    assert answers.notes == ("a key is kept with probability 0.3642, otherwise any key is drawn; see .estimate()",)
    assert "no interval known, epsilon 1, randomized response" in repr(answers)
    assert json.loads(answers.to_json())["value"]["values"] == answers.tolist()
    for kept in (pickle.loads(pickle.dumps(answers)), copy.copy(answers)):
        pd.testing.assert_frame_equal(kept.estimate(0.9), answers.estimate(level=0.9))
    plain = answers.copy()
    answers.iloc[:] = 0  # whoever changes the released column still estimates from what was released
    assert len(set(plain)) == 3
    assert answers.estimate()["proportion"].max() < 1


def test_asking_again_is_free_and_costs_epsilon_once():
    df = survey(epsilon=5)
    first = df.dp(epsilon=2).randomized_response("x", keys=[0, 1, 2])
    assert df.dp.session.spent == "epsilon=2"
    assert df.dp(epsilon=2).randomized_response("x", keys=[0, 1, 2]).equals(first.value)
    assert df.dp.session.spent == "epsilon=2"
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=4).randomized_response("x", keys=[0, 1, 2])


def test_a_wanted_error_finds_its_price():
    """The proportion of any key, at its widest: the bought epsilon is enough, one a hundredth less is not."""
    df = survey(rows=2000)
    bought = df.dp(within=0.1).randomized_response("x", keys=[0, 1, 2])
    for epsilon, fits in ((bought.epsilon, True), (bought.epsilon * 0.99, False)):
        mechanism = RandomizedResponse.calibrate(Fraction(epsilon), 3)
        error = max(standard_error(mechanism, share, 2000) for share in (0.0, 1.0))
        one = 1 / (2000 * probabilities(mechanism)[2])  # an answer, which the interval allows for
        assert (1.959964 * error + one <= 0.1) == fits
    with pytest.raises(ArgumentTypeError, match="within=5"):
        df.dp(within=pd.Timedelta("1h")).randomized_response("x", keys=[0, 1, 2])


@pytest.mark.parametrize(("alpha", "keys", "cost"), [(0.5, [0, 1], "1.098613"), (0.9, [0, 1, 2], "3.332205")])
def test_by_alpha(alpha, keys, cost):
    """Kept with exactly this probability, at ln(1 + k alpha / (1 - alpha)): a millionth less does not pay for it."""
    df = survey(epsilon=20)
    answers = df.dp(epsilon=float(cost)).randomized_response("x", keys=keys, alpha=alpha)
    assert f"probability {alpha:g}," in answers.notes[0]
    mechanism = keeping(Fraction(str(alpha)), len(keys))
    assert mechanism.keep == int(Fraction(str(alpha)) * 2**64)
    assert float(mechanism.epsilon) == pytest.approx(np.log1p(len(keys) * alpha / (1 - alpha)))
    pd.testing.assert_frame_equal(
        answers.estimate(),
        proportions(answers.cat.codes.to_numpy(), mechanism, Labels("x", tuple(keys)), 0.95, False),
        check_names=False,
    )
    spent = df.dp.session.spent
    with pytest.raises(ArgumentValueError, match=rf"costs epsilon={cost}, .*df\.dp\(epsilon={cost}\)"):
        df.dp(epsilon=float(cost) - 1e-6).randomized_response("x", keys=keys, alpha=alpha)
    assert df.dp.session.spent == spent == f"epsilon={cost}"


def test_alphas_that_are_none():
    df = survey(epsilon=20)
    for alpha in (0, 1, -0.1, 1e-30):
        with pytest.raises(ArgumentValueError, match="alpha"):
            df.dp(epsilon=1).randomized_response("x", keys=[0, 1], alpha=alpha)
    with pytest.raises(ArgumentTypeError, match="alpha"):
        df.dp(epsilon=1).randomized_response("x", keys=[0, 1], alpha="0.5")
    with pytest.raises(ArgumentValueError, match="either within= or alpha="):
        df.dp(within=0.1).randomized_response("x", keys=[0, 1], alpha=0.5)
    assert df.dp.session.spent == "epsilon=0"


def test_no_rows_are_answered_and_estimate_nothing():
    df = survey(rows=0)
    answers = df.dp(epsilon=1).randomized_response("x", keys=[0, 1])
    assert answers.empty
    with pytest.raises(ArgumentValueError, match="no answers to estimate from"):
        answers.estimate()


def test_other_series_have_no_estimate():
    df = survey()
    with pytest.raises(ArgumentTypeError, match="randomized_response"):
        df.dp(epsilon=1).histogram("x", keys=[0, 1, 2]).estimate()
    with pytest.raises(ArgumentValueError, match="level"):
        df.dp(epsilon=1).randomized_response("x", keys=[0, 1]).estimate(level=95)


def test_the_smallest_probability_still_divides():
    """p - q is lost to rounding if computed from p and q."""
    found = proportions(np.array([0, 1, 1]), RandomizedResponse(2, 1), Labels("x", (0, 1)), 0.95, False)
    assert np.isfinite(found.to_numpy()).all()
    assert found["proportion"].tolist() == pytest.approx([-(WORD / 6), WORD / 6], rel=1e-9)


def test_the_order_of_the_table_does_not_show():
    """Sorted by a private column, replacing one person moves everybody: the answers must not tell (exact law by bags)."""
    one = pd.DataFrame({"pay": [10, 20, 30, 40, 50, 60], "sex": list("mfmfmf")})
    two = pd.concat([one.iloc[1:], pd.DataFrame({"pay": [70], "sex": ["m"]})], ignore_index=True)
    drawn = []
    for table in (one, two):
        table.dp.protect(epsilon=SURE, neighbors="replace_one", rows=True, name=uuid.uuid4().hex)
        drawn.append(table.dp(epsilon=SURE).randomized_response("sex", keys=["f", "m"]).tolist())
    assert drawn == [list("fffmmm"), list("fffmmm")]
