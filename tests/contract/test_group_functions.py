"""A function of the user's own on blocks of each group: what comes back, what it sees, what is refused for free."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.frames import protected, refused
from support.groups import BIG, KEYS, MONTHS, people, table

from pandas_dp import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.aggregates import sample_and_aggregate as module

TYPED = r"groupby\('sex', keys=\['f', 'm'\]\)\.sample_and_aggregate\(function=.*, bounds=\((lower, upper|0, 100)\)\)"
LINE = r"\.groupby\('sex', keys=\[\.\.\.\]\)\.sample_and_aggregate\(function, bounds=\(lower, upper\)\)"


def rows(block: pd.DataFrame) -> float:
    return float(len(block))


def age(block: pd.DataFrame) -> float:
    return block["age"].mean()


def ask(df, function=age, epsilon=BIG, keys=("f", "m"), **terms):
    return df.dp(epsilon=epsilon).groupby("sex", keys=list(keys)).sample_and_aggregate(function, **terms)


# ------------------------------------------------------------------------------------------------------- what comes
def test_one_number_for_each_listed_group_in_their_order():
    df = table(600)
    answer = ask(df, keys=["m", "nobody", "f"], bounds=(0, 50), blocks=5, aggregator="mean")
    assert list(answer.index) == ["m", "nobody", "f"]
    assert answer.index.name == "sex"
    assert answer.name is None
    assert answer.dtype == np.float64
    assert np.isnan(answer["nobody"])
    exact = people(600).groupby("sex")["age"].mean()
    assert answer["m"] == pytest.approx(exact["m"], abs=3)  # blocks of about 48 rows
    assert answer["f"] == pytest.approx(exact["f"], abs=4)
    known = answer.table()
    assert list(known.columns) == ["value", "lower", "upper", "size", "enough_rows"]
    assert known["size"].tolist() == [240, 0, 240]
    assert known["enough_rows"].tolist() == [True, False, True]
    assert "5 blocks a group, mean of the block results" in answer.notes[0]


@pytest.mark.parametrize("aggregator", ["auto", "median", "mean", "smooth"])
def test_aggregators_of_one_block_give_the_function_of_each_group(aggregator):
    """At this price noise moves an answer by 1 with probability exp(-90) at most, but smooth noise, which fits one block."""
    df = table(600)
    answer = ask(df, rows, epsilon=10 * BIG, bounds=(0, 1000), blocks=1, aggregator=aggregator)
    if aggregator == "smooth":
        assert answer.between(0, 1000).all()
    else:
        assert answer.tolist() == pytest.approx([240, 240], abs=1)


def test_several_columns_and_bins():
    df = table(600).dp(epsilon=10 * BIG)
    keys = {"sex": ["f", "m"], "city": ["x", "y"]}
    answer = df.groupby(["sex", "city"], keys=keys).sample_and_aggregate(
        rows, bounds=(0, 600), blocks=1, aggregator="mean"
    )
    exact = people(600).groupby(["sex", "city"]).size()
    assert list(answer.index) == [(sex, city) for sex in "fm" for city in "xy"]
    assert answer.tolist() == pytest.approx([exact[place] for place in answer.index], abs=1)
    months = df.groupby(["sex", "when"], keys={"sex": ["f", "m"]}, bins={"when": MONTHS}).sample_and_aggregate(
        rows, bounds=(0, 600), blocks=1, aggregator="mean"
    )
    when = people(600)["when"].dt.to_period("M")
    exact = people(600).groupby(["sex", when]).size()
    assert months.tolist() == pytest.approx([exact.get(place, 0) for place in months.index], abs=1)


def test_other_and_missing_values_have_groups_of_their_own():
    groups = table(600).dp(epsilon=10 * BIG).groupby("city", keys=["x", "y"], other=True, null=True)
    answer = groups.sample_and_aggregate(rows, bounds=(0, 600), blocks=1, aggregator="mean")
    assert answer.tolist() == pytest.approx([150] * 4, abs=1)


def test_the_function_sees_all_columns_and_rows_of_one_group_alone():
    seen = []

    def look(block):
        seen.append((tuple(block.columns), set(block["sex"]), block.index.tolist() == list(range(len(block)))))
        return 1.0

    ask(table(), look, keys=["f", "k"], bounds=(0, 2), blocks=3, aggregator="mean")
    columns = tuple(people().columns)
    made_up, blocks = seen[:2], [each for each in seen if each[1] <= {"f", "k"}]
    assert len(made_up) + len(blocks) >= len(seen)  # a trial on made-up rows, of which columns of text need two
    assert all(each[0] == columns and each[2] for each in seen)
    assert {key for _, keys, _ in blocks for key in keys} == {"f", "k"}
    assert all(len(keys) <= 1 for _, keys, _ in blocks)


def test_steps_come_before_blocks():
    df = table(600).dp(epsilon=10 * BIG).query("ok").assign(double=lambda d: d.pay * 2)
    answer = df.groupby("sex", keys=["f", "m"]).sample_and_aggregate(
        lambda d: d["double"].max(), bounds=(0, 1000), blocks=1, aggregator="mean"
    )
    kept = people(600).query("ok")
    assert answer.tolist() == pytest.approx([2 * kept["pay"][kept["sex"] == sex].max() for sex in "fm"], abs=1)


def test_constants_of_the_schema_stand_for_missing_cells_and_groups():
    df = protected(people(600), epsilon=10**6, schema={"age": {"nulls": 100}, "pay": {"nulls": 0}})
    groups = df.dp(epsilon=10 * BIG).groupby("pay", bins=[0, 50, 200])
    answer = groups.sample_and_aggregate(
        lambda d: float((d["age"] == 100).sum()), bounds=(0, 600), blocks=1, aggregator="mean"
    )
    filled = people(600).fillna({"age": 100, "pay": 0})
    exact = (filled["age"] == 100).groupby(filled["pay"] >= 50).sum()
    assert answer.tolist() == pytest.approx([exact[False], exact[True]], abs=1)


def test_units_are_in_at_most_max_groups_groups():
    df = protected(people(600), epsilon=10**6, unit="pid", max_rows=3, max_groups=1)
    answer = ask(df, rows, keys=["f", "m", "k"], bounds=(0, 600), blocks=1, aggregator="mean")
    least = people(600).groupby("pid")["sex"].value_counts().groupby("pid").min().sum()
    assert least - 3 <= answer.sum() < 330  # the 200 units have 1.6 rows each in their largest group


def test_the_answer_is_not_stored_and_is_charged_in_full():
    df = protected(people(), epsilon=10)
    for spent in (1, 2):
        ask(df, epsilon=1, bounds=(0, 50), blocks=25)
        assert df.dp.session.spent == f"epsilon={spent}"
    assert df.dp.session.releases.iloc[-1]["query"].startswith("groupby('sex', keys=['f', 'm']).sample_and_aggregate(")


def test_blocks_chosen_from_noisy_sizes_are_never_too_many_in_all(monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_ALL", 100)
    answer = ask(table(60000), epsilon=8, bounds=(0, 50))
    assert answer.notes[0].startswith("50 blocks a group, median")  # 57 else, for sizes of 24,000


# --------------------------------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("terms", "match"),
    [
        ({}, "public bounds.*" + TYPED),
        ({"bounds": (9, 0)}, TYPED),
        ({"bounds": "private"}, TYPED),
        ({"bounds": {"low": (0, 9)}}, "returns one number.*" + TYPED),
        ({"bounds": (0, 9), "aggregator": "vote"}, "'vote' takes no groups.*" + TYPED),
        ({"bounds": (0, 9), "aggregator": "winsorized"}, "'winsorized' takes no groups.*" + TYPED),
        ({"bounds": (0, 9), "aggregator": ["mean"]}, "aggregator must be 'auto', 'median', 'mean' or 'smooth'"),
        ({"bounds": (0, 9), "rows": 100}, r"no rows=.*\.sample_and_aggregate\(function=function, bounds="),
        ({"bounds": (0, 9), "widening": "smith"}, r"no widening=.*\.sample_and_aggregate\(function=function, bounds="),
        ({"keys": ["a"], "bounds": (0, 9)}, r"no keys=.*\.sample_and_aggregate\(function=function, bounds="),
        ({"bounds": (0, 9), "blocks": 0}, "blocks must be at least 1"),
        ({"bounds": (0, 9), "blocks": 500_001}, "2 groups of 500,001 blocks.*type blocks=500000 or fewer"),
        ({"bounds": (0, 9), "blocks": 2}, r"2 blocks a group would return noise as wide .*df\.dp\(epsilon=1\.6"),
        ({"bounds": (0, 9), "blocks": 30, "aggregator": "median"}, "noise as wide as the range"),
        ({"bounds": (0, 9), "function": 3}, "callable.*" + TYPED),
        ({"bounds": (0, 9), "function": lambda d: d["agee"].mean()}, "KeyError 'agee'; did you mean 'age'"),
        ({"bounds": (0, 9), "function": lambda d: d["age"]}, "a Series, which is not a number"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_arguments(monkeypatch, terms, match):
    df = protected(people())
    groups = df.dp(epsilon=1).groupby("sex", keys=["f", "m"])
    with refused(monkeypatch, df, PandasDPError, match):
        groups.sample_and_aggregate(**({"function": age} | terms))


def test_prices_and_groups_that_are_refused(monkeypatch):
    df = protected(people(), delta=1e-6)
    with refused(monkeypatch, df, ArgumentValueError, "plain epsilon"):
        df.dp(epsilon=1, delta=1e-7).groupby("sex", keys=["f"]).sample_and_aggregate(age, bounds=(0, 50))
    with refused(monkeypatch, df, ArgumentTypeError, "needs listed keys: " + LINE):
        df.dp(epsilon=1, delta=1e-7).groupby("sex").sample_and_aggregate(age, bounds=(0, 50))
    with refused(monkeypatch, df, ArgumentTypeError, "select none: " + LINE):
        df.dp(epsilon=1).groupby("sex", keys=["f"])["age"].sample_and_aggregate(age, bounds=(0, 50))
    with refused(monkeypatch, df, ArgumentValueError, "noise as wide"):  # 50 blocks are the most there may be
        ask(df, epsilon=0.01, bounds=(0, 50), aggregator="mean")
    many = df.dp(epsilon=1).groupby("age", keys=range(50_000))
    with refused(monkeypatch, df, ArgumentValueError, r"50,000 groups of 25 blocks .*type blocks=20 or fewer"):
        many.sample_and_aggregate(age, bounds=(0, 50))
    with refused(monkeypatch, df, ArgumentValueError, r"50,000 groups of 30 blocks"):
        df.dp(epsilon=1).groupby_mean_sa("age", "pay", keys=range(50_000), bounds=(0, 50), blocks=30)


def test_the_line_of_a_refusal_works():
    df = protected(people())
    with pytest.raises(ArgumentValueError, match="noise as wide") as caught:
        ask(df, epsilon=1, bounds=(0, 50), blocks=2)
    epsilon = float(str(caught.value).partition("df.dp(epsilon=")[2].partition(")")[0])
    answer = ask(df, epsilon=epsilon, bounds=(0, 50), blocks=2)
    assert (answer.isna() | answer.between(0, 50)).all()  # missing where a noisy size is small


def test_a_function_that_fails_on_some_rows_counts_as_the_middle():
    def fails(block):
        if (block["sex"] == "f").any():
            raise ValueError("secret42")
        return float("inf") if (block["sex"] == "m").any() else 7.0

    answer = ask(table(600), fails, keys=["f", "m", "k"], bounds=(0, 10), blocks=2, aggregator="mean")
    assert answer.tolist() == pytest.approx([5, 5, 7], abs=0.1)
    assert "secret42" not in repr(answer) + str(answer.notes)


# ----------------------------------------------------------------------------------------------------------- previews
def test_previews():
    df = protected(people(3000), epsilon=10)
    ahead = df.dp.preview(epsilon=1).groupby("sex", keys=["f", "m"])
    unknown = ahead.sample_and_aggregate(age, bounds=(0, 50))
    assert "not known in advance" in unknown.error
    assert unknown.epsilon == 1
    known = ahead.sample_and_aggregate(age, bounds=(0, 50), blocks=30, aggregator="mean")
    answer = ask(df, epsilon=1, bounds=(0, 50), blocks=30, aggregator="mean")
    table = answer.table()
    assert known.half_width == pytest.approx(50 / 30 / 0.9 * np.log(20), rel=1e-2)
    assert (table["upper"] - table["lower"]).max() / 2 <= known.half_width * (1 + 1e-9)
    with pytest.raises(ArgumentValueError, match="noise as wide"):
        ahead.sample_and_aggregate(age, bounds=(0, 50), blocks=2)
    rows = df.dp.preview(epsilon=1, rows=5000).groupby("sex", keys=["f"]).sample_and_aggregate(age, bounds=(0, 50))
    assert rows.notes[0] == "186 blocks a group, median of the block results"
    ahead = df.dp.preview(epsilon=1, rows=5000).groupby("sex", keys=["f"])
    plain = ahead.sample_and_aggregate(age, bounds=(0, 50), error_bar=False)
    assert plain.notes[0] == "112 blocks a group, median of the block results"


def test_keys_of_the_schema_serve():
    df = protected(people(), schema={"sex": {"keys": KEYS["sex"]}})
    answer = df.dp(epsilon=8).groupby("sex").sample_and_aggregate(age, bounds=(0, 50), blocks=25)
    assert list(answer.index) == KEYS["sex"]
