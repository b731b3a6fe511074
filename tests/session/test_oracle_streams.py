"""Oracles through the public call: what they answer, what they say about it, what they refuse."""

from __future__ import annotations

import importlib.util
import json
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.frames import people, protected, refused

from pandas_dp import ArgumentTypeError, ArgumentValueError, NoSessionError, StreamClosedError
from pandas_dp.aggregates.oracles import Weights
from pandas_dp.datasets import load_adult

SURE = 10**4
DOMAIN = {"age": [0, 30, 60, 100], "sex": ["f", "m"]}


def kind(answer):
    return answer.notes[0].split(":")[0]


def test_answers_at_a_high_price():
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).oracle("pmw", domain=DOMAIN, updates=3)
    assert stream.left == "3 of 3 corrections"
    first = stream.ask("age >= 30 and sex == 'f'")
    assert (first, kind(first), first.mechanism) == (4, "hard", "discrete Laplace")
    assert stream.left == "2 of 3 corrections"
    again = stream.ask("sex == 'f' and age >= 30")
    assert abs(again - 4) <= 1
    assert (kind(again), again.mechanism) == ("easy", "multiplicative weights")
    assert stream.left == "2 of 3 corrections"
    assert (stream.ask("age < 30"), stream.ask("age < 60 and sex == 'm'")) == (3, 3)
    assert stream.left == "0 of 3 corrections: unverified guesses"
    assert stream.ask("age >= 30 and sex == 'f'") == 4  # bought before
    guess = stream.ask("sex == 'f'")
    assert kind(guess) == "unverified"
    assert guess.interval() is None


def test_an_answer_is_a_release_at_no_further_price():
    df = protected(epsilon=2, neighbors="replace_one", rows=True)
    stream = df.dp(epsilon=1).oracle("pmw", domain=DOMAIN, updates=2)
    answer = stream.ask("age < 30")
    assert df.dp.session.spent == "epsilon=1"
    assert (answer.spent, answer.epsilon, answer.lineage) == ("nothing", 0.0, "source")
    assert answer.query.call == "oracle('pmw', domain of 6 cells).ask('age < 30')"
    assert json.loads(answer.to_json())["value"] == answer.value
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert answer.interval().lower <= answer <= answer.interval().upper
    (entry,) = df.dp.session.releases.query("kind == 'query'").itertuples()
    assert (entry.query, entry.price) == ("oracle('pmw', domain of 6 cells)", "epsilon=1")


def test_only_missing_facts_are_bought():
    """The number of rows: public, given, or a look at the opening."""
    looks = {}
    for name, terms, given in (
        ("public", {"neighbors": "replace_one", "rows": True}, {}),
        ("given", {}, {"rows": 8}),
        ("bought", {}, {}),
    ):
        df = protected(epsilon=10, **terms)
        stream = df.dp(epsilon=1).oracle("pmw", domain=DOMAIN, **given)
        looks[name] = len(stream._inner._run.transcript)
    assert looks == {"public": 0, "given": 0, "bought": 1}
    df = protected(epsilon=10, neighbors="replace_one", rows=True)
    assert len(df.dp(epsilon=1).query("age > 3").oracle("pmw", domain=DOMAIN)._inner._run.transcript) == 1


def test_rows_outside_the_domain_count_nowhere_in_it():
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).oracle("pmw", domain={"pay": [0.0, 600.0, 800.0], "sex": ["f"]}, updates=6)
    assert stream.ask("pay < 600") == 2
    assert abs(stream.ask("sex == 'f' or sex == 'm'") - 8) <= 1
    assert abs(stream.ask("pay < 600") - 2) <= 1


def test_median_over_public_tables():
    df = protected(epsilon=10**6)
    others = [people().assign(age=people().age + shift) for shift in (-20, -10, 10, 20, 300)] + [people().head(4)]
    stream = df.dp(epsilon=SURE).oracle("median", candidates=others)
    assert stream.left == "3 of 3 corrections"
    for condition in ("age > 40", "age > 30", "sex == 'f'", "age > 20 and sex == 'm'"):
        assert abs(stream.ask(condition) - len(people().query(condition))) <= 1
    others[0]["age"] = 0  # what the caller does to a table later does not reach the stream
    assert stream._aggregate.candidates[0].age.tolist() == (people().age - 20).tolist()


@pytest.mark.parametrize("epsilon", [1e-6, 1, 30, 900])
def test_until_all_corrections_are_used_up_in_a_session_with_delta(epsilon, monkeypatch):
    """The looks of one stream never cost more than its charge, in any currency of the budget."""
    df = protected(epsilon=10**5, delta=1e-6, unit="pid", max_rows=3)
    stream = df.dp(epsilon=epsilon).oracle("pmw", domain=DOMAIN, updates=4)
    monkeypatch.setattr(Weights, "share", lambda self, asked: 1e15)  # never near, never learns
    assert [kind(stream.ask(f"age >= 30 and age > {n}")) for n in range(5)] == ["hard"] * 4 + ["unverified"]
    run = stream._inner._run
    assert run.spent.epsilon <= run.request.loss.epsilon == Fraction(str(epsilon))
    declared, spent = (run.request.rule.charge(loss) for loss in (run.request.loss, run.spent))
    assert spent.renyi <= declared.renyi


def test_interleaved_and_closed():
    df = protected(epsilon=10**6)
    one = df.dp(epsilon=SURE).oracle("pmw", domain=DOMAIN)
    two = df.dp(epsilon=SURE).above_threshold(3)
    assert one.ask("age < 30") == 3
    assert two.ask("age < 30") is True
    assert df.dp(epsilon=SURE).count() == 8
    assert abs(one.ask("age < 30") - 3) <= 1
    one.close()
    with pytest.raises(StreamClosedError):
        one.ask("age < 30")
    three = df.dp(epsilon=SURE).oracle("pmw", domain=DOMAIN)
    df.dp.session.close()
    with pytest.raises(NoSessionError):
        three.ask("age < 30")


# ------------------------------------------------------------------------------------------------------- arguments
def big(count):
    return [f"k{i}" for i in range(count)]


@pytest.mark.parametrize(
    ("given", "error", "line"),
    [
        ({"method": "mwem"}, ArgumentValueError, "'pmw' or 'median'"),
        ({"method": None}, ArgumentValueError, "'pmw' or 'median'"),
        ({}, ArgumentTypeError, r"oracle\(domain="),
        ({"domain": {}}, ArgumentTypeError, r"oracle\(domain="),
        ({"domain": ["age"]}, ArgumentTypeError, r"oracle\(domain="),
        ({"domain": {"nobody": [1, 2]}}, ArgumentValueError, "no column named 'nobody'"),
        ({"domain": {"age": 10}}, ArgumentTypeError, "must have a list"),
        ({"domain": {"age": [30]}}, ArgumentValueError, "at least two edges"),
        ({"domain": {"age": [30, 20]}}, ArgumentValueError, "ascending"),
        ({"domain": {"sex": []}}, ArgumentValueError, "must not be empty"),
        ({"domain": {"sex": ["f", "f"]}}, ArgumentValueError, "twice"),
        ({"domain": {"sex": ["f", 3]}}, ArgumentTypeError, "text"),
        ({"domain": {"when": ["2013-01-01", "2014-01-01"]}}, ArgumentTypeError, "dates"),
        ({"domain": {"sex": big(1000), "city": big(1001)}}, ArgumentValueError, "1,000,000"),
        ({"domain": {"age": range(1_000_002)}}, ArgumentValueError, "1,000,000"),
        ({"domain": DOMAIN, "updates": 0}, ArgumentValueError, "updates"),
        ({"domain": DOMAIN, "rows": -1}, ArgumentValueError, "rows"),
        ({"domain": DOMAIN, "rows": 8.5}, ArgumentTypeError, "rows"),
        ({"domain": DOMAIN, "candidates": [people()]}, ArgumentTypeError, "method='median'"),
        ({"method": "median"}, ArgumentTypeError, "list of public tables"),
        ({"method": "median", "candidates": []}, ArgumentValueError, "at least one"),
        ({"method": "median", "candidates": people()}, ArgumentTypeError, "list of public tables"),
        ({"method": "median", "candidates": [3]}, ArgumentTypeError, "DataFrame"),
        ({"method": "median", "candidates": [people().head(0)]}, ArgumentValueError, "rows"),
        ({"method": "median", "candidates": [people()], "domain": DOMAIN}, ArgumentTypeError, "method='pmw'"),
    ],
)
def test_refused_at_the_opening(given, error, line, monkeypatch):
    df = protected(epsilon=3)
    with refused(monkeypatch, df, error, match=line):
        df.dp(epsilon=1).oracle(**given)


@pytest.mark.parametrize("price", [{"epsilon": 1, "delta": 1e-7}, {"rho": 0.1}, {"within": 5}])
def test_a_stream_takes_a_plain_epsilon(price, monkeypatch):
    df = protected(epsilon=3, delta=1e-6)
    with refused(monkeypatch, df, ArgumentTypeError, match=r"df.dp\(epsilon=(1|0.45)\).oracle\("):
        df.dp(**price).oracle("pmw", domain=DOMAIN)


@pytest.mark.parametrize(
    ("condition", "line"), [("age > 30", "splits a bin"), ("pay > 3", "not a column of the domain"), ("age +", "read")]
)
def test_refused_questions_cost_nothing(condition, line, monkeypatch):
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).oracle("pmw", domain=DOMAIN)
    left = stream.left
    with refused(monkeypatch, df, ArgumentValueError, match=line):
        stream.ask(condition)
    assert stream.left == left
    assert kind(stream.ask("age >= 30")) in ("easy", "hard")


def test_a_candidate_without_the_column():
    df = protected(epsilon=3)
    stream = df.dp(epsilon=1).oracle("median", candidates=[people()[["age"]]])
    with pytest.raises(ArgumentValueError, match="a candidate does not fit"):
        stream.ask("sex == 'f'")
    assert kind(stream.ask("age > 30")) in ("easy", "hard")


# --------------------------------------------------------------------------------------------------------- accuracy
@pytest.mark.slow
def test_many_counts_of_census_data_for_one_price():
    """200 counts at epsilon 0.1: what was tested lies within its interval, and the mean error is below two thirds of that
    of 200 single counts at epsilon / 200 each, which is 2,000. It was 670 to 920 in several runs."""
    adult = load_adult()
    df = protected(adult, epsilon=1)
    domain = {"age": [*range(15, 95, 10), 200], "sex": ["Female", "Male"], "hours_per_week": [0, 20, 40, 60, 200]}
    stream = df.dp(epsilon=0.1).oracle("pmw", domain=domain)
    rng, errors, outside = np.random.default_rng(), [], 0
    for _ in range(200):
        low, high = sorted(rng.choice(domain["age"][:-1], 2, replace=False).tolist())
        condition = f"age >= {low} and age < {high} and hours_per_week >= {rng.choice([20, 40, 60])}"
        if rng.random() < 0.5:
            condition += f" and sex == '{rng.choice(domain['sex'])}'"
        answer, true = stream.ask(condition), len(adult.query(condition))
        errors.append(abs(answer.value - true))
        known = answer.interval(1 - 1e-9)
        outside += known is not None and not known.lower <= true <= known.upper
    assert np.mean(errors) < 1333
    assert outside == 0


def benchmark():
    """The module of benchmarks/streams.py: its queries are the ones of the README."""
    path = Path(__file__).parent.parent.parent / "benchmarks" / "streams.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_streams", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def worst(module, df, queries, true):
    """Largest error of an oracle at epsilon 1, and of as many single counts at the same total."""
    stream = df.dp(epsilon=1).oracle("pmw", domain=module.DOMAIN)
    paid = int(stream.left.split()[0])
    oracle, kinds = module.stream(stream, queries, true)
    assert 0 < kinds.count("hard") <= paid
    return max(oracle), max(module.single_counts(df, len(queries), epsilon=1.0))


@pytest.mark.slow
def test_500_correlated_counts_at_epsilon_1():
    """The largest error is below that of 500 single counts at epsilon / 500, in the median of three.

    In 400 simulated streams it was 1,320 in the median, 2,020 at the 99th percentile and 2,300 at most. The largest of 500
    Laplace errors of scale 500 is 3,290 in the median and below 2,340 with probability 0.01. From both laws, the medians of
    three are the other way round with probability 1e-8.
    """
    module = benchmark()
    queries, df = module.workload(500), protected(module.census(), epsilon=100)
    true = [len(df.query(query)) for query in queries]
    assert len(set(queries)) == 500
    pairs = [worst(module, df, queries, true) for _ in range(3)]
    oracle, single = np.median(pairs, axis=0)
    assert oracle < single


@pytest.mark.slow
def test_an_oracle_that_learns_nothing_loses(monkeypatch):
    """The broken twin of the test above: then the corrections are used up early, and equal weights miss by 20,000."""
    module = benchmark()
    queries, df = module.workload(300), protected(module.census(), epsilon=100)
    true = [len(df.query(query)) for query in queries]
    monkeypatch.setattr(Weights, "learn", lambda self, asked, share: None)
    oracle, single = worst(module, df, queries, true)
    assert oracle > single


def test_the_number_of_hard_questions_is_shown():
    """One correction less in `.left` for each answer whose note says hard, and for no other."""
    df = protected(epsilon=10)
    stream = df.dp(epsilon=2).oracle("pmw", domain=DOMAIN, updates=2)
    hard = 0
    for condition in ("age < 30", "sex == 'f'", "age >= 60", "age >= 30 and sex == 'f'"):
        answer = stream.ask(condition)
        hard += kind(answer) == "hard"
        assert kind(answer) in ("easy", "hard", "unverified")
        assert stream.left.startswith(f"{2 - hard} of 2 corrections")
        assert f"left {stream.left}" in repr(stream)


def test_frames_of_candidates_may_differ_in_dtype():
    df = protected(epsilon=10**6)
    stream = df.dp(epsilon=SURE).oracle(
        "median", candidates=[people().astype({"age": "float32"}), pd.DataFrame(people())]
    )
    assert abs(stream.ask("age > 30") - 5) <= 1
