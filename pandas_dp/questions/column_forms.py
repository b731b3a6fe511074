"""The questions of one column, as its frame has them: made by tests/support/column_forms.py, not to be edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pandas_dp.facts.argument_help import explain
from pandas_dp.release.values import FloatRelease, IntRelease, SeriesRelease

if TYPE_CHECKING:
    from pandas_dp.questions.frame import PricedFrame


@explain
class ColumnForms:
    """Questions of a frame about a column that is selected; their help is that of the frame's."""

    __slots__ = ("_column", "_frame")

    def __init__(self, frame: PricedFrame, column: str) -> None:
        self._frame, self._column = frame, column

    def sum(self, *, bounds: Any = None) -> FloatRelease:
        """See `PricedFrame.sum`."""
        return self._frame.sum(self._column, bounds=bounds)

    def mean(
        self,
        *,
        bounds: Any = None,
        method: str = "rotated",
        trim: Any = None,
        noise: str | None = None,
        error_bar: bool = False,
        population: bool = False,
    ) -> FloatRelease:
        """See `PricedFrame.mean`."""
        return self._frame.mean(
            self._column,
            bounds=bounds,
            method=method,
            trim=trim,
            noise=noise,
            error_bar=error_bar,
            population=population,
        )

    def var(self, *, bounds: Any = None, ddof: int = 1) -> FloatRelease:
        """See `PricedFrame.var`."""
        return self._frame.var(self._column, bounds=bounds, ddof=ddof)

    def std(self, *, bounds: Any = None, ddof: int = 1) -> FloatRelease:
        """See `PricedFrame.std`."""
        return self._frame.std(self._column, bounds=bounds, ddof=ddof)

    def median(
        self,
        *,
        bounds: Any = None,
        step: Any = None,
        method: str = "exponential",
        noise: str | None = None,
        error_bar: bool = False,
    ) -> FloatRelease:
        """See `PricedFrame.median`."""
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
    ) -> Any:
        """See `PricedFrame.quantile`."""
        return self._frame.quantile(
            self._column, q, bounds=bounds, step=step, method=method, noise=noise, error_bar=error_bar
        )

    def min(self, *, bounds: Any = None, q: Any = None, step: Any = None, error_bar: bool = False) -> FloatRelease:
        """See `PricedFrame.min`."""
        return self._frame.min(self._column, bounds=bounds, q=q, step=step, error_bar=error_bar)

    def max(self, *, bounds: Any = None, q: Any = None, step: Any = None, error_bar: bool = False) -> FloatRelease:
        """See `PricedFrame.max`."""
        return self._frame.max(self._column, bounds=bounds, q=q, step=step, error_bar=error_bar)

    def histogram(
        self,
        *,
        bins: Any = None,
        keys: Any = None,
        other: bool = False,
        null: bool = False,
        workload: Any = "bins",
        bounds: Any = None,
        range: Any = None,
    ) -> SeriesRelease:
        """See `PricedFrame.histogram`."""
        return self._frame.histogram(
            self._column, bins=bins, keys=keys, other=other, null=null, workload=workload, bounds=bounds, range=range
        )

    def ecdf(self, *, bins: Any, bounds: Any = None) -> SeriesRelease:
        """See `PricedFrame.ecdf`."""
        return self._frame.ecdf(self._column, bins=bins, bounds=bounds)

    def value_counts(
        self, *, keys: Any = None, normalize: bool = False, sort: bool = True, other: bool = False, null: bool = False
    ) -> SeriesRelease:
        """See `PricedFrame.value_counts`."""
        return self._frame.value_counts(self._column, keys=keys, normalize=normalize, sort=sort, other=other, null=null)

    def describe(self, *, bounds: Any = None, error_bar: bool = True) -> Any:
        """See `PricedFrame.describe`."""
        return self._frame.describe(self._column, bounds=bounds, error_bar=error_bar)

    def nunique(self) -> IntRelease:
        """See `PricedFrame.nunique`."""
        return self._frame.nunique(self._column)

    def unique(self) -> Any:
        """See `PricedFrame.unique`."""
        return self._frame.unique(self._column)

    def mode(self, *, keys: Any = None) -> Any:
        """See `PricedFrame.mode`."""
        return self._frame.mode(self._column, keys=keys)

    def top_k(self, k: int, *, keys: Any = None) -> SeriesRelease:
        """See `PricedFrame.top_k`."""
        return self._frame.top_k(self._column, k, keys=keys)

    def best_price(self, *, prices: Any = None, bounds: Any = None, supply: int | None = None) -> FloatRelease:
        """See `PricedFrame.best_price`."""
        return self._frame.best_price(self._column, prices=prices, bounds=bounds, supply=supply)
