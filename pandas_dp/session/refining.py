"""Which answers of a session may be drawn once more for the difference of the prices, and from which rows."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Answer, SingleLook, Steps, Terms, least_epsilon, noise_of
from pandas_dp.aggregates.told import least_rho, price_for
from pandas_dp.core import gate
from pandas_dp.core.filters import PureFilter, ZCDPFilter
from pandas_dp.core.measurement import AddsUp, Measurement
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.privacy import Price, PrivacyLoss, show
from pandas_dp.core.records import REFINED
from pandas_dp.errors import LedgerError
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.release.base import Release
from pandas_dp.session import alone
from pandas_dp.tables.protected import Table

MOST_DRAWN = 1000  # answers of a session that may be refined: the latest
MOST_NUMBERS = 10**6  # of their larger draws together that are remembered
FEW = 1000  # numbers of a smaller one: as many of these as there may be never hold more than that
NO_MEAN = (
    "only sums and counts of rows with noise on top are refined, not choices, quantiles, found keys or answers of several "
    "measurements: a better choice reveals more than the difference in price pays for. Ask again at the whole price: "
    "df.dp(epsilon=1, fresh=True)"
)
ANEW = "a new draw, not a refinement:"
AS_GOOD = (
    "averaged with what was drawn before: of Gaussian noise that is as exact as one draw for all these rhos together"
)
OTHER_ROWS = (
    "an answer is refined from the rows it was drawn from: by the same question, for the same frame or one of the same table= "
    "and version=, with the schema and the public facts it had. Ask anew: df.dp(epsilon=0.5).count()"
)


class Drawn(NamedTuple):
    """How an entry was asked, and the table whose rows this process held when it drew it, and since; None: it did not.

    `terms` is the key that the question had by itself, at its price: it names the rules for missing values, what was public of
    the rows and their steps. `content` names the rows, see `content_of`.
    """

    table: weakref.ref[Table] | None
    query: AskedQuery
    columns: tuple[str, ...]
    request: gate.Request
    terms: str | None
    noisy: list[int] | None  # what was drawn in its one look
    content: str


class Other(NamedTuple):
    """A draw that another one is averaged with."""

    entry: int
    noisy: list[int]
    look: Measurement
    price: Price

    @property
    def noise(self) -> Noise:
        """What was added."""
        return noise_of(self.look)


Made = tuple[gate.Request, AskedQuery, str | None]  # what is asked, and the key that this has by itself


def remember(
    drawn: OrderedDict[int, Drawn],
    given: gate.Given,
    table: Table,
    query: AskedQuery,
    columns: tuple[str, ...],
    request: gate.Request,
    terms: str | None,
) -> None:
    """Note how an answer was asked, and whether this process drew it just now from rows in memory."""
    if request.key is None or given.sequence in drawn:  # one without a key may hold a user's function
        return
    held = weakref.ref(table) if given.paid and table.scan is None else None
    noisy = given.transcript[0] if len(given.transcript) == 1 else None
    content = content_of(drawn, given, table)
    drawn[given.sequence] = Drawn(held, query, columns, request, terms, noisy, content)
    while len(drawn) > MOST_DRAWN:
        drawn.popitem(last=False)
    numbers = 0
    for entry, one in reversed(list(drawn.items())) if len(noisy or ()) > FEW else ():  # else it would slow every call
        numbers += len(one.noisy or ())
        if numbers > MOST_NUMBERS and entry != given.sequence:
            drawn[entry] = one._replace(noisy=None)


def content_of(drawn: dict[int, Drawn], given: gate.Given, table: Table) -> str:
    """The name of the rows that an answer was drawn from.

    Where a table grows a stored answer may be about rows before: those that this process knows, or of its entry alone.
    """
    if given.paid or not table.grows:
        return table.content
    known = drawn.get(given.sequence)
    return f"entry {given.sequence}" if known is None else known.content


def refine(answer: Release, table: Table, offer: Price | Accuracy) -> Release:
    """Draw an answer once more as if both prices had been paid at first, see `RefinedLaplace`; else average it with a new draw.

    It is refined from the rows that the base was drawn from: the very table, whose rows this process has held since, read by
    the rules that it was read by then.

    Raises
    ------
    LedgerError, BudgetExceededError, ArgumentTypeError, ArgumentValueError
    """
    session, origin = table.session, answer._provenance
    base, entry = session._drawn.get(origin.entry or 0), origin.entry or 0
    given = (origin.content or ("",))[0] == session.name and base is not None
    if base is None or not given or repr(answer.query.aggregate) != repr(base.query.aggregate):
        raise LedgerError(
            "only the latest thousand answers of this session can be refined: answer = "
            "df.dp(epsilon=0.5).count(), then df.dp(epsilon=0.5).refine(answer)"
        )
    if _summed(base) is None:
        raise LedgerError(NO_MEAN)
    key = f"{base.request.key} refined"
    # which holds back whoever states other public facts: both requests are of the same ones
    with alone.lock, alone.opening():
        same = table.request(base.query, base.columns, fresh=False).key == base.terms
        kept = session._ledger.stored(session.name, key) is not None
        why = None if kept else _anew(base, table, offer)
        if not same:
            raise LedgerError(OTHER_ROWS)
        made = (
            _averaged(entry, base, table, offer, why) if why is not None else _refined(entry, key, base, table, offer)
        )
    if made is None:
        return answer
    request, query, terms = made
    return session._given(request, query, table, base.columns, terms)


def _refined(entry: int, key: str, base: Drawn, table: Table, offer: Price | Accuracy) -> Made | None:
    """The request for a draw at both prices that refines one at the first; None where nothing is missing."""
    paid = base.query.price.epsilon or Fraction(0)
    wanted = _terms(base, table, Price(Fraction(1)))
    whole = (
        base.query.aggregate.epsilon_for(offer, wanted) if isinstance(offer, Accuracy) else paid + (offer.epsilon or 0)
    )
    if whole <= paid:
        return None
    query = replace(base.query, price=Price(whole), refines=(*base.query.refines, entry))
    asked = table.request(query, base.columns, fresh=False)
    request = replace(
        asked,
        key=key,
        query=f"{REFINED}{asked.query})",
        price=f"epsilon={show(whole - paid)}",
        loss=PrivacyLoss.pure(whole - paid),
        base=base.request,
        drawn=entry,
    )
    return request, query, asked.key


def _summed(drawn: Drawn) -> Measurement | None:
    """The one look of a draw that adds noise to sums over rows; None of all others."""
    if drawn.noisy is None or not isinstance(drawn.query.aggregate, SingleLook):
        return None
    look = next(drawn.request.recipe(), None)
    if not isinstance(look, Measurement) or not isinstance(look.statistic, AddsUp):
        return None
    return look if isinstance(look.mechanism, Noise) else None


def _anew(base: Drawn, table: Table, offer: Price | Accuracy) -> str | None:
    """Why the difference does not buy a draw that refines another one; None where it does."""
    session, unit = table.session, base.request.unit.column
    if type(session._rule) is not PureFilter:
        return "with a delta or declared prices a refinement would cost more than the difference"
    if session._implicit:
        return "no total was named: df.dp.protect(epsilon=3)"
    if offer.delta or (isinstance(offer, Price) and offer.rho is not None) or base.query.price.gaussian:
        return "only Laplace noise is refined, for a plain epsilon"
    if unit is not None:
        return f"each question draws some rows of each {unit!r}, anew each time"
    if base.query.averages:
        return "a mean of several draws is not refined"
    if base.table is None or base.table() is not table:
        return (
            "these are not the rows in memory that it was drawn from: another process drew it, or files are read again"
        )
    return None


def _terms(base: Drawn, table: Table, price: Price) -> Terms:
    return table.terms(base.query.steps, price, table.counted(base.query.groups, table.session.unit))


def _averaged(entry: int, base: Drawn, table: Table, offer: Price | Accuracy, why: str) -> Made | None:
    """The request for a new draw, averaged by precision with those of the same question and rows that this process knows.

    None where nothing is missing. Where a table grows it belongs to its base, and is drawn from the rows of that one alone.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, LedgerError
    """
    from pandas_dp.aggregates.weighted_noise import MeanNoise  # here, so that importing the package costs little

    session, known = table.session, _others(entry, base, table)
    asked: Any = base.query.aggregate
    if isinstance(offer, Accuracy):
        wanted, rhos = _terms(base, table, Price(Fraction(1))), isinstance(session._rule, ZCDPFilter)

        def half_width(price: Price, *known: Noise) -> float:
            noise = noise_of(asked.look(replace(wanted, price=price)))
            return (MeanNoise.of([*known, noise]) if known else noise).half_width(level)

        level, noises = offer.level, [one.noise for one in known]
        most = half_width(price_for(asked, offer, wanted, rhos))
        if MeanNoise.of(noises).half_width(level) <= most:
            return None
        prices = [Price(least_epsilon(lambda epsilon: half_width(Price(epsilon), *noises) <= most))]
        if rhos and least_rho(asked, offer, wanted) is not None:
            prices.append(Price(rho=least_epsilon(lambda rho: half_width(Price(rho=rho), *noises) <= most)))
        offer = min(prices, key=lambda price: asked.loss(replace(wanted, price=price)).rho)
    key = f"{base.request.key} and once more at {offer}{f' beside {entry}' * table.grows}"
    found = session._ledger.stored(session.name, key)
    if found is None and table.grows and base.content != table.content:
        raise LedgerError(OTHER_ROWS)
    terms = _terms(base, table, offer)
    look = asked.look(terms)
    others = [one for one in known if found is None or one.entry < found[0]]
    if any(one.look.statistic != look.statistic for one in others):
        raise LedgerError(f"at {offer} this question adds up other numbers than before: refine with a plain epsilon")

    def steps() -> Steps:
        noisy = yield look
        noise = MeanNoise.of([*(one.noise for one in others), noise_of(look)])
        mean = noise.mean([*(one.noisy for one in others), noisy])
        answer: Answer = asked.answer(mean, replace(look, mechanism=noise), terms)
        return answer

    gaussian = offer.rho is not None and all(one.price.rho is not None for one in others)
    query = replace(
        base.query,
        price=offer,
        refines=tuple(worse for one in others for worse in session._drawn[one.entry].query.refines),
        averages=tuple((one.entry, one.price) for one in others),
        notes=(*base.query.notes, AS_GOOD if gaussian else f"{ANEW} {why}"),
    )
    request = table.request(query, base.columns, fresh=False)
    return replace(request, key=key, recipe=steps), query, request.key


def _others(of: int, base: Drawn, table: Table) -> list[Other]:
    """Draws of the question of a base, of the same rows by the same rules: the last of each chain, and all single ones.

    Where a table grows, the base and what it is a mean of: in another process, too, they are known to be of the same rows.
    """
    asked, drawn = base.query, table.session._drawn
    refined = {entry for one in drawn.values() for entry in one.query.refines}
    mine = {of, *(entry for entry, _ in asked.averages)}
    found = []
    for entry, one in drawn.items():
        same = (one.query.steps, one.query.groups) == (asked.steps, asked.groups)
        same = same and (entry in mine or not table.grows)
        if entry in refined or not same or repr(one.query.aggregate) != repr(asked.aggregate):
            continue
        known = _summed(one)
        if known is not None and table.request(one.query, one.columns, fresh=False).key == one.terms:
            found.append(Other(entry, one.noisy or [], known, one.query.price))
    return found
