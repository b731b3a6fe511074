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
    with pytest.raises(pandas_dp.ArgumentValueError, match="type the number that is, rows=1000"):
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
