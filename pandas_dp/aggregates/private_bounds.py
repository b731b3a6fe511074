"""Questions whose bounds are bought first: a coarse private histogram, then the question itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from pandas_dp.aggregates.base import Aggregate, Caution, ExpectedError, Steps, Terms, noise_of, noised
from pandas_dp.aggregates.moments import Mean, Sum, Variance
from pandas_dp.aggregates.quantiles import QuantileOf
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.measurement import Measurement, Noisy
from pandas_dp.core.mechanisms.gaussian import analytic_variance
from pandas_dp.core.partition import Bins
from pandas_dp.core.privacy import Price, PrivacyLoss, show
from pandas_dp.core.statistics.counts import Count
from pandas_dp.facts.checks import MOST_WHOLE

SHARE = Fraction(3, 20)  # of the price, for the bounds
CHANCE = 1e-6  # that any bin without rows is taken for one with rows
FIRST, LAST = -10, 40  # exponents of the bins
POWERS = tuple(2.0**exponent for exponent in range(FIRST, LAST + 2))
EDGES = (*(-power for power in reversed(POWERS)), 0.0, *POWERS)
WHOLE_EDGES = tuple(edge for edge in EDGES if edge.is_integer())  # no whole number lies between two of them below 1
WIDEST = Fraction(POWERS[-1])
TYPE_THEM = "type bounds=(lower, upper)"
FARTHEST = 2.0**1023  # beyond it, values count in no bin

Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class PrivateBounds(Aggregate):
    """A question about a numeric column whose bounds nobody knows, asked on the bounds that a first look finds.

    The first look is a noisy histogram of the column over 0, the powers of two from 2**-10 to 2**41 and their
    negatives (for whole numbers from 2**0), at `SHARE` of the price; what lies beyond counts in the end bins, but for
    infinities and what is as far (`FARTHEST`), which count in none and are cut to the bounds that are found. A bin
    passes when its noisy count exceeds
    the least t with P(noise > t) <= `CHANCE` / bins, so that an empty bin passes anywhere with probability at most
    `CHANCE`. The bounds reach from the first bin that passes to the last, without any the lattice of `question` stays.
    Values in bins of fewer than about t rows go unseen, which a note says: t is a public number.
    The bounds are a function of noisy counts, so the two looks compose: the price is paid in full, whatever is found.
    Source: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020, Section 5.

    Parameters
    ----------
    question : Sum, Mean, Variance or QuantileOf
        On the widest lattice.
    bits : int
        Fineness of the lattice, as in `Lattice.between`.
    whole : bool
        Whether the column's dtype holds whole numbers alone.
    """

    question: Sum | Mean | Variance | QuantileOf
    bits: int
    whole: bool = False

    @property
    def _one_by_one(self) -> bool:
        """Whether a quantile steps from whole number to whole number, where they are few enough."""
        return self.whole and isinstance(self.question, QuantileOf)

    @property
    def totals(self) -> bool:
        """As its question."""
        return self.question.totals

    @property
    def version(self) -> int:  # type: ignore[override]
        """As its question; quantiles of whole numbers are whole since the second."""
        return 2 if self._one_by_one else self.question.version

    @property
    def buying(self) -> str:  # type: ignore[override]
        """As its question."""
        return self.question.buying

    @property
    def own_unit(self) -> bool:  # type: ignore[override]
        """As its question."""
        return self.question.own_unit

    @property
    def edges(self) -> tuple[float, ...]:
        """Edges of the bins, the ends of which also hold what lies beyond."""
        return WHOLE_EDGES if self.whole else EDGES

    def _look(self, terms: Terms) -> Measurement:
        bins = Bins(self.question.column, (-FARTHEST, *self.edges[1:-1], FARTHEST))
        return noised(Count(by=bins), terms.price.share(SHARE), terms.unit)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Both looks. Gaussian noise is rounded up by lattice, so the declared loss is that without any rounding."""
        look, rest = self._look(terms), _rest(terms)
        first = look.mechanism.loss(look.statistic.sensitivity(terms.unit))
        second = self.question.loss(rest)
        return first + (PrivacyLoss.gaussian(_most_rho(rest.price)) if rest.price.gaussian else second)

    def steps(self, terms: Terms) -> Steps:
        """The histogram, then the question."""
        look = self._look(terms)
        noisy = yield look
        least = threshold(look, len(noisy))
        found = bounds(noisy, least, self.edges)
        share = f"{show(100 * SHARE)} % of the price"
        note: str
        if found is None:
            question, shown = self.question, "no bounds found"
            note = Caution(
                f"{share} found no bounds, too few rows for the noise: the widest ones were used; {TYPE_THEM}"
            )
        else:
            step = Fraction(1) if self._one_by_one and found[1] - found[0] <= MOST_WHOLE else None
            question = replace(self.question, lattice=Lattice.between(*found, self.bits, step))
            shown = f"bounds ({show(found[0])}, {show(found[1])}) found"
            note = f"bounds=({show(found[0])}, {show(found[1])}) found with {share}; values beyond count at the ends"
        answer = yield from question.steps(_rest(terms))
        notes = (*answer.notes, note, *unseen(found, least, terms.public_rows))
        return replace(answer, notes=notes, found=shown)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of a quantile, but for the number of points in the bounds; of others it depends on the bounds."""
        found = self.question.expected(_rest(terms), rows)
        ranks = isinstance(self.question, QuantileOf)
        error = f"about: {found.error}" if ranks else "not known in advance: it depends on the bounds that are bought"
        return ExpectedError(found.mechanism, None, error, None, (f"{show(100 * SHARE)} % of the price buys bounds",))


def threshold(look: Measurement, bins: int) -> int:
    """Least integer that the noise of one bin exceeds with probability at most `CHANCE` / bins."""
    return noise_of(look).half_width(1 - 2 * CHANCE / bins)  # of which one side is half


def bounds(noisy: Noisy, least: int, edges: tuple[float, ...] = EDGES) -> Ends | None:
    """From the left end of the first bin above a threshold to the right end of the last; None without any."""
    passed = [i for i, count in enumerate(noisy) if count > least]
    return (Fraction(edges[passed[0]]), Fraction(edges[passed[-1] + 1])) if passed else None


def unseen(found: Ends | None, least: int, rows: int | None) -> tuple[str, ...]:
    """What the search cannot have seen, from public numbers and the bounds that were found."""
    rare = f"fewer than {least:,} rows between a power of two and the next go unseen"
    if found is None and rows is not None and rows <= least:
        return (Caution(f"useless: at this price {rare}, and there are {rows:,} in all; {TYPE_THEM}"),)
    if found is not None and max(map(abs, found)) <= 1:
        return (Caution(f"these bounds hold little but 0, perhaps because {rare}; {TYPE_THEM}"),)
    return (rare,)


def _rest(terms: Terms) -> Terms:
    return replace(terms, price=terms.price.share(1 - SHARE))


def _most_rho(price: Price) -> Fraction:
    """The most that Gaussian noise for a price costs, on any lattice."""
    return (
        price.rho if price.rho is not None else 1 / (2 * analytic_variance(price.epsilon or Fraction(0), price.delta))
    )
