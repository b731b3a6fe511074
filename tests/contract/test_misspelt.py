"""Whoever mistypes a name is told which one is close: of attributes, arguments, options and files."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pandas as pd
import pytest
from support.frames import people, protected

import pandas_dp
from pandas_dp.__main__ import main

CLOSE = [
    ("df.dp.sesion", "session"),
    ("df.dp.protcet(epsilon=1)", "protect"),
    ("df.dp.preveiw(epsilon=1)", "preview"),
    ("df.dp.allott('a', epsilon=1)", "allot"),
    ("df.dp.filtre('age > 3')", "filter"),
    ("df.dp(epsilon=1).cont()", "count"),
    ("df.dp(epsilon=1)['age'].meen(bounds=(0, 1))", "mean"),
    ("df.dp(epsilon=1).groupby('sex', keys=['F']).siz()", "size"),
    ("df.dp.session.relases", "releases"),
    ("df.dp.session.left.epsilonn", "epsilon"),
    ("df.dp.session.releases.to_htm()", "to_html"),
    ("df.dp(epsilon=1).count().interva()", "interval"),
    ("df.dp(epsilon=1).count().valu", "value"),
    ("df.dp(epsilon=1).mean('age', bounds=(0, 99)).to_jsn()", "to_json"),
    ("df.dp(epsilon=1).mode('sex', keys=['F', 'M']).intervall()", "interval"),
    ("df.dp(epsilon=1).value_counts('sex', keys=['F', 'M']).sort_vlues()", "sort_values"),
    ("df.dp(epsilon=1).value_counts('sex', keys=['F', 'M']).to_df()", "to_frame"),
    ("df.dp(epsilon=1).agg({'age': ['mean']}, bounds={'age': (0, 9)}).tabel()", "table"),
    ("df.dp.preview(epsilon=1).count().eror", "error"),
    ("df.dp(epsilon=1).above_threshold(10).clos()", "close"),
    ("pandas_dp.query(epsilon=1).cuont()", "count"),
    ("pandas_dp.plan([pandas_dp.query(within=5).count()], frame=df).totl", "total"),
    ("pandas_dp.Schema({}).to_tml('a.toml')", "to_toml"),
    ("pandas_dp.qery(epsilon=1)", "query"),
    ("pandas_dp.reed_csv('a.csv')", "read_csv"),
    ("pandas_dp.acounting", "accounting"),
    ("df.dp(epslion=1)", "epsilon"),
    ("df.dp(epsilon=1).mean('age', bonds=(0, 1))", "bounds"),
    ("df.dp.protect(epsilon=1, untt='pid')", "unit"),
    ("df.dp.session.extend(reson='a')", "reason"),
]


@pytest.mark.parametrize(("typed", "meant"), CLOSE)
def test_the_close_name_is_told(typed, meant):
    df = protected(epsilon=50, delta=1e-3)
    with pytest.raises((AttributeError, pandas_dp.ArgumentTypeError)) as caught:
        eval(typed, {"df": df, "pandas_dp": pandas_dp})
    assert f"; did you mean {meant!r}?" in str(caught.value)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("pandas_dp.scan_csv('a.csv')", r"scan_parquet\('visits/\*.parquet'\) scans files, and read_csv"),
        ("pandas_dp.scan_feather", "scan_parquet"),
        ("pandas_dp.read_excel('a.xlsx')", r"df = pandas\.read_excel\(\.\.\.\), and then df\.dp\.protect\(epsilon=3\)"),
        ("pandas_dp.read_sql", r"df = pandas\.read_sql\(\.\.\.\)"),
        ("pandas_dp.protect", r"a frame is protected by df\.dp\.protect\(epsilon=3\)"),
        ("df.dp(epsilon=1).preview", r"comes before the price: df\.dp\.preview\(epsilon=0\.5\)"),
        ("df.dp(epsilon=1).session", r"comes before the price: df\.dp\.session$"),
        ("df.dp(epsilon=1).count().confidence_interval", r"an error bar is \.interval\(\)"),
    ],
)
def test_names_of_other_packages_lead_to_what_there_is(typed, told):
    with pytest.raises(AttributeError, match=told):
        eval(typed, {"df": protected(), "pandas_dp": pandas_dp})


def test_a_name_that_is_like_no_other_is_told_plainly():
    df = protected(epsilon=9)
    count = df.dp(epsilon=1).count()
    for made, name in ((count, "xyzzy"), (df.dp.session.left, "xyzzy"), (pandas_dp, "xyzzy"), (count, "_xyzzy")):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'$"):
            getattr(made, name)
    assert not hasattr(count, "__array_ufunc_of_others__")


def test_labels_of_answers_are_still_found():
    answer = protected(epsilon=9).dp(epsilon=1).value_counts("sex", keys=["F", "M"])
    assert answer["F"] == answer.F
    assert answer.copy(deep=True).equals(pd.Series(answer))


def test_python_adds_no_name_of_its_own():
    code = "import pandas_dp\npandas_dp.qery"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        done.stderr.splitlines()[-1]
        == "AttributeError: module 'pandas_dp' has no attribute 'qery'; did you mean 'query'?"
    )


OPTIONS = [
    ("qury v.parquet", "query"),
    ("query visits.parquet 'count()' --epslion 0.5 --ledger books --name v", "--epsilon"),
    ("query visits.parquet 'count()' --epsilon 0.5 --ledger books --name v --neighbors replace-one", "replace_one"),
    ("query vists.parquet 'count()' --epsilon 0.5 --ledger books --name visits", "visits.parquet"),
    ("query visits.parquet 'cuont()' --epsilon 0.5 --ledger books --name visits", "count"),
    ("run plna.toml --data visits.parquet --ledger books --out answers", "plan.toml"),
    ("run plan.toml --dta visits.parquet --ledger books --out answers", "--data"),
    ("ledger shwo books", "show"),
    ("ledger show boks", "books"),
    ("ledger extend books --nme visits --to 5 --reason more", "--name"),
    ("ledger report books --name vists", "visits"),
]


@pytest.mark.parametrize(("line", "meant"), OPTIONS)
def test_the_command_line_tells_it_too(line, meant, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people().to_parquet("visits.parquet")
    (tmp_path / "plan.toml").touch()
    people().dp.protect(epsilon=3, name="visits", ledger="books").close()
    with pytest.raises(SystemExit) as end:
        main(shlex.split(line))
    assert end.value.code != 0
    assert f"; did you mean {meant!r}?" in capsys.readouterr().err
