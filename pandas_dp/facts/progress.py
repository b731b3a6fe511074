"""A line on a terminal that says what takes long, how long it has been, and how far it is where that is public.

For all data: what is told are public texts and numbers alone, such as the call, files and blocks, never rows, batches or bytes.
When it is told follows from the time that passes, which is not hidden from whoever sits at the terminal.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 2.0  # seconds before there is a line
WIDEST = 100


class _Line:
    """The line of what is under way."""

    def __init__(self, what: str) -> None:
        self._what, self._wide, self._lock, self._over = what, 0, threading.Lock(), threading.Event()
        self._start = time.monotonic()
        self._next = self._start + PATIENCE
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def tell(self, what: str) -> None:
        """Say something else from now on, at once where it is time for it."""
        self._what = what
        if time.monotonic() >= self._next:
            self._show()

    def end(self) -> None:
        """Take the line away."""
        self._over.set()
        self._thread.join()
        if self._wide:
            self._write(" " * self._wide + "\r")

    def _watch(self) -> None:
        """Go on telling of work that tells nothing by itself."""
        while not self._over.wait(PATIENCE / 4 or 1):
            if time.monotonic() >= self._next:
                self._show()

    def _show(self) -> None:
        with self._lock:
            now = time.monotonic()
            self._next = now + PATIENCE / 8
            line = f"pandas_dp {self._what[:WIDEST]}, {now - self._start:.0f} s"
            self._write(line.ljust(self._wide))
            self._wide = max(self._wide, len(line))

    def _write(self, line: str) -> None:
        with contextlib.suppress(Exception):  # a terminal that is gone or closed shall not cost the answer
            sys.stderr.write(f"\r{line}")
            sys.stderr.flush()


_shown: list[_Line] = []  # at most one


_NONE = contextlib.nullcontext()


def shown(*what: object) -> contextlib.AbstractContextManager[None]:
    """Show a line where this takes long and people look on: on a terminal, never in a file, a pipe or a saved notebook.

    Its words are made only there.
    """
    try:
        terminal = sys.stderr.isatty()
    except Exception:  # noqa: BLE001 - closed, or none
        terminal = False
    return _shown_while(what) if terminal and not _shown else _NONE


@contextlib.contextmanager
def _shown_while(what: tuple[object, ...]) -> Iterator[None]:
    line = _Line(" ".join(map(str, what)))
    _shown.append(line)
    try:
        yield
    finally:
        _shown.remove(line)
        line.end()


def tell(what: str) -> None:
    """Say what is done, in public words, where there is a line."""
    for line in _shown:
        line.tell(what)
