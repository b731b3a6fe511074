"""Entropy comes from the operating system alone: no seed, no fallback, no word used twice."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction as F
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support import interpreter, walking

from pandas_dp.core import randomness, samplers
from pandas_dp.core.randomness import Bits, Lazy, expanded, less, random_bytes, random_words
from pandas_dp.core.samplers import scalar, selection, vector

from .samplers.laws import FALSE_ALARM, chi_squared, seeded

MANY = np.arange(1000, dtype=np.int64)
DRAWS: dict[str, Callable[[], object]] = {
    "uniform_below": lambda: scalar.uniform_below(10),
    "bernoulli_exp": lambda: scalar.bernoulli_exp(F(1, 3)),
    "discrete_laplace": lambda: scalar.discrete_laplace(F(3)),
    "discrete_gaussian": lambda: scalar.discrete_gaussian(F(3)),
    "geometric_vector": lambda: vector.geometric_vector(3, 1, 10, random_bytes),
    "discrete_laplace_vector": lambda: vector.discrete_laplace_vector(F(3), 10),
    "discrete_gaussian_vector": lambda: vector.discrete_gaussian_vector(F(10**9), 10),
    "permute_and_flip": lambda: selection.permute_and_flip(MANY[:5], F(1)),
    "permute_and_flip of many": lambda: selection.permute_and_flip(MANY, F(1)),
    "exponential_mechanism": lambda: selection.exponential_mechanism(MANY, F(1)),
    "random_words": lambda: random_words(3),
    "random_bytes": lambda: random_bytes(3),
}


def test_every_sampler_is_in_the_list() -> None:
    ours = {each for each in walking.samplers() if each.__module__.startswith(f"{samplers.__name__}.")}
    named = {each.__name__ for each in ours if "fill" in inspect.signature(each).parameters}
    assert len(named) >= 8
    assert named <= set(DRAWS)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
@pytest.mark.parametrize("error", [OSError("no entropy"), NotImplementedError("no generator")])
def test_without_entropy_there_is_no_draw(
    draw: Callable[[], object], error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw()  # tables are made: only entropy is missing below

    def fail(count: int) -> bytes:
        raise error

    monkeypatch.setattr(os, "urandom", fail)
    with pytest.raises(type(error), match=str(error)):
        draw()


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_each_call_reads_fresh_entropy(draw: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left over from one call for the next."""
    calls = []
    true = os.urandom

    def counting(count: int) -> bytes:
        calls.append(count)
        return true(count)

    monkeypatch.setattr(os, "urandom", counting)
    for _ in range(3):
        before = len(calls)
        draw()
        assert len(calls) > before


def test_seeds_have_no_effect_and_other_generators_are_left_alone() -> None:
    drawn = []
    for _ in range(2):
        np.random.seed(0)
        random.seed(0)
        drawn.append(
            (
                scalar.discrete_laplace(F(10**30)),
                vector.discrete_gaussian_vector(F(10**20), 100).tolist(),
                scalar.uniform_below(10**30),
            )
        )
        assert np.random.random() == np.random.RandomState(0).random()
        assert random.random() == random.Random(0).random()
    assert all(one != other for one, other in zip(*drawn, strict=True))


FORK = """
import os
from fractions import Fraction as F
from pandas_dp.core.samplers.scalar import discrete_laplace
from pandas_dp.core.samplers.vector import discrete_laplace_vector
draw = lambda: [discrete_laplace(F(10**30)), *discrete_laplace_vector(F(10**14), 300).tolist()]
draw()
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, repr(draw()).encode())
    os._exit(0)
os.wait()
theirs, ours = eval(os.read(read, 1 << 16)), draw()
assert len(theirs) == len(ours) == 301
assert not set(theirs) & set(ours), "parent and child drew the same noise"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_parent_and_child_of_a_fork_draw_different_noise() -> None:
    """301 wide draws on each side: a right sampler repeats one with probability below 1e-8."""
    done = interpreter.run(FORK)
    assert done.returncode == 0, done.stderr


def test_threads_draw_different_noise() -> None:
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: scalar.discrete_laplace(F(10**30)), range(4000)))
    assert len(set(drawn)) == 4000


# ------------------------------------------------------------------------------------------------ the streams
@pytest.mark.parametrize("width", [1, 3, 64])
def test_words_are_uniform_and_used_once(width: int) -> None:
    bits = Bits(width=width, size=5)
    words = [bits.word() >> max(width - 4, 0) for _ in range(20_000)]
    top = 1 << min(width, 4)
    assert chi_squared(words, dict.fromkeys(range(top), 1 / top)) > FALSE_ALARM


def test_bits_hands_out_what_it_was_filled_with() -> None:
    given = iter(range(1, 100))
    bits = Bits(lambda count: b"".join(next(given).to_bytes(8, sys.byteorder) for _ in range(count // 8)), size=3)
    assert sorted(bits.word() for _ in range(9)) == list(range(1, 10))


def test_random_words_have_their_count_and_kind() -> None:
    assert random_words(0).size == 0
    assert random_words(7).dtype == np.uint64
    words = random_words(20_000, random_bytes, np.uint8)
    assert chi_squared(words.astype(np.int64) >> 4, dict.fromkeys(range(16), 1 / 16)) > FALSE_ALARM
    with pytest.raises(ValueError, match="buffer"):
        random_words(7, lambda count: bytes(count - 1))  # a short fill is never made up for


def test_lazy_numbers_keep_the_bits_they_have() -> None:
    x = Lazy.uniform(Bits(seeded(1), width=5))
    known = [(x.a, x.n)]
    for _ in range(20):
        x.extend()
        known.append((x.a, x.n))
    for (a, n), (longer, m) in pairwise(known):
        assert m == n + 5
        assert longer >> 5 == a


@pytest.mark.parametrize("width", [1, 2, 64])
def test_less_is_fair_and_agrees_with_the_numbers(width: int) -> None:
    bits, wins = Bits(seeded(2), width=width, size=1024), []
    for i in range(20_000):
        x, y = Lazy.uniform(bits), Lazy.uniform(bits)
        if i % 2:
            x.extend()  # not known to the same number of bits
        wins.append(less(x, y))
        assert wins[-1] == (F(x.a, 1 << x.n) < F(y.a, 1 << y.n))
    assert chi_squared(wins, {0: 0.5, 1: 0.5}) > FALSE_ALARM


def test_samplers_have_no_other_source() -> None:
    """No module of the samplers imports a generator or touches numpy's."""
    for path in Path(samplers.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names} | {getattr(node, "module", "")}
                assert not names & {"random", "secrets", "os", "time", "uuid"}, path.name
            assert not (isinstance(node, ast.Attribute) and node.attr == "random"), path.name
    assert randomness.random_bytes.__module__ == "pandas_dp.core.randomness"


def test_a_secret_gives_the_same_bytes_again_and_others_to_every_part_and_call():
    def drawn(secret: bytes, number: int) -> list[bytes]:
        fill = expanded(secret, number)
        return [fill(32) for _ in range(4)]

    secrets, numbers = [bytes([place]) * 32 for place in range(4)], [0, 1, 255, 256, 2**40]
    seen = [drawn(secret, number) for secret in secrets for number in numbers]
    assert seen == [drawn(secret, number) for secret in secrets for number in numbers]
    assert len({one for several in seen for one in several}) == 4 * len(secrets) * len(numbers)
    assert drawn(secrets[1], 7)[2] == hashlib.shake_256(secrets[1] + bytes(7) + b"\7" + bytes(7) + b"\2").digest(32)
    assert [len(expanded(secrets[0], 0)(count)) for count in (0, 1, 10**6)] == [0, 1, 10**6]
