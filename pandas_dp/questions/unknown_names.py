"""Names that cannot be asked, and what can be asked instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from keyword import iskeyword
from typing import TYPE_CHECKING

from pandas_dp.errors import ArgumentTypeError, did_you_mean
from pandas_dp.facts.as_text import step_that_makes
from pandas_dp.facts.call import columns_text
from pandas_dp.facts.kinds import Kind, kind_or_none
from pandas_dp.facts.numbers import Accuracy

if TYPE_CHECKING:
    import pandas as pd

    from pandas_dp.questions.rows import PreparedFrame

BOUNDED = "sample_and_aggregate(function, bounds=(lower, upper))"
LACKING = (("bounds", "(lower, upper)"),)

_ROWS = "rows are never released; ask about them, such as `.count()` or `.mean({column}bounds=(lower, upper))`"
_BEFORE = "prepare the columns before df.dp.protect(...), or with `.assign(z=lambda d: d.cost / d.age)`"
_OWN = f"ask one question per call, or give your own function: `.{BOUNDED}`"
_COLUMN = "name one column, or make one: `.assign(z=lambda d: d.cost / d.age)`"
_LABELS = "names are fixed; `.rename(columns={'age': 'years'})` changes that of a column"
# what stands between backticks can be typed, after df.dp(epsilon=0.5) where it begins with a point
_HINTS = {
    "histogram2d hist2d pivot": (
        "count two columns together: `.crosstab('age', 'hours', bins={'age': range(0, 101, 10), 'hours': range(0, 81, 20)})`"
    ),
    "hist plot boxplot": "ask `.histogram({column}bins=[0, 50, 100])` and type .plot() after the answer",
    "head tail iloc iat at sample values to_numpy iterrows itertuples nlargest nsmallest T transpose "
    "to_clipboard to_csv to_dict to_excel to_feather to_hdf to_html to_iceberg to_json to_latex to_markdown to_orc to_parquet "
    "to_pickle to_records to_sql to_stata to_string to_xarray to_xml style info memory_usage copy items squeeze equals": _ROWS,
    "loc": (
        "rows are chosen by a condition, which comes before the column: `.query('age >= 65')`; row labels are not used here"
    ),
    "clip": "bounds clip the values of a question: `.mean({column}bounds=(lower, upper))`",
    "corr cov": (
        "it needs two columns: `df.dp(epsilon=1).corr(['age', 'cost'], bounds={'age': (lower, upper), 'cost': (lower, upper)})`"
    ),
    "shape": "`.count()` counts the rows, len(df.columns) the columns",
    "sort_values sort_index": "no answer depends on the order of rows, so leave it out; sort the answer instead",
    "drop_duplicates duplicated": "it compares rows with each other: drop duplicates before df.dp.protect(...)",
    "agg aggregate": (
        "several answers for one price: `df.dp(epsilon=0.5).agg({'cost': ['mean', 'std']}, bounds={'cost': (lower, upper)})`"
    ),
    "pipe": (
        "hand the priced frame to your function yourself: function(df.dp(epsilon=0.5)); `df.dp.pipe(lambda d: d.dp)` "
        "hands it df"
    ),
    "apply transform map applymap": (
        "rows are chosen by `.query('age >= 65')`, a column is made by `.assign(old=lambda d: d.age >= 65)`; or give your own "
        f"function of the table: `.{BOUNDED}`"
    ),
    "dropna": "missing values are left out of every answer; `.fillna({'age': 0})` replaces them",
    "join concat melt combine combine_first update stack unstack compare align corrwith": _BEFORE,
    "explode": "it is a step with a public limit and comes first: `df.dp(epsilon=0.5).explode('tags', max=5)`",
    "resample asfreq to_period to_timestamp": (
        "months are public bins: `.groupby('visit', bins=pd.period_range(first, last, freq='M'))`, followed by the question, "
        "such as `.size()`, or of a column ['cost'].sum(bounds=(lower, upper))"
    ),
    "isna isnull notna notnull": (
        "`.query('age.isna()').count()` counts the rows without a value, `.count('age')` those that have one"
    ),
    "rank shift diff cumsum rolling ffill bfill interpolate pct_change cumprod cummax "
    "cummin expanding ewm asof": _BEFORE,
    "dt": (
        "a part of dates is a column that a step makes, such as the month: `.assign(month=lambda d: d.visit.dt.month)`; "
        "then ask about that"
    ),
    "where mask isin between": (
        "rows are chosen by `.query('age >= 65')`; a column of True and False is made by `.assign(old=lambda d: d.age >= 65)`"
    ),
    "astype": "a step converts a column: `.assign(age=lambda d: d.age.astype('float64'))`",
    "round": "a step rounds a column: `.assign(age=lambda d: d.age.round(1))`",
    "replace": "a step replaces values of a column: `.assign(ward=lambda d: d.ward.replace({'A': 'B'}))`",
    "str cat case_when cut insert isetitem": (
        "make a column first, as in `.assign(month=lambda d: d.visit.dt.month)` or "
        "`.assign(band=lambda d: d.age.cut([0, 18, 65]))`"
    ),
    "abs add sub subtract mul multiply div divide truediv floordiv mod pow radd rsub rmul rdiv rtruediv rfloordiv rmod rpow eq "
    "ne lt le gt ge dot": _COLUMN,
    "columns dtypes ndim axes attrs flags set_flags keys select_dtypes": (
        "names and dtypes of columns are public, and df.columns and df.dtypes tell them"
    ),
    "convert_dtypes infer_objects": "dtypes come from the table as it was protected; a step names one: "
    "`.assign(age=lambda d: d.age.astype('float64'))`",
    "pop": "leave a column out by `.drop(columns='age')`",
    "add_prefix add_suffix set_axis": _LABELS,
    "set_index": "row labels are not used here: leave it out, and name the column in the question",
    "index reset_index reindex reindex_like droplevel reorder_levels swaplevel rename_axis tz_convert tz_localize "
    "first_valid_index last_valid_index xs truncate take get": (
        "row labels are not used here: choose rows by `.query('age >= 65')`"
    ),
    "at_time between_time": "row labels are not used here: choose rows by `.query('visit.dt.hour < 12')`",
    "idxmax idxmin kurt kurtosis skew prod product": _OWN,
    "sem": "an error bar comes with the answer, `.mean({column}bounds=(lower, upper))`; that of the population, where each row "
    "is a person, with population=True",
    "any all empty": "count the rows for which it holds: `.query('age >= 65').count()`",
    "from_dict from_records from_arrow": "make the table first, then `df.dp.protect(epsilon=3)`",
    "sparse": "no conversion is needed: ask the table as it is, as in `.count()`",
    "period": "it comes before the price: df.dp.period('2026-11-28').dp(epsilon=0.5).count()",
    "dp": "the price is there already: ask, as in `.count()`",
}
HINTS = {name: hint for names, hint in _HINTS.items() for name in names.split()}
_TWO = "{'ward': ['A', 'B'], 'sex': ['f', 'm']}"
_OTHERS = {  # names of other packages and of lectures
    "noisy_max report_noisy_max most_common": "the commonest key is `.top_k('ward', 1, keys=['A', 'B'])`",
    "sparse_vector svt": "counts are compared with a threshold by `.above_threshold(1000)`",
    "laplace laplace_mechanism gaussian gaussian_mechanism geometric geometric_mechanism add_noise noisy_count": (
        "each question chooses its noise, Gaussian if the price is rho=; your own function of a table is "
        "`.release(lambda d: len(d), sensitivity=largest_change)`"
    ),
    "exponential exponential_mechanism permute_and_flip": (
        "one of some candidates is chosen by `.select([20, 40, 60], score='age >= candidate')`"
    ),
    "trimmed_mean trim_mean": "it is `.mean({column}bounds=(lower, upper), method='trimmed')`",
    "winsorized_mean": "it is `.mean({column}bounds=(lower, upper), method='winsorized')`",
    "iqr interquartile_range": "it is the difference of `.quantile({column}[0.25, 0.75], bounds=(lower, upper))`",
    "percentile percentiles": "shares, not percents: `.quantile({column}0.95, bounds=(lower, upper))`",
    "marginal marginals contingency_table cross_tab": f"it is `.groupby(['ward', 'sex'], keys={_TWO}).size()`",
    "chi2 chisquare chi2_contingency chi_square": (
        f"where each row is a unit it is .independence() of the answer of `.crosstab('ward', 'sex', keys={_TWO})`"
    ),
    "ttest t_test ttest_ind anova f_oneway": (
        "two means are compared, for free, by .difference('A', 'B').p_value of the answer of "
        "`.groupby('ward', keys=['A', 'B'])['age'].mean(bounds=(lower, upper))`"
    ),
    "logistic_regression logit probit": (
        "there is no such model; a share by group is the mean of a column of True and False: "
        "`.groupby('ward', keys=['A', 'B'])['age'].mean(bounds=(lower, upper))`, and a function of your own goes into "
        f"`.{BOUNDED}`"
    ),
    "pca svd": (
        "compute it, for free, of the matrix `.cov(['age', 'cost'], bounds={'age': (lower, upper), 'cost': (lower, upper)})`"
    ),
    "entropy": "compute it, for free, of the counts `.value_counts('ward', keys=['A', 'B'])`",
    "gini": "compute it, for free, of a histogram with bins that you know: `.histogram({column}bins=edges)`",
    "synthetic synthesize synthetic_data make_synthetic": (
        f"no synthetic rows are made; draw some, for free, from counts such as `.groupby(['ward', 'sex'], keys={_TWO}).size()`"
    ),
    "unprotect reset": "what was spent stays spent; df.dp.session.close() ends the session",
}
OTHERS = {name: hint for names, hint in _OTHERS.items() for name in names.split()}
_APART = "ask it group by group, each at its price: df.dp(epsilon=0.5).query({one})"
_GROUPS = {
    "value_counts": (
        "group by the column as well: .groupby(['{first}', {other}], keys={...}).size(); shares within each group: "
        ".crosstab('{first}', {other}, keys={...}, normalize='index')"
    ),
    "corr cov kmeans": _APART + ".{name}({pair}, bounds={bounds})",
    "linear_regression": _APART + ".linear_regression({y}, {x}, bounds={bounds})",
    "ecdf unique top_k": _APART + ".{name}({column}...)",
    "aggregate": "several answers for one price: .agg({'cost': ['mean', 'std']}, bounds={'cost': (lower, upper)})",
    "apply pipe": "give your own function of a table: .groupby({by}, keys=[...])." + BOUNDED,
    "describe": "several answers for one price: .groupby({by}, keys=[...]).agg({agg}, bounds={alone})",
    "filter": (
        "groups are chosen, for free, by an answer about them: sizes = .groupby({by}, keys=[...]).size(), then "
        "sizes[sizes > 100]"
    ),
    "transform": (
        "no row gets a number that depends on others: ask .groupby({by}, keys=[...])['column'].mean(bounds=(lower, upper)), "
        "and compute with the answers"
    ),
    "min max first last nth head tail": (
        "one row's value is never released; by group there are median and quantile: .quantile(0.99, bounds=...)"
    ),
    "sem ttest t_test ttest_ind anova f_oneway": (
        "an error bar comes with the answer, and .difference('A', 'B').p_value of means compares two groups: "
        ".groupby({by}, keys=[...])['column'].mean(bounds=(lower, upper))"
    ),
    "groups ngroups get_group": "the groups are the keys that you listed; df.dp(epsilon=0.5).query(...) chooses one of them",
}
GROUP_HINTS = {name: hint for names, hint in _GROUPS.items() for name in names.split()}
BEFORE = {
    "partition": "('ward', keys=['A', 'B'], epsilon=1)",
    "preview": "(epsilon=0.5)",
    "protect": "(epsilon=3)",
    "session": "",
    "allot": "('nightly', epsilon=1)",
}
ONE_COLUMN = "select columns of the groups by name, one or a list of them: .groupby({by}, keys=[...])['cost'].mean(...)"


def missing_question(
    asked: type,
    name: str,
    column: str,
    by: tuple[str, ...] | None = None,
    one: str = "",
    pair: tuple[str, ...] = (),
    own: Iterable[str] = (),
) -> str:
    """Say what can be asked instead of something that cannot.

    Parameters
    ----------
    asked : type
        Its public methods are the questions there are.
    name : str
    column : str
        How the column stands first in a call: ``"'column', "``, or nothing where it is selected already.
    by : tuple of str, optional
        The columns of groups.
    one : str
        The condition of one of the groups.
    pair : tuple of str
        Columns of numbers: those that are meant, or two of them.
    own : iterable of str
        What else there is, where no price was named yet.
    """
    if by is not None and name in GROUP_HINTS:
        bounds = f"{{{', '.join(f'{each!r}: (lower, upper)' for each in pair)}}}"
        told = {
            "by": columns_text(by),
            "first": by[0],
            "name": name,
            "column": column,
            "other": column.removesuffix(", ").replace("'column'", "'city'"),
            "one": repr(one),
            "bounds": bounds,
        }
        first = pair[:1] and repr(pair[0])
        told |= {"agg": f"{{{first}: ['count', 'mean', 'std', 'median']}}", "alone": f"{{{first}: (lower, upper)}}"}
        told |= {"pair": repr([*pair]), "y": repr(pair[0]) if pair else "", "x": repr([*pair[1:]])}
        hint = GROUP_HINTS[name]
        for key, text in told.items():
            hint = hint.replace(f"{{{key}}}", text)
        return f".dp groups have no {name!r}: {hint}"
    questions = [known for known in dir(asked) if not known.startswith("_")]
    hints = HINTS | OTHERS
    if (by is None or name == "explode") and name in hints:  # of groups, too, a step comes first
        return f".dp has no {name!r}: {hints[name].replace('{column}', column).replace('`', '')}"
    if name in BEFORE:
        return f".dp(...) has no {name!r}, which comes before the price: df.dp.{name}{BEFORE[name]}"
    close = did_you_mean(name, [*questions, *own]) or "."
    return f".dp has no {name!r}{close} There are: {', '.join(questions)}"


NO_COLUMN = (
    "df.dp[...] cannot select rows or columns: a column comes after the price, "
    "df.dp(epsilon=0.5)['age'].mean(bounds=(lower, upper)); rows are chosen by df.dp.query('age >= 65')"
)


def of_counts(frame: pd.DataFrame) -> str:
    """What is said of a table as ``pd.crosstab`` makes one, whose rows and columns have names; nothing of others."""
    names = frame.index.name, frame.columns.name
    if not all(isinstance(name, str) for name in names):
        return ""
    return f", or if these are counts ask the rows: df.dp(epsilon=0.5).crosstab({names[0]!r}, {names[1]!r})"


def in_own_columns(frame: PreparedFrame, hint: str, selected: str = "") -> str:
    """A hint with columns of the user's table, the selected one first, in the place of examples, and with the price."""
    kinds = {of: kind_or_none(dtype) for of, dtype in frame._empty().dtypes.items() if isinstance(of, str)}
    keys, dates = ([of for of, kind in kinds.items() if kind and kind.name == name] for name in ("key", "datetime"))
    numbers = frame._examples()[0]
    selected = selected if selected.isidentifier() and not iskeyword(selected) else ""
    if selected and "isna" in hint:  # which is asked of any column
        hint = re.sub(r"\bage\b", selected, hint)
    for examples, found in ((("age", "cost"), numbers), (("ward", "sex"), keys), (("visit",), dates)):
        own = [name for name in found if name.isidentifier() and not iskeyword(name)]
        free = iter([name for name in own if name not in (*examples, selected)])
        first = selected if selected in own and not re.search(rf"\b{selected}\b", hint) else None
        for example in examples:
            missing = first or (next(free, None) if example not in own else None)
            hint, first = re.sub(rf"\b{example}\b", missing or example, hint), None
        if own and examples[0] == "age":
            hint = hint.replace("'column'", repr(own[0]))
    typed = frame._price.typed if isinstance(frame._price, Accuracy) else str(frame._price)
    return re.sub(r"df\.dp\(epsilon=[\d.]+\)", f"df.dp({typed})", hint)


def refuse_dates(kind: Kind, name: str, column: str, durations: bool = False) -> None:
    """Refuse sums of dates, and squares of durations."""
    if kind.name == "datetime":
        raise ArgumentTypeError(f"{name}() of dates has no meaning; ask mean({column!r}) or median({column!r})")
    if durations and kind.name == "timedelta":
        seconds = step_that_makes(column, ".dt.total_seconds()")
        raise ArgumentTypeError(f"{name}() takes numbers, such as the seconds of durations: {seconds}")
