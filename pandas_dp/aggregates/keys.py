"""Unknown keys: which there are, how often they occur, and what is asked of the groups they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import pandas as pd

from pandas_dp.aggregates.base import (
    IN_ROWS,
    Aggregate,
    Answer,
    Caution,
    ExpectedError,
    SingleLook,
    Steps,
    Terms,
    as_question,
    noise_of,
    once,
)
from pandas_dp.aggregates.count import int64s
from pandas_dp.aggregates.key_selections import (
    RARE,
    WORTH,
    OfListed,
    chances,
    epsilon_of,
    listing_of,
    lowest_threshold,
    shared,
    told,
)
from pandas_dp.aggregates.moments import Mean, Sum
from pandas_dp.aggregates.sample_and_aggregate import MOST_IN_ALL, GroupsOfBlocks
from pandas_dp.core.measurement import Listing, Measurement
from pandas_dp.core.mechanisms.gaussian import SMALLEST_GAUSSIAN_EPSILON
from pandas_dp.core.mechanisms.key_selection import NoisyThreshold
from pandas_dp.core.partition import Bins, Cross, Keys
from pandas_dp.core.privacy import PrivacyLoss, show
from pandas_dp.core.statistics.counts import KeyCounts
from pandas_dp.facts.kinds import Kind
from pandas_dp.facts.labels import CrossLabels, Labels
from pandas_dp.facts.numbers import Accuracy

FEWEST_BLOCKS = 25  # of a group: the keys that are found may not be more than blocks for them
SHARE = Fraction(1, 2)  # of epsilon, for the keys of groups


@dataclass(frozen=True)
class KeyColumn:
    """A column that keys are made of.

    Parameters
    ----------
    column : str
    kind : Kind
    listed : (Keys or Bins, Labels), optional
        Its parts and their labels where they are public already: a row in none of them has no key.
    """

    column: str
    kind: Kind
    listed: tuple[Keys | Bins, Labels] | None = None

    @property
    def source(self) -> str | Keys | Bins:
        """As the statistic names it."""
        return self.column if self.listed is None else self.listed[0]

    def factor(self, cells: Sequence[Any]) -> tuple[Keys | Bins, Labels, list[int]]:
        """Return public parts that hold all these released cells, their labels, and the part of each cell."""
        if self.listed is not None:
            return *self.listed, list(cells)
        different = sorted(set(cells), key=lambda cell: (isinstance(cell, str), cell))
        order = {cell: place for place, cell in enumerate(different)}
        keys = tuple(map(self._value, different))
        return Keys(self.column, keys), Labels(self.column, keys), [order[cell] for cell in cells]

    def _value(self, cell: Any) -> Any:
        """A cell as it left the gate, as value of the column's kind: dates and durations were nanoseconds."""
        if self.kind.name == "datetime":
            return self.kind.moment(cell)
        if self.kind.name == "timedelta":
            return pd.Timedelta(cell, unit="ns")
        return bool(cell) if self.kind.name == "bool" else cell


KeyColumns = tuple[KeyColumn, ...]


@dataclass(frozen=True)
class FoundCounts(SingleLook):
    """Number of rows, or of rows with a value in `counted`, of the keys of some columns that have many.

    One noisy count of each key decides whether it is listed, and is the answer where it is. Under the unit's bounds rows are
    counted, not units: with c rows a key the threshold is c - 1 higher. Of Laplace noise at (epsilon, delta) and Gaussian
    noise, which shares delta with the threshold, the one with the lower threshold is taken: public numbers decide.

    Parameters
    ----------
    columns : tuple of KeyColumn
        Of several, each combination is a key.
    counted : str or None
    name : str
        Name of the answer.
    sort : bool
        Largest first, equal counts by key; otherwise by key.
    """

    columns: KeyColumns
    counted: str | None = None
    name: str = "count"
    sort: bool = True

    version = 2

    def look(self, terms: Terms) -> Measurement:
        """One listing."""
        statistic = KeyCounts(sources(self.columns), self.counted)
        return Measurement(statistic, lowest_threshold(statistic, terms.price, terms.unit))

    def answer(self, listing: Any, look: Measurement, terms: Terms) -> Answer:
        """Return a Series over the listed keys."""
        selection = self.selection(terms)
        least = selection.threshold
        index = labels_of(self.columns, listing).index()
        series = pd.Series(int64s([count for *_, count in listing]), index=index, name=self.name)
        if self.sort:
            series = series.sort_values(ascending=False, kind="stable")
        notes: tuple[str, ...] = (
            Caution(
                f"keys with a noisy count of {least:,} or more; a key with a count near {least:,} may be listed only because "
                f"of noise, and its interval allows for that; {RARE}"
            ),
        )
        if not listing:
            notes = (Caution(f"no key has a noisy count of at least {least:,} rows, the threshold at this price"),)
        return Answer(series, told(selection), OfListed(selection.noise, least), notes)

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """The noise of the counts, and from which of them on keys are listed."""
        selection = self.selection(terms)
        found = IN_ROWS.noisy(selection.noise, each="each ")
        least = f"keys with a noisy count of {selection.threshold:,} or more are listed; near that their intervals are wider"
        return replace(found, mechanism=told(selection), notes=(least,))

    def selection(self, terms: Terms) -> NoisyThreshold:
        """Return the mechanism: its noise and its threshold are public."""
        return cast("NoisyThreshold", self._look(terms).mechanism)

    def epsilon_for(self, wanted: Accuracy, terms: Terms) -> Fraction:
        """Invert the half-width of the noise of each count."""
        return terms.least(lambda offer: self.selection(offer).noise.half_width(wanted.level), wanted)


@dataclass(frozen=True)
class FoundTop(FoundCounts):
    """The keys with the largest of those noisy counts, the largest first: nothing but them is told of the look.

    Parameters
    ----------
    k : int or None
        How many at most; None for the first one alone.
    """

    k: int | None = None

    without_interval = "every listed key occurs in the data; value_counts at this price shows the noisy counts"

    def answer(self, listing: Any, look: Measurement, terms: Terms) -> Answer:
        """Return the key, missing where none is listed, or a Series of keys by rank."""
        counts = super().answer(listing, look, terms)
        found = counts.value.index[: self.k or 1]
        notes = (Caution(f"fewer than {self.k} keys were found"),) if len(found) < (self.k or 1) and len(found) else ()
        ranks = pd.Series(found, index=pd.RangeIndex(1, len(found) + 1, name="rank"), name=self.columns[0].column)
        value = ranks if self.k is not None else found[0] if len(found) else None
        return Answer(value, counts.mechanism, None, (*notes, *counts.notes))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """From which noisy count on a key can be listed."""
        found = super().expected(terms, rows)
        return ExpectedError(found.mechanism, None, found.notes[0])


@dataclass(frozen=True)
class FoundKeys(SingleLook):
    """The keys of some columns that many units hold, without counts, by a rule that lists many of them: `listing_of`."""

    columns: KeyColumns

    without_interval = "every listed key occurs in the data; rare keys may be missing"

    def drawn(self, terms: Terms) -> tuple[str, ...]:
        """See `Aggregate`."""
        return shared(self._look(terms))

    def look(self, terms: Terms) -> Measurement:
        """One listing."""
        return listing_of(sources(self.columns), epsilon_of(terms.price), terms.price.delta, terms.unit)

    def answer(self, noisy: Any, look: Measurement, terms: Terms) -> Answer:
        """Return a Series of keys, or a DataFrame of combinations with a column for each, sorted."""
        index = labels_of(self.columns, noisy).index()
        several = isinstance(index, pd.MultiIndex)
        values = index.to_frame(index=False) if several else pd.Series(index, name=self.columns[0].column)
        return Answer(values, told(look.mechanism), None, chances(look, terms.unit))

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """Which keys are seen."""
        look = self._look(terms)
        return ExpectedError(told(look.mechanism), None, chances(look, terms.unit)[0])


@dataclass(frozen=True)
class ByFoundKey(Aggregate):
    """A question by group, asked of the keys that a first look finds.

    `SHARE` of epsilon and the whole delta list the keys, the rest of epsilon answers the question by those keys, as if they had
    been typed: they are public then, and the two looks compose. Where units have so many groups that Gaussian noise is worth
    it, half of delta goes to the question. Its noise depends on no key, so its loss is known before.

    Parameters
    ----------
    columns : tuple of KeyColumn
        Of several, each combination is a key.
    question : Sum, Mean or GroupsOfBlocks
        By no keys yet.
    """

    columns: KeyColumns
    question: Sum | Mean | GroupsOfBlocks

    version, sums = as_question("version"), as_question("sums")

    def drawn(self, terms: Terms) -> tuple[str, ...]:
        """See `Aggregate`."""
        return ("gaussian",) if self.rest(terms).price.delta else shared(self.keys_look(terms))

    def keys_look(self, terms: Terms) -> Measurement:
        """Return the first look."""
        delta = terms.price.delta - self.rest(terms).price.delta
        return listing_of(sources(self.columns), SHARE * epsilon_of(terms.price), delta, terms.unit)

    @once
    def rest(self, terms: Terms) -> Terms:
        """Return what the question is asked on."""
        epsilon = (1 - SHARE) * epsilon_of(terms.price)
        pure, gaussian = (terms.at(epsilon, delta) for delta in (Fraction(0), terms.price.delta / 2))
        asked = self._by_none
        if isinstance(asked, GroupsOfBlocks) or epsilon < SMALLEST_GAUSSIAN_EPSILON:
            return pure
        error, less = (noise_of(asked.look(offer)).standard_deviation for offer in (pure, gaussian))
        return gaussian if error >= WORTH * less else pure

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """That of the question before any key is found, and which keys are seen."""
        if isinstance(self.question, GroupsOfBlocks):  # as many keys as one unit can be in: more change nothing
            keys = tuple(map(str, range(2 * terms.unit.groups)))
            question = self._by(Keys(self.columns[0].column, keys), Labels(self.columns[0].column, keys))
        else:
            question = self._by_none
        found = question.expected(self.rest(terms), rows)
        return replace(found, notes=(*found.notes, *chances(self.keys_look(terms), terms.unit)))

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Both looks."""
        return terms.loss(self.keys_look(terms)) + self._by_none.loss(self.rest(terms))

    @property
    def _by_none(self) -> Sum | Mean | GroupsOfBlocks:
        """The question by no key, which is drawn as by those that are found."""
        return self._by(Keys(self.columns[0].column, ()), labels_of(self.columns, ()))

    def _by(self, by: Keys | Bins | Cross, labels: Labels | CrossLabels) -> Sum | Mean | GroupsOfBlocks:
        """The question by some keys."""
        if isinstance(self.question, GroupsOfBlocks):
            return replace(self.question, values=replace(self.question.values, by=by), labels=labels)
        return replace(self.question, by=by, labels=labels)

    def steps(self, terms: Terms) -> Steps:
        """The keys, then the question, which needs no look where there are none."""
        look = self.keys_look(terms)
        listing = yield look
        most = MOST_IN_ALL // FEWEST_BLOCKS if isinstance(self.question, GroupsOfBlocks) else len(listing)
        more = (Caution(f"only the first {most:,} keys are answered"),) if len(listing) > most else ()
        listing = listing[:most]
        spent = "the whole delta" if not self.rest(terms).price.delta else "half of delta"
        notes = (f"{show(100 * SHARE)} % of epsilon and {spent} found the keys", *chances(look, terms.unit), *more)
        if not listing:
            empty = pd.Series([], index=labels_of(self.columns, ()).index(), name=self.question.column, dtype="float64")
            return Answer(empty, told(look.mechanism), None, (Caution("no key was found at this price"), *notes))
        by, found = parts_of(self.columns, listing)
        answer = yield from self._by(by, found).steps(self.rest(terms))
        return replace(answer, notes=(*answer.notes, *notes))


def sources(columns: KeyColumns) -> tuple[str | Keys | Bins, ...]:
    """Return columns as the statistic names them."""
    return tuple(column.source for column in columns)


def parts_of(columns: KeyColumns, listing: Listing) -> tuple[Keys | Bins | Cross, Labels | CrossLabels]:
    """Return the public partition whose parts are listed keys, in their order, and its labels.

    Listed combinations of the columns so far are crossed with the next column: of all combinations of the single cells there
    may be more than 64 bits can number.

    Parameters
    ----------
    columns : tuple of KeyColumn
    listing : list
        Not empty.
    """
    by: Keys | Bins | Cross
    labels: Labels | CrossLabels
    by, labels, places = columns[0].factor([entry[0] for entry in listing])
    for at, column in enumerate(columns[1:], 1):
        part, named, own = column.factor([entry[at] for entry in listing])
        pairs = [place * part.count + more for place, more in zip(places, own, strict=True)]
        allowed = tuple(dict.fromkeys(pairs))  # in the last round all differ
        by, labels = Cross((by, part), allowed), CrossLabels((labels, named), allowed)
        order = {pair: place for place, pair in enumerate(allowed)}
        places = [order[pair] for pair in pairs]
    return by, labels


def labels_of(columns: KeyColumns, listing: Listing | tuple[()]) -> Labels | CrossLabels:
    """Return the labels of listed keys, of which there may be none."""
    if listing:
        return parts_of(columns, listing)[1]
    empty = tuple(Labels(column.column, ()) for column in columns)
    return empty[0] if len(empty) == 1 else CrossLabels(empty, ())
