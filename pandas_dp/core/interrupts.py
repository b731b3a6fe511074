"""Which interrupts are real: a signal brings those, while a cell's code and a user's function may raise what they like."""

from __future__ import annotations

import _signal as handlers  # type: ignore[import-not-found]  # `signal` looks for a word for each handler: a fortieth of a call
import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class _Here(threading.local):
    """Of each thread, of which only the main one ever runs handlers of signals."""

    brought = False


_here = _Here()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """While data are looked at, note whether the signal of Ctrl-C made the process's own handler raise.

    For all inputs: `stop` raises after this only where a signal came meanwhile, never for what code merely raised. The
    handler that was there does what it always does, and is there again afterwards, whatever a user's function put there.
    """
    former = handlers.getsignal(signal.SIGINT)
    _here.brought = False
    if threading.current_thread() is not threading.main_thread() or not callable(former):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        try:
            former(number, frame)
        except BaseException:
            _here.brought = True
            raise

    try:
        handlers.signal(signal.SIGINT, note)
        yield
    finally:
        handlers.signal(signal.SIGINT, former)


def stop(text: str = "") -> None:
    """End what runs where a signal ended it, also if a user's function has caught what the handler raised.

    The stop with a text is the last one of a question, and forgets the signal: what an owner does next is not ended.

    Raises
    ------
    KeyboardInterrupt
    """
    if _here.brought:
        _here.brought = not text
        raise KeyboardInterrupt(text)
