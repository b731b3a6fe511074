"""Columns in the dtype that is declared of them, whatever dtype a reader gave some of their cells because of the others.

For all inputs: nothing raises because of what a cell holds; `settled` is a function of the declared dtype, and `conformed`
gives that very dtype; each cell becomes what it is by itself or is missing. Pandas makes floats of whole numbers beside a
missing one, objects of truth values, finer units of dates, and text of all of them beside a text. So a number comes out the
same from any of these. Dask declares what pandas made of some rows, so NumPy's integers and floats settle to one dtype as well,
float64: a whole number is the float next to it, which is what another partition holds of it. In columns of units those from
2**53 on are missing, see `whole_units`. Elsewhere, in objects, in text and in integers that may be missing, such a number is
missing where it was in NumPy's hands, for as a float it may be another one rounded. Integers of pandas' `Int64` and of Arrow
never become floats, and stay what they are.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pandas_dp.core.interrupts import stop
from pandas_dp.engines.arrow import decoded, is_text
from pandas_dp.engines.cells import Foreign, canonical, finest, instant, listed
from pandas_dp.engines.encode import NANOSECONDS, stored
from pandas_dp.facts.kinds import arrow_text, is_missing, kind_or_none, with_missing, without_rows
from pandas_dp.steps.odd_cells import bare
from pandas_dp.steps.text import decimal, number
from pandas_dp.tables.cells import LARGEST, MISSING, SPANS, by_parts, moment_of, span_of

EXACT = 2**53  # from here on a float may be another whole number, rounded
LONGEST = 1000  # digits of a decimal, far more than Arrow holds; of more it writes each one down first, for hours
TRUTHS = dict.fromkeys(("true", "True", "TRUE"), 1.0) | dict.fromkeys(("false", "False", "FALSE"), 0.0)
TEXT = pd.StringDtype(na_value=np.nan)
SIMPLE = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"  # numbers that Arrow reads as Python does
DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])"  # in any month
ISO = re.compile(DAY + r"([T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?)?", re.ASCII)  # which pandas reads at once


def settled(dtype: Any) -> Any:
    """The dtype of a column that is declared to have another one: one that has missing values, of NumPy's integers float64."""
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_dictionary(dtype.pyarrow_dtype):
        plain = pd.ArrowDtype(dtype.pyarrow_dtype.value_type)  # a dictionary is a way to store values
        return dtype if kind_or_none(plain) is None else plain
    return np.dtype(np.float64) if isinstance(dtype, np.dtype) and dtype.kind in "iu" else with_missing(dtype)


def declared(empty: pd.DataFrame) -> pd.DataFrame:
    """Columns without a row in their settled dtypes."""
    made = without_rows(empty).reset_index(drop=True)
    for place, dtype in enumerate(made.dtypes):
        if settled(dtype) != dtype:
            made.isetitem(place, pd.Series([], dtype=settled(dtype)))
    return made


def fitted(rows: Any, empty: pd.DataFrame) -> pd.DataFrame:
    """Rows with the columns of `empty`, which are declared: one that is not there is missing, others are left out."""
    held: Any = rows if isinstance(rows, pd.DataFrame) else empty
    index, columns = pd.RangeIndex(len(held)), {}
    places: dict[Any, int] = {name: place for place, name in reversed([*enumerate(held.columns)])}
    for place, (name, dtype) in enumerate(empty.dtypes.items()):
        known = name in places
        columns[place] = conformed(held.iloc[:, places[name]], dtype) if known else _none(dtype, len(held))
    made = pd.DataFrame(columns, index=index, copy=False)
    made.columns = empty.columns
    return made


def whole_units(column: pd.Series[Any]) -> pd.Series[Any]:
    """Units of one number each: of floats those that may stand for several whole numbers are missing.

    Two people whose numbers are rounded to one would share a unit, and leave it as half of one, which no noise is made for.
    """
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind != "f":
        return column
    return column.where(column.abs() < 2.0 ** (np.finfo(column.dtype.name).nmant + 1))


def conformed(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """A column in a settled dtype, on a plain index."""
    column, kind = _plain_column(column.reset_index(drop=True)), kind_or_none(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(column)
    if kind is None and not isinstance(dtype, pd.ArrowDtype):  # periods, say, of which one odd cell makes objects
        return _none(dtype, len(column))
    if column.dtype == dtype and dtype != np.dtype(object) and not _misnamed(column):
        return _sound(column)
    if kind is None:  # but for fields and entries no question is asked of it
        found = by_parts(column, dtype, conformed)
        return _none(dtype, len(column)) if found is None else found
    if isinstance(dtype, pd.ArrowDtype):
        return pd.Series(pd.arrays.ArrowExtensionArray(_arrow(column, dtype.pyarrow_dtype, kind.name)))
    if kind.name == "number":
        return _numbers(column, dtype)
    if kind.name == "bool":
        values, present, _ = _read(column)
        return pd.Series(pd.arrays.BooleanArray(values == 1, ~(present & np.isin(values, (0, 1)))))
    if kind.name != "key":
        return _times(column, dtype, kind.name)
    if isinstance(dtype, pd.StringDtype):
        return _texts(column, dtype)
    return pd.Series(objects(map(_plain, _cells(column))), dtype=object)


def _plain_column(column: pd.Series[Any]) -> pd.Series[Any]:
    """The same values, where a dictionary of others than text is how they are stored."""
    held = getattr(column.dtype, "pyarrow_dtype", None)
    if held is None or not pa.types.is_dictionary(held) or is_text(held.value_type):
        return column
    return pd.Series(pd.arrays.ArrowExtensionArray(column.array.__arrow_array__().cast(held.value_type)))


def _misnamed(column: pd.Series[Any]) -> bool:
    """Whether Python objects are held under a dtype of text that names Arrow."""
    return isinstance(column.dtype, pd.StringDtype) and column.dtype.storage == "pyarrow" and _held(column) is None


def _none(dtype: Any, rows: int) -> pd.Series[Any]:
    """Rows of missing values."""
    if isinstance(dtype, pd.ArrowDtype):  # of types without a kernel, too
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.nulls(rows, dtype.pyarrow_dtype)])))
    none: pd.Series[Any] = pd.Series([], dtype=dtype).reindex(pd.RangeIndex(rows))
    return none


def _numbers(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """Numbers, and texts that are one, as floats, or as whole numbers in the range of the dtype."""
    values, fits, exact = _read(column)
    # to float64 first: no number is rounded otherwise than others
    if not hasattr(dtype, "numpy_dtype") or dtype.kind == "f":
        with np.errstate(all="ignore"):  # which would tell of a number beyond a narrower dtype
            return pd.Series(np.where(fits, values.astype(np.float64), np.nan)).astype(dtype)
    info, least, most = np.iinfo(dtype.numpy_dtype), 1 - EXACT, EXACT - 1
    least, most = (info.min, info.max) if exact else (max(info.min, least), min(info.max, most))
    fits = fits & (values >= least) & (values <= most) & (np.trunc(values) == values)
    whole = np.where(fits, values, np.zeros(1, values.dtype)).astype(dtype.numpy_dtype)
    return pd.Series(pd.array(whole, dtype=dtype)).mask(~fits)


def _read(column: pd.Series[Any]) -> tuple[NDArray[Any], NDArray[np.bool_], bool]:
    """Numbers of cells, of false and true 0 and 1; where there is one; and whether they never become floats as they are."""
    kind = kind_or_none(column.dtype)
    if kind is not None and kind.name in ("number", "bool"):
        numbers = stored(column).numbers()
        values, kept = numbers.values, numbers.values.dtype.kind != "f" and not isinstance(column.dtype, np.dtype)
        return values, ~np.isnan(values) if numbers.mask is None else numbers.mask, kept
    held, slow, values = _held(column), np.ones(len(column), dtype=bool), np.empty(len(column))
    if held is not None and isinstance(column.dtype, pd.StringDtype):  # what `number` gives, sooner
        text = legible(held).cast(pa.large_string())
        simple = pc.match_substring_regex(text, SIMPLE).fill_null(False)
        slow = ~simple.to_numpy()
        values[~slow] = text.filter(simple).cast(pa.float64()).to_numpy()
    found = map(_real, _cells(column[slow]))
    values[slow] = [TRUTHS.get(cell.strip(), number(cell)) if type(cell) is str else number(cell) for cell in found]
    return values, ~np.isnan(values), False


def _times(column: pd.Series[Any], dtype: Any, kind: str) -> pd.Series[Any]:
    """Moments or spans, those finer than the unit of a dtype cut to it, missing where it cannot hold them."""
    unit = np.datetime_data(getattr(dtype, "base", dtype))[0]
    own = kind_or_none(column.dtype)
    if kind == "datetime" and isinstance(column.dtype, pd.StringDtype):
        ticks = _read_moments(_cells(column), unit)
    elif own is not None and own.name == kind:
        numbers = stored(column).numbers()
        here, there = NANOSECONDS[numbers.unit or "ns"], NANOSECONDS[unit]
        factor, divisor = max(here // there, 1), max(there // here, 1)
        fits = (numbers.values <= LARGEST // factor) & (numbers.values >= -(LARGEST // factor))
        ticks = np.where(fits, numbers.values, 0) * np.int64(factor) // np.int64(divisor)
        ticks = np.where(fits if numbers.mask is None else fits & numbers.mask, ticks, MISSING)
    else:
        read = moment_of if kind == "datetime" else span_of
        ticks = np.fromiter((read(cell, unit) for cell in _cells(column)), np.int64, len(column))
    if kind == "timedelta":
        return pd.Series(ticks.view(f"m8[{unit}]"))
    moments = pd.Series(ticks.view(f"M8[{unit}]"))
    return moments if isinstance(dtype, np.dtype) else moments.dt.tz_localize("UTC").dt.tz_convert(dtype.tz)


def _read_moments(cells: list[Any], unit: str) -> NDArray[np.int64]:
    """What `moment_of` gives of texts, sooner."""
    simple = np.fromiter((type(cell) is str and bool(ISO.fullmatch(cell)) for cell in cells), bool, len(cells))
    texts = [cell for cell, known in zip(cells, simple, strict=True) if known]
    read = pd.to_datetime(pd.Series(texts, dtype=TEXT), format="ISO8601", errors="coerce")
    ticks = np.empty(len(cells), dtype=np.int64)
    ticks[simple] = conformed(read, np.dtype(f"M8[{unit}]")).to_numpy().view(np.int64)
    ticks[~simple] = [moment_of(cell, unit) for cell, known in zip(cells, simple, strict=True) if not known]
    return ticks


def _texts(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """Text, and numbers and truth values as they are written."""
    if _held(column) is not None and dtype.storage == "pyarrow":
        return _sound(column).astype(dtype)
    return pd.Series(pd.array([*map(_written, _cells(column))], dtype=dtype))


def _written(cell: Any) -> str | None:
    plain = _plain(cell)
    if type(plain) is str:
        return plain.encode("utf-8", "replace").decode()  # Arrow has no halves of surrogate pairs
    # by identity: the class of a cell's class may have an equality of its own
    return str(plain) if any(type(plain) is kind for kind in (int, float, bool)) else None


def _categories(column: pd.Series[Any]) -> pd.Series[Any]:
    """Categories by their forms, whatever list and dtype a part has of them; a cell without a form is missing."""
    array, places = column.array, dict[Any, int]()
    known = isinstance(array, pd.Categorical)
    cells = listed(array.categories) if known else _cells(column)
    formed = {key: canonical(cell) for key, cell in {id(cell): cell for cell in cells}.items()}  # of each object once
    made = [formed[id(cell)] for cell in cells]
    none = [isinstance(form, Foreign) or is_missing(form) for form in made]
    codes = [-1 if left else places.setdefault(form, len(places)) for form, left in zip(made, none, strict=True)]
    own = np.array([*codes, -1], dtype=np.intp)  # the last one is that of missing cells
    return pd.Series(pd.Categorical.from_codes(own[array.codes] if known else own[:-1], objects(places)))


def objects(cells: Iterable[Any]) -> pd.Index[Any]:
    """Cells as they are: pandas would make levels of tuples, and numpy asks whether one is an array."""
    held = list(cells)
    return pd.Index(np.fromiter(held, np.dtype(object), len(held)), dtype=object, tupleize_cols=False)


def _plain(cell: Any) -> Any:
    """A cell as an object, a number in the one form that it has whatever dtype it came in; None where it is missing."""
    cell = _real(cell)
    if type(cell) is int:
        return cell if abs(cell) < EXACT else None
    if type(cell) is float and not math.isinf(cell):
        whole = int(cell) if abs(cell) < EXACT else None
        return cell if whole is not None and whole != cell else whole
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    kind = type(cell)
    if kind is np.datetime64 or kind is np.timedelta64:
        return None if np.isnat(cell) else _time(cell)
    return None if kind is Decimal and cell.is_nan() else _time(cell)


def _time(cell: Any) -> Any:
    """A date with a time, a span or an interval in the form that it has whatever dtype it came in; any other cell as it is."""
    with contextlib.suppress(BaseException):  # beyond all units, or of a time zone with code of its own
        if issubclass(type(cell), dt.datetime | np.datetime64):
            return instant(cell)
        if issubclass(type(cell), SPANS):
            return finest(pd.Timedelta(cell))
        if type(cell) is pd.Interval:
            return canonical(cell)
    stop()
    return cell


def _real(cell: Any) -> Any:
    """Of NumPy's numbers and of subclasses those of Python, and of complex ones what they are where they are real."""
    if issubclass(type(cell), np.generic) and not issubclass(type(cell), np.datetime64 | np.timedelta64):
        cell = np.generic.item(cell)
    cell = bare(cell)
    return cell.real if type(cell) is complex and not cell.imag else cell


def _arrow(column: pd.Series[Any], held: pa.DataType, kind: str) -> pa.ChunkedArray:
    if pa.types.is_decimal(held) or (kind == "key" and not is_text(held)):
        cells = [pa.array([], held), *(_one(cell, held) for cell in map(_read_as(held), _cells(column)))]
        return pa.chunked_array([pa.concat_arrays(cells)])
    return pa.chunked_array([pa.array(conformed(column, of_pandas(held)), held, from_pandas=True, safe=False)])


def _read_as(held: pa.DataType) -> Callable[[Any], Any]:
    """What makes of a cell the one form that it has whatever dtype it came in."""
    if pa.types.is_decimal(held):
        return lambda cell: decimal(_plain(cell))
    return _written if arrow_text(held) else _real


def of_pandas(held: pa.DataType) -> Any:
    """The dtype with missing values that holds numbers, truth values, times or text of a type of Arrow."""
    return TEXT if is_text(held) else with_missing(pd.api.types.pandas_dtype(held.to_pandas_dtype()))


def _one(cell: Any, held: pa.DataType) -> pa.Array:
    """A cell as a value of a type of Arrow, null where it is none."""
    with contextlib.suppress(BaseException):  # whatever a cell's own code raises
        long = isinstance(cell, Decimal) and abs(Decimal.adjusted(cell)) > LONGEST
        return pa.array([None if long or is_missing(cell) else cell], held)
    stop()
    return pa.nulls(1, held)


def _cells(column: pd.Series[Any]) -> list[Any]:
    """Cells as objects; dates with a time zone in UTC, as a far one has no time in others."""
    if isinstance(column.array, pd.Categorical):
        own = [*listed(column.array.categories), None]
        return [own[code] for code in column.array.codes]
    kind = kind_or_none(column.dtype)
    if kind is not None and kind.tz is not None:
        numbers = stored(column).numbers()
        ticks = numbers.values if numbers.mask is None else np.where(numbers.mask, numbers.values, MISSING)
        column = pd.Series(ticks.view(f"M8[{numbers.unit}]")).dt.tz_localize("UTC")
    if isinstance(column.dtype, pd.ArrowDtype):
        column = pd.Series(pd.arrays.ArrowExtensionArray(decoded(column.array.__arrow_array__())))
    array = _sound(column).array
    if kind is not None or not isinstance(column.dtype, pd.ArrowDtype):
        with contextlib.suppress(Exception):  # one that Python has no value for, such as a day beyond its own
            return list(np.asarray(array, dtype=object))
    # of other types of Arrow pandas makes lists or arrays, as long as all rows have one, and ends the process where none has
    return [_alone(array, place) for place in range(len(array))]


def _alone(array: Any, place: int) -> Any:
    with contextlib.suppress(Exception):
        return array[place]
    return None


def _sound(column: pd.Series[Any]) -> pd.Series[Any]:
    """The same column, with a mark for each byte of Arrow's text that is none; pandas never looks at them."""
    held = _held(column)
    if held is None or (marked := legible(held)) is held:
        return column
    return pd.Series(marked.to_pylist(), dtype=column.dtype)


def legible(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same text, or where it has bytes that are none, which nothing else looks at, long text with a mark for each."""
    raw = text.cast(pa.large_binary())
    try:
        raw.cast(pa.large_string())  # which looks at all bytes
    except pa.ArrowInvalid:
        cells = [None if cell is None else cell.decode("utf-8", "replace") for cell in raw.to_pylist()]
        return pa.chunked_array([pa.array(cells, pa.large_string())])
    return text


def _held(column: pd.Series[Any]) -> pa.ChunkedArray | None:
    """Text in memory of Arrow."""
    if not isinstance(column.array, pd.arrays.ArrowExtensionArray):
        return None
    held = column.array.__arrow_array__()
    return held if is_text(held.type) else None
