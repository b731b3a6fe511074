"""Answers as files: each is there whole or not at all, and written by one job at a time.

Two jobs of one version would both pay, and publish two different answers; two in one directory would mix those of two versions.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import pandas as pd

from pandas_dp.errors import ArgumentValueError, DataFileError, LedgerBusyError, LedgerError
from pandas_dp.release.csv import BEGUN, UNFINISHED, distinct, guarded, is_ledger, one_name, replace_file, write_csv
from pandas_dp.release.values import Release

try:
    import fcntl
except ImportError:  # on Windows
    import msvcrt

LENGTH = 1 << 16  # where the lock lies: far beyond the text, which others read meanwhile


@contextlib.contextmanager
def one_job(ledger: str, table: str, version: str) -> Iterator[None]:
    """Keep other jobs of this version out until the block ends, or the process does, in whatever way.

    Raises
    ------
    LedgerBusyError
        Another job runs. Its text says since when, and which process it is.
    LedgerError
        There can be no file beside the ledger.
    """
    ledger = os.path.realpath(ledger)
    name = hashlib.sha256(f"{table}\0{version}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(held(f"{ledger}-{name}.job", f"runs version {version!r} of {table!r}"))
        except OSError:
            raise LedgerError(f"no file can be written beside {ledger}: a job needs one as a lock") from None
        yield


@contextlib.contextmanager
def held(path: str, what: str) -> Iterator[None]:
    """Hold a lock until the block ends; `what` another job does that holds it.

    The lock is the operating system's, on a file that says who runs: there are no stale ones.

    Raises
    ------
    LedgerBusyError, OSError
    """
    try:
        file = _held(path)
    except BlockingIOError:
        raise LedgerBusyError(
            f"another job {what}{_who(path)}: when it has ended, start this one again; what was answered "
            "of the same day or version costs nothing"
        ) from None
    with file:
        file.truncate(0)
        file.write(f"since {time.strftime('%Y-%m-%d %H:%M:%S %z')}, process {os.getpid()}".encode())
        file.flush()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # on Windows an open file stays
                os.unlink(path)


def _held(path: str) -> IO[bytes]:
    """The file, locked. One that its job removed meanwhile keeps nobody out, so another is made."""
    while True:
        # never through a link, which might lead to a file of somebody's
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666), "r+b")
        try:
            _lock(file)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                    return file
        except OSError:
            file.close()
            raise
        file.close()


def _lock(file: IO[bytes]) -> None:
    """Lock a file that is open, or raise BlockingIOError."""
    if os.name != "nt":
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    file.seek(LENGTH)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # there alone
    except PermissionError:
        raise BlockingIOError from None


def _who(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return f", {text}" if (text := file.read(100)) else ""
    except (OSError, ValueError):
        return ""


FORMATS = ("json", "csv", "parquet")
FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\.(json|csv|parquet)", re.ASCII)  # of an answer
LOCK = ".pandas-dp.job"  # which a job holds while it writes there
LONG = 60  # seconds: a file that was not written to for so long is no job's that runs


class AnswerFiles:
    """A directory of answers and the index that lists them.

    Parameters
    ----------
    directory : str
        Made where it is missing.
    form : {"json", "csv", "parquet"}
        Every answer is written as JSON with all that is known of it; beside it its table, for the latter two.

    facts : mapping, optional
        Budget, table, version and package, which every file of an answer bears.

    Attributes
    ----------
    removed : int
        How many files that killed jobs left unfinished were removed.

    Raises
    ------
    DataFileError
        Nothing can be written there.
    """

    def __init__(self, directory: str, form: str, facts: Mapping[str, str] | None = None) -> None:
        self._directory, self._form, self._facts = directory, form, dict(facts or {})
        self._entries: list[dict[str, Any]] = []
        self._files: set[str] = set()
        with self._writing():
            os.makedirs(directory, exist_ok=True)
            tempfile.TemporaryFile(dir=directory).close()  # before anything is charged
            self.removed = self._tidy()

    def _tidy(self) -> int:
        """Remove what killed jobs had begun to write, and return how many files that were."""
        removed = 0
        with os.scandir(self._directory) as found:
            for file in found:
                if file.name.startswith(BEGUN) and file.name.endswith(UNFINISHED):
                    with contextlib.suppress(OSError):  # another job was faster
                        if not is_ledger(file.path) and time.time() - file.stat(follow_symlinks=False).st_mtime > LONG:
                            os.unlink(file.path)
                            removed += 1
        return removed

    @contextlib.contextmanager
    def alone(self) -> Iterator[AnswerFiles]:
        """Keep other jobs, which may have another version, out of the directory until the block ends.

        Raises
        ------
        LedgerBusyError, DataFileError
        """
        with contextlib.ExitStack() as stack:
            with self._writing():
                stack.enter_context(held(self._place(LOCK), f"writes to {self._directory}"))
            yield self

    def set_aside(self, names: Iterable[str]) -> None:
        """Move answers that a directory holds of another budget, table or version into one of their own, below it.

        Answers of questions that this plan has no more go there, too: what lies in the directory is of one plan and version.
        Files that no index lists are left alone, so every index lists all that its job may write, before it does. The index
        goes last, so that a job killed on the way goes on.
        """
        self._files = {f"{name}.{form}" for name in names for form in ("json", self._form)}
        path = self._place("index.json")
        try:
            with open(path, encoding="utf-8") as index:
                known = json.load(index)
            listed = {str(file) for entry in known["answers"] for file in entry["files"]}
            listed |= {str(file) for file in known.get("files", ())}
            same = all(known.get(fact) == self._facts[fact] for fact in self._facts if fact != "package")
            aside = _folder(str(known.get("version")))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return  # none yet, or no index of ours
        kept = {file for file in listed if same and file.rpartition(".")[0] in {*names}}
        old = sorted(file for file in listed - kept if FILE.fullmatch(file))
        self._files |= kept  # also in another format
        with self._writing():
            if old or not same:
                os.makedirs(self._place(aside), exist_ok=True)
            for file in [*old, *([] if same else ["index.json"])]:
                # not written yet, or moved before by a job that was killed
                with contextlib.suppress(FileNotFoundError):
                    os.replace(self._place(file), os.path.join(self._place(aside), file))

    def check_apart(self, names: Iterable[str], kept: Iterable[str]) -> None:
        """Refuse to write where a file that is kept is, or will be: an answer would replace the data or the ledger.

        Nor does one go into a directory of data, where the next job would take it for some.

        Raises
        ------
        ArgumentValueError
        """
        directory = os.path.realpath(self._directory)
        written = {f"{name}.{form}".lower() for name in names for form in {"json", self._form}} | {"index.json"}
        for path in kept:
            whole = os.path.realpath(path)
            if os.path.isdir(path) and os.path.commonpath([directory, whole]) == whole:
                raise ArgumentValueError(f"answers cannot lie in {path}, which holds the data: --out answers")
            for place in (os.path.abspath(path), whole):  # a link is lost as well
                parent, name = os.path.split(place)
                if os.path.realpath(parent) == directory and name.lower() in written:
                    raise ArgumentValueError(
                        f"an answer would replace {path}: name a directory of its own, --out answers"
                    )

    def add(self, name: str, release: Release, stored: bool) -> None:
        """Write an answer."""
        files = [f"{name}.json"]
        record = self._facts | json.loads(release.to_json())
        with self._writing():
            replace_file(self._place(files[0]), json.dumps(record, ensure_ascii=False).encode() + b"\n")
            if self._form != "json":
                files.append(f"{name}.{self._form}")
                table = release.table()
                if not isinstance(release.value, pd.Series | pd.DataFrame):
                    table = table.reset_index(drop=True)  # the name of the file says what a single number is
                replace_file(self._place(files[1]), _bytes(flat(table), self._form, release._comments()))
        kept = ("query", "price", "mechanism", "level", "notes")
        single = {} if isinstance(record["value"], dict) else {"value": record["value"], "interval": record["interval"]}
        entry = {"name": name, "files": files, "stored": stored}
        self._entries.append(entry | {key: record[key] for key in kept} | single)

    def index(self, **facts: Any) -> None:
        """Write what was answered so far, and facts about the whole."""
        when = {"written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        held = {"files": sorted(self._files), "answers": self._entries}
        text = json.dumps(self._facts | facts | when | held, indent=1, ensure_ascii=False)
        with self._writing():
            replace_file(self._place("index.json"), text.encode() + b"\n")

    def _place(self, name: str) -> str:
        return os.path.join(self._directory, name)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ArgumentValueError):
            raise DataFileError(
                f"answers cannot be written to {self._directory}: name another directory, --out DIR. Answers that were paid "
                "for are in the ledger: the same command gets them for free"
            ) from None


def _folder(version: str) -> str:
    """The directory of a version: its name, where a directory can have it."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", version).strip(".") or "_"
    return f"version {plain}" + f" {zlib.crc32(version.encode('utf-8', 'replace')):08x}" * (plain != version)


def flat(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its index as columns, and with plain names and values as files have them."""
    columns = [(_text(name, str(name)), table.iloc[:, place]) for place, name in enumerate(table.columns)]
    if not isinstance(table.index, pd.RangeIndex) or table.index.name is not None:
        levels = [table.index.get_level_values(level).to_series() for level in range(table.index.nlevels)]
        missing = [f"key {n}" if len(levels) > 1 else "key" for n in range(1, len(levels) + 1)]
        columns = [*zip(map(_text, table.index.names, missing), levels, strict=True), *columns]
    names = distinct(name for name, _ in columns)
    return pd.DataFrame({name: _plain(column) for name, (_, column) in zip(names, columns, strict=True)})


def _text(name: Any, missing: str) -> str:
    return missing if name is None else str(one_name(name))


def _plain(column: pd.Series[Any]) -> Any:
    """Numbers, truth values and dates as they are, anything else as text."""
    column = column.reset_index(drop=True)
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if column.dtype.kind in "biufM" and not isinstance(column.dtype, pd.SparseDtype):
        return column
    return column.map(str, na_action="ignore").astype("str")


def _bytes(table: pd.DataFrame, form: str, comments: list[str]) -> bytes:
    if form == "csv":
        return str(write_csv(guarded(table), comments, None, {"index": False})).encode()
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()
