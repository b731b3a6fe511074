"""Keys that nobody listed: whether a call is to find them, and the delta that this takes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from pandas_dp.core.privacy import Price
from pandas_dp.errors import ArgumentTypeError, PandasDPError
from pandas_dp.facts import checks
from pandas_dp.facts.argument_help import Line
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.tables import frames

USUAL = "1e-6"  # a delta, where no session says which fits


def finds(frame: PreparedFrame, call: str, column: str, keys: Any, other: bool = False, null: bool = False) -> bool:
    """Whether the keys of a column must be found: nobody listed any, and a bool column has but two.

    Raises
    ------
    ArgumentTypeError
        The price has no delta, or there is more to list than keys.
    """
    kind = frame._kind(column)
    if keys is not None or kind.name == "bool" or frame._facts(column).keys is not None:
        return False
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
    line = finding(frame, "", call)
    error = ArgumentTypeError(f"{call.partition('(')[0]}() needs a delta: {line.otherwise.rpartition(': ')[2]}")
    error._priced = line.priced
    return error


def finding(frame: PreparedFrame, text: str, call: str) -> Line:
    """A line that lists keys, or has the price find them: by a delta that the reserve of the session still pays."""
    table = frames.lookup(frame._frame)
    delta = USUAL
    if table is not None:
        rule, spent = table.session._rule, table.session._state.delta
        left = rule.budget.delta_reserved - spent
        if left <= 0:
            more = "df.dp.session.extend(to_delta=1e-6, reason='...')"
            return Line(text, (), f", or discover keys, which needs a delta in the budget: {more}")
        delta = _power_of_ten(left)
    price = frame._price if isinstance(frame._price, Price) else None
    epsilon = "1" if price is None or price.epsilon is None else str(Price(price.epsilon)).removeprefix("epsilon=")
    typed = f"df.dp(epsilon={epsilon}, delta={delta}).{call}"
    return Line(text, (), f", or discover keys: {typed}", (typed, delta))


def _power_of_ten(most: Fraction) -> str:
    """The largest power of ten that is not larger."""
    return f"1e{math.floor(math.log10(most) + 1e-12)}"
