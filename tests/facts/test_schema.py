import datetime as dt
import re
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, Schema

TOML = """
[age]
bounds = [0, 100]
step = 1
nulls = 50

[sex]
keys = ["F", "M"]

["date of visit"]
bounds = [2013-01-01, 2014-01-01T12:30:00]
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "schema.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_toml_is_read(written):
    assert Schema.from_toml(written(TOML)) == Schema(
        {
            "age": {"bounds": (0, 100), "step": 1, "nulls": 50},
            "sex": {"keys": ["F", "M"]},
            "date of visit": {"bounds": (dt.date(2013, 1, 1), dt.datetime(2014, 1, 1, 12, 30))},
        }
    )


def test_a_schema_from_toml_is_used(written):
    df = pd.DataFrame({"age": [20, 30] * 50, "sex": ["F", "M"] * 50})
    path = written('[age]\nbounds = [0, 100]\n[sex]\nkeys = ["F", "M"]\n')
    df.dp.protect(epsilon=10**6, name="schema from toml", schema=Schema.from_toml(path))
    assert df.dp(epsilon=1000).sum("age") == pytest.approx(2500, abs=5)  # scale 0.1
    assert df.dp(epsilon=1000).value_counts("sex").index.tolist() in (["F", "M"], ["M", "F"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[age]\nbound = [0, 100]", "schema of 'age' takes bounds, keys, step, nulls, dtype, not 'bound'"),
        ("age = 3", "schema of 'age': each column takes a dict"),
        ("[age]\nbounds = 3", "bounds in a schema must be a list"),
        ("[age]\ndtype = 3", "dtype in a schema must be the name of one: {'dtype': 'int64'}"),
        ("[age", "the schema is not TOML, such as [age]"),
    ],
)
def test_what_is_no_schema_is_named(written, text, said):
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=re.escape(said)):
        Schema.from_toml(written(text))


def test_bytes_that_are_no_text_are_no_toml(tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"[\xff]")
    with pytest.raises(ArgumentValueError, match="not TOML"):
        Schema.from_toml(tmp_path / "bad.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[age]\nbounds = [0, hidden]", "; the fault is at line 2, column 14"),
        ("[hidden]\n[hidden]\n", "; the fault is at line 2, column 8"),
        ("hidden = 'hidden", "; the fault is at end of document"),
        ("a = " + "[" * 100_000, "bounds = [0, 100]"),
        ("a = " + "9" * 10_000, "bounds = [0, 100]"),
    ],
)
def test_the_place_of_a_fault_is_named_and_nothing_that_stands_there(written, text, said):
    with pytest.raises(ArgumentValueError, match=re.escape(said) + "$") as caught:
        Schema.from_toml(written(text))
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("read", [Schema.from_toml, Schema.from_arrow])
def test_files_that_cannot_be_read_are_refused(tmp_path, read):
    (tmp_path / "visits.parquet").write_text("no Parquet")
    missing = [tmp_path / "none.toml", tmp_path, "a\0b"]
    for path in missing if read == Schema.from_toml else [*missing, tmp_path / "visits.parquet"]:
        with pytest.raises(ArgumentValueError, match=r"there is no such file, (or )?it may not be opened"):
            read(path)
    for path in (None, 10**6, b"schema.toml"):
        with pytest.raises(ArgumentTypeError):
            read(path)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
ZONES = [
    ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu")
]
WHENS = st.dates() | st.datetimes() | st.datetimes(timezones=st.sampled_from(ZONES))
VALUES = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS | st.booleans() | WHENS
FACTS = st.fixed_dictionaries(
    {},
    optional={
        "bounds": st.tuples(VALUES, VALUES),
        "keys": st.lists(VALUES, max_size=4),
        "step": st.integers(1, 9),
        "nulls": VALUES,
        "dtype": TEXTS,
    },
)


@given(st.dictionaries(TEXTS, FACTS, max_size=4))
def test_toml_gives_back_what_was_written(tmp_path_factory, columns):
    schema = Schema(columns)
    path = tmp_path_factory.mktemp("toml") / "schema.toml"
    path.write_bytes(schema.to_toml().encode())
    assert Schema.from_toml(path) == Schema(
        {name: {f: in_utc(v) for f, v in facts.items()} for name, facts in columns.items()}
    )


def in_utc(value):
    """The same moment: datetimes in an hour that clocks repeat equal none of another zone, not even themselves in UTC."""
    if isinstance(value, tuple | list):
        return tuple(map(in_utc, value))
    aware = isinstance(value, dt.datetime) and value.tzinfo is not None
    return value.astimezone(dt.UTC) if aware else value


def test_a_moment_in_an_hour_that_clocks_repeat_is_written(written):
    for fold in (0, 1):
        moment = dt.datetime(1981, 10, 25, 1, tzinfo=ZoneInfo("America/Inuvik"), fold=fold)
        read = Schema.from_toml(written(Schema({"a": {"nulls": moment}}).to_toml()))
        assert read["a"].nulls == moment.astimezone(dt.UTC)


def test_numbers_and_dates_of_numpy_and_pandas_are_written(written):
    schema = Schema(
        {
            "a": {"bounds": (0, 0.5), "keys": np.array(["x", "y"])},
            "b": {"bounds": (pd.Timestamp("2013-01-01"), pd.Timestamp("2014-01-01", tz="Europe/Vienna"))},
            "c": {"keys": np.array([True, False])},
        }
    )
    read = Schema.from_toml(written(schema.to_toml()))
    assert read["a"] == schema["a"]
    assert [pd.Timestamp(end) for end in read["b"].bounds] == [pd.Timestamp(end) for end in schema["b"].bounds]
    assert read["c"].keys == (True, False)


@pytest.mark.parametrize(
    "value",
    [
        None,
        pd.NaT,
        float("nan"),
        float("inf"),
        pd.Timedelta("1h"),
        pd.Timestamp("2013-01-01 00:00:00.000000001"),
        ("a", "b"),
        1j,
        b"a",
        dt.time(1),
    ],
)
def test_toml_has_no_such_value(value):
    with pytest.raises(ArgumentTypeError, match="'age' has something else"):
        Schema({"age": {"keys": [value]}}).to_toml()


def test_toml_has_no_such_text():
    with pytest.raises(ArgumentValueError, match="surrogate"):
        Schema({"age": {"keys": ["\ud800"]}}).to_toml()
    with pytest.raises(ArgumentTypeError, match="columns named by text"):
        Schema({3: {"bounds": (0, 1)}}).to_toml()


def described():
    return pa.schema(
        [
            pa.field(
                "age",
                pa.int64(),
                metadata={"bounds": "[0, 100]", "comment": "in years", "nulls": "50", "dtype": '"int64"'},
            ),
            pa.field("sex", pa.string(), metadata={"keys": '["F", "M"]'}),
            pa.field("note", pa.string()),
        ]
    )


FROM_ARROW = Schema({"age": {"bounds": (0, 100), "nulls": 50, "dtype": "int64"}, "sex": {"keys": ["F", "M"]}})


def test_arrow_metadata_are_read():
    assert Schema.from_arrow(described()) == FROM_ARROW


def test_of_a_parquet_file_no_row_is_read(tmp_path):
    path = tmp_path / "visits.parquet"
    table = pa.table({"age": [1, 2], "sex": ["F", "M"], "note": ["", ""]}, schema=described())
    parquet.write_table(table, path, compression="none")
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[4:footer] = bytes(footer - 4)  # nothing is left of the rows
    path.write_bytes(content)
    assert Schema.from_arrow(path) == Schema.from_arrow(str(path)) == FROM_ARROW


@pytest.mark.parametrize("text", ["0, 100", "[0, NaN]", "\xff", "[" * 100_000], ids=["list", "NaN", "bytes", "deep"])
def test_metadata_that_are_no_json_are_refused(text):
    field = pa.field("age", pa.int64(), metadata={"bounds": text.encode("latin-1")})
    with pytest.raises(ArgumentValueError, match="metadata 'bounds' of the Arrow field 'age' is not JSON"):
        Schema.from_arrow(pa.schema([field]))


def test_arrow_takes_a_schema_or_a_path():
    with pytest.raises(ArgumentTypeError, match=r"from_arrow\(table.schema\)"):
        Schema.from_arrow(3)


def sample():
    return pd.DataFrame(
        {
            "age": [30, 20, 40],
            "cost": [1.5, np.inf, 0.5],
            "sex": ["M", "F", None],
            "ward": pd.Categorical(["B", "A", "B"], categories=["A", "B", "C"]),
            "day": pd.to_datetime(["2013-01-02", "2013-01-01", None]),
            "wait": pd.to_timedelta(["1h", "2h", "3h"]),
            "whole": pd.array([3, None, 5], dtype="Int64"),
            "arrow": pd.array([3.5, None, 5.5], dtype="double[pyarrow]"),
            "smokes": [True, False, True],
            "same": [1, 1, 1],
        }
    )


def test_a_public_sample_gives_keys_and_bounds():
    schema = Schema.from_public_sample(sample())
    assert schema == Schema(
        {
            "age": {"bounds": (20, 40), "dtype": "int64"},
            "cost": {"bounds": (0.5, 1.5), "dtype": "float64"},
            "sex": {"keys": ["F", "M"], "dtype": "str"},
            "ward": {"keys": ["A", "B"], "dtype": "category"},
            "day": {
                "bounds": (pd.Timestamp("2013-01-01"), pd.Timestamp("2013-01-02")),
                "dtype": str(sample().day.dtype),
            },
            "wait": {"bounds": (pd.Timedelta("1h"), pd.Timedelta("3h")), "dtype": str(sample().wait.dtype)},
            "whole": {"bounds": (3, 5), "dtype": "Int64"},
            "arrow": {"bounds": (3.5, 5.5), "dtype": "double[pyarrow]"},
        }
    )
    assert all(type(end) is int for end in schema["age"].bounds)
    df = sample()
    df.dp.protect(epsilon=1, name="schema of a sample", schema=schema)  # fits the kinds of the columns


def test_a_column_of_many_texts_has_no_keys():
    def keys(number):
        return Schema.from_public_sample(pd.DataFrame({"name": [f"n{i}" for i in range(number)]}))["name"].keys

    assert len(keys(1000)) == 1000
    assert keys(1001) is None


def test_an_empty_sample_says_nothing():
    assert list(Schema.from_public_sample(sample().iloc[:0])) == []


@pytest.mark.parametrize(
    "made",
    [lambda d: d, lambda d: d[d.age > 20], lambda d: d.head(1), lambda d: d["age"].to_frame(), lambda d: d.copy()],
)
def test_a_protected_table_is_no_public_sample(made):
    df = sample()
    df.dp.protect(epsilon=1, name="not public")
    with pytest.raises(ArgumentValueError, match="what it holds is private"):
        Schema.from_public_sample(made(df))


def test_a_sample_is_a_frame():
    with pytest.raises(ArgumentTypeError, match="takes a DataFrame"):
        Schema.from_public_sample({"age": [1]})


def test_protect_refuses_what_does_not_fit_and_costs_nothing():
    df = sample()
    with pytest.raises(
        ArgumentValueError, match=r"schema names 'agee', which is not a column of this table.*'age'.*leave it out"
    ):
        df.dp.protect(epsilon=1, name="does not fit", schema={"agee": {"bounds": (0, 100)}})
    with pytest.raises(
        ArgumentTypeError, match=r"schema of 'sex': bounds and step need numbers.*name its keys: \{'keys'"
    ):
        df.dp.protect(epsilon=1, name="does not fit", schema={"sex": {"bounds": (0, 100)}})
    assert not hasattr(df.dp, "session")
    assert pandas_dp.Schema is Schema


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ("age", "int64"),
        ("age", "int"),
        ("sex", "str"),
        ("ward", "category"),
        ("day", str(sample()["day"].dtype)),
        ("whole", "Int64"),
        ("arrow", "double[pyarrow]"),
    ],
)
def test_a_dtype_goes_by_the_names_that_pandas_reads(column, dtype):
    df = sample()
    df.dp.protect(epsilon=1, name=f"dtype {column} {dtype}", schema={column: {"dtype": dtype}})
    assert hasattr(df.dp, "session")


@pytest.mark.parametrize(
    ("column", "found", "dtype"),
    [
        ("age", "int64", "float64"),
        ("whole", "Int64", "float64"),
        ("arrow", "double[pyarrow]", "float64"),
        ("ward", "category", "str"),
        ("age", "int64", "no such dtype"),
    ],
)
def test_another_dtype_is_refused_by_name(column, found, dtype):
    df = sample()
    line = (
        f"schema of '{column}': the column has dtype {found}, not '{dtype}': df['{column}'] = df['{column}'].astype("
        f"'{dtype}') before df.dp.protect(...), or in the schema {{'dtype': '{found}'}}"
    )
    with pytest.raises(ArgumentTypeError, match=re.escape(line)):
        df.dp.protect(epsilon=1, name="another dtype", schema={column: {"dtype": dtype}})
    assert not hasattr(df.dp, "session")


def test_a_refused_dtype_of_categories_shows_none_of_them():
    df = pd.DataFrame({"ward": pd.Categorical(["secret ward"])})
    with pytest.raises(ArgumentTypeError) as refusal:
        df.dp.protect(epsilon=1, name="categories", schema={"ward": {"dtype": "str"}})
    assert "secret" not in str(refusal.value)


def test_a_sample_of_another_dtype_does_not_fit():
    schema = Schema.from_public_sample(sample())
    df = sample().astype({"age": "float64"})
    with pytest.raises(ArgumentTypeError, match="the column has dtype float64, not 'int64'"):
        df.dp.protect(epsilon=1, name="another sample", schema=schema)
