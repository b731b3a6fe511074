"""What is told of aggregates beside their answers: the price of a wanted error, and what several noises are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from pandas_dp.aggregates.base import PRICED, Aggregate, Caution, Terms
from pandas_dp.core.privacy import Price, PrivacyUnit, show
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.numbers import Accuracy, rounded

DIGITS = 4  # of prices and totals, which are rounded up
ANY_DELTA = Fraction(1, 10**6)  # by which Gaussian noise for an error is found; what counts is its rho
MOST_POWERS = 60  # of ten, by which an error that fits is larger than the wanted one


def bought(least: Callable[[Accuracy], Fraction], wanted: Accuracy, asked: str = "") -> Fraction:
    """Return the epsilon that buys a wanted accuracy; a refusal of one that none buys names one that fits, or a price.

    Parameters
    ----------
    least : callable
        The least epsilon for an accuracy.
    wanted : Accuracy
    asked : str
        The question, as it stands behind its price.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
    """
    try:
        return least(wanted)
    except ArgumentValueError as error:  # even the largest does not
        for larger in (replace(wanted, within=wanted.within * 10**power) for power in range(1, MOST_POWERS)):
            with suppress(ArgumentValueError):
                if (epsilon := least(larger)) <= 1:
                    error.args = (f"{error}; epsilon={show(epsilon)} buys {larger.typed}",)
                    break
        raise
    except ArgumentTypeError as error:
        error.args = (f"{error}{f'.{asked}' if asked and str(error).endswith(PRICED) else ''}",)
        raise


def least_rho(asked: Aggregate, wanted: Accuracy, terms: Terms) -> Fraction | None:
    """The least rho that buys a wanted accuracy with Gaussian noise; None where the question has none, or has found keys.

    Raises
    ------
    ArgumentTypeError
        Where the error depends on the data.
    """
    try:
        epsilon = asked.epsilon_for(replace(wanted, delta=ANY_DELTA), terms)
        loss = asked.loss(terms.at(epsilon, ANY_DELTA))
    except ArgumentValueError:
        return None
    return up(loss.rho) if loss.parts and loss.epsilon is None and not loss.delta else None


def price_for(asked: Aggregate, wanted: Accuracy, terms: Terms, rhos: bool, text: str = "") -> Price:
    """The price of a wanted accuracy: an epsilon, or where a budget counts `rhos` one, if Gaussian noise adds less of it."""
    price = Price(bought(lambda error: asked.epsilon_for(error, terms), wanted, text), wanted.delta)
    rho = least_rho(asked, wanted, terms) if rhos and not wanted.delta else None
    return price if rho is None or asked.loss(replace(terms, price=price)).rho <= rho else Price(rho=rho)


def up(x: Fraction) -> Fraction:
    """Round up as prices and totals are."""
    return rounded(x, DIGITS)


def noises(names: Iterable[str]) -> str:
    """What several mechanisms are called together, of which some have parts of one name.

    Examples
    --------
    >>> noises(["discrete Laplace", "exponential mechanism on ranks, discrete Laplace"])
    'discrete Laplace, exponential mechanism on ranks'
    """
    return ", ".join(dict.fromkeys(part for name in names for part in name.split(", ")))


def left_out(unit: PrivacyUnit, asked: Aggregate) -> tuple[str, ...]:
    """Say what no answer counts where units own several rows: a public fact."""
    if unit.column is None:
        return ()
    who, most, notes = repr(unit.column), "1 row" if unit.rows == 1 else f"{unit.rows:,} rows", []
    rest = f"rows without {who} are not used; intervals do not cover dropped rows"
    if asked.sums:
        c, together = min(unit.rows_per_group, unit.rows), unit.rows_in_parts
        groups = "" if c == together == unit.rows else f" (in groups {together:,}, at most {c:,} in one)"
        cut = f"rows without {who} are not used; intervals do not cover what is clipped or left out"
        notes.append(f"in a sum the total of each {who} is clipped to the total of {most} at a bound{groups}; {cut}")
    if asked.weighs:
        weighed = f"all rows of each {who} count, together as at most {most}"
        notes.append(f"{weighed}; rows without {who} are not used; intervals do not cover this")
    if asked.in_blocks is not None:
        notes.append(f"all rows of each {who} are used, {asked.in_blocks.format(unit.groups)}; {rest}")
    if asked.keeps_rows:
        notes.append(f"at most {most} of each {who} {'is' if unit.rows == 1 else 'are'} used; {rest}")
    return tuple(map(Caution, notes))
