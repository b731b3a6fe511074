"""A statistician types rho, reads what is refused and types what is advised: it is answered, and costs no more rho."""

from __future__ import annotations

import re
from fractions import Fraction

import pandas as pd
import pytest
from contract.test_typed_advice_of_newcomers import KNOWN, Notebook, advised, visits
from support.frames import fresh

import pandas_dp

ALL = {"ward": ["A", "B"], "sex": ["f", "m"], "age": [20, 21]}


TYPED = Fraction(1, 50) + Fraction(1, 2**60)  # as the filter adds it up, in steps of 2**-64


def statistician(df: pd.DataFrame | None = None) -> Notebook:
    return Notebook(df, delta=1e-6, accountant="zcdp")


def typed(notebook: Notebook, line: str) -> tuple[list[str], Fraction]:
    """Lines that are typed until one is answered, and what the last of them cost in rho."""
    session = notebook.names["df"].dp.session
    lines = [line]
    before = session._state.renyi
    while len(lines) < 4 and (refusal := notebook.run(lines[-1])) is not None:
        assert session._state.renyi == before
        advice = advised(refusal, lines[-1])
        assert advice is not None, refusal
        lines.append(advice)
    return lines, session._state.renyi - before


SAME_PRICE = {  # one refusal, and the caller's own line at the epsilon that costs as much
    "df.dp(rho=0.02).median('cost', bounds=(0, 500))": "df.dp(epsilon=0.4).median('cost', bounds=(0, 500))",
    "df.dp(rho=0.02)['cost'].median(bounds=(0, 500))": "df.dp(epsilon=0.4)['cost'].median(bounds=(0, 500))",
    "df.dp(rho=0.02).quantile('cost', [0.1, 0.9], bounds=(0, 500))": "df.dp(epsilon=0.565).quantile('cost', [0.1, 0.9], ",
    "df.dp(rho=0.02).mode('ward', keys=['A', 'B'])": "df.dp(epsilon=0.4).mode('ward', keys=['A', 'B'])",
    "df.dp(rho=0.02).top_k('ward', 1, keys=['A', 'B'])": "df.dp(epsilon=0.4).top_k('ward', 1, keys=['A', 'B'])",
    "df.dp(rho=0.02).describe('cost', bounds=(0, 500))": ".describe('cost', bounds=(0, 500))",
    "df.dp(rho=0.02).select([20, 40], score='age >= candidate')": "df.dp(epsilon=0.4).select([20, 40], score=",
    "df.dp(rho=0.02).sample_and_aggregate(lambda d: d['cost'].mean(), bounds=(0, 500))": ".sample_and_aggregate(lambda d: ",
    "df.dp(rho=0.02).above_threshold(1000, max_above=3)": "df.dp(epsilon=0.2).above_threshold(1000, max_above=3)",
    "df.dp(rho=0.02).groupby('ward', keys=['A', 'B'])['cost'].median(bounds=(0, 500))": "df.dp(epsilon=0.4).groupby('ward', ",
    "df.dp(rho=0.02).agg({'cost': ['mean', 'median']}, bounds={'cost': (0, 500)})": ".agg({'cost': ['mean', 'median']}, ",
    "df.dp(0.3, 1e-7).median('cost', bounds=(0, 500))": "df.dp(epsilon=0.3).median('cost', bounds=(0, 500))",
    "df.dp(rho=0.02, fresh=True).query('age > 30').median('cost', bounds=(0, 500))": (
        "df.dp(epsilon=0.4, fresh=True).query('age > 30').median("
    ),
    "q = df.dp(rho=0.02).query('age > 30'); q.median('cost', bounds=(0, 500))": (
        "df.dp(epsilon=0.4).query('age > 30').median('cost', bounds=(0, 500))"
    ),
    "q = df.dp(rho=0.02).groupby('ward', keys=['A', 'B'])['cost']; q.median(bounds=(0, 500))": (
        "df.dp(epsilon=0.4).groupby('ward', keys=['A', 'B'])['cost'].median(bounds=(0, 500))"
    ),
    "df.dp.preview(rho=0.02).median('cost', bounds=(0, 500))": "df.dp.preview(epsilon=0.4).median('cost', bounds=(0, 500))",
}


@pytest.mark.parametrize("line", SAME_PRICE)
def test_what_takes_no_rho_is_advised_at_the_epsilon_that_costs_as_much(line):
    lines, cost = typed(statistician(), line)
    assert len(lines) == 2, lines
    assert SAME_PRICE[line] in lines[1]
    if "rho" in line and "preview" not in line:  # no more than typed, and nearly as much
        assert Fraction(1, 60) < cost <= TYPED


@pytest.mark.parametrize(
    "ask", ["groupby('ward').size()", "value_counts('ward')", "groupby('ward')['cost'].mean(bounds=(0, 500))"]
)
def test_keys_are_found_at_the_epsilon_that_costs_as_much(ask):
    notebook = statistician()
    refusal = notebook.run(f"df.dp(rho=0.02).{ask}")
    assert refusal is not None
    line = f"df.dp(epsilon=0.2, delta=1e-7).{ask}"
    assert refusal.endswith(f", or discover keys: {line}")
    _, cost = typed(notebook, line)
    assert 0 < cost <= TYPED


def test_of_a_recorded_question_the_price_alone_is_another():
    notebook = statistician()
    recorded = "pandas_dp.query(rho=0.02).query('age > 30').median('cost', bounds=(0, 500))"
    told = "; this one costs at most rho=0.02: pandas_dp.query(epsilon=0.4).query('age > 30').median('cost', bounds=(0, 500))"
    for line in (f"df.dp.pipe({recorded})", f"pandas_dp.plan([{recorded}], frame=df)"):
        refusal = notebook.run(line)
        assert refusal is not None
        assert refusal.endswith(told)
    assert notebook.run(f"df.dp.pipe({told.partition(': ')[2]})") is None


def test_what_is_wrong_at_that_epsilon_too_is_told_at_once():
    refusal = statistician().run(
        "df.dp(rho=0.002).kmeans(['cost', 'age'], k=3, bounds={'cost': (0, 500), 'age': (0, 99)})"
    )
    assert refusal is not None
    assert "and at epsilon=0.06" in refusal
    assert "noise as wide as the range" in refusal


def test_a_budget_of_gaussian_noise_alone_has_no_plain_epsilon():
    notebook = Notebook(delta=1e-6, accountant="gdp")
    refusal = notebook.run("df.dp(rho=0.02).median('cost', bounds=(0, 500))")
    assert (
        refusal
        == "a quantile takes a plain epsilon, and accountant='gdp' allows Gaussian noise only: this budget has none of that"
    )


KEYS = {  # keys of more columns than are grouped by: what stands in the line that is answered
    "crosstab('ward', 'sex', keys=ALL)": "keys={'ward': ALL['ward'], 'sex': ALL['sex']})",
    "groupby(['ward', 'sex'], keys=ALL).size()": "keys={'ward': ALL['ward'], 'sex': ALL['sex']}).size()",
    "groupby('ward', keys=ALL).size()": "keys={'ward': ALL['ward']}).size()",
    "groupby(['ward', 'sex'], keys={'ward': ['A'], 'sx': ['f']}).size()": "keys={'ward': ['A'], 'sex': ['f']}).size()",
    "groupby(['ward', 'sex'], keys={'ward': ['A'], 'sex': ['f'], 'age': [3]}).size()": "keys={'ward': ['A'], 'sex': ['f']})",
    "groupby(['ward', 'cost'], keys=ALL, bins={'cost': [0, 9], 'day': [0, 1]}).size()": (
        "keys={'ward': ALL['ward']}, bins={'cost': [0, 9]}).size()"
    ),
    "value_counts('ward', keys=ALL)": "value_counts('ward', keys=ALL['ward'])",
    "histogram('age', keys=ALL)": "histogram('age', keys=ALL['age'])",
}


@pytest.mark.parametrize("ask", KEYS)
def test_of_keys_of_many_columns_those_that_are_asked_for_are_named(ask):
    notebook = statistician(visits().assign(sex="f"))
    notebook.names["ALL"] = ALL
    lines, _ = typed(notebook, f"df.dp(rho=0.01).{ask}")
    assert len(lines) == 2, lines
    assert KEYS[ask] in lines[1]


def test_of_keys_that_cannot_be_read_no_line_is_made_up():
    notebook = statistician()
    notebook.names["given"] = {"keys": {"ward": ["A"], "day": [1]}}
    refusal = notebook.run("df.dp(rho=0.01).groupby('ward', **given)")
    assert refusal is not None
    assert refusal.startswith("keys= names a column that groupby() does not use, 'day'")
    assert "None" not in refusal


RAISED = {  # a total of rho, and what is typed: the total that is then admitted
    "df.dp.session.extend(rho=4, reason='more')": 4,
    "df.dp.session.extend(to=30, rho=4, reason='more')": 4,
    "df.dp.session.extend(mu=3, reason='more')": Fraction(9, 2),
    "df.dp.protect(rho=4)": 4,
}


@pytest.mark.parametrize("line", RAISED)
@pytest.mark.parametrize("asked", [False, True])
def test_a_total_of_rho_is_raised_to_the_epsilon_that_admits_it(line, asked):
    """The order of divergences is that of the first charge, so another epsilon than a fresh budget would have."""
    df = visits()
    notebook = Notebook(df, delta=1e-6, accountant="zcdp")
    df.dp.session.close()
    session = df.dp.protect(rho=3, name=fresh())
    if asked:
        assert notebook.run("df.dp(rho=0.01).count()") is None
    wanted, line = RAISED[line], line.replace("protect(rho=4", f"protect(rho=4, name={session.name!r}")
    if (refusal := notebook.run(line)) is not None:
        raised = re.search(r"df\.dp\.session\.extend\(to=[\d.]+, reason='[^']*'\)", refusal)
        assert raised, refusal
        assert notebook.run(raised[0].replace("...", "more")) is None
    assert wanted <= session._rule.limit < wanted * (1 + 1e-4)


def test_a_total_of_rho_is_not_lowered():
    df = visits()
    notebook = Notebook(df, delta=1e-6, accountant="zcdp")
    refusal = notebook.run("df.dp.session.extend(rho=1, reason='less')")
    assert refusal is not None
    assert refusal.startswith(
        "extend() takes the new total as to=, not rho=, and it can only be raised: df.dp.session.extend("
    )


TWO_AT_ONCE = {  # what lacks beside the price is told with it
    "df.dp(rho=0.02).median('cost')": "df.dp(epsilon=0.4).median('cost', bounds=(0, 500))",
    "df.dp(rho=0.02)['cost'].median()": "df.dp(epsilon=0.4)['cost'].median(bounds=(0, 500))",
    "df.dp(rho=0.02).median('cost', bounds=(0, 500), error_bar=True, population=True)": (
        "df.dp(epsilon=0.2).median('cost', bounds=(0, 500), error_bar=True)"
    ),
    "df.dp(rho=0.02).median('cost', method='smooth')": "df.dp(epsilon=0.2).median('cost', method='smooth', bounds=(0, 500))",
    "df.dp(rho=0.02).mode('ward')": "df.dp(epsilon=0.4).mode('ward', keys=['A', 'B'])",
    "df.dp(rho=0.02).top_k('ward')": "df.dp(epsilon=0.2).top_k('ward', k=3, keys=['A', 'B'])",
    "df.dp(rho=0.02).select([20, 40], score=lambda d, c: (d.age == c).sum())": (
        "df.dp(epsilon=0.4).select([20, 40], score=lambda d, c: (d.age == c).sum(), sensitivity=10)"
    ),
}


@pytest.mark.parametrize("line", TWO_AT_ONCE)
def test_what_lacks_beside_a_plain_epsilon_is_told_with_it(line):
    notebook = statistician()
    refusal = notebook.run(line)
    assert refusal is not None
    for general, own in KNOWN.items():
        refusal = refusal.replace(general, own)
    assert TWO_AT_ONCE[line] in refusal
    assert "takes a plain epsilon, and this one costs at most rho=0.02" in refusal
    if "top_k" not in line:  # of two keys there are no three
        before = notebook.names["df"].dp.session._state.renyi
        assert notebook.run(TWO_AT_ONCE[line]) is None
        assert 0 < notebook.names["df"].dp.session._state.renyi - before <= TYPED


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
@pytest.mark.parametrize("call", ["partition('ward', ['A', 'B'], rho=0.02)", "allot('team', rho=0.02)"])
def test_a_part_is_bought_at_the_epsilon_that_costs_as_much(call, neighbors):
    notebook = Notebook(delta=1e-6, accountant="zcdp", neighbors=neighbors)
    lines, cost = typed(notebook, f"df.dp.{call}")
    assert len(lines) == 2, lines
    halved = neighbors == "replace_one" and "partition" in call
    assert lines[1] == f"df.dp.{call.replace('rho=0.02', 'epsilon=0.1' if halved else 'epsilon=0.2')}"
    assert Fraction(1, 60) < cost <= TYPED


def test_the_line_for_persons_is_the_one_that_was_typed():
    notebook = Notebook()
    notebook.names["df"].dp.session.close()
    notebook.names["__name__"], name = "notebook", fresh()
    line = f"df.dp.protect(rho=0.5, table='visits', version='1', name={name!r}"
    with pytest.warns(UserWarning, match="looks like a person identifier") as told:
        assert notebook.run(f"{line})") is None
    assert f"type {line}, unit='patient_id', max_rows=10), before anything is asked" in str(told[0].message)
    assert notebook.run(f"{line}, unit='patient_id', max_rows=10)") is None
    assert notebook.names["df"].dp.session.unit.column == "patient_id"


ONE = {  # a refusal, and what is typed then
    "df.dp(rho=0.01).crosstab('ward', 'sex', 'age', keys=ALL)": ".groupby(['ward', 'sex', 'age'], keys=ALL).size()",
    "df.dp(rho=0.01).mean(['cost', 'age'], bounds={'cost': (0, 500), 'age': (0, 99)})": (
        "df.dp(rho=0.01)[['cost', 'age']].mean(bounds={'cost': (0, 500), 'age': (0, 99)})"
    ),
    "df.dp(rho=0.01).sum(['cost', 'age'])": "df.dp(rho=0.01)[['cost', 'age']].sum(bounds={'cost': (0, 500), 'age': (0, 500)})",
    "df.dp(rho=0.01).groupby('ward', keys=['A'])[['cost', 'age']].mean()": "bounds={'cost': (0, 500), 'age': (0, 500)})",
}


@pytest.mark.parametrize("line", ONE)
def test_a_question_about_several_columns_is_advised_whole(line):
    notebook = statistician(visits().assign(sex="f"))
    notebook.names["ALL"] = ALL
    lines, cost = typed(notebook, line)
    assert len(lines) == 2, lines
    assert ONE[line] in lines[1]
    assert abs(cost - Fraction(1, 100)) < Fraction(1, 10**6)


def test_a_price_of_unknown_words_is_shown_with_a_price():
    notebook = statistician()
    assert (notebook.run("df.dp(costs=100)") or "").endswith(": df.dp(epsilon=0.5)")
    assert (notebook.run("df.dp(rho=0.1, costs=100)") or "").endswith("; without it: df.dp(rho=0.1)")
    assert "the price makes the noise" in (notebook.run("df.dp(variance=100)") or "")


@pytest.mark.parametrize("more", ["", ", delta=1e-6", ", delta=1e-6, accountant='gdp'"])
def test_a_mu_is_counted_as_it_is(more):
    """Of rho = mu^2 / 2 less is promised."""
    notebook = Notebook()
    notebook.names["df"] = visits()
    refusal = notebook.run(f"df.dp.protect(mu=1{more}, name={(name := fresh())!r})")
    assert refusal is not None
    assert notebook.run(refusal.rpartition(": ")[2]) is None
    session = notebook.names["df"].dp.session
    assert (session.name, session.budget.accountant) == (name, "gdp")
    assert 1 <= session._rule.limit < 1 + 1e-4


def test_quarters_are_no_periods_and_nobody_is_protected_less():
    df = visits()
    notebook = Notebook(df)
    df.dp.session.close()
    refusal = notebook.run(f"df.dp.protect(epsilon=3, period='Q', time='day', name={fresh()!r})")
    assert (refusal or "").endswith("; there are no quarters, and a year protects more: type period='Y'")
    assert notebook.run(f"df.dp.protect(epsilon=3, period='M', time='day', name={fresh()!r})") is None
    refusal = notebook.run("df.dp.period('2024-Q1').dp(epsilon=1).count()")
    assert (refusal or "").endswith(": df.dp.period('2024-01', '2024-03')")
    assert notebook.run("df.dp.period('2024-01', '2024-03').dp(epsilon=1).count()") is None


def test_a_plan_of_rho_is_made_for_the_total_that_admits_it():
    notebook = statistician()
    line = "pandas_dp.plan([pandas_dp.query(rho=0.01).count()], frame=df"
    assert notebook.run(f"{line}, rho=0.1)") is None
    assert notebook.run(f"{line}, epsilon=2.15181, delta=1e-6, accountant='zcdp')") is None


def test_intervals_that_hold_together_share_the_risk():
    notebook = statistician()
    assert notebook.run("counts = df.dp(rho=0.01).value_counts('ward', keys=['A', 'B'])") is None
    for option in ("0.95, simultaneous=True", "joint=True"):
        assert (notebook.run(f"counts.interval({option})") or "").endswith("1 - 0.05 / 2)")
    assert (notebook.run("counts.interval(0.9, simultaneous=True)") or "").endswith(": counts.interval(1 - 0.1 / 2)")
    assert notebook.run("counts.interval(1 - 0.1 / 2)") is None


TOLD = {  # names and options that there are not, and what stands in the refusal
    "df.dp(rho=0.01).ttest('age', 'ward')": ".difference('A', 'B').p_value",
    "df.dp(rho=0.01).groupby('ward', keys=['A', 'B'])['age'].ttest()": ".difference('A', 'B').p_value",
    "df.dp(rho=0.01).sem('age')": ".mean('age', bounds=(lower, upper))",
    "df.dp(rho=0.01).groupby('ward', keys=['A'])['age'].sem()": "an error bar comes with the answer",
    "df.dp(rho=0.01).count().standard_error": "an error bar is .interval()",
    "df.dp(rho=0.01).count().ratio": "this / that",
    "df.dp(rho=0.01).agg({'age': 'mean'}, bounds={'age': (0, 99)}, population=True)": (
        "gives the interval of a population: df.dp(rho=0.01).agg({'age': ['mean', 'std']}, bounds={'age': (0, 99)})"
    ),
    "df.dp.session.total": ".budget is the total",
    "plan.to_toml('plan.toml')": ": pathlib.Path('plan.toml').write_text(plan.to_toml())",
    "plan.save('plan.toml')": "plan.to_toml() is the text of a plan file",
    "plan.to_dict()": "plan.to_toml() is the text of a plan file",
    "pandas_dp.accounting.rho_for(epsilon=1, delta=1e-6)": "df.dp.protect(epsilon=1, delta=1e-6, accountant='zcdp').left",
    "pandas_dp.accounting.delta_for(1)": "a delta is chosen",
    "pandas_dp.accounting.group_privacy(1, 1e-6, 4)": ": group_privacy((1, 1e-6), 4)",
    "df.dp(rho=0.01).groupby('ward', keys=['A', 'B']).linear_regression('cost', ['age'], bounds=B)": (
        "each at its price: df.dp(rho=0.01).query(\"ward == 'A'\").linear_regression('cost', ['age'], bounds=B)"
    ),
}


@pytest.mark.parametrize("line", TOLD)
def test_names_of_other_packages_are_told_by_what_there_is(line):
    notebook = statistician()
    notebook.names["plan"] = pandas_dp.plan([pandas_dp.query(epsilon=1).count()], notebook.names["df"])
    notebook.names["B"] = {"cost": (0, 500), "age": (0, 99)}
    assert TOLD[line] in (notebook.run(line) or "")


def test_a_table_by_all_columns_is_advised_at_the_price_of_the_tables():
    notebook = Notebook(delta=1e-6, accountant="zcdp", unit="patient_id", max_rows=10)
    assert notebook.run("counts = df.dp(rho=0.02).value_counts('ward', keys=['A', 'B'])") is None
    refusal = notebook.run("pandas_dp.reconcile([counts, counts])")
    assert (refusal or "").endswith(": df.dp(rho=0.02).groupby('ward', keys=['A', 'B']).size()")
