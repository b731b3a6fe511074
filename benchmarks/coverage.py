"""Whether what is printed of errors holds and is narrow: the acceptance table of intervals, as simulations of the noise.

Rows are fixed and the noise is fresh: recipes are handed exact integers and draw as they do at the gate. "% miss" is the share
of printed intervals that do not hold the exact answer, of which 5.5 % may miss; "width" is half the median width over the 95 %
quantile of the errors. Limits of shares, in the column "floor", are three standard errors of so many draws above the wanted
figures, so what is met certifies no more than that; those of widths are the wanted figures. A width beyond its own, a caution
and an empty group are drawn again ten times as often where they miss. A line is "small" where its limit is meant for other
sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.made_tables import protect
from benchmarks.rows import Row
from pandas_dp.aggregates.base import Answer, Caution, Terms
from pandas_dp.aggregates.uncertainty import LEVEL, Ratio, Spread
from pandas_dp.core.measurement import computed
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import Price
from pandas_dp.datasets import load_adult
from pandas_dp.engines.pandas import PandasView

ADD, REPLACE = {}, {"neighbors": "replace_one", "rows": True}
FULL = REPLACE | {"schema": {"x": {"nulls": 50}}}  # a constant for missing values, so that every row holds one
LAWS = {"add_remove": ADD, "replace_one": REPLACE, "public n": FULL}
DELTA = Fraction(1, 10**6)
MISSES = 0.055  # in all of 95 %: what the test of the package accepts
Ask = Callable[[Any], Any]
Wanted = Callable[[str], bool]


class Seen(NamedTuple):
    """What was printed, draw by draw: missing values where nothing was."""

    value: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    answers: list[Answer]

    @property
    def shown(self) -> np.ndarray:
        """Where a value is printed."""
        return ~np.isnan(self.value)


class Asked(NamedTuple):
    """A recipe with its public facts."""

    aggregate: Any
    terms: Terms
    frame: pd.DataFrame

    def at(self, epsilon: float, gaussian: bool = False) -> Asked:
        """The same at another price."""
        price = Price(Fraction(str(epsilon)), DELTA if gaussian else Fraction(0))
        return self._replace(terms=replace(self.terms, price=price, pure=not gaussian))

    def answers(self, draws: int) -> Iterator[Answer]:
        """Fresh answers about the same rows, whose exact integers are computed once."""
        view, known = PandasView(self.frame, {}), {}
        for _ in range(draws):
            steps, sent = self.aggregate.steps(self.terms), None
            while True:
                try:
                    look = steps.send(sent)
                except StopIteration as done:
                    yield done.value
                    break
                if look.statistic not in known:
                    known[look.statistic] = computed(look.statistic, view, self.terms.unit)
                sent = look.mechanism.draw(known[look.statistic], view.fill)

    def seen(self, draws: int) -> Seen:
        """What they print; the ends of means and variances at once."""
        answers = list(self.answers(draws))
        values = np.array([float(answer.value) for answer in answers])
        errors = [answer.error for answer in answers]
        if all(isinstance(error, Ratio | Spread) for error in errors) and len({error.lattice for error in errors}) == 1:
            of_all = replace(errors[0], features=tuple(error.features[0] for error in errors), scalar=False)
            ends = [end.to_numpy(dtype=float) for end in of_all.bounds(pd.Series(values), LEVEL)]
        else:
            pairs = [
                (math.nan,) * 2 if e is None else e.bounds(a.value, LEVEL) for e, a in zip(errors, answers, strict=True)
            ]
            ends = list(np.array(pairs, dtype=float).T)
        return Seen(values, *ends, answers)


def asked(frame: pd.DataFrame, ask: Ask, terms: dict[str, Any]) -> Asked:
    """The recipe of a question as its session hands it over."""
    budget = {} if "rows" in terms else {"delta": 0.01}
    release = ask(protect(frame.copy(), **terms, **budget).dp(epsilon=1))
    rows = len(frame) if "rows" in terms else None
    return Asked(release.query.aggregate, Terms(release.unit, release.query.price, True, rows, rows is not None), frame)


def misses(seen: Seen, truth: float) -> tuple[float, int]:
    """Share of printed intervals that do not hold it, in per cent, and how many are printed."""
    shown, slack = seen.shown, 1e-12 * max(1.0, abs(truth))
    outside = (seen.lower[shown] > truth + slack) | (seen.upper[shown] < truth - slack)
    return 100 * float(outside.mean()) if shown.any() else 0.0, int(shown.sum())


def limit(draws: int, share: float = MISSES) -> float:
    """Three standard errors above a share, in per cent."""
    return round(100 * (share + 3 * math.sqrt(share * (1 - share) / max(draws, 1))), 2)


def often(share: Callable[[int], float], draws: int, most: float) -> tuple[float, float]:
    """A share of draws, in per cent, and its limit; beyond it, by chance perhaps, those of ten times as many draws."""
    found = share(draws)
    return (found, limit(draws, most)) if found <= limit(draws, most) else (share(10 * draws), limit(10 * draws, most))


def row(
    name: str, size: int, value: float, unit: str, of: str, floor: float | None, judged: bool = True, **more: Any
) -> Row:
    """A line of the part."""
    return Row("coverage", name, "", size, value, unit, of, floor, judged, more)


def measure(wanted: Wanted, quick: bool) -> Iterator[Row]:
    """All rows of the part."""
    draws = 400 if quick else 4000
    for lines in (
        means,
        spreads,
        equal_values,
        whole,
        empty,
        counts,
        public_rows,
        cautions,
        quantiles,
        ends,
        private_bounds,
    ):
        yield from lines(wanted, draws)


# ------------------------------------------------------------------------------------------------------------ means, spreads
def ages(rows: int) -> pd.DataFrame:
    """Ages of the census, drawn again where there are more rows."""
    people = load_adult()["age"].astype(float)
    return pd.DataFrame({"x": people.sample(rows, replace=rows > len(people), random_state=1).to_numpy()})


def settings(draws: int) -> Iterator[tuple[int, float]]:
    """Rows and prices."""
    few = draws < 4000
    for rows in (500,) if few else (30, 500, 5000, 10**6):
        for epsilon in (1,) if few else (0.5, 1, 3) if rows < 5000 else (0.05, 1, 3):
            yield rows, epsilon


def means(wanted: Wanted, draws: int) -> Iterator[Row]:
    """Of ages between 0 and 100."""
    yield from of_moments("mean", lambda d: d.mean("x", bounds=(0, 100)), pd.Series.mean, wanted, draws, 1.10)


def spreads(wanted: Wanted, draws: int) -> Iterator[Row]:
    """Variances and standard deviations of the same."""
    yield from of_moments("var", lambda d: d.var("x", bounds=(0, 100)), pd.Series.var, wanted, draws, 1.12)
    yield from of_moments("std", lambda d: d.std("x", bounds=(0, 100)), pd.Series.std, wanted, draws, 1.15)


def of_moments(
    name: str, ask: Ask, true: Callable[[Any], float], wanted: Wanted, draws: int, widest: float
) -> Iterator[Row]:
    """Two lines for each setting, relation and noise; the width is meant where the error is small beside what it is about."""
    for rows, epsilon in settings(draws):
        frame = ages(rows)
        truth = float(true(frame["x"]))
        most = 5 if name == "mean" else truth / (2 if name == "var" else 3)
        for relation, terms in LAWS.items():
            for noise in ("", ", Gaussian"):
                line = f"{name}, n={rows}, eps={epsilon}, {relation}{noise}"
                if not wanted(line):
                    continue
                one = asked(frame, ask, terms).at(epsilon, bool(noise))
                seen = one.seen(draws)
                missed, shown = misses(seen, truth)
                yield row(line, rows, missed, "% miss", f"{shown} printed", limit(shown), shown > draws / 2)
                if shown:
                    width, error = width_and_error(seen, truth)
                    judged = error < most and shown > draws / 2
                    if judged and width > widest:  # by chance, which ten times as many draws tell
                        width, _ = width_and_error(one.seen(10 * draws), truth)
                    yield row(line, rows, width, "x", "width / 95 % error", widest, judged)


def width_and_error(seen: Seen, truth: float) -> tuple[float, float]:
    """Half the median width over the 95 % error of what is printed, and that error."""
    value, lower, upper = (x[seen.shown] for x in seen[:3])
    error = float(np.quantile(np.abs(value - truth), LEVEL))
    return float(np.median(upper - lower)) / 2 / error, error


def equal_values(wanted: Wanted, draws: int) -> Iterator[Row]:
    """Rounding to a lattice must not show beside the noise of millions of rows."""
    for rows in (10**5,) if draws < 4000 else (10**6, 10**7):
        line = f"mean of equal values, n={rows}, eps=3"
        if wanted(line):
            frame = pd.DataFrame({"x": np.full(rows, 0.4)})
            for what, ask in (
                ("mean", lambda d: d.mean("x", bounds=(0, 1))),
                ("std", lambda d: d.std("x", bounds=(0, 1))),
            ):
                missed, shown = misses(asked(frame, ask, ADD).at(3).seen(draws), 0.4 if what == "mean" else 0.0)
                yield row(line, rows, missed, "% miss", f"{what}, {shown} printed", limit(shown))


def whole(wanted: Wanted, draws: int) -> Iterator[Row]:
    """Of every mean and variance, near a bound too: never of zero width, around its value, within what is possible."""
    line = "any interval: zero wide, beside its value or the bounds"
    if wanted(line):
        wrong = total = 0
        for x in ([0.0] * 40, [0.0, 100.0] * 20, [100.0] * 400, [50.0] * 5000):
            for ask, most in (
                (lambda d: d.mean("x", bounds=(0, 100)), 100),
                (lambda d: d.var("x", bounds=(0, 100)), 5000),
            ):
                for terms in LAWS.values():
                    seen = asked(pd.DataFrame({"x": x}), ask, terms).at(1).seen(draws // 10)
                    value, lower, upper = (part[seen.shown] for part in seen[:3])
                    ok = (lower < upper) & (lower <= value) & (value <= upper) & (lower >= 0) & (upper <= most)
                    wrong, total = wrong + int((~ok).sum()), total + len(ok)
        yield row(line, total, wrong, "wrong", "of all printed", 0)


def empty(wanted: Wanted, draws: int) -> Iterator[Row]:
    """Groups without rows show nothing, those of two thresholds a number."""
    for name, ask in (("mean", lambda d: d.mean("x", bounds=(0, 100))), ("std", lambda d: d.std("x", bounds=(0, 100)))):
        line = f"empty: {name}"
        if wanted(line):
            rows = 21 if name == "mean" else 25  # two thresholds at this price
            some = asked(pd.DataFrame({"x": [50.0] * rows}), ask, ADD).at(0.5)
            none = some._replace(frame=pd.DataFrame({"x": np.zeros(0)}))
            shown, most = often(lambda n, one=none: 100 * one.seen(n).shown.mean(), draws, 0.01)
            yield row(line, 0, shown, "%", "show a number", most)
            hidden, most = often(lambda n, one=some: 100 - 100 * one.seen(n).shown.mean(), draws, 0.01)
            yield row(line, rows, hidden, "%", "of two thresholds show none", most)


def counts(wanted: Wanted, draws: int) -> Iterator[Row]:
    """By the exact law: steps by which the half-width exceeds the smallest one that holds."""
    for epsilon in (0.1, 0.5, 1, 3, 3.67, 5):
        line = f"count, eps={epsilon}"
        if wanted(line):
            p = math.exp(-epsilon)
            valid = next(t for t in range(10**4) if 2 * p ** (t + 1) / (1 + p) <= 1 - LEVEL)
            half = DiscreteLaplace(1 / Fraction(str(epsilon))).half_width(LEVEL)
            yield row(line, draws, abs(half - valid), "steps", "beside the smallest valid one", 0)


def public_rows(wanted: Wanted, draws: int) -> Iterator[Row]:
    """Under replace_one with a public number of rows: one sum for a mean, less noise for a variance."""
    frame = ages(1000)
    if wanted("public n: mean beside sum / n"):
        ours, sums = (
            np.array([float(answer.value) for answer in asked(frame, ask, FULL).answers(4 * draws)])
            for ask in (lambda d: d.mean("x", bounds=(0, 100)), lambda d: d.sum("x", bounds=(0, 100)))
        )
        ratio = root(ours - frame["x"].mean()) / root(sums / 1000 - frame["x"].mean())
        most = round(1.02 + 3 * math.sqrt(2.5 / len(ours)), 3)  # of Laplace noise
        yield row("public n: mean beside sum / n", 1000, ratio, "x", "root mean square error", most)
    if wanted("public n: var beside rotated"):
        spread = lambda d: d.var("x", bounds=(0, 100))  # noqa: E731
        one = asked(frame, spread, FULL)
        other = one._replace(aggregate=replace(one.aggregate, full=False))
        errors = [root(a.at(0.2).seen(draws).value - frame["x"].var()) for a in (one, other)]
        yield row("public n: var beside rotated", 1000, errors[0] / errors[1], "x", "root mean square error", 0.70)


def root(errors: np.ndarray) -> float:
    """Of their mean square."""
    return float(np.sqrt(np.nanmean(errors**2)))


def said(one: Asked, words: str, draws: int) -> float:
    """Share of answers with a caution that holds these words, in per cent."""
    told = [any(isinstance(note, Caution) and words in note for note in answer.notes) for answer in one.answers(draws)]
    return 100 * float(np.mean(told))


def missed(one: Asked, words: str, due: bool, draws: int) -> float:
    """Share of answers without a caution that is due, or with one that is not, in per cent."""
    return 100 - said(one, words, draws) if due else said(one, words, draws)


def cautions(wanted: Wanted, draws: int) -> Iterator[Row]:
    """False alarms on healthy data, and how often they are missing where they are due."""
    mean = lambda d: d.mean("x", bounds=(0, 100))  # noqa: E731
    cut = lambda d: d.mean("x", bounds="private")  # noqa: E731
    inside = np.random.default_rng(1).uniform(33, 63, 2000)
    for line, x, ask, words, most, due in (
        ("at a bound, mean at 1 %", np.full(5000, 1.0), mean, "within 1 %", 0.025, False),
        ("at a bound, 500 rows at it", np.zeros(500), mean, "within 1 %", 0.09, True),
        ("rows cut, none is", inside, cut, "rows were clipped: ", 0.05, False),
        ("rows cut, 8 are", np.append(inside, np.full(8, 1e4)), cut, "rows were clipped: ", 0.08, True),
    ):
        if wanted(f"caution: {line}"):
            one, what = asked(pd.DataFrame({"x": x}), ask, ADD).at(1), "is missing" if due else "false alarms"
            found, beyond = often(partial(missed, one, words, due), draws, most)
            yield row(f"caution: {line}", len(x), found, "%", what, beyond)


# ------------------------------------------------------------------------------------------------------------------ quantiles
def columns() -> dict[str, tuple[np.ndarray, tuple[float, float]]]:
    """Of 48,842 rows each, with bounds: ages, hours with many ties, incomes on 65,536 points, six in ten zeros."""
    rng, people = np.random.default_rng(2), load_adult()
    rows = len(people)
    income = np.minimum(rng.lognormal(10.5, 0.8, rows), 200_000)
    return {
        "age": (people["age"].to_numpy(), (0, 100)),
        "hours": (people["hours_per_week"].to_numpy(), (0, 100)),
        "income": (income, (0, 200_000)),
        "zeros": (np.where(rng.random(rows) < 0.6, 0, income), (0, 200_000)),
    }


def quantiles(wanted: Wanted, draws: int) -> Iterator[Row]:
    """With error bars: of each column and size the worst of six settings, and what the error bar costs."""
    few = draws < 4000
    for column, (x, bounds) in columns().items():
        for rows in (500,) if few else (500, 5000, 48_842):
            line = f"quantile: {column}, n={rows}"
            if wanted(line) and (not few or column == "age"):
                yield from of_quantiles(line, x[:rows], bounds, (1,) if few else (0.1, 0.5, 1), 60 if few else 500)


def of_quantiles(
    line: str, x: np.ndarray, bounds: tuple[float, float], epsilons: tuple[float, ...], draws: int
) -> Iterator[Row]:
    """Misses, error of the point beside that of the call without an error bar, and of incomes the width."""
    frame, worst, cost, step = pd.DataFrame({"x": x}), 0.0, 0.0, 1 if x.dtype.kind == "i" else bounds[1] / 2**16
    for q in (0.5, 0.9):
        truth = float(np.sort(x)[math.ceil(q * len(x)) - 1])
        bar, alone = (
            asked(frame, lambda d, q=q, b=b: d.quantile("x", q, bounds=bounds, error_bar=b), ADD) for b in (True, False)
        )
        for epsilon in epsilons:
            seen = bar.at(epsilon).seen(draws)
            worst = max(worst, misses(seen, truth)[0])
            if len(x) * epsilon >= 500:
                points = np.array([float(answer.value) for answer in alone.at(epsilon).answers(draws)])
                errors = [float(np.nanquantile(np.abs(v - truth), LEVEL)) + step for v in (seen.value, points)]
                cost = max(cost, errors[0] / errors[1])
            if (q, epsilon, step < 100 and len(x) >= 5000 and "income" in line) == (0.5, 0.5, True):
                yield row(line, len(x), width_beside_three(x, seen, epsilon), "x", "width / three draws'", 0.6)
    yield row(line, len(x), worst, "% miss", f"worst of {2 * len(epsilons)} settings", limit(draws))
    if cost:
        yield row(line, len(x), cost, "x", "error / that without a bar", 2.5)


def width_beside_three(x: np.ndarray, seen: Seen, epsilon: float) -> float:
    """Mean width beside that of three draws at a third of the price each, of the median and of ranks that are sure."""
    rank = (math.log(65_535) + math.log(2 / (1 - LEVEL))) / (epsilon / 3)  # beyond which a draw errs with 2.5 % at most
    upto, middle = np.sort(x), len(x) / 2
    three = upto[min(int(middle + 2 * rank), len(x) - 1)] - upto[max(int(middle - 2 * rank), 0)]
    return float(np.nanmean(seen.upper - seen.lower)) / three


def ends(wanted: Wanted, draws: int) -> Iterator[Row]:
    """Smallest and largest values: one side of the interval holds with 97.5 %."""
    people = load_adult()["age"].to_numpy()
    for name in ("min", "max"):
        for rows in (500,) if draws < 4000 else (500, 48_842):
            for epsilon in (1,) if draws < 4000 else (0.1, 1):
                line = f"{name}, n={rows}, eps={epsilon}"
                if wanted(line):
                    x = people[:rows]
                    ask = lambda d, name=name: getattr(d, name)("x", bounds=(0, 100), error_bar=True)  # noqa: E731
                    found = asked(pd.DataFrame({"x": x}), ask, ADD).at(epsilon).seen(draws // 8)
                    missed, shown = misses(found, float(getattr(x, name)()))
                    yield row(line, rows, missed, "% miss", f"{shown} printed", limit(shown, 0.03), shown > draws / 16)


def private_bounds(wanted: Wanted, draws: int) -> Iterator[Row]:
    """The mean of values cut to bounds that were found, and the most rows that may have been cut."""
    people, rng = load_adult(), np.random.default_rng(4)
    sizes = ((people["age"], 500, 1, "age"), (people["hours_per_week"], 5000, 0.2, "hours"),
             (pd.Series(rng.lognormal(10.5, 0.8, 5000)), 5000, 0.2, "lognormal"),
             (people["capital_gain"], 500, 1, "gain"))  # fmt: skip
    for x, rows, epsilon, name in sizes:
        line = f"private bounds: {name}, n={rows}, eps={epsilon}"
        if wanted(line):
            x = x.iloc[:rows].reset_index(drop=True)
            seen = (
                asked(pd.DataFrame({"x": x}), lambda d: d.mean("x", bounds="private"), ADD).at(epsilon).seen(draws // 4)
            )
            yield from of_found_bounds(line, x, seen)


def of_found_bounds(line: str, x: pd.Series[Any], seen: Seen) -> Iterator[Row]:
    """What each answer says: to what values were cut, and how many of them at most."""
    missed = over = unnamed = shown = 0
    for value, lower, upper, answer in zip(*seen, strict=True):
        if math.isnan(value):
            continue
        shown += 1
        named = (answer.found or "").removeprefix("of values clipped to [").removesuffix("]").split(", ")
        if len(named) != 2:
            unnamed += 1
            continue
        low, high = map(float, named)
        missed += not lower <= x.clip(low, high).mean() <= upper
        most = next(note for note in answer.notes if "rows were clipped" in note).split("at most ")[1].split(", 95")[0]
        over += int(((x < low) | (x >= high)).sum()) > int(most.replace(",", ""))
    yield row(line, len(x), 100 * missed / max(shown, 1), "% miss", f"{shown} printed", limit(shown))
    yield row(line, len(x), 100 * over / max(shown, 1), "% miss", "rows cut, at most", limit(shown))
    yield row(line, len(x), unnamed, "answers", "that do not name the cut", 0)
    if "age" in line:
        yield row(line, len(x), misses(seen, float(x.mean()))[0], "% miss", "mean of all values", limit(shown, 0.12))
