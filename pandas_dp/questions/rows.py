"""A priced frame and its row-wise steps: which rows a question asks, not yet what; and a question taken as far as its price."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

import pandas as pd

from pandas_dp.aggregates.asked import AskedQuery
from pandas_dp.aggregates.base import Aggregate, Caution
from pandas_dp.aggregates.told import price_for
from pandas_dp.core.filters import ZCDPFilter
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import Price
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, closest, told
from pandas_dp.facts import checks
from pandas_dp.facts.argument_help import Line, explain, letting_go, uncopied
from pandas_dp.facts.as_text import TYPED, of_text, step_that_makes
from pandas_dp.facts.call import LEFT_OUT, Call, listing
from pandas_dp.facts.kinds import IDENTIFIER, Kind, kind_of, kind_or_none, unit_of, without_rows
from pandas_dp.facts.labels import Labels
from pandas_dp.facts.numbers import Accuracy, unrounded
from pandas_dp.facts.public_only import PERIODS
from pandas_dp.facts.schema import ColumnFacts, unit_said
from pandas_dp.questions.known_facts import Known, Unprotected
from pandas_dp.questions.lacking import bounds_together, lacking, unknown
from pandas_dp.questions.made_columns import line_of
from pandas_dp.questions.plain_prices import plainly
from pandas_dp.questions.preview_request import Ahead
from pandas_dp.session.registry import table_of
from pandas_dp.steps.changes import Step, applied
from pandas_dp.steps.steps import RowSteps
from pandas_dp.tables import frames
from pandas_dp.tables.protected import Table, kinds_of

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame  # completion takes `Self` for the class where it is written


@explain
class PreparedFrame(RowSteps["PricedFrame"]):
    """A protected frame, the steps that were asked for, and the price of one question about the rows they give."""

    __slots__ = ("_ahead", "_call", "_frame", "_fresh", "_groups", "_known", "_made", "_notes", "_price", "_steps")
    _before = ""  # what stands before the call of a question

    def __init_subclass__(cls) -> None:
        """Every class of questions says what to type where arguments do not fit, and takes public ones alone."""
        explain(cls, public=True)

    def __init__(
        self,
        frame: pd.DataFrame,
        price: Price | Accuracy,
        fresh: bool,
        groups: int | None = None,
        ahead: Ahead | None = None,
    ) -> None:
        self._frame, self._price, self._fresh, self._groups = frame, price, fresh, groups
        self._ahead = ahead  # where queries are only previewed
        self._steps: tuple[Step, ...] = ()
        # for what names and dtypes steps and groups were made
        self._made: tuple[tuple[pd.DataFrame, frozenset[str]], ...] = ()
        self._known: Known | None = None
        self._notes: tuple[str, ...] = ()  # what answers say of how they were asked
        self._call: Any = None  # the question that is put just now, see `explain`

    __reduce__ = uncopied

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what can be asked, for a name of pandas that cannot."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise AttributeError(unknown(self, name, line_of))

    def __len__(self) -> int:
        """Say how rows are counted."""
        raise ArgumentTypeError("len() would tell the exact number of rows; ask it: .count()")

    @letting_go
    def _shown(self, *args: Any, **options: Any) -> NoReturn:
        """Say that no row is handed out, to loops and to functions of pandas and NumPy."""
        raise ArgumentTypeError(
            "a priced frame shows no rows: ask about them, as in .count(); df.columns tells the columns"
        )

    __iter__ = __array__ = __array_ufunc__ = _shown

    def _with(self, **changed: Any) -> Self:
        """The same but for some of what it holds."""
        made = object.__new__(type(self))
        for name, held in (*zip(PreparedFrame.__slots__, HELD(self), strict=True), *changed.items()):
            setattr(made, name, held)
        made._call = None
        return made

    def _then(self, more: tuple[Step, ...]) -> PricedFrame:
        if (table := frames.lookup(self._frame)) is not None:
            table.check_steps(more)
        read = frozenset[str]().union(*(step.reads for step in more))
        return cast("PricedFrame", self._with(_steps=self._steps + more, _made=self._made_for(read)))

    def _made_for(self, columns: Iterable[str]) -> tuple[tuple[pd.DataFrame, frozenset[str]], ...]:
        """What `_made` is after steps or groups of some columns."""
        table = frames.lookup(self._frame)
        return *self._made, (without_rows(self._frame) if table is None else table.empty, frozenset(columns))

    def _empty(self) -> pd.DataFrame:
        """Names and dtypes after the steps so far, of the rows as they were protected: none is read."""
        table = frames.lookup(self._frame)
        if table is not None:
            return self._of(table).empty
        return applied(self._steps, without_rows(self._frame).reset_index(drop=True))

    def _ipython_key_completions_(self) -> list[str]:
        """Names of columns, which notebooks offer behind a bracket."""
        return [name for name in self._empty() if isinstance(name, str)]

    def _examples(self) -> tuple[list[str], list[str]]:
        """Columns of numbers and others, to name in a line to type: those last that look like identifiers."""
        kinds = {name: kind_or_none(dtype) for name, dtype in self._empty().dtypes.items() if isinstance(name, str)}
        names = sorted(kinds, key=lambda name: re.fullmatch(IDENTIFIER, name) is not None)
        numeric = [name for name in names if (kind := kinds[name]) is not None and kind.name == "number"]
        return numeric, [name for name in names if name not in numeric]

    def _full(self) -> str:
        """A column that has a value in each row that counts; no text if none is known."""
        table = frames.lookup(self._frame)
        unit = "" if table is None else table.session.unit.column or ""
        return "" if any(unit in step.touches for step in self._steps) else unit

    def _lacks(self, parameters: Iterable[str], values: Mapping[str, Any]) -> dict[str, str]:
        """What a call needs beside what was refused; see `lacking`."""
        return lacking(self, parameters, values)

    def _bounds_line(self, call: str, columns: Iterable[Any], given: Any) -> Line:
        """What to type of several columns of which some have no bounds: those, and the pairs, or the one, that were typed."""
        typed = bounds_together(self, [name for name in columns if isinstance(name, str)], given)
        return Line(f"{call}(..., bounds={typed})", (("bounds", typed),))

    def _of(self, table: Table) -> Known:
        """What is public after the steps so far, computed from what it was before the last of them.

        It is of the table that the frame stands for now: others may have taken its place since, or other facts.
        """
        known = self._known
        if known is None or known.table() is not table or known.given is not table.schema:
            known = Known(weakref.ref(table), table.schema, 0, table.empty, table.schema)
        if more := self._steps[known.steps :]:
            empty, schema = applied(more, known.empty), known.schema.after(more)
            known = known._replace(steps=len(self._steps), empty=empty, schema=schema)
        self._known = known
        return known

    def _late(self, name: object) -> str | None:
        """See `frames.late`."""
        return frames.late(self._frame, name)

    def _lacks_late(self, column: str) -> tuple[tuple[str, str], ...]:
        """What a question about a column will lack that the session will know then."""
        kind, takes = kind_or_none(self._frame[column].dtype), () if self._call is None else self._call[1]
        name = "" if kind is None or kind.name == "bool" else kind.name
        argument = "bounds" if "by" not in takes and name != "key" else "bins" if name == "datetime" else "keys"
        typed = {"bounds": "(lower, upper)", "bins": PERIODS, "keys": checks.KEYS.get(name, "")}[argument]
        lacks = name and argument in takes and self._call[0].options.get(argument) is None
        return ((argument, typed),) if lacks else ()

    def _kind(self, column: str) -> Kind:
        dtype = self._dtype(column)
        if not isinstance(dtype, pd.ArrowDtype):
            return kind_of(dtype)
        counted = f"; .count({column!r}) counts its values, .filter(lambda d: d[{column!r}].notna()) keeps their rows"
        with told(behind=counted):
            return kind_of(dtype)

    def _dtype(self, column: str) -> Any:
        if not isinstance(column, str):
            raise ArgumentTypeError(
                "give the column name first, as text, such as .mean('cost', bounds=(0, 100)), "
                "several with .agg({'cost': 'mean', 'age': 'mean'}, bounds={...}); where names are numbers, rename the "
                "columns first: df.columns = df.columns.astype('str'), then df.dp.protect(...)"
            )
        table = frames.lookup(self._frame)
        frame = self._empty() if table is None else self._of(table).empty
        names = frame.columns
        if table is None or self._steps:  # else that was checked before
            frames.check_names(names)
        if column not in names and column in self._frame.index.names:
            raise ArgumentValueError(
                f"{column!r} is a level of the index, not a column: df = df.reset_index() before df.dp.protect(...)"
            )
        if column not in names:
            close = closest(column, names)
            known = f"no column named {column!r}"[:200] + (f"; did you mean {close!r}?" if close else "")
            late = self._late(column)
            error = ArgumentValueError(late or known)
            error._slip = (column, close) if close and not late else None
            if late and (needs := self._lacks_late(column)):
                error._needs = f"{late}, and then", needs, ""
            raise error
        # taken out of a frame again and again it would cost more than many queries
        return (frame[column] if table is None or self._steps else table.column(column)).dtype

    def _facts(self, column: str) -> ColumnFacts:
        if not isinstance(column, str):
            self._kind(column)  # which says so
        if frames.lookup(self._frame) is None:
            return cast("ColumnFacts", Unprotected(self, column))
        return self._of(table_of(self._frame)).schema[column]

    def _unit(self, column: str) -> Fraction | None:
        """What all values of a column are multiples of, where the schema names its dtype or it has one with missing values."""
        said = None if any(column in step.touches for step in self._steps) else self._facts(column).dtype
        return unit_of(self._dtype(column)) if said is None else unit_said(said)

    def _check_kept(self, table: Table) -> None:
        """Refuse what was made for columns of other kinds, before the frame was changed and protected anew."""
        for empty, columns in self._made:
            if empty is table.empty:
                continue
            before, now = kinds_of(empty), kinds_of(table.empty)
            for name in sorted(columns):
                if before.get(name) != now.get(name):
                    raise ArgumentTypeError(
                        f"column {name!r} is {now.get(name, 'gone')} now, and was {before.get(name, 'not there')} when this "
                        "was begun, so nothing was charged: type it again from df.dp(epsilon=...) on"
                    )
            self._of(table)  # what steps refuse of these dtypes

    def _filled(self, names: Sequence[str]) -> PreparedFrame:
        """The rows with the schema's constants in place of missing values: blocks hand out cells, not what counts as theirs."""
        table = table_of(self._frame)
        rules = dict(self._of(table).schema.null_rules)
        rules.pop(table.session.unit.column or "", None)  # a row whose unit is missing does not count in any case
        known = {name: constant for name, constant in rules.items() if name in names}
        return self.fillna(known) if known else self

    def _lattice(
        self, name: str, column: str, bounds: Any, step: Any, bits: int, held: bool = False
    ) -> tuple[Kind, Lattice]:
        """Kind and lattice of a column of numbers or dates; of values that it can hold where they are `held`."""
        kind = self._kind(column)
        if not kind.numeric:
            share = f"; the share of one text: {TYPED}{step_that_makes(column, ' == ' + repr('A'))}" * (
                name == "mean" and bounds is None
            )
            raise ArgumentTypeError(
                f"{name}() needs a column of numbers or dates; {column!r} holds text or objects, which are counted: "
                f"value_counts({column!r}, keys={checks.KEYS['key']}){share}{of_text(kind, column, bounds, either=True)}"
            )
        unit = self._unit(column) if held else None
        return kind, checks.lattice(bounds, step, bits, kind, self._facts(column), name, column, unit=unit)

    def _from_schema(self, columns: Sequence[str], *given: Any) -> Self:
        """The same, whose answers say which keys the schema stands in for: `given` are the keys and bins of the call.

        Beside a delta that is a caution: it could have found keys.
        """
        left = list(columns)
        for each in given:
            named = each if isinstance(each, Mapping) else dict.fromkeys(columns, each)
            left = [name for name in left if named.get(name) is None]
        taken = {name: keys for name in left if (keys := self._facts(name).keys) is not None}
        notes = [f"keys of {name!r} taken from the schema or a step: {listing(keys)}" for name, keys in taken.items()]
        if self._price.delta:
            finding = "; none were discovered; unique({!r}) finds common ones"
            notes = [Caution(note + finding.format(name)) for name, note in zip(taken, notes, strict=True)]
        return self._with(_notes=tuple(notes), _made=self._made_for(columns))

    def _noting(self, notes: tuple[str, ...]) -> Self:
        """The same, whose answers say this too."""
        return self._with(_notes=(*self._notes, *notes)) if notes else self

    def _keys(
        self, name: str, column: str, keys: Any, other: bool, null: bool, line: Line | None = None
    ) -> tuple[Keys, Labels]:
        """Public keys of a column; see `checks.keys`."""
        kind = self._kind(column)
        if checks.periods(keys) and isinstance(self._empty()[column].dtype, pd.StringDtype):
            raise ArgumentTypeError(f"no text is a period{of_text(kind, column, keys)}")
        parts, labels = checks.keys(keys, other, null, kind, self._facts(column), name, column, line)
        # a schema may say integers of a Dask DataFrame's floats
        if kind.name == "number" and (self._unit(column) is None or self._dtype(column) == "float64"):
            unrounded(parts, self._dtype(column))
        return parts, labels

    def _text(self, **resolved: Any) -> str:
        """The call that was typed, for the books, with arguments as they were resolved."""
        call, parameters = self._call
        return str(call.text(parameters, self._bounds_of(call, parameters) | resolved))

    def _bounds_of(self, call: Call, parameters: Mapping[str, Any], column: str | None = None) -> dict[str, Any]:
        """Bounds of a question about one column, as they were resolved."""
        given = dict(zip(parameters, call.args, strict=False)) | call.options
        column = given.get("column") if column is None else column
        return {"bounds": self._bounds(column, given.get("bounds"))} if column and "bounds" in parameters else {}

    def _bounds(self, columns: str | Sequence[str], given: Any) -> Any:
        """Bounds for the books: those that were typed, or what the schema or a step says; `LEFT_OUT` where there are none."""
        if isinstance(columns, str):
            known = self._facts(columns).bounds if given is None else given
            return LEFT_OUT if known is None else known
        typed = given or {}
        found = {name: self._bounds(name, typed.get(name)) for name in (*typed, *columns)}
        return {name: known for name, known in found.items() if known is not LEFT_OUT} or LEFT_OUT

    def _ask(self, call: str, aggregate: Aggregate, columns: tuple[str, ...], own: int = 0) -> Any:
        table, price = table_of(self._frame), self._price
        self._check_kept(table)
        with plainly(table, price, aggregate, self._steps, self._groups):
            if isinstance(price, Accuracy):
                terms = table.terms(self._steps, Price(), table.counted(self._groups, table.session.unit))
                asked = str(AskedQuery(call, aggregate, self._steps, Price(), own=own))
                price = price_for(aggregate, price, terms, isinstance(table.session._rule, ZCDPFilter), asked)
            query = AskedQuery(call, aggregate, self._steps, price, self._notes, self._groups, own)
            if self._ahead is not None:
                return self._ahead(table, query, columns, self._fresh)
            return table.session._ask(query, table, columns, self._fresh)


HELD = attrgetter(*PreparedFrame.__slots__)  # all that one holds, in this order
