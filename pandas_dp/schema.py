"""Public facts by column: bounds, keys, steps and what a missing value counts as."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.changes import Clip, FillNA, Rename, Step

FIELDS = ("bounds", "keys", "step", "nulls")


@dataclass(frozen=True)
class ColumnFacts:
    """What is publicly known of one column; None where nothing is said."""

    bounds: tuple[Any, Any] | None = None
    keys: tuple[Any, ...] | None = None
    step: Any = None
    nulls: Any = "drop"


class Schema:
    """Public facts by column, so that calls stay short.

    Parameters
    ----------
    columns : mapping
        ``{"cost": {"bounds": (0, 20_000)}, "ward": {"keys": ["A", "B"]}}``. Each column takes ``bounds`` (lower, upper),
        ``keys`` (listed values), ``step`` (distance of possible values, for medians) and ``nulls`` (``"drop"``,
        the default, or a public constant that a missing value counts as).

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        For unknown fields or shapes.

    Notes
    -----
    These facts must come from outside the data: a codebook, a questionnaire, common knowledge.

    Examples
    --------
    >>> Schema({"age": {"bounds": (0, 120)}})
    Schema({'age': {'bounds': (0, 120)}})
    """

    def __init__(self, columns: Mapping[str, Mapping[str, Any]]) -> None:
        if not isinstance(columns, Mapping):
            raise ArgumentTypeError("schema must be a dict such as {'age': {'bounds': (0, 120)}}")
        self._columns: dict[str, ColumnFacts] = {}
        for name, facts in columns.items():
            if not isinstance(facts, Mapping):
                raise ArgumentTypeError("each column of a schema takes a dict such as {'bounds': (0, 120)}")
            unknown = [field for field in facts if field not in FIELDS]
            if unknown:
                raise ArgumentValueError(f"schema knows {', '.join(FIELDS)}, not {unknown[0]!r}")
            self._columns[name] = _facts(facts)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file with one table a column.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        Schema
        """
        with open(path, "rb") as file:
            return cls(tomllib.load(file))

    @classmethod
    def of(cls, schema: Schema | Mapping[str, Mapping[str, Any]] | None) -> Schema:
        """Return a schema from what ``protect`` accepts."""
        return schema if isinstance(schema, Schema) else cls(schema or {})

    def __getitem__(self, column: str) -> ColumnFacts:
        """Facts of a column, empty ones for an unlisted column."""
        return self._columns.get(column, ColumnFacts())

    def after(self, steps: Iterable[Step]) -> Schema:
        """Facts of the columns that steps give: those of a column follow it to its new name, and steps make others known.

        A column of labels, mapped values or parts of dates has them for keys, and numbers among them for bounds. What was
        said of a column that a step replaces is not said of the new one.
        """
        columns = dict(self._columns)
        for step in steps:
            columns = _after(step, columns)
        schema = Schema({})
        schema._columns = columns
        return schema

    @property
    def null_rules(self) -> tuple[tuple[str, Any], ...]:
        """Columns whose missing values count as a constant, and the constants: they decide what a question means."""
        rules = ((name, facts.nulls) for name, facts in self._columns.items())
        return tuple(sorted((name, rule) for name, rule in rules if not (isinstance(rule, str) and rule == "drop")))

    def __iter__(self) -> Any:
        """Iterate over the listed columns."""
        return iter(self._columns)

    def __eq__(self, other: object) -> bool:
        """Equal facts."""
        return isinstance(other, Schema) and self._columns == other._columns

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the facts as they can be typed."""
        shown = {
            name: {f: getattr(facts, f) for f in FIELDS if getattr(facts, f) not in (None, "drop")}
            for name, facts in self._columns.items()
        }
        return f"Schema({shown})"


def _facts(facts: Mapping[str, Any]) -> ColumnFacts:
    given = dict(facts)
    for field in ("bounds", "keys"):
        if given.get(field) is not None:
            if isinstance(given[field], str) or not hasattr(given[field], "__iter__"):
                raise ArgumentTypeError(f"{field} in a schema must be a list")
            given[field] = tuple(given[field])
    return ColumnFacts(**given)


def _after(step: Step, columns: dict[str, ColumnFacts]) -> dict[str, ColumnFacts]:
    """Facts by column after one step; ``columns`` are those before it."""
    kept = {name: facts for name, facts in columns.items() if name not in step.touches}
    if isinstance(step, Rename):
        return kept | {new: columns[old] for old, new in step.names if old in columns}
    if isinstance(step, Clip):  # the ends may be new values
        return kept | {name: replace(columns[name], keys=None) for name in step.columns if name in columns}
    if isinstance(step, FillNA):
        return kept | {name: _filled(columns[name], value.value) for name, value in step.values if name in columns}
    return kept | {name: _listed(values) for name, values in step.known.items()}


def _filled(facts: ColumnFacts, value: Any) -> ColumnFacts:
    """Facts of a column whose missing cells became a value: one key more, where it is written as the others are."""
    if facts.keys is None or value in facts.keys:
        return facts
    alike = all(isinstance(key, str) == isinstance(value, str) for key in facts.keys)
    return replace(facts, keys=(*facts.keys, value) if alike else None)


def _listed(values: tuple[Any, ...]) -> ColumnFacts:
    """Facts of a column that holds these values and no others."""
    ends = None
    numbers = all(not isinstance(value, str) and math.isfinite(value) for value in values)
    if numbers and min(values) < max(values):
        ends = (min(values), max(values))
    return ColumnFacts(bounds=ends, keys=values)
