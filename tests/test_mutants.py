"""The list of planted faults fits the package: each has its one place, differs from the code there, and its tests exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants import __main__ as runner
from tests.mutants.faults import FAULTS, planted

ROOT = Path(__file__).parents[1]


def test_there_are_at_least_forty_and_their_names_differ():
    assert len(FAULTS) >= 40
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_has_its_one_place_and_its_tests(fault):
    text = (ROOT / "pandas_dp" / fault.file).read_text()
    broken = planted(text, fault)
    assert broken != text
    compile(broken, fault.file, "exec")
    for path in fault.tests:
        file, _, case = path.partition("::")
        test = case.partition("[")[0]
        assert f"def {test}(" in (ROOT / "tests" / file).read_text() if test else (ROOT / "tests" / file).exists(), path


@pytest.mark.parametrize(
    "room", ["core", "engines", "steps", "aggregates", "accounting", "release", "books", "commands"]
)
def test_each_room_has_three(room):
    assert sum(fault.file.startswith(f"{room}/") for fault in FAULTS) >= 3


@pytest.mark.parametrize(("code", "broken", "killed"), [(1, "", True), (0, "", False), (1, "[a case]", False)])
def test_a_test_that_fails_without_the_fault_finds_nothing(tmp_path, monkeypatch, capsys, code, broken, killed):
    fault, clean = FAULTS[0], tmp_path / "clean"
    (clean / "pandas_dp" / fault.file).parent.mkdir(parents=True)
    (clean / "pandas_dp" / fault.file).write_text((ROOT / "pandas_dp" / fault.file).read_text())
    monkeypatch.setattr(runner, "run", lambda *_: (code, f"FAILED tests/{fault.tests[0]}[a case] - it\n" * code))
    assert runner._shown(fault, clean, {fault.tests[0] + broken} if broken else set()) is killed
    assert ("killed" if killed else "SURVIVED") in capsys.readouterr().out


def test_tests_are_named_by_case_file_or_folder():
    assert all(
        runner._named(path, "core/test_x.py::test_y[1]")
        for path in ("core", "core/test_x.py", "core/test_x.py::test_y")
    )
    assert not any(runner._named(path, "core/test_x.py::test_y[1]") for path in ("cor", "core/test_x.py::test_"))
