"""Tables as comma-separated values that can be published as they are, and files that are there whole or not at all."""

from __future__ import annotations

import csv
import os
import re
import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pandas as pd

from pandas_dp.core.database import open_as
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, DataFileError

CSV = ".to_csv(path), with intervals and cautions; .table().to_csv(path, ...) is pandas' own, with every digit"
MARK = "# "
READ = 'keys that look like numbers: pd.read_csv(path, comment="#", keep_default_na=False, na_values="", dtype={{{}}})'
# what a spreadsheet takes for a formula, or for the end of the cell before it (OWASP, "CSV Injection"); numbers are none
SIGNS, NUMBER = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"), re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)


def guarded(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an apostrophe before each text that a spreadsheet would take for a formula, and one row of names.

    Examples
    --------
    >>> guarded(pd.DataFrame({("age", "mean"): [1]}, index=pd.Index(["=1+1"], name="key"))).reset_index().to_dict("records")
    [{'key': "'=1+1", 'age mean': 1}]
    """
    names = distinct(_guarded(one_name(column)) for column in table.columns)
    made = table.set_axis(pd.Index(names, dtype=object), axis=1)
    made.index = _labels(table.index)
    for place, dtype in enumerate(made.dtypes):
        if _texts(dtype):
            made.isetitem(place, pd.array([_guarded(cell) for cell in made.iloc[:, place]], dtype=object))
    return made


def distinct(names: Iterable[Any]) -> list[Any]:
    """Names of columns, each of them once: what comes again gets strokes at its end."""
    found: dict[Any, None] = {}
    for name in names:
        while name in found:
            name = f"{name}_"
        found[name] = None
    return list(found)


def one_name(name: Any) -> Any:
    """The name of a column; of one with several levels a text of them."""
    return " ".join(str(part) for part in name if part != "") if isinstance(name, tuple) else name


def _labels(index: pd.Index[Any]) -> pd.Index[Any]:
    if isinstance(index, pd.MultiIndex):
        levels: list[Any] = [_labels(level) for level in index.levels]
        codes: Any = index.codes
        return pd.MultiIndex(levels, codes, names=[level.name for level in levels], verify_integrity=False)
    if _texts(index.dtype):
        index = pd.Index([_guarded(label) for label in index], dtype=object, name=index.name, tupleize_cols=False)
    return index.rename(_guarded(index.name))


def _texts(dtype: Any) -> bool:
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype | pd.CategoricalDtype)


def _guarded(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.lstrip("' ").startswith(SIGNS) or NUMBER.fullmatch(cell):
        return cell
    return f"'{cell}"


def _like_numbers(table: pd.DataFrame | pd.Series[Any]) -> list[int]:
    """Places in the file of columns with texts alone, each of which a reader takes for a number or a truth value."""
    columns: list[Any] = [table.index.get_level_values(level) for level in range(table.index.nlevels)]
    columns += [table.iloc[:, place] for place in range(table.shape[1])] if isinstance(table, pd.DataFrame) else [table]
    return [
        place for place, cells in enumerate(columns) if _texts(cells.dtype) and len(cells) and all(map(_read, cells))
    ]


def _read(cell: Any) -> bool:
    if not isinstance(cell, str):
        return False
    try:
        float(cell)
    except ValueError:
        return cell.lower() in ("true", "false")
    return True


def write_csv(
    table: pd.DataFrame | pd.Series[Any], comments: list[str], path: Any, options: dict[str, Any]
) -> str | None:
    """Write a table below lines of comments.

    Parameters
    ----------
    table : DataFrame or Series
    comments : list of str
        A line each, whatever is in them.
    path : str, path, text file or None
        None: the text is returned.
    options : dict
        Of ``DataFrame.to_csv``, but for those that say how a file is opened.

    Returns
    -------
    str or None

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, DataFileError
        For another path, and for options that say how a file is opened; see also `replace_file`.
    """
    refused = {"mode", "compression", "storage_options", "errors"} & options.keys()
    if refused or not (path is None or isinstance(path, str | os.PathLike) or hasattr(path, "write")):
        raise ArgumentTypeError(
            f"path must be a name or a text file, without {', '.join(sorted(refused)) or 'more'}: {CSV}"
        )
    encoding = options.pop("encoding", None) or "utf-8"
    typed = _like_numbers(table) if comments and not options else []
    if typed:
        comments = [*comments, READ.format(", ".join(f"{place}: str" for place in typed))]
    above = "".join(f"{MARK}{' '.join(comment.split())}\n" for comment in comments)
    try:
        text: str = table.to_csv(**options)
        if comments and re.search(r"[#\r]", text):  # which are no comment and no end of a line in quotes
            quoted: dict[str, Any] = {"quoting": csv.QUOTE_NONNUMERIC} | options
            text = table.to_csv(**quoted)
    except TypeError:  # an option that pandas does not know
        raise ArgumentTypeError(f"to_csv() takes the options of DataFrame.to_csv(): {CSV}") from None
    text = above + text
    if path is None:
        return text
    if hasattr(path, "write"):
        path.write(text)
        return None
    try:
        content = text.encode(encoding)
    except ValueError:
        raise ArgumentValueError(f"encoding= must be able to write all characters: {CSV}") from None
    replace_file(path, content)
    return None


BEGUN, UNFINISHED = ".pandas-dp-", ".part"  # the name of a file that is being written
LEDGER = b"SQLite format 3\0"  # as every ledger starts


def is_ledger(path: str) -> bool:
    """Whether a file starts as ledgers do, whatever its name. One that is open in this process is not opened once more."""
    if open_as(path):
        return True
    with open(path, "rb") as file:
        return file.read(len(LEDGER)) == LEDGER


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there at one stroke: readers never see half of it.

    A link of this name is replaced, and so is one of several names of a file: what else they stand for stays as it was.

    Raises
    ------
    ArgumentValueError
        A folder or device, or a ledger, whose budgets could be spent once more if it were lost.
    DataFileError
        It cannot be written; a file that was there is as it was.
    """
    name = os.fspath(path)
    if name.endswith(("-journal", "-wal")):
        raise ArgumentValueError("path is reserved for a file beside a ledger: 'report.html'")
    if os.path.exists(name):
        if not os.path.isfile(name):
            raise ArgumentValueError("path must be the name of a file, not of a folder or device: 'report.html'")
        with suppress(OSError):
            if is_ledger(name):
                raise ArgumentValueError("path names a ledger, which would be lost: type another name, 'report.html'")
    temporary = os.path.join(os.path.dirname(name), f"{BEGUN}{uuid.uuid4().hex}{UNFINISHED}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name)
    except ValueError:  # a character that no name can have
        raise ArgumentValueError("path must be the name of a file: 'report.html'") from None
    except OSError as error:
        raise DataFileError(
            f"path: {name!r} cannot be written ({error.strerror or error}); a file that was there is unchanged"
        ) from None
    finally:
        with suppress(OSError, ValueError):
            os.unlink(temporary)
