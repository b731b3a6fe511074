"""`reconcile`: released tables agree afterwards, intervals hold, and what does not belong together is refused for free."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest

import pandas_dp
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError

KEYS = {"sex": ["f", "m"], "ward": ["A", "B", "C"], "paid": ["y", "n"]}
WHOLE = {"other": True, "null": True}
TWO = {column: KEYS[column] for column in ("sex", "ward")}
NUMBER = itertools.count()


def people(n=3000):
    k = np.arange(n)
    return pd.DataFrame(
        {
            "sex": np.where(k % 7 < 3, "f", "m"),
            "ward": np.array(["A", "B", "C"], dtype=object)[k % 11 % 3],
            "paid": np.where(k % 5 == 0, "y", "n"),
            "age": k % 90,
        }
    )


def opened(frame, **terms):
    return frame.dp.protect(name=f"reconcile {next(NUMBER)}", **terms)


@pytest.fixture
def frame():
    frame = people()
    session = opened(frame, epsilon=1000)
    yield frame
    session.close()


def by(frame, columns, epsilon=0.5, **options):
    keys = {column: KEYS[column] for column in columns}
    return frame.dp(epsilon=epsilon).groupby(list(columns), keys=keys, **options).size()


def edited(answer):
    answer.iloc[0] = 5
    return answer


def test_tables_agree_and_nothing_is_charged(frame):
    answers = [
        by(frame, ["sex"]),
        by(frame, ["sex", "ward"], 0.2),
        by(frame, ["ward", "paid"]),
        frame.dp(epsilon=1).count(),
    ]
    left = frame.dp.session.left
    made = pandas_dp.reconcile(answers, complete=list(KEYS))
    assert frame.dp.session.left == left
    sex, both, wards, rows = made
    np.testing.assert_allclose(both.groupby("sex").sum(), sex, rtol=1e-9)
    np.testing.assert_allclose(both.groupby("ward").sum(), wards.groupby("ward").sum(), rtol=1e-9)
    assert rows == pytest.approx(sex.sum()) == pytest.approx(made.table().value.iloc[0])
    np.testing.assert_allclose(made.table("ward").value, both.groupby("ward").sum(), rtol=1e-9)
    np.testing.assert_allclose(
        made.table("paid", "ward").value.unstack("ward"), wards.value.unstack("paid").T, rtol=1e-9
    )
    assert made.raw == tuple(answers)
    assert sex.index.equals(answers[0].index)
    assert sex.name == answers[0].name
    narrow, wide = (x.interval().upper - x.interval().lower for x in (both, answers[1]))
    assert (narrow < wide).all()
    assert sex.epsilon is None
    assert sex.delta is None
    assert sex.spent == "no cost beyond entries 2, 3, 4, 5"
    assert json.loads(sex.to_json())["price"]["epsilon"] is None
    assert sex.table().columns.tolist() == ["value", "lower", "upper", "raw"]
    assert sex.table()["raw"].tolist() == answers[0].tolist()
    assert "reconciled from entries 2, 3, 4, 5 of the ledger" in sex.to_csv()
    assert "discrete Laplace, reconciled" in repr(sex)
    assert pickle.loads(pickle.dumps(sex)).table().equals(sex.table())
    assert copy.copy(sex).interval().equals(sex.interval())
    assert made[0].interval(0.5).upper.iloc[0] < made[0].interval(0.99).upper.iloc[0]
    assert "4 answers, consistent" in repr(made)
    assert made.misfit.expected == 6


def test_crosstabs_keep_their_form_and_their_margins(frame):
    table = frame.dp(epsilon=0.3).crosstab("sex", "ward", keys=TWO, margins=True)
    made = pandas_dp.reconcile([table, by(frame, ["ward"], 2)], complete=["sex", "ward"])
    found = made[0]
    assert found.index.equals(table.index)
    assert found.columns.equals(table.columns)
    np.testing.assert_allclose(found.loc["All", "All"], made.table().value.iloc[0])
    np.testing.assert_allclose(found.iloc[:2].sum(), found.loc["All"], rtol=1e-9)
    np.testing.assert_allclose(found.loc["All"].iloc[:3], made[1], rtol=1e-9)
    ends = found.interval()
    widths = ends[("A", "upper")] - ends[("A", "lower")]
    assert widths["All"] < widths["f"] * 2
    assert (widths > 0).all()
    with pytest.raises(ArgumentTypeError, match="as they were released"):
        found.independence()


def test_value_counts_are_in_the_order_of_their_new_values(frame):
    counts = frame.dp(epsilon=0.05).value_counts("ward", keys=KEYS["ward"])
    made = pandas_dp.reconcile([counts, by(frame, ["ward", "sex"], 3)], complete=["ward", "sex"])
    assert made[0].is_monotonic_decreasing
    np.testing.assert_allclose(made[0].sort_index(), made[1].groupby("ward").sum(), rtol=1e-9)
    assert made[0].table()["raw"].loc[made[0].index].tolist() == counts.loc[made[0].index].tolist()


def test_gaussian_answers_and_public_numbers():
    frame = people()
    session = opened(frame, epsilon=50, delta=1e-6, neighbors="replace_one", rows=True)
    gauss = frame.dp(rho=0.05).groupby("sex", keys=["f", "m"]).size()
    rows = frame.dp(epsilon=1).count()
    sex, total = pandas_dp.reconcile([gauss, rows], complete=["sex"])
    assert total == 3000
    assert sex.sum() == pytest.approx(3000)
    assert total.interval() == (3000, 3000)
    session.close()


def test_bins_and_keys_that_refine_each_other(frame):
    fine = frame.dp(epsilon=0.5).histogram("age", bins=range(0, 91, 10), **WHOLE)
    wide = frame.dp(epsilon=1).histogram("age", bins=[0, 30, 90], **WHOLE)
    short = frame.dp(epsilon=1).histogram("age", bins=[0, 50], **WHOLE)
    one, two, three = pandas_dp.reconcile([fine, wide, short])
    assert one.iloc[:3].sum() == pytest.approx(two.iloc[0])
    assert one.iloc[3:9].sum() == pytest.approx(two.iloc[1])
    assert one.iloc[:5].sum() == pytest.approx(three.iloc[0])
    assert one.iloc[5:10].sum() == pytest.approx(
        three.iloc[1]
    )  # of other ages: from 50 on, and none below 0 or from 90 on
    assert (one.interval().upper - one.interval().lower < fine.interval().upper - fine.interval().lower).all()
    some = frame.dp(epsilon=1).groupby("ward", keys=["A"], **WHOLE).size()
    every = frame.dp(epsilon=1).groupby("ward", keys=["B", "A"], **WHOLE).size()
    few, all_ = pandas_dp.reconcile([some, every])
    assert few["A"] == pytest.approx(all_["A"])
    assert few.iloc[1] == pytest.approx(all_["B"] + all_.iloc[2])  # others


def test_tables_with_keys_that_do_not_cover_all_rows_are_apart(frame):
    wards = frame.dp(epsilon=1).groupby("ward", keys=["A", "B"]).size()
    both = frame.dp(epsilon=1).groupby(["ward", "sex"], keys={"ward": ["B", "A"], "sex": KEYS["sex"]}).size()
    sexes = by(frame, ["sex"])
    with pytest.raises(ArgumentValueError, match=re.escape("complete=['sex', 'ward']")):
        pandas_dp.reconcile([wards, sexes])
    made = pandas_dp.reconcile([wards, both, sexes], complete=["sex"])
    np.testing.assert_allclose(made[1].groupby("ward").sum()[["A", "B"]], made[0], rtol=1e-9)
    assert made[2] is sexes or made[2].tolist() == pytest.approx(sexes.tolist())
    assert made[1].groupby("sex").sum().sum() < made[2].sum() - 100
    assert any("nothing to reconcile" in note for note in made.notes)
    with pytest.raises(ArgumentValueError, match="different keys of 'ward'"):
        pandas_dp.reconcile([wards, by(frame, ["ward", "sex"])], complete=["ward", "sex"])


def test_one_draw_counts_once(frame):
    first, second = by(frame, ["sex"]), by(frame, ["sex", "ward"])
    again = by(frame, ["sex"])  # stored: the same draw
    crosstab = frame.dp(epsilon=0.5).crosstab("sex", "ward", keys=TWO)
    two = pandas_dp.reconcile([first, second], complete=["sex", "ward"])
    four = pandas_dp.reconcile([first, again, second, crosstab], complete=["sex", "ward"])
    np.testing.assert_allclose(four[1], two[0])
    np.testing.assert_allclose(four[3].stack(), two[1])
    assert four[0].interval().equals(two[0].interval())
    assert any("counts once" in note for note in four.notes)
    fresh = frame.dp(epsilon=0.5, fresh=True).groupby("sex", keys=KEYS["sex"]).size()
    mean = pandas_dp.reconcile([first, fresh], complete=["sex"])
    np.testing.assert_allclose(mean[0], (first + fresh) / 2)
    with pytest.raises(ArgumentValueError, match="one answer"):
        pandas_dp.reconcile([first, again], complete=["sex"])


def test_nonnegative_tables(frame):
    rare = frame.dp.assign(rare=lambda d: d.age == 1000)
    keys = {"rare": [True, False], "ward": KEYS["ward"]}
    both = rare.dp(epsilon=0.1).groupby(["rare", "ward"], keys=keys).size()
    wards = rare.dp(epsilon=0.1).groupby("ward", keys=KEYS["ward"]).size()
    plain = pandas_dp.reconcile([both, wards], complete=["rare", "ward"])
    made = pandas_dp.reconcile([both, wards], complete=["rare", "ward"], nonnegative=True)
    assert (made[0] >= 0).all()
    assert (made[1] >= 0).all()
    np.testing.assert_allclose(made[0].groupby("ward").sum(), made[1], atol=0.05)
    assert made[0].sum() == pytest.approx(plain[0].sum(), abs=0.05)
    np.testing.assert_allclose(made[0].groupby("ward").sum(), made[1], atol=1e-3)
    ends, before = made[0].interval(), plain[0].interval()
    np.testing.assert_allclose(ends.lower, before.lower.clip(lower=0))
    np.testing.assert_allclose(ends.upper, before.upper.clip(lower=0))
    assert "small counts are too large" in repr(made[0])


def test_whole_numbers_keep_all_common_margins(frame):
    tables = [by(frame, pair, 0.05) for pair in (["sex", "ward"], ["ward", "paid"], ["sex", "paid"], ["ward"])]
    plain = pandas_dp.reconcile(tables, complete=["sex", "ward", "paid"], nonnegative=True)
    made = pandas_dp.reconcile(tables, complete=["sex", "ward", "paid"], whole=True)
    for one, real in zip(made, plain, strict=True):
        assert one.dtype == np.int64
        assert (one >= 0).all()
        assert one.sum() == round(plain[0].sum())
        assert np.abs(one.to_numpy() - real.to_numpy()).max() < 3
    for name, places in {"sex": (0, 2), "ward": (0, 1, 3), "paid": (1, 2)}.items():
        margins = [made[place].groupby(level=name).sum() for place in places]
        assert all(
            margin.equals(made.table(name).value.reindex(margin.index).rename(margin.name)) for margin in margins
        )
    pd.testing.assert_frame_equal(made[0].interval(), plain[0].interval())
    assert "intervals are those of the unbiased values, cut at 0" in repr(made[0])


def test_whole_numbers_that_need_not_exist_are_refused(frame):
    pairs = [by(frame, pair, 1) for pair in (["sex", "ward"], ["ward", "paid"], ["sex", "paid"])]
    cube = by(frame, ["sex", "ward", "paid"], 1)
    with pytest.raises(ArgumentValueError, match="share columns in a ring"):
        pandas_dp.reconcile([*pairs, cube], complete=["sex", "ward", "paid"], whole=True)
    made = pandas_dp.reconcile([*pairs[:2], cube], complete=["sex", "ward", "paid"], whole=True)
    assert made[2].groupby(level=["sex", "ward"]).sum().reindex(made[0].index).equals(made[0].value)
    ages = [
        frame.dp(epsilon=1).histogram("age", bins=[0, 50, 120]),
        frame.dp(epsilon=1).histogram("age", bins=[0, 25, 50, 120]),
    ]
    with pytest.raises(ArgumentValueError, match="the same keys or bins wherever they share a column"):
        pandas_dp.reconcile(ages, complete=["age"], whole=True)
    with pytest.raises(ArgumentTypeError, match="whole"):
        pandas_dp.reconcile(pairs, complete=["sex", "ward", "paid"], whole=2)


def test_margins_are_of_all_rows_where_some_table_counts_all(frame):
    """A table of one ward alone has them, too: of that ward."""
    some = [by(frame, ["ward"], fresh) for fresh in (1, 2)]
    part = [frame.dp(epsilon=e).groupby("ward", keys=["A"]).size() for e in (1, 2)]
    both = by(frame, ["sex", "paid"], 1)
    made = pandas_dp.reconcile([*part, both], complete=["sex", "paid"])
    assert made.table().value.iloc[0] == pytest.approx(both.sum(), abs=1e-6)
    with_wards = frame.dp(epsilon=1).groupby(["ward", "sex"], keys={"ward": ["A"], "sex": KEYS["sex"]}).size()
    made = pandas_dp.reconcile([with_wards, part[0], both], complete=["sex", "paid"])
    np.testing.assert_allclose(made.table("sex").value, both.groupby("sex").sum(), atol=1e-6)
    assert len(pandas_dp.reconcile(some, complete=["ward"])) == 2
    with pytest.raises(ArgumentTypeError, match="name columns one by one"):
        made.table(["sex", "paid"])


def test_a_promise_that_the_tables_disprove_is_told(frame):
    wards = frame.dp(epsilon=1).groupby("ward", keys=["A", "B"], **WHOLE).size()
    both = frame.dp(epsilon=1).groupby(["ward", "sex"], keys={"ward": ["A", "B"], "sex": KEYS["sex"]}).size()
    made = pandas_dp.reconcile([wards, both], complete=["ward", "sex"])  # 800 rows are in neither
    assert any("disagree by more than noise" in note for note in made.notes)


def test_what_nothing_is_known_of_stays_as_it_was(frame):
    alone = frame.dp(epsilon=1).groupby("ward", keys=["A", "B"]).size()
    made = pandas_dp.reconcile([alone, by(frame, ["sex"], 0.3), frame.dp(epsilon=0.2).count()], complete=["sex"])
    assert made[0] is alone
    assert any(note.startswith("nothing to reconcile the counts by 'ward' with") for note in made.notes)


def test_missing_values_that_count_as_a_number_are_no_part():
    frame = people()
    session = opened(frame, epsilon=100, schema={"age": {"nulls": 0, "bounds": (0, 100)}})
    ages = frame.dp(epsilon=1).histogram("age", bins=[0, 50, 90], other=True)
    made = pandas_dp.reconcile([ages, frame.dp(epsilon=1).count()])
    assert made[0].sum() == pytest.approx(made[1])
    session.close()


def test_of_two_relations_none_is_claimed(tmp_path):
    answers = []
    for relation in ("add_remove", "replace_one"):
        frame = people()
        terms = {"name": "people", "table": "people", "version": "1", "neighbors": relation}
        session = frame.dp.protect(epsilon=9, ledger=tmp_path / f"{relation}.dpledger", **terms)
        answers.append(by(frame, ["sex"] if not answers else ["sex", "ward"]))
        session.close()
    with pytest.raises(ArgumentTypeError, match="not about the same rows"):
        pandas_dp.reconcile(answers, complete=["sex", "ward"])


def test_two_draws_that_are_equal_by_chance_are_two():
    frame = people()
    session = opened(frame, epsilon=1000)
    first = frame.dp(epsilon=30).count()
    again = frame.dp(epsilon=30, fresh=True).count()  # as good as exact
    assert first == again
    assert pandas_dp.reconcile([first, again])[0].interval() is not None
    session.close()


def test_mechanisms_of_all_are_named():
    frame = people()
    session = opened(frame, epsilon=50, delta=1e-6)
    made = pandas_dp.reconcile([by(frame, ["sex"]), frame.dp(rho=0.05).count()], complete=["sex"])
    assert {one.mechanism for one in made} == {"discrete Laplace and discrete Gaussian, reconciled"}
    assert all(one.delta is None for one in made)
    session.close()


REFUSED = {  # what does not belong together, and what the error names
    "one answer": (lambda f: [by(f, ["sex"])], "two answers or more"),
    "no list": (lambda f: by(f, ["sex"]), "two answers or more"),
    "plain numbers": (lambda f: [by(f, ["sex"]), pd.Series([1, 2])], "as they were released, and element 1 is not one"),
    "a sum": (lambda f: [by(f, ["sex"]), f.dp(epsilon=1).sum("age", bounds=(0, 90))], "answer 1 is no table of counts"),
    "counts of values": (lambda f: [by(f, ["sex"]), f.dp(epsilon=1).count("age")], "answer 1 is no table of counts"),
    "shares": (
        lambda f: [
            by(f, ["sex"]),
            f.dp(epsilon=1).crosstab("sex", "ward", keys=TWO, normalize=True),
        ],
        "answer 1 is no table of counts",
    ),
    "ranges": (
        lambda f: [by(f, ["sex"]), f.dp(epsilon=1).histogram("age", bins=range(0, 91, 10), workload="ranges")],
        "answer 1 is no table of counts",
    ),
    "a first step": (lambda f: [by(f, ["sex"]), by(f, ["sex", "ward"]).head(2)], "not as it was released"),
    "reconciled": (
        lambda f: [
            by(f, ["sex"]),
            pandas_dp.reconcile([by(f, ["sex"]), by(f, ["sex", "ward"])], complete=[*KEYS][:2])[1],
        ],
        "not as it was released",
    ),
    "edited": (lambda f: [by(f, ["sex"]), edited(by(f, ["sex", "ward"]))], "not as it was released"),
    "other steps": (
        lambda f: [by(f, ["sex"]), f.dp.query("age < 50").dp(epsilon=1).groupby("sex", keys=KEYS["sex"]).size()],
        "after different steps",
    ),
    "keys and bins": (
        lambda f: [
            f.dp(epsilon=1).histogram("age", bins=[0, 50, 100], **WHOLE),
            f.dp(epsilon=1).groupby("age", keys=[1, 2, 3], **WHOLE).size(),
        ],
        "by keys in one table and by bins in another",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(frame, case):
    ask, words = REFUSED[case]
    answers = ask(frame)
    left = frame.dp.session.left
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=words):
        pandas_dp.reconcile(answers, complete=[name for name in ("sex", "ward") if case != "keys and bins"])
    assert frame.dp.session.left == left


def test_odd_arguments_are_refused(frame):
    answers = [by(frame, ["sex"]), by(frame, ["sex", "ward"])]
    with pytest.raises(ArgumentTypeError, match="complete is a list of columns"):
        pandas_dp.reconcile(answers, complete="sex")
    with pytest.raises(ArgumentValueError, match="no table is by 'age'"):
        pandas_dp.reconcile(answers, complete=["age"])
    with pytest.raises(ArgumentTypeError, match="nonnegative"):
        pandas_dp.reconcile(answers, complete=["sex", "ward"], nonnegative="whole")
    made = pandas_dp.reconcile(answers, complete=["sex", "ward"])
    with pytest.raises(ArgumentValueError, match=re.escape(".table('sex')")):
        made.table("age")
    with pytest.raises(ArgumentValueError):
        made.table("sex", "sex")


def test_answers_of_other_rows_are_refused(frame):
    other = people()
    session = opened(other, epsilon=100)
    with pytest.raises(ArgumentTypeError, match="answer 1 is not about the same rows"):
        pandas_dp.reconcile([by(frame, ["sex"]), by(other, ["sex", "ward"])], complete=["sex", "ward"])
    session.close()
    units = people().assign(pid=lambda d: d.index // 2)
    session = opened(units, epsilon=100, unit="pid", max_rows=2)
    with pytest.raises(ArgumentTypeError, match="counts some rows of each 'pid'"):
        pandas_dp.reconcile([by(units, ["sex"]), by(units, ["sex", "ward"])], complete=["sex", "ward"])
    session.close()


def test_one_version_of_a_table_is_one_table(tmp_path):
    options = {"ledger": tmp_path / "a.dpledger", "name": "people", "table": "people"}
    answers = []
    for version in ("1", "1", "2"):
        frame = people()
        session = frame.dp.protect(epsilon=9, version=version, **options)
        answers.append(by(frame, ["sex"] if not answers else ["sex", "ward"]))
        session.close()
    first, same, other = answers
    assert len(pandas_dp.reconcile([first, same], complete=["sex", "ward"])) == 2
    with pytest.raises(ArgumentTypeError, match="not about the same rows"):
        pandas_dp.reconcile([first, other], complete=["sex", "ward"])


def test_a_number_that_was_typed_is_no_count(frame):
    typed = people()
    session = opened(typed, epsilon=9, neighbors="replace_one", rows=3000)
    with pytest.raises(ArgumentTypeError, match="never counted"):
        pandas_dp.reconcile([typed.dp(epsilon=1).count(), by(typed, ["sex"])], complete=["sex"])
    session.close()


def test_tables_that_lack_rows_are_told(frame):
    sexes = by(frame, ["sex"], 3)
    wards = frame.dp(epsilon=3).groupby(["sex", "ward"], keys={"sex": KEYS["sex"], "ward": ["A"]}).size()
    made = pandas_dp.reconcile([sexes, wards], complete=["sex", "ward"])  # a false promise
    assert any("disagree by more than noise" in note for note in made.notes)
    assert "disagree by more than noise" in repr(made[0])


@pytest.mark.parametrize(
    "scale", [pytest.param(0.3, id="fine"), pytest.param(0.03, id="noisy", marks=pytest.mark.slow)]
)
def test_intervals_cover(scale):
    """Of 2,400 cells and 900 margins of independent repeats 95 % are covered: outside 92.3 to 97.7 % with 1e-7.

    Cells of one repeat are correlated, so the deviation is that of the mean of repeats. A twin with half the width is caught.
    """
    frame = people(1500)
    truth = {columns: frame.groupby(list(columns)).size() for columns in (("sex",), ("sex", "ward"), ("ward", "paid"))}
    found, short = [], []
    session = opened(frame, epsilon=10**6)
    for _ in range(200):
        answers = [
            frame.dp(epsilon=scale * (1 + place), fresh=True)
            .groupby(list(columns), keys={column: KEYS[column] for column in columns})
            .size()
            for place, columns in enumerate(truth)
        ]
        made = pandas_dp.reconcile(answers, complete=list(KEYS))
        inside, near = [], []
        for one, exact in zip(made, truth.values(), strict=True):
            ends, exact = one.interval(), exact.reindex(one.index).to_numpy()
            inside += ((ends.lower <= exact) & (exact <= ends.upper)).tolist()
            near += (np.abs(one - exact) <= (ends.upper - ends.lower) / 4).tolist()
        found.append(np.mean(inside))
        short.append(np.mean(near))
    session.close()
    deviation = max(np.std(found) / math.sqrt(len(found)), 0.001)
    assert abs(np.mean(found) - 0.95) < max(5.5 * deviation, 0.005) < 0.05
    assert np.mean(short) < 0.95 - 5 * deviation


@pytest.mark.parametrize("kept", ["memory", "file"])
def test_a_session_reconciles_all_tables_of_its_rows(kept, tmp_path):
    frame = people()
    session = opened(frame, epsilon=100, ledger=None if kept == "memory" else tmp_path / "l.dpledger")
    with pytest.raises(ArgumentTypeError, match="not given two tables of counts"):
        session.reconcile()
    rows = frame.dp(epsilon=1).count()
    frame.dp(epsilon=1).mean("age", bounds=(0, 100))
    wards, both = by(frame, ["ward"]), by(frame, ["sex", "ward"])
    table = frame.dp(epsilon=0.3).crosstab("sex", "ward", keys=TWO, margins=True)
    frame.dp.query("age > 40").dp(epsilon=1).count()
    frame.dp(epsilon=0.3).crosstab("sex", "ward", keys=TWO, normalize="all")
    left = session.left
    made = session.reconcile(complete=["sex", "ward"])
    assert session.left == left
    assert [one is other for one, other in zip(made.raw, [rows, wards, both, table], strict=True)] == [True] * 4
    for one, other in zip(made, pandas_dp.reconcile([rows, wards, both, table], complete=["sex", "ward"]), strict=True):
        np.testing.assert_allclose(one, other)
    assert made.notes[-1] == "1 other table of counts: of other rows, or after other steps"
    assert session.reconcile(["sex", "ward"], nonnegative=True)[1].min() >= 0
    wards.iloc[0] = 5  # by hand: it is no answer any more
    assert len(session.reconcile(complete=["sex", "ward"])) == 3
    by(frame, ["ward"])  # stored, and free
    assert session.left == left
    assert len(session.reconcile(complete=["sex", "ward"])) == 4
    session.close()


def test_a_session_of_units_says_why_it_reconciles_nothing():
    frame = people().assign(pid=np.arange(3000) // 2)
    session = opened(frame, epsilon=100, unit="pid", max_rows=2)
    frame.dp(epsilon=1).count()
    by(frame, ["ward"])
    with pytest.raises(ArgumentTypeError, match="counts some rows of each 'pid'"):
        session.reconcile(complete=["ward"])
    session.close()


def test_intervals_of_many_cells_at_once_are_those_of_each(frame):
    answers = [by(frame, ["sex", "ward"], 0.02, **WHOLE), by(frame, ["ward"], 0.02, **WHOLE)]
    for nonnegative in (False, True):
        made = pandas_dp.reconcile(answers, nonnegative=nonnegative)
        found, ends = made.table("sex", "ward"), made[0].interval()
        np.testing.assert_allclose(found[["lower", "upper"]].to_numpy(), ends[["lower", "upper"]].to_numpy(), atol=1e-9)
