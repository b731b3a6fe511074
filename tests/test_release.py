"""Releases drop into any code, lose their error bars with their value, and never show what is not public."""

from __future__ import annotations

import builtins
import copy
import decimal
import json
import math
import operator
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from pandas_dp.aggregates.base import Answer, Guarantee
from pandas_dp.aggregates.count import Count
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.privacy import NeighboringRelation, Price, PrivacyUnit
from pandas_dp.engines.kinds import Kind
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.query import Query
from pandas_dp.release import (
    FloatRelease,
    FrameRelease,
    IntRelease,
    ObjectRelease,
    Provenance,
    Release,
    SeriesRelease,
    TextRelease,
    make_release,
)
from pandas_dp.report.text import describe
from pandas_dp.uncertainty import Additive, Interval, NoError, RankBound, Ratio, ScoreGap

NOISE = DiscreteLaplace(Fraction(50))  # half-width 150 at 95 %
RANKS = Guarantee(RankBound, 11.0, 0.05)
SCORES = Guarantee(ScoreGap, 3.0, 0.3)


def release(value, error=None, price=Price(Fraction(1, 5)), **changes) -> Release:  # noqa: B008 - frozen
    facts = {
        "query": Query("count()", Count(), (), price),
        "mechanism": "discrete Laplace",
        "unit": PrivacyUnit("pid", 3, 2, 2, NeighboringRelation.REPLACE_ONE),
        "lineage": "source",
        "error": error,
        "notes": ("a note",),
        "extras": (),
        "spent": "epsilon 0.2",
    }
    answer = Answer(value, "discrete Laplace", error)
    return make_release(answer, Provenance(**(facts | changes)))


def a_float() -> FloatRelease:
    return release(1234.56, Additive(NOISE, Fraction(1, 10)))


def an_int() -> IntRelease:
    return release(48213, Additive(NOISE))


def a_series(**changes) -> SeriesRelease:
    series = pd.Series([10, 20, 30], index=pd.Index(["a", "b", "c"], name="ward"), name="n")
    return release(series, Additive(NOISE), **changes)


def a_frame() -> FrameRelease:
    return release(pd.DataFrame({"x": [1.5, 2.5], "n": [3, 4]}, index=["a", "b"]), Additive(NOISE))


def a_date() -> ObjectRelease:
    lattice = Lattice.between(Fraction(pd.Timestamp("2013-01-01").value), Fraction(10**18 * 2), 20)
    error = Ratio(((10**5, 9 * 10**5),), DiscreteLaplace(Fraction(10)), lattice, Kind("datetime"))
    return release(pd.Timestamp("2018-03-28 12:00"), error)


EXAMPLES = {
    "float": a_float,
    "int": an_int,
    "text": lambda: release("ICU", SCORES),
    "series": a_series,
    "frame": a_frame,
    "date": a_date,
    "duration": lambda: release(pd.Timedelta("90 min"), Additive(NOISE, Fraction(10**9), Kind("timedelta"))),
    "bool": lambda: release(True),
    "decimal": lambda: release(decimal.Decimal("1.50")),
    "key": lambda: release(("ICU", 3), SCORES),
    "nothing": lambda: release(None),
}
EVERY = pytest.mark.parametrize("make", EXAMPLES.values(), ids=EXAMPLES)
NUMBERS = pytest.mark.parametrize("make", [a_float, an_int], ids=["float", "int"])
VECTORS = pytest.mark.parametrize("make", [a_series, a_frame], ids=["series", "frame"])


def same(a, b) -> bool:
    return a.equals(b) if isinstance(a, pd.Series | pd.DataFrame) else a == b


# The kind of a release ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "form", "plain"),
    [
        (1.5, FloatRelease, float),
        (np.float64(1.5), FloatRelease, float),
        (np.float32(1.5), FloatRelease, float),
        (7, IntRelease, int),
        (np.int64(7), IntRelease, int),
        (2**80, IntRelease, int),
        ("x", TextRelease, str),
        (pd.Series([1]), SeriesRelease, pd.Series),
        (pd.DataFrame({"a": [1]}), FrameRelease, pd.DataFrame),
        (True, ObjectRelease, bool),
        (pd.Timestamp("2013"), ObjectRelease, pd.Timestamp),
        (pd.Timedelta(1, "D"), ObjectRelease, pd.Timedelta),
        (decimal.Decimal(1), ObjectRelease, decimal.Decimal),
        (("a", 1), ObjectRelease, tuple),
        (None, ObjectRelease, type(None)),
    ],
)
def test_kind_follows_the_value(value, form, plain):
    made = release(value)
    assert type(made) is form
    assert isinstance(made, Release)
    assert type(made.value) is plain
    assert same(made.value, value)


@EVERY
def test_provenance_is_there(make):
    made = make()
    assert (made.epsilon, made.delta, made.rho, made.spent) == (0.2, 0.0, None, "epsilon 0.2")
    assert made.mechanism == "discrete Laplace"
    assert made.unit.column == "pid"
    assert made.neighbors == "replace_one"
    assert type(made.neighbors) is str
    assert (made.lineage, made.assumes, made.notes) == ("source", None, ("a note",))
    assert made.query.call == "count()"


def test_prices_in_other_currencies():
    gaussian = release(1, price=Price(Fraction(1), Fraction(1, 10**6)))
    assert (gaussian.epsilon, gaussian.delta, gaussian.rho) == (1.0, 1e-6, None)
    concentrated = release(1, price=Price(rho=Fraction(1, 4)))
    assert (concentrated.epsilon, concentrated.delta, concentrated.rho) == (None, None, 0.25)
    public = release(1, NoError(), spent="nothing")
    assert (public.epsilon, public.delta, public.rho) == (0.0, 0.0, None)


# Scalars are numbers and texts ----------------------------------------------------------------------------

CHECKS = {
    "v + 1": lambda v: v + 1,
    "v / 2": lambda v: v / 2,
    "-v": operator.neg,
    "+v": operator.pos,
    "abs(v)": abs,
    "round(v, 1)": lambda v: round(v, 1),
    "int(v)": int,
    "f'{v:.1f}'": lambda v: f"{v:.1f}",
    "f'{v:,.0f}'": lambda v: f"{v:,.0f}",
    "f'{v}'": lambda v: f"{v}",
    "str(v)": str,
    "v > 1000": lambda v: v > 1000,
    "math.sqrt(v)": math.sqrt,
    "np.isclose": lambda v: bool(np.isclose(v, float(v))),
    "np.sqrt(v)": np.sqrt,
    "np.array([v])": lambda v: np.array([v]),
    "pd.Series([v])": lambda v: pd.Series([v]),
    "assign(m=v)": lambda v: pd.DataFrame({"x": [1, 2]}).assign(m=v)["m"],
    "Series > v": lambda v: pd.Series([1, 2_000_000]) > v,
    "json.dumps": json.dumps,
    "sum([v, v])": lambda v: sum([v, v]),
    "hash": lambda v: {v: 1}[v],
    "isinstance": lambda v: isinstance(v, int | float),
    "range(int(v))": lambda v: len(range(int(v))),
    "max with a plain number": lambda v: max([v, 10**9]),
    "divmod": lambda v: divmod(v, 7),
}


@NUMBERS
@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_numbers_act_as_plain_numbers(make, check):
    """The result and its type (for arrays the dtype) are those of the plain number: no error bar survives."""
    got, wanted = check(make()), check(make().value)
    assert type(got) is type(wanted)
    if isinstance(wanted, np.ndarray | pd.Series):
        assert got.dtype == wanted.dtype
        got, wanted = got.tolist(), wanted.tolist()
        assert [type(x) for x in got] == [type(x) for x in wanted]
    assert got == wanted


@NUMBERS
def test_numbers_sort(make):
    assert sorted([make(), make().value - 1])[0] == make().value - 1


@pytest.mark.parametrize(
    "check",
    [
        lambda v: v + "",
        lambda v: v.strip(),
        lambda v: v[:],
        lambda v: f"{v:>5}",
        lambda v: f"{v}",
        str,
        json.dumps,
        lambda v: {v: 1}[str(v)],
        lambda v: pd.Series([v, "x"]).dtype,
        lambda v: v == "ICU",
        lambda v: "".join([v]),
    ],
)
def test_text_acts_as_plain_text(check):
    got, wanted = check(release("ICU")), check("ICU")
    assert type(got) is type(wanted)
    assert got == wanted


def test_objects_do_not_deceive():
    assert not release(False)
    assert release(True)
    assert release(pd.Timestamp("2013")) == pd.Timestamp("2013")
    assert release(pd.Timestamp("2013")) == release(pd.Timestamp("2013"))
    assert release(pd.Timestamp("2013")) != pd.Timestamp("2014")
    assert {release(("a", 1)): 5}[("a", 1)] == 5
    assert str(release(decimal.Decimal("1.50"))) == "1.50"
    assert f"{release(pd.Timestamp('2013-01-31')):%d.%m.%Y}" == "31.01.2013"


# Vectors are pandas objects -------------------------------------------------------------------------------


def _itruediv(v):
    v /= v.sum()
    return v


def _iadd(v):
    v += 1
    return v


DERIVED = {
    "v / v.sum()": lambda v: v / v.sum(),
    "v + 1": lambda v: v + 1,
    "v /= v.sum()": _itruediv,
    "v += 1": _iadd,
    "head": lambda v: v.head(2),
    "v[mask]": lambda v: v[v > 1],
    "iloc": lambda v: v.iloc[:2],
    "loc": lambda v: v.loc[["a"]],
    "round": lambda v: v.round(),
    "np.log": np.log,
    "copy": lambda v: v.copy(),
    "sort_index": lambda v: v.sort_index(),
    "reset_index": lambda v: v.reset_index(drop=True),
    "reindex": lambda v: v.reindex(["a", "z"]),
    "astype": lambda v: v.astype(float),
    "where": lambda v: v.where(v > 1),
    "cumsum": lambda v: v.cumsum(),
    "clip": lambda v: v.clip(0, 5),
    "rename": lambda v: v.rename({"a": "A"}),
    "map": lambda v: v.map(lambda x: x),
    "groupby": lambda v: v.groupby(level=0).sum(),
    "concat rows": lambda v: pd.concat([v, v]),
    "concat columns": lambda v: pd.concat([v, v], axis=1),
    "describe": lambda v: v.describe(),
    "unary minus": operator.neg,
}


@VECTORS
@pytest.mark.parametrize("derive", DERIVED.values(), ids=DERIVED)
def test_derived_vectors_are_plain(make, derive):
    made = make()
    got, wanted = derive(made), derive(made.value)
    assert type(got) is type(wanted)
    assert type(got) in (pd.Series, pd.DataFrame)
    assert got.equals(wanted)
    assert got.attrs == {}
    assert not hasattr(got, "_provenance")
    assert make().value.equals(made.value)


def test_series_to_frame_and_frame_to_series_are_plain():
    series, frame = a_series(), a_frame()
    assert type(series.to_frame()) is pd.DataFrame
    assert type(series.reset_index()) is pd.DataFrame
    assert type(pd.DataFrame({"n": series})) is pd.DataFrame
    assert type(frame["x"]) is pd.Series
    assert type(frame.loc["a"]) is pd.Series
    assert type(frame.sum()) is pd.Series
    assert type(frame.T) is pd.DataFrame
    assert (series["a"], series.sum(), series.name, series.index.name) == (10, 60, "n", "ward")


@VECTORS
def test_attrs_are_empty_and_metadata_is_pandas_own(make):
    made = make()
    assert made.attrs == {}
    assert made.value.attrs == {}
    assert made.table().attrs == {}
    assert type(made)._metadata == type(made.value)._metadata


def test_attrs_of_the_answer_are_dropped():
    series = pd.Series([1, 2])
    series.attrs["pandas_dp"] = "session-id"
    made = release(series, Additive(NOISE))
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["pandas_dp"] = "session-id"
    for vector in (made, release(frame)):
        assert vector.attrs == vector.value.attrs == vector.table().attrs == {}
        assert b"session-id" not in pickle.dumps(vector)
    assert series.attrs  # the caller's own object is left alone


def test_changed_in_place_shows_no_error_bar():
    made = a_series()
    made["a"] = 99
    assert made["a"] == 99
    assert repr(made) == repr(pd.Series(made))
    assert made._repr_html_() is None
    assert made.value["a"] == 10
    assert made.table()["value"].tolist() == [10, 20, 30]
    for copied in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert type(copied) is pd.Series
        assert copied["a"] == 99
    named = a_series()
    named.name = "other"
    assert pickle.loads(pickle.dumps(named)).name == "other"
    frame = a_frame()
    frame.loc["a", "x"] = 99
    assert "epsilon" not in repr(frame)
    assert "epsilon" not in frame._repr_html_()
    frame = a_frame()
    frame.drop(columns="x", inplace=True)
    assert repr(frame) == repr(pd.DataFrame(frame))


def test_what_is_handed_out_is_not_shared():
    extra = pd.Series([1, 2, 3], name="size")
    made = a_series(extras=(extra,))
    made.value["a"] = 99
    made.interval().loc["a", "lower"] = 99
    table = made.table()
    table.loc["a"] = 99
    assert made.value["a"] == 10
    assert made.interval().loc["a", "lower"] == -140
    assert made.table().loc["a"].tolist() == [10, -140, 160, 1]
    assert extra.tolist() == [1, 2, 3]


# Copies and pickles keep everything -----------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize(
    "duplicate",
    [lambda r: pickle.loads(pickle.dumps(r)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deep"],
)
def test_duplicates_keep_everything(make, duplicate):
    made = make()
    twin = duplicate(made)
    assert type(twin) is type(made)
    assert same(twin.value, made.value)
    assert repr(twin) == repr(made)
    assert twin.to_json() == made.to_json()
    assert twin.table().equals(made.table())
    assert twin.unit == made.unit
    assert twin.query == made.query


def test_extras_and_assumption_survive_a_pickle():
    made = a_series(extras=(pd.Series([1, 2, 3], name="size"),), assumes="sensitivity 3")
    twin = pickle.loads(pickle.dumps(made))
    assert twin.assumes == "sensitivity 3"
    assert twin.table()["size"].tolist() == [1, 2, 3]


# Intervals and tables -------------------------------------------------------------------------------------


def test_intervals_of_scalars():
    assert an_int().interval() == Interval(48063, 48363, 0.95)
    low, high, level = a_float().interval(0.5)
    assert high - 1234.56 == pytest.approx(3.4)
    assert 1234.56 - low == pytest.approx(3.4)
    assert level == 0.5
    assert release("ICU", SCORES).interval(0.9) == SCORES.at(0.9)
    assert release(1.5, RANKS).interval() == RANKS.at(0.95)
    assert release(1.5).interval() is None
    assert isinstance(a_date().interval().lower, pd.Timestamp)


def test_intervals_of_vectors():
    known = a_series().interval()
    assert known.to_dict("list") == {"lower": [-140, -130, -120], "upper": [160, 170, 180]}
    assert known.index.equals(a_series().index)
    assert type(known) is pd.DataFrame
    assert release(pd.Series([1.5]), RANKS).interval() == RANKS.at(0.95)
    assert release(pd.Series([1.5])).interval() is None
    frame = a_frame().interval()
    assert frame.columns.tolist() == [("x", "lower"), ("x", "upper"), ("n", "lower"), ("n", "upper")]
    assert frame[("n", "upper")].tolist() == [153, 154]


@pytest.mark.parametrize("level", [0, 1, -1, 95, float("nan")])
def test_level_must_be_a_probability(level):
    for made in (an_int(), a_series(), release(1.5), release("ICU", SCORES)):
        with pytest.raises(ArgumentValueError, match=r"level=0\.95"):
            made.interval(level)


def test_tables():
    assert an_int().table().to_dict("list") == {"value": [48213], "lower": [48063], "upper": [48363]}
    assert release("ICU", SCORES).table().to_dict("list") == {"value": ["ICU"]}
    assert release(("a", 1)).table().to_dict("list") == {"value": [("a", 1)]}
    size = pd.Series([100, 200, 300], name="size")  # in the order of the vector, whatever its own index
    table = a_series(extras=(size,)).table(0.5)
    assert table.columns.tolist() == ["value", "lower", "upper", "size"]
    assert table.loc["b"].tolist() == [20, -14, 54, 200]
    assert table.index.name == "ward"
    ranks = release(pd.Series([1.5, 2.5]), RANKS, extras=(pd.Series([3, 4], name="size"),)).table()
    assert ranks.columns.tolist() == ["value", "size"]
    frame = a_frame().table()
    assert frame[("x", "value")].tolist() == [1.5, 2.5]
    assert frame[("x", "lower")].tolist() == [-148.5, -147.5]
    assert release(pd.DataFrame({"a": ["x"]})).table().equals(pd.DataFrame({"a": ["x"]}))


def test_tables_with_repeated_labels():
    series = pd.Series([1, 2], index=["a", "a"])
    assert release(series, Additive(NOISE)).table()["upper"].tolist() == [151, 152]
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert release(frame, Additive(NOISE)).table().shape == (1, 6)
    deep = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    assert release(deep, Additive(NOISE)).table().columns.tolist()[1] == ("a", "b", "lower")


# Words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (an_int, "48,210 ± 150 (95 %), epsilon 0.2"),
        (a_float, "1,235 ± 15 (95 %), epsilon 0.2"),
        (lambda: release(7, NoError(), spent="nothing"), "7 (exact), nothing spent"),
        (lambda: release(37.0, RANKS), "37 (its rank is within 280 of the wanted one, 95 %), epsilon 0.2"),
        (lambda: release("ICU", SCORES), "'ICU' (its count is within 20 of the largest, 95 %), epsilon 0.2"),
        (lambda: release(1234.5678), "1,234.57 (no interval known), epsilon 0.2"),
        (lambda: release(True), "True (no interval known), epsilon 0.2"),
        (lambda: release(3, Additive(DiscreteLaplace(Fraction(1)))), "3 ± 3 (95 %), epsilon 0.2"),
        (lambda: release(3, Additive(DiscreteLaplace(Fraction(1, 99)))), "3 ± 0 (95 %), epsilon 0.2"),
        (
            lambda: release(12.3456, Additive(NOISE, Fraction(1, 10**5)), spent="epsilon=0.2, delta=0.1"),
            "12.3456 ± 0.0015 (95 %), epsilon 0.2, delta 0.1",
        ),
        (lambda: release(0.001, Additive(NOISE), lineage="vouched"), "0 ± 150 (95 %), epsilon 0.2, vouched"),
        (lambda: release(5, assumes="L1 = 3"), "5 (no interval known), epsilon 0.2, assumes L1 = 3"),
    ],
)
def test_repr_of_scalars(made, text):
    assert repr(made()) == text


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (38.441, (37.849, 39.051), "38.44 [37.84, 39.06]"),
        (0.05, (0.0, 0.123), "0.050 [0.000, 0.123]"),
        (1e20, (0.9e20, 1.1e20), "1e+20 [9e+19, 1.1e+20]"),
        (2.5, (2.5, 2.5), "2.5 [2.5, 2.5]"),
        (-0.001, (-90.0, 90.0), "0 [-90, 90]"),
    ],
)
def test_digits_follow_the_noise_and_ends_round_outward(value, ends, text):
    assert describe(value, Interval(*ends, 0.95), None) == f"{text} (95 %)"


def test_repr_of_dates_and_durations():
    day = pd.Timestamp("2013-03-05 10:22:31", tz="Europe/Berlin")
    shown = {
        "30 days": "2013-03-05 [2013-02-03, 2013-04-04]",
        "2 h": "2013-03-05 10:22+01:00 [2013-03-05 08:22+01:00, 2013-03-05 12:22+01:00]",
    }
    for half, text in shown.items():
        ends = (day - pd.Timedelta(half), day + pd.Timedelta(half))
        assert describe(day, Interval(*ends, 0.95), None) == f"{text} (95 %)"
    assert repr(EXAMPLES["duration"]()) == "1.500 ± 0.042 h (95 %), epsilon 0.2"


def test_repr_of_vectors():
    lines = repr(a_series()).splitlines()
    assert lines[0].split() == ["value", "lower", "upper"]
    assert lines[2].split() == ["a", "10", "-140", "160"]
    assert lines[-1] == "each interval 95 %, epsilon 0.2, discrete Laplace"
    assert repr(release(pd.Series([1]), NoError(), spent="nothing")).endswith(
        "exact, nothing spent, discrete Laplace"
    )
    assert "each: its rank is within 280 of the wanted one (95 %), epsilon" in repr(
        release(pd.Series([1]), RANKS)
    )
    assert "no interval known, epsilon 0.2" in repr(release(pd.Series([1.5])))
    assert len(repr(release(pd.Series(range(10_000)), Additive(NOISE)))) < 10_000


@EVERY
def test_html_is_there(make):
    html = make()._repr_html_()
    assert html.startswith("<div>")
    assert "epsilon 0.2" in html
    assert "a note" in html


def test_html_escapes_everything():
    evil = "<script>alert(1)</script>"
    index = pd.Index([evil, "b"], name=f"{evil}index")
    series = pd.Series([evil, "x"], index=index, name=evil)
    releases = [
        release(evil, SCORES, notes=(evil,), assumes=evil, mechanism=evil),
        release((evil, 1)),
        release(series, notes=(evil,)),
        release(pd.Series([1, 2], index=index), Additive(NOISE), extras=(pd.Series([evil] * 2, name=evil),)),
        release(series.to_frame(), unit=PrivacyUnit(evil, 2)),
        release(5, query=Query(f"mean('{evil}')", Count(), (), Price(Fraction(1)))),
        release(
            pd.Series([1, 2], index=pd.MultiIndex.from_tuples([(evil, 1), ("b", 2)], names=[evil, None]))
        ),
    ]
    for made in releases:
        html = made._repr_html_()
        assert "<script" not in html
        assert "&lt;script" in html


# JSON -----------------------------------------------------------------------------------------------------


@EVERY
def test_json_is_strict_and_complete(make):
    record = json.loads(make().to_json(), parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))
    assert record["price"] == {"spent": "epsilon 0.2", "epsilon": 0.2, "delta": 0.0, "rho": None}
    assert record["unit"] == {"column": "pid", "rows": 3, "groups": 2, "rows_per_group": 2}
    assert record["neighbors"] == "replace_one"
    assert record["lineage"] == "source"
    assert record["mechanism"] == "discrete Laplace"
    assert record["query"] == "count() at epsilon=0.2"
    assert record["notes"] == ["a note"]


def test_json_of_values_and_intervals():
    def parts(made: Release):
        record = json.loads(made.to_json())
        return record["value"], record["interval"]

    assert parts(an_int()) == (48213, {"level": 0.95, "lower": 48063, "upper": 48363})
    assert parts(release("ICU", SCORES))[1].keys() == {"level", "score_within"}
    assert parts(release(1.5, RANKS))[1].keys() == {"level", "rank_within"}
    assert parts(release(float("inf"))) == (None, None)
    date, ends = parts(a_date())
    assert date == "2018-03-28T12:00:00"
    assert ends["lower"] < date < ends["upper"]
    assert parts(EXAMPLES["duration"]())[0] == "P0DT1H30M0S"
    bins = pd.IntervalIndex.from_breaks([0, 10, 20], closed="left")
    value, ends = parts(release(pd.Series([1, 2], index=bins, name="n"), Additive(NOISE)))
    assert value == {"index": ["[0, 10)", "[10, 20)"], "name": "n", "values": [1, 2]}
    assert ends["columns"] == ["lower", "upper"]
    assert ends["values"] == [[-149, -148], [151, 152]]
    stamps = pd.Series(
        pd.to_datetime(["2013-01-31", None]), index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    )
    assert parts(release(stamps))[0] == {
        "index": [["a", 1], ["b", 2]],
        "name": None,
        "values": ["2013-01-31T00:00:00", None],
    }


def test_json_has_the_extras():
    extras = (pd.Series([1, 2, 3], name="size"), pd.Series([True, False, True], name="enough_rows"))
    assert json.loads(a_series(extras=extras).to_json())["extras"] == {
        "size": [1, 2, 3],
        "enough_rows": [True, False, True],
    }


# Plots ----------------------------------------------------------------------------------------------------


@pytest.fixture
def figures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def drawn(ax) -> list[tuple[float, float]]:
    """Lower and upper ends of the error bars, after the figure was rendered."""
    ax.figure.canvas.draw()
    segments = [line for collection in ax.collections for line in collection.get_segments()]
    return [(line[0][1], line[1][1]) for line in segments]


def test_plot_of_a_series(figures):
    ax = a_series().plot()
    assert [bar.get_height() for bar in ax.patches] == [10, 20, 30]
    assert drawn(ax) == [(-140, 160), (-130, 170), (-120, 180)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b", "c"]
    assert "epsilon 0.2" in ax.get_title()
    assert drawn(a_series().plot(level=0.5))[0] == (-24, 44)


def test_plot_into_given_axes(figures):
    _, axes = figures.subplots(1, 2)
    assert a_series().plot(axes[1]) is axes[1]
    assert not axes[0].patches


def test_plot_of_scalars(figures):
    ax = an_int().plot()
    assert drawn(ax) == [(48063, 48363)]
    assert ax.lines[0].get_ydata().tolist() == [48213]
    assert drawn(release(1.5).plot()) == []
    assert len(drawn(a_date().plot())) == 1
    ax = EXAMPLES["duration"]().plot()
    assert ax.lines[0].get_ydata().tolist() == [1.5]
    assert "(h)" in ax.get_ylabel()


def test_plot_of_a_table_and_of_dates(figures):
    ax = a_frame().plot()
    assert len(ax.patches) == len(drawn(ax)) == 4
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "n"]
    days = pd.Series(pd.to_datetime(["2013-01-31", "2013-02-28"]).tz_localize("Europe/Berlin"))
    error = Additive(NOISE, Fraction(10**9 * 3600), Kind("datetime", "Europe/Berlin"))
    assert len(drawn(release(days, error).plot())) == 2
    assert len(release(pd.Series([1.5, 2.5]), RANKS).plot().patches) == 2


def test_plot_takes_keys_literally(figures):
    keys = ["$x_", "a$b$", "$\\frac{$", "_hidden"]
    ax = release(pd.Series([1, 2, 3, 4], index=keys, name="$n^"), Additive(NOISE)).plot()
    assert len(drawn(ax)) == 4  # rendering would fail on a broken formula


def test_plot_of_many_bars_labels_some(figures):
    ax = release(pd.Series(range(500)), Additive(NOISE)).plot()
    assert len(ax.get_xticks()) <= 30
    assert len(drawn(ax)) == 500


@pytest.mark.parametrize("make", [EXAMPLES["text"], EXAMPLES["nothing"], lambda: release(pd.Series(["x"]))])
def test_plot_refuses_text(make):
    with pytest.raises(ArgumentTypeError, match=r"\.table\(\)"):
        make().plot()


def test_plot_without_matplotlib_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'pandas-dp\[plot\]'") as caught:
        an_int().plot()
    assert caught.value.__suppress_context__
