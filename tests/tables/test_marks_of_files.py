"""The mark of a protected table in files that pandas wrote of it: it tells the budget that counts what is asked about them."""

from __future__ import annotations

from fractions import Fraction as F

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp import ArgumentValueError, NoSessionError, UnknownSessionError


def marked_files(folder):
    """Files of two tables and of one that is protected nowhere: what pandas writes bears the mark of a protected one."""
    sessions = []
    for name in ("one", "two"):
        df = pd.DataFrame({"age": [31, 45, 62, 70] * 25})
        sessions.append(df.dp.protect(epsilon=1, name=fresh(name)))
        df[df["age"] > 40].to_parquet(folder / f"{name}.parquet", index=False)
    pd.DataFrame({"age": [31, 45]}).to_parquet(folder / "another.parquet")
    df.dp.query("age > 40").to_parquet(folder / "step.parquet", index=False)
    return sessions


def the_schema(read):
    return lambda paths: read(paths, schema=pa.schema({"age": pa.int64()}))


READ = {
    "scan": pandas_dp.scan_parquet,
    "scan of a Dataset": lambda paths: pandas_dp.scan_parquet(ds.dataset(list(map(str, paths)))),
    "read": pandas_dp.read_parquet,
    "read with a schema": the_schema(pandas_dp.read_parquet),
}


@pytest.mark.parametrize("read", READ.values(), ids=READ)
@pytest.mark.parametrize(
    "files", [["one"], ["another", "one"], ["one", "another"], ["another", "one", "one2"]], ids=str
)
def test_what_pandas_wrote_of_a_protected_table_gets_no_second_budget(files, read, tmp_path):
    """As a scan, or as a second file among others, its mark was lost."""
    one, two = marked_files(tmp_path)
    (tmp_path / "one2.parquet").write_bytes((tmp_path / "one.parquet").read_bytes())
    table = read([tmp_path / f"{name}.parquet" for name in files])
    for join in ({"epsilon": 1, "name": fresh()}, {"session": two}):
        with pytest.raises(ArgumentValueError, match=f"made from a table of the budget '{one.name}'"):
            table.dp.protect(**join)
    table.dp.protect(session=one)
    assert table.dp(epsilon=F(1, 2)).count().lineage == "vouched"
    assert one.left == "epsilon=0.5"


@pytest.mark.parametrize("read", READ.values(), ids=READ)
@pytest.mark.parametrize("files", [["one", "two"], ["another", "two", "one"], ["step", "one"]], ids=str)
def test_files_of_tables_of_several_budgets_join_none_without_a_reason(files, read, tmp_path):
    one, two = marked_files(tmp_path)
    table = read([tmp_path / f"{name}.parquet" for name in files])
    told = "these files were made from tables of several budgets, "
    for join in ({"epsilon": 1, "name": fresh()}, {"session": one}, {"session": two}):
        with pytest.raises(ArgumentValueError, match=told) as caught:
            table.dp.protect(**join)
        assert all(repr(session.name) in str(caught.value) for session in (one, two))
    two.close()
    with pytest.raises(ArgumentValueError, match=f"made from a table of the budget '{one.name}'"):
        table.dp.protect(session=pd.DataFrame({"age": [1]}).dp.protect(epsilon=1, name=fresh()))
    one.close()
    with pytest.raises(NoSessionError, match="is closed; protect it again"):
        table.dp(epsilon=1).count()
    table.dp.protect(epsilon=1, name=fresh())  # now nothing is open


def test_files_that_a_reason_says_are_about_others_get_their_budget(tmp_path):
    marked_files(tmp_path)
    table = pandas_dp.scan_parquet(tmp_path)
    session = table.dp.protect(epsilon=1, name=fresh(), reason="made-up rows")
    assert session.releases["kind"].tolist() == ["open", "claim"]


@pytest.mark.parametrize("read", READ.values(), ids=READ)
def test_what_pandas_wrote_of_files_that_were_read_gets_no_other_budget(read, tmp_path):
    """What was read bears a mark before it is protected: it tells its files, whichever object stands for them."""
    for name in "abc":
        pd.DataFrame({"age": [31, 45, 62]}).to_parquet(tmp_path / f"{name}.parquet")
    pandas_dp.read_parquet(tmp_path / "a.parquet").to_parquet(tmp_path / "made.parquet")
    table = read([tmp_path / "c.parquet", tmp_path / "made.parquet"])
    again = pandas_dp.read_parquet(tmp_path / "a.parquet")
    session = again.dp.protect(epsilon=1, name=(name := fresh()))
    with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{name}'"):
        table.dp.protect(epsilon=1, name=fresh())
    session.close()


def test_a_file_that_another_process_wrote_of_a_protected_table_is_asked_once_it_is_protected(tmp_path):
    df = pd.DataFrame({"age": [31, 45, 62]})
    df.attrs["pandas_dp"] = "dp:of another process"
    df.to_parquet(tmp_path / "a.parquet")
    scan = pandas_dp.scan_parquet(tmp_path / "a.parquet")
    with pytest.raises(UnknownSessionError, match="of a session of another process"):
        scan.dp(epsilon=1).count()
    scan.dp.protect(epsilon=1, name=fresh())
    assert scan.dp(epsilon=1).count().lineage == "source"


@pytest.mark.parametrize("said", [b"no JSON", b"[]", b'{"attributes": 1}', b'{"attributes": null}', b"\xff"], ids=str)
def test_what_other_programs_say_where_pandas_keeps_marks_is_none(said, tmp_path):
    table = pa.table({"age": [31, 45]}).replace_schema_metadata({"pandas": said})
    pq.write_table(table, tmp_path / "a.parquet")
    for read in READ.values():
        session = read([tmp_path / "a.parquet"]).dp.protect(epsilon=1, name=fresh())
        session.close()
