"""Which interrupts are real: a signal brings those, while a cell's code and a user's function may raise what they like."""

from __future__ import annotations

import _signal as handlers  # type: ignore[import-not-found]  # `signal` looks for a word for each handler: a fortieth of a call
import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

WATCHED = (signal.SIGINT, signal.SIGTERM)


class _Here(threading.local):
    """Of each thread, of which only the main one ever runs handlers of signals."""

    brought: type[BaseException] | None = None


_here = _Here()


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """While data are looked at, note whether the signal of Ctrl-C, or to terminate, made the process's own handler raise.

    For all inputs: `stop` raises after this only where a signal came meanwhile, never for what code merely raised. The
    handler that was there does what it always does, and is there again afterwards, whatever a user's function put there.
    """
    _here.brought = None
    main = threading.current_thread() is threading.main_thread()
    known: dict[int, Any] = {number: handlers.getsignal(number) for number in WATCHED if main}
    former = {number: handler for number, handler in known.items() if callable(handler)}

    def note(number: int, frame: FrameType | None) -> None:
        try:
            former[number](number, frame)
        except BaseException as error:
            _here.brought = SystemExit if isinstance(error, SystemExit) else KeyboardInterrupt
            raise

    try:
        for number in former:
            handlers.signal(number, note)
        yield
    finally:
        for number, handler in former.items():
            handlers.signal(number, handler)


def stop(text: str = "") -> None:
    """End what runs where a signal ended it, also if a user's function has caught what the handler raised.

    The stop with a text is the last one of a question, and forgets the signal: what an owner does next is not ended.

    Raises
    ------
    KeyboardInterrupt, SystemExit
    """
    if came := _here.brought:
        _here.brought = None if text else came
        raise came(text)
