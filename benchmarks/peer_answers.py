"""Answers of one library in its own environment, timed and compared with the true ones; started by `peers.py`.

    python benchmarks/peer_answers.py LIBRARY ROWS {time,error}

Needs numpy, pandas and the library, nothing else of this project. Prints one JSON line. Every library gets the same invented
table and the same public facts, and one answer costs the same epsilon: where a library has no single call for a question, its
parts share it evenly.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

STATES = [f"S{i:02d}" for i in range(50)]
MONEY, YEARS = (0.0, 500_000.0), (0, 100)
EDGES = list(range(0, 101, 10))
QS = [0.1, 0.25, 0.5, 0.75, 0.9]
GRID = np.linspace(*MONEY, 501).tolist()  # for libraries that choose among listed candidates
UNIT_ROWS, DELTA = 5, 1e-6
PACKAGES = {"pydp": "python-dp", "pandas_dp": "pandas-dp"}
MODULES = {
    "pandas_dp": "pandas_dp.questions.frame",
    "opendp": "opendp.prelude",
    "privjail": "privjail.pandas",
    "pydp": "pydp.algorithms.laplacian",
}
Answers = dict[str, Callable[[float], object]]


def make(rows: int) -> pd.DataFrame:
    """One to ten rows of a person, incomes with a long tail, states of very different sizes."""
    rng = np.random.default_rng([11, rows])
    owner = np.repeat(np.arange(rows), rng.integers(1, 11, rows))[:rows]
    chances = 1 / np.arange(1, 51)
    states = np.array(STATES)[rng.choice(50, rows, p=chances / chances.sum())]
    return pd.DataFrame(
        {
            "uid": rng.permutation(owner),
            "age": np.clip(np.rint(rng.normal(42, 20, rows)), *YEARS).astype(np.int64),
            "income": np.clip(rng.lognormal(np.log(40_000), 0.8, rows), *MONEY),
            "state": pd.Series(states.tolist(), dtype="str" if pd.__version__ >= "3" else object),
        }
    )


def pandas_dp(df: pd.DataFrame) -> Answers:
    """Add or remove a row; for units, a person with at most five rows."""
    import pandas_dp  # noqa: F401

    people, keyed = df.copy(deep=False), df.copy(deep=False)
    df.dp.protect(epsilon=10**6, name="rows")
    people.dp.protect(epsilon=10**6, unit="uid", max_rows=UNIT_ROWS, name="people")
    keyed.dp.protect(epsilon=10**6, delta=2e-3, delta_reserved=1e-3, name="unknown keys")
    ask = lambda e: df.dp(epsilon=e, fresh=True)  # noqa: E731
    unit = lambda e: people.dp(epsilon=e, fresh=True)  # noqa: E731
    return {
        "count": lambda e: ask(e).count(),
        "sum": lambda e: ask(e).sum("income", bounds=MONEY),
        "mean float": lambda e: ask(e).mean("income", bounds=MONEY),
        "mean int": lambda e: ask(e).mean("age", bounds=YEARS),
        "variance": lambda e: ask(e).var("income", bounds=MONEY),
        "histogram of keys": lambda e: ask(e).histogram("state", keys=STATES).to_numpy(),
        "histogram of bins": lambda e: ask(e).histogram("age", bins=EDGES).to_numpy(),
        "median": lambda e: ask(e).median("income", bounds=MONEY),
        "five quantiles": lambda e: ask(e).quantile("income", QS, bounds=MONEY).to_numpy(),
        "most common key": lambda e: str(ask(e).mode("state", keys=STATES)),
        "grouped mean": lambda e: ask(e).groupby("state", keys=STATES).mean("income", bounds=MONEY).to_numpy(),
        "unknown keys": lambda e: dict(keyed.dp(epsilon=e, delta=DELTA, fresh=True).groupby("state").count()),
        "unit count": lambda e: unit(e).count(),
        "unit mean": lambda e: unit(e).mean("income", bounds=MONEY),
    }


def diffprivlib(df: pd.DataFrame) -> Answers:
    """The number of rows is public: sums, means and variances replace a row; counts and quantiles add or remove one."""
    from diffprivlib import mechanisms, tools
    from diffprivlib.accountant import BudgetAccountant

    book = BudgetAccountant()
    income, age = (lambda: df["income"].to_numpy()), (lambda: df["age"].to_numpy())
    terms = lambda e, bounds: {"epsilon": e, "bounds": bounds, "accountant": book}  # noqa: E731

    def keys(e: float) -> object:
        codes = pd.Categorical(df["state"], categories=STATES).codes
        return tools.histogram(codes, epsilon=e, bins=50, range=(-0.5, 49.5), accountant=book)[0]

    def most_common(e: float) -> object:
        counts = df["state"].value_counts().reindex(STATES, fill_value=0).tolist()
        return mechanisms.Exponential(
            epsilon=e, sensitivity=1, utility=counts, candidates=STATES, monotonic=True
        ).randomise()

    return {
        "count": lambda e: tools.count_nonzero(np.ones(len(df), dtype=bool), epsilon=e, accountant=book),
        "sum": lambda e: tools.sum(income(), **terms(e, MONEY)),
        "mean float": lambda e: tools.mean(income(), **terms(e, MONEY)),
        "mean int": lambda e: tools.mean(age(), **terms(e, YEARS)),
        "variance": lambda e: tools.var(income(), **terms(e, MONEY)),
        "histogram of keys": keys,
        "histogram of bins": lambda e: tools.histogram(age(), epsilon=e, bins=EDGES, range=YEARS, accountant=book)[0],
        "median": lambda e: tools.median(income(), **terms(e, MONEY)),
        "five quantiles": lambda e: tools.quantile(income(), QS, **terms(e, MONEY)),
        "most common key": most_common,
    }


def opendp(df: pd.DataFrame) -> Answers:
    """Chains of its measurements API, calibrated by its own search; add or remove a row, the variance with a public size."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    metric = dp.symmetric_distance()
    floats = dp.vector_domain(dp.atom_domain(T=float, nan=False)), metric
    ints, texts = (dp.vector_domain(dp.atom_domain(T=kind)) for kind in (int, str))
    income = lambda: df["income"].to_numpy(dtype="float64", copy=True)  # noqa: E731
    age = lambda: df["age"].to_numpy(dtype="int32", copy=True)  # noqa: E731

    def laplace(chain: object, e: float, rows: int = 1) -> Callable[[object], object]:
        return dp.binary_search_chain(lambda scale: chain >> dp.m.then_laplace(scale), d_in=rows, d_out=e)

    def count(e: float) -> float:
        return laplace((ints, metric) >> dp.t.then_count(), e)(age())

    def total(e: float) -> float:
        most = 2 * len(df)
        exact = dp.t.make_bounded_float_checked_sum(most, MONEY, S="Pairwise<f64>")
        return laplace(floats >> dp.t.then_clamp(MONEY) >> exact, e)(income())

    def years(e: float) -> float:
        return laplace((ints, metric) >> dp.t.then_clamp(YEARS) >> dp.t.then_sum(), e)(age())

    def variance(e: float) -> float:
        sized = dp.vector_domain(dp.atom_domain(bounds=MONEY), size=len(df)), metric
        return laplace(sized >> dp.t.then_variance(ddof=1), e, 2)(np.clip(income(), *MONEY))

    def keys(e: float) -> object:
        return laplace((texts, metric) >> dp.t.then_count_by_categories(STATES, null_category=False), e)(
            df["state"].tolist()
        )

    def bins(e: float) -> object:
        found = (ints, metric) >> dp.t.then_find_bin(EDGES[1:-1])
        return laplace(found >> dp.t.then_count_by_categories(list(range(10)), null_category=False, TOA=int), e)(age())

    def quantile(q: float, e: float) -> float:
        pure = dp.max_divergence()
        chosen = lambda scale: dp.m.make_private_quantile(*floats, pure, GRID, q, scale)  # noqa: E731
        return dp.binary_search_chain(chosen, d_in=1, d_out=e)(income())

    def most_common(e: float) -> str:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
        counts = df["state"].value_counts().reindex(STATES, fill_value=0).to_numpy(dtype="int64", copy=True)
        noisy = lambda scale: dp.m.make_noisy_max(*space, dp.max_divergence(), scale)  # noqa: E731
        return STATES[dp.binary_search_chain(noisy, d_in=1, d_out=e)(counts)]

    return {
        "count": count,
        "sum": total,
        "mean float": lambda e: total(e / 2) / max(1, count(e / 2)),
        "mean int": lambda e: years(e / 2) / max(1, count(e / 2)),
        "variance": variance,
        "histogram of keys": keys,
        "histogram of bins": bins,
        "median": lambda e: quantile(0.5, e),
        "five quantiles": lambda e: [quantile(q, e / len(QS)) for q in QS],
        "most common key": most_common,
    }


def privjail(df: pd.DataFrame) -> Answers:
    """Prisoners around pandas objects with float noise; states are a categorical from the set-up on."""
    import privjail as pj
    from privjail import pandas as ppd
    from privjail.accountants import PureDPAccountant
    from privjail.pandas.dataframe import PrivDataFrame
    from privjail.pandas.domain import apply_column_schema, column_schema2domain, normalize_column_schema
    from privjail.realexpr import RealExpr

    facts = {
        "uid": {"type": "int64"},
        "age": {"type": "int64", "range": list(YEARS)},
        "income": {"type": "float64", "range": list(MONEY)},
        "state": {"type": "category", "categories": STATES},
    }
    facts = {name: normalize_column_schema(fact) for name, fact in facts.items()}

    def prisoner(user_key: str | None) -> PrivDataFrame:
        book = PureDPAccountant(budget_limit=None)
        book.set_as_root(name=str(user_key))
        data = pd.DataFrame({name: apply_column_schema(df[name], fact, name) for name, fact in facts.items()})
        domains = {name: column_schema2domain(fact) for name, fact in facts.items()}
        return PrivDataFrame(data=data, domains=domains, distance=RealExpr(1), user_key=user_key, accountant=book)

    rows, people = prisoner(None), prisoner("uid")
    first = lambda: people.groupby("uid").head(UNIT_ROWS)  # noqa: E731

    def keys(e: float) -> list[float]:
        counts = rows["state"].value_counts(sort=False).reveal(eps=e).to_dict()
        return [counts[state] for state in STATES]

    def bins(e: float) -> list[float]:
        cut = ppd.cut(rows["age"], [*EDGES[:-1], 101], right=False)
        counts = cut.value_counts(sort=False).reveal(eps=e).to_dict()
        return [count for _, count in sorted(counts.items(), key=lambda item: _left_end(item[0]))]

    def most_common(e: float) -> str:
        counts = rows["state"].value_counts(sort=False)
        return STATES[pj.argmax([counts[state] for state in STATES], eps=e)]

    def means(e: float) -> list[float]:
        found = rows[["state", "income"]].groupby("state", observed=False).mean(eps=e)["income"].to_dict()
        return [found[state] for state in STATES]

    return {
        "count": lambda e: rows.shape[0].reveal(eps=e),
        "sum": lambda e: rows["income"].sum().reveal(eps=e),
        "mean float": lambda e: rows["income"].mean(eps=e),
        "mean int": lambda e: rows["age"].mean(eps=e),
        "histogram of keys": keys,
        "histogram of bins": bins,
        "most common key": most_common,
        "grouped mean": means,
        "unit count": lambda e: first().shape[0].reveal(eps=e),
        "unit mean": lambda e: first()["income"].mean(eps=e),
    }


def _left_end(interval: object) -> float:
    """Left end of an interval, which may come as text."""
    return float(str(interval).strip("[]()").split(",")[0])


def pydp(df: pd.DataFrame) -> Answers:
    """Google's algorithms on Python lists; counts by pandas where it has no call for them; add or remove a row."""
    from pydp.algorithms import laplacian
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
    from pydp.algorithms.partition_selection import create_partition_strategy
    from pydp.algorithms.quantile_tree import QuantileTree

    def bounded(algorithm: str, values: pd.Series, e: float, bounds: tuple[float, float], **more: object) -> float:
        dtype = "int64" if values.dtype.kind == "i" else "float"
        made = getattr(laplacian, algorithm)(
            epsilon=e, lower_bound=bounds[0], upper_bound=bounds[1], dtype=dtype, **more
        )
        return made.quick_result(values.tolist())

    def noisy(counts: list[int], e: float) -> list[float]:
        mechanism = LaplaceMechanism(epsilon=e, sensitivity=1.0)
        return [mechanism.add_noise(int(count)) for count in counts]

    def quantiles(e: float) -> list[float]:
        tree = QuantileTree(*MONEY, 16, 2)  # height 16, two branches: taller trees of fewer branches are less biased
        for value in df["income"].tolist():
            tree.add_entry(value)
        return tree.compute_quantiles(e, 0.0, 1, 1, QS, "laplace")

    def means(e: float) -> list[float]:
        groups = dict(list(df.groupby("state")["income"]))
        return [bounded("BoundedMean", groups.get(state, df["income"][:0]), e, MONEY) for state in STATES]

    def unknown(e: float) -> dict[str, float]:
        counts = df["state"].value_counts()
        strategy = create_partition_strategy("truncated_geometric", e / 2, DELTA, 1)
        kept = {key: int(count) for key, count in counts.items() if strategy.should_keep(int(count))}
        return dict(zip(kept, noisy(list(kept.values()), e / 2), strict=True))

    return {
        "count": lambda e: laplacian.Count(epsilon=e, dtype="int64").quick_result(df["age"].tolist()),
        "sum": lambda e: bounded("BoundedSum", df["income"], e, MONEY),
        "mean float": lambda e: bounded("BoundedMean", df["income"], e, MONEY),
        "mean int": lambda e: bounded("BoundedMean", df["age"], e, YEARS),
        "variance": lambda e: bounded("BoundedVariance", df["income"], e, MONEY),
        "histogram of keys": lambda e: noisy(df["state"].value_counts().reindex(STATES, fill_value=0).tolist(), e),
        "histogram of bins": lambda e: noisy(np.histogram(df["age"].to_numpy(), bins=EDGES)[0].tolist(), e),
        "median": lambda e: bounded("Percentile", df["income"], e, MONEY, percentile=0.5),
        "five quantiles": quantiles,
        "grouped mean": means,
        "unknown keys": unknown,
    }


LIBRARIES = {f.__name__: f for f in (pandas_dp, diffprivlib, opendp, privjail, pydp)}


def plain(df: pd.DataFrame) -> dict[str, Callable[[], object]]:
    """Pandas' answers: the true ones, and the yardstick of time in the same process."""
    bounded = lambda: df[df.groupby("uid").cumcount().to_numpy() < UNIT_ROWS]  # noqa: E731
    return {
        "count": lambda: df["age"].count(),
        "sum": lambda: df["income"].sum(),
        "mean float": lambda: df["income"].mean(),
        "mean int": lambda: df["age"].mean(),
        "variance": lambda: df["income"].var(),
        "histogram of keys": lambda: df["state"].value_counts().reindex(STATES, fill_value=0).to_numpy(),
        "histogram of bins": lambda: np.histogram(df["age"].to_numpy(), bins=EDGES)[0],
        "median": lambda: df["income"].median(),
        "five quantiles": lambda: df["income"].quantile(QS).to_numpy(),
        "most common key": lambda: df["state"].value_counts().index[0],
        "grouped mean": lambda: df.groupby("state")["income"].mean().reindex(STATES).to_numpy(),
        "unknown keys": lambda: df["state"].value_counts().to_dict(),
        "unit count": lambda: len(bounded()),
        "unit mean": lambda: bounded()["income"].mean(),
    }


def miss(name: str, answer: object, true: object, df: pd.DataFrame) -> float:
    """How far one answer is off: rows for counts, ranks for quantiles, a part of the truth for sums, means, variances."""
    if name == "most common key":
        return float(answer != true)
    if name == "unknown keys":  # a key that is left out counts as none
        return float(np.sqrt(np.mean([(float(answer.get(key, 0)) - count) ** 2 for key, count in true.items()])))
    if name in ("median", "five quantiles"):
        values, q = np.sort(df["income"].to_numpy()), [0.5] if name == "median" else QS
        return float(np.mean(np.abs(np.searchsorted(values, np.atleast_1d(answer).astype(float)) / values.size - q)))
    off = np.atleast_1d(answer).astype(float)
    if name == "grouped mean":
        off = np.nan_to_num(np.clip(off, *MONEY))  # the bounds are public
        return float(np.median(np.abs(off - true) / true))
    off = off - true
    if name in ("count", "unit count") or name.startswith("histogram"):
        return float(np.sqrt(np.mean(off**2)))
    return float(np.abs(off[0]) / abs(true))


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def times(answers: Answers, truths: dict[str, Callable[[], object]], seconds: float) -> dict[str, dict[str, float]]:
    """Least CPU seconds of each answer and of pandas' in turns, and those of the first answer."""
    found = {}
    for name, answer in answers.items():
        first = cpu(lambda answer=answer: answer(1.0))
        truths[name]()
        took, start = [], time.perf_counter()
        while len(took) < 3 or (time.perf_counter() - start < seconds and len(took) < 50):
            took.append((cpu(lambda answer=answer: answer(1.0)), cpu(truths[name])))
        ours, plain_one = (min(column) for column in zip(*took, strict=True))
        found[name] = {"cpu": ours, "plain": plain_one, "first": first}
    return found


def errors(
    answers: Answers, truths: dict[str, Callable[[], object]], df: pd.DataFrame, seconds: float
) -> dict[str, dict[str, float]]:
    """Mean error of up to 200 answers at epsilon 1 (root of the mean square for counts)."""
    found = {}
    for name, answer in answers.items():
        true, off, start = truths[name](), [], time.perf_counter()
        while len(off) < 10 or (len(off) < 200 and time.perf_counter() - start < seconds):
            off.append(miss(name, answer(1.0), true, df))
        squared = "count" in name or name.startswith(("histogram", "unknown"))
        found[name] = {
            "error": float(np.sqrt(np.mean(np.square(off))) if squared else np.mean(off)),
            "trials": len(off),
        }
    return found


def main() -> None:
    """Measure one library and print it."""
    library, rows, mode, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    warnings.simplefilter("ignore")
    df = make(rows)
    importlib.import_module(MODULES.get(library, library))  # not part of the set-up
    start = time.process_time()
    answers = LIBRARIES[library](df)
    prepared = time.process_time() - start
    truths = plain(df)
    found = times(answers, truths, seconds) if mode == "time" else errors(answers, truths, df, seconds)
    try:
        version = importlib.metadata.version(PACKAGES.get(library, library))
    except importlib.metadata.PackageNotFoundError:
        version = "checkout"
    print(json.dumps({"library": library, "version": version, "pandas": pd.__version__, "rows": rows,
        "prepared": prepared, "found": found}))  # fmt: skip


if __name__ == "__main__":
    main()
