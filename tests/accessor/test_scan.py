"""Tables in Parquet files: what can be scanned, what is refused, and what happens when files are not what they were."""

from __future__ import annotations

import glob
import io
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support import interpreter
from support.frames import fresh
from support.parquet import write

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, QueryFailedError, UnverifiedFrameError
from pandas_dp.facts import progress
from pandas_dp.tables import parquet

SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)


def visits(rows: int = 1000) -> pd.DataFrame:
    n = np.arange(rows)
    return pd.DataFrame({"age": n % 90, "cost": n / 7, "sex": np.array(["F", "M"])[n % 2], "pid": n // 3})


def protected(pattern: object, **terms: object) -> pandas_dp.ScannedTable:
    scan = pandas_dp.scan_parquet(pattern)
    scan.dp.protect(**({"epsilon": 10 * SURE, "name": fresh()} | terms))
    return scan


@pytest.fixture
def pattern(tmp_path: Path) -> str:
    return write(visits(), tmp_path / "visits", (300, 500))


def test_all_ways_to_name_the_same_files(pattern):
    folder = Path(pattern).parent
    (folder / "_SUCCESS").write_text("no data")
    (folder / ".hidden").write_text("no data")
    files = sorted(folder.glob("*.parquet"))
    (folder / "below").mkdir()
    files[2].rename(folder / "below" / "002.parquet")
    files[2] = folder / "below" / "002.parquet"
    dataset = ds.dataset([str(file) for file in files])
    for path in (folder, f"{folder}/**/*.parquet", files, tuple(map(str, files)), [folder / "below", pattern], dataset):
        scan = protected(path)
        assert scan.dp(epsilon=SURE).count() == 1000
        scan.dp.session.close()  # or the same files had a second budget


def test_one_file_and_a_relative_path(pattern, monkeypatch):
    monkeypatch.chdir(Path(pattern).parent)
    scan = protected("000.parquet")
    monkeypatch.chdir("/")
    assert scan.dp(epsilon=SURE).count() == 300


def test_what_is_public_about_a_scanned_table(pattern):
    scan = protected(pattern)
    assert list(scan.columns) == ["age", "cost", "sex", "pid"]
    assert scan.dtypes["cost"] == pd.ArrowDtype(pa.float64())
    assert repr(scan) == "<scanned table with the columns 'age', 'cost', 'sex', 'pid': ask .dp>"
    assert "protects each row" in repr(scan.dp)
    for made in (scan, scan.dp.query("age > 3"), scan.dp.drop("cost").dp.rename({"sex": "s"})):
        assert isinstance(made, pandas_dp.ScannedTable)
        assert "1000" not in repr(made)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(made)


def test_everything_that_a_frame_can_do(pattern):
    scan, frame = protected(pattern), visits()
    ask = pandas_dp.query(epsilon=SURE).query("age > 65").count()
    old = int((frame.age > 65).sum())
    assert ask(scan) == scan.dp.pipe(ask) == scan.dp.query("age > 65").dp(epsilon=SURE).count() == old
    assert ask.preview(scan).error == scan.dp.preview(epsilon=SURE).query("age > 65").count().error
    parts = scan.dp.partition("sex", ["F", "M"], epsilon=SURE)
    assert [part.dp(epsilon=SURE).count() for part in parts.values()] == [500, 500]
    assert scan.dp.allot("nightly", epsilon=SURE).dp(epsilon=SURE).count() == 1000
    assert len(pandas_dp.plan([pandas_dp.query(within=20).count(), ask], frame=scan)(scan)) == 2
    assert scan.dp.session.releases.shape[0] >= 4


def test_one_budget_for_scanned_tables_and_frames(pattern):
    scan = protected(pattern)
    other, frame = pandas_dp.scan_parquet(pattern), visits(10)
    session = scan.dp.session
    other.dp.protect(session=session, table="other")
    frame.dp.protect(session=session, table="frame")
    assert other.dp.session is frame.dp.session is session
    with pytest.raises(ArgumentTypeError, match=r"scan\.dp\.protect\(session=session\)"):
        session.adopt(other, reason="it is no frame")


def test_the_number_of_rows_is_public_where_it_is_for_a_frame(pattern):
    scan = protected(pattern, neighbors="replace_one", rows=True)
    assert scan.dp(epsilon=1).count() == 1000
    assert str(scan.dp.session.spent) == "epsilon=0"
    some = scan.dp.query("age > 3")
    assert some.dp.preview(epsilon=1).count().price == "epsilon=1"


def test_steps_protected_anew_are_still_done(pattern):
    scan = protected(pattern)
    session, some = scan.dp.session, scan.dp.query("age > 65").dp.drop("sex")
    some.dp.protect(session=session, table="old")
    assert some.dp(epsilon=SURE).count() == int((visits().age > 65).sum())
    session.close()
    some.dp.protect(10 * SURE, name=fresh(), neighbors="replace_one")
    assert "price    nothing" not in str(some.dp.preview(epsilon=1).count())  # its number of rows is private
    assert some.dp(epsilon=SURE).query("age < 67").count() == int((visits().age == 66).sum())


def test_lists_of_units(tmp_path):
    frame = pd.DataFrame({"pid": [1, 1, 2], "tags": [["a", "b"], ["a"], None], "more": [[1], [], [2, 3]]})
    scan = protected(write(frame, tmp_path, (1,)), unit="pid", max_rows=4)
    some = scan.dp.explode("tags", max=1)
    assert some.dp(epsilon=SURE).histogram("tags", keys=["a", "b"]).value.tolist() == [2, 0]
    assert scan.dp(epsilon=SURE).explode("more", max=2).count("more") == 3


def test_no_scanned_table_where_public_tables_are_asked_for(pattern):
    scan, frame = protected(pattern), visits(9)
    frame.dp.protect(1, name=fresh())
    with pytest.raises(ArgumentTypeError):
        frame.dp.merge(scan, on="age")
    with pytest.raises(ArgumentTypeError):
        frame.dp(epsilon=1).oracle("median", candidates=[scan])


def test_only_columns_that_are_read_are_read(pattern, monkeypatch):
    scan, seen, original = protected(pattern), [], parquet._frame

    def frame(batches, schema, rows):
        seen.append(schema.names)
        return original(batches, schema, rows)

    monkeypatch.setattr(parquet, "_frame", frame)
    asked = {
        "count": (lambda d: d.count(), []),
        "count of values": (lambda d: d.count("cost"), ["cost"]),
        "after steps": (lambda d: d.drop(["pid"]).query("age > 3").eval("x = cost / 2").count("x"), ["age", "cost"]),
        "renamed": (lambda d: d.rename({"cost": "c"}).count("c"), ["cost"]),
    }
    for name, (ask, columns) in asked.items():
        seen.clear()
        ask(scan.dp(epsilon=1))
        assert seen == [columns], name


def test_dictionaries_and_types_that_no_question_takes(tmp_path):
    text = pa.chunked_array([pa.array(["b", None, "a"]).dictionary_encode()])
    table = pa.table({"text": text, "when": pa.array([1, 2, 3], pa.time64("us")), "bytes": pa.array([b"x"] * 3)})
    table = table.append_column("id", pa.array([b"0" * 16] * 3, pa.uuid()))
    pq.write_table(table, tmp_path / "a.parquet")
    scan = protected(tmp_path)
    assert scan.dtypes["text"] == pd.ArrowDtype(pa.string())
    assert scan.dp(epsilon=SURE).histogram("text", keys=["a", "b"]).value.tolist() == [1, 1]
    assert scan.columns.tolist() == ["text"]
    for column in ("when", "bytes", "id"):
        with pytest.raises(ArgumentValueError, match=f"no column named '{column}'"):
            scan.dp(epsilon=1).count(column)


def test_columns_in_the_names_of_directories(tmp_path):
    for sex, rows in visits().groupby("sex"):
        write(rows.drop(columns="sex"), tmp_path / f"sex={sex}")
    with pytest.raises(ArgumentValueError, match="names of directories") as caught:
        pandas_dp.scan_parquet(ds.dataset(tmp_path, partitioning="hive"))
    assert "give the types: pandas_dp.scan_parquet(pyarrow.dataset.dataset(" in str(caught.value)
    parted = ds.partitioning(pa.schema([("sex", pa.string())]), flavor="hive")
    scan = protected(ds.dataset(tmp_path, partitioning=parted))
    assert scan.dp(epsilon=SURE).query("sex == 'F'").count() == 500


def years(folder: Path, *names: str) -> list[str]:
    """Files in directories of such names, 100 rows in each; their names."""
    for name in names:
        (folder / name).mkdir(parents=True)
        visits(100).to_parquet(folder / name / "a.parquet")
    return sorted(glob.glob(f"{folder}/**/*.parquet", recursive=True))


@pytest.mark.parametrize("way", ["{}/*/*/*.parquet", "{}", "{}/*", "{}/**/*.parquet", "{}/year=*/month=1*", None])
def test_partition_columns_are_columns_of_text(way, tmp_path):
    files = years(tmp_path, "year=2023/month=1", "year=2024/month=1", "year=2024/month=10")
    scan = protected(way.format(tmp_path) if way else files)
    assert scan.columns.tolist() == [*visits(1).columns, "year", "month"]
    assert set(scan.dtypes[["year", "month"]]) == {pd.ArrowDtype(pa.string())}
    assert scan.dp(epsilon=SURE).histogram("year", keys=["2023", "2024", "2025"]).tolist() == [100, 200, 0]
    assert scan.dp(epsilon=SURE).query("year == '2024' and month == '10'").count() == 100
    assert scan.dp(epsilon=SURE).groupby(
        ["year", "month"], keys={"year": ["2024"], "month": ["1"]}
    ).size().tolist() == [100]
    assert scan.dp(epsilon=SURE).nunique("month") == 2
    numbers = scan.dp(epsilon=SURE).assign(year=lambda d: d.year.astype("int64"))
    assert numbers.median("year", bounds=(2020, 2030), step=1) == 2024


def test_one_directory_decides_on_no_type(tmp_path):
    """A name that is no number, or none at all, changes neither names nor types of columns, as a guess of them would."""
    years(tmp_path, "year=2023", "year=2024")
    before = pandas_dp.scan_parquet(tmp_path).dtypes
    years(tmp_path, "year=unknown", "year=__HIVE_DEFAULT_PARTITION__", "year=%C3%A4", "year=a=b")
    scan = protected(tmp_path)
    assert scan.dtypes.equals(before)
    assert scan.dp(epsilon=SURE).count("year") == 500
    assert (
        scan.dp(epsilon=SURE).histogram("year", keys=["2023", "unknown", "ä", "a=b"], null=True).tolist() == [100] * 5
    )


def test_columns_of_files_and_of_the_path_as_it_is_typed(tmp_path, monkeypatch):
    files = years(tmp_path, "year=2024/age=3")
    scan = protected(tmp_path)
    assert scan.columns.tolist() == [*visits(1).columns, "year"]  # the files hold an age of their own
    assert scan.dtypes["age"] == pandas_dp.read_parquet(files[0], dtype_backend="pyarrow").dtypes["age"]
    monkeypatch.chdir(tmp_path / "year=2024")
    assert "year" not in pandas_dp.scan_parquet(".").columns
    assert "year" in pandas_dp.scan_parquet(files[0]).columns


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (["year=2024", "others"], "'year' is in the directory names of some files only"),
        (["year=2024", "month=2"], "'month' is in the directory names"),
        (["year=2024/year=2025"], "must name different columns"),
        (["=2024"], "must name different columns"),
        (["__filename=a"], "must name different columns"),
        (["year=%FF"], "must be UTF-8"),
    ],
)
def test_directories_that_make_no_columns_are_refused(names, match, tmp_path):
    files = years(tmp_path, *names)
    for path in (files, *([] if names[0][0] == "_" else [tmp_path])):  # of a directory these are hidden
        with pytest.raises(ArgumentValueError, match=f"^path: .*{match}"):
            pandas_dp.scan_parquet(path)


def test_refused_paths(pattern, tmp_path):
    folder = Path(pattern).parent
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty").mkdir()
    odd = {"columns": visits(3).drop(columns="pid"), "types": visits(3).astype({"age": "float64"})}
    for name, frame in odd.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    whole = ds.dataset(folder)
    refused = {
        "there is no file": [
            tmp_path / "gone.parquet",
            f"{tmp_path}/gone*",
            tmp_path / "empty",
            "s3://bucket/a.parquet",
        ],
        "names no file": [[]],
        "not a Parquet file": [tmp_path / "notes.csv", [folder, tmp_path / "notes.csv"]],
        "differ in 'pid'": [[folder, tmp_path / "columns.parquet"]],
        "differ in 'age'": [[folder, tmp_path / "types.parquet"]],
        "different names": [tmp_path / "twice.parquet"],
        "named twice": [[folder, pattern]],
        "this Dataset is filtered": [whole.filter(ds.field("age") > 3)],
        "is not that of its files": [whole.replace_schema(whole.schema.append(pa.field("new", pa.int64())))],
    }
    for text, paths in refused.items():
        for path in paths:
            with pytest.raises(ArgumentValueError, match=f"^path: .*{text}") as caught:
                pandas_dp.scan_parquet(path)
            assert caught.value.__cause__ is None
    for path in (None, 3, b"a.parquet", visits(3), ds.dataset(pa.table({"a": [1]})), [None]):
        with pytest.raises(ArgumentTypeError, match=r"^path"):
            pandas_dp.scan_parquet(path)
    with pytest.raises(ArgumentTypeError, match="scan_parquet"):
        pandas_dp.scan_parquet()


def test_changed_files_are_refused_before_the_charge(pattern):
    scan = protected(pattern, table="visits", version="1")
    session, some = scan.dp.session, scan.dp.query("age > 3")
    first = scan.dp(epsilon=1).count()
    path = Path(pattern).parent / "001.parquet"
    visits(7).to_parquet(path)
    spent = session.spent
    for ask in (
        lambda: scan.dp(epsilon=1).count(),  # also what is stored: it was the answer for other content
        lambda: some.dp(epsilon=1).mean("cost", bounds=(0, 9)),
        lambda: scan.dp.preview(epsilon=1).count(),
        lambda: scan.dp.query("age > 4"),
        lambda: scan.dp.allot("part", epsilon=1),
        lambda: pandas_dp.query(epsilon=1).count()(scan),
    ):
        with pytest.raises(UnverifiedFrameError, match=r"Scan them again and .*version='2'"):
            ask()
    again = pandas_dp.scan_parquet(pattern)
    again.dp.protect(10 * SURE, name=session.name, table="visits", version="1")
    with pytest.raises(UnverifiedFrameError, match=r"Scan them again and .*version='2'"):
        again.dp(epsilon=1).count()  # it stands for the files as they were
    again.dp.protect(session=session, table="visits", version="2")
    assert session.spent == spent
    assert again.dp(epsilon=SURE).count() == 807
    path.unlink()
    with pytest.raises(UnverifiedFrameError, match="Scan them again"):
        again.dp(epsilon=SURE).count()
    assert first.value != 0


def test_a_scan_of_the_same_files_is_the_same_table(pattern, monkeypatch):
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    scan = protected(pattern)
    name, answer = scan.dp.session.name, scan.dp(epsilon=1).mean("cost", bounds=(0, 9))
    again = protected(pattern, name=name)
    assert again.dp(epsilon=1).mean("cost", bounds=(0, 9)).value == answer.value
    assert str(again.dp.session.spent) == "epsilon=1"
    one = Path(pattern).parent / "000.parquet"
    other = pandas_dp.scan_parquet(one)
    other.dp.protect(session=scan.dp.session)  # the same columns, and other rows
    other.dp(epsilon=1).mean("cost", bounds=(0, 9))
    assert str(other.dp.session.spent) == "epsilon=2"
    one.write_bytes(one.read_bytes())  # the same bytes, and they were written
    with pytest.warns(UserWarning, match="counts as new content"):
        last = protected(pattern, name=name)
    last.dp(epsilon=1).mean("cost", bounds=(0, 9))
    assert str(last.dp.session.spent) == "epsilon=3"


def test_a_ledger_gives_a_later_process_the_stored_answer(pattern, tmp_path):
    code = (
        f"import pandas_dp; scan = pandas_dp.scan_parquet({pattern!r});"
        f"s = scan.dp.protect(2, ledger={str(tmp_path / 'a.dpledger')!r}, table='visits', version='1');"
        "print(scan.dp.query('age > 9').dp(epsilon=1).mean('cost', bounds=(0, 9)).value, s.spent)"
    )
    first, second = (interpreter.run(code) for _ in range(2))
    assert first == second
    assert first.stdout.endswith("epsilon=1\n"), first.stderr


def test_a_file_that_cannot_be_read_fails_with_the_fixed_text_after_the_charge(pattern):
    path = Path(pattern).parent / "001.parquet"
    good = path.read_bytes()
    footer = int.from_bytes(good[-8:-4], "little") + 8
    path.write_bytes(good[:4] + bytes(len(good) - footer - 4) + good[-footer:])
    scan = protected(pattern)
    for ask in (lambda: scan.dp(epsilon=1).mean("cost", bounds=(0, 9)), lambda: scan.dp(epsilon=1).nunique("sex")):
        with pytest.raises(QueryFailedError) as caught:
            ask()
        assert str(caught.value) == QueryFailedError.TEXT
        assert caught.value.__cause__ is caught.value.__context__ is None
    assert str(scan.dp.session.spent) == "epsilon=2"


@pytest.mark.parametrize("less", [0, 1])
def test_a_size_decides_nothing(tmp_path, less):
    """A file written with its old time of change was refused exactly if it was shorter or longer than before."""
    path = tmp_path / "a.parquet"
    text = pd.DataFrame({"a": [str(i % 9) for i in range(300)]})
    text.to_parquet(path)
    os.utime(path, ns=(10**18, 10**18))
    scan = protected(path)
    text.iloc[less:].to_parquet(path)
    os.utime(path, ns=(10**18, 10**18))
    with pytest.raises(UnverifiedFrameError, match="were changed"):
        scan.dp(epsilon=1).count()


def test_a_file_replaced_while_it_is_read_gives_no_answer(pattern, monkeypatch):
    scan, original = protected(pattern), parquet._frame

    def replaced(*given):
        visits(7).to_parquet(Path(pattern).parent / "002.parquet")
        return original(*given)

    monkeypatch.setattr(parquet, "_frame", replaced)
    with pytest.raises(QueryFailedError):
        scan.dp(epsilon=1).count("cost")


def test_a_file_replaced_between_two_passes_gives_no_answer(pattern, monkeypatch):
    """One that is read anew for each part of the units would hold rows of two tables."""
    monkeypatch.setattr(parquet, "WHOLE", 4000)
    scan, original, passes = protected(pattern, unit="pid", max_rows=2), parquet.Scan.read, []

    def read(*given):
        yield from original(*given)
        passes.append(1)
        if len(passes) == 2:
            visits(7).to_parquet(Path(pattern).parent / "002.parquet")

    assert scan.dp(epsilon=SURE).count("cost") == 667
    monkeypatch.setattr(parquet.Scan, "read", read)
    with pytest.raises(QueryFailedError):
        scan.dp(epsilon=1).count("cost")
    assert len(passes) == 2


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_told_on_a_terminal_alone(terminal, pattern, monkeypatch):
    told = io.StringIO()
    monkeypatch.setattr(told, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(parquet, "BATCH", 100)
    scan = protected(pattern)
    monkeypatch.setattr(sys, "stderr", told)
    scan.dp(epsilon=SURE).count("cost")
    lines = [text.rpartition(",")[0] for text in told.getvalue().split("\r") if "reads files" in text]
    assert bool(lines) is terminal
    files = len(list(Path(pattern).parent.glob("*.parquet")))
    assert lines == sorted(lines)
    assert {*lines} == ({f"pandas_dp reads files: {n + 1} of {files}" for n in range(files)} if terminal else set())


def test_progress_follows_from_no_row(tmp_path, monkeypatch):
    """Files of one cell and of many are told alike."""
    seen = set()
    for rows in (1, 1000):
        for name, n in {"a": 1, "b": rows}.items():
            pd.DataFrame({"v": np.arange(n) * 1.0}).to_parquet(tmp_path / f"{name}.parquet", row_group_size=1)
        told = io.StringIO()
        monkeypatch.setattr(told, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        scan = protected(str(tmp_path / "*.parquet"))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", told)
            scan.dp(epsilon=SURE).count("v")
        scan.dp.session.close()
        seen.add(frozenset(text.rpartition(",")[0] for text in told.getvalue().split("\r") if "reads files" in text))
    assert len(seen) == 1


MEMORY = """
import sys, time, tracemalloc, pyarrow, pandas_dp
from pandas_dp.core.statistics.counts import RowCounts

def held():
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    return pyarrow.default_memory_pool().max_memory() + peak  # what Arrow and what numpy ever held

def slow(self, view, unit, original=RowCounts.compute):
    time.sleep(0.02)
    return original(self, view, unit)

scan = pandas_dp.scan_parquet(sys.argv[1])
scan.dp.protect(100, name="memory")
scan.dp(epsilon=1).count("b")  # loads what is loaded once
RowCounts.compute = slow
tracemalloc.start()
scan.dp(epsilon=1).histogram("a", bins=[0, 1, 2])
print(held())
scan.dp(epsilon=1).mean("a", bounds=(0, 1))
scan.dp(epsilon=1).query("a < 0.9 and b > 0.2").median("a", bounds=(0, 1))
scan.dp(epsilon=1).cov(["a", "b"], bounds={"a": (0, 1), "b": (0, 1)})
print(held())
"""
UNITS = MEMORY.replace("100, name", "100, unit='a', max_rows=2, name")
UNITS = UNITS.replace(
    "def held", "import pandas_dp.tables.parquet\n\npandas_dp.tables.parquet.WHOLE = 6 << 20\n\ndef held"
)
UNITS = re.sub(r"scan\.dp\(epsilon=1\)\.(query|cov).*\n", "", UNITS)  # each reads the files once for each part


@pytest.mark.slow
@pytest.mark.parametrize(("code", "more"), [(MEMORY, 8 * 10**6), (UNITS, 24 * 10**6)], ids=["rows", "units"])
def test_memory_does_not_grow_with_the_files(code, more, tmp_path):
    """Of 24 MB more a column a fast and a slow statistic hold no more at once.

    The fewer rows are four times those that are looked at together, so that the next ones are read meanwhile there, too.
    """
    rng, found = np.random.default_rng(1), {}
    for tables in (4, 10):
        folder = tmp_path / str(tables)
        folder.mkdir()
        with pq.ParquetWriter(folder / "a.parquet", pa.schema([("a", pa.float64()), ("b", pa.float64())])) as writer:
            for _ in range(tables):
                writer.write_table(pa.table({name: rng.random(500_000) for name in "ab"}), row_group_size=50_000)
        command = [sys.executable, "-c", code, str(folder)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[tables] = [int(line) for line in told.split()]
    for few, many in zip(found[4], found[10], strict=True):
        assert 10**6 < many < few + more


def test_rows_and_columns_are_asked_for_behind_dp(pattern):
    scan = pandas_dp.scan_parquet(pattern)
    with pytest.raises(AttributeError, match=r"no 'head': ask scan\.dp\(epsilon=0\.5\)"):
        scan.head()
    with pytest.raises(ArgumentTypeError, match=r"rows are chosen by scan\.dp\.query\("):
        scan["age"]
    assert not hasattr(scan, "_repr_html_")


@pytest.mark.parametrize("last", ["2025", "x", "__HIVE_DEFAULT_PARTITION__", "99999999999999999999"])
def test_one_name_of_a_directory_decides_on_no_other(last, tmp_path, monkeypatch):
    """What is guessed is refused whatever the names are, and what the refusal says to type works for all that fit it."""
    monkeypatch.chdir(tmp_path)
    for year in ("2023", "2024", last):
        write(visits(10), Path("visits", f"year={year}"))
    with pytest.raises(ArgumentValueError) as guessed:
        pandas_dp.scan_parquet(ds.dataset("visits", partitioning="hive"))
    plain = protected("visits")
    assert plain.dtypes["year"] == pd.ArrowDtype(pa.string())
    assert plain.dp(epsilon=SURE).histogram("year", keys=["2023"]).value.tolist() == [10]
    plain.dp.session.close()
    line = str(guessed.value).split("give the types: ")[1]
    line = line if last == "2025" else line.replace("int32", "string")
    parted = eval(line.removeprefix("pandas_dp.scan_parquet"), {"pyarrow": pa})
    scan = protected(parted)
    assert scan.dp(epsilon=SURE).histogram("year", keys=[2023] if last == "2025" else ["2023"]).value.tolist() == [10]
