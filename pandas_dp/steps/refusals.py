"""Why an operation is not row-wise, and what to type instead: for messages, and for the table of pandas' methods.

What stands between backticks can be typed: of columns x, y, g (text) and when, in an expression; or of a protected table df.
Messages leave the backticks out.
"""

from __future__ import annotations

_CUT = "`d.x.cut([0, 18, 65], labels=['child', 'adult'])`"
_ALL_ROWS = "computes one number from all rows, so every row would depend on every other"
_PUBLIC = f"{_ALL_ROWS}. Give a public number instead, "
_BEFORE = "make the column before the table is protected"
_ORDER = "makes a row depend on other rows, and only operations within one row keep the guarantee"
_POSITION = (
    "takes rows by position, and others move up when one is left out. Choose by a condition: `df.dp.query('x > 3')`"
)
_ROWS_APART = "is about row labels, which are not used here. Leave it out"
_EXPORT = "hands out the data itself. Ask a question of it, such as `df.dp(epsilon=0.5).mean('x', bounds=(0, 100))`"
_UNCHECKED = (
    "runs code that cannot be checked row by row. Write it with + - * / // % **, comparisons and & | ~, or make "
    "the column before the table is protected"
)
_REPEATS = "changes how many rows a person has"
_LISTED = "depends on the list of categories, which comes from all rows"
NOT_TRACED = "is not among the functions that can be checked. Make the column before the table is protected"
WHOLE_COLUMN = (
    f"a function that takes whole columns, like pd.cut or pd.factorize, {_UNCHECKED}; for pd.cut write {_CUT}, for "
    "pd.to_datetime `d.g.str.to_datetime('%Y-%m-%d')`, for pd.to_numeric `d.g.astype('float64')`"
)
INTERNAL = ("ndim", "dtype", "dtypes", "name")

_GROUPS = (
    (
        f"{_PUBLIC}as in `x - 40`; or pay for one first: `df.dp(epsilon=0.5).{{name}}('x', bounds=(0, 100))`",
        "mean sum median std var",
    ),
    (
        f"{_PUBLIC}as in `x - 40`; or pay for one first: `df.dp(epsilon=0.5).quantile('x', 0.9, bounds=(0, 100))`",
        "quantile",
    ),
    (f"{_PUBLIC}as in `x / 1000`; or pay for one first: `df.dp(epsilon=0.5).count('x')`", "count"),
    (f"{_ALL_ROWS}. It is a question: `df.dp(epsilon=0.5).mode('g', keys=['a', 'b'])`", "mode"),
    (f"{_ALL_ROWS}. It is a question: `df.dp(epsilon=0.5).nunique('g')`", "nunique"),
    (
        f"{_ALL_ROWS}. It is a question: `df.dp(epsilon=0.5).{{name}}(['x', 'y'], bounds={{'x': (0, 100), 'y': (0, 9)}})`",
        "corr cov",
    ),
    (f"{_ALL_ROWS}. It is a question: `df.dp(epsilon=0.5).describe('x', bounds=(0, 100))`", "describe"),
    (
        f"{_ALL_ROWS}. Ask one question per call, such as `df.dp(epsilon=0.5).std('x', bounds=(0, 100))`, or one of your own "
        "function: `df.dp(epsilon=0.5).sample_and_aggregate(function, bounds=(0, 100))`",
        "sem skew kurt kurtosis prod product autocorr dot agg aggregate idxmax idxmin argmax argmin",
    ),
    (f"{_ALL_ROWS}. Count the rows for which it holds: `df.dp(epsilon=0.5).query('x > 3').count()`", "any all equals"),
    (f"{_PUBLIC}a maximum everybody may know, as in `x / 100`", "max"),
    (f"{_PUBLIC}a minimum everybody may know, as in `x - 18`", "min"),
    (
        f"{_ORDER}: {_BEFORE}",
        "shift diff pct_change cumsum cumprod cummax cummin rolling expanding ewm asof update combine is_unique "
        "is_monotonic_increasing is_monotonic_decreasing searchsorted",
    ),
    (f"{_ORDER}. A column of the same table needs no matching: `x - y`", "align compare"),
    (f"{_ORDER}: put values into public intervals, as in {_CUT}", "rank qcut"),
    (f"{_ORDER}. No answer depends on the order of rows: leave it out", "sort argsort sort_values sort_index"),
    (f"{_ORDER}: fill with a public value, as in `x.fillna(0)`", "ffill bfill pad backfill interpolate"),
    (
        f"{_ORDER}: give each group a public number, as in `x - g.map({{'a': 40, 'b': 50}})`, or ask by group: "
        "`df.dp(epsilon=0.5).groupby('g', keys=['a', 'b']).size()`",
        "groupby transform pivot pivot_table",
    ),
    (
        f"{_ORDER}: months are public bins of a question: "
        "`df.dp(epsilon=0.5).groupby('when', bins=pd.period_range('2026-01', '2026-12', freq='M')).size()`",
        "resample asfreq",
    ),
    (
        f"{_ORDER}: to count each person once, protect with `df.dp.protect(epsilon=3, unit='person', max_rows=1)`",
        "drop_duplicates duplicated unique",
    ),
    (
        f"{_ORDER}: write what each value stands for, as in `g.map({{'a': 0, 'b': 1}})` or `g == 'a'`",
        "factorize get_dummies str.get_dummies",
    ),
    (f"{_ORDER}: list public keys, `df.dp(epsilon=0.5).value_counts('g', keys=['a', 'b'])`", "value_counts"),
    (
        _POSITION,
        "head tail nlargest nsmallest iloc iat loc at sample first last take truncate xs get pop "
        "first_valid_index last_valid_index squeeze",
    ),
    ("is about labels of rows. Of a column of dates write `when.dt.hour < 12`", "at_time between_time"),
    (
        _ROWS_APART,
        "index reset_index set_axis axes keys add_prefix add_suffix droplevel reorder_levels swaplevel rename_axis "
        "reindex_like T transpose to_period to_timestamp tz_convert tz_localize",
    ),
    ("is a step of the table: `df.dp.rename(columns={'x': 'z'})`", "rename"),
    ("is a step of the table: `df.dp.drop(columns='x')`", "drop"),
    ("is a step of the table: `df.dp.dropna(['x'])`", "dropna"),
    ("is a step of the table: `df.dp.filter(lambda d: d.x > 3)`", "filter"),
    (
        _EXPORT,
        "values to_numpy array item tolist to_list to_dict to_frame items iterrows itertuples shape size empty copy hasnans "
        "memory_usage len nbytes info hist plot sparse to_clipboard to_csv to_excel to_hdf to_json to_latex to_markdown "
        "to_pickle to_sql to_string to_xarray from_arrow sparse.density sparse.fill_value sparse.from_coo sparse.npoints "
        "sparse.sp_values sparse.to_coo sparse.to_dense",
    ),
    (
        "is a fact of the schema, not of a row: `df.dtypes`, before the expression",
        "dtype dtypes name ndim attrs flags set_flags",
    ),
    ("looks at all rows for a dtype. Name it: `x.astype('float64')`", "convert_dtypes infer_objects"),
    (f"{_UNCHECKED}; for a dict of public values use `g.map({{'a': 1}})`", "apply pipe applymap eval"),
    (f"{_REPEATS}. Do it before the table is protected", "repeat reindex melt stack unstack concat"),
    (f"{_REPEATS}. As a step of its own it takes a public limit: `df.dp.explode('tags', max=5)`", "explode"),
    (
        "joins rows of two tables. Join a public table by `df.dp.merge(lookup, on='g')`, and other tables before df.dp.protect",
        "merge join",
    ),
    ("gives two columns: write `x // 3` for one, `x % 3` for the other", "divmod rdivmod"),
    ("is for tables, not for columns inside an expression", "dp"),
    # what a column has of its own
    (
        "gives parts of dates: name one, such as `when.dt.year`; `when - when` is a duration, and "
        "`(when - when) / pd.Timedelta('1 day')` a number",
        "dt",
    ),
    ("has methods for text: name one, such as `g.str.lower()` or `g.str.contains('a')`", "str"),
    ("has one method for lists, `tags.list.len()`, and an entry is `d.tags.list[0]`", "list"),
    ("has one method for structs: `place.struct.field('city')`", "struct"),
    ("makes several rows of one: `df.dp.explode('tags', max=5)`", "list.flatten"),
    ("gives a table: take one field, `place.struct.field('city')`", "struct.explode"),
    ("is a fact of the schema, not of a row: `df.dtypes`, before the expression", "struct.dtypes"),
    (
        f"{_LISTED}: write what each value stands for, as in `g.map({{'a': 0, 'b': 1}})` or `g == 'a'`",
        "cat cat.codes cat.categories cat.ordered cat.as_ordered cat.as_unordered cat.reorder_categories",
    ),
    (f"{_LISTED}: write `g.replace({{'a': 'b'}})`", "cat.rename_categories"),
    (
        f"{_LISTED}, and no answer depends on what is listed there: leave it out, or list keys in the question, "
        "`df.dp(epsilon=0.5).value_counts('g', keys=['a', 'b'])`",
        "cat.add_categories cat.remove_unused_categories cat.set_categories",
    ),
    (f"{_LISTED}: write `g.mask(g == 'a')`, which makes a value missing", "cat.remove_categories"),
    # dates
    ("is not available here: write `when.dt.strftime('%Y-%m')`, a text for each month", "dt.to_period dt.asfreq"),
    ("gives objects: write `when.dt.normalize()`", "dt.date"),
    ("gives objects: write `when.dt.strftime('%H:%M:%S')`, or `when.dt.hour`", "dt.time dt.timetz"),
    (
        "gives a table: write `when.dt.strftime('%V').astype('int64')` for the week, %G for its year, %u for its day",
        "dt.isocalendar",
    ),
    ("is of periods: write `when.dt.strftime('%V').astype('int64')`", "dt.week dt.weekofyear"),
    ("gives a table: name a part, such as `(when - when).dt.days` or `(when - when).dt.seconds`", "dt.components"),
    (
        "is for periods, and no column holds periods here: parts of dates are `when.dt.year`, `when.dt.quarter` and the like",
        "dt.start_time dt.end_time dt.qyear dt.freq dt.to_timestamp",
    ),
    ("gives objects: dates are computed with as they are, as in `when.dt.year`", "dt.to_pydatetime dt.to_pytimedelta"),
    ("is a fact of the schema, not of a row: `df.dtypes`, before the expression", "dt.tz dt.unit"),
    ("is not needed: dates of any unit go together. Coarser ones are `when.dt.floor('s')`", "dt.as_unit"),
    # text
    ("is refused where a text lacks it: write `g.str.find('a')`, which is -1 there", "str.index"),
    ("is refused where a text lacks it: write `g.str.rfind('a')`, which is -1 there", "str.rindex"),
    ("gives a table: write `d.g.str.split('-', n=1).str[0]`, and [1] for what comes after", "str.partition"),
    ("gives a table: write `d.g.str.rsplit('-', n=1).str[0]`, and [-1] for what comes after", "str.rpartition"),
    ("gives lists: write `g.str.extract('([0-9]+)')` for the first", "str.findall str.extractall"),
    ("gives bytes, which have no column here: text is compared as it is, as in `g == 'a'`", "str.encode str.decode"),
    ("is not supported: write `g.str.replace('a', 'b')`, once for each", "str.translate"),
    ("is not supported: a separator between texts is `g + '-' + g`", "str.join"),
    ("is not supported: a shorter text is `g.str.slice(0, 10)`", "str.wrap"),
    # functions of numpy
    (
        "is not supported: write `d.g.case_when([(d.x < 18, 'young'), (True, 'old')])` or `d.x.where(d.x > 0, 0)`",
        "where select choose",
    ),
    ("is not supported: write `x.clip(lower=0)` or `x.clip(upper=9)` for a limit", "maximum minimum fmax fmin"),
)
REASONS = {name: reason.replace("{name}", name) for reason, names in _GROUPS for name in names.split()}


def said(reason: str) -> str:
    """A reason as a message has it."""
    return reason.replace("`", "")
