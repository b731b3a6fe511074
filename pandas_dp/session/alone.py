"""Whose a frame is, and which budgets there are, is looked up and acted on by one thread at a time, once."""

from __future__ import annotations

import os
import threading

from pandas_dp.core.gate import check_outside
from pandas_dp.errors import PandasDPError

lock, _opening = threading.RLock(), threading.RLock()


def _new_lock() -> None:
    """A child of a fork must not wait for a thread that it does not have."""
    global lock, _opening
    lock, _opening = threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def check_alone() -> None:
    """Refuse what comes in the middle of an opening by its own thread, and what a user's function calls.

    Raises
    ------
    PandasDPError
    """
    check_outside()  # whether a user's function calls it may depend on a row, and would show
    if _opening._is_owned():  # type: ignore[attr-defined]
        raise PandasDPError(
            "pandas_dp was called in the middle of opening a budget, by a signal handler or a finalizer: open, join and "
            "ask before or after it"
        )


def opening() -> threading.RLock:
    """While a budget is opened or joined, other threads wait, and what comes in the middle of this one is refused.

    For all inputs: within ``with alone.lock, alone.opening():``, between the look whose a frame is, or which budgets there are,
    and what follows from it, nobody in this process changes the answer. The handler of a signal and a finalizer run in the
    thread that holds the lock, which would let them in; whose second one is held does not. Both are the interpreter's own, see
    `gate.closed`.

    Raises
    ------
    PandasDPError
    """
    check_alone()
    return _opening
