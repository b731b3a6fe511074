"""Previews: what a question would cost and how accurate its answer would be."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.base import ExpectedError
from pandas_dp.core.budget import Charge
from pandas_dp.core.privacy import show
from pandas_dp.errors import Spelled
from pandas_dp.facts.numbers import as_float, three_digits
from pandas_dp.release.html import scalar_html
from pandas_dp.release.text import COUNTED

REFUSED = "over budget: "


@dataclass(frozen=True, repr=False)
class Preview(Spelled):
    """What a question would cost and how accurate its answer would be, from public facts alone.

    Attributes
    ----------
    call : str
        The question with its steps, as the ledger would record it.
    price : str
        ``"nothing"`` for a public number.
    wanted : str or None
        The wanted error that the price was found for.
    stored : bool
        Whether the same question was answered before: its answer comes back for free.
    refusal : str or None
        Text of the refusal where the budget is too small.
    left : str
        What is left after the answer, as ``session.left`` will say it; what is left now where the question is refused.
    outlook : ExpectedError
        Mechanism, scale of the noise, error and notes.
    charge : Charge
        What would be charged now, exactly: epsilon (None for Gaussian noise), Renyi divergence, delta.
    currency : str or None
        What the session sums beside epsilon: ``"Renyi divergence"``; None where it counts epsilons alone.
    limit : Fraction or None
        The total of that.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="preview object example")
    >>> ahead = df.dp.preview(epsilon=0.5).count()
    >>> ahead.price, ahead.half_width, ahead.affordable, ahead.left
    ('epsilon=0.5', 6, True, 'epsilon=2.5')
    """

    call: str
    price: str
    wanted: str | None
    stored: bool
    refusal: str | None
    left: str
    outlook: ExpectedError
    charge: Charge
    currency: str | None
    limit: Fraction | None

    @property
    def affordable(self) -> bool:
        """Whether the budget is large enough."""
        return self.refusal is None

    @property
    def free(self) -> bool:
        """Whether nothing would be charged: a stored answer, or a public number."""
        return self.stored or self.price == "nothing"

    @property
    def epsilon(self) -> float | None:
        """Epsilon that would be charged; None where the noise has no finite one."""
        return None if self.charge.epsilon is None else as_float(self.charge.epsilon)

    @property
    def delta(self) -> float:
        """Delta that would be charged, of the session's reserved one."""
        return as_float(self.charge.delta)

    @property
    def share(self) -> float | None:
        """Share of the session's total of `currency` that would be charged; None where it counts epsilons alone."""
        return None if self.limit is None or not self.limit else as_float(self.charge.renyi / self.limit)

    @property
    def loss(self) -> str:
        """What would be charged, in every currency that the session counts."""
        charge, share = self.charge, self.share
        words = ["no finite epsilon" if charge.epsilon is None else f"epsilon={show(charge.epsilon)}"]
        if share is not None:
            amounts = (show(three_digits(x, ROUND_CEILING)) for x in (charge.renyi, 100 * Fraction(share)))
            words.append("{} {} ({} % of its total)".format(self.currency, *amounts))
        if charge.delta:
            words.append(f"delta={show(charge.delta)}")
        return ", ".join(words)

    @property
    def mechanism(self) -> str:
        """How the noise would be drawn."""
        return self.outlook.mechanism

    @property
    def scale(self) -> str | None:
        """How large the noise is, in the unit of the answer; None where that is not known in advance."""
        return self.outlook.scale

    @property
    def error(self) -> str:
        """How far the answer may be off, with 95 % confidence, in words."""
        return self.outlook.error

    @property
    def half_width(self) -> Any:
        """The same as a number or Timedelta (by name for several numbers); None where public numbers do not give it."""
        return self.outlook.half_width

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a reader should know."""
        return self.outlook.notes

    def _lines(self) -> list[tuple[str, str]]:
        price = self.price if self.wanted is None else f"{self.price}, for {self.wanted}"
        if self.stored:
            price = f"nothing: answered before, at {self.price}"
        left, _, sums = self.left.partition(COUNTED)
        budget = f"enough; left afterwards: {left}"
        counted = [self.loss] if self.limit is not None and not self.free else []
        if self.refusal is not None:
            budget = f"not enough: {self.refusal.removeprefix(REFUSED)}"
        elif sums:
            counted.append(f"left afterwards: {sums}")
        noise = self.mechanism if self.scale is None else f"{self.mechanism}, {self.scale}"
        parts = [f"{name}: {error}" for name, error in self.outlook.parts]
        lines = [("price", price), ("budget", budget), ("noise", noise)]
        lines += [("error", error) for error in parts or [self.error]]
        lines += [("note", note) for note in self.notes]
        return lines + ([("counted", "; ".join(counted))] if counted else [])

    def __repr__(self) -> str:
        """Show one fact a line."""
        return "\n".join([self.call, *(f"  {name:<8} {text}" for name, text in self._lines())])

    def _repr_html_(self) -> str:
        return scalar_html(self.call, self._lines())
