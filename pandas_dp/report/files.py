"""Files that the package writes: each is there whole or not at all, and never what a link points to."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress

from pandas_dp.errors import ArgumentValueError

BEGUN, UNFINISHED = ".pandas-dp-", ".part"  # the name of a file that is being written
LEDGER = b"SQLite format 3\0"  # as every ledger starts


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place and move it there at one stroke: readers never see half of it.

    A link of this name is replaced, and so is one of several names of a file: what else they stand for stays as it was.

    Raises
    ------
    ArgumentValueError
        A folder or device, or a ledger, whose budgets could be spent once more if it were lost.
    OSError
        It cannot be written; a file that was there is as it was.
    """
    name = os.fspath(path)
    if name.endswith(("-journal", "-wal")):
        raise ArgumentValueError("path names what a ledger may have beside it, which would be lost: 'report.html'")
    if os.path.exists(name):
        if not os.path.isfile(name):
            raise ArgumentValueError("path must be the name of a file, not of a folder or device: 'report.html'")
        with suppress(OSError), open(name, "rb") as file:
            if file.read(len(LEDGER)) == LEDGER:
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
        if error.filename is not None:
            error.filename, error.filename2 = name, None  # as the caller wrote it
        raise
    finally:
        with suppress(OSError, ValueError):
            os.unlink(temporary)
