"""What every question is asked of in a census of intervals, what is exactly true there, and whether an interval holds.

Of one table after another each question is asked many times. `TRUE` holds what its interval is about, computed by pandas of the
same rows; `NONE` why another question prints none; `WIDE` why an interval is wider than the error that is seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom
from support import questions
from support.frames import fresh
from support.questions import DAYS, HOUR, KEYS, OWN

from pandas_dp.aggregates.uncertainty import Interval
from pandas_dp.datasets import load_adult

BOUNDS = {"cost": (0, 100), "age": (0, 120), "wait": HOUR, "day": DAYS, "uid": (0, 50)}
LEAST = 0.945  # coverage of what is printed
FLAGGED = 1e-4  # a chance of so few covers at that, below which a question is asked again
FALSE_ALARMS = 1e-6  # of a whole test
EMPTY = 0.015  # chance that something is printed where there are no rows
MANY = 500  # draws, of which it can be seen that none of 5 % happened
OF_MEDIAN = math.log(20) / math.log(2)
FACTOR = 1.25  # half-widths over the real 95 % error, more than which is too wide where `WIDE` has no other
Truth = Callable[[pd.DataFrame], Any]
EVERY = questions.EVERY | questions.FOUND


# --------------------------------------------------------------------------------------------------------------- tables
def made(position: Callable[[np.random.Generator, int], np.ndarray], rows: int = 1000) -> pd.DataFrame:
    """A table with the columns that questions ask for, from positions between their bounds, some beyond these."""
    rng = np.random.default_rng(11)
    places = {name: position(rng, rows) for name in ("cost", "age", "wait", "day")}
    return pd.DataFrame(
        {
            "uid": np.arange(rows) // 4,
            "cost": np.rint(100 * places["cost"]),
            "age": 120 * places["age"],
            "ward": rng.choice(KEYS, rows, p=[0.6, 0.3, 0.1]),
            "to": rng.choice(KEYS, rows, p=[0.9, 0.05, 0.05]),
            "wait": pd.to_timedelta(np.rint(60 * places["wait"]), unit="min"),
            "day": DAYS[0] + pd.to_timedelta(np.rint(59 * places["day"]), unit="D"),
        }
    )


def adult(rows: int) -> pd.DataFrame:
    """Rows of the census: hours as cost and wait, days by age."""
    people = load_adult().sample(rows, random_state=3).reset_index(drop=True)
    hours, age = people["hours_per_week"], people["age"]
    return pd.DataFrame(
        {
            "uid": np.arange(rows) // 4,
            "cost": hours,
            "age": age.astype(float),
            "ward": people["relationship"].map({"Husband": "A", "Not-in-family": "B"}).fillna("C").astype(object),
            "to": people["race"].map({"White": "A", "Black": "B"}).fillna("C").astype(object),
            "wait": pd.to_timedelta(hours, unit="min"),
            "day": DAYS[0] + pd.to_timedelta(age - 17, unit="D"),
        }
    )


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "Adult, 400 rows": lambda: adult(400),
    "Adult, 5,000 rows": lambda: adult(5000),
    "heavy tail": lambda: made(lambda rng, n: 0.02 * (1 + rng.pareto(1.1, n)).clip(max=200)),
    "zeros": lambda: made(lambda rng, n: np.where(rng.random(n) < 0.8, 0, rng.random(n))),
    "ties": lambda: made(lambda rng, n: np.where(rng.random(n) < 0.6, 0.4, 0.3 + 0.2 * rng.random(n))),
    "few distinct": lambda: made(lambda rng, n: rng.choice([0.2, 0.4, 0.6, 0.8], n, p=[0.4, 0.3, 0.2, 0.1])),
    "half and half at the bounds": lambda: made(lambda rng, n: rng.permutation(np.arange(n) % 2).astype(float)),
}
ADD, REPLACE, UNITS = {}, {"neighbors": "replace_one", "rows": True}, {"unit": "uid", "max_rows": 4}
DELTA = {"delta": 0.5, "delta_reserved": 0.4}  # for finding keys again and again
PURE, GAUSSIAN = {"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}
GRID = {  # the terms of the session and the price
    **{name: (name, ADD, PURE) for name in TABLES},
    "Adult, under replace_one": ("Adult, 400 rows", REPLACE, PURE),
    "half and half, under replace_one": ("half and half at the bounds", REPLACE, PURE),
    "Adult, units of four rows": ("Adult, 5,000 rows", UNITS, PURE),
    "Adult, Gaussian noise": ("Adult, 5,000 rows", ADD, GAUSSIAN),
}


# ------------------------------------------------------------------------------------------------------------------ truth
def cut(table: pd.DataFrame, *columns: str) -> Any:
    """Columns cut to their bounds."""
    found = [table[column].clip(*BOUNDS[column]) for column in columns]
    return found[0] if len(found) == 1 else pd.concat(found, axis=1)


def low(values: pd.Series, q: float) -> Any:
    """The smallest value with at least q n rows at or below it."""
    return values.sort_values().iloc[max(math.ceil(q * len(values) - 1e-9), 1) - 1]


def binned(values: pd.Series, edges: Any) -> list[int]:
    """Rows in each bin, with its lower edge and without its upper one."""
    return pd.cut(values, list(edges), right=False).value_counts(sort=False).tolist()


def by(table: pd.DataFrame, function: Callable[[pd.DataFrame], Any], key: str = "ward") -> list[Any]:
    """For each key in turn, of several numbers one after another."""
    found = [function(table[table[key] == name]) for name in KEYS]
    return [x for each in found for x in each] if isinstance(found[0], list) else found


def in_own_bounds(table: pd.DataFrame, name: str) -> list[Any]:
    """For each key, of values clipped to the bounds of that key."""
    return [getattr(table.loc[table["ward"] == key, "cost"].clip(*OWN[key]), name)() for key in KEYS]


def by_label(table: pd.DataFrame, columns: Any, function: Callable[[pd.DataFrame], Any]) -> dict[str, Any]:
    """For each key that occurs."""
    return {text(label): function(rows) for label, rows in table.groupby(columns)}


def text(label: Any) -> str:
    """A label, the same of 23 and of 23.0."""
    if isinstance(label, tuple):
        return ", ".join(map(text, label))
    return f"{label:g}" if isinstance(label, int | float) else str(label)


def crossed(table: pd.DataFrame, function: Callable[[pd.DataFrame], float]) -> list[float]:
    """By ward and by to."""
    return by(table, lambda t: by(t, function, "to"))


def described(table: pd.DataFrame, column: str) -> list[float]:
    """As `describe`, with lower quantiles."""
    x = cut(table, column)
    return [len(x), x.mean(), x.std(), x.min(), *(low(x, q) for q in (0.25, 0.5, 0.75)), x.max()]


def fitted(table: pd.DataFrame) -> list[float]:
    """Intercept and slope of cost on age."""
    both = cut(table, "age", "cost")
    slope = both.cov().loc["age", "cost"] / both["age"].var()
    return [both["cost"].mean() - slope * both["age"].mean(), slope]


def fitted_by_ward(table: pd.DataFrame) -> list[float]:
    """Intercept, slope of cost on age, and what it is more in wards B and C than in A."""
    both = cut(table, "age", "cost")
    design = [np.ones(len(both)), both["age"], *(table["ward"] == key for key in KEYS[1:])]
    return np.linalg.lstsq(np.column_stack(design).astype(float), both["cost"], rcond=None)[0].tolist()


def covariances(table: pd.DataFrame, *columns: str, ddof: int = 1) -> list[float]:
    """Row by row."""
    return cut(table, *columns).cov(ddof=ddof).to_numpy().ravel().tolist()


def in_found_bounds(table: pd.DataFrame, release: Any) -> float:
    """The mean of values clipped to what the answer says."""
    ends = re.findall(r"-?[\d.]+", str(release._provenance.found))
    return math.nan if len(ends) != 2 else table["cost"].clip(*map(float, ends)).mean()


def pairs(*columns: list[float]) -> list[float]:
    """Columns of a table, row by row."""
    return [x for row in zip(*columns, strict=True) for x in row]


NO = math.nan  # cells of a table that nothing is about
TENS = range(0, 101, 10)
WEEKS = pd.date_range(*DAYS, freq="7D")
MONTHS = pd.to_datetime(["2013-01-01", "2013-02-01", "2013-03-01"])
mean, var, std = ("mean", "var", "std")
TRUE: dict[str, Truth] = {
    **dict.fromkeys(("count", "size", "count of values", "count by column"), len),
    "after steps": lambda t: (t["age"] > 30).sum(),
    "nunique": lambda t: t["ward"].nunique(),
    "nunique of units": lambda t: t["uid"].nunique(),
    "sum": lambda t: cut(t, "cost").sum(),
    "sum by column": lambda t: cut(t, "age").sum(),
    "sum of durations": lambda t: cut(t, "wait").sum(),
    "histogram": lambda t: [*binned(t["cost"], TENS), int((~t["cost"].between(0, 100, "left")).sum()), 0],
    "histogram of keys": lambda t: by(t, len),
    "histogram of days": lambda t: binned(t["day"], WEEKS),
    "value_counts": lambda t: by_label(t, "ward", len),
    "ranges": lambda t: binned(t["cost"], range(101)),
    "few ranges": lambda t: binned(t["cost"], (0, 50, 101)),
    "sums of bins": lambda t: [binned(t["cost"], (0, 75, 101))[i] for i in (0, 1, 0)],
    "sums of keys": lambda t: [int(t["ward"].isin(["A", "B"]).sum()), int((t["ward"] == "C").sum())],
    "own function": questions.dear,
    "own numbers": questions.dear_and_cheap,
    "group sizes": lambda t: by(t, len),
    "group counts": lambda t: by(t, len),
    "group nunique": lambda t: by(t, lambda g: g["to"].nunique()),
    "group sums": lambda t: by(t, lambda g: cut(g, "cost").sum()),
    "sizes of combinations": lambda t: by(t, lambda g: binned(g["day"], MONTHS)),
    "crosstab": lambda t: [x for row in KEYS for x in [*by(t[t["ward"] == row], len, "to"), 0]] + [0] * 4,
    "pivot table of sums": lambda t: crossed(t, lambda g: cut(g, "cost").sum()),
    "histogram of groups": lambda t: by(t, lambda g: [*binned(g["cost"], (0, 50, 101)), 0]),
    "mean": lambda t: cut(t, "cost").mean(),
    "mean of a population": lambda t: cut(t, "cost").mean(),
    "group means of a population": lambda t: by(t, lambda g: cut(g, "cost").mean()),
    "mean day": lambda t: cut(t, "day").mean(),
    "group means in own bounds": lambda t: in_own_bounds(t, "mean"),
    "group sums in own bounds": lambda t: in_own_bounds(t, "sum"),
    "group means": lambda t: by(t, lambda g: cut(g, "cost").mean()),
    "var": lambda t: cut(t, "cost").var(),
    "var by column": lambda t: cut(t, "age").var(),
    "std of cost": lambda t: cut(t, "cost").std(),
    "std": lambda t: cut(t, "age").std(),
    "var of groups": lambda t: by(t, lambda g: cut(g, "cost").var()),
    "std of groups": lambda t: by(t, lambda g: cut(g, "cost").std()),
    "value_counts as shares": lambda t: by_label(t, "ward", lambda g: len(g) / len(t)),
    "pivot table of means by group": lambda t: by(t, lambda g: cut(g[g["age"].between(0, 200, "left")], "cost").mean()),
    **dict.fromkeys(
        ("ecdf", "ecdf by column"),
        lambda t: np.append(0, np.cumsum(binned(t["cost"], TENS))) / max(sum(binned(t["cost"], TENS)), 1),
    ),
    "median of groups": lambda t: by(t, lambda g: low(cut(g, "cost"), 0.5)),
    "quantiles of groups": lambda t: by(t, lambda g: [low(g["age"], q) for q in (0.2, 0.5, 0.8)]),
    "min with error bar": lambda t: cut(t, "cost").min(),
    "median with error bar": lambda t: low(cut(t, "cost"), 0.5),
    "quantiles with error bars": lambda t: [low(t["age"], q) for q in (0.9, 0.2)],
    "smooth error bar": lambda t: low(cut(t, "cost"), 0.9),
    "cov": lambda t: covariances(t, "age", "cost"),
    "cov of three": lambda t: covariances(t, "age", "cost", "uid", ddof=0),
    "corr": lambda t: cut(t, "age", "cost").corr().to_numpy().ravel(),
    "regression": fitted,
    "regression on categories": fitted_by_ward,
    "agg": lambda t: pairs([len(t), *cut(t, "cost").agg(["sum", mean, "max"]), NO], [NO] * 4 + [t["ward"].nunique()]),
    "agg of a column": lambda t: [len(t), mean(cut(t, "cost"))],
    "agg by column": lambda t: [cut(t, "cost").std(), low(cut(t, "day"), 0.5)],
    "agg by name": lambda t: pairs([low(cut(t, "age"), 0.5), NO], [NO, cut(t, "cost").min()]),
    "agg of groups": lambda t: by(t, lambda g: [len(g), *cut(g, "cost").agg(["sum", std]), low(cut(g, "age"), 0.5)]),
    "describe ranks": lambda t: described(t, "cost"),
    "describe": lambda t: described(t, "cost"),
    "describe two": lambda t: pairs(described(t, "age"), described(t, "cost")),
    "rows_per_unit": lambda t: np.histogram(t["uid"].value_counts(), [1, 2, 3, 4, 6, 11, 10**9])[0],
    **dict.fromkeys(
        ("found counts", "found histogram", "sizes of found groups", "counts of found groups"),
        lambda t: by_label(t, "ward", len),
    ),
    "found dates": lambda t: by_label(t, "day", len),
    "sums of found groups": lambda t: by_label(t, "ward", lambda g: cut(g, "cost").sum()),
    "means of found groups": lambda t: by_label(t, "ward", lambda g: cut(g, "cost").mean()),
    "sizes of found combinations": lambda t: by_label(t, ["ward", "day"], len),
    "means of found combinations": lambda t: by_label(t, ["to", "ward", "age"], lambda g: cut(g, "cost").mean()),
    "sums of combinations partly listed": lambda t: by_label(t, ["ward", "to"], lambda g: cut(g, "cost").sum()),
}
TOLD: dict[str, Callable[[pd.DataFrame, Any], Any]] = {
    "private bounds": in_found_bounds
}  # what the answer itself names

# ------------------------------------------------------------------------------------------------------ why there is none
RANK = "a choice by rank or score: the guarantee is about that, in values an error bar has a price"
NONE: dict[str, str] = {  # questions that print no interval
    **dict.fromkeys(
        ("median", "median by column", "quantile", "quantile by column", "quantiles", "ranks of groups"), RANK
    ),
    **dict.fromkeys(("min", "min by column", "max by column", "max of open bounds", "agg of ranks"), RANK),
    **dict.fromkeys(("mode of groups", "mode", "mode by column", "top_k", "top_k by column"), RANK),
    **dict.fromkeys(("found mode", "found top_k"), RANK),
    **dict.fromkeys(("best_price", "best_price by column", "select", "select by table"), RANK),
    "median in private bounds": RANK,
    **dict.fromkeys(("smooth median", "trimmed mean", "mst_cost"), "the noise fits the data, so its size is private"),
    **dict.fromkeys(("unique", "unique by column", "unique combinations"), "keys have no error bar"),
    "randomized_response": "each row is answered for itself; its estimate() has intervals",
    "randomized_response alpha": "as randomized_response",
}
STREAMED = {  # no answers themselves, and `tests/session` asks them
    "above_threshold": "answers above or below",
    "pmw": "its answers have bounds on all of them together",
    "median oracle": "its answers have bounds on all of them together",
}
BLOCK_RANKS = (
    "vote",
    "median of blocks",
    "smooth blocks",
)  # as `RANK`, and noise that fits
RECORDED = {"mean of blocks": "middle", "means of blocks": "ends"}  # of what functions return
BLOCKS = (  # what their intervals are about no table holds: it differs from call to call; see the tests of blocks
    "kmeans", "group means of blocks", "means of a function of groups", "medians of a function of groups",
    "means of blocks of found groups",
    "winsorized mean", "winsorized blocks",
    "groups by noisy size", "function of groups by noisy size",
)  # fmt: skip
LADDER = (
    "cuts double from one to the next, and of many equal values the point hardly errs; tests/aggregates/test_ladder.py"
)
LISTED = (
    "found counts",
    "found histogram",
    "sizes of found groups",
    "counts of found groups",
    "found dates",
    "sizes of found combinations",
)
WIDENED = "widened by as much as what is left out of the linear error may be; the fewer rows, the more"
FITTED = (
    "sums are fitted so that none falls, which errs less where true shares are level; that they are nobody knows, and a "
    "monotone hull of intervals that hold one by one need not hold"
)
WIDE: dict[str, tuple[float, str]] = {  # how many times the error, and why
    **dict.fromkeys(("median of groups", "quantiles of groups", "median with error bar"), (math.inf, LADDER)),
    **dict.fromkeys(("quantiles with error bars", "agg", "agg by column", "agg by name"), (math.inf, LADDER)),
    **dict.fromkeys(("agg of groups", "describe", "describe two"), (math.inf, LADDER)),
    "min with error bar": (math.inf, "one row decides, so it begins at the bound"),
    **dict.fromkeys(("ecdf", "ecdf by column"), (4, FITTED)),
    "smooth error bar": (
        math.inf,
        "1.4 times by its law, for the share of the price that makes it narrowest, and more where values are cut to a bound; "
        "tests/aggregates/test_bought_scale.py",
    ),
    **dict.fromkeys(("regression", "regression on categories"), (4, WIDENED)),
    **dict.fromkeys(
        LISTED,
        (math.inf, "near the threshold keys may owe it to noise: from 0 on; tests/aggregates/test_key_selections.py"),
    ),
    **dict.fromkeys(
        ("cov", "cov of three"),
        (math.inf, "of few rows all that is possible, and says so; of 400 at epsilon 1 and more about 1.5 times"),
    ),
    "corr": (math.inf, "as covariances, and by the noise of two variances at once"),
}
DEAR = (  # they take ten times as long as others
    "quantiles of groups", "quantiles with error bars", "agg", "agg by column", "agg by name", "agg of groups",
    "describe ranks", "describe", "describe two",
)  # fmt: skip
PURE_ONLY = (
    *DEAR,
    "median of groups",
    "min with error bar",
    "median with error bar",
    "smooth error bar",
)  # without a delta


# ------------------------------------------------------------------------------------------------------------ judgement
@dataclass
class Entry:
    """What was printed of one number of an answer, draw by draw."""

    values: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    true: list[float] = field(default_factory=list)
    asked: int = 0
    whole: bool = False

    def narrowed(self, factor: float) -> Entry:
        """With intervals that many times as wide, around their middles."""
        lower, upper = np.array(self.lower), np.array(self.upper)
        middle, half = (lower + upper) / 2, factor * (upper - lower) / 2
        return Entry(self.values, list(middle - half), list(middle + half), self.true, self.asked, self.whole)

    @property
    def judged(self) -> bool:
        """Whether something is printed that there is."""
        return bool(self.true) and not math.isnan(self.true[0])

    @property
    def covers(self) -> np.ndarray:
        """Whether each interval holds what it is about; floats are rounded."""
        true, slack = np.array(self.true), 1e-9 * np.maximum(1, np.abs(self.true))
        return (np.array(self.lower) <= true + slack) & (true - slack <= np.array(self.upper))

    @property
    def covered(self) -> float:
        """Chance of so few covers of what is printed."""
        return float(binom.cdf(self.covers.sum(), len(self.true), LEAST))

    @property
    def shown(self) -> float:
        """Chance of so many numbers where there are no rows."""
        return float(binom.sf(len(self.values) - 1, self.asked, EMPTY))

    def wide(self, factor: float) -> float:
        """Chance of so few errors of some size, if the interval were at most this factor wider than the real 95 % error.

        One Laplace draw is beyond 1 / `OF_MEDIAN` of its 95 % half-width in half of all cases, sums of them and normal noise in
        more. Among many draws too few must be beyond the half-width itself, too, for half of the values may be right that were
        cut to what is possible. Whole numbers err by a step more than they do.
        """
        half = (np.array(self.upper) - np.array(self.lower)) / 2 / factor
        errors = (np.abs(np.array(self.values) - np.array(self.true)) + self.whole) * (1 + 1e-9)
        large = binom.cdf((errors >= half).sum(), len(half), 0.05) if len(half) >= MANY else 0.0
        return float(max(large, binom.cdf((errors >= half / OF_MEDIAN).sum(), len(half), 0.5)))


def number(x: Any) -> float:
    """A cell as a float: dates and durations in seconds."""
    if x is pd.NaT or x is None or x is pd.NA:
        return math.nan
    if isinstance(x, pd.Timestamp):
        x = x - DAYS[0]
    return x / pd.Timedelta("1s") if isinstance(x, pd.Timedelta) else float(x)


def cells(answer: Any, side: str | None = None) -> list[Any]:
    """Of an answer, or of one side of its interval, row by row."""
    if isinstance(answer, pd.DataFrame) and side is not None:
        own = answer.columns.get_level_values(-1) == side if answer.columns.nlevels > 1 else answer.columns == side
        answer = answer.loc[:, own]
    if isinstance(answer, pd.DataFrame):
        return [
            x for row in zip(*(answer.iloc[:, i].tolist() for i in range(answer.shape[1])), strict=True) for x in row
        ]
    if isinstance(answer, Interval):
        return [getattr(answer, str(side))]
    return answer.tolist() if isinstance(answer, pd.Series) else [answer]


def labels(value: Any) -> list[str]:
    """Of each number."""
    if isinstance(value, pd.DataFrame):
        return [f"{text(row)} / {text(column)}" for row in value.index for column in value.columns]
    return [text(label) for label in value.index] if isinstance(value, pd.Series) else [""]


def asked(ask: Callable[[], Any], true: Callable[[Any], Any], draws: int) -> dict[str, Entry]:
    """What is printed of each number: those that are missing, and those without an interval, are not."""
    found: dict[str, Entry] = {}
    for _ in range(draws):
        release = ask()
        named, truth = labels(release.value), true(release)
        truth = [truth.get(name) for name in named] if isinstance(truth, dict) else truth
        exact = truth if isinstance(truth, list | np.ndarray) else [truth]
        for name, real, *each in zip(named, exact, cells(release.value), *ends(release), strict=True):
            if real is None:  # of a key that is not judged
                continue
            entry, (shown, lower, upper) = found.setdefault(name, Entry()), map(number, each)
            entry.asked += 1
            if not (math.isnan(shown) or math.isnan(lower) or math.isnan(upper)):
                entry.whole = isinstance(each[0], int)
                kept = ((entry.values, shown), (entry.lower, lower), (entry.upper, upper), (entry.true, number(real)))
                for numbers, x in kept:
                    numbers.append(x)
    return found


def ends(release: Any) -> list[list[Any]]:
    """Lower and upper ends of each number, missing where there is no interval."""
    known = release.interval()
    if isinstance(known, Interval | pd.DataFrame):
        return [cells(known, side) for side in ("lower", "upper")]
    return [[math.nan] * len(labels(release.value))] * 2


def faults(entry: Entry, factor: float, limit: float) -> list[str]:
    """What is wrong with the intervals of a number, each with a chance below the limit if nothing were."""
    if not entry.judged:
        return ["shown of no rows"] if entry.shown < limit else []
    found = [f"covers {entry.covers.sum()} of {len(entry.true)}"] if entry.covered < limit else []
    if entry.wide(factor) < limit:
        found.append(f"more than {factor} times the error, of {len(entry.true)}")
    return found


def factor(name: str) -> float:
    """By how much intervals of a question may be wider than the error."""
    return WIDE[name][0] if name in WIDE else FACTOR


@lru_cache(maxsize=1)
def protected(case: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of a case, as they are and with a budget."""
    shape, terms, _ = GRID[case]
    rows, budgeted = TABLES[shape](), TABLES[shape]()
    budgeted.dp.protect(epsilon=10**6, name=fresh(), **terms, **({} if "rows" in terms else DELTA))
    return rows, budgeted


def goes(case: str, name: str) -> bool:
    """Whether a question can be asked under the terms of a case."""
    _, terms, price = GRID[case]
    if name in questions.ROW_BY_ROW or name in questions.BY_UNIT:
        return ("rows" if name in questions.ROW_BY_ROW else "unit") in terms
    return "rows" not in terms if name in questions.FOUND else "delta" not in price or name not in PURE_ONLY


def release_of(case: str, name: str) -> Any:
    """A fresh answer."""
    paid = {**GRID[case][2], **({"delta": 1e-6} if name in questions.FOUND else {})}
    return EVERY[name](protected(case)[1].dp(**paid, fresh=True))


def of_results(release: Any, results: list[Any]) -> Any:
    """What the mean of block results is exactly, of those that a function returned last; there is a row in each block."""
    blocks = int(re.search(r"([\d,]+) blocks", " ".join(release.notes)).group(1).replace(",", ""))
    last, results[:] = pd.DataFrame([pd.Series(result) for result in results[-blocks:]]), []
    return [last[column].clip(0, 9 if column == "low" else 100).mean() for column in last]


def entries(case: str, name: str, draws: int) -> dict[str, Entry]:
    """What is printed of each number of a question."""
    rows = protected(case)[0]
    exact = TRUE[name](rows) if name in TRUE else None

    def true(release: Any) -> Any:
        return TOLD[name](rows, release) if name in TOLD else exact

    return asked(lambda: release_of(case, name), true, draws)
