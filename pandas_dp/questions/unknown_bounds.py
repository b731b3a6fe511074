"""Bounds that nobody knows: bought with a share of the price, or open at an end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from pandas_dp.aggregates.base import Aggregate
from pandas_dp.aggregates.moments import Mean, Sum, Variance
from pandas_dp.aggregates.population import MeanOfPopulation
from pandas_dp.aggregates.private_bounds import WIDEST, PrivateBounds
from pandas_dp.aggregates.quantiles import QuantileOf
from pandas_dp.core.lattice import RANK_BITS, SUM_BITS, Lattice
from pandas_dp.core.statistics.lattice_counts import Grid
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts import numbers
from pandas_dp.facts.argument_help import Line
from pandas_dp.facts.as_text import of_text
from pandas_dp.facts.kinds import Kind
from pandas_dp.questions.rows import PreparedFrame
from pandas_dp.questions.unknown_names import refuse_dates
from pandas_dp.release.base import ONE_ROW_EACH, dependent
from pandas_dp.tables import frames

PRIVATE = "private"
FARTHEST_BITS, INTEGER_BITS = 997, 64  # 2**997 > 1e300; dates and durations are 64-bit nanoseconds
FINEST_STEP = Fraction(1, 10**250)


def is_private(bounds: Any) -> bool:
    """Whether bounds are to be bought."""
    return isinstance(bounds, str) and bounds == PRIVATE


def bounded(
    frame: PreparedFrame, name: str, column: str, bounds: Any, bits: int, step: Any = None, held: bool = False
) -> tuple[Kind, Lattice]:
    """Kind and lattice of a column; for private bounds the widest lattice, which `asked` has narrowed."""
    if not is_private(bounds):
        return frame._lattice(name, column, bounds, step, bits, held)
    kind = frame._kind(column)
    if kind.name != "number":
        raise ArgumentTypeError(
            f"bounds='private' works for columns of numbers; here type {name}({column!r}, bounds=(lower, upper))"
            + of_text(kind, column)
        )
    if step is not None:
        raise ArgumentValueError(
            f"step= needs bounds that are known: {name}({column!r}, bounds=(lower, upper), step=...), or leave step= out"
        )
    return kind, Lattice.between(-WIDEST, WIDEST, bits)


def asked(frame: PreparedFrame, question: Sum | Mean | Variance | QuantileOf, bounds: Any, bits: int) -> Aggregate:
    """The question, with a first look for its bounds where they are private; of means and variances whether all rows count."""
    if isinstance(question, Mean | Variance) and question.by is None:
        question = replace(question, full=full(frame, question.column))
    if not is_private(bounds):
        return question
    return PrivateBounds(question, bits, frame._unit(question.column) is not None)


def mean_asked(
    frame: PreparedFrame, question: Callable[..., Mean], column: str, bounds: Any, population: Any
) -> Aggregate:
    """A mean, but of bools with the squares that an interval for the population needs where they are wanted."""
    wanted = numbers.flag(population, "population")
    table = frames.lookup(frame._frame)
    if wanted and table is not None and (owner := table.session.unit.column) is not None:
        line = Line(f"mean({column!r}, bounds=(lower, upper))", (("population", ""),), f"; {ONE_ROW_EACH}")
        raise line.refuse(dependent(owner))
    kind, lattice = bounded(frame, "mean", column, bounds, SUM_BITS)
    if wanted and is_private(bounds):
        raise ArgumentTypeError(
            "an interval for the population goes with public bounds: "
            f"mean({column!r}, bounds=(lower, upper), population=True), or leave population= out"
        )
    found = asked(frame, question(column, lattice, kind), bounds, SUM_BITS)
    return MeanOfPopulation(found) if wanted and kind.name != "bool" and isinstance(found, Mean) else found


def full(frame: PreparedFrame, column: str) -> bool:
    """Whether the schema has a constant for missing values, so that each row holds one; a dtype follows from the rows."""
    table = frames.lookup(frame._frame)
    return table is not None and table.scan is None and column in dict(frame._of(table).schema.null_rules)


def open_ended(bounds: Any) -> bool:
    """Whether an end of a pair of bounds is None."""
    return isinstance(bounds, Sequence) and len(bounds) == 2 and any(end is None for end in bounds)


def rank_lattice(frame: PreparedFrame, name: str, column: str, bounds: Any, step: Any) -> tuple[Kind, Lattice | Grid]:
    """Kind of a column and candidates of its quantiles: a lattice between two ends, a grid where one is open."""
    facts = frame._facts(column)
    given = facts.bounds if bounds is None else bounds
    if open_ended(given):
        return frame._kind(column), grid(frame, name, column, given, facts.step if step is None else step)
    return bounded(frame, name, column, bounds, RANK_BITS, step, held=True)


def square_lattice(frame: PreparedFrame, name: str, column: str, bounds: Any, ddof: Any) -> tuple[Kind, Lattice]:
    """Kind and lattice of a column whose squares are added up."""
    if isinstance(ddof, bool) or ddof not in (0, 1):
        raise ArgumentValueError("ddof must be 0 or 1")
    kind, lattice = bounded(frame, name, column, bounds, SUM_BITS)
    refuse_dates(kind, name, column, durations=True)
    if lattice.width > 10**150:
        raise ArgumentValueError(f"bounds of {name}() may be at most 1e150 apart, for its square to fit into a float")
    return kind, lattice


def grid(frame: PreparedFrame, name: str, column: str, bounds: Any, step: Any) -> Grid:
    """Candidates from the known end (or 0) to as far as numbers of the column's dtype go."""
    kind, (lower, upper) = frame._kind(column), bounds
    if not kind.numeric:
        holds = f"{column!r} holds text or objects{of_text(kind, column)}"
        raise ArgumentTypeError(f"{name}() needs a column of numbers or dates; {holds}")
    if kind.name == "datetime" and lower is None and upper is None:
        raise ArgumentTypeError(f"give at least one bound: {name}({column!r}, bounds=('2026-01-01', None))")
    dated = kind.name in ("datetime", "timedelta")
    start = next((kind.number(end, "bounds") for end in bounds if end is not None), Fraction(0))
    wanted = step if step is not None else ("1 s" if dated else Fraction(1, 100))
    exact = (Kind("timedelta") if dated else Kind("number")).number(wanted, "step")
    bits = INTEGER_BITS if dated or frame._unit(column) is not None else FARTHEST_BITS
    if not FINEST_STEP <= exact <= 2 ** (bits - 10):
        small = "'1 min'" if dated else "1"
        raise ArgumentValueError(f"step must be positive and small: {name}({column!r}, bounds=..., step={small})")
    return Grid(start, exact, below=lower is None, above=upper is None, bits=bits)
