"""What type checkers take the answers of a priced frame for."""

from __future__ import annotations

import subprocess
import sys

import pytest

LINES = """
from typing import assert_type
import pandas as pd
import pandas_dp
from pandas_dp.questions.columns import PricedColumns
from pandas_dp.questions.frame import PricedColumn, PricedFrame

priced = pandas_dp.dp(pd.DataFrame({"age": [1]}))(epsilon=1)
assert_type(priced, PricedFrame)
assert_type(priced["age"], PricedColumn)
assert_type(priced[["age", "cost"]], PricedColumns)
"""


@pytest.mark.slow
def test_one_column_and_several_are_told_apart(tmp_path):
    (tmp_path / "lines.py").write_text(LINES)
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(tmp_path / "lines.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
