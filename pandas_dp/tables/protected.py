"""A protected table: its rows as they were protected, and what a query may read of them.

Which DataFrame object stands for which table is told in `tables`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from html import escape
from typing import TYPE_CHECKING, Any
from weakref import ref

import pandas as pd

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Terms
from pandas_dp.core import gate
from pandas_dp.core.measurement import AddsUp, ByClass, Measurement
from pandas_dp.core.privacy import Price, PrivacyUnit
from pandas_dp.engines.pandas import PandasView
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.kinds import kind_of, kind_or_none, without_rows
from pandas_dp.facts.periods import EXAMPLES, Periods
from pandas_dp.facts.public_only import mark_of
from pandas_dp.facts.schema import Schema
from pandas_dp.facts.written import caution
from pandas_dp.steps.changes import applied, check_units
from pandas_dp.steps.periods import InPeriods

if TYPE_CHECKING:
    from pandas_dp.session.session import Session
    from pandas_dp.tables.parquet import Source

A_ROW = 50  # bytes of each column, with the copies that are made while a question is worked out; text takes its letters beside
GATHERS = (
    "this question needs all rows at once: unless its answer is stored, {whence} into this process, about {size} bytes "
    "for each row, and more with long text. Whether that fits depends on the number of rows; questions that are worked out "
    "part by part, such as counts, sums, means and quantiles, always fit."
)
DERIVED = " step"  # ends the mark of a frame that steps made


def marks_of(frame: pd.DataFrame) -> list[str]:
    """Ids of the sessions of whose tables a frame bears the mark: several, if it was read from files that pandas wrote."""
    return [mark for mark in (mark_of(frame) or "").split() if mark != DERIVED.strip()]


@dataclass(eq=False)
class Table:
    """One protected table.

    Attributes
    ----------
    session : Session
    source : DataFrame
        Shallow copy-on-write copy of the frame as it was protected: costs no memory, and later writes are not in it.
    token : str
        Public name under which answers are stored: the owner's table and version, or a random one of this process.
    content : str
        Public name of these very rows, which parts of a partition bear: the owner's table and version, which stand for the
        rows first protected under them, or a random one.
    lineage : str
        ``"source"``, ``"declared"`` (made by a step) or ``"vouched"`` (adopted, or made by pandas from a protected table).
    steps : tuple
        Row-wise steps from the source.
    schema : Schema
    rows_public : bool or int
        What the owner said of the number of rows: that it is public, or which number is; False: it is not shown.
    again : bool
        Whether the object had been protected before: that the number of its rows is public was said of those it had then.
    scan : Source or None
        Where the rows are, if not in `source`, which then has none.
    kinds : dict
        Kinds of the columns as they were protected, before any step.
    notes : tuple of str
        What answers say of how the table came to be protected.
    replaced : str
        If the terms it was protected on were replaced, so that nothing is answered any more: the line that types them anew.
    cache : dict
        Encodings of columns (codes), never sums.
    """

    session: Session
    source: pd.DataFrame = field(repr=False)
    token: str
    content: str
    lineage: str = "source"
    steps: tuple[Any, ...] = ()
    rows_public: bool | int = False
    scan: Source | None = None
    schema: Schema = field(default_factory=lambda: Schema({}))
    kinds: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    replaced: str = ""
    again: bool = False
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)
    _columns: dict[str, pd.Series[Any]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Note the kinds of a table that no step made."""
        self.kinds = self.kinds or kinds_of(self.source)

    def kinds_of(self, columns: Iterable[str]) -> list[tuple[str, str]]:
        """Kinds of those of some columns that were protected, in a fixed order."""
        return sorted((name, self.kinds[name]) for name in columns if name in self.kinds)

    def column(self, name: str) -> pd.Series[Any]:
        """The protected column: taking it out of a frame again and again would cost more than many queries."""
        if name not in self._columns:
            self._columns[name] = self.source[name]
        return self._columns[name]

    @cached_property
    def empty(self) -> pd.DataFrame:
        """Names and dtypes of the columns, without a row."""
        return without_rows(self.source)

    @property
    def public_rows(self) -> int | None:
        """The number of rows before any step, where the owner said that it is public."""
        if self.rows_public is True:
            return None if self.again else len(self.source) if self.scan is None else self.scan.rows
        return self.rows_public or None

    def check(self) -> None:
        """Check that files of a scanned table were not written since.

        Raises
        ------
        UnverifiedFrameError
        """
        if self.scan is not None:
            self.scan.check()

    def check_steps(self, steps: tuple[Any, ...]) -> None:
        """Refuse steps that would change whose row is whose."""
        if any(self.session.unit.column in step.touches for step in steps):
            raise ArgumentValueError(f"steps must leave the unit column {self.session.unit.column!r} as it is")
        periods = self.periods
        if periods is not None and any(periods.time in step.touches for step in steps):
            raise ArgumentValueError(
                f"steps must leave {periods.time!r} as it is: it tells which {periods.word} pays for a row"
            )
        check_units(steps, self.session.unit.column)

    @property
    def periods(self) -> Periods | None:
        """What the period of a row is, where the budget has sums for each."""
        said = self.session.unit.periods
        return None if said is None else Periods.from_text(said)

    @property
    def grows(self) -> bool:
        """Whether `token` says which stored answer comes back, and nothing of the rows that it was drawn from."""
        return self.session.unit.periods is not None and self.token != self.content

    def span(self, steps: tuple[Any, ...]) -> tuple[int, int] | None:
        """The first and the last period whose rows are left after all steps: those that pay a question about them.

        Raises
        ------
        ArgumentValueError
            No step says which periods count, or together they leave none.
        """
        periods = self.periods
        if periods is None:
            return None
        held = [step for step in self.steps + steps if isinstance(step, InPeriods) and step.periods == periods]
        line = f"df.dp.period({EXAMPLES[periods.period]!r})"
        if not held:
            raise ArgumentValueError(f"this budget is per {periods.word}: say which {periods.word}s count: {line}")
        first, last = max(step.first for step in held), min(step.last for step in held)
        if first > last:
            raise ArgumentValueError(
                f"no {periods.word} is left after these steps: choose from the whole table, {line}"
            )
        return first, last

    def terms(self, steps: tuple[Any, ...], price: Price, unit: PrivacyUnit) -> Terms:
        """Public facts for a recipe; under replace-one, where the owner says so, the number of rows of the whole table."""
        changed = any(step.is_filter or step.factor > 1 for step in self.steps + steps)
        public = not unit.add_remove and unit.column is None and not changed
        given = self.public_rows if public else None
        return Terms(unit, price, self.session._rule.budget.pure, given, given is not None and self.rows_public is True)

    def counted(self, groups: int | None, unit: PrivacyUnit) -> PrivacyUnit:
        """What counts of a unit in one question: it may ask for fewer groups than its budget allows."""
        if groups is None:
            return unit
        if unit.column is None:
            raise ArgumentTypeError(
                "max_groups= needs units of several rows: df.dp.protect(epsilon=3, unit='patient_id', max_rows=10)"
            )
        if groups > unit.groups:
            raise ArgumentValueError(
                f"max_groups of one question may be at most that of its budget: max_groups={unit.groups}"
            )
        return replace(unit, groups=groups)

    def request(self, query: AskedQuery, columns: Iterable[str], fresh: bool) -> gate.Request:
        """Write a query about the rows as they were protected as the gate takes it."""
        session = self.session
        session._open()
        whole = session.unit  # read once: should another thread replace it from here on, the ledger refuses the charge
        unit = self.counted(query.groups, whole)
        steps = self.steps + query.steps
        self.check_steps(steps)
        periods = self.span(query.steps)
        read = {*columns, *(c for step in query.steps for c in step.reads), *filter(None, [unit.column])}
        read |= set() if self.periods is None else {self.periods.time}
        self.check()
        terms = self.terms(query.steps, query.price, unit)
        query.aggregate.check(terms)
        loss = query.aggregate.loss(terms)
        # a file that is read as text is other content than the same file read as numbers
        kinds = self.kinds_of(read | {c for step in self.steps for c in step.reads})
        schema = self.schema.after(query.steps)  # once, so that key and rows agree where another thread gives another
        content = self.token, schema.null_rules, kinds
        # where a public number of rows decides how many blocks there are, integers of other blocks are read in another way
        known = query.aggregate.by_rows and terms.public_rows is not None
        drawn = (terms.public_rows, *(() if terms.counted else ("typed",))) if known else ()
        groups = "" if query.groups is None else f", max_groups={query.groups}"
        held = ref(self)  # so that a table that is let go of goes, though its answers are remembered
        drawn += query.aggregate.drawn(terms)
        return gate.Request(
            ledger=session._ledger,
            name=session.name,
            rule=session._rule,
            key=None if not loss.parts else query.key(repr(content + drawn), unit, steps),
            query=str(replace(query, steps=steps) if self.steps else query),
            price=str(query.price) + groups if loss.parts else "nothing",
            loss=loss,
            unit=unit,
            whole=whole,
            recipe=lambda: query.aggregate.steps(terms),
            view=lambda: open_view(held(), query.steps, schema, frozenset(read), unit.column),  # type: ignore[arg-type]
            fresh=fresh,
            periods=periods,
        )


def kinds_of(frame: pd.DataFrame) -> dict[str, str]:
    """What each column is, never its dtype: one missing value makes int64 float64, and text of one length object."""
    return {str(name): _kind(dtype) for name, dtype in frame.dtypes.items()}


def _kind(dtype: Any) -> str:
    kind = kind_or_none(dtype)
    if kind is None:
        return "other"
    if kind.name == "key":
        return "category" if isinstance(dtype, pd.CategoricalDtype) else "text"
    return "instant" if kind.tz is not None else kind.name


class ProtectedFrame(pd.DataFrame):
    """Rows that steps made of a protected table: printed without them. What pandas makes of it is a plain frame.

    Nor does pandas give back the very object because of its rows, which would be answered where another one is refused:
    ``groupby(...).sample`` does where there is no row, ``clip`` where a column of bounds has no value.
    """

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    def groupby(self, *args: Any, **kwargs: Any) -> Any:
        """Group a copy."""
        return self.copy(deep=False).groupby(*args, **kwargs)

    def clip(self, *args: Any, **kwargs: Any) -> Any:
        """Give a copy where nothing is clipped."""
        made = super().clip(*args, **kwargs)
        return made.copy(deep=False) if made is self else made

    def __repr__(self) -> str:
        """Name the columns; nothing is said of the rows."""
        columns = f"{len(self.columns):,} column{'' if len(self.columns) == 1 else 's'}"
        exact = "pandas' own methods give exact, unprotected results"
        return f"<protected, {columns}, rows not shown: ask .dp, such as .dp(epsilon=0.5).count(); {exact}>"

    def _repr_html_(self) -> str:
        return escape(repr(self))

    def _repr_latex_(self) -> None:
        """Nothing: a notebook would show the rows."""

    def _repr_data_resource_(self) -> None:
        """Nothing: a notebook would show the rows."""


def _exact(name: str) -> Any:
    """A method of pandas, which says where a question is asked if it is given a price or bounds."""
    method = getattr(pd.DataFrame, name)

    @wraps(method)
    def told(self: ProtectedFrame, *args: Any, **kwargs: Any) -> Any:
        if not _PRICED.isdisjoint(kwargs):
            raise ArgumentTypeError(f"pandas' own {name}() takes no such argument: ask .dp(epsilon=0.5).{name}(...)")
        return method(self, *args, **kwargs)

    return told


_PRICED = {"epsilon", "delta", "rho", "bounds", "keys"}
for _name in (
    "count",
    "sum",
    "mean",
    "median",
    "std",
    "var",
    "min",
    "max",
    "quantile",
    "nunique",
    "describe",
    "value_counts",
):
    setattr(ProtectedFrame, _name, _exact(_name))


def open_view(
    table: Table, steps: tuple[Any, ...], schema: Schema, read: frozenset[str], unit: str | None = None
) -> PandasView:
    """Prepared rows of a table, of a scanned one with the columns that a query reads; only the gate calls this.

    Missing values count as the schema after the steps says, the very one that the price and the key were made for.
    """
    prepared = applied(steps, table.source)
    nulls = nulls_of(schema, prepared)
    if table.scan is not None:
        return table.scan.after(steps).view(read, nulls, unit)
    return PandasView(prepared, {} if steps else table.cache, nulls)


def nulls_of(schema: Schema, frame: pd.DataFrame) -> dict[str, int | float]:
    """Public constants that missing values count as, in raw units, by column."""
    constants = {}
    for column in schema:
        rule = schema[column].nulls
        if column in frame.columns and not (isinstance(rule, str) and rule == "drop"):
            exact = kind_of(frame[column].dtype).number(rule, "nulls")
            constants[column] = int(exact) if exact.denominator == 1 else float(exact)
    return constants


def caution_of(request: gate.Request, table: Table, columns: tuple[str, ...]) -> None:
    """Warn where a question on files or partitions will hold all of their rows; what is said follows from public facts."""
    look = None if table.scan is None else next(request.recipe(), None)
    if not isinstance(look, Measurement) or by_parts(look.statistic, request.unit):
        return
    read = dict.fromkeys([*columns, request.unit.column] if request.unit.column is not None else columns)
    names = ", ".join(map(repr, read))
    columns_come = f"the column{'s' * (len(read) > 1)} {names} of all rows {'is' if len(read) == 1 else 'are'} loaded"
    whence = columns_come if read else "they are all loaded"
    caution(GATHERS.format(whence=whence, size=A_ROW * max(len(read), 1)))


def by_parts(statistic: Any, unit: PrivacyUnit) -> bool:
    """Whether a statistic, or the one that it is made of, is worked out part by part; see `computed`."""
    from pandas_dp.core.statistics.blocks import (  # here, so that importing the package costs little
        BlockMeans,
        BlockTotals,
    )

    made_of = [statistic, *(vars(statistic).values() if hasattr(statistic, "__dict__") else ())]
    made_of = [BlockTotals(one) if isinstance(one, BlockMeans) else one for one in made_of]
    return any(
        (isinstance(one, AddsUp) and one.adds_up(unit)) or (isinstance(one, ByClass) and unit.column is None)
        for one in made_of
    )
