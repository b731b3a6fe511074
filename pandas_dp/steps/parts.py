"""What texts, lists and structs are taken apart into, and the patterns that text is looked through for.

For all inputs: element i of a result depends on element i of the operand alone, and whether an operation is refused depends on
the dtype of the operand and on constants. No cell can make any of it fail; what a cell does not have is missing.

Patterns are read by RE2, whose time grows with the length of a cell and no faster.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pandas_dp.engines.arrow import has_kernel
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.steps.text import as_text, found_texts, python_text
from pandas_dp.steps.values import Kind, Nulls, Values, booleans, numbers, read_column


def split(operand: Values, right: bool = False, **options: Any) -> Values:
    """Text as lists of its parts: values that only `element` and `length` take.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = as_text("split", operand)
    function: Callable[..., list[str]] = str.rsplit if right else str.split
    pat, most = options["pat"], options["n"]
    cells = np.empty(len(operand.missing), dtype=object)
    cells[:] = [function(cell, pat, most if most > 0 else -1) for cell in python_text(operand)]
    cells[operand.incomparable] = None
    return Values(Kind.OTHER, cells, operand.incomparable, nulls=max(operand.nulls, Nulls.NAN))


def element(operand: Values, i: int) -> Values:
    """The entry of a list, or the character of a text, at a position; missing where there is none.

    Raises
    ------
    ArgumentTypeError
        If the operand holds neither text nor lists.
    """
    if _held_as_lists(operand):
        return _listed(operand, i)
    if isinstance(operand.data, np.ndarray) and operand.kind is Kind.OTHER:
        return found_texts([_at(cell, i) for cell in operand.data], operand)
    operand = as_text("get", operand)
    if operand.kind is not Kind.OBJECT:
        return found_texts([_at(cell, i) for cell in python_text(operand)], operand)
    texts = python_text(operand)
    cells = np.empty(len(texts), dtype=object)
    cells[:] = [_at(cell if _is_list(cell) else text, i) for cell, text in zip(operand.data, texts, strict=True)]
    return read_column(pd.Series(cells, dtype=object))


def _is_list(cell: Any) -> bool:
    """By exact type, and by identity: another class, or the class of a class, could run code of its own."""
    kind = type(cell)
    return kind is list or kind is tuple


def _at(cell: Any, i: int) -> Any:
    return None if cell is None or not -len(cell) <= i < len(cell) else cell[i]


def length(operand: Values) -> Values:
    """Number of characters of a text or entries of a list, in float64; missing for a cell that is missing or neither.

    Raises
    ------
    ArgumentTypeError
        If the operand holds neither text nor lists.
    """
    if _held_as_lists(operand):
        counts = pc.list_value_length(operand.data.__arrow_array__()).cast(pa.float64())
        return numbers(np.asarray(counts.fill_null(np.nan).to_numpy(zero_copy_only=False)), Nulls.NA)
    if operand.kind is not Kind.OTHER or not isinstance(operand.data, np.ndarray):
        operand = as_text("len", operand)
    listed = operand.data if operand.kind in (Kind.OBJECT, Kind.OTHER) else python_text(operand)
    texts = listed if operand.kind is Kind.OTHER else python_text(operand)
    found = (
        len(cell) if _is_list(cell) else np.nan if gone else len(text)
        for cell, text, gone in zip(listed, texts, operand.incomparable, strict=True)
    )
    return numbers(np.fromiter(found, np.float64, len(operand.missing)), operand.nulls)


def field(operand: Values, name_or_index: str) -> Values:
    """A field of structs, missing where the struct is.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        If the operand holds no structs of Arrow's, or they have no field of that name, or several.
    """
    held: Any = getattr(getattr(operand.data, "dtype", None), "pyarrow_dtype", None)
    if held is None or not pa.types.is_struct(held):
        raise ArgumentTypeError(f"struct.field needs structs as Arrow holds them, not {operand.kind.value}")
    if held.get_all_field_indices(name_or_index) == [] or held.get_field_index(name_or_index) < 0:
        raise ArgumentValueError(f"struct.field: there is no field {name_or_index[:60]!r}, or not one alone")
    cells = pc.struct_field(operand.data.__arrow_array__(), [held.get_field_index(name_or_index)])
    return read_column(pd.Series(pd.arrays.ArrowExtensionArray(cells)))


def _held_as_lists(operand: Values) -> bool:
    held: Any = getattr(getattr(operand.data, "dtype", None), "pyarrow_dtype", None)
    return held is not None and (
        pa.types.is_list(held) or pa.types.is_large_list(held) or pa.types.is_fixed_size_list(held)
    )


def _listed(operand: Values, i: int) -> Values:
    """Entries of lists as Arrow holds them, in the dtype of the entries."""
    cells = operand.data.__arrow_array__()
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    kind = operand.data.dtype.pyarrow_dtype.value_type
    if not has_kernel(kind):
        raise ArgumentTypeError(
            f"list: Arrow cannot take entries of type {str(kind)[:60]} out of lists. Before the table is protected: "
            "df[column] = df[column].astype(pd.ArrowDtype(pa.list_(pa.string())))"
        )
    return read_column(
        pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([_entries(c, i) for c in chunks], kind)))
    )


def _entries(chunk: Any, i: int) -> Any:
    lengths = pc.list_value_length(chunk).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.cumsum(lengths) - lengths  # of what `flatten` gives, which leaves missing lists out
    lacking = (i >= lengths) | (i < -lengths)
    places = np.where(lacking, 0, starts + (i if i >= 0 else lengths + i))
    return chunk.flatten().take(pa.array(places, mask=lacking))


# Patterns

# escapes, classes of characters, the openings of groups, and single characters
_PIECE = r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?|."


def check_pattern(name: str, pat: str, case: bool = True) -> None:
    """Refuse what RE2 or Python does not read as a pattern, in the very form in which it runs.

    Of no text at all it would not be read: then its failure would tell whether there is a row.

    Raises
    ------
    ArgumentValueError
        If one of them does not.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pat)
        _run(name, pa.array([""]), pat, case)
    except (ValueError, re.error, RecursionError, OverflowError):  # of Arrow, too
        raise ArgumentValueError(
            f"{pat[:60]!r} is not a valid regular expression of RE2, which has no lookaheads and backreferences"
        ) from None


def _run(name: str, texts: Any, pat: str, case: bool = True) -> Any:
    if name == "extract":
        return pc.struct_field(pc.extract_regex(texts, pattern=group_named(pat)), [0])
    pattern = {"match": rf"\A(?:{pat})", "fullmatch": rf"\A(?:{pat})\z"}.get(name, pat)
    return pc.match_substring_regex(texts, pattern, ignore_case=not case)


def group_named(pat: str) -> str:
    """A pattern whose one group is named ``found``, as Arrow wants it.

    Raises
    ------
    ArgumentValueError
        If there is not one group that takes part in every match: for another one RE2 tells nothing from an empty text.
    """
    depth, closed = 0, -1
    opened: list[re.Match[str]] = []
    for token in re.finditer(_PIECE, pat):
        text = token.group()
        if text[0] == "(":
            depth += 1
            # one inside another counts as too many
            opened += [token] * (1 if depth == 1 else 2) if text != "(?" else []
        elif text == ")":
            depth -= 1
            closed = token.end() if depth == 0 and opened and closed < 0 else closed
        elif (text == "|" and depth == 0) or (closed == token.start() and text in "?*{"):
            opened = []
            break
    if len(opened) != 1:
        raise ArgumentValueError(
            "str.extract needs a pattern with one group that is part of every match, as in .str.extract('ward-([0-9]+)'): "
            "write other groups as (?:...), with alternatives, such as a|b, inside one of them"
        )
    (group,) = opened
    return f"{pat[: group.start()]}(?P<found>{pat[group.end() :]}"


def matches(name: str, operand: Values, pat: str, case: bool = True, **_: Any) -> Values:
    """Whether a pattern is found: anywhere, at the start (``match``) or as the whole (``fullmatch``); see `text.holds`.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = as_text(name, operand)
    found = _run(name, _utf8(operand), pat, case)
    holds = np.asarray(found.to_numpy(zero_copy_only=False)).astype(bool) & ~operand.incomparable
    return booleans(holds, operand.missing, operand.nulls)


def extract(operand: Values, pat: str) -> Values:
    """The part of a text that the one group of a pattern takes, where it is first found; missing where it is not.

    Raises
    ------
    ArgumentTypeError
        If the operand is no column of text.
    """
    operand = as_text("extract", operand)
    found = _run("extract", _utf8(operand), pat)
    return found_texts(found.to_pylist(), operand)


def _utf8(operand: Values) -> Any:
    """Text as Arrow has it; what is no valid Unicode in a cell becomes question marks."""
    cells = python_text(operand)
    try:
        return pa.array(cells, pa.large_string())
    except UnicodeEncodeError:
        return pa.array([cell.encode(errors="replace").decode() for cell in cells], pa.large_string())
