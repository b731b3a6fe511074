"""Tables of several files, and of more rows than memory holds, on the command line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.commands import PLAN, command, entries, spent, visits

from pandas_dp import ArgumentValueError, Schema
from pandas_dp.commands import data_files
from pandas_dp.errors import DataFileError

NOTHING = Schema({})


@pytest.fixture
def job(tmp_path):
    """A directory with a plan, a directory of data in it, and its command."""
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "visits").mkdir()

    def start(data="visits", *more, before="", out="out"):
        where = ("--data", tmp_path / data, "--ledger", tmp_path / "books", "--out", tmp_path / out)
        return command("run", tmp_path / "plan.toml", *where, *more, before=before)

    start.path, start.data = tmp_path, tmp_path / "visits"
    return start


def halves(folder, form):
    """The same rows in two files."""
    for place, part in enumerate((visits().iloc[:150], visits().iloc[150:])):
        getattr(part, f"to_{form}")(folder / f"{place}.{form}", **({"index": False} if form == "csv" else {}))


@pytest.mark.parametrize("data", ["visits", "visits/*.parquet", "visits/*.csv"])
def test_a_folder_and_a_pattern_are_one_table(job, data):
    halves(job.data, "csv" if data.endswith("csv") else "parquet")
    done = job(data)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads((job.path / "out" / "rows.json").read_text())["value"]
    assert abs(rows - 400) < 250  # as in the test of one file: beyond with probability e^-31
    books = entries(job.path / "books")
    assert job(data).returncode == 0
    assert entries(job.path / "books") == books


def test_a_packed_file_is_read_as_the_plain_one(tmp_path):
    halves(tmp_path, "csv")
    (tmp_path / "0.csv.gz").write_bytes(gzip.compress((tmp_path / "0.csv").read_bytes()))
    plain, packed = (str(tmp_path / name) for name in ("0.csv", "0.csv.gz"))
    read = [data_files.same_frame(path, NOTHING, data_files.empty_frame(path, NOTHING)) for path in (plain, packed)]
    pd.testing.assert_frame_equal(*read)
    assert len(read[0]) == 150


def test_rows_of_several_files_are_those_of_each(tmp_path):
    halves(tmp_path, "csv")
    visits().to_csv(tmp_path / "all", index=False)
    (tmp_path / "all").rename(tmp_path / "all.csv")
    whole, parts = (
        data_files.same_frame(path, NOTHING, data_files.empty_frame(path, NOTHING))
        for path in (str(tmp_path / "all.csv"), str(tmp_path / "[01].csv"))
    )
    pd.testing.assert_frame_equal(whole, parts)


def test_files_that_are_no_one_table_are_refused(tmp_path, job):
    folder = str(job.data)
    with pytest.raises(DataFileError, match="there is no data file"):
        data_files.empty_frame(folder, NOTHING)
    with pytest.raises(DataFileError, match="there is no data file"):
        data_files.empty_frame(f"{folder}/*.parquet", NOTHING)
    halves(job.data, "csv")
    (job.data / "2.csv").write_text("pid,price\n1,2\n")
    with pytest.raises(DataFileError, match=r"0\.csv and .*2\.csv name different columns"):
        data_files.empty_frame(folder, NOTHING)
    (job.data / "2.csv").unlink()
    visits().to_parquet(job.data / "2.parquet")
    with pytest.raises(ArgumentValueError, match="only if all are Parquet or all are CSV"):
        data_files.empty_frame(folder, NOTHING)
    halves(job.data, "feather")
    with pytest.raises(ArgumentValueError, match="only if all are Parquet or all are CSV"):
        data_files.empty_frame(f"{folder}/*.feather", NOTHING)
    visits().rename(columns={"cost": "price"}).to_parquet(job.data / "3.parquet")
    with pytest.raises(DataFileError, match=r"differ in 'cost'.*rewrite them alike; nothing was charged"):
        data_files.empty_frame(f"{folder}/*.parquet", NOTHING)
    (job.data / "README").write_text("no data")
    with pytest.raises(ArgumentValueError, match=r"must end with \.parquet"):
        data_files.empty_frame(folder, NOTHING)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("pattern", ["", "/**", "/**/*"])
def test_a_file_that_is_named_twice_is_refused(tmp_path, form, pattern):
    """Each row would count as often as its file is found: two charges of one."""
    (tmp_path / "2026" / "05").mkdir(parents=True)
    halves(tmp_path / "2026" / "05", form)
    if not pattern:
        (tmp_path / f"latest.{form}").symlink_to(tmp_path / "2026" / "05" / f"1.{form}")
    with pytest.raises(DataFileError, match=r"named twice, so that its rows would count twice.*nothing was charged"):
        data_files.empty_frame(f"{tmp_path}{pattern}", NOTHING)
    (tmp_path / f"latest.{form}").unlink(missing_ok=True)
    assert not data_files.empty_frame(f"{tmp_path}/**/*.{form}", NOTHING).columns.empty


def test_answers_do_not_go_into_the_data(job):
    halves(job.data, "parquet")
    for out in ("visits", "visits/out"):
        done = job(out=out)
        assert done.returncode == 2
        assert "which holds the data: --out answers" in done.stderr
    assert not (job.path / "books").exists()


def test_files_that_are_written_during_a_question_are_told_and_its_charge_is_used(job):
    halves(job.data, "parquet")
    kept = (job.data / "1.parquet").read_bytes()
    written = (
        "import pandas as pd\nfrom pandas_dp.core.ledger import Ledger\nreserve = Ledger.reserve\ndef late(*args, **more):\n"
        "    given = reserve(*args, **more)\n"
        f"    pd.DataFrame({{'x': [1]}}).to_parquet({str(job.data / '1.parquet')!r})\n    return given\nLedger.reserve = late"
    )
    done = job(before=written)
    assert (done.returncode, done.stdout) == (1, "")
    assert "its price stays spent. The data files were written, moved or deleted meanwhile. Start" in done.stderr
    before = spent(job.path / "books")
    (job.data / "1.parquet").write_bytes(kept)
    assert job().returncode == 0
    assert spent(job.path / "books") == 2 * before


def test_files_that_are_written_meanwhile_stop_the_job_before_the_next_charge(job):
    halves(job.data, "parquet")
    written = (
        "import pandas as pd, pandas_dp.commands.run as r\nadd = r.AnswerFiles.add\ndef late(*args):\n    add(*args)\n"
        f"    pd.DataFrame({{'x': [1]}}).to_parquet({str(job.data / '1.parquet')!r})\nr.AnswerFiles.add = late"
    )
    done = job(before=written)
    assert (done.returncode, done.stdout) == (1, "")
    assert "the data files were written, moved or deleted since the command began" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert spent(job.path / "books") == 0.5
    assert "rows.csv" in os.listdir(job.path / "out")


LIMITED = """
import resource, sys
import pandas_dp.__main__ as m, pandas_dp.questions.frame
def used():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmSize"))
resource.setrlimit(resource.RLIMIT_AS, (used() + {more}, -1))
m.main({arguments!r})
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="says how much memory a process has")
def test_a_folder_larger_than_the_memory_that_is_allowed(job):
    """1.6e7 rows of 5 columns are 640 MB as one frame; 512 MB more than the program itself are allowed, stacks included."""
    n = np.arange(1_000_000)
    table = pa.table({f"c{place}": n % 101 for place in range(4)} | {"cost": n % 101})
    for place in range(16):
        parquet.write_table(table, job.data / f"{place}.parquet")
    plan = PLAN.replace('unit = "pid"\nmax_rows = 4', "").replace('[schema.ward]\nkeys = ["A", "B"]', "")
    plan = plan.replace("query('cost > 10').groupby('ward')['cost'].mean()", "query('c1 > 10')['cost'].mean()")
    (job.path / "plan.toml").write_text(plan)
    where = ["--data", job.data, "--ledger", job.path / "books", "--out", job.path / "out"]
    arguments = ["run", str(job.path / "plan.toml"), *map(str, where)]
    code = LIMITED.format(more=512 << 20, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads((job.path / "out" / "rows.json").read_text())["value"]
    assert abs(rows - 16_000_000) < 250
    loaded = "import pandas as pd; pd.read_parquet({data!r})"
    broken = LIMITED.replace("m.main({arguments!r})", loaded).format(more=512 << 20, data=str(job.data))
    assert subprocess.run([sys.executable, "-c", broken], capture_output=True, timeout=300).returncode != 0
