"""``max_rows="private"``: a first question, which a twentieth of the total pays, finds the bound on the rows of a unit.

The question is `RowsPerUnit`: every unit counts once in it, so it needs no bound. What is made of its noisy counts costs
nothing more, and the bound is as public as they are. The budget is opened with a bound of one row, charged for the question
before anything is read, and goes on with the bound that was found: that stands on record, and is not drawn again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pandas_dp.core.files import canonical
from pandas_dp.core.ledger import open_ledger
from pandas_dp.core.privacy import PrivacyUnit
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.numbers import positive_epsilon
from pandas_dp.session.session import Session

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame

SHARE = 20  # one of so many parts of the total pays the question
LARGEST = 1000
FOUND = "max_rows={rows} found for {price}: by noisy counts, 95 % of the units have at most so many rows"


def is_private(max_rows: object) -> bool:
    """Whether the bound is to be found."""
    return isinstance(max_rows, str) and max_rows == "private"


def check(accountant: Any, plan: Any, periods: Any) -> None:
    """Refuse budgets that cannot pay the question as others do.

    Raises
    ------
    ArgumentTypeError
    """
    if periods is not None:
        raise ArgumentTypeError(
            "max_rows='private' asks about the whole table, but here every question names its periods: type max_rows=10"
        )
    if plan is not None or accountant == "gdp":
        which = "a plan allows declared prices" if plan is not None else "accountant='gdp' allows Gaussian noise"
        raise ArgumentTypeError(f"max_rows='private' asks a question itself, but {which} only: type max_rows=10")


def on_record(ledger: str | os.PathLike[str] | None, name: object) -> int | None:
    """The bound that was found for a budget before; None where there is none. Makes no file."""
    if not isinstance(name, str) or (ledger is not None and not os.path.isfile(canonical(ledger))):
        return None
    books = open_ledger(ledger)
    terms = books.budget(name)
    if terms is None or not any(e.kind == "amend" and e.query.startswith(FOUND[:9]) for e in books.entries(name)):
        return None
    return terms[1].rows


def find(session: Session, rho: Any, priced: Callable[..., PricedFrame], unit: Callable[[int], PrivacyUnit]) -> None:
    """Ask how many rows units have, and let a session go on with the bound that follows; on failure it is closed."""
    from pandas_dp.aggregates.count import found_bound, widening_edges  # importing the package shall cost little

    total = session.budget.epsilon if rho is None else positive_epsilon(rho, "rho")
    try:
        sizes = priced(**{"epsilon" if rho is None else "rho": total / SHARE}).rows_per_unit(LARGEST)
        error: Any = sizes._provenance.error  # of noise that was added
        bound = found_bound(sizes.value.tolist(), widening_edges(LARGEST), error.noise)
        session._amend(session.budget, unit(bound), FOUND.format(rows=bound, price=sizes.spent))
    except BaseException:
        session.close()  # nothing shall be answered with a bound that nobody wanted
        raise
