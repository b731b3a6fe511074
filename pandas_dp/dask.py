"""Differentially private answers from Dask DataFrames: ``import pandas_dp.dask`` gives them the accessor ``ddf.dp``.

Workers need pandas_dp installed. They, their disks and the network between them are trusted as the process is that asks:
they hold the rows, and what they send are exact integers. Noise is drawn once, where the question is asked, and one ledger
pays. A worker that is lost, a task that is tried again and a partition that is read anew change neither answer nor charge.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

try:
    import dask.dataframe as dd
    from dask.dataframe.extensions import register_dataframe_accessor
except ImportError:
    raise ImportError("pandas_dp.dask needs Dask: pip install 'pandas-dp[dask]'") from None

from pandas_dp.accessor.accessor import Accessor
from pandas_dp.facts.argument_help import Guide
from pandas_dp.tables import frames
from pandas_dp.tables.dask_chunks import Partitions

__all__ = ["DaskAccessor"]


@register_dataframe_accessor("dp")
class DaskAccessor(Accessor):
    """``ddf.dp``: what ``df.dp`` is, for a Dask DataFrame; see `Accessor`.

    Notes
    -----
    A session answers the very Dask DataFrame object that was protected, and those that its steps made, such as
    ``ddf.dp.query("age > 65")``, which stay lazy. Whatever Dask itself makes of it is another object, which is refused at price
    0: name the session again, ``other.dp.protect(session=session)``, where it is a whole table about the same people. What Dask
    calls an expression cannot decide in the object's place: it may follow from the cells, and would be the same for a table
    filtered by hand exactly when nobody was filtered out. ``ddf.compute()`` gives a plain DataFrame, which is not protected.

    Where each row is its own unit, counts, sums, means, variances, covariances, histograms and quantiles are worked out on each
    partition, and integers of these alone are added up. So they are where units own several rows and the column of units is of
    numbers, dates or text: rows are shuffled first so that those of a unit are in one partition. All other questions bring
    the columns that they read to this process.

    Columns have the dtypes that Dask says (``ddf.dtypes``), but those of truth values are ``boolean``, and those of NumPy's
    integers ``float64``, as which pandas holds them beside a missing one. What is in a partition is fitted to these cell by
    cell, whatever pandas made of it because of other cells: text that is a number or a date, year first, counts as one where
    one is declared, dates are cut to the unit, and whatever does not fit is missing, as is a column that a partition lacks.
    Whole numbers from 2**53 on become the nearest floats. They are missing in a column of units, where two people could get
    one number, in objects, in text, and in integers that may be missing if they came as NumPy's or from CSV. So read
    identifiers as text, or as ``Int64`` or ``int64[pyarrow]`` from the start (``ddf.astype("Int64")`` of a column without
    missing values is in time). Checks of dtypes that Dask makes itself, as in ``read_csv`` and ``from_delayed``, are left out;
    each cell of a CSV file is read by itself, in the spelling that ``decimal``, ``thousands``, ``true_values`` and
    ``false_values`` tell, and of a line with too many cells the last ones count for nothing.
    Where Dask makes text of objects, what is no text is missing. An object that cannot go to another process is missing, too.
    Categories count by their values, and one without a form, such as an object of a
    class of your own or a tuple that holds a NaN, is missing. Of periods and complex numbers, which no question is about, your
    functions see missing values. Labels of rows decide nothing.

    What a function of your own or a reader makes of a cell because of others is outside this promise, and so is an exception
    that one of them raises: it gives the one fixed text, whatever the cell, and its price stays spent. Nor do logs of workers
    quote the exception, but for two kinds of tasks that Dask runs itself: those before a shuffle by messages, and those by
    which ``sort_values`` and ``set_index`` look for divisions. Work that you ask of Dask and that looks at labels or dates,
    such as ``set_index`` and ``drop_duplicates``, is such a function of yours where one of them has no time in its zone.

    Partitions must hold the same rows whenever they are computed. Another object is another table, also of the same work on
    the same input, and its answers are charged again: type ``table=`` and ``version=`` where it is the same.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd, pandas_dp.dask
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> ddf = dd.from_pandas(df, npartitions=4)
    >>> session = ddf.dp.protect(epsilon=3, name="dask example")
    >>> 1900 < ddf.dp.query("age > 40").dp(epsilon=0.5).count() < 2100
    True
    >>> 40 < ddf.dp(epsilon=0.5).mean("age", bounds=(0, 100)) < 52
    True
    >>> session.left
    'epsilon=2'
    """

    __slots__ = ("_carrier", "_held")

    def __init__(self, frame: dd.DataFrame) -> None:
        self._held = frame
        self._carrier: tuple[Any, pd.DataFrame] | None = None  # and the expression that it stands for

    @property
    def _frame(self) -> pd.DataFrame:  # type: ignore[override]
        """The columns without a row, which stand for the table; others once it was changed in place, as by ``ddf["a"] = 1``.

        An assignment makes another expression, whether or not it changes a value.
        """
        expression = self._held.expr
        if self._carrier is None or self._carrier[0] is not expression:
            source = Partitions.of(self._held)
            carrier = source.empty
            frames.remember_scan(carrier, source)
            self._carrier = expression, carrier
        return self._carrier[1]

    def _given(self, frame: pd.DataFrame) -> Any:
        """The Dask DataFrame that a frame stands for."""
        if frame is self._frame:
            return self._held
        source = frames.scan_of(frame)
        if not isinstance(source, Partitions):
            raise TypeError
        made = source.lazily()
        made.dp._carrier = made.expr, frame
        return made


DaskAccessor.__doc__ = Guide(DaskAccessor.__doc__, "pandas_dp.accessor")  # type: ignore[assignment]
