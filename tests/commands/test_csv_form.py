"""CSV files as others write them: other signs and encodings, typed with the command, the same for each cell."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from support.commands import command

from pandas_dp.commands import data_files
from pandas_dp.commands.data_files import CsvForm
from pandas_dp.facts.schema import Schema

SCHEMA = Schema({"cost": {"bounds": [0, 5000]}, "n": {"dtype": "Int64"}})
GERMAN = CsvForm(";", ",", ".", "iso8859-1")


def read(tmp_path, text, written, schema=SCHEMA):
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode(written.encoding))
    empty = data_files.empty_frame(str(path), schema, written)
    found = data_files.same_frame(str(path), schema, empty, written)
    assert found.dtypes.equals(empty.dtypes)
    return found


def test_signs_of_others_are_read(tmp_path):
    found = read(tmp_path, "cost;n;wer\n1.234,50;1.000;Müller, 1.2\n7;;x\n-3,5;12;y\n", GERMAN)
    assert found["cost"].tolist() == [1234.5, 7, -3.5]
    assert found["n"].tolist() == [1000, pd.NA, 12]
    assert found["wer"].tolist() == ["Müller, 1.2", "x", "y"]  # text stays


def test_thousands_within_quotes(tmp_path):
    found = read(tmp_path, 'cost,n\n"1,234.50",1\n"2,000",2\n', CsvForm(thousands=","))
    assert found["cost"].tolist() == [1234.5, 2000]
    assert read(tmp_path, 'cost,n\n"1,234.50",1\n', CsvForm())["cost"].isna().all()


def test_a_point_that_means_nothing_is_no_decimal(tmp_path):
    """1.234 is a thousand and more to whoever writes commas: not to be published as one and a bit."""
    found = read(tmp_path, "cost;n\n1.234;1\n1,5;2\n", CsvForm(";", ","))
    assert np.isnan(found["cost"][0])
    assert found["cost"][1] == 1.5


def test_a_cell_changes_no_other_line(tmp_path):
    plain = read(tmp_path, "cost;n\n1,5;1\n2;2\n", GERMAN)
    for cell in ("x", '"', "é", "1.2.3,4,5", "nan", ";", "", "\x00"):
        more = read(tmp_path, f"cost;n\n1,5;1\n{cell};9\n2;2\n", GERMAN)
        pd.testing.assert_frame_equal(more.iloc[[0, 2]].reset_index(drop=True), plain)


def test_on_the_command_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("pid;cost\n" + "".join(f"{n};1.50{n % 10},5\n" for n in range(1000)), "latin-1")
    schema = tmp_path / "schema.toml"
    schema.write_text("[cost]\nbounds = [0, 5000]\n")
    options = ("--epsilon", 100, "--total", 100, "--ledger", tmp_path / "books", "--name", "a", "--schema", schema)
    signs = ("--sep", ";", "--decimal", ",", "--thousands", ".", "--encoding", "latin-1")
    done = command("query", path, "mean('cost')", *options, *signs)
    assert (done.returncode, done.stderr) == (0, "")
    # Laplace noise of scale 0.1 or less: beyond 5 with probability e^-50
    assert abs(float(re.match(r"[\d,.]+", done.stdout)[0].replace(",", "")) - 1505) < 5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--sep", ";;"), "--sep takes one sign: --sep ';'"),
        (("--decimal", ""), "--decimal takes one sign"),
        (("--decimal", "5"), "--decimal cannot be '5', which has a meaning of its own"),
        (("--thousands", "."), "--decimal and --thousands are two signs"),
        (("--encoding", "utf-16"), "--encoding must be 'utf-8' or an encoding with one byte for each letter"),
        (("--encoding", "shift-jis"), "--encoding must be"),
        (("--encoding", "no such"), "--encoding must be"),
    ],
)
def test_other_forms_are_refused_before_anything_is_read(tmp_path, options, text):
    (tmp_path / "a.csv").write_text("cost\n1\n")
    where = ("--epsilon", 1, "--total", 1, "--ledger", tmp_path / "books", "--name", "a")
    done = command("query", tmp_path / "a.csv", "count()", *where, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr
    assert not (tmp_path / "books").exists()
