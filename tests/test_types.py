"""Answers are typed as what they are: checkers read a file of user code, and each question answers with its type."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.frames import fresh
from support.questions import BY_UNIT, EVERY, ROW_BY_ROW, table

from pandas_dp import questions
from pandas_dp.release import values
from pandas_dp.release.base import Release

CODE = Path(__file__).parent / "support" / "typed_code.py"
ROOM = [
    importlib.import_module(f"{questions.__name__}.{module.name}")
    for module in pkgutil.iter_modules(questions.__path__)
]
OF_DATES = {"sum", "mean", "median", "min", "max", "best_price"}  # a date or a duration where the column holds these


def methods() -> list[tuple[type, str, type]]:
    """Each method that says which release it returns."""
    found = []
    for module in ROOM:
        for owner in vars(module).values():
            if inspect.isclass(owner) and owner.__module__ == module.__name__:
                for name, method in vars(owner).items():
                    said = getattr(method, "__annotations__", {}).get("return")
                    if isinstance(said, str) and said.endswith("Release") and not name.startswith("_"):
                        found.append((owner, name, getattr(values, said)))
    return found


@pytest.mark.slow
def test_user_code_passes_mypy(tmp_path):
    # in a folder of its own, as a user has it: beside the tests mypy would read the package's source, not the installed one
    code = shutil.copy(CODE, tmp_path)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", tmp_path / "cache", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_methods_say_which_release_they_return():
    said = {f"{owner.__name__}.{name}": kind for owner, name, kind in methods()}
    assert len(said) > 50
    assert said["PricedFrame.count"] is values.IntRelease
    assert said["ColumnForms.mean"] is values.FloatRelease
    assert said["GroupStatistics.mean"] is values.SeriesRelease
    assert Release not in said.values()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("question", EVERY)
def test_an_answer_is_what_its_method_says(question, monkeypatch):
    met: list[tuple[str, Any, type]] = []

    def watched(name: str, method: Any, kind: type) -> Any:
        @functools.wraps(method)
        def call(*args: Any, **options: Any) -> Any:
            met.append((name, method(*args, **options), kind))
            return met[-1][1]

        return call

    for owner, name, kind in methods():
        monkeypatch.setattr(owner, name, watched(name, vars(owner)[name], kind))
    frame = table()
    unit = {"unit": "uid", "max_rows": 4} if question in BY_UNIT else {}
    relation = {"neighbors": "replace_one", "rows": True} if question in ROW_BY_ROW else {}
    frame.dp.protect(epsilon=10**6, delta=0.5, delta_reserved=0.4, name=fresh(), **unit, **relation)
    EVERY[question](frame.dp(epsilon=10**3))
    for name, answer, kind in met:
        # several at once ask each for its recipe, and get no answer
        if answer is not None and not (name in OF_DATES and type(answer) is values.ObjectRelease):
            assert isinstance(answer, kind), name
