"""What to type instead of an operation that is not row-wise."""

from __future__ import annotations

_PUBLIC = (
    "computes one number from all rows, so every row would depend on every other. Give a public number instead: "
    "{example}; or pay for one first: df.dp(epsilon=...).{name}(...)"
)
_ORDER = "makes a row depend on other rows or their order. Only operations within one row keep the guarantee"
_POSITION = (
    "takes rows by position, and another person's row moves up when one is left out. Choose rows by a condition"
)
_EXPORT = "hands out the data itself. Write the operation with + - * / // % **, comparisons and & | ~"
_UNCHECKED = (
    "runs code that cannot be checked row by row. Write it with + - * / // % **, comparisons and & | ~, or make the "
    "column before the table is protected"
)
_REPEATS = "changes how many rows a person has. Do it before the table is protected"
NOT_TRACED = "is not among the functions that can be checked. Make the column before the table is protected"

REASONS: dict[str, str] = {
    **dict.fromkeys(
        (
            "mean sum median std var count quantile mode nunique sem skew kurt kurtosis prod product any all describe "
            "corr cov autocorr dot agg aggregate idxmax idxmin argmax argmin"
        ).split(),
        _PUBLIC.replace("{example}", "x - 40"),
    ),
    "max": _PUBLIC.replace("{example}", "a public maximum, as in x / 100"),
    "min": _PUBLIC.replace("{example}", "a public minimum, as in x - 18"),
    **dict.fromkeys(
        (
            "rank shift diff pct_change cumsum cumprod cummax cummin rolling expanding ewm ffill bfill pad backfill "
            "interpolate sort_values sort_index drop_duplicates duplicated groupby transform resample factorize "
            "value_counts unique cat asof pivot pivot_table reset_index is_unique is_monotonic_increasing index align "
            "update combine combine_first"
        ).split(),
        _ORDER,
    ),
    **dict.fromkeys(
        "head tail nlargest nsmallest iloc iat loc at sample first last take truncate xs get".split(), _POSITION
    ),
    **dict.fromkeys(
        (
            "values to_numpy array item tolist to_list to_dict to_frame items iterrows itertuples shape size empty "
            "copy hasnans memory_usage"
        ).split(),
        _EXPORT,
    ),
    **dict.fromkeys("apply map pipe applymap eval".split(), _UNCHECKED),
    **dict.fromkeys("explode repeat reindex melt stack join merge concat".split(), _REPEATS),
    "dt": NOT_TRACED + "; dates compare and subtract as they are: (x - y) / pd.Timedelta('1 day')",
    "astype": "is not needed: numbers are computed in float64 whatever stores them, and true/false count as 1 and 0",
    "where": (
        "is not among the functions that can be checked. Write condition * a + ~condition * b, or .clip and .fillna"
    ),
}
