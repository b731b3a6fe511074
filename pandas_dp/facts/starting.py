"""Ctrl-C while the command line starts ends it without a word: a traceback through the imports of pandas would tell nothing.

Imported before pandas is. A program that imports the package is left alone.
"""

from __future__ import annotations

import os
import signal
import sys

PROGRAMS = ("pandas-dp", "pandas-dp.exe")


def _command_line() -> bool:
    """Whether this process is ``pandas-dp`` or ``python -m pandas_dp``."""
    name, line = sys.argv[0] if sys.argv else "", sys.orig_argv
    return line[line.index("-m") + 1] == "pandas_dp" if name == "-m" else os.path.basename(name) in PROGRAMS


def started() -> None:
    """Let Ctrl-C raise `KeyboardInterrupt` from here on, as it does elsewhere."""
    if _quiet:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_quiet = _command_line() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _quiet:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
