"""Row-wise steps as methods: what ``df.dp`` and ``df.dp(epsilon=...)`` share."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from types import FunctionType, MappingProxyType
from typing import Any, Generic, TypeVar

import pandas as pd

from pandas_dp.facts.argument_help import explain
from pandas_dp.steps import steps
from pandas_dp.steps.choices import check_public

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
        return self._then(steps.query(expr, self._empty()))

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
        return self._then(steps.filter_(condition, self._empty()))

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
        return self._then(steps.assign(self._empty(), **columns))

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
        return self._then(steps.eval_(expr, self._empty()))

    def clip(self, lower: Any = None, upper: Any = None, columns: Any = None) -> T:
        """Cut the values of numeric columns to public limits.

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
        return self._then(steps.clip(lower, upper, self._empty(), columns=columns))

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
        return self._then(steps.fillna(value, self._empty()))

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
        return self._then(steps.dropna(subset, self._empty()))

    def merge(self, lookup: Any, on: str, how: str = "left") -> T:
        """Add the columns of a public lookup table, such as the labels of codes.

        Parameters
        ----------
        lookup : DataFrame, or dict of lists by column
            From outside the data, each key once. It is copied, and its content is part of the question.
        on : str
            The column of keys that both have.
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
        return self._then(steps.merge(lookup, on, how, self._empty()))

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
        return self._then(steps.explode(column, max, self._empty()))

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
        return self._then(steps.drop(columns, self._empty()))

    def rename(self, columns: Mapping[str, str]) -> T:
        """Give columns other names.

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
        return self._then(steps.rename(columns, self._empty()))

    def _empty(self) -> pd.DataFrame:
        """Names and dtypes of the columns, without a row."""
        raise NotImplementedError

    def _then(self, more: tuple[steps.Step, ...]) -> T:
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
