"""What a recipe is: a generator that yields measurements and receives their noisy integers; and the error it expects."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, TypeVar

import pandas as pd

from pandas_dp.aggregates.uncertainty import LEVEL, ErrorModel, RankBound, ScoreGap, duration_unit, percent, rounded_up
from pandas_dp.core.measurement import Measurement, Noisy, Reply, Statistic
from pandas_dp.core.mechanisms.gaussian import SMALLEST_GAUSSIAN_EPSILON, DiscreteGaussian
from pandas_dp.core.mechanisms.laplace import DiscreteLaplace
from pandas_dp.core.mechanisms.noise import Noise
from pandas_dp.core.partition import Partition
from pandas_dp.core.privacy import Price, PrivacyLoss, PrivacyUnit
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, of_price
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.numbers import Accuracy

AT = f"({percent(LEVEL)})"
PRICED = "df.dp(epsilon=0.5)"
SAY = "say roughly how many rows: preview(..., rows=10_000)"
FITS = "not known in advance: it depends on the data"
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

    @classmethod
    def of(cls, kind: Kind) -> Unit:
        """Of distances of the values of a column: of dates they are durations."""
        return cls(duration=kind.name in ("datetime", "timedelta"))

    def scale(self, noise: Noise, step: Fraction = Fraction(1)) -> str:
        """How large noise is."""
        return f"{noise.told.replace('_', ' ')} {self.text(getattr(noise, noise.told) * step)}"

    def noisy(self, noise: Noise, step: Fraction = Fraction(1), each: str = "") -> ExpectedError:
        """Of answers that are exact ones with noise on top."""
        half = noise.half_width(LEVEL) * step
        return ExpectedError(noise.name, self.scale(noise, step), f"{each}± {self.text(half)} {AT}", self.value(half))

    def over_rows(
        self,
        mechanism: str,
        scale: str | None,
        size: float,
        rows: int | None,
        of: str = "",
        groups: int = 1,
        about: str = "at most about",
    ) -> ExpectedError:
        """An error of this size over the number of rows, if that is known, of all or `of` what the rows are, one of so many."""
        if not rows:
            return ExpectedError(mechanism, scale, f"{about} ± {self.text(size)} / rows{of} {AT}; {SAY}")
        half = size / rows
        words = f"{about} ± {self.text(half)} with {rows:,} rows{of}{self.in_all(half, rows, groups)} {AT}"
        return ExpectedError(mechanism, scale, words, self.value(half))

    def in_all(self, half: float, rows: int, groups: int) -> str:
        """The error of an equal group where these are the rows of all groups: who knows one number mostly knows that one."""
        return f", ± {self.text(half * groups)} with {rows:,} in {groups:,} equal groups" if groups > 1 else ""


IN_ROWS, PLAIN = Unit("rows"), Unit()
Steps = Generator[Measurement | Reply, Any, "Answer"]
A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True)
class Terms:
    """All a recipe may know: public facts of the session and the price.

    Attributes
    ----------
    unit : PrivacyUnit
    price : Price
    pure : bool
        Whether the session counts pure epsilons only (then permute-and-flip is the best selection).
    public_rows : int or None
        Number of rows of the table where the owner says that it is public: under replace-one, one row per unit, no filter
        or exploded. What was typed is never compared with the table, and no sensitivity depends on it.
    counted : bool
        Whether that is the table's own number rather than a typed one.
    """

    unit: PrivacyUnit
    price: Price
    pure: bool = True
    public_rows: int | None = None
    counted: bool = False

    def about(self, rows: int | None) -> int | None:
        """About how many rows there are: what the caller says, or a public number."""
        return self.public_rows if rows is None else rows

    def known(self, rows: int | None, by: Partition | None) -> tuple[int | None, str, int]:
        """About how many rows there are, of what, and one of how many groups: of these the caller says them alone."""
        return (self.about(rows), "", 1) if by is None else (rows, " of a group", by.count)

    def share(self, part: Fraction) -> Terms:
        """The same for a part of the price."""
        return replace(self, price=self.price.share(part))

    def at(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Terms:
        """The same at another price."""
        return replace(self, price=Price(epsilon, delta))

    def epsilon(self, what: str) -> Fraction:
        """The epsilon of the price, which must be pure."""
        return pure_epsilon(self.price, what)

    def loss(self, look: Measurement) -> PrivacyLoss:
        """Return the price of a look."""
        return look.mechanism.loss(look.statistic.sensitivity(self.unit))

    def noised(self, statistic: Statistic) -> Measurement:
        """Return a measurement of an integer vector with the least noise that the price buys."""
        price, sensitivity = self.price, statistic.sensitivity(self.unit)
        if not price.gaussian:
            return Measurement(statistic, DiscreteLaplace.calibrate(self.epsilon("this query"), sensitivity))
        if price.epsilon is not None and price.epsilon < SMALLEST_GAUSSIAN_EPSILON:
            raise ArgumentValueError("epsilon must be at least 1e-8 for Gaussian noise; leave delta= out")
        return Measurement(statistic, DiscreteGaussian.calibrate(sensitivity, price.epsilon, price.delta, price.rho))

    def least(self, half_width: Callable[[Terms], Any], wanted: Accuracy, duration: bool = False) -> Fraction:
        """Least epsilon at which an error, known from the terms, stays within what is wanted."""
        in_numbers(wanted, duration)

        def fits(epsilon: Fraction) -> bool:
            if wanted.delta and epsilon < SMALLEST_GAUSSIAN_EPSILON:
                return False
            return bool(half_width(self.at(epsilon, wanted.delta)) <= wanted.within)

        return least_epsilon(fits)


@dataclass(frozen=True)
class Guarantee:
    """A bound on rank or score instead of an interval: (ln(candidates) + ln(1/a)) / rate.

    ``typical`` is the scale of the ranks by which a choice errs where its score falls by one from each value to the next: then
    they are farther away with probability exp(-ranks / scale). From public facts alone, so it knows no ties and no gaps.
    """

    make: Callable[..., RankBound | ScoreGap]
    log_candidates: float
    rate: float
    typical: float | None = None

    def at(self, level: float) -> RankBound | ScoreGap:
        """Return the bound that holds with probability `level`."""
        typical = () if self.typical is None else (self.typically(level),)
        return self.make(self.within(level), level, *typical)

    def typically(self, level: float) -> float:
        """How far it is off at most with probability `level` on most data, for all data where nothing is typical."""
        return self.within(level) if self.typical is None else -math.log(1 - level) * self.typical

    def within(self, level: float) -> float:
        """How far the rank or score is off at most with probability `level`."""
        return (self.log_candidates - math.log(1 - level)) / self.rate

    def expected(self, mechanism: str, unit: Unit = IN_ROWS, notes: tuple[str, ...] = ()) -> ExpectedError:
        """What it says beforehand of a mechanism."""
        scale = f"scale {unit.text(1 / self.rate)}"
        return ExpectedError(mechanism, scale, str(self.at(LEVEL)), self.typically(LEVEL), notes)


class Caution(str):
    """A note that belongs under the number wherever it is shown, since without it the number misleads or says little."""

    __slots__ = ()


WHOLE = Caution(
    "useless: the interval covers the whole range between the bounds; try a larger epsilon or narrower bounds"
)


@dataclass(frozen=True)
class Answer:
    """What a recipe returns: a public value and what is known about its error.

    ``error`` is a model for `bounds`, or a function of the level giving a `RankBound` or `ScoreGap`; None when nothing
    can be said for free. ``extras`` are named columns that come with a vector. ``assumes`` says what the guarantee takes on
    the caller's word, ``found`` what a first look at the data chose for the answer, such as its bounds.
    """

    value: Any
    mechanism: str
    error: ErrorModel | Guarantee | None = None
    notes: tuple[str, ...] = ()
    extras: tuple[pd.Series[Any], ...] = ()
    assumes: str | None = None
    found: str | None = None


ROWS = "rows"  # the unit of a count
# of the price, where an error bar is bought: with 1 / 2 medians of incomes err 3 times as much
BAR_SHARE = Fraction(2, 5)
BAR_NOTE = "two fifths of the price pay for the error bar"
NO_SIZE = "; the number of rows is not part of this answer"
ERROR_BAR = "; error_bar=True buys an interval for the value itself"


class Aggregate(ABC):
    """A named question with frozen public arguments; its repr is the canonical text under which it is stored.

    ``stored`` is False for questions with user code in them, which have no canonical text, ``bounded`` for those that leave
    out no row of a unit with many, ``by_rows`` True for those that are drawn in another way where the number of rows is
    public. ``drawing`` says how a plot shows the answer: ``"bars"``, ``"steps"``, ``"cells"`` or ``"cells and sums"``.
    ``mixed`` is True where each row of the answer is about another function, ``counts_rows`` for numbers of rows,
    ``own_unit`` for what is in no unit of its column, as sums and variances are. ``sums`` is True where it sums values, of
    which a unit has one total, whatever rows it is of; ``weighs`` is True where all rows of a unit count, and weigh less if
    they are more than may; ``in_blocks`` says where all rows of a unit are, if it is answered from blocks of whole units;
    ``counting`` are labels of what counts rows beside other functions: of columns, of a `mixed` answer of rows.
    ``without_interval`` says what is known of an answer that has none.

    ``version`` is part of the key, too: whoever changes which noisy integers a recipe takes, in which order or at which scale,
    or what it makes of them, raises it, or stored ones would be replayed as another answer. Golden transcripts in
    ``tests/aggregates`` tell when.
    """

    version: ClassVar[int] = 1
    stored = True
    bounded = True
    by_rows = False
    drawing = "bars"
    mixed = False
    counts_rows = False
    own_unit = False
    sums = False
    weighs = False
    in_blocks: ClassVar[str | None] = None
    counting: ClassVar[frozenset[Hashable]] = frozenset()
    without_interval = "no interval known"
    buying = ""  # of a single number without interval: what buys one, and whether nothing says how many rows there are

    @property
    def keeps_rows(self) -> bool:
        """Whether it leaves out rows of a unit with more than count."""
        return not (self.sums or self.weighs) and self.in_blocks is None

    def labelled(self, index: pd.Index[Any]) -> pd.Index[Any]:
        """The index of an answer as people read it in a table or plot."""
        return index

    def scale_of(self, row: Hashable) -> Hashable:
        """What tells apart the rows of a `mixed` answer that one axis does not fit: `ROWS` for counts of rows, a pair of its
        own for a row with a unit of its own, the same text for all that are in the unit of their column.
        """
        return ROWS if row in self.counting else (row,)

    def drawn(self, terms: Terms) -> tuple[str, ...]:
        """Part of the key under which an answer is stored, for those that other terms draw by another mechanism."""
        return ()

    def check(self, terms: Terms) -> None:  # noqa: B027 - most questions have nothing to refuse
        """Refuse, before anything is charged, what public numbers alone show to be noise and nothing else."""

    @abstractmethod
    def loss(self, terms: Terms) -> PrivacyLoss:
        """Price in full, known before anything is read."""

    @abstractmethod
    def steps(self, terms: Terms) -> Steps:
        """Yield looks, receive noisy integers, return the answer."""

    @abstractmethod
    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Say what is known of the noise of the answer beforehand, where about so many rows count, as the caller says."""

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Return the epsilon that buys a wanted accuracy, from public facts alone; see `least_epsilon`.

        Raises
        ------
        ArgumentTypeError
            Where the error depends on the data, as that of a mean does on the number of rows.
        """
        raise ArgumentTypeError(
            "within= works where the error is known in advance: counts, sums, histograms, ranks and selections. The error "
            f"of this question depends on the data; give a price: {PRICED}"
        )


def as_question(name: str) -> Any:
    """A property of what asks another `question` in its own way: what that one says of itself."""
    return property(lambda self: getattr(self.question, name))


def once(plan: Callable[[A, Terms], T]) -> Callable[[A, Terms], T]:
    """Keep what a method returned for the terms it saw last: a query asks for its plan when it is priced and when it runs.

    Kept beside the fields, so neither repr nor equality change; terms are compared by identity.
    """
    name = f"{plan.__name__} once"

    def known(self: A, terms: Terms) -> T:
        kept: tuple[Terms, T] | None = self.__dict__.get(name)
        if kept is None or kept[0] is not terms:
            kept = (terms, plan(self, terms))
            self.__dict__[name] = kept
        return kept[1]

    return known


class SingleLook(Aggregate):
    """An aggregate that needs one measurement, known in advance."""

    @abstractmethod
    def look(self, terms: Terms) -> Measurement:
        """Return the one measurement."""

    @abstractmethod
    def answer(self, noisy: Noisy, look: Measurement, terms: Terms) -> Answer:
        """Turn noisy integers into the answer."""

    @once
    def _look(self, terms: Terms) -> Measurement:
        return self.look(terms)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Loss of the one measurement."""
        return terms.loss(self._look(terms))

    def steps(self, terms: Terms) -> Steps:
        """One look, one answer."""
        look = self._look(terms)
        return self.answer((yield look), look, terms)


class Guaranteed(Aggregate):
    """An answer that comes with a bound on its rank or score."""

    @abstractmethod
    def guarantee(self, terms: Terms) -> Guarantee:
        """Return the bound, from public facts alone."""

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the bound, or what is typical."""
        level, within = wanted.level, in_numbers(wanted).within
        return least_epsilon(lambda e: self.guarantee(terms.at(e)).typically(level) <= within)


class Counts(SingleLook):
    """Whole numbers, each with the same noise on top."""

    each = "each "  # of several
    unit = IN_ROWS

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise."""
        return self.unit.noisy(noise_of(self.look(terms)), each=self.each)

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the half-width of the noise of each number."""
        return terms.least(lambda offer: noise_of(self.look(offer)).half_width(wanted.level), wanted)


def least_epsilon(fits: Callable[[Fraction], bool]) -> Fraction:
    """An epsilon of four digits at most 0.4 % above the least that fits, for a test that stays true once it is.

    Raises
    ------
    ArgumentValueError
        Even epsilon = 1e6 does not fit.
    """
    exponents = range(-9000, 6001)  # epsilon = 10**(exponent / 1000), about four digits

    def power(exponent: int) -> Fraction:
        return Fraction(f"{10 ** (exponent / 1000):.3e}")

    if not fits(power(exponents[-1])):
        raise ArgumentValueError("within= is too small: even epsilon=1e6 does not give this error")
    return power(exponents[bisect_left(exponents, True, key=lambda exponent: fits(power(exponent)))])


def pure_epsilon(price: Price, what: str) -> Fraction:
    """Return the epsilon of a price that must be pure."""
    if price.gaussian or price.epsilon is None:
        raise of_price(ArgumentValueError(f"{what} takes a plain epsilon: df.dp(epsilon=0.5) without delta= or rho="))
    return price.epsilon


def in_numbers(wanted: Accuracy, duration: bool = False) -> Accuracy:
    """Return the wanted accuracy if it is in the unit of the answer: a duration or a number.

    Raises
    ------
    ArgumentTypeError
    """
    if wanted.duration != duration:
        example = "a duration: within='5min'" if duration else "a number: within=5"
        raise ArgumentTypeError(f"within must be {example}")
    return wanted


def noise_of(look: Measurement) -> Noise:
    """Return the noise of a measurement made by `noised`."""
    if not isinstance(look.mechanism, Noise):
        raise TypeError("this measurement does not add noise")
    return look.mechanism
