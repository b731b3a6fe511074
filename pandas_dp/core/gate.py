"""The one door: reserve the price durably, drive the recipe, debit each look, compute, draw, forget.

Everything that touches data runs inside `release` or `OpenRecipe.ask`. Whatever goes wrong there becomes one fixed text
without cause, context or data, and the price stays spent.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pandas_dp.core.budget import Charge
from pandas_dp.core.filters import Filter
from pandas_dp.core.interrupts import stop, watched
from pandas_dp.core.ledger import Ledger
from pandas_dp.core.measurement import (
    AddsUp,
    Interactive,
    Listing,
    Measurement,
    Mechanism,
    Noisy,
    Reply,
    View,
    computed,
)
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.refined import RefinedLaplace
from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit
from pandas_dp.core.randomness import random_bytes
from pandas_dp.errors import (
    ForkedSessionError,
    LedgerError,
    PandasDPError,
    QueryFailedError,
    StepFailedError,
    StreamClosedError,
)

T = TypeVar("T")
Recipe = Callable[[], Generator[Measurement | Reply, Any, Any]]

_door = threading.RLock()
_inside = threading.local()


def _new_door() -> None:
    """A child of a fork must not wait for a thread that it does not have."""
    global _door
    _door = threading.RLock()
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
    unit, whole : PrivacyUnit
        What counts of a unit in this query, and in all that the budget pays, of which the former is a part.
    recipe : callable
        Starts the recipe's generator.
    view : callable
        Opens the prepared data.
    fresh : bool
        Buy a new draw even where a stored one exists.
    told : callable or None
        What to write down of the answer, for reports.
    base : Request or None
        What it refines. The caller vouches that `drawn`, an entry, is its draw from the very rows of `view`, in memory since.
    drawn : int
    waits : bool
        Whether a charge for this very question whose draw never began, as of a process that was killed, is used for it.
    better : RefinedLaplace or None
        What draws its one look instead of the mechanism that its recipe names; a second look is more than was paid.
    periods : (int, int) or None
        The first and the last of those that `view` reads rows of, where the budget has sums for each period.
    """

    ledger: Ledger
    name: str
    rule: Filter
    key: str | None
    query: str
    price: str
    loss: PrivacyLoss
    unit: PrivacyUnit
    whole: PrivacyUnit
    recipe: Recipe
    view: Callable[[], View]
    fresh: bool = False
    told: Callable[[Any], str] | None = None
    base: Request | None = None
    drawn: int = 0
    waits: bool = False
    better: RefinedLaplace | None = None
    periods: tuple[int, int] | None = None

    @property
    def kept_as(self) -> str | None:
        """The name of the noisy result within its entry: of a base there is one refinement, at one price."""
        return self.key if self.base is None else f"{self.key} of {self.drawn} at {self.price}"

    def __repr__(self) -> str:
        """Show the public texts."""
        return f"<request {self.query} at {self.price}>"


class Given(NamedTuple):
    """An answer, the ledger's entry that paid for it, whether now or for an earlier, stored draw, and what was drawn."""

    answer: Any
    sequence: int
    paid: bool
    transcript: Any = ()


def release(request: Request) -> Given:
    """Answer one query, from the store for free or by a new charge and a new draw.

    For all inputs: the ledger holds the full charge before any column is read; the sum of the losses of the looks that
    were taken is at most the charge; what is returned is the recipe's answer, a function of noisy integers, listed keys
    and public facts; an exception after the charge is `QueryFailedError` with a constant text and no chain.

    Raises
    ------
    BudgetExceededError, LedgerError
        Before anything was read.
    QueryFailedError
        After the charge.
    """
    with closed():
        return _release(request)


def closed() -> threading.RLock:
    """While a query or a user's function runs, on rows or on made-up ones, no other thread looks at data, nor may this one ask.

    Others wait; this one is refused. What is returned is to be held by ``with``: a lock of the interpreter itself, for Ctrl-C
    finds a gap behind the first part of a context manager that is written in Python, and would leave it shut.

    Raises
    ------
    PandasDPError
        Where one runs already.
    """
    check_outside()
    return _door


def check_outside() -> None:
    """Refuse what a user's function wants of sessions: whether it wants it may depend on a row, and shows later on.

    Raises
    ------
    PandasDPError
    """
    if _door._is_owned():  # type: ignore[attr-defined]
        raise PandasDPError("pandas_dp was called from inside a query; ask, open and close before or after it")


def _release(request: Request) -> Given:
    if request.key is not None and not request.fresh:
        found = request.ledger.stored(request.name, request.key)
        if found is not None:
            # by its key, so that no damage to an index of the file serves the answer of another question
            kept = json.loads(found[1])  # a list: written without it before
            if request.base is not None and request.kept_as not in kept:
                raise LedgerError(
                    f"this answer was refined at another price or from another draw (entry {found[0]}): refine that answer"
                )
            transcript = kept.get(request.kept_as, ()) if isinstance(kept, dict) else kept
            return Given(_replay(request.recipe(), transcript), found[0], False, transcript)
    sole = request.base is not None
    if request.base is not None:
        request = replace(request, better=_refining(request, request.base))
    sequence = _reserve(request, request.key, sole)
    answer, transcript = _drawn(lambda: _answer(request, sequence))
    result = None if request.key is None else json.dumps({request.kept_as: transcript})
    told = None if request.told is None else request.told(answer)
    if result is not None or told is not None:
        with contextlib.suppress(LedgerError):  # the price is spent and the answer good: only a free re-run is lost
            request.ledger.record(request.name, sequence, result, told)
    return Given(answer, sequence, True, transcript)


def _reserve(request: Request, key: str | None, sole: bool = False) -> int:
    """Charge a request; see `Ledger.reserve`."""
    paid = request.query, request.price, request.loss, request.whole
    return request.ledger.reserve(request.name, key, *paid, sole=sole, waits=request.waits, periods=request.periods)


def _refining(request: Request, base: Request) -> RefinedLaplace:
    """The mechanism that draws the one look of a request from a stored worse one. Nothing is read.

    For all inputs: the base is the one look of the latest draw under its key, with the very statistic that is asked now,
    which is a sum over rows and draws nothing itself.

    Raises
    ------
    LedgerError
        It is not.
    """
    found = request.ledger.stored(request.name, base.key or "")
    transcript = json.loads(found[1]).get(base.kept_as, []) if found is not None and found[0] == request.drawn else []
    old, new = next(base.recipe(), None), next(request.recipe(), None)
    if (
        len(transcript) != 1
        or not (isinstance(old, Measurement) and isinstance(new, Measurement) and old.statistic == new.statistic)
        or not (isinstance(new.statistic, AddsUp) and request.unit.column is None)
        or not (isinstance(old.mechanism, DiscreteLaplace) and isinstance(new.mechanism, DiscreteLaplace))
        or not new.mechanism.scale < old.mechanism.scale
    ):
        raise LedgerError(
            "this answer is not one draw of Laplace noise on counts or sums of rows, or no longer the latest one"
        )
    return RefinedLaplace(old.mechanism.scale, new.mechanism.scale, tuple(transcript[0]))


def _drawn(work: Callable[[], T]) -> T:
    """Run a query that is paid, and release what it drew in the process that paid.

    A user's function, or the handler of a signal, may have forked meanwhile: the child would draw noise of its own, and both
    together would tell more than one answer does. The child has a door of its own, see `_new_door`.
    """
    drawn = guarded(work, QueryFailedError)
    if not _door._is_owned():  # type: ignore[attr-defined]
        raise ForkedSessionError(
            "this is a fork of the process that asked, which alone gets the answer; ask again here"
        )
    return drawn


_tell = warnings._showwarnmsg  # type: ignore[attr-defined]  # which Python calls with every warning that filters let through


def _told(message: Any) -> None:
    """Pass a warning on, but for those of data: any other thread may take filters away meanwhile."""
    if not getattr(_inside, "guarded", False):
        _tell(message)


warnings._showwarnmsg = _told  # type: ignore[attr-defined]


class _Here(type):
    def __subclasscheck__(cls, warned: type) -> bool:
        return bool(getattr(_inside, "guarded", False))


class _OfData(Warning, metaclass=_Here):
    """Any warning, where this thread looks at data: filters belong to the process, so this one asks which thread it is."""


def hush(on: bool = True) -> bool:
    """Keep warnings of this thread from everybody, or do so no longer; return how it was. Other threads are left alone."""
    before, _inside.guarded = getattr(_inside, "guarded", False), on
    if on and (not warnings.filters or warnings.filters[0][2] is not _OfData):
        warnings.simplefilter("ignore", _OfData)
    return before


def guarded(work: Callable[[], T], failure: type[QueryFailedError] | type[StepFailedError]) -> T:
    """Run work that touches data: no warning of it escapes, and every exception becomes one constant text.

    Warnings of other threads are left alone. A KeyboardInterrupt comes out only where a signal came, for one that was merely
    raised may tell of a row.
    """
    results: list[T] = []
    before = getattr(_inside, "guarded", False)
    try:  # in this frame, see `closed`
        hush()
        with contextlib.suppress(BaseException), watched(), np.errstate(all="ignore"):
            results.append(work())
    finally:
        _inside.guarded = before
    # raised here, outside the handler, so that neither cause nor context nor inner frames are attached
    stop(failure.TEXT)
    if not results:
        raise failure
    return results[0]


class OpenRecipe:
    """A suspended recipe: paid in full when it is opened, resumed by each public question until it ends or is closed.

    For all inputs: the ledger holds the full charge before any column is read; the sum of the losses of all looks ever
    taken is at most the charge; what goes out are the recipe's replies, functions of noisy integers, public facts and
    questions; an exception after the charge is `QueryFailedError` with a constant text and no chain, and the end of the
    stream. Streams of pure mechanisms may be interleaved with each other and with all queries (Vadhan, Wang 2021).

    Raises
    ------
    BudgetExceededError, LedgerError
        Before anything was read.
    QueryFailedError
        After the charge.
    """

    def __init__(self, request: Request) -> None:
        self._run: _Run | None = None
        self._closed, self._process = False, os.getpid()
        self.reply, self.unit = Reply(None), request.unit
        with closed():
            _reserve(request, None)
            _drawn(lambda: self._resume(_Run(request), None))

    def ask(self, question: Any) -> Reply:
        """Resume the recipe with a public question; see the class notes.

        Raises
        ------
        QueryFailedError
            The stream is closed from then on.
        StreamClosedError, ForkedSessionError
        """
        with closed():
            if self._process != os.getpid():  # two processes would each get all the answers that were paid once
                raise ForkedSessionError("a stream belongs to the process that opened it; open another one here")
            if self._run is None or self._closed:
                raise StreamClosedError
            _drawn(lambda: self._resume(self._run, question))
            return self.reply

    def _resume(self, run: _Run | None, question: Any) -> None:
        """Keep the run only if it comes back waiting for another question."""
        self._run = None
        self.reply = Reply(None)
        if run is not None:
            self.reply = run.resume(question)
            self._run = None if self.reply.last or self._closed else run

    @property
    def open(self) -> bool:
        """Whether it waits for a question."""
        return self._run is not None and not self._closed

    def close(self) -> None:
        """End it: whatever it kept is free. What it cost stays spent."""
        check_outside()
        self._closed, self._run = True, None

    def __reduce__(self) -> Any:
        """Refuse: a copy would give all the answers that were paid once again."""
        raise TypeError("a stream cannot be pickled or copied; open another one")


class _Run:
    """One recipe on the data: its looks, their losses, and the secrets of its interactive mechanisms."""

    def __init__(self, request: Request, sequence: int = 0) -> None:
        self.waiting = sequence if request.waits else 0
        self.request, self.view, self.recipe = request, request.view(), request.recipe()
        self.transcript: list[Noisy | Listing] = []
        self.spent = PrivacyLoss()
        self.started: dict[Interactive, Mechanism] = {}

    def resume(self, sent: Any = None) -> Reply:
        """Drive the recipe until it waits for a question or returns."""
        while True:
            try:
                step = self.recipe.send(sent)
            except StopIteration as stop:
                return Reply(stop.value, last=True)
            if isinstance(step, Reply):
                return step
            sent = self._look(step)

    def _look(self, look: Measurement) -> Noisy | Listing:
        """Debit, compute, draw."""
        request, mechanism = self.request, self.request.better or look.mechanism
        sensitivity = look.statistic.sensitivity(request.unit)
        if isinstance(mechanism, Interactive) and mechanism in self.started:
            mechanism = self.started[mechanism]
        self.spent += mechanism.loss(sensitivity)
        if self.spent != request.loss and not covers(*map(request.rule.charge, (request.loss, self.spent))):
            raise QueryFailedError  # a recipe that looks more often than it declared
        exact = computed(look.statistic, self.view, request.unit)
        if self.waiting:
            request.ledger.begin(request.name, self.waiting)
            self.waiting = 0
        if isinstance(mechanism, Interactive):
            self.started[mechanism] = mechanism.start(sensitivity, random_bytes)
            mechanism = self.started[mechanism]
        noisy = mechanism.draw(exact, random_bytes)
        self.transcript.append(noisy)
        return noisy


def _answer(request: Request, sequence: int) -> tuple[Any, list[Noisy | Listing]]:
    """Drive the recipe on the data."""
    run = _Run(request, sequence)
    reply = run.resume()
    if not reply.last:
        raise QueryFailedError  # a stream's recipe, which nobody would ever ask
    return reply.value, run.transcript


def covers(declared: Charge, charge: Charge) -> bool:
    """Whether a declared charge is at least another one in every currency."""
    bounded = declared.epsilon is None or (charge.epsilon is not None and charge.epsilon <= declared.epsilon)
    return bounded and charge.renyi <= declared.renyi and charge.delta <= declared.delta


def _replay(recipe: Generator[Measurement | Reply, Any, Any], transcript: list[Noisy | Listing]) -> Any:
    """Drive the recipe on stored noisy integers and listed keys: the same answer, no data, no charge.

    Of another number of looks, or unreadable, they are those of another recipe: none is answered from a part of them.
    """
    with contextlib.suppress(Exception):  # of public numbers; told below
        rest = transcript[::-1]
        try:
            next(recipe)
            while rest:
                recipe.send(rest.pop())
        except StopIteration as stop:
            if not rest:
                return stop.value
    raise LedgerError("the stored answer is incomplete or of another version; ask with fresh=True")
