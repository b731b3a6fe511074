"""Answers as files: whole or not there, and tables as any program reads them."""

from __future__ import annotations

import json
import os
import stat

import pandas as pd
import pytest
from support.frames import protected
from support.questions import BY_UNIT, EVERY, ROW_BY_ROW, STREAMS, table

from pandas_dp.commands.answer_files import AnswerFiles, flat
from pandas_dp.errors import DataFileError


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", sorted(EVERY.keys() - STREAMS.keys()))
def test_every_answer_is_written_in_every_format(tmp_path, name):
    terms = {"unit": "uid", "max_rows": 4} if name in BY_UNIT else {}
    terms |= {"neighbors": "replace_one", "rows": True} if name in ROW_BY_ROW else {}
    df = protected(table(), epsilon=10**4, **terms)
    release = EVERY[name](df.dp(epsilon=1))
    for form in ("csv", "parquet"):
        files = AnswerFiles(str(tmp_path), form)
        files.add("answer", release, False)
        files.index(complete=True)
    assert json.loads((tmp_path / "answer.json").read_text()) == json.loads(release.to_json())
    known = release.table()
    single = not isinstance(release.value, pd.Series | pd.DataFrame)  # its file is named, its row is not
    shown, read = flat(known.reset_index(drop=True) if single else known), pd.read_parquet(tmp_path / "answer.parquet")
    written = pd.read_csv(tmp_path / "answer.csv", comment="#", keep_default_na=False, na_values="")
    head = [line for line in release.to_csv().splitlines() if line.startswith("# ") and "read_csv" not in line]
    assert (tmp_path / "answer.csv").read_text().splitlines()[: len(head)] == head
    assert len(written) == len(read)
    assert list(read.columns) == list(shown.columns) == list(written.columns)
    assert len(read) == len(shown) == len(release.table())
    assert all(type(column) is str for column in read.columns)
    (entry,) = json.loads((tmp_path / "index.json").read_text())["answers"]
    assert entry["query"] == str(release.query)


def test_tables_as_files_have_them():
    index = pd.MultiIndex.from_tuples([("a", pd.Interval(0, 1)), ("b", pd.Interval(1, 2))], names=["ward", None])
    columns = pd.MultiIndex.from_tuples([("cost", "value"), ("ward", "")])
    made = flat(pd.DataFrame([[1.5, True], [2.5, None]], index=index, columns=columns))
    assert list(made.columns) == ["ward", "key 2", "cost value", "ward_"]
    assert made["key 2"].tolist() == ["(0, 1]", "(1, 2]"]
    assert made["cost value"].tolist() == [1.5, 2.5]
    assert made["ward_"].tolist()[0] == "True"
    assert made["ward_"].isna().tolist() == [False, True]
    periods = pd.DataFrame({"value": [1, 2]}, index=pd.period_range("2013-01", periods=2, freq="M"))
    assert flat(periods)["key"].tolist() == ["2013-01", "2013-02"]
    categories = pd.DataFrame({"value": [1]}, index=pd.CategoricalIndex(["x"], name="ward"))
    assert flat(categories)["ward"].tolist() == ["x"]


def test_readers_never_see_half_a_file(tmp_path, monkeypatch):
    files = AnswerFiles(str(tmp_path), "json")
    files.index(complete=False)
    before = (tmp_path / "index.json").read_text()

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(DataFileError, match="name another directory, --out DIR"):
        files.index(complete=True)
    assert (tmp_path / "index.json").read_text() == before
    assert os.listdir(tmp_path) == ["index.json"]


def test_answers_have_the_rights_of_other_files(tmp_path):
    files = AnswerFiles(str(tmp_path / "new" / "deep"), "json")
    files.index(complete=True)
    (tmp_path / "other").write_text("")
    rights = [
        stat.S_IMODE(os.stat(path).st_mode) for path in (tmp_path / "new" / "deep" / "index.json", tmp_path / "other")
    ]
    assert rights[0] == rights[1]
