"""One column of a priced frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pandas_dp.calls import explain, uncopied
from pandas_dp.priced.text import missing_question
from pandas_dp.release import Release

if TYPE_CHECKING:
    from pandas_dp.priced.frame import PricedFrame


@explain
class PricedColumn:
    """One column of a priced frame, with the questions of a pandas Series.

    Examples
    --------
    >>> import pandas as pd, pandas_dp
    >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
    >>> session = df.dp.protect(epsilon=3, name="priced column example")
    >>> print(df.dp(epsilon=0.5)["age"].mean(bounds=(0, 100)).query)
    mean('age', bounds=(0, 100))
    """

    __slots__ = ("_column", "_frame")

    def __init__(self, frame: PricedFrame, column: str) -> None:
        self._frame, self._column = frame, column

    __reduce__ = uncopied

    @property
    def _before(self) -> str:
        """What stands before the call of a question."""
        return f"[{self._column!r}]."

    def __repr__(self) -> str:
        """Say what one call costs."""
        return f"{self._frame!r}[{self._column!r}]"

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say what can be asked, for a name of pandas that cannot."""
            raise AttributeError(name if name.startswith("_") else missing_question(type(self), name, ""))

    def count(self) -> Release:
        """Count the non-null rows; see `PricedFrame.count`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column count example")
        >>> 3900 < df.dp(epsilon=0.5)["cost"].count() < 4100
        True
        """
        return self._frame.count(self._column)

    def sum(self, *, bounds: Any = None) -> Release:
        """See `PricedFrame.sum`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column sum example")
        >>> 90_000 < df.dp(epsilon=0.5)["cost"].sum(bounds=(0, 50)) < 110_000
        True
        """
        return self._frame.sum(self._column, bounds=bounds)

    def mean(
        self,
        *,
        bounds: Any = None,
        method: str = "rotated",
        trim: Any = None,
        noise: str | None = None,
        error_bar: bool = False,
    ) -> Release:
        """See `PricedFrame.mean`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column mean example")
        >>> 24 < df.dp(epsilon=0.5)["cost"].mean(bounds=(0, 50)) < 26
        True
        """
        return self._frame.mean(self._column, bounds=bounds, method=method, trim=trim, noise=noise, error_bar=error_bar)

    def var(self, *, bounds: Any = None, ddof: int = 1) -> Release:
        """See `PricedFrame.var`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column var example")
        >>> 100 < df.dp(epsilon=1)["cost"].var(bounds=(0, 50)) < 150  # without noise 125
        True
        """
        return self._frame.var(self._column, bounds=bounds, ddof=ddof)

    def std(self, *, bounds: Any = None, ddof: int = 1) -> Release:
        """See `PricedFrame.std`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column std example")
        >>> 10 < df.dp(epsilon=1)["cost"].std(bounds=(0, 50)) < 12.5  # without noise 11.2
        True
        """
        return self._frame.std(self._column, bounds=bounds, ddof=ddof)

    def median(
        self,
        *,
        bounds: Any = None,
        step: Any = None,
        method: str = "exponential",
        noise: str | None = None,
        error_bar: bool = False,
    ) -> Release:
        """See `PricedFrame.median`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column median example")
        >>> df.dp(epsilon=1).query("cost > 10")["cost"].median(bounds=(0, 100), step=1).value
        30.0
        """
        return self._frame.median(
            self._column, bounds=bounds, step=step, method=method, noise=noise, error_bar=error_bar
        )

    def quantile(
        self,
        q: Any = 0.5,
        *,
        bounds: Any = None,
        step: Any = None,
        method: str = "exponential",
        noise: str | None = None,
        error_bar: bool = False,
    ) -> Release:
        """See `PricedFrame.quantile`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column quantile example")
        >>> df.dp(epsilon=1)["cost"].quantile([0.1, 0.9], bounds=(0, 100), step=1).tolist()
        [10.0, 40.0]
        """
        return self._frame.quantile(
            self._column, q, bounds=bounds, step=step, method=method, noise=noise, error_bar=error_bar
        )

    def min(self, *, bounds: Any = None, q: Any = None, step: Any = None) -> Release:
        """See `PricedFrame.min`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column min example")
        >>> df.dp(epsilon=1)["cost"].min(bounds=(0, 100), q=0.1, step=1).value
        10.0
        """
        return self._frame.min(self._column, bounds=bounds, q=q, step=step)

    def max(self, *, bounds: Any = None, q: Any = None, step: Any = None) -> Release:
        """See `PricedFrame.max`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column max example")
        >>> df.dp(epsilon=1)["cost"].max(bounds=(0, 100), q=0.9, step=1).value
        40.0
        """
        return self._frame.max(self._column, bounds=bounds, q=q, step=step)

    def histogram(
        self, *, bins: Any = None, keys: Any = None, other: bool = False, null: bool = False, workload: str = "bins"
    ) -> Release:
        """See `PricedFrame.histogram`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column histogram example")
        >>> df.dp(epsilon=1)["cost"].histogram(bins=[0, 25, 50]).round(-3).tolist()
        [2000, 2000]
        """
        return self._frame.histogram(self._column, bins=bins, keys=keys, other=other, null=null, workload=workload)

    def ecdf(self, *, bins: Any) -> Release:
        """See `PricedFrame.ecdf`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column ecdf example")
        >>> shares = df.dp(epsilon=1)["cost"].ecdf(bins=[0, 15, 35, 50])
        >>> shares.index.tolist(), shares.tolist()[-1]
        ([0, 15, 35, 50], 1.0)
        """
        return self._frame.ecdf(self._column, bins=bins)

    def value_counts(
        self, *, keys: Any = None, normalize: bool = False, sort: bool = True, other: bool = False, null: bool = False
    ) -> Release:
        """See `PricedFrame.value_counts`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column value_counts example")
        >>> df.dp(epsilon=1)["ward"].value_counts(keys=["A", "B"]).round(-3).to_dict()
        {'A': 3000, 'B': 1000}
        """
        return self._frame.value_counts(self._column, keys=keys, normalize=normalize, sort=sort, other=other, null=null)

    def describe(self, *, bounds: Any = None) -> Release:
        """See `PricedFrame.describe`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column describe example")
        >>> df.dp(epsilon=1)["cost"].describe(bounds=(0, 50)).index.tolist()
        ['count', 'mean', 'std', 'min', '25%', '50%', '75%', 'max']
        """
        return self._frame.describe(self._column, bounds=bounds)

    def nunique(self) -> Release:
        """See `PricedFrame.nunique`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column nunique example")
        >>> df.dp.preview(epsilon=1)["ward"].nunique().error
        '± 3 values (95 %)'
        """
        return self._frame.nunique(self._column)

    def unique(self) -> Release:
        """See `PricedFrame.unique`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, delta=1e-4, name="column unique example")
        >>> df.dp(epsilon=1, delta=1e-6)["ward"].unique().tolist()
        ['A', 'B']
        """
        return self._frame.unique(self._column)

    def mode(self, *, keys: Any = None) -> Release:
        """See `PricedFrame.mode`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column mode example")
        >>> df.dp(epsilon=1)["ward"].mode(keys=["A", "B"]).value
        'A'
        """
        return self._frame.mode(self._column, keys=keys)

    def top_k(self, k: int, *, keys: Any = None) -> Release:
        """See `PricedFrame.top_k`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column top_k example")
        >>> df.dp(epsilon=1)["ward"].top_k(2, keys=["A", "B", "C"]).tolist()
        ['A', 'B']
        """
        return self._frame.top_k(self._column, k, keys=keys)

    def best_price(self, *, prices: Any = None, bounds: Any = None, supply: int | None = None) -> Release:
        """See `PricedFrame.best_price`.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"cost": [10, 20, 30, 40] * 1000, "ward": ["A", "B", "A", "A"] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="column best_price example")
        >>> df.dp(epsilon=1)["cost"].best_price(prices=[10, 20, 40]).value  # from each of 3000
        20.0
        """
        return self._frame.best_price(self._column, prices=prices, bounds=bounds, supply=supply)
