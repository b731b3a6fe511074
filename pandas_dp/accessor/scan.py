"""Tables that stay in Parquet files: ``pandas_dp.scan_parquet("visits/*.parquet")`` and what it gives."""

from __future__ import annotations

import glob
import os
import time
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from pandas_dp.accessor.accessor import Accessor
from pandas_dp.errors import ArgumentTypeError, ArgumentValueError
from pandas_dp.facts.argument_help import Guide, example, uncopied
from pandas_dp.facts.public_only import ATTRIBUTE
from pandas_dp.tables import frames
from pandas_dp.tables.arrow_frames import attributes_of, dictionaries, plain_type, taken
from pandas_dp.tables.parquet import Files, Scan, pieces_of, with_dictionaries
from pandas_dp.tables.readers import HIVE, below, names_marked, names_of, note, stamp, stamps_of, twice

LINE = "pandas_dp.scan_parquet('visits/*.parquet')"
PARTED = f"pyarrow.dataset.dataset('visits', partitioning={HIVE})"
ASK = "ask scan.dp(epsilon=0.5)['cost'].mean(bounds=(0, 100)); rows are chosen by scan.dp.query('age >= 65')"
SHOWN = 8  # columns in a repr
RESERVED = {"__filename", "__fragment_index", "__batch_index", "__last_in_fragment"}


class ScannedTable:
    """A table whose rows stay in Parquet files until a question reads them; made by `scan_parquet`.

    ``scan.dp`` is what ``df.dp`` is: ``scan.dp.protect(epsilon=3)`` opens the session, ``scan.dp(epsilon=0.5).count()`` asks,
    and steps such as ``scan.dp.query("age > 65")`` give another scanned table, for which nothing is read yet.

    Examples
    --------
    >>> import os, tempfile, pandas as pd, pandas_dp
    >>> path = os.path.join(tempfile.mkdtemp(), "visits.parquet")
    >>> pd.DataFrame({"age": [31, 45, 62] * 1000}).to_parquet(path)
    >>> scan = pandas_dp.scan_parquet(path)
    >>> scan.columns.tolist(), hasattr(scan.dp, "session")
    (['age'], False)
    """

    __slots__ = ("__weakref__", "_carrier")

    def __init__(self, carrier: pd.DataFrame) -> None:
        self._carrier = carrier  # the columns without a row, which stands for the table wherever a frame does

    __reduce__ = uncopied

    @property
    def dp(self) -> ScannedAccessor:
        """Sessions, steps and questions, as ``df.dp`` has them."""
        return ScannedAccessor(self._carrier)

    @property
    def columns(self) -> pd.Index[Any]:
        """Names of the columns."""
        return self._carrier.columns

    @property
    def dtypes(self) -> pd.Series[Any]:
        """Dtypes of the columns, those of Arrow; what the files hold as a dictionary has the dtype of its values."""
        return self._carrier.dtypes

    if not TYPE_CHECKING:  # a type checker shall still find a misspelt name

        def __getattr__(self, name):
            """Say where questions are asked, for a name of pandas that a scanned table has not got."""
            raise AttributeError(name if name.startswith("_") else f"a scanned table has no {name!r}: {ASK}")

    def __getitem__(self, key: Any) -> Any:
        """Say how a column is selected and how rows are."""
        raise ArgumentTypeError(f"scan[...] selects nothing: {ASK}")

    def __repr__(self) -> str:
        """Name the columns; nothing is said of the rows."""
        names = [repr(name) for name in self.columns[:SHOWN]] + ["..."] * (len(self.columns) > SHOWN)
        return f"<scanned table with the columns {', '.join(names)}: ask .dp>"


class ScannedAccessor(Accessor):
    """``scan.dp``: every step gives a `ScannedTable`, everything else is as for a frame; see `Accessor`."""

    __slots__ = ()

    def _given(self, frame: pd.DataFrame) -> Any:
        return ScannedTable(frame)


ScannedAccessor.__doc__ = Guide(ScannedAccessor.__doc__, __package__)  # type: ignore[assignment]


@example(LINE)
def scan_parquet(path: Any) -> ScannedTable:
    """Look at Parquet files that need not fit into memory: names and types of columns are read, no row is.

    Parameters
    ----------
    path : str, path, list of these, or pyarrow.dataset.Dataset
        A file; a pattern such as ``"visits/*.parquet"``; a directory with all files in it and below, also behind links, except
        those whose names begin with a dot or an underscore; or a list of these. Names of directories such as ``year=2024``, in
        the path that you type or below it, become a column of text;
        ``scan.dp.assign(year=lambda d: d.year.astype("int64"))`` makes numbers of it. For other types give a
        ``pyarrow.dataset.Dataset`` of local Parquet files whose partitioning names them:
        ``pyarrow.dataset.dataset("visits", partitioning=pyarrow.dataset.partitioning(pyarrow.schema(
        [("year", pyarrow.int32())]), flavor="hive"))``. A Dataset that lets Arrow guess them from the names is refused.

    Returns
    -------
    ScannedTable
        Its ``.dp`` is that of a frame.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        There is no such file, or it is not Parquet; files differ in their columns. Nothing is charged.

    Notes
    -----
    Answers have the same distribution as for the same table in memory. Counts, sums, means, variances, covariances,
    histograms, quantiles, scores by row, ``rows_per_unit`` and numbers of units are computed piece by piece. If each row is a
    unit, such a question holds one row group of its columns, or 524,288 rows, while the next ones are read. If units have
    several rows, its columns are held in memory up to 128 MB. Larger ones are read several times, each time for some of the
    units (by a hash of the unit), so that the caps of a unit apply as in memory. Such a question takes about seven times
    128 MB, or more if one unit has a large share of all rows. How often the files are read depends on their size; no answer
    depends on it.

    These questions load their columns: ``nunique`` of a column other than the unit, ``unique`` and groups with unknown keys,
    ``best_price``, ``mst_cost``, ``randomized_response``, sample and aggregate, and your own functions.

    Files must stay as they are. Each question compares the times of their last change before it is charged. If a file cannot
    be read after that, the question fails with one fixed text, and its price stays spent. This, when files are written, and
    which files exist, is public. If the files are scanned again while their session is open, and nobody has written them, they
    are the same table, with its stored answers; see `pandas_dp.read_parquet`. A file that is read by an open session joins no
    other budget, nor does one that pandas wrote from a table of an open session: it bears the mark of that session, as
    ``df.attrs`` does. A question that takes longer than 2 s shows its progress on a terminal.

    Examples
    --------
    >>> import os, tempfile, pandas as pd, pandas_dp
    >>> folder = tempfile.mkdtemp()
    >>> for year in (2023, 2024):
    ...     pd.DataFrame({"age": [31, 45, 62] * 1000}).to_parquet(os.path.join(folder, f"{year}.parquet"))
    >>> scan = pandas_dp.scan_parquet(os.path.join(folder, "*.parquet"))
    >>> session = scan.dp.protect(epsilon=3, name="scan example")
    >>> 3900 < scan.dp.query("age > 40").dp(epsilon=0.5).count() < 4100
    True
    >>> session.left
    'epsilon=2.5'
    """
    try:
        files = _opened(path)
    except UnicodeError:  # of the name, by Arrow
        raise ArgumentValueError(
            f"path: a name must be UTF-8, and one of a file or a directory is not: {LINE}"
        ) from None
    carrier = files.empty.copy()
    carrier.attrs |= files.marks
    frames.remember_scan(carrier, Scan(files))
    return ScannedTable(carrier)


def _opened(path: Any) -> Files:
    """The files as they are now, of which the metadata alone are read."""
    import pyarrow.dataset as ds  # importing the package shall cost little
    from pyarrow.fs import LocalFileSystem

    started, here, form = time.time_ns(), LocalFileSystem(), ds.ParquetFileFormat()
    given = isinstance(path, ds.Dataset)
    try:
        fragments = _fragments(path) if given else [_fragment(form, here, name) for name in files_of(path)]
        paths = tuple(fragment.path for fragment in fragments)
        stamps = tuple(map(stamp, paths))
        if twice(stamps):
            raise ArgumentValueError(f"path: a file is named twice, so that its rows would count twice: {LINE}")
    except OSError:
        raise ArgumentValueError(
            f"path: a file or a directory is gone, or cannot be read; scan again: {LINE}"
        ) from None
    columns, parted = [*map(_columns, fragments)], [*map(_parted, fragments)]
    first, named = columns[0], parted[0]
    if given:
        fields = [(one.name, plain_type(one.type)) for one in path.schema if taken(one.type)]
    else:
        fields = [*first.items(), *((key, pa.string()) for key in _keys(paths[0]) if key in named)]
    schema = pa.schema(fields)
    for fragment, held, keys in zip(fragments, columns, parted, strict=True):
        if held != first:
            odd = sorted(name for name in {*held, *first} if held.get(name) != first.get(name))[0]
            raise ArgumentValueError(
                f"path: files must have the same columns of the same types, and {fragments[0].path!r} and {fragment.path!r} "
                f"differ in {odd!r}: scan them one by one, or rewrite them alike"
            )
        if not given and keys.keys() != named.keys():
            raise ArgumentValueError(
                f"path: {min(keys.keys() ^ named.keys())!r} is in the directory names of some files only: scan them one by one"
            )
        if keys.keys() & held.keys() or any(
            held.get(column.name) != column.type and column.name not in keys for column in schema
        ):
            raise ArgumentValueError(
                f"path: the schema of this Dataset is not that of its files and the names of their directories: {PARTED}"
            )
    rows = sum(group.num_rows for fragment in fragments for group in fragment.row_groups)
    pieces = tuple(piece for fragment in map(_wide, fragments) for piece in pieces_of(fragment))
    # of a Dataset it is not known which groups of rows it was made to have, nor what of that follows from their rows
    parts = tuple(name for name in schema.names if name not in first)
    token = None if given else note(("scan_parquet", paths, *parts), started, stamps, stamps_of(paths))
    said = attributes_of(fragment.physical_schema for fragment in fragments)
    marks = {ATTRIBUTE: said[ATTRIBUTE]} if ATTRIBUTE in said else {}
    return Files(paths, stamps, names_of(paths, stamps) | names_marked(said), token, schema, pieces, rows, marks)


def _parted(fragment: Any) -> dict[str, Any]:
    """Columns that stand in names of directories, and their value there."""
    import pyarrow.dataset as ds

    return dict(ds.get_partition_keys(fragment.partition_expression))


def _fragment(form: Any, here: Any, path: str) -> Any:
    """A file, with what stands in names of directories of its path as text: of other types one name could decide on all."""
    import pyarrow.dataset as ds

    name, keys = os.path.abspath(path), _keys(path)
    if len(set(keys)) < len(keys) or "" in keys or RESERVED & set(keys):
        raise ArgumentValueError(
            f"path: names of directories such as 'year=2024' must name different columns, and those of {path!r} do not: {LINE}"
        )
    fragment = form.make_fragment(name, here)
    held = _columns(fragment) if keys else {}
    parted = ds.partitioning(pa.schema([(key, pa.string()) for key in keys if key not in held]), flavor="hive")
    try:
        return form.make_fragment(name, here, parted.parse(path)) if keys else fragment
    except pa.ArrowInvalid:
        raise UnicodeError from None  # in %-codes of a name


def _keys(path: str) -> list[str]:
    """Names of the columns that stand in names of directories."""
    parts = (part.partition("=") for part in os.path.dirname(path).split(os.sep))
    return [key for key, equals, _ in parts if equals]


def _wide(fragment: Any) -> Any:
    """The same groups of rows, whose dictionaries have room for all their values."""
    coded = dictionaries(fragment.physical_schema)
    groups = [group.id for group in fragment.row_groups]
    return with_dictionaries(fragment, coded).subset(row_group_ids=groups) if coded else fragment


def files_of(path: Any) -> list[str]:
    """Files that a path, a pattern, a directory or a list of these stands for, in the order of their names.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, OSError
    """
    paths, files = path if isinstance(path, list | tuple) else [path], []
    if not paths:
        raise ArgumentValueError(f"path: the list names no file: {LINE}")
    for one in paths:
        if not isinstance(one, str | os.PathLike) or not isinstance(os.fspath(one), str) or not os.fspath(one):
            raise ArgumentTypeError(
                f"path must be a path, a pattern, a directory, a list of these or a pyarrow.dataset.Dataset: {LINE}"
            )
        name = os.path.expanduser(os.fspath(one))
        matching = [name] if os.path.exists(name) else sorted(glob.glob(name, recursive=True))
        found = [file for each in matching for file in ([each] if not os.path.isdir(each) else below(each, _unread))]
        if not found:
            raise ArgumentValueError(f"path: there is no file {os.fspath(one)!r} on this machine: {LINE}")
        files += found
    return files


def _unread(error: OSError) -> None:
    """Of directories that cannot be read no part is left out."""
    raise error


def _fragments(whole: Any) -> list[Any]:
    """A fragment for each file of a data set on this machine."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    line = "pandas_dp.scan_parquet(pyarrow.dataset.dataset('visits'))"
    if (
        not isinstance(whole, ds.FileSystemDataset)
        or not isinstance(whole.format, ds.ParquetFileFormat)
        or not isinstance(whole.filesystem, LocalFileSystem)
    ):
        raise ArgumentTypeError(f"path: a Dataset must be of Parquet files on this machine: {line}")
    # for what it guesses Arrow keeps the values that it met
    if any(values is not None for values in getattr(whole.partitioning, "dictionaries", None) or ()):
        raise ArgumentValueError(
            "path: Arrow guessed the types of columns from names of directories, so that one name may decide for all; "
            f"give the types: pandas_dp.scan_parquet({PARTED})"
        )
    try:
        fragments = list(whole.get_fragments())
    except ValueError:
        raise ArgumentValueError(
            "path: this Dataset is filtered; scan the whole one, then: scan.dp.query('age > 65')"
        ) from None
    if not fragments:
        raise ArgumentValueError(f"path: this Dataset has no files: {line}")
    return [  # by names that no os.chdir(...) makes those of other files
        one.format.make_fragment(
            os.path.abspath(one.path),
            LocalFileSystem(),
            one.partition_expression,
            row_groups=[group.id for group in one.row_groups],
        )
        for one in fragments
    ]


def _columns(fragment: Any) -> dict[str, pa.DataType]:
    """Names and types of the columns in a file that something can be asked of, whatever it makes dictionaries of."""
    try:
        schema, metadata = fragment.physical_schema, fragment.metadata
    except (OSError, pa.ArrowException):
        raise ArgumentValueError(f"path: {fragment.path!r} is not a Parquet file, or cannot be read: {LINE}") from None
    if metadata.num_row_groups and metadata.num_columns and metadata.row_group(0).column(0).file_path:
        raise ArgumentValueError(f"path: {fragment.path!r} has no rows and only lists other files; name those: {LINE}")
    if len(set(schema.names)) < len(schema.names):
        raise ArgumentValueError(f"path: the columns of {fragment.path!r} must have different names")
    if RESERVED & set(schema.names):
        raise ArgumentValueError(
            f"path: no column may be named {min(RESERVED & set(schema.names))!r}, which Arrow uses itself: "
            "rewrite the files with another name"
        )
    return {field.name: plain_type(field.type) for field in schema if taken(field.type)}
