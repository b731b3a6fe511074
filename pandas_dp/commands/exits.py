"""How a command ends: one line on stderr and an exit code, never a traceback, which would show data.

A job that is told to end finishes the question under way, whose price is paid before its answer is there.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from pandas_dp.errors import (
    BudgetExceededError,
    DataFileError,
    LedgerError,
    PandasDPError,
    QueryFailedError,
    UnverifiedFrameError,
)

DONE, UNUSABLE, WRONG, DRY, INTERRUPTED = 0, 1, 2, 3, 130
STOPPED = 128  # and the number of the signal
CODES = """exit codes: 0 done; 1 the ledger or a file cannot be used, the ledger has the budget on other terms, or a question
failed after its charge; 2 the plan or an argument is wrong, nothing was charged for it; 3 over budget (earlier answers stay);
130 interrupted; 143 or 129 stopped by SIGTERM or SIGHUP, after the question under way"""


WRITTEN = (
    "the data files were written, moved or deleted since the command began: it stopped, and the next question was not charged. "
    "Run it again, under a new version if the content is new. While a job runs, write only files with new names"
)


class _Output:
    """Standard output or stderr: what cannot be written any more is dropped, and that it was is known."""

    def __init__(self, to: Any) -> None:
        self._to, self.lost = to, to is None
        if isinstance(to, io.TextIOWrapper):  # a letter that it has not got shall not lose an answer that is paid
            to.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write a text."""
        self._try(lambda: self._to.write(text))
        return len(text)

    def flush(self) -> None:
        """See that it is written."""
        self._try(lambda: self._to.flush())

    def isatty(self) -> bool:
        """Whether people look at it."""
        return not self.lost and bool(self._to.isatty())

    def _try(self, work: Callable[[], object]) -> None:
        try:
            if not self.lost:
                work()
        except (OSError, ValueError):
            self.lost = True
            with contextlib.suppress(OSError, ValueError):  # at its end Python writes once more, and would tell
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._to.fileno())


def ended(command: Callable[[], int], words: Callable[[str], str] = str, kept: str = "") -> int:
    """Carry out a command and return its exit code; whatever goes wrong is one line on stderr.

    `words` makes what is to be typed in code what is to be typed here, and `kept` says where answers are whose output is lost.
    """
    out: Any = _Output(sys.stdout)
    err: Any = _Output(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        if out.lost:
            return told("standard output is closed: nothing was asked", UNUSABLE)
        code = _carried_out(command, words)
        out.flush()
        lost = out.lost and code == DONE
        return told(f"standard output is closed or full: not all was written{kept}", UNUSABLE) if lost else code


def _carried_out(command: Callable[[], int], words: Callable[[str], str]) -> int:
    """See `ended`.

    Texts of the package's own errors hold nothing of the data. Those of any other could, and are left out, as are warnings.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return command()
    except BudgetExceededError as error:
        return told(words(str(error)), DRY)
    except UnverifiedFrameError:
        return told(WRITTEN, UNUSABLE)
    except (LedgerError, DataFileError, QueryFailedError) as error:
        return told(words(str(error)), UNUSABLE)
    except PandasDPError as error:
        return told(words(str(error)), WRONG)
    except KeyboardInterrupt:
        return told(
            "interrupted; answers that were paid for are in the ledger: the same command continues", INTERRUPTED
        )
    except Exception:  # noqa: BLE001 - its text may quote cells, and which one it is may follow from one
        return told("failed unexpectedly; the details are left out: they could show data", UNUSABLE)


def told(text: str, code: int) -> int:
    """Write one line on stderr and return the exit code."""
    print("pandas-dp: " + " ".join(text.split()), file=sys.stderr, flush=True)
    return code


# no SIGHUP on Windows
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
AGAIN = b"pandas-dp: finishes the question under way, which is paid; Ctrl-C again ends it, and its answer is lost\n"


@contextlib.contextmanager
def finishing() -> Iterator[Callable[[], int | None]]:
    """Note SIGTERM, SIGHUP and the first Ctrl-C until the block ends, and do nothing else about them.

    Yields a function: which of them came first, None for none. One that was ignored before, as by nohup, stays ignored.
    A second Ctrl-C ends a question as ever, and SIGKILL everything.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT:
            if number in came:
                raise KeyboardInterrupt
            with contextlib.suppress(OSError):
                os.write(2, AGAIN)  # what is printed under way might be in the middle of a line of its own
        came.append(number)

    former = {one: signal.getsignal(one) for one in SIGNALS}
    main = threading.current_thread() is threading.main_thread()
    noted = [one for one, handler in former.items() if main and handler is not None and handler != signal.SIG_IGN]
    try:
        for one in noted:
            signal.signal(one, note)
        yield lambda: came[0] if came else None
    finally:
        for one in noted:
            signal.signal(one, former[one])
