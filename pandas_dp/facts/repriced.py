"""The call that was typed, at another price."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.facts.call import Call
from pandas_dp.facts.plain_epsilons import epsilon_of

if TYPE_CHECKING:
    from pandas_dp.errors import PandasDPError
    from pandas_dp.facts.advice import Refused

# questions that take a plain epsilon; the first draw once, in proportion to exp(epsilon score / 2), which costs less rho
ONE_DRAW = ("median", "mode", "select")
PLAIN = (
    *ONE_DRAW,
    "quantile",
    "top_k",
    "describe",
    "kmeans",
    "sample_and_aggregate",
    "above_threshold",
    "groupby_mean_sa",
)


def plain_too(text: str, name: str, asked: Any) -> str:
    """What is said of a call that also has to be put at a plain epsilon, so that the line is answered at once."""
    whole = asked if hasattr(asked, "_steps") else getattr(asked, "_frame", None)
    rho = getattr(getattr(whole, "_price", None), "rho", None)
    if rho is None or name not in PLAIN:
        return text
    once = name in ONE_DRAW and not re.search(r"\b(method|noise|error_bar|error)=|, bounds='private'\)", text)
    epsilon = epsilon_of(rho, partial(PrivacyLoss.pure, bounded_range=once))
    line = re.sub(r"(\.(?:dp|preview)\()rho=[^,()]+", rf"\1epsilon={show(epsilon or rho)}", text)
    said = f"; {name}() takes a plain epsilon, and this one costs at most rho={show(rho)}"
    return line + said if epsilon and line != text else text


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
