"""A priced frame and its row-wise steps: which rows a question asks, not yet what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from pandas_dp import arguments, tables
from pandas_dp.aggregates.base import Accuracy, Aggregate, Caution
from pandas_dp.aggregates.count import Labels
from pandas_dp.asked import AskedQuery
from pandas_dp.calls import explain, uncopied
from pandas_dp.core.lattice import Lattice
from pandas_dp.core.partition import Keys
from pandas_dp.core.privacy import Price
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.kinds import Kind, kind_of
from pandas_dp.opening import table_of
from pandas_dp.priced.text import listing, missing_question
from pandas_dp.recognised import check_public
from pandas_dp.release import Release
from pandas_dp.schema import ColumnFacts
from pandas_dp.steps import steps

if TYPE_CHECKING:
    from pandas_dp.priced.ahead import Ahead


@explain
class PreparedFrame:
    """A protected frame, the steps that were asked for, and the price of one question about the rows they give."""

    __slots__ = ("_ahead", "_frame", "_fresh", "_notes", "_price", "_steps")

    def __init_subclass__(cls) -> None:
        """Every class of questions says what to type where arguments do not fit, and takes public ones alone."""
        explain(cls, public=True)

    def __init__(
        self,
        frame: pd.DataFrame,
        price: Price | Accuracy,
        fresh: bool,
        done: tuple[Any, ...] = (),
        ahead: Ahead | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._frame, self._price, self._fresh, self._steps = frame, price, fresh, done
        self._ahead = ahead  # where queries are only previewed
        self._notes = notes  # what answers say of how they were asked

    __reduce__ = uncopied

    def query(self, expr: str) -> Self:
        """Keep rows for which an expression is true; see ``df.dp.query``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced query example")
        >>> print(df.dp(epsilon=0.5).query("age > 40").count().query)
        query('age > 40').count()
        """
        return self._then(steps.query(expr, self._empty()))

    def filter(self, condition: Any) -> Self:
        """Keep rows for which a condition is true; see ``df.dp.filter``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced filter example")
        >>> print(df.dp(epsilon=0.5).filter(pd.col("age") > 40).count().query)
        query('age > 40').count()
        """
        return self._then(steps.filter_(condition, self._empty()))

    def assign(self, **columns: Any) -> Self:
        """Add or replace columns computed row by row; see ``df.dp.assign``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced assign example")
        >>> decades = df.dp(epsilon=0.5).assign(decade=lambda d: d.age // 10)
        >>> decades.histogram("decade", keys=[3, 4, 5, 6]).index.tolist()
        [3, 4, 5, 6]
        """
        return self._then(steps.assign(self._empty(), **columns))

    def eval(self, expr: str) -> Self:
        """Add a column by an expression such as ``"bmi = weight / height ** 2"``; see ``df.dp.eval``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced eval example")
        >>> df.dp(epsilon=0.5).eval("older = age > 40").histogram("older").index.tolist()
        [False, True]
        """
        return self._then(steps.eval_(expr, self._empty()))

    def clip(self, lower: Any = None, upper: Any = None, columns: Any = None) -> Self:
        """Cut values to public limits; see ``df.dp.clip``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced clip example")
        >>> 40 < df.dp(epsilon=1).clip(40, 60, columns="age").mean("age", bounds=(40, 60)) < 55
        True
        """
        return self._then(steps.clip(lower, upper, self._empty(), columns=columns))

    def fillna(self, value: Any) -> Self:
        """Replace missing values by public constants; see ``df.dp.fillna``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, None, 62] * 1000, "ward": ["A", "B", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced fillna example")
        >>> df.dp(epsilon=1).count("age") < 2500 < df.dp(epsilon=1).fillna({"age": 40}).count("age")
        True
        """
        return self._then(steps.fillna(value, self._empty()))

    def dropna(self, subset: Any = None) -> Self:
        """Leave out rows with missing values; see ``df.dp.dropna``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, None, 62] * 1000, "ward": ["A", "B", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced dropna example")
        >>> df.dp(epsilon=1).dropna("age").count() < 2500 < df.dp(epsilon=1).count()
        True
        """
        return self._then(steps.dropna(subset, self._empty()))

    def merge(self, lookup: Any, on: str, how: str = "left") -> Self:
        """Add the columns of a public lookup table; see ``df.dp.merge``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, None, 62] * 1000, "ward": ["A", "B", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced merge example")
        >>> wards = {"ward": ["A", "B"], "floor": [1, 2]}
        >>> df.dp(epsilon=1).merge(wards, on="ward").histogram("floor").index.tolist()
        [1, 2]
        """
        check_public(lookup)
        return self._then(steps.merge(lookup, on, how, self._empty()))

    def explode(self, column: str, *, max: int) -> Self:
        """Make a row of each of the first ``max`` entries of a list; see ``df.dp.explode``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"pid": range(2000), "tags": [["a", "b"], ["b"]] * 1000})
        >>> session = df.dp.protect(epsilon=30, unit="pid", max_rows=2, name="priced explode example")
        >>> tags = df.dp(epsilon=10).explode("tags", max=2).value_counts("tags", keys=["a", "b"])
        >>> bool(tags["a"] < 1500 < tags["b"])
        True
        """
        return self._then(steps.explode(column, max, self._empty()))

    def drop(self, columns: Any) -> Self:
        """Leave columns out; see ``df.dp.drop``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, None, 62] * 1000, "ward": ["A", "B", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced drop example")
        >>> print(df.dp(epsilon=0.5).drop("ward").count().query)
        drop(['ward']).count()
        """
        return self._then(steps.drop(columns, self._empty()))

    def rename(self, columns: Mapping[str, str]) -> Self:
        """Give columns other names; see ``df.dp.rename``.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="priced rename example")
        >>> print(df.dp(epsilon=0.5).rename({"age": "years"}).mean("years", bounds=(0, 100)).query)
        rename({'age': 'years'}).mean('years', bounds=(0, 100))
        """
        return self._then(steps.rename(columns, self._empty()))

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what can be asked, for a name of pandas that cannot."""
            if name.startswith("_"):
                raise AttributeError(name)
            column = f"{name!r} is a column; select it: df.dp(epsilon=0.5)[{name!r}]" if name in self._empty() else ""
            raise AttributeError(column or missing_question(type(self), name, "'column', "))

    def _then(self, more: tuple[Any, ...]) -> Self:
        table = tables.lookup(self._frame)
        if table is not None:
            table.session._check_steps(more)
        return type(self)(self._frame, self._price, self._fresh, self._steps + more, self._ahead, self._notes)

    def _empty(self) -> pd.DataFrame:
        """Names and dtypes after the steps so far, of the rows as they were protected: none is read."""
        table = tables.lookup(self._frame)
        empty = self._frame.iloc[:0].reset_index(drop=True) if table is None else table.empty
        for step in self._steps:
            empty = step.apply(empty)
        return empty

    def _kind(self, column: str) -> Kind:
        if not isinstance(column, str):
            raise ArgumentTypeError(
                "name one column by its text and first, such as .mean('cost', bounds=(0, 100)) or .quantile('cost', 0.5, ...), "
                "several with .agg({'cost': 'mean', 'age': 'mean'}, bounds={...}); where names are numbers, rename the "
                "columns first: df.columns = df.columns.astype('str'), then df.dp.protect(...)"
            )
        table = tables.lookup(self._frame)
        frame = self._empty() if self._steps else self._frame if table is None else table.source
        names = frame.columns
        tables.check_names(names)
        if column not in names and column in self._frame.index.names:
            raise ArgumentValueError(
                f"{column!r} is a level of the index, not a column: df = df.reset_index() before df.dp.protect(...)"
            )
        if column not in names and column in self._frame.columns:
            raise ArgumentValueError(
                f"{column!r} was put into this frame after it was protected, so it is not there: make it by "
                f"df.dp.assign(...), or type df.dp.protect(epsilon=...) once more"[:400]
            )
        if column not in names:
            raise ArgumentValueError(f"no column named {column!r}"[:200] + did_you_mean(column, names))
        # taken out of a frame again and again it would cost more than many queries
        held = table.column(column) if table is not None and not self._steps else frame[column]
        return kind_of(held.dtype)

    def _facts(self, column: str) -> ColumnFacts:
        if not isinstance(column, str):
            self._kind(column)  # which says so
        return table_of(self._frame).schema.after(self._steps)[column]

    def _filled(self, names: Sequence[str]) -> Self:
        """The rows with the schema's constants in place of missing values: blocks hand out cells, not what counts as theirs."""
        table = table_of(self._frame)
        rules = dict(table.schema.after(self._steps).null_rules)
        rules.pop(table.session.unit.column or "", None)  # a row whose unit is missing does not count in any case
        known = {name: constant for name, constant in rules.items() if name in names}
        return self.fillna(known) if known else self

    def _lattice(self, name: str, column: str, bounds: Any, step: Any, bits: int) -> tuple[Kind, Lattice]:
        kind = self._kind(column)
        if not kind.numeric:
            raise ArgumentTypeError(
                f"{name}() needs a column of numbers or dates; {column!r} holds text or objects, which serve as keys: "
                f"histogram({column!r}, keys=[...])"
            )
        return kind, arguments.lattice(bounds, step, bits, kind, self._facts(column), name, column)

    def _from_schema(self, columns: Sequence[str], *given: Any) -> Self:
        """The same, whose answers say which keys the schema stands in for: `given` are the keys and bins of the call.

        Beside a delta that is a caution: it could have found keys.
        """
        taken = {name: facts.keys for name in columns if (facts := self._facts(name)).keys is not None}
        for each in given:
            named = each if isinstance(each, Mapping) else dict.fromkeys(columns, each)
            taken = {name: keys for name, keys in taken.items() if named.get(name) is None}
        notes = [
            f"keys of {name!r} as the schema or a step lists them: {listing(keys)}" for name, keys in taken.items()
        ]
        if self._price.delta:
            finding = "; none were looked for, unique({!r}) finds those that many rows hold"
            notes = [Caution(note + finding.format(name)) for name, note in zip(taken, notes, strict=True)]
        return type(self)(self._frame, self._price, self._fresh, self._steps, self._ahead, tuple(notes))

    def _keys(self, name: str, column: str, keys: Any, other: bool, null: bool) -> tuple[Keys, Labels]:
        kind = self._kind(column)
        return arguments.keys(keys, other, null, kind, self._facts(column), name, column)

    def _ask(self, call: str, aggregate: Aggregate, columns: tuple[str, ...]) -> Release:
        table, price = table_of(self._frame), self._price
        if isinstance(price, Accuracy):
            terms = table.session._terms(table, self._steps, Price(), table.session.unit)
            price = Price(aggregate.epsilon_for(price, terms), price.delta)
        query = AskedQuery(call, aggregate, self._steps, price, self._notes)
        if self._ahead is not None:
            preview: Release = self._ahead(table, query, columns, self._fresh)
            return preview
        return table.session._ask(query, table, columns, self._fresh)
