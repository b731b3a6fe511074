"""The call that was typed, at another price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandas_dp.facts.call import Call

if TYPE_CHECKING:
    from pandas_dp.errors import PandasDPError
    from pandas_dp.facts.advice import Refused


def reprice(error: PandasDPError, call: Refused) -> None:
    """Put the call that was typed into what is said of another price, as far as its code can be read."""
    text, price = error._priced or ("", {})
    whole = (
        call.asked if hasattr(call.asked, "_steps") else getattr(call.asked, "_frame", None)
    )  # of a column or groups
    ahead = ".preview" * bool(getattr(whole, "_ahead", None))
    steps = map(str, getattr(whole, "_steps", ()))
    before = call.before if call.before.startswith("[") else f".{call.before}"
    first = f"{'.'.join([text[: text.index(')') + 1].replace('df.dp(', f'df.dp{ahead}('), *steps])}{before}"
    dear = call.written and call.written.with_price(price, first.removesuffix("."))
    dear = (dear or f"{first}{Call(call.name, call.args, call.given).needing(call.names, {})}") + call.tail
    error.args, error._priced = (str(error).replace(text, dear),), (dear, price)  # for the call that was typed
    if error._needs is not None:
        why, needs, otherwise = error._needs
        error._needs = why, needs, otherwise.replace(text, dear)
