"""The steps a user asks for, by pandas' names: each function checks its arguments and returns steps.

Arguments come in pandas' order, then the table without its rows, ``frame.iloc[:0]``. Its names and dtypes are
all that is looked at: what a step refuses there it refuses on every table of these dtypes, and nowhere else.

Row-wise steps as methods: what ``df.dp`` and ``df.dp(epsilon=...)`` share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from inspect import signature
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
from pandas_dp.steps.parse import parse_assignments, parse_expression
from pandas_dp.steps.trace import unknown_column


def query(expr: str, empty: pd.DataFrame) -> tuple[Step, ...]:
    """Rows for which a condition holds, written as for ``DataFrame.query``.

    Parameters
    ----------
    expr : str
        ``"age >= 65 and ward in ['A', 'B']"``.
    empty : DataFrame
        The table without its rows, ``frame.iloc[:0]``: its names and dtypes are all that is looked at.

    Returns
    -------
    tuple of Step
        One ``Filter``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the condition is not row-wise, cannot be read, or does not fit the dtypes.
    """
    if not isinstance(expr, str):
        raise ArgumentTypeError("query: takes text; a function or pd.col('age') > 65 goes to .filter(...)")
    return _filter("query", expr, empty)


def filter_(condition: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    """Rows for which a condition holds, given as ``pd.col("age") > 65`` or ``lambda d: d.age > 65``.

    Returns one ``Filter``; raises as ``query`` does.
    """
    if isinstance(condition, str) or not callable(condition):
        raise ArgumentTypeError(
            "filter: takes pd.col('age') > 65 or lambda d: d.age > 65; text goes to .query('age > 65'), and columns "
            "are left out by .drop(columns=[...])"
        )
    return _filter("filter", condition, empty)


def _filter(argument: str, condition: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    empty = _without_rows(argument, empty)
    step = Filter(parse_expression(condition, empty.columns, argument=argument))
    _dry_run(argument, step, empty)
    return (step,)


def assign(empty: pd.DataFrame, /, **expressions: Any) -> tuple[Step, ...]:
    """Columns computed row by row, as in ``DataFrame.assign``; later ones may use earlier ones.

    Parameters
    ----------
    empty : DataFrame
        The table without its rows.
    **expressions : callable, pandas Expression or constant
        ``bmi=lambda d: d.weight / d.height**2``, ``bmi=pd.col("weight") / 3`` or ``source="survey"``. Text is a
        constant, as in pandas; ``eval_`` reads text.

    Returns
    -------
    tuple of Step
        One ``Assign`` for each expression.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If an expression is not row-wise or does not fit the dtypes.
    """
    empty = _without_rows("assign", empty)
    steps: list[Step] = []
    for name, source in expressions.items():
        argument = f"assign: {quote(name)}"
        name = _new_name(argument, name)
        if isinstance(source, str) or not callable(source):
            expression: Expression = _constant(source, argument)
        else:
            expression = parse_expression(source, empty.columns, argument=argument)
        steps.append(Assign(name, expression))
        empty = _dry_run(argument, steps[-1], empty)
    return tuple(steps)


def eval_(expr: str, empty: pd.DataFrame) -> tuple[Step, ...]:
    """Columns computed from text like ``"bmi = weight / height**2"``, one assignment a line.

    Returns one ``Assign`` for each line; raises as ``assign`` does.
    """
    empty = _without_rows("eval", empty)
    steps = [Assign(*line) for line in parse_assignments(expr, empty.columns, argument="eval")]
    for step in steps:
        _new_name("eval", step.name)
        empty = _dry_run(f"eval: {quote(step.name)}", step, empty)
    return tuple(steps)


def clip(
    lower: Any, upper: Any, empty: pd.DataFrame, *, columns: str | Iterable[str] | None = None
) -> tuple[Step, ...]:
    """Columns of numbers limited to public bounds, either of which may be None.

    Without ``columns`` every column is clipped, as in pandas, and all of them have to be numbers. Returns one
    ``Clip``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a bound is no number, both are missing or out of order, or a column does not exist or is no number.
    """
    empty = _without_rows("clip", empty)
    names = _columns("clip", empty.columns if columns is None else columns, empty)
    low, high = (None if bound is None else _constant(bound, "clip") for bound in (lower, upper))
    step = Clip(names, low, high)
    fits = [name for name in names if not IDENTIFIER.fullmatch(name) and _fits(Clip((name,), low, high), empty)]
    line = f"clip: name the columns, df.dp.clip({lower!r}, {upper!r}, columns={fits})"
    _dry_run("clip" if columns is not None or not fits else line, step, empty)
    return (step,)


def fillna(value: Any, empty: pd.DataFrame) -> tuple[Step, ...]:
    """Missing cells replaced by a public constant in every column, or by one each: ``{"age": 0, "ward": "none"}``.

    Returns one ``FillNA``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a value is no constant or does not fit its column, or a column does not exist.
    """
    empty = _without_rows("fillna", empty)
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
    return (step,)


def dropna(subset: str | Iterable[str] | None, empty: pd.DataFrame) -> tuple[Step, ...]:
    """Rows in which none of these columns is missing; of all columns where none are named. Returns one ``Filter``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a column does not exist, or the list is empty.
    """
    empty = _without_rows("dropna", empty)
    names = _columns("dropna", empty.columns if subset is None else subset, empty)
    if not names:
        raise ArgumentValueError("dropna: name a column, as in dropna(['age'])")
    present = [METHODS["notna"](Column(name)) for name in names]
    return (Filter(present[0] if len(present) == 1 else logical("and", *present)),)


def drop(columns: str | Iterable[str], empty: pd.DataFrame) -> tuple[Step, ...]:
    """Columns left out. Returns one ``Drop``; refuses names that are no columns."""
    empty = _without_rows("drop", empty)
    return (Drop(_columns("drop", columns, empty)),)


def rename(columns: Mapping[str, str] | Callable[[str], str], empty: pd.DataFrame) -> tuple[Step, ...]:
    """Columns renamed by ``{old: new}`` or by a function of the name. Returns one ``Rename``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If a column does not exist, a new name is no text, or two columns would share a name.
    """
    empty = _without_rows("rename", empty)
    if not isinstance(columns, Mapping):
        if not callable(columns):
            raise ArgumentTypeError("rename: columns has to be {'old': 'new'} or a function of the name")
        try:
            columns = {name: columns(name) for name in empty.columns}
        except Exception as error:  # noqa: BLE001 - the function is the caller's own and sees names only
            raise ArgumentTypeError(f"rename: the function of the name raised {type(error).__name__}") from None
    new = {name: _new_name("rename", columns[name]) for name in columns}
    step = Rename(tuple((name, new[name]) for name in _columns("rename", columns, empty)))
    _without_rows("rename", step.apply(empty))
    return (step,)


def merge(lookup: Any, on: str | None, how: str, empty: pd.DataFrame) -> tuple[Step, ...]:
    """Columns of a public lookup table, found by a column that both have; missing where a row's key is not in it.

    Parameters
    ----------
    lookup : DataFrame or mapping of str to list
        Public, such as the labels of codes. Copied here: later changes of it do not matter.
    on : str or None
        The column of keys, of which the lookup has each once; None is the only column that both have.
    how : str
        ``"left"``: every row stays, once.
    empty : DataFrame
        The table without its rows.

    Returns
    -------
    tuple of Step
        One ``Assign`` of a map for each other column of the lookup.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the lookup has repeated or missing keys, no other columns or one that the table has already, or cells that are no
        constants.
    """
    empty = _without_rows("merge", empty)
    if not isinstance(how, str) or how != "left":
        typed = "lookup" if on is None else f"lookup, on={on!r}"
        raise ArgumentValueError(
            f"merge: every row stays, as with how='left': write .merge({typed}) and, to keep only the rows that match, "
            ".dropna('column of the lookup') after it"
        )
    if on is None:
        names = [*lookup] if isinstance(lookup, pd.DataFrame | Mapping) else []
        both = [name for name in names if isinstance(name, str) and name in empty.columns]
        on = both[0] if len(both) == 1 else None
    if on is None:
        raise ArgumentTypeError("merge: name the column of keys that both have: .merge(lookup, on='code')")
    (name,) = _columns("merge", [on], empty)
    steps: list[Step] = []
    for column, mapped in lookup_maps(lookup, name).items():
        column = _new_name("merge", column)
        if column in empty.columns:
            raise ArgumentValueError(
                f"merge: the table has a column {quote(column)} already: rename that of the lookup"
            )
        steps.append(Assign(column, mapped))
        empty = _dry_run("merge", steps[-1], empty)
    return tuple(steps)


def explode(column: str, max: int, empty: pd.DataFrame) -> tuple[Step, ...]:
    """A row for each of the first ``max`` entries of a list; ``max`` is public. Returns one ``Explode``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the column does not exist or its dtype holds no lists, several are named, or ``max`` is no number of entries.
    """
    empty = _without_rows("explode", empty)
    if isinstance(column, list | tuple) and len(column) > 1:
        raise ArgumentTypeError(
            "explode: takes one column, explode('tags', max=5). Lists that go side by side are exploded before the table is "
            "protected: df = df.explode(['tags', 'prices'])"
        )
    names = _columns("explode", [column] if isinstance(column, str) else column, empty)
    if len(names) != 1:
        raise ArgumentTypeError("explode: takes the name of one column, explode('tags', max=5)")
    name = names[0]
    line = f"explode({quote(name)}, max=5)"
    if isinstance(max, bool | np.bool_) or not isinstance(max, int | np.integer):
        raise ArgumentTypeError(
            f"explode: max has to be a whole number: how many entries of each list count, as in {line}"
        )
    if not 1 <= max <= LONGEST:
        raise ArgumentValueError(f"explode: max has to be a number from 1 to 2**31 - 1: {line}")
    dtype = empty[name].dtype
    if holds_lists(dtype) and isinstance(dtype, pd.ArrowDtype) and not has_kernel(dtype.pyarrow_dtype.value_type):
        raise ArgumentTypeError(
            f"explode: {quote(name)} has dtype {dtype}, and Arrow takes no entries out of it. Before the table is protected: "
            f"df[{quote(name)}] = df[{quote(name)}].astype(pd.ArrowDtype(pa.list_(pa.string())))"
        )
    step = Explode(name, int(max))
    _dry_run("explode", step, empty)
    return (step,)


def _new_name(argument: str, name: object) -> str:
    """A new column's name as plain text, whatever kind of text it is; one that no ledger could write down is refused."""
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{argument}: a column's name has to be text")
    if not legible(name):
        raise ArgumentValueError(f"{argument}: a column's name has to be valid Unicode")
    return str.__str__(name)


def _without_rows(argument: str, frame: pd.DataFrame) -> pd.DataFrame:
    if frame.columns.nlevels > 1:
        raise ArgumentValueError(f"{argument}: columns of several levels cannot be used: give each one name")
    if not frame.columns.is_unique:
        raise ArgumentValueError(f"{argument}: two columns would have the same name: rename one of them first")
    return frame.iloc[:0]


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
            raise unknown_column(argument, name, empty.columns)
    return tuple(sorted({str.__str__(name) for name in names}))


def _constant(value: Any, argument: str) -> Constant:
    with told(f"{argument}: "):
        constant = lift(value)
    if not isinstance(constant, Constant):
        raise ArgumentTypeError(f"{argument}: has to be a public constant")
    return constant


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
        Where the condition is unknown the row goes, as in pandas. It is unknown where it compares a missing value of a
        nullable or Arrow dtype or of ``string``, also after ``not``: ``not (age > 40)`` leaves out who has no age. Among
        NumPy's dtypes, ``str``, objects and categories a comparison with a missing value is False and ``!=`` True: there
        ``not (age > 40)`` keeps them. Whatever the dtype, ``in [...]``, ``.isin`` and ``.isna()`` are never unknown. Where
        pandas itself is of two minds, ``.where``, ``.mask`` and ``.case_when`` take a condition that is unknown for one that
        does not hold; ``.mask`` is ``.where`` of ``~condition``.

        This holds of every step: what becomes of a row depends on that row and on public arguments alone. So tables that
        differ in one unit differ in that unit still, under add_remove and replace_one alike, and noise need not grow.

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
        return self._then(query(expr, self._empty()))

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
        return self._then(filter_(condition, self._empty()))

    def assign(self, **columns: Any) -> T:
        """Add or replace columns computed row by row.

        Parameters
        ----------
        **columns : expression, callable or constant
            By the new column's name: ``pd.col("cost") / 5``, ``lambda d: d.visit.dt.hour`` or ``"A"``. There are
            arithmetic, comparisons, ``.dt``, ``.str``, ``.astype``, ``.cut``, ``.where``, ``.case_when`` and ``.map``.

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
        ``.case_when``, ``.fillna`` and ``.astype("int64")``; ``/``, ``**``, ``.map`` and what meets a float are floats.
        Integers have 64 bits, whatever their column has, and decimals 76 digits; so has what signed and unsigned integers of
        64 bits give, and a difference of unsigned ones. What is beyond that is missing in nullable and Arrow dtypes, as is
        what zero divides by ``//`` and ``%``. NumPy's integers are floats where one is missing, so ``+ - *`` and ``-x`` make
        floats of them, as do constants beyond 2**53 and whatever could leave one missing or infinite, or mixes signs; but
        ``.astype("int64")`` gives ``Int64``, whatever it is of. What is made
        of dates and durations that nanoseconds hold is missing where they do not hold it.

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
        return self._then(assign(self._empty(), **columns))

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
        return self._then(eval_(expr, self._empty()))

    def clip(self, lower: Any = None, upper: Any = None, columns: Any = None) -> T:
        """Clip the values of numeric columns to public limits.

        Parameters
        ----------
        lower, upper : number, optional
            Public: ``df.dp.clip(0, 100, columns="age")``.
        columns : str or list of str, optional
            All numeric ones where left out.

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
        return self._then(clip(lower, upper, self._empty(), columns=columns))

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
        return self._then(fillna(value, self._empty()))

    def dropna(self, subset: Any = None) -> T:
        """Leave out rows with missing values.

        Parameters
        ----------
        subset : str or list of str, optional
            Columns that must have a value; all of them where left out.

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
        return self._then(dropna(subset, self._empty()))

    def merge(self, lookup: Any, on: str | None = None, how: str = "left") -> T:
        """Add the columns of a public lookup table, such as the labels of codes.

        Parameters
        ----------
        lookup : DataFrame, or dict of lists by column
            From outside the data, each key once. It is copied, and its content is part of the question.
        on : str, optional
            The column of keys that both have; where it is left out, the only one.
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
        return self._then(merge(lookup, on, how, self._empty()))

    def explode(self, column: str, *, max: int) -> T:
        """Make a row of each entry of a list, up to a public number of them, with the rest of its row beside it.

        Parameters
        ----------
        column : str
            Objects such as lists, tuples and NumPy arrays, or lists in Arrow. Of text, make lists before the table is
            protected: ``df["tags"] = df["tags"].str.split(",")``.
        max : int
            Public: the first ``max`` entries of each list stay, as ``df.tags.str[:max]`` has them.

        Returns
        -------
        DataFrame, or after a price PricedFrame
            Still protected by the same session and budget; nothing is charged. As in pandas an empty list and a missing cell
            make one row with a missing value, and rows keep the label of the row they come from.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            Also where each row is a unit of its own: the table needs a unit column.

        Notes
        -----
        Units stay who they are: what a unit's rows become is that unit's, and of them ``max_rows`` count in an answer, drawn
        at random where there are more. So tables that differ in one unit differ in that unit still, under both relations.
        A cell that is exactly a list, a tuple or an array of some dimension has entries; any other stays a row with that
        cell, also a set, whose order is not its own, a dict, and what is derived from a list. Objects stay of dtype object;
        lists in Arrow, also the large and the fixed ones that pandas leaves alone, become the dtype of their entries. Whole
        numbers are exact there and in lists of Python, as ``pandas_dp.read_parquet`` gives; in arrays of NumPy those from 2**53
        on are missing, since pandas rounds them in all rows of a file where one list lacks an entry.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"pid": range(2000), "tags": [["a", "b"], ["b"]] * 1000})
        >>> session = df.dp.protect(epsilon=30, unit="pid", max_rows=2, name="explode example")
        >>> counts = df.dp(epsilon=10).explode("tags", max=2).value_counts("tags", keys=["a", "b"])
        >>> bool(990 < counts["a"] < 1010), bool(1990 < counts["b"] < 2010)
        (True, True)
        """
        return self._then(explode(column, max, self._empty()))

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
        return self._then(drop(columns, self._empty()))

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
        return self._then(rename(columns, self._empty()))

    def _empty(self) -> pd.DataFrame:
        """Names and dtypes of the columns, without a row."""
        raise NotImplementedError

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
