"""Names that look the same are one budget, or the second is refused: before anything is opened, in every way to name one."""

from __future__ import annotations

import ast
import unicodedata

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames import fresh, people

import pandas_dp
from pandas_dp.__main__ import main
from pandas_dp.core.ledger import open_ledger
from pandas_dp.facts.names import canonical, check_name

TWINS = {
    "case": "VISITS 2026",
    "title": "Visits 2026",
    "space at the end": "visits 2026 ",
    "two spaces": "visits  2026",
    "no space": "visits2026",
    "space of another width": "visits\u00a02026",
    "zero width": "visits\u200b 2026",
    "soft hyphen": "vis\u00adits 2026",
    "full width": "\uff56isits 2026",
    "variation selector": "visits\ufe0f 2026",
    "filler": "visits\u3164 2026",
    "tab": "visits\t2026",
    "direction": "\u202evisits 2026",
    "superscript": "visits \u00b2026",
}


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
@pytest.mark.parametrize("kept", ["file", "memory"])
def test_a_twin_opens_no_second_budget(twin, kept, tmp_path):
    path, mark = (tmp_path / "l.dpledger", "") if kept == "file" else (None, fresh(""))
    session = people().dp.protect(epsilon=1, name=f"visits 2026{mark}", ledger=path)
    known = list(session._ledger.heads())
    with pytest.raises(pandas_dp.ArgumentValueError, match=f"type name='visits 2026{mark}'"):
        people().dp.protect(epsilon=50, name=twin.replace("026", f"026{mark}"), ledger=path)
    assert list(session._ledger.heads()) == known
    assert people().dp.protect(epsilon=1, name=f"visits 2026{mark}", ledger=path) is session
    if path is not None:
        with pytest.raises(pandas_dp.ArgumentValueError, match="type name='visits 2026'"):
            pandas_dp.open_session(path, name=twin)
    session.close()


@pytest.mark.parametrize(
    "name", ["a ", " a", "a  b", "a\u200bb", "\uff41", "a\nb", "\u3164", " ", "cafe\u0301", "\u00bd"]
)
def test_names_that_hide_something_are_refused_with_one_that_does_not(name, tmp_path):
    frame = people()
    with pytest.raises(pandas_dp.ArgumentValueError, match="must not look like another name") as refused:
        frame.dp.protect(epsilon=1, name=name, ledger=tmp_path / "l.dpledger")
    line = str(refused.value).rpartition("name=")[2]
    assert line.isprintable()
    assert frame.dp.protect(epsilon=1, name=line[1:-1], ledger=tmp_path / "l.dpledger").name == line[1:-1]


def test_parts_are_told_apart_as_well():
    df = people()
    df.dp.protect(epsilon=3, name=fresh())
    part = df.dp.allot("nightly", epsilon=1)
    for twin in ("Nightly", "nightly ", "night\u200bly"):
        with pytest.raises(pandas_dp.ArgumentValueError, match="type name='nightly'"):
            df.dp.allot(twin, epsilon=1)
    assert df.dp.session.spent == "epsilon=1"
    assert df.dp.allot("nightly", epsilon=1).dp.session is part.dp.session
    other = people()
    other.dp.protect(epsilon=3, name=fresh())
    other.dp.allot("Nightly", epsilon=1)  # of another budget
    assert len(df.dp.partition("sex", ["f", "m"], epsilon=1)) == 2


PLAN = """
budget = {name = "Visits", epsilon = 3}
table.version = "1"
[[queries]]
name = "rows"
price = {epsilon = 0.5}
ask = "count()"
"""
RUN = "run plan.toml --data v.parquet --ledger l.dpledger --out answers"
QUERY = "query v.parquet count() --epsilon 1 --total 2 --ledger l.dpledger --name Visits"


@pytest.mark.parametrize("line", [RUN, f"{RUN} --dry-run", QUERY])
def test_the_command_line_refuses_them_too(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people().to_parquet("v.parquet")
    people().dp.protect(epsilon=1, name="visits", ledger="l.dpledger").close()
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(SystemExit) as done:
        main(line.split())
    assert done.value.code == 2
    typed = "--name visits" if line == QUERY else 'name = "visits"'
    assert f"the budget 'visits' exists: type {typed}\n" in capsys.readouterr().err
    ledger = open_ledger("l.dpledger")
    assert list(ledger.heads()) == ["visits"]
    ledger.close()


def test_names_of_earlier_ledgers_go_on(tmp_path):
    """Whatever is on record is found by the very name it has."""
    path = tmp_path / "l.dpledger"
    session = people().dp.protect(epsilon=1, name="visits", ledger=path)
    for old in ("Visits", "a  b"):
        session._ledger.open(old, session.budget, session.unit)  # as they were opened
        assert people().dp.protect(epsilon=1, name=old, ledger=path).name == old
        assert pandas_dp.open_session(path, name=old).name == old
    session._ledger.close()


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


UNSEEN = st.sampled_from(["", " ", "\u200b", "\u00ad", "\ufeff"])


@given(NAMES, st.sampled_from(["upper", "lower", "title", "swapcase"]), UNSEEN)
def test_the_canonical_form_is_blind_to_case_width_and_what_is_not_seen(name, case, unseen):
    assert canonical(f"{unseen}{name}{unseen}") == canonical(name)
    assert canonical(canonical(name)) == canonical(name)
    assert canonical(unicodedata.normalize("NFKC", name)) == canonical(name)
    plain = "".join(c for c in name if c.isascii())
    assert canonical(unseen.join(getattr(plain, case)())) == canonical(plain)


@given(NAMES)
def test_what_is_proposed_is_accepted(name):
    try:
        check_name(name, [])
    except pandas_dp.ArgumentValueError as error:
        proposed = str(error).rpartition("name=")[2]
        check_name(ast.literal_eval(proposed), [])


def test_frames_are_let_alone_by_a_refused_name():
    df = pd.DataFrame({"a": [1]})
    with pytest.raises(pandas_dp.ArgumentValueError):
        df.dp.protect(epsilon=1, name="a ")
    assert df.attrs == {}
