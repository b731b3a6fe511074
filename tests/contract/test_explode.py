"""``explode`` as a step of ``df.dp``: what it asks for, what it costs, and whose the new rows are."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.cells import arrow, objects
from support.frames import protected, refused

import pandas_dp
from pandas_dp.core.privacy import Price
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, NoSessionError, UnverifiedFrameError
from pandas_dp.steps.changes import Explode
from pandas_dp.tables import frames

TOTAL = 10**6
EXACT = (
    TOTAL // 10
)  # so large an epsilon that the noise of counts is 0, and that of sums below 1, but for a chance below 1e-40
KEYS = ["a", "b", "c"]
LISTS = [["a", "b", "c"], [], None, ["a"], ["b", "a", "zz_private"], ["c"]]


def visits(lists: pd.Series | None = None) -> pd.DataFrame:
    tags = objects(*LISTS) if lists is None else lists
    frame = pd.DataFrame({"pid": [1, 1, 2, 3, 4, 4], "tags": tags, "cost": [10.0, 20, 30, 40, 50, 60]})
    return frame.set_axis(list("pqrstu"))


def asking(**terms: object) -> pd.DataFrame:
    return protected(visits(), **({"epsilon": TOTAL, "unit": "pid", "max_rows": 9} | terms))


def starts(df: pd.DataFrame) -> list:
    return [
        df.dp,
        df.dp(epsilon=1),
        df.dp.preview(epsilon=1),
        df.dp.query("cost > 0").dp,
        df.dp(epsilon=1).fillna({"cost": 0}),
    ]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_where_each_row_is_a_unit_it_is_refused_with_the_lines_to_type(monkeypatch, relation):
    df = protected(visits(), epsilon=3, neighbors=relation)
    for start in starts(df):
        line = r"df\['id'\] = range\(len\(df\)\), then df\.dp\.protect\(epsilon=3, unit='id', max_rows=5\)"
        with refused(monkeypatch, df, ArgumentValueError, line):
            start.explode("tags", max=5)
    with refused(monkeypatch, df, ArgumentValueError, "unit='id', max_rows=5"):
        pandas_dp.query(epsilon=1).explode("tags", max=5).count()(df)
    df["id"] = range(len(df))
    df.dp.protect(epsilon=3, unit="id", max_rows=5, neighbors=relation, name=df.dp.session.name)
    df.dp(epsilon=1).explode("tags", max=5).count()
    assert df.dp.session.spent == "epsilon=1"


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_first_entry_alone_keeps_the_number_of_rows(relation):
    public = {"rows": True} if relation == "replace_one" else {}
    df = protected(visits(), epsilon=TOTAL, neighbors=relation, **public)
    first = df.dp.explode("tags", max=1)
    assert first.dp(epsilon=EXACT).value_counts("tags", keys=KEYS).loc[KEYS].tolist() == [2, 1, 1]
    before = df.dp.session.spent
    assert first.dp(epsilon=1).count() is not None
    assert (df.dp.session.spent == before) == (relation == "replace_one")  # there the number of rows is public


def test_the_number_of_rows_that_lists_make_is_never_public():
    df = asking(neighbors="replace_one", unit="cost")  # each row another unit: still private
    for asked in (df.dp.explode("tags", max=3).dp(epsilon=1), df.dp(epsilon=1, fresh=True).explode("tags", max=3)):
        before = df.dp.session.spent
        asked.count()
        assert df.dp.session.spent != before
        with pytest.raises(ArgumentValueError, match="shows how many rows there are"):
            asked.randomized_response("tags", keys=KEYS)


def test_public_facts_have_no_number_of_rows_after_it_even_where_no_unit_is_asked_for():
    df = protected(visits(), neighbors="replace_one", rows=True)
    session, table = df.dp.session, frames.lookup(df)
    for done, rows in (((), 6), ((Explode("tags", 1),), 6), ((Explode("tags", 3),), None)):
        assert table.terms(done, Price(), session.unit).public_rows == rows


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ArgumentTypeError, r"needs max: x\.explode\('tags', max=5\)", lambda x: x.explode("tags")),
        (ArgumentTypeError, r"x\.explode\('tags', max=5\)", lambda x: x.explode("tags", 5)),
        (ArgumentTypeError, "takes no ignore_index=", lambda x: x.explode("tags", max=5, ignore_index=True)),
        (ArgumentTypeError, "takes one column", lambda x: x.explode(["tags", "cost"], max=5)),
        (ArgumentTypeError, r"holds no lists.*\.str\.split", lambda x: x.explode("cost", max=5)),
        (ArgumentTypeError, "whole number", lambda x: x.explode("tags", max=5.0)),
        (ArgumentValueError, "from 1", lambda x: x.explode("tags", max=0)),
        (ArgumentValueError, "did you mean 'tags'", lambda x: x.explode("tagz", max=5)),
    ],
)
def test_a_bad_call_costs_nothing_and_opens_nothing(monkeypatch, error, match, call):
    df = asking()
    for start in starts(df):
        with refused(monkeypatch, df, error, match) as caught:
            call(start)
        assert "zz_private" not in str(caught.value)


def test_the_unit_column_is_not_exploded(monkeypatch):
    frame = visits().rename(columns={"pid": "number"}).assign(pid=objects(*([k] for k in range(6))).array)
    df = protected(frame, unit="pid", max_rows=3)
    for start in starts(df):
        with refused(monkeypatch, df, ArgumentValueError, "unit column 'pid'"):
            start.explode("pid", max=2)


def test_where_pandas_spelling_is_taken_for_a_question_the_step_is_named():
    df = asking()
    for asked in (df.dp(epsilon=1)["tags"], df.dp(epsilon=1).groupby("tags", keys=KEYS)):
        with pytest.raises(AttributeError, match=r"it is a step .*\.explode\('tags', max=5\)"):
            asked.explode("tags")
    with pytest.raises(ArgumentValueError, match=r"df\.dp\.explode\('tags', max=5\)"):
        df.dp.assign(tag=lambda d: d.tags.explode())
    with pytest.raises(UnverifiedFrameError):
        df.explode("tags").dp(epsilon=1).count()


def test_the_result_is_the_plain_frame_of_pandas_and_still_protected():
    df = asking()
    made = df.dp.explode("tags", max=2)
    expected = (
        visits(objects(*(c if c is None else c[:2] for c in LISTS))).explode("tags").reset_index(drop=True)
    )  # rows of steps are numbered anew; the cells make it text there
    pd.testing.assert_frame_equal(
        made.reset_index(drop=True).fillna({"tags": "-"}), expected.fillna({"tags": "-"}).astype({"tags": object})
    )
    assert made.tags.isna().tolist() == expected.tags.isna().tolist()
    pd.testing.assert_frame_equal(df, visits())
    assert made.dp.session is df.dp.session
    assert df.dp.session.spent == "epsilon=0"
    assert made.dp(epsilon=1).count().lineage == "declared"


def test_a_question_is_one_however_it_is_spelled():
    df = asking()
    query = pandas_dp.query(epsilon=EXACT).explode("tags", max=2).query("cost < 60").value_counts("tags", keys=KEYS)
    again = pandas_dp.Query.from_dict(json.loads(json.dumps(query.to_dict())))
    assert again == query
    answers = [
        query(df),
        again(df),
        df.dp(epsilon=EXACT).explode("tags", max=2).query("cost < 60").value_counts("tags", keys=KEYS),
        df.dp.explode("tags", max=2).dp.query("cost < 60").dp(epsilon=EXACT).value_counts("tags", keys=KEYS),
    ]
    for answer in answers:
        assert answer.loc[KEYS].tolist() == [3, 2, 0]
    assert df.dp.session.spent == f"epsilon={EXACT}"
    assert query.preview(df).price == f"epsilon={EXACT}"
    df.dp(epsilon=1).explode("tags", max=3).query("cost < 60").value_counts("tags", keys=KEYS)
    assert df.dp.session.spent == f"epsilon={EXACT + 1}"


def test_units_keep_their_bound_on_the_rows_that_lists_make():
    for most, rows in ((1, 4), (2, 6), (3, 8), (9, 10)):  # units have 4, 1, 1 and 4 rows then
        df = asking(max_rows=most)
        assert df.dp.explode("tags", max=9).dp(epsilon=EXACT).count() == rows
        assert df.dp(epsilon=EXACT).explode("tags", max=9).count() == rows


def test_rows_without_a_unit_are_in_no_answer_and_facts_stay():
    frame = visits().astype({"pid": "float64"})
    frame.iloc[0, 0] = np.nan
    df = protected(
        frame, epsilon=TOTAL, unit="pid", max_rows=9, schema={"tags": {"keys": KEYS}, "cost": {"bounds": (0, 100)}}
    )
    made = df.dp.explode("tags", max=2)
    assert made.dp(epsilon=EXACT).value_counts("tags").loc[KEYS].tolist() == [2, 1, 1]
    assert df.dp(epsilon=EXACT).explode("tags", max=2).value_counts("tags").loc[KEYS].tolist() == [2, 1, 1]
    assert made.dp(epsilon=EXACT).sum("cost") == pytest.approx(20 + 30 + 40 + 2 * 50 + 60, abs=1)


def test_lists_of_numbers_in_arrow_become_numbers():
    df = protected(
        visits(arrow(pa.array([[1, 2], [], None, [3], [4, 5, 6], [7]]))), epsilon=TOTAL, unit="pid", max_rows=9
    )
    made = df.dp.explode("tags", max=2)
    assert made.tags.dtype == pd.ArrowDtype(pa.int64())
    assert made.dp(epsilon=EXACT).sum("tags", bounds=(0, 10)) == pytest.approx(22, abs=1)
    assert df.dp(epsilon=EXACT).explode("tags", max=2).count("tags") == 6


def test_odd_cells_change_nothing_else():
    class Odd:
        def _run(self, *args):
            raise RuntimeError("zz_private")

        __len__ = __iter__ = __getitem__ = __eq__ = __hash__ = __bool__ = _run

    answers = []
    for cell in (["zz_private"], Odd(), [Odd(), Odd()], {1: 2}, {3, 4}, "text", iter([5]), np.array(6)):
        df = protected(visits(objects(*LISTS[:-1], cell)), epsilon=TOTAL, unit="pid", max_rows=9)
        asked = df.dp.explode("tags", max=3).dp(epsilon=EXACT).value_counts("tags", keys=KEYS)
        answers.append(asked.loc[KEYS].tolist())
    assert answers == [[3, 2, 1]] * len(answers)


def test_a_frame_that_lists_made_follows_its_session(monkeypatch):
    df = asking()
    made = df.dp.explode("tags", max=2)
    other = asking()
    made = other.dp.explode("tags", max=2)
    other.dp.protect(epsilon=TOTAL, name=other.dp.session.name)  # another unit, in which the step would not be allowed
    with refused(monkeypatch, other, NoSessionError, "were replaced"):
        made.dp(epsilon=1).count()
