"""How a command ends: one line on stderr and an exit code, never a traceback, which would show data."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable

from pandas_dp.errors import BudgetExceededError, DataFileError, LedgerError, PandasDPError, QueryFailedError

DONE, UNUSABLE, WRONG, DRY, INTERRUPTED = 0, 1, 2, 3, 130
CODES = """exit codes: 0 done; 1 the ledger or a file cannot be used, or a question failed after its charge; 2 the plan or an
argument is wrong, nothing was charged for it; 3 over budget (earlier answers stay); 130 interrupted"""


def ended(command: Callable[[], int], words: Callable[[str], str] = str) -> int:
    """Carry out a command and return its exit code; whatever goes wrong is one line on stderr.

    `words` makes what is to be typed in code what is to be typed here. Texts of the package's own errors hold nothing of the
    data. Those of any other could, and are left out, as are warnings.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a letter that it has not got shall not lose an answer that is paid
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return command()
    except BudgetExceededError as error:
        return told(words(str(error)), DRY)
    except (LedgerError, DataFileError, QueryFailedError) as error:
        return told(words(str(error)), UNUSABLE)
    except PandasDPError as error:
        return told(words(str(error)), WRONG)
    except KeyboardInterrupt:
        return told("interrupted; answers that were paid for are in the ledger: the same command goes on", INTERRUPTED)
    except Exception:  # noqa: BLE001 - its text may quote cells, and which one it is may follow from one
        return told("failed unexpectedly; the details are left out: they could show data", UNUSABLE)


def told(text: str, code: int) -> int:
    """Write one line on stderr and return the exit code."""
    print("pandas-dp: " + " ".join(text.split()), file=sys.stderr)
    return code
