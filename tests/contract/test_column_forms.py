"""Questions of a selected column are those of the frame: made by a script, kept in a file, with the frame's help."""

from __future__ import annotations

import inspect

import pytest
from support import column_forms

from pandas_dp.questions.column_forms import ColumnForms
from pandas_dp.questions.frame import PricedColumn, PricedFrame


def test_the_file_is_fresh():
    assert column_forms.FILE.read_text() == column_forms.made(), "python -m tests.support.column_forms"


def test_what_a_question_of_the_frame_takes_is_seen(monkeypatch):
    def mean(self, column: str, often: int = 1, *, bounds: object = None, word: str = "a") -> float:
        return 0.0

    monkeypatch.setattr(PricedFrame, "mean", mean)
    assert column_forms.form("mean").splitlines()[1:] == [
        "    def mean(self, often: int=1, *, bounds: object=None, word: str='a') -> float:",
        '        """See `PricedFrame.mean`."""',
        "        return self._frame.mean(self._column, often, bounds=bounds, word=word)",
    ]


@pytest.mark.parametrize("name", column_forms.NAMES)
def test_a_question_of_a_column_takes_and_says_what_that_of_the_frame_does(name):
    own, frames = getattr(PricedColumn, name), getattr(PricedFrame, name)
    whole = inspect.signature(frames)
    _, first, *_ = whole.parameters
    assert first in ("column", "columns")
    given = [other for other in whole.parameters.values() if other.name != first]
    assert inspect.signature(own) == whole.replace(parameters=given)
    told, of_frame = inspect.getdoc(own), inspect.getdoc(frames)
    assert told.startswith(f"See `PricedFrame.{name}`.\n\n{of_frame.splitlines()[0]}")
    assert f"\n{first} : " in of_frame
    assert f"\n{first} : " not in told
    assert ("Parameters\n---" in told) == (len(given) > 1)  # beside self
    for title in ("Returns", "Raises", "Notes", "Examples"):
        assert of_frame.count(f"\n{title}\n---") == told.count(f"\n{title}\n---") == 1
    assert f'"].{name}(' in told


def test_no_question_of_a_column_is_beside_the_list():
    made = {name for name in vars(ColumnForms) if not name.startswith("_")}
    assert made == set(column_forms.NAMES)
    assert {name for name in dir(PricedColumn) if not name.startswith("_")} == made | {"count", "agg"}
