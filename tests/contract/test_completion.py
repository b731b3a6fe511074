"""What a notebook offers where pandas-stubs is not installed, as on most machines: jedi is asked, as IPython asks it.

Of pandas 3's frames jedi finds no source, so what hangs from them it knows by the annotations of living objects alone.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import jupyter_client
import pytest
from support.frames import protected

import pandas_dp
from pandas_dp.accessor.accessor import Accessor
from pandas_dp.questions.frame import PricedColumn, PricedFrame
from pandas_dp.questions.groups import PricedGroups

PACKAGE = Path(pandas_dp.__file__).parent
CODE = """
import json, pathlib, sys
import jedi, pandas as pd, pandas_dp
assert not any(pathlib.Path(folder, "pandas-stubs").exists() for folder in sys.path)
df = pd.DataFrame({"age": [31, 45, 62], "sex": ["f", "m", "f"]})
df.dp.protect(epsilon=30)
exec(sys.argv[2])
found = {}
for line in json.loads(sys.argv[1]):
    names = [completion.name for completion in jedi.Interpreter(line, [globals()]).complete()]
    found[line] = [name for name in names if not name.startswith("_")]
print(json.dumps(found))
"""
KEPT = """
asking, groups = df.dp(epsilon=1), df.dp(epsilon=1).groupby("sex", keys=["f", "m"])
ahead = df.dp.preview(epsilon=1)
"""
GROUPS = ".groupby('sex', keys=['f', 'm'])"
CHAINED = {
    "df.dp.preview(epsilon=1).": PricedFrame,  # the first one: nothing was priced before
    "df.dp(epsilon=1).": PricedFrame,
    "df.dp(epsilon=1)['age'].": PricedColumn,
    "df.dp(epsilon=1).query('age > 40').": PricedFrame,
    f"df.dp(epsilon=1){GROUPS}.": PricedGroups,
    f"df.dp(epsilon=1){GROUPS}['age'].": PricedGroups,
    f"df.dp.preview(epsilon=1).query('age > 40'){GROUPS}['age'].": PricedGroups,
}
OF_VARIABLES = {
    "asking.": PricedFrame,
    "asking.query('age > 40').": PricedFrame,
    "asking['age'].": PricedColumn,
    "groups.": PricedGroups,
    "groups['age'].": PricedGroups,
    "ahead.query('age > 40').": PricedFrame,
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Of a process that finds what is installed here, but for pandas-stubs."""
    site = tmp_path_factory.mktemp("site")
    for name in ("purelib", "platlib"):
        for entry in Path(sysconfig.get_path(name)).iterdir():
            if not entry.name.startswith(("pandas-stubs", "pandas_stubs")) and not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry)
    if not (site / PACKAGE.name).exists():  # it is there already where it was installed, and not linked to its source
        (site / PACKAGE.name).symlink_to(PACKAGE)
    return os.environ | {"PYTHONPATH": str(site)}


@pytest.fixture(scope="module")
def complete(environment):
    """Ask jedi there."""

    def complete(lines, before=""):
        command = [sys.executable, "-S", "-c", CODE, json.dumps(list(lines)), before]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return json.loads(done.stdout)

    return complete


TYPED = """
import pandas as pd, pandas_dp, pathlib, sys
assert not any(pathlib.Path(folder, "pandas-stubs").exists() for folder in sys.path)
df = pd.DataFrame({"age": [31, 45, 62], "sex": ["f", "m", "f"]})
df.dp.protect(epsilon=30)
asking = df.dp(epsilon=1)
kept, groups = asking.query("age > 40"), asking.groupby("sex", keys=["f"])
"""


def public(cls):
    return [name for name in dir(cls) if not name.startswith("_")]


@pytest.mark.slow
def test_what_can_be_asked_is_offered(complete):
    lines = CHAINED | OF_VARIABLES
    found = complete([*CHAINED, "df.dp(epsilon=1).mean('age', bo"]) | complete(OF_VARIABLES, KEPT)
    assert found.pop("df.dp(epsilon=1).mean('age', bo") == ["bounds="]
    assert {line: sorted(names) for line, names in found.items()} == {line: public(cls) for line, cls in lines.items()}


@pytest.mark.slow
def test_nothing_would_be_offered_without_what_the_accessor_says_of_its_call(complete):
    line = "df.dp(epsilon=1)."
    assert complete([line], "del pandas_dp.accessor.accessor.Accessor.__getattribute__") == {line: []}


def test_the_accessor_says_what_its_call_returns():
    assert protected().dp.__annotations__ == {"return": PricedFrame}
    assert inspect.get_annotations(Accessor) == {}  # the class's own, which nobody may take for those of its call
    assert Accessor.__annotations__ == {}  # from here on it has them
    assert protected().dp.__annotations__ == {"return": PricedFrame}


@pytest.fixture(scope="module")
def kernel(environment):
    """A kernel of a notebook's there, that is asked over its wire."""
    command = [sys.executable, "-S", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager = jupyter_client.KernelManager()
    manager._kernel_spec = jupyter_client.kernelspec.KernelSpec(argv=command)  # not one that is installed
    manager.start_kernel(env=environment)
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=300)
    assert client.execute(TYPED, reply=True, timeout=300)["content"]["status"] == "ok"

    def offered(line):
        return client.complete(line, reply=True, timeout=300)["content"]["matches"]

    yield offered
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
def test_a_kernel_offers_questions_arguments_and_columns(kernel):
    for line in ("df.dp.preview(epsilon=1).", "df.dp(epsilon=1).", "df.dp(epsilon=1).query('age > 40').", "asking."):
        assert {name.rpartition(".")[2] for name in kernel(line)} >= {*public(PricedFrame)}, line
    assert {name.rpartition(".")[2] for name in kernel("df.dp(epsilon=1)['age'].")} >= {*public(PricedColumn)}
    for line in ('asking["', 'kept["', 'groups["'):
        assert {name.rpartition('"')[2] for name in kernel(line)} == {"age", "sex"}, line
    assert "bounds=" in kernel("df.dp(epsilon=1).mean('age', bo")


def test_columns_are_offered_behind_a_bracket():
    asking = protected().dp(epsilon=1)
    assert asking._ipython_key_completions_() == ["pid", "age", "pay", "sex", "city", "when"]
    assert asking.assign(old=lambda d: d.age > 65)._ipython_key_completions_()[-1] == "old"
    assert asking.groupby("sex", keys=["f"])._ipython_key_completions_()[0] == "pid"
