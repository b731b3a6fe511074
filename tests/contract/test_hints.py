"""Names that cannot be asked: what can be asked instead, and names that completion shows."""

from __future__ import annotations

import pytest
from support.frames import protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, local

GROUPED = [
    (lambda d: d["pay"].ecdf, r"df\.dp\(epsilon=1\)\.query\(\"sex == 'A'\"\)\.ecdf\('pay', \.\.\.\)"),
    (lambda d: d.value_counts, r"group by the column as well: \.groupby\(\['sex', 'city'\]"),
    (lambda d: d.value_counts("ok"), r"\.groupby\(\['sex', 'ok'\], .*; shares .*: \.crosstab\('sex', 'ok', keys="),
    (lambda d: d["city"].value_counts, r"\.groupby\(\['sex', 'city'\], keys=\{\.\.\.\}\)\.size\(\)"),
    (lambda d: d["pay"].apply, r"own function of a table: \.groupby\('sex', keys=\[\.\.\.\]\)\.sample_and_aggregate\("),
    (lambda d: d["pay"].describe, r"\.groupby\('sex', keys=\[\.\.\.\]\)\.agg\(\{'pay': \['count', 'mean', "),
    (lambda d: d.max, "one row's value is never released"),
    (lambda d: d.ngroups, "the groups are the keys that you listed"),
    (lambda d: d.means, "did you mean 'mean'"),
]


@pytest.mark.parametrize(("asked", "match"), GROUPED, ids=range(len(GROUPED)))
def test_what_groups_cannot_be_asked(monkeypatch, asked, match):
    df = protected()
    groups = df.dp(1).groupby("sex", keys=["f", "m"])
    with refused(monkeypatch, df, AttributeError, match):
        asked(groups)


def test_columns_of_groups_that_are_named_by_no_text_or_list(monkeypatch):
    df = protected()
    match = r"select columns of the groups by name.*groupby\('sex', keys=\[\.\.\.\]\)\['cost'\]"
    with refused(monkeypatch, df, ArgumentTypeError, match):
        df.dp(1).groupby("sex", keys=["f"])["age", "pay"]


def test_the_line_that_is_named_works():
    df = protected()
    assert df.dp(1).query("sex == 'f'").median("pay", bounds=(0, 5000)) >= 0


@pytest.mark.parametrize(
    ("ask", "error", "match"),
    [
        (lambda d: d.dp(1).drop_duplicates(), AttributeError, r"drop duplicates before df\.dp\.protect"),
        (lambda d: d.dp.sort_values("age"), AttributeError, "no answer depends on the order of rows"),
        (lambda d: d.dp.shape, AttributeError, r"\.count\(\) counts the rows"),
        (lambda d: d.dp.__setitem__("minor", 1), ArgumentTypeError, r"df\.dp\.assign\(minor="),
        (lambda d: d.dp(rho=0.1, delta=1e-7), ArgumentValueError, "rho= takes no delta=.*: leave delta= out"),
        (lambda d: d.dp.protect(epsilon=3, unit_column="pid"), ArgumentTypeError, r"takes unit=, not unit_column="),
        (
            lambda d: d.dp(1).groupby("sex", keys=["f", "m"]).mean(bounds=(0, 9)),
            ArgumentTypeError,
            r"\.groupby\('sex', keys=\['f', 'm'\]\)\.mean\(bounds=\(0, 9\), column='age'\)$",
        ),
    ],
)
def test_what_newcomers_type(monkeypatch, ask, error, match):
    df = protected()
    with refused(monkeypatch, df, error, match):
        ask(df)


def test_an_error_bar_under_another_name():
    df = protected()
    counts, count = df.dp(1).value_counts("sex", keys=["f", "upper"]), df.dp(1).count()
    assert counts.upper == counts["upper"]  # a label
    for answer, name in ((counts, "lower"), (count, "upper"), (count, "ci")):
        with pytest.raises(AttributeError, match=rf"no attribute '{name}': an error bar is \.interval\(\)"):
            getattr(answer, name)
    with pytest.raises(AttributeError, match=r"no attribute 'other'$"):
        _ = counts.other


def test_completion_of_the_package_shows_what_a_user_may_type():
    assert {name for name in dir(pandas_dp) if not name.startswith("_")} == set(pandas_dp.__all__)
    assert [name for name in dir(local) if not name.startswith("_")] == ["epsilon_of", "estimate", "randomize"]
    assert pandas_dp.__version__ in repr([getattr(pandas_dp, name) for name in dir(pandas_dp)])
