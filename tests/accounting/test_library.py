"""What is handed to the optional library, with a small one in its place; and the library itself where it is there."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from pandas_dp.accounting import Gaussian, Laplace, Loss, compose, epsilon_for, queries_for
from pandas_dp.accounting.rules import INSTALL

LIBRARY = "dp_accounting.pld.privacy_loss_distribution"


class Law:
    """A distribution that remembers how it was made; its epsilon is the sum of what was composed."""

    def __init__(self, made, epsilon, asked):
        self.made, self.epsilon, self.asked = made, epsilon, asked

    def self_compose(self, times):
        return Law([("times", times, *self.made)], self.epsilon * times, self.asked)

    def compose(self, other):
        return Law(self.made + other.made, self.epsilon + other.epsilon, self.asked)

    def get_epsilon_for_delta(self, delta):
        self.asked.append((delta, self.made))
        return self.epsilon


@pytest.fixture
def asked(monkeypatch):
    asked = []

    def maker(name, epsilon_of):
        def make(parameter, *, value_discretization_interval):
            return Law([(name, parameter, value_discretization_interval)], epsilon_of(parameter), asked)

        return make

    library, common = ModuleType(LIBRARY), ModuleType("dp_accounting.pld.common")
    common.DifferentialPrivacyParameters = lambda epsilon, delta: SimpleNamespace(epsilon=epsilon, delta=delta)
    library.from_laplace_mechanism = maker("laplace", lambda scale: 1 / scale)
    library.from_gaussian_mechanism = maker("gaussian", lambda sigma: 1 / sigma)
    library.from_privacy_parameters = maker("pure", lambda terms: terms.epsilon)
    monkeypatch.setitem(sys.modules, LIBRARY, library)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.common", common)
    return asked


def test_each_loss_is_handed_over_as_what_it_is(asked):
    row = compose({Laplace(0.5): 4, Gaussian(0.02): 1, Loss(0.25, 1e-9): 2}, delta=1e-6).loc["pld"]
    ((delta, made),) = asked
    assert delta == pytest.approx(1e-6 + 2e-9 - 1e-12, rel=1e-12)  # the library counts the deltas of the losses itself
    assert row["delta"] == 1.002e-6
    (_, times, laplace), gaussian, (_, twice, pure) = made
    assert (times, laplace[0], twice, pure[0]) == (4, "laplace", 2, "pure")
    assert 2 * (1 - 1e-11) < laplace[1] < 2
    assert gaussian[0] == "gaussian"
    assert 5 * (1 - 1e-11) < gaussian[1] < 5
    assert (pure[1].epsilon, pure[1].delta) == (0.25, 1e-9)
    assert 4 * 0.5 + 0.2 + 2 * 0.25 <= row["epsilon"] < 2.7 * (1 + 1e-10)
    assert row["note"] == ""


@pytest.mark.parametrize(("losses", "most"), [({0.1: 1}, 1e-4), ({0.01: 1}, 2e-5), ({0.03: 1, 0.5: 1}, 6e-5)])
def test_the_grid_divides_the_least_epsilon_and_is_fine(asked, losses, most):
    compose(losses, delta=1e-6)
    intervals = {interval for _, _, interval in asked[-1][1]}
    (interval,) = intervals
    assert most / 2 < interval <= most
    assert (min(losses) / interval).is_integer()


def test_inverses_use_it(asked):
    assert queries_for(0.1, (3.01, 1e-6), rule="pld") == 30
    assert epsilon_for(10, (3, 1e-6), rule="pld") == pytest.approx(0.3, rel=1e-6)


def test_it_is_not_asked_what_it_cannot_answer(asked):
    assert compose([0.1], delta=1e-12).loc["pld", "note"].startswith("its rounding errors are too large")
    assert compose({0.1: 100_001}, delta=1e-6).loc["pld", "note"] == "not computed for more than 100,000 queries"
    assert asked == []


def test_without_it_the_row_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, LIBRARY, None)
    row = compose([0.1], delta=1e-6).loc["pld"]
    assert row["note"] == INSTALL == "needs dp-accounting: pip install 'pandas-dp[pld]'"
    assert row["epsilon"] != row["epsilon"]


def test_the_library_itself():
    pytest.importorskip("dp_accounting")
    table = compose({0.1: 46}, delta=1e-6)["epsilon"]
    assert table["optimal"] <= table["pld"] <= table["optimal"] * 1.0001
    mixed = compose([0.1, 0.25, 0.5, (0.5, 1e-8)], delta=1e-3)["epsilon"]
    assert mixed["pld"] == pytest.approx(mixed["optimal"], rel=1e-4)
    spread = compose({(0.5, 0.01): 5}, delta=0.02)["epsilon"]
    assert spread["pld"] == pytest.approx(spread["optimal"], rel=1e-4)
    noise = compose({Gaussian(0.0025): 83}, delta=1e-6)["epsilon"]
    assert noise["pld"] == pytest.approx(noise["gaussian"], rel=1e-4)
