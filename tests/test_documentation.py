"""What the documentation shows runs: the README's first block, and every example of a docstring."""

from __future__ import annotations

import doctest
import importlib
import inspect
import math
import os
import pkgutil
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import pandas_dp
from pandas_dp.core.budget import Budget, State
from pandas_dp.core.filters import filter_for
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.report.allowance import more_calls

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs" / "guide.md").read_text()
MODULES = [m.name for m in pkgutil.walk_packages(pandas_dp.__path__, "pandas_dp.") if not m.name.endswith("__main__")]


class Finder(doctest.DocTestFinder):
    """Finds the examples of wrapped functions, too."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object) if inspect.isroutine(object) else object)


@pytest.mark.parametrize("module", MODULES)
def test_examples_of_docstrings(module):
    loaded, runner = importlib.import_module(module), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for examples in Finder(exclude_empty=True).find(loaded, globs=dict(vars(loaded))):
        runner.run(examples)
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_examples():
    found = [t for m in MODULES for t in Finder(exclude_empty=True).find(importlib.import_module(m))]
    assert sum(len(t.examples) for t in found) >= 150
    assert "pandas_dp.accounting.composition.compose" in {t.name for t in found}


def test_the_first_block_of_the_readme():
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[:1]
    *lines, refused = [line for line in block.splitlines() if line.strip()]
    code = (
        "\n".join(lines) + f"\ntry:\n    {refused}\nexcept pandas_dp.BudgetExceededError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "would fit" in done.stdout


def test_the_section_on_looking_first_is_short_and_its_output_true():
    section = README.split("## Look before you pay\n")[1].split("\n## ")[0]
    assert len([line for line in section.splitlines() if line.strip()]) <= 8
    ((call, shown),) = re.findall(r"```python\n(.*?)  # (.*?)\n```", section)
    df = pandas_dp.datasets.load_adult()
    session = df.dp.protect(epsilon=3, name="looking first")
    assert eval(call, {"df": df}) == shown
    assert session.spent == "epsilon=0"


def test_the_section_on_choosing_runs_and_its_numbers_are_true():
    section = GUIDE.split("## Choosing\n")[1].split("\n## ")[0]
    assert len(section.strip().splitlines()) <= 35
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    *_, last = lines = block.strip().splitlines()
    code = "\n".join([*lines[:-1], f"print(type({last.split('  #')[0]}).__name__, flights.dp.session.spent)"])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "Timestamp epsilon=1.5\n", done.stderr
    rule = filter_for(Budget.of(3, Fraction(1, 10**6)))
    calls = {price: more_calls(rule, State.zero(), PrivacyLoss.pure(Fraction(price))) for price in ("0.01", "0.3")}
    assert calls == {"0.01": 3676, "0.3": 10}
    assert "admits 3,676 calls at 0.01 instead of 300" in section
    assert [round(math.e**total, 1) for total in (1, 3)] == [2.7, 20.1]


def test_the_two_commands_of_the_readme():
    """The whole check runs them as they stand here."""
    assert re.findall(r"^\$ (.*)$", README, re.MULTILINE) == [
        "pip install . && python -m pandas_dp demo",
        "pip install '.[test]' && pytest",
    ]


def test_the_demo_marks_true_answers_and_shows_a_refusal():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pandas_dp", "demo"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("[NON-PRIVATE, for comparison only]") == 5
    assert "BudgetExceededError" in done.stdout
    assert done.stdout.count("95 %") >= 5


PUBLIC = [name for name in pandas_dp.__all__ if name != "datasets"]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_docstrings(name):
    thing = getattr(pandas_dp, name)
    assert thing.__doc__
    if isinstance(thing, type):
        for member in (m for m in vars(thing) if not m.startswith("_")):
            assert getattr(thing, member).__doc__, f"{name}.{member}"
