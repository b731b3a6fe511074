"""Nothing that users typed, stored or pickled is lost with a change inside the package."""

from __future__ import annotations

import json
import lzma
import pickle
import re
import shutil

import pytest
from support import yesterday
from support.frames import fresh
from support.questions import STREAMS, table

SURFACE, TEXTS = (json.loads(path.read_text()) for path in (yesterday.SURFACE, yesterday.TEXTS))
RENEW = "meant? python -m tests.support.yesterday"
ANEW = {  # under other keys by now, on purpose: paid and drawn again, where the old integers would be read wrongly
    *(
        "histogram",
        "histogram of days",
        "histogram of groups",
        "ranges",
        "few ranges",
        "ecdf",
        "ecdf by column",
    ),  # bins
    *("after steps", "select"),  # expressions of columns that may be nullable, or hold integers beyond float64
    *("sizes of combinations", "pivot table of means by group"),  # no longer hold the last edge
    "regression",  # has intervals of other widths
    *(
        "mode",
        "mode by column",
        "top_k",
        "top_k by column",
        "best_price",
        "best_price by column",
    ),  # by another mechanism
    # of a function, whose answers are never stored: equal by chance
    *("vote", "select by table", "own function", "own numbers"),
    *("median", "median by column", "median of groups", "quantile by column", "min", "min by column", "max by column"),
    "smooth error bar",  # at another share of the price
    "quantiles of groups",  # with error bars
    *(
        "found counts",
        "sizes of found groups",
        "counts of found groups",
    ),  # intervals that hold for keys that are listed
    "groups by noisy size",  # no value where there may be too few rows
    *("agg", "agg by column", "agg by name", "describe", "describe two"),  # quantiles that the column can hold
    *(
        "group sums",
        "pivot table of sums",
        "sums of found groups",
        "sums of combinations partly listed",
    ),  # totals of units
}


# their intervals follow the noise of their own combination of sums since; under the key of then no ledger is asked for them
NARROWER = {
    name for name in TEXTS if any(word in name for word in ("mean", "std", "var", "agg", "describe", "private bounds"))
} | {"smooth error bar"}
BOTH = {"value_counts as shares"}  # have an interval for the population, too, since


BUYING = (
    *("; error_bar=True buys an interval for the value itself", "; error_bar=True buys an interval in values"),
    *("; the number of rows is not part of this answer", "; row count not included"),
)  # said of numbers without interval since
NOTED = {
    *("quantile", "quantiles", "max of open bounds"),  # say since that their ranks are those of rounded values
    *("smooth median", "mst_cost"),  # why there is no error bar, in other words
    *("cov", "corr", "cov of three"),  # of an interval of all that is possible, that it is none
    *(name for name in TEXTS if any(word in name for word in ("found", "unique", "by hundreds of"))),  # in other words
}


def reworded(text):
    """A text of that day in today's words."""
    text = re.sub(r"\beach interval( of the noise)? 95 %", r"95 % intervals\1", text)
    text = re.sub(r"\binterval( of the noise)? 95 %", r"95 % interval\1", text)
    text = text.replace("key is one of the data, keys of few units may", "listed key occurs in the data; rare keys may")
    return re.sub(r"its rank is within ([\d,]+) of the wanted one", r"within \1 rows of the true quantile", text)


def ends(told):
    """Pairs of ends of an interval in JSON."""
    interval = told["interval"]
    columns = interval["values"] if "values" in interval else [[interval["lower"]], [interval["upper"]]]
    return [pair for two in zip(columns[::2], columns[1::2], strict=True) for pair in zip(*two, strict=True)]


def narrower(found, said):
    """Whether two answers are the same but for their intervals, of which these lie within those, or are shorter at least."""

    def less(now, then):
        return now == then or then[0] <= now[0] <= now[1] <= then[1] or now[1] - now[0] < then[1] - then[0]

    inside = all(map(less, ends(found), ends(said)))
    return inside and found | {"interval": None} == said | {"interval": None}


def test_public_names_signatures_and_first_lines_of_help_are_those_on_record():
    found = yesterday.surface()
    assert sorted(found) == sorted(SURFACE), RENEW
    assert {name: told for name, told in found.items() if told != SURFACE[name]} == {}, RENEW


def test_every_question_has_its_texts_on_record():
    assert set(TEXTS) == set(yesterday.QUESTIONS), RENEW


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", yesterday.QUESTIONS)
def test_the_books_and_plans_say_what_they_said(name):
    told, query = TEXTS[name], yesterday.query_of(name)
    assert yesterday.answered(name)[1] == told["books"], RENEW
    assert str(query) == told["query"], RENEW
    if told["plan"] is not None:
        for made in (query, type(query).from_dict(told["plan"])):
            assert json.loads(json.dumps(made.to_dict())) == told["plan"], RENEW


@pytest.mark.parametrize("day", yesterday.days(), ids=lambda day: day.name)
def test_pickled_answers_of_that_day_show_what_they_showed(day):
    kept = pickle.loads(lzma.decompress((day / "releases.pickle.xz").read_bytes()))
    assert len(kept) >= 80
    for name, (pickled, said) in kept.items():
        assert name not in STREAMS
        found = yesterday.said(pickle.loads(pickled))
        for said_since in BUYING:
            found["text"] = found["text"].replace(said_since, "")
        said["text"] = reworded(said["text"])
        if name in BOTH:
            assert found["json"].pop("population") is not None
        assert found == said or (name in NARROWER | BOTH and narrower(found["json"], said["json"])), name


def test_an_answer_of_an_oracle_is_read_where_its_domain_has_the_name_of_its_former_module():
    frame = table()
    session = frame.dp.protect(epsilon=1, name=fresh())
    answer = frame.dp(epsilon=1).oracle("pmw", domain={"cost": [0, 50, 100]}).ask("cost >= 50")
    session.close()
    today = pickle.dumps(answer, protocol=0)
    former = re.sub(
        rb"cpandas_dp\.aggregates\.oracles\n(Domain|Axis)\n", rb"cpandas_dp.aggregates.domains\n\1\n", today
    )
    assert former.count(b"aggregates.domains") == 2
    assert yesterday.said(pickle.loads(former)) == yesterday.said(answer)


@pytest.mark.parametrize("day", yesterday.days(), ids=lambda day: day.name)
def test_a_ledger_of_that_day_answers_for_nothing_what_it_answered(day, tmp_path):
    path = tmp_path / "visits.dpledger"
    shutil.copy(day / path.name, path)
    told = json.loads((day / "visits.json").read_text())
    frame = table()
    session = yesterday.charge(frame, path)
    assert len(told) >= 60
    found = yesterday.ask_all(frame)
    assert {name for name, said in told.items() if json.loads(found[name]) != said} <= ANEW | NARROWER | NOTED | BOTH
    assert len(session.releases) > len(told)
    session.close()


def test_a_name_that_is_lost_is_noticed(monkeypatch):
    cls = yesterday.users_classes()["df.dp(epsilon=1)"]
    monkeypatch.delattr(next(base for base in cls.__mro__ if "best_price" in vars(base)), "best_price")
    found = yesterday.surface()
    assert {name for name in SURFACE if name not in found} == {"df.dp(epsilon=1).best_price"}
