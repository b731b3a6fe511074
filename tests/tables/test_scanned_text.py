"""Text in Parquet files: however they hold it, as dictionaries or not, steps see text, and answers are those of memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.frames import fresh
from support.looks import record_looks

import pandas_dp
from pandas_dp.accessor import scan as scanning
from pandas_dp.engines import arrow
from pandas_dp.steps.changes import Step
from pandas_dp.tables import parquet

SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)
ALL = 10**6  # bytes a row for which all text counts as coded
KEYS = ["a", "b", "zürich", "nobody has it"]
TEXT = st.none() | st.sampled_from(["a", "b", "", "c", "zürich", "x" * 100])
LAYOUTS: dict[str, tuple[pa.DataType, dict[str, Any]]] = {
    "text": (pa.string(), {}),
    "long text": (pa.large_string(), {}),
    "plain pages": (pa.string(), {"use_dictionary": False}),
    "dictionary, then plain pages": (
        pa.string(),
        {"dictionary_pagesize_limit": 4, "data_page_size": 8, "write_batch_size": 1},
    ),
    "category": (pa.dictionary(pa.int8(), pa.string()), {}),
    "long category": (pa.dictionary(pa.int32(), pa.large_string()), {}),
    "old pages": (pa.string(), {"version": "1.0", "data_page_version": "1.0"}),
    "new pages": (pa.string(), {"version": "2.6", "data_page_version": "2.0"}),
    "no types of Arrow's own": (pa.string(), {"store_schema": False}),
    "shared beginnings": (pa.string(), {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}),
    "lengths apart": (pa.string(), {"use_dictionary": False, "column_encoding": {"text": "DELTA_LENGTH_BYTE_ARRAY"}}),
}
SHORT = sorted(LAYOUTS.keys() - {"long text"})
FILES = st.sampled_from([["long text"], SHORT]).flatmap(
    lambda layouts: st.lists(st.tuples(st.lists(TEXT, max_size=12), st.sampled_from(layouts)), min_size=1, max_size=3)
)
QUESTIONS = {
    "listed": lambda d: d.histogram("text", keys=KEYS, other=True),
    "listed after a filter": lambda d: d.query("n > 3").histogram("text", keys=KEYS),
    "two columns": lambda d: d.groupby(["text", "more"], keys={"text": KEYS, "more": ["m"]}).size(),
    "counted": lambda d: d.count("text"),
    "filtered": lambda d: d.query("text == 'a' or text == ''").histogram("more", keys=["m"]),
    "parts of text": lambda d: d.query("text.str.contains('c') & more == 'm'").count(),
    "replaced": lambda d: d.fillna({"text": "b"}).histogram("text", keys=KEYS),
    "renamed": lambda d: d.rename({"text": "t"}).histogram("t", keys=KEYS),
    "written": lambda d: d.eval("text = more").histogram("text", keys=["m"]),
    "grouped": lambda d: d.groupby("text", keys=KEYS)["n"].sum(bounds=(0, 30)),
    "distinct": lambda d: d.nunique("text"),
    "found": lambda d: d.unique("text"),
}


def write(path: Path, cells: list[str | None], layout: str = "text", group: int = 1000) -> Path:
    """A file of them, of a text that is the same in all rows, and of numbers."""
    held, options = LAYOUTS[layout]
    path.parent.mkdir(exist_ok=True)
    columns = {"text": pa.array(cells, held.value_type if pa.types.is_dictionary(held) else held)}
    columns |= {"more": pa.array(["m"] * len(cells), pa.string()), "n": pa.array(range(len(cells)), pa.int64())}
    if pa.types.is_dictionary(held):
        columns["text"] = columns["text"].dictionary_encode().cast(held)
    pq.write_table(pa.table(columns), path, row_group_size=group, **options)
    return path


def protected(table: Any, **terms: Any) -> Any:
    table.dp.protect(10**6, 0.5, name=fresh(), **terms)
    return table


def ask(name: str, table: Any, price: dict[str, Any], terms: dict[str, Any]) -> None:
    QUESTIONS[name](protected(table, **terms).dp(**price))
    table.dp.session.close()


FAST = ("listed", "filtered", "grouped", "found")
OF_UNITS = ("replaced", "renamed", "written")  # these change the column of units
CASES = [
    pytest.param(name, unit, marks=[] if name in FAST and unit is None else [pytest.mark.slow])
    for unit in (None, "text")
    for name in QUESTIONS
    if unit is None or name not in OF_UNITS
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "unit"), CASES)
@settings(max_examples=20)
@given(FILES, st.integers(1, 9))
def test_answers_are_those_of_memory(tmp_path_factory, name, unit, files, group):
    folder, cells = tmp_path_factory.mktemp("text"), [cell for part, _ in files for cell in part]
    for place, (part, layout) in enumerate(files):
        write(folder / f"{place}.parquet", part, layout, group)
    numbers = [number for part, _ in files for number in range(len(part))]
    frame = pd.DataFrame({"text": pd.Series(cells, dtype="str"), "more": "m", "n": numbers}).astype({"n": "int64"})
    terms = {} if unit is None else {"unit": "text", "max_rows": 40}  # all of them, so that none are drawn
    price = {"epsilon": SURE} | ({"delta": 1e-6} if name == "found" else {})
    with pytest.MonkeyPatch.context() as patch:
        looks = record_looks(patch)
        ask(name, frame.copy(), price, terms)
        exact = looks[0]
        for coded, batch, whole in ((0, 5, 300), (ALL, 5, 300), (ALL, 1 << 19, 1 << 27)):
            for constant, value in (("CODED", coded), ("BATCH", batch), ("WHOLE", whole)):
                patch.setattr(parquet, constant, value)
            ask(name, pandas_dp.scan_parquet(folder), price, terms)
            assert looks[0] == exact, coded


def frames(path: Any, columns: list[str], *steps: Step) -> list[pd.DataFrame]:
    """What is read of files after steps."""
    return list(parquet.Scan(scanning._opened(path), steps).read(columns))


def dtypes(path: Any, *names: str) -> list[Any]:
    return [frames(path, list(names))[0][name].dtype.pyarrow_dtype for name in names]


def test_text_of_few_values_comes_in_dictionaries(tmp_path):
    """By its bytes in the files: what has many values is slow to make dictionaries of."""
    n = np.arange(20_000)
    columns = {
        "few": pa.array([f"S{k}" for k in n % 50]),
        "long few": pa.array([f"S{k}" for k in n % 50], pa.large_string()),
        "category": pa.array([f"S{k}" for k in n % 50]).dictionary_encode(),
        "with.a.dot": pa.array([f"S{k}" for k in n % 3]),
        "distinct": pa.array([f"S{k}" for k in n]),
        "plain": pa.array([f"S{k}" for k in n % 50]),
        "begun alike": pa.array([f"{k:09}" for k in n]),
        "bytes": pa.array([b"x"] * n.size),
        "numbers": pa.array(n % 50),
        "missing": pa.array([None] * n.size, pa.int64()),
    }
    packed = {"plain": "PLAIN", "begun alike": "DELTA_BYTE_ARRAY"}
    dictionary = [name for name in columns if name not in packed]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path, use_dictionary=dictionary, column_encoding=packed)
    files = scanning._opened(path)
    assert files.sizes["begun alike"] == 8 * n.size  # fewer bytes than codes of few values may have
    assert files.coded == {"few", "long few", "category", "with.a.dot"}
    text = pa.dictionary(pa.int32(), pa.string())
    assert dtypes(path, "few", "category", "with.a.dot", "distinct") == [text, text, text, pa.string()]
    assert dtypes(path, "long few") == [pa.dictionary(pa.int32(), pa.large_string())]
    scan = protected(pandas_dp.scan_parquet(path))
    assert [str(scan.dtypes[name].pyarrow_dtype) for name in ("few", "long few", "category")] == [
        "string", "large_string", "string",
    ]  # fmt: skip
    for name in files.coded - {"with.a.dot"}:
        assert scan.dp(epsilon=SURE).histogram(name, keys=["S3", "S49", "S50"]).value.tolist() == [400, 400, 0]
    assert scan.dp(epsilon=SURE).histogram("begun alike", keys=["000000003"]).value.tolist() == [1]


def test_more_than_one_dictionary_holds_is_read_as_text(tmp_path, monkeypatch):
    write(tmp_path / "a.parquet", ["a", "b"] * 5000, group=10_000)
    assert scanning._opened(tmp_path).coded == {"text", "more"}
    monkeypatch.setattr(parquet, "MOST", 1000)
    assert scanning._opened(tmp_path).coded == {"more"}


@dataclass(frozen=True)
class Look(Step):
    """A step that looks at text and says of what types it was."""

    seen: list[pa.DataType]

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({"text"})

    def apply(self, frame: pd.DataFrame) -> pd.DataFrame:
        self.seen.append(frame["text"].dtype.pyarrow_dtype)
        return frame


@pytest.mark.parametrize("layout", ["text", "long text", "category", "long category", "plain pages"])
@pytest.mark.parametrize("coded", [0, ALL])
def test_steps_see_text(layout, coded, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "CODED", coded)
    monkeypatch.setattr(parquet, "BATCH", 3)
    monkeypatch.setattr(arrow, "MOST", 200)  # rows of 100 letters come in several chunks
    cells = ["a", None, "x" * 100, "x" * 100, "x" * 100, "b"]
    path = write(tmp_path / "a.parquet", cells, layout, 4)
    plain = scanning._opened(path).schema.field("text").type
    look = Look([])
    parts = frames(path, ["text"], look)
    assert set(look.seen) == {plain, *(frame["text"].dtype.pyarrow_dtype for frame in parts)} == {plain}
    assert [None if cell is pd.NA else cell for frame in parts for cell in frame["text"]] == cells


def test_functions_of_blocks_see_the_same_objects(tmp_path, monkeypatch):
    cells = ["a", None, "b", "a"] * 10
    write(tmp_path / "a.parquet", cells, group=7)
    seen: dict[int, set[Any]] = {0: set(), ALL: set()}

    def function(block: pd.DataFrame) -> float:
        seen[parquet.CODED] |= {(str(block["text"].dtype), type(cell), cell) for cell in block["text"]}
        return 0.0

    for coded in (0, ALL):
        monkeypatch.setattr(parquet, "CODED", coded)
        scan = protected(pandas_dp.scan_parquet(tmp_path))
        scan.dp(epsilon=SURE).sample_and_aggregate(function, bounds=(0, 1), blocks=1)
        scan.dp.session.close()
    assert seen[0] == seen[ALL] == {("object", str, "a"), ("object", str, "b"), ("object", type(None), None)}


@pytest.mark.parametrize("coded", [0, ALL])
def test_bytes_that_are_no_text(coded, tmp_path, monkeypatch):
    """Nobody checks that text in files is UTF-8."""
    monkeypatch.setattr(parquet, "CODED", coded)
    odd = pa.array([b"\xff", b"\xfe", b"a"] * 3)
    text = pa.Array.from_buffers(pa.string(), len(odd), odd.buffers())
    pq.write_table(pa.table({"text": text}), tmp_path / "a.parquet")
    scan = protected(pandas_dp.scan_parquet(tmp_path))
    assert scan.dp(epsilon=SURE).histogram("text", keys=["a"], other=True).value.tolist() == [3, 6]
    assert scan.dp(epsilon=SURE).nunique("text") == 3
    assert scan.dp.query("text == 'a'").dp(epsilon=SURE).count() == 3


@pytest.mark.parametrize("coded", [0, ALL])
def test_nested_columns_of_the_same_path(coded, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "CODED", coded)
    columns = {
        "text.list.element": pa.array(["a", "b", "a"]),
        "text": pa.array([["a", "b"], None, ["c"]]),
        "pid": pa.array([1, 2, 3]),
        "s.t": pa.array(["a", None, "a"]),
        "s": pa.array([{"t": "x"}] * 3),
    }
    for order in (1, -1):
        pq.write_table(pa.table(dict(list(columns.items())[::order])), tmp_path / "a.parquet")
        scan = protected(pandas_dp.scan_parquet(tmp_path), unit="pid", max_rows=4)
        some = scan.dp.explode("text", max=2)
        assert some.dp(epsilon=SURE).histogram("text", keys=["a", "b", "c"]).value.tolist() == [1, 1, 1]
        assert scan.dp(epsilon=SURE).histogram("text.list.element", keys=["a", "b"]).value.tolist() == [2, 1]
        assert scan.dp(epsilon=SURE).histogram("s.t", keys=["a", "x"]).value.tolist() == [2, 0]
        frames(tmp_path, list(columns))
        scan.dp.session.close()


@pytest.mark.parametrize("coded", [0, ALL])
def test_data_sets_keep_how_they_read(coded, tmp_path, monkeypatch):
    """Columns in the names of directories, some groups of rows of a file, options of the format."""
    monkeypatch.setattr(parquet, "CODED", coded)
    monkeypatch.setattr(parquet, "BATCH", 2)
    when = pa.array([pd.Timestamp("3000-01-01")] * 6, pa.timestamp("us"))
    for ward in ("A", "B"):
        path = tmp_path / f"ward={ward}" / "a.parquet"
        path.parent.mkdir()
        columns = {"text": ["a", "b", None, "a", "a", "b"], "when": when}
        pq.write_table(pa.table(columns), path, row_group_size=2, use_deprecated_int96_timestamps=True)
    form = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"))
    parted = ds.partitioning(pa.schema([("ward", pa.string())]), flavor="hive")
    whole = ds.dataset(tmp_path, format=form, partitioning=parted)
    some = [one.subset(row_group_ids=[0, 2]) for one in whole.get_fragments()]
    part = ds.FileSystemDataset(some, whole.schema, form, whole.filesystem)
    assert scanning._opened(part).coded == ({"text"} if coded else set())
    scan = protected(pandas_dp.scan_parquet(part))
    assert scan.dp(epsilon=SURE).histogram("text", keys=["a", "b"]).value.tolist() == [4, 4]
    both = scan.dp(epsilon=SURE).groupby(["ward", "text"], keys={"ward": ["A", "B"], "text": ["a", "b"]}).size()
    assert both.value.tolist() == [2, 2, 2, 2]
    later = scan.dp.query("when > '2900-01-01' and ward == 'A'").dp(epsilon=SURE)
    assert later.histogram("text", keys=["a", "b"]).value.tolist() == [2, 2]
