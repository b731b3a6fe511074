"""Error bars that go along with the first steps of pandas: rows chosen or put in order, rounding, a level as columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pandas_dp.aggregates.base import Guarantee
from pandas_dp.aggregates.uncertainty import Ends, ErrorModel
from pandas_dp.facts.call import shown

MOST_DECIMALS = 15


@dataclass(frozen=True)
class Chosen:
    """Some entries, in another order."""

    places: tuple[int, ...]

    def __call__(self, end: pd.Series[Any], name: Any, to_whole: Any = None) -> pd.Series[Any]:
        """Of one end of the intervals."""
        return end.iloc[list(self.places)]


@dataclass(frozen=True)
class Rounded:
    """Numbers with so many places behind the point; ends move outwards."""

    decimals: int

    def __call__(self, end: pd.Series[Any], name: Any, to_whole: Any = None) -> pd.Series[Any]:
        """Of one end of the intervals; `to_whole` is floor or ceil."""
        if end.dtype.kind not in "iuf" or (end.dtype.kind in "iu" and self.decimals >= 0):
            return end
        moved: pd.Series[Any] = to_whole(end * 10.0**self.decimals) / 10.0**self.decimals
        return moved.where(np.isfinite(moved), end).astype(end.dtype)


@dataclass(frozen=True)
class Unstacked:
    """One level of the index as columns."""

    level: Any

    def __call__(self, end: pd.Series[Any], name: Any, to_whole: Any = None) -> pd.Series[Any]:
        """Of one end of the intervals, that of one of the columns."""
        return end.unstack(self.level)[name]


Step = Chosen | Rounded | Unstacked


@dataclass(frozen=True, eq=False)
class Along:
    """The error of an answer that is another one after a step.

    Attributes
    ----------
    error : ErrorModel
        Of the answer before.
    value : Series or DataFrame
        That answer.
    step : Chosen, Rounded or Unstacked
    """

    error: ErrorModel
    value: Any
    step: Step

    def bounds(self, value: pd.Series[Any], level: float) -> Ends:
        """Those of the answer before, after the same step."""
        before = self.value if isinstance(self.value, pd.Series) else self.value[value.name]
        lower, upper = self.error.bounds(before, level)
        return self.step(lower, value.name, np.floor), self.step(upper, value.name, np.ceil)


def population_of(error: Any) -> Any:
    """The error of an answer as that of the population; None where nothing is known of that."""
    if isinstance(error, Along):
        before = population_of(error.error)
        return None if before is None else replace(error, error=before)
    from pandas_dp.aggregates.population import of_population  # here, so that importing the package costs little

    return of_population(error)


def columns_of(sampled: Any, columns: Any) -> list[Any]:
    """Columns of a table of which `population_of` knows something."""
    while isinstance(sampled, Along):
        if isinstance(sampled.step, Unstacked):
            return list(columns)
        sampled = sampled.error
    own = getattr(sampled, "columns", None)  # of the cells of two columns
    return list(own) if own is not None else [name for name, _ in sampled.models]


class FirstSteps:
    """Steps of pandas after which an answer is one still, with its error bars."""

    _provenance: Any
    _released: Any
    _current: Any
    _changed: Any

    def head(self, n: int = 5) -> Any:
        """Return the first entries, with their error bars, as pandas does.

        Parameters
        ----------
        n : int
            Of a negative number: all but the last ones.

        Returns
        -------
        Release
            As this answer; plain where nothing is known of its error.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="head example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.head(2).table().columns.tolist()
        ['value', 'lower', 'upper']
        """
        return self._chosen("head", n)

    def tail(self, n: int = 5) -> Any:
        """Return the last entries, with their error bars, as pandas does.

        Parameters
        ----------
        n : int
            Of a negative number: all but the first ones.

        Returns
        -------
        Release
            As this answer; plain where nothing is known of its error.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="tail example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.tail(1).index.tolist()
        [Interval(50, 100, closed='left')]
        """
        return self._chosen("tail", n)

    def sort_values(self, *args: Any, **options: Any) -> Any:
        """Put the entries in order, with their error bars, as pandas does.

        Parameters
        ----------
        *args, **options
            Of ``sort_values`` of pandas; plain is what comes of ``inplace``, ``ignore_index``, ``axis`` and ``key``, and the
            order of a level of the index.

        Returns
        -------
        Release
            As this answer; plain where nothing is known of its error.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="sort_values example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.sort_values(ascending=False).table().columns.tolist()
        ['value', 'lower', 'upper']
        """
        if options.keys() & {"inplace", "ignore_index", "axis", "key"}:
            return super().sort_values(*args, **options)  # type: ignore[misc]  # of pandas' class
        return self._chosen("sort_values", *args, **options)

    def sort_index(self, *args: Any, **options: Any) -> Any:
        """Put the entries in the order of their labels, with their error bars, as pandas does.

        Parameters
        ----------
        *args, **options
            Of ``sort_index`` of pandas; plain is what comes of ``inplace``, ``ignore_index``, ``axis`` and ``key``.

        Returns
        -------
        Release
            As this answer; plain where nothing is known of its error.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="sort_index example")
        >>> ages = df.dp(epsilon=1).value_counts("age", keys=[62, 45, 31])
        >>> ages.sort_index().index.tolist(), ages.sort_index().table().columns.tolist()
        ([31, 45, 62], ['value', 'lower', 'upper'])
        """
        if args or options.keys() & {"inplace", "ignore_index", "axis", "key"}:
            return super().sort_index(*args, **options)  # type: ignore[misc]  # of pandas' class
        current = self._current()
        places = pd.Series(range(len(current)), index=current.index).sort_index(**options)
        return self._after(
            current.sort_index(**options), f"sort_index({_typed((), options)})", Chosen(tuple(places.tolist()))
        )

    def round(self, decimals: Any = 0) -> Any:
        """Round the values as pandas does, and the ends of their intervals outwards.

        Parameters
        ----------
        decimals : int
            Plain is what comes of a dict of them, and of more than 15.

        Returns
        -------
        Release
            As this answer; plain where nothing but a rank is known of its error.

        Examples
        --------
        >>> import pandas as pd, pandas_dp
        >>> df = pd.DataFrame({"age": [31, 45, 62] * 1000})
        >>> session = df.dp.protect(epsilon=3, name="round example")
        >>> ages = df.dp(epsilon=1).histogram("age", bins=[0, 40, 50, 100])
        >>> ages.round(-2).tolist()
        [1000, 1000, 1000]
        """
        made = self._current().round(decimals)
        # beyond, floats round to anything
        few = isinstance(decimals, int | np.integer) and abs(int(decimals)) <= MOST_DECIMALS
        exactly = few and not isinstance(self._provenance.error, Guarantee)
        return self._after(made, f"round({decimals})", Rounded(int(decimals))) if exactly else made

    def _chosen(self, name: str, *args: Any, **options: Any) -> Any:
        made = getattr(self._current(), name)(*args, **options)
        try:
            places = getattr(self._current().reset_index(drop=True), name)(*args, **options).index
        except KeyError:  # in the order of a level of the index
            return made
        return self._after(made, f"{name}({_typed(args, options)})", Chosen(tuple(places.tolist())))

    def _after(self, made: Any, words: str, step: Step, form: Any = None) -> Any:
        """The plain object that a step made, as an answer with error bars."""
        origin, error = self._provenance, self._provenance.error
        if error is None or self._changed():
            return made
        if not isinstance(error, Guarantee):
            error = Along(error, self._released, step)
        extras = () if isinstance(step, Unstacked) else origin.extras
        if isinstance(step, Chosen):
            extras = tuple(step(extra, None) for extra in extras)
        notes = (*origin.notes, f"free: .{words} of an answer that was paid for")
        make: Any = form or type(self)
        return make(made, replace(origin, error=error, notes=notes, extras=extras))


def _typed(args: tuple[Any, ...], options: dict[str, Any]) -> str:
    """Arguments as they were typed."""
    return ", ".join([*map(shown, args), *(f"{option}={shown(value)}" for option, value in options.items())])
