"""A preview says what is charged and how accurate the answer will be, from public facts: nothing is read or spent."""

from __future__ import annotations

import os
import re
from functools import partial

import pandas as pd
import pytest
from support.frames import fresh, people, protected
from support.questions import (
    ADDITIVE,
    BY_DATA,
    BY_ROWS,
    BY_UNIT,
    EVERY,
    FOUND,
    FROM_BLOCKS,
    GUARANTEED,
    NO_QUESTION,
    ROW_BY_ROW,
    STREAMS,
    table,
)

from pandas_dp.core import gate, randomness
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, BudgetExceededError, NoSessionError, PandasDPError
from pandas_dp.questions.frame import PricedFrame
from pandas_dp.release.preview import Preview
from pandas_dp.steps.steps import RowSteps
from pandas_dp.tables import protected as protected_module

SESSIONS = {
    "rows": {},
    "units": {"unit": "uid", "max_rows": 3},
    "renyi": {"delta": 1e-6},
    "public rows": {"neighbors": "replace_one"},
    "units replaced": {"neighbors": "replace_one", "unit": "uid", "max_rows": 2, "delta": 1e-6},
}
each_session = pytest.mark.parametrize("terms", SESSIONS.values(), ids=SESSIONS)
REFUSED = [
    "select by table",
    *(name for name in EVERY if name.endswith("of a population")),
]  # where units own several rows
few_sessions = pytest.mark.parametrize(
    "terms", [SESSIONS["public rows"], SESSIONS["units replaced"]], ids=["pure", "renyi"]
)


def made(epsilon=10**4, **terms) -> pd.DataFrame:
    return protected(table(), epsilon=epsilon, **terms)


def outcome(ask):
    """What a call gives, or how it is refused."""
    try:
        return ask()
    except PandasDPError as error:
        return type(error), str(error)


def test_every_question_is_among_those_tested():
    asked = set()

    class Recorder:
        def __getattr__(self, name):
            asked.add(name)
            return lambda *args, **kwargs: self

        def __getitem__(self, column):
            return self

    for ask in (EVERY | FOUND).values():
        ask(Recorder())
    questions = {name for name in dir(PricedFrame) if not name.startswith("_") and not hasattr(RowSteps, name)}
    assert questions - NO_QUESTION <= asked


@pytest.mark.one_in(30)
@each_session
@pytest.mark.parametrize("name", EVERY)
def test_the_price_is_what_is_then_charged(name, terms):
    df, ask = made(**terms), EVERY[name]
    session = df.dp.session
    before = outcome(lambda: ask(df.dp.preview(epsilon=1)))
    state, left = session._state, session.left
    answer = outcome(lambda: ask(df.dp(epsilon=1)))
    if not isinstance(before, Preview):
        assert before == answer  # refused, in the same words
        assert name in {*ROW_BY_ROW, *BY_UNIT, *REFUSED}
        return
    assert before.affordable
    assert not before.stored
    assert before.left == session.left
    assert session._state == state.plus(before.charge)
    entry = session._ledger.entries(session.name)[-1]
    assert (before.call, before.price) == (entry.query, entry.price)
    assert entry.charge == before.charge
    assert (before.left == left) == (before.price == "nothing")
    if name not in STREAMS and "groups by noisy size" not in name and name != "winsorized mean":  # noisy numbers decide
        assert before.mechanism == answer.mechanism
        assert before.epsilon == answer.epsilon
    after = ask(df.dp.preview(epsilon=1))
    assert after.stored == bool(entry.recorded)
    assert after.free == (after.stored or after.price == "nothing")
    if after.stored:
        assert after.epsilon == 0
        assert after.left == session.left
        assert "nothing: answered before" in repr(after)
        again = ask(df.dp.preview(epsilon=1, fresh=True))
        assert again.charge == before.charge


def half_width(answer):
    """The widest one of a vector or table."""
    known = answer.interval()
    if not isinstance(known, pd.DataFrame):
        return (known.upper - known.lower) / 2
    if known.columns.nlevels > 1:
        known = known.stack(list(range(known.columns.nlevels - 1)))
    return ((known["upper"] - known["lower"]) / 2).max()


@pytest.mark.one_in(12)
@few_sessions
@pytest.mark.parametrize("price", [{"epsilon": 0.3}, {"epsilon": 0.5, "delta": 1e-7}, {"rho": 0.01}, {"within": 60}])
@pytest.mark.parametrize("name", ADDITIVE)
def test_the_error_bar_of_added_noise_is_the_one_previewed(name, price, terms):
    if price == {"within": 60} and "durations" in name:
        price = {"within": pd.Timedelta("5h")}
    df, ask = made(**terms), ADDITIVE[name]
    preview = ask(df.dp.preview(**price))
    if not preview.affordable:
        with pytest.raises(BudgetExceededError):
            ask(df.dp(**price))
        return
    half = half_width(ask(df.dp(**price)))
    if isinstance(half, pd.Timedelta):
        assert abs(half - preview.half_width) <= pd.Timedelta(1, unit="ns")
    else:
        assert half == pytest.approx(preview.half_width, rel=1e-9)
    if "within" in price:
        assert preview.half_width <= price["within"]
        assert preview.wanted in repr(preview)


@pytest.mark.one_in(9)
@each_session
@pytest.mark.parametrize("name", FROM_BLOCKS)
def test_the_noise_on_block_results_is_the_one_previewed(name, terms):
    df, ask = made(**terms), FROM_BLOCKS[name]
    preview, answer = ask(df.dp.preview(epsilon=50)), ask(df.dp(epsilon=50))
    error = answer._provenance.error
    models = error.models if hasattr(error, "models") else {None: error}
    halves = {key: float(model.noise.half_width(0.95) * model.step) for key, model in models.items()}
    assert preview.half_width == (halves if hasattr(error, "models") else halves[None])
    shown = [
        note for note in answer.notes if not any(word in note for word in ("sizes:", "count, none", "no value where"))
    ]  # of the groups, of units
    assert set(shown) <= set(preview.notes)


@pytest.mark.one_in(9)
@each_session
@pytest.mark.parametrize("name", GUARANTEED)
def test_the_guarantee_is_the_one_previewed(name, terms):
    df, ask = made(**terms), GUARANTEED[name]
    preview, answer = outcome(lambda: ask(df.dp.preview(epsilon=1))), outcome(lambda: ask(df.dp(epsilon=1)))
    if not isinstance(preview, Preview):
        assert preview == answer
        return
    known = vars(answer.interval())
    assert preview.half_width == (known.get("typical") or next(iter(known.values())))
    assert preview.error.endswith(str(answer.interval()))


@pytest.mark.parametrize("name", BY_ROWS)
def test_errors_that_shrink_with_the_rows(name):
    """At a high price the first order is all there is: the interval is as wide, or narrower where a preview says at most."""
    df, ask = made(epsilon=10**6), BY_ROWS[name]
    rows = 66 if "group" in name else 200
    unsaid, preview = ask(df.dp.preview(epsilon=1000)), ask(df.dp.preview(epsilon=1000, rows=rows))
    assert unsaid.half_width is None
    assert "rows=10_000" in unsaid.error
    assert f"with {rows} rows" in preview.error
    half = half_width(ask(df.dp(epsilon=1000)))
    if name.startswith("std"):
        assert preview.half_width is None
        number = float(re.search(r"± ([0-9.]+) / standard", preview.error)[1])
        deviation = {
            "std": table()["age"].std(),
            "std of cost": table()["cost"].std(),
            "std of groups": table().groupby("ward")["cost"].std().min(),
        }
        assert half <= number / deviation[name] * 1.01
    elif name.startswith(
        ("mean", "group")
    ):  # in the middle of the bounds 0.687 of what it is at an end, 0.628 of three sums
        assert 0.62 < half / preview.half_width <= 1.01
    else:
        assert 0.2 < half / preview.half_width <= 1.01


def test_rows_that_are_public_are_used():
    df = made(neighbors="replace_one", rows=True, schema={"cost": {"nulls": 50}})
    assert df.dp.preview(epsilon=1).mean("cost", bounds=(0, 100)).error.startswith("at most about ± 1.50")  # one sum
    assert df.dp.preview(epsilon=1).mean("age", bounds=(0, 100)).error.startswith("at most about ± 2.")  # two
    assert "with 200 rows" in df.dp.preview(epsilon=1).mean("cost", bounds=(0, 100)).error
    assert "/ rows" in df.dp.preview(epsilon=1).query("age > 30").mean("cost", bounds=(0, 100)).error
    assert "of a group" in df.dp.preview(epsilon=1).groupby("ward", keys=["A"])["cost"].mean(bounds=(0, 9)).error
    free = df.dp.preview(epsilon=1).count()
    assert (free.free, free.half_width, free.error, free.price) == (True, 0, "exact", "nothing")


@pytest.mark.parametrize("name", BY_DATA)
def test_what_the_data_decide_is_not_promised(name):
    preview = BY_DATA[name](made().dp.preview(epsilon=1))
    assert preview.half_width is None
    assert ("not known in advance" in preview.error) != ("about: within" in preview.error)


@pytest.mark.one_in(15)
@few_sessions
@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_read_drawn_charged_or_stored(monkeypatch, name, terms):
    df, ask = made(**terms), EVERY[name]
    session = df.dp.session
    ledger = session._ledger
    before = session._ledger.entries(session.name), session._state, session._typical, session.left
    attrs, streams = dict(df.attrs), list(session._streams)

    def never(*args, **kwargs):
        raise AssertionError("a preview opened the data, drew noise or wrote to the ledger")

    started = PandasView.__init__

    def view(self, frame, *more):
        if len(frame) > 4:  # a user's function is tried on four made-up rows
            never()
        started(self, frame, *more)

    with monkeypatch.context() as patch:
        for place, names in {
            PandasView: (),
            protected_module: ("PandasView", "open_view"),
            gate: ("release", "random_bytes", "OpenRecipe", "_Run"),
            randomness: ("random_bytes",),
            os: ("urandom",),
            ledger: ("reserve", "record", "amend", "note", "open"),
        }.items():
            for each in names:
                patch.setattr(place, each, never)
        patch.setattr(PandasView, "__init__", view)
        for rows in (None, 200):
            priced = df.dp.preview(epsilon=1, rows=rows)
            seen = outcome(partial(ask, priced))
            if isinstance(seen, Preview):
                assert repr(seen).startswith(seen.call)
                assert seen._repr_html_().startswith("<div>")
            else:
                assert name in {*ROW_BY_ROW, *BY_UNIT, *REFUSED}
    after = session._ledger.entries(session.name), session._state, session._typical, session.left
    assert after == before
    assert (dict(df.attrs), list(session._streams)) == (attrs, streams)


def test_what_the_budget_does_not_pay_is_said_and_not_raised():
    df = made(epsilon=1)
    df.dp(epsilon=0.75).count()
    preview = df.dp.preview(epsilon=0.5).sum("cost", bounds=(0, 100))
    assert not preview.affordable
    with pytest.raises(BudgetExceededError) as refused:
        df.dp(epsilon=0.5).sum("cost", bounds=(0, 100))
    assert preview.refusal == str(refused.value)
    assert preview.left == df.dp.session.left == "epsilon=0.25"
    assert "not enough: this asks for epsilon=0.5" in repr(preview)
    assert "epsilon=0.25 would fit" in repr(preview)
    assert df.dp.preview(epsilon=0.75).count().affordable  # it is stored
    gaussian = df.dp.preview(rho=0.01).count()
    assert not gaussian.affordable
    assert gaussian.epsilon is None
    stream = df.dp.preview(epsilon=0.5).above_threshold(10)
    assert not stream.affordable


def test_every_currency_is_shown():
    df = made(epsilon=3, delta=1e-6)
    gaussian = df.dp.preview(rho=0.01).count()
    assert (gaussian.epsilon, gaussian.delta) == (None, 0)
    assert 0 < gaussian.share < 1
    assert gaussian.loss.startswith("no finite epsilon, Renyi divergence 0.")
    smooth = df.dp.preview(epsilon=0.5, delta=1e-8).median("cost", bounds=(0, 9), method="smooth", noise="laplace")
    assert (smooth.epsilon, smooth.delta) == (0.5, 1e-8)
    assert "delta=1e-8" in smooth.loss
    assert smooth.loss in repr(smooth)
    assert made().dp.preview(epsilon=0.5).count().share is None


def test_the_first_gaussian_noise_is_said_to_end_the_sum_of_epsilons():
    df = made(epsilon=5, delta=1e-6)
    said = "the budget counts Renyi divergence alone"
    assert df.dp.preview(epsilon=0.5).count().notes == ()
    (note,) = df.dp.preview(rho=0.01).count().notes
    assert said in note
    told = re.match(
        r"after this answer the budget pays for about (\d+) more calls at epsilon=1.25 instead of (\d+): Gaussian", note
    )
    assert told is not None
    calls, before = map(int, told.groups())
    assert before == 4
    df.dp(rho=0.01).count()
    assert "the sum of epsilons no longer counts" in df.dp.session.left
    assert df.dp.preview(rho=0.02).count().notes == ()  # the second changes nothing
    for _ in range(calls):
        df.dp(epsilon=1.25, fresh=True).count()
    with pytest.raises(BudgetExceededError):
        df.dp(epsilon=1.25, fresh=True).count()
    assert made(epsilon=5, delta=1e-6, accountant="rdp").dp.preview(rho=0.01).count().notes == ()


MISTAKES = {
    "no bounds": lambda d: d.mean("cost"),
    "no column": lambda d: d.mean("csot", bounds=(0, 1)),
    "text": lambda d: d.sum("ward", bounds=(0, 1)),
    "no keys": lambda d: d.mode("ward"),
    "no question": lambda d: d.apply("cost"),
    "a step": lambda d: d.query("csot > 1").count(),
    "stream": lambda d: d.above_threshold("many"),
    "function": lambda d: d.sample_and_aggregate(lambda t: t["csot"].mean(), bounds=(0, 1)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused_as_by_the_question_itself(name):
    df, ask = made(), MISTAKES[name]
    said = []
    for frame in (df.dp(epsilon=1), df.dp.preview(epsilon=1)):
        with pytest.raises((PandasDPError, AttributeError)) as caught:
            ask(frame)
        said.append((caught.type, str(caught.value).replace("df.dp.preview(", "df.dp(")))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("price", "error"),
    [
        ({}, ArgumentTypeError),
        ({"epsilon": -1}, ArgumentValueError),
        ({"epsilon": 1, "rho": 1}, ArgumentValueError),
        ({"epsilon": 1, "within": 1}, ArgumentValueError),
        ({"epsilon": 1, "fresh": 1}, ArgumentTypeError),
        ({"epsilon": 1, "rows": 0}, ArgumentValueError),
        ({"epsilon": 1, "rows": "many"}, ArgumentTypeError),
    ],
)
def test_prices_are_checked_as_ever(price, error):
    with pytest.raises(error):
        made().dp.preview(**price)


def test_frames_are_checked_as_ever():
    df = made()
    copied = df.copy()
    assert outcome(lambda: copied.dp.preview(epsilon=1).count()) == outcome(lambda: copied.dp(epsilon=1).count())
    df.dp.session.close()
    with pytest.raises(NoSessionError):
        df.dp.preview(epsilon=1).count()


def test_a_stored_answer_of_an_earlier_process_is_known(tmp_path):
    terms = {"ledger": tmp_path / "a.dpledger", "name": fresh(), "table": "people", "version": "1"}
    df = protected(people(), **terms)
    df.dp(epsilon=1).count()
    df.dp.session.close()
    again = protected(people(), **terms)
    assert again.dp.preview(epsilon=1).count().stored
    assert not again.dp.preview(epsilon=2).count().stored


def test_within_shows_the_epsilon_that_it_buys():
    df = made()
    preview = df.dp.preview(within=20, confidence=0.99).count()
    assert preview.price == f"epsilon={df.dp(within=20, confidence=0.99).count().epsilon:g}"
    assert preview.wanted == "within=20, confidence=0.99"
    assert f"{preview.price}, for within=20, confidence=0.99" in repr(preview)
    with pytest.raises(ArgumentTypeError, match="give a price"):
        df.dp.preview(within=20).mean("cost", bounds=(0, 100))


def test_a_priced_frame_says_that_it_only_previews():
    assert repr(made().dp.preview(epsilon=1)).startswith("<df.dp.preview at epsilon=1 per call")
    assert repr(made().dp(epsilon=1)).startswith("<df.dp at epsilon=1 per call")


def test_durations_and_dates_are_said_in_their_unit():
    df = made()
    total = df.dp.preview(epsilon=1).sum("wait", bounds=("0h", "1h"))
    assert total.error == "± 3.00 h (95 %)"
    assert total.half_width == pytest.approx(pd.Timedelta("3h"), abs=pd.Timedelta("1min"))
    day = df.dp.preview(epsilon=1, rows=1000).mean("day", bounds=("2013-01-01", "2013-03-01"))
    assert day.error == "at most about ± 4.25 h with 1,000 rows (95 %)"


def test_a_bound_on_rows_that_costs_nothing_is_not_spoken_of():
    df = pd.DataFrame({"who": [1, 1, 2] * 50, "day": ["mon", "tue", "mon"] * 50})
    df.dp.protect(epsilon=3, unit="who", max_rows=7, max_rows_per_group=1, name=fresh())
    notes = df.dp.preview(epsilon=1).mode("day", keys=["mon", "tue"]).notes
    assert not any("max_rows=1" in note for note in notes)


def test_a_preview_says_what_a_loose_bound_on_rows_costs():
    df = pd.DataFrame({"who": [1, 1, 2] * 50, "x": [1.0, 2.0, 3.0] * 50})
    df.dp.protect(epsilon=3, unit="who", max_rows=20, name=fresh())
    notes = df.dp.preview(epsilon=0.001).count().notes
    assert any("at most 20 rows of each 'who' are used" in note for note in notes)
    assert "with max_rows=1: ± 2,996 rows (95 %); rows_per_unit() shows what that leaves out" in notes
    for epsilon in (1, 2, 3, 7):  # small errors are whole numbers
        alone = pd.DataFrame({"who": [1, 1, 2] * 50, "x": [1.0, 2.0, 3.0] * 50})
        alone.dp.protect(epsilon=3, unit="who", max_rows=1, name=fresh())
        least = alone.dp.preview(epsilon=epsilon).count().error
        assert any(f"with max_rows=1: {least}; " in note for note in df.dp.preview(epsilon=epsilon).count().notes)
    assert not any("max_rows=1" in note for note in df.dp.preview(epsilon=1).rows_per_unit().notes)
    alone = pd.DataFrame({"x": [1.0, 2.0]})
    alone.dp.protect(epsilon=3, name=fresh())
    assert df.dp.session.spent == "epsilon=0"
    assert not any("max_rows" in note for note in alone.dp.preview(epsilon=0.001).count().notes)


def test_describe_says_ahead_where_quantiles_have_no_value():
    df = protected()
    ahead = df.dp.preview(epsilon=0.1).describe("age", bounds=(0, 100))
    assert any(
        "quantiles have no value where the 99 % interval covers the whole range between the bounds" in note
        for note in ahead.notes
    )
    plain = df.dp.preview(epsilon=0.1).describe("age", bounds=(0, 100), error_bar=False)
    assert not any("no value" in note for note in plain.notes)
