"""Moments of one column from one look: they agree, err no more than alone, and cost the sum of their shares."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.features import features as row_features
from support.views import table

from pandas_dp.aggregates.base import Terms, noise_of
from pandas_dp.aggregates.count import Count, CountBy
from pandas_dp.aggregates.moments import Mean, Sum, Variance
from pandas_dp.aggregates.rotated import threshold
from pandas_dp.aggregates.shared_moments import SLACK, SharedMoments, Weighted, sharing
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import Labels

NUMBER = Kind("number")
BOUNDS = [(0, 100), (-100, 100), (50, 100), (-3, 10), (10**6, 10**6 + 1), (-7, -2)]
PRICES = [
    Price(Fraction(1)),
    Price(Fraction(1, 100)),
    Price(Fraction(1), Fraction(1, 10**6)),
    Price(rho=Fraction(1, 9)),
]
NAMES = ("count", "sum", "mean", "var", "std")
KEYS = ("a", "b")
ADDED = Terms(PrivacyUnit(), Price(Fraction(1)))


def moments(names, bounds, grouped=False):
    lattice = Lattice.between(Fraction(bounds[0]), Fraction(bounds[1]), 30)
    groups = (Keys("g", KEYS), Labels("g", KEYS)) if grouped else (None, None)
    known = {
        "count": CountBy(*groups, column="x") if grouped else Count("x"),
        "sum": Sum("x", lattice, NUMBER, *groups),
        "mean": Mean("x", lattice, NUMBER, *groups),
        "var": Variance("x", lattice, NUMBER, 1, False, *groups),
        "std": Variance("x", lattice, NUMBER, 1, True, *groups),
    }
    return tuple(known[name] for name in names)


def answered(names, bounds, noisy, grouped=False, epsilon=Fraction(1)):
    """Values, and the answers, from noisy features."""
    asked = SharedMoments(moments(names, bounds, grouped))
    terms = Terms(PrivacyUnit(), Price(epsilon))
    answers = asked.answer(noisy, asked.look(terms), terms).value
    return dict(zip(names, answers, strict=True))


def features(names, bounds, values):
    """Exact features of values on the lattice of a question, and the values as they lie there."""
    asked = SharedMoments(moments(names, bounds))
    lattice = asked.lattice
    offsets = [round((Fraction(value) - lattice.lower) / lattice.step) for value in values]
    rows = [row_features(v, lattice, asked.degree) for v in offsets]
    return [sum(column) for column in zip(*rows, strict=True)], [lattice.point(v) for v in offsets]


SETS = st.sampled_from([("count", "sum", "mean"), NAMES])
SUMS = st.lists(st.integers(-(2**35), 2**50) | st.integers(-(2**50), 2**70), min_size=3, max_size=3)


@settings(max_examples=150, deadline=None)
@example(names=("count", "sum", "mean"), bounds=(1000000, 1000001), noisy=[-1, 38_014_093_877_760_000, 0])
@given(names=SETS, bounds=st.sampled_from(BOUNDS), noisy=SUMS)
def test_answers_agree_whatever_the_noise_was(names, bounds, noisy):
    noisy = noisy[: 2 + ("std" in names)]
    found = {name: answer.value for name, answer in answered(names, bounds, noisy).items()}
    low, high = bounds
    asked = SharedMoments(moments(names, bounds))
    least = threshold(noise_of(asked.look(Terms(PrivacyUnit(), Price(Fraction(1))))), len(noisy))
    if sum(noisy) <= least:  # too few rows
        assert all(math.isnan(found[name]) for name in ("mean", "var", "std") if name in found)
        return
    assert low <= found["mean"] <= high
    row, weights = asked.form(ADDED).row, (asked.lattice.upper, asked.lattice.lower)
    exact = sum(
        w * f for w, f in zip((*weights, sum(weights) / 2), map(Fraction, noisy), strict=False)
    )  # linear, so without bias
    inside = found["count"] >= 1 and low < found["sum"] / found["count"] < high
    # an exact quotient at or beyond a bound is cut to it, where that of the rounded numbers may still lie within
    cut = inside and not low < exact / sum(noisy) < high and found["mean"] in (low, high)
    assert not inside or cut or found["mean"] == found["sum"] / found["count"]
    if "std" in names:
        assert found["var"] == found["std"] * found["std"]
        assert (pd.Series([found["std"]]) ** 2 == pd.Series([found["var"]])).all()
    assert found["sum"] == float(exact / row)
    assert found["count"] == float(Fraction(sum(noisy), row))


@given(names=SETS, bounds=st.sampled_from(BOUNDS), shares=st.lists(st.floats(0, 1), min_size=2, max_size=30))
@settings(max_examples=100, deadline=None)
def test_without_noise_the_answers_are_exact(names, bounds, shares):
    values = [bounds[0] + Fraction(share) * (bounds[1] - bounds[0]) for share in shares]
    noisy, held = features(names, bounds, values)
    found = {name: answer.value for name, answer in answered(names, bounds, noisy, epsilon=Fraction(100)).items()}
    n, mean = len(held), sum(held) / len(held)
    assert found["count"] == n
    assert found["sum"] == float(sum(held))
    assert found["mean"] == pytest.approx(float(mean), rel=1e-15, abs=1e-300)
    if "var" in found:
        rounded = (
            2 / SharedMoments(moments(names, bounds)).form(ADDED).row * n / (n - 1) * ((bounds[1] - bounds[0]) / 2) ** 2
        )
        assert found["var"] == pytest.approx(float(sum((x - mean) ** 2 for x in held) / (n - 1)), 1e-9, rounded)


def test_each_group_is_answered_like_the_whole():
    noisy = [3 << 50, 5 << 50, 7 << 48, 1 << 50, 2 << 50, 1 << 49]
    together = answered(NAMES, (0, 100), noisy, grouped=True)
    for place, key in enumerate(KEYS):
        for name, answer in answered(NAMES, (0, 100), noisy[3 * place : 3 * place + 3]).items():
            value, level = together[name].value, 0.9
            assert value[key] == answer.value
            ends = zip(together[name].error.bounds(value, level), answer.error.bounds(answer.value, level), strict=True)
            assert all(end[key] == pytest.approx(alone) for end, alone in ends)
            assert answer.error.bounds(answer.value, level)[0] < answer.value


def test_dates_and_durations_have_no_sum_of_floats():
    kind, day = Kind("timedelta"), 86_400 * 10**9
    lattice = Lattice.between(Fraction(0), Fraction(10 * day), 30)
    asked = SharedMoments((Count("x"), Sum("x", lattice, kind), Mean("x", lattice, kind)))
    terms, m = Terms(PrivacyUnit(), Price(Fraction(100))), lattice.cells
    count, total, mean = asked.answer([3 * m, 5 * m], asked.look(terms), terms).value
    assert (count.value, total.value.round("s"), mean.value.round("s")) == (8, *map(pd.Timedelta, ("30D", "3.75D")))
    assert total.error.bounds(total.value, 0.95)[0] < total.value
    when = Kind("datetime")
    asked = SharedMoments((Count("x"), Mean("x", lattice, when)))
    assert asked.answer([m, m], asked.look(terms), terms).value[1].value.round("s") == pd.Timestamp("1970-01-06")


ADD, REPLACE = NeighboringRelation


def gradient(asked, question, at, step, terms):
    """Derivatives of an answer in what is released, by differences."""

    def value(noisy):
        answers = replace(asked, questions=(*asked.questions, question))
        return answers.answer(noisy, answers.look(terms), terms).value[-1].value

    moved = [[f + (step if i == j else 0) for i, f in enumerate(at)] for j in range(len(at))]
    return [(value(noisy) - value(at)) / step for noisy in moved]


def released(asked, terms, noisy):
    """What is released where the features are these: they themselves, or centred sums."""
    form = asked.form(terms)
    if not form.of:
        return noisy
    difference, total = noisy[0] - noisy[1], noisy[0] + noisy[1]
    if form.moments.degree == 2:
        return [difference, total - noisy[2]]
    weights = form.statistic.weights
    return [weights[0] * difference, weights[1] * total][: 1 + (weights[1] > 0)]


FORMS = {
    "features": ADDED,
    "centred": Terms(PrivacyUnit(relation=REPLACE), Price(Fraction(1))),
    "centred, Gaussian": Terms(PrivacyUnit(relation=REPLACE), Price(Fraction(1), Fraction(1, 10**6))),
    "public": Terms(PrivacyUnit(relation=REPLACE), Price(Fraction(1)), public_rows=1000, counted=True),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bounds", [(0, 100), (-100, 100), (50, 100)])
@pytest.mark.parametrize("names", [("count", "sum", "mean"), ("count", "sum", "mean", "std")])
def test_deviations_are_those_of_the_answers(names, bounds, form):
    """What `sharing` compares: lengths of the derivatives of the answers, for a mean at the worst place of the values."""
    terms = FORMS[form]
    asked = SharedMoments(tuple(replace(q, full=True) if hasattr(q, "full") else q for q in moments(names, bounds)))
    row, _ = features(names, bounds, [bounds[0]])
    exact = asked.look(terms).statistic.compute(table([(0, "a", bounds[0])]), terms.unit).open()
    assert exact == released(asked, terms, row)
    noise = noise_of(asked.look(terms))
    for name, question in zip(names[:3], asked.questions[:3], strict=True):
        found = []
        for position in (bounds[0], sum(bounds) / 2, bounds[1]):
            at, _ = features(names, bounds, [position] * 1000)
            found.append(
                math.hypot(*gradient(asked, question, released(asked, terms, at), asked.form(terms).row, terms))
            )
        factor = 1 if name != "mean" else (bounds[1] - bounds[0]) / 2 / 1000
        worst = max(found) * noise.standard_deviation
        own = asked.deviation(question, terms) * factor
        if name == "mean":  # at an end of the bounds some steps are cut
            assert 0.6 * own <= worst <= 1.01 * own
        else:
            assert worst == pytest.approx(own, rel=1e-6)


@settings(max_examples=120, deadline=None)
@given(
    names=st.sets(st.sampled_from(NAMES), min_size=2).map(lambda chosen: [n for n in NAMES if n in chosen]),
    weights=st.lists(st.integers(1, 20), min_size=5, max_size=5),
    bounds=st.sampled_from(BOUNDS),
    price=st.sampled_from(PRICES),
    relation=st.sampled_from(list(NeighboringRelation)),
    k=st.integers(1, 5),
    grouped=st.booleans(),
    public=st.booleans(),
)
def test_no_answer_errs_more_than_alone_at_its_share(names, weights, bounds, price, relation, k, grouped, public):
    """Counts and sums: the noise itself, of exact widths. Means and spreads: what the test above shows to be theirs."""
    total = sum(weights[: len(names)])
    asked = [(q, Fraction(w, total)) for q, w in zip(moments(names, bounds, grouped), weights, strict=False)]
    asked = [(replace(q, full=public) if hasattr(q, "full") else q, w) for q, w in asked]
    unit = PrivacyUnit("u" if k > 1 else None, k, k, max(1, k - 1), relation)
    counted = public and k == 1 and relation is REPLACE
    terms = Terms(unit, price, public_rows=1000 if counted else None, counted=counted)
    places = sharing(asked, terms)
    assert places == () or len(places) > 1
    if not places:
        return
    together = SharedMoments(tuple(asked[i][0] for i in places))
    share = sum((asked[i][1] for i in places), Fraction(0))
    paid = replace(terms, price=price.share(share))
    noise = noise_of(together.look(paid))
    for i in places:
        question, own = asked[i][0], replace(terms, price=price.share(asked[i][1]))
        if names[i] in ("count", "sum"):
            assert names[i] != "sum" or unit.column is None
            at = [0] * (len(KEYS) if grouped else 1) * len(released(together, paid, [0, 0, 0][: together.degree + 1]))
            slopes = [np.sum(slope) for slope in gradient(together, question, at, together.form(paid).row, paid)]
            each = len(slopes) // (len(KEYS) if grouped else 1)
            step = 1 if names[i] == "count" else float(question.lattice.step)
            alone = noise_of(question.look(own)).standard_deviation * step
            assert math.hypot(*slopes[:each]) * noise.standard_deviation <= alone * SLACK * 1.0001
        else:
            alone = SharedMoments((question,)).deviation(question, own)
            assert together.deviation(question, paid) <= alone * SLACK * 1.0001


@pytest.mark.parametrize(
    ("names", "weights", "relation", "price", "shared"),
    [
        (("count", "mean"), (1, 1), ADD, PRICES[0], ("count", "mean")),
        (("count", "mean"), (1, 1), ADD, PRICES[3], ("count", "mean")),
        (("count", "std"), (1, 1), ADD, PRICES[0], ("count", "std")),
        (("count", "std"), (1, 1), ADD, PRICES[3], ()),
        (("count", "mean"), (9, 1), ADD, PRICES[0], ()),
        (("count", "mean"), (1, 1), REPLACE, PRICES[0], ()),
        (("count", "mean", "std"), (1, 1, 1), REPLACE, PRICES[0], ("mean", "std")),
        (("count", "sum", "mean"), (1, 1, 1), REPLACE, PRICES[0], ("count", "sum", "mean")),
        (
            ("count", "mean", "std"),
            (1, 1, 1),
            ADD,
            Price(Fraction(40)),
            ("mean", "std"),
        ),  # alone it is exact nearly always
        (("var", "std"), (1, 1), REPLACE, PRICES[2], ("var", "std")),
    ],
)
def test_what_is_asked_by_itself(names, weights, relation, price, shared):
    asked = [(q, Fraction(w, sum(weights))) for q, w in zip(moments(names, (0, 100)), weights, strict=True)]
    places = sharing(asked, Terms(PrivacyUnit(relation=relation), price))
    assert tuple(names[i] for i in places) == shared


def test_a_mean_is_right_where_the_sum_is_no_float():
    top = 10**300
    cells = SharedMoments(moments(NAMES[:3], (0, top))).lattice.cells
    found = answered(NAMES[:3], (0, top), [cells * 10**9, cells * 10**9])
    assert found["mean"].value == pytest.approx(top / 2)
    assert np.isfinite(found["sum"].value)


def chance_beyond(weights, scale, least):
    """P(|sum w Z| > least) of independent discrete Laplace draws Z, by their law, cut where less than 1e-20 is left."""
    law = {0: 1.0}
    p = math.exp(-1 / scale)
    one = {z: (1 - p) / (1 + p) * p ** abs(z) for z in range(-60 * scale, 60 * scale + 1)}
    for weight in weights:
        longer = np.zeros(2 * (max(map(abs, law)) + abs(weight) * 60 * scale) + 1)
        middle = longer.size // 2
        for at, chance in law.items():
            places = middle + at + weight * np.array(list(one))
            np.add.at(longer, places, chance * np.array(list(one.values())))
        law = {i - middle: chance for i, chance in enumerate(longer) if chance > 0}
    return sum(chance for at, chance in law.items() if abs(at) > least)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("weights", [(1, 1), (1, 1, 1), (2, 0), (3, -1), (2, -2), (2, 0, 1), (2, 1)], ids=str)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_half_widths_hold_by_the_exact_law(weights, level):
    scale = 5
    half = Weighted(DiscreteLaplace(Fraction(scale)), tuple(map(float, weights))).half_width(level)
    beyond = chance_beyond(weights, scale, half)
    assert beyond <= 1 - level
    assert chance_beyond(weights, scale, 0.7 * half - 2) > 1 - level  # and they are not much wider
