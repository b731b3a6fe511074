"""What cannot be reconciled, refined or planned is refused before anything is charged, and the message says what to type."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp.errors import PandasDPError

LINE = re.compile(
    r"pandas_dp\.\w+\(|df\.dp|\w+=[\d\['\"(TF]|with fresh=True|ask (both|them|anew)|from one table= and version="
)
COLUMN = list(range(100)) * 3


def opened(**terms) -> pd.DataFrame:
    df = pd.DataFrame({"age": COLUMN, "sex": ["f", "m", "m"] * 100, "u": COLUMN})
    df.dp.protect(**{"epsilon": 50, "name": fresh(), **terms})
    return df


def sizes(df, **price):
    return df.dp(**(price or {"epsilon": 1})).groupby("sex", keys=["f", "m"], other=True, null=True).size()


def of_other_versions():
    one, name = opened(table="visits", version="1"), None
    name = one.dp.session.name
    two = pd.DataFrame({"age": COLUMN, "sex": ["f", "m", "m"] * 100, "u": COLUMN})
    two.dp.protect(epsilon=50, name=name, table="visits", version="2")
    return one, two


def in_parts():
    df = opened()
    return df.dp.allot("one", epsilon=3), df.dp.allot("two", epsilon=3)


def other_sessions():
    return opened(), opened()


def same_twice():
    df = opened()
    return df, df


def behind_steps():
    df = opened()
    return df, df.dp.query("age > 40")


def within_units():
    df = opened(unit="u", max_rows=3)
    return df, df


def two_counts(a, b):
    return [a.dp(epsilon=1).count(), sizes(b)]


def one_count(a, b):
    return [a.dp(epsilon=1).count()]


def reconcile(a, b, *answers):
    pandas_dp.reconcile(list(answers))


def refine(a, b, answer):
    b.dp(epsilon=1).refine(answer)


def plan(query, **options):
    return same_twice, lambda a, b: [], lambda a, b: pandas_dp.plan([query], frame=a, **options)


WANT = pandas_dp.query(within=1)
BOUNDS = {"age": (0, 100), "u": (0, 100)}
CASES = {
    "reconcile: other sessions": (other_sessions, two_counts, reconcile),
    "reconcile: other versions": (of_other_versions, two_counts, reconcile),
    "reconcile: other rows": (behind_steps, two_counts, reconcile),
    "reconcile: parts": (in_parts, two_counts, reconcile),
    "reconcile: units": (within_units, two_counts, reconcile),
    "reconcile: one answer": (same_twice, lambda a, b: one_count(a, b) * 2, reconcile),
    "reconcile: a sum": (
        same_twice,
        lambda a, b: [*one_count(a, b), b.dp(epsilon=1).sum("age", bounds=(0, 100))],
        reconcile,
    ),
    "refine: other sessions": (other_sessions, one_count, refine),
    "refine: another table": (of_other_versions, one_count, refine),
    "refine: of a part": (in_parts, one_count, refine),
    "refine: steps": (behind_steps, one_count, refine),
    "refine: a quantile": (same_twice, lambda a, b: [a.dp(epsilon=1).median("age", bounds=(0, 100))], refine),
    "refine: a choice": (same_twice, lambda a, b: [a.dp(epsilon=1).mode("sex", keys=["f", "m"])], refine),
    "refine: afresh": (same_twice, one_count, lambda a, b, answer: b.dp(epsilon=1, fresh=True).refine(answer)),
    "refine: no more": (same_twice, one_count, lambda a, b, answer: b.dp(epsilon=0).refine(answer)),
    "refine: less": (same_twice, one_count, lambda a, b, answer: b.dp(epsilon=-1).refine(answer)),
    "refine: out of reach": (
        same_twice,
        lambda a, b: [a.dp(epsilon=1).sum("age", bounds=(0, 100))],
        lambda a, b, answer: b.dp(within=1e-9).refine(answer),
    ),
    "plan: out of reach": plan(pandas_dp.query(within=1e-9).sum("age", bounds=(0, 100))),
    "plan: without rows=": plan(WANT.mean("age", bounds=(0, 100))),
    "plan: no error": plan(WANT.cov(["age", "u"], bounds=BOUNDS)),
    "plan: a total too small": plan(pandas_dp.query(within=1e-9).count(), epsilon=1e-9),
    "plan: nothing": (same_twice, lambda a, b: [], lambda a, b: pandas_dp.plan([], frame=a)),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_for_nothing_with_the_line_to_type(name):
    make, begin, refused = CASES[name]
    one, two = make()
    answers = begin(one, two)
    before = one.dp.session.spent, two.dp.session.spent
    with pytest.raises(PandasDPError) as error:
        refused(one, two, *answers)
    assert (one.dp.session.spent, two.dp.session.spent) == before
    assert LINE.search(str(error.value)), str(error.value)


def test_what_a_stream_replies_is_no_answer_to_refine():
    df = opened()
    stream = df.dp(epsilon=1).above_threshold(100)
    reply = stream.ask("age > 50")
    before = df.dp.session.spent
    with pytest.raises(PandasDPError, match=r"refine needs an answer: answer = df\.dp"):
        df.dp(epsilon=1).refine(reply)
    assert df.dp.session.spent == before
