"""Why an operation is not row-wise, and what to type instead."""

from __future__ import annotations

_CUT = "d.x.cut([0, 18, 65], labels=['child', 'adult'])"
_PUBLIC = (
    "computes one number from all rows, so every row would depend on every other. Give a public number instead, "
    "{example}; or pay for one first: df.dp(epsilon=...).{name}(...)"
)
_ORDER = "makes a row depend on other rows, and only operations within one row keep the guarantee"
_POSITION = (
    "takes rows by position, and others move up when one is left out. Choose rows by a condition, as in "
    "df.dp.query('x > 3')"
)
_EXPORT = "hands out the data itself. Write the operation with + - * / // % **, comparisons and & | ~"
_UNCHECKED = (
    "runs code that cannot be checked row by row. Write it with + - * / // % **, comparisons and & | ~, or make "
    "the column before the table is protected"
)
_REPEATS = "changes how many rows a person has"
NOT_TRACED = "is not among the functions that can be checked. Make the column before the table is protected"
WHOLE_COLUMN = (
    f"a function that takes whole columns, like pd.cut or pd.factorize, {_UNCHECKED}; for pd.cut write {_CUT}"
)
INTERNAL = ("ndim", "dtype", "dtypes", "name")

_GROUPS = (
    (
        _PUBLIC.replace("{example}", "as in x - 40"),
        "mean sum median std var count quantile mode nunique sem skew kurt kurtosis prod product any all describe "
        "corr cov autocorr dot agg aggregate idxmax idxmin argmax argmin",
    ),
    (_PUBLIC.replace("{example}", "a maximum everybody may know, as in x / 100"), "max"),
    (_PUBLIC.replace("{example}", "a minimum everybody may know, as in x - 18"), "min"),
    (
        f"{_ORDER}: make the column before the table is protected",
        "shift diff pct_change cumsum cumprod cummax cummin rolling expanding ewm asof align update combine combine_first "
        "reset_index index is_unique is_monotonic_increasing",
    ),
    (f"{_ORDER}: put values into public intervals, as in {_CUT}", "rank qcut"),
    (f"{_ORDER}. No answer depends on the order of rows: leave it out", "sort argsort sort_values sort_index"),
    (f"{_ORDER}: fill with a public value, as in .fillna(0)", "ffill bfill pad backfill interpolate"),
    (
        f"{_ORDER}: give each group a public number, as in x - group.map({{'a': 40, 'b': 50}}), or ask by group: "
        "df.dp(epsilon=...).groupby('group', keys=['a', 'b'])",
        "groupby transform pivot pivot_table resample",
    ),
    (
        f"{_ORDER}: to count each person once, protect with unit='person' and max_rows=1",
        "drop_duplicates duplicated unique",
    ),
    (
        f"{_ORDER}: write what each value stands for, as in .map({{'a': 0, 'b': 1}}) or x == 'a'",
        "factorize get_dummies cat",
    ),
    (f"{_ORDER}: list public keys, df.dp(epsilon=...).value_counts('x', keys=['a', 'b'])", "value_counts"),
    (_POSITION, "head tail nlargest nsmallest iloc iat loc at sample first last take truncate xs get"),
    (
        _EXPORT,
        "values to_numpy array item tolist to_list to_dict to_frame items iterrows itertuples shape size empty copy "
        "hasnans memory_usage len",
    ),
    (f"{_UNCHECKED}; a dict of public values goes to .map({{'a': 1}})", "apply pipe applymap eval"),
    (f"{_REPEATS}. Do it before the table is protected", "repeat reindex melt stack concat"),
    (f"{_REPEATS}. As a step of its own it takes a public limit: df.dp.explode('tags', max=5)", "explode"),
    (
        "joins rows of two tables. A public table goes to df.dp.merge(lookup, on='code'), other tables before df.dp.protect",
        "merge join",
    ),
    (
        "gives parts of dates: name one, such as x.dt.year; x - y is a duration, and (x - y) / pd.Timedelta('1 day') a number",
        "dt",
    ),
    (
        f"{NOT_TRACED}; months are public bins of a question: "
        "df.dp(epsilon=...).groupby('visit', bins=pd.period_range('2013-01', '2013-12', freq='M'))",
        "dt.to_period dt.floor dt.normalize dt.date",
    ),
    ("has methods for text: name one, such as x.str.lower() or x.str.contains('a')", "str"),
    (
        "is not traced: write .case_when([(d.x < 18, 'young'), (True, 'old')]) or d.x.where(d.x > 0, 0)",
        "where select choose",
    ),
    (
        "is not traced: write .map({'a': 'b'}), which leaves out what is not listed, or .case_when([(d.x == 'a', 'b')])",
        "replace",
    ),
    ("is not traced: write .clip(lower=0) or .clip(upper=9) for a limit", "maximum minimum fmax fmin"),
)
REASONS = {name: reason for reason, names in _GROUPS for name in names.split()}
