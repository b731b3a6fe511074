"""What type checkers take the answers of a priced frame for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pandas_dp

LINES = """
from typing import assert_type
import pandas as pd
import pandas_dp
from pandas_dp.questions.wanted import PricedColumns
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


USER = """
import pandas as pd
import pandas_dp

df = pd.DataFrame({"age": [1]})
reveal_type(df.dp)
df.dp(epsilon=1).mena("age")
df.dp.protect(epsilom=3)
"""


@pytest.mark.slow
@pytest.mark.parametrize("plugin", [True, False])
def test_mypy_knows_the_accessor_by_its_plugin(tmp_path, plugin):
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "mypy.ini").write_text("[mypy]\n" + "plugins = pandas_dp.mypy\n" * plugin)
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "user.py"]
    home = Path(pandas_dp.__file__).parents[1]  # where it is not installed, both have to be told
    paths = {} if home.name == "site-packages" else dict.fromkeys(("PYTHONPATH", "MYPYPATH"), str(home))
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **paths})
    told = [
        'Revealed type is "pandas_dp.accessor.accessor.Accessor"',
        '"PricedFrame" has no attribute "mena"',
        'Unexpected keyword argument "epsilom"',
    ]
    assert [text in done.stdout for text in told] == [plugin] * 3, done.stdout + done.stderr
