"""A job that is told to end finishes the question under way, whose price is paid before its answer is there."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # no SIGHUP on Windows
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
