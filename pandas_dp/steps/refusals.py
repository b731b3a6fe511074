"""Why an operation is not row-wise, and what to type instead."""

from __future__ import annotations

_PUBLIC = (
    "computes one number from all rows, so every row would depend on every other. Give a public number instead, "
    "{example}; or pay for one first: df.dp(epsilon=...).{name}(...)"
)
_ORDER = "makes a row depend on other rows or their order. Only operations within one row keep the guarantee"
_POSITION = "takes rows by position, and others move up when one is left out. Choose rows by a condition"
_EXPORT = "hands out the data itself. Write the operation with + - * / // % **, comparisons and & | ~"
_UNCHECKED = (
    "runs code that cannot be checked row by row. Write it with + - * / // % **, comparisons and & | ~, or make "
    "the column before the table is protected"
)
_REPEATS = "changes how many rows a person has. Do it before the table is protected"
NOT_TRACED = "is not among the functions that can be checked. Make the column before the table is protected"
_CUT = "d.x.cut([0, 18, 65], labels=['child', 'adult'])"
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
        _ORDER,
        "rank sort argsort shift diff pct_change cumsum cumprod cummax cummin rolling expanding ewm ffill bfill pad backfill "
        "interpolate sort_values sort_index drop_duplicates duplicated groupby transform resample factorize unique "
        "value_counts cat asof pivot pivot_table reset_index is_unique is_monotonic_increasing index align update "
        "combine combine_first qcut get_dummies",
    ),
    (_POSITION, "head tail nlargest nsmallest iloc iat loc at sample first last take truncate xs get"),
    (
        _EXPORT,
        "values to_numpy array item tolist to_list to_dict to_frame items iterrows itertuples shape size empty copy "
        "hasnans memory_usage len",
    ),
    (f"{_UNCHECKED}; a dict of public values goes to .map({{'a': 1}})", "apply pipe applymap eval"),
    (_REPEATS, "explode repeat reindex melt stack join merge concat"),
    (
        "gives parts of dates: name one, such as x.dt.year; x - y is a duration, and (x - y) / pd.Timedelta('1 day') a number",
        "dt",
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
