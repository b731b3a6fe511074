"""What is looked at before a charge, what a kept question was made for, and labels and cells that Dask looks at by itself."""

from __future__ import annotations

import itertools
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from dateutil import tz
from support.cells import objects
from support.frames import fresh, protected, refused

import pandas_dp
import pandas_dp.dask
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.tables.dask_chunks import Partitions
from pandas_dp.tables.protected import kinds_of
from tests.support import steps

SURE = 10**5


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    """Tasks are done in this thread, one after the other."""
    with dask.config.set(scheduler="sync"):
        yield


class Seen:
    """A cell that notes whenever it is looked at."""

    looks = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        Seen.looks += 1
        return isinstance(other, Seen) and other.text == self.text

    def __hash__(self) -> int:
        Seen.looks += 1
        return hash(self.text)

    def __str__(self) -> str:
        Seen.looks += 1
        return self.text

    __repr__ = __str__

    def __reduce__(self) -> Any:
        Seen.looks += 1
        return Seen, (self.text,)


# --- a dry run looks at no category


def listed(*cells: Any) -> pd.Series[Any]:
    """A column of categories, of which each is in a row."""
    return pd.Series(pd.Categorical.from_codes(range(len(cells)), pd.Index(objects(*cells), dtype=object)))


DRY: dict[str, Callable[[Any], Any]] = {
    "query": lambda d: d.query("c == 'a'"),
    "isin": lambda d: d.filter(lambda t: t.c.isin(["a", 1])),
    "two columns": lambda d: d.filter(lambda t: t.c == t.e),
    "assign": lambda d: d.assign(z=lambda t: t.c),
    "map": lambda d: d.assign(z=lambda t: t.c.map({"a": "p"})),
    "number": lambda d: d.assign(z=lambda t: t.c.astype("float64")),
    "fill": lambda d: d.fillna({"c": "none"}),
    "length": lambda d: d.assign(z=lambda t: t.c.str.len()),
    "where": lambda d: d.assign(z=lambda t: t.c.where(t.x > 1)),
    "missing": lambda d: d.dropna(["c"]),
    "rename": lambda d: d.rename({"c": "f"}),
}


@pytest.mark.parametrize("step", DRY)
def test_no_step_before_a_question_looks_at_a_category(step, monkeypatch):
    """Which categories there are follows from the rows: a hash of one, asked before the charge, tells of a row for free."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": listed(Seen("a"), "a", 1), "e": listed(1, "a", Seen("b"))})
    df = protected(frame)
    monkeypatch.setattr("pandas_dp.engines.cells.canonical", None)  # what makes the form of a category
    Seen.looks = 0
    asked = DRY[step](df.dp(epsilon=1))
    names = asked._empty().columns
    assert repr(asked.preview if hasattr(asked, "preview") else asked)
    DRY[step](df.dp.preview(epsilon=1)).count()
    assert Seen.looks == 0
    assert "x" in names


@pytest.mark.parametrize("kept", ["table", "partitions", "stream", "unprotected"])
def test_what_is_known_of_a_table_lists_no_category(kept):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "c": listed(Seen("a"), "a", 1)})
    if kept == "partitions":
        empty = Partitions.of(dd.from_pandas(frame.assign(c=listed("a", "b", 1)), npartitions=1)).empty
    elif kept == "unprotected":
        empty = frame.dp(epsilon=1)._empty()
    elif kept == "stream":
        empty = protected(frame).dp(epsilon=1).above_threshold(2)._empty
    else:
        empty = protected(frame).dp(epsilon=1)._empty()
    assert isinstance(empty["c"].dtype, pd.CategoricalDtype)
    assert list(empty["c"].cat.categories) == []


def test_listed_keys_of_a_schema_serve_categories_as_before():
    df = pd.DataFrame({"c": pd.Categorical(["a", "b", "a"] * 100, categories=["b", "a"], ordered=True)})
    df.dp.protect(epsilon=10**6, name=fresh(), schema={"c": {"keys": ["a", "b"]}})
    assert df.dp(epsilon=SURE).histogram("c").value.tolist() == [200, 100]
    assert df.dp(epsilon=SURE).query("c == 'a'").count() == 200


# --- categories of partitions


NAN = float("nan")
PARTS = {  # two cells, and how many values there are of them and x
    "nan in tuples": ((NAN, "a"), (float("nan"), "a"), 1),
    "one nan in tuples": ((NAN, "a"), (NAN, "a"), 1),
    "numbers of several classes": ((1, "a"), (True, "a"), 2),
    "equal to all": (1, type("All", (), {"__eq__": lambda a, b: True, "__hash__": lambda a: hash(1)})(), 2),
    "raises": ("a", type("No", (), {"__eq__": lambda a, b: 1 / 0, "__hash__": lambda a: hash("a")})(), 2),
    "intervals": (pd.Interval(0, 1), pd.Interval(0.0, 1.0), 2),
}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("unit", [None, "u"])
def test_no_category_of_a_partition_decides_on_what_is_raised_or_on_others(name, unit):
    told = []
    # pandas makes no list of a text and a cell that equals it, which it asks where the two fall into one place of its table:
    # of texts, whose hashes differ from process to process, one that falls elsewhere
    text = next(
        t for t in map(str, range(100)) if all(pd.Index(objects(t, c), dtype=object).is_unique for c in PARTS[name][:2])
    )
    for one, other in (("b", "c"), ("b", PARTS[name][1]), (PARTS[name][0], "c"), PARTS[name][:2]):

        def make(part: int, cells: tuple[Any, Any] = (one, other)) -> pd.DataFrame:
            column = listed(text, cells[part % 2]).array.take([0] * 20 + [1])
            return pd.DataFrame({"c": column, "u": range(part * 21, part * 21 + 21)})

        meta = pd.DataFrame({"c": pd.Categorical([]), "u": np.array([], dtype="int64")})
        ddf = dd.from_map(make, range(4), meta=meta, enforce_metadata=False)
        ddf.dp.protect(epsilon=10**6, name=fresh(), unit=unit, max_rows=1 if unit else None)
        priced = ddf.dp(epsilon=SURE)
        steps_too = int(ddf.dp.query(f"c == {text!r}").dp(epsilon=SURE).count())
        told.append([int(priced.count()), *priced.histogram("c", keys=[text]).value, steps_too])
        distinct = int(priced.nunique("c"))
    assert told == [[84, 80, 80]] * 4
    assert distinct == PARTS[name][2]


def test_a_tuple_is_missing_or_not_whatever_else_its_partition_lists():
    """A partition that came as objects, because of another one, had no tuples where one that came as categories had them."""
    cells = [("a", 1), "b", (NAN, 1)]
    kept = [
        pd.isna(Partitions.of(_categories(column)).view(frozenset("c"), {})._frame["c"]).tolist()
        for column in (listed(*cells), objects(*cells))
    ]
    assert kept == [[False, False, True]] * 2


def _categories(column: pd.Series[Any]) -> Any:
    meta = pd.DataFrame({"c": pd.Categorical([])})
    return dd.from_map(lambda _: pd.DataFrame({"c": column}), [0], meta=meta, enforce_metadata=False)


# --- labels of rows, and text that Dask makes


END = pd.DatetimeIndex(np.array(["9999-12-31T23:59:59"] * 12, dtype="M8[us]") + np.arange(12)).tz_localize("UTC")
NEAR = pd.date_range("2020-01-01", periods=12, unit="us", tz="UTC")
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
FAR = pd.DatetimeIndex(np.array(["20000-01-01"] * 12, dtype="M8[us]") + np.arange(12)).tz_localize("UTC")
LABELS = {
    "near": NEAR.tz_convert(BERLIN),
    "end": END.tz_convert(BERLIN),
    "last": NEAR[:11].append(END[:1]).tz_convert(BERLIN),
    "dateutil": FAR.tz_convert(tz.gettz("Europe/Berlin")),
    "last of dateutil": NEAR[:11].append(FAR[:1]).tz_convert(tz.gettz("Europe/Berlin")),
    "utc": FAR,
    "lists": pd.Index(objects(*[[1]] * 12), dtype=object),
    "no text": pd.Index(objects(*["a"] * 11, "\ud800"), dtype=object),
    "raises": pd.Index(objects(*["a"] * 11, type("No", (), {"__str__": lambda a: 1 / 0})()), dtype=object),
    "none": pd.Index(objects(*["a"] * 11, None), dtype=object),
}
WAYS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "parts": lambda f: _parts(f),
    "memory": lambda f: dd.from_pandas(f, npartitions=3, sort=False),
    "sorted": lambda f: dd.from_pandas(f, npartitions=3),
    "chunks": lambda f: dd.from_pandas(f, chunksize=5),
    "shuffled": lambda f: _parts(f).shuffle("s"),
    "merged": lambda f: _parts(f).merge(dd.from_pandas(pd.DataFrame({"k": range(12), "z": 1}), npartitions=2), on="k"),
    "sorted by x": lambda f: _parts(f).sort_values("x"),
    "column": lambda f: _parts(f)[["s"]].assign(x=_parts(f)["x"]),
}


def _parts(frame: pd.DataFrame) -> Any:
    return dd.from_map(lambda part: frame.iloc[part * 4 : part * 4 + 4], range(3), meta=frame.iloc[:0])


@pytest.mark.one_in(8)
@pytest.mark.parametrize("way", WAYS)
def test_no_label_of_a_row_decides_whether_a_question_of_dask_is_answered(way):
    for index in LABELS.values():
        frame = pd.DataFrame({"x": [1.0, 2.0] * 6, "s": ["a", "b"] * 6, "k": range(12)}, index=index)
        try:
            ddf = WAYS[way](frame)
        except Exception:  # Dask refuses to make it, whoever asks
            continue
        ddf.dp.protect(epsilon=10**6, name=fresh())
        priced = ddf.dp(epsilon=SURE)
        assert [int(priced.count()), int(priced.nunique("s")), int(priced.query("x > 1").count("s"))] == [12, 2, 6]


ODD = [
    "\ud800",
    b"\xff",
    {1: 2},
    [1],
    type("No", (), {"__str__": lambda a: 1 / 0})(),
    type("Array", (), {"__array__": lambda a: 1 / 0})(),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("way", ["parts", "memory", "shuffled"])
def test_no_object_decides_whether_a_question_of_dask_is_answered(way, text):
    """Dask makes text of objects by itself, which fails for some of them, and numpy asks each whether it is an array."""
    for cell in ODD:
        frame = pd.DataFrame({"x": [1.0, 2.0] * 6, "s": objects(*["a", "b"] * 5, "a", cell), "k": range(12)})
        with dask.config.set({"dataframe.convert-string": text}):
            ddf = _parts(frame).shuffle("k") if way == "shuffled" else WAYS[way](frame)
            ddf.dp.protect(epsilon=10**6, name=fresh())
            priced = ddf.dp(epsilon=SURE)
            assert [int(priced.count()), *priced.histogram("s", keys=["a", "b"]).value] == [12, 6, 5]
            assert int(ddf.dp.query("s == 'a'").dp(epsilon=SURE).count()) == 6


def test_an_object_that_fails_as_an_array_changes_its_own_block_alone():
    array = type("Array", (), {"__array__": lambda a: 1 / 0})
    told = []
    for last in (None, array()):
        df = protected(pd.DataFrame({"s": objects(*["a"] * 200, last), "x": [2.0] * 201}), epsilon=10**6)
        mean = df.dp(epsilon=10**4).sample_and_aggregate(lambda d: float(d.x.mean()), bounds=(0, 10), blocks=1)
        told.append(round(float(mean), 1))
    assert told == [2.0, 2.0]


# --- what is kept in a variable


TIMES = pd.to_datetime(["2020-01-01", "2020-02-01"] * 50)
COLUMNS: dict[str, Any] = {
    "text": ["F", "M"] * 50,
    "number": [1.0, 2.0] * 50,
    "bool": [True, False] * 50,
    "datetime": TIMES,
    "instant": TIMES.tz_localize("Europe/Berlin"),
    "timedelta": pd.to_timedelta([1, 2] * 50, unit="D"),
    "category": pd.Categorical(["F", "M"] * 50),
    "other": pd.period_range("2020", periods=100),
    "gone": None,
}
PUBLIC: dict[str, dict[str, Any]] = {
    "text": {"keys": ["F", "M"]},
    "number": {"bins": [0, 1.5, 3]},
    "bool": {"keys": [True, False]},
    "datetime": {"bins": ["2020-01-01", "2020-01-15", "2020-03-01"]},
    "instant": {"bins": ["2020-01-01", "2020-01-15", "2020-03-01"]},
    "timedelta": {"bins": [pd.Timedelta(0), pd.Timedelta(36, "h"), pd.Timedelta(4, "D")]},
    "category": {"keys": ["F", "M"]},
}
CONSTANTS: dict[str, Any] = {"text": "F", "number": 1, "bool": True, "timedelta": pd.Timedelta(1, "D"), "category": "F"}
CONSTANTS |= dict.fromkeys(("datetime", "instant"), "2020-01-15")
KEPT: dict[str, Callable[[Any, str], Callable[[], Any]]] = {
    "groups": lambda dp, kind: dp(epsilon=1).groupby("g", **PUBLIC[kind]).size,
    "column of groups": lambda dp, kind: _mean(dp(epsilon=1).groupby("g", **PUBLIC[kind])["y"]),
    "groups that are found": lambda dp, kind: dp(epsilon=1, delta=1e-6).groupby("g").size,
    "several of groups": lambda dp, kind: _several(dp(epsilon=1).groupby("g", **PUBLIC[kind])),
    "groups ahead": lambda dp, kind: dp.preview(epsilon=1).groupby("g", **PUBLIC[kind]).size,
    "filter": lambda dp, kind: dp(epsilon=1).filter(lambda d: d.g == CONSTANTS[kind]).count,
    "step": lambda dp, kind: dp(epsilon=1).assign(z=lambda d: d.g == CONSTANTS[kind])["z"].count,
    "stream": lambda dp, kind: _opens(dp(epsilon=1).filter(lambda d: d.g == CONSTANTS[kind])),
}


def _mean(groups: Any) -> Callable[[], Any]:
    return lambda: groups.mean(bounds=(0, 10))


def _several(groups: Any) -> Callable[[], Any]:
    return lambda: groups.agg({"y": ["count", "mean"]}, bounds={"y": (0, 10)})


def _opens(priced: Any) -> Callable[[], Any]:
    return lambda: priced.above_threshold(50)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("kind", PUBLIC)
def test_what_was_made_for_a_column_of_another_kind_is_refused_before_it_is_paid(kept, kind, monkeypatch):
    if kept == "groups that are found" and kind == "bool":
        kept = "groups"
    for other in COLUMNS:
        if other == kind:
            continue
        df = protected(pd.DataFrame({"g": COLUMNS[kind], "y": [1.0, 5.0] * 50}), delta=1e-4)
        name, ask = df.dp.session.name, KEPT[kept](df.dp, kind)
        if other == "gone":
            del df["g"]
        else:
            df["g"] = COLUMNS[other]
        df["more"] = 1
        protected(df, delta=1e-4, name=name)
        anew = r"column 'g' is .* now, and was .*: type it again from df\.dp"
        with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), "g" if kept == "step" else anew):
            ask()


def test_what_is_kept_is_asked_where_kinds_are_what_they_were():
    df = protected(pd.DataFrame({"g": ["F", "M"] * 50, "y": [1, 5] * 50}), epsilon=10**6)
    name, priced = df.dp.session.name, df.dp(epsilon=SURE)
    groups, filtered = priced.groupby("g", keys=["F", "M"]), priced.query("y > 1")
    stream = priced.above_threshold(40)
    df["y"], df["more"] = df["y"].astype(float), "text"
    protected(df, epsilon=10**6, name=name)
    assert groups.size().value.tolist() == [50, 50]
    assert filtered.count() == 50
    assert stream.ask("g == 'F'")
    assert priced.count("more") == 100


def test_lists_that_are_none_any_more_are_refused_before_they_are_paid(monkeypatch):
    lists = pd.array([[1], [2]] * 5, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    df = protected(pd.DataFrame({"u": range(10), "l": lists}), unit="u", max_rows=2)
    name, kept = df.dp.session.name, df.dp(epsilon=1).explode("l", max=2)
    df["l"] = pd.array([{"a": 1}] * 10, dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())])))
    df["more"] = 1
    protected(df, unit="u", max_rows=2, name=name)
    assert set(kinds_of(df)) == {"u", "l", "more"}
    with refused(monkeypatch, df, (ArgumentTypeError, ArgumentValueError), "l"):
        kept.count()


# --- lists of whole numbers


BIG = 2**53 + 1


@pytest.mark.parametrize(
    "make", [list, tuple, lambda cells: np.array(cells, dtype=object)], ids=["list", "tuple", "array"]
)
def test_whole_numbers_in_lists_are_exact(make):
    column = objects(make([BIG, None]), make([BIG, 5]), make([BIG + 1]))
    (step,) = steps.explode("l", 3, pd.DataFrame({"l": column}).iloc[:0])
    assert [cell for cell in step.apply(pd.DataFrame({"l": column}))["l"] if cell is not None] == [BIG, BIG, 5, BIG + 1]


def test_an_entry_that_pandas_rounds_is_missing_whichever_list_lacks_one(tmp_path):
    """Pandas makes arrays of floats of all lists in a file as soon as one of them lacks an entry."""
    told = []
    for more in ([], [[None]], [[1, None]]):
        path = str(tmp_path / f"{len(told)}.parquet")
        column = pa.array([[BIG, 5], [3], [], None, [BIG + 2], *more], pa.list_(pa.int64()))
        pa.parquet.write_table(pa.table({"l": column}), path)
        read = pd.read_parquet(path)
        (step,) = steps.explode("l", 3, read.iloc[:0])
        cells = step.apply(read)["l"].tolist()[:6]
        told.append([(type(cell), None if pd.isna(cell) else cell) for cell in cells])
        exact = pandas_dp.read_parquet(path)
        assert [cell for cell in step.apply(exact)["l"].tolist()[:6] if not pd.isna(cell)] == [BIG, 5, 3, BIG + 2]
    assert told[0] == told[1] == told[2]
    assert [cell for _, cell in told[0]] == [None, 5, 3, None, None, None]


def test_arrays_of_each_kind_have_entries_of_python():
    arrays = [np.array(cells) for cells in ([True, False], [1, 2], [1.5, np.inf], [2**63], [-(2**53)])]
    arrays += [np.array([1, 2], dtype=kind) for kind in ("int8", "uint64", "float16", "float32", np.longdouble)]
    (step,) = steps.explode("l", 3, pd.DataFrame({"l": objects(*arrays)}).iloc[:0])
    cells = step.apply(pd.DataFrame({"l": objects(*arrays)}))["l"].tolist()
    assert cells[:6] == [True, False, 1.0, 2.0, 1.5, np.inf]
    assert pd.isna(cells[6:8]).all()
    assert cells[8:] == [1.0, 2.0] * 5
    assert {type(cell) for cell in cells} == {bool, float}
    assert list(itertools.chain.from_iterable(a.tolist() for a in arrays[:2])) == [True, False, 1, 2]
