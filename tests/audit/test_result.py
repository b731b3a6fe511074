"""What an audit says of itself: never more than it found."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pandas_dp import ArgumentTypeError
from pandas_dp.audit import AuditResult

PASSED = AuditResult(
    0.83199, 1.0, 0.0, 0.9041, "the number is at least 3, more often on the table", (1500, 600), 5000, 1e-6
)
VIOLATED = replace(PASSED, epsilon_lower=2.10009)


def test_no_violation():
    assert PASSED.verdict == "no violation found: at least 0.8319 of the claimed 1"
    assert repr(PASSED).splitlines() == [
        "no violation found: at least 0.8319 of the claimed 1",
        "  event    the number is at least 3, more often on the table",
        "  counts   1,500 to 600, of 2,500 outputs each",
        "  samples  5,000 on each table; half of them chose the event",
        "  power    noise that spends 1 in full shows about 0.9041 here",
        "  This proves nothing by itself: other tables, or more samples, may show more.",
    ]


def test_violation():
    assert VIOLATED.verdict == "VIOLATION: at least 2.1 where 1 was claimed, false alarm at most 1e-06"
    assert "power" not in repr(VIOLATED)


def test_a_bound_at_the_claim_is_no_violation_and_one_above_it_is():
    assert replace(PASSED, epsilon_lower=1.0).passed
    assert replace(PASSED, epsilon_lower=1.0000001).violated


@pytest.mark.parametrize(
    "result", [PASSED, VIOLATED, replace(PASSED, epsilon_lower=0.0), replace(VIOLATED, delta=1e-6)]
)
def test_it_never_says_private_and_is_neither_true_nor_false(result: AuditResult):
    for text in (repr(result), result.verdict, result._repr_html_()):
        assert "private" not in text.lower()
        assert "safe" not in text.lower()
    with pytest.raises(ArgumentTypeError, match=r"found\.passed"):
        bool(result)


def test_a_delta_stands_beside_the_claim():
    assert replace(VIOLATED, delta=1e-6).verdict.startswith("VIOLATION: at least 2.1 where 1 (delta 1e-06) was claimed")


def test_nothing_found_is_said_to_be_nothing():
    assert "none stands out" in repr(replace(PASSED, epsilon_lower=0.0))
    assert "at least 0 of" in replace(PASSED, epsilon_lower=0.0).verdict


def test_notebooks_escape_the_event():
    assert "&lt;b&gt;" in replace(PASSED, event="such as <b>")._repr_html_()
