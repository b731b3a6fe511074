"""histogram(workload=[...]): each query is answered, with the error that a preview says, and refused by its arguments."""

from __future__ import annotations

import ast
import re

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused, watching

from pandas_dp import PandasDPError
from pandas_dp.aggregates import workloads

EDGES = [0, 20, 40, 60, 100]
SURE = 10**5


def known(**terms):
    return protected(epsilon=10**6, **terms)


ASKED = {
    "ranges": ([(0, 40), [20, 100], (0, 100)], ["[0, 40)", "[20, 100)", "[0, 100)"], [5, 5, 8]),
    "open ends": ([(None, 40), (40, None)], ["[0, 40)", "[40, 100)"], [5, 3]),
    "predicates": ([lambda b: b.left >= 40, lambda b: b.right <= 20], ["query 1", "query 2"], [3, 3]),
    "weights": ([[1, 0, -1, 0.5], [0, 0, 0, 2]], ["query 1", "query 2"], [3, 4]),
    "matrix": (np.array([[1, 1, 1, 1], [0, 1, 0, 0]]), ["query 1", "query 2"], [8, 2]),
    "names": ({"young": (0, 20), "old": lambda b: b.left >= 60}, ["young", "old"], [3, 2]),
    "nothing": ([(0, 20), lambda b: False], ["[0, 20)", "query 2"], [3, 0]),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("delta", [0, 1e-6], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("name", ASKED)
def test_answers_of_bins(name, delta, relation):
    workload, labels, counts = ASKED[name]
    df = known(neighbors=relation, **({"delta": 1e-5} if delta else {}))
    answer = df.dp(epsilon=SURE, delta=delta).histogram("age", bins=EDGES, workload=workload)
    assert answer.index.tolist() == labels
    assert answer.tolist() == pytest.approx(counts, abs=0.2)
    found = answer.interval(0.95)
    assert (found.lower <= answer.value).all()
    assert (answer.value <= found.upper).all()


def test_answers_of_keys_and_of_one_column():
    df = known()
    asked = {"first": ["x", "y"], "z twice": [0, 0, 2], "not y": lambda key: key != "y"}
    answer = df.dp(epsilon=SURE)["city"].histogram(keys=["x", "y", "z"], workload=asked)
    assert answer.to_dict() == pytest.approx({"first": 6, "z twice": 4, "not y": 6}, abs=0.05)


def test_answers_of_dates():
    edges = pd.date_range("2013-01-01", periods=4, freq="MS")
    answer = (
        known().dp(epsilon=SURE).histogram("when", bins=edges, workload=[("2013-01-01", edges[2]), (edges[1], None)])
    )
    assert answer.tolist() == pytest.approx([8, 1], abs=0.05)


def test_answers_fit_one_table():
    """Sums of answers are the answer of their sum: all are made of one estimate."""
    df = protected(epsilon=100)
    answer = df.dp(epsilon=0.5).histogram("age", bins=EDGES, workload=[(0, 40), (40, 100), (0, 100)])
    assert answer.iloc[0] + answer.iloc[1] == pytest.approx(answer.iloc[2], abs=1e-6)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 0.1}])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_a_preview_says_the_error_before_and_after_and_reads_nothing(monkeypatch, price, relation):
    df = protected(epsilon=100, delta=1e-6, neighbors=relation)
    ranges = [(i, j) for i in range(32) for j in range(i + 1, 33)]
    with watching(monkeypatch) as watch:
        ahead = df.dp.preview(**price).histogram("age", bins=range(33), workload=ranges)
    assert watch.opened == 0
    told = next(note for note in ahead.notes if note.startswith("all queries: standard deviation"))
    after, before = map(float, re.findall(r"([0-9.]+) rows", told))
    assert after <= before
    answer = df.dp(**price).histogram("age", bins=range(33), workload=ranges)
    half = answer.interval(0.95).upper - answer.value
    assert half.max() == pytest.approx(ahead.half_width)


def test_the_smallest_price_for_an_error():
    answer = known().dp(within=5).histogram("age", bins=range(0, 101, 5), workload=[(0, 50), (25, 100)])
    assert (answer.interval(0.95).upper - answer.value).max() == pytest.approx(5, rel=6e-3)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_it_is_stored_and_read_again_by_the_strategy_that_drew_it(delta):
    ranges = [(i, j) for i in range(16) for j in range(i + 1, 17)]
    df = protected(epsilon=100, delta=1e-5)

    def ask(workload):
        return df.dp(epsilon=1, delta=delta).histogram("age", bins=range(17), workload=workload)

    first, spent = ask(ranges), df.dp.session.spent
    again = ask(ranges)
    assert again.value.equals(first.value)
    assert df.dp.session.spent == spent
    ask(ranges[:-1])
    assert df.dp.session.spent != spent


def test_an_answer_of_another_strategy_is_not_read_again(monkeypatch):
    """Another machine may find other weights: what was drawn by these is then no answer, and is bought anew."""
    df, ranges = protected(epsilon=100, delta=1e-5), [(i, j) for i in range(8) for j in range(i + 1, 9)]

    def ask():
        return df.dp(rho=0.1).histogram("age", bins=range(9), workload=ranges)

    ask()
    left = df.dp.session.left
    workloads.least.cache_clear()
    monkeypatch.setattr(workloads, "WHOLE", 1 << 11)
    ask()
    assert df.dp.session.left != left
    workloads.least.cache_clear()


def test_what_the_books_say():
    df = protected(epsilon=100)
    df.dp(epsilon=1).histogram("age", bins=EDGES, workload={"a": (0, 40), "b": lambda b: True})
    df.dp(epsilon=1).histogram("age", bins=range(101), workload=[(i, i + 1) for i in range(100)])
    said = df.dp.session.releases["query"].tolist()
    assert "workload={'a': [0, 40], 'b': 'function'}" in said[-2]
    assert "workload=[... 100 values]" in said[-1]


LINE = r"workload=\[\(0, 20\), \(0, 100\)\]"
REFUSED = {
    "a word": ("all", ValueError, "'bins', 'ranges' or a list of queries"),
    "none": (None, TypeError, LINE),
    "empty": ([], ValueError, LINE),
    "no edge": ([(1, 2)], ValueError, "query 1 of the workload must be a pair of bin edges"),
    "turned round": ([(0, 20), (40, 0)], ValueError, "query 2 of the workload must be a pair of bin edges"),
    "a bool": ([(False, 20)], ValueError, "must be a pair of bin edges"),
    "a number": ([5], TypeError, "no pair of edges"),
    "text": (["ab"], TypeError, "no pair of edges"),
    "too few weights": ([[1, 2, 3]], ValueError, "a weight for each of the 4 bins or keys"),
    "weight of nan": ([[1, 2, 3, np.nan]], ValueError, LINE),
    "weight of text": ([[1, 2, 3, "4"]], TypeError, LINE),
    "no truth": ([lambda b: 1], TypeError, "must return True or False"),
    "about nothing": ([lambda b: False], ValueError, "about no bin or key"),
    "names that are none": ({1: (0, 20)}, TypeError, "names of queries are text"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(monkeypatch, name):
    workload, error, text = REFUSED[name]
    df = protected()
    with refused(monkeypatch, df, error, text):
        df.dp(epsilon=1).histogram("age", bins=EDGES, workload=workload)


@pytest.mark.parametrize(
    "given",
    [
        {"column": "age", "bins": EDGES},
        {"column": "age", "bins": [0, 100]},
        {"column": "when", "bins": pd.date_range("2013-01-01", periods=4, freq="MS")},
        {"column": "wait", "bins": pd.to_timedelta([0, 1, 5], unit="h")},
        {"column": "city", "keys": ["x", "y"]},
        {"column": "city", "keys": ["x"]},
        {"column": "age", "keys": [1, 2]},
    ],
    ids=["numbers", "one bin", "dates", "durations", "keys", "one key", "numbers as keys"],
)
def test_the_line_of_a_refusal_is_answered_for_these_bins_and_keys(given):
    frame = people().assign(wait=pd.to_timedelta(1, unit="h"))
    df = protected(frame, epsilon=100)
    asked = df.dp(epsilon=1)
    for odd in ([5], [], [[1.5] * 9], [["no such key"]], "word", {1: 2}):
        with pytest.raises(PandasDPError) as caught:
            asked.histogram(**given, workload=odd)
        line = re.search(r"workload=(.*?)\)?$", str(caught.value))
        assert line, str(caught.value)
        assert len(asked.histogram(**given, workload=ast.literal_eval(line[1]))) > 0


def test_refused_beside_other_arguments(monkeypatch):
    df = protected()
    with refused(monkeypatch, df, ValueError, "leave other= and null= out"):
        df.dp(epsilon=1).histogram("age", bins=EDGES, workload=[(0, 20)], other=True)
    with refused(monkeypatch, df, ValueError, "at most 512 bins or keys"):
        df.dp(epsilon=1).histogram("age", bins=range(600), workload=[(0, 20)])
    with refused(monkeypatch, df, ValueError, "must be a list of listed keys"):
        df.dp(epsilon=1).histogram("city", keys=["x", "y"], workload=[["x", "q"]])
    with refused(monkeypatch, df, TypeError, "protected table or column"):
        df.dp(epsilon=1).histogram("age", bins=EDGES, workload=[lambda b: b.left > df["age"].max()])
    with refused(monkeypatch, df, TypeError, "."):
        df.dp(epsilon=1).histogram("age", bins=EDGES, workload=people()["age"])
