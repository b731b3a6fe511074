"""The list of planted faults fits the package: each has its one place, differs from the code there, and its tests exist."""

from __future__ import annotations

from pathlib import Path

import pytest

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
        file, _, test = path.partition("::")
        assert f"def {test}(" in (ROOT / "tests" / file).read_text() if test else (ROOT / "tests" / file).exists(), path
