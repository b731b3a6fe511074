"""What a recipe says of its noise before it is drawn: public facts and the price alone, no row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.kinds import Kind
from pandas_dp.uncertainty import LEVEL, duration_unit, percent, rounded_up

AT = f"({percent(LEVEL)})"
SAY = "say about how many: preview(..., rows=10_000)"
FITS = "not known in advance: it fits the data"
LONGEST, MOST_PLAIN = 2**62, 1e15


@dataclass(frozen=True)
class ExpectedError:
    """The noise of an answer, in words, and its error as a number where public numbers give one.

    Attributes
    ----------
    mechanism, error : str
    scale : str or None
        Of the noise; None where it is not known in advance.
    half_width : number, Timedelta or dict, optional
        Of the interval of the answer (the widest of a vector); by name for several numbers.
    notes : tuple of str
    parts : tuple of (str, str)
        Of several questions asked together: the name of each, and its error and share of the price.
    """

    mechanism: str
    scale: str | None
    error: str
    half_width: Any = None
    notes: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()


class Unit(NamedTuple):
    """The unit of a distance of answers: a word, or a duration in nanoseconds."""

    word: str = ""
    duration: bool = False

    def text(self, size: float | Fraction) -> str:
        """Write a size, rounded up to three digits."""
        name, shown = self.word, float(size)
        if self.duration:
            name, scale = duration_unit(pd.Timedelta(min(math.ceil(size), LONGEST), unit="ns"))
            shown /= scale.value
        whole = f"{shown:,.0f}" if shown.is_integer() and shown < MOST_PLAIN else rounded_up(shown)
        return f"{whole} {name}" if name else whole

    def value(self, size: float | Fraction) -> Any:
        """The size as a number, or a Timedelta."""
        if self.duration:
            return Kind("timedelta").value(Fraction(size))
        whole = self.word and isinstance(size, int | Fraction) and size == int(size)
        return int(size) if whole else float(size)


IN_ROWS, PLAIN = Unit("rows"), Unit()
OF_GROUP = " of a group"


def unit_of(kind: Kind) -> Unit:
    """Distances of the values of a column: of dates they are durations."""
    return Unit(duration=kind.name in ("datetime", "timedelta"))


def scale_of(noise: Noise, step: Fraction, unit: Unit) -> str:
    """How large noise is in the unit of an answer."""
    return f"{noise.told.replace('_', ' ')} {unit.text(getattr(noise, noise.told) * step)}"


def noisy(noise: Noise, step: Fraction, unit: Unit, each: str = "") -> ExpectedError:
    """Of answers that are exact ones with noise on top."""
    half = noise.half_width(LEVEL) * step
    scale = scale_of(noise, step, unit)
    return ExpectedError(noise.name, scale, f"{each}± {unit.text(half)} {AT}", unit.value(half))


def over_rows(
    mechanism: str,
    scale: str | None,
    size: float,
    rows: int | None,
    unit: Unit = PLAIN,
    of: str = "",
    about: str = "about",
) -> ExpectedError:
    """An error of this size over the number of rows, if that is known, of all or `of` what the rows are."""
    if not rows:
        return ExpectedError(mechanism, scale, f"{about} ± {unit.text(size)} / rows{of} {AT}; {SAY}")
    half = size / rows
    words = f"{about} ± {unit.text(half)} with {rows:,} rows{of} {AT}"
    return ExpectedError(mechanism, scale, words, unit.value(half))
