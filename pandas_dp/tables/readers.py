"""Frames read from files: pandas reads, the package remembers which file it was, so that cells that run again cost nothing.

Remembered are the file's identity and times of its last change, never its content, size or a checksum. So one thing is public
beside the program's text: when the file was written.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
import uuid
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pandas as pd
import pyarrow as pa

from pandas_dp.errors import ArgumentTypeError, ArgumentValueError, did_you_mean
from pandas_dp.facts.argument_help import example
from pandas_dp.facts.public_only import READ
from pandas_dp.tables.arrow_frames import as_declared, attributes_of, dictionaries, feather_table, plain_type, taken

T = TypeVar("T")
Stamp = tuple[int, int, int, int]

# nanoseconds after a change; before, another one may leave the time as it is where clocks are coarse
SETTLED = 2 * 10**9
MOST_NOTED, MOST_MARKED = 1000, 100_000  # files and options: no service that reads many fills its memory with them
# files that are noted are those that Arrow reads unasked, with as many groups of rows as there are
NOT_TAKEN = dict.fromkeys(("ignore_prefixes", "thrift_string_size_limit", "thrift_container_size_limit"), "")
NOT_TAKEN |= dict.fromkeys(("storage_options", "to_pandas_kwargs", "read_dictionary", "binary_type", "list_type"), "")
NOT_TAKEN |= {  # with what to do instead
    "use_pandas_metadata": "",
    "filters": "; keep rows by a step, df.dp.query('age > 30')",  # which Arrow can do, or cannot, for what a cell is
}
HIVE = "pyarrow.dataset.partitioning(pyarrow.schema([('year', pyarrow.int32())]), flavor='hive')"
LOCAL = ("file", "local")  # schemes of URLs of files on this machine
BY_VALUE = (type(None), bool, int, float, str, bytes)


class ByObject(dict[int, tuple["weakref.ref[pd.DataFrame]", T]], Generic[T]):
    """What is known of frames as objects, while they live."""

    def remember(self, frame: pd.DataFrame, known: T) -> None:
        """Know something of this very object."""
        number = id(frame)

        def forget(dead: weakref.ref[pd.DataFrame]) -> None:
            if number in self and self[number][0] is dead:
                del self[number]

        self[number] = (weakref.ref(frame, forget), known)

    def of(self, frame: pd.DataFrame) -> T | None:
        """What is known of this very object, if anything."""
        entry = self.get(id(frame))
        return entry[1] if entry is not None and entry[0]() is frame else None


@dataclass(frozen=True)
class Read:
    """Where a frame was read.

    Attributes
    ----------
    token : str or None
        The name of what stood in the file, the same while it is not written; None where that cannot be told. What stands in
        the frame by now is not known.
    names : frozenset
        What tells the file from others, see `names_of`; empty for public data.
    folder : str
    """

    token: str | None
    names: frozenset[Any]
    folder: str


frames: ByObject[Read] = ByObject()  # those that the readers returned
# by the mark of a frame: names of the files that it was read from
_marked: OrderedDict[str, frozenset[Any]] = OrderedDict()
_noted: OrderedDict[Any, tuple[tuple[Stamp, ...], str]] = OrderedDict()  # by what was read: of when, and its name


def stamp(path: str) -> Stamp:
    """Which file this is, and when its content and its entry in the folder were changed last; never how large it is."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def twice(stamps: Sequence[Stamp]) -> bool:
    """Whether a file is among these under two names, as links and ``visits/**`` give them: a row of it would be several."""
    return len({which[:2] for which in stamps}) < len(stamps)


def names_of(paths: Iterable[str], stamps: Iterable[Stamp]) -> frozenset[Any]:
    """What tells files from others: where they lie, and, of one that has two names or was moved, which one it is.

    With the time when it was written, which a move leaves: the number of a file that is gone may be that of a new one.
    """
    return frozenset({os.path.realpath(path) for path in paths} | {which[:3] for which in stamps})


def names_behind(frame: pd.DataFrame) -> frozenset[Any]:
    """What tells the files that a frame was read from, or one that pandas made it of."""
    known = frames.of(frame)
    return known.names if known is not None else names_marked(frame.attrs)


def names_marked(attributes: dict[Any, Any]) -> frozenset[Any]:
    """What tells the files of which ``attrs`` have the marks."""
    return frozenset().union(*(_marked.get(mark, ()) for mark in str(attributes.get(READ, "")).split()))


def note(key: Any, started: int, before: tuple[Stamp, ...], after: tuple[Stamp, ...]) -> str | None:
    """The name of what was read, the same for the same key as long as its files are not written.

    Parameters
    ----------
    key : hashable
        What was read and how, from public arguments alone.
    started : int
        When, in nanoseconds: how long it took depends on the cells.
    before, after : tuple of stamps
        Of all files, before and after they were read.

    Returns
    -------
    str or None
        None where they were written meanwhile, or so shortly before that a further change could leave the time as it is.
    """
    if before != after or started - max(changed for *_, changed in after) < SETTLED:
        return None
    known = _noted.get(key)
    if known is None or known[0] != after:
        known = after, f"read-{uuid.uuid4().hex}"
    _keep(_noted, key, known, MOST_NOTED)
    return known[1]


def _keep(held: OrderedDict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Hold a value, and no more than so many, the oldest of which goes."""
    held[key] = value
    held.move_to_end(key)
    if len(held) > most:
        held.popitem(last=False)


def read(reader: Callable[..., Any], path: Any, options: dict[str, Any], public: bool = False) -> Any:
    """Let a function of pandas read a path, or Arrow in its place; of files on this machine it is remembered which ones.

    With `public` the rows are, so that pandas reads them, and several budgets may have them.
    """
    called = reader.__name__
    line = f"pandas_dp.{called}('visits.{called.removeprefix('read_')}')"
    several = reader is pd.read_parquet
    kinds = (str, os.PathLike, list, tuple) if several else (str, os.PathLike)
    if not isinstance(path, kinds) and not hasattr(path, "read"):
        raise ArgumentTypeError(f"path must be a path{', a list of these' if several else ''} or an open file: {line}")
    known = _options(reader)
    if unknown := [
        name for name in options if name not in known and (options[name] is not None or name not in NOT_TAKEN)
    ]:
        instead = NOT_TAKEN.get(unknown[0], did_you_mean(unknown[0], sorted(known)))
        raise ArgumentTypeError(f"{called}() takes no {unknown[0]}={instead}: {line}")
    options = {option: value for option, value in options.items() if option in known}
    of_arrow = reader is not pd.read_csv and not public
    if of_arrow:
        _check_arrow(path, options, line)
    files = [] if any(options.get(name) is not None for name in ("filesystem", "storage_options")) else _files(path)
    started, before = time.time_ns(), stamps_of(files)
    if twice(before):
        raise ArgumentValueError(f"path: a file is named twice, so that its rows would count twice: {line}")
    # what Arrow and pandas say may quote a cell, or tell where it is; of public rows it may
    odd: tuple[type[Exception], ...] = (OSError, pd.errors.EmptyDataError) if public else (Exception,)
    refused = ""
    try:
        if of_arrow:
            table = (_parquet if several else _feather)(_local(path), options, line)
            frame = as_declared(table, arrow=options.get("dtype_backend") == "pyarrow")
        else:
            frame = reader(path, **options)
    except ArgumentValueError:
        raise
    except FileNotFoundError:
        refused = f"path: there is no file {path!r}: {line}"
    except odd as error:
        how = " with these options; it may need encoding='latin-1', sep=';' or another dtype=" * (reader is pd.read_csv)
        why = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else how
        refused = f"path: {path!r} cannot be read{why}. pandas.{called}(...) says more, and may quote cells: {line}"
        end = os.path.splitext(path)[1] if isinstance(path, str) else ""
        if end in (".csv", ".parquet", ".feather") and called != f"read_{end[1:]}":
            refused = f"path: {path!r} is no file of {called}(): pandas_dp.read_{end[1:]}({path!r})"
    if refused:  # outside of the handler, so that the error carries nothing of Arrow's
        raise ArgumentValueError(refused)
    if not isinstance(frame, pd.DataFrame):
        return frame
    if before and (after := stamps_of(_files(path))):
        parts = [[part for part in os.path.abspath(path).split(os.sep) if "=" in part] for path in files]
        token = note((called, tuple(map(os.path.realpath, files)), repr(parts), repr(options)), started, before, after)
        names = frozenset() if public else names_of(files, before) | names_behind(frame)
        held = Read(token if _by_value(options) else None, names, os.path.dirname(os.path.abspath(files[0])))
        frames.remember(frame, held)
        if names:
            mark = hashlib.sha256(repr(sorted(map(repr, names))).encode("utf-8", "surrogatepass")).hexdigest()[:32]
            _keep(_marked, mark, names, MOST_MARKED)
            frame.attrs[READ] = mark
    return frame


def _options(reader: Callable[..., Any]) -> set[str]:
    """The options that a reader takes, those included that pandas hands to Arrow."""
    known = {*list(inspect.signature(reader).parameters)[1:]}
    if reader is pd.read_parquet:
        from pyarrow.parquet import read_table  # not every program needs it

        known |= {*list(inspect.signature(read_table).parameters)[1:]}
    return known - {"kwargs"} if reader is pd.read_csv else known - NOT_TAKEN.keys() - {"kwargs"}


def _check_arrow(path: Any, options: dict[str, Any], line: str) -> None:
    """Refuse what would keep the dtypes from following the schema of the file."""
    if isinstance(path, str) and "://" in path and not options.get("filesystem") and _local(path) == path:
        raise ArgumentValueError(f"path: Arrow reads no URL; copy the file to this machine: {line}")
    default = pd.api.extensions.no_default
    if options.get("dtype_backend", default) not in (default, "pyarrow"):
        raise ArgumentValueError(f"dtype_backend: leave it out, or type 'pyarrow': {line}")
    if options.get("engine", default) not in (default, "pyarrow", "auto"):
        raise ArgumentValueError(f"engine: files are read by pyarrow, so leave it out: {line}")


def _parquet(source: Any, options: dict[str, Any], line: str) -> pa.Table:
    import pyarrow.dataset as ds  # not every program needs it
    from pyarrow.parquet import ParquetDataset, read_table

    given = {name: value for name, value in options.items() if name not in ("engine", "dtype_backend")}
    if "partitioning" not in given:  # of which Arrow would guess the types from all names
        columns = [] if given.get("filesystem") is not None else _folders(source)
        given["partitioning"] = ds.partitioning(pa.schema([(name, pa.string()) for name in columns]), flavor="hive")
    if not isinstance(given["partitioning"], ds.Partitioning | None):
        raise ArgumentValueError(f"partitioning: name the types: pandas_dp.read_parquet('visits', partitioning={HIVE})")
    whose = ("filesystem", "partitioning", "decryption_properties")
    whole = ParquetDataset(source, **{name: given[name] for name in whose if name in given})
    if not whole.fragments:
        raise FileNotFoundError
    held: dict[str, pa.DataType] = {}
    for schema in (*(fragment.physical_schema for fragment in whole.fragments), given.get("schema") or ()):
        if typed := next(
            (f for f in schema if held.setdefault(f.name, plain_type(f.type)) != plain_type(f.type)), None
        ):
            raise ArgumentValueError(
                f"path: a column must have the same type in all files and in schema=, and this is not so for "
                f"{typed.name!r}: read the files one by one, or rewrite them with the same types"
            )
    lacking = {name for fragment in whole.fragments for name in held.keys() - {*fragment.physical_schema.names}}
    if lacking and given.get("schema") is None:
        raise ArgumentValueError(
            f"path: files must have the same columns, and not all have {min(lacking)!r}; read them one by one, or name all "
            "columns and their types: schema=pyarrow.schema({'age': pyarrow.int64()})"
        )
    if given.get("schema") is not None:  # of dictionaries Arrow would make their narrow indices
        given["schema"] = pa.schema([(field.name, plain_type(field.type)) for field in given["schema"]])
    _check_taken(whole.schema if given.get("schema") is None else given["schema"], given.get("columns"), line)
    given["read_dictionary"] = [
        *{name for fragment in whole.fragments for name in dictionaries(fragment.physical_schema)}
    ]
    said = {"attributes": attributes_of(fragment.physical_schema for fragment in whole.fragments)}
    table = read_table(source, **given | {"use_pandas_metadata": False})
    return table.replace_schema_metadata({"pandas": json.dumps(said)})


def _feather(source: Any, options: dict[str, Any], line: str) -> pa.Table:
    columns = options.get("columns")

    def chosen(schema: pa.Schema) -> list[int]:
        _check_taken(schema, columns, line)
        return [place for place, name in enumerate(schema.names) if columns is None or name in columns]

    table = feather_table(source, chosen)
    return table if columns is None else table.select(list(columns))


def _check_taken(schema: pa.Schema, columns: Any, line: str) -> None:
    """Check that the columns that are read are there, are some, and are of types that can be asked about."""
    wanted = schema.names if columns is None else list(columns)
    if unknown := [name for name in wanted if name not in schema.names]:  # such as a path to a field of a structure
        raise ArgumentValueError(f"columns: there is no {unknown[0]!r}{did_you_mean(unknown[0], schema.names)}: {line}")
    kept = [name for name in wanted if all(taken(field.type) for field in schema if field.name == name)]
    if others := [name for name in wanted if name not in kept]:
        anew = "write it anew with columns of numbers, text, days or moments"
        advised = f"{line[:-1]}, columns={kept!r})" if kept else anew
        held = schema.field(schema.get_all_field_indices(others[0])[0]).type
        raise ArgumentValueError(f"path: nothing can be asked of {others[0]!r}, of type {held}: {advised}")
    if not wanted:
        raise ArgumentValueError(f"columns: name one, or leave it out: {line}")


def _local(path: Any) -> Any:
    """A path on this machine as the text that it is opened by, without ``~`` and ``file://``; anything else as it is."""
    if isinstance(path, list | tuple):
        return list(map(_local, path))
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        return path
    if name.split(":")[0].lower() not in LOCAL:
        return os.path.expanduser(name)
    from urllib import parse, request  # and all that speaks to servers: importing the package shall cost little

    return request.url2pathname(parse.urlsplit(name).path)


def _files(path: Any) -> list[str]:
    """The files on this machine that a path, a directory or a list of these stands for; none where one is something else."""
    found = []
    for name in _local(path if isinstance(path, list | tuple) else [path]):
        if not isinstance(name, str) or not os.path.exists(name):
            return []
        found += below(name) if os.path.isdir(name) else [name]
    return found


def below(folder: str, failed: Callable[[OSError], None] | None = None) -> list[str]:
    """Files of a directory and those below it that Arrow reads: no hidden ones, and no notes of programs."""
    files = []
    for place, folders, names in os.walk(folder, onerror=failed, followlinks=True):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        files += [os.path.join(place, name) for name in sorted(names) if name[0] not in "._"]
    return files


def _folders(path: Any) -> list[str]:
    """Names of columns that stand in names of directories, such as ``year=2026``, as Arrow finds them."""
    above = "" if isinstance(path, list | tuple) else _local(path)
    parts = [part for file in _files(path) for part in os.path.dirname(file).removeprefix(above).split(os.sep)]
    return [*dict.fromkeys(part.partition("=")[0] for part in parts if "=" in part)]


def stamps_of(files: Iterable[str]) -> tuple[Stamp, ...]:
    """Of all files; of none where one is gone."""
    try:
        return tuple(map(stamp, files))
    except OSError:
        return ()


def _by_value(option: Any) -> bool:
    """Whether the text of an option is all of it: that of an array or a function is not."""
    if type(option) is dict:
        return all(_by_value(entry) for pair in option.items() for entry in pair)
    return all(map(_by_value, option)) if type(option) in (list, tuple) else type(option) in BY_VALUE


@example("pandas_dp.read_parquet('visits.parquet')")
def read_parquet(path: Any, **options: Any) -> pd.DataFrame:
    """Read a Parquet file like ``pandas.read_parquet``, and remember the file, so that repeated questions are free.

    Parameters
    ----------
    path : str, path or list
        A file or a directory on this machine (also with ``~`` or ``file://``), or a list of files. An open file, and a file
        read with ``filesystem=``, are not remembered: each time it is a new table, which may get another budget.
    **options
        Of ``pandas.read_parquet``, without ``filters`` (use steps), ``storage_options``, ``to_pandas_kwargs`` and
        ``ignore_prefixes`` (in a directory, files whose names start with a dot or an underscore are not read).

    Returns
    -------
    DataFrame

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        There is no such file, it cannot be read, or a column has a type about which nothing can be asked, such as bytes, times
        of the day or structures; the message gives the line with the other ``columns=``.

    Notes
    -----
    If the file is read again in the same way while its session is open, and nobody has written it since, ``df.dp.protect``
    takes it for the same table, as it was first protected, and stored answers are returned. After ``session.close()``, and in
    other processes, it is new content; there type a ``version``. A file that was written is new content, too, even if no byte
    changed: contents are never compared, because whether they are equal is private. **So it is public when a file is
    written.** If a program writes the file only if something changed, read it with pandas, and type a ``version`` such as the
    day or the number of the run.

    Dtypes follow from the schema of the file, whatever cells are missing. (pandas would turn integers with missing cells into
    floats, which rounds large numbers, and bools into objects.) Columns of integers have dtypes such as ``Int64``, and bools
    ``boolean``. Text is ``str``, even if the file holds it as categories. Days and decimals have Arrow's dtypes, and lists are
    Python's. A cell that cannot be converted, such as a list with a date in the year 10000, is missing; bytes that are not text
    become replacement characters. In several files, columns of one name must have one type. Names of directories, such as
    ``year=2026``, become text, unless ``partitioning=`` gives their types. The index becomes columns, or is left out if it
    has no name.

    A file is remembered from two seconds after it was written. Prepare rows by steps, such as ``df.dp.fillna(...)``, which are
    part of the question. What pandas makes of the frame is another table, and gets no other budget than that of the file.

    Examples
    --------
    >>> import os, tempfile, pandas as pd, pandas_dp
    >>> path = os.path.join(tempfile.mkdtemp(), "ages.parquet")
    >>> pd.DataFrame({"age": [31, 45, 62]}).to_parquet(path)
    >>> pandas_dp.read_parquet(path)["age"].tolist()
    [31, 45, 62]
    """
    return read(pd.read_parquet, path, options)  # type: ignore[no-any-return]


@example("pandas_dp.read_csv('visits.csv', dtype={'age': 'Int64'})")
def read_csv(path: Any, **options: Any) -> pd.DataFrame:
    r"""Read a CSV file like ``pandas.read_csv``, and remember it, so that repeated questions are free; see `read_parquet`.

    Parameters
    ----------
    path : str or path
    **options
        Of ``pandas.read_csv``. Give ``dtype=``: kinds of columns are public, and otherwise pandas guesses them from the cells:
        one letter turns a column of numbers into text. With ``chunksize=`` or ``iterator=``, the parts are not remembered.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import os, tempfile, pandas_dp
    >>> path = os.path.join(tempfile.mkdtemp(), "ages.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("age\n31\n45\n")
    >>> pandas_dp.read_csv(path, dtype={"age": "Int64"})["age"].tolist()
    [31, 45]
    """
    return read(pd.read_csv, path, options)  # type: ignore[no-any-return]


@example("pandas_dp.read_feather('visits.feather')")
def read_feather(path: Any, **options: Any) -> pd.DataFrame:
    """Read a Feather file like ``pandas.read_feather``, and remember it: repeated questions are free; see `read_parquet`.

    Parameters
    ----------
    path : str or path
        Of the second version of the format, which is Arrow's own.
    **options
        Of ``pandas.read_feather``.

    Returns
    -------
    DataFrame

    Examples
    --------
    >>> import os, tempfile, pandas as pd, pandas_dp
    >>> path = os.path.join(tempfile.mkdtemp(), "ages.feather")
    >>> pd.DataFrame({"age": [31, 45, 62]}).to_feather(path)
    >>> pandas_dp.read_feather(path)["age"].tolist()
    [31, 45, 62]
    """
    return read(pd.read_feather, path, options)  # type: ignore[no-any-return]
