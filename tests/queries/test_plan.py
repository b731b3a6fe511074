"""Plans: the least total for wanted errors, or what a total buys; running them stays within both."""

from __future__ import annotations

import itertools
import time
import tomllib
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, BudgetExceededError
from pandas_dp.commands.plans import PipelinePlan
from pandas_dp.core import gate
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.privacy import PrivacyLoss as Loss
from pandas_dp.queries.json_values import toml
from pandas_dp.queries.planning import Terms, least, within
from pandas_dp.queries.pricing import Choice, Put
from pandas_dp.queries.together import Design, groups_of
from pandas_dp.questions.several import prices_for
from pandas_dp.tables import protected as protecting

ASK = pandas_dp.query(epsilon=1)
COUNT, OLDER = ASK.count(), ASK.query("age > 40").count()
KEYS = {"sex": ["f", "m"], "ward": ["A", "B", "C"], "paid": ["y", "n"], "age": ["c", "y", "o"]}


def want(error, **terms):
    return pandas_dp.query(within=error, **terms)


def prices(df, queries):
    return [query.preview(df).charge.epsilon for query in queries]


def tables(errors, columns=("sex", "ward", "paid", "age"), size=2):
    """Tables of counts by pairs of columns, each with an error that it wants."""
    pairs = itertools.combinations(columns, size)
    return [
        want(error).groupby(list(pair), keys={name: KEYS[name] for name in pair}).size()
        for error, pair in zip(errors, pairs, strict=False)
    ]


def patients(n=600):
    k = np.arange(n)
    columns = {
        name: np.array(keys, dtype=object)[k // (i + 1) % len(keys)] for i, (name, keys) in enumerate(KEYS.items())
    }
    return pd.DataFrame(columns)


def test_each_wanted_error_has_its_least_price_and_the_total_is_their_sum():
    df = protected(people(), epsilon=3)
    plan = pandas_dp.plan([want(20).count(), want(50).query("age > 40").count(), ASK.count("age")], frame=df)
    paid = prices(df, plan)
    assert paid == [
        query.preview(df).charge.epsilon for query in (want(20).count(), want(50).count(), ASK.count("age"))
    ]
    assert plan.epsilon == sum(paid)
    assert plan.total == f"epsilon={float(sum(paid))}"
    assert plan.table()["wanted"].tolist() == ["within=20, confidence=0.95", "within=50, confidence=0.95", ""]
    assert [query.preview(df).half_width for query in plan][:2] == [20, 50]
    assert df.dp.session.spent == "epsilon=0"
    assert len(plan(df)) == 3
    assert df.dp.session.spent == plan.total


def test_no_row_is_read_and_nothing_charged(monkeypatch):
    df = protected(patients(), epsilon=3)
    monkeypatch.setattr(protecting, "open_view", lambda *args: pytest.fail("a row is read"))
    monkeypatch.setattr(gate, "release", lambda request: pytest.fail("a question is asked"))
    entries = len(df.dp.session.releases)
    options = {"delta": 1e-6, "rows": 500, "reconcile": True, "complete": list(KEYS)}
    for total in ({}, {"epsilon": 1}):
        pandas_dp.plan([*tables([20, 30, 40]), want(20).query("sex == 'f'").count()], df, **total, **options)
    assert len(df.dp.session.releases) == entries


def test_prices_are_shares_of_a_total():
    df = protected(people(), epsilon=3)

    def paid(total, *queries):
        return prices(df, pandas_dp.plan(list(queries), frame=df, epsilon=total))

    low, high = (pandas_dp.query(epsilon=share) for share in (0.3, 0.7))
    assert paid(1, low.count(), high.query("age > 40").count()) == [Fraction(3, 10), Fraction(7, 10)]
    assert paid(2, COUNT, OLDER) == [1, 1]
    assert paid(1, COUNT, OLDER, ASK.count("age")) == [Fraction(1, 3)] * 3
    assert df.dp.session.spent == "epsilon=0"


@pytest.mark.parametrize("total", [0.01, 1, 20])
def test_a_total_buys_no_larger_errors_than_splitting_it_did(total):
    """The prices of yesterday's `split`: the least common factor, and what whole rows leave over in proportion."""
    df = protected(people(), epsilon=100)
    asked = [
        lambda q: q.count(),
        lambda q: q.query("age > 40").count(),
        lambda q: q.histogram("age", bins=[0, 50, 100]),
    ]
    errors = [10, 20, 40]

    def cost(factor):
        return [ask(want(error * factor)).preview(df).charge.epsilon for ask, error in zip(asked, errors, strict=True)]

    exact = Fraction(str(total))
    before = prices_for(exact, cost, "")
    plan = pandas_dp.plan([ask(want(e)) for ask, e in zip(asked, errors, strict=True)], frame=df, epsilon=total)
    assert plan.epsilon == sum(prices(df, plan)) <= exact == sum(before)
    for ask, price, query in zip(asked, before, plan, strict=True):
        assert query.preview(df).half_width <= max(
            1, 1.001 * ask(pandas_dp.query(epsilon=price)).preview(df).half_width
        )


def test_a_total_that_errors_exceed_is_spent_in_proportion():
    """Two counts of which one may err twice as much: the least factor is found, so one price is twice the other."""
    df = protected(people(), epsilon=100)
    plan = pandas_dp.plan([want(100).count(), want(200).query("age > 40").count()], frame=df, epsilon=0.03)
    paid = prices(df, plan)
    assert float(paid[0] / paid[1]) == pytest.approx(2, rel=0.02)
    assert 0.029 < sum(paid) <= 0.03


def test_what_stands_twice_is_answered_and_paid_once():
    df = protected(people(), epsilon=3)
    plan = pandas_dp.plan([want(20).count(), OLDER, want(20).count()], frame=df)
    again = pandas_dp.query(within=20, fresh=True).count()
    assert pandas_dp.plan([again, again], frame=df).epsilon == 2 * pandas_dp.plan([again], frame=df).epsilon
    first, _, third = plan(df)
    assert first == third
    assert df.dp.session.spent == plan.total


@pytest.mark.parametrize("accountant", ["pure", "hybrid", "rdp", "zcdp", "gdp", "plan"])
def test_a_budget_of_the_total_pays_for_all_and_no_smaller_one_does(accountant):
    df = protected(people(), epsilon=3)
    queries = [want(50).query(f"age > {age}").count() for age in range(12)]
    delta = 0 if accountant == "pure" else 1e-6
    plan = pandas_dp.plan(queries, frame=df, delta=delta, accountant=accountant)
    mine = people()
    session = mine.dp.protect(plan=plan, name=fresh())
    assert (session.budget.epsilon, session.budget.delta) == (plan.epsilon, plan.delta)
    assert session.budget.accountant == accountant
    backwards = [query(mine) for query in reversed(plan)]
    assert len(backwards) == 12
    less = people()
    short = {**plan.terms, "epsilon": plan.epsilon * Fraction(998, 1000)}
    if accountant == "plan":
        with pytest.raises(ArgumentValueError, match="plan= costs more"):
            less.dp.protect(**short, name=fresh())
    else:
        less.dp.protect(**short, name=fresh())
        with pytest.raises(BudgetExceededError):
            plan(less)
        assert less.dp.session.spent == "epsilon=0"  # refused before the first is asked
    session.close()


def test_totals_by_accountant_are_those_of_the_note():
    """Computed independently with the filters' formulas: 60 counts within 50 rows, at delta = 1e-6."""
    df = protected(people(), epsilon=3)
    plan = pandas_dp.plan([want(50).query(f"age > {age}").count() for age in range(60)], frame=df, delta=1e-6)
    assert {name: round(float(total), 2) for name, total in plan.accounts.items()} == pytest.approx(
        {"pure": 3.57, "hybrid": 1.43, "plan": 2.0, "gdp": 1.32}, rel=0.005
    )
    assert plan.accountant == "gdp"
    assert plan.total == f"epsilon={float(plan.epsilon)}, delta=1e-6"
    assert "rho=" in repr(plan)


def test_a_total_without_a_delta_is_taken_where_it_is_hardly_more():
    df = protected(people(), epsilon=3)
    errors = [20] * 4 + [50] * 4 + [10] * 2 + [200] * 2
    plan = pandas_dp.plan([want(e).query(f"age > {i}").count() for i, e in enumerate(errors)], df, delta=1e-6)
    assert 0.99 * plan.epsilon < plan.accounts["plan"] < plan.epsilon
    assert (plan.accountant, plan.delta) == ("pure", 0)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("delta", [1e-6, 1e-9])
@pytest.mark.parametrize("errors", [(50, 20), (3, 40), (8, 8), (400, 1)])
def test_the_hybrid_total_is_that_of_the_best_mixture_of_noises(errors, delta):
    """Brute force: every way to choose Laplace or Gaussian noise for each of six queries, charged by the filter itself."""
    df = protected(people(), epsilon=3)
    queries = [want(errors[i % 2]).query(f"age > {i}").count() for i in range(6)]
    found = pandas_dp.plan(queries, frame=df, delta=delta, accountant="hybrid").epsilon
    both = [[one.loss for one in Put.of(query, df, False, None).choices(Fraction(1), True)] for query in queries]

    def pays(total):
        rule = filter_for(Budget.of(total, Fraction(str(delta))))
        for way in itertools.product(*both):
            state = State.zero()
            for loss in way:
                state = state and rule.admit(state, rule.charge(loss))
            if state is not None:
                return True
        return False

    assert {len(some) for some in both} == {2}
    assert pays(found)
    assert not pays(found * Fraction(998, 1000))


def test_the_least_sum_of_charges_is_found_by_brute_force():
    """Of three prices each, all 27 combinations: none is admitted at a total below the least one."""
    pure, gauss = (lambda x, of=of: Choice(None, of(Fraction(x))) for of in (Loss.pure, Loss.gaussian))
    choices = [[pure("1/7"), gauss("1/150"), gauss("1/60")], [pure(1), gauss("1/2"), pure(2)], [pure("1/20")] * 3]
    for name in ("pure", "hybrid", "rdp", "zcdp", "plan"):
        terms = Terms(name, Fraction(0) if name == "pure" else Fraction(1, 10**6))
        found = least(terms, choices).epsilon
        ways = [least(terms, [[one] for one in way]) for way in itertools.product(*choices)]
        assert min(way.epsilon for way in ways if way is not None) >= found
        assert within(found, terms, choices) is not None
        assert within(found * Fraction(99, 100), terms, choices) is None


def test_means_by_a_guess_of_the_rows():
    df = protected(people(), epsilon=30)
    mean = want(0.5).mean("age", bounds=(0, 100))
    plan = pandas_dp.plan([mean, want(20).count()], frame=df, rows=3000)
    half = plan[0].preview(df, rows=3000).half_width
    assert 0.495 < half <= 0.5
    assert (
        4 * plan.epsilon
        > pandas_dp.plan([mean], frame=df, rows=1500).epsilon
        > 1.9 * (plan.epsilon - prices(df, plan)[1])
    )
    private = pandas_dp.plan([mean], frame=df, rows=3000, delta=1e-6, accountant="gdp")
    assert private[0].preview(df, rows=3000).half_width <= 0.5
    assert pandas_dp.plan([want(0.1).groupby("sex", keys=["f", "m"])["age"].mean(bounds=(0, 100))], frame=df, rows=500)


def test_wanted_confidence_and_gaussian_noise_are_kept():
    df = protected(people(), epsilon=3)
    options = {"frame": df, "delta": 1e-6, "accountant": "gdp"}
    usual, sure = (pandas_dp.plan([want(20, confidence=level).count()], **options) for level in (0.95, 0.99))
    assert 1.5 < float(sure.epsilon / usual.epsilon) ** 2 < 2  # (2.576 / 1.96)^2 in rho
    gauss = pandas_dp.plan([want(20, delta=1e-6).count()], frame=df, delta=1e-5)
    assert gauss[0]._terms["delta"] == 1e-6


def test_a_public_number_costs_nothing_in_a_plan():
    df = protected(people(), epsilon=3, neighbors="replace_one", rows=True)
    plan = pandas_dp.plan([want(20).count(), want(20).query("age > 40").count()], frame=df)
    assert plan.table()["price"].tolist()[0] == "nothing"
    assert plan.epsilon == prices(df, plan)[1]
    rows, _ = plan(df)
    assert rows == len(df)


def test_a_plan_is_written_down_as_a_plan_file_has_it():
    df = protected(patients(), epsilon=3)
    queries = [
        *tables([20, 50]),
        want(30).query('sex == "f" and paid != "\x7f"').count(),
        pandas_dp.query(epsilon=Fraction(1, 3)).count("ward"),
        pandas_dp.query(within=30, delta=1e-6).histogram("ward", keys=["A", "B"], other=True),
    ]
    plan = pandas_dp.plan(queries, frame=df, delta=1e-5)
    budget = f'[budget]\nname = "v"\nepsilon = {float(plan.epsilon)}\ndelta = 1e-5\naccountant = "hybrid"\n'
    read = PipelinePlan.of(tomllib.loads(f"{budget}\n{plan.to_toml()}"))
    assert [*read.queries.values()] == list(plan)
    assert [*read.queries][-1] == "query_5"
    fresh_one = pandas_dp.plan([want(20, fresh=True).count()], frame=df)
    with pytest.raises(ArgumentTypeError, match="in code"):
        fresh_one.to_toml()
    with pytest.raises(ArgumentTypeError, match="a plan holds numbers"):
        toml([None])


LINES = [
    ({"queries": [COUNT, "count"]}, ArgumentTypeError, r"list of queries: pandas_dp\.plan\("),
    ({"queries": []}, ArgumentValueError, "a list of 1 to"),
    ({"frame": None}, ArgumentTypeError, "frame must be the DataFrame that will be asked"),
    ({"epsilon": 0}, ArgumentValueError, "epsilon"),
    ({"epsilon": 1e-9, "queries": [want(1e-6).count()]}, ArgumentValueError, "too small for errors 1,000 times"),
    (
        {"queries": [want(1).mean("age", bounds=(0, 100))]},
        ArgumentTypeError,
        r"about how many, plan\(queries, frame=df, rows=10_000\)",
    ),
    (
        {"queries": [want(1e-9).mean("age", bounds=(0, 100))], "rows": 300},
        ArgumentValueError,
        "even epsilon=1e6 does not give this error; epsilon=.* buys within=",
    ),
    ({"queries": [want(1).std("age", bounds=(0, 100))], "rows": 300}, ArgumentTypeError, "give that query a price"),
    (
        {"queries": [want(1).agg({"age": ["mean", "count"]}, bounds={"age": (0, 100)})]},
        ArgumentTypeError,
        "give that query a price",
    ),
    (
        {"queries": [want(1, confidence=0.9).mean("age", bounds=(0, 100))], "rows": 300},
        ArgumentTypeError,
        "leave confidence= out",
    ),
    ({"queries": [want(pd.Timedelta("1h")).count()]}, ArgumentTypeError, "within must be a number"),
    (
        {"queries": [pandas_dp.query(rho=0.1).count()]},
        ArgumentValueError,
        r"need a delta.*plan\(queries, frame=df, delta=1e-6\)",
    ),
    ({"queries": [COUNT], "delta": 1e-6, "accountant": "gdp"}, ArgumentValueError, "'gdp' allows Gaussian noise alone"),
    ({"accountant": "rdp"}, ArgumentValueError, "needs a delta: delta=1e-6"),
    ({"accountant": "pure", "delta": 1e-6}, ArgumentValueError, "leave delta= out"),
    ({"accountant": "basic"}, ArgumentValueError, "accountant must be one of 'pure'"),
    ({"complete": ["sex"]}, ArgumentValueError, "reconcile=True"),
    ({"complete": ["sex"], "reconcile": True}, ArgumentValueError, "no table is by 'sex'"),
]


@pytest.mark.parametrize(("options", "error", "says"), LINES)
def test_what_cannot_be_planned_is_refused(options, error, says):
    df = protected(people(), epsilon=3)
    with pytest.raises(error, match=says):
        pandas_dp.plan(**{"queries": [COUNT, OLDER], "frame": df} | options)
    assert df.dp.session.spent == "epsilon=0"


def test_split_says_what_it_is_called_now():
    with pytest.raises(AttributeError, match=r"now pandas_dp.plan\(queries, frame=df, epsilon=1\)"):
        pandas_dp.split
    assert not hasattr(pandas_dp, "split")


def test_a_plan_that_the_budget_does_not_pay_is_refused_whole():
    df = protected(people(), epsilon=0.2)
    plan = pandas_dp.plan([want(20).count(), want(20).query("age > 40").count()], frame=df)
    with pytest.raises(BudgetExceededError):
        plan(df)
    assert df.dp.session.spent == "epsilon=0"
    with pytest.raises(ArgumentTypeError, match="brings its own total"):
        people().dp.protect(plan=plan, delta=1e-6, name=fresh())
    with pytest.raises(ArgumentTypeError, match="asked of a protected DataFrame"):
        plan("frame")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("errors", [[25] * 6, [10, 40, 40, 10, 40, 40], [15, 25, 35] * 2, [2] * 6, [0.4] * 6])
def test_reconciled_tables_cost_no_more_and_err_by_what_is_wanted(errors, delta):
    df = protected(patients(), epsilon=500)
    queries = tables(errors)
    if errors == [2] * 6:  # which tell enough of these
        queries, errors = [*queries, want(10**7).count(), *tables([10**6] * 4, size=1)], errors + [10**7] + [10**6] * 4
    alone = pandas_dp.plan(queries, frame=df, delta=delta)
    plan = pandas_dp.plan(queries, frame=df, delta=delta, reconcile=True, complete=list(KEYS))
    assert plan.epsilon <= alone.epsilon
    if min(errors) == 25:
        assert plan.epsilon <= 0.9 * alone.epsilon
    mine = patients()
    session = mine.dp.protect(plan=plan, name=fresh())
    for answer, error in zip(plan(mine), errors, strict=True):
        ends = answer.interval()
        assert np.all((ends.upper - ends.lower) / 2 <= error * (1 + 1e-6))
    session.close()


def test_what_is_one_draw_or_no_count_is_not_reconciled():
    """Two forms of one question are one stored answer, and a typed number of rows counts nothing."""
    keys = {name: KEYS[name] for name in ("sex", "ward")}
    queries = [want(25).crosstab("sex", "ward", keys=keys), *tables([25], ("sex", "ward")), *tables([40, 40], size=1)]
    df = patients()
    session = df.dp.protect(epsilon=50, neighbors="replace_one", rows=600, name=fresh())
    plan = pandas_dp.plan([*queries, want(9).count()], frame=df, reconcile=True, complete=list(keys))
    told = plan.table()
    assert told["error"].str.contains("reconciled").tolist() == [True, False, True, True, False]
    assert told["price"].iloc[-1] == "nothing"
    answers = plan(df)
    assert answers[-1] == 600
    assert answers[0].to_numpy().sum() == pytest.approx(answers[2].sum())
    assert ((answers[2].interval().upper - answers[2].interval().lower) / 2 <= 40 + 1e-6).all()
    declared = pandas_dp.plan([want(9).count(), *queries[2:]], frame=df, delta=1e-6, accountant="plan")
    session.close()
    other = patients()
    other.dp.protect(plan=declared, neighbors="replace_one", rows=600, name=fresh())
    assert len(declared(other)) == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_public_number_of_rows_makes_tables_cheaper(delta):
    df = patients()
    session = df.dp.protect(epsilon=50, neighbors="replace_one", rows=True, name=fresh())
    queries = [want(9).count(), *tables([25] * 4, size=1)]
    plan = pandas_dp.plan(queries, df, delta=delta, reconcile=True, complete=list(KEYS))
    alone = pandas_dp.plan(queries, df, delta=delta)
    assert plan.epsilon < 0.9 * alone.epsilon
    assert plan.table()["error"].iloc[0] == "± 0 rows (95 %) reconciled"
    mine = patients()
    mine.dp.protect(plan=plan, neighbors="replace_one", rows=True, name=fresh())
    rows, *found = plan(mine)
    assert rows == 600
    assert all(one.sum() == pytest.approx(600) for one in found)
    assert all(((one.interval().upper - one.interval().lower) / 2 <= 25 + 1e-6).all() for one in found)
    session.close()


def test_prices_and_errors_stand_side_by_side_under_a_total():
    df = protected(people(), epsilon=3)
    plan = pandas_dp.plan(
        [COUNT, want(20).query("age > 40").count(), pandas_dp.query(rho=0.01).count("age")], df, epsilon=1, delta=1e-6
    )
    assert plan.epsilon == 1
    assert plan[0]._terms["epsilon"] < 1
    assert plan[2]._terms["rho"] < 0.01
    both = pandas_dp.plan([COUNT, want(20).query("age > 40").count()], df, epsilon=0.5)
    assert 0.499 < both.epsilon <= 0.5
    assert float(prices(df, both)[0] / prices(df, both)[1]) == pytest.approx(1 / 0.1462, rel=0.02)


def test_prices_of_tables_that_tell_of_each_other_are_the_least_on_a_grid():
    """Two margins and their table: brute force over a grid of variances, with Gaussian noise, where the cost is convex."""
    design, most = Design.of([(0,), (1,), (0, 1)], [2, 3]), np.array([30.0, 20.0, 45.0])
    found = design.least(np.full(3, 0.5), most, 3 / most)
    assert (design.variances(found) <= most * (1 + 1e-9)).all()
    grid = np.geomspace(1e-4, 0.1, 70)
    points = np.array(list(itertools.product(grid, repeat=3)))
    variances = (1 / (points @ design.told)) @ design.made.T
    best = points[(variances <= most).all(axis=1)].sum(axis=1).min()
    assert found.sum() <= best <= 1.12 * found.sum()  # the grid's steps are of 10 %


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 1])
def test_no_prices_are_found_that_cost_much_less_for_very_mixed_errors(seed):
    """Twelve tables of a census, most of the total for the two that want the least error: from 30 starts all over.

    There reconciling saves 3 to 7 % only. A branch and bound over boxes of precisions gave lower bounds 0.5 to 1.4 % below what
    is found, so that nine tenths of the total without it are out of reach for such errors.
    """
    df = protected(pd.DataFrame({name: ["0"] for name in "abcdef"}), epsilon=500)
    sizes = dict(zip("abcdef", (16, 7, 15, 5, 2, 2), strict=True))
    errors = np.array([20] * 4 + [50] * 4 + [10] * 2 + [200] * 2)
    errors = errors if seed is None else np.random.default_rng(seed).permutation(errors)
    queries = [
        want(error).groupby(list(pair), keys={name: [str(i) for i in range(sizes[name])] for name in pair}).size()
        for pair, error in zip(itertools.combinations(sizes, 2), errors.tolist(), strict=False)
    ]
    alone = pandas_dp.plan(queries, frame=df)
    plan = pandas_dp.plan(queries, frame=df, reconcile=True, complete=list(sizes))
    assert 0.9 < plan.epsilon / alone.epsilon < 0.98
    puts = [Put.of(query, df, True, None) for query in plan]
    (group,) = groups_of(puts, list(sizes))
    chosen = [put.choices(1, False)[0] for put in puts]
    most = (errors / group._deviations(chosen, True)) ** 2
    design = Design.of(group.tables, group.sizes)
    bound, costs = 3 / most, []
    random = np.random.default_rng(5)
    for _ in range(30):
        start = bound * np.exp(random.normal(-1, 2, len(most)))
        for _ in range(20):
            start = design.least(1 / (np.sqrt(2 * start) * np.sqrt(1 + start / 2)), most, bound)
        costs.append(float((2 * np.arcsinh(np.sqrt(start / 2))).sum()))
    assert min(costs) > 0.99 * float(plan.epsilon)


@pytest.mark.parametrize(
    ("delta", "reconcile"), [(0, False), (1e-6, False), (0, True), pytest.param(1e-6, True, marks=pytest.mark.slow)]
)
def test_twelve_tables_are_planned_within_a_second(delta, reconcile):
    df = protected(patients(), epsilon=3)
    queries = [*tables([20, 50, 30, 25, 40, 60]), *tables([20, 30, 40, 50], size=1), *tables([25, 35], size=3)]
    assert len(queries) == 12
    options = {"reconcile": True, "complete": list(KEYS)} if reconcile else {}
    taken = []
    for _ in range(3):
        start = time.process_time()
        pandas_dp.plan(queries, frame=df, delta=delta, **options)
        taken.append(time.process_time() - start)
    assert min(taken) < 1


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("reconcile", [False, True])
def test_running_a_plan_stays_within_its_errors_and_its_total(reconcile, delta):
    """Of 400 runs the first cell of each table is beyond its error 20 times on average at most, by the binomial law.

    39 times or more it is with 7e-5, and then 78 times in 1,000 runs more with 1e-4: for the 24 tables of four cases below
    1e-6. Where it is beyond in 12 % of the runs that is found with probability 0.93.
    """
    frame, errors = patients(), [25, 10, 40, 25, 15, 30]
    queries, pairs = tables(errors), list(itertools.combinations(KEYS, 2))
    opened = protected(frame, epsilon=500)
    options = {"reconcile": True, "complete": list(KEYS)} if reconcile else {}
    plan = pandas_dp.plan(queries, frame=opened, delta=delta, **options)
    exact = [(frame[one].eq(KEYS[one][0]) & frame[other].eq(KEYS[other][0])).sum() for one, other in pairs]

    def beyond(runs):
        found = np.zeros(len(queries))
        for _ in range(runs):
            mine = patients()
            session = mine.dp.protect(plan=plan, name=fresh())
            answers = plan(mine)  # which the total pays for
            found += [abs(one.iloc[0] - n) > error for one, n, error in zip(answers, exact, errors, strict=True)]
            session.close()
        return found

    often = beyond(400) >= 39
    assert not often.any() or not (often & (beyond(1000) >= 78)).any()


def test_a_plan_for_single_rows_opens_no_budget_of_people():
    """Its answers were ten times as far off as it said, and nothing told so."""
    mine = people()
    mine.dp.protect(epsilon=3, name=fresh())
    plan = pandas_dp.plan([pandas_dp.query(within=30).count()], frame=mine)
    for frame, bound in ((people(), 10), (mine, 10), (people(), "private")):
        with pytest.raises(
            ArgumentValueError, match=rf"made for 1 row per unit; .* with max_rows={bound!r}: protect the frame"
        ):
            frame.dp.protect(plan=plan, unit="pid", max_rows=bound, name=fresh())
    people().dp.protect(plan=plan, unit="pid", max_rows=1, name=fresh())
    name = fresh()
    mine.dp.protect(epsilon=3, unit="pid", max_rows=10, name=name)
    plan = pandas_dp.plan([pandas_dp.query(within=30).count()], frame=mine)
    mine.dp.protect(plan=plan, unit="pid", max_rows=10, name=name)  # as it says: nothing was asked yet
    (rows,) = plan(mine)
    assert rows.interval()[1] - rows.interval()[0] <= 60


def test_a_plan_for_a_budget_of_rhos_counts_as_that_does():
    """Its total was 1.212 at another delta, by an accountant that the budget has not, where the session said 1.79."""
    df = protected(pd.DataFrame({"age": range(5000)}), None, rho=0.1)
    queries = [pandas_dp.query(rho=0.01).count(), pandas_dp.query(within=20).count("age")]
    plan = pandas_dp.plan(queries, frame=df)
    assert (plan.accountant, plan.delta, plan.rho) == ("zcdp", Fraction(1, 10**10), Fraction("0.015072"))
    assert "(rho about 0.01508), accountant 'zcdp'" in repr(plan)
    plan(df)
    assert df.dp.session.spent.rho == Decimal("0.015072")
    assert float(df.dp.session.spent.epsilon) == pytest.approx(float(plan.epsilon), rel=1e-2)
    whole = pandas_dp.plan(queries, frame=df, rho=0.1)
    assert whole.terms["epsilon"] == df.dp.session.budget.epsilon
    assert 0.095 < whole.rho <= Fraction(1, 10)
    other = pd.DataFrame({"age": range(5000)})
    other.dp.protect(plan=whole, name=fresh())
    assert other.dp.session.budget == df.dp.session.budget
    with pytest.raises(ArgumentValueError, match="a plan has one total"):
        pandas_dp.plan(queries, frame=df, rho=0.1, epsilon=1)
    assert pandas_dp.plan(queries, frame=df, rho=0.1, delta=1e-6).delta == Fraction(1, 10**6)
    mean = pandas_dp.query(epsilon=1).mean("age", bounds=(0, 100))
    assert "plan(..., rows=10_000)" in repr(pandas_dp.plan([mean], frame=df))
