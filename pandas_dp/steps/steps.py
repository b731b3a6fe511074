"""The steps a user asks for, by pandas' names, as methods: what ``df.dp`` and ``df.dp(epsilon=...)`` share.

Each checks its arguments against the table without its rows, ``frame.iloc[:0]``. Its names and dtypes are all that is
looked at: what a step refuses there it refuses on every table of these dtypes, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from inspect import signature
from keyword import iskeyword
from types import FunctionType, MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from pandas_dp.engines.arrow import has_kernel
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, PandasDPError, told
from pandas_dp.facts.argument_help import explain
from pandas_dp.facts.kinds import IDENTIFIER
from pandas_dp.facts.public_only import legible, listed
from pandas_dp.steps.changes import LONGEST, Assign, Clip, Drop, Explode, FillNA, Filter, Rename, Step, holds_lists
from pandas_dp.steps.choices import check_public, lookup_maps
from pandas_dp.steps.expression import Column, Constant, Expression, lift, quote
from pandas_dp.steps.functions import METHODS, logical


def _new_name(argument: str, name: object) -> str:
    """A new column's name as plain text, whatever kind of text it is; one that no ledger could write down is refused."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{argument}: a column's name has to be text")
    if not legible(name):
        raise ArgumentValueError(f"{argument}: a column's name has to be valid Unicode")
    return str.__str__(name)


def _with_unique_names(argument: str, frame: pd.DataFrame) -> pd.DataFrame:
    if frame.columns.nlevels > 1:
        raise ArgumentValueError(f"{argument}: columns of several levels cannot be used: give each one name")
    if not frame.columns.is_unique:
        raise ArgumentValueError(f"{argument}: two columns would have the same name: rename one of them first")
    return frame


def _dry_run(argument: str, step: Step, empty: pd.DataFrame) -> pd.DataFrame:
    """Apply a step to the table without rows: what it refuses there it refuses everywhere, and nowhere else."""
    with told(f"{argument}: "):
        return step.apply(empty)


def _may_lack(dtype: Any) -> bool:
    """Whether a dtype has missing cells, as NumPy's integers and bools have not, and cells of one kind."""
    return not (isinstance(dtype, pd.CategoricalDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "iubO"))


def _fits(step: Step, empty: pd.DataFrame) -> bool:
    """Whether a step can be applied to the table."""
    with suppress(PandasDPError):
        _dry_run("", step, empty)
        return True
    return False


def _columns(argument: str, columns: str | Iterable[str], empty: pd.DataFrame) -> tuple[str, ...]:
    """Names in one order, each of them a column."""
    # A Series iterates over its cells, which the texts below would quote.
    if isinstance(columns, pd.Series | pd.DataFrame) or not (isinstance(columns, str) or listed(columns)):
        raise ArgumentTypeError(f"{argument}: columns are given by their names, as in columns=['age', 'ward']")
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{argument}: a column's name has to be text")
        if name not in empty.columns:
            from pandas_dp.steps.trace import unknown_column  # here, so that importing the package costs little

            raise unknown_column(argument, name, empty.columns)
    return tuple(sorted({str.__str__(name) for name in names}))


def _constant(value: Any, argument: str) -> Constant:
    with told(f"{argument}: "):
        constant = lift(value)
    if not isinstance(constant, Constant):
        raise ArgumentTypeError(f"{argument}: has to be a public constant")
    return constant


def _not_computed(name: str, source: Any, empty: pd.DataFrame) -> None:
    """Refuse a text that computes with the table's own columns: as a constant it would be an answer to nothing, and paid."""
    from pandas_dp.steps.parse import parse_expression  # here, so that importing the package costs little

    names = frozenset[str]()
    with suppress(PandasDPError):
        meant = parse_expression(source, empty.columns) if isinstance(source, str) else Constant(0)
        names = meant.columns()
    if names:
        new = name if name.isidentifier() and not iskeyword(name) else "x"
        raise ArgumentValueError(
            f"assign: {quote(name)}: text is a constant here, and this one names columns. To compute with them: "
            f"eval({f'{new} = {meant}'!r}). For the text itself: lambda d: {quote(source)}"
        )


T = TypeVar("T")


@explain
class RowSteps(Generic[T]):
    """Steps of whatever holds rows: each checks its arguments against names and dtypes alone."""

    __slots__ = ()

    def query(self, expr: str) -> T:
        """Keep rows for which an expression of columns and constants is true.

        Parameters
        ----------
        expr : str
            Such as ``"age >= 65 and ward != 'ICU'"``; it may not look at other rows.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Notes
        -----
        If the condition is unknown, the row is dropped, as in pandas. It is unknown if it compares a missing value of a
        nullable or Arrow dtype or of ``string``, also after ``not``: ``not (age > 40)`` drops rows without an age. In
        NumPy's dtypes, ``str``, objects and categories, a comparison with a missing value is False, and ``!=`` is True: there
        ``not (age > 40)`` keeps these rows. ``in [...]``, ``.isin`` and ``.isna()`` are never unknown, whatever the dtype.
        pandas itself is not consistent here; ``.where``, ``.mask`` and ``.case_when`` treat an unknown condition as one that
        does not hold, and ``.mask`` is ``.where`` with ``~condition``.

        For every step, what becomes of a row depends on that row and on public arguments alone. So tables that
        differ in one unit still differ in that unit only, under add_remove and replace_one alike, and no more noise is needed.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="query example")
        >>> 1900 < df.dp.query("age > 40").dp(epsilon=0.5).count() < 2100
        True
        >>> print(df.dp(epsilon=0.5).query("age > 40").count().query)
        query('age > 40').count()
        """
        empty = self._named("query")
        if not isinstance(expr, str):
            raise ArgumentTypeError("query: takes text; for a function or pd.col('age') > 65 use .filter(...)")
        return self._kept("query", expr, empty)

    def filter(self, condition: Any) -> T:
        """Keep rows for which a condition is true; see `query`.

        Parameters
        ----------
        condition : expression or callable
            ``pd.col("age") > 65`` or ``lambda d: d.age > 65``; it may not look at other rows.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="filter example")
        >>> older = df.dp.filter(lambda d: d.age > 40)
        >>> print(older.dp(epsilon=0.5).count().query)
        query('age > 40').count()
        >>> print(df.dp(epsilon=0.5).filter(pd.col("age") > 40).count().query)
        query('age > 40').count()
        """
        empty = self._named("filter")
        if isinstance(condition, str) or not callable(condition):
            raise ArgumentTypeError(
                "filter: takes pd.col('age') > 65 or lambda d: d.age > 65; for text use .query('age > 65'); columns "
                "are left out by .drop(columns=[...])"
            )
        return self._kept("filter", condition, empty)

    def assign(self, **columns: Any) -> T:
        """Add or replace columns computed row by row.

        Parameters
        ----------
        **columns : expression, callable or constant
            By the new column's name: ``pd.col("cost") / 5``, ``lambda d: d.visit.dt.hour`` or ``"A"``. You can use arithmetic,
            comparisons, ``.dt``, ``.str``, ``.astype``, ``.cut``, ``.where``, ``.case_when`` and ``.map``.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Notes
        -----
        Whole numbers and decimals are exact in ``+ - * // %``, ``abs``, ``-x``, ``.clip``, ``.round``, ``.where``,
        ``.case_when``, ``.fillna`` and ``.astype("int64")``. ``/``, ``**`` and ``.map`` give floats, and so does anything
        combined with a float. Computed integers have 64 bits and decimals 76 digits, whatever their column has. In nullable
        and Arrow dtypes, a result beyond that is missing, and so is a division by zero with ``//`` or ``%``. A column of
        NumPy's integers becomes floats if one value is missing, so ``+ - *`` and ``-x`` on it give floats. So do constants
        beyond 2**53, and operations that could give a missing or infinite value, or that mix signed and unsigned integers. But
        ``.astype("int64")`` always gives ``Int64``. Computed dates and durations beyond the range of nanoseconds are missing.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="assign example")
        >>> banded = df.dp.assign(band=lambda d: d.age.cut([0, 40, 100], labels=["young", "old"]))
        >>> list(banded.dp(epsilon=1).histogram("band").index)
        ['young', 'old']
        >>> decades = df.dp(epsilon=1).assign(decade=lambda d: d.age // 10)
        >>> decades.histogram("decade", keys=[3, 4, 5, 6]).index.tolist()
        [3, 4, 5, 6]
        """
        from pandas_dp.steps.parse import parse_expression  # here, so that importing the package costs little

        empty, steps = self._named("assign"), list[Step]()
        for name, source in columns.items():
            argument = f"assign: {quote(name)}"
            name = _new_name(argument, name)
            if isinstance(source, str) or not callable(source):
                expression: Expression = _constant(source, argument)
                _not_computed(name, source, empty)
            else:
                expression = parse_expression(source, empty.columns, argument=argument)
            steps.append(Assign(name, expression))
            empty = _dry_run(argument, steps[-1], empty)
        return self._then(tuple(steps))

    def eval(self, expr: str) -> T:
        """Add a column by an expression.

        Parameters
        ----------
        expr : str
            Such as ``"bmi = weight / height ** 2"``.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="eval example")
        >>> older = df.dp.eval("older = age > 40")
        >>> older.dp(epsilon=0.5).histogram("older").index.tolist()
        [False, True]
        >>> df.dp(epsilon=0.5).eval("older = age > 40").histogram("older").index.tolist()
        [False, True]
        """
        from pandas_dp.steps.parse import parse_assignments  # here, so that importing the package costs little

        empty = self._named("eval")
        steps = [Assign(*line) for line in parse_assignments(expr, empty.columns, argument="eval")]
        for step in steps:
            _new_name("eval", step.name)
            empty = _dry_run(f"eval: {quote(step.name)}", step, empty)
        return self._then(tuple(steps))

    def clip(self, lower: Any = None, upper: Any = None, columns: Any = None) -> T:
        """Clip the values of numeric columns to public limits.

        Parameters
        ----------
        lower, upper : number, optional
            Public: ``df.dp.clip(0, 100, columns="age")``.
        columns : str or list of str, optional
            By default all numeric columns.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="clip example")
        >>> cut = df.dp.clip(40, 60, columns="age")
        >>> 40 < cut.dp(epsilon=1).mean("age", bounds=(40, 60)) < 55
        True
        >>> 40 < df.dp(epsilon=1).clip(40, 60, columns="age").mean("age", bounds=(40, 60)) < 55
        True
        """
        empty = self._named("clip")
        names = _columns("clip", empty.columns if columns is None else columns, empty)
        low, high = (None if bound is None else _constant(bound, "clip") for bound in (lower, upper))
        step = Clip(names, low, high)
        of = names if columns is None else ()
        fits = [name for name in of if not re.fullmatch(IDENTIFIER, name) and _fits(Clip((name,), low, high), empty)]
        line = f"clip: name the columns, df.dp.clip({lower!r}, {upper!r}, columns={fits})"
        _dry_run(line if fits else "clip", step, empty)
        return self._then((step,))

    def fillna(self, value: Any) -> T:
        """Replace missing values by public constants.

        Parameters
        ----------
        value : constant, or dict of str to constant
            One for all columns, or one for each that is named: ``{"age": 40}``.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, None, 62] * 1000, "ward": ["A", "B", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="fillna example")
        >>> df.dp(epsilon=1).count("age") < 2500 < df.dp.fillna({"age": 40}).dp(epsilon=1).count("age")
        True
        >>> df.dp(epsilon=1).fillna({"age": 40}).count("age") > 2500
        True
        """
        empty = self._named("fillna")
        if isinstance(value, Mapping):
            _columns("fillna", value, empty)
            constants = value.items()
            pairs = {str.__str__(name): _constant(constant, f"fillna: {quote(name)}") for name, constant in constants}
        else:
            constant = _constant(value, "fillna")
            pairs = dict.fromkeys(_columns("fillna", empty.columns, empty), constant)
        step = FillNA(tuple(sorted(pairs.items(), key=lambda pair: pair[0])))
        lack = [] if isinstance(value, Mapping) else [name for name in pairs if _may_lack(empty[name].dtype)]
        fits = {name: value for name in lack if _fits(FillNA(((name, pairs[name]),)), empty)}
        _dry_run(f"fillna: give a value by column, df.dp.fillna({fits})" if fits else "fillna", step, empty)
        return self._then((step,))

    def dropna(self, subset: Any = None) -> T:
        """Leave out rows with missing values.

        Parameters
        ----------
        subset : str or list of str, optional
            Columns that must have a value; by default all.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, None, 62] * 1000, "ward": ["A", "B", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="dropna example")
        >>> known = df.dp.dropna("age")
        >>> known.dp(epsilon=1).count() < 2500 < df.dp(epsilon=1).count()
        True
        >>> df.dp(epsilon=1).dropna("age").count() < 2500
        True
        """
        empty = self._named("dropna")
        names = _columns("dropna", empty.columns if subset is None else subset, empty)
        if not names:
            raise ArgumentValueError("dropna: name a column, as in dropna(['age'])")
        present = [METHODS["notna"](Column(name)) for name in names]
        return self._then((Filter(present[0] if len(present) == 1 else logical("and", *present)),))

    def merge(self, lookup: Any, on: str | None = None, how: str = "left") -> T:
        """Add the columns of a public lookup table, such as the labels of codes.

        Parameters
        ----------
        lookup : DataFrame, or dict of lists by column
            Public, with each key once. It is copied, and its content is part of the question.
        on : str, optional
            The column of keys that both have. If it is left out, the only one that both have.
        how : str
            ``"left"``, the only way: every row stays, with missing values where its key is not listed.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged. Questions know the keys of the
            new columns.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"code": ["a", "b", "z"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="merge example")
        >>> labelled = df.dp.merge({"code": ["a", "b"], "label": ["first", "second"]}, on="code")
        >>> list(labelled.dp(epsilon=1).histogram("label").index)
        ['first', 'second']
        >>> df.dp(epsilon=1).merge({"code": ["a", "z"], "floor": [1, 2]}, on="code").histogram("floor").index.tolist()
        [1, 2]
        """
        check_public(lookup)
        empty, steps = self._named("merge"), list[Step]()
        if not isinstance(how, str) or how != "left":
            typed = "lookup" if on is None else f"lookup, on={on!r}"
            raise ArgumentValueError(
                f"merge: every row stays, as with how='left': write .merge({typed}) and, to keep only the rows that match, "
                ".dropna('column of the lookup') after it"
            )
        if on is None:
            names = [*lookup] if isinstance(lookup, pd.DataFrame | Mapping) else []
            both = [name for name in names if isinstance(name, str) and name in empty.columns]
            if len(both) != 1:
                raise ArgumentTypeError("merge: name the column of keys that both have: .merge(lookup, on='code')")
            (on,) = both
        (name,) = _columns("merge", [on], empty)
        for column, mapped in lookup_maps(lookup, name).items():
            column = _new_name("merge", column)
            if column in empty.columns:
                raise ArgumentValueError(
                    f"merge: the table has a column {quote(column)} already: rename that of the lookup"
                )
            steps.append(Assign(column, mapped))
            empty = _dry_run("merge", steps[-1], empty)
        return self._then(tuple(steps))

    def explode(self, column: str, *, max: int) -> T:
        """Turn each list into one row for each entry, up to a public number; the rest of the row is repeated.

        Parameters
        ----------
        column : str
            Objects such as lists, tuples and NumPy arrays, or lists in Arrow. Split text into lists before the table is
            protected: ``df["tags"] = df["tags"].str.split(",")``.
        max : int
            Public: the first ``max`` entries of each list are kept, as with ``df.tags.str[:max]``.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged. As in pandas an empty list and a missing cell
            make one row with a missing value, and rows keep the label of the row they come from.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Also if each row is a unit: the table needs a unit column.

        Notes
        -----
        All new rows belong to the unit of the old row. At most ``max_rows`` rows of each unit count in an answer, drawn at
        random if there are more. So tables that differ in one unit still differ in that unit only, under both relations. Only
        a list, a tuple or an array has entries. Any other cell gives one row with that cell, also a set (it has no fixed
        order), a dict, or a subclass of list. Objects keep dtype object. Lists in Arrow, also large and fixed-size ones, which
        pandas does not explode, become the dtype of their entries. Whole numbers are exact there, and in Python's lists, which
        ``pandas_dp.read_parquet`` gives. In NumPy arrays, numbers from 2**53 on are missing, because pandas rounds them in all
        rows of a file if one list lacks an entry.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"pid": range(2000), "tags": [["a", "b"], ["b"]] * 1000})
        >>> session = df.dp.protect(epsilon=30, unit="pid", max_rows=2, name="explode example")
        >>> counts = df.dp(epsilon=10).explode("tags", max=2).value_counts("tags", keys=["a", "b"])
        >>> bool(990 < counts["a"] < 1010), bool(1990 < counts["b"] < 2010)
        (True, True)
        """
        empty = self._named("explode")
        names = _columns("explode", [column] if isinstance(column, str) else column, empty)
        if len(names) != 1:
            raise ArgumentTypeError(
                "explode: takes one column, explode('tags', max=5). Lists that go side by side are exploded before the table "
                "is protected: df = df.explode(['tags', 'prices'])"
            )
        name = names[0]
        line = f"explode({quote(name)}, max=5)"
        if isinstance(max, bool | np.bool_) or not isinstance(max, int | np.integer):
            raise ArgumentTypeError(
                f"explode: max has to be a whole number: how many entries of each list count, as in {line}"
            )
        if not 1 <= max <= LONGEST:
            raise ArgumentValueError(f"explode: max has to be a number from 1 to 2**31 - 1: {line}")
        dtype: Any = empty[name].dtype
        if holds_lists(dtype) and isinstance(dtype, pd.ArrowDtype) and not has_kernel(dtype.pyarrow_dtype.value_type):
            raise ArgumentTypeError(
                f"explode: {quote(name)} has dtype {dtype}, and Arrow takes no entries out of it. Before the table is "
                f"protected: df[{quote(name)}] = df[{quote(name)}].astype(pd.ArrowDtype(pa.list_(pa.string())))"
            )
        step = Explode(name, int(max))
        _dry_run("explode", step, empty)
        return self._then((step,))

    def drop(self, columns: Any) -> T:
        """Leave columns out.

        Parameters
        ----------
        columns : str or list of str

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, None, 62] * 1000, "ward": ["A", "B", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="drop example")
        >>> df.dp.drop("ward").columns.tolist()
        ['age']
        >>> print(df.dp(epsilon=0.5).drop("ward").count().query)
        drop(['ward']).count()
        """
        return self._then((Drop(_columns("drop", columns, self._named("drop"))),))

    def rename(self, columns: Mapping[str, str]) -> T:
        """Rename columns.

        Parameters
        ----------
        columns : dict of str to str
            New names by old ones: ``{"old": "new"}``.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="rename example")
        >>> renamed = df.dp.rename({"age": "years"})
        >>> print(renamed.dp(epsilon=0.5).mean("years", bounds=(0, 100)).query)
        rename({'age': 'years'}).mean('years', bounds=(0, 100))
        >>> print(df.dp(epsilon=0.5).rename({"age": "years"}).count("years").query)
        rename({'age': 'years'}).count('years')
        """
        empty, new = self._named("rename"), columns
        if not isinstance(new, Mapping):
            if not callable(new):
                raise ArgumentTypeError("rename: columns has to be {'old': 'new'} or a function of the name")
            try:
                new = {name: new(name) for name in empty.columns}
            except Exception as error:  # noqa: BLE001 - the function is the caller's own and sees names only
                raise ArgumentTypeError(f"rename: the function of the name raised {type(error).__name__}") from None
        new = {name: _new_name("rename", new[name]) for name in new}
        step = Rename(tuple((name, new[name]) for name in _columns("rename", new, empty)))
        _with_unique_names("rename", step.apply(empty))
        return self._then((step,))

    def _empty(self) -> pd.DataFrame:
        """Names and dtypes of the columns, without a row."""
        raise NotImplementedError

    def _named(self, argument: str) -> pd.DataFrame:
        """The same, if each of them has one name."""
        return _with_unique_names(argument, self._empty())

    def _kept(self, argument: str, condition: Any, empty: pd.DataFrame) -> T:
        """The rows for which a condition holds."""
        from pandas_dp.steps.parse import parse_expression  # here, so that importing the package costs little

        step = Filter(parse_expression(condition, empty.columns, argument=argument))
        _dry_run(argument, step, empty)
        return self._then((step,))

    def _then(self, more: tuple[Step, ...]) -> T:
        """The same rows after more steps."""
        raise NotImplementedError


def take_steps(cls: type, returned: type, lines: Mapping[str, str] = MappingProxyType({}), end: str = ".") -> None:
    """Give a class steps of its own, which do the same: completion and help find there what they return and where they stand.

    Where no source is at hand, completion reads classes of `returned`, and no type variables. `lines` say how help begins
    where it begins otherwise, and `end` how its first line ends.
    """
    for name, step in list(vars(RowSteps).items()):
        if isinstance(step, FunctionType) and not name.startswith("_"):
            own: Any = FunctionType(step.__code__, step.__globals__, name, closure=step.__closure__)
            own.__wrapped__ = getattr(step, "__wrapped__", step)
            own.__module__, own.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
            first, rest = (step.__doc__ or "").split("\n", 1)
            own.__doc__ = f"{lines.get(name, first.removesuffix('.'))}{end.format(name)}\n{rest}"
            own.__annotations__ = {**step.__annotations__, "return": returned}
            own.__signature__ = signature(step).replace(return_annotation=returned)
            setattr(cls, name, own)
