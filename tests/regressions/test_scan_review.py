"""Faults found in scanned tables: names of files and columns, what makes two scans the same, budgets, terminals."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp import ArgumentValueError
from pandas_dp.facts import progress

SURE = 10**5  # at this epsilon a count is off with probability 2 exp(-10**5)


def protected(path: object, **terms: object) -> pandas_dp.ScannedTable:
    scan = pandas_dp.scan_parquet(path)
    scan.dp.protect(**({"epsilon": 10 * SURE, "name": fresh()} | terms))
    return scan


def three(path: Path, name: str = "v", group: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: [1, 2, 3]}), path, row_group_size=group)
    return path


@pytest.mark.parametrize("name", ["__filename", "__fragment_index", "__batch_index", "__last_in_fragment"])
def test_names_that_arrow_gives_to_columns_of_its_own(name, tmp_path):
    """Every question on such a column failed after it was paid."""
    with pytest.raises(ArgumentValueError, match=f"no column may be named '{name}'"):
        pandas_dp.scan_parquet(three(tmp_path / "a.parquet", name))


@pytest.mark.parametrize("name", ["a.b", "a[0]", "", "*", "__index_level_0__", "`q`"])
def test_odd_names_of_columns(name, tmp_path):
    scan = protected(three(tmp_path / "a.parquet", name, group=1))
    assert scan.dp.filter(lambda d: d[name] > 2).dp(epsilon=SURE).count(name) == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are text there")
def test_a_name_that_is_no_utf8(tmp_path):
    three(tmp_path / "a.parquet").rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet"))
    with pytest.raises(ArgumentValueError, match="must be UTF-8") as caught:
        pandas_dp.scan_parquet(tmp_path)
    assert caught.value.__cause__ is None


def test_a_second_name_of_a_file(tmp_path):
    os.link(three(tmp_path / "a.parquet"), tmp_path / "b.parquet")
    with pytest.raises(ArgumentValueError, match="named twice"):
        pandas_dp.scan_parquet(tmp_path)


def test_directories_behind_links_count(tmp_path):
    """Their rows were left out without a word."""
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "2023").symlink_to(three(tmp_path / "else" / "a.parquet").parent, target_is_directory=True)
    assert protected(tmp_path / "all").dp(epsilon=SURE).count() == 3
    (tmp_path / "all" / "again").symlink_to(tmp_path / "all", target_is_directory=True)
    with pytest.raises(ArgumentValueError, match="path: a file"):
        pandas_dp.scan_parquet(tmp_path / "all")


def test_a_file_of_metadata_alone(tmp_path):
    """It was scanned like one with rows, and questions failed after they were paid."""
    notes: list[object] = []
    table = pa.table({"v": [1, 2, 3]})
    pq.write_table(table, tmp_path / "a.parquet", metadata_collector=notes)
    notes[0].set_file_path("a.parquet")
    pq.write_metadata(table.schema, tmp_path / "_metadata", metadata_collector=notes)
    with pytest.raises(ArgumentValueError, match="only lists other files"):
        pandas_dp.scan_parquet(f"{tmp_path}/*")
    assert protected(ds.parquet_dataset(tmp_path / "_metadata")).dp(epsilon=SURE).count("v") == 3


def test_a_first_file_without_columns(tmp_path):
    pq.write_table(pa.table({}), tmp_path / "0.parquet")
    three(tmp_path / "1.parquet")
    with pytest.raises(ArgumentValueError, match="differ in 'v'"):
        pandas_dp.scan_parquet(tmp_path)


def test_dictionaries_of_two_widths_and_none(tmp_path):
    """How pandas stores categories follows from how many there are in each file."""
    few, many, plain = (["a", "b", None], [str(n) for n in range(300)], ["a", None])
    for at, cells in enumerate((pd.Categorical(few), pd.Categorical(many), plain)):
        frame = pd.DataFrame({"c": cells})
        frame["c"] = frame["c"].astype("str") if at == 2 else frame["c"]
        pa.parquet.write_table(
            pa.Table.from_pandas(frame).cast(pa.schema([("c", pa.string())]))
            if at == 2
            else pa.Table.from_pandas(frame),
            tmp_path / f"{at}.parquet",
        )
    scan = protected(tmp_path)
    assert scan.dp(epsilon=SURE).count("c") == 303
    assert scan.dp(epsilon=SURE).histogram("c", keys=["a", "299"]).value.tolist() == [2, 1]


def test_a_data_set_with_a_relative_path(tmp_path, monkeypatch):
    three(tmp_path / "a.parquet")
    monkeypatch.chdir(tmp_path)
    scan = protected(ds.dataset("a.parquet"))
    monkeypatch.chdir("/")
    assert scan.dp(epsilon=SURE).count("v") == 3


def test_some_groups_of_rows_are_not_the_whole_file(tmp_path):
    """A data set of them was given the stored answer of the whole."""
    path, name = three(tmp_path / "a.parquet", group=1), fresh()
    whole = ds.dataset(path)
    first = next(whole.get_fragments()).subset(row_group_ids=[0])
    part = ds.FileSystemDataset([first], whole.schema, whole.format, whole.filesystem)
    scan = protected(path, name=name)
    assert scan.dp(epsilon=SURE).count("v") == 3
    some = pandas_dp.scan_parquet(part)
    some.dp.protect(session=scan.dp.session)
    assert some.dp(epsilon=SURE).count("v") == 1
    assert str(scan.dp.session.spent) == f"epsilon={2 * SURE}"


def test_other_names_of_the_same_directories_are_other_columns(tmp_path):
    path, name = three(tmp_path / "1" / "5" / "a.parquet"), fresh()
    found = []
    for order in (["a", "b"], ["b", "a"]):
        parted = ds.partitioning(pa.schema([(column, pa.int64()) for column in order]))
        whole = ds.dataset(path.parents[2], partitioning=parted)
        whole = whole.replace_schema(pa.schema([(column, pa.int64()) for column in "vab"]))
        found.append(
            protected(whole, name=name, table="".join(order)).dp.query("a == 1").dp(epsilon=SURE).count().value
        )
    assert found == [3, 0]


def test_the_same_files_have_one_budget(tmp_path):
    """A second scan of them had a second one, though a frame has not."""
    path = three(tmp_path / "a.parquet")
    three(tmp_path / "b.parquet")
    scan, other = protected(path), pandas_dp.scan_parquet(tmp_path)
    part = scan.dp.allot("part", epsilon=SURE)
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{scan.dp.session.name}'"):
        other.dp.protect(1, name=fresh())
    other.dp.protect(session=scan.dp.session, table="more")
    assert other.dp(epsilon=SURE).count("v") == 6
    assert part.dp(epsilon=SURE).count("v") == 3
    scan.dp.session.close()
    other = pandas_dp.scan_parquet(tmp_path)
    other.dp.protect(SURE, name=fresh())
    assert other.dp(epsilon=SURE).count("v") == 6


def test_a_closed_terminal_costs_no_answer(tmp_path, monkeypatch):
    scan, closed = protected(three(tmp_path / "a.parquet")), io.StringIO()
    closed.close()
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", closed)
    assert scan.dp(epsilon=SURE).count("v") == 3


def test_filters_on_groups_of_rows_with_and_without_statistics(tmp_path):
    cells = {
        "wide": pa.array([0, 1, 2**31, 2**32 - 1] * 4, pa.uint32()),
        "long": pa.array([0, 2**53 + 1, 2**63, None] * 4, pa.uint64()),
        "real": pa.array([np.nan, -0.0, 0.0, None] * 4, pa.float64()),
    }
    for statistics in (True, False):
        path = tmp_path / f"{statistics}.parquet"
        pq.write_table(pa.table(cells), path, row_group_size=1, write_statistics=statistics)
        scan = protected(path)
        for condition, rows in {
            "wide >= 2147483648": 8,
            "long > 9007199254740992": 8,
            "long == 9007199254740993": 4,
            "real == 0": 8,
            "real <= 0": 8,
            "real < 0": 0,
        }.items():
            assert scan.dp.query(condition).dp(epsilon=SURE).count() == rows, condition
