"""The door: each look is debited before anything is computed, and what goes wrong behind it tells nothing."""

from __future__ import annotations

import inspect
import logging
import signal
import warnings
from fractions import Fraction as F

import numpy as np
import pytest
from support.ledgers import gaussian, pure

from pandas_dp.core import gate
from pandas_dp.core.budget import Budget
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.measurement import Exact, Measurement
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.errors import LedgerError, QueryFailedError

UNIT = PrivacyUnit()
BUDGETS = {
    "pure": Budget.of(10),
    "hybrid": Budget.of(10, F(1, 10**5)),
    "zcdp": Budget.of(10, F(1, 10**5), None, "zcdp"),
}


class Look:
    """Statistic and mechanism in one: it costs what it is told to, and knows whether it was computed and drawn."""

    def __init__(self, loss, act=lambda: None):
        self.cost, self.act, self.computed, self.drawn = loss, act, 0, 0

    def sensitivity(self, unit):
        return None

    def loss(self, sensitivity):
        return self.cost

    def compute(self, view, unit):
        self.computed += 1
        self.act()
        return Exact([7])

    def draw(self, exact, fill):
        self.drawn += 1
        return exact.open()


class Door:
    """A ledger in memory with one budget, and queries that take some looks at a declared price."""

    def __init__(self, accountant="pure"):
        self.ledger = Ledger(None)
        self.ledger.open("data", BUDGETS[accountant], UNIT)

    def request(self, declared, looks, key="key"):
        def recipe():
            answers = []
            for look in looks:
                answers += yield Measurement(look, look)
            return answers

        rule = self.ledger.rule("data")
        return gate.Request(self.ledger, "data", rule, key, "q", "p", declared, UNIT, UNIT, recipe, lambda: None)

    def release(self, declared, *looks, key="key"):
        return gate.release(self.request(declared, looks, key)).answer


DELTA = PrivacyLoss((), F(1, 10**8))
EXCEEDED = {
    "sum of epsilons": ("pure", pure(1), [pure("0.5"), pure("0.500001")]),
    "the third tenth": ("pure", pure("0.2"), [pure("0.1")] * 3),
    "one epsilon": ("pure", pure(1), [pure(2)]),
    # two looks of bounded range diverge less than one pure look, so that epsilon alone shows them
    "epsilon alone": ("hybrid", pure(1), [PrivacyLoss.pure(F(6, 10), bounded_range=True)] * 2),
    "no finite epsilon": ("hybrid", pure(1), [gaussian("0.000001")]),
    "divergence of Gaussian noise": ("hybrid", gaussian("0.001"), [gaussian("0.0005"), gaussian("0.000501")]),
    "divergence at the same epsilon": ("hybrid", PrivacyLoss.pure(F(1), bounded_range=True), [pure(1)]),
    "delta alone": ("hybrid", pure(1) + DELTA, [pure("0.5") + DELTA, pure("0.4") + DELTA]),
    "delta where none was declared": ("hybrid", pure(1), [pure(1) + DELTA]),
    "delta of the pure filter": ("pure", pure(1), [pure(1) + DELTA]),
    "rho": ("zcdp", gaussian("0.01"), [gaussian("0.01"), gaussian("0.000001")]),
}


@pytest.mark.parametrize("case", EXCEEDED)
def test_a_look_beyond_the_declared_price_is_never_computed(case):
    accountant, declared, losses = EXCEEDED[case]
    door, looks = Door(accountant), [Look(loss) for loss in losses]
    with pytest.raises(QueryFailedError) as caught:
        door.release(declared, *looks)
    assert (str(caught.value), caught.value.__cause__, caught.value.__context__) == (QueryFailedError.TEXT, None, None)
    assert [(look.computed, look.drawn) for look in looks] == [(1, 1)] * (len(looks) - 1) + [(0, 0)]
    # the whole price was paid before, and stays: nothing is given back
    assert door.ledger.state("data").to_text() == Door(accountant).ledger.state("data").plus(
        door.ledger.rule("data").charge(declared)
    ).to_text()  # fmt: skip
    assert door.ledger.stored("data", "key") is None


WITHIN = {
    "all of it": ("pure", pure(1), [pure("0.5"), pure("0.5")]),
    "ten tenths": ("pure", pure(1), [pure("0.1")] * 10),
    "less": ("pure", pure(1), [pure("0.3")]),
    "no look": ("pure", pure(1), []),
    "Gaussian noise": ("hybrid", gaussian("0.001"), [gaussian("0.0005"), gaussian("0.0005")]),
    "pure looks under a Gaussian price": ("hybrid", gaussian(1), [pure("0.5")]),
    "a smaller range under a pure price": ("hybrid", pure(1), [PrivacyLoss.pure(F(1), bounded_range=True)]),
    "delta": ("hybrid", pure(1) + DELTA + DELTA, [pure("0.5") + DELTA, pure("0.5") + DELTA]),
    "rho": ("zcdp", gaussian("0.01"), [gaussian("0.005")] * 2),
}


@pytest.mark.parametrize("case", WITHIN)
def test_looks_within_the_declared_price_are_taken(case):
    accountant, declared, losses = WITHIN[case]
    door, looks = Door(accountant), [Look(loss) for loss in losses]
    assert door.release(declared, *looks) == [7] * len(looks)
    assert [(look.computed, look.drawn) for look in looks] == [(1, 1)] * len(looks)
    # the stored answer is the recipe's, and no look is taken for it
    assert door.release(declared, *looks) == [7] * len(looks)
    assert all(look.drawn == 1 for look in looks)
    assert len(door.ledger.entries("data")) == 2


def test_two_processes_that_ask_at_the_same_moment_both_pay_and_each_gets_a_draw_that_was_paid():
    door, theirs, given = Door(), Look(pure(1)), []

    def meanwhile():  # another process has a door of its own, and the same ledger
        given.append(gate._release(door.request(pure(1), [theirs])))

    ours = Look(pure(1), meanwhile)
    given.append(gate.release(door.request(pure(1), [ours])))
    assert [(each.sequence, each.paid) for each in given] == [(3, True), (2, True)]
    assert door.ledger.state("data").epsilon == 2
    assert ours.drawn == theirs.drawn == 1
    assert gate.release(door.request(pure(1), [ours]))[:3] == ([7], 3, False)  # later ones pay nothing


def test_an_answer_that_cannot_be_stored_is_given_all_the_same(monkeypatch):
    door, look = Door(), Look(pure(1))

    def full(*_):
        raise LedgerError("no space is left")

    monkeypatch.setattr(door.ledger, "record", full)
    assert door.release(pure(1), look) == [7]
    assert door.ledger.state("data").epsilon == 1


ERRORS = [
    ValueError,
    KeyboardInterrupt,
    MemoryError,
    RecursionError,
    SystemExit,
    GeneratorExit,
    OSError,
    UnicodeError,
    StopIteration,
]


def fails(error):
    """A look whose computation raises, with a row in its text, its cause and its frame."""
    secret = "secret42"

    def act():
        try:
            raise KeyError(secret)
        except KeyError as cause:
            raise error(secret) from cause

    return Look(pure(1), act)


@pytest.mark.parametrize("error", ERRORS)
def test_whatever_fails_is_one_text_and_the_charge_stays(error):
    door = Door()
    with pytest.raises(QueryFailedError) as caught:
        door.release(pure(1), fails(error))
    told(caught.value)
    assert door.ledger.state("data").epsilon == 1
    assert door.release(pure(1), Look(pure(1))) == [7]  # the next call is answered, and charged
    assert door.ledger.state("data").epsilon == 2


def test_x17_an_interrupt_in_the_data_step_is_told_as_one_and_the_charge_stays():
    door = Door()
    with pytest.raises(KeyboardInterrupt) as caught:
        door.release(pure(1), Look(pure(1), lambda: signal.raise_signal(signal.SIGINT)))
    told(caught.value)
    assert door.ledger.state("data").epsilon == 1
    assert door.release(pure(1), Look(pure(1))) == [7]
    assert door.ledger.state("data").epsilon == 2


def told(error):
    """An error with the constant text, no chain, no notes, and no frame that saw the data."""
    assert str(error) == QueryFailedError.TEXT
    assert (error.__cause__, error.__context__) == (None, None)
    assert not getattr(error, "__notes__", [])
    trace, frames = error.__traceback__, []
    while trace:
        frames.append(trace.tb_frame.f_code)
        trace = trace.tb_next
    assert Look.compute.__code__ not in frames
    assert inspect.unwrap(gate._Run._look).__code__ not in frames


def noisy_work():
    """Warnings of every kind that a computation may give."""
    warnings.warn("secret42", UserWarning, stacklevel=1)
    warnings.warn("secret42", RuntimeWarning, stacklevel=1)
    np.array([1.0]) / np.array([0.0])
    np.array([np.inf]) - np.array([np.inf])
    np.int8(127) + np.int8(1)
    np.array([1e300]) * np.array([1e300])


@pytest.mark.parametrize("filters", ["error", "always"])
def test_no_warning_leaves_and_none_becomes_an_error(filters, caplog, capsys):
    """Whatever the caller's filters and numpy's settings are: a warning would tell of a row."""
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as seen, np.errstate(all="raise" if filters == "error" else "warn"):
        warnings.simplefilter(filters)
        assert Door().release(pure(1), Look(pure(1), noisy_work)) == [7]
        kept = np.geterr()["divide"]
    assert kept == ("raise" if filters == "error" else "warn")  # as the caller had it
    assert seen == []
    assert caplog.records == []
    assert capsys.readouterr() == ("", "")


def waiting(request):
    return gate.replace(request, waits=True)


def test_the_word_goes_between_the_exact_number_and_its_noise():
    door, seen = Door(), []

    def kinds():
        return [entry.kind for entry in door.ledger.entries("data")]

    class Watched(Look):
        def compute(self, view, unit):
            seen.append(("computed", kinds()))
            return super().compute(view, unit)

        def draw(self, exact, fill):
            seen.append(("drawn", kinds()))
            return super().draw(exact, fill)

    looks = Watched(pure("0.5")), Watched(pure("0.5"))
    assert gate.release(waiting(door.request(pure(1), looks))).answer == [7, 7]
    before, after = ["open", "query"], ["open", "query", "draw"]
    assert seen == [("computed", before), ("drawn", after), ("computed", after), ("drawn", after)]
    assert gate.release(waiting(door.request(pure(1), looks))).paid is False
    assert len(seen) == 4


def test_what_ends_before_the_draw_is_finished_by_the_same_charge():
    door = Door()

    def end():
        raise OSError

    with pytest.raises(QueryFailedError):
        gate.release(waiting(door.request(pure(1), [Look(pure(1), end)])))
    given = gate.release(waiting(door.request(pure(1), [Look(pure(1))])))
    assert (given.answer, given.sequence, given.paid) == ([7], 2, True)
    assert door.ledger.state("data").epsilon == 1


def test_what_ends_after_the_draw_is_charged_again():
    door = Door()

    class Ends(Look):
        def draw(self, exact, fill):
            raise OSError

    with pytest.raises(QueryFailedError):
        gate.release(waiting(door.request(pure(1), [Ends(pure(1))])))
    assert gate.release(waiting(door.request(pure(1), [Look(pure(1))]))).sequence == 4
    assert door.ledger.state("data").epsilon == 2


def test_where_another_process_has_drawn_meanwhile_nothing_is_drawn():
    door = Door()
    look = Look(pure(1), lambda: door.ledger.begin("data", 2))
    with pytest.raises(QueryFailedError):
        gate.release(waiting(door.request(pure(1), [look])))
    assert (look.computed, look.drawn) == (1, 0)
