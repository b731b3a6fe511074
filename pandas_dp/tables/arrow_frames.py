"""Tables of Arrow as frames of pandas whose dtypes follow from the schema alone.

For all inputs: two tables of one schema become frames of the same dtypes, and none of them raises because of a cell. Types are
listed, see `taken`: what Arrow and pandas make of others may depend on a cell, and nothing can be asked of them. A dictionary
is a way to store values. Nothing that pandas noted in the schema counts, so labels of rows are columns, and names are text.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pandas_dp.engines.arrow import decoded, is_text
from pandas_dp.facts.kinds import kind_or_none
from pandas_dp.facts.public_only import ATTRIBUTE, READ
from pandas_dp.tables.cells import is_list
from pandas_dp.tables.conforming import legible, of_pandas

UNNAMED = re.compile(r"__index_level_\d+__")  # what pandas calls labels of rows that have no name


def taken(held: pa.DataType) -> bool:
    """Whether columns of a type are read: those that can be answered, those of nothing, lists of these, and structs of such."""
    if pa.types.is_struct(held):
        return all(taken(field.type) and not pa.types.is_dictionary(field.type) for field in held)
    coded = pa.types.is_dictionary(held)
    one = held.value_type if coded or is_list(held) else held
    if pa.types.is_dictionary(one) or (coded and pa.types.is_string_view(one)):  # of which Arrow makes no plain column
        return False
    return pa.types.is_null(one) or kind_or_none(pd.ArrowDtype(one)) is not None


def plain_type(held: pa.DataType) -> pa.DataType:
    """The type of a column, whatever way there is to store one."""
    return held.value_type if pa.types.is_dictionary(held) else held


def dictionaries(schema: pa.Schema) -> list[str]:
    """Columns of a Parquet file that are to be read as dictionaries, of those that are taken.

    Arrow reads them as such unasked, with indices of 32 bits, and then makes the type of them that the file names: which fails
    where one number more of values than that has room for stands in a group of rows, and on bytes that are no text.
    """
    return [field.name for field in schema if pa.types.is_dictionary(field.type) and taken(field.type)]


def feather_table(source: Any, chosen: Callable[[pa.Schema], list[int]]) -> pa.Table:
    """Columns of a Feather file, by their places in its schema, which are chosen from that.

    Never mapped into memory: what is written into the file later would be what is answered about. The format has no checksums,
    and pandas trusts its lengths, so they are looked at.
    """
    with pa.OSFile(source) if isinstance(source, str) else contextlib.nullcontext(source) as file:
        places = chosen(pa.ipc.open_file(file).schema)
        table = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=places)).read_all()
    for chunk in (chunk for column in table.columns for chunk in column.chunks):
        chunk.view(_bare(chunk.type)).validate(full=True)
    return table


def _bare(held: pa.DataType) -> pa.DataType:
    """The type of the same memory, of which no value is one that a cell must not have."""
    types = pa.types
    if types.is_dictionary(held):
        return pa.dictionary(held.index_type, _bare(held.value_type), held.ordered)
    if is_list(held):
        inner = held.value_field.with_type(_bare(held.value_type))
        return pa.list_(inner) if types.is_list(held) else pa.large_list(inner)
    if types.is_struct(held):
        return pa.struct([field.with_type(_bare(field.type)) for field in held])
    if types.is_decimal(held):
        return pa.binary(held.bit_width // 8)
    if types.is_date(held):
        return pa.int32() if held.bit_width == 32 else pa.int64()
    return {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}.get(
        held, held
    )


def attributes_of(schemas: Iterable[pa.Schema]) -> dict[str, Any]:
    """What pandas says of frames that it wrote into files, where it keeps ``attrs``: of the first one all, of others the marks.

    So a table of several files belongs to all budgets that one of them belongs to.
    """
    said = [_attributes(schema) for schema in schemas]
    marks = {mark: [word for one in said for word in str(one.get(mark, "")).split()] for mark in (ATTRIBUTE, READ)}
    return dict(said[0]) | {mark: " ".join(dict.fromkeys(words)) for mark, words in marks.items() if words}


def _attributes(schema: pa.Schema) -> dict[str, Any]:
    try:
        said = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except ValueError:  # of another program
        said = None
    held = said.get("attributes") if isinstance(said, dict) else None
    return held if isinstance(held, dict) else {}


def as_declared(table: pa.Table, arrow: bool = False) -> pd.DataFrame:
    """The frame of a table whose types are all taken, with the dtypes that it has whatever cells are missing.

    Pandas makes floats of integers where one is missing, which rounds those from 2**53 on, also within lists, objects of bools
    and of decimals, and of days objects that compare with no text. Here integers have dtypes such as ``Int64``, bools are
    ``boolean``, days and decimals those of Arrow, and lists are Python's; or all dtypes are those of `arrow`.
    """
    named = [place for place, name in enumerate(table.column_names) if not UNNAMED.fullmatch(name)]
    table = table.select(named)
    plain = pa.Table.from_arrays([_plain(column) for column in table.columns], names=table.column_names)
    frame: pd.DataFrame = plain.to_pandas(types_mapper=pd.ArrowDtype if arrow else _dtype)
    frame = frame if named else pd.DataFrame(index=pd.RangeIndex(table.num_rows))
    for place, column in enumerate(plain.columns):
        if is_list(column.type) and not arrow:
            frame.isetitem(place, pd.Series(list(map(_cell, column)), dtype=object).array)
    frame.attrs |= attributes_of([table.schema])
    return frame


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same values in a type that pandas reads whatever they are, all text in one type."""
    values = decoded(column)
    if pa.types.is_null(values.type):
        return values.cast(pa.large_string())
    text = is_text(values.type) or pa.types.is_string_view(values.type)
    return legible(values).cast(pa.large_string()) if text else values


def _dtype(held: pa.DataType) -> Any:
    """The dtype of a column: that of Arrow where pandas would make objects, None for what pandas makes one of NumPy's of."""
    if is_list(held) or pa.types.is_struct(held) or pa.types.is_date(held) or pa.types.is_decimal(held):
        return pd.ArrowDtype(held)
    dtype = of_pandas(held)
    return None if isinstance(dtype, np.dtype) else dtype


def _cell(value: pa.Scalar) -> Any:
    try:
        return value.as_py()
    except (ValueError, OverflowError, pa.ArrowException):
        return None  # a date in the year 10000, for which Python has no value
