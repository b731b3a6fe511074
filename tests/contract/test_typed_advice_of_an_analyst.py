"""An analyst holds the priced frame in a variable and types plain pandas: what a refusal advises is answered, at that price."""

from __future__ import annotations

import ast
import itertools
import linecache
import re

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp  # noqa: F401  # which gives frames their .dp
from pandas_dp import PandasDPError
from pandas_dp.questions.frame import PricedColumn
from pandas_dp.questions.groups import PricedGroups
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.release.base import Release

ROWS = np.arange(4000)
# what she knows of her table, which no advice can
KNOWN = {
    "'ward': ['A', 'B'], 'sex': ['A', 'B']": "'ward': ['A', 'B'], 'sex': ['f', 'm']",
    "(lower, upper)": "(0, 500)",
    "largest_change": "10",
}
MONTHS = "pd.period_range('2026-01', '2026-12', freq='M')"
numbered = itertools.count()


def visits() -> pd.DataFrame:
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(ROWS % 360, unit="D")
    columns = {
        "patient_id": ROWS % 800,
        "ward": np.array(["A", "B"])[ROWS % 2],
        "sex": np.array(["f", "m"])[ROWS % 3 % 2],
    }
    columns |= {"age": ROWS % 60 + 20.0, "cost": ROWS * 37 % 500 / 1.0, "los": ROWS % 7, "day": day}
    columns |= {"discharged": day + pd.to_timedelta(ROWS % 7, unit="D"), "readmitted": ROWS % 8 == 0}
    return pd.DataFrame(columns | {"diagnosis": np.array(["I21", "I50", "C34"])[ROWS % 3]})


class Notebook:
    """Where lines are typed, and their code can be read."""

    def __init__(self, **terms: object) -> None:
        table = visits()
        table.dp.protect(epsilon=1000, name=fresh(), unit="patient_id", max_rows=10, **terms)
        self.names = {
            "visits": table,
            "p": table.dp(epsilon=1),
            "pd": pd,
            "np": np,
            "edges": [0, 40, 99],
            "people": table,
        }
        self.answer: object = None

    def run(self, line: str) -> str | None:
        """What a line is refused with, or nothing."""
        name = f"<analyst {next(numbered)}>"
        linecache.cache[name] = (len(line), None, [line], name)
        try:
            self.answer = eval(compile(line, name, "eval"), self.names)
        except (PandasDPError, AttributeError) as error:
            return str(error)
        return None

    def advised(self, line: str) -> str | None:
        """The first line of a refusal that is another one than that which was typed, with what she knows put in."""
        refusal = self.run(line)
        assert refusal is not None
        for general, own in KNOWN.items():
            refusal = refusal.replace(general, own)
        for found in re.finditer(r"\b(?:p|visits)(?:\.|\[)", refusal):
            for end in range(len(refusal), found.end(), -1):
                text = refusal[found.start() : end]
                try:
                    tree = ast.parse(text, mode="eval")
                except SyntaxError:
                    continue
                if (
                    text[-1] not in " ;"
                    and not isinstance(tree.body, ast.Tuple)
                    and ast.unparse(tree) != ast.unparse(ast.parse(line))
                ):
                    return text
        return None

    def answers(self, line: str) -> bool:
        """Whether a line is answered, with noise, or goes on at its price."""
        refusal = self.run(line)
        assert refusal is None, refusal
        return (
            isinstance(self.answer, Release | PreparedFrame | PricedColumn | PricedGroups)
            or " / " in line
            or ".plot(" in line
        )


ONE = {  # refusal, and what is typed then
    # what has a price keeps it
    "p.fillna(0)": "p.fillna({'age': 0, 'cost': 0})",
    "p.query('age > 30').fillna(0)": "p.query('age > 30').fillna({'age': 0, 'cost': 0})",
    "p.clip(0, 9)": "p.clip(0, 9, columns=['age', 'cost', 'los'])",
    "p.dropna(how='all')": "p.dropna(['age', 'ward'])",
    # shares are those of listed keys; dates and floats have bins
    "p['ward'].value_counts(normalize=True)": "p['ward'].value_counts(normalize=True, keys=['A', 'B'])",
    "p.groupby(['day', 'ward']).size().unstack()": (
        f"p.groupby(['day', 'ward'], keys={{'ward': ['A', 'B']}}, bins={{'day': {MONTHS}}}).size().unstack()"
    ),
    "p.groupby(['day', 'ward'], keys={'ward': ['B']}).size()": (
        f"p.groupby(['day', 'ward'], keys={{'ward': ['B']}}, bins={{'day': {MONTHS}}}).size()"
    ),
    # rows that pandas chose
    "visits.query(\"ward == 'A'\").dp(epsilon=1).count()": "visits.dp.query(\"ward == 'A'\").dp(epsilon=1).count()",
    "visits[visits.ward == 'A'].dp(epsilon=1).count()": "visits.dp.query(\"ward == 'A'\").dp(epsilon=1).count()",
    "visits.loc[visits['age'] > 65].dp(epsilon=1)['readmitted'].mean()": (
        "visits.dp.query('age > 65').dp(epsilon=1)['readmitted'].mean()"
    ),
    # what pandas computes with columns
    "p['cost'].fillna(0).mean()": "p.assign(cost=lambda d: d['cost'].fillna(0))['cost'].mean(bounds=(0, 500))",
    "p['cost'] * p['los']": "p.assign(made=lambda d: d['cost'] * d['los'])['made']",
    "(p['discharged'] - p['day']).dt.days.mean()": (
        "p.assign(days=lambda d: (d['discharged'] - d['day']).dt.days)['days'].mean(bounds=(0, 500))"
    ),
    "np.log(p['cost']).mean()": "p.assign(made=lambda d: np.log(d['cost']))['made'].mean(bounds=(0, 500))",
    "pd.cut(p['age'], [0, 40, 99]).value_counts()": (
        "p.assign(band=lambda d: d['age'].cut([0, 40, 99]))['band'].value_counts()"
    ),
    "pd.cut(p['age'], edges).value_counts()": "p.assign(band=lambda d: d['age'].cut(edges))['band'].value_counts()",
    "pd.crosstab(p['ward'], p['sex'])": "p.crosstab('ward', 'sex', keys={'ward': ['A', 'B'], 'sex': ['f', 'm']})",
    "p['day'].dt.month.value_counts()": "p.assign(month=lambda d: d['day'].dt.month)['month'].value_counts()",
    "p['day'].dt.to_period('M').value_counts()": f"p.groupby('day', bins={MONTHS}).size()",
    "(p['day'].dt.dayofweek >= 5).mean()": "p.assign(holds=lambda d: d['day'].dt.dayofweek >= 5)['holds'].mean()",
    "p['cost'].isna().mean()": "p.assign(holds=lambda d: d['cost'].isna())['holds'].mean()",
    "p['diagnosis'].str[0].value_counts()": (
        "p.assign(part=lambda d: d['diagnosis'].str[0])['part'].value_counts(keys=['A', 'B'])"
    ),
    "p['ward'].map({'A': 'one'}).value_counts()": (
        "p.assign(ward=lambda d: d['ward'].map({'A': 'one'}))['ward'].value_counts()"
    ),
    "p.assign(stay=(p['discharged'] - p['day']).dt.days)": "p.assign(stay=lambda d: (d['discharged'] - d['day']).dt.days)",
    "p.assign(month=visits['day'].dt.month)": "p.assign(month=lambda d: d['day'].dt.month)",
    "p['day'].dt.strftime('%Y-%m').value_counts()": f"p.groupby('day', bins={MONTHS}).size()",
    "p.crosstab(p['ward'], p['sex'])": "p.crosstab('ward', 'sex', keys={'ward': ['A', 'B'], 'sex': ['f', 'm']})",
    # rows of a condition
    "p[p['ward'].isin(['A'])].count()": "p.query(\"ward.isin(['A'])\").count()",
    "p[p['day'].between('2026-01-01', '2026-03-31')].count()": "p.query(\"day.between('2026-01-01', '2026-03-31')\").count()",
    "p[p['diagnosis'].str.startswith('I')].count()": "p.query(\"diagnosis.str.startswith('I')\").count()",
    "p[p['age'].gt(65)].count()": "p.query('age.gt(65)').count()",
    "p[p['age'] > 65].count()": "p.query('age > 65').count()",
    "p[p.age > 65].count()": "p.query('age > 65').count()",
    "p.loc[p['age'] > 65, 'readmitted'].mean()": "p.query('age > 65')['readmitted'].mean()",
    "p['readmitted'][p['age'] > 65].mean()": "p.query('age > 65')['readmitted'].mean()",
    "p[p['readmitted']].count()": "p.query('readmitted').count()",
    "p[visits.age > 65].count()": "p.query('age > 65').count()",
    # groups
    "p.groupby([p['day'].dt.to_period('M'), 'ward']).size()": (
        f"p.groupby(['day', 'ward'], keys={{'ward': ['A', 'B']}}, bins={{'day': {MONTHS}}}).size()"
    ),
    "p.groupby([pd.Grouper(key='day', freq='MS'), 'ward'], keys={'ward': ['B']}).size()": (
        f"p.groupby(['day', 'ward'], keys={{'ward': ['B']}}, bins={{'day': {MONTHS}}}).size()"
    ),
    "p.groupby([pd.cut(visits['age'], [0, 40, 99]), 'ward']).size()": (
        "p.groupby(['age', 'ward'], keys={'ward': ['A', 'B']}, bins={'age': [0, 40, 99]}).size()"
    ),
    "p.groupby(pd.cut(p['age'], [0, 40, 99])).size()": "p.groupby('age', bins=[0, 40, 99]).size()",
    "p.groupby(p['day'].dt.quarter)['cost'].mean()": (
        "p.assign(quarter=lambda d: d['day'].dt.quarter).groupby('quarter', keys=range(1, 5))['cost'].mean(bounds=(0, 500))"
    ),
    # tables of other functions, and of one column
    "p.pivot_table(values='patient_id', index='ward', columns='sex', aggfunc='nunique')": (
        "p.groupby(['ward', 'sex'], keys={'ward': ['A', 'B'], 'sex': ['f', 'm']})['patient_id'].nunique().unstack()"
    ),
    "p.pivot_table(index='ward', columns='sex', aggfunc='size')": (
        "p.groupby(['ward', 'sex'], keys={'ward': ['A', 'B'], 'sex': ['f', 'm']}).size().unstack()"
    ),
    "p.pivot_table(index='ward', columns='readmitted', values='cost', aggfunc='median')": (
        "p.groupby(['ward', 'readmitted'], keys={'ward': ['A', 'B']})['cost'].median(bounds=(0, 500)).unstack()"
    ),
    "p.pivot_table('cost', 'ward', 'readmitted', aggfunc=['mean', 'count'], keys={'ward': ['B']})": (
        "p.groupby(['ward', 'readmitted'], keys={'ward': ['B']}).agg({'cost': ['mean', 'count']}, bounds={'cost': (0, 500)})"
    ),
    "p.pivot_table(index='ward', values='cost', aggfunc='sum')": (
        "p.groupby('ward', keys=['A', 'B'])['cost'].sum(bounds=(0, 500))"
    ),
    "p.value_counts(['ward', 'sex'])": (
        "p.groupby(['ward', 'sex'], keys={'ward': ['A', 'B'], 'sex': ['f', 'm']}).size()"
    ),
    # the price that was typed
    "visits.dp.count(epsilon=0.25)": "visits.dp(epsilon=0.25).count()",
    "visits.dp(epsilon=1)['los'].mean(epsilon=0.25, bounds=(0, 9))": "visits.dp(epsilon=0.25)['los'].mean(bounds=(0, 9))",
    # options
    "p['ward'].value_counts(dropna=False)": "p['ward'].value_counts(null=True, keys=['A', 'B'])",
    "p.groupby('ward', keys=['B'], dropna=False).size()": "p.groupby('ward', keys=['B'], null=True).size()",
    "p.mean(numeric_only=True)": (
        "p[['age', 'cost', 'los']].mean(bounds={'age': (0, 500), 'cost': (0, 500), 'los': (0, 500)})"
    ),
    "p.groupby('ward')['cost'].mean().plot(kind='bar', title='Cost')": (
        "p.groupby('ward', keys=['A', 'B'])['cost'].mean(bounds=(0, 500)).plot()"
    ),
    "p.groupby(['ward', 'sex']).size().unstack().plot.bar(stacked=True)": (
        "p.groupby(['ward', 'sex'], keys={'ward': ['A', 'B'], 'sex': ['f', 'm']}).size().unstack().plot()"
    ),
    # patients
    "p.groupby('patient_id')['cost'].sum().mean()": "p['cost'].sum(bounds=(0, 500)) / p['patient_id'].nunique()",
    "p.groupby('patient_id')['readmitted'].any().mean()": "p.query('readmitted')['patient_id'].nunique()",
    f"p.groupby(['day', 'ward'], keys={{'ward': ['B']}}, bins={MONTHS}).size()": (
        f"p.groupby(['day', 'ward'], keys={{'ward': ['B']}}, bins={{'day': {MONTHS}}}).size()"
    ),
    "p.groupby('ward').filter(lambda g: len(g) > 100)": "p.groupby('ward', keys=['A', 'B'])",
    # functions of groups
    "p.groupby('ward', keys=['A']).agg(n=('cost', len))": "p.groupby('ward', keys=['A']).agg(n=('patient_id', 'count'))",
    "p.groupby('ward', keys=['A']).agg(m=('los', np.mean), bounds={'los': (0, 9)})": (
        "p.groupby('ward', keys=['A']).agg(m=('los', 'mean'), bounds={'los': (0, 9)})"
    ),
    "p.groupby('ward', keys=['A']).agg(lo=('cost', 'min'), n=('cost', 'count'))": (
        "p.groupby('ward', keys=['A']).agg(n=('cost', 'count'))"
    ),
    "p.groupby('ward').agg(visits=('cost', 'size'), lo=('cost', 'min'), m=('cost', 'mean'))": (
        "p.groupby('ward', keys=['A', 'B']).agg(visits=('patient_id', 'count'), m=('cost', 'mean'), bounds={'cost': (0, 500)})"
    ),
    "p.groupby('ward', keys=['A'])['cost'].agg(n='count')": "p.groupby('ward', keys=['A'])['cost'].agg(n=('cost', 'count'))",
    "p.groupby('ward')['cost'].agg(mean='mean', sd='std')": (
        "p.groupby('ward', keys=['A', 'B'])['cost'].agg(mean=('cost', 'mean'), sd=('cost', 'std'), bounds={'cost': (0, 500)})"
    ),
}


@pytest.mark.parametrize("typed", ONE)
def test_what_is_advised_is_answered_at_the_price(typed):
    book = Notebook()
    assert book.advised(typed) == ONE[typed]
    assert book.answers(ONE[typed])


ROWS_OF_UNITS = r"no list of units is public; how many rows units have is the question \.rows_per_unit\(\)$"
FIRST = r"no list of units is public; what each unit has is a table of one row for each, made before df\.dp\.protect\(\.\.\.\)$"
NONE = {  # without a line that would be answered: what is said
    "(p.groupby('patient_id').size() > 3).mean()": ROWS_OF_UNITS,
    "p['patient_id'].value_counts().value_counts()": ROWS_OF_UNITS,
    # a line about another frame would be answered by pandas, exactly
    **dict.fromkeys(("visits[p['age'] > 3]", "visits.loc[p['age'] > 3]"), r"^a column is not compared here: "),
    "people.query(p['age'] > 3)": r"^a column is not compared here: ",
    "pd.crosstab(p['ward'], visits['sex'])": r"^a priced column shows no cells: ",
    "p.groupby('patient_id')['cost'].first()": FIRST,
    "p.groupby('patient_id')['ward'].nunique().mean()": FIRST,
    "p.groupby(['patient_id', 'ward']).size()": ROWS_OF_UNITS,
    **dict.fromkeys(
        ("len(p['ward'])", "[*p['ward']]", "pd.get_dummies(p['ward'])"), r"^a priced column shows no cells: "
    ),
    "[*p]": r"^a priced frame shows no rows: ",
    "p.groupby(lambda d: d)": r"which a step may make: \.assign\(",
    "(lambda c: c * 2)(p['cost'])": r"^a priced column shows no cells: ",
    "p.groupby('ward', keys=['A']).filter(lambda g: True)": r"sizes = \.groupby\('ward', keys=.*then sizes\[sizes > 100\]$",
    "p.groupby('ward', keys=['A'])['cost'].transform(lambda g: 1)": r"no row gets a number that depends on others: ask ",
    "p.groupby('ward', keys=['A']).agg(lo=('cost', 'min'))": r"^groups have count, .* median; .* \.quantile\(0\.99, bounds=",
    "p.groupby('ward', keys=['A']).agg({'cost': 'max'})": r"^groups have count, .* median; .* \.quantile\(0\.99, bounds=",
    "p.groupby('ward', keys=['A']).agg(q=('cost', lambda s: 3))": r"by \.sample_and_aggregate\(function, bounds=",
    "p['diagnosis'].agg(lambda s: s.mode()[0])": r"by \.sample_and_aggregate\(function, bounds=",
}


@pytest.mark.parametrize("typed", NONE)
def test_what_no_line_says_is_told_without_one(typed):
    book = Notebook()
    refusal = book.run(typed)
    assert refusal is not None
    assert re.search(NONE[typed], refusal), refusal
    assert book.advised(typed) is None


def test_a_step_keeps_its_price_where_no_code_can_be_read():
    book = Notebook()
    with pytest.raises(PandasDPError, match=r"by column, \.fillna\(\{'age': 0, 'cost': 0\}\)"):
        eval("p.fillna(0)", book.names)


def test_bounds_of_a_schema_are_not_asked_for():
    known = {"age": {"bounds": (0, 120)}, "cost": {"bounds": (0, 500)}}
    book = Notebook(schema=known)
    assert book.advised("p.describe()") == "p.describe(columns=['age', 'cost'])"
    assert book.answers("p.describe(columns=['age', 'cost'])")


def test_a_question_of_another_price_is_no_line_behind_steps():
    assert (
        Notebook().run("p.query('age > 30')['cost'].mean(epsilon=0.1)")
        == "mean() takes no epsilon=: the price comes first"
    )
    assert (
        Notebook().run("p.count(epsilon=0.1)")
        == "count() takes no epsilon=: the price comes first: df.dp(epsilon=0.1).count()"
    )


def test_rows_that_pandas_chose_are_vouched_for_last():
    refusal = Notebook().run("visits[visits.age > 65].dp(epsilon=1).count()")
    assert refusal is not None
    first, *rest = refusal.splitlines()[1:]
    assert first.startswith("choose rows by a step: visits.dp.query('age > 65').dp(epsilon=1).count(); ")
    assert all(line.startswith("or frame = visits[visits.age > 65]; frame.dp.protect(") for line in rest)


def test_a_table_of_no_found_groups_is_shown():
    table = visits()
    table.dp.protect(epsilon=1000, delta=1e-6, name=fresh())
    found = table.dp(epsilon=1, delta=1e-7).groupby(["discharged", "cost"]).size().unstack()
    assert found.shape == (0, 0)
    assert "no key has a noisy count of at least" in repr(found)
    assert found.table().empty
    with pytest.raises(PandasDPError, match="no columns to draw"):
        found.plot()
