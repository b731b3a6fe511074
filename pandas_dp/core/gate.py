"""The one door: reserve the price durably, drive the recipe, debit each look, compute, draw, forget.

Everything that touches data runs inside `release`. Whatever goes wrong there becomes one fixed text without cause,
context or data, and the price stays spent.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pandas_dp.core.filters import Charge, Filter
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.measurement import Measurement, Noisy, View
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.core.randomness import random_bytes
from pandas_dp.errors import LedgerError, PandasDPError, QueryFailedError, StepFailedError

T = TypeVar("T")
Recipe = Callable[[], Generator[Measurement, Noisy, Any]]

_door = threading.Lock()
_inside = threading.local()


def _new_door() -> None:
    """A child of a fork must not wait for a thread that it does not have."""
    global _door
    _door = threading.Lock()
    _inside.__dict__.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_door)


@dataclass(frozen=True)
class Request:
    """One query on its way through the door; its repr shows public facts only.

    Attributes
    ----------
    ledger, name : Ledger and str
        Which budget pays.
    rule : Filter
        How the budget turns a loss into a charge.
    key : str or None
        Under which the noisy result is stored and found again; None: never.
    query, price : str
        Public texts for the ledger.
    loss : PrivacyLoss
        The declared price, in full.
    unit : PrivacyUnit
    recipe : callable
        Starts the recipe's generator.
    view : callable
        Opens the prepared data.
    fresh : bool
        Buy a new draw even where a stored one exists.
    """

    ledger: Ledger
    name: str
    rule: Filter
    key: str | None
    query: str
    price: str
    loss: PrivacyLoss
    unit: PrivacyUnit
    recipe: Recipe
    view: Callable[[], View]
    fresh: bool = False

    def __repr__(self) -> str:
        """Show the public texts."""
        return f"<request {self.query} at {self.price}>"


def release(request: Request) -> Any:
    """Answer one query: from the store for nothing, or by a new charge and a new draw.

    For all inputs: the ledger holds the full charge before any column is read; the sum of the losses of the looks that
    were taken is at most the charge; what is returned is the recipe's answer, a function of noisy integers and public
    facts; an exception after the charge is `QueryFailedError` with a constant text and no chain.

    Raises
    ------
    BudgetExceededError, LedgerError
        Before anything was read.
    QueryFailedError
        After the charge.
    """
    with closed(), _door:
        return _release(request)


@contextlib.contextmanager
def closed() -> Iterator[None]:
    """While a query or a user's function runs, its thread may ask no other query: it would wait for itself.

    Raises
    ------
    PandasDPError
        Where one runs already.
    """
    if getattr(_inside, "busy", False):
        raise PandasDPError("a query was asked from inside another query; ask one after the other")
    _inside.busy = True
    try:
        yield
    finally:
        _inside.busy = False


def _release(request: Request) -> Any:
    if request.key is not None and not request.fresh:
        stored = request.ledger.stored(request.name, request.key)
        if stored is not None:
            return _replay(request.recipe(), json.loads(stored))
    sequence = request.ledger.reserve(
        request.name, request.key, request.query, request.price, request.loss, request.unit
    )
    answer, transcript = guarded(lambda: _answer(request), QueryFailedError)
    if request.key is not None:
        with contextlib.suppress(LedgerError):  # the price is spent and the answer good: only a free re-run is lost
            request.ledger.record(request.name, sequence, json.dumps(transcript))
    return answer


def guarded(work: Callable[[], T], failure: type[QueryFailedError] | type[StepFailedError]) -> T:
    """Run work that touches data: no warning of it escapes, and every exception becomes one constant text."""
    interrupted = False
    results: list[T] = []
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results.append(work())
    except BaseException as error:  # noqa: BLE001 - the guard: nothing of the error may leave
        interrupted = isinstance(error, KeyboardInterrupt)
    # raised here, outside the handler, so that neither cause nor context nor inner frames are attached
    if interrupted:
        raise KeyboardInterrupt(failure.TEXT)
    if not results:
        raise failure
    return results[0]


def _answer(request: Request) -> tuple[Any, list[Noisy]]:
    """Drive the recipe on the data."""
    view = request.view()
    transcript: list[Noisy] = []
    spent, rule = PrivacyLoss(), request.rule
    recipe = request.recipe()
    noisy: Noisy | None = None
    while True:
        try:
            look = next(recipe) if noisy is None else recipe.send(noisy)
        except StopIteration as stop:
            return stop.value, transcript
        spent += look.mechanism.loss(look.statistic.sensitivity(request.unit))
        if spent != request.loss and not covers(rule.charge(request.loss), rule.charge(spent)):
            raise QueryFailedError  # a recipe that looks more often than it declared
        exact = look.statistic.compute(view, request.unit)
        noisy = look.mechanism.draw(exact, random_bytes)
        transcript.append(noisy)


def covers(declared: Charge, charge: Charge) -> bool:
    """Whether a declared charge is at least another one in every currency."""
    bounded = charge.epsilon is not None and (declared.epsilon is None or charge.epsilon <= declared.epsilon)
    return (bounded or declared.epsilon is None) and charge.renyi <= declared.renyi and charge.delta <= declared.delta


def _replay(recipe: Generator[Measurement, Noisy, Any], transcript: list[Noisy]) -> Any:
    """Drive the recipe on stored noisy integers: the same answer, no data, no charge."""
    try:
        next(recipe)
        for noisy in transcript:
            recipe.send(noisy)
    except StopIteration as stop:
        return stop.value
    raise LedgerError("the stored answer is incomplete; ask with fresh=True")
