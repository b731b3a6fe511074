"""The session that a first call without ``protect`` opens, and what becomes of its answers."""

from __future__ import annotations

from fractions import Fraction

from pandas_dp.core.privacy import PrivacyLoss, PrivacyUnit, show
from pandas_dp.errors import ArgumentValueError, ForkedSessionError
from pandas_dp.session.session import Session, implicits

EPSILON = 5
WARNING = (
    f"no session protects this DataFrame: one was opened for it with a total of epsilon={EPSILON}, one row a unit, "
    "add_remove; it ends with the process. To set the total and the unit type first: "
    "df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)"
)
ENDED = (
    "this session ended when a budget was named for its answers; nothing was charged: protect the frame, then ask again"
)
CARRIED = "answers given before this budget was named"
OUTSIDE = "answers about rows ({price}) came before this budget was opened; nothing bounds what they tell of a {unit!r}"

_carried: set[tuple[str | None, str]] = set()  # budgets that its answers are on record of


def _spent() -> list[Fraction]:
    """Epsilons of what it answered; in a fork, which cannot read that, all that it could."""
    if not implicits:
        return []
    try:
        first = next(iter(implicits.values()))
        entries = first._ledger.entries(first.name)
        return [entry.charge.epsilon or Fraction(0) for entry in entries if entry.charge]
    except ForkedSessionError:
        return [Fraction(EPSILON)]


def check(unit: PrivacyUnit, accountant: str) -> None:
    """Refuse a budget that cannot count what was answered before it: of Gaussian noise alone.

    Raises
    ------
    ArgumentValueError
    """
    if accountant == "gdp" and unit.column is None and _spent():
        raise ArgumentValueError(
            "accountant='gdp' counts Gaussian noise alone, and answers with other noise were given before this budget was "
            "named: type accountant='hybrid'"
        )


def carry(session: Session, mark: str | None) -> None:
    """End the implicit session, and charge a budget, once, what it spent, also beyond the total.

    A frame with its `mark` takes this budget, so that what pandas made of the same table takes no other one.

    Which table its answers were about is not known of a frame that was read again. So every budget that this process opens
    or joins afterwards is charged them. Under replace_one a row that leaves and one that comes pay. For a unit with several
    rows no number covers what was told of single rows: the record says so.
    """
    if not implicits:
        return
    first = next(iter(implicits.values()))
    first._ledger._store.refusal = ENDED  # first: a question that waits in another thread is not paid any more
    spent, budget = _spent(), (session._ledger.path, session.name)
    session._succeed(mark)
    first.close()
    if not spent or budget in _carried:
        return
    if session.unit.column is None:
        times = 1 if session.unit.add_remove else 2
        session._ledger.carry(session.name, CARRIED, [PrivacyLoss.pure(times * epsilon) for epsilon in spent])
    else:
        price = f"epsilon={show(sum(spent, Fraction(0)))} each row"
        session._ledger.note(session.name, "outside", OUTSIDE.format(price=price, unit=session.unit.column))
    _carried.add(budget)
