"""Several answers for one price: composed of the looks of the single questions, each at a public share."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Aggregate, Answer, Caution, Guarantee, Steps, Terms, once
from pandas_dp.core.privacy import PrivacyLoss
from pandas_dp.uncertainty import Ends, ErrorModel

LEVEL = 0.95  # of the guarantees that notes speak of
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
        lower, upper = (pd.Series([pair[side] for pair in ends], index=value.index, name=value.name) for side in (0, 1))
        return lower, upper


@dataclass(frozen=True)
class Several(Aggregate):
    """Questions asked one after the other at their shares of the price, which add up to 1, and answered in one table.

    Notes
    -----
    Every question is what it is alone, at a smaller price: what all of them lose is the sum of their losses, which is declared
    before the first one is asked (sequential composition). With Gaussian prices epsilon, delta and rho are shared alike.

    Parameters
    ----------
    parts : tuple of Part
        Their shares add up to 1.
    single : bool
        Whether the answer is a Series by column instead of a table.
    """

    parts: tuple[Part, ...]
    single: bool = False

    @once
    def terms_of(self, terms: Terms) -> tuple[Terms, ...]:
        """The terms of each part."""
        return tuple(replace(terms, price=terms.price.share(part.share)) for part in self.parts)

    def check(self, terms: Terms) -> None:
        """Refuse what a part refuses."""
        for part, own in zip(self.parts, self.terms_of(terms), strict=True):
            part.question.check(own)

    def loss(self, terms: Terms) -> PrivacyLoss:
        """Sum over the parts."""
        total = PrivacyLoss()
        for part, own in zip(self.parts, self.terms_of(terms), strict=True):
            total += part.question.loss(own)
        return total

    def steps(self, terms: Terms) -> Steps:
        """Ask part after part."""
        answers = []
        for part, own in zip(self.parts, self.terms_of(terms), strict=True):
            answers.append((yield from part.question.steps(own)))
        return self._together(answers)

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
                models.append((part.row, part.column, answer.error))
            notes += noted(part.call, answer)
        value: Any
        if self.single:
            value = pd.Series({name: next(iter(column.values())) for name, column in cells.items()})
        else:
            values = {
                name: pd.Series([column.get(row, np.nan) for row in rows], index=list(rows))
                for name, column in cells.items()
            }
            value = pd.DataFrame(values)
        mechanism = ", ".join(dict.fromkeys(answer.mechanism for answer in answers))
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

    def _together(self, answers: list[Answer]) -> Answer:
        labels = [self._label(part) for part in self.parts]
        values = {place: answer.value for place, answer in enumerate(answers)}
        columns = pd.Index(labels, dtype=object, tupleize_cols=not self.single)  # pairs make two levels, as in pandas
        value = pd.DataFrame(values, index=answers[0].value.index).set_axis(columns, axis="columns")
        notes = [note for part, answer in zip(self.parts, answers, strict=True) for note in noted(part.call, answer)]
        mechanism = ", ".join(dict.fromkeys(answer.mechanism for answer in answers))
        models = tuple(zip(labels, (answer.error for answer in answers), strict=True))
        return Answer(value, mechanism, Columns(models), tuple(notes))

    def _label(self, part: Part) -> Hashable:
        """Of its column: its name, or that of the column it is about, with its function unless each has one."""
        if part.column is None:
            return part.row
        return part.column if self.single else (part.column, part.row)


def noted(call: str, answer: Answer) -> list[str]:
    """What an answer says beside its number, with the question that it belongs to."""
    notes: list[str] = [answer.found] if answer.found is not None else []
    if isinstance(answer.error, Guarantee):
        notes.append(str(answer.error.at(LEVEL)))
    notes += answer.notes
    return [type(note)(f"{call}: {note}") if isinstance(note, Caution) else f"{call}: {note}" for note in notes]
