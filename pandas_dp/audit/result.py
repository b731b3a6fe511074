"""What an audit found, in numbers and in words. The words never say more than the samples show."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from pandas_dp.errors import ArgumentTypeError, Spelled
from pandas_dp.release.html import scalar_html

DIGITS = 4  # significant digits of a bound, rounded down


@dataclass(frozen=True, repr=False)
class AuditResult(Spelled):
    """What one audit found: a lower bound on epsilon, and the event that shows it.

    Attributes
    ----------
    epsilon_lower : float
        With probability at least ``confidence`` no epsilon below this one holds at `delta`.
    claimed : float
        The claimed epsilon.
    delta : float
        The claimed delta.
    expected : float
        About what Laplace noise that spends the claim to the full would have shown with as many samples: far less than the
        claim where these are few.
    event : str
        What told the tables apart best in the half of the samples that chose it, in words.
    counts : tuple of int
        How often it was met in the other half, where it is more likely and where less; of ``samples / 2`` each.
    samples : int
        On each table.
    false_alarm : float
        Probability, at most, that a right claim is called violated.
    """

    epsilon_lower: float
    claimed: float
    delta: float
    expected: float
    event: str
    counts: tuple[int, int]
    samples: int
    false_alarm: float

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted, up to false alarms."""
        return self.epsilon_lower > self.claimed

    @property
    def passed(self) -> bool:
        """Whether no violation was found, which is no proof that there is none."""
        return not self.violated

    @property
    def confidence(self) -> float:
        """One minus the rate of false alarms."""
        return 1 - self.false_alarm

    @property
    def verdict(self) -> str:
        """The finding in one line."""
        claim = f"{self.claimed:g}" + (f" (delta {self.delta:g})" if self.delta else "")
        if self.violated:
            return (
                f"VIOLATION: at least {_down(self.epsilon_lower)} where {claim} was claimed, "
                f"false alarm at most {self.false_alarm:.2g}"
            )
        return f"no violation found: at least {_down(self.epsilon_lower)} of the claimed {claim}"

    def _facts(self) -> list[str]:
        """What the verdict rests on."""
        tested = self.samples - self.samples // 2
        none = "" if self.epsilon_lower else "none stands out; best in the first half: "
        facts = [
            f"event    {none}{self.event}",
            f"counts   {self.counts[0]:,} to {self.counts[1]:,}, of {tested:,} outputs each",
            f"samples  {self.samples:,} on each table; half of them chose the event",
        ]
        if not self.violated:
            facts += [
                f"power    noise that spends {self.claimed:g} to the full shows about {_down(self.expected)} here",
                "This proves nothing by itself: other tables, or more samples, may show more.",
            ]
        return facts

    def __bool__(self) -> bool:
        """Refuse: a result stood for true wherever it is not compared."""
        raise ArgumentTypeError("an audit's result is neither true nor false: found.passed")

    def __repr__(self) -> str:
        """Say what was found and what it rests on."""
        return "\n  ".join([self.verdict, *self._facts()])

    def _repr_html_(self) -> str:
        return scalar_html(self.verdict, self._facts())


def _down(bound: float) -> str:
    """Write a bound with few digits, rounded down."""
    exact = Decimal(bound)
    place = (exact.adjusted() if exact else 0) - DIGITS + 1
    return f"{exact.quantize(Decimal(1).scaleb(place), rounding=ROUND_FLOOR).normalize():f}"
