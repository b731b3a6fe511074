"""Keys that nobody listed: whether a call is to find them, and the delta that this takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pandas_dp.core.privacy import Price, show
from pandas_dp.errors import ArgumentTypeError, PandasDPError
from pandas_dp.facts import checks
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.numbers import Accuracy
from pandas_dp.facts.plain_epsilons import epsilon_of
from pandas_dp.questions.of_units import refuse_units
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.session.registry import EPSILON
from pandas_dp.tables import frames

USUAL = "1e-6"  # a delta, where no session says which fits
USED_UP = ", and that of the budget is used up"


def finds(frame: PreparedFrame, call: str, column: str, keys: Any, other: bool = False, null: bool = False) -> bool:
    """Whether the keys of a column must be found: nobody listed any, and a bool column has but two.

    Raises
    ------
    ArgumentTypeError
        The price has no delta, or there is more to list than keys.
    """
    if keys is not None:
        return False
    kind = frame._kind(column)
    if kind.name == "bool" or frame._facts(column).keys is not None:
        return False
    refuse_units(frame, column)
    if not frame._price.delta and call == "groupby" and kind.name == "datetime" and not (other or null):
        months = checks.months(frame._facts(column))
        line = Line(f"groupby({column!r}, bins={months})", (("bins", months),), "; keys=[...] are single days")
        raise line.refuse("groupby() of dates needs public bins")
    if not frame._price.delta and frame._call[0].options.get("normalize"):  # shares are those of listed keys
        checks.keys(None, other, null, kind, frame._facts(column), call, column)
    if not frame._price.delta:
        example = checks.KEYS.get(kind.name, checks.KEYS["key"])
        line = finding(frame, f"{call}({column!r}, keys={example})", f"{call}({column!r})")
        line = line._replace(needs=(("keys", example),))
        checks.keys(None, other, null, kind, frame._facts(column), call, column, line)
    if other or null:
        line = Line(f"{call}({column!r}, keys=[...], other=True)", (("other", ""), ("null", "")))
        raise line.refuse("other= and null= go with listed keys")
    return True


def delta_needed(frame: PreparedFrame, call: str) -> PandasDPError:
    """What is said of a question that always finds keys, where its price has no delta."""
    wanted = isinstance(frame._price, Accuracy)  # which nothing is found for
    why, line, priced = _paid(frame, call, Price(Fraction(1)) if wanted else frame._price)
    error = ArgumentTypeError(f"{call.partition('(')[0]}() needs a delta{why}{f': {line}' if line else ''}")
    error._priced = None if wanted else priced
    return error


def finding(frame: PreparedFrame, text: str, call: str) -> Line:
    """A line that lists keys, or has the price find them."""
    why, line, priced = _paid(frame, call, frame._price)
    needs = f", which needs a delta{why}" if why else ""
    return Line(text, (), f", or discover keys{needs}: {line}" if line else "", priced)


def _paid(
    frame: PreparedFrame, call: str, price: Price | Accuracy
) -> tuple[str, str, tuple[str, Mapping[str, str]] | None]:
    """What the delta lacks that finds keys, what to type, and what of that is the call with a delta that can be paid."""
    table, delta, why, before = frames.lookup(frame._frame), USUAL, "", ""
    if table is not None:
        session, budget = table.session, table.session._rule.budget
        left = budget.delta_reserved - session._state.delta
        first = f"{session._raised('delta')}; "
        if session._implicit:
            first = f"df.dp.protect(epsilon={EPSILON}, delta={USUAL}); "
        fixed = budget.plan or session._whole is not None or 2 * budget.delta >= 1
        if (budget.delta or fixed) and not budget.delta_reserved:
            return ", and this budget has none for that", "", None
        if left <= 0 and fixed:
            return USED_UP, "those found before are public, keys=answer.index", None
        if not budget.delta:
            why, before, left = " in the budget and in the price", first, Fraction(USUAL) / 10
        elif left <= 0:
            why, left = USED_UP, budget.delta / 10
            before = f"those found before are public, keys=answer.index, or raise the total: {first}"
        delta = _power_of_ten(left)
    if isinstance(price, Accuracy):
        words, paid = {"delta": delta}, price.typed
    else:
        epsilon = price.epsilon if price.rho is None else epsilon_of(price.rho)
        if epsilon is None:
            return why, "", None
        paid = str(Price(epsilon))
        words = {"epsilon": show(epsilon), "rho": "", "delta": delta} if price.rho else {"delta": delta}
    typed = f"df.dp({paid}, delta={delta}).{call}"
    return why, before + typed, (typed, words)


def _power_of_ten(most: Fraction) -> str:
    """The largest power of ten that is not larger."""
    return f"1e{math.floor(math.log10(most) + 1e-12)}"
