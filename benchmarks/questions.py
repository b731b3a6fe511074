"""The questions about rows, beside plain pandas' answers to them and the fastest ones without privacy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

import pandas_dp  # noqa: F401
from benchmarks.made_tables import SEXES, STATES
from benchmarks.timing import Call

MONEY, YEARS = (0, 500_000), (0, 100)
TENS, FINE = list(range(0, 101, 10)), np.linspace(0, 500_000, 51)
QS = [0.1, 0.25, 0.5, 0.75, 0.9]
SCALARS, SAMPLING = 1.0, 4.5  # floors of extra memory over the bytes of the columns


@dataclass(frozen=True)
class Plain:
    """An answer by plain pandas, and the most that ours may cost as a ratio to it."""

    name: str
    call: Call
    cold: float | None = None
    warm: float | None = None


def both(name: str, call: Call, floor: float) -> Plain:
    """One floor, cold and warm."""
    return Plain(name, call, floor, floor)


@dataclass(frozen=True)
class Question:
    """One question: ours, pandas' and the fastest ways to the same answer.

    Attributes
    ----------
    kind : str
        Which table it is about.
    columns : tuple of str
        What it has to read.
    memory : float or None
        The most extra memory as a ratio to those columns; None: not measured.
    """

    name: str
    kind: str
    columns: tuple[str, ...]
    ours: Call
    plain: tuple[Plain, ...]
    fastest: dict[str, Call] = field(default_factory=dict)
    memory: float | None = None


def arrow(column: pd.Series) -> pa.Array:
    """The column as pyarrow reads it, without a copy."""
    return pa.array(column, from_pandas=True)


def arrow_groups(df: pd.DataFrame, by: list[str], value: str) -> object:
    """Grouped mean by pyarrow."""
    table = pa.table({name: arrow(df[name]) for name in [*by, value]})
    return table.group_by(by).aggregate([(value, "mean")])


def code_means(codes: np.ndarray, values: np.ndarray, groups: int) -> object:
    """Grouped mean by codes."""
    return np.bincount(codes, weights=values, minlength=groups) / np.bincount(codes, minlength=groups)


def about_rows(df: pd.DataFrame) -> Iterator[Question]:
    """All questions about a table without units."""
    yield from _scalars(df)
    yield from _counts(df)
    yield from _ranks(df)
    yield from _groups(df)


def _asker(df: pd.DataFrame) -> Callable[[], object]:
    return lambda: df.dp(epsilon=1, fresh=True)


def _scalars(df: pd.DataFrame) -> Iterator[Question]:
    ask = _asker(df)
    x, age, narrow = df["income"].to_numpy(), df["age"].to_numpy(), df["income32"].to_numpy()
    yield Question("count", "rows", ("age",), lambda: ask().count(), (Plain("s.count()", lambda: df["age"].count()),),
        {"len": lambda: len(df)})  # fmt: skip
    yield Question(
        "sum float", "rows", ("income",), lambda: ask().sum("income", bounds=MONEY),
        (both("s.sum()", lambda: df["income"].sum(), 1.5),
         both("s.clip(a, b).sum()", lambda: df["income"].clip(*MONEY).sum(), 0.4)),
        {"numpy": x.sum, "pyarrow": lambda: pc.sum(pa.array(x))}, SCALARS,
    )  # fmt: skip
    yield Question(
        "sum int", "rows", ("age",), lambda: ask().sum("age", bounds=YEARS),
        (both("s.sum()", lambda: df["age"].sum(), 1.5),
         both("s.clip(a, b).sum()", lambda: df["age"].clip(*YEARS).sum(), 0.4)),
        {"numpy": age.sum, "pyarrow": lambda: pc.sum(pa.array(age))}, SCALARS,
    )  # fmt: skip
    yield Question(
        "mean float", "rows", ("income",), lambda: ask().mean("income", bounds=MONEY),
        (both("s.mean()", lambda: df["income"].mean(), 1.3),),
        {"numpy": x.mean, "pyarrow": lambda: pc.mean(pa.array(x))}, SCALARS,
    )  # fmt: skip
    yield Question(
        "mean float, 10 % nulls", "rows", ("holes",), lambda: ask().mean("holes", bounds=YEARS),
        (both("s.mean()", lambda: df["holes"].mean(), 1.7),),
        {"numpy": lambda: np.nanmean(df["holes"].to_numpy()), "pyarrow": lambda: pc.mean(arrow(df["holes"]))}, SCALARS,
    )  # fmt: skip
    yield Question(
        "mean float32", "rows", ("income32",), lambda: ask().mean("income32", bounds=MONEY),
        (both("s.mean()", lambda: df["income32"].mean(), 1.5),),
        {"numpy": narrow.mean, "pyarrow": lambda: pc.mean(pa.array(narrow))}, SCALARS,
    )  # fmt: skip
    yield Question(
        "mean int", "rows", ("age",), lambda: ask().mean("age", bounds=YEARS),
        (both("s.mean()", lambda: df["age"].mean(), 0.9),),
        {"numpy": age.mean, "pyarrow": lambda: pc.mean(pa.array(age))}, SCALARS,
    )  # fmt: skip
    yield Question(
        "var float", "rows", ("income",), lambda: ask().var("income", bounds=MONEY),
        (both("s.var()", lambda: df["income"].var(), 0.55),),
        {"numpy": x.var, "dot": lambda: np.dot(x, x) / x.size - x.mean() ** 2,
         "pyarrow": lambda: pc.variance(pa.array(x))}, SCALARS,
    )  # fmt: skip


def _counts(df: pd.DataFrame) -> Iterator[Question]:
    ask = _asker(df)
    x, age = df["income"].to_numpy(), df["age"].to_numpy()
    cut = lambda column, edges: lambda: pd.cut(df[column], edges, right=False).value_counts()  # noqa: E731
    yield Question(
        "histogram, 10 int bins", "rows", ("age",), lambda: ask().histogram("age", bins=TENS),
        (both("np.histogram", lambda: np.histogram(age, bins=TENS), 0.9), both("pd.cut, value_counts", cut("age", TENS), 0.35)),
        {"bincount": lambda: np.add.reduceat(np.bincount(age, minlength=101), TENS[:-1])}, SCALARS,
    )  # fmt: skip
    yield Question(
        "histogram, 50 float bins", "rows", ("income",), lambda: ask().histogram("income", bins=FINE),
        (both("np.histogram", lambda: np.histogram(x, bins=FINE), 0.7),
         both("pd.cut, value_counts", cut("income", FINE), 0.35)),
        {"bincount": lambda: np.bincount((x * 1e-4).astype(np.int32)),
         "numpy, equal bins": lambda: np.histogram(x, bins=50, range=MONEY)}, SCALARS,
    )  # fmt: skip
    for name, call, memory in (
        ("histogram", lambda column: lambda: ask().histogram(column, keys=STATES), SCALARS),
        ("mode", lambda column: lambda: ask().mode(column, keys=STATES), None),
    ):
        yield Question(
            f"{name}, strings", "rows", ("state",), call("state"),
            (Plain("value_counts", lambda: df["state"].value_counts(), 1.25, 0.45),),
            {"pyarrow": lambda: pc.value_counts(arrow(df["state"]))}, memory,
        )  # fmt: skip
        yield Question(
            f"{name}, category", "rows", ("region",), call("region"),
            (both("value_counts", lambda: df["region"].value_counts(), 0.6),),
            {"bincount": lambda: np.bincount(df["region"].cat.codes)}, memory,
        )  # fmt: skip


def _ranks(df: pd.DataFrame) -> Iterator[Question]:
    ask = _asker(df)
    x = df["income"].to_numpy()
    places = [int(q * (x.size - 1)) for q in QS]
    yield Question(
        "median", "rows", ("income",), lambda: ask().median("income", bounds=MONEY),
        (both("s.median()", lambda: df["income"].median(), 0.4),),
        {"partition": lambda: np.partition(x, x.size // 2)[x.size // 2]}, SCALARS,
    )  # fmt: skip
    yield Question(
        "five quantiles", "rows", ("income",), lambda: ask().quantile("income", QS, bounds=MONEY),
        (both("s.quantile", lambda: df["income"].quantile(QS), 0.3),),
        {"partition": lambda: np.partition(x, places)[places]}, SCALARS,
    )  # fmt: skip


def _groups(df: pd.DataFrame) -> Iterator[Question]:
    ask = _asker(df)
    x = df["income"].to_numpy()
    means = lambda by: lambda: df.groupby(by, observed=True)["income"].mean()  # noqa: E731
    ours = lambda by, keys: lambda: ask().groupby(by, keys=keys)["income"].mean(bounds=MONEY)  # noqa: E731
    codes = lambda: df["region"].cat.codes.to_numpy()  # noqa: E731
    yield Question(
        "grouped mean, strings", "rows", ("state", "income"), ours("state", STATES),
        (Plain("groupby.mean", means("state"), 0.85),),
        {"pyarrow": lambda: arrow_groups(df, ["state"], "income")}, SCALARS,
    )  # fmt: skip
    yield Question(
        "grouped mean, category", "rows", ("region", "income"), ours("region", STATES),
        (both("groupby.mean", means("region"), 0.5),), {"bincount": lambda: code_means(codes(), x, 50)}, SCALARS,
    )  # fmt: skip
    pairs = {"state": STATES, "sex": SEXES}
    yield Question(
        "mean by two keys, strings", "rows", ("state", "sex", "income"), ours(list(pairs), pairs),
        (Plain("groupby.mean", means(list(pairs)), 0.65),),
        {"pyarrow": lambda: arrow_groups(df, list(pairs), "income")}, SCALARS,
    )  # fmt: skip
    pairs = {"region": STATES, "gender": SEXES}
    yield Question(
        "mean by two keys, category", "rows", ("region", "gender", "income"), ours(list(pairs), pairs),
        (both("groupby.mean", means(list(pairs)), 0.25),),
        {"bincount": lambda: code_means(codes().astype(np.int16) * 2 + df["gender"].cat.codes.to_numpy(), x, 100)}, SCALARS,
    )  # fmt: skip
    blocks = lambda by: lambda: ask().groupby_mean_sa(by, "income", keys=STATES, bounds=MONEY, blocks=20)  # noqa: E731
    yield Question(
        "groupby_mean_sa, strings", "rows", ("state", "income"), blocks("state"),
        (Plain("groupby.mean", means("state"), 1.5),),
        {"pyarrow": lambda: arrow_groups(df, ["state"], "income")},
    )  # fmt: skip
    yield Question(
        "groupby_mean_sa, category", "rows", ("region", "income"), blocks("region"),
        (both("groupby.mean", means("region"), 1.0),), {"bincount": lambda: code_means(codes(), x, 50)},
    )  # fmt: skip


def about_units(df: pd.DataFrame, kind: str) -> Iterator[Question]:
    """Questions where at most five rows of a unit count; pandas takes the first five instead of random ones."""
    ask = _asker(df)
    uid, age = df["uid"].to_numpy(), df["age"].to_numpy()
    first = lambda: df[df.groupby("uid").cumcount().to_numpy() < 5]  # noqa: E731

    def ranked() -> np.ndarray:
        """Whether a row is among the first five of its unit, by numpy."""
        order = np.argsort(uid, kind="stable")
        fresh = np.ones(uid.size, dtype=bool)
        fresh[5:] = uid[order][5:] != uid[order][:-5]
        keep = np.empty(uid.size, dtype=bool)
        keep[order] = fresh
        return keep

    dense = kind == "people"
    label = "dense ids" if dense else "sparse ids"
    ids = lambda: np.bincount(uid) if dense else np.unique(uid, return_counts=True)[1]  # noqa: E731
    yield Question(
        f"unit count, {label}", kind, ("uid",), lambda: ask().count(),
        (both("groupby.cumcount", lambda: len(first()), 0.25) if dense else Plain("groupby.cumcount", lambda: len(first())),),
        {"numpy": lambda: np.minimum(ids(), 5).sum()}, SAMPLING,
    )  # fmt: skip
    yield Question(
        f"unit mean, {label}", kind, ("uid", "income"), lambda: ask().mean("income", bounds=MONEY),
        (both("groupby.cumcount, mean", lambda: first()["income"].mean(), 0.4 if dense else 1.0),),
        {"numpy": lambda: df["income"].to_numpy()[ranked()].mean()}, SAMPLING,
    )  # fmt: skip
    yield Question(
        f"5 random rows, median, {label}", kind, ("uid", "income"), lambda: ask().median("income", bounds=MONEY),
        (both("groupby.cumcount, median", lambda: first()["income"].median(), 0.85),),
        {"numpy": lambda: np.median(df["income"].to_numpy()[ranked()])}, SAMPLING,
    )  # fmt: skip
    yield Question(
        f"5 random rows, histogram, {label}", kind, ("uid", "age"), lambda: ask().histogram("age", bins=TENS),
        (both("groupby.cumcount, np.histogram", lambda: np.histogram(first()["age"].to_numpy(), bins=TENS), 0.85),),
        {"numpy": lambda: np.bincount(age[ranked()] // 10)}, SAMPLING,
    )  # fmt: skip


def questions(df: pd.DataFrame, kind: str) -> list[Question]:
    """All questions about one table."""
    return list(about_rows(df) if kind == "rows" else about_units(df, kind))
