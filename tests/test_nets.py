"""The nets catch what slips through lists: planted as the guide for contributors says, each fault makes its net fail.

A mechanism with noise of 0 or 1 at full price comes with a statistic, an aggregate and a question of its own, in modules beside
those of the package. Every net has to find what is new, and, once it is written down in its table, what is wrong with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction as F
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support import calls
from support.calls import Made
from support.laws import ONE, Law, vectors
from support.neighbours import RELATIONS
from support.sensitivities import Case, integers

import pandas_dp
import pandas_dp.core.mechanisms
import pandas_dp.core.samplers
import pandas_dp.core.statistics
from pandas_dp.aggregates.base import Answer, ExpectedError, SingleLook, Terms
from pandas_dp.core.measurement import Measurement
from pandas_dp.core.statistics.sums import Total
from pandas_dp.questions.frame import PricedFrame
from tests.contract import test_every_argument
from tests.core import test_every_law, test_every_sensitivity
from tests.core.samplers.laws import discrete_laplace_law
from tests.statistical import test_every_question_is_audited as audits

MECHANISM = '''
from dataclasses import dataclass
from fractions import Fraction
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.randomness import random_words


@dataclass(frozen=True)
class Coin:
    """Adds 0 or 1 to every entry, and is charged as if it were Laplace noise."""

    scale: Fraction
    name = "coin"

    @classmethod
    def calibrate(cls, epsilon, sensitivity):
        return cls(Fraction(sensitivity.l1) / epsilon)

    def loss(self, sensitivity):
        return DiscreteLaplace(self.scale).loss(sensitivity)

    def draw(self, exact, fill=None):
        exacts = exact.open()
        return [x + int(word) % 2 for x, word in zip(exacts, random_words(len(exacts)), strict=True)]
'''
SAMPLER = """
from pandas_dp.core.randomness import Bits


def draw_planted(bits: Bits) -> int:
    return 0
"""
STATISTIC = '''
from dataclasses import dataclass
from pandas_dp.core.measurement import Exact
from pandas_dp.core.privacy import Sensitivity


@dataclass(frozen=True)
class Tripled:
    """Three times the number of rows, and says that a row moves it by 1."""

    def sensitivity(self, unit):
        return Sensitivity(unit.rows, unit.rows**2, unit.rows)

    def compute(self, view, unit):
        return Exact([3 * view.rows])
'''


def planted_in(package: ModuleType, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of a package that stands in another folder."""
    name = f"planted_{package.__name__.rpartition('.')[2]}"
    (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    __import__(f"{package.__name__}.{name}")
    return sys.modules[f"{package.__name__}.{name}"]


@pytest.fixture(autouse=True)
def uprooted() -> Iterator[None]:
    """What was planted ends with its test."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "planted_" in name:
            package, _, last = name.rpartition(".")
            del sys.modules[name]
            delattr(sys.modules[package], last)


@pytest.fixture
def coin(tmp_path, monkeypatch) -> Any:
    return planted_in(pandas_dp.core.mechanisms, MECHANISM, tmp_path, monkeypatch).Coin


@pytest.fixture
def tripled(tmp_path, monkeypatch) -> Any:
    return planted_in(pandas_dp.core.statistics, STATISTIC, tmp_path, monkeypatch).Tripled


def test_a_mechanism_without_a_law_is_found(coin):
    assert test_every_law.without_a_law() == ["no law for class Coin: add it to tests/support/laws.py"]
    with pytest.raises(AssertionError, match="no law for class Coin"):
        test_every_law.test_everything_that_draws_has_a_law()


def test_a_sampler_without_a_law_is_found(tmp_path, monkeypatch):
    planted_in(pandas_dp.core.samplers, SAMPLER, tmp_path, monkeypatch)
    (found,) = test_every_law.without_a_law()
    assert "draw_planted()" in found


def heads(mechanism: Any, exact: list[int]) -> dict[Any, float]:
    return {(exact[0],): 0.5, (exact[0] + 1,): 0.5}


def laplace(mechanism: Any, exact: list[int]) -> dict[Any, float]:
    return {(exact[0] + z,): p for z, p in discrete_laplace_law(mechanism.scale).items() if p > 1e-9}


def test_whatever_is_said_of_its_law(coin):
    """With the law that it has its loss exceeds the claim; with the law that it should have its draws are refused."""
    made = coin.calibrate(F(1), ONE)
    honest = Law(made, ONE, vectors(ONE, 1), heads, coin(F(1, 9)))
    with pytest.raises(AssertionError, match="inf"):
        test_every_law.test_no_loss_exceeds_the_claim(honest)
    wishful = Law(made, ONE, vectors(ONE, 1), laplace, coin(F(1, 9)))
    assert test_every_law.used(wishful, made) <= 1 + 1e-6
    with pytest.raises(AssertionError):
        test_every_law.test_mechanisms_draw_their_law(wishful)


def test_a_statistic_without_an_entry_is_found(tripled):
    with pytest.raises(AssertionError, match="no sensitivity test for class Tripled"):
        test_every_sensitivity.test_every_statistic_has_an_entry()


def test_a_statistic_that_moves_farther_is_found(tripled):
    beyond, _ = test_every_sensitivity.found(Case(tripled(), integers, bounds=()))
    assert beyond


@pytest.fixture
def tossed(coin, monkeypatch) -> str:
    """``df.dp(epsilon=1).tossed("cost", bounds=...)``: a sum with the noise of a coin."""

    @dataclass(frozen=True)
    class Tossed(SingleLook):
        column: str
        lattice: Any

        def look(self, terms: Terms) -> Measurement:
            statistic = Total(self.column, self.lattice)
            return Measurement(statistic, coin.calibrate(terms.price.epsilon, statistic.sensitivity(terms.unit)))

        def answer(self, noisy: Any, look: Measurement, terms: Terms) -> Answer:
            return Answer(float(noisy[0]), "coin", None)

        def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
            return ExpectedError("coin", None, "not known in advance")

    def tossed(self: PricedFrame, column: str, *, bounds: Any = None) -> Any:
        _, lattice = self._lattice("sum", column, bounds, None, 16)
        return self._ask(f"tossed({column!r})", Tossed(column, lattice), (column,))

    tossed.__module__ = PricedFrame.__module__
    monkeypatch.setattr(PricedFrame, "tossed", tossed, raising=False)
    return "PricedFrame.tossed"


def test_a_question_that_nobody_asks_is_found(tossed):
    with pytest.raises(AssertionError, match=r"no question of .*questions\.py asks PricedFrame\.tossed"):
        test_every_argument.test_every_question_is_asked_somewhere()


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_question_with_that_mechanism_is_refuted(tossed, relation):
    """Once it stands in the registry it is audited: what is audited are all questions that are not exempt."""
    result = audits.audited("tossed", lambda d: d.tossed("cost", bounds=(0, 100)), relation)
    assert result.violated, str(result)


def test_an_exemption_needs_a_reason_and_an_audit(monkeypatch):
    monkeypatch.setitem(audits.EXEMPT, "count", ("", "test_audits.py::test_nothing"))
    assert audits.unknown() == [
        "'count' has no reason",
        "'count' is exempt for test_audits.py::test_nothing, which is no test",
    ]


def test_an_argument_that_ends_in_a_raw_error_is_found(monkeypatch):
    """An argument that nobody checks: any value but a number is an error of Python."""
    original = PricedFrame.count

    def count(self: PricedFrame, column: str | None = None, *, planted: Any = 0) -> Any:
        return original(self, column) if planted + 1 else None

    monkeypatch.setattr(PricedFrame, "count", count)
    frame = calls.held()
    wrong = list(test_every_argument.faults(Made(frame.dp(epsilon=1).count, ("cost",))))
    assert {one.partition(" = ")[0] for one in wrong} == {"planted"}
    assert any("TypeError" in one for one in wrong)


def test_a_call_that_nobody_makes_is_found(monkeypatch):
    def planted(self: Any, value: Any) -> Any:
        return value

    planted.__module__ = pandas_dp.Session.__module__
    monkeypatch.setattr(pandas_dp.Session, "planted", planted, raising=False)
    with pytest.raises(AssertionError, match=r"no right call of Session\.planted: add it"):
        test_every_argument.test_every_other_call_has_a_right_one()
