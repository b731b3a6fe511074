"""Tables of Arrow as frames of pandas whose dtypes follow from the schema alone.

For all inputs: two tables of one schema, metadata of pandas included, become frames of the same dtypes, but for the lists of
categories, and none of them raises because of a cell, unless of an interval of which one end is missing or the left one is the
larger. What Python has no value for is missing: a date in the year 10000, or bytes that are no text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

NULLABLE: dict[Any, Any] = {  # by type of Arrow, the dtype of pandas that has missing values
    pa.bool_(): pd.BooleanDtype(),
    **{
        pa.type_for_alias(name.lower()): pd.api.types.pandas_dtype(name)
        for name in (f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
    },
}
VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}  # that Arrow has few kernels for
KNOWN = {"pandas.period", "pandas.interval", "arrow.uuid"}  # types of their own that pandas or Python have values for


def as_declared(table: pa.Table, arrow: bool = False) -> pd.DataFrame:
    """The frame that pandas makes of a table, with the dtypes that it would have whatever cells are missing.

    Pandas makes floats of integers where one is missing, which rounds those from 2**53 on, also within lists, and objects of
    bools, and of days it makes objects that compare with no text. Here integers have dtypes such as ``Int64``, bools are
    ``boolean``, days are those of Arrow, and nested cells are Python's; or all dtypes are those of `arrow`.
    """
    metadata = dict(table.schema.metadata or {})
    note = json.loads(metadata.get(b"pandas", b"{}"))
    labels = {name for name in note.get("index_columns", []) if isinstance(name, str)}
    named = zip(table.column_names, table.columns, strict=True)
    columns = [_label(column) if name in labels else column if arrow else _plain(column) for name, column in named]
    plain = pa.Table.from_arrays(columns, names=table.column_names)
    for column in note.get("columns", []):
        place = plain.schema.get_field_index(column.get("field_name") or str(column["name"]))
        if place >= 0 and not _fits(column["numpy_type"], plain.schema.field(place).type):
            column["numpy_type"] = "object"  # which says nothing; another one would be cast to
    plain = plain.replace_schema_metadata(metadata | {b"pandas": json.dumps(note)} if note else metadata)
    frame = plain.to_pandas(types_mapper=pd.ArrowDtype) if arrow else _frame(plain)
    attributes = metadata.get(b"PANDAS_ATTRS")  # where pandas keeps what a frame says of itself
    if attributes:
        frame.attrs = json.loads(attributes)
    return frame


def _fits(noted: str, held: pa.DataType) -> bool:
    """Whether the dtype that pandas noted for a column is one of its own for what the column is."""
    try:
        dtype: Any = pd.api.types.pandas_dtype(noted)
        empty: Any = pd.array([], dtype=dtype)
        own = empty.__arrow_array__().type
    except (TypeError, ValueError, AttributeError, NotImplementedError):
        return True  # none that pandas would cast to
    return bool(own == held or (_is_text(own) and _is_text(held)))


def _label(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Labels that Python has: pandas makes its objects of days and times where they are one of several."""
    if pa.types.is_date(column.type) or pa.types.is_time(column.type):
        return pa.chunked_array([pa.array(_cells(column), column.type)])
    return _plain(column)


def _frame(plain: pa.Table) -> pd.DataFrame:
    wanted = plain.schema.empty_table().to_pandas().dtypes
    frame: pd.DataFrame = plain.to_pandas(types_mapper=_dtype)
    for place, dtype in enumerate(wanted):
        held = frame.dtypes.iloc[place]
        if isinstance(dtype, pd.ArrowDtype):  # as the metadata of pandas say
            frame.isetitem(place, frame.iloc[:, place].astype(dtype).array)
        elif isinstance(held, pd.ArrowDtype) and _of_python(held.pyarrow_dtype):
            frame.isetitem(place, _cells(frame.iloc[:, place].array.__arrow_array__()))
    return frame


def plain_type(held: pa.DataType) -> pa.DataType:
    """The type of a column in pandas: a dictionary is a way to store one."""
    return held.value_type if pa.types.is_dictionary(held) else held


def dictionary_paths(metadata: Any) -> list[str]:
    """The columns of a Parquet file whose text or bytes are to be read as dictionaries, by their paths.

    Arrow reads them as such unasked, with indices of 32 bits, and then makes the type of them that the file names: which fails
    where one number more of values than that has room for stands in a group of rows, and on bytes that are no text.
    """
    leaves = (leaf for field in metadata.schema.to_arrow_schema() for leaf in _leaves(field.type))
    return [metadata.schema.column(place).path for place, leaf in enumerate(leaves) if pa.types.is_dictionary(leaf)]


def in_order(table: pa.Table, names: Collection[str]) -> pa.Table:
    """The same table, with dictionaries of some columns that have an order: what reads them with wider indices forgets it."""
    for place, name in enumerate(table.column_names):
        if name in names:
            chunks = [pa.DictionaryArray.from_arrays(c.indices, c.dictionary, ordered=True) for c in table[name].chunks]
            held = pa.dictionary(pa.int32(), table.schema.field(place).type.value_type, ordered=True)
            table = table.set_column(place, name, pa.chunked_array(chunks, held))
    return table


def _leaves(held: pa.DataType) -> Iterator[pa.DataType]:
    """The types of the columns that Parquet stores a type in."""
    if isinstance(held, pa.BaseExtensionType):
        yield from _leaves(held.storage_type)
    elif pa.types.is_nested(held):
        for place in range(held.num_fields):
            yield from _leaves(held.field(place).type)
    else:
        yield held


def _dtype(held: pa.DataType) -> Any:
    """The dtype of a column, None for what pandas has for its type; that of Arrow for days, and where `_cells` follows."""
    return pd.ArrowDtype(held) if _of_python(held) or pa.types.is_date(held) else NULLABLE.get(held)


def _of_python(held: pa.DataType) -> bool:
    """Whether cells become objects of Python, which may not have their values. Days alone have a dtype that can be asked."""
    types = pa.types
    if types.is_dictionary(held):
        return types.is_date(held.value_type) or _of_python(held.value_type)
    return bool(types.is_nested(held) or types.is_time(held))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that pandas reads whatever they are."""
    held = column.type
    if pa.types.is_run_end_encoded(held):
        return _plain(pa.chunked_array(map(pc.run_end_decode, column.chunks), held.value_type))
    if _is_text(held):
        return pa.chunked_array(map(_legible, column.chunks), held)
    if pa.types.is_dictionary(held) and held.value_type in VIEWS:
        long = VIEWS[held.value_type]
        cast = (pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(long)) for one in column.chunks)
        return _plain(pa.chunked_array(cast, pa.dictionary(held.index_type, long)))
    if pa.types.is_dictionary(held) and _is_text(held.value_type):
        legible = (
            pa.DictionaryArray.from_arrays(one.indices, _legible(one.dictionary), ordered=held.ordered)
            for one in column.chunks
        )
        return _coded(pa.chunked_array(legible, held))
    if isinstance(held, pa.BaseExtensionType) and held.extension_name not in KNOWN:
        return _plain(pa.chunked_array([chunk.storage for chunk in column.chunks], held.storage_type))
    return _coded(column) if pa.types.is_dictionary(held) and not _of_python(held) else column


def _is_text(held: pa.DataType) -> bool:
    return bool(pa.types.is_string(held) or pa.types.is_large_string(held) or pa.types.is_string_view(held))


def _legible(values: pa.Array) -> pa.Array:
    """Text, missing where its bytes are none: pandas fails on them where it makes objects, as of categories and labels."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([_cell(value) for value in values], values.type)
    return values


def _coded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same column with each value once in its dictionary, and no missing one, as categories of pandas have to be."""
    held, listed = column.type, [chunk.dictionary for chunk in column.chunks]
    odd = pa.types.is_floating(held.value_type) or _counts_ticks(held.value_type)
    if not listed or (not odd and all(map(_distinct, listed))):
        return column
    known = _told(pa.chunked_array(listed)).unique()
    known = known.filter(pc.invert(pc.is_null(known, nan_is_null=True)))
    codes = pc.index_in(_told(column.cast(held.value_type)), value_set=known)
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(part, known, ordered=held.ordered) for part in codes.chunks]
    )


def _distinct(values: pa.Array) -> bool:
    return values.null_count == 0 and len(values.unique()) == len(values)


def _counts_ticks(held: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(held) or pa.types.is_duration(held))


def _told(values: Any) -> Any:
    """Values that pandas tells apart: it takes a zero below zero for the other one, and the least number of ticks for none."""
    if _counts_ticks(values.type):
        return pc.if_else(pc.equal(values.cast(pa.int64()), -(2**63)), pa.scalar(None, values.type), values)
    return pc.add(values, pa.scalar(0, values.type)) if pa.types.is_floating(values.type) else values


def _cells(column: pa.ChunkedArray) -> pd.api.extensions.ExtensionArray:
    """Objects of Python, missing where it has none."""
    try:
        if not pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
            quick: pd.api.extensions.ExtensionArray = column.to_pandas().array
            return quick
        cells = column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        cells = list(map(_cell, column))
    return pd.Series(cells, dtype=object).array


def _cell(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return None
