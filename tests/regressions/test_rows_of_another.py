"""The number of rows is public where somebody said so of these rows, not of others that stand under the same name."""

import warnings

import pandas as pd
import pytest

import pandas_dp
from tests.support.frames import fresh

ONE = {"neighbors": "replace_one", "epsilon": 3}


@pytest.fixture(params=["file", "version"])
def read(request, tmp_path, monkeypatch):
    """Two objects of one file or of one version, the first of which loses rows before it is protected."""
    monkeypatch.setattr("pandas_dp.tables.readers.SETTLED", 0)
    path = tmp_path / "visits.parquet"
    pd.DataFrame({"age": [30, 40, None, 50], "sex": list("abcd")}).to_parquet(path)
    own = request.param == "file"
    reader = pandas_dp.read_parquet if own else pd.read_parquet
    return (lambda: reader(path)), {} if own else {"table": "visits", "version": "1"}


def test_the_number_of_rows_of_another_object_stays_private(read):
    make, typed = read
    name, first, second = fresh(), make(), make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas will have no inplace= one day
        first.dropna(inplace=True)
    first.dp.protect(name=name, **ONE, **typed)
    with pytest.raises(pandas_dp.ArgumentValueError, match="type the number that is public, rows=1000"):
        second.dp.protect(name=name, rows=True, **ONE, **typed)
    second.dp.protect(name=name, rows=1000, **ONE, **typed)
    assert second.dp(epsilon=1).count() == 1000  # what was typed
    assert first.dp.session.spent == "epsilon=0"


def test_what_was_said_of_the_first_holds_for_all(read):
    make, typed = read
    name, first, second, third = fresh(), make(), make(), make()
    first.dp.protect(name=name, rows=True, **ONE, **typed)
    second.dp.protect(name=name, rows=True, **ONE, **typed)
    assert second.dp(epsilon=1).count() == 4
    third.dp.protect(name=name, rows=False, **ONE, **typed)
    third.dp(epsilon=1).count()
    assert third.dp.session.spent == "epsilon=1"


@pytest.mark.parametrize("joined", [False, True])
def test_a_number_that_previews_show_is_not_hidden_afterwards(joined):
    """Nothing was asked, so other terms could be typed: those which promise that the number stays private cannot."""
    name, df, other = fresh(), pd.DataFrame({"age": range(200)}), pd.DataFrame({"age": range(100)})
    session = df.dp.protect(name=name, rows=None if joined else True, **ONE)
    if joined:
        other.dp.protect(session=session, table="other", rows=True)
    assert "rows" in (other if joined else df).dp.preview(epsilon=1).mean("age", bounds=(0, 200)).error
    with pytest.raises(pandas_dp.LedgerError, match="replace_one"):
        df.dp.protect(epsilon=3, name=name)
    df.dp.protect(name=name, neighbors="replace_one", epsilon=5)  # another total still may be typed
    assert session.budget.epsilon == 5


def test_other_terms_may_be_typed_where_no_number_was_said():
    name, df = fresh(), pd.DataFrame({"age": range(200)})
    df.dp.protect(name=name, **ONE)
    assert df.dp.protect(epsilon=3, name=name).unit.add_remove
