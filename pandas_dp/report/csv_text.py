"""Tables as comma-separated values that can be published as they are: what would mislead stands above the numbers."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.report.files import replace_file

CSV = ".to_csv(path), with intervals and cautions; .table().to_csv(path, ...) is pandas' own, with every digit"
MARK = "# "


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
    ArgumentTypeError, ArgumentValueError, OSError
        For another path, and for options that say how a file is opened; see also `replace_file`.
    """
    refused = {"mode", "compression", "storage_options", "errors"} & options.keys()
    if refused or not (path is None or isinstance(path, str | os.PathLike) or hasattr(path, "write")):
        raise ArgumentTypeError(
            f"path must be a name or a text file, without {', '.join(sorted(refused)) or 'more'}: {CSV}"
        )
    encoding = options.pop("encoding", None) or "utf-8"
    above = "".join(f"{MARK}{' '.join(comment.split())}\n" for comment in comments)
    try:
        text: str = above + table.to_csv(**options)
    except TypeError:  # an option that pandas does not know
        raise ArgumentTypeError(f"to_csv() takes the options of a DataFrame's: {CSV}") from None
    if path is None:
        return text
    if hasattr(path, "write"):
        path.write(text)
        return None
    try:
        content = text.encode(encoding)
    except ValueError:
        raise ArgumentValueError(f"encoding= must know all characters: {CSV}") from None
    replace_file(path, content)
    return None
