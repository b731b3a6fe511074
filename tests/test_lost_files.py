"""Files that are gone, or are no longer what they were: refused before anything is charged, with the line to type."""

from __future__ import annotations

import os

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from support.frames import fresh

import pandas_dp
from pandas_dp import ArgumentTypeError, ArgumentValueError, PandasDPError, UnverifiedFrameError

SECRET = "a-cell-4711"


def people(path):
    frame = pd.DataFrame({"age": [31, 45, 62] * 100, "city": [SECRET] * 300})
    getattr(frame, f"to_{path.suffix[1:]}")(path)
    return path


def folder_in_its_place(path):
    path.unlink()
    path.mkdir()


def link_to_itself(path):
    path.unlink()
    path.symlink_to(path)


def another_schema(path):
    pd.DataFrame({"other": ["x"] * 3}).to_parquet(path)


DAMAGES = {
    "deleted": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.with_name("moved")),
    "folder": folder_in_its_place,
    "link to itself": link_to_itself,
    "cut": lambda path: os.truncate(path, 500),
    "empty": lambda path: os.truncate(path, 0),
    "permissions": lambda path: path.chmod(0),
    "another schema": another_schema,
    "text": lambda path: path.write_text(SECRET),
}
CALLS = {
    "protect": lambda scan: scan.dp.protect(epsilon=3, name=fresh()),
    "protect again": lambda scan: scan.dp.protect(epsilon=3, name=fresh(), reason="other people"),
    "count": lambda scan: scan.dp(epsilon=1).count(),
    "mean": lambda scan: scan.dp(epsilon=1).mean("age", bounds=(0, 100)),
    "steps": lambda scan: scan.dp.query("age > 40"),
    "steps of a price": lambda scan: scan.dp(epsilon=1).query("age > 40").count(),
    "preview": lambda scan: scan.dp.preview(epsilon=1).count(),
    "allot": lambda scan: scan.dp.allot("part", epsilon=1),
    "partition": lambda scan: scan.dp.partition("age", [31, 45], epsilon=1),
    "stream": lambda scan: scan.dp(epsilon=1).above_threshold(10),
    "query": lambda scan: pandas_dp.query(epsilon=1).count()(scan),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_scan_of_lost_files_is_refused_before_anything_is_charged(damage, tmp_path):
    """Protecting one, or asking one that nobody had protected, raised what the operating system says."""
    session = pd.DataFrame({"a": [1]}).dp.protect(epsilon=3, name=fresh())
    scans = [pandas_dp.scan_parquet(people(tmp_path / f"{name}.parquet")) for name in ("before", "after")]
    scans[1].dp.protect(session=session)
    for name in ("before", "after"):
        DAMAGES[damage](tmp_path / f"{name}.parquet")
    joins = {"join": lambda scan: scan.dp.protect(session=session)}
    for scan in scans:
        for name, call in (CALLS | joins).items():
            with pytest.raises(
                UnverifiedFrameError, match=r"changed, moved or deleted .*nothing was charged.*scan_parq"
            ) as caught:
                call(scan)
            assert caught.value.__cause__ is None, name
    assert session.spent == "epsilon=0"
    assert repr(scans[0]) == repr(scans[1]) != ""


def test_a_scan_that_nobody_protected_opens_no_budget_of_its_own_for_lost_files(tmp_path, monkeypatch):
    monkeypatch.setattr("pandas_dp.session.registry._ever", [])
    monkeypatch.setattr("pandas_dp.session.registry._refusals", [])
    path = people(tmp_path / "a.parquet")
    scan = pandas_dp.scan_parquet(path)
    path.unlink()
    with pytest.raises(UnverifiedFrameError, match="changed, moved or deleted"):
        scan.dp(epsilon=1).count()
    assert not hasattr(scan.dp, "session")


def test_files_of_a_scan_stay_those_that_were_scanned_wherever_they_are_moved(tmp_path):
    """What else was read from them takes no other budget."""
    path = people(tmp_path / "a.parquet")
    scan = pandas_dp.scan_parquet(path)
    session = scan.dp.protect(epsilon=3, name=fresh())
    path.rename(tmp_path / "b.parquet")
    for other in (pandas_dp.scan_parquet(tmp_path / "b.parquet"), pandas_dp.read_parquet(tmp_path / "b.parquet")):
        with pytest.raises(ArgumentValueError, match=f"already spends from the budget '{session.name}'"):
            other.dp.protect(epsilon=3, name=fresh())


@pytest.mark.parametrize("form", ["parquet", "feather", "csv"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_readers_say_what_is_wrong_with_a_file_and_never_a_cell(damage, form, tmp_path):
    """They raised whatever pandas, Arrow or the operating system did."""
    path = people(tmp_path / f"a.{form}")
    DAMAGES[damage](path)
    reader = getattr(pandas_dp, f"read_{form}")
    readable = {
        "parquet": {"another schema"},
        "feather": set(),
        "csv": {"cut", "text"},
    }[form] | ({"permissions"} if os.access(path, os.R_OK) else set())
    if damage in readable:
        assert isinstance(reader(path), pd.DataFrame)
        return
    lost = damage in {"deleted", "moved"} or (form, damage) in {("parquet", "link to itself"), ("parquet", "folder")}
    with pytest.raises(
        ArgumentValueError, match="^path: there is no file" if lost else "^path: .* cannot be read"
    ) as caught:
        reader(path)
    assert f"{path}" in str(caught.value)
    assert f"pandas_dp.read_{form}('visits.{form}')" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


OPENED = {"parquet": "read_table", "feather": "OSFile", "csv": "read_csv"}


@pytest.mark.parametrize("form", OPENED)
def test_a_file_without_permission_is_refused_as_such(form, tmp_path, monkeypatch):
    """Whoever runs tests may read everything, so that the system's refusal is played."""
    path = people(tmp_path / f"a.{form}")

    def denied(path, **options):
        raise PermissionError(13, "Permission denied", str(path))

    denied.__name__ = "read_csv"
    monkeypatch.setattr({"parquet": pq, "feather": pa, "csv": pd}[form], OPENED[form], denied)
    with pytest.raises(ArgumentValueError, match=r"^path: .* cannot be read \(Permission denied\)"):
        getattr(pandas_dp, f"read_{form}")(path)


def test_what_arrow_says_of_a_cell_is_not_told(tmp_path, monkeypatch):
    path = people(tmp_path / "a.parquet")

    def quoting(path, **options):
        raise pa.ArrowInvalid(SECRET)

    monkeypatch.setattr(pq, "read_table", quoting)
    with pytest.raises(ArgumentValueError, match="cannot be read") as caught:
        pandas_dp.read_parquet(path)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("form", ["parquet", "feather", "csv"])
def test_a_table_typed_for_a_path_is_not_printed(form):
    """Arrow's refusal shows the first rows."""
    for odd in (pd.DataFrame({"city": [SECRET]}), pd.Series([SECRET]), 3, None):
        with pytest.raises(ArgumentTypeError, match=r"^path must be") as caught:
            getattr(pandas_dp, f"read_{form}")(odd)
        assert SECRET not in str(caught.value)


def test_no_rows_are_left_out_because_a_directory_cannot_be_read(tmp_path, monkeypatch):
    people(tmp_path / "a.parquet")
    (tmp_path / "below").mkdir()
    people(tmp_path / "below" / "b.parquet")
    listed = os.scandir

    def denied(path):
        if str(path).endswith("below"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(ArgumentValueError, match=r"^path: a file or a directory is gone, or cannot be read"):
        pandas_dp.scan_parquet(tmp_path)


def test_a_dataset_of_lost_files(tmp_path):
    people(tmp_path / "a.parquet")
    whole = ds.dataset(tmp_path)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(ArgumentValueError, match=r"^path: a file or a directory is gone"):
        pandas_dp.scan_parquet(whole)
    with pytest.raises(ArgumentTypeError, match=r"^path must be"):
        pandas_dp.scan_parquet("")  # the folder that a program happens to be in


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_dask_frame_of_lost_files_gives_one_fixed_text(damage, tmp_path):
    """Tasks read the files, so after the charge, and a preview costs nothing; see `DaskAccessor`."""
    import dask.dataframe as dd

    import pandas_dp.dask

    path = people(tmp_path / "a.parquet")
    frame = dd.read_parquet(path)
    session = frame.dp.protect(epsilon=3, name=fresh())
    DAMAGES[damage](path)
    frame.dp.preview(epsilon=1).mean("age", bounds=(0, 100))
    later = frame.dp.query("age > 40")
    assert session.spent == "epsilon=0"
    if damage == "permissions" and os.access(path, os.R_OK):
        assert 0 < later.dp(epsilon=1).count() < 400
        return
    for ask in (lambda: frame.dp(epsilon=1).mean("age", bounds=(0, 100)), lambda: later.dp(epsilon=1).count()):
        with pytest.raises(PandasDPError, match=f"^{pandas_dp.QueryFailedError.TEXT}$") as caught:
            ask()
        assert caught.value.__cause__ is caught.value.__context__ is None
