"""Calls that put a question, or name a total, in other terms than there are here: the line that means the same."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.facts.call import QUESTION, safe
from pandas_dp.facts.plain_epsilons import epsilon_of, total_of

if TYPE_CHECKING:
    from pandas_dp.facts.advice import Refused

SEVERAL = ("count", "sum", "mean", "var", "std", "median", "nunique")  # what is asked of each of several columns
TOGETHER = ("simultaneous", "joint", "familywise", "bonferroni")  # of all intervals of an answer


def several(call: Refused) -> str | None:
    """The call of a question about several columns, with these in brackets, and the bounds that it lacks."""
    columns = call.values.get("column")
    named = type(columns) is list and len(columns) > 1 and all(isinstance(name, str) for name in columns)
    if not named or call.name not in SEVERAL or not call.written:
        return None
    typed = call.values.get("bounds") is not None
    lacks = [
        name for name in columns or () if not typed and "bounds" in call.asked._lacks(call.names, {"column": name})
    ]
    pairs = f"{{{', '.join(f'{name!r}: (lower, upper)' for name in lacks)}}}"
    return call.written.selecting({"bounds": pairs} if lacks else {})


def crossed(call: Refused) -> str:
    """The counts of more than two columns together; no text where it is no such call."""
    if len(call.args) < 3 or not all(isinstance(column, str) for column in call.args):
        return ""
    taken = {other: "" for other in call.given if other not in ("keys", "bins")} | {QUESTION: "groupby"}
    columns = f"[{', '.join(map(safe, call.args))}]"
    return call.line({**taken, "index": columns}, dict.fromkeys(range(len(call.args)), "")) + ".size()"


def in_other_terms(call: Refused, first: str) -> str:
    """What a call takes instead of a rho, a mu or a joint level; no text where none was typed."""
    name, given = call.name, call.given
    rho, mu = given.get("rho"), given.get("mu", given.get("gdp"))
    numbered = "epsilon" not in given and isinstance(rho, int | float) and rho > 0
    if name in ("allot", "partition") and numbered:
        return _part(call, rho)  # type: ignore[arg-type]
    if name == "interval" and first in TOGETHER:
        cells, level = int(getattr(call.asked, "size", 1)), call.values.get("level", 0.95)
        rest = f"{1 - float(level):.6g}" if type(level) is float and 0 < level < 1 else "0.05"
        text = f"1 - {rest} / {cells}" if cells > 1 else f"{level}"
        why = f"{cells:,} intervals hold together where each has its share of the risk" if cells > 1 else "there is one"
        return f"takes no {first}=; {why}: {call.typed({first: '', 'level': text}) or f'.interval({text})'}"
    if name == "plan" and numbered:
        own = call.typed({"rho": "", **_total(call, Fraction(str(rho)), "zcdp")})
        return f"takes no rho=; accountant='zcdp' counts rho, and this total comes to {rho}: {own or call.example_line}"
    if name == "protect" and isinstance(mu, int | float) and mu > 0 and not {"epsilon", "rho"} & {*given}:
        line = call.line(dict.fromkeys({"mu", "gdp"} & {*given}, "") | _total(call, Fraction(str(mu)) ** 2, "gdp"))
        return f"takes no {first}=; accountant='gdp' counts mu={mu}, that of Gaussian noise alone: {line}"
    return ""


def _total(call: Refused, limit: Fraction, accountant: str) -> dict[str, str]:
    """The total that admits so much, as it is typed, with the delta that was typed."""
    delta = Fraction(str(call.given.get("delta") or 1e-6))
    return {"epsilon": show(total_of(limit, delta, accountant)), "delta": show(delta), "accountant": repr(accountant)}


def _part(call: Refused, rho: float) -> str:
    """What a part of a budget takes instead of a rho: a plain epsilon, each unit in one part, or moving from one to another."""
    moves = call.name == "partition" and not call.asked.session.unit.add_remove
    epsilon = epsilon_of(Fraction(str(rho)), lambda offer: PrivacyLoss.pure(offer * (2 if moves else 1)))
    line = call.line({"rho": "", "epsilon": show(epsilon or Fraction(1, 2))})
    return (
        f"takes epsilon=, not rho=, since a part and the questions about it are paid in plain epsilons; this one costs at most "
        f"rho={show(Fraction(str(rho)))}: {line}"
    )
