"""A second budget by accident: names of budgets and of ledger files that are mistyped or forgotten."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.frames import people

import pandas_dp
from pandas_dp import ArgumentValueError, LedgerError
from pandas_dp.facts.names import is_slip
from pandas_dp.session import second_budgets


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def spend(**terms):
    df = people()
    session = df.dp.protect(epsilon=3, **terms)
    df.dp(epsilon=0.5).count()
    left = session.left
    session.close()
    return left


def typed(line: str) -> str:
    """What a line of advice comes to."""
    df = people()
    session = eval(line, {"df": df})
    left = session.left
    session.close()
    return left


SLIPS = [
    ("hosptial", "hospital"),
    ("hospita", "hospital"),
    ("hospitall", "hospital"),
    ("Hospital", "hospital"),
    ("hospital_visits", "hospitalvisits"),
    ("hospital-vists 2026", "hospital_visits_2026"),
    ("visit", "visits"),
]
OTHERS = [
    ("north", "south"),
    ("ward_a", "ward_b"),
    ("ward a", "ward b"),
    ("visits_2025", "visits_2026"),
    ("visits", "visits2"),
    ("2026-11-28", "2026-11-29"),
    ("clinic-north", "clinic-south"),
    ("visits", "wages"),
    *(
        ("women", "men"),
        ("male", "female"),
        ("vaccinated", "unvaccinated"),
        ("employed", "unemployed"),
        ("paid", "unpaid"),
    ),
    *(("prevaccination", "postvaccination"), ("inpatients", "patients"), ("testA", "testB"), ("train", "retrain")),
    *(("visits_ii", "visits_iii"), ("visits_xvii", "visits_xviii"), ("in", "out"), ("men", "man"), ("east", "west")),
    ("inpatients", "outpatients"),
    ("a", "b"),
    ("", ""),
    ("visits", "visits by ward"),
]


@pytest.mark.parametrize(("name", "other"), SLIPS)
def test_slips_of_a_name(name, other):
    assert is_slip(name, other)
    assert is_slip(other, name)


@pytest.mark.parametrize(("name", "other"), OTHERS)
def test_names_that_are_others(name, other):
    assert not is_slip(name, other)
    assert not is_slip(other, name)


@pytest.mark.parametrize("name", ["visits", "data"])
@pytest.mark.parametrize("file", ["hosptial.db", "hospital.bd", "hospital", "Hospital.db", Path("hosptial.db")])
def test_a_misspelt_ledger_file_is_not_made(file, name):
    assert spend(ledger="hospital.db", name="visits") == "epsilon=2.5"
    with pytest.raises(
        ArgumentValueError, match=r"no ledger .*, but there is 'hospital.db'.*, reason='...'\)"
    ) as caught:
        spend(ledger=file, name=name)
    assert not Path(file).exists()
    line = str(caught.value).splitlines()[1]
    assert line == "df.dp.protect(epsilon=3, ledger='hospital.db', name='visits')  # continues: 0.5 of 3 spent"
    assert typed(line) == "epsilon=2.5"
    df = people()
    session = df.dp.protect(epsilon=3, ledger=file, name=name, reason="another hospital")
    assert session.releases["kind"].tolist() == ["open", "claim"]
    assert "another hospital" in session.report()
    session.close()
    assert spend(ledger=file, name=name) == "epsilon=2.5"  # it is there now


def test_what_lies_beside_a_first_ledger_decides_nothing(tmp_path):
    spend(ledger="hospital.db", name="visits")
    (tmp_path / "sub").mkdir()
    assert spend(ledger="sub/hosptial.db", name="visits") == "epsilon=2.5"
    Path("wards.csv").write_text("age\n31\n")
    with closing(sqlite3.connect("warrds.db")) as other:
        other.execute("CREATE TABLE budgets (id, name)")
        other.execute("INSERT INTO budgets VALUES (1, 'visits')")
        other.commit()
    Path("wardss.db").mkdir()
    Path("ward.db").touch()
    assert spend(ledger="wards.db", name="visits") == "epsilon=2.5"  # none of them is a ledger of that budget


@pytest.mark.parametrize("name", ["visits", "data"])
def test_the_words_that_led_to_a_ledger_in_another_folder_make_no_new_one(tmp_path, monkeypatch, name):
    df, again = people(), people()
    session = df.dp.protect(epsilon=3, ledger="hospital.db", name="visits")
    df.dp(epsilon=0.5).count()
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir("sub")
    with pytest.raises(
        ArgumentValueError, match=rf"no ledger 'hospital.db', since .* uses '{tmp_path}/hospital.db'"
    ) as caught:
        again.dp.protect(epsilon=3, ledger="hospital.db", name=name)
    assert not Path("hospital.db").exists()
    line = str(caught.value).splitlines()[1]
    assert "# continues: 0.5 of 3 spent" in line
    for new in (
        {"ledger": "hospital.db", "name": "wages"},
        {"ledger": tmp_path / "sub" / "third.db", "name": "visits"},
    ):
        assert people().dp.protect(epsilon=3, **new).close() is None
    session.close()
    assert typed(line) == "epsilon=2.5"
    assert spend(ledger="fourth.db", name="visits") == "epsilon=2.5"


def test_another_folder_may_have_a_ledger_of_the_same_words(tmp_path, monkeypatch):
    session = people().dp.protect(epsilon=3, ledger="hospital.db", name="visits")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir("sub")
    for _ in range(2):
        other = people().dp.protect(epsilon=3, ledger="hospital.db", name="visits", reason="another hospital")
        assert other is not session
    assert people().dp.protect(epsilon=3, ledger="hospital.db", name="visits") is other  # it is there now
    other.close()
    session.close()


def test_a_new_name_that_was_typed_is_new_in_either_file():
    spend(ledger="hospital.db", name="visits")
    assert spend(ledger="hosptial.db", name="wages") == "epsilon=2.5"


def test_a_ledger_whose_copy_is_left_is_not_made_anew():
    spend(ledger="visits.dpledger", name="visits")
    pandas_dp.open_session("visits.dpledger", name="visits")._ledger.close()
    shutil.move("visits.dpledger", "visits.dpledger.old")
    with pytest.raises(ArgumentValueError, match=r"no ledger 'visits\.dpledger', but there is 'visits\.dpledger\.old'"):
        spend(ledger="visits.dpledger", name="visits")


def test_a_misspelt_name_opens_no_budget():
    name, where = "visits", {"ledger": "hospital.db"}
    assert spend(**where, name=name) == "epsilon=2.5"
    slip = name.replace("visits", "vists")
    with pytest.raises(LedgerError, match=re.escape(f"has no budget named {slip!r}; it has {name!r}")) as caught:
        spend(**where, name=slip)
    new, line = re.search(r"on record: (.*)\. To continue, type\n(.*)", str(caught.value)).groups()
    assert new == f"df.dp.protect(..., name={slip!r}, reason='...')"
    assert typed(line) == "epsilon=2.5"
    assert spend(**where, name=slip, reason="another hospital") == "epsilon=2.5"
    assert spend(**where, name=slip) == "epsilon=2"  # it is there now


def test_the_same_budget_in_a_ledger_beside_is_told(recwarn):
    spend(ledger="visits.dpledger", name="visits")
    df = people()
    with pytest.warns(UserWarning, match="'visits.dpledger' beside 'hospital.dpledger' has a budget named") as told:
        session = df.dp.protect(epsilon=3, ledger="hospital.dpledger", name="visits")
    line = str(told[0].message).splitlines()[1]
    session.close()
    assert typed(line) == "epsilon=2.5"
    spend(ledger="hospital.dpledger", name="visits")  # once
    spend(ledger="third.dpledger", name="visits", reason="another town")
    spend(ledger="fourth.dpledger")  # a name that nobody typed tells nothing
    spend(ledger="fifth.dpledger")
    assert recwarn.list == []


def test_a_folder_that_cannot_be_listed_hides_nothing_else(monkeypatch):
    def refused(path):
        raise PermissionError

    monkeypatch.setattr(second_budgets.os, "listdir", refused)
    assert spend(ledger="hospital.db", name="visits") == "epsilon=2.5"


def test_ledgers_beside_are_looked_at_without_a_trace():
    """Neither a lock nor a byte: they may be another program's."""
    spend(ledger="hospital.db", name="visits")
    pandas_dp.open_session("hospital.db", name="visits")._ledger.close()
    before = {file: file.read_bytes() for file in Path().iterdir()}
    assert second_budgets.similar_file("hosptial.db", "visits") == "hospital.db"
    assert {file: file.read_bytes() for file in Path().iterdir()} == before
    assert str(Path("hospital.db").resolve()) not in second_budgets.books._ledgers


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_a_second_name_of_a_ledger_is_no_second_budget(link, recwarn):
    spend(ledger="visits_2026.dpledger", name="visits")
    getattr(Path("current.dpledger"), link)("visits_2026.dpledger")
    assert second_budgets.also_in("visits_2026.dpledger", "visits") is None
    assert spend(ledger="visits_2026.dpledger", name="visits") == "epsilon=2"
    assert not [each for each in recwarn if "the two add up" in str(each.message)]


def test_a_link_to_a_ledger_that_is_open_is_read_as_that_one(monkeypatch):
    df = people()
    session = df.dp.protect(epsilon=3, ledger="visits.dpledger", name="visits")
    Path("link.dpledger").symlink_to("visits.dpledger")
    monkeypatch.setattr(second_budgets.ledger_forms, "budgets_in", None)  # would open it a second time
    assert second_budgets._budgets("link.dpledger") == ["visits"]
    session.close()


def test_names_of_many_files_are_compared_without_long_searches(monkeypatch):
    import difflib

    monkeypatch.setattr(difflib, "SequenceMatcher", None)
    for count in range(300):
        Path(f"visitz_{count}.txt").touch()
    assert second_budgets.similar_file("visits_x.dpledger", "visits") is None
