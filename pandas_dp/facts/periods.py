"""Which period a moment belongs to: hours, days, weeks, months or years, as the ledger has them on record for ever.

Periods are counted from the year 1: day 0 is 0001-01-01, which was a Monday, in today's calendar also where another one was in
use. For all moments m of the years 1 to 9999, m lies in exactly one period j, and ``edges(j)[0] <= m < edges(j)[1]``: what is
said of a row's period is a public function of its own cell, and periods neither overlap nor leave a gap.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, LedgerError
from pandas_dp.facts.kinds import PER_SECOND, Kind

Integers = NDArray[np.int64]

WORDS = {"h": "hour", "D": "day", "W": "week", "M": "month", "Y": "year"}
EXAMPLES = {"h": "2026-11-28T07", "D": "2026-11-28", "W": "2026-W48", "M": "2026-11", "Y": "2026"}
MOST = 10_000  # periods that one question may name
NONE = -1  # the number of a row without a moment, or with one outside the years 1 to 9999
DAY = 86_400
BEFORE = 719_162  # days from 0001-01-01 to 1970-01-01
DAYS = 3_652_059  # of the years 1 to 9999
ZONES_FROM, ZONES_TO = -2_208_988_800, 7_258_118_400  # 1900 and 2200 in UTC, seconds since 1970

_READ: dict[str, tuple[str, Callable[..., int]]] = {  # how a name is written, and what its numbers say
    "h": (r"(\d{4})-(\d\d)-(\d\d)T(\d\d)", lambda year, month, day, hour: _hour(_day(year, month, day), hour)),
    "D": (r"(\d{4})-(\d\d)-(\d\d)", lambda year, month, day: _day(year, month, day)),
    "W": (r"(\d{4})-W(\d\d)", lambda year, week: (dt.date.fromisocalendar(year, week, 1).toordinal() - 1) // 7),
    "M": (r"(\d{4})-(\d\d)", lambda year, month: (dt.date(year, month, 1).year - 1) * 12 + month - 1),
    "Y": (r"(\d{4})", lambda year: dt.date(year, 1, 1).year - 1),
}


@dataclass(frozen=True, repr=False)
class Periods:
    """What the period of a row is: part of the unit, fixed by the first question and stored with it.

    Attributes
    ----------
    period : str
        ``"h"``, ``"D"``, ``"W"`` (from Monday), ``"M"`` or ``"Y"``.
    time : str
        The column of moments.
    kind : str
        ``"naive"`` for what clocks show somewhere, ``"instant"`` for moments with a time zone.
    zone : str or None
        Whose clocks count for instants.
    offsets : tuple of (int, int)
        From which second since 1970 in UTC its clocks are how many seconds ahead: 1900 to 2200, rising; the first and the last
        hold before and after. Read once, when the budget is opened: what is on record decides, whatever a later release of the
        time zone database says. Otherwise rows would move to a neighbouring day, whose budget they have not touched.

    Notes
    -----
    With a zone, period j begins at the *first* instant whose local time is that of its start, or later. So periods are
    intervals of instants also where clocks go back: the second showing of an hour belongs to what came first, an hour that is
    skipped is empty, and so is a day that is (Samoa, 30 December 2011). Where clocks go back over midnight, as at 00:01 in St
    John's until 2010, what they show again of the day before belongs to the new day.
    """

    period: str
    time: str
    kind: str
    zone: str | None = None
    offsets: tuple[tuple[int, int], ...] = ()

    @classmethod
    def opened(cls, period: Any, time: Any, kind: Kind | None, zone: Any = None) -> Periods:
        """Periods for a new budget, with the offsets that the time zone database of this machine has today.

        Parameters
        ----------
        period, time, zone
            As typed; ``zone=None`` is UTC for instants.
        kind : Kind or None
            That of the column, None where there is no such column.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
        """
        if not isinstance(period, str) or period not in WORDS:
            first = period[:1].lower() if isinstance(period, str) else ""
            # a longer period protects what a shorter one does, and more
            line = next((key for key, word in WORDS.items() if word[0] == first), "Y" if first else "D")
            quarters = "; there are no quarters, and a year protects more" * (first == "q")
            raise ArgumentValueError(
                f"period= is 'h', 'D', 'W' (weeks from Monday), 'M' or 'Y'{quarters}: type period={line!r}"
            )
        line = f"df.dp.protect(epsilon=1, period={period!r}, time='visited_at')"
        if not isinstance(time, str):
            raise ArgumentTypeError(f"period= needs time=, the name of the column with the date of each row: {line}")
        made = cls(str(period), str.__str__(time), "naive" if kind is None or kind.tz is None else "instant")
        made.check(kind)
        if zone is not None and not isinstance(zone, str):
            raise ArgumentTypeError("zone= is the name of a time zone: zone='Europe/Berlin'")
        if made.kind == "naive":
            if zone is not None:
                raise ArgumentValueError(
                    f"{time!r} has no time zone, so its {made.word}s are those that it shows: leave zone= out, or make "
                    f"instants of it before: df[{time!r}] = df[{time!r}].dt.tz_localize({zone!r})"
                )
            return made
        name = "UTC" if zone is None else str.__str__(zone)
        return replace(made, zone=name, offsets=offsets_of(name))

    @property
    def a_word(self) -> str:
        """One of them in a sentence: ``"a day"``, ``"an hour"``."""
        return f"a{'n' * (self.period == 'h')} {self.word}"

    @property
    def word(self) -> str:
        """What one of them is called: ``"day"``."""
        return WORDS[self.period]

    @property
    def terms(self) -> tuple[str, str, str, str | None]:
        """What two openings of one budget have to agree in: all but the offsets, of which those on record count."""
        return self.period, self.time, self.kind, self.zone

    def __repr__(self) -> str:
        """Equal for equal periods alone, as it is part of the keys of answers: hundreds of offsets are told by their digest."""
        digest = hashlib.sha256(self.text().encode()).hexdigest()[:32]
        return f"Periods({self}, {len(self.offsets)} offsets, {digest})"

    def __str__(self) -> str:
        return f"{self.word}s{'' if self.zone is None else f' of {self.zone}'} by {self.time!r}"

    def check(self, kind: Kind | None) -> None:
        """Refuse a table whose column of time is missing or of another kind; by its dtype, whatever the rows are.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
        """
        if kind is None:
            raise ArgumentValueError(
                f"a table without a column {self.time!r} has no {self.word}: name the column with time='...', or protect it "
                "under another name"
            )
        if kind.name != "datetime":
            raise ArgumentTypeError(
                f"{self.time!r} holds no dates: make them before the table is protected, df[{self.time!r}] = "
                f"pd.to_datetime(df[{self.time!r}])"
            )
        if (kind.tz is None) != (self.kind == "naive"):
            here, needed = ("no time zone", "one") if kind.tz is None else ("a time zone", "none")
            change = "dt.tz_localize('Europe/Berlin')" if kind.tz is None else "dt.tz_localize(None)"
            raise ArgumentTypeError(
                f"{self.time!r} has {here}, and the {self.word}s on record need {needed}: df[{self.time!r}] = "
                f"df[{self.time!r}].{change}"
            )

    def number(self, name: Any) -> int:
        """The number of a period by its name, from 0 on.

        Parameters
        ----------
        name : str
            ``"2026-11-28"`` for a day, ``"2026-11-28T07"``, ``"2026-W48"``, ``"2026-11"`` or ``"2026"`` for others. A date
            stands for its day, and a moment without a time zone for the day or hour that begins with it.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
        """
        line = f"df.dp.period({EXAMPLES[self.period]!r})"
        text = self._typed(name, line) if isinstance(name, dt.date) else name
        if not isinstance(text, str):
            raise ArgumentTypeError(f"period: {self.a_word} is named by a text: {line}")
        for period, (form, read) in _READ.items():
            found = re.fullmatch(form, text, re.ASCII)
            if found:
                try:
                    j = read(*map(int, found.groups()))
                except ValueError:
                    raise ArgumentValueError(f"period: {text!r} is not in the calendar: {line}") from None
                if period == self.period:
                    return j
                first, last = (
                    self.name(int(_numbers(self.period, np.int64(second))))
                    for second in (_start(period, j), min(_start(period, j + 1), _start("D", DAYS)) - 1)
                )
                instead = f"{first!r}" if first == last else f"{first!r}, {last!r}"
                raise ArgumentValueError(
                    f"period: {text!r} is the name of one {WORDS[period]}, and this budget is per {self.word}: "
                    f"df.dp.period({instead})"
                )
        if (quarter := re.fullmatch(r"(\d{4})-?[Qq]([1-4])", text)) and self.period == "M":
            year, months = quarter[1], 3 * int(quarter[2])
            line = f"df.dp.period('{year}-{months - 2:02}', '{year}-{months:02}')"
        raise ArgumentValueError(f"period: {text[:40]!r} names no {self.word}: {line}")

    def _typed(self, moment: Any, line: str) -> str:
        """The name that a date or a moment stands for."""
        if moment != moment:
            raise ArgumentValueError(f"period: a missing date names no {self.word}: {line}")
        known = self.period == "D" or (self.period == "h" and isinstance(moment, dt.datetime))
        if not known or getattr(moment, "tzinfo", None) is not None:
            raise ArgumentTypeError(f"period: {self.a_word} is named by a text: {line}")
        written: str = moment.isoformat()
        if not isinstance(moment, dt.datetime):
            return written
        name, rest = written[: 10 if self.period == "D" else 13], written[10 if self.period == "D" else 13 :]
        if rest.strip("T0:."):
            raise ArgumentValueError(f"period: {written!r} is a moment within {self.a_word}: df.dp.period({name!r})")
        return name

    def name(self, j: int) -> str:
        """The name of a period: ``"2026-11-28"``."""
        if self.period in "MY":
            year, month = divmod(j, 12) if self.period == "M" else (j, None)
            return f"{year + 1:04}" + ("" if month is None else f"-{month + 1:02}")
        day, hour = divmod(j, 24) if self.period == "h" else (j * 7 if self.period == "W" else j, None)
        date = dt.date.fromordinal(day + 1)
        if self.period == "W":
            return "{:04}-W{:02}".format(*date.isocalendar()[:2])
        return date.isoformat() + ("" if hour is None else f"T{hour:02}")

    def edges(self, j: int) -> tuple[int, int]:
        """First moment of a period, and the first after it: the same where it is empty.

        Microseconds since 1970, in UTC for instants.
        """
        start, stop = (self._edge(_start(self.period, one)) * 10**6 for one in (j, j + 1))
        return start, stop

    def _edge(self, local: int) -> int:
        """The first second whose local time is at least this one."""
        if not self.offsets:
            return local
        since, ahead, reached = self._clocks
        place = int(np.searchsorted(reached, local, side="right"))
        second = local - int(ahead[place])
        return second if place == 0 else max(second, int(since[place]))

    @cached_property
    def _clocks(self) -> tuple[Integers, Integers, Integers]:
        """Since when clocks are ahead, by how much, and up to which local time they have come before each next change."""
        since, ahead = (np.array(column, np.int64) for column in zip(*self.offsets, strict=True))
        return since, ahead, np.maximum.accumulate(since[1:] + ahead[:-1])

    def of(self, ticks: Integers, known: NDArray[np.bool_] | None = None, unit: str = "us") -> Integers:
        """The number of the period that each moment lies in, shape (n,).

        For all moments of the years 1 to 9999 it is the one j with ``edges(j)[0] <= moment < edges(j)[1]``: the local time that
        clocks have reached by then, which does not go back when they do, has the date of j.

        Parameters
        ----------
        ticks : ndarray of int64, shape (n,)
            Counts of a unit since 1970, in UTC for instants; whatever they are where they are not known.
        known : ndarray of bool, shape (n,), optional
        unit : str
            ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``.

        Returns
        -------
        ndarray of int64, shape (n,)
            `NONE`, which is -1, where a moment is unknown or outside those years.
        """
        seconds = np.floor_divide(ticks, PER_SECOND[unit], dtype=np.int64)
        local = np.clip(seconds, _start("D", -2), _start("D", DAYS + 2))
        if self.offsets:
            since, ahead, reached = self._clocks
            place = np.maximum(np.searchsorted(since, local, side="right") - 1, 0)
            before = np.append(np.iinfo(np.int64).min, reached - 1)
            local = np.maximum(local + ahead[place], before[place])
        within = (local >= _start("D", 0)) & (local < _start("D", DAYS))
        numbers = _numbers(self.period, np.where(within, local, 0))
        return np.where(within if known is None else within & known, numbers, NONE)

    def text(self) -> str:
        """The form in which a ledger has it."""
        return json.dumps([*self.terms, self.offsets], separators=(",", ":"))

    @classmethod
    @lru_cache(maxsize=32)
    def from_text(cls, text: str) -> Periods:
        """Read `text` again.

        Raises
        ------
        LedgerError
            If it is not exactly what `text` writes.
        """
        try:
            *terms, offsets = json.loads(text)
            period, time, kind, zone = terms
            made = cls(period, time, kind, zone, tuple((since, ahead) for since, ahead in offsets))
            whole = all(type(number) is int for pair in made.offsets for number in pair)
            rising = all(a[0] < b[0] for a, b in zip(made.offsets, made.offsets[1:], strict=False))
            known = made.period in WORDS and made.kind == ("instant" if made.offsets else "naive")
            if whole and rising and known and made.text() == text:
                return made
        except (ValueError, TypeError):
            pass
        raise LedgerError(
            "the ledger's record of what a period is cannot be read: it was damaged, or a later version wrote it"
        )


def _day(year: int, month: int, day: int) -> int:
    return dt.date(year, month, day).toordinal() - 1


def _hour(day: int, hour: int) -> int:
    return day * 24 + dt.time(hour).hour  # 24 is none


def _start(period: str, j: int) -> int:
    """Local second at which a period starts, since 1970."""
    if period == "h":
        return j * 3600 - BEFORE * DAY
    if period in "MY":
        year, month = divmod(j, 12) if period == "M" else (j, 0)
        j = DAYS if year >= 9999 else _day(year + 1, month + 1, 1)
    if period == "W":
        j = min(j * 7, DAYS)  # the last one ends with the year 9999, a Friday
    return (j - BEFORE) * DAY


def _numbers(period: str, local: Any) -> Integers:
    """Numbers of the periods in which local seconds lie."""
    if period == "h":
        return np.asarray(local // 3600 + BEFORE * 24)
    days = np.asarray(local // DAY)
    if period in "MY":
        return days.astype("M8[D]").astype(f"M8[{period}]").astype(np.int64) + 1969 * (12 if period == "M" else 1)
    return (days + BEFORE) // (7 if period == "W" else 1)


@lru_cache(maxsize=32)
def offsets_of(zone: str) -> tuple[tuple[int, int], ...]:
    """Since which second how many seconds ahead of UTC the clocks of a zone are, from 1900 to 2200.

    Every change is found that is not undone within two days. The database knows of none: the nearest two, in Freetown in 1939,
    are four days apart.

    Raises
    ------
    ArgumentValueError
        For names that the time zone database does not have.
    """
    if zone == "UTC":  # which needs no database, and a small container may have none
        return ((ZONES_FROM, 0),)
    try:
        rules = zoneinfo.ZoneInfo(zone)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise ArgumentValueError(
            f"zone={zone[:40]!r} is no time zone that this machine knows, as in zone='Europe/Berlin'. Where it knows none: "
            "pip install tzdata"
        ) from None
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

    def ahead(second: int) -> int:
        span = (epoch + dt.timedelta(seconds=second)).astimezone(rules).utcoffset()
        return 0 if span is None else int(span.total_seconds())

    found = [(ZONES_FROM, ahead(ZONES_FROM))]
    for second in range(ZONES_FROM, ZONES_TO, 2 * DAY):
        end = ahead(second + 2 * DAY)
        while found[-1][1] != end:
            low, high = max(second, found[-1][0]), second + 2 * DAY
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if ahead(middle) == found[-1][1] else (low, middle)
            found.append((high, ahead(high)))
    return tuple(found)
