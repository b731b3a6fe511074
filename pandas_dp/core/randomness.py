"""The only place that reads entropy, and random real numbers known to as many bits as were needed.

Everything random in the package is a function of bytes from the operating system. There is no seed, no
generator of our own, no process-wide buffer and no fallback: a sampler asks for fresh bytes in each call, so
a fork, a thread or a copied process can never see a word twice, and when the operating system has no entropy
the call fails. What is computed on another machine, and perhaps again when that one is lost, must not change: it
gets a fresh secret with its query, and no noise is drawn there.

Samplers take a `Fill`, the source of their bytes, so that tests can make rare coincidences common.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Fill = Callable[[int], bytes]
"""count -> exactly `count` independent, uniformly random bytes."""


def random_bytes(count: int) -> bytes:
    """Return `count` bytes of the operating system's cryptographic generator.

    Raises
    ------
    OSError, NotImplementedError
        The operating system has no entropy to give. Nothing else is ever used in its place.
    """
    return os.urandom(count)  # looked up at each call: whoever replaces os.urandom is heard


def expanded(secret: bytes, number: int) -> Fill:
    """Return a source of bytes that follows from a secret: whoever works again on part `number` of it draws the same.

    The bytes of each call are SHAKE-256 of the secret, the part's number and the call's number. For 32 fresh bytes of
    `random_bytes`, used in one query, nobody without them tells these bytes from independent uniform ones, of however many
    parts and calls, as nobody tells those of an operating system, which expands a secret by a cipher as well.
    """
    calls = itertools.count()

    def fill(count: int) -> bytes:
        return hashlib.shake_256(secret + number.to_bytes(8) + next(calls).to_bytes(8)).digest(count)

    return fill


def random_words(
    count: int, fill: Fill = random_bytes, dtype: type[np.unsignedinteger[Any]] = np.uint64
) -> NDArray[Any]:
    """Return `count` independent uniform words as a read-only array of shape (count,)."""
    return np.frombuffer(fill(count * np.dtype(dtype).itemsize), dtype=dtype, count=count)


class Bits:
    """A stream of uniform words for one call of a sampler.

    Parameters
    ----------
    fill : Fill
        Where the bytes come from.
    width : int
        Bits in a word, 1 to 64. Short words change no law, they only make ties common: that is how tests
        reach them.
    size : int
        Words fetched at once.
    """

    __slots__ = ("_drop", "_fill", "_size", "_words", "width")

    def __init__(self, fill: Fill = random_bytes, width: int = 64, size: int = 16) -> None:
        self.width = width
        self._fill = fill
        self._size = size
        self._drop = 64 - width
        self._words: list[int] = []

    def word(self) -> int:
        """Return the next word, an integer in [0, 2**width)."""
        try:
            return self._words.pop()
        except IndexError:
            self._refill()
            return self._words.pop()

    def _refill(self) -> None:
        words = memoryview(self._fill(8 * self._size)).cast("Q").tolist()
        self._words = [word >> self._drop for word in words] if self._drop else words


class Lazy:
    """A random real number in [a, a + 1] / 2**n whose further bits are uniform and not yet drawn.

    A decision is taken only when it is the same for the whole interval; otherwise `extend` draws more bits of
    the *same* number. Drawing a new number instead would bias the law.
    """

    __slots__ = ("a", "bits", "n")

    def __init__(self, bits: Bits, a: int, n: int) -> None:
        self.bits = bits
        self.a = a
        self.n = n

    @classmethod
    def uniform(cls, bits: Bits) -> Lazy:
        """Return a number uniform on [0, 1] of which one word is known."""
        return cls(bits, bits.word(), bits.width)

    def extend(self) -> None:
        """Draw one more word of the number."""
        width = self.bits.width
        self.a = self.a << width | self.bits.word()
        self.n += width


def less(x: Lazy, y: Lazy) -> bool:
    """Return whether x < y, for two independent numbers; bits are drawn until they differ."""
    while True:
        if x.n < y.n:
            x.extend()
        elif y.n < x.n:
            y.extend()
        elif x.a != y.a:
            return x.a < y.a
        else:
            x.extend()
            y.extend()
