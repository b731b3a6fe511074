"""Random sequences of calls through real sessions: what was admitted keeps the promise, what was refused left nothing.

Each choice depends on the answers so far. What a session admitted is then taken as if it had been fixed beforehand, and its
exact delta at the promised epsilon is computed from the laws of the mechanisms (support.loss_laws), which know nothing of
filters. That adaptive choices do not help beyond this is the matter of the searches in test_filters_twins and test_accountants.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from support.frames import fresh, watching
from support.loss_laws import Drawn, delta, gaussian_rho

from pandas_dp import ArgumentValueError, BudgetExceededError
from pandas_dp.core import ledger
from pandas_dp.core.budget import Budget
from pandas_dp.core.database import READ
from pandas_dp.core.filters import PlanFilter, PureFilter, RenyiFilter
from pandas_dp.core.ledger import Ledger, open_ledger

PEOPLE = pd.DataFrame({"pid": np.arange(60) // 3, "age": np.arange(60) % 50, "sex": ["F", "M"] * 30})
STEP = F(1, 20)  # prices are multiples
TOTALS = [(F(1), F(1, 10**3)), (F(2), F(1, 10**5)), (F(3), F(1, 10**6))]
PLANS = [
    (F(1), F(1, 50), {F(1, 5): 4, F(2, 5): 1}),
    (F(1), F(1, 10**3), {STEP: 25}),
    (F(2), F(1, 10**5), {F(1, 10): 16, F(1, 4): 2}),
    (F(3), F(1, 10**6), {F(1, 10): 40}),
]
ACCOUNTANTS = ["pure", "hybrid", "rdp", "zcdp", "gdp", "plan"]
KINDS = ["laplace", "again", "range", "response", "gaussian", "calibrated", "reveal", "answer"]
MOST_CALLS = 40
MOST_REFUSALS = {"gdp": 8, "plan": 6}  # where much is refused; else 3
PAID = {  # of the kinds above; the others all
    "pure": {"laplace", "again", "stored", "range", "response", "answer"},
    "plan": {"laplace", "again", "stored", "range", "response", "answer"},
    "gdp": {"gaussian", "calibrated"},
}
BY_FILE = 20  # sequences that share a ledger file


def terms(accountant: str, choose: random.Random) -> dict[str, object]:
    """Of one budget."""
    if accountant == "pure":
        return {"epsilon": choose.choice([F(1, 2), F(1), F(2)])}
    if accountant == "plan":
        epsilon, slack, plan = choose.choice(PLANS)
        return {"epsilon": epsilon, "delta": slack, "plan": plan}
    epsilon, slack = choose.choice(TOTALS)
    reserved = {} if accountant == "gdp" else {"delta_reserved": slack / choose.choice([2, 10])}
    return {"epsilon": epsilon, "delta": slack, "accountant": accountant} | reserved


def footprint(session) -> tuple[object, ...]:
    """Everything that the ledger holds of a budget."""

    def look(connection):
        (row,) = connection.execute("SELECT * FROM budgets WHERE name = ?", (session.name,)).fetchall()
        tables = ("SELECT * FROM entries WHERE budget = ?", "SELECT * FROM results WHERE budget = ?")
        return (row, *(connection.execute(table, row[:1]).fetchall() for table in tables))

    return session._ledger._store.transact(READ, look)


@dataclass
class Analyst:
    """One sequence on one session; `drawn` is what was admitted."""

    session: object
    budget: Budget
    frame: pd.DataFrame
    steps: int
    accountant: str
    choose: random.Random
    drawn: list[Drawn] = field(default_factory=list)
    stored: set[F] = field(default_factory=set)
    stream: object = None
    outcomes: list[str] = field(default_factory=list)

    def prices(self, most: int) -> dict[str, object]:
        """What one call would offer."""
        share = self.budget.delta / 40
        planned = [epsilon for epsilon, _ in self.budget.plan if self.choose.random() < 0.8]
        return {
            "epsilon": self.choose.choice(planned or [STEP * self.choose.randint(1, most)]),
            "rho": F(1, self.choose.choice([2000, 400, 100, 30])),
            "delta": share * self.choose.choice([1, 2, 10]) or F(1, 10**6),
        }

    def call(self, kind: str, price: dict[str, object]) -> tuple[object, Drawn | None]:
        """Ask; return the answer and what it was drawn by."""
        dp, e, slack = self.frame.dp, price["epsilon"], price["delta"]
        if kind == "laplace":
            return dp(epsilon=e, fresh=True).count(), Drawn("laplace", e, self.steps)
        if kind == "again":
            known = e in self.stored
            return dp(epsilon=e).count(), None if known else Drawn("laplace", e, self.steps)
        if kind == "range":  # permute-and-flip where only epsilons are counted
            law = "response" if self.accountant in ("pure", "plan") else "range"
            return dp(epsilon=e, fresh=True).mode("sex", keys=["F", "M"]), Drawn(law, e)
        if kind == "response":
            self.stream = dp(epsilon=e).above_threshold(10)
            return None, Drawn("response", e)
        if kind == "gaussian":
            return dp(rho=price["rho"], fresh=True).count(), Drawn("gaussian", rho=float(price["rho"]))
        if kind == "calibrated":  # a hundred-thousandth of delta is kept back
            rho = gaussian_rho(e, slack * (1 - F(1, 10**5)))
            return dp(epsilon=e, delta=slack, fresh=True).count(), Drawn("gaussian", rho=rho)
        if kind == "reveal":
            smooth = {"bounds": (0, 50), "method": "smooth", "noise": "laplace"}
            answer = dp(epsilon=e, delta=slack, fresh=True).quantile("age", 0.5, **smooth)
            return answer, Drawn("response", e, reveal=slack)
        return self.stream.ask(f"age > {self.choose.randrange(50)}"), None

    def run(self, watch, entropy: list[int]) -> None:
        """Ask until too much was refused; each refusal must leave everything as it was."""
        most, kinds = self.choose.choice([1, 3, 12]), self.choose.sample(KINDS, self.choose.randint(2, len(KINDS)))
        kinds += ["gaussian", "calibrated"] * 4 if self.accountant == "gdp" else ["laplace"]
        for _ in range(MOST_CALLS):
            kind, price = self.choose.choice(kinds), self.prices(most)
            if kind == "answer" and (self.stream is None or self.stream.left == "nothing"):
                continue
            before = (footprint(self.session), watch.opened, sum(entropy))
            try:
                answer, drawn = self.call(kind, price)
            except (BudgetExceededError, ArgumentValueError):
                assert (footprint(self.session), watch.opened, sum(entropy)) == before, "a refusal left a trace"
                self.outcomes.append("refused")
                if self.outcomes.count("refused") == MOST_REFUSALS.get(self.accountant, 3):
                    break
                continue
            self.outcomes.append("stored" if kind == "again" and drawn is None else kind)
            if drawn is None:  # what is stored, and what a paid stream answers
                assert footprint(self.session) == before[0]
                assert kind == "answer" or (watch.opened, sum(entropy)) == before[1:]
            else:
                self.drawn.append(drawn)
            if kind in ("laplace", "again"):
                self.stored.add(price["epsilon"])
            if answer is not None and str(answer.value if hasattr(answer, "value") else answer)[-1] in "13579eF":
                self.choose.random()  # the rest of the sequence depends on it


def check(analyst: Analyst) -> None:
    """The sums and the promise."""
    budget, state = analyst.session.budget, analyst.session._state
    finite = [d for d in analyst.drawn if d.kind != "gaussian"]
    assert state.epsilon == sum(d.epsilon for d in finite)
    assert state.delta == sum(d.reveal for d in finite)
    assert state.unbounded == (len(finite) < len(analyst.drawn))
    reached, promised = delta(analyst.drawn, float(budget.epsilon)), float(budget.delta)
    assert reached <= promised * (1 + 1e-9), f"the promise is broken: {analyst}"


def sequences(count: int, accountant: str, place: str, tmp_path, monkeypatch) -> set[str]:
    """Run and check some; return all outcomes that there were."""
    entropy, urandom, outcomes = [], os.urandom, set()
    path = None
    with watching(monkeypatch) as watch, monkeypatch.context() as patch:
        patch.setattr(os, "urandom", lambda size: entropy.append(1) or urandom(size))
        for number in range(count):
            choose = random.Random(f"{accountant} {place} {number}")
            if place == "file" and number % BY_FILE == 0:
                if path is not None:
                    open_ledger(path).close()
                path = tmp_path / f"{number}.dpledger"
            frame, steps = PEOPLE.copy(deep=False), choose.choice([1, 2, 3, 5])
            session = frame.dp.protect(
                **terms(accountant, choose), unit="pid", max_rows=steps, name=fresh(), ledger=path
            )
            analyst = Analyst(session, session.budget, frame, steps, accountant, choose)
            analyst.run(watch, entropy)
            check(analyst)
            outcomes.update(analyst.outcomes)
            session.close()
        if path is not None:
            books = open_ledger(path)
            books.verify()
            books.close()
    return outcomes


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize(
    ("place", "count"),
    [
        pytest.param("memory", 60, marks=pytest.mark.slow),
        pytest.param("file", 15, marks=pytest.mark.slow),
        pytest.param("memory", 1300, marks=pytest.mark.nightly),
        pytest.param("file", 370, marks=pytest.mark.nightly),
    ],
)
def test_what_was_admitted_keeps_the_promise(accountant, place, count, tmp_path, monkeypatch):
    """450 sequences in all, nightly 10,020; each broken filter below is found by 60 in memory.

    What they reach of delta: 0.99 with gdp, 0.5 or so with the others. One in eight sequences or more has each outcome, and
    three in four a refusal: that all of 370 or more miss one has probability below 1e-18, that 15 miss a refusal 1e-9.
    """
    outcomes, possible = (
        sequences(count, accountant, place, tmp_path, monkeypatch),
        PAID.get(accountant, {*KINDS, "stored"}),
    )
    assert "refused" in outcomes
    assert outcomes <= possible | {"refused"}
    assert count < 370 or outcomes >= possible


def generous(factor: F):
    """A filter whose divergences or epsilons count for less."""

    def admit(self, state, charge):
        after, budget = state.plus(charge), self.budget
        if isinstance(self, PureFilter):
            return (
                after if after.epsilon <= factor * budget.epsilon and not after.unbounded | (after.delta > 0) else None
            )
        return after if after.delta <= budget.delta_reserved and after.renyi <= factor * self.limit else None

    return admit


def careless(self, state, charge):
    """A filter that does not look at deltas."""
    after = state.plus(charge)
    return after if after.renyi <= self.limit else None


TWINS = [
    (PureFilter, "admit", generous(F(6, 5)), "pure"),
    (RenyiFilter, "admit", generous(F(3)), "hybrid"),
    (RenyiFilter, "admit", generous(F(3)), "rdp"),
    (RenyiFilter, "admit", generous(F(3)), "zcdp"),
    (RenyiFilter, "admit", careless, "rdp"),
    (RenyiFilter, "admit", generous(F(6, 5)), "gdp"),
    (PlanFilter, "others", lambda self, state: F(0), "plan"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("rule", "method", "broken", "accountant"), TWINS)
def test_broken_filters_are_found(rule, method, broken, accountant, tmp_path, monkeypatch):
    """By 60 sequences; of the real filters none in 10,020."""
    # overspent plans are damage to whoever verifies them: they stay out of the ledger that other tests share
    monkeypatch.setattr(ledger, "_memory", [])
    monkeypatch.setattr(rule, method, broken)
    with pytest.raises(AssertionError, match="the promise is broken"):
        sequences(60, accountant, "memory", tmp_path, monkeypatch)


def test_a_trace_of_a_refusal_is_found(tmp_path, monkeypatch):
    told, reserve = ledger.refusals[0], Ledger.reserve

    def drawing(*refused):
        os.urandom(1)
        return told(*refused)

    def noting(self, name, *more, **options):
        try:
            return reserve(self, name, *more, **options)
        except BudgetExceededError:
            self.note(name, "refused", "count()")
            raise

    for place, method, twin in ((ledger, "refusals", [drawing]), (Ledger, "reserve", noting)):
        with monkeypatch.context() as patch:
            patch.setattr(place, method, twin)
            with pytest.raises(AssertionError, match="a refusal left a trace"):
                sequences(5, "pure", "memory", tmp_path, patch)
