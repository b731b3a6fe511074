"""Grouping rows by public keys and bins of one or several columns."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pandas_dp.aggregates.keys import KeyColumn
from pandas_dp.errors import ArgumentTypeError
from pandas_dp.facts.call import columns_text
from pandas_dp.questions.groups import PricedGroups
from pandas_dp.questions.keys import FoundGroups, KeyQuestions
from pandas_dp.questions.partition import found_of, parts_of

GROUPING = (
    "groupby() takes a column or a list of columns: groupby(['state', 'sex'], keys={'state': [...], 'sex': [...]}), "
    "by their names; months are groupby('visit', bins=pd.period_range('2013-01', '2013-12', freq='M'))"
)


class GroupQuestions(KeyQuestions):
    """The questions of a priced frame about groups of rows, listed or found."""

    __slots__ = ()

    def groupby(
        self, by: str | list[str], *, keys: Any = None, bins: Any = None, other: bool = False, null: bool = False
    ) -> PricedGroups:
        """Group rows by public keys or bins; then ``size``, ``count``, ``sum``, ``mean``, ``median`` and others.

        Parameters
        ----------
        by : str or list of str
            Several columns give a group for each combination of their keys and bins.
        keys : list, dict or DataFrame, optional
            Listed values, in the order wanted; from the schema where left out. Every one comes back. Never from the data,
            ``df["state"].unique()``: ``df.dp(epsilon=0.5, delta=1e-7).unique("state")`` is public. Of several columns a dict
            by column, or a public table whose rows are the combinations there may be (at most 1,000,000). Without any, and
            with a ``delta`` in the price, the keys are found as in ``value_counts``; for ``sum`` and ``mean`` half of
            epsilon and the whole delta find them as in ``unique``. Of several columns the combinations are found that many
            units hold; where some columns are listed, a row with another value in one of them counts nowhere.
        bins : sequence of numbers or dates, PeriodIndex, or dict, optional
            In place of keys: edges as ``histogram`` takes them, or consecutive periods of a column of dates, such as
            ``pd.period_range("2013-01", "2013-12", freq="M")``. Of several columns a dict by column.
        other, null : bool
            One more group for unlisted values, and for missing ones, of each column.

        Returns
        -------
        PricedGroups

        Raises
        ------
        ArgumentTypeError, ArgumentValueError

        Notes
        -----
        A row lies in one group or in none, so all groups together cost epsilon once under add_remove. Under replace_one it may
        leave one group and enter another, which doubles the noise. A unit with several rows may be in at
        most ``max_groups`` groups, that is combinations; the rows of a random choice of them count.
        Source: McSherry 2009.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"state": ["NY", "CA"] * 1500, "sex": ["f", "m", "m"] * 1000, "age": range(3000)})
        >>> session = df.dp.protect(epsilon=2, name="groupby example")
        >>> sizes = df.dp(epsilon=1).groupby(["state", "sex"], keys={"state": ["CA", "NY"], "sex": ["f", "m"]}).size()
        >>> sizes.index.tolist()
        [('CA', 'f'), ('CA', 'm'), ('NY', 'f'), ('NY', 'm')]
        >>> 400 < int(sizes["CA", "f"]) < 600
        True
        >>> df = pd.DataFrame({"state": ["NY", "CA"] * 500 + ["RI"], "sex": ["f", "m", "m", "m"] * 250 + ["m"]})
        >>> session = df.dp.protect(epsilon=2, delta=1e-4, name="groupby found example")
        >>> df.dp(epsilon=1, delta=1e-6).groupby(["state", "sex"]).size().index.tolist()
        [('CA', 'm'), ('NY', 'f'), ('NY', 'm')]
        """
        columns = by if isinstance(by, list) else [by]
        if not columns or not all(isinstance(column, str) for column in columns):
            raise ArgumentTypeError(GROUPING)
        if len(columns) == 1 and bins is None and self._finds("groupby", columns[0], keys, other, null):
            return FoundGroups(self._from_schema(columns), (KeyColumn(columns[0], self._kind(columns[0])),), {})
        head, asking = f"groupby({columns_text(tuple(columns))}", self._from_schema(columns, keys, bins)
        if self._price.delta and len(columns) > 1 and not isinstance(keys, pd.DataFrame):
            found = found_of(self, head, columns, keys, bins, other, null)
            if found is not None:
                return FoundGroups(asking, *found)
        return PricedGroups(asking, parts_of(self, head, columns, keys, bins, other, null))
