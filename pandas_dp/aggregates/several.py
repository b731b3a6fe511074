"""Several answers for one price: composed of the looks of the single questions, each at a public share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import SAY, Aggregate, Answer, Caution, ExpectedError, Guarantee, Steps, Terms, once
from pandas_dp.aggregates.shared_moments import Moment, SharedMoments, sharing
from pandas_dp.aggregates.told import noises
from pandas_dp.aggregates.uncertainty import LEVEL, Ends, ErrorModel, series_of
from pandas_dp.core.privacy import PrivacyLoss

Error = ErrorModel | Guarantee | None


@dataclass(frozen=True)
class Part:
    """One of several questions.

    Attributes
    ----------
    call : str
        How it would be asked alone, for people.
    row, column : where its answer stands in the table; its own rows where it is a Series
    question : Aggregate
    share : Fraction
        Of the price.
    """

    call: str
    row: Hashable
    column: Hashable
    question: Aggregate
    share: Fraction


@dataclass(frozen=True)
class Lot:
    """What is bought at once: a question, or moments of one column that share a look.

    Attributes
    ----------
    places : tuple of int
        Of the parts that it answers.
    question : Aggregate
    terms : Terms
        With its price.
    share : Fraction
        Of the whole price.
    """

    places: tuple[int, ...]
    question: Aggregate
    terms: Terms
    share: Fraction

    def expected(self, rows: int | None) -> tuple[ExpectedError, ...]:
        """Of each part."""
        if isinstance(self.question, SharedMoments):
            return self.question.each_expected(self.terms, rows)
        return (self.question.expected(self.terms, rows),)


@dataclass(frozen=True)
class Cells:
    """Error of a table, cell by cell; no number where no interval is known."""

    models: tuple[tuple[Hashable, Hashable, Error], ...]
    single: bool = False  # whether the answer is a Series by column, not a table of rows and columns

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each entry of one column, known by its name, or of a Series by column."""
        known: dict[Hashable, Error] = {
            (column if self.single else row): model
            for row, column, model in self.models
            if self.single or column == value.name
        }
        ends = []
        for label, entry in value.items():
            model = known.get(label)
            told = model is not None and not isinstance(model, Guarantee)
            ends.append(model.bounds(entry, level) if told else (np.nan, np.nan))  # type: ignore[union-attr]
        return series_of(ends, value)


def of_any(name: str) -> Any:
    """A property of several questions: whether one of them has it."""
    return property(lambda self: any(getattr(part.question, name) for part in self.parts))


@dataclass(frozen=True)
class Several(Aggregate):
    """Questions asked one after the other at their shares of the price, which add up to 1, and answered in one table.

    Notes
    -----
    Every question is what it is alone, at a smaller price, but for moments of one column, which share one look at the sum of
    their shares where none of them errs more for it, see `sharing`. What is bought is a function of public facts, and what all
    of it loses the sum of its losses, which is declared before the first look (sequential composition). With Gaussian prices
    epsilon, delta and rho are shared alike.

    Parameters
    ----------
    parts : tuple of Part
        Their shares add up to 1.
    single : bool
        Whether the answer is a Series by column instead of a table.
    """

    parts: tuple[Part, ...]
    single: bool = False

    mixed = True

    @property
    def version(self) -> int:  # type: ignore[override]
        """The latest of its questions; sums may have a look of their own since the third."""
        return max(3 if self.sums else 1, *(part.question.version for part in self.parts))

    sums, weighs, by_rows, keeps_rows = map(of_any, ("sums", "weighs", "by_rows", "keeps_rows"))

    @property
    def counting(self) -> frozenset[Hashable]:  # type: ignore[override]
        """Labels of its counts, and of those that come with a question."""
        own = {self._label(part) for part in self.parts if part.question.counts_rows}
        return frozenset(own.union(*(part.question.counting for part in self.parts)))

    def scale_of(self, row: Hashable) -> Hashable:
        """Some answers have a unit of their own, and so has each column of a Series."""
        own = next((part.question.own_unit for part in self.parts if self._label(part) == row), False)
        return super().scale_of(row) if row in self.counting or own or self.single else ""

    def _label(self, part: Part) -> Hashable:
        """Of the row of a part."""
        return part.column if self.single else part.row

    @once
    def lots(self, terms: Terms) -> tuple[Lot, ...]:
        """What is bought, in the order of the first parts."""
        columns: dict[str, list[int]] = {}
        for place, part in enumerate(self.parts):
            if isinstance(part.question, Moment) and part.question.column is not None:
                columns.setdefault(part.question.column, []).append(place)
        lots: dict[int, tuple[int, ...]] = {place: (place,) for place in range(len(self.parts))}
        for places in columns.values():
            moments = [(self.parts[place].question, self.parts[place].share) for place in places]
            together = tuple(places[i] for i in sharing(moments, terms))  # type: ignore[arg-type]
            for place in together:
                del lots[place]
            lots |= {together[0]: together} if together else {}
        return tuple(self._lot(lots[first], terms) for first in sorted(lots))

    def _lot(self, places: tuple[int, ...], terms: Terms) -> Lot:
        questions = tuple(self.parts[place].question for place in places)
        share = sum((self.parts[place].share for place in places), Fraction(0))
        bought = questions[0] if len(questions) == 1 else SharedMoments(questions)  # type: ignore[arg-type]
        return Lot(places, bought, terms.share(share), share)

    def check(self, terms: Terms) -> None:
        """Refuse what a part refuses."""
        for lot in self.lots(terms):
            lot.question.check(lot.terms)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Sum over what is bought."""
        return sum((lot.question.loss(lot.terms) for lot in self.lots(terms)), PrivacyLoss())

    def steps(self, terms: Terms) -> Steps:
        """Buy lot after lot."""
        answers: dict[int, Answer] = {}
        for lot in self.lots(terms):
            answer = yield from lot.question.steps(lot.terms)
            answers |= zip(lot.places, answer.value if len(lot.places) > 1 else (answer,), strict=True)
        return self._together([answers[place] for place in range(len(self.parts))])

    def expected(self, terms: Terms, rows: int | None) -> ExpectedError:
        """What is known of each part at its share, or at the sum of those that share a look: a line for each."""
        known: dict[int, ExpectedError] = {}
        prices: dict[int, str] = {}
        names = [" ".join(str(name) for name in (part.column, part.row) if name is not None) for part in self.parts]
        for lot in self.lots(terms):
            known |= zip(lot.places, lot.expected(rows), strict=True)
            for place in lot.places:
                others = " and ".join(names[other] for other in lot.places if other != place)
                share = "all" if lot.share == 1 else f"{100 * float(lot.share):.3g} %"
                prices[place] = f"{share} of the price" + (f", shared with {others}" if others else "")
        found = [known[place] for place in range(len(names))]
        errors = [(name, each.error.replace(f"; {SAY}", "")) for name, each in zip(names, found, strict=True)]
        say = (SAY,) if any(SAY in each.error for each in found) else ()
        beside = (f"{name}: {note}" for name, each in zip(names, found, strict=True) for note in each.notes)
        return ExpectedError(
            mechanism=noises(each.mechanism for each in found),
            scale=None,
            error="; ".join([*(f"{name}: {error}" for name, error in errors), *say]),
            half_width={part.call: each.half_width for part, each in zip(self.parts, found, strict=True)},
            notes=(*say, *beside),
            parts=tuple((name, f"{error}; {prices[place]}") for place, (name, error) in enumerate(errors)),
        )

    def _together(self, answers: list[Answer]) -> Answer:
        cells: dict[Hashable, dict[Hashable, Any]] = {}
        rows: dict[Hashable, None] = {}  # in the order asked
        models: list[tuple[Hashable, Hashable, Error]] = []
        notes: list[str] = []
        for part, answer in zip(self.parts, answers, strict=True):
            column = cells.setdefault(part.column, {})
            if isinstance(answer.error, Cells):
                column.update(answer.value.items())
                rows |= dict.fromkeys(answer.value.index)
                models += answer.error.models
            else:
                column[part.row] = answer.value
                rows[part.row] = None
                models.append((part.row, part.column, error_of(answer)))
            notes += noted(part.call, answer)
        value: Any
        if self.single:
            alone = {name: next(iter(column.values())) for name, column in cells.items()}
            # of a missing number among dates pandas would make a missing date
            kinds = {isinstance(one, pd.Timestamp | pd.Timedelta | type(pd.NaT)) for one in alone.values()}
            value = pd.Series(alone, dtype=object if len(kinds) > 1 else None)
        else:
            values = {
                name: pd.Series([column.get(row, np.nan) for row in rows], index=list(rows))
                for name, column in cells.items()
            }
            value = pd.DataFrame(values)
        mechanism = noises(answer.mechanism for answer in answers)
        assumed = [answer.assumes for answer in answers if answer.assumes is not None]
        return Answer(
            value,
            mechanism,
            Cells(tuple(models), self.single),
            tuple(notes),
            assumes="; ".join(dict.fromkeys(assumed)) or None,
        )


@dataclass(frozen=True)
class Columns:
    """Error of a table column by column, by their labels."""

    models: tuple[tuple[Hashable, Error], ...]

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Ends for each entry of the column of this name."""
        model = dict(self.models).get(value.name)
        if model is not None and not isinstance(model, Guarantee):
            return model.bounds(value, level)
        unknown = pd.Series(np.nan, index=value.index, name=value.name)
        return unknown, unknown.copy()


@dataclass(frozen=True)
class SeveralOfGroups(Several):
    """Several questions about the same groups: a row for each group, a column for each question."""

    mixed = False

    def _together(self, answers: list[Answer]) -> Answer:
        labels = [self._label(part) for part in self.parts]
        values = {place: answer.value for place, answer in enumerate(answers)}
        columns = pd.Index(labels, dtype=object, tupleize_cols=not self.single)  # pairs make two levels, as in pandas
        value = pd.DataFrame(values, index=answers[0].value.index).set_axis(columns, axis="columns")
        notes = [note for part, answer in zip(self.parts, answers, strict=True) for note in noted(part.call, answer)]
        mechanism = noises(answer.mechanism for answer in answers)
        models = tuple(zip(labels, map(error_of, answers), strict=True))
        return Answer(value, mechanism, Columns(models), tuple(notes))

    def _label(self, part: Part) -> Hashable:
        """Of its column: its name, or that of the column it is about, with its function unless each has one."""
        if part.column is None:
            return part.row
        return part.column if self.single else (part.column, part.row)


@dataclass(frozen=True)
class NoiseAlone:
    """An error of which nothing is known but the noise: the data chose the bounds."""

    error: ErrorModel

    def bounds(self, value: Any, level: float) -> Ends:
        """See `ErrorModel`."""
        return self.error.bounds(value, level)


def error_of(answer: Answer) -> Error:
    """What a table knows of an answer."""
    error = answer.error
    return error if answer.found is None or error is None or isinstance(error, Guarantee) else NoiseAlone(error)


def noted(call: str, answer: Answer) -> list[str]:
    """What an answer says beside its number, with the question that it belongs to."""
    found = answer.found
    notes: list[str] = [] if found is None or any(note.startswith(found) for note in answer.notes) else [found]
    if isinstance(answer.error, Guarantee):
        notes.append(Caution(answer.error.at(LEVEL)))
    notes += answer.notes
    return [type(note)(f"{call}: {note}") if isinstance(note, Caution) else f"{call}: {note}" for note in notes]
