"""What a fresh reader found: order of sets, arrays in texts, scalars in queries, lines that fail because of a cell."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, people, protected, refused

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, DataFileError, PandasDPError
from pandas_dp.facts.call import Call, argument_text, shown

LEVELS = [0.25, 0.5]
ARRAYS = {
    "Series": pd.Series,
    "Index": pd.Index,
    "array": np.array,
    "extension array": pd.array,
    "list": list,
}


@pytest.mark.parametrize("made", ["Series", "Index", "array"])
def test_levels_in_an_array_are_the_question_that_a_list_asks(made):
    df = protected()
    listed = df.dp(epsilon=1).quantile("age", LEVELS, bounds=(0, 100))
    again = df.dp(epsilon=1).quantile("age", ARRAYS[made](LEVELS), bounds=(0, 100))
    assert str(again.query) == str(listed.query) == "quantile('age', bounds=(0, 100), q=[0.25, 0.5])"
    assert again.equals(listed)
    assert df.dp.session.spent.epsilon == 1
    lines = [line for line in again.to_csv().splitlines() if line.startswith("#")]
    assert "# quantile('age', bounds=(0, 100), q=[0.25, 0.5])" in lines


def test_two_questions_have_two_texts():
    df = protected()
    levels = [round(place / 101, 4) for place in range(1, 100)]
    others = [*levels[:50], 0.5001, *levels[51:]]
    told = {str(df.dp(epsilon=0.1).quantile("age", pd.Series(q), bounds=(0, 100)).query) for q in (levels, others)}
    assert len(told) == 2


@pytest.mark.parametrize("made", ARRAYS)
def test_no_argument_is_written_as_an_array_shows_itself(made):
    value = ARRAYS[made](LEVELS)
    assert argument_text(value) == shown(value) == "[0.25, 0.5]"
    assert Call("quantile", (value,), {}).key == Call("quantile", (LEVELS,), {}).key


UNORDERED = {
    "keys": (lambda d: d.value_counts("sex", keys={"f", "m"}), r"list what it holds, keys="),
    "keys of columns": (lambda d: d.groupby("sex", keys={"sex": {"f", "m"}}).size(), r": list what it holds"),
    "frozen": (lambda d: d.value_counts("sex", keys=frozenset("fm")), r"list what it holds, keys="),
    "view": (lambda d: d.value_counts("sex", keys={"f": 1, "m": 2}.keys()), r"list what it holds, keys="),
    "values": (lambda d: d.value_counts("sex", keys={1: "f", 2: "m"}.values()), r"list what it holds, keys="),
    "bins": (lambda d: d.histogram("age", bins={0, 50, 100}), r"list what it holds, bins="),
    "levels": (lambda d: d.quantile("age", {0.5, 0.2}, bounds=(0, 100)), r"list what it holds, q="),
    "functions": (lambda d: d.agg({"age": {"mean", "sum"}}, bounds={"age": (0, 100)}), r": list what it holds"),
    "columns": (lambda d: d.drop({"age", "sex"}).count(), r"list what it holds, columns="),
    "prices": (lambda d: d.best_price("age", prices={1, 2}), r"list what it holds, prices="),
    "candidates": (lambda d: d.select({1, 2}, score="age >= candidate", cap=1), r"list what it holds, candidates="),
    "domain": (lambda d: d.oracle("pmw", domain={"sex": {"f", "m"}}), r": list what it holds"),
}


@pytest.mark.parametrize("name", UNORDERED)
def test_what_has_no_order_is_refused_where_a_list_is_wanted(name, monkeypatch):
    ask, line = UNORDERED[name]
    df = protected()
    with refused(monkeypatch, df, ArgumentTypeError, line):
        ask(df.dp(epsilon=1))
    with pytest.raises(ArgumentTypeError, match=line):
        ask(pandas_dp.query(epsilon=1))


def test_schemas_and_partitions_take_lists_too():
    df = protected()
    with pytest.raises(ArgumentTypeError, match=r"list what it holds, keys="):
        df.dp.partition("sex", {"f", "m"}, epsilon=1)
    with pytest.raises(ArgumentTypeError, match=r"list what it holds, keys="):
        pandas_dp.Schema({"sex": {"keys": {"f", "m"}}})


@pytest.mark.slow
def test_a_set_of_constants_is_one_question_in_every_process():
    """Where no order matters: it is refused nowhere, and asks the same."""
    code = (
        "import pandas as pd, pandas_dp; df = pd.DataFrame({'s': list('abcdef')}); df.dp.protect(epsilon=9)\n"
        "print(df.dp(epsilon=1).filter(lambda d: d.s.isin({'a', 'b', 'c', 'd', 'e'})).count().query.steps)"
    )
    told = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(told) == 1


MEAN = np.float64(2.4166666666666665)
WRITTEN = {
    "expression": lambda: pandas_dp.query(epsilon=1).filter(pd.col("age") > MEAN),
    "method of an expression": lambda: pandas_dp.query(epsilon=1).filter(pd.col("age").isin([MEAN])),
    "expression by name": lambda: pandas_dp.query(epsilon=1).assign(double=pd.col("age") * MEAN),
    "after a price": lambda: pandas_dp.query(epsilon=1).query("age > 1").filter(pd.col("age").between(0, MEAN)),
    "price": lambda: pandas_dp.Query.from_dict({"price": {"epsilon": MEAN}, "calls": [{"call": "count"}]}),
    "confidence": lambda: pandas_dp.Query.from_dict(
        {"price": {"within": 3, "confidence": np.float64(0.9)}, "calls": [{"call": "count"}]}
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_no_scalar_of_numpy_is_written_into_a_query(name):
    with pytest.raises(ArgumentTypeError, match="NumPy scalar") as error:
        WRITTEN[name]()
    assert "2.41" not in str(error.value)


def test_expressions_of_any_column_are_written_as_before():
    query = pandas_dp.query(epsilon=1).filter((pd.col("no such") > 3) & pd.col("other").str.startswith("a")).count()
    assert query == pandas_dp.query(epsilon=1).filter(query._calls[0].args[0]).count()


@pytest.mark.parametrize(
    ("dtype", "cells", "typed"),
    [("int64", [1, None], "Int64"), ("uint8", [1.0, None], "UInt8"), ("bool", [True, None], "boolean")],
)
def test_the_dtype_that_a_schema_advises_holds_missing_cells(dtype, cells, typed):
    df = pd.DataFrame({"age": cells})
    with pytest.raises(ArgumentTypeError) as error:
        df.dp.protect(epsilon=1, name=fresh(), schema={"age": {"dtype": dtype}})
    line = str(error.value).split(": ", 2)[2].partition(" before ")[0]
    assert line == f"df['age'] = df['age'].astype('{typed}')"
    exec(line, {"df": df})
    df.dp.protect(epsilon=1, name=fresh(), schema={"age": {"dtype": dtype}})


ADDED = {
    "count": lambda d: d.count("new"),
    "query": lambda d: d.query("new > 2"),
    "eval": lambda d: d.eval("x = new + 1"),
    "filter": lambda d: d.filter(lambda t: t.new > 2),
    "expression": lambda d: d.filter(pd.col("new") > 2),
    "dropna": lambda d: d.dropna("new"),
    "fillna": lambda d: d.fillna({"new": 1}),
    "rename": lambda d: d.rename({"new": "x"}),
    "score": lambda d: d.select([1], score="new >= candidate", cap=1),
}
ADDED_LATER = (
    r"'new' was put into this frame after it was protected, so the session does not have it: make it by (df\.dp|d)\."
)


@pytest.mark.parametrize("name", ADDED)
def test_a_column_that_was_added_later_is_explained_everywhere(name):
    df = protected()
    df["new"] = 1
    for asked in (df.dp(epsilon=1), df.dp.preview(epsilon=1)) + ((df.dp,) if name not in ("count", "score") else ()):
        with pytest.raises(ArgumentValueError) as error:
            ADDED[name](asked)
        assert re.match(ADDED_LATER, str(error.value))


def test_a_column_that_a_step_left_out_was_not_added_later():
    df = protected()
    for ask in (lambda d: d.query("age > 1"), lambda d: d.count("age")):
        with pytest.raises(ArgumentValueError, match="no column"):
            ask(df.dp(epsilon=1).drop("age"))


@pytest.mark.parametrize("name", ["visits\ud800", "\udfff"])
def test_half_a_character_is_no_name(name):
    df = people()
    with pytest.raises(ArgumentValueError, match="without invisible characters"):
        df.dp.protect(epsilon=1, name=name)
    df.dp.protect(epsilon=1, name=fresh())
    with pytest.raises(ArgumentValueError, match=r"invisible.*, name='nightly\w*'") as error:
        df.dp.allot(f"nightly{name}", epsilon=0.5)
    df.dp.allot(str(error.value).rpartition("'")[0].rpartition("'")[2], epsilon=0.5)


def test_files_that_cannot_be_written_are_refused_in_own_words(tmp_path):
    df = protected()
    answer, place = df.dp(epsilon=1).count(), tmp_path / "nowhere" / "out.html"
    for write in (answer.to_csv, df.dp.session.report):
        with pytest.raises(DataFileError) as error:
            write(place)
        assert isinstance(error.value, PandasDPError)
        assert isinstance(error.value, OSError)
        assert (
            str(error.value)
            == f"path: '{place}' cannot be written (No such file or directory); a file that was there is unchanged"
        )


def test_what_has_no_length_says_so_as_python_does():
    df = protected()
    with pytest.raises(TypeError, match="has no len"):
        len(df.dp.session)
    with pytest.raises(TypeError, match="not callable"):
        df.dp.session()


def test_answers_in_files_are_read_as_they_were():
    answer = protected().dp(epsilon=1).quantile("age", pd.Series(LEVELS), bounds=(0, 100))
    assert pd.read_csv(io.StringIO(answer.to_csv()), comment="#", index_col=0).index.tolist() == LEVELS
