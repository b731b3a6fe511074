"""A newcomer types plain pandas on a small table and follows what each refusal advises: one refusal, or two, and an answer."""

from __future__ import annotations

import ast
import itertools
import linecache
import re

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp import PandasDPError

ROWS = np.arange(4000)
UNIT = {"unit": "patient_id", "max_rows": 10}
# what people know of their table, which no advice can
KNOWN = {
    "'day': (lower, upper)": "'day': ('2024-01-01', '2025-01-01')",
    "(lower, upper)": "(0, 500)",
    "keys=[...]": "keys=['A', 'B']",
    "largest_change": "10",
    "period_range(first, last": "period_range('2024-01', '2024-12'",
}
MONTHS = "pd.period_range('2024-01', '2024-12', freq='M')"
PRICE = "df.dp(epsilon=1)"
WARDS = f"{PRICE}.groupby('ward', keys=['A', 'B'])"
TO_FIND_KEYS = ", or discover keys, which needs a delta"
numbered = itertools.count()


def visits() -> pd.DataFrame:
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(ROWS % 360, unit="D")
    ward, cost = np.array(["A", "B"])[ROWS % 2], ROWS * 37 % 500 / 1.0
    return pd.DataFrame({"patient_id": ROWS % 800, "ward": ward, "age": ROWS % 60 + 20, "cost": cost, "day": day})


class Notebook:
    """Where lines are typed, and their code can be read."""

    def __init__(self, df: pd.DataFrame | None = None, **terms: object) -> None:
        table = visits() if df is None else df
        table.dp.protect(epsilon=1000, name=fresh(), **terms)
        self.names = {"df": table, "visits": table, "pd": pd, "np": np, "pandas_dp": pandas_dp, "limit": lambda: 65}
        self.names["names"] = pd.DataFrame({"code": ["A", "B"], "full": ["Alpha", "Beta"]})

    def run(self, line: str) -> str | None:
        """What a line is refused with, or nothing."""
        name = f"<newcomer {next(numbered)}>"
        linecache.cache[name] = (len(line), None, [line], name)
        try:
            exec(compile(line, name, "exec"), self.names)
        except (PandasDPError, AttributeError) as error:
            return str(error)
        return None

    def followed(self, line: str) -> list[str]:
        """Lines that are typed until one is answered, four at most: the wish, and what is advised, a step before its wish."""
        typed = [line]
        while len(typed) < 4 and (refusal := self.run(typed[-1])) is not None:
            advice = advised(refusal, typed[-1])
            assert advice is not None, refusal
            typed.append(f"{advice}; {line}" if advice.startswith(("df = ", "visits = ")) else advice)
        return typed


def advised(refusal: str, line: str) -> str | None:
    """The first line of a refusal that is another one than that which was typed, with what people know put in."""
    for general, own in KNOWN.items():
        refusal = refusal.replace(general, own)
    for found in re.finditer(r"\b(df|visits)( = \1)?\.dp|\bpandas_dp\.", refusal):
        for end in range(len(refusal), found.end(), -1):
            text = refusal[found.start() : end]
            try:
                statement, *more = ast.parse(text).body
            except SyntaxError:
                continue
            value = None if more else getattr(statement, "value", None)
            if (
                isinstance(value, ast.Call)
                and text[-1] not in " ;"
                and ast.unparse(statement) != ast.unparse(ast.parse(line))
            ):
                return text
    return None


ONE = {  # refusal, and what is typed then
    # the tables of two columns, of which all is named that is missing
    f"{PRICE}.pivot_table()": "values='age', index='ward', columns='day', keys={'ward': ['A', 'B']}, bins={'day': pd.",
    f"{PRICE}.pivot_table('cost', index='ward')": "groupby('ward', keys=['A', 'B'])['cost'].mean(bounds=(0, 500))",
    f"{PRICE}.pivot_table('cost', 'ward', 'day', bounds=(0, 90))": "bounds=(0, 90), keys={'ward': ['A', 'B']}, bins={'day': ",
    f"{PRICE}.pivot_table('cost', ['ward'], ['age'])": "'cost', 'ward', 'age', keys={'ward': ['A', 'B']}, bins={'age': ",
    f"{PRICE}.pivot_table(['cost'], 'ward', 'age')": "pivot_table('cost', 'ward', 'age', keys=",
    f"{PRICE}.crosstab()": "crosstab(index='ward', columns='day', keys={'ward': ['A', 'B']}, bins={'day': pd.",
    f"{PRICE}.crosstab('ward', 'age', values='cost')": "pivot_table('cost', 'ward', 'age', keys={'ward': ['A', 'B']}, bins=",
    f"{PRICE}.crosstab(df['ward'], df['age'])": "crosstab('ward', 'age', keys={'ward': ['A', 'B']}, bins={'age': ",
    # a number of bins, or bounds without one
    f"{PRICE}.histogram('age', bounds=(0, 90))": "histogram('age', bounds=(0, 90), bins=10)",
    f"{PRICE}.histogram('age', range=(0, 90))": "histogram('age', range=(0, 90), bins=10)",
    f"{PRICE}.histogram('age', bins=[0, 50, 90], bounds=(0, 90))": "histogram('age', bins=[0, 50, 90])",
    f"{PRICE}.histogram('age', keys=[30, 40], bounds=(0, 90))": "histogram('age', keys=[30, 40])",
    f"{PRICE}.histogram('day', bounds=('2024-01-01', '2025-01-01'))": "bounds=('2024-01-01', '2025-01-01'), bins=10)",
    f"{PRICE}.ecdf('age', bounds=(0, 90))": "ecdf('age', bounds=(0, 90), bins=10)",
    f"{PRICE}.histogram('ward', bins=10)": "histogram('ward', keys=['A', 'B'])",
    f"{PRICE}.histogram('ward', bins=10, bounds=(0, 90))": "histogram('ward', keys=['A', 'B'])",
    f"{PRICE}.histogram('ward', bounds=(0, 90))": "histogram('ward', keys=['A', 'B'])",
    f"{PRICE}['ward'].histogram(bins=10)": "['ward'].histogram(keys=['A', 'B'])",
    f"{PRICE}['ward'].ecdf(bins=10)": "['ward'].histogram(keys=['A', 'B'])",
    f"{PRICE}.groupby('ward', bins=10).size()": "groupby('ward', keys=['A', 'B']).size()",
    # periods
    f"{PRICE}.groupby('day', keys={MONTHS}).size()": f"groupby('day', bins={MONTHS}).size()",
    f"{PRICE}.histogram('day', keys={MONTHS})": f"groupby('day', bins={MONTHS}).size()",
    f"{PRICE}.histogram('day', bins={MONTHS})": f"groupby('day', bins={MONTHS}).size()",
    f"{PRICE}['day'].value_counts(keys={MONTHS}, sort=False)": f".dp(epsilon=1).groupby('day', bins={MONTHS}).size()",
    f"{PRICE}.crosstab('day', 'ward', keys={{'day': {MONTHS}, 'ward': ['A']}})": (
        f"crosstab('day', 'ward', keys={{'ward': ['A']}}, bins={{'day': {MONTHS}}})"
    ),
    f"{PRICE}.groupby(pd.Grouper(key='day', freq='MS')).size()": "groupby('day', bins=pd.period_range(",
    # masks
    f"{PRICE}.loc[df['age'] > 65, 'cost'].mean()": ".query('age > 65')['cost'].mean(bounds=(0, 500))",
    f"{PRICE}['cost'].loc[df.age > 65].sum()": ".query('age > 65')['cost'].sum(bounds=(0, 500))",
    f"{PRICE}['cost'][df.age > 65].mean()": ".query('age > 65')['cost'].mean(bounds=(0, 500))",
    f"{PRICE}['cost'].where(df.age > 65).mean()": ".query('age > 65')['cost'].mean(bounds=(0, 500))",
    f"{PRICE}.where(df.age > 65)['cost'].mean()": ".query('age > 65')['cost'].mean(bounds=(0, 500))",
    "df.dp[df.age > 65].dp(epsilon=1).count()": "df.dp.query('age > 65').dp(epsilon=1).count()",
    # groups of what pandas makes
    f"{PRICE}.groupby(pd.cut(df.age, range(0, 99, 9))).size()": "groupby('age', bins=range(0, 99, 9)).size()",
    f"{PRICE}.groupby(pd.cut(df.age, bins=[0, 50, 99], labels=['a', 'b']))['cost'].mean()": (
        "assign(band=lambda d: d['age'].cut([0, 50, 99], labels=['a', 'b'])).groupby('band')['cost'].mean(bounds=(0, 500))"
    ),
    f"{PRICE}.groupby(df.day.dt.to_period('M'))['cost'].sum()": "freq='M'))['cost'].sum(bounds=(0, 500))",
    f"{PRICE}.groupby('ward', keys=['A']).cost.mean()": "groupby('ward', keys=['A'])['cost'].mean(bounds=(0, 500))",
    # functions that there are stay
    f"{PRICE}.groupby('ward').agg({{'cost': ['mean', 'max', 'median']}})": (
        "keys=['A', 'B']).agg({'cost': ['mean', 'median']}, bounds={'cost': (0, 500)})"
    ),
    f"{WARDS}.agg({{'cost': ['mean', 'max', 'median']}})": "agg({'cost': ['mean', 'median']}, bounds={'cost': (0, 500)})",
    f"{WARDS}.agg({{'cost': 'max', 'age': 'count'}}, bounds={{'cost': (0, 9)}})": "agg({'age': 'count'}, bounds={})",
    f"{WARDS}.agg(['mean', 'count'])": "agg({'age': ['mean', 'count']}, bounds={'age': (0, 500)})",
    f"{WARDS}['cost'].agg(['mean', 'max'])": "['cost'].agg(['mean'], bounds=(0, 500))",
    f"{PRICE}.agg('mean')": "agg({'age': 'mean'}, bounds={'age': (0, 500)})",
    f"{PRICE}['cost'].agg(['mean', 'first'])": "['cost'].agg(['mean'], bounds=(0, 500))",
    f"{PRICE}['cost'].agg('mean')": "['cost'].agg('mean', bounds=(0, 500))",
    f"{PRICE}.agg({{'age': 'mean'}}, bounds={{'cost': (0, 9)}})": "agg({'age': 'mean'}, bounds={'age': (0, 500)})",
    "df.dp.preview.sum('cost')": "df.dp.preview(epsilon=0.5).count()",
    # options of pandas, without which something else is missing
    f"{PRICE}.value_counts('ward', dropna=False)": "value_counts('ward', null=True, keys=['A', 'B'])",
    f"{PRICE}['age'].value_counts(bins=5)": "['age'].histogram(bins=5, bounds=(0, 500))",
    f"{PRICE}.groupby('ward', as_index=False)['cost'].mean()": "keys=['A', 'B'])['cost'].mean(bounds=(0, 500))",
    f"{PRICE}.mean(numeric_only=True)": "[['age', 'cost']].mean(bounds={'age': (0, 500), 'cost': (0, 500)})",
    f"{PRICE}.describe(include='all')": "columns=['age', 'cost'])",
    "df.dp.merge({'ward': ['A'], 'beds': [3]}, left_on='ward')": "df.dp.merge({'ward': ['A'], 'beds': [3]})",
    "df.dp.merge(names, left_on='ward', right_on='code')": "df.dp.merge(names.rename(columns={'code': 'ward'}), on='ward')",
    f"{PRICE}.merge(names, left_on='ward', right_on='code', how='left').count()": f"{PRICE}.merge(names.rename(columns={{",
    f"{PRICE}.crosstab('ward', 'age', keys={{'ward': [...]}}, bins={{'age': [0, 99]}})": "keys={'ward': ['A', 'B']}",
    # what was typed stays
    f"{PRICE}.cov(bounds={{'age': (0, 90), 'cost': (0, 9)}})": "cov(bounds={'age': (0, 90), 'cost': (0, 9)}, columns=['age', ",
    f"{PRICE}.cov(bounds={{'cost': (0, 9)}})": "cov(bounds={'cost': (0, 9), 'age': (0, 500)}, columns=['cost', 'age'])",
    f"{PRICE}.corr(['age', 'cost'], bounds=(0, 90))": "corr(['age', 'cost'], bounds={'age': (0, 90), 'cost': (0, 90)})",
    f"{PRICE}.agg(bounds={{'cost': (0, 9)}})": "agg(bounds={'cost': (0, 9)}, func={'cost': ['mean', 'std']})",
    f"{PRICE}.mean(['cost'], bounds=(0, 9))": "mean('cost', bounds=(0, 9))",
    f"{PRICE}.quantile('age', [25, 75], bounds=(0, 90))": "quantile('age', [0.25, 0.75], bounds=(0, 90))",
    f"{PRICE}.quantile('age', (0, 90))": "quantile('age', bounds=(0, 90))",
    f"{PRICE}.quantile('age', 0, 90)": "quantile('age', bounds=(0, 90))",
    f"{PRICE}.mean((0, 90))": "mean('age', bounds=(0, 90))",
    f"{WARDS}['age'].mean((0, 90))": "['age'].mean(bounds=(0, 90))",
    # groups, whose line goes on as it was typed
    f"{PRICE}.groupby('ward')['cost'].mean()": f"{WARDS}['cost'].mean(bounds=(0, 500))",
    f"{PRICE}.groupby('ward').cost.quantile(0.9)": f"{WARDS}['cost'].quantile(0.9, bounds=(0, 500))",
    f"{PRICE}.groupby('ward')[['cost', 'age']].mean()": "[['cost', 'age']].mean(bounds={'cost': (0, 500), 'age': (0, 500)})",
    f"{PRICE}.groupby('ward').mean('cost').round()": f"{WARDS}.mean('cost', bounds=(0, 500)).round()",
    f"{PRICE}.groupby('ward').agg({{'cost': 'mean', 'age': ['count']}})": (
        f"{WARDS}.agg({{'cost': 'mean', 'age': ['count']}}, bounds={{'cost': (0, 500)}})"
    ),
    f"{PRICE}.groupby('ward').agg(typical=('cost', 'median'))": (
        f"{WARDS}.agg(typical=('cost', 'median'), bounds={{'cost': (0, 500)}})"
    ),
    f"{PRICE}.groupby('ward', 'age').size()": "groupby(['ward', 'age'], keys={'ward': ['A', 'B']}, bins={'age': ",
    f"{WARDS}.corr()": """.query("ward == 'A'").corr(['age', 'cost'], bounds={'age': (0, 500), 'cost': (0, 500)})""",
    f"{WARDS}[['cost', 'age']].cov()": """.query("ward == 'A'").cov(['cost', 'age'], bounds=""",
    f"{WARDS}.mean()": f"{WARDS}.mean(column='age', bounds=(0, 500))",
    # columns of other kinds
    f"{PRICE}.linear_regression('cost', 'ward')": "'cost', 'ward', keys={'ward': ['A', 'B']}, bounds={'cost': (0, 500)})",
    f"{PRICE}[['age', 'cost']].corr()": "[['age', 'cost']].corr(bounds={'age': (0, 500), 'cost': (0, 500)})",
    f"{PRICE}.corr('age', 'cost')": "corr(['age', 'cost'], bounds={'age': (0, 500), 'cost': (0, 500)})",
    # without a price, or a column behind a point: all that lacks at once
    "df.dp.mean('age')": "df.dp(epsilon=0.5).mean('age', bounds=(0, 500))",
    "df.dp.sum('cost', bounds=(0, 9))": "df.dp(epsilon=0.5).sum('cost', bounds=(0, 9))",
    "df.dp.describe()": "describe(bounds={'age': (0, 500), 'cost': (0, 500)}, columns=['age', 'cost'])",
    "df.dp.age.quantile(0.9)": "df.dp(epsilon=0.5)['age'].quantile(0.9, bounds=(0, 500))",
    "df.dp.groupby('ward').cost.mean()": "df.dp(epsilon=0.5).groupby('ward', keys=['A', 'B'])['cost'].mean(bounds=(0, 500))",
    "df.dp(epsilon=0.25).age.mean()": "df.dp(epsilon=0.25)['age'].mean(bounds=(0, 500))",
    f"{PRICE}.ward.value_counts()": f"{PRICE}['ward'].value_counts(keys=['A', 'B'])",
    # questions that groups have not got
    f"{PRICE}.groupby('ward')['cost'].describe()": (
        f"{WARDS}.agg({{'cost': ['count', 'mean', 'std', 'median']}}, bounds={{'cost': (0, 500)}})"
    ),
    f"{PRICE}.groupby('ward')['cost'].transform('mean')": f"{WARDS}['cost'].mean(bounds=(0, 500))",
    f"{PRICE}.groupby('ward').agg(avg=('cost', 'mean'), n=('cost', 'size'))": (
        "agg(avg=('cost', 'mean'), n=('patient_id', 'count'), bounds={'cost': (0, 500)})"
    ),
    f"{WARDS}.agg(n=('cost', 'size'))": f"{WARDS}.agg(n=('patient_id', 'count'))",
    f"{WARDS}.agg({{'cost': ['size']}})": f"{WARDS}.agg({{'cost': ['count']}})",
    # misspelt, and lacking something
    f"{PRICE}.valuecounts('ward')": f"{PRICE}.value_counts('ward', keys=['A', 'B'])",
    f"{PRICE}.group_by('ward').cost.mean()": f"{WARDS}['cost'].mean(bounds=(0, 500))",
    f"{PRICE}.groupby('wrd').size()": f"{WARDS}.size()",
    f"{PRICE}.mean('agee')": f"{PRICE}.mean('age', bounds=(0, 500))",
    f"{PRICE}.average('age')": f"{PRICE}.mean('age', bounds=(0, 500))",
    f"{PRICE}.mean('cost', bounds=(0, 1e308))": f"{PRICE}.mean('cost', bounds=(0, 500))",
    # masks, and groups that pandas makes
    f"{PRICE}[df.age > 65]['cost'].mean()": f"{PRICE}.query('age > 65')['cost'].mean(bounds=(0, 500))",
    f"{PRICE}[(df['age'] > 65) & ~(df.ward == 'A')].count()": """.query("(age > 65) & ~(ward == 'A')").count()""",
    f"{PRICE}.groupby(pd.cut(df.age, [0, 18, 99])).cost.mean()": (
        ".groupby('age', bins=[0, 18, 99])['cost'].mean(bounds=(0, 500))"
    ),
    f"{PRICE}.groupby(df.day.dt.month)['cost'].mean()": (
        ".assign(month=lambda d: d['day'].dt.month).groupby('month', keys=range(1, 13))['cost'].mean(bounds=(0, 500))"
    ),
    f"{PRICE}.groupby(df.day.dt.month, keys=[1, 2]).size()": "dt.month).groupby('month', keys=[1, 2]).size()",
    f"{PRICE}.groupby(df['age'] > 65).size()": ".assign(holds=lambda d: d['age'] > 65).groupby('holds').size()",
    f"{PRICE}.groupby(['ward', df.day.dt.month]).size()": (
        ".assign(month=lambda d: d['day'].dt.month).groupby(['ward', 'month'], keys={'ward': ['A', 'B'], 'month': range(1, 13)"
    ),
    f"{PRICE}.groupby([df.ward, pd.cut(df.age, [0, 40, 99])]).cost.mean()": (
        ".groupby(['ward', 'age'], keys={'ward': ['A', 'B']}, bins={'age': [0, 40, 99]})['cost'].mean(bounds=(0, 500))"
    ),
    f"{PRICE}.groupby(by=df.day.dt.isocalendar().week).size()": (
        "assign(week=lambda d: d['day'].dt.strftime('%V').astype('int64')).groupby('week', keys=range(1, 54)).size()"
    ),
    f"{PRICE}.groupby(df.day.dt.day_name()).size()": ".groupby('day_name', keys=['Monday', 'Tuesday', ",
    f"{PRICE}.groupby(df.day.dt.strftime('%Y-%m')).size()": "groupby('day', bins=pd.period_range('2026-01', '2026-12', ",
    f"{PRICE}.groupby(df.day.dt.to_period('W')).size()": "groupby('day', bins=pd.period_range('2026-01', '2026-12', freq='W'))",
    f"{PRICE}.groupby('month').cost.mean()": (
        ".assign(month=lambda d: d['day'].dt.month).groupby('month', keys=range(1, 13))['cost'].mean(bounds=(0, 500))"
    ),
    # columns and masks of the frame itself, where a step takes those of its rows
    f"{PRICE}.assign(month=df['day'].dt.month)": ".assign(month=lambda d: d['day'].dt.month)",
    "df.dp.assign(m=pd.to_datetime(df.day).dt.month)": "df.dp.assign(m=lambda d: d.day.dt.month)",
    "df.dp.assign(old=np.where(df.age > 65, 'old', 'young'))": (
        "df.dp.assign(old=lambda d: d.age.case_when([(d.age > 65, 'old'), (True, 'young')]))"
    ),
    "df.dp.assign(band=pd.cut(df.age, [0, 40, 99]))": "df.dp.assign(band=lambda d: d.age.cut([0, 40, 99]))",
    "df.dp.query(df.age > 65)": "df.dp.query('age > 65')",
    f"{PRICE}.filter(df.age > 65).count()": f"{PRICE}.query('age > 65').count()",
    "df.dp.filter(df.ward.isin(['A']))": "df.dp.filter(lambda d: d.ward.isin(['A']))",
    "df.dp.fillna(cost=0)": "df.dp.fillna(value={'cost': 0})",
    "df.dp.rename(cost='price')": "df.dp.rename(columns={'cost': 'price'})",
    f"{WARDS}.cost.describe()": f"{WARDS}.agg({{'cost': ['count', 'mean', 'std', 'median']}}, bounds={{'cost': (0, 500)}})",
    f"{WARDS}[['cost', 'age']].describe(bounds=(0, 90))": "bounds={'cost': (0, 90), 'age': (0, 90)})",
    # functions
    f"{PRICE}.release()": "release(function=lambda d: len(d), sensitivity=10)",
    f"{PRICE}.release(lambda d: d['cost'].mean())": "release(lambda d: d['cost'].mean(), sensitivity=10)",
    f"{PRICE}.randomized_response('ward', keys=['A', 'B'])": "value_counts('ward', keys=['A', 'B'])",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("wish", ONE)
def test_one_refusal_and_then_an_answer(wish):
    typed = Notebook(**UNIT).followed(wish)
    assert len(typed) == 2, typed
    assert ONE[wish] in typed[1]


def test_a_sensitivity_is_never_given_a_number():
    """That of a mean was promised to be 1, and nothing checks what is promised."""
    book = Notebook(**UNIT)
    for wish in ("release(len)", "release('mean', sensitivity=1)", "release(len, sensitivity=-1)", "release()"):
        refusal = book.run(f"{PRICE}.{wish}")
        assert refusal.endswith(", sensitivity=largest_change)")
    assert "the most by which one unit, such as a person with all their rows, can move" in refusal
    refusal = book.run(f"{PRICE}.select([1, 2], score=lambda d, c: d['age'].mean())")
    assert refusal.endswith("needs its sensitivity: df.dp(epsilon=1).select([1, 2], score=lambda d, c: d['age'].mean(), "
                            "sensitivity=largest_change)")  # fmt: skip


def test_tables_of_people_are_never_reconciled_by_protecting_rows():
    """The line left ``unit=`` out: one person of ten rows is hidden ten times less."""
    book = Notebook(**UNIT)
    book.run(f"a, b = {PRICE}.count(), {PRICE}.value_counts('ward', keys=['A', 'B'])")
    book.run(f"c = {PRICE}.groupby('day', bins={MONTHS}).size()")
    for answers, line in (
        ("[a, a]", "df.dp(epsilon=1).count()"),
        ("[a, b]", "df.dp(epsilon=1).groupby('ward', keys=['A', 'B']).size()"),
        (
            "[a, b, c]",
            "df.dp(epsilon=1).groupby(['ward', 'day'], keys={'ward': ['A', 'B']}, bins={'day': pd.period_range(",
        ),
    ):
        refusal = book.run(f"pandas_dp.reconcile({answers})")
        assert line in refusal
        assert "protect(" not in refusal
        assert book.run(advised(refusal, "")) is None


@pytest.mark.parametrize("terms", [UNIT, {}, UNIT | {"neighbors": "replace_one"}, {"neighbors": "replace_one"}])
def test_an_answer_for_each_row_is_not_had_by_protecting_less(terms):
    """What it advised was refused for every frame that had a budget, and left the unit out."""
    book = Notebook(**terms)
    typed = book.followed(f"{PRICE}.randomized_response('ward', keys=['A', 'B'], alpha=0.3)")
    assert typed[1:] == [f"{PRICE}.value_counts('ward', keys=['A', 'B'])"]


def of_texts() -> pd.DataFrame:
    return visits().assign(day=lambda d: d["day"].dt.strftime("%Y-%m-%d"))


DATES = [
    f"visits.dp(epsilon=1).groupby('day', bins={MONTHS}).size()",
    f"visits.dp(epsilon=1).groupby('day', keys={MONTHS}).size()",
    "visits.dp(epsilon=1).histogram('day', bins=10, bounds=('2024-01-01', '2025-01-01'))",
    "visits.dp(epsilon=1).mean('day', bounds=('2024-01-01', '2025-01-01'))",
]


@pytest.mark.parametrize("wish", DATES)
def test_dates_in_texts_are_converted_by_the_line_that_is_told(wish):
    """The line is about the frame that was typed; periods were keys of texts, and counted nothing."""
    _, first, *more = Notebook(of_texts(), **UNIT).followed(wish)
    assert first == f"""visits = visits.dp.assign(day=lambda d: d['day'].str.to_datetime("%Y-%m-%d")); {wish}"""
    assert more == ([wish.replace("keys", "bins")] if "keys" in wish else [])


@pytest.mark.parametrize(
    ("wish", "made"),
    [
        ("visits['day'].str[:7]", "assign(part=lambda d: d['day'].str[:7]).groupby('part', keys=['A', 'B'])"),
        (
            "pd.to_datetime(visits['day']).rename('day').dt.month",
            "assign(month=lambda d: d['day'].str.to_datetime('%Y-%m-%d').dt.month).groupby('month', keys=range(1, 13))",
        ),
    ],
)
def test_groups_by_a_part_of_a_text_are_made_by_a_step(wish, made):
    book = Notebook(of_texts(), **UNIT)
    if ".dt." in wish:  # as it is written once the column was overwritten, which the session does not see
        book.names["visits"]["day"] = pd.to_datetime(book.names["visits"]["day"])
        wish = "visits['day'].dt.month"
    typed = book.followed(f"visits.dp(epsilon=1).groupby({wish}).size()")
    assert typed[1:] == [f"visits.dp(epsilon=1).{made}.size()"]


def test_months_of_a_text_are_bins_of_the_dates_in_it():
    typed = Notebook(of_texts(), **UNIT).followed("visits.dp(epsilon=1).groupby('day', freq='M').size()")
    dates = "assign(day=lambda d: d['day'].str.to_datetime('%Y-%m-%d'))"
    assert typed[1:] == [f"visits.dp(epsilon=1).{dates}.groupby('day', bins={MONTHS.replace('2024', '2026')}).size()"]
    assert "to_datetime" not in Notebook(**UNIT).run(f"{PRICE}.groupby('day', freq='M').size()")


def test_the_share_of_a_text_is_the_mean_of_a_condition():
    book = Notebook(**UNIT)
    line = "df = df.dp.assign(ward=lambda d: d['ward'] == 'A')"
    assert f"the share of one text: {line}; if the text" in book.run(f"{PRICE}['ward'].mean()")
    assert "the share" not in book.run(f"{PRICE}.mean('ward', bounds=(0, 9))")  # of numbers in text
    assert "the share" not in book.run(f"{PRICE}['ward'].sum()")
    assert book.run(f"{line}; made = {PRICE}['ward'].mean()") is None
    assert 0.4 < book.names["made"] < 0.6


def test_no_advice_groups_by_the_unit():
    assert f"{PRICE}.groupby(by='ward', keys=" in Notebook(of_texts(), **UNIT).run(f"{PRICE}.groupby()")


def test_a_lookup_without_the_column_is_told_how_to_rename_one():
    book = Notebook(**UNIT)
    said = "has no column 'ward', which on= names: lookup.rename(columns={'code': 'ward'}) gives 'code' that name"
    assert said in book.run("df.dp.merge(names, on='ward')")
    assert book.run("df.dp.merge(names.rename(columns={'code': 'ward'}), on='ward')") is None


def test_days_of_a_regression_are_counted_first():
    wish = f"{PRICE}.linear_regression('cost', 'day', bounds={{'cost': (0, 500), 'day': (8000, 9999)}})"
    days = "df = df.dp.assign(day=lambda d: (d['day'] - pd.Timestamp('2000-01-01')).dt.days)"
    assert Notebook(**UNIT).followed(wish)[1:] == [f"{days}; {wish}"]
    zoned = visits().assign(day=lambda d: d["day"].dt.tz_localize("Europe/Berlin"))
    assert "pd.Timestamp('2000-01-01', tz='UTC')" in Notebook(zoned, **UNIT).followed(wish)[1]


def test_a_schema_takes_no_bins_whatever_they_are_of():
    for bins, line in (
        (pd.period_range("2024-01", "2024-12", freq="M"), "groupby('day', bins=pd.period_range("),
        (pd.date_range("2024-01-01", "2025-01-01", freq="MS"), "groupby('day', bins=pd.period_range("),
        ([0, 10], "histogram('day', bins=range(0, 101, 10))"),
    ):
        with pytest.raises(PandasDPError, match=re.escape(f"bins go into the question: df.dp(epsilon=0.5).{line}")):
            visits().dp.protect(epsilon=3, **UNIT, name=fresh(), schema={"day": {"bins": bins}})


def test_found_keys_are_told_where_they_answer_the_question():
    book = Notebook(**UNIT)
    for question, told in (
        ("['cost'].mean()", True),
        (".size()", True),
        ("['cost'].median()", False),
        (".agg({})", False),
    ):
        assert (TO_FIND_KEYS in book.run(f"{PRICE}.groupby('ward'){question}")) is told


KEPT = {  # what was typed under another name, and the line that has it
    "df.dp(eps=0.1).count()": "df.dp(epsilon=0.1)",
    "df.dp.protect(eps=0.1)": "df.dp.protect(epsilon=0.1)",
    "df.dp.protect(eps=0.1, user='patient_id')": "df.dp.protect(epsilon=0.1, unit='patient_id', max_rows=10)",
    "pandas_dp.query(eps=0.1)": "pandas_dp.query(epsilon=0.1)",
    "df.dp.protect(epsilon=1, unit='patient_id', max_contributions=7)": "(epsilon=1, unit='patient_id', max_rows=7)",
    "df.dp.protect(epsilon=1, unit='patient_id', cap=7)": "(epsilon=1, unit='patient_id', max_rows=7)",
    "df.dp.protect(epsilon=1, unit='patient_id', max_rows=40, l0=4, linf=10)": "max_groups=4, max_rows_per_group=10)",
    "df.dp.protect(epsilon=1, neighbours='bounded')": "df.dp.protect(epsilon=1, neighbors='replace_one')",
    "df.dp.protect(epsilon=1, neighbours='add_remove')": "df.dp.protect(epsilon=1, neighbors='add_remove')",
    "df.dp.protect(epsilon=1, unit='patient_id', name='u6', delta=1e-8)": "name='u6', delta=1e-8, max_rows=10); if you do not",
    "df.dp.protect(rho=0.1, delta=1e-8, unit='patient_id')": "(rho=0.1, delta=1e-8, unit='patient_id', max_rows=10)",
    "df.dp.protect(epsilon=1, max_rows=7, name='u')": "(epsilon=1, max_rows=7, name='u', unit='patient_id')",
    "df.dp.protect(unit='patient_id', max_rows=7, delta=1e-8, neighbors='replace_one')": ", epsilon=3)",
    "df.dp.protect(epsilon=0.1, rho=2, name='u')": "protect(epsilon=0.1, name='u')",
    "df.dp.protect(rho=0.01, delta=1e-8, accountant='rdp')": "protect(rho=0.01, delta=1e-8)",
    "df.dp.protect(epsilon=0.1, unit='patient_id', max_rows=7, time='day')": "max_rows=7, time='day', period='D')",
    "df.dp.protect(epsilon=0.1, unit='patient_id', max_rows=7, lifetime=2)": "max_rows=7, lifetime=2, period='D', time=",
    "df.dp.session.extend(to_epsilon=4000, reason='more visits')": "extend(to=4000, reason='more visits')",
    "df.dp.session.extend(epsilon=3, reason='more visits')": "extend(to=2000, reason='more visits')",
    f"{PRICE}.mean('age', clip=(0, 10000))": "mean('age', bounds=(0, 10000))",
    f"{PRICE}.mean('age', lower=0, upper=10000)": "mean('age', bounds=(0, 10000))",
    f"{PRICE}.histogram('age', bins=[0, 9], workload='hierarchical')": "workload='ranges')",
    f"{PRICE}.median('age', bounds=(0, 90), method='smooth_sensitivity')": "method='smooth')",
}


@pytest.mark.parametrize("typed", KEPT)
def test_what_was_typed_under_another_name_is_kept(typed):
    """A price of 0.1 became one of 0.5, and a total of 1 one of 3."""
    assert KEPT[typed] in Notebook(**UNIT).run(typed)


def test_what_no_call_takes_is_not_left_out_in_silence():
    book = Notebook(**UNIT)
    assert "no total=; it takes index=" in book.run(f"{PRICE}.crosstab('ward', 'age', total=5000)")
    assert "each row counts once" in book.run(f"{PRICE}.mean('age', bounds=(0, 9), weights='cost')")
    assert "no total=; it takes complete=" in book.run(f"df.dp.session.reconcile({PRICE}.count(), total=5000)")
    assert "takes level=, not alpha=, which is 1 - level" in book.run(f"{PRICE}.count().interval(alpha=0.1)")


def test_no_reason_is_put_into_the_mouth_of_a_user():
    """What was advised put a second year of visits on record, of which nobody had said anything."""
    book = Notebook(**UNIT)
    book.run("df.dp(epsilon=1000).count()")
    for wish, line in (
        ("df.dp(epsilon=1).mean('age', bounds=(0, 90))", "df.dp.session.extend(to=1001, reason='...')"),
        ("df.dp.session.extend(to=2000)", "df.dp.session.extend(to=2000, reason='...')"),
        ("df.dp(epsilon=1, delta=1e-7).unique('ward')", "df.dp.session.extend(to_delta=1e-6, reason='...')"),
    ):
        assert line in book.run(wish)
        assert "type the value itself: why, in your own words" in book.run(line)
    assert book.names["df"].dp.session.releases["kind"].tolist() == ["open", "query"]


OF_ROWS = {  # public facts that were made of rows, and what is shown in their place
    "mean('age', bounds=(df.age.min(), df.age.max()))": "type the value itself, bounds=(lower, upper)",
    "value_counts('ward', keys=set(df.ward))": "list what it holds, keys=['A', 'B']",
    "value_counts('ward', keys=dict(zip(df.ward, df.age)).keys())": "list what it holds, keys=['A', 'B']",
}


@pytest.mark.parametrize("wish", OF_ROWS)
def test_what_was_made_of_rows_is_not_told_in_a_form_that_takes_them(wish):
    """``int(df.age.min())`` and ``sorted(set(df.ward))``, as it was advised, were answered."""
    refusal = Notebook(**UNIT).run(f"{PRICE}.{wish}")
    assert refusal.endswith(OF_ROWS[wish])


def test_what_would_spend_all_that_is_left_says_so():
    book = Notebook(**UNIT)
    assert "epsilon=1000 would fit and spend all that is left (" in book.run("df.dp(epsilon=2000).count()")


def test_a_protected_frame_says_that_pandas_answers_exactly():
    """Rows chosen by a step are shown as protected, and ``.count()`` of them without a price is exact."""
    book = Notebook(**UNIT)
    assert "pandas' own methods give exact, unprotected results" in repr(book.names["df"].dp.query("age > 65"))
    assert "its own .count() is exact" in book.run("df[df.age > 65].dp(epsilon=1).count()")


HABITS = {  # which have no line to type in the place of all
    f"{PRICE}.count().se": r"an error bar is \.interval\(\)",
    f"{WARDS}.size().plt()": "did you mean 'plot'",
    f"{PRICE}.release(lambda d: [1.0, 2.0], sensitivity=3)": r"several numbers are named, names=\['first', 'second'\]",
    f"{PRICE}.groupby('patient_id').size().mean()": r"is the unit of the budget, .*\.rows_per_unit\(\)$",
    f"{PRICE}.count().variance": r"\.mechanism names the noise",
    f"{PRICE}.count().std()": r"\.mechanism names the noise",
    "pandas_dp.rho_to_epsilon": r"pandas_dp\.accounting\.compose\(\[pandas_dp\.accounting\.Gaussian\(0\.5\)\], delta=1e-6\)",
    "pandas_dp.accounting.zcdp_to_dp(0.5, 1e-6)": r"compose\(\[pandas_dp\.accounting\.Gaussian\(0\.5\)\], delta=1e-6\)",
    "pandas_dp.accounting.compare": "did you mean 'compose'",
    "pandas_dp.audit.chek": "did you mean 'check'",
    "pandas_dp.average": r"df\.dp\(epsilon=0\.5\)\.refine\(answer\)",
    "pandas_dp.backup": "pandas-dp ledger backup",
    "df.dp.session.backup()": "pandas-dp ledger backup",
    "df.dp.session.allot('team', epsilon=1)": r"df\.dp\.allot\(",
    "df.dp.session.left.rho": "the text tells what else is counted",
    f"{PRICE}.count().consistent()": r"pandas_dp\.reconcile\(\[this, that\]\)",
    f"{PRICE}.count().predict([1])": r"answer\['intercept'\]",
    f"{PRICE}.count().plots()": "did you mean 'plot'",
    f"{PRICE}.mean('age', bounds=(0, 90)).result": "did you mean 'value'",
    f"{PRICE}.resample('MS', on='day')": r"months are public bins: \.groupby\('day', bins=pd\.period_range\(",
    f"{PRICE}['cost'].clip(0, 9)": r"\.assign\(cost=lambda d: d\['cost'\]\.clip\(0, 9\)\)\['cost'\]$",
    f"{PRICE}['cost'].corr(df['age'])": r"it needs two columns: df\.dp\(epsilon=1\)\.corr\(\['age', 'cost'\], bounds=",
    "pandas_dp.plan([pandas_dp.query(within=20).count()], frame=df).run": r"no attribute 'run': plan\(df\) asks",
    "pandas_dp.plan([], unit='patient_id')": r"it is set once for the budget, df\.dp\.protect\(epsilon=3, unit=",
    "pandas_dp.query(epsilon=1).count().run": r"query\(df\) asks it",
    "pandas_dp.accounting.compose(rho=0.1)": r"compose\(\[pandas_dp\.accounting\.Gaussian\(0\.1\)\], delta=1e-6\)",
    "pandas_dp.compose": "it is pandas_dp.accounting.compose",
    "pandas_dp.reed_csv": "did you mean 'read_csv'",
    f"{PRICE}.isna().sum()": r"\.query\('age\.isna\(\)'\)\.count\(\) counts the rows without a value",
    f"{PRICE}['day'].dt.dayofweek": r"\.assign\(dayofweek=lambda d: d\['day'\]\.dt\.dayofweek\)\['dayofweek'\]$",
    f"{PRICE}.loc[df['age'] > limit(), 'cost'].mean()": r"by a condition, .*\.query\('age >= 65'\)",
    f"{PRICE}['cost'][3]": r"rows are chosen by \.query\('cost >= 65'\), before the column$",
    f"{PRICE}['ward'].isna().sum()": r"\.assign\(holds=lambda d: d\['ward'\]\.isna\(\)\)\['holds'\]\.sum\(\)$",
    f"{PRICE}['cost'].isna().sum()": r"\.assign\(holds=lambda d: d\['cost'\]\.isna\(\)\)\['holds'\]\.sum\(\)$",
    "pd.DataFrame({'a': [1]}).dp.loc": "which comes before the column",
    "df['cost'].dp": r"\['cost'\]\.mean\(bounds=\(lower, upper\)\)$",
    "df.dp.fillna(0)": r"fillna: give a value by column, df\.dp\.fillna\(\{'cost': 0\}\)",
    "df.dp.clip(0, 9)": r"clip: name the columns, df\.dp\.clip\(0, 9, columns=\['age', 'cost'\]\)",
    "df.dp.dropna(how='all')": r"one of the values that are named, as in df\.dp\.dropna\(\['age', 'ward'\]\)$",
    f"{PRICE}.where('age > 65').count()": r"rows are chosen by \.query\('age >= 65'\)",
    f"{PRICE}.hist('cost')": r"ask .*\.histogram\('cost', bins=",
    f"{PRICE}.noisy_max('ward')": r"\.top_k\('ward', 1, keys=",
    f"{PRICE}.trimmed_mean('cost')": r"\.mean\('cost', bounds=\(lower, upper\), method='trimmed'\)",
    f"{PRICE}['cost'].iqr()": r"\.quantile\(\[0\.25, 0\.75\], bounds=",
    f"{PRICE}.percentile('age', 95)": r"shares, not percents: \.quantile\('age', 0\.95, bounds=",
    f"{PRICE}.ttest('age')": r"by \.difference\('A', 'B'\)\.p_value of the answer of \.groupby\('ward', keys=",
    f"({PRICE}['age'] > 65).mean()": r"\.assign\(holds=lambda d: d\['age'\] > 65\)\['holds'\]\.mean\(\)$",
    f"{PRICE}['age'] == limit()": r"rows are chosen by \.query\('\.\.\.'\)",
    f"{PRICE}[df.age > limit()]": r"rows are chosen by \.query\('age >= 65'\)",
    f"{PRICE}[df.age > df.age.mean()]": r"rows are chosen by \.query\('age >= 65'\)",
    f"len({PRICE})": r"ask it: \.count\(\)",
    "len(df.dp)": r"ask it at a price: df\.dp\(epsilon=0\.5\)\.count\(\)",
    "df.dp.session.reset()": "did you mean 'close'",
    "df.dp.session.ledger": "did you mean 'releases'",
    "df.dp.reset()": r"what was spent stays spent; df\.dp\.session\.close\(\)",
    f"{PRICE}.assign(m=df['cost'] * limit())": r"assign\(\) takes functions of a row: ",
}


@pytest.mark.parametrize("typed", HABITS)
def test_habits_of_pandas_are_told_what_they_are_here(typed):
    assert re.search(HABITS[typed], Notebook(**UNIT).run(typed))


def test_a_new_column_is_asked_about_by_the_line_that_is_told():
    """The line that makes the session know it, and then the question with what it lacks."""
    book, wish = Notebook(**UNIT), f"{PRICE}.groupby('month')['cost'].mean()"
    book.run("df['month'] = df['day'].dt.month")
    then = f"{PRICE}.groupby('month', keys=[0, 1, 2])['cost'].mean(bounds=(lower, upper))"
    assert book.run(wish).endswith(f"or type df.dp.protect(session=df.dp.session), and then: {then}")
    book.run("df.dp.protect(session=df.dp.session)")
    assert book.run(then.replace("(lower, upper)", "(0, 500)")) is None


def test_months_of_the_schema_are_the_example():
    book = Notebook(**UNIT, schema={"day": {"bounds": ("2024-01-01", "2025-01-01")}})
    for wish in ("groupby('day').size()", "groupby(pd.Grouper(key='day', freq='MS')).size()"):
        assert f".groupby('day', bins={MONTHS}).size()" in book.run(f"{PRICE}.{wish}")


def test_a_table_that_pandas_counted_is_asked_as_the_question():
    df = visits()
    assert "df.dp(epsilon=0.5).crosstab('ward', 'age')>" in repr(pd.crosstab(df.ward, df.age).dp)
    assert "crosstab" not in repr(df.dp)


@pytest.mark.parametrize(("end", "right"), [("csv", "parquet"), ("parquet", "csv"), ("feather", "parquet")])
def test_a_file_of_another_kind_is_read_by_the_line_that_is_told(end, right, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    getattr(visits(), f"to_{right}")(f"v.{right}")
    with pytest.raises(PandasDPError) as caught:
        getattr(pandas_dp, f"read_{end}")(f"v.{right}")
    line = f"pandas_dp.read_{right}('v.{right}')"
    assert str(caught.value) == f"path: 'v.{right}' is no file of read_{end}(): {line}"
    assert len(eval(line)) == len(ROWS)


def odd_names() -> Notebook:
    table = visits().assign(**{"class": ROWS % 3, "a`b": ROWS % 3})
    table[7] = 1
    return Notebook(table)


MASKS = {  # of a table with names that are no text, or no word of a condition
    "df.age > 40": "query('age > 40')",
    "df['class'] == 1": "query('`class` == 1')",
    "df[7] == 1": "",
    "df['a`b'] == 1": "",
    # a variable is no column of its name
    "df.age > cost": "",
    "(df.age > 40) & (df.cost < age)": "",
}


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_is_advised_as_the_condition_that_it_is(mask):
    notebook = odd_names()
    notebook.names |= {"cost": 40, "age": 10}
    line = f"{PRICE}[{mask}].count()"
    refusal = notebook.run(line)
    assert refusal is not None
    assert "rows are chosen by" in refusal
    asked = advised(refusal, line)
    if MASKS[mask]:
        assert asked is not None
        assert MASKS[mask] in asked
        assert notebook.run(asked) is None
    else:
        assert asked is None, refusal


DEEP = "+".join(["'x'"] * 450)
HARD = {  # what advice would have to read, and what is said all the same
    f"{PRICE}.meen({DEEP})": "no 'meen'; did you mean 'mean'?",
    f"df.dp.mean({DEEP})": "a question needs a price",
    f"df.dp.cost.mean({DEEP})": "a question needs a price",
    f"{PRICE}[df.ward == ({DEEP})].count()": r"rows are chosen by \.query",
    f"{PRICE}{'.assign(z=lambda d: d.age)' * 150}.meen('cost')": "no 'meen'; did you mean 'mean'?",
    f"{PRICE}.meen({{[1]: 2}})": "no 'meen'; did you mean 'mean'?",
}


@pytest.mark.parametrize("line", HARD)
def test_code_that_is_hard_to_read_is_refused_as_any_other(line):
    assert re.search(HARD[line], Notebook().run(line) or "")


PLACES = (  # of a call in a file: among others of a line, in a decorator, within a function, behind what is nested too deep
    "a = 1; df.dp(epsilon=1).meen('cost'); b = 2",
    "a = 1\n@df.dp(epsilon=1).meen('cost')\ndef function():\n    pass",
    "def function():\n    return df.dp(epsilon=1).meen(\n        'cost')\nfunction()",
    f"a = {DEEP}\ndf.dp(epsilon=1).meen('cost')",
)


@pytest.mark.parametrize("code", PLACES)
def test_code_is_read_where_the_call_stands(monkeypatch, code):
    notebook = Notebook()
    monkeypatch.setitem(linecache.cache, "<a file>", (len(code), None, code.splitlines(keepends=True), "<a file>"))
    with pytest.raises(AttributeError, match=r"'mean'\?: df.dp\(epsilon=1\).mean\('cost', bounds=\(lower, upper\)\)"):
        exec(compile(code, "<a file>", "exec"), notebook.names)


def test_a_chain_on_several_lines_is_told_as_it_was_typed(monkeypatch):
    """Python tells of such a call another place where it begins, and its arguments alone were told."""
    notebook, code = Notebook(), "(df.dp(epsilon=1)\n .query('age > 40')\n .mean('cost')\n)"
    monkeypatch.setitem(linecache.cache, "<lines>", (len(code), None, code.splitlines(keepends=True), "<lines>"))
    with pytest.raises(
        PandasDPError, match=r": df.dp\(epsilon=1\).query\('age > 40'\).mean\('cost', bounds=\(lower, upper\)\)"
    ):
        exec(compile(code, "<lines>", "exec"), notebook.names)


REREAD = {  # all that is needed, in another order or form: one refusal, and the same question
    f"{PRICE}.mean('age', (100, 0))": f"{PRICE}.mean('age', bounds=(0, 100))",
    f"{PRICE}.mean('age', bounds=(100, 0))": f"{PRICE}.mean('age', bounds=(0, 100))",
    f"{PRICE}.mean(df['age'], (0, 100))": f"{PRICE}.mean('age', bounds=(0, 100))",
    f"{PRICE}.mean('age', 100)": f"{PRICE}.mean('age', bounds=(0, 500))",
    f"{PRICE}.groupby('ward').mean()": f"{WARDS}.mean('age', bounds=(0, 500))",
    f"{PRICE}.agg(['mean', 'std'], 'age')": f"{PRICE}.agg({{'age': ['mean', 'std']}}, bounds={{'age': (0, 500)}})",
    f"{PRICE}.top_k(2, 'ward', keys=['A', 'B'])": f"{PRICE}.top_k('ward', 2, keys=['A', 'B'])",
    f"{PRICE}.quantile(0.9, 'cost', bounds=(0, 500))": f"{PRICE}.quantile('cost', 0.9, bounds=(0, 500))",
    f"{PRICE}.corr('age', 'cost', bounds=(0, 100))": ".corr(['age', 'cost'], bounds={'age': (0, 100), 'cost': (0, 100)})",
    f"{PRICE}.kmeans(3)": "kmeans(k=3, columns=['age', 'cost'], bounds={'age': (0, 500), 'cost': (0, 500)})",
    f"{PRICE}.linear_regression(['age'], 'cost')": "('cost', ['age'], bounds={'cost': (0, 500), 'age': (0, 500)})",
    f"{PRICE}.linear_regression('cost ~ age')": "('cost', ['age'], bounds={'cost': (0, 500), 'age': (0, 500)})",
    f"{PRICE}.linear_regression(X=['age'], y='cost')": "(x=['age'], y='cost', bounds={'cost': (0, 500), 'age': (0, 500)})",
    f"{PRICE}.linear_regression('np.log(cost) ~ age + ward')": (
        ".assign(y=lambda d: np.log(d['cost'])).linear_regression('y', ['age', 'ward'], keys={'ward': ['A', 'B']}, "
        "bounds={'y': (0, 500), 'age': (0, 500)})"
    ),
    f"{PRICE}.linear_regression('cost', ['age'], bounds={{'cost': (0, 9), 'age': (0, 9), 'day': (0, 9)}})": (
        ".linear_regression('cost', ['age'], bounds={'cost': (0, 9), 'age': (0, 9)})"
    ),
    f"{PRICE}.mean('cost', bounds=(0, 100), error_bar=True)": f"{PRICE}.mean('cost', bounds=(0, 100))",
    f"{PRICE}.crosstab(['ward', 'age'], keys={{'ward': ['A', 'B']}}, bins={{'age': [0, 50, 99]}})": (
        ".crosstab('ward', 'age', keys={'ward': ['A', 'B']}, bins={'age': [0, 50, 99]})"
    ),
    f"{PRICE}.groupby('ward')['cost'].agg(['mean', 'median'])": f"{WARDS}['cost'].agg(['mean', 'median'], bounds=(0, 500))",
    f"{PRICE}[df.age > 30].groupby('ward').size()": ".query('age > 30').groupby('ward', keys=['A', 'B']).size()",
    f"{PRICE}.ward.value_counts(dropna=False)": "['ward'].value_counts(keys=['A', 'B'], null=True)",
    f"{PRICE}.hist('age', bins=20)": f"{PRICE}.histogram('age', bins=20, bounds=(0, 500))",
    f"{PRICE}.count('age > 65')": f"{PRICE}.query('age > 65').count()",
    f"{PRICE}.mean('age > 65')": f"{PRICE}.eval('holds = age > 65').mean('holds')",
    f"{PRICE}.groupby('age > 65').size()": f"{PRICE}.eval('holds = age > 65').groupby('holds').size()",
    "df.dp.assign('share = cost / age')": "df.dp.eval('share = cost / age')",
    "df.dp.fillna('age', 50)": "df.dp.fillna({'age': 50})",
    "df.dp.rename('age', 'years')": "df.dp.rename(columns={'age': 'years'})",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("wish", REREAD)
def test_what_stands_in_another_order_is_told_as_one_call(wish):
    typed = Notebook(**UNIT).followed(wish)
    assert len(typed) == 2, typed
    assert typed[1].endswith(REREAD[wish])


def test_a_variable_in_another_order_stays_a_variable():
    book = Notebook(**UNIT)
    book.names["ends"] = (100, 0)
    assert book.run(f"{PRICE}.mean('age', bounds=ends)").endswith("mean('age', bounds=(lower, upper))")


PERSONS = "df.dp.protect(epsilon=5, name='persons', "


@pytest.mark.parametrize(
    "typed",
    [
        f"{PERSONS}patient_id=7)",
        f"{PERSONS}unit=df.patient_id, max_rows=7)",
        f"{PERSONS}group='patient_id', max_contributions=7)",
        f"{PERSONS}by='patient_id', cap=7)",
        f"{PERSONS}person='patient_id', max_rows=7)",
        "df.dp.protect(5, 'patient_id', 7, name='persons')",
    ],
)
def test_a_budget_for_persons_stays_one_for_persons(typed):
    """However its column was named: the line protects persons, with the cap that was typed, and opens the budget."""
    book = Notebook()
    book.names["df"] = visits()
    line = advised(book.run(typed), typed)
    words = {word.arg: ast.literal_eval(word.value) for word in ast.parse(line, mode="eval").body.keywords}
    assert (words["unit"], words["max_rows"]) == ("patient_id", 7)
    assert book.run(line) is None
    book.names["df"].dp.session.close()
