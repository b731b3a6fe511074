"""Frames that the package's readers make: dtypes follow from the file's schema, and the files are remembered."""

from __future__ import annotations

import io
import os
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from support.frames import fresh, people
from support.unread import UNREAD

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, PandasDPError
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.tables import frames, readers

CELLS = {
    pa.bool_(): True,
    pa.int8(): 1,
    pa.uint64(): 2**63,
    pa.float32(): 0.5,
    pa.string(): "a",
    pa.date32(): date(2026, 11, 29),
    pa.timestamp("us"): datetime(2026, 11, 29),
    pa.timestamp("us", "UTC"): datetime(2026, 11, 29, tzinfo=UTC),
    pa.duration("us"): timedelta(1),
    pa.decimal128(5, 2): Decimal("1.50"),
    pa.list_(pa.bool_()): [True],
}


def write(array, path):
    """One column, or a table, in the format of the name."""
    table = array if isinstance(array, pa.Table) else pa.table({"c": array})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


def read(path, where=None):
    reader = pandas_dp.read_parquet if path.suffix == ".parquet" else pandas_dp.read_feather
    return reader(path if where is None else where(path))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("held", CELLS, ids=str)
def test_no_cell_decides_on_the_kind_of_a_column(held, form, coded, tmp_path):
    if coded and pa.types.is_nested(held):
        coded = False
    kinds, dtypes = set(), set()
    for place, cells in enumerate(([CELLS[held]] * 3, [CELLS[held], None], [None, None], [])):
        array = pa.array(cells, held)
        array = array.dictionary_encode() if coded else array
        dtype = read(write(array, tmp_path / f"{place}.{form}"))["c"].dtype
        kind = kind_or_none(dtype)
        kinds.add(kind and kind.name)
        dtypes.add(str(dtype))
    assert len(kinds) == 1
    assert len(dtypes) == 1
    assert kinds != {None} or dtypes == {"object"}


@pytest.mark.parametrize("where", [str, lambda path: io.BytesIO(path.read_bytes()), lambda path: [path]])
def test_bools_are_bools_wherever_they_are_read(where, tmp_path):
    for cells in ([True, False], [True, None]):
        path = write(pa.array(cells), tmp_path / "a.parquet")
        assert read(path, where)["c"].dtype == "boolean"
        assert read(path, where)["c"].tolist() == [cell if cell is not None else pd.NA for cell in cells]
    assert pandas_dp.read_parquet(path, dtype_backend="pyarrow")["c"].dtype == pd.ArrowDtype(pa.bool_())


@pytest.mark.parametrize(
    "names",
    [pd.Index([3, 4]), pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]), pd.date_range("2026-11-29", periods=2)],
)
def test_names_are_text(names, tmp_path):
    """As in scans and on the command line: of what pandas noted nothing counts."""
    frame = pd.DataFrame([[True, 1], [None, 2]], columns=names)
    frame.to_parquet(tmp_path / "a.parquet")
    read = pandas_dp.read_parquet(tmp_path / "a.parquet")
    assert read.dtypes.tolist() == ["boolean", "Int64"]
    assert read.columns.tolist() == [str(name) for name in names]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("name", UNREAD)
def test_columns_of_which_nothing_can_be_asked_are_refused_whatever_they_hold(name, form, tmp_path):
    """What Arrow and pandas make of them may depend on a cell. What is advised reads the rest."""
    for cells in UNREAD[name]:
        try:
            path = write(pa.table({"c": cells, "v": [31, 45], "w": [1, 2]}), tmp_path / f"a.{form}")
        except (pa.ArrowNotImplementedError, OSError):  # by Parquet
            return
        for backend in ("", ", dtype_backend='pyarrow'"):
            with pytest.raises(
                ArgumentValueError, match=r"nothing can be asked of 'c', of type .*columns=\['v', 'w'\]"
            ):
                eval(f"pandas_dp.read_{form}({str(path)!r}{backend})")
            assert eval(f"pandas_dp.read_{form}({str(path)!r}{backend}, columns=['w', 'v'])")["v"].tolist() == [31, 45]
        with pytest.raises(ArgumentValueError, match=r"columns=\['v'\]"):
            getattr(pandas_dp, f"read_{form}")(path, columns=["v", "c"])
        if form == "parquet":
            assert pandas_dp.scan_parquet(path).columns.tolist() == ["v", "w"]


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_a_field_of_a_structure_is_a_column_of_a_step(form, tmp_path):
    """Also beside text that is none, which Arrow does not look for."""
    texts = pa.array([b"a", b"\xff", None], pa.binary()).view(pa.string())
    fields = pa.StructArray.from_arrays([texts, pa.array([2**53 + 1, None, 3])], ["t", "n"])
    path = write(pa.table({"s": fields, "v": [1, 2, 3]}), tmp_path / f"a.{form}")
    held = [eval(f"pandas_dp.read_{form}({str(path)!r}{backend})") for backend in ("", ", dtype_backend='pyarrow'")]
    session = held[0].dp.protect(epsilon=10**6, name=fresh())
    for frame in [*held, *([pandas_dp.scan_parquet(path)] if form == "parquet" else [])]:
        frame.dp.protect(session=session)
        for text, count in (
            ("s.struct.field('n') == 9007199254740993", 1),
            ("s.struct.field('t') == 'a'", 1),
            ("s.isna()", 0),
        ):
            assert frame.dp.query(text).dp(epsilon=1000, fresh=True).count() == count
        named = frame.dp.assign(n=lambda d: d.s.struct.field("n"))
        assert named.dp(epsilon=1000).value_counts("n", keys=[3, 2**53]).tolist() == [1, 0]


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_columns_that_are_chosen_are_there(form, tmp_path):
    """Of a structure Arrow also takes a field, and without any field it reads all."""
    read = getattr(pandas_dp, f"read_{form}")
    for words in (["a", "b"], ["a", "c", "b"]):
        parts = [pa.DictionaryArray.from_arrays(pa.array(range(len(words)), pa.int8()), pa.array(words))]
        table = pa.table({"s": pa.StructArray.from_arrays(parts, ["x"]), "age": range(len(words))})
        path = write(table, tmp_path / f"a.{form}")
        for wanted, line in (
            (["s.x"], "there is no 's.x'"),
            (["ag"], "did you mean 'age'"),
            ([], "name one, or leave it out"),
        ):
            with pytest.raises(ArgumentValueError, match=f"columns: .*{line}"):
                read(path, columns=wanted)
        with pytest.raises(ArgumentValueError, match=r"of 's', of type .* write it anew with columns of numbers"):
            read(path, columns=["s"])
    frame = pd.DataFrame(index=pd.Index(range(3), name="__index_level_0__"))
    assert len(read(write(pa.table(frame.reset_index()), tmp_path / f"b.{form}"))) == 3


@pytest.mark.parametrize("rows", [128, 129])
def test_a_schema_with_narrow_dictionaries_has_room_for_all_values(rows, tmp_path):
    words = [f"w{place}" for place in range(rows)]
    path = write(pa.array(words), tmp_path / "a.parquet")
    schema = pa.schema({"c": pa.dictionary(pa.int8(), pa.string())})
    for options in ({}, {"dtype_backend": "pyarrow"}):
        assert pandas_dp.read_parquet(path, schema=schema, **options)["c"].tolist() == words


def test_a_file_counts_once(tmp_path):
    path = write(pa.array([31]), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").symlink_to(path)
    for paths in ([path, str(path)], [path, tmp_path / "b.parquet"], tmp_path):
        with pytest.raises(ArgumentValueError, match="a file is named twice, so that its rows would count twice"):
            pandas_dp.read_parquet(paths)


def test_no_column_of_a_file_is_left_out(tmp_path):
    """Arrow takes those of the first."""
    write(pa.table({"a": [31]}), tmp_path / "0.parquet")
    write(pa.table({"a": [45], "b": [1]}), tmp_path / "1.parquet")
    with pytest.raises(ArgumentValueError, match="not all have 'b'; read them one by one, or name all columns"):
        pandas_dp.read_parquet(tmp_path)
    schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    assert pandas_dp.read_parquet(tmp_path, schema=schema)["b"].tolist() == [pd.NA, 1]


def test_no_name_of_a_directory_decides_on_a_type(tmp_path):
    """Arrow guesses from all of them: one made numbers of the others, or text."""
    told = []
    for last in ("07", "x"):
        for name in ("06", last):
            (tmp_path / last / f"ward={name}").mkdir(parents=True, exist_ok=True)
            write(pa.array([31]), tmp_path / last / f"ward={name}" / "a.parquet")
        told.append(pandas_dp.read_parquet(tmp_path / last))
    assert [frame["ward"].tolist() for frame in told] == [["06", "07"], ["06", "x"]]
    assert told[0].dtypes.tolist() == told[1].dtypes.tolist()
    with pytest.raises(ArgumentValueError, match=r"partitioning: name the types: pandas_dp\.read_parquet"):
        pandas_dp.read_parquet(tmp_path / "07", partitioning="hive")
    typed = pa.dataset.partitioning(pa.schema([("ward", pa.int32())]), flavor="hive")
    assert pandas_dp.read_parquet(tmp_path / "07", partitioning=typed)["ward"].tolist() == [6, 7]


LARGE = 1_700_000_000_000_000_001


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("where", [str, lambda path: io.BytesIO(path.read_bytes())])
@pytest.mark.parametrize("held", [pa.int64(), pa.uint64()])
def test_one_missing_integer_changes_no_other_one(form, where, held, tmp_path):
    """Pandas makes floats of all, and takes a thousand ids for five."""
    ids = [LARGE + at for at in range(1000)]
    whole = read(write(pa.array([*ids, 7], held), tmp_path / f"a.{form}"), where)["c"]
    holed = read(write(pa.array([*ids, None], held), tmp_path / f"b.{form}"), where)["c"]
    assert whole.dtype == holed.dtype == ("Int64" if held == pa.int64() else "UInt64")
    assert whole.tolist()[:-1] == holed.tolist()[:-1] == ids
    assert holed.isna().tolist() == [False] * 1000 + [True]


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_one_missing_entry_of_a_list_changes_no_other_one(form, tmp_path):
    told = []
    for place, more in enumerate(([2**53 + 1], [None])):
        lists = pa.array([[2**53 + 1]] * 200 + [more], pa.list_(pa.int64()))
        frame = read(write(lists, tmp_path / f"{place}.{form}"))
        frame["u"] = range(201)
        frame.dp.protect(epsilon=10**6, unit="u", max_rows=1, name=fresh())
        ones = frame.dp(epsilon=10**4).explode("c", max=1)
        told.append(ones.value_counts("c", keys=[2**53, 2**53 + 1]).tolist())
        blocks = frame.dp(epsilon=10**4).sample_and_aggregate(
            lambda t: float(isinstance(t["c"].iloc[0][0], float)), bounds=(0, 1), rows=200, blocks=20
        )
        assert abs(blocks - 1) < 0.01
    assert told == [[201, 0], [200, 0]]  # entries are floats, rounded by themselves


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_price_and_key_of_a_question_do_not_tell_that_a_cell_is_missing(form, tmp_path):
    told = set()
    for place, last in enumerate((50, None)):
        frame = read(write(pa.array([30, 40, last], pa.int64()), tmp_path / f"{place}.{form}"))
        frame.dp.protect(epsilon=3, name=fresh())
        told.add(frame.dp.preview(within=50).median("c", bounds=(0, None)).price)
    assert len(told) == 1


@pytest.mark.parametrize("options", [{}, {"dtype_backend": "pyarrow"}], ids=str)
def test_files_of_other_types_are_refused_whatever_they_hold(options, tmp_path):
    """Arrow makes the types of the first file of all others, if their cells fit."""
    (tmp_path / "a").mkdir()
    paths = [tmp_path / "z.parquet", tmp_path / "a" / "x.parquet"]
    pairs = [
        (pa.array([31]), [pa.array([62.0]), pa.array([62.5]), pa.array([None], pa.float64())]),
        (pa.array([1], pa.timestamp("ms")), [pa.array([held], pa.timestamp("us")) for held in (3000, 3001)]),
        (pa.array([None], pa.null()), [pa.array([True]), pa.array([None], pa.bool_())]),
        (pa.array(["a"]), [pa.array([b"a"]), pa.array([b"\xff"])]),
    ]
    for first, others in pairs:
        pq.write_table(pa.table({"c": first, "x": first}), paths[0])
        for other in others:
            pq.write_table(pa.table({"x": first, "c": other}), paths[1])
            for where in (tmp_path, paths):
                with pytest.raises(ArgumentValueError, match="this is not so for 'c': read the files one by one"):
                    pandas_dp.read_parquet(where, **options)
        pq.write_table(pa.table({"x": first, "c": first}), paths[1])
        assert len(pandas_dp.read_parquet(tmp_path, **options)) == 2 * len(first)


NOTED = {  # dtypes that pandas notes in a file, and types that the file may have by now, with cells that fit and that do not
    "int8[pyarrow]": (pa.int64(), [1, 300]),
    "Int8": (pa.float64(), [1.0, 1.5]),
    "timestamp[s][pyarrow]": (pa.timestamp("us"), [10**6, 1]),
    "date32[day][pyarrow]": (pa.string(), ["2026-11-29", "x"]),
}


@pytest.mark.parametrize("options", [{}, {"dtype_backend": "pyarrow"}], ids=str)
@pytest.mark.parametrize("labels", [[], ["c"], ["c", "k"]], ids=["column", "label", "labels"])
@pytest.mark.parametrize("noted", NOTED)
def test_what_pandas_noted_of_other_types_decides_nothing(noted, labels, options, tmp_path):
    """A file that was put together of several has the note of the first, and pandas casts to what that names."""
    held, cells = NOTED[noted]
    frame = pd.DataFrame({"c": pd.Series([None], dtype=noted), "k": [1], "v": [1]})
    note = pa.Table.from_pandas(frame.set_index(labels) if labels else frame).schema.metadata
    told = []
    for place, cell in enumerate((*cells, None)):
        path = tmp_path / f"{place}.parquet"
        table = pa.table({"c": pa.array([cell], held), "k": [1], "v": [1]}).replace_schema_metadata(note)
        pq.write_table(table, path)
        told.append(pandas_dp.read_parquet(path, **options).dtypes.astype(str).to_dict())
    assert told[1:] == told[:1] * 2


@pytest.mark.parametrize("options", [{}, {"dtype_backend": "pyarrow"}], ids=str)
@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_labels_are_columns(form, options, tmp_path):
    """Which may be days that Python has not."""
    frame = pd.DataFrame({"ward": [1], "day": [date(2026, 11, 29)], "v": [31]}).set_index(["ward", "day"])
    note = pa.Table.from_pandas(frame).schema.metadata
    for day in (5, 2_932_897):
        days = pa.array([day], pa.int32()).view(pa.date32())
        table = pa.table({"v": [45], "ward": [2], "day": days, "__index_level_2__": [1]}).replace_schema_metadata(note)
        read = getattr(pandas_dp, f"read_{form}")(write(table, tmp_path / f"a.{form}"), **options)
        assert read.columns.tolist() == ["v", "ward", "day"]
        assert read.index.equals(pd.RangeIndex(1))


def test_a_schema_that_is_typed_is_that_of_the_files(tmp_path):
    """Arrow makes its types of the cells, if they fit."""
    for cell in (1, 300):
        pq.write_table(pa.table({"age": [1, cell]}), tmp_path / "a.parquet")
        with pytest.raises(
            ArgumentValueError, match=r"the same type in all files and in schema=, and this is not so for 'age'"
        ):
            pandas_dp.read_parquet(tmp_path / "a.parquet", schema=pa.schema({"age": pa.int8()}))


def test_how_long_a_file_is_read_decides_nothing(tmp_path, monkeypatch):
    """Two seconds after it was written a file is remembered: counted to when its reading began."""
    path = next(both(tmp_path, "parquet"))
    monkeypatch.setattr(readers, "SETTLED", 3600 * 10**9)
    real, clock = readers.as_declared, readers.time.time_ns

    def slow(*given: object) -> pd.DataFrame:
        monkeypatch.setattr(readers.time, "time_ns", lambda: clock() + 10**16)
        return real(*given)

    monkeypatch.setattr(readers, "as_declared", lambda table, arrow: slow(table, arrow))
    assert frames.read_token(pandas_dp.read_parquet(path)) is None


def test_a_link_in_a_directory_of_another_name_is_another_table(tmp_path, monkeypatch):
    """Arrow reads a column from the names of directories."""
    monkeypatch.setattr(readers, "SETTLED", 0)
    (tmp_path / "A" / "country=US").mkdir(parents=True)
    (tmp_path / "B").mkdir()
    pq.write_table(pa.table({"age": [31]}), tmp_path / "A" / "country=US" / "a.parquet")
    (tmp_path / "B" / "country=DE").symlink_to(tmp_path / "A" / "country=US")
    first, second, again = (pandas_dp.read_parquet(tmp_path / name) for name in "ABA")
    assert [list(frame["country"]) for frame in (first, second)] == [["US"], ["DE"]]
    assert frames.read_token(first) == frames.read_token(again) != frames.read_token(second)


WAYS = {
    "path": lambda folder: folder / "b.parquet",
    "home": lambda folder: "~/b.parquet",
    "url": lambda folder: (folder / "b.parquet").as_uri(),
    "folder": str,
    "list": lambda folder: [str(folder / "b.parquet")],
}


@pytest.mark.parametrize("way", WAYS)
def test_files_are_remembered_however_they_are_named(way, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    path, named = tmp_path / "b.parquet", WAYS[way](tmp_path)
    people().drop(columns="city").to_parquet(path)
    first, again = (pandas_dp.read_parquet(named) for _ in range(2))
    assert frames.read_token(first) == frames.read_token(again) is not None
    session = first.dp.protect(epsilon=1, name=fresh())
    for other in (named, path, tmp_path):
        with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
            pandas_dp.read_parquet(other).dp.protect(epsilon=50, name=fresh())
    with pytest.raises(ArgumentValueError, match="already spends"):
        pandas_dp.scan_parquet(path).dp.protect(epsilon=50, name=fresh())
    (tmp_path / "c.parquet").write_bytes(path.read_bytes())
    changed = pandas_dp.read_parquet(named)
    assert (frames.read_token(changed) == frames.read_token(first)) == (way != "folder")
    os.utime(path)
    assert frames.read_token(pandas_dp.read_parquet(named)) not in (frames.read_token(first), None)


def test_what_is_not_remembered(tmp_path):
    """As the help says: open files, and text that is read in parts."""
    path = tmp_path / "a.csv"
    people()[["age"]].to_csv(path, index=False)
    with path.open() as file:
        frame = pandas_dp.read_csv(file)
    assert (frames.read_token(frame), frames._names(frame)) == (None, frozenset())
    for options in ({"chunksize": 10}, {"iterator": True}):
        with pandas_dp.read_csv(path, **options) as parts:
            frame = next(iter(parts))
        assert frames._names(frame) == frozenset()
    for words in ("An open file", "not remembered"):
        assert words in " ".join((pandas_dp.read_parquet.__doc__ or "").split())
    assert "``chunksize=``" in (pandas_dp.read_csv.__doc__ or "")


def test_a_file_that_is_gone_after_it_was_read_is_not_remembered(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    people()[["age"]].to_parquet(path)
    whole = pq.read_table

    def gone(name, **options):
        table = whole(name, **options)
        Path(name).unlink()
        return table

    monkeypatch.setattr(pq, "read_table", gone)
    assert frames._names(pandas_dp.read_parquet(path)) == frozenset()


def both(folder, form):
    """Folders that differ in one row, which lacks all its cells in the second."""
    for place, last in enumerate(((2, True, [3], "b", date(2026, 11, 29)), (None,) * 5)):
        table = pa.table(
            {
                "int": pa.array([1, last[0]], pa.int64()),
                "bool": pa.array([True, last[1]], pa.bool_()),
                "list": pa.array([[1], last[2]], pa.list_(pa.int64())),
                "text": pa.array(["a", last[3]], pa.string()),
                "day": pa.array([date(2026, 11, 29), last[4]], pa.date32()),
            }
        )
        (folder / str(place) / "city=x").mkdir(parents=True)
        paths = [folder / str(place) / f"a.{form}", folder / str(place) / "city=x" / f"b.{form}"]
        for path in paths:
            if form == "parquet":
                pq.write_table(table, path)
            else:
                with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
        paths[0].with_name("notes.txt").write_text("no table")
        yield paths[0]


DTYPES = ["Int64", "boolean", "object", "str", "date32[day][pyarrow]"]
PLACES = {
    "url": lambda path: path.as_uri(),
    "host": lambda path: path.as_uri().replace("file://", "file://localhost"),
    "home": lambda path: f"~/{path.relative_to(Path.home())}",
    "tuple": lambda path: (path,),
    "open": lambda path: io.BytesIO(path.read_bytes()),
}
GIVEN = {
    "columns": {"columns": ["int", "bool", "list", "text", "day"]},
    "no backend": {"dtype_backend": pd.api.extensions.no_default},
    "no storage": {"storage_options": None},
    "threads": {"use_threads": False},
}
OF_PARQUET = {
    "filesystem": {"filesystem": pa.fs.LocalFileSystem()},
    "engine": {"engine": "pyarrow"},
    "nothing for pandas": {"to_pandas_kwargs": None},
    "mapped": {"memory_map": True},
    "buffered": {"buffer_size": 1000},
    "unread ahead": {"pre_buffer": False},
    "int96": {"coerce_int96_timestamp_unit": "us"},
    "checked": {"page_checksum_verification": True, "arrow_extensions_enabled": False},
    "schema": {
        "schema": pa.schema(
            {
                "int": pa.int64(),
                "bool": pa.bool_(),
                "list": pa.list_(pa.int64()),
                "text": pa.string(),
                "day": pa.date32(),
            }
        )
    },
}


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("place", PLACES)
def test_no_place_of_a_file_gives_dtypes_that_cells_decide(place, form, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    reader = getattr(pandas_dp, f"read_{form}")
    for path in both(tmp_path, form):
        if form == "feather" and place == "tuple":
            with pytest.raises(ArgumentTypeError, match="path must be a path or an open file"):
                reader(PLACES[place](path))
        else:
            assert [str(dtype) for dtype in reader(PLACES[place](path)).dtypes] == DTYPES


@pytest.mark.parametrize("option", GIVEN | OF_PARQUET)
def test_no_option_gives_dtypes_that_cells_decide(option, tmp_path):
    for form in ("parquet", "feather") if option in GIVEN else ("parquet",):
        for path in both(tmp_path / form, form):
            frame = getattr(pandas_dp, f"read_{form}")(path, **(GIVEN | OF_PARQUET)[option])
            assert [str(dtype) for dtype in frame.dtypes][:5] == DTYPES
            assert isinstance(frame["list"].iloc[0], list)
            assert type(frame["list"].iloc[0][0]) is int


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({}, ["str"]),
        ({"partitioning": None}, []),
        ({"partitioning": pa.dataset.partitioning(pa.schema([("city", pa.string())]), flavor="hive")}, ["str"]),
    ],
    ids=["text", "none", "typed"],
)
def test_no_directory_gives_dtypes_that_cells_decide(given, more, tmp_path):
    for path in both(tmp_path, "parquet"):
        with pytest.raises(ArgumentValueError, match="cannot be read"):
            pandas_dp.read_parquet(path.parent)
        path.with_name("notes.txt").rename(path.with_name("_notes.txt"))
        frame = pandas_dp.read_parquet(path.parent, **given)
        assert [str(dtype) for dtype in frame.dtypes] == DTYPES + more
        assert len(frame) == 4


def test_all_files_that_are_read_are_noted(tmp_path):
    """Which files of a directory have a budget already is known of those that Arrow reads unasked, so it reads no others."""
    path = next(both(tmp_path, "parquet"))
    path.with_name("notes.txt").unlink()
    path.rename(path.with_name("_a.parquet"))
    with pytest.raises(ArgumentTypeError, match=r"read_parquet\(\) takes no ignore_prefixes="):
        pandas_dp.read_parquet(path.parent, ignore_prefixes=["."])
    with pytest.raises(ArgumentTypeError, match=r"takes no filters=; keep rows by a step, df\.dp\.query\('age > 30'\)"):
        pandas_dp.read_parquet(path.parent, filters=[("int", ">", 0.5)])
    assert len(pandas_dp.read_parquet(path.parent)) == 2


def test_reading_other_files_gives_no_file_a_second_budget(tmp_path, monkeypatch):
    path = next(both(tmp_path, "parquet"))
    made = pandas_dp.read_parquet(path).query("int > 0")
    session = pandas_dp.read_parquet(path).dp.protect(epsilon=1, name="of the file")
    monkeypatch.setattr(readers, "MOST_NOTED", 3)
    for other in range(5):
        (tmp_path / f"{other}.csv").write_text("age\n31\n")
        pandas_dp.read_csv(tmp_path / f"{other}.csv")
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
        made.dp.protect(epsilon=1, name="another")


@pytest.mark.parametrize(
    ("reader", "path", "given", "line"),
    [
        ("parquet", "https://example.org/a.parquet", {}, "copy the file to this machine: pandas_dp.read_parquet("),
        ("feather", "s3://bucket/a.feather", {}, "copy the file to this machine: pandas_dp.read_feather("),
        ("parquet", "a.parquet", {"dtype_backend": "numpy_nullable"}, "read_parquet('visits.parquet')"),
        ("feather", "a.feather", {"dtype_backend": "numpy_nullable"}, "read_feather('visits.feather')"),
        ("parquet", "a.parquet", {"storage_options": {"a": 1}}, "takes no storage_options=: pandas_dp.read_parquet("),
        ("parquet", "a.parquet", {"to_pandas_kwargs": {"integer_object_nulls": True}}, "takes no to_pandas_kwargs="),
        ("parquet", "a.parquet", {"use_pandas_metadata": False}, "takes no use_pandas_metadata="),
        ("parquet", "a.parquet", {"engine": "fastparquet"}, "read_parquet('visits.parquet')"),
        ("parquet", "a.parquet", {"partition": None}, "did you mean 'partitioning'"),
        ("feather", "a.feather", {"filters": []}, "read_feather('visits.feather')"),
        ("csv", "a.csv", {"foo": 1}, "read_csv() takes no foo="),
        ("csv", "a.csv", {"seperator": ","}, "read_csv('visits.csv')"),
        ("csv", None, {}, "path must be a path or an open file"),
        ("csv", ["a.csv"], {}, "path must be a path or an open file"),
        ("parquet", 5, {}, "path must be a path"),
    ],
)
def test_what_would_leave_the_schema_is_refused(reader, path, given, line):
    with pytest.raises(PandasDPError) as error:
        getattr(pandas_dp, f"read_{reader}")(path, **given)
    assert line in str(error.value)


FAR = {
    pa.date32(): 2**31 - 1,
    pa.date64(): 2**50,
    pa.timestamp("s"): 253_402_300_800,  # 10000-01-01 00:00:00
    pa.timestamp("us"): 2**62,
    pa.timestamp("s", "Europe/Berlin"): 2**45,
    pa.timestamp("us", "UTC"): 2**62,
    pa.duration("s"): 2**60,
}


@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("nested", [None, pa.list_], ids=["plain", "list"])
@pytest.mark.parametrize("held", FAR, ids=str)
def test_a_cell_that_python_has_not_decides_nothing(held, nested, form, tmp_path):
    told = []
    for place, last in enumerate((0, FAR[held])):
        cells = pa.array([[0], [last]] if nested else [0, last], nested(held) if nested else held)
        frame = read(write(cells, tmp_path / f"{place}.{form}"))
        told.append((frame["c"].dtype, repr(frame["c"].iloc[0])))
    assert told[0] == told[1]
    if nested:
        assert pd.isna(frame["c"].iloc[1])
        frame.dp.protect(epsilon=9, name=fresh())
        frame.dp(epsilon=1).count("c")


LEAST = -(2**63)  # ticks that pandas takes for no time


@pytest.mark.parametrize(
    "listed",
    [
        pa.array(cells, held)
        for cells, held in [
            ([1, None], None),
            (["a", None], None),
            (["a", "a"], None),
            ([0.0, -0.0], None),
            ([0.5, float("nan")], None),
            ([0, LEAST], pa.timestamp("us")),
            ([0, LEAST], pa.timestamp("ns", "Europe/Zurich")),
            ([0, LEAST], pa.duration("s")),
        ]
    ],
    ids=lambda listed: f"{listed.type} {listed[1].is_valid and listed.cast(pa.string())[1]}",
)
def test_a_dictionary_may_list_anything(listed, tmp_path):
    """It is a way to store values, whatever it lists. Pandas refuses to read it as categories with null, or a value twice."""
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), listed)
    cells = read(write(array, tmp_path / "a.feather"))["c"]
    assert cells.dtype == read(write(listed, tmp_path / "b.feather"))["c"].dtype
    none = not listed[1].is_valid or pa.types.is_temporal(listed.type) or listed[1].as_py() != listed[1].as_py()
    assert cells.isna().tolist() == [False, none, True]


def test_what_a_frame_of_pandas_says_of_itself_is_kept(tmp_path):
    frame = pd.DataFrame({"v": [1.5]})
    frame.attrs["mine"] = 1
    frame.to_parquet(tmp_path / "a.parquet")
    assert pandas_dp.read_parquet(tmp_path / "a.parquet").attrs["mine"] == 1


@pytest.mark.parametrize("options", [{}, {"dtype_backend": "pyarrow"}], ids=str)
@pytest.mark.parametrize("form", ["parquet", "feather"])
@pytest.mark.parametrize("coded", [False, True])
def test_bytes_that_are_no_text_become_marks(coded, form, options, tmp_path):
    """Pandas fails on them where it makes categories or labels: one cell decided whether a file was read."""
    told = []
    for last in (b"b", b"\xff\xfe"):
        text = pa.array([b"a", last]).view(pa.string())
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), text) if coded else text
        told.append(getattr(pandas_dp, f"read_{form}")(write(column, tmp_path / f"a.{form}"), **options)["c"])
    assert told[0].dtype == told[1].dtype
    assert told[1].tolist() == ["a", "\ufffd\ufffd"]


def test_days_of_a_file_are_asked_as_those_of_a_scan(tmp_path):
    days = [date(2026, 11, 1 + k % 20) for k in range(400)]
    path = write(pa.array([*days, None]), tmp_path / "a.parquet")
    told = []
    for table in (pandas_dp.read_parquet(path), pandas_dp.scan_parquet(path)):
        session = table.dp.protect(epsilon=10**6, name=fresh())
        steps = "c > '2026-11-10'", "c == '2026-11-05'"
        told.append([int(table.dp.query(step).dp(epsilon=10**4).count()) for step in steps])
        session.close()
    assert told == [[200, 20]] * 2


@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_what_is_written_of_a_table_is_that_table(form, tmp_path):
    """A frame keeps in the file where it comes from; of a file that is read, the file is added."""
    frame = people().drop(columns="city")
    session = frame.dp.protect(epsilon=1, name=fresh())
    getattr(frame, f"to_{form}")(tmp_path / f"a.{form}")
    read = getattr(pandas_dp, f"read_{form}")
    with pytest.raises(ArgumentValueError, match=f"'{session.name}'"):
        read(tmp_path / f"a.{form}").dp.protect(epsilon=1, name=fresh())
    frame.to_csv(tmp_path / "b.csv", index=False)
    first = pandas_dp.read_csv(tmp_path / "b.csv")
    other = first.dp.protect(epsilon=1, name=fresh())
    getattr(first, f"to_{form}")(tmp_path / f"c.{form}")
    with pytest.raises(ArgumentValueError, match=f"'{other.name}'"):
        read(tmp_path / f"c.{form}").dp.protect(epsilon=1, name=fresh())


def test_links_that_change_places_are_another_table(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "SETTLED", 0)
    for name, rows in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        write(pa.array([31] * rows), tmp_path / name / "v.parquet")
    told = []
    for places in ("ab", "ba"):
        for year, place in zip((2025, 2026), places, strict=True):
            (tmp_path / f"year={year}").symlink_to(tmp_path / place)
        paths = [tmp_path / f"year={year}" / "v.parquet" for year in (2025, 2026)]
        told.append(pandas_dp.read_parquet(sorted(paths, key=lambda path: path.resolve())))
        for path in paths:
            path.parent.unlink()
    assert told[0]["year"].tolist() != told[1]["year"].tolist()
    assert frames.read_token(told[0]) != frames.read_token(told[1])
